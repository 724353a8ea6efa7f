"""Conclusions that the models of a search allow about classes and nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from incrowd.measures.privacy.km_anonymity import KMAnonymity

if TYPE_CHECKING:
    from incrowd.measures.privacy import PrivacyModel
    from incrowd.measures.privacy.base import Monotone
    from incrowd.search.base import SearchProblem


class ClassRule(NamedTuple):
    """A model that judges single classes, and the conclusions from a class that fails.

    Attributes
    ----------
    model
        The model.
    monotone
        Changes to the classes of this table after which the model still holds.
    alone
        Whether the model judges a class alike, whatever the other classes are.
    bounding
        Whether the model bounds the people who are suppressed at every node below, too.
    """

    model: PrivacyModel
    monotone: Monotone
    alone: bool
    bounding: bool


@dataclass(frozen=True)
class Rules:
    """Conclusions that the models of a search allow.

    Attributes
    ----------
    models
        All models.
    of_class
        Those that judge single classes by more than sizes, the absorbing ones first.
    of_table
        Those that judge all classes together.
    of_people
        Those by which people are suppressed whole, so that a class may lose some of its records.
    least, least_people
        Records and people below which a class is suppressed; 1 where records are counted.
    by_people
        Whether people are counted.
    suppresses
        Whether records may be suppressed.
    settles
        Whether a node that fails settles those below.
    """

    models: Sequence[PrivacyModel]
    of_class: Sequence[ClassRule]
    of_table: Sequence[PrivacyModel]
    of_people: Sequence[KMAnonymity]
    least: int
    least_people: int
    by_people: bool
    suppresses: bool
    settles: bool

    @classmethod
    def of_problem(cls, problem: SearchProblem, *, suppresses: bool) -> Rules:
        """Return the rules of a problem.

        Parameters
        ----------
        suppresses
            Whether records may be suppressed that were not suppressed before.
        """
        models, by_people = tuple(problem.models), problem.frequency.people.table is not None
        of_class = [
            ClassRule(
                model,
                (monotone := problem.monotone(model)),
                monotone.suppression
                and not (model.needs_cells or model.needs_population or model.needs_table or model.is_joint),
                by_people and model.bounds_people(problem.frequency.counted),
            )
            for model in models
            if not (
                model.size_only or model.of_table or (by_people and suppresses and model.needs_every_class)
            )
        ]
        return cls(
            models,
            sorted(of_class, key=lambda rule: not rule.monotone.absorbing),
            [model for model in models if model.needs_table],
            [model for model in models if isinstance(model, KMAnonymity) and by_people and suppresses],
            problem.least,
            # Sizes in people are judged by who is listed while a group has too few.
            max((model.least_size for model in models if model.size_only and by_people), default=1),
            by_people,
            suppresses,
            # Suppressing more never helps the nodes below.
            all(
                monotone.absorbing if suppresses else monotone.generalization
                for monotone in map(problem.monotone, models)
            ),
        )

    @property
    def may_settle(self) -> bool:
        """Whether a node that fails by far settles those below."""
        return not self.of_table and all(
            rule.bounding or (rule.monotone.generalization and rule.monotone.suppression)
            for rule in self.of_class
        )

    @property
    def counting(self) -> bool:
        """Whether models look at more than sizes, so that everything they look at is counted."""
        return bool(self.of_class or self.of_table or self.of_people)

    @property
    def effort(self) -> int:
        """The cost of the counts that models need, relative to grouping."""
        return 1 + self.counting + (self.counting and self.by_people)

    @property
    def kept_work(self) -> int:
        """The cost of counting a group, relative to a key, where groups are made of groups."""
        # Somebody's rows seldom fall in one of many groups, so many groups list nearly everybody again.
        return 4 if self.counting and self.by_people else 1

    @property
    def needs_cells(self) -> bool:
        """Whether a model looks at the cells of classes."""
        return any(model.needs_cells for model in self.models)

    @property
    def by_size(self) -> bool:
        """Whether the number of its records says all about a class."""
        return self.settles and not self.counting and not self.by_people

    @property
    def by_class(self) -> bool:
        """Whether a node fails as soon as one class fails, and each class is judged by its counts alone."""
        return any(rule.alone for rule in self.of_class) and not self.suppresses and not self.by_people
