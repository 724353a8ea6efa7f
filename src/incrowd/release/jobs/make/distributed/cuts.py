"""The tree of first cuts, with the block of each key and the blocks to join."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from incrowd.core.errors import InfeasibleError
from incrowd.core.lazy import NDArray, np
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.core.table.frequency import FrequencyTable
from incrowd.core.table.schema import Attribute
from incrowd.measures.privacy import KAnonymity, PrivacyModel
from incrowd.search import Mondrian
from incrowd.search.base import SearchProblem, all_hold, refuse_infeasible

BLOCK = "block"
"""Column of a row's block."""


@dataclass(eq=False)
class Cut:
    """A node of the tree of cuts: a block, or the part of each rank of an attribute.

    Attributes
    ----------
    attribute
        Position of the quasi-identifier that is cut, -1 for a block.
    part_of
        int32[size]: the part of each of its ranks.
    parts
        The nodes below.
    block
        Number of the block.
    """

    attribute: int = -1
    part_of: NDArray[np.int32] | None = None
    parts: list[Cut] = field(default_factory=list)
    block: int = -1

    def blocks_of(self, codes: Sequence[NDArray[np.integer]]) -> NDArray[np.int32]:
        """Return the block of every row, given the ranks: int32[rows]."""
        blocks = np.empty(len(codes[0]), np.int32)
        waiting = [(self, np.arange(len(blocks)))]
        while waiting:
            node, rows = waiting.pop()
            if node.part_of is None:
                blocks[rows] = node.block
                continue
            part = node.part_of[codes[node.attribute][rows]]
            waiting += [(child, rows[part == number]) for number, child in enumerate(node.parts)]
        return blocks


