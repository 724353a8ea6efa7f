"""evaluate(): the information loss of a release, from the raw and the released table alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from incrowd.core.documents import envelope
from incrowd.core.errors import InputError, TableError, key_or_row_map, setting
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.markup import InNotebooks
from incrowd.core.recoding import SUPPRESSED
from incrowd.core.recoding.observed import Literal, covered_by
from incrowd.core.table.frequency import FrequencyTable
from incrowd.core.table.schema import Schema
from incrowd.core.table.survey import UNIT, Sampling
from incrowd.measures.utility import METRICS, ClassMetric, MetricResult, measure_all

if TYPE_CHECKING:
    from incrowd.core.recoding.observed import Observed, Unread
    from incrowd.release.analyses.analysis import Analysis
    from incrowd.release.analyses.measure import AnalysisResults


_MOST = 200_000_000
"""Pairs of a raw key and the cell of a class that are looked at."""


def paired(
    raw: FrequencyTable, released: FrequencyTable, moved: Mapping[str, int]
) -> tuple[FrequencyTable, str]:
    """Put the released rows in the order of the raw rows, if the matching is certain.

    It is sure in two cases.

    - Row N of the release is row N of the raw table: all cells are true of the rows in their place.
    - The cells leave one choice: each class covers as many raw rows as it has records, and no row is in two
      of them. Raw rows that no class covers are suppressed, or are not in the release. Rows of one class are
      alike, so figures do not depend on which of them is which.

    A cell that is missing or not read may be true of any value.

    Parameters
    ----------
    raw, released
        The tables as `observe` takes them, but for the order and the number of rows.
    moved
        The sensitive columns whose values show that the order is another one, and how many records do.

    Returns
    -------
    released
        The table with the key of each raw row; -1 where it is suppressed or missing.
    by
        ``order`` or ``cells``.

    Raises
    ------
    TableError
        When it is not sure.
    """
    rows, records = (len(table.key_of_row("comparing two tables")) for table in (raw, released))
    literals = [
        covered_by(domain, written.values)
        for domain, written in zip(raw.domains, released.domains, strict=True)
    ]
    untrue = {**_untrue_in_order(raw, released, literals), **moved} if rows == records else {}
    if rows == records and not any(untrue.values()) and _is_informative(raw, released, literals):
        return released, "order"
    keys = _by_cells(raw, released, literals) if records <= rows else None
    if keys is not None:
        return replace(released, row_keys=keys, suppressed=int((keys < 0).sum())), "cells"
    raise TableError(_unsure(rows, records, untrue))


def _unsure(rows: int, records: int, untrue: Mapping[str, int]) -> str:
    """Return why the matching of rows is uncertain, and the ways out."""
    ways = f"Nothing is measured; name {key_or_row_map()}"
    if records != rows:
        gap = f"missing: {rows - records:,}" if records < rows else "the release has rows of its own"
        return (
            f"the released table has {records:,} rows and the raw one {rows:,} ({gap}), and the cells do not "
            f"tell which row is which. {ways}"
        )
    name, wrong = max(untrue.items(), key=lambda item: item[1])
    reason = "every cell may be any value, so nothing shows that the rows are in the same order"
    if wrong:
        reason = (
            f"column {name!r}: {wrong:,} of {rows:,} records have a cell that is not true of the row in "
            "their place, so the rows are in another order, or cells are means or have noise; and the cells "
            "do not tell which row is which"
        )
    aligned = setting("aligned=True", "--aligned")
    return f"{reason}. {ways}. If row N of one is row N of the other all the same, say so ({aligned})"


def _is_informative(raw: FrequencyTable, released: FrequencyTable, literals: list[Literal]) -> bool:
    """Return whether the cells reveal anything about the order, or all records are alike."""
    return released.keys < 2 or any(
        bool(ranks.named) or bool(((ranks.lo > 0) | (ranks.hi < domain.size - 1)).any())
        for domain, ranks in zip(raw.domains, literals, strict=True)
    )


def _untrue_in_order(
    raw: FrequencyTable, released: FrequencyTable, literals: list[Literal]
) -> dict[str, int]:
    """Count by column the records with a cell that does not cover the raw row at the same position."""
    from incrowd.core.kernels.grouping.grouping import group_columns

    before, after = (table.key_of_row("comparing two tables") for table in (raw, released))
    both = (before >= 0) & (after >= 0)
    mine, theirs = before[both], after[both]
    ids, first = group_columns([mine, theirs], [raw.keys, released.keys], len(mine))
    rows = np.bincount(ids, minlength=len(first))
    untrue = {}
    for domain, ranks, labels, cells in zip(raw.domains, raw.codes, released.codes, literals, strict=True):
        true = cells.covers(labels[theirs[first]].astype(np.int64), ranks[mine[first]].astype(np.int64))
        untrue[domain.name] = int(rows[~true].sum())
    return untrue


def _by_cells(
    raw: FrequencyTable, released: FrequencyTable, literals: list[Literal]
) -> NDArray[np.int32] | None:
    """Return the class of each raw row, int32[rows] with -1 for none, or None if uncertain."""
    if raw.keys * released.keys * len(literals) > _MOST:
        return None
    ranks = [codes.astype(np.int64) for codes in raw.codes]
    cache: list[dict[int, NDArray[np.bool_]]] = [{} for _ in literals]
    class_of_key = np.full(raw.keys, -1, np.int32)
    sizes = released.weights.copy()
    empty = [
        {
            number
            for number, label in enumerate(written.values)
            if label == SUPPRESSED or (label is None and domain.missing < 0)
        }
        for domain, written in zip(raw.domains, released.domains, strict=True)
    ]
    for number in range(released.keys):
        labels = [int(codes[number]) for codes in released.codes]
        if all(label in column for label, column in zip(labels, empty, strict=True)):
            # A record of such cells is suppressed.
            sizes[number] = 0
            continue
        fits = np.ones(raw.keys, np.bool_)
        for label, cells, values, covered_by_label in zip(labels, literals, ranks, cache, strict=True):
            if label not in covered_by_label:
                members = {label: cells.named[label]} if label in cells.named else {}
                only = cells._replace(named=members)
                covered_by_label[label] = only.covers(np.full(raw.keys, label), values)
            fits &= covered_by_label[label]
        if (class_of_key[fits] >= 0).any():
            return None
        class_of_key[fits] = number
    inside = class_of_key >= 0
    covered = np.bincount(class_of_key[inside], raw.weights[inside], released.keys)
    if (covered != sizes).any():
        return None
    return np.append(class_of_key, np.int32(-1))[raw.key_of_row("comparing two tables")]


@dataclass(frozen=True)
class Evaluation(InNotebooks):
    """The losses of a released table in comparison with the raw table.

    Attributes
    ----------
    records
        Rows of the raw table.
    suppressed
        Rows with ``*`` in every quasi-identifier of the release, and those that are missing.
    missing
        Rows of the raw table that are not in the release.
    paired_by
        What tells which raw row each released row is: ``row map``, ``key``, ``order`` or ``cells``; see
        `evaluate`.
    classes
        Equivalence classes of the release.
    summarized
        Per quasi-identifier the cells that do not cover the raw values of their class, such as means and most
        frequent values. They count as the values that the class has.
    unread
        Per quasi-identifier the cells that nobody can read, if there are any: how many records have one, and
        their shapes.
    utility
        What was lost, per metric; each is measured when it is first read. Where cells are not read, these are
        the metrics that look at classes alone.
    frequency, recoding
        The raw keys and what became of them.
    analyses
        What the release keeps of the analyses; None without any.
    """

    _shown = ("records", "suppressed", "missing", "paired_by", "classes", "summarized", "unread", "utility")

    records: int
    suppressed: int
    missing: int
    paired_by: str
    classes: int
    summarized: dict[str, int]
    unread: dict[str, Unread]
    utility: Mapping[str, MetricResult]
    frequency: FrequencyTable = field(repr=False)
    recoding: Observed = field(repr=False)
    analyses: AnalysisResults | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        unread = f", of classes alone: cells of {', '.join(self.unread)} are not read" if self.unread else ""
        return (
            f"Evaluation({self.records:,} records, {self.suppressed:,} suppressed, {self.classes:,} classes, "
            f"{len(self.utility)} metrics{unread})"
        )

    def per_record(self, metric: str) -> NDArray[np.float64] | None:
        """Return the loss of every row under a metric: float64[rows], or None if undefined.

        Raises
        ------
        PolicyError
            When there is no such metric.
        TableError
            When cells are not read, on which the metric rests.
        """
        if not issubclass(METRICS.get(metric), ClassMetric):
            self.require_read(metric)
        each = METRICS.get(metric)().per_record(self.frequency, self.recoding)
        rows = self.frequency.key_of_row("per_record")
        return None if each is None else np.append(each, 1.0)[rows]

    def table(self, *columns: str) -> pl.DataFrame:
        """Count the values of a quasi-identifier, or the pairs of two, before and after.

        A released record is spread evenly over the values of its cells, a suppressed one over all values.
        With sampling weights the counts are people of the population, an estimate, else records. It is for
        the holder of the raw table, whose values it names.

        Returns
        -------
        A Polars frame: the columns, ``before`` and ``after``; a row for each value that occurs.

        Raises
        ------
        ParameterError
            When these are not one or two quasi-identifiers, or have too many pairs of values.
        TableError
            When cells are not read.
        """
        self.require_read("table")
        from incrowd.release.jobs.measure.cell_spread import count_table

        return count_table(self.frequency, self.recoding, columns)

    def require_read(self, figure: str) -> None:
        """Refuse a figure that depends on unreadable cells.

        Raises
        ------
        TableError
            When there are such cells.
        """
        for name, cells in self.unread.items():
            raise TableError(f"{figure} is not measured: {cells.text(name)}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without any value of the tables."""
        return {
            **envelope("evaluation"),
            "records": self.records,
            "suppressed": self.suppressed,
            "missing": self.missing,
            "paired_by": self.paired_by,
            "classes": self.classes,
            "summarized": self.summarized,
            "unread": {name: cells._asdict() for name, cells in self.unread.items()},
            "utility": [lost.to_dict() for lost in self.utility.values()],
            **({} if self.people is None else {"people": self.people}),
            **({} if self.analyses is None else self.analyses.public()),
        }

    @property
    def people(self) -> dict[str, Any] | None:
        """The people of all and of suppressed records, or None without sampling weights."""
        sampling = self.frequency.survey.sampling
        if sampling is None:
            return None
        released = int(sampling.keys[~self.recoding.suppressed].sum()) / UNIT
        return {
            "estimated_by": sampling.column,
            "before": sampling.people,
            "suppressed": sampling.people - released,
        }


