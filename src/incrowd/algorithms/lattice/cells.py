"""The cells of every level, numbered."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from incrowd.lazy import NDArray, np
from incrowd.recoding import SUPPRESSED, node_labels
from incrowd.recoding.population import cells_of

if TYPE_CHECKING:
    from incrowd.algorithms.base import SearchProblem
    from incrowd.algorithms.lattice.lattice import Lattice
    from incrowd.table.frequency import FrequencyTable


class LevelCells(NamedTuple):
    """The cells that values have at every level; the first index is the attribute, the second the level.

    Attributes
    ----------
    cells
        int32[size]: number of each rank's cell.
    counts
        Number of cells.
    stars
        bool[size]: whether a rank's cell is ``*``.
    people
        The population as it is written, where a model compares the table with one.
    places
        int32[values]: number of the cell of each value of the population; empty without one.
    """

    cells: list[list[NDArray[np.int32]]]
    counts: list[list[int]]
    stars: list[list[NDArray[np.bool_]]]
    people: FrequencyTable | None
    places: list[list[NDArray[np.int32]]]


def numbered(problem: SearchProblem, lattice: Lattice) -> LevelCells:
    """Give the cells of every level a number, up to the lattice's top."""
    frequency = problem.frequency
    people = None
    if frequency.population is not None and any(model.needs_population for model in problem.models):
        people = frequency.population.people
    made = LevelCells([], [], [], people, [])
    for j, domain in enumerate(frequency.domains):
        cells, counts, stars, places = [], [], [], []
        every = node_labels(domain, np.arange(domain.tree.n_nodes))
        starry = np.array([label == SUPPRESSED for label in every], np.bool_)
        for level in range(int(lattice.highs[j]) + 1):
            nodes, place = np.unique(domain.tree.climb(level), return_inverse=True)
            cells.append(place.astype(np.int32))
            counts.append(len(nodes))
            stars.append(starry[nodes][place])
            if people is not None:
                labels = node_labels(domain, nodes)
                places.append(cells_of(labels, people.domains[j], problem.attributes[j]))
        made.cells.append(cells)
        made.counts.append(counts)
        made.stars.append(stars)
        if people is not None:
            made.places.append(places)
    return made
