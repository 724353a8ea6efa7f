"""The input of the compiled search of a lattice: arrays, bundled by subject."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

CELLS, CLASSES = range(2)
"""What a score adds up: costs of cells, or figures of classes."""

PLACES = 2**32
EVERY = PLACES - 1
"""Places in `Kept` that can be told apart in `Nodes.fewest`, and the one that stands for every key."""

Whole = NDArray[np.int64]
Real = NDArray[np.float64]
Truth = NDArray[np.bool_]


class Keys(NamedTuple):
    """The keys of a table.

    Attributes
    ----------
    codes
        uint[keys, columns]: codes of several attributes, packed, as `roll_up` takes them.
    ranks
        uint[keys, attributes]: rank of each key's value.
    weights
        int64[keys]: records of each.
    each
        int32[keys]: 0, 1, 2, ...
    """

    codes: NDArray[np.unsignedinteger[Any]]
    ranks: NDArray[np.unsignedinteger[Any]]
    weights: Whole
    each: NDArray[np.int32]


class Cells(NamedTuple):
    """The cells of every attribute at every level.

    Attributes
    ----------
    attributes
        int64[attributes, 2]: the place of the lowest level in `levels`, and the number of ranks, 1 or more.
    levels
        int64[..., 3] for each level of each attribute: where its cells start, how many they are, and whether
        one of them is ``*``.
    columns
        int64[columns + 1, 3] for each column of codes: its first attribute, its codes, and where its
        combinations of levels start.
    cells, stars
        For each level and rank: number of the cell, and whether it is ``*``.
    parts
        float64[attributes, levels, levels]: the most cells of the one level that a cell of the other falls
        into; 1 where there are no such levels.
    """

    attributes: Whole
    levels: Whole
    columns: Whole
    cells: NDArray[np.int32]
    stars: Truth
    parts: Real


class Choice(NamedTuple):
    """Which nodes come next.

    Attributes
    ----------
    order
        int64[nodes]: the most promising first; those that are not settled come to the front.
    around
        int32[1, nodes] or int32[2, nodes]: scratch; see `choose_nodes`.
    plan, planned
        int64[2, ..., 2] and int64[2]: nodes that come next on each side, and how many others are to be made
        of each, 0 where it is to be judged; and how many they are.
    counts
        int64[...]; see the names in `kernels.lattice.search_plan`.
    """

    order: Whole
    around: NDArray[np.int32]
    plan: Whole
    planned: Whole
    counts: Whole


class Nodes(NamedTuple):
    """The nodes of a lattice, with the knowledge of one side of the search.

    What another side knows can be added in any order.

    Attributes
    ----------
    shape, strides
        int64[attributes].
    dead
        bool[nodes]: settled.
    least
        float64[nodes]: what a node cannot fall below.
    best
        float64[1]: what a score must stay below to beat the best so far.
    fewest
        int64[nodes]: the fewest groups that are kept of a node below, times `PLACES`, and the place of that
        node in `Kept`; all keys, and the place `EVERY`, where there is none.
    refused
        bool[nodes]: not worth keeping, as a node above joins too few groups.
    """

    shape: Whole
    strides: Whole
    dead: Truth
    least: Real
    best: Real
    fewest: Whole
    refused: Truth


class Limit(NamedTuple):
    """The conditions on a node, and the size of the table.

    Attributes
    ----------
    least
        Records below which a class is suppressed.
    suppresses
        Whether any record may be suppressed, besides those before.
    allowed, before
        Records that may be suppressed, and that were before.
    rows, kept
        Records of the table, and those that are kept at least.
    slack
        By how much, relatively, a score must be lower to be better.
    """

    least: int
    suppresses: bool
    allowed: int
    before: int
    rows: int
    kept: int
    slack: float


class Costs(NamedTuple):
    """The losses of nodes.

    Attributes
    ----------
    adds
        `CELLS` or `CLASSES`.
    aggregate
        How losses of attributes become one: a place in `utility.AGGREGATES`.
    weights
        float64[attributes, 2]: weight of each attribute, and what its cost is multiplied with.
    shares
        Per level: the loss without suppression.
    values
        Per level and rank, as in `Cells.cells`: what suppressing a record costs beyond its cell, or the
        combinations of values that a cell stands for.
    record, square, combination, suppressed, by_class
        As in `utility.ClassCosts`.
    everything, most
        Combinations of a suppressed record, and the most that are counted.
    """

    adds: int
    aggregate: int
    weights: Real
    shares: Real
    values: Real
    record: float
    square: float
    combination: float
    suppressed: float
    by_class: bool
    everything: float
    most: float


class Given(NamedTuple):
    """The arrays that do not change."""

    keys: Keys
    cells: Cells
    costs: Costs
    limit: Limit


class Room(NamedTuple):
    """Room for grouping the keys of a node.

    Attributes
    ----------
    tables, table_of
        Tables of numbered cells that were made, and where the one of each combination of levels stands; -1
        where there is none.
    made
        int64[1]: entries of tables that were made.
    packed
        The cells of each key that is grouped, as one number.
    records, key_of
        Where there are few combinations of cells: the records and one key of each; 0 records between nodes.
    slots, words
        Of the hash table.
    first, sums
        One key and the records of each group of the node.
    meeting
        For each code of every column: where it meets one key; see `kernels.lattice.search_meeting`.
    """

    tables: NDArray[np.uint64]
    table_of: Whole
    made: Whole
    packed: NDArray[np.uint64]
    records: Whole
    key_of: NDArray[np.int32]
    slots: NDArray[np.int32]
    words: NDArray[np.uint64]
    first: NDArray[np.int32]
    sums: Whole
    meeting: Whole


class Kept(NamedTuple):
    """Groups of nodes, from which nodes above are made.

    Attributes
    ----------
    keys, weights
        One key and the records of each group, those of one node after the other.
    nodes, sizes, start
        The nodes, how many groups each has, and where they start.
    free
        int64[4]: the next place of a node and the end of places, the next place of a group and their end.
    """

    keys: NDArray[np.int32]
    weights: Whole
    nodes: Whole
    sizes: Whole
    start: Whole
    free: Whole


class Found(NamedTuple):
    """The results about each node that was looked at; see `lattice.Node`.

    Attributes
    ----------
    whole
        int64[..., 6]: the node, whether it is anonymous, whether it fails and all below it, suppressed
        records, classes, and the smallest.
    real
        float64[..., 3]: score, bound, floor.
    """

    whole: Whole
    real: Real
