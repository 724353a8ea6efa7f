"""People who are suppressed whole: those who break a model that looks at all classes of a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.lazy import NDArray, np
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.measures.privacy.km_anonymity import KMAnonymity

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.measures.privacy import PrivacyModel
    from incrowd.search.lattice.rollup import Groups


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
    """Finds who breaks the models that look at all classes of a person, and the keys of these people.

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
        """Say who is exposed, and by which classes, of which none is too small.

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
