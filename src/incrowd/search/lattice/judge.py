"""Judging a node: which classes are suppressed, and whether the others satisfy every model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.lazy import NDArray, np
from incrowd.core.recoding.population import recoded
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.core.table.frequency import smallest_codes
from incrowd.search.lattice.rollup import FewPeople, Groups

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.measures.privacy.km_anonymity import KMAnonymity
    from incrowd.search.lattice.cells import LevelCells
    from incrowd.search.lattice.lattice import Limits
    from incrowd.search.lattice.rollup import Rolled
    from incrowd.search.lattice.rules import Rules


class Suppressed(NamedTuple):
    """The suppression of a node.

    Attributes
    ----------
    lost
        int64[groups]: records of each group that are suppressed.
    keys
        bool[keys]: the keys that are suppressed; None where groups are suppressed whole.
    left
        What is left in classes where keys are suppressed.
    """

    lost: NDArray[np.int64]
    keys: NDArray[np.bool_] | None = None
    left: EquivalenceClasses | None = None

    @classmethod
    def groups(cls, groups: Groups, failing: NDArray[np.bool_]) -> Suppressed:
        """Suppress some groups, bool[groups], whole."""
        return cls(np.where(failing, groups.weights, 0))

    @property
    def records(self) -> int:
        """Records that are suppressed."""
        return int(self.lost.sum())


class KeyGroups(NamedTuple):
    """The keys of a node's groups, of which some are suppressed.

    Attributes
    ----------
    frequency
        All keys.
    group
        int64[keys]: the group of each key.
    many
        Number of groups.
    gone
        bool[keys]: the keys that are suppressed.
    """

    frequency: FrequencyTable
    group: NDArray[np.int64]
    many: int
    gone: NDArray[np.bool_]

    @property
    def lost(self) -> NDArray[np.int64]:
        """Records of each group that are suppressed: int64[groups]."""
        gone = self.gone
        return np.bincount(self.group[gone], self.frequency.weights[gone], self.many).astype(np.int64)

    def classes(self) -> tuple[EquivalenceClasses, NDArray[np.int64]]:
        """Return the keys that remain in classes, and the group of each class."""
        there = np.zeros(self.many, np.bool_)
        there[self.group[~self.gone]] = True
        groups = np.flatnonzero(there)
        number = np.cumsum(there) - 1
        assigned = np.where(self.gone, -1, number[self.group])
        return EquivalenceClasses.from_assignment(self.frequency, assigned, len(groups)), groups

    def without(self, groups: NDArray[np.int64]) -> KeyGroups:
        """Suppress some groups, too."""
        chosen = np.zeros(self.many, np.bool_)
        chosen[groups] = True
        return self._replace(gone=self.gone | chosen[self.group])


class WholePeople(NamedTuple):
    """Finds the people who break models of all classes of a person, and the keys of these people.

    A recoding says what becomes of a key. So to suppress a person is to suppress the keys of the person, and
    with them the rows of others that have the same values.

    Attributes
    ----------
    frequency
        The keys.
    models
        The models.
    """

    frequency: FrequencyTable
    models: Sequence[KMAnonymity]

    def too_small(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Say which classes have too few people: bool[classes]."""
        return classes.counted.sizes < max(model.k for model in self.models)

    def exposed(self, classes: EquivalenceClasses) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the exposed people, and the classes that expose people, given classes of enough people each.

        Returns
        -------
        people, classes
            As `KMAnonymity.exposed` gives them.
        """
        found = [model.exposed(classes) for model in self.models]
        return np.any([people for people, _ in found], axis=0), np.any([weak for _, weak in found], axis=0)

    def keys_of(self, people: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the keys that some people have rows of: bool[keys]."""
        listed = self.frequency.counted.people.listed
        assert listed is not None
        entries = listed.people_of_keys
        keys = np.zeros(self.frequency.keys, np.bool_)
        keys[np.repeat(np.arange(len(keys)), np.diff(entries.indptr))[people[entries.items]]] = True
        return keys


