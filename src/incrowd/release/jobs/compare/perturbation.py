"""perturbation(): the loss by noise, swapping or microaggregation, and the remaining risk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.documents import envelope
from incrowd.core.errors import ParameterError, SchemaError, named, null_values_setting, setting
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.markup import InNotebooks
from incrowd.core.table.schema import Schema
from incrowd.measures.utility.base import mean_of
from incrowd.release.jobs.measure.evaluate import compare_analyses
from incrowd.release.jobs.measure.row_pairs import columns_of, map_by_key

if TYPE_CHECKING:
    from incrowd.release.analyses.analysis import Analysis
    from incrowd.release.analyses.measure import AnalysisResults

_INTERVAL = 0.05
_MOST = 20_000
_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Perturbation(InNotebooks):
    """The size of a perturbation of numeric columns, and the share of rows that can be linked.

    Attributes
    ----------
    columns
        The columns.
    records
        Rows that have a number in all of them, before and after.
    il1s
        Per column the mean of ``|x - x'| / (sqrt(2) s)``, where s is the standard deviation before.
    means
        Per column the difference of means, over the standard deviation before.
    covariances
        Largest absolute difference of correlations, the covariances of standardized columns.
    eigenvalues
        Largest absolute difference of the eigenvalues of these matrices, over the largest one before.
    interval_disclosure
        Share of numbers that lie within 5% of the standard deviation of the released one.
    linked
        Share of rows whose released row is the nearest; of rows that are as near, each counts in part.
    linked_one_to_one
        The same if every row is given a released one of its own so that the sum of squared distances is
        least; None where that was not asked for.
    analyses
        What the release keeps of the analyses; None without any.
    """

    _shown = (
        "columns", "records", "il1s", "means", "covariances", "eigenvalues", "interval_disclosure", "linked",
        "linked_one_to_one",
    )  # fmt: skip

    columns: tuple[str, ...]
    records: int
    il1s: dict[str, float] = field(repr=False)
    means: dict[str, float] = field(repr=False)
    covariances: float
    eigenvalues: float
    interval_disclosure: float
    linked: float
    linked_one_to_one: float | None = None
    analyses: AnalysisResults | None = field(default=None, repr=False)

    @property
    def il1s_mean(self) -> float:
        """The mean of `il1s` over the columns."""
        return mean_of(self.il1s)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without any value of the table."""
        return {
            **envelope("perturbation"),
            **{name: getattr(self, name) for name in self._shown},
            "columns": list(self.columns),
            **({} if self.analyses is None else self.analyses.public()),
        }


def perturbation(  # noqa: PLR0913
    table: Any,
    released: Any,
    columns: Sequence[str],
    *,
    one_to_one: bool = False,
    row_map: Any = None,
    by: str | None = None,
    schema: Schema | None = None,
    null_values: Sequence[str] = (),
    analyses: Iterable[Analysis] = (),
) -> Perturbation:
    """Compare columns of numbers before and after perturbation, row by row.

    Parameters
    ----------
    table
        The raw table: a frame or a file.
    released
        A `Release` of it, whose row map tells which row is which, or a table whose row N is row N of the raw
        one.
    columns
        Columns of numbers that both have.
    one_to_one
        Whether to look for the best assignment of all rows, too; needs the extra ``ml``.
    row_map
        Which raw row each released row is, where `released` is a table: a file or a frame, as
        `Release.row_map` gives it.
    by
        A column of keys that both tables have, in place of a row map.
    schema
        Says how columns write their numbers, and which texts mean missing; only needed where they are not
        written plainly.
    null_values
        Further texts that mean missing.
    analyses
        What a recipient wants to compute of any columns, as in a `Policy`.

    Raises
    ------
    InputError
        When a column is missing or has no numbers, or there are other rows or too many.

    Examples
    --------
    >>> import incrowd as ic
    >>> import polars as pl
    >>> raw = pl.DataFrame({"pay": [1.0, 2.0, 3.0, 10.0]})
    >>> result = ic.perturbation(raw, raw, ["pay"])
    >>> result.il1s_mean, result.linked
    (0.0, 1.0)

    References
    ----------
    Mateo-Sanz, Domingo-Ferrer and Sebe, Probabilistic information loss measures in confidentiality
    protection of continuous microdata, Data Mining and Knowledge Discovery 11, 2005; Templ, Kowarik and
    Meindl, JSS 67(4), 2015, section 3.5 (IL1s, eigenvalues, interval disclosure).
    """
    if not columns or isinstance(columns, str):
        raise ParameterError("perturbation: name at least one column of numbers, as columns=['pay']")
    comparison = Comparison.of_tables(table, released, row_map, by, schema, "perturbation")
    reading = _Reading(comparison.schema, tuple(null_values))
    before = reading.numbers(table, columns, "the raw table")
    after = reading.numbers(comparison.released, columns, "the released table")
    before = before[rows_before(len(before), len(after), comparison.row_map, "perturbation")]
    has_all = ~(np.isnan(before).any(axis=1) | np.isnan(after).any(axis=1))
    before, after = before[has_all], after[has_all]
    if len(before) < 2:
        raise ParameterError("perturbation: fewer than two rows have a number in all columns")
    if len(before) > _MOST:
        raise ParameterError(
            f"perturbation: distances between {len(before):,} rows take too long; give {_MOST:,} rows at most"
        )
    computed = compare_analyses(table, comparison.released, comparison.schema or Schema(()), analyses)
    return replace(_measure(tuple(columns), before, after, one_to_one=one_to_one), analyses=computed)


