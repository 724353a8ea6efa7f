"""The cells of every level, numbered."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.lazy import NDArray, np
from incrowd.core.recoding import node_labels, starred_nodes
from incrowd.core.recoding.population import cells_of
from incrowd.core.table.frequency import smallest_codes

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.search.base import SearchProblem
    from incrowd.search.lattice.lattice import Lattice


class LevelCells(NamedTuple):
    """The cells that values have at every level; the first index is the attribute, the second the level.

    A hierarchy may have many more leaves than the table has values. Only values that occur have a place here.

    Attributes
    ----------
    ranks
        Of each attribute the ranks that occur, ascending; all of them where the table is compared with a
        population.
    codes
        Of each attribute uint[keys]: the place of each key's value among the ranks.
    cells
        int32[ranks]: number of each rank's cell.
    counts
        Number of cells.
    stars
        bool[ranks]: whether a rank's cell is ``*``.
    people
        The population as it is written, where a model compares the table with one.
    places
        int32[values]: number of the cell of each value of the population; empty without one.
    """

    ranks: list[NDArray[np.int64]]
    codes: list[NDArray[np.unsignedinteger]]
    cells: list[list[NDArray[np.int32]]]
    counts: list[list[int]]
    stars: list[list[NDArray[np.bool_]]]
    people: FrequencyTable | None
    places: list[list[NDArray[np.int32]]]

    @property
    def sizes(self) -> list[int]:
        """How many places the values of each attribute have, at least 1."""
        return [max(len(ranks), 1) for ranks in self.ranks]


def numbered(problem: SearchProblem, lattice: Lattice) -> LevelCells:
    """Give the cells of every level a number, up to the lattice's top."""
    frequency = problem.frequency
    people = None
    if frequency.population is not None and any(model.needs_population for model in problem.models):
        people = frequency.population.people
    made = LevelCells([], [], [], [], [], people, [])
    for j, domain in enumerate(frequency.domains):
        ranks, codes = _occurring(frequency, j, every=people is not None)
        made.ranks.append(ranks)
        made.codes.append(codes)
        cells, counts, stars, places = [], [], [], []
        starred = starred_nodes(domain)
        for level in range(int(lattice.highs[j]) + 1):
            node_of_rank = domain.tree.climb(level)[ranks]
            occurs = np.zeros(domain.tree.n_nodes, np.bool_)
            occurs[node_of_rank] = True
            nodes, place = _ranked(occurs)
            cells.append(place[node_of_rank])
            counts.append(len(nodes))
            stars.append(starred[node_of_rank])
            if people is not None:
                labels = node_labels(domain, nodes)
                places.append(cells_of(labels, people.domains[j], problem.attributes[j]))
        made.cells.append(cells)
        made.counts.append(counts)
        made.stars.append(stars)
        if people is not None:
            made.places.append(places)
    return made


def _occurring(
    frequency: FrequencyTable, j: int, *, every: bool
) -> tuple[NDArray[np.int64], NDArray[np.unsignedinteger]]:
    """Return the ranks of an attribute that occur, or all, and the place of each key's value in this list."""
    codes, occurs = frequency.codes[j], frequency.totals(j) > 0
    if every or not frequency.keys or occurs.all():
        return np.arange(len(occurs)), codes
    ranks, place = _ranked(occurs)
    return ranks, smallest_codes(place[codes], len(ranks))


def _ranked(occurs: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the numbers that occur, ascending, and the place of each number in this list."""
    return np.flatnonzero(occurs), np.cumsum(occurs, dtype=np.int32) - np.int32(1)
