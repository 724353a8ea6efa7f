"""The views of people over several tables, and how many people share each.

The rows of a person are a tree: visits below the person, diagnoses below the visits. A view is the tree with
released cells alone. Two views are the same where the trees are, in whatever order rows stand. Whoever knows
few rows of a table knows these rows, the rows above them, and which belong together.

A tree gets a number: the random number of each cell, the sum over a row, mixed, and summed over the rows of
one parent. Sums forget order, and mixing tells levels apart. Equal trees have equal numbers, and different
ones differ but by chance: about one in 2**64 for each number, and judges compare two. The numbers are drawn
anew for each judgement, so no table can be made to fit them. The verifier compares texts instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.errors import ParameterError
from incrowd.core.kernels.grouping.grouping import group_columns, group_members, group_numbers
from incrowd.core.kernels.people.histories import choose, subsets
from incrowd.core.lazy import NDArray, np

if TYPE_CHECKING:
    from incrowd.release.linked.policy import LinkedPolicy

_MOST_SETS = 20_000_000
"""Sets of known rows that are looked at, which take some gigabytes."""

Hashes = dict[str, "NDArray[np.uint64]"]
"""A number for each row of each table."""


class Rows(NamedTuple):
    """Rows of a table: the row above each in the table above, and the person; int64[rows] each."""

    above: NDArray[np.int64]
    person: NDArray[np.int64]


class Sets(NamedTuple):
    """Sets of facts that can be known of people, by owner.

    Attributes
    ----------
    number
        int32[sets]: the number of each set; equal sets of different people have the same.
    owner
        int64[sets]: the person.
    many
        How many numbers there are.
    """

    number: NDArray[np.int32]
    owner: NDArray[np.int64]
    many: int

    def fewest(self, present: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the fewest people who share a set of each person: int64[people], 0 for absent ones."""
        fewest = np.where(present, np.int64(len(present)), 0)
        chosen = present[self.owner]
        # Somebody may have equal sets, and counts once.
        number, owner = self.number[chosen], self.owner[chosen]
        _, first = group_columns([number, owner], [self.many, len(present)], len(owner))
        counts = np.bincount(number[first], minlength=self.many)
        np.minimum.at(fewest, owner, counts[number])
        return fewest


