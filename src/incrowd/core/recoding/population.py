"""Coverage of a population's records by the cells of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from incrowd.core.hierarchy import Hierarchy
from incrowd.core.lazy import NDArray, np
from incrowd.core.reading.cells import is_own, read_span
from incrowd.core.reading.exact import Line, moment_of, number_of
from incrowd.core.recoding import SUPPRESSED, read_mask, read_set
from incrowd.core.table.domain import Domain, followed
from incrowd.core.table.frequency import FrequencyTable, PopulationCounts
from incrowd.core.table.schema import Attribute


def as_counted(attribute: Attribute) -> Attribute:
    """Return the attribute for reading a population's raw values, not cells of a release.

    Numbers are one value if they are equal, as in the table. The values of a column without a hierarchy say
    whether they are numbers. Categories, and the leaves of a hierarchy, are told apart by their letters.
    """
    texts = attribute.as_texts()
    lettered = attribute.kind == "category" or followed(attribute, "number") is not None
    return texts if lettered else replace(texts, kind="auto")


def cover(
    frequency: FrequencyTable, everybody: FrequencyTable, attributes: Sequence[Attribute]
) -> PopulationCounts:
    """Count the records of a population that each key of a table covers.

    A cell covers a value if the value

    - is written the same, or is the same number in a column of numbers (see `as_counted`);
    - is a leaf under the hierarchy's node of that label;
    - lies in a range of numbers or days (see `reading.cells`), fits a mask, or is in a set ``{a, b}``.

    ``*`` covers everything. A cell that means something else covers nothing.

    Parameters
    ----------
    frequency
        The keys, released or not.
    everybody
        The population, its quasi-identifiers read `as_counted` and in the same order.
    attributes
        The quasi-identifiers with their hierarchies.
    """
    if not frequency.keys:
        return PopulationCounts(np.zeros(0, np.int64), everybody.rows, everybody.rows, everybody)
    matches = [
        _matches(domain.values, values, attribute)
        for domain, values, attribute in zip(frequency.domains, everybody.domains, attributes, strict=True)
    ]
    if all((match.sum(axis=1) <= 1).all() for match in matches):
        # No two cells of a column cover the same value, so recoding the population is a look-up.
        sizes = [match.shape[1] for match in matches]
        covered, outside = recoded(
            frequency.codes, sizes, [_narrowest(match) for match in matches], everybody
        )
        return PopulationCounts(covered, outside, everybody.rows, everybody)
    from incrowd.core.kernels.coverage import covered_weights

    covered, outside = covered_weights(frequency.codes, matches, everybody.codes, everybody.weights)
    return PopulationCounts(covered, outside + everybody.suppressed, everybody.rows, everybody)


def cells_of(cells: Sequence[str | None], values: Domain, attribute: Attribute) -> NDArray[np.int32]:
    """Return the cell that each value is recoded to: int32[values], -1 if no cell covers the value.

    Of several cells, as where short branches of a hierarchy have reached its root, it is the narrowest.
    """
    return _narrowest(_matches(cells, values, attribute))


def recoded(
    codes: Sequence[NDArray[np.unsignedinteger]],
    sizes: Sequence[int],
    places: Sequence[NDArray[np.int32]],
    people: FrequencyTable,
) -> tuple[NDArray[np.int64], int]:
    """Recode a population and count the people in each class.

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
    from incrowd.core.kernels.grouping.grouping import group_columns

    classes = len(codes[0])
    inside = np.ones(people.keys, np.bool_)
    columns = []
    for mine, cell_of, theirs in zip(codes, places, people.codes, strict=True):
        cells = cell_of[theirs]
        inside &= cells >= 0
        columns.append(np.concatenate((mine, np.maximum(cells, 0))))
    ids, _ = group_columns(columns, sizes, classes + people.keys)
    # Classes come first and differ, so they have the numbers 0, 1, 2, ...
    class_of = ids[classes:]
    inside &= class_of < classes
    covered = np.bincount(class_of[inside], people.weights[inside], minlength=classes).astype(np.int64)
    return covered, people.rows - int(covered.sum())


def _narrowest(match: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the cell that covers each value and fewest others: int32[values], -1 for none."""
    width = np.where(match, match.sum(axis=0), len(match) + 1)
    return np.where(match.any(axis=1), width.argmin(axis=1), -1).astype(np.int32)


def _matches(cells: Sequence[str | None], values: Domain, attribute: Attribute) -> NDArray[np.bool_]:
    """Return which cells cover which values: bool[values, cells]."""
    people = _People(values, attribute)
    match = np.zeros((values.size, len(cells)), np.bool_)
    for column, cell in enumerate(cells):
        for covered in people.covered(cell):
            match[covered, column] = True
    return match


class _People:
    """The values of a population's column, compared exactly with cells."""

    def __init__(self, domain: Domain, attribute: Attribute) -> None:
        values = domain.values
        self.kind = domain.kind
        self.by_number = domain.kind == "number"
        self.rank = {value: number for number, value in enumerate(values)}
        # Texts of a category are what they are, also where they look like numbers.
        plain = attribute.kind == "category"
        self.numbers = Line(() if plain else map(number_of, values))
        self.moments = Line(() if plain else map(moment_of, values))
        recipe = attribute.hierarchy
        if recipe is not None and not isinstance(recipe, Hierarchy):
            texts = [value for value in values if value is not None]
            recipe = recipe.build(texts, attribute.name) if texts else None
        self.tree: Hierarchy | None = recipe
        self.nodes: dict[str, list[int]] = {}
        if self.tree is not None:
            for node, label in enumerate(self.tree.labels):
                self.nodes.setdefault(label, []).append(node)

    def covered(self, cell: str | None) -> Iterator[Sequence[int] | NDArray[np.int64]]:
        """Yield the numbers of the values that a cell covers, some perhaps twice."""
        yield self._rank_of(cell)
        if cell is None:
            return
        if cell == SUPPRESSED:
            yield np.arange(len(self.rank))
            return
        yield self._equal_numbers(cell)
        if self.tree is not None and cell in self.nodes:
            for node in self.nodes[cell]:
                leaves = self.tree.values[int(self.tree.lo[node]) : int(self.tree.hi[node])]
                yield [self.rank[leaf] for leaf in leaves if leaf in self.rank]
                # A missing value hangs under the root.
                yield self._rank_of(None) if node == 0 else []
        elif cell not in self.rank:
            yield from self._described(cell)

    def _rank_of(self, value: str | None) -> list[int]:
        return [self.rank[value]] if value in self.rank else []

    def _equal_numbers(self, text: str) -> NDArray[np.int64]:
        """Return the values that are the same number as a text, in a column of numbers."""
        number = number_of(text) if self.by_number else None
        return self.numbers.between(number, number)

    def _described(self, cell: str) -> Iterator[Sequence[int] | NDArray[np.int64]]:
        """Yield the values that a range, a mask or a set covers."""
        # In a column of other texts, what only looks like a range may be one of them.
        kinds = [self.kind] if self.kind != "category" else ["number", "date"] if is_own(cell) else []
        for kind in kinds:
            if span := read_span(cell, kind):
                line: Line[Any] = self.numbers if kind == "number" else self.moments
                yield line.between(span.low, span.high, above=span.above, below=span.below)
                break
        if self.kind == "category" and (mask := read_mask(cell)):
            yield [number for value, number in self.rank.items() if value and mask.fullmatch(value)]
        for part in read_set(cell) or ():
            yield self._rank_of(part)
            yield self._equal_numbers(part) if part is not None else []
