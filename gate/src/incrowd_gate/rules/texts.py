"""Points of texts in columns and cells: names and addresses of people, free texts, lists."""

from __future__ import annotations

from collections.abc import Iterator

from incrowd_gate import wording
from incrowd_gate.lazy import np
from incrowd_gate.points import Point
from incrowd_gate.rules.columns import Column, Release, UnansweredError, Values


def points_of_texts(release: Release) -> Iterator[Point]:
    """Look at the texts of every column that leaves, and at every part of every cell."""
    for column, values in texts_that_leave(release):
        compared = column.role == "sensitive" and not column.is_list
        if values.texts is not None:
            yield from points_of_column(column.name, values.texts, release.records, compared=compared)


def texts_that_leave(release: Release) -> Iterator[tuple[Column, Values]]:
    """Return the columns with values that can be read, and then the cells of quasi-identifiers."""
    for column in sorted(release.columns, key=lambda each: each.role == "quasi"):
        try:
            is_quasi = column.role == "quasi"
            values = release.labels(column.name) if is_quasi else release.values(column.name)
        except UnansweredError:
            continue  # `points_of_values` says so
        if values.is_readable:
            yield column, values


def points_of_column(name: str, texts: Values, records: int, *, compared: bool = False) -> Iterator[Point]:
    """Return the points of the texts of a column, or of the labels of cells.

    - `texts`: its distinct texts.
    - `records`: all records.
    - `compared`: whether models compare whole cells, as those of a sensitive column.
    """
    from incrowd_gate.texts import SIGNS, separator_of

    if not len(texts.parts):
        return
    if masks := texts.signs:
        signs = [(each.text, masks[each.name]) for each in SIGNS if each.name in masks]
        numbers = {text: int(texts.counts[mask].sum()) for text, mask in signs}
        shares = {text: (number, number / records) for text, number in numbers.items()}
        personal = np.logical_or.reduce(list(masks.values()))
        yield wording.personal_text(name, shares, int(texts.counts[personal].sum()) / records)
    if texts.is_free(records):
        yield wording.free_text(name, int(texts.counts.sum()) / records)
    separator = separator_of(texts.values) if compared else None
    if separator is not None:
        several = texts.values.str.contains(separator, literal=True).to_numpy()
        yield wording.list_cells(name, int(texts.counts[several].sum()) / records)
