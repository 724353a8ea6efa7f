"""Protection of all tables of a quantity together, and the audit of the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from incrowd.core.errors import InfeasibleError, ParameterError, named
from incrowd.core.io.seals import digest_of
from incrowd.core.lazy import NDArray, np, pl
from incrowd.release.tables.audit import NEAR, Intervals, ending_after, intervals
from incrowd.release.tables.cell_key import PerturbationTable, perturbation_table
from incrowd.release.tables.cells import Axis, Linked, Nested
from incrowd.release.tables.counting import Cells
from incrowd.release.tables.key_table import KeyTable, threshold_rounding
from incrowd.release.tables.layout import CountTable, require_one_way
from incrowd.release.tables.named_cells import named_cells
from incrowd.release.tables.need import Need
from incrowd.release.tables.primary import cost_of, need_of, primary_cells
from incrowd.release.tables.ring import with_ring
from incrowd.release.tables.rounding import round_controlled, round_randomly, round_to_midpoints
from incrowd.release.tables.small_counts import round_small_counts
from incrowd.release.tables.suppress import narrow_together, suppress
from incrowd.release.tables.unions import Unions

_GRACE = 10.0
"""Seconds that repair and audit have beside those of the search, and as many as these."""
_UNTOLD = ("key", "cost", "hidden", "never_secondary")
"""Settings that a manifest does not tell: a hidden cell that is never secondary is known to be unsafe."""
MARK = "x"
"""What stands beside a suppressed cell."""


@dataclass(frozen=True)
class PublishedTable:
    """A table in the published form.

    Attributes
    ----------
    layout
        What the policy asks for.
    axes
        The dimensions, rows first.
    values
        float64[cells]: what is published, NaN where it is suppressed.
    unsafe
        How many suppressed, rounded or perturbed cells can be computed too closely.
    primary
        bool[cells]: which are unsafe by the rules of the table. It tells more than the published table.
    cost
        float64[cells]: what it costs to suppress each, as `cost_of` counts it. It tells more than the
        published table.
    bound
        No protection of this kind costs all tables of the quantity less than this; None where none was
        sought.
    gap
        By how much a better choice may cost less, as a share of the cost.
    overlapping
        The columns of which a person has several codes.
    people
        How many people the whole table is about.
    deviation
        The most that a cell key changes a count; 0 where there is none.
    """

    layout: CountTable
    axes: tuple[Axis, ...]
    values: NDArray[np.float64]
    unsafe: int
    primary: NDArray[np.bool_]
    cost: NDArray[np.float64]
    bound: float | None
    gap: float | None
    overlapping: tuple[str, ...]
    people: int
    deviation: int = 0

    @cached_property
    def hidden(self) -> NDArray[np.bool_]:
        """bool[cells]: which are suppressed."""
        return np.isnan(self.values)

    @property
    def quantity(self) -> str:
        """The name of the column of values: people, records, or the number that is summed."""
        layout = self.layout
        name = layout.count if layout.sum is None else f"sum of {layout.sum}"
        while name in {axis.column for axis in self.axes} | {"mark"}:
            name += "_"
        return name

    @property
    def frame(self) -> pl.DataFrame:
        """The table as a frame: a line per cell, with the codes, the value and a mark if suppressed."""
        shape = [len(axis.codes) for axis in self.axes]
        places = np.unravel_index(np.arange(len(self.values)), shape)
        columns: dict[str, Any] = {
            axis.column: pl.Series(axis.codes).gather(place)
            for axis, place in zip(self.axes, places, strict=True)
        }
        values = pl.Series(np.where(self.hidden, 0, self.values))
        values = values if self.layout.sum is not None else values.cast(pl.Int64)
        hidden = pl.Series(self.hidden)
        return pl.DataFrame(columns).with_columns(
            pl.when(~hidden).then(values).alias(self.quantity),
            pl.when(hidden).then(pl.lit(MARK)).otherwise(pl.lit("")).alias("mark"),
        )

    def grid(self) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]], NDArray[np.float64]]:
        """Return the table as rows by columns: the codes of each row, of each column, and the values."""
        side = len(self.layout.rows) or 1
        rows, columns = (
            list(product(*(axis.codes for axis in axes))) for axes in (self.axes[:side], self.axes[side:])
        )
        return rows, columns, self.values.reshape(len(rows), len(columns))

    def to_dict(self) -> dict[str, Any]:
        """Return the facts that a reader, and a check, must know of the table."""
        layout = self.layout
        rules = {name: value for name, value in layout.settings().items() if name not in _UNTOLD}
        if layout.key_table is not None and layout.rule is None:
            # A path may tell of a machine, and a digest tells which table it was.
            rules["key_table"] = f"sha256:{digest_of(Path(layout.key_table[5:]))}"
        return {
            **rules,
            "name": layout.name,
            "quantity": self.quantity,
            "dimensions": [
                {
                    "column": axis.column,
                    "codes": list(axis.codes),
                    "under": [int(parent) for parent in axis.tree.parents],
                    "overlapping": axis.column in self.overlapping,
                }
                for axis in self.axes
            ],
            "threshold": layout.threshold,
            "protect": layout.protect,
            "zeros": layout.zeros,
            "width": layout.open_width,
            "cells": len(self.values),
            "suppressed": int(self.hidden.sum()),
            **({"base": layout.multiple} if layout.protect == "round" else {}),
            **({"deviation": self.deviation} if layout.protect == "cell-key" else {}),
            "gap": None if self.gap is None else round(self.gap, 4),
        }


@dataclass(frozen=True)
class _Joined:
    """The cells of all tables of the same quantity, each cell once."""

    tables: Sequence[Cells]
    linked: Linked

    @classmethod
    def of_tables(cls, tables: Sequence[Cells], nested: Sequence[Nested]) -> _Joined:
        return cls(tables, Linked.of_tables([table.axes for table in tables], _overlapping(tables), nested))

    def intervals(
        self,
        low: NDArray[np.float64],
        high: NDArray[np.float64],
        cells: NDArray[np.int64],
        *,
        whole: bool = True,
        enough: NDArray[np.float64] | None = None,
    ) -> Intervals:
        """Compute the intervals of some cells as `audit.intervals` does, with the whole table of a ring."""
        axes = [table.axes for table in self.tables]
        known = with_ring(axes, self.linked, _overlapping(self.tables), low, high)
        return intervals(*known, cells, whole=whole, enough=enough)

    def named(self, setting: str) -> NDArray[np.int64]:
        """Return the numbers of the cells that the tables name in a setting."""
        cells = zip(self.tables, self.linked.cells, strict=True)
        return np.concatenate([place[named_cells(table, setting)] for table, place in cells])

    def all(self, parts: Sequence[NDArray[Any]], start: Any, combine: np.ufunc) -> NDArray[Any]:
        """Combine the values of each table's cells into a single array of all cells."""
        cells = np.full(self.linked.size, start)
        for part, place in zip(parts, self.linked.cells, strict=True):
            # Two codes of a table may be one cell, as a code with a single part is.
            combine.at(cells, place, part)
        return cells

    def primary(self) -> NDArray[np.bool_]:
        """Return bool[cells]: which cells are unsafe by the rules of a table with that cell.

        Where people have several codes, a cell is unsafe, too, if a total has few people more. The total may
        be in another table. Example: of 23 people 20 have drug A and others B or C as well. So 3 have no A.
        """
        unsafe = self.all([primary_cells(table) for table in self.tables], False, np.logical_or)
        people = self.all([table.people for table in self.tables], 0, np.maximum)
        thresholds = [np.full(len(table.values), table.layout.threshold) for table in self.tables]
        threshold = self.all(thresholds, 0, np.maximum)
        for number in np.flatnonzero(~self.linked.exact).tolist():
            parts = self.linked.parts[number]
            others = people[self.linked.totals[number]] - people[parts]
            unsafe[parts] |= (others > 0) & (others < threshold[parts]) & (people[parts] > 0)
        return unsafe

    def narrow(
        self,
        need: Need,
        primary: NDArray[np.bool_],
        hidden: NDArray[np.bool_],
        cells: NDArray[np.int64],
        unions: Sequence[tuple[Unions, NDArray[np.int64]]],
    ) -> NDArray[np.bool_]:
        """Return bool[all cells]: which of some hidden cells, or of unsafe unions, are open too little.

        The audit knows nothing but what is published, so it finds what a search may have missed.
        """
        enough = None if need.enough is None else need.enough[cells]
        ends = self.intervals(*need.bounds(hidden), cells, whole=need.whole, enough=enough)
        narrow = narrow_together(self.linked, need, primary, hidden, unions)
        narrow[cells] |= need.shortfall(cells, ends) > NEAR
        return narrow

    def unions(self, number: int) -> list[tuple[Unions, NDArray[np.int64]]]:
        """Return the unions of the first tables, with the numbers of the cells of each."""
        return [
            (Unions(table), place)
            for table, place in zip(self.tables[:number], self.linked.cells, strict=False)
        ]

    def bounds(
        self, ends: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the bounds of all cells from the least and the largest counts of each table's cells."""
        low, high = zip(*ends, strict=True)
        return self.all(low, 0.0, np.maximum), self.all(high, np.inf, np.minimum)

    def need(self, primary: NDArray[np.bool_]) -> Need:
        """Return the required widths of the intervals of all cells, given the unsafe cells."""
        needs = [
            need_of(table, primary[place])
            for table, place in zip(self.tables, self.linked.cells, strict=True)
        ]
        return Need(
            self.all([table.values for table in self.tables], 0.0, np.maximum),
            self.all([each.width for each in needs], 0.0, np.maximum),
            self.all([each.slack for each in needs], 0.0, np.maximum),
            max(each.share for each in needs),
            self.all([each.floors for each in needs], 0.0, np.maximum),
            all(each.whole for each in needs),
        )

    def published(
        self,
        values: Sequence[NDArray[np.float64]],
        unsafe: NDArray[np.bool_],
        primary: NDArray[np.bool_],
        bound: float | None = None,
        gap: float | None = None,
        deviations: Sequence[int] = (),
    ) -> list[PublishedTable]:
        """Return each table with published values; `unsafe` and `primary` are of all cells."""
        return [
            PublishedTable(
                table.layout,
                table.axes,
                own,
                int(unsafe[place].sum()),
                primary[place],
                cost_of(table),
                bound,
                gap,
                table.overlapping,
                int(table.people[0]),
                deviation,
            )
            for table, own, place, deviation in zip(
                self.tables,
                values,
                self.linked.cells,
                deviations or [0] * len(self.tables),
                strict=True,
            )
        ]


def protect(
    tables: Sequence[Cells],
    *,
    seconds: float,
    earlier: Sequence[tuple[Cells, NDArray[np.bool_]]] = (),
    ring: Cells | None = None,
    nested: Sequence[Nested] = (),
) -> list[PublishedTable]:
    """Protect tables of the same quantity, and audit the result from the published cells alone.

    Parameters
    ----------
    tables
        Their true values. All have one way of protection.
    earlier
        Tables of the same people that were published, each with its suppressed cells: bool[cells]. What they
        show is known, and what they hide stays hidden.
    seconds
        Time for the search of the best protection.
    ring
        The whole table of the columns that tie all tables in a ring, if they do.
    nested
        The codes of columns that other columns determine.

    Raises
    ------
    InfeasibleError
        When a small cell cannot be protected.
    ParameterError
        When tables that tell the same are protected in different ways.
    """
    require_one_way([table.layout for table in tables])
    new, tables = len(tables), [*tables, *(cells for cells, _ in earlier)]
    with ending_after(2 * seconds + _GRACE):
        joined = _Joined.of_tables(tables, nested)
        primary = joined.primary()
        primary[joined.named("waived")] = False
        primary[joined.named("hidden")] = True
        need = joined.need(primary)
        return _by_way(joined, need, primary, seconds, earlier, ring)[:new]


def _by_way(
    joined: _Joined,
    need: Need,
    primary: NDArray[np.bool_],
    seconds: float,
    earlier: Sequence[tuple[Cells, NDArray[np.bool_]]],
    ring: Cells | None,
) -> list[PublishedTable]:
    tables = joined.tables
    way = tables[0].layout.protect
    if way == "suppress":
        return _suppressed(joined, need, primary, seconds, [hidden for _, hidden in earlier], ring)
    if len({table.layout.rounding for table in tables}) > 1:
        raise ParameterError(
            "tables that are rounded have cells in common, such as the total: give all of them one rounding"
        )
    if way == "round" and tables[0].layout.rounding == "controlled":
        return _rounded(joined, need, primary, seconds)
    if way == "round" and tables[0].layout.rounding == "small":
        return _small_rounded(joined, primary, seconds)
    return _changed_by_keys(joined, primary)


def count_disclosures(
    tables: Sequence[Cells], known: Sequence[NDArray[np.bool_]], nested: Sequence[Nested] = ()
) -> int:
    """Count the unsafe cells of some tables that are known, or follow too closely from known cells.

    They may follow for everybody, in a union, or for one person who knows cells that are the person's alone.

    Parameters
    ----------
    tables
        Tables of one quantity and of the same people.
    known
        bool[cells] for each table: the cells that a reader knows. Of the others nothing is known, also not
        whether they are empty.
    nested
        The codes of columns that other columns determine.
    """
    joined = _Joined.of_tables(tables, nested)
    primary = joined.primary()
    shown = joined.all(known, False, np.logical_or)
    if count := int((primary & shown).sum()):
        return count
    need = replace(joined.need(primary), floor=0.0)
    cells = np.flatnonzero(primary & ~shown)
    return int(joined.narrow(need, primary, ~shown, cells, joined.unions(len(tables))).sum())


def _suppressed(
    joined: _Joined,
    need: Need,
    primary: NDArray[np.bool_],
    seconds: float,
    earlier: Sequence[NDArray[np.bool_]],
    ring: Cells | None,
) -> list[PublishedTable]:
    cost = joined.all([cost_of(table) for table in joined.tables], 0.0, np.maximum)
    shown = [table.layout.zeros == "show" for table in joined.tables]
    # A sum of 0 of somebody is no empty cell: it tells that person's number.
    zero = joined.all([table.people for table in joined.tables], 0, np.maximum) == 0
    allowed = ~zero if all(shown) else np.ones(joined.linked.size, np.bool_)
    if any(shown):
        # Where one table shows its zeros, no table can hide them.
        for table, place, show in zip(joined.tables, joined.linked.cells, shown, strict=True):
            if show:
                allowed[place[table.people == 0]] = False
                primary[place[table.people == 0]] = False
    new = len(joined.tables) - len(earlier)
    for hidden, place in zip(earlier, joined.linked.cells[new:], strict=True):
        # What is known already cannot be hidden any more, and what is hidden is known to nobody.
        allowed[place[~hidden]] = primary[place[~hidden]] = False
        primary[place[hidden]] = True
    if not primary[joined.named("hidden")].all():
        raise ParameterError(
            "hidden names a cell that is known: it is empty, and zeros = 'show', or an earlier table of the "
            "ledger shows it; leave it out, or take zeros = 'hide'"
        )
    waived = joined.named("waived")
    if primary[waived].any():
        raise ParameterError("a cell is waived, and the policy or an earlier table hides it: leave one out")
    kept = np.append(waived, joined.named("never_secondary"))
    allowed[kept] = False
    unit = 1.0
    if not need.whole:
        # The programmes know neither cents nor thousands: the least width is 1.
        unit = float(need.width.min())
        need = need.scaled(1 / unit)
    linked, sought, further = joined.linked, need, 0
    if ring is not None:
        # The search knows the whole table, so that it hides what the tables tell together.
        axes = [*(table.axes for table in joined.tables), ring.axes]
        linked = Linked.of_tables(axes, _overlapping(joined.tables), joined.linked.nested)
        further = linked.size - joined.linked.size
        true = np.append(need.values, np.zeros(further))
        true[linked.cells[-1]] = ring.values / unit
        width, slack, floor = (
            np.append(each, np.zeros(further)) for each in (need.width, need.slack, need.floors)
        )
        sought = Need(true, width, slack, need.share, floor, need.whole)
    unions = joined.unions(new)
    try:
        chosen = suppress(
            linked,
            sought,
            np.append(primary, np.zeros(further, np.bool_)),
            np.append(cost, np.ones(further)),
            np.append(allowed, np.zeros(further, np.bool_)),
            seconds=seconds,
            whole_table=np.arange(linked.size) >= joined.linked.size,
            unions=unions,
        )
    except InfeasibleError as error:
        if not len(kept):
            raise
        more = "the cells of never_secondary and waived stay shown, so name fewer of them"
        raise InfeasibleError(f"{error}; {more}") from None
    hidden = chosen.hidden[: joined.linked.size]
    unsafe = joined.narrow(need, primary, hidden, np.flatnonzero(hidden), unions)
    values = [
        np.where(hidden[place], np.nan, table.values)
        for table, place in zip(joined.tables, joined.linked.cells, strict=True)
    ]
    return joined.published(values, unsafe, primary, chosen.bound, chosen.gap)


def _rounded(joined: _Joined, need: Need, primary: NDArray[np.bool_], seconds: float) -> list[PublishedTable]:
    bases = {table.layout.multiple for table in joined.tables}
    if len(bases) > 1:
        raise ParameterError(
            "tables that are rounded have cells in common, such as the total: give all of them one base"
        )
    [base] = bases
    rounded = round_controlled(need.values.astype(np.int64), joined.linked, base, seconds)
    low, high = rounded.low.astype(np.float64), rounded.high.astype(np.float64)
    unsafe = _told(joined, low, high, primary)
    values = [rounded.cells[place].astype(np.float64) for place in joined.linked.cells]
    return joined.published(values, unsafe, primary, rounded.bound, rounded.gap)


def _small_rounded(joined: _Joined, primary: NDArray[np.bool_], seconds: float) -> list[PublishedTable]:
    """Round the small counts of each table by itself, and audit all tables together."""
    rounded = []
    for table in joined.tables:
        if table.overlapping:
            raise ParameterError(
                f"table {table.layout.name}: people are in several codes of {named(table.overlapping)}, so "
                "totals are no sums, and rounding = 'small' keeps sums: count records, or take another way"
            )
        leaves = np.ix_(*(axis.tree.leaves for axis in table.axes))
        finest = table.values.reshape(table.shape)[leaves].astype(np.int64)
        time = seconds / len(joined.tables)
        rounded.append(round_small_counts(finest, table.axes, table.layout.multiple, time))
    low, high = joined.bounds([(each.low.ravel(), each.high.ravel()) for each in rounded])
    values = [each.cells.ravel().astype(np.float64) for each in rounded]
    gap = max(each.gap or 0.0 for each in rounded)
    return joined.published(values, _told(joined, low, high, primary), primary, gap=gap)


def _changed_by_keys(joined: _Joined, primary: NDArray[np.bool_]) -> list[PublishedTable]:
    odds: dict[tuple[Any, ...], PerturbationTable | KeyTable] = {}
    released, ends, deviations = [], [], []
    for table in joined.tables:
        layout, true = table.layout, table.values.astype(np.int64)
        keys = np.zeros(true.shape, np.uint64) if table.keys is None else table.keys
        if layout.protect == "round":
            base = layout.multiple
            is_random = layout.rounding == "random"
            rounded = round_randomly(true, keys, base) if is_random else round_to_midpoints(true, base)
            counts, deviation = rounded.cells, 0
            ends.append((rounded.low, rounded.high))
        else:
            setting = (layout.deviation, layout.variance, layout.key_table)
            if setting not in odds:
                odds[setting] = _odds(layout)
            counts, deviation = odds[setting].release(true, keys), odds[setting].deviation
            ends.append(odds[setting].bounds(counts))
        released.append(counts.astype(np.float64))
        deviations.append(deviation)
    unsafe = _told(joined, *joined.bounds(ends), primary)
    return joined.published(released, unsafe, primary, deviations=deviations)


def _odds(layout: CountTable) -> PerturbationTable | KeyTable:
    """Return how a cell key changes the counts of a table."""
    if layout.key_table is None:
        return perturbation_table(layout.deviation, layout.variance)
    where = f"table {layout.name}: key_table"
    if layout.rule is None:
        return KeyTable.read(Path(layout.key_table.removeprefix("file:")), where)
    try:
        return threshold_rounding(*layout.rule, keys=1)
    except ParameterError as error:
        raise ParameterError(f"{where}: {error}") from None


def _told(
    joined: _Joined, low: NDArray[np.float64], high: NDArray[np.float64], primary: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return bool[cells]: small cells for which only the true count fits all tables."""
    told, cells = np.zeros(joined.linked.size, np.bool_), np.flatnonzero(primary)
    if len(cells):
        told[cells] = joined.intervals(low, high, cells, enough=np.ones(len(cells))).widths < 1 - NEAR
    return told


def _overlapping(tables: Sequence[Cells]) -> list[str]:
    """Return the columns of which a person has several codes in some table."""
    return sorted({column for table in tables for column in table.overlapping})


def way_of(table: PublishedTable) -> str:
    """Say how the counts of a table that hides none are changed.

    Example: ``rounded to multiples of 5, and sums hold``
    """
    layout = table.layout
    if layout.protect == "round":
        base = layout.multiple
        return {
            "controlled": f"rounded to multiples of {base}, and sums hold",
            "random": f"rounded to multiples of {base}, each by itself",
            "midpoint": f"1 to {base} are {base - base // 2}, {base + 1} to {2 * base} are "
            f"{2 * base - base // 2}, and so on; sums need not hold",
            "small": f"those below {base} are 0 or {base}, and totals are sums of what is shown",
        }[layout.rounding]
    if layout.rule is not None:
        threshold, base = layout.rule
        return f"those below {threshold} are 0, others multiples of {base}; sums need not hold"
    return f"changed by at most {table.deviation}, and sums need not hold"
