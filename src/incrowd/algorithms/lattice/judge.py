"""Judging a node: which of its classes are suppressed, and whether what is left satisfies every model."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.lattice.few import FewPeople
from incrowd.algorithms.lattice.rollup import Groups
from incrowd.kernels.grouping import group_members
from incrowd.recoding.population import recoded
from incrowd.table.classes import EquivalenceClasses
from incrowd.table.frequency import smallest_codes

if TYPE_CHECKING:
    from incrowd.algorithms.base import SearchProblem
    from incrowd.algorithms.lattice.cells import LevelCells
    from incrowd.algorithms.lattice.limits import Limits
    from incrowd.algorithms.lattice.rollup import Rolled
    from incrowd.table.frequency import FrequencyTable

__all__ = ["Judge", "Verdict"]


class Verdict(NamedTuple):
    """What the models say of a node.

    Attributes
    ----------
    anonymous
        Whether every model holds with no more suppression than allowed.
    suppressed
        Records that are suppressed, those suppressed before included; where the node is not anonymous, a
        lower bound.
    failing
        bool[groups]: the groups that are suppressed.
    fails_below
        Whether every node below fails for the same reason.
    starred
        Whether a group has ``*`` in every attribute.
    known
        Whether all that models look at was counted, so that nodes above can be made of it.
    classes
        The classes in which it was counted; None where nothing but groups is looked at.
    few
        The people of groups that may have too few; None where people are not counted or none are asked for.
    """

    anonymous: bool
    suppressed: int
    failing: NDArray[np.bool_]
    fails_below: bool
    starred: bool
    known: bool
    classes: EquivalenceClasses | None = None
    few: FewPeople | None = None

    def groups(self, groups: Groups) -> Groups:
        """Return the node's groups with all that models look at."""
        counted = None if self.classes is None else self.classes.as_keys()
        return groups._replace(counted=counted, few=self.few)


