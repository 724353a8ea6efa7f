"""Base class of algorithms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from incrowd.core.errors import InfeasibleError, ParameterError
from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import Configured
from incrowd.core.progress import Silent

if TYPE_CHECKING:
    from incrowd.core.progress import Progress
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Attribute
    from incrowd.core.table.settings import Wildcards
    from incrowd.measures.privacy import PrivacyModel
    from incrowd.measures.privacy.base import Monotone
    from incrowd.search.lattice.space import SolutionSpace


_MOST_PAIRS = 2**38
"""Pairs of records or classes that are compared at most: an hour or two, at 10 to 20 ns each."""


@dataclass(frozen=True)
class Solution:
    """The result of a search.

    Attributes
    ----------
    recoding
        What it chose.
    lattice
        The nodes that it looked at, where it searched the lattice of full-domain recodings.
    """

    recoding: Recoding
    lattice: SolutionSpace | None = None


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """The input of a search.

    Example: `SearchProblem(frequency, [ic.KAnonymity(5)], schema.quasi, max_suppression=0.02)`.

    Attributes
    ----------
    frequency
        The keys.
    models
        What every released class must satisfy; not empty.
    attributes
        The quasi-identifiers with their output styles, weights and bounds of levels.
    max_suppression
        Largest share of records that may be suppressed, 0..1.
    progress
        Told how far the search is.
    seed
        Seed of random choices.
    set_limit
        Largest number of values that a cell may list which could be ``*``.
    wildcards
        What a ``*`` or a missing cell matches where the release is judged; most searches count by ``value``.
    """

    frequency: FrequencyTable
    models: Sequence[PrivacyModel]
    attributes: Sequence[Attribute]
    max_suppression: float = 0.0
    progress: Progress = field(default_factory=Silent)
    seed: int = 0
    set_limit: int = 0
    wildcards: Wildcards = "value"

    @property
    def least(self) -> int:
        """Records below which no class can satisfy the models."""
        return least_size(self.models)

    def for_classes(self) -> SearchProblem:
        """Return the problem of a search that chooses cells per class.

        Until it has chosen, nobody knows which classes look alike to an attacker who knows some columns. So
        each class has to satisfy what is asked against any attacker.
        """
        models = (each for model in self.models for each in model.for_classes())
        return replace(self, models=tuple(dict.fromkeys(models)))

    @property
    def open_models(self) -> list[PrivacyModel]:
        """Models that the size of a class alone does not settle, or all if people may have several rows."""
        by_records = self.frequency.people.table is None
        return [model for model in self.models if not (model.size_only and by_records)]

    @property
    def certain_size(self) -> int | None:
        """Class size in records that guarantees enough people, if all open models look only at sizes.

        None where models ask for more, or nobody knows how many rows a person has at most.
        """
        most_rows = self.frequency.people.most_rows
        if most_rows is None or not all(m.size_only for m in self.open_models):
            return None
        return max((model.least_size for model in self.open_models), default=1) * most_rows

    def monotone(self, model: PrivacyModel) -> Monotone:
        """Return the changes to classes after which a model still holds (see `PrivacyModel.monotone_for`)."""
        return model.monotone_for(self.frequency)


class Algorithm(Configured, ABC):
    """Searches for a recoding of the keys that satisfies privacy models.

    An algorithm sees a `FrequencyTable` and nothing else of the table.

    Attributes
    ----------
    full_domain
        Whether it climbs whole columns to levels, so that bounds of levels mean something.
    weighted
        Whether it knows weights of attributes.
    seeded
        Whether it makes random choices.
    by_record
        Whether it may put records with equal quasi-identifiers into different classes
        (`FrequencyTable.by_record`).
    wildcards
        What a ``*`` matches where it counts the records of a class; see `WILDCARDS`.
    """

    full_domain: ClassVar[bool] = False
    weighted: ClassVar[bool] = True
    seeded: ClassVar[bool] = False
    by_record: ClassVar[bool] = False
    wildcards: ClassVar[Sequence[Wildcards]] = ("value",)

    @property
    def predicts(self) -> str | None:
        """The target column of the algorithm, if any."""
        return getattr(self, "target", None)

    @abstractmethod
    def search(self, problem: SearchProblem) -> Solution:
        """Find a recoding.

        Raises
        ------
        InfeasibleError
            When no recoding that the algorithm can make satisfies the models.
        ParameterError
            When the algorithm does not work with such a table or such models.
        """


def refuse_every_class(algorithm: str, models: Sequence[PrivacyModel]) -> None:
    """Raise for models that judge all classes of a person together.

    Raises
    ------
    ParameterError
    """
    for model in models:
        if model.needs_every_class:
            raise ParameterError(
                f"{algorithm} decides about few classes at a time, and {model.name} is about all that a "
                "person has rows in; use optimal or another full-domain algorithm"
            )


def refuse_pairs(algorithm: str, records: int, pairs: int, fewer: str) -> None:
    """Raise where comparing pairs of records would take days.

    Raises
    ------
    ParameterError
    """
    if pairs > _MOST_PAIRS:
        raise ParameterError(
            f"{algorithm}: {records:,} records are {pairs:,} pairs to compare, and it compares "
            f"{_MOST_PAIRS:,} at most; use mondrian, {fewer}, or take a part of the table"
        )


def refuse_joins(algorithm: str, failing: int, classes: int) -> None:
    """Raise where comparing failing classes with all others would take days.

    Raises
    ------
    ParameterError
    """
    if failing * classes > _MOST_PAIRS:
        raise ParameterError(
            f"{algorithm}: {failing:,} classes fail a model and would be compared with {classes:,} each, "
            f"{_MOST_PAIRS:,} pairs at most; use mondrian, ask for a larger k, or take a part of the table"
        )


def refuse_infeasible(frequency: FrequencyTable, models: Sequence[PrivacyModel]) -> None:
    """Raise for models that the whole table as a single class does not satisfy.

    Raises
    ------
    InfeasibleError
    """
    from incrowd.core.table.classes import EquivalenceClasses

    single = EquivalenceClasses.from_assignment(frequency, np.zeros(frequency.keys, np.int32), 1)
    failing = [str(model) for model in models if not model.holds(single).all()]
    if failing:
        raise InfeasibleError(
            f"{' and '.join(failing)} fails even when all {frequency.records} records are one class"
            f"{_people(frequency)}; "
            "loosen that model"
        )


def _people(frequency: FrequencyTable) -> str:
    return "" if frequency.people.table is None else f" of {frequency.people.table.records} people"


def least_size(models: Sequence[PrivacyModel]) -> int:
    """Return the number of records below which no class can satisfy all models that look at classes."""
    return max((model.least_size for model in models if not model.of_table), default=1)


STARRED_ROOT = "a root other than * (such as Any)"
"""Remedy where `names_starred_root` is true."""


def names_starred_root(attributes: Sequence[Attribute]) -> bool:
    """Say whether the roots of all hierarchies are `*`, some of which a policy could rename."""
    from incrowd.core.hierarchy import Hierarchy

    trees = [attribute.hierarchy for attribute in attributes]
    starred = [tree.labels[0] == "*" for tree in trees if isinstance(tree, Hierarchy)]
    return None not in trees and bool(starred) and all(starred)


def all_hold(models: Sequence[PrivacyModel], classes: EquivalenceClasses) -> NDArray[np.bool_]:
    """Say for each class whether every model holds: bool[classes]."""
    verdict = np.ones(len(classes), np.bool_)
    for model in models:
        verdict &= model.holds(classes)
    return verdict
