"""The search of a cut through a tree of items, and of single items that are left out.

A cut has one node for each item: the item itself or a node above. All rows get the same cut, so that no item
is released in two ways. What a cut leaves exposed in a class may be left out there, as far as the policy
allows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import product
from typing import NamedTuple

from incrowd.core.errors import InfeasibleError, setting
from incrowd.core.lazy import NDArray, np
from incrowd.release.jobs.make.sets.cells import Baskets, distinct, joined, parted
from incrowd.release.jobs.make.sets.counting import View, lacking, shared, views_of

_MOST_CUTS = 4_096
"""Cuts of a small tree, which are all looked at."""
_TRIED = 6
"""Cuts with items left out that are compared."""


@dataclass(frozen=True, eq=False)
class SetRecoding:
    """The released sets of a column.

    Attributes
    ----------
    released
        The released items of each row.
    loss
        NCP of the sets, 0 to 1; see `anonymize_sets`.
    occurrences, left_out
        How many items the raw cells have together, and how many of these no released item stands for.
    """

    released: Baskets
    loss: float
    occurrences: int
    left_out: int

    @property
    def items(self) -> int:
        """Number of different items that are released."""
        return len(np.unique(self.released.node))

    @property
    def share_left_out(self) -> float:
        """Share of all items that no released item stands for, 0 to 1."""
        return self.left_out / self.occurrences


class Limit(NamedTuple):
    """A limit on columns: `k` people share any `known` items, and a `share` of items may be left out.

    The share is one of the items of rows that are not suppressed. `where` names the columns, for errors.
    """

    where: str
    k: int
    known: int
    share: float


def recode_sets(
    columns: Sequence[Baskets],
    of_class: NDArray[np.int64],
    person: NDArray[np.int64] | None,
    limit: Limit,
) -> list[SetRecoding]:
    """Choose the released items of each row, of each column.

    Parameters
    ----------
    columns
        The items of each column; known ones may be of several.
    of_class
        int64[rows]: the class of each row, -1 for a row that is suppressed and releases no item.
    person
        int64[rows]: the number of each row's person; None where nobody has a second row.

    Raises
    ------
    InfeasibleError
        When no cut below the root is safe.

    References
    ----------
    Terrovitis, Mamoulis and Kalnis, Privacy-preserving anonymization of set-valued data, PVLDB 1(1), 2008.
    """
    baskets = joined(columns)
    leaves = of_class[baskets.row] >= 0
    search = _Search(baskets.only(leaves), of_class, person, limit)
    best = search.best()
    if best is None:
        allowed = setting("max_suppression", "--max-suppression", "max_suppression")
        raise InfeasibleError(
            f"nothing was released: of {limit.where} at least {limit.k} people have to share any "
            f"{limit.known} items, and no groups of items below the root of a hierarchy are so frequent; "
            f"give a hierarchy with larger groups, lower known, or raise {allowed}, so that rare items "
            "are left out"
        )
    cut, kept = best
    # An item of a suppressed row is left out, too.
    there = leaves.copy()
    there[leaves] = search.there(cut, kept)
    loss = np.where(there, search.share[cut[baskets.node]], 1.0)
    released = parted(search.baskets.at(cut).only(kept), columns)
    return [
        SetRecoding(part, float(loss[here].mean()), int(here.sum()), int((~there[here]).sum()))
        for (part, _), (_, here) in zip(released, parted(baskets, columns), strict=True)
    ]


class _Search:
    """A search: the baskets, and sums by node that cuts are compared by."""

    def __init__(
        self,
        baskets: Baskets,
        of_class: NDArray[np.int64],
        person: NDArray[np.int64] | None,
        limit: Limit,
    ) -> None:
        self.baskets, self.of_class, self.person, self.limit = baskets, of_class, person, limit
        self.most_left_out = int(limit.share * len(baskets.row) + 1e-9)
        items = baskets.items
        self.parents, self.share = items.parents, items.share
        self.nodes = len(items.labels)
        below = np.bincount(baskets.node, minlength=self.nodes).astype(np.float64)
        self.leaves = np.ones(self.nodes, np.bool_)
        self.leaves[self.parents[1:]] = False
        self.children: list[NDArray[np.int64]] = [
            np.flatnonzero(self.parents == n) for n in range(self.nodes)
        ]
        for node in range(self.nodes - 1, 0, -1):
            below[self.parents[node]] += below[node]
        self.cost = below * self.share

    def best(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
        """Return the cut with the least loss that was found, and which entries are kept; None without any."""
        lack = np.zeros((self.nodes, self.nodes))
        for view in self._views(self.baskets):
            lack += lacking(view, self.limit.k, self.limit.known)
        exact = self.limit.known <= 2
        if exact and not self.most_left_out and self._cuts() <= _MOST_CUTS:
            return self._of_every_cut(lack)
        steps, exposed = self._path(lack)
        safe = int(np.argmax(exposed <= 0)) if (exposed <= 0).any() else len(steps) + 1
        if not exact:
            safe = self._first(safe, steps, self._is_safe)
        if not self.most_left_out:
            if safe > len(steps):
                return None
            cut = self._descended(lack, steps[:safe]) if exact else self._cut(steps[:safe])
            return cut, np.ones(len(self.baskets.at(cut).row), np.bool_)
        first = self._first(0, steps[: min(safe, len(steps))], self._is_affordable)
        if first > len(steps):
            return None
        last = min(safe, len(steps))
        tried = sorted(
            {*np.linspace(first, last, min(_TRIED, last - first + 1)).round().astype(int).tolist()}
        )
        candidates = []
        for at in tried:
            cut = self._descended(lack, steps[:at]) if at == safe and exact else self._cut(steps[:at])
            kept = self._kept(cut)
            loss, left_out = self.loss_of(cut, kept)
            if left_out <= self.most_left_out:
                candidates.append((loss, at, cut, kept))
        loss, _, cut, kept = min(candidates, key=lambda each: each[:2])
        return cut, kept

    def loss_of(self, cut: NDArray[np.int64], kept: NDArray[np.bool_]) -> tuple[float, int]:
        """Return the sum of the losses of all raw items, and how many of these are left out."""
        there = self.there(cut, kept)
        left_out = int((~there).sum())
        return float(self.share[cut[self.baskets.node[there]]].sum()) + left_out, left_out

    def there(self, cut: NDArray[np.int64], kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Say of which raw items a released one stands: bool[entries]."""
        released = self.baskets.at(cut)
        keys = released.row * self.nodes + released.node
        raw = self.baskets.row * self.nodes + cut[self.baskets.node]
        return kept[np.searchsorted(keys, raw)]

    def _cut(self, steps: list[int]) -> NDArray[np.int64]:
        """Return the node of each node after some groups took the place of all below."""
        chosen = np.zeros(self.nodes, np.bool_)
        chosen[steps] = True
        return self._of_nodes(chosen)

    def _path(self, lack: NDArray[np.float64]) -> tuple[list[int], NDArray[np.float64]]:
        """List groups that take the place of their children, and how much people lack before and after.

        The next group is the one that removes most exposure for its loss.
        """
        active = self.leaves.copy()
        row = lack[:, active].sum(axis=1)
        total = (row[active].sum() + lack.diagonal()[active].sum()) / 2
        waiting = np.bincount(self.parents[1:], minlength=self.nodes)
        waiting -= np.bincount(self.parents[active], minlength=self.nodes)
        fixed, added = np.zeros(self.nodes), np.zeros(self.nodes)
        ready: list[int] = []

        def prepare(group: int) -> None:
            below = self.children[group]
            inner = lack[np.ix_(below, below)]
            fixed[group] = (inner.sum() - inner.trace()) / 2 - lack[group, below].sum() + lack[group, group]
            added[group] = self.cost[group] - self.cost[below].sum()
            ready.append(group)

        for group in np.flatnonzero((waiting == 0) & ~self.leaves).tolist():
            if group:
                prepare(group)
        steps, exposed = [], [total]
        while ready:
            sums = np.bincount(self.parents[1:], weights=np.where(active, row, 0)[1:], minlength=self.nodes)
            groups = np.array(ready)
            gains = sums[groups] - fixed[groups] - row[groups]
            ratio = np.where(gains > 0, gains / (added[groups] + 1e-9), -added[groups] - 1)
            group = ready.pop(int(np.argmax(ratio)))
            total -= max(float(sums[group] - fixed[group] - row[group]), 0.0)
            below = self.children[group]
            row += lack[:, group] - lack[:, below].sum(axis=1)
            active[below], active[group] = False, True
            steps.append(group)
            exposed.append(total)
            above = int(self.parents[group])
            waiting[above] -= 1
            if above and not waiting[above]:
                prepare(above)
        return steps, np.round(np.array(exposed), 6)

    def _descended(self, lack: NDArray[np.float64], steps: list[int]) -> NDArray[np.int64]:
        """Return the cut of a safe path without groups that turn out to be needless, the costliest first."""
        cut = self._cut(steps)
        active = np.zeros(self.nodes, np.bool_)
        active[np.unique(cut[np.flatnonzero(self.leaves)])] = True
        row = lack[:, active].sum(axis=1)
        # A group that cannot go never can: what takes the place of others is exposed no less.
        groups = [(-self.cost[group], group) for group in np.flatnonzero(active & ~self.leaves).tolist()]
        heapify(groups)
        while groups:
            _, group = heappop(groups)
            below = self.children[group]
            # The children are exposed to one another, or to what else is released.
            others = row[below] - lack[below, group]
            if not others.any() and not lack[np.ix_(below, below)].any():
                row += lack[:, below].sum(axis=1) - lack[:, group]
                active[group], active[below] = False, True
                for child in below[~self.leaves[below]].tolist():
                    heappush(groups, (-self.cost[child], child))
        return self._of_nodes(active)

    def _of_nodes(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the cut that has chosen nodes in place of all below."""
        cut = np.arange(self.nodes)
        for node in range(1, self.nodes):
            above = self.parents[node]
            if above and chosen[cut[above]]:
                cut[node] = cut[above]
        return cut

    def _is_safe(self, cut: NDArray[np.int64]) -> bool:
        return all(
            (shared(view, size, self.limit.where).support >= self.limit.k).all()
            for view in self._views(self.baskets.at(cut))
            for size in range(1, self.limit.known + 1)
        )

    def _views(self, baskets: Baskets) -> list[View]:
        return views_of(baskets, self.of_class, self.person)

    def _is_affordable(self, cut: NDArray[np.int64]) -> bool:
        return self.loss_of(cut, self._kept(cut))[1] <= self.most_left_out

    def _first(self, low: int, steps: list[int], holds: Callable[[NDArray[np.int64]], bool]) -> int:
        """Return how many steps it takes from `low` on until a cut holds; more than all if none does."""
        return bisect_left(
            range(len(steps) + 1), True, lo=low, key=lambda count: holds(self._cut(steps[:count]))
        )

    def _kept(self, cut: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which items of a cut's baskets are kept, so that those who know few of them find k people.

        Of each set that too few people of a class share, the item goes that is in most of such sets there,
        out of all rows of the person. As soon as more go than may be left out, the rest is not looked at.
        """
        every = self.baskets.at(cut)
        kept = np.ones(len(every.row), np.bool_)
        keys = (every.row if self.person is None else self.person[every.row]) * self.nodes + every.node
        home = self.of_class[every.row]
        # The size of sets that is looked at next in each class, as few classes change in a round.
        sizes = np.ones(int(home.max(initial=0)) + 1, np.int64)
        while (size := sizes.min()) <= self.limit.known and (~kept).sum() <= self.most_left_out:
            here = kept & (sizes == size)[home]
            gone = [self._exposed(view, int(size)) for view in self._views(every.only(here))]
            out = here & np.isin(keys, np.concatenate(gone), kind="sort")
            kept &= ~out
            sizes[sizes == size] += 1
            if out.any():
                # Whoever has several rows is in several classes.
                sizes[home[out] if self.person is None else slice(None)] = 1
        return kept

    def _exposed(self, view: View, size: int) -> NDArray[np.int64]:
        """Return an item of each set that too few people share, as one number with that of the person."""
        found = shared(view, size, self.limit.where)
        few = found.support < self.limit.k
        owner, sets = found.owner[few], found.sets[few]
        home = view.of_class[owner][:, None] * self.nodes + sets
        places, number, often = np.unique(home, return_inverse=True, return_counts=True)
        here = view.of_class[view.baskets.row] * self.nodes + view.baskets.node
        frequent = np.bincount(np.searchsorted(places, here[np.isin(here, places)]), minlength=len(places))
        rank = np.empty(len(places), np.int64)
        rank[np.lexsort((places, -frequent, often))] = np.arange(len(places))
        worst = rank[number.reshape(home.shape)].argmax(axis=1)
        return distinct(view.person[owner] * self.nodes + sets[np.arange(len(sets)), worst])

    def _cuts(self) -> int:
        """Count the cuts below the root, up to a few more than are looked at."""
        ways = np.ones(self.nodes)
        for node in range(self.nodes - 1, -1, -1):
            if not self.leaves[node]:
                below = float(np.prod(np.minimum(ways[self.children[node]], _MOST_CUTS + 1)))
                ways[node] = min(below + (node > 0), _MOST_CUTS + 1)
        return int(ways[0])

    def _of_every_cut(self, lack: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
        """Return the safe cut with the least loss, of all."""

        def below(node: int) -> Iterator[tuple[int, ...]]:
            if node:
                yield (node,)
            if not self.leaves[node]:
                for each in product(*(list(below(int(child))) for child in self.children[node])):
                    yield tuple(n for part in each for n in part)

        safe = [
            # Of equal losses the one of the lowest nodes, whose labels say most.
            (float(self.cost[list(cut)].sum()), -len(cut), [-node for node in cut])
            for cut in below(0)
            if not lack[np.ix_(cut, cut)].any()
        ]
        if not safe:
            return None
        active = np.zeros(self.nodes, np.bool_)
        active[[-node for node in min(safe)[2]]] = True
        cut = self._of_nodes(active)
        return cut, np.ones(len(self.baskets.at(cut).row), np.bool_)