class Judge:
    """Asks the models about a node's classes.

    Attributes
    ----------
    least
        Records below which a class is suppressed.
    settles
        Whether a node that fails settles those below.
    counting
        Whether models look at more than sizes, so that all that they look at is counted.
    may_settle
        Whether a node that fails by far settles those below.
    least_people
        People below which a class is suppressed; 1 where records are counted.
    """

    def __init__(self, problem: SearchProblem, limits: Limits, cells: LevelCells) -> None:
        self._frequency = problem.frequency
        self._models = tuple(problem.models)
        self._limits = limits
        self._cells = cells
        self.least = problem.least
        self._monotone = problem.monotone
        # Sizes in people are judged by who is listed while a group has too few.
        sized = [model.least_size for model in problem.models if model.size_only]
        self.least_people = max(sized, default=1) if problem.frequency.people is not None else 1
        self._of_classes = [model for model in self._models if not model.size_only and not model.of_table]
        self._of_classes.sort(key=lambda model: not self._monotone(model).absorbing)
        self._of_table = [model for model in self._models if model.needs_table]
        self.counting = bool(self._of_classes or self._of_table)
        self._describing = cells.people is not None or any(model.needs_cells for model in self._models)
        # Suppressing more never helps the nodes below.
        self.settles = all(
            self._monotone(model).absorbing if limits.suppresses else self._monotone(model).generalization
            for model in self._models
        )

        # Or those below a node that fails by far.
        self.may_settle = not self._of_table and all(
            monotone.generalization and monotone.suppression
            for monotone in map(self._monotone, self._of_classes)
        )

    @property
    def by_size(self) -> bool:
        """Whether the number of its records says all about a class."""
        return self.settles and not self.counting and self._frequency.people is None

    def verdict(self, levels: tuple[int, ...], rolled: Rolled) -> Verdict:
        """Judge a node."""
        groups, allowed = rolled.groups, self._limits.allowed
        failing, few = self._too_small(rolled)
        suppressed = self._suppressed(groups, failing)
        if suppressed > allowed:
            # Classes below are no larger, whatever the other models are.
            return Verdict(False, suppressed, failing, True, False, not self.counting, few=few)
        fails_below = False
        classes = None
        if self.counting:
            below = rolled.below.counted
            assert below is not None, "where models count, so do all groups that are kept"
            classes = self._classes(below, levels, rolled)
            failing, fails_below = self._fails(classes, failing, allowed)
        starred = self._starred(levels, groups.keys)
        if starred is not None:
            failing = failing | starred
        suppressed = self._suppressed(groups, failing)
        kept = ~failing
        good = suppressed <= allowed and bool(kept.any())
        if good and self._of_table and classes is not None:
            left = classes.only(kept)
            good = all(result.holds for model in self._of_table for result in model.measure(left))
            fails_below = fails_below or (not good and self.settles and starred is None)
        return Verdict(good, suppressed, failing, fails_below, starred is not None, True, classes, few)

    def counted(self, levels: tuple[int, ...], rolled: Rolled) -> Groups:
        """Return the groups with all that models look at, not judged."""
        _, few = self._too_small(rolled)
        counted = None
        if self.counting:
            assert rolled.below.counted is not None, "where models count, so do all groups that are kept"
            counted = self._classes(rolled.below.counted, levels, rolled).as_keys()
        return rolled.groups._replace(counted=counted, few=few)

    def suppressed(self, levels: tuple[int, ...], rolled: Rolled) -> NDArray[np.bool_]:
        """Return which groups are suppressed, made from all keys: bool[groups]."""
        groups = rolled.groups
        failing, _ = self._too_small(rolled)
        if self._of_classes:
            classes = self._classes(self._frequency, levels, rolled)
            failing, _ = self._fails(classes, failing, self._limits.rows)
        starred = self._starred(levels, groups.keys)
        return failing if starred is None else failing | starred

    def sizes(self, levels: tuple[int, ...], rolled: Rolled) -> NDArray[np.int64]:
        """Return the sizes of the classes, none suppressed but those of ``*`` throughout."""
        groups = rolled.groups
        starred = self._starred(levels, groups.keys)
        return groups.weights if starred is None else groups.weights[~starred]

    def failures(self, levels: tuple[int, ...], rolled: Rolled) -> list[str]:
        """Say which models fail without suppression, given groups of all keys, and what is reached."""
        classes = self._classes(self._frequency, levels, rolled)
        starred = self._starred(levels, rolled.groups.keys)
        if starred is not None:
            classes = classes.only(~starred)
        return [
            result.shortfall()
            for model in self._models
            for result in model.measure(classes)
            if result.holds is False and result.value is not None
        ]

    def _too_small(self, rolled: Rolled) -> tuple[NDArray[np.bool_], FewPeople | None]:
        """Find the groups with too few records or people, and list the people of those."""
        groups = rolled.groups
        failing = groups.weights < self.least
        if rolled.below.few is None:
            return failing, None
        few = rolled.below.few.rolled(*group_members(rolled.ids, len(groups.keys)))
        return failing | few.failing, few

    def _suppressed(self, groups: Groups, failing: NDArray[np.bool_]) -> int:
        return int(groups.weights[failing].sum()) + self._limits.before

    def _fails(
        self, classes: EquivalenceClasses, failing: NDArray[np.bool_], allowed: int
    ) -> tuple[NDArray[np.bool_], bool]:
        """Find the classes to suppress, enough to be too many, and whether that settles the nodes below."""
        sizes = classes.sizes
        before = self._limits.before
        # Whoever is in a class that is too small is suppressed below, too.
        certain = np.where(failing, sizes, 0)
        for model in self._of_classes:
            monotone = self._monotone(model)
            if monotone.generalization and monotone.suppression:
                lost = model.certain_losses(classes)
                failing = failing | (lost > 0)
                certain = np.maximum(certain, lost)
            else:
                failing = failing | ~model.holds(classes)
            if int(sizes[failing].sum()) + before > allowed:
                # The absorbing models come first, so nothing else has been counted yet.
                exact = allowed <= before and monotone.generalization and self.settles
                return failing, monotone.absorbing or exact or int(certain.sum()) + before > allowed
        fickle = [
            model for model in self._of_classes if not model.monotone.suppression and not model.needs_table
        ]
        while fickle and failing.any() and not failing.all():
            # What is left is judged again: these models look at other classes, too.
            left = classes.only(~failing)
            still = np.ones(len(left), np.bool_)
            for model in fickle:
                still &= model.holds(left)
            if still.all():
                break
            kept = np.flatnonzero(~failing)
            failing = failing.copy()
            failing[kept[~still]] = True
        return failing, False

    def _classes(self, below: FrequencyTable, levels: tuple[int, ...], rolled: Rolled) -> EquivalenceClasses:
        """Make the classes; tell them their cells and people where a model looks at them."""
        keys = rolled.groups.keys
        classes = EquivalenceClasses.from_assignment(below, rolled.ids, len(keys))
        if not self._describing:
            return classes
        codes, sizes = [], []
        for j, level in enumerate(levels):
            size = self._cells.counts[j][level]
            # One key stands for each class.
            codes.append(smallest_codes(self._cells.cells[j][level][self._frequency.codes[j][keys]], size))
            sizes.append(size)
        classes.set_codes(codes, sizes)
        classes.names = tuple(domain.name for domain in self._frequency.domains)
        if self._cells.people is not None:
            places = [self._cells.places[j][level] for j, level in enumerate(levels)]
            classes.set_population(*recoded(codes, sizes, places, self._cells.people))
        return classes

    def _starred(self, levels: tuple[int, ...], keys: NDArray[np.int32]) -> NDArray[np.bool_] | None:
        """Find the groups that have `*` in every attribute, which makes them suppressed."""
        stars = [self._cells.stars[j][level] for j, level in enumerate(levels)]
        if not all(star.any() for star in stars):
            return None
        starred = np.ones(len(keys), np.bool_)
        for star, codes in zip(stars, self._frequency.codes, strict=True):
            starred &= star[codes[keys]]
        return starred if starred.any() else None
