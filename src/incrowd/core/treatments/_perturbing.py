"""Base classes of treatments that give equal values different results, and groups of rows."""

from __future__ import annotations

from typing import ClassVar

from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.treatments.base import Batch, Treatment


class Perturbing(Treatment):
    """Base of treatments that draw new values at random, within the groups of a column `within`."""

    perturbs: ClassVar[bool] = True
    is_random: ClassVar[bool] = True

    @property
    def strata(self) -> str | None:
        """The column of the groups, if any."""
        return getattr(self, "within", None)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column of the groups."""
        return () if self.strata is None else (self.strata,)


class Swapping(Perturbing):
    """Base of treatments that exchange the values of paired rows, in a column or in several `together`."""

    is_whole: ClassVar[bool] = True

    def moves_with(self, column: str) -> tuple[str, ...]:
        """Columns that change together draw the same pairs."""
        together: str | None = getattr(self, "together", None)
        return () if together is None else tuple(sorted(together.split("+")))

    def _where(self) -> str:
        """Describe the groups and the columns of a swap."""
        together: str | None = getattr(self, "together", None)
        groups = f" in the groups of {self.strata}" if self.strata else ""
        return groups + (f", together with {together}" if together else "")


def order_of(draws: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return sort keys from draws, led by other bits than the bits that choose rows."""
    return (draws << np.uint64(53)) + (draws >> np.uint64(11))


def change_places(partner: NDArray[np.int64], chosen: NDArray[np.int64]) -> None:
    """Pair neighbours in a list of positions and swap partners, leaving out the last of an odd number."""
    pairs = chosen[: len(chosen) // 2 * 2].reshape(-1, 2)
    partner[pairs[:, 0]], partner[pairs[:, 1]] = pairs[:, 1], pairs[:, 0]


def strata_of(batch: Batch, within: str | None, of: pl.Series | None) -> list[NDArray[np.int64]]:
    """Return the rows of each group, where missing is a group.

    Parameters
    ----------
    of
        A column without whose value a row is in no group; None if all rows are.
    """
    present = pl.Series([True]).new_from_index(0, len(batch.values)) if of is None else ~of.is_null()
    if within is None:
        return [np.flatnonzero(present.to_numpy())]
    frame = pl.DataFrame({"group": batch.beside[within], "present": present}).with_row_index("row")
    grouped = frame.filter("present").group_by("group", maintain_order=True).agg("row")
    return [np.asarray(rows, np.int64) for rows in grouped["row"]]


_MOST = 6


def decimals_of(values: pl.Series) -> int:
    """Return the decimals of a column's numbers, at most 6."""
    numbers = values.drop_nulls().to_numpy()
    for decimals in range(_MOST):
        if np.allclose(numbers, np.round(numbers, decimals), rtol=0, atol=10.0 ** -(_MOST + 3)):
            return decimals
    return _MOST


def written_to(values: pl.Series, decimals: int) -> pl.Series:
    """Round numbers to some decimals, without negative zeros."""
    from incrowd.core.io.frames import without_negative_zero

    return without_negative_zero(values.round(decimals))


def uniform_of(draws: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return numbers from 0 to below 1."""
    return np.asarray((draws >> np.uint64(11)) * 2.0**-53, np.float64)


def normal_of(draws: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return standard normal numbers (Box and Muller 1958): each of the two halves of a random number."""
    radius = ((draws >> np.uint64(32)).astype(np.float64) + 0.5) / 2.0**32
    angle = (draws & np.uint64(2**32 - 1)).astype(np.float64) / 2.0**32
    return np.asarray(np.sqrt(-2.0 * np.log(radius)) * np.cos(2.0 * np.pi * angle), np.float64)


def independent(draws: NDArray[np.uint64], count: int) -> list[NDArray[np.uint64]]:
    """Derive `count` independent numbers from each random number (splitmix64: Steele, Lea and Flood 2014)."""
    streams = []
    with np.errstate(over="ignore"):
        for number in range(1, count + 1):
            mixed = draws + np.uint64(number * 0x9E3779B97F4A7C15 % 2**64)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            streams.append(mixed ^ (mixed >> np.uint64(31)))
    return streams
