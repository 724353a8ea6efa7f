"""apply_recoding(): recode the next batch of rows as an earlier table was recoded."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InfeasibleError, ParameterError, TableError, named, setting
from incrowd.io.shuffle import RandomOrder
from incrowd.jobs.checks import styled, telling_columns
from incrowd.jobs.linked import with_histories
from incrowd.jobs.people import refuse_people
from incrowd.jobs.treating import Treating, refuse_perturbed
from incrowd.jobs.types import with_types
from incrowd.recoding import (
    SUPPRESSED,
    Cells,
    FullDomain,
    Recoding,
    SingleDimensional,
    check_cells,
    node_labels,
)
from incrowd.recoding.observed import literal
from incrowd.recoding.people import carry_people, carry_sensitive
from incrowd.table.documents import envelope
from incrowd.table.domain import Domain
from incrowd.table.exact import moment_of, number_of
from incrowd.table.frequency import FrequencyTable, smallest_codes
from incrowd.table.schema import Schema
from incrowd.table.union import Part, Shown, together

if TYPE_CHECKING:
    import polars as pl

    from incrowd.io.files import CsvFormat
    from incrowd.jobs.assess import Assessment
    from incrowd.jobs.policy import Policy

__all__ = ["AppliedBatch", "apply_recoding"]

_CELLS = 8_000_000
_REASONS = ("", "outside", "too small", "suppressed")


@dataclass(frozen=True)
class AppliedBatch:
    """A batch of rows, recoded by decisions that were made before.

    Attributes
    ----------
    table
        The rows, of the kind that came in; columns as the schema releases them. They come in a random order
        unless the policy keeps it. Means have types as in `Release.table`.
    policy
        What it has to satisfy.
    records
        Rows of the batch.
    outside
        Rows that no cell of the recoding covers, as those with a value that it does not know; suppressed.
    too_small
        Rows whose class does not satisfy the models; suppressed.
    suppressed
        All suppressed rows, with those that came in as ``*`` or that the recoding suppressed.
    privacy
        The batch, or where a release was named the batch and that together, measured.
    previous_release
        The earlier release, where one was named.
    csv_format
        How the batch was written, where it was a CSV.
    sources
        What was given: paths, where they were paths.
    """

    table: Any = field(repr=False)
    policy: Policy = field(repr=False)
    records: int
    outside: int
    too_small: int
    suppressed: int
    privacy: Assessment
    previous_release: Any = field(default=None, repr=False)
    csv_format: CsvFormat | None = None
    sources: tuple[Any, ...] = field(default=(), repr=False)
    _reason_of_row: NDArray[np.int8] | None = field(default=None, repr=False, kw_only=True)
    _made_from: tuple[FrequencyTable, Recoding] | None = field(default=None, repr=False, kw_only=True)
    _texts: Any = field(default=None, repr=False, kw_only=True)

    def __repr__(self) -> str:
        return f"AppliedBatch({self.records:,} records, {self.suppressed:,} suppressed; every model holds)"

    @property
    def texts(self) -> Any:
        """The rows with every quasi-identifier as texts, as files hold them."""
        return self.table if self._texts is None else self._texts

    def rows(self) -> pl.DataFrame:
        """Return which rows of the batch were suppressed, and why: their numbers and nothing that they hold.

        The numbers are those of the rows as they came in. Do not hand them out.

        Returns
        -------
        A Polars frame with ``row`` (the first has number 1) and ``reason``: ``outside``, ``too small``, or
        ``suppressed`` where the row came in as ``*`` or the recoding suppressed it.

        Raises
        ------
        TableError
            When the rows are not in memory.
        """
        import polars as pl

        if self._reason_of_row is None:
            raise TableError("the rows of this batch are not in memory, so they have no numbers")
        found = np.flatnonzero(self._reason_of_row)
        reasons = [_REASONS[reason] for reason in self._reason_of_row[found]]
        return pl.DataFrame({"row": found + 1, "reason": pl.Series(reasons, dtype=pl.String)})

    def write(
        self, path: str | os.PathLike[str], *, force: bool = False, escape_formulas: bool = False
    ) -> None:
        """Write the rows, read them again and judge them, with the earlier release where one was named.

        With `escape_formulas` texts of a CSV that a spreadsheet would run as formulas get ``'`` in front.

        Raises
        ------
        TableError
            When the file exists (unless `force`) or cannot be written.
        InfeasibleError
            When what was written does not satisfy the policy.
        """
        from incrowd.engines import engine_for
        from incrowd.io.files import escaping

        def check(reread: Any) -> None:
            _judged(reread, self.previous_release, self.policy, self._made_from)

        csv_format = escaping(self.csv_format, escape_formulas)
        engine_for(self.texts).write_checked(path, csv_format, check, force=force, sources=self.sources)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: no value of the tables is in it."""
        return {
            **envelope("batch"),
            "records": self.records,
            "outside": self.outside,
            "too_small": self.too_small,
            "suppressed": self.suppressed,
            "privacy": self.privacy.to_dict(cells=False),
        }


