"""Top and bottom coding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from incrowd.core.parameters import parameter
from incrowd.core.treatments._coding import INSTEAD, LIMITS, Coding
from incrowd.core.treatments.base import LINKED


@dataclass(frozen=True)
class Top(Coding):
    """Replace numbers above a limit by the limit, or by the mean of all numbers beyond the limit.

    A limit that is given as a quantile is the mean of ten records around it, so it is nobody's own value.
    A mean stands for at least ten records. Both are decided once: the next batch gets the same.

    Parameters
    ----------
    top
        The limit. A number between 0 and 1 is a quantile, unless `limits` says otherwise.
    bottom
        A limit below, too; values under it are replaced in the same way.
    instead
        What stands for values beyond: ``threshold`` or ``mean``.
    limits
        What limits are: ``value``, ``quantile``, or ``auto``.
    linked
        Columns that tell the same and go along; see "Columns that tell the same" on the page of treatments.

    Examples
    --------
    >>> import incrowd as ic
    >>> import polars as pl
    >>> numbers = pl.Series([20.0, 95.0, None])
    >>> top = ic.Top(90)
    >>> decided = top.learn(ic.treatments.Distinct("age", numbers.drop_nulls(), None), None)
    >>> top.treat(ic.treatments.Batch(numbers, decided=decided)).to_list()
    [20.0, 90.0, None]

    References
    ----------
    Templ, Kowarik and Meindl, Statistical disclosure control for micro-data using sdcMicro, JSS 67(4), 2015;
    Hundepool et al., Statistical Disclosure Control, 2012, section 3.6.2.
    """

    top: float = parameter("the limit, as a value or a quantile", kind=float)
    bottom: float | None = parameter("a limit below, too", kind=float, optional=True)
    instead: str = INSTEAD.field("threshold")
    limits: str = LIMITS.field("auto")
    linked: str | None = LINKED.field(None)

    name: ClassVar[str] = "top"
    summary: ClassVar[str] = "replaces numbers above a limit by the limit or by their mean"


@dataclass(frozen=True)
class Bottom(Coding):
    """Replace numbers below a limit by the limit, or by the mean of all numbers beyond the limit.

    Limits and means are those of `Top`.

    Parameters
    ----------
    bottom
        The limit. A number between 0 and 1 is a quantile, unless `limits` says otherwise.
    instead, limits, linked
        As in `Top`.

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
    linked: str | None = LINKED.field(None)

    name: ClassVar[str] = "bottom"
    summary: ClassVar[str] = "replaces numbers below a limit by the limit or by their mean"
