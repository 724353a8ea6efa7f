"""Sets of classes in which people have rows, and frequencies of subsets and supersets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from incrowd.core.kernels.grouping.grouping import group_members
from incrowd.core.kernels.jit import compiled, over_ranges

_MOST_WAYS = 30
"""Largest set of classes whose subsets may be enumerated."""


@compiled
def _subsets(start, stop, indptr, classes, size, ends, sets):
    at = np.empty(size, np.int64)
    for person in range(start, stop):
        first, count = indptr[person], indptr[person + 1] - indptr[person]
        place = ends[person]
        if ends[person + 1] == place:
            continue
        for i in range(size):
            at[i] = i
        while True:
            for i in range(size):
                sets[place, i] = classes[first + at[i]]
            place += 1
            i = size - 1
            while i >= 0 and at[i] == count - size + i:
                i -= 1
            if i < 0:
                break
            at[i] += 1
            for j in range(i + 1, size):
                at[j] = at[j - 1] + 1


@compiled
def _slot(tree, node, label):
    """Slot of a child, or the free slot for the child (linear probing)."""
    slots, parents, labels, _ = tree
    mask = np.uint64(slots.size - 1)
    mixed = ((np.uint64(node) << np.uint64(32)) ^ np.uint64(label)) * np.uint64(0x9E3779B97F4A7C15)
    slot = (mixed ^ (mixed >> np.uint64(32))) & mask
    while slots[slot] >= 0 and (parents[slots[slot]] != node or labels[slots[slot]] != label):
        slot = (slot + np.uint64(1)) & mask
    return slot


@compiled
def _grow(indptr, ranks, many, tree, ends):
    """Insert the sets into a prefix tree, below the node of the first rank."""
    slots, parents, labels, is_leaf = tree
    nodes = many
    for one in range(indptr.size - 1):
        node = ranks[indptr[one]]
        for i in range(indptr[one] + 1, indptr[one + 1]):
            slot = _slot(tree, node, ranks[i])
            if slots[slot] < 0:
                slots[slot] = nodes
                parents[nodes], labels[nodes] = node, ranks[i]
                is_leaf[node] = False
                nodes += 1
            node = slots[slot]
        ends[one] = node


@compiled
def _contains(ranks, at, end, first, last):
    """Whether the ranks from `at` to `end` contain the ranks from `first` to `last`."""
    if end - at < last - first:
        return False
    for i in range(first, last):
        while at < end and ranks[at] < ranks[i]:
            at += 1
        if at == end or ranks[at] != ranks[i]:
            return False
    return True


@compiled
def _descend(ranks, place, end, amount, tree, counts, stack):
    """Add an amount to all nodes with a path of only ranks of the set that continues at `place`."""
    nodes, places = stack
    slots, _, _, is_leaf = tree
    depth = 0
    nodes[0], places[0] = ranks[place - 1], place
    counts[nodes[0]] += amount
    while depth >= 0:
        if places[depth] == end or is_leaf[nodes[depth]]:
            depth -= 1
            continue
        place = places[depth]
        places[depth] += 1
        child = slots[_slot(tree, nodes[depth], ranks[place])]
        if child >= 0:
            counts[child] += amount
            depth += 1
            nodes[depth], places[depth] = child, place + 1


@compiled
def _meet(start, stop, postings, places, sets, beginning, tree, counts):
    """Count, for sets that begin with ranks ``start .. stop - 1``, the supersets."""
    indptr, ranks, owner, times, ends = sets
    begins, beginners = beginning
    stack = np.empty(_MOST_WAYS + 1, np.int64), np.empty(_MOST_WAYS + 1, np.int64)
    for rank in range(start, stop):
        few = begins[rank + 1] - begins[rank]
        if few == 0:
            continue
        for at in range(postings[rank], postings[rank + 1]):
            place, one = places[at], owner[places[at]]
            end = indptr[one + 1]
            if end - place <= _MOST_WAYS and (1 << (end - place)) <= few:
                _descend(ranks, place + 1, end, times[one], tree, counts, stack)
                continue
            for other in beginners[begins[rank] : begins[rank + 1]]:
                if _contains(ranks, place, end, indptr[other], indptr[other + 1]):
                    counts[ends[other]] += times[one]


def subsets(
    indptr: NDArray[np.int64], classes: NDArray[np.int64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List all subsets of `size` classes of each person.

    Parameters
    ----------
    indptr, classes
        int64[people + 1] and int64[...]: the classes of each person, ascending.

    Returns
    -------
    sets
        int64[sets, size], each ascending.
    counts
        int64[people]: number of sets of each person; sets are in the order of people.
    """
    counts = choose(np.diff(indptr), size).astype(np.int64)
    ends = np.concatenate(([0], np.cumsum(counts)))
    sets = np.empty((int(ends[-1]), size), np.int64)
    over_ranges(_subsets, ends, indptr, classes, size, ends, sets)
    return sets, counts


def choose(many: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Return the binomial coefficients "many choose size", exact up to 2^53."""
    sets = np.ones(len(many))
    for i in range(size):
        sets = sets * np.maximum(many - i, 0) // (i + 1)
    return sets


def supersets(
    indptr: NDArray[np.int64], classes: NDArray[np.int64], times: NDArray[np.int64], many: int
) -> NDArray[np.int64]:
    """Sum the frequencies of all supersets of each distinct set of classes.

    Parameters
    ----------
    indptr, classes
        int64[sets + 1] and int64[...]: the classes of each set, ascending, at least one.
    times
        int64[sets]: frequency of each set.
    many
        Number of classes.

    Notes
    -----
    The sets form a prefix tree, the rarest class first. A short set walks all paths made of its own classes,
    so all visited nodes are subsets. A long set has too many paths, and is compared with each set that begins
    with one of its classes::

        sets {3} {2 3} {1 2 3} {1 3}, each once, classes by rarity
        {1 2 3} visits the nodes 1, 1-2, 1-2-3, 1-3, 2, 2-3 and 3
        counts of supersets: 4, 2, 1, 2
    """
    owner = np.repeat(np.arange(len(times)), np.diff(indptr))
    members = np.bincount(classes, minlength=many)
    rank_of_class = np.empty(many, np.int64)
    rank_of_class[np.argsort(members, kind="stable")] = np.arange(many)
    ranks = np.sort(owner * many + rank_of_class[classes]) - owner * many
    ends = np.empty(len(times), np.int64)
    tree = _tree(indptr, ranks, many, ends)
    counts = np.zeros(len(tree[1]), np.int64)
    postings, places = group_members(ranks, many)
    sets, beginning = (indptr, ranks, owner, times, ends), group_members(ranks[indptr[:-1]], many)
    over_ranges(_meet, postings, postings, places, sets, beginning, tree, counts)
    return counts[ends]


def _tree(
    indptr: NDArray[np.int64], ranks: NDArray[np.int64], many: int, ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Build a prefix tree of sets of ascending ranks, and write each set's node into `ends`.

    Returns
    -------
    slots
        Hash table of nodes by parent and rank.
    parents, labels, is_leaf
        Parent and rank of each node, and whether there is no child.
    """
    most = many + len(ranks)
    slots = np.full(1 << (2 * most).bit_length(), -1, np.int64)
    tree = (slots, np.full(most, -1, np.int64), np.full(most, -1, np.int64), np.ones(most, np.bool_))
    _grow(indptr, ranks, many, tree, ends)
    return tree
