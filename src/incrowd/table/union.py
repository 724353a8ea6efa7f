"""The cells of several released tables, counted as those of one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from incrowd.kernels.counting import counts_per_key
from incrowd.table.classes import EquivalenceClasses
from incrowd.table.domain import Dictionary, Domain
from incrowd.table.frequency import FrequencyTable, JointCounts, SensitiveCounts, smallest_codes
from incrowd.table.people import PersonRows
from incrowd.table.schema import Attribute, Schema

__all__ = ["Part", "Shown", "key_of_rows", "together"]

Shown = list[tuple[NDArray[np.integer], Sequence[str | None]]]
"""Per quasi-identifier the number of each key's cell, int[keys], and the text of each."""

Part = tuple[Shown, NDArray[np.bool_], FrequencyTable]


def together(
    parts: Sequence[Part], schema: Schema, people: Sequence[NDArray[np.int32]] | None = None
) -> tuple[FrequencyTable, list[NDArray[np.int64]]]:
    """Count the cells of several tables as those of one.

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
    from incrowd.kernels.grouping import group_columns

    kept = np.concatenate([kept for _, kept, _ in parts])
    weights = np.concatenate([table.weights for _, _, table in parts])
    domains, codes = [], []
    for j, attribute in enumerate(schema.quasi):
        met = [np.unique(shown[j][0][live]) for shown, live, _ in parts]
        texts = [shown[j][1][cell] for (shown, _, _), cells in zip(parts, met, strict=True) for cell in cells]
        distinct = dict.fromkeys(text for text in texts if text is not None)
        domain, ranks = Domain.build(attribute.as_released(), Dictionary(list(distinct), None in texts))
        place = {text: int(rank) for text, rank in zip([*distinct, None], ranks, strict=True)}
        domains.append(domain)
        columns = []
        for (shown, live, _), cells in zip(parts, met, strict=True):
            numbers, labels = shown[j]
            rank = np.zeros(len(labels), np.int64)
            rank[cells] = [place[labels[cell]] for cell in cells]
            columns.append(rank[numbers[live]])
        codes.append(smallest_codes(np.concatenate(columns), max(domain.size, 1)))
    ids, first = group_columns(codes, [domain.size for domain in domains], int(kept.sum()))
    keys = np.full(len(kept), -1, np.int64)
    keys[kept] = ids
    starts = np.cumsum([0, *(table.keys for _, _, table in parts)])
    sensitive = []
    ranks_of = []
    for position, attribute in enumerate(schema.sensitive):
        found = [table.sensitive[position] for _, _, table in parts]
        domain, renamed = _joined(attribute, [counts.domain for counts in found])
        ranks_of.append(renamed)
        totals = np.zeros(domain.size, np.int64)
        for counts, rank in zip(found, renamed, strict=True):
            np.add.at(totals, rank, counts.totals)
        triples = [
            (keys[start + _owners(counts.keys.indptr)], rank[counts.keys.codes], counts.keys.counts)
            for start, counts, rank in zip(starts, found, renamed, strict=False)
        ]
        key, code, count = (np.concatenate(column) for column in zip(*triples, strict=True))
        sensitive.append(
            SensitiveCounts(domain, counts_per_key(key, code, count, len(first), domain.size), totals)
        )
    joint = None
    if sensitive and all(table.joint is not None for _, _, table in parts):
        joints = [table.joint for _, _, table in parts if table.joint is not None]
        columns = [
            np.concatenate([rank[part.codes[j]] for part, rank in zip(joints, renamed, strict=True)])
            for j, renamed in enumerate(ranks_of)
        ]
        combination, place_of = group_columns(
            columns, [counts.domain.size for counts in sensitive], len(columns[0])
        )
        offsets = np.cumsum([0, *(len(part.codes[0]) for part in joints)])
        triples = [
            (keys[start + _owners(part.keys.indptr)], combination[offset + part.keys.codes], part.keys.counts)
            for start, offset, part in zip(starts, offsets, joints, strict=False)
        ]
        key, code, count = (np.concatenate(column) for column in zip(*triples, strict=True))
        joint = JointCounts(
            tuple(column[place_of].astype(np.int32) for column in columns),
            counts_per_key(key, code, count, len(first), len(place_of)),
        )
    table = FrequencyTable(
        domains=tuple(domains),
        codes=tuple(column[first] for column in codes),
        weights=np.bincount(ids, weights[kept], len(first)).astype(np.int64),
        sensitive=tuple(sensitive),
        suppressed=int(weights[~kept].sum()) + sum(table.suppressed for _, _, table in parts),
        joint=joint,
        in_order=len(parts) == 1 and parts[0][2].in_order,
    )
    if len(parts) == 1:
        table = EquivalenceClasses.from_assignment(parts[0][2], keys, table.keys).with_people(table)
    of_part = np.split(keys, starts[1:-1])
    if people is not None:
        rows = _person_rows(parts, people, of_part, ranks_of)
        if joint is not None:
            rows = rows._replace(combination=joint.numbers(rows.ranks))
        table = table.with_person_rows(rows, schema.person)
    return table, of_part


def key_of_rows(parts: Sequence[Part], keys: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the key of each row of several tables in memory, given the new key of each key; -1 for none."""
    rows = [table.key_of_row("counting the people of two tables") for _, _, table in parts]
    # A suppressed row has number -1, which picks the entry that is appended here.
    return np.concatenate([np.append(own, -1)[of_row] for own, of_row in zip(keys, rows, strict=True)])


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


def _owners(indptr: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return which key each entry of its counts belongs to."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def _joined(attribute: Attribute, domains: Sequence[Domain]) -> tuple[Domain, list[NDArray[np.int64]]]:
    """Put the values of several domains of one column into one; return it and each old rank's new one."""
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
    joined, ranks = Domain.build(attribute, Dictionary(list(numbers), missing, typed, values))
    place = {text: int(rank) for text, rank in zip([*numbers, None], ranks, strict=True)}
    return joined, [np.array([place[text] for text in domain.values], np.int64) for domain in domains]