class Verdict(NamedTuple):
    """The verdict of the models on a node.

    Attributes
    ----------
    anonymous
        Whether every model holds with no more suppression than allowed.
    suppressed
        Records that are suppressed, those suppressed before included; where the node is not anonymous, a
        lower bound.
    lost
        int64[groups]: records of each group that are suppressed.
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
    lost: NDArray[np.int64]
    fails_below: bool
    starred: bool
    known: bool
    classes: EquivalenceClasses | None = None
    few: FewPeople | None = None

    def groups(self, groups: Groups) -> Groups:
        """Return the node's groups with all that models look at."""
        counted = None if self.classes is None else self.classes.as_keys()
        return groups._replace(counted=counted, few=self.few)


class TooSmall(NamedTuple):
    """Groups that have too few records or people.

    Attributes
    ----------
    groups
        bool[groups]
    few
        The people of those with too few; None where people are not counted, or need not be.
    """

    groups: NDArray[np.bool_]
    few: FewPeople | None = None


class _Asked(NamedTuple):
    """A node of which some groups are suppressed already.

    Attributes
    ----------
    levels, rolled, classes
        The node, its groups, and these as classes.
    failing
        bool[groups]: groups that are suppressed.
    small
        bool[groups]: those that are suppressed at every node below, too.
    """

    levels: tuple[int, ...]
    rolled: Rolled
    classes: EquivalenceClasses
    failing: NDArray[np.bool_]
    small: NDArray[np.bool_]