def cut_tree(
    sample: FrequencyTable, algorithm: Mondrian, attributes: Sequence[Attribute], blocks: int
) -> tuple[Cut, int]:
    """Cut a sample into about `blocks` blocks as Mondrian does, and return the tree and the number.

    The heaviest block is cut first. A cut of the sample says for every rank, those it has not met included,
    on which side it lies; so whatever the sample is, the blocks part the table by its keys.
    """
    once = replace(algorithm, max_depth=1, choose=algorithm.choose or "range")
    models = [KAnonymity(max(1, sample.records // (4 * blocks)))]
    root = Cut()
    leaves = 1
    everything = np.arange(sample.keys)
    # The second entry settles ties, so that nodes are never compared.
    waiting = [(-sample.records, 0, root, everything)] if sample.keys else []
    created = 0
    while waiting and leaves < blocks:
        _, _, node, keys = heapq.heappop(waiting)
        selected = np.zeros(sample.keys, np.bool_)
        selected[keys] = True
        part = sample.only(selected)
        if part.records < 2 * models[0].least_size:
            continue
        recoding = once.search(SearchProblem(part, models, attributes)).recoding
        class_of_key, count = cast(Any, recoding).class_of_key, cast(Any, recoding).count
        if count < 2:
            continue
        node.attribute, node.part_of = _sides(part, class_of_key, count, algorithm)
        for number in range(count):
            child = Cut()
            node.parts.append(child)
            members = keys[class_of_key == number]
            created += 1
            heapq.heappush(waiting, (-int(sample.weights[members].sum()), created, child, members))
        leaves += count - 1
    number = 0
    order = [root]
    while order:
        node = order.pop()
        if node.part_of is None:
            node.block = number
            number += 1
        order += reversed(node.parts)
    return root, number


def _sides(
    part: FrequencyTable, class_of_key: NDArray[np.int32], count: int, algorithm: Mondrian
) -> tuple[int, NDArray[np.int32]]:
    """Return the attribute of a cut, and the side of each rank.

    Several attributes may tell the sides apart; the one that is spread widest is tried first, as the search
    does, and any of them is as good.
    """
    spans = [
        -float(domain.span(codes.min()[None], codes.max()[None])[0])
        for domain, codes in zip(part.domains, part.codes, strict=True)
    ]
    for position in np.argsort(spans, kind="stable").tolist():
        domain, codes = part.domains[position], part.codes[position].astype(np.int64)
        tree = domain.hierarchy
        if tree is None or algorithm.categories == "ordered":
            if count != 2:
                continue
            first = int(codes[class_of_key == 0].max() < codes[class_of_key == 1].min())
            lower, upper = (0, 1) if first else (1, 0)
            start = int(codes[class_of_key == upper].min())
            if int(codes[class_of_key == lower].max()) < start:
                return position, np.where(np.arange(domain.size) < start, lower, upper).astype(np.int32)
            continue
        top = domain.ancestors(codes.min()[None], codes.max()[None])[0]
        if tree.leaves[codes.min()] == top:
            continue
        below = [int(node) for node in np.flatnonzero(tree.parents == top)]
        weights = np.bincount(class_of_key, part.weights, count)
        side_of_node: dict[int, int] = {}
        consistent = True
        for node in below:
            here = (codes >= tree.lo[node]) & (codes < tree.hi[node])
            sides = np.unique(class_of_key[here])
            if len(sides) > 1:
                consistent = False
                break
            if len(sides):
                side_of_node[node] = int(sides[0])
        if not consistent:
            continue
        # What the sample has not met stays with those that stayed together.
        several = [side for side in range(count) if list(side_of_node.values()).count(side) > 1]
        rest = several[0] if several else int(np.argmax(weights))
        side_of = np.full(domain.size, rest, np.int32)
        for node, side in side_of_node.items():
            side_of[tree.lo[node] : tree.hi[node]] = side
        return position, side_of
    raise AssertionError("a cut of Mondrian goes by one attribute")


def join_failing(tree: Cut, blocks: EquivalenceClasses, models: Sequence[PrivacyModel]) -> NDArray[np.int32]:
    """Join blocks that fail the models with others, the nearest in the tree first: int32[blocks].

    Parameters
    ----------
    blocks
        Every block as a class, in order.

    Raises
    ------
    InfeasibleError
        When the whole table does not satisfy them.
    """
    frequency = blocks.frequency
    refuse_infeasible(frequency, models)

    def holding(sets: Sequence[list[int]]) -> list[bool]:
        numbers = np.full(frequency.keys, -1, np.int32)
        for number, members in enumerate(sets):
            numbers[members] = number
        joined = EquivalenceClasses.from_assignment(frequency, numbers, len(sets))
        return list(map(bool, all_hold(models, joined)))

    def settle(node: Cut) -> tuple[list[list[int]], list[int]]:
        """Return joined blocks below a node that hold, and the failing blocks."""
        if node.part_of is None:
            # No row may have fallen into it.
            empty = frequency.weights[node.block] == 0
            return ([], []) if empty else ([[node.block]], []) if alone[node.block] else ([], [node.block])
        good: list[list[int]] = []
        failing: list[int] = []
        for part in node.parts:
            joined, rest = settle(part)
            good += joined
            failing += rest
        if not failing or holding([failing])[0]:
            return good + ([failing] if failing else []), []
        by_size = sorted(good, key=lambda members: (int(frequency.weights[members].sum()), members))
        for members in by_size:
            if holding([members + failing])[0]:
                return [other for other in good if other is not members] + [members + failing], []
        everything = failing + [block for members in good for block in members]
        return ([everything], []) if holding([everything])[0] else ([], everything)

    occupied = [[block] if frequency.weights[block] else [] for block in range(frequency.keys)]
    verdicts = iter(holding([members for members in occupied if members]))
    alone = [bool(members) and next(verdicts) for members in occupied]
    good, failing = settle(tree)
    if failing:
        raise InfeasibleError("the table as a whole does not satisfy the models; loosen them")
    unit_of_block = np.zeros(frequency.keys, np.int32)
    for number, members in enumerate(good):
        unit_of_block[members] = number
    return unit_of_block