def apply_recoding(
    recoding: Recoding | str | os.PathLike[str],
    table: Any,
    policy: Policy,
    *,
    previous_release: Any = None,
    csv_format: CsvFormat | None = None,
    force: bool = False,
) -> AppliedBatch:
    """Recode new rows as an earlier table was recoded, check the result, and suppress what does not fit.

    - A full-domain recoding takes every value to the level of its column.
    - A single-dimensional recoding takes every value to the cell of its column. If the recoding has rounds,
      the first round is taken that has a class for the row.
    - With a local recoding, a row gets the cells of the class that covers it. If several classes cover it, it
      gets those that lose least.

    The text of a cell says what it covers. A set covers the values that it names. A mean covers no value but
    itself.

    Rows that no cell covers are suppressed. Then every row of a class that fails the policy's models is
    suppressed, until all classes satisfy them.

    Parameters
    ----------
    recoding
        A recoding, or the folder where it was saved.
    table
        The new rows: any table that `anonymize` takes.
    policy
        The roles of the columns and the models; its algorithm is not looked at.
    previous_release
        The earlier release, if both will be published. The classes of both are then checked together, and
        only new rows are suppressed.
    csv_format
        How a CSV is written, where it is not plain.
    force
        Whether an order that tells a quasi-identifier is kept all the same, if the policy keeps the order.

    Raises
    ------
    InputError
        When the tables or the recoding do not fit the policy, or the order that it keeps tells a
        quasi-identifier (unless `force`).
    InfeasibleError
        When the models fail even if all new rows are suppressed, or when more rows would have to be
        suppressed than the policy allows.
    """
    from incrowd.engines import engine_for, loaded

    given = tuple(each for each in (recoding, table, previous_release) if isinstance(each, str | os.PathLike))
    if not isinstance(recoding, Recoding):
        recoding = Recoding.load(recoding)
    came = engine_for(loaded(table, csv_format))
    schema = (policy := with_histories(policy, searching=False)).schema
    if previous_release is not None:
        refuse_people(schema, "apply with an earlier release")
        refuse_perturbed(schema, "apply with an earlier release")
    (leaving := schema.after_treatment()).released(came.columns)
    names = [attribute.name for attribute in schema.quasi]
    if [domain.name for domain in recoding.domains] != names:
        raise ParameterError(
            f"the recoding is one of {named(domain.name for domain in recoding.domains)}, and the "
            f"policy's quasi-identifiers are {named(names)}"
        )
    for model in policy.models:
        if model.needs_population:
            raise ParameterError(f"apply: {model.name} needs a population, which a batch has not got")
    treating = Treating.of(came, schema, recoding.treated)
    engine = treating.counted
    joint = any(model.is_joint for model in policy.models)
    # Leaves of a hierarchy are texts: `0` and `-0` are one number, and may stand under different nodes.
    kinds = [domain.kind if domain.hierarchy is None else "category" for domain in recoding.domains]
    plainly = Schema.of(
        [
            *(
                replace(attribute.as_counted().as_texts(), kind=kind, output=None, weight=1.0, levels=None)
                for attribute, kind in zip(schema.quasi, kinds, strict=True)
            ),
            *(each.as_counted() for each in schema.sensitive),
            *schema.having("person"),
        ],
        null_values=schema.null_values,
    )
    frequency = engine.count(plainly, joint=joint)
    if policy.keep_order:
        telling_columns(engine, leaving, frequency, force=force)
    if isinstance(recoding, FullDomain):
        labels, covered = _levels(recoding, frequency)
    elif isinstance(recoding, SingleDimensional):
        labels, covered = _rounds(recoding, frequency)
    else:
        labels, covered = _covered(recoding, frequency)
    shown: Shown = [_numbered(column) for column in labels]
    starred = _all_starred(labels)
    before = [] if previous_release is None else [_written(loaded(previous_release), policy)]
    small = _failing((shown, covered & ~starred, frequency), before, policy)
    kept = covered & ~starred & ~small
    of = frequency.weights
    outside, too_small, gone = (int(of[each].sum()) for each in (~covered, small, ~kept))
    suppressed = frequency.suppressed + gone
    _check_share(suppressed, outside, too_small, frequency.rows, policy)
    carried = _Carried.build(recoding.domains, frequency, labels, kept)
    check_cells(carried, schema.null_values)
    released = treating.rows(engine).apply(_as_counted(leaving, plainly), frequency, carried)
    perturbed = any(each.perturbed for each in schema.sensitive)
    made_from = (frequency, carried) if frequency.persons is not None or perturbed else None
    judged = _judged(released, previous_release, policy, made_from)
    if not policy.keep_order:
        released = engine.reordered(released, RandomOrder())
    reasons = np.append(np.where(small, 2, np.where(covered, np.where(starred, 3, 0), 1)), 3)
    rows = frequency.row_keys
    table = with_types(engine, released, styled(policy), frequency, carried, recoding)
    return AppliedBatch(
        table,
        policy,
        frequency.rows,
        outside,
        too_small,
        suppressed,
        judged,
        previous_release,
        csv_format,
        (*given, *engine.sources),
        _reason_of_row=None if rows is None else reasons.astype(np.int8)[rows],
        _made_from=made_from,
        _texts=None if table is released else released,
    )


