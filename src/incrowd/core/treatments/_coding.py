"""Base class of top and bottom coding, which decides the limits and the replacements beyond."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.parameters import Parameter
from incrowd.core.treatments.base import Batch, Distinct, Reads, Treatment

if TYPE_CHECKING:
    from incrowd.core.treatments.keys import Secret

INSTEAD = Parameter(str, "what stands for values beyond: threshold or mean", choices=("threshold", "mean"))
LIMITS = Parameter(
    str,
    "what limits are; auto takes a number between 0 and 1 for a quantile",
    choices=("auto", "quantile", "value"),
)
_OF = 10
"""Records that a limit from a quantile is the mean of, and that a mean of what is beyond needs."""


class Coding(Treatment):
    """Base of `top` and `bottom`, which replace numbers beyond limits.

    A limit from a quantile is the mean of ten records around it, and a mean stands for ten records at least.
    So neither is the value of one record.

    Each entry declares `limits` and `instead` itself, at their place among its parameters.
    """

    paper: ClassVar[str] = "Templ et al. 2015"
    reads: ClassVar[Reads] = "number"
    no_promise: ClassVar[str] = "Values within the limits are released as they are."
    for_quasi: ClassVar[bool] = True
    limits: str
    instead: str

    @property
    def promise(self) -> str:
        """Say which values are replaced."""
        parts = [
            f"{what} {f'the {limit:g} quantile' if self._is_quantile(limit) else f'{limit:g}'}"
            for what, limit in zip(("above", "below"), self._limits().values(), strict=True)
            if limit is not None
        ]
        stands = "that limit" if self.instead == "threshold" else "the mean of what is beyond"
        return f"has values {' and '.join(parts)} replaced by {stands}"

    def _limits(self) -> dict[str, float | None]:
        return {name: getattr(self, name, None) for name in ("top", "bottom")}

    def _is_quantile(self, limit: float) -> bool:
        return self.limits == "quantile" or (self.limits == "auto" and 0 < limit < 1)

    @property
    def _released(self) -> tuple[float, ...]:
        """Numbers that stand in the release, themselves or as multiples."""
        return tuple(
            limit for limit in self._limits().values() if limit is not None and not self._is_quantile(limit)
        )

    def type_of(self, came: pl.DataType) -> pl.DataType:
        """Return a fractional type if a released limit has decimals."""
        integral = all(float(number).is_integer() for number in self._released)
        return super().type_of(came) if integral or not came.is_integer() else pl.Float64()

    def learn(self, found: Distinct, secret: Secret | None) -> dict[str, Any]:
        """Decide the limits and the replacements of numbers beyond the limits.

        Raises
        ------
        ParameterError
            When there are too few records, or the limits cross.
        """
        values, counts = found.values.to_numpy(), found.counts
        limits = {name: limit for name, limit in self._limits().items() if limit is not None}
        decided = {name: self._limit(name, limit, found) for name, limit in limits.items()}
        if len(decided) > 1 and decided["top"] <= decided["bottom"]:
            raise ParameterError(
                f"column {found.column!r}: {self.name} has its top limit below its bottom limit"
            )
        if self.instead == "mean":
            for name, limit in list(decided.items()):
                beyond = values > limit if name == "top" else values < limit
                decided[f"beyond_{name}"] = self._mean(values, counts, beyond, limit, found.column)
        return decided

    def _limit(self, name: str, limit: float, found: Distinct) -> float:
        if not self._is_quantile(limit):
            return float(limit)
        if not 0 < limit < 1:
            raise ParameterError(f"{self.name}: {name} must be a quantile between 0 and 1, got {limit:g}")
        if found.counts.sum() < _OF:
            raise ParameterError(
                f"column {found.column!r}: {self.name} takes a limit from {_OF} records, and there are "
                f"fewer; give {name} as a value"
            )
        return _mean_around(found.values.to_numpy(), found.counts, limit)

    def _mean(
        self,
        values: NDArray[np.float64],
        counts: NDArray[np.int64],
        beyond: NDArray[np.bool_],
        limit: float,
        column: str,
    ) -> float:
        records = int(counts[beyond].sum())
        if not records:
            return limit
        if records < _OF:
            raise ParameterError(
                f"column {column!r}: {self.name} would replace {records} records by their mean, which "
                f"tells too much of fewer than {_OF}; take instead = 'threshold', or a limit that more are "
                "beyond"
            )
        return _round_mean(float(np.average(values[beyond], weights=counts[beyond])), values)

    def leaves_exact(self, made: pl.Series, lead: Batch) -> pl.Series:
        """Return which rows lie within the limits and so keep the exact value."""
        limits = list(lead.decided.values())
        return pl.select(
            pl.lit(made).eq_missing(pl.lit(lead.values)) & ~pl.lit(made).is_in(limits).fill_null(value=False)
        ).to_series()

    def treat(self, batch: Batch) -> pl.Series:
        """Replace the numbers beyond the limits."""
        values, decided = pl.lit(batch.values), batch.decided
        coded: pl.Expr = values
        for name in ("top", "bottom"):
            if name in decided:
                beyond = values > decided[name] if name == "top" else values < decided[name]
                instead = pl.lit(decided.get(f"beyond_{name}", decided[name]))
                coded = pl.when(beyond).then(instead).otherwise(coded)
        return pl.select(coded).to_series()


def _mean_around(values: NDArray[np.float64], counts: NDArray[np.int64], quantile: float) -> float:
    """Return the mean of the records around a quantile, half on either side if possible."""
    ends = np.cumsum(counts)
    middle = round(quantile * int(ends[-1]))
    first = min(max(middle - _OF // 2, 0), int(ends[-1]) - _OF)
    of = np.searchsorted(ends, np.arange(first, first + _OF), side="right")
    return _round_mean(float(values[of].mean()), values)


def _round_mean(number: float, values: NDArray[np.float64]) -> float:
    """Round a mean to whole numbers in a column of whole numbers, else to six significant digits."""
    return float(round(number)) if (values == np.rint(values)).all() else float(f"{number:.6g}")
