"""The cells of several released tables, counted as a single table."""

from __future__ import annotations

from collections.abc import Sequence

from incrowd.core.kernels.grouping.counting import Counts, class_counts
from incrowd.core.lazy import NDArray, np
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.core.table.domain import Dictionary, Domain
from incrowd.core.table.frequency import FrequencyTable, smallest_codes
from incrowd.core.table.people import PersonRows
from incrowd.core.table.schema import Attribute, Schema
from incrowd.core.table.sensitive import JointCounts, SensitiveCounts

ReleasedCells = list[tuple[NDArray[np.integer], Sequence[str | None]]]
"""Per quasi-identifier the number of each key's cell, int[keys], and the text of each."""

Part = tuple[ReleasedCells, NDArray[np.bool_], FrequencyTable]
"""The cells of a table, a mask of live keys, and the counts."""

CommonValues = tuple[Domain, list[NDArray[np.int64]]]
"""A common domain of several tables, and per table the new rank of each old rank."""

Members = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The old keys of each new key, numbered table after table (see `group_members`)."""


def together(
    parts: Sequence[Part], schema: Schema, people: Sequence[NDArray[np.int32]] | None = None
) -> tuple[FrequencyTable, list[NDArray[np.int64]]]:
    """Count the cells of several tables as a single table.

    Parameters
    ----------
    parts
        Per table the cells of its keys, which of them count (the others are suppressed), and its counts with
        the schema's sensitive attributes. Of one table, its people are counted, too.
    people
        Per table int32[rows]: a number of each row's person, over all tables and without gaps, -1 for
        nobody. The rows are in memory then. Without it nobody knows who of one table is in another.

    Returns
    -------
    table
    keys
        Per table int64[keys]: the key in `table`, -1 where it does not count.
    """
    from incrowd.core.kernels.grouping.grouping import group_columns, group_members

    tables = [table for _, _, table in parts]
    live = np.concatenate([live for _, live, _ in parts])
    weights = np.concatenate([table.weights for table in tables])
    cells = [_common_cells(parts, j, attribute) for j, attribute in enumerate(schema.quasi)]
    codes = [column for _, column in cells]
    ids, first = group_columns(codes, [domain.size for domain, _ in cells], int(live.sum()))
    keys = np.full(len(live), -1, np.int64)
    keys[live] = ids
    of_part = np.split(keys, np.cumsum([table.keys for table in tables])[:-1])
    members = group_members(keys, len(first))
    values = [
        _common_values(attribute, [table.sensitive[position].domain for table in tables])
        for position, attribute in enumerate(schema.sensitive)
    ]
    table = FrequencyTable(
        domains=tuple(domain for domain, _ in cells),
        codes=tuple(column[first] for column in codes),
        weights=np.bincount(ids, weights[live], len(first)).astype(np.int64),
        sensitive=tuple(
            _sensitive_counts([table.sensitive[position] for table in tables], common, members)
            for position, common in enumerate(values)
        ),
        suppressed=int(weights[~live].sum()) + sum(table.suppressed for table in tables),
        joint=_joint_counts(tables, values, members),
        in_order=len(parts) == 1 and tables[0].in_order,
    )
    if len(parts) == 1:
        table = EquivalenceClasses(tables[0], *members).with_people(table)
    if people is not None:
        rows = _person_rows(parts, people, of_part, [ranks for _, ranks in values])
        if table.joint is not None:
            rows = rows._replace(combination=table.joint.numbers(rows.ranks))
        table = table.with_person_rows(rows, schema.person)
    return table, of_part


def _common_cells(
    parts: Sequence[Part], j: int, attribute: Attribute
) -> tuple[Domain, NDArray[np.unsignedinteger]]:
    """Build a common domain for the cells of a quasi-identifier, and return the code of each live key."""
    # There are many more keys than texts.
    occurring = [np.flatnonzero(np.bincount(released[j][0][live])).tolist() for released, live, _ in parts]
    texts = [
        released[j][1][cell]
        for (released, _, _), cells in zip(parts, occurring, strict=True)
        for cell in cells
    ]
    distinct = dict.fromkeys(text for text in texts if text is not None)
    domain, ranks = Domain.build(attribute.as_released(), Dictionary(list(distinct), None in texts))
    rank_of = {text: int(rank) for text, rank in zip([*distinct, None], ranks, strict=True)}
    columns = []
    for (released, live, _), cells in zip(parts, occurring, strict=True):
        numbers, labels = released[j]
        rank = np.zeros(len(labels), np.int64)
        rank[cells] = [rank_of[labels[cell]] for cell in cells]
        columns.append(rank[numbers[live]])
    return domain, smallest_codes(np.concatenate(columns), max(domain.size, 1))


def _sensitive_counts(
    parts: Sequence[SensitiveCounts], values: CommonValues, members: Members
) -> SensitiveCounts:
    """Add up the counts of a sensitive attribute."""
    domain, ranks_of = values
    totals = np.zeros(domain.size, np.int64)
    for counts, ranks in zip(parts, ranks_of, strict=True):
        np.add.at(totals, ranks, counts.totals)
    added = _added([counts.keys for counts in parts], ranks_of, members, domain.size)
    return SensitiveCounts(domain, added, totals)


def _joint_counts(
    tables: Sequence[FrequencyTable], values: Sequence[CommonValues], members: Members
) -> JointCounts | None:
    """Add up the counts of combinations of sensitive values, or return None if a table lacks the counts."""
    from incrowd.core.kernels.grouping.grouping import group_columns

    joints = [table.joint for table in tables if table.joint is not None]
    if not values or len(joints) < len(tables):
        return None
    columns = [
        np.concatenate([ranks[part.codes[j]] for part, ranks in zip(joints, ranks_of, strict=True)])
        for j, (_, ranks_of) in enumerate(values)
    ]
    sizes = [domain.size for domain, _ in values]
    combination, place_of = group_columns(columns, sizes, len(columns[0]))
    renamed = np.split(combination, np.cumsum([len(part.codes[0]) for part in joints])[:-1])
    added = _added([part.keys for part in joints], renamed, members, len(place_of))
    return JointCounts(tuple(column[place_of].astype(np.int32) for column in columns), added)


def _added(
    counts: Sequence[Counts], renamed: Sequence[NDArray[np.integer]], members: Members, size: int
) -> Counts:
    """Add up counts of several tables, given the new number of each code."""
    codes = np.concatenate([new[each.codes] for new, each in zip(renamed, counts, strict=True)])
    indptr = np.cumsum(np.concatenate([[0], *(np.diff(each.indptr) for each in counts)]))
    rows = np.concatenate([each.counts for each in counts])
    return class_counts(*members, Counts(indptr, codes.astype(np.int32), rows), size)


def key_of_rows(parts: Sequence[Part], keys: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the key of each row of several tables in memory, given the new key of each key (none: -1)."""
    rows = [table.key_of_row("counting the people of two tables") for _, _, table in parts]
    # A suppressed row has number -1, which picks the entry that is appended here.
    return np.concatenate(
        [np.append(numbers, -1)[of_row] for numbers, of_row in zip(keys, rows, strict=True)]
    )


