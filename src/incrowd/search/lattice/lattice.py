"""The lattice of full-domain recodings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Attribute


class Lattice:
    """The nodes between the least and the largest level of every attribute.

    Parameters
    ----------
    names
        The quasi-identifiers.
    lows, highs
        Least and largest level of each, both included.

    Attributes
    ----------
    shape
        Number of levels per attribute.
    size
        Number of nodes.
    free
        Places of the attributes with more than one level; of the first where all are fixed.
    grid
        Number of levels per free attribute. NumPy's arrays have 64 axes at most, and quasi-identifiers
        may be more.
    strides
        int64[attributes]: distance of the numbers of nodes that differ by one level.
    """

    def __init__(self, names: Sequence[str], lows: Sequence[int], highs: Sequence[int]) -> None:
        self.names = tuple(names)
        self.lows = np.array(lows, np.int64)
        self.highs = np.array(highs, np.int64)
        self.shape = tuple(int(high - low + 1) for low, high in zip(lows, highs, strict=True))
        self.size = prod(self.shape)
        self.free = tuple(j for j, count in enumerate(self.shape) if count > 1) or (0,)
        self.grid = tuple(self.shape[j] for j in self.free)
        steps = [prod(self.shape[j + 1 :]) for j in range(len(self.shape))]
        # Lattices of more than 2**63 nodes are searched without numbering their nodes.
        self.strides = np.array(steps if self.size < 2**62 else [0] * len(steps), np.int64)

    @classmethod
    def of(cls, frequency: FrequencyTable, attributes: Sequence[Attribute]) -> Lattice:
        """Make the lattice of a table's quasi-identifiers within the bounds of their attributes.

        Raises
        ------
        ParameterError
            When a bound is above a hierarchy's height.
        """
        lows, highs = [], []
        for domain, attribute in zip(frequency.domains, attributes, strict=True):
            height = domain.tree.height
            low, high = attribute.levels or (0, height)
            if high is None:
                high = height
            top = max(low, high)
            if top > height:
                raise ParameterError(
                    f"column {domain.name!r}: level {top} is above its height; the levels are 0 .. {height}"
                )
            lows.append(low)
            highs.append(high)
        return cls([domain.name for domain in frequency.domains], lows, highs)

    def levels(self, node: int) -> tuple[int, ...]:
        """Return the levels of a node, given its number."""
        return tuple(
            int(low + node // stride % count)
            for low, stride, count in zip(self.lows, self.strides, self.shape, strict=True)
        )

    def levels_of(self, nodes: NDArray[np.int64]) -> list[tuple[int, ...]]:
        """Return the levels of several nodes, given their numbers."""
        each = nodes[:, None] // self.strides % np.array(self.shape) + self.lows
        return [tuple(levels) for levels in each.tolist()]

    def node(self, levels: Sequence[int]) -> int:
        """Return the number of a node, given its levels."""
        return int(((np.array(levels) - self.lows) * self.strides).sum())

    def all_levels(self) -> NDArray[np.int8]:
        """Return the levels of every node: int8[nodes, attributes]."""
        grid = np.indices(self.shape, np.int8).reshape(len(self.shape), -1).T
        return np.ascontiguousarray(grid + self.lows.astype(np.int8))

    def between(self, bottom: Sequence[int], top: Sequence[int]) -> tuple[slice, ...]:
        """Return where the nodes between two others, these included, stand in an array of `grid`."""
        return tuple(slice(bottom[j] - int(self.lows[j]), top[j] - int(self.lows[j]) + 1) for j in self.free)

    @property
    def bottom(self) -> tuple[int, ...]:
        """The node of least levels."""
        return tuple(self.lows.tolist())

    @property
    def top(self) -> tuple[int, ...]:
        """The node of largest levels."""
        return tuple(self.highs.tolist())

    @property
    def height(self) -> int:
        """Steps from the bottom to the top."""
        return int((self.highs - self.lows).sum())

    def at_height(self, height: int) -> Iterator[tuple[int, ...]]:
        """Yield the nodes so many steps above the bottom, in the order of their levels."""

        def rest(j: int, left: int) -> Iterator[tuple[int, ...]]:
            if j == len(self.shape):
                if left == 0:
                    yield ()
                return
            room = sum(count - 1 for count in self.shape[j + 1 :])
            for step in range(max(0, left - room), min(self.shape[j] - 1, left) + 1):
                for further in rest(j + 1, left - step):
                    yield (int(self.lows[j]) + step, *further)

        yield from rest(0, height)

    def above(self, levels: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Yield the nodes one step above, in the order of the attributes."""
        for j, level in enumerate(levels):
            if level < self.highs[j]:
                yield (*levels[:j], level + 1, *levels[j + 1 :])

    def below(self, levels: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Yield the nodes one step below, in the order of the attributes."""
        for j, level in enumerate(levels):
            if level > self.lows[j]:
                yield (*levels[:j], level - 1, *levels[j + 1 :])