def evaluate(
    table: Any,
    released: Any,
    schema: Schema,
    *,
    row_map: Any = None,
    by: str | None = None,
    aligned: bool = False,
    suppressed_as: Sequence[str] = (),
    analyses: Iterable[Analysis] = (),
) -> Evaluation:
    """Measure the losses of any release, also of another tool.

    Which raw row each released row is has to be sure. It is sure by a row map, by a key, and if the caller
    says that the order is kept. It is also sure if all cells are true of the rows in their place, unless the
    sensitive values stand in another order; or if the cells leave one choice: each class covers as many raw
    rows as it has records, and no row is in two of them.

    Parameters
    ----------
    table, released
        The raw table and the released one, which may have fewer rows: pandas, Polars or PyArrow tables, or
        paths of CSV or Parquet files. Other columns than the schema's and `by` are not looked at.
    schema
        The quasi-identifiers with their hierarchies, where they have one, the sensitive attributes, and the
        column of sampling weights, where the raw table has one.
    row_map
        Which raw row each released row is, as `Release.row_map` gives it: a frame, or the path of a file.
    suppressed_as
        The texts of suppressed cells beside ``*``, as in `assess`. A cell that is missing where the raw table
        has a value is suppressed anyway.
    by
        A column of keys that both tables have. Numbers are compared by value.
    aligned
        Whether row N of the release is row N of the raw table, also where cells are means or have noise.
    analyses
        What a recipient wants to compute, as in a `Policy`.

    Raises
    ------
    InputError
        When a table cannot be read or does not fit the schema, or it is not sure which row is which.
    """
    from incrowd.core.recoding.observed import observe
    from incrowd.core.recoding.suppression_marks import with_stars
    from incrowd.engines import engine_for, loaded
    from incrowd.release.accounts.row_map import numbers_of
    from incrowd.release.jobs.measure.row_pairs import map_by_key, moved_values

    quasi = [replace(each, key_of=()) for each in schema.quasi]
    raw_schema = Schema.of_attributes(
        (*quasi, *schema.sensitive, *schema.having("weight")), null_values=schema.null_values
    )
    before = engine_for(loaded(table)).count(raw_schema).frequency
    released_schema = Schema.of_attributes(quasi, null_values=schema.null_values).measured()
    try:
        starred = with_stars(loaded(released), [each.name for each in schema.quasi], suppressed_as)
        after = engine_for(starred).count(released_schema).frequency
    except InputError as error:
        raise type(error)(f"released table: {error}") from None
    missing, paired_by = before.rows - after.rows, "order"
    before.key_of_row("comparing two tables")
    if by is not None:
        row_map = map_by_key(table, released, by, row_map, schema, "utility")
    if row_map is not None:
        paired_by = "row map" if by is None else "key"
        after = _in_raw_order(after, numbers_of(row_map, after.rows, before.rows), before.rows)
    elif not aligned:
        after, paired_by = paired(before, after, moved_values(table, released, schema, "utility"))
    frequency, recoding = observe(before, after)
    sampling = before.survey.sampling
    if sampling is not None and sampling.of_row is not None:
        key = frequency.key_of_row("evaluate")
        weights = Sampling.of_weights(sampling.column, key, sampling.of_row, frequency.keys)
        frequency = frequency.with_sampling(weights)
    classes = recoding.classes(frequency)
    return Evaluation(
        frequency.rows,
        classes.suppressed,
        missing,
        paired_by,
        len(classes),
        recoding.summarized,
        recoding.unread,
        measure_all(frequency, recoding, of_classes=bool(recoding.unread)),
        frequency,
        recoding,
        compare_analyses(table, starred, schema, analyses),
    )


def compare_analyses(
    table: Any, released: Any, schema: Schema, analyses: Iterable[Analysis]
) -> AnalysisResults | None:
    """Compute analyses from a raw table and from its release, and compare them; None without analyses."""
    from incrowd.engines import engine_for, loaded
    from incrowd.release.analyses.measure import RawAnalyses

    if not (analyses := tuple(analyses)):
        return None
    raw = RawAnalyses.of_table(engine_for(loaded(table)), schema, analyses)
    return raw.compare(engine_for(loaded(released)))


def _in_raw_order(released: FrequencyTable, places: NDArray[np.int64], rows: int) -> FrequencyTable:
    """Return the keys of the raw rows; rows without a released row are suppressed."""
    row_keys = np.full(rows, -1, np.int32)
    row_keys[places] = released.key_of_row("evaluate")
    return replace(released, row_keys=row_keys, suppressed=released.suppressed + rows - released.rows)
