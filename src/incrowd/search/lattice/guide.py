"""Guessing which nodes of a huge lattice are good, from the nodes that were looked at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from incrowd.core.lazy import NDArray, np

if TYPE_CHECKING:
    from incrowd.search.lattice.explorer import Explorer
    from incrowd.search.lattice.node import Node

_CHAINS = 20
"""Random chains along which it looks at nodes before it guesses."""

_STARTS = 4
"""Good nodes, beside the best, from which a proposal sets out."""

_STEPS = 8
"""Steps of a descent by what is guessed."""

_PROMISING = 64
"""Nodes near those of a descent that are taken into account at each step."""

_NEAR = 0.3
"""Distance of a node's score to the best, relative to it, at which the node counts half."""

_RIDGE = 1.0
"""How strongly effects of levels are held at 0."""

_LEARNED = 20_000
"""Nodes from which effects are learned, the last ones."""

_GROWTH = 1.05
"""How many times as many nodes there are when the effects are learned anew."""

_VAIN = 20
"""Proposals in vain after which every other turn is left to another search."""


class Guide:
    """Proposes nodes that may be better than the best: a local search over guesses, which cost no grouping.

    What a node suppresses is guessed as a sum of one effect per attribute and level, as the logarithm of
    the odds. Ridge regression fits the effects to the nodes that were looked at, above all to those that
    are nearly as good as the best. What a node loses follows from its levels and from what it suppresses.

    Each proposal descends from good nodes by changes of one or two attributes. Its effects are drawn from
    their distribution, so what is uncertain is tried (Thompson sampling).

    Parameters
    ----------
    explorer
        What looks at nodes, under a metric that adds up costs of cells.
    seed
        Seed of the draws.

    References
    ----------
    Thompson, On the likelihood that one unknown probability exceeds another in view of the evidence of two
    samples, Biometrika 25, 1933.
    """

    def __init__(self, explorer: Explorer, seed: int) -> None:
        lattice = explorer.lattice
        self._explorer = explorer
        self._lows = lattice.lows
        self._starts = np.concatenate(([0], np.cumsum(lattice.shape)[:-1])).astype(np.int64) - lattice.lows
        self._random = np.random.default_rng(seed)
        self._rows, self._allowed = explorer.limits.rows, explorer.limits.allowed
        self._limit = float(self._odds(np.array([self._allowed]))[0])
        self._levels: list[tuple[int, ...]] = []
        self._suppressed: list[int] = []
        self._good: list[tuple[float, tuple[int, ...]]] = []
        self._failed = np.zeros((0, len(lattice.shape)), np.int64)
        self._fitted = 0, np.inf
        self._vain, self._turn = 0, True
        self._moves = np.array(
            [(j, level) for j in lattice.free for level in range(lattice.lows[j], lattice.highs[j] + 1)],
            np.int64,
        )

    @classmethod
    def of_explorer(cls, explorer: Explorer) -> Guide | None:
        """Return a guide; None under a metric that decides by whole classes."""
        top = np.array([explorer.lattice.top], np.int64)
        return None if explorer.guess(top, np.zeros(1)) is None else cls(explorer, explorer.problem.seed)

    @property
    def next(self) -> bool:
        """Whether the guide has the next turn: always, or every other time while proposals are in vain."""
        self._turn = not self._turn or self._vain < _VAIN
        return self._turn

    def chains(self) -> Iterable[list[Node]]:
        """Look at random chains from the bottom to the top: halve each where so many are suppressed."""
        lattice = self._explorer.lattice
        steps = np.repeat(np.arange(len(lattice.shape)), np.array(lattice.shape) - 1)
        for _ in range(_CHAINS):
            chain = self._random.permutation(steps)
            wanted = min(self._allowed, 0.3 * self._rows) * self._random.uniform(0.3, 1)
            low, high = 0, len(chain)
            while low < high:
                middle = (low + high) // 2
                levels = lattice.lows + np.bincount(chain[:middle], minlength=len(lattice.shape))
                [node] = self._explorer.look(tuple(levels.tolist()))
                yield [node]
                low, high = (low, middle) if node.suppressed <= wanted else (middle + 1, high)

    def learn(self, nodes: Iterable[Node], *, better: bool, own: bool = True) -> None:
        """Take nodes into account that were looked at.

        Parameters
        ----------
        better
            Whether one of them is the best so far.
        own
            Whether it was the guide's turn, or its turn to wait.
        """
        some = list(nodes)
        self._levels += [node.levels for node in some]
        self._suppressed += [node.suppressed for node in some]
        good = [(node.score, node.levels) for node in some if node.anonymous]
        self._good = sorted({*self._good, *good})[: 4 * _STARTS]
        failed = [node.levels for node in some if node.fails_below]
        if failed:
            self._failed = np.vstack((self._failed, np.array(failed, np.int64)))
        self._vain = 0 if better else self._vain + (self._turn and own)

    def propose(self, many: int, beat: float) -> list[tuple[int, ...]]:
        """Return at most `many` nodes that were not looked at and have a guessed score below `beat`."""
        if not self._good or not len(self._moves):
            return []
        self._fit(beat)
        noise = np.linalg.solve(self._root.T, self._random.standard_normal(len(self._mean)))
        effects = self._mean + self._spread * noise
        places = self._random.integers(0, len(self._good), _STARTS).tolist()
        found: dict[tuple[int, ...], float] = {}
        for place in dict.fromkeys([0, *places]):
            self._descend(self._good[place][1], effects, beat, found)
        chosen: list[tuple[int, ...]] = []
        for levels in sorted(found, key=lambda levels: (found[levels], levels)):
            # Below a node that fails none is anonymous.
            if not (np.array(levels) <= self._failed).all(axis=1).any():
                chosen.append(levels)
            if len(chosen) == many:
                break
        return chosen

    def _fit(self, beat: float) -> None:
        """Learn the effects from the nodes so far, if there are many more nodes or a better score."""
        count, best = self._fitted
        if len(self._levels) < _GROWTH * count and beat == best:
            return
        self._fitted = len(self._levels), beat
        levels = np.array(self._levels[-_LEARNED:], np.int64)
        suppressed = np.array(self._suppressed[-_LEARNED:], np.int64)
        odds = self._odds(suppressed)
        score = self._explorer.guess(levels, suppressed / self._rows)
        assert score is not None
        weights = 1 / (1 + ((score - beat) / (_NEAR * beat + 1e-9)) ** 2)
        self._centre = float(weights @ odds / weights.sum())
        rows = np.zeros((len(levels), int(self._starts[-1] + self._explorer.lattice.highs[-1] + 1)))
        np.put_along_axis(rows, levels + self._starts, 1.0, axis=1)
        weighted = rows * weights[:, None]
        precision = weighted.T @ rows + _RIDGE * np.eye(rows.shape[1])
        self._mean = np.linalg.solve(precision, weighted.T @ (odds - self._centre))
        self._root = np.linalg.cholesky(precision)
        rest = odds - self._centre - rows @ self._mean
        self._spread = float(np.sqrt(weights @ rest**2 / weights.sum()))

    def _descend(
        self,
        start: tuple[int, ...],
        effects: NDArray[np.float64],
        beat: float,
        found: dict[tuple[int, ...], float],
    ) -> None:
        """Go from node to node while less is guessed; note nodes near the way that were not looked at."""
        known = self._explorer.nodes
        levels, least = start, np.inf
        for _ in range(_STEPS):
            near = self._near(levels)
            guessed = self._guess(near, effects)
            order = np.argsort(guessed, kind="stable")[:_PROMISING]
            order = order[guessed[order] < beat]
            for place in order.tolist():
                node = tuple(near[place].tolist())
                if node not in known:
                    found[node] = float(guessed[place])
            if not len(order) or guessed[order[0]] >= least:
                return
            levels, least = tuple(near[order[0]].tolist()), float(guessed[order[0]])

    def _near(self, levels: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the nodes that differ in two attributes at most."""
        attributes, to = self._moves[:, 0], self._moves[:, 1]
        one = np.repeat(np.array([levels], np.int64), len(to), axis=0)
        one[np.arange(len(to)), attributes] = to
        first, second = np.triu_indices(len(to), 1)
        apart = attributes[first] != attributes[second]
        first, second = first[apart], second[apart]
        two = one[first]
        two[np.arange(len(two)), attributes[second]] = to[second]
        return np.concatenate((one, two))

    def _guess(self, nodes: NDArray[np.int64], effects: NDArray[np.float64]) -> NDArray[np.float64]:
        """Guess the losses of nodes; infinite for nodes that suppress too many records."""
        odds = effects[nodes + self._starts].sum(axis=1) + self._centre
        scores = self._explorer.guess(nodes, 1 / (1 + np.exp(-np.clip(odds, -50, 50))))
        assert scores is not None
        return np.where(odds > self._limit, np.inf, scores)

    def _odds(self, suppressed: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the logarithms of the odds of being suppressed."""
        return np.asarray(np.log((suppressed + 1) / (self._rows - suppressed + 1)))