class Facts(NamedTuple):
    """Rows of a table as an attacker sees them: which could be one another's, whose they are, and which row.

    - `number`: int32[facts], equal for rows that look alike beside the same known set.
    - `person`, `row`, `among`: int64[facts] each; the last is the known set.
    """

    number: NDArray[np.int32]
    person: NDArray[np.int64]
    row: NDArray[np.int64]
    among: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The sets of linked rows that an attacker may know, whatever their cells.

    Attributes
    ----------
    policy
        The tables, and how many rows of each are known.
    rows
        The rows of each table, each belonging to somebody.
    people
        Number of people.
    owner
        int64[sets]: the person of each set of known rows.
    chosen
        Of each table of which few rows are known, int64[sets, known]: the known rows, -1 for none.
    """

    policy: LinkedPolicy
    rows: Mapping[str, Rows]
    people: int
    owner: NDArray[np.int64]
    chosen: Mapping[str, NDArray[np.int64]]

    @classmethod
    def of_rows(cls, policy: LinkedPolicy, rows: Mapping[str, Rows], people: int) -> Knowledge:
        """List the sets of rows that an attacker may know.

        Raises
        ------
        ParameterError
            When there are too many sets.
        """
        owner = np.arange(people)
        chosen: dict[str, NDArray[np.int64]] = {}
        for name in policy.order[1:]:
            known = policy[name].known
            if known == "all":
                continue
            picked, counts = _subsets(rows[name].person, people, int(known), name)
            # Each set so far goes with each set of this table.
            starts = np.concatenate(([0], np.cumsum(counts)))[:-1]
            repeats = counts[owner]
            if (total := int(repeats.sum())) > _MOST_SETS:
                raise _too_many(total, name)
            within = np.arange(total) - np.repeat(np.cumsum(repeats) - repeats, repeats)
            before = np.repeat(np.arange(len(owner)), repeats)
            owner = owner[before]
            chosen = {other: sets[before] for other, sets in chosen.items()}
            chosen[name] = picked[starts[owner] + within]
        return cls(policy, rows, people, owner, chosen)

    def sets(self, cells: Sequence[Hashes], facts: Sequence[str] = ()) -> tuple[Sets, dict[str, Facts]]:
        """Give numbers to known sets, and to the rows of tables as they look beside them.

        Parameters
        ----------
        cells
            A number for the cells of each row of each table; once, or twice to be sure.
        facts
            The tables whose rows are numbered.
        """
        numbered = [self._hashes(lane, facts) for lane in cells]
        number, many = _grouped([views for views, _ in numbered])
        result = {}
        for name in facts:
            if name == self.policy.person:
                result[name] = Facts(number, self.owner, self.owner, np.arange(len(number)))
                continue
            looks = [contexts[name] for _, contexts in numbered]
            if name in self.chosen:
                row = self.chosen[name]
                there = row >= 0
                among, row = np.nonzero(there)[0], row[there]
                of_set = number[among]
                looks = [look[there] for look in looks]
            else:
                row, among = np.arange(len(self.rows[name].person)), self.rows[name].person
                of_set = number[among]
            seen, kinds = _grouped(looks)
            both, _ = group_columns([of_set, seen], [many, kinds], len(row))
            result[name] = Facts(both, self.rows[name].person[row], row, among)
        return Sets(number, self.owner, many), result

    def _hashes(
        self, cells: Hashes, facts: Sequence[str]
    ) -> tuple[NDArray[np.uint64], dict[str, NDArray[np.uint64]]]:
        """Return a number for each set, and one for each row as it looks, by table."""
        order = self.policy.order
        below = {name: np.zeros(len(cells[name]), np.uint64) for name in order}
        has_known = {name: np.zeros(len(cells[name]), np.bool_) for name in order}
        whole: Hashes = {}
        for level, name in reversed([*enumerate(order)][1:]):
            above = self.rows[name].above
            up = self.policy[name].above
            assert up is not None
            known = has_known[name] | (self.policy[name].known == "all")
            whole[name] = np.where(known, mix(cells[name] + below[name], level), np.uint64(0))
            np.add.at(below[up], above, whole[name])
            has_known[up][above[known]] = True
        person = order[0]
        if not self.chosen:
            looks: Hashes = {person: np.zeros(self.people, np.uint64)}
            for level, name in enumerate(order):
                if level and facts:
                    outer = looks[self.policy[name].above or ""]
                    looks[name] = mix(whole[name] + mix(outer[self.rows[name].above], 0), level)
            return mix(cells[person] + below[person], 0), looks
        return self._of_chosen(cells, below, whole)

    def _of_chosen(
        self, cells: Hashes, below: Hashes, whole: Hashes
    ) -> tuple[NDArray[np.uint64], dict[str, NDArray[np.uint64]]]:
        """Return the numbers of sets with the rows that were chosen, and how each chosen row looks."""
        order = self.policy.order
        nodes: dict[str, list[tuple[NDArray[np.int64], NDArray[np.uint64]]]] = {name: [] for name in order}
        nothing = np.zeros(len(self.owner), np.uint64)
        for name, sets in self.chosen.items():
            nodes[name] += [(column.copy(), nothing) for column in sets.T]
        shown: dict[str, list[NDArray[np.uint64]]] = {}
        for level, name in reversed([*enumerate(order)][1:]):
            nodes[name] = _merged(nodes[name])
            shown[name] = []
            for node, more in nodes[name]:
                there = node >= 0
                value = mix(cells[name][node] + below[name][node] + more, level)
                shown[name].append(value)
                change = np.where(there, value - whole[name][node], np.uint64(0))
                above = np.where(there, self.rows[name].above[node], -1)
                nodes[self.policy[name].above or ""].append((above, change))
        person = order[0]
        views = cells[person][self.owner] + below[person][self.owner]
        for _, change in nodes[person]:
            views = views + change
        looks: dict[str, list[NDArray[np.uint64]]] = {}
        for level, name in enumerate(order):
            up = self.policy[name].above
            looks[name] = []
            for (node, _), value in zip(nodes[name], shown.get(name, ()), strict=False):
                outer = nothing
                for (other, _), look in zip(nodes[up or ""], looks[up or ""], strict=False):
                    outer = np.where(self.rows[name].above[node] == other, look, outer)
                looks[name].append(mix(value + mix(outer, 0), level))
        columns = {name: np.stack(looks[name][: sets.shape[1]], axis=1) for name, sets in self.chosen.items()}
        return mix(views, 0), columns


def _subsets(
    person: NDArray[np.int64], people: int, known: int, name: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the sets of `known` rows of each person, or all rows of who has fewer: in order of people."""
    indptr, members = group_members(person, people)
    lengths = np.diff(indptr)
    total = int(choose(np.maximum(lengths, known), known).sum())
    if total > _MOST_SETS:
        raise _too_many(total, name)
    pieces, owners = [], []
    for size in range(known + 1):
        owner = np.flatnonzero(lengths >= known if size == known else lengths == size)
        if not len(owner):
            continue
        rows = np.full((len(owner), known), -1, np.int64)
        if size:
            each = np.concatenate(([0], np.cumsum(lengths[owner])))
            places = np.arange(each[-1]) + np.repeat(indptr[owner] - each[:-1], lengths[owner])
            listed, counts = subsets(each, members[places], size)
            rows = np.full((len(listed), known), -1, np.int64)
            rows[:, :size] = listed
            owner = np.repeat(owner, counts)
        pieces.append(rows)
        owners.append(owner)
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    return np.concatenate(pieces)[order], np.bincount(owner, minlength=people)


def _too_many(total: int, name: str) -> ParameterError:
    return ParameterError(
        f"linked: an attacker may know {total:,} different sets of rows of {name!r}, and {_MOST_SETS:,} are "
        'looked at; lower known, or say known = "all"'
    )


def _merged(
    nodes: list[tuple[NDArray[np.int64], NDArray[np.uint64]]],
) -> list[tuple[NDArray[np.int64], NDArray[np.uint64]]]:
    """Add the sums below equal nodes of a set to the first of them."""
    result: list[tuple[NDArray[np.int64], NDArray[np.uint64]]] = []
    for each, more in nodes:
        node = each
        for place, (first, sum_below) in enumerate(result):
            same = (node >= 0) & (node == first)
            if same.any():
                result[place] = (first, sum_below + np.where(same, more, np.uint64(0)))
                node = np.where(same, -1, node)
        result.append((node, more))
    return result


def _grouped(lanes: Sequence[NDArray[np.uint64]]) -> tuple[NDArray[np.int32], int]:
    """Give equal entries of all lanes the same number, and count the numbers."""
    number, first = group_numbers(lanes[0])
    for lane in lanes[1:]:
        other, others = group_numbers(lane)
        number, first = group_columns([number, other], [len(first), len(others)], len(lane))
    return number, len(first)


def mix(values: NDArray[np.uint64], level: int) -> NDArray[np.uint64]:
    """Mix the bits of numbers, differently at each level (the finalizer of SplitMix64)."""
    mixed = values + np.uint64((0x9E3779B97F4A7C15 * (level + 1)) % 2**64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