def _failing(batch: Part, before: Sequence[Part], policy: Policy) -> NDArray[np.bool_]:
    """Say which keys of a batch have to go, until every class of it and of what was released before holds."""
    from incrowd.algorithms.base import all_hold
    from incrowd.table.classes import EquivalenceClasses

    shown, kept, frequency = batch
    small = np.zeros(len(kept), np.bool_)
    while True:
        counted, keys = together([(shown, kept & ~small, frequency), *before], policy.schema)
        good = np.append(all_hold(policy.models, EquivalenceClasses.of_keys(counted)), True)
        failing = ~good[keys] & kept & ~small
        if not failing.any():
            return small
        small |= failing


def _all_starred(labels: Labels) -> NDArray[np.bool_]:
    """Say which keys have ``*`` in every column."""
    starred = [np.array([label == SUPPRESSED for label in column], np.bool_) for column in labels]
    return np.asarray(np.logical_and.reduce(starred))


def _check_share(suppressed: int, outside: int, too_small: int, rows: int, policy: Policy) -> None:
    if suppressed / rows > policy.max_suppression:
        raise InfeasibleError(
            f"apply: {suppressed} of {rows} rows would be suppressed ({outside} are covered by no cell, "
            f"{too_small} in classes that fail), where {policy.max_suppression:.2%} may be; raise "
            f"{setting('max_suppression', '--max-suppression')}, {_together()}"
        )
    if suppressed == rows:
        raise InfeasibleError(
            f"apply: every row would be suppressed ({outside} are covered by no cell, {too_small} in classes "
            f"that fail); {_together()}"
        )


def _together() -> str:
    earlier = setting("previous_release", "--previous-release")
    return f"name the earlier release ({earlier}), or anonymize both together"


def _written(table: Any, policy: Policy) -> Part:
    """Count a released table: its cells, and that all of its keys count."""
    from incrowd.engines import engine_for

    there = policy.schema.without_perturbed()
    joint = any(model.is_joint for model in policy.models) and len(there.sensitive) > 0
    found = engine_for(table).count(there.measured(person=False), joint=joint)
    shown: Shown = [(codes, domain.values) for domain, codes in zip(found.domains, found.codes, strict=True)]
    return shown, np.ones(found.keys, np.bool_), found


def _as_counted(schema: Schema, plainly: Schema) -> Schema:
    """Return the schema with the quasi-identifiers as they were counted."""
    return schema.with_attributes(
        plainly[attribute.name] if attribute.role == "quasi" else attribute for attribute in schema.attributes
    )


def _judged(
    released: Any,
    previous_release: Any,
    policy: Policy,
    made_from: tuple[FrequencyTable, Recoding] | None,
) -> Assessment:
    """Measure what was made, with the earlier release where one was named, and refuse what does not hold."""
    from incrowd.engines import loaded
    from incrowd.jobs.assess import assess_classes
    from incrowd.jobs.checks import judge
    from incrowd.table.classes import EquivalenceClasses

    tables = [released] if previous_release is None else [loaded(previous_release), released]
    counted, _ = together([_written(table, policy) for table in tables], policy.schema.without_perturbed())
    if made_from is not None:
        counted = carry_people(carry_sensitive(counted, *made_from), *made_from)
    classes = EquivalenceClasses.of_keys(counted)
    assessment = assess_classes(classes, policy.models, policy.wildcards, linked=policy.schema.joined)
    judge(assessment, replace(policy, max_suppression=1.0))
    return assessment