def _person_rows(
    parts: Sequence[Part],
    people: Sequence[NDArray[np.int32]],
    keys: Sequence[NDArray[np.int64]],
    ranks_of: Sequence[Sequence[NDArray[np.int64]]],
) -> PersonRows:
    """Return the rows of all tables, given the new key of each key and the new ranks of each attribute."""
    tables = [table for _, _, table in parts]
    ranks = []
    for position, renamed in enumerate(ranks_of):
        old = [table.sensitive[position].rank_of_row() for table in tables]
        ranks.append(np.concatenate([new[each] for new, each in zip(renamed, old, strict=True)]))
    return PersonRows(key_of_rows(parts, keys), np.concatenate(people), tuple(ranks))


def _common_values(attribute: Attribute, domains: Sequence[Domain]) -> CommonValues:
    """Build a common domain for several domains of a column, and return the new rank of each old rank."""
    if len(domains) == 1:
        return domains[0], [np.arange(domains[0].size)]
    kinds = {domain.kind for domain in domains}
    typed = domains[0].kind if len(kinds) == 1 and "category" not in kinds else None
    numbers: dict[str, float] = {}
    for domain in domains:
        for text, number in zip(domain.values, domain.numbers.tolist(), strict=True):
            if text is not None:
                numbers.setdefault(text, number)
    missing = any(domain.missing >= 0 for domain in domains)
    values = None if typed is None else np.array(list(numbers.values()), np.float64)
    common, ranks = Domain.build(attribute, Dictionary(list(numbers), missing, typed, values))
    rank_of = {text: int(rank) for text, rank in zip([*numbers, None], ranks, strict=True)}
    return common, [np.array([rank_of[text] for text in domain.values], np.int64) for domain in domains]
