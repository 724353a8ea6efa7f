"""The attacked tables by column, and the search for nearest records."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.attacks.base import Attack, risk_of, wilson
from incrowd.core.errors import TableError
from incrowd.core.lazy import NDArray, np, nw, pl
from incrowd.core.recoding import SUPPRESSED
from incrowd.core.recoding.observed import Unread, listed_of, ranks_of, read_intervals
from incrowd.core.table.domain import exponent_of
from incrowd.core.table.schema import Attribute, Schema, require_columns

if TYPE_CHECKING:
    from incrowd.core.kernels.clusters.nearest import Cloud
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.sensitive import SensitiveCounts

_LAST = float(np.finfo(np.float64).max)


class Part(NamedTuple):
    """A condition on a column: a value of a released cell, or a number in a range.

    A code of -1 belongs to no cell.
    """

    code: int
    low: float
    high: float


class Sets(NamedTuple):
    """Released cells as sets of ranks: every category, and numbers that are no intervals.

    Attributes
    ----------
    number
        int64[labels]: the number of the set that a label is, -1 where it is none.
    ranks, starts
        int64[...], int64[sets + 1]: set i is ``ranks[starts[i]:starts[i + 1]]``, ascending; none is empty.
    """

    number: NDArray[np.int64]
    ranks: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of_labels(cls, listed: Mapping[int, NDArray[np.int64]], labels: int) -> Sets:
        """Lay out the ranks of labels by label number, leaving out labels without ranks."""
        sets = {label: np.sort(ranks) for label, ranks in listed.items() if len(ranks)}
        number = np.full(labels, -1, np.int64)
        number[list(sets)] = np.arange(len(sets))
        starts = np.cumsum([0, *map(len, sets.values())])
        return cls(number, np.concatenate((np.zeros(0, np.int64), *sets.values())), starts)

    def is_just(self, codes: NDArray[np.integer], ranks: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return for pairs of a label and a rank whether the label is the set of that rank alone."""
        sizes = np.append(np.diff(self.starts), 0)
        first = np.append(self.ranks[self.starts[:-1]], -1)
        number = self.number[codes]
        return np.asarray((sizes[number] == 1) & (first[number] == ranks))

    def ranks_of(self, code: int) -> NDArray[np.int64]:
        """Return the ranks of a label's set."""
        number = self.number[code]
        return self.ranks[self.starts[number] : self.starts[number + 1]]

    def within(self, allowed: NDArray[np.bool_], codes: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which labels are sets of allowed ranks only."""
        return self._without(~allowed[self.ranks], codes)

    def has(self, rank: int, codes: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which labels are sets with a rank."""
        return np.asarray((self.number[codes] >= 0) & ~self._without(self.ranks == rank, codes))

    def _without(self, marked: NDArray[np.bool_], codes: NDArray[np.integer]) -> NDArray[np.bool_]:
        clean = np.zeros(len(self.starts), np.bool_)
        if len(self.ranks):
            clean[:-1] = ~np.logical_or.reduceat(marked, self.starts[:-1])
        # A label that is no set has the number -1, which finds the last place: False.
        return np.asarray(clean[self.number][codes])


@dataclass(frozen=True, eq=False)
class Column:
    """A column: raw values as numbers or ranks, released cells as intervals or sets of ranks.

    Attributes
    ----------
    ranks
        int[rows]: the rank of each raw value.
    labels, codes
        The released cells, and int[records]: the number of each record's.
    sets
        The cells that are sets of ranks.
    ends, numbers
        Of a column of numbers float64[labels, 2], the ends of each cell, and float64[size], the number of
        each rank; else empty.
    """

    domain: Domain
    ranks: NDArray[np.integer]
    labels: Sequence[str | None]
    codes: NDArray[np.integer]
    sets: Sets
    numeric: bool
    ends: NDArray[np.float64]
    numbers: NDArray[np.float64]

    @classmethod
    def of_cells(
        cls,
        domain: Domain,
        ranks: NDArray[np.integer],
        labels: Sequence[str | None],
        codes: NDArray[np.integer],
    ) -> Column:
        """Read the released cells of a column."""
        numeric = domain.kind != "category" and not np.isnan(domain.numbers).all()
        ends, numbers = np.empty((0, 2)), np.empty(0)
        if numeric:
            # What is beyond all doubles counts as the last one.
            ends, numbers = (np.clip(read, -_LAST, _LAST) for read in read_intervals(domain, labels))
        listed = listed_of(domain, labels) if numeric else dict(enumerate(ranks_of(domain, labels)))
        return cls(domain, ranks, labels, codes, Sets.of_labels(listed, len(labels)), numeric, ends, numbers)

    @cached_property
    def low(self) -> NDArray[np.float64]:
        """The lower end of each record's cell."""
        return np.asarray(self.ends[self.codes, 0])

    @cached_property
    def high(self) -> NDArray[np.float64]:
        """The upper end of each record's cell."""
        return np.asarray(self.ends[self.codes, 1])

    @cached_property
    def upper(self) -> NDArray[np.float64]:
        """The upper end of each record's cell, NaN for a set with the missing value."""
        return np.where(self.sets.has(self.domain.missing, self.codes), math.nan, self.high)

    @cached_property
    def is_missing(self) -> NDArray[np.bool_]:
        """Whether each label is the missing value."""
        return np.array([label is None for label in self.labels])

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The number of each raw row."""
        return np.asarray(self.numbers[self.ranks])

    @cached_property
    def is_exact(self) -> bool:
        """Whether every informative released cell is a single raw value."""
        informative = [
            int(code)
            for code in np.unique(self.codes)
            if self.labels[code] is not None and self.labels[code] != SUPPRESSED
        ]
        alone = np.append(np.diff(self.sets.starts), 0)[self.sets.number[informative]] == 1
        if not self.numeric:
            return bool(informative and alone.all())
        points = (self.ends[informative, 0] == self.ends[informative, 1]) & np.isin(
            self.ends[informative, 0], self._known_numbers
        )
        return bool(informative and (points | alone).all())

    @cached_property
    def unread(self) -> Unread | None:
        """The released cells that cannot be read, or None."""
        return Unread.of_labels(self.domain, self.labels, np.bincount(self.codes, minlength=len(self.labels)))

    @cached_property
    def _known_numbers(self) -> NDArray[np.float64]:
        return np.asarray(self.numbers[~np.isnan(self.numbers)])

    @cached_property
    def exponent(self) -> int:
        """The power of two by which numbers are scaled."""
        return exponent_of(np.concatenate((self.ends.ravel(), self._known_numbers)))

    @cached_property
    def extent(self) -> float:
        """The distance between the least and the largest number, or 1 if both are equal."""
        return float(self.place(self._known_numbers.max()) - self.place(self._known_numbers.min())) or 1.0

    @cached_property
    def median(self) -> float:
        """The median of the middles of the released cells."""
        # Of halves, since the sum of two enormous numbers is none.
        halves = np.concatenate((self.low / 4 + self.high / 4, [self._known_numbers[0] / 2]))
        return 2 * float(np.nanmedian(halves))

    def place(self, numbers: Any) -> Any:
        """Return numbers for computing distances, scaled down if enormous, as `Domain.places`."""
        return np.ldexp(numbers, -self.exponent)

    def part(self, code: int, *, corner: bool) -> Part:
        """Return the condition of a released cell, where `corner` extends points to infinity on a side."""
        if not self.numeric:
            return Part(code, 0.0, 0.0)
        low, high = map(float, self.ends[code])
        if corner and low == high and self.sets.number[code] < 0:
            return Part(code, low, math.inf) if low > self.median else Part(code, -math.inf, high)
        return Part(code, low, high)

    def cells(self, random: np.random.Generator) -> list[Part]:
        """Return predicates of this column alone: rare cells first, then the ends of numbers."""
        records = np.bincount(self.codes, minlength=int(self.codes.max()) + 1)
        present = random.permutation(np.flatnonzero(records))
        rarest_first = present[np.argsort(records[present], kind="stable")]
        parts = [self.part(int(code), corner=False) for code in rarest_first]
        if self.numeric and not np.isnan(self.low).all():
            least, most = float(np.nanmin(self.low)), float(np.nanmax(self.high))
            parts = [Part(-1, -math.inf, least), Part(-1, most, math.inf), *parts]
        return parts

    def of_records(self, records: NDArray[np.int64]) -> Column:
        """Return the column restricted to some released records."""
        return replace(self, codes=self.codes[records])

    def meets(self, part: Part, *, of_release: bool) -> NDArray[np.bool_]:
        """Return which raw rows, or which released records, meet a condition."""
        if not self.numeric:
            allowed = np.zeros(self.domain.size, np.bool_)
            if self.sets.number[part.code] >= 0:
                allowed[self.sets.ranks_of(part.code)] = True
            return self.sets.within(allowed, self.codes) if of_release else np.asarray(allowed[self.ranks])
        if part.code >= 0 and self.sets.number[part.code] >= 0:
            return self._among(self.sets.ranks_of(part.code), of_release)
        first, last = (self.low, self.upper) if of_release else (self.values, self.values)
        if math.isnan(part.low):
            return np.asarray(np.isnan(first))
        return np.asarray((first >= part.low) & (last <= part.high))

    def _among(self, ranks: NDArray[np.int64], of_release: bool) -> NDArray[np.bool_]:
        """Return which raw rows have an allowed value, or which released records have only such values."""
        allowed = np.zeros(self.domain.size, np.bool_)
        allowed[ranks] = True
        if not of_release:
            return np.asarray(allowed[self.ranks])
        codes, low, high = self.codes, self.low, self.high
        inside, outside = (
            np.searchsorted(numbers, high, "right") - np.searchsorted(numbers, low, "left")
            for numbers in (np.sort(self.numbers[allowed]), np.sort(self.numbers[~allowed]))
        )
        plain = (inside > 0) & (outside == 0)
        plain |= self.is_missing[codes] & (self.domain.missing in ranks)
        is_set = self.sets.number[codes] >= 0
        return np.asarray(np.where(is_set, self.sets.within(allowed, codes), plain))

    def covers(self, row: int) -> NDArray[np.bool_]:
        """Return which released cells cover the value of a raw row: bool[records]."""
        if not self.numeric:
            return self.sets.has(int(self.ranks[row]), self.codes)
        value = self.values[row]
        # A cell that tells nothing, such as *, covers every value.
        missing = self.is_missing[self.codes]
        star = np.array([label == SUPPRESSED for label in self.labels])[self.codes]
        vague = star | (np.isnan(self.low) & ~missing)
        plain = missing if math.isnan(value) else (self.low <= value) & (value <= self.high)
        is_set = self.sets.number[self.codes] >= 0
        in_set = self.sets.has(int(self.ranks[row]), self.codes)
        return np.asarray(np.where(is_set, in_set, vague | plain))

    def random_predicate(self, random: np.random.Generator) -> NDArray[np.bool_]:
        """Return which raw rows meet a random condition on the column's values."""
        rank = int(random.integers(self.domain.size))
        if not self.numeric or math.isnan(self.numbers[rank]):
            return np.asarray(self.ranks == rank)
        value = self.numbers[rank]
        return np.asarray(self.values >= value if random.random() < 0.5 else self.values <= value)


def _untreated_columns(schema: Schema, columns: Sequence[Sequence[str]]) -> list[Attribute]:
    """Return insensitive columns of all tables that are released without a treatment."""
    shared = (name for name in columns[0] if all(name in names for names in columns))
    attributes = [schema[name] if name in schema else Attribute(name, "insensitive") for name in shared]
    return [entry for entry in attributes if entry.role == "insensitive" and entry.treatment is None]


class Setting:
    """The attacked tables by column, in which people of the control follow those of the raw table.

    Attributes
    ----------
    quasi, protected, released
        Names of the quasi-identifiers; of these and the sensitive attributes; and of all columns of the
        release, those that were released as they are among them.
    """

    def __init__(self, raw: Any, release: Any, schema: Schema, control: Any, seed: int) -> None:
        from incrowd.engines import engine_for, loaded

        self.seed = seed
        attributes = [*schema.quasi, *schema.sensitive]
        names = [attribute.name for attribute in attributes]
        tables = [table for table in (raw, release, control) if table is not None]
        attributes += _untreated_columns(schema, [engine_for(loaded(table)).columns for table in tables])

        def columns_of(table: Any, what: str) -> pl.DataFrame:
            require_columns(names, engine_for(loaded(table)).columns, f"{what}: ")
            native = nw.from_native(loaded(table), eager_only=True)
            frame = pl.DataFrame({entry.name: native[entry.name].to_polars() for entry in attributes})
            if not len(frame):
                raise TableError(f"{what}: the table has no rows")
            return frame

        mine, theirs = columns_of(raw, "raw table"), columns_of(release, "release")
        self.people = len(mine)
        if control is not None:
            others = columns_of(control, "control")
            mine = pl.concat([mine, others], how="vertical_relaxed")
        self.rows = len(mine)
        self.records = len(theirs)
        self.columns: dict[str, Column] = {}
        self.quasi = [attribute.name for attribute in schema.quasi]
        self.protected = names
        self.released = [attribute.name for attribute in attributes]
        nulls = schema.null_values
        for attribute in attributes:
            values = counted(mine, attribute.as_sensitive(), nulls)
            cells = counted(theirs, attribute.as_released().as_texts().as_sensitive(), nulls)
            labels: Sequence[str | None] = cells.domain.values
            if attribute.role == "quasi" and values.domain.missing < 0:
                # Other tools suppress a cell by leaving it out.
                labels = [SUPPRESSED if label is None else label for label in labels]
            column = Column.of_cells(values.domain, values.rank_of_row(), labels, cells.rank_of_row())
            self.columns[attribute.name] = column

    def cloud(self, names: Sequence[str], order: NDArray[np.int64]) -> Cloud:
        """Lay out columns for the search of nearest records, with the records in the given order."""
        from incrowd.core.kernels.clusters.nearest import Cloud

        columns = [self.columns[name] for name in names]
        nothing = np.zeros(0)

        def side_by_side(arrays: Sequence[NDArray[Any]], rows: int, dtype: type) -> NDArray[Any]:
            laid: NDArray[Any] = np.zeros((rows, len(columns)), dtype)
            for j, array in enumerate(arrays):
                if len(array):
                    laid[:, j] = array
            return laid

        lows, highs, values = (
            [column.place(getattr(column, what)) if column.numeric else nothing for column in columns]
            for what in ("low", "high", "values")
        )
        codes, members, starts = _cloud_cells(columns)
        return Cloud(
            np.array([column.numeric for column in columns]),
            side_by_side(lows, self.records, np.float64)[order],
            side_by_side(highs, self.records, np.float64)[order],
            np.array([column.extent if column.numeric else 1.0 for column in columns]),
            side_by_side(values, self.rows, np.float64),
            side_by_side(codes, self.records, np.int32)[order],
            side_by_side([column.ranks for column in columns], self.rows, np.int32),
            members,
            starts,
        )

    def rates(
        self, kind: str, wins: Callable[[NDArray[np.int64]], int], guesses: Callable[[], int], attacks: int
    ) -> Attack:
        """Attack people of the release and of the control, and guess without the release."""
        random = np.random.default_rng([self.seed, 1])
        number = min(attacks, self.people)
        main = wilson(wins(random.choice(self.people, number, replace=False)), number)
        baseline = wilson(guesses(), number)
        others = self.rows - self.people
        if not others:
            return Attack(kind, number, main, baseline, None, None)
        drawn = min(attacks, others)
        control = wilson(wins(self.people + random.choice(others, drawn, replace=False)), drawn)
        return Attack(kind, number, main, baseline, control, risk_of(main, control))


def _cloud_cells(
    columns: Sequence[Column],
) -> tuple[list[NDArray[np.int64]], NDArray[np.float64], NDArray[np.int64]]:
    """Return the cells of released records numbered for a Cloud, and the members of all sets."""
    codes = []
    members: list[NDArray[np.float64]] = [np.zeros(0)]
    starts = [0]
    for column in columns:
        number, ranks = column.sets.number, column.sets.ranks
        codes.append(np.where(number >= 0, number + len(starts) - 1, -1)[column.codes])
        members.append(column.place(column.numbers[ranks]) if column.numeric else ranks.astype(np.float64))
        starts.extend((column.sets.starts[1:] + starts[-1]).tolist())
    return codes, np.concatenate(members), np.array(starts)


_SPARE = "\0spare"


def counted(frame: pl.DataFrame, attribute: Attribute, nulls: tuple[str, ...]) -> SensitiveCounts:
    """Count a column as a sensitive one, so that no row counts as suppressed."""
    from incrowd.engines import engine_for

    # A query of a wide frame takes as long as it has columns.
    spare = pl.Series(_SPARE, [""]).new_from_index(0, len(frame))
    alone = pl.DataFrame([frame.get_column(attribute.name), spare])
    schema = Schema.of_attributes([attribute, Attribute(_SPARE, "quasi")], null_values=nulls)
    return engine_for(alone).count(schema).frequency.sensitive[0]


def nearest_records(
    setting: Setting, names: Sequence[str], rows: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the nearest released records of raw rows and the distances, with ties settled by the seed."""
    from incrowd.core.kernels.clusters.nearest import nearest

    order = np.random.default_rng([setting.seed, 3]).permutation(setting.records)
    order = order[_first_of_classes(setting, names, order, count)]
    nearest_in_order, gaps = nearest(setting.cloud(names, order), rows, count)
    return order[nearest_in_order], gaps


def _first_of_classes(
    setting: Setting, names: Sequence[str], order: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """Return the positions of the first `count` records of each class, as others are equally far."""
    from incrowd.core.kernels.grouping.grouping import group_codes

    codes = [setting.columns[name].codes[order].astype(np.int64) for name in names]
    ids, _ = group_codes(codes, len(order))
    by_class = np.argsort(ids, kind="stable")
    sizes = np.bincount(ids)
    number = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(by_class[number < count])