class _Carried(Recoding):
    """The cells of other keys than those for which a recoding was made."""

    kind: ClassVar[str] = "carried over"

    def decisions(self) -> dict[str, Any]:
        return {}

    @classmethod
    def build(
        cls,
        domains: tuple[Domain, ...],
        frequency: FrequencyTable,
        labels: Labels,
        kept: NDArray[np.bool_],
    ) -> _Carried:
        cells = []
        for column in labels:
            numbers, texts = _numbered(
                [label if good else SUPPRESSED for label, good in zip(column, kept.tolist(), strict=True)]
            )
            nothing = np.zeros(len(texts), np.int32)
            cells.append(
                Cells(
                    smallest_codes(numbers, max(len(texts), 1)),
                    tuple(texts),
                    nothing,
                    nothing,
                    nothing.astype(np.float64),
                    nothing,
                )
            )
        return cls(domains, frequency.codes, tuple(cells), ~kept)


# --- which cells a key gets --------------------------------------------------------------------------


def _places(known: Domain, new: Domain) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each new value the ranks on either side of it, -1 where it is outside.

    A known value is on both sides of itself; a number between two known ones is covered by what covers both.
    """
    rank = {value: place for place, value in enumerate(known.values)}
    if known.kind != new.kind or not (known.ordered and new.ordered):
        low = np.array([rank.get(value, -1) for value in new.values], np.int64)
        return low, low
    read: Any = moment_of if known.kind == "date" else number_of
    sides = [
        (rank[value], rank[value]) if value in rank else known.line.around(read(value))
        for value in new.values
    ]
    low, high = np.array(sides, np.int64).reshape(-1, 2).T
    return low, high


def _exactly(low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ranks of known values, -1 for what is between two or outside."""
    return np.where(low == high, low, -1)


Labels = list[list[str | None]]


def _numbered(column: Sequence[str | None]) -> tuple[NDArray[np.int64], list[str | None]]:
    """Give each distinct text of a column a number."""
    distinct = {label: number for number, label in enumerate(dict.fromkeys(column))}
    return np.array([distinct[label] for label in column], np.int64), list(distinct)


def _levels(recoding: FullDomain, frequency: FrequencyTable) -> tuple[Labels, NDArray[np.bool_]]:
    """Take every value to its column's level; a key that was suppressed stays so."""
    labels: Labels = []
    covered = np.ones(frequency.keys, np.bool_)
    known = []
    for domain, new, codes, level in zip(
        recoding.domains, frequency.domains, frequency.codes, recoding.levels, strict=True
    ):
        own = _exactly(*_places(domain, new))
        if domain.hierarchy is None:
            texts = [SUPPRESSED if level else value for value in new.values]
            reached = np.ones(new.size, np.bool_)
        else:
            names = node_labels(domain, domain.hierarchy.climb(level))
            reached = own >= 0
            texts = [names[place] if place >= 0 else None for place in own.tolist()]
        labels.append([texts[code] for code in codes.tolist()])
        covered &= reached[codes]
        known.append(own[codes])
    again = _gone(recoding, np.column_stack(known))
    for column in labels:
        for key in np.flatnonzero(again).tolist():
            column[key] = SUPPRESSED
    return labels, covered


