"""People, households and weights of a released table, which the release itself does not have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.errors import TableError
from incrowd.core.lazy import NDArray, np
from incrowd.core.reading.exact import moment_of, number_of
from incrowd.core.table.classes import EquivalenceClasses

if TYPE_CHECKING:
    from incrowd.core.kernels.grouping.counting import Counts
    from incrowd.core.recoding.base import Recoding
    from incrowd.core.recoding.cells import Cells
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.sensitive import SensitiveCounts

_OTHER = (
    "the released table does not hold the rows that were recoded, so its people, households and "
    "weights cannot be counted; nothing is released"
)


def add_people(released: FrequencyTable, frequency: FrequencyTable, recoding: Recoding) -> FrequencyTable:
    """Return the counts of a released table with the people, households and weights of the raw rows.

    A release has no column of persons. But each raw key has a single released key. So the people of a
    released key are those of its raw keys. That holds only if the release has just these rows, so the records
    of each key and each sensitive value in a key are checked.

    Parameters
    ----------
    released
        The released table, counted anew.
    frequency
        The table before, with its people.
    recoding
        What was made of its keys.

    Raises
    ------
    TableError
        When the release holds other rows.
    """
    people, (sampling, homes) = frequency.people, frequency.survey
    if people.table is None and people.columns:
        released = replace(released, people=replace(people, of_row=None))
    if people.table is None and sampling is None and homes is None:
        return released
    key, same_rows = released_keys(released, frequency, recoding)
    classes = EquivalenceClasses.from_assignment(frequency, key, released.keys)
    if not (same_rows or _equal_sizes(released, classes)):
        raise TableError(_OTHER)
    moved = None if homes is None else homes.moved(key)
    carried = replace(released, survey=released.survey._replace(households=moved))
    if sampling is not None:
        carried = carried.with_sampling(sampling.moved(key, released.keys))
    if people.table is None:
        return carried
    for position, (before, after) in enumerate(zip(frequency.sensitive, released.sensitive, strict=True)):
        by_row = same_rows and before.rows is not None and after.rows is not None
        if not (
            (by_row and same_values(before, after)) or _equal_counts(before, classes.counts(position), after)
        ):
            raise TableError(_OTHER)
    return _with_released_kinds(classes.with_people(carried))


def add_sensitive(released: FrequencyTable, frequency: FrequencyTable, recoding: Recoding) -> FrequencyTable:
    """Return the counts of a released table with the raw values of perturbed sensitive columns.

    Perturbed values look more diverse than what can be learned of them. So models judge those before: of each
    released key, those of the keys that it was made from.

    Parameters
    ----------
    released
        The released table, counted anew without the perturbed columns.
    frequency
        The table before, with all sensitive attributes.
    recoding
        What was made of its keys.

    Raises
    ------
    TableError
        When the release holds other rows.
    """
    if len(released.sensitive) == len(frequency.sensitive):
        return released
    key, _ = released_keys(released, frequency, recoding)
    classes = EquivalenceClasses.from_assignment(frequency, key, released.keys)
    if not _equal_sizes(released, classes):
        raise TableError(_OTHER)
    by_name = {counts.name: counts for counts in released.sensitive}
    before = classes.as_keys()
    sensitive = tuple(by_name.get(counts.name, counts) for counts in before.sensitive)
    return replace(released, sensitive=sensitive, joint=before.joint)


def _with_released_kinds(table: FrequencyTable) -> FrequencyTable:
    """Read words without numbers as texts, as some models measure numbers differently."""
    assert table.people.table is not None
    sensitive = tuple(
        replace(people, domain=replace(people.domain, kind="category"))
        if records.domain.kind == "category" and people.domain.hierarchy is None
        else people
        for records, people in zip(table.sensitive, table.people.table.sensitive, strict=True)
    )
    of_people = replace(table.people.table, sensitive=sensitive)
    return replace(table, people=replace(table.people, table=of_people))


def released_keys(
    released: FrequencyTable, frequency: FrequencyTable, recoding: Recoding
) -> tuple[NDArray[np.integer], bool]:
    """Return the released key of each key, and whether both tables have the same rows in memory.

    Returns
    -------
    key
        int[keys], -1 for a suppressed one.
    same_rows
        Whether each row has a key before and the released key of that key. That is sooner looked at than what
        follows from it for each class. False where rows are not in memory.
    """
    columns = [
        _Released.of_cells(domain, column)
        for domain, column in zip(released.domains, recoding.cells, strict=True)
    ]
    starred = np.ones(frequency.keys, np.bool_)
    for column in columns:
        if not starred.any():
            break
        starred &= column.starred[column.codes]
    # Suppressed records may be counted as a key, which has * in every quasi-identifier.
    starred_keys = np.full(released.keys, bool(released.domains))
    for domain, codes in zip(released.domains, released.codes, strict=True):
        starred_keys &= np.array([value == "*" for value in domain.values], np.bool_)[codes]
    present = ~(recoding.suppressed | starred) | bool(starred_keys.any())
    key = _keys_of_rows(released, frequency, columns, present)
    if key is not None:
        return key, True
    return _keys_of_cells(released, [column.ranks[column.codes] for column in columns], present), False


class _Released(NamedTuple):
    """The released values of a quasi-identifier.

    Attributes
    ----------
    codes
        int[keys]: which value each key has.
    ranks
        int32[values]: the rank of each value's cell in the released table; -1 for none, as of a cell that
        stands in suppressed rows alone.
    starred
        bool[values]: whether its cell is ``*``.
    """

    codes: NDArray[np.integer]
    ranks: NDArray[np.int32]
    starred: NDArray[np.bool_]

    @classmethod
    def of_cells(cls, domain: Domain, column: Cells) -> _Released:
        """Look up cells in the domain of the released column."""
        positions, labels = column.released
        rank_of = {text: rank for rank, text in enumerate(domain.values)}
        ranks = np.array([rank_of.get(label, -1) for label in labels], np.int32)
        return cls(column.codes, ranks[positions], np.array([label == "*" for label in labels])[positions])


def _keys_of_rows(
    released: FrequencyTable,
    frequency: FrequencyTable,
    columns: Sequence[_Released],
    present: NDArray[np.bool_],
) -> NDArray[np.integer] | None:
    """Return the released key of each key through rows in memory, or None if the rows differ.

    Rows in memory tell it sooner than cells do, and the cells are held against it.
    """
    from incrowd.core.kernels.jit import at_once

    before, after = frequency.row_keys, released.row_keys
    if before is None or after is None or len(before) != len(after):
        return None
    # Rows without a key have number -1, which picks the entry that is appended here.
    every = np.full(frequency.keys + 1, -1, np.int32)
    every[before] = after
    every[-1] = -1
    key = every[:-1]
    if not np.array_equal(key >= 0, present):
        return None
    gone = None if present.all() else ~present

    def same_cells(codes: NDArray[np.integer], column: _Released) -> bool:
        # A key that is suppressed has number -1; what is looked up for it is no matter.
        same = codes[key] == column.ranks[column.codes]
        return bool((same if gone is None else same | gone).all())

    tasks = [lambda: np.array_equal(every[before], after)]
    if released.keys:
        tasks += [partial(same_cells, *pair) for pair in zip(released.codes, columns, strict=True)]
    return key if all(at_once(len(before), *tasks)) else None


def _keys_of_cells(
    released: FrequencyTable, cells: Sequence[NDArray[np.int32]], present: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the released key of each key through equal cells.

    Raises
    ------
    TableError
        When a key has cells that no released key has.
    """
    from incrowd.core.kernels.grouping.grouping import group_columns

    columns: list[NDArray[np.int64]] = [
        np.concatenate((codes.astype(np.int64), column[present]))
        for codes, column in zip(released.codes, cells, strict=True)
    ]
    if any((column < 0).any() for column in columns):
        raise TableError(_OTHER)
    sizes = [domain.size for domain in released.domains]
    ids, first = group_columns(columns, sizes, len(columns[0]))
    if len(first) != released.keys:
        raise TableError(_OTHER)
    key = np.full(len(present), -1, np.int64)
    key[present] = ids[released.keys :]
    return key


