"""Matching of released rows to raw rows by cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from incrowd.core.errors import TableError, key_or_row_map, setting
from incrowd.core.lazy import NDArray, np
from incrowd.core.recoding import SUPPRESSED
from incrowd.core.recoding.observed import Literal, covered_by
from incrowd.core.table.frequency import FrequencyTable

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
    """Count by column the records whose cell does not cover the raw row at the same position."""
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