@dataclass(frozen=True)
class Judge:
    """Asks the models about a node's classes.

    Attributes
    ----------
    frequency
        The keys.
    rules
        The conclusions that the models allow.
    limits
        The number of records that may be suppressed.
    cells
        The cells of each level.
    """

    frequency: FrequencyTable
    rules: Rules
    limits: Limits
    cells: LevelCells

    @cached_property
    def _whole_people(self) -> WholePeople:
        return WholePeople(self.frequency, self.rules.of_people)

    def fails(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Say which classes must be suppressed, each judged alone; see `Rules.by_class`: bool[classes]."""
        failing = classes.sizes < self.rules.least
        for rule in self.rules.of_class:
            if rule.alone:
                failing |= ~rule.model.holds(classes)
        return failing

    def verdict(
        self, levels: tuple[int, ...], rolled: Rolled, too_small: TooSmall, whole: Callable[[], Rolled]
    ) -> Verdict:
        """Judge a node.

        Parameters
        ----------
        rolled
            Its groups, made from any kept ones.
        too_small
            Which of them have too few records or people.
        whole
            Makes them from the group of every key.
        """
        groups, allowed = rolled.groups, self.limits.allowed
        small, few = too_small
        found = Suppressed.groups(groups, small)
        suppressed = self._suppressed(found)
        if suppressed > allowed:
            # Classes below are no larger, whatever the other models are.
            known = not self.rules.counting and (few is not None or rolled.below.few is None)
            return Verdict(False, suppressed, found.lost, True, False, known, few=few)
        fails_below = False
        classes = None
        failing = small
        if self.rules.counting:
            below = rolled.below.counted
            assert below is not None, "where models count, so do all groups that are kept"
            classes = self._classes(below, levels, rolled)
            failing, fails_below = self._fails(classes, small, allowed)
        starred = self._starred(levels, groups.keys)
        if starred is not None:
            failing = failing | starred
        found = Suppressed.groups(groups, failing)
        if self.rules.of_people and classes is not None and self._suppressed(found) <= allowed:
            found, fails_below = self._people(_Asked(levels, rolled, classes, failing, small), whole)
        suppressed = self._suppressed(found)
        kept = found.lost < groups.weights
        good = not fails_below and suppressed <= allowed and bool(kept.any())
        if good and self.rules.of_table and classes is not None:
            left = classes.only(kept) if found.left is None else found.left
            good = all(result.holds for model in self.rules.of_table for result in model.measure(left))
            fails_below = fails_below or (not good and self.rules.settles and starred is None)
        return Verdict(good, suppressed, found.lost, fails_below, starred is not None, True, classes, few)

    def counted(self, levels: tuple[int, ...], rolled: Rolled) -> Groups:
        """Return the groups with all that models look at, not judged."""
        counted = None
        if self.rules.counting:
            assert rolled.below.counted is not None, "where models count, so do all groups that are kept"
            counted = self._classes(rolled.below.counted, levels, rolled).as_keys()
        return rolled.groups._replace(counted=counted, few=_few(rolled))

    def suppressed(self, levels: tuple[int, ...], rolled: Rolled, too_small: TooSmall) -> NDArray[np.bool_]:
        """Return which keys an anonymous node suppresses, given groups of all keys: bool[keys]."""
        groups = rolled.groups
        small = too_small.groups
        failing = small
        classes = None
        if self.rules.of_class or self.rules.of_people:
            classes = self._classes(self.frequency, levels, rolled)
            failing, _ = self._fails(classes, small, self.limits.rows)
        starred = self._starred(levels, groups.keys)
        if starred is not None:
            failing = failing | starred
        if self.rules.of_people and classes is not None:
            asked = _Asked(levels, rolled, classes, failing, small)
            found, _ = self._people(asked, lambda: rolled)
            if found.keys is not None:
                return found.keys
            failing = found.lost > 0
        return np.asarray(failing[rolled.ids])

    def sizes(self, levels: tuple[int, ...], rolled: Rolled) -> NDArray[np.int64]:
        """Return the sizes of the classes without suppression, leaving out a class of only ``*``."""
        groups = rolled.groups
        starred = self._starred(levels, groups.keys)
        return groups.weights if starred is None else groups.weights[~starred]

    def failures(self, levels: tuple[int, ...], rolled: Rolled) -> list[str]:
        """Say which models fail without suppression, given groups of all keys, and the values reached."""
        classes = self._classes(self.frequency, levels, rolled)
        starred = self._starred(levels, rolled.groups.keys)
        if starred is not None:
            classes = classes.only(~starred)
        return [
            result.shortfall()
            for model in self.rules.models
            for result in model.measure(classes)
            if result.holds is False and result.value is not None
        ]

    def too_small(self, rolled: Rolled) -> TooSmall:
        """Find the groups with too few records or people, as far as a verdict needs to know.

        People are listed only where the groups with too few records are not too many already.
        """
        failing = rolled.groups.weights < self.rules.least
        asked = rolled.below.few is not None and not self._too_many(rolled.groups, failing)
        few = _few(rolled) if asked else None
        return TooSmall(failing if few is None else failing | few.failing, few)

    def _too_many(self, groups: Groups, failing: NDArray[np.bool_]) -> bool:
        return int(groups.weights[failing].sum()) + self.limits.before > self.limits.allowed

    def _suppressed(self, found: Suppressed) -> int:
        return found.records + self.limits.before

    def _people(self, asked: _Asked, whole: Callable[[], Rolled]) -> tuple[Suppressed, bool]:
        """Suppress people that break the conditions on all classes of a person.

        Classes with too few people go first. Then either the classes by which somebody is exposed are
        suppressed, or these people whole, whichever loses fewer records.

        Returns
        -------
        What is suppressed, and whether that is too much at every node below, too.
        """
        levels, rolled, classes, failing, small = asked
        groups, allowed = rolled.groups, self.limits.allowed
        few = small | self._whole_people.too_small(classes)
        failing = self._judged_again(classes, failing | few)
        found = Suppressed.groups(groups, failing)
        certain = int(groups.weights[few].sum()) + self.limits.before
        if self._suppressed(found) > allowed or failing.all():
            return found, certain > allowed
        people, weak = self._whole_people.exposed(classes.only(~failing))
        if not people.any():
            return found, False
        # Whoever is exposed here is so below, and loses a row at least.
        if certain + int(people.sum()) > allowed:
            return found, True
        exposing = failing.copy()
        exposing[np.flatnonzero(~failing)[weak]] = True
        by_class = Suppressed.groups(groups, self._judged_again(classes, exposing))
        keys = self._keys(rolled, whole(), failing)
        keys = keys._replace(gone=keys.gone | self._whole_people.keys_of(people))
        by_person = self._until_nobody(levels, groups, keys)
        return (by_person if by_person.records < by_class.records else by_class), False

    def _keys(self, rolled: Rolled, whole: Rolled, failing: NDArray[np.bool_]) -> KeyGroups:
        """List the keys of groups of which some are suppressed."""
        many = len(rolled.groups.keys)
        number = np.empty(many, np.int64)
        number[whole.ids[rolled.groups.keys]] = np.arange(many)
        group = number[whole.ids]
        return KeyGroups(self.frequency, group, many, failing[group])

    def _until_nobody(self, levels: tuple[int, ...], groups: Groups, keys: KeyGroups) -> Suppressed:
        """Suppress people whom the remaining classes expose, and classes that fail, until there are none.

        It ends, too, where more is suppressed than allowed.
        """
        classes = None
        while not keys.gone.all() and int(keys.lost.sum()) + self.limits.before <= self.limits.allowed:
            classes, there = keys.classes()
            self._describe(classes, levels, groups.keys[there])
            failing = self._too_few(classes)
            failing, _ = self._fails(classes, failing, self.limits.rows)
            if failing.any():
                keys = keys.without(there[failing])
                continue
            people, _ = self._whole_people.exposed(classes)
            if not people.any():
                break
            keys = keys._replace(gone=keys.gone | self._whole_people.keys_of(people))
        return Suppressed(keys.lost, keys.gone, classes)

    def _too_few(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Say which classes have too few records or people: bool[classes]."""
        failing = (classes.sizes < self.rules.least) | self._whole_people.too_small(classes)
        for model in self.rules.models:
            if model.size_only:
                failing |= ~model.holds(classes)
        return failing

    def _fails(
        self, classes: EquivalenceClasses, failing: NDArray[np.bool_], allowed: int
    ) -> tuple[NDArray[np.bool_], bool]:
        """Find the classes to suppress, enough to be too many, and whether that settles the nodes below."""
        sizes = classes.sizes
        before = self.limits.before
        # Whoever is in a class that is too small is suppressed below, too.
        certain = np.where(failing, sizes, 0)
        for model, monotone, _, bounding in self.rules.of_class:
            # Where nothing may be suppressed, one class that fails settles the nodes below.
            if monotone.generalization and monotone.suppression and allowed > before:
                lost = model.certain_losses(classes)
                failing = failing | (lost > 0)
                certain = np.maximum(certain, lost)
            else:
                failing = failing | ~model.holds(classes)
                if bounding:
                    certain = np.maximum(certain, model.certain_losses(classes))
            if int(sizes[failing].sum()) + before > allowed:
                # The absorbing models come first, so nothing else has been counted yet.
                exact = allowed <= before and monotone.generalization and self.rules.settles
                return failing, monotone.absorbing or exact or int(certain.sum()) + before > allowed
        return self._judged_again(classes, failing), False

    def _judged_again(self, classes: EquivalenceClasses, failing: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Suppress classes that fail once others are suppressed, until there are none: bool[classes]."""
        models = [rule.model for rule in self.rules.of_class]
        fickle = [model for model in models if not model.monotone.suppression and not model.needs_table]
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
        return failing

    def _classes(self, below: FrequencyTable, levels: tuple[int, ...], rolled: Rolled) -> EquivalenceClasses:
        """Make the classes."""
        keys = rolled.groups.keys
        classes = EquivalenceClasses.from_assignment(below, rolled.ids, len(keys))
        self._describe(classes, levels, keys)
        return classes

    def _describe(
        self, classes: EquivalenceClasses, levels: tuple[int, ...], keys: NDArray[np.integer]
    ) -> None:
        """Tell classes their cells and people where a model looks at them; one key stands for each class."""
        if self.cells.people is None and not self.rules.needs_cells:
            return
        codes, sizes = [], []
        for j, level in enumerate(levels):
            size = self.cells.counts[j][level]
            codes.append(smallest_codes(self.cells.cells[j][level][self.cells.codes[j][keys]], size))
            sizes.append(size)
        classes.set_codes(codes, sizes)
        classes.names = tuple(domain.name for domain in self.frequency.domains)
        if self.cells.people is not None:
            places = [self.cells.places[j][level] for j, level in enumerate(levels)]
            classes.set_population(*recoded(codes, sizes, places, self.cells.people))

    def _starred(self, levels: tuple[int, ...], keys: NDArray[np.int32]) -> NDArray[np.bool_] | None:
        """Find the groups that have `*` in every attribute, which makes them suppressed."""
        stars = [self.cells.stars[j][level] for j, level in enumerate(levels)]
        if not all(star.any() for star in stars):
            return None
        starred = np.ones(len(keys), np.bool_)
        for star, codes in zip(stars, self.cells.codes, strict=True):
            starred &= star[codes[keys]]
        return starred if starred.any() else None


def _few(rolled: Rolled) -> FewPeople | None:
    """List the people of groups that may have too few; None where people are not counted."""
    below = rolled.below.few
    return None if below is None else below.rolled(rolled.ids, len(rolled.groups.keys))