def _equal_sizes(released: FrequencyTable, classes: EquivalenceClasses) -> bool:
    """Return whether the released keys have as many records as the raw keys."""
    same = np.array_equal(classes.sizes, released.weights)
    return same and classes.suppressed == released.suppressed


def _equal_counts(before: SensitiveCounts, counts: Counts, after: SensitiveCounts) -> bool:
    """Return whether the released keys have the sensitive values of the raw keys."""
    ranks = _ranks(before, after)
    if ranks is None or not np.array_equal(
        before.totals, np.bincount(ranks, after.totals, before.domain.size).astype(np.int64)
    ):
        return False
    size = before.domain.size
    one, other = (
        _sort_codes(counts, counts.codes, size),
        _sort_codes(after.keys, ranks[after.keys.codes], size),
    )
    parts = ("indptr", "codes", "counts")
    return all(np.array_equal(getattr(one, part), getattr(other, part)) for part in parts)


def same_values(before: SensitiveCounts, after: SensitiveCounts) -> bool:
    """Return whether the rows of two tables in memory have the same sensitive values in order."""
    ranks = _ranks(before, after)
    return ranks is not None and np.array_equal(before.rank_of_row(), ranks[after.rank_of_row()])


def _sort_codes(counts: Counts, codes: NDArray[np.integer], size: int) -> Counts:
    """Return counts per key with replaced codes, in the order of the codes."""
    from incrowd.core.kernels.grouping.counting import counts_per_key

    keys = len(counts.indptr) - 1
    return counts_per_key(
        np.repeat(np.arange(keys), np.diff(counts.indptr)), codes, counts.counts, keys, size
    )


def _ranks(before: SensitiveCounts, after: SensitiveCounts) -> NDArray[np.int64] | None:
    """Return the raw rank of each released value, or None if there is another value.

    A CSV writes some values in other words: 1.0 for 1, a time for a day, a point of time with its zone, NaN
    for the missing value.
    """
    values = before.domain.values
    by_text = {values[rank]: rank for rank in np.flatnonzero(before.totals).tolist()}
    by_meaning: dict[object, int | None] = {}
    for text, rank in by_text.items():
        meaning = _meaning(text)
        # What two values mean is not said by either of them.
        by_meaning[meaning] = None if meaning in by_meaning else rank
    ranks = np.zeros(after.domain.size, np.int64)
    for released in np.flatnonzero(after.totals).tolist():
        text = after.domain.values[released]
        rank_before = by_text.get(text, by_meaning.get(_meaning(text)))
        if rank_before is None:
            return None
        ranks[released] = rank_before
    return ranks


def _meaning(text: str | None) -> object:
    """Return a number or point of time, or another text itself, as a key of comparison."""
    if text is None or text == "NaN":
        return None
    number, moment = number_of(text), moment_of(text.removesuffix("+0000"))
    return ("number", number) if number is not None else ("moment", moment) if moment else text
