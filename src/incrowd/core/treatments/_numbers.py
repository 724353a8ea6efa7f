"""Numbers of treatments: decimals, and random numbers of a distribution."""

from __future__ import annotations

from incrowd.core.lazy import NDArray, np, pl

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