def _covered(recoding: Recoding, frequency: FrequencyTable) -> tuple[Labels, NDArray[np.bool_]]:
    """Give every key the cells of the class that covers it, as its texts say, and loses least."""
    live = np.flatnonzero(~recoding.suppressed)
    entries = np.column_stack([cells.codes[live].astype(np.int64) for cells in recoding.cells])
    entries = np.unique(entries, axis=0)
    loss = [cells.loss[entries[:, j]] for j, cells in enumerate(recoding.cells)]
    entries = entries[np.argsort(np.sum(loss, axis=0), kind="stable")]
    columns = [
        _Column(domain, cells, entries[:, j]) for j, (domain, cells) in enumerate(_columns_of(recoding))
    ]
    sides = _sides(recoding, frequency)
    chosen = np.full(frequency.keys, -1)
    block = max(_CELLS // max(len(entries), 1), 1)
    for start in range(0, frequency.keys if len(entries) else 0, block):
        here = slice(start, start + block)
        inside = np.logical_and.reduce(
            [column.holds(low[here], high[here]) for column, (low, high) in zip(columns, sides, strict=True)]
        )
        chosen[here] = np.where(inside.any(axis=1), inside.argmax(axis=1), -1)
    covered = chosen >= 0
    labels: Labels = []
    for j, cells in enumerate(recoding.cells):
        column: list[str | None] = [SUPPRESSED] * frequency.keys
        for key in np.flatnonzero(covered).tolist():
            column[key] = cells.labels[entries[chosen[key], j]]
        labels.append(column)
    return labels, covered


def _columns_of(recoding: Recoding) -> Iterator[tuple[Domain, Cells]]:
    return zip(recoding.domains, recoding.cells, strict=True)


def _sides(
    recoding: Recoding, frequency: FrequencyTable
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return for each quasi-identifier the ranks on either side of each key's value; see `_places`."""
    sides = []
    for domain, new, codes in zip(recoding.domains, frequency.domains, frequency.codes, strict=True):
        low, high = _places(domain, new)
        sides.append((low[codes], high[codes]))
    return sides


class _Column:
    """What the cells of some classes cover in one column: nothing but what their texts say.

    Parameters
    ----------
    entries
        int[classes]: the cell of each class.
    """

    def __init__(self, domain: Domain, cells: Cells, entries: NDArray[np.int64]) -> None:
        said = literal(domain, cells)
        self.lo, self.hi = said.lo[entries], said.hi[entries]
        self.sets = np.isin(entries, list(said.named))
        self.classes_of: dict[int, list[int]] = {}
        for number in np.flatnonzero(self.sets).tolist():
            for rank in said.named[int(entries[number])]:
                self.classes_of.setdefault(rank, []).append(number)

    def holds(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which class covers which values, given the ranks on either side: bool[values, classes]."""
        a, b = low[:, None], high[:, None]
        inside = (a >= 0) & (self.lo <= a) & (b <= self.hi)
        if self.sets.any():
            ranks, place = np.unique(_exactly(low, high), return_inverse=True)
            named = np.zeros((len(ranks), len(self.lo)), np.bool_)
            for row, rank in enumerate(ranks.tolist()):
                named[row, self.classes_of.get(rank, [])] = True
            inside &= ~self.sets | named[place]
        return np.asarray(inside)


def _rounds(recoding: SingleDimensional, frequency: FrequencyTable) -> tuple[Labels, NDArray[np.bool_]]:
    """Take every value to its cell in the first round that had a class for the key, or the last that fits."""
    sides = _sides(recoding, frequency)
    said = [literal(domain, cells) for domain, cells in _columns_of(recoding)]
    chosen = np.full((frequency.keys, len(sides)), -1, np.int64)
    settled = np.zeros(frequency.keys, np.bool_)
    for number in range(recoding.count):
        own = np.flatnonzero(recoding.round_of_key == number)
        entries = []
        for j, (domain, cells) in enumerate(_columns_of(recoding)):
            entry = np.full(domain.size + 1, -1, np.int64)
            entry[recoding.keys[j][own]] = cells.codes[own]
            low, high = sides[j]
            # A value between two known ones has their cell where that is one, and says that it covers it.
            both = entry[low] == entry[high]
            both &= (said[j].lo[entry[low]] <= low) & (high <= said[j].hi[entry[low]])
            entries.append(np.where(both, entry[low], -1))
        found = np.column_stack(entries)
        fits = (found >= 0).all(axis=1) & ~settled
        chosen[fits] = found[fits]
        live = {
            tuple(row) for row in np.column_stack([cells.codes[own] for cells in recoding.cells]).tolist()
        }
        settled |= fits & np.array([tuple(row) in live for row in found.tolist()], np.bool_)
    covered = (chosen >= 0).all(axis=1)
    gone = _gone(recoding, np.column_stack([_exactly(*side) for side in sides]))
    labels: Labels = []
    for j, cells in enumerate(recoding.cells):
        texts = [cells.labels[entry] if entry >= 0 else SUPPRESSED for entry in chosen[:, j].tolist()]
        labels.append([SUPPRESSED if out else text for text, out in zip(texts, gone.tolist(), strict=True)])
    return labels, covered | gone


def _gone(recoding: Recoding, ranks: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which keys, given by the ranks of their values, the recoding suppressed."""
    gone = {tuple(key) for key in np.column_stack(recoding.keys)[recoding.suppressed].tolist()}
    return np.array([tuple(key) in gone for key in ranks.tolist()], np.bool_)
