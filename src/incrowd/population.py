"""Which records of a population the cells of a table cover."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from incrowd.domain import NUMBER_PATTERN
from incrowd.frequency import FrequencyTable, PopulationCounts
from incrowd.hierarchy import Hierarchy
from incrowd.recoding import SUPPRESSED
from incrowd.schema import Attribute

__all__ = ["cells_of", "cover", "day_of", "number_of", "parts_of_set", "recoded"]

_NUMBER = NUMBER_PATTERN.strip("^$")
_NUMBER_RANGE = re.compile(rf"\[(?P<low>{_NUMBER})-(?P<high>{_NUMBER})\]")
_DATE_RANGE = re.compile(r"\[(?P<low>[0-9]{4}-[0-9]{2}-[0-9]{2}) to (?P<high>[0-9]{4}-[0-9]{2}-[0-9]{2})\]")


def cover(
    frequency: FrequencyTable, everybody: FrequencyTable, attributes: Sequence[Attribute]
) -> PopulationCounts:
    """Count the records of a population that each key of a table covers.

    A cell covers a value that is written the same, is the same number, is a leaf under the node of the
    column's hierarchy that has the cell as its label, or lies in a range ``[a-b]``, ``[day to day]`` or
    set ``{a, b}`` as releases have them; ``*`` covers everything. A cell that means something else covers
    nothing.

    Parameters
    ----------
    frequency
        The keys, released or not.
    everybody
        The population, its quasi-identifiers as they are written and in the same order.
    attributes
        The quasi-identifiers with their hierarchies.
    """
    if not frequency.keys:
        return PopulationCounts(np.zeros(0, np.int64), everybody.rows, everybody.rows, everybody)
    matches = [
        _matches(domain.values, values.values, attribute)
        for domain, values, attribute in zip(frequency.domains, everybody.domains, attributes, strict=True)
    ]
    if all((match.sum(axis=1) <= 1).all() for match in matches):
        # No two cells of a column cover the same value, so recoding the population is a look-up.
        sizes = [match.shape[1] for match in matches]
        covered, outside = recoded(
            frequency.codes, sizes, [_narrowest(match) for match in matches], everybody
        )
        return PopulationCounts(covered, outside, everybody.rows, everybody)
    from incrowd.kernels.coverage import covered_weights

    covered, outside = covered_weights(frequency.codes, matches, everybody.codes, everybody.weights)
    return PopulationCounts(covered, outside + everybody.suppressed, everybody.rows, everybody)


def cells_of(
    cells: Sequence[str | None], values: Sequence[str | None], attribute: Attribute
) -> NDArray[np.int32]:
    """Return which cell each value is recoded to: int32[values], -1 where none covers it.

    Of several cells, as where short branches of a hierarchy have reached its root, it is the narrowest.
    """
    return _narrowest(_matches(cells, values, attribute))


def recoded(
    codes: Sequence[NDArray[np.unsignedinteger]],
    sizes: Sequence[int],
    places: Sequence[NDArray[np.int32]],
    people: FrequencyTable,
) -> tuple[NDArray[np.int64], int]:
    """Recode a population and count who falls into each class.

    Parameters
    ----------
    codes, sizes
        Per attribute the cell of each class, uint[classes], and the number of cells; classes differ.
    places
        Per attribute the cell of each value of the population: int32[values], -1 where there is none.

    Returns
    -------
    covered
        int64[classes]: the people in each class.
    outside
        The people in none.
    """
    from incrowd.kernels.grouping import group_columns

    classes = len(codes[0])
    known = np.ones(people.keys, np.bool_)
    columns = []
    for mine, place, theirs in zip(codes, places, people.codes, strict=True):
        cells = place[theirs]
        known &= cells >= 0
        columns.append(np.concatenate((mine, np.maximum(cells, 0))))
    ids, _ = group_columns(columns, sizes, classes + people.keys)
    # Classes come first and differ, so they have the numbers 0, 1, 2, ...
    found = ids[classes:]
    known &= found < classes
    covered = np.bincount(found[known], people.weights[known], minlength=classes).astype(np.int64)
    return covered, people.rows - int(covered.sum())


def _narrowest(match: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the cell that covers each value and fewest others: int32[values], -1 where none does."""
    width = np.where(match, match.sum(axis=0), len(match) + 1)
    return np.where(match.any(axis=1), width.argmin(axis=1), -1).astype(np.int32)


def _matches(
    cells: Sequence[str | None], values: Sequence[str | None], attribute: Attribute
) -> NDArray[np.bool_]:
    """Say which cell covers which value: bool[values, cells]."""
    place = {value: number for number, value in enumerate(values)}
    numbers = np.array([number_of(value) for value in values])
    days = np.array([day_of(value) for value in values])
    nodes: dict[str, list[int]] = {}
    tree = _tree(attribute, values)
    if tree is not None:
        for node, label in enumerate(tree.labels):
            nodes.setdefault(label, []).append(node)
    match = np.zeros((len(values), len(cells)), np.bool_)
    for column, cell in enumerate(cells):
        if cell == SUPPRESSED:
            match[:, column] = True
        elif cell in place:
            match[place[cell], column] = True
            if cell is not None and not np.isnan(number_of(cell)):
                match[:, column] |= numbers == number_of(cell)
        if cell is None or cell == SUPPRESSED:
            continue
        if tree is not None and cell in nodes:
            for node in nodes[cell]:
                leaves = tree.values[int(tree.lo[node]) : int(tree.hi[node])]
                inside = [place[leaf] for leaf in leaves if leaf in place]
                # A missing value hangs under the root.
                inside += [place[None]] if node == 0 and None in place else []
                match[inside, column] = True
        elif cell not in place:
            match[:, column] = _described(cell, place, numbers, days)
    return match


def _described(
    cell: str, place: dict[str | None, int], numbers: NDArray[np.float64], days: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Say which values a range, a set or a number written another way covers: bool[values]."""
    if found := _NUMBER_RANGE.fullmatch(cell):
        return (numbers >= float(found["low"])) & (numbers <= float(found["high"]))
    if found := _DATE_RANGE.fullmatch(cell):
        return (days >= day_of(found["low"])) & (days <= day_of(found["high"]))
    covered: NDArray[np.bool_] = numbers == number_of(cell)
    if cell.startswith("{") and cell.endswith("}"):
        for part in parts_of_set(cell[1:-1]):
            covered |= numbers == number_of(part)
            names = (part, None) if not part else (part,)
            covered[[place[name] for name in names if name in place]] = True
    return covered


def parts_of_set(text: str) -> list[str]:
    """Split the inside of a set at its commas, and take the escapes away."""
    parts = [""]
    marks = iter(text)
    for mark in marks:
        if mark == "\\":
            parts[-1] += next(marks, "")
        elif mark == ",":
            parts.append("")
            next(marks, None)  # the blank after the comma
        else:
            parts[-1] += mark
    return parts


def _tree(attribute: Attribute, values: Sequence[str | None]) -> Hierarchy | None:
    if attribute.hierarchy is None or isinstance(attribute.hierarchy, Hierarchy):
        return attribute.hierarchy
    texts = [value for value in values if value is not None]
    return attribute.hierarchy.build(texts, attribute.name) if texts else None


def number_of(text: str | None) -> float:
    """Read a plain number, NaN where the text is none."""
    return float(text) if text is not None and re.fullmatch(_NUMBER, text) else np.nan


def day_of(text: str | None) -> float:
    """Read a day as its ordinal, NaN where the text is none."""
    try:
        return float("nan") if text is None else float(dt.date.fromisoformat(text).toordinal())
    except ValueError:
        return float("nan")
