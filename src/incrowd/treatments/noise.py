"""Noise on numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.parameters import parameter
from incrowd.treatments._numbers import decimals_of, normal_of, written_to
from incrowd.treatments.base import Batch, Distinct, Reads, Treatment

if TYPE_CHECKING:
    import polars as pl

    from incrowd.treatments.keys import Secret

__all__ = ["Noise"]


@dataclass(frozen=True)
class Noise(Treatment):
    """Add normal noise to numbers, or multiply them by noise around one.

    ``additive`` noise has `share` of the column's standard deviation. ``multiplicative`` noise has a standard
    deviation of `share` itself, so a large number moves by more. Means are unchanged in expectation. Noise is
    drawn anew for every release and has no seed. Numbers keep as many decimals as the column has.

    Parameters
    ----------
    share
        How much noise, > 0.
    how
        ``additive`` or ``multiplicative``.

    Examples
    --------
    >>> import incrowd as ic
    >>> ic.Noise(0.1).spec()
    {'noise': 0.1}

    References
    ----------
    Kim, A method for limiting disclosure in microdata based on random noise and transformation, ASA 1986;
    Templ, Kowarik and Meindl, JSS 67(4), 2015, section 4.3.
    """

    share: float = parameter(
        "noise, as a share of the standard deviation or of the number", kind=float, above=0
    )
    how: str = parameter(
        "noise is added, or multiplied with",
        kind=str,
        choices=("additive", "multiplicative"),
        default="additive",
    )

    name: ClassVar[str] = "noise"
    summary: ClassVar[str] = "adds normal noise to numbers, or multiplies them by it"
    paper: ClassVar[str] = "Kim 1986"
    reads: ClassVar[Reads] = "number"
    no_promise: ClassVar[str] = (
        "Noise is no differential privacy: the largest values stay the largest, and a few per cent of noise "
        "hide little."
    )

    @property
    def promise(self) -> str:
        """Say how much noise there is."""
        what = "of its standard deviation added" if self.how == "additive" else "of each number multiplied in"
        return f"has noise of {self.share:.0%} {what}"

    @property
    def perturbs(self) -> bool:
        """Equal numbers become different ones."""
        return True

    @property
    def is_random(self) -> bool:
        """Noise is drawn for each row."""
        return True

    def learn(self, found: Distinct, secret: Secret | None) -> dict[str, Any]:
        """Decide how large noise is."""
        import numpy as np

        values, counts = found.values.to_numpy(), found.counts
        if not len(values):
            return {"deviation": 0.0, "decimals": 0}
        mean = np.average(values, weights=counts)
        deviation = float(np.sqrt(np.average((values - mean) ** 2, weights=counts)))
        return {"deviation": deviation, "decimals": decimals_of(found.values)}

    def treat(self, batch: Batch) -> pl.Series:
        """Add noise to the rows."""
        import polars as pl

        assert batch.draws is not None
        drawn = pl.Series(normal_of(batch.draws))
        if self.how == "additive":
            made = batch.values + drawn * (self.share * batch.decided["deviation"])
        else:
            made = batch.values * (1.0 + drawn * self.share)
        return written_to(made, batch.decided["decimals"])
