"""Top and bottom coding: how limits are decided, and what stands beyond them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from incrowd.errors import ParameterError
from incrowd.parameters import Parameter

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from incrowd.treatments.base import Distinct

__all__ = ["INSTEAD", "LIMITS", "Instead", "coded", "limits_of", "limits_words"]

Instead = Literal["threshold", "mean"]
INSTEAD = Parameter(str, "what stands for values beyond: threshold or mean", choices=("threshold", "mean"))
LIMITS = Parameter(
    str,
    "what limits are; auto takes a number between 0 and 1 for a quantile",
    choices=("auto", "quantile", "value"),
)
_OF = 10
"""Records that a limit from a quantile is the mean of, and that a mean of what is beyond needs."""


def limits_words(top: float | None, bottom: float | None, limits: str, instead: str) -> str:
    """Say what is beyond which limit."""
    parts = []
    for what, limit in (("above", top), ("below", bottom)):
        if limit is None:
            continue
        quantile = _is_quantile(limit, limits)
        parts.append(f"{what} {f'the {limit:g} quantile' if quantile else f'{limit:g}'}")
    stands = "that limit" if instead == "threshold" else "the mean of what is beyond"
    return f"has values {' and '.join(parts)} replaced by {stands}"


def limits_of(
    found: Distinct, treatment: str, *, top: float | None, bottom: float | None, limits: str, instead: str
) -> dict[str, Any]:
    """Decide the limits, and what stands beyond them.

    A limit from a quantile is the mean of ten records around it, and a mean stands for ten records at least.
    So neither is the value of one record.

    Raises
    ------
    ParameterError
        When there are too few records, or the limits cross.
    """
    values, counts = found.values.to_numpy(), found.counts
    decided: dict[str, Any] = {}
    for name, limit in (("top", top), ("bottom", bottom)):
        if limit is None:
            continue
        if not _is_quantile(limit, limits):
            decided[name] = float(limit)
            continue
        if limits == "quantile" and not 0 < limit < 1:
            raise ParameterError(f"{treatment}: {name} must be a quantile between 0 and 1, got {limit:g}")
        if counts.sum() < _OF:
            raise ParameterError(
                f"column {found.column!r}: {treatment} takes a limit from {_OF} records, and there are "
                f"fewer; give {name} as a value"
            )
        decided[name] = _around(values, counts, limit)
    if top is not None and bottom is not None and decided["top"] <= decided["bottom"]:
        raise ParameterError(f"column {found.column!r}: {treatment} has its top limit below its bottom limit")
    if instead == "mean":
        for name, beyond in (
            ("top", values > decided.get("top", float("inf"))),
            ("bottom", values < decided.get("bottom", float("-inf"))),
        ):
            if name in decided:
                decided[f"beyond_{name}"] = _mean(values, counts, beyond, decided[name], found, treatment)
    return decided


def _is_quantile(limit: float, limits: str) -> bool:
    return limits == "quantile" or (limits == "auto" and 0 < limit < 1)


def _around(values: NDArray[np.float64], counts: NDArray[np.int64], quantile: float) -> float:
    """Return the mean of the records around a quantile, half of them on either side where there are."""
    import numpy as np

    ends = np.cumsum(counts)
    place = round(quantile * int(ends[-1]))
    first = min(max(place - _OF // 2, 0), int(ends[-1]) - _OF)
    of = np.searchsorted(ends, np.arange(first, first + _OF), side="right")
    return _short(float(values[of].mean()), values)


def _mean(
    values: NDArray[np.float64],
    counts: NDArray[np.int64],
    beyond: NDArray[np.bool_],
    limit: float,
    found: Distinct,
    treatment: str,
) -> float:
    import numpy as np

    records = int(counts[beyond].sum())
    if not records:
        return limit
    if records < _OF:
        raise ParameterError(
            f"column {found.column!r}: {treatment} would replace {records} records by their mean, which "
            f"tells too much of fewer than {_OF}; take instead = 'threshold', or a limit that more are beyond"
        )
    return _short(float(np.average(values[beyond], weights=counts[beyond])), values)


def _short(number: float, values: NDArray[np.float64]) -> float:
    """Round a mean to whole numbers where the column has no others, else to six significant digits."""
    import numpy as np

    if (values == np.rint(values)).all():
        return float(round(number))
    return float(f"{number:.6g}")


def coded(values: pl.Expr, decided: dict[str, Any]) -> pl.Expr:
    """Replace what is beyond the limits."""
    import polars as pl

    found = values
    if "top" in decided:
        instead = decided.get("beyond_top", decided["top"])
        found = pl.when(values > decided["top"]).then(pl.lit(instead)).otherwise(found)
    if "bottom" in decided:
        instead = decided.get("beyond_bottom", decided["bottom"])
        found = pl.when(values < decided["bottom"]).then(pl.lit(instead)).otherwise(found)
    return found
