"""Bottom coding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.parameters import parameter
from incrowd.treatments._coding import INSTEAD, LIMITS, coded, limits_of, limits_words
from incrowd.treatments.base import Batch, Distinct, Reads, Treatment

if TYPE_CHECKING:
    import polars as pl

    from incrowd.treatments.keys import Secret

__all__ = ["Bottom"]


@dataclass(frozen=True)
class Bottom(Treatment):
    """Replace numbers below a limit by the limit, or by the mean of all that are beyond it.

    A limit that is given as a quantile is the mean of ten records around it, so it is nobody's own value.
    A mean stands for at least ten records. Both are decided once: the next batch gets the same.

    Parameters
    ----------
    bottom
        The limit. A number between 0 and 1 is a quantile, unless `limits` says otherwise.
    instead
        What stands for values beyond: ``threshold`` or ``mean``.
    limits
        What limits are: ``value``, ``quantile``, or ``auto``.

    Examples
    --------
    >>> import incrowd as ic
    >>> import polars as pl
    >>> numbers = pl.Series([20.0, 3.0, None])
    >>> bottom = ic.Bottom(10)
    >>> decided = bottom.learn(ic.treatments.Distinct("age", numbers.drop_nulls(), None), None)
    >>> bottom.treat(ic.treatments.Batch(numbers, decided=decided)).to_list()
    [20.0, 10.0, None]

    References
    ----------
    Templ, Kowarik and Meindl, Statistical disclosure control for micro-data using sdcMicro, JSS 67(4), 2015;
    Hundepool et al., Statistical Disclosure Control, 2012, section 3.6.2.
    """

    bottom: float = parameter("the limit, as a value or a quantile", kind=float)
    instead: str = INSTEAD.field("threshold")
    limits: str = LIMITS.field("auto")

    name: ClassVar[str] = "bottom"
    summary: ClassVar[str] = "replaces numbers below a limit by the limit or by their mean"
    paper: ClassVar[str] = "Templ et al. 2015"
    reads: ClassVar[Reads] = "number"
    no_promise: ClassVar[str] = "Values within the limits are released as they are."
    for_quasi: ClassVar[bool] = True

    @property
    def promise(self) -> str:
        """Say which values are replaced."""
        return limits_words(None, self.bottom, self.limits, self.instead)

    def learn(self, found: Distinct, secret: Secret | None) -> dict[str, Any]:
        """Decide the limits."""
        return limits_of(
            found, self.name, top=None, bottom=self.bottom, limits=self.limits, instead=self.instead
        )

    def treat(self, batch: Batch) -> pl.Series:
        """Replace what is beyond."""
        import polars as pl

        return pl.select(coded(pl.lit(batch.values), dict(batch.decided))).to_series()