class Comparison(NamedTuple):
    """A released and a raw table for comparison, with the pairs of rows."""

    released: Any
    row_map: Any
    schema: Schema | None

    @classmethod
    def of_tables(
        cls, table: Any, released: Any, row_map: Any, by: str | None, schema: Schema | None, job: str
    ) -> Comparison:
        """Take missing arguments from a `Release`, and derive a row map from keys."""
        from incrowd.release.jobs.make.release import Release

        if isinstance(released, Release):
            schema = released.policy.schema if schema is None else schema
            row_map = released.row_map() if row_map is None and by is None else row_map
            released = released.table
        if by is not None:
            row_map = map_by_key(table, released, by, row_map, schema, job)
        return cls(released, row_map, schema)


def rows_before(before: int, after: int, row_map: Any, job: str) -> NDArray[np.integer]:
    """Return the raw row of each released row, from 0.

    Parameters
    ----------
    before, after
        Rows of the two tables.
    job
        Who asks, for messages.

    Raises
    ------
    InputError
        When there are other rows, or the row map is of another release.
    """
    from incrowd.release.accounts.row_map import numbers_of

    if row_map is not None:
        return numbers_of(row_map, after, before)
    if before != after:
        raise ParameterError(
            f"{job}: the raw table has {before:,} rows and the released one {after:,}; row "
            "N of one must be row N of the other, or "
            f"{setting('row_map', '--row-map')} or {setting('by', '--by')} says which is which"
        )
    return np.arange(before)


class _Reading(NamedTuple):
    """The schema and the missing texts for reading numbers."""

    schema: Schema | None
    null_values: tuple[str, ...]

    def numbers(self, table: Any, columns: Sequence[str], where: str) -> NDArray[np.float64]:
        """Return columns of numbers, with NaN for missing values."""
        read = columns_of(table, columns, where, "perturbation")
        return np.column_stack(
            [self._of(series, name, where) for name, series in zip(columns, read, strict=True)]
        )

    def _of(self, series: pl.Series, name: str, where: str) -> NDArray[np.float64]:
        from incrowd.core.reading.missing import null_values_of
        from incrowd.core.reading.spellings import refuse_unclear_points

        nulls = () if self.schema is None else self.schema.nulls(name)
        series = null_values_of((*nulls, *self.null_values)).without(series)
        attributes = {} if self.schema is None else {each.name: each for each in self.schema.attributes}
        if name in attributes and (spelling := attributes[name].spelling) and series.dtype == pl.String:
            texts = [None if text is None else spelling.number(text)[0] for text in series]
            numbers = pl.Series(texts, dtype=pl.String).cast(pl.Float64, strict=False)
        else:
            refuse_unclear_points(series, name)
            numbers = series.cast(pl.Float64, strict=False)
        wrong = numbers.null_count() - series.null_count()
        if wrong or series.dtype == pl.Boolean or series.dtype.is_temporal():
            raise SchemaError(
                f"perturbation: {named([name])} of {where} is no column of plain numbers; leave it out, "
                f"name the texts that mean missing with {null_values_setting()}, or declare its spelling"
            )
        return numbers.fill_null(float("nan")).to_numpy()


def _measure(
    columns: tuple[str, ...],
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    *,
    one_to_one: bool,
) -> Perturbation:
    spread = before.std(axis=0, ddof=1)
    # A column of one value has no scale; differences count as they are.
    spread = np.where(spread > 0, spread, 1.0)
    one, other = ((each - before.mean(axis=0)) / spread for each in (before, after))
    apart = np.abs(one - other)
    matrices = [np.atleast_2d(np.cov(each, rowvar=False)) for each in (one, other)]
    values = [np.sort(np.linalg.eigvalsh(matrix)) for matrix in matrices]
    largest = float(values[0].max()) or 1.0
    return Perturbation(
        columns=columns,
        records=len(before),
        il1s=dict(zip(columns, (apart.mean(axis=0) / np.sqrt(2)).tolist(), strict=True)),
        means=dict(zip(columns, other.mean(axis=0).tolist(), strict=True)),
        covariances=float(np.abs(matrices[0] - matrices[1]).max()),
        eigenvalues=float(np.abs(values[0] - values[1]).max()) / largest,
        interval_disclosure=float((apart <= _INTERVAL).mean()),
        linked=_linked_share(one, other),
        linked_one_to_one=_linked_one_to_one(one, other) if one_to_one else None,
    )


def _squared_distances(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared distances of all pairs of rows, to 9 digits so that ties are ties."""
    squared: NDArray[np.float64] = np.round(((one[:, None, :] - other[None, :, :]) ** 2).sum(axis=2), 9)
    return squared


def _linked_share(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the share of rows whose released row is the nearest."""
    block = max(_AT_ONCE // (len(other) * one.shape[1]), 1)
    hits = 0.0
    for start in range(0, len(one), block):
        squared = _squared_distances(one[start : start + block], other)
        nearest = squared.min(axis=1)
        true_distance = squared[np.arange(len(squared)), np.arange(start, start + len(squared))]
        ties = (squared == nearest[:, None]).sum(axis=1)
        hits += float(np.where(true_distance == nearest, 1.0 / ties, 0.0).sum())
    return hits / len(one)


def _linked_one_to_one(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the share of rows that the best assignment links correctly."""
    from scipy.optimize import linear_sum_assignment

    rows, assigned = linear_sum_assignment(_squared_distances(one, other))
    return float((rows == assigned).mean())
