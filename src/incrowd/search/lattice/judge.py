"""Judging a node: which classes are suppressed, and whether the others satisfy every model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.lazy import NDArray, np
from incrowd.core.recoding.population import recoded
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.core.table.frequency import smallest_codes
from incrowd.measures.privacy.km_anonymity import KMAnonymity
from incrowd.search.lattice.rollup import FewPeople, Groups

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.measures.privacy import PrivacyModel
    from incrowd.search.base import SearchProblem
    from incrowd.search.lattice.cells import LevelCells
    from incrowd.search.lattice.lattice import Limits
    from incrowd.search.lattice.rollup import Rolled


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


class WholePeople:
    """Finds the people exposed under models that look at all classes of a person, and the people's keys.

    A recoding says what becomes of a key. So to suppress a person is to suppress the keys of the person, and
    with them the rows of others that have the same values.

    Attributes
    ----------
    least
        People whom each class needs.
    """

    def __init__(self, frequency: FrequencyTable, models: Sequence[PrivacyModel]) -> None:
        self._frequency = frequency
        self._models = [model for model in models if isinstance(model, KMAnonymity)]
        self.least = max((model.k for model in self._models), default=1)

    def __bool__(self) -> bool:
        return bool(self._models)

    def too_small(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Say which classes have too few people: bool[classes]."""
        return classes.counted.sizes < self.least

    def exposed(self, classes: EquivalenceClasses) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the exposed people, and the classes that expose people, given classes of enough people each.

        Returns
        -------
        people, classes
            As `KMAnonymity.exposed` gives them.
        """
        found = [model.exposed(classes) for model in self._models]
        return np.any([people for people, _ in found], axis=0), np.any([weak for _, weak in found], axis=0)

    def keys_of(self, people: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the keys that some people have rows of: bool[keys]."""
        listed = self._frequency.counted.people.listed
        assert listed is not None
        entries = listed.people_of_keys
        keys = np.zeros(self._frequency.keys, np.bool_)
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
    effort
        How many times as long as grouping it takes to count what models look at, about.
    kept_work
        How many times the work of a key it is to count a group, about, where groups are made of groups.
    may_settle
        Whether a node that fails by far settles those below.
    least_people
        People below which a class is suppressed; 1 where records are counted.
    whole_people
        Who is suppressed whole, so that a class may lose some of its records; empty where nobody is.
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
        self.least_people = max(sized, default=1) if problem.frequency.people.table is not None else 1
        several = problem.frequency.people.table is not None and limits.suppresses
        self.whole_people = WholePeople(problem.frequency, self._models if several else ())
        self._of_classes = [
            model
            for model in self._models
            if not (model.size_only or model.of_table or (several and model.needs_every_class))
        ]
        self._of_classes.sort(key=lambda model: not self._monotone(model).absorbing)
        self._of_table = [model for model in self._models if model.needs_table]
        self.counting = bool(self._of_classes or self._of_table or self.whole_people)
        by_people = self.counting and problem.frequency.people.table is not None
        self.effort = 1 + self.counting + by_people
        # Somebody's rows seldom fall in one of many groups, so many groups list nearly everybody again.
        self.kept_work = 4 if by_people else 1
        self._describing = cells.people is not None or any(model.needs_cells for model in self._models)
        # Whatever the other classes are, these judge one alike.
        self._lonely = [
            model
            for model in self._of_classes
            if self._monotone(model).suppression
            and not (model.needs_cells or model.needs_population or model.needs_table or model.is_joint)
        ]
        # Suppressing more never helps the nodes below.
        self.settles = all(
            self._monotone(model).absorbing if limits.suppresses else self._monotone(model).generalization
            for model in self._models
        )

        # Or those below a node that fails by far.
        self._bounding = [
            model
            for model in self._of_classes
            if problem.frequency.people.table is not None and model.bounds_people(problem.frequency.counted)
        ]
        self.may_settle = not self._of_table and all(
            model in self._bounding
            or (self._monotone(model).generalization and self._monotone(model).suppression)
            for model in self._of_classes
        )

    @property
    def by_size(self) -> bool:
        """Whether the number of records says all about a class."""
        return self.settles and not self.counting and self._frequency.people.table is None

    @property
    def by_class(self) -> bool:
        """Whether a node fails as soon as a class fails, and each class is judged by counts alone."""
        people = self._frequency.people.table is not None
        return bool(self._lonely) and not self._limits.suppresses and not people

    def fails(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Say which classes must be suppressed, each judged by itself; see `by_class`: bool[classes]."""
        failing = classes.sizes < self.least
        for model in self._lonely:
            failing |= ~model.holds(classes)
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
        groups, allowed = rolled.groups, self._limits.allowed
        small, few = too_small
        found = Suppressed.groups(groups, small)
        suppressed = self._suppressed(found)
        if suppressed > allowed:
            # Classes below are no larger, whatever the other models are.
            known = not self.counting and (few is not None or rolled.below.few is None)
            return Verdict(False, suppressed, found.lost, True, False, known, few=few)
        fails_below = False
        classes = None
        failing = small
        if self.counting:
            below = rolled.below.counted
            assert below is not None, "where models count, so do all groups that are kept"
            classes = self._classes(below, levels, rolled)
            failing, fails_below = self._fails(classes, small, allowed)
        starred = self._starred(levels, groups.keys)
        if starred is not None:
            failing = failing | starred
        found = Suppressed.groups(groups, failing)
        if self.whole_people and classes is not None and self._suppressed(found) <= allowed:
            found, fails_below = self._people(_Asked(levels, rolled, classes, failing, small), whole)
        suppressed = self._suppressed(found)
        kept = found.lost < groups.weights
        good = not fails_below and suppressed <= allowed and bool(kept.any())
        if good and self._of_table and classes is not None:
            left = classes.only(kept) if found.left is None else found.left
            good = all(result.holds for model in self._of_table for result in model.measure(left))
            fails_below = fails_below or (not good and self.settles and starred is None)
        return Verdict(good, suppressed, found.lost, fails_below, starred is not None, True, classes, few)

    def counted(self, levels: tuple[int, ...], rolled: Rolled) -> Groups:
        """Return the groups with all that models look at, not judged."""
        counted = None
        if self.counting:
            assert rolled.below.counted is not None, "where models count, so do all groups that are kept"
            counted = self._classes(rolled.below.counted, levels, rolled).as_keys()
        return rolled.groups._replace(counted=counted, few=_few(rolled))

    def suppressed(self, levels: tuple[int, ...], rolled: Rolled, too_small: TooSmall) -> NDArray[np.bool_]:
        """Return which keys an anonymous node suppresses, given groups of all keys: bool[keys]."""
        groups = rolled.groups
        small = too_small.groups
        failing = small
        classes = None
        if self._of_classes or self.whole_people:
            classes = self._classes(self._frequency, levels, rolled)
            failing, _ = self._fails(classes, small, self._limits.rows)
        starred = self._starred(levels, groups.keys)
        if starred is not None:
            failing = failing | starred
        if self.whole_people and classes is not None:
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

    def too_small(self, rolled: Rolled) -> TooSmall:
        """Find the groups with too few records or people, as far as a verdict needs to know.

        People are listed only where the groups with too few records are not too many already.
        """
        failing = rolled.groups.weights < self.least
        asked = rolled.below.few is not None and not self._too_many(rolled.groups, failing)
        few = _few(rolled) if asked else None
        return TooSmall(failing if few is None else failing | few.failing, few)

    def _too_many(self, groups: Groups, failing: NDArray[np.bool_]) -> bool:
        return int(groups.weights[failing].sum()) + self._limits.before > self._limits.allowed

    def _suppressed(self, found: Suppressed) -> int:
        return found.records + self._limits.before

    def _people(self, asked: _Asked, whole: Callable[[], Rolled]) -> tuple[Suppressed, bool]:
        """Suppress people that break the conditions on all classes of a person.

        Classes with too few people go first. Then either the classes by which somebody is exposed are
        suppressed, or these people whole, whichever loses fewer records.

        Returns
        -------
        What is suppressed, and whether that is too much at every node below, too.
        """
        levels, rolled, classes, failing, small = asked
        groups, allowed = rolled.groups, self._limits.allowed
        few = small | self.whole_people.too_small(classes)
        failing = self._judged_again(classes, failing | few)
        found = Suppressed.groups(groups, failing)
        certain = int(groups.weights[few].sum()) + self._limits.before
        if self._suppressed(found) > allowed or failing.all():
            return found, certain > allowed
        people, weak = self.whole_people.exposed(classes.only(~failing))
        if not people.any():
            return found, False
        # Whoever is exposed here is so below, and loses a row at least.
        if certain + int(people.sum()) > allowed:
            return found, True
        exposing = failing.copy()
        exposing[np.flatnonzero(~failing)[weak]] = True
        by_class = Suppressed.groups(groups, self._judged_again(classes, exposing))
        keys = self._keys(rolled, whole(), failing)
        keys = keys._replace(gone=keys.gone | self.whole_people.keys_of(people))
        by_person = self._until_nobody(levels, groups, keys)
        return (by_person if by_person.records < by_class.records else by_class), False

    def _keys(self, rolled: Rolled, whole: Rolled, failing: NDArray[np.bool_]) -> KeyGroups:
        """List the keys of groups of which some are suppressed."""
        many = len(rolled.groups.keys)
        number = np.empty(many, np.int64)
        number[whole.ids[rolled.groups.keys]] = np.arange(many)
        group = number[whole.ids]
        return KeyGroups(self._frequency, group, many, failing[group])

    def _until_nobody(self, levels: tuple[int, ...], groups: Groups, keys: KeyGroups) -> Suppressed:
        """Suppress people whom the remaining classes expose, and classes that fail, until there are none.

        It ends, too, where more is suppressed than allowed.
        """
        classes = None
        while not keys.gone.all() and int(keys.lost.sum()) + self._limits.before <= self._limits.allowed:
            classes, there = keys.classes()
            self._describe(classes, levels, groups.keys[there])
            failing = self._too_few(classes)
            failing, _ = self._fails(classes, failing, self._limits.rows)
            if failing.any():
                keys = keys.without(there[failing])
                continue
            people, _ = self.whole_people.exposed(classes)
            if not people.any():
                break
            keys = keys._replace(gone=keys.gone | self.whole_people.keys_of(people))
        return Suppressed(keys.lost, keys.gone, classes)

    def _too_few(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Say which classes have too few records or people: bool[classes]."""
        failing = (classes.sizes < self.least) | self.whole_people.too_small(classes)
        for model in self._models:
            if model.size_only:
                failing |= ~model.holds(classes)
        return failing

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
            # Where nothing may be suppressed, one class that fails settles the nodes below.
            if monotone.generalization and monotone.suppression and allowed > before:
                lost = model.certain_losses(classes)
                failing = failing | (lost > 0)
                certain = np.maximum(certain, lost)
            else:
                failing = failing | ~model.holds(classes)
                if model in self._bounding:
                    certain = np.maximum(certain, model.certain_losses(classes))
            if int(sizes[failing].sum()) + before > allowed:
                # The absorbing models come first, so nothing else has been counted yet.
                exact = allowed <= before and monotone.generalization and self.settles
                return failing, monotone.absorbing or exact or int(certain.sum()) + before > allowed
        return self._judged_again(classes, failing), False

    def _judged_again(self, classes: EquivalenceClasses, failing: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Suppress classes that fail once others are suppressed, until there are none: bool[classes]."""
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
        """Give classes the cells and people that a model looks at, with a key standing for each class."""
        if not self._describing:
            return
        codes, sizes = [], []
        for j, level in enumerate(levels):
            size = self._cells.counts[j][level]
            codes.append(smallest_codes(self._cells.cells[j][level][self._cells.codes[j][keys]], size))
            sizes.append(size)
        classes.set_codes(codes, sizes)
        classes.names = tuple(domain.name for domain in self._frequency.domains)
        if self._cells.people is not None:
            places = [self._cells.places[j][level] for j, level in enumerate(levels)]
            classes.set_population(*recoded(codes, sizes, places, self._cells.people))

    def _starred(self, levels: tuple[int, ...], keys: NDArray[np.int32]) -> NDArray[np.bool_] | None:
        """Find the groups with `*` in every attribute, which count as suppressed."""
        stars = [self._cells.stars[j][level] for j, level in enumerate(levels)]
        if not all(star.any() for star in stars):
            return None
        starred = np.ones(len(keys), np.bool_)
        for star, codes in zip(stars, self._cells.codes, strict=True):
            starred &= star[codes[keys]]
        return starred if starred.any() else None


def _few(rolled: Rolled) -> FewPeople | None:
    """List the people of groups that may have too few; None where people are not counted."""
    below = rolled.below.few
    return None if below is None else below.rolled(rolled.ids, len(rolled.groups.keys))
