"""The base classes of privacy models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

from incrowd.core.errors import ParameterError, SchemaError, setting
from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import Configured, Parameter
from incrowd.core.table.settings import WILDCARDS
from incrowd.measures.privacy.results import EquivalenceClass, ModelResult

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable

EXAMPLES = 10
"""Failing classes that a report describes."""

TOLERANCE = 1e-12
"""Slack for sums in floating point; a limit is met with equality."""


ATTRIBUTE = Parameter(str, "the sensitive attribute; all of them, each on its own, by default", optional=True)
"""Which sensitive attribute a model concerns."""
JOINT = Parameter(bool, "whether the other sensitive attributes count as quasi-identifiers")
"""Whether the sensitive attributes are protected against each other."""

_Measure = Callable[["EquivalenceClasses", int], "NDArray[Any]"]


class Monotone(NamedTuple):
    """Changes to the classes of a table that keep a privacy model satisfied.

    Attributes
    ----------
    generalization
        Merging classes that satisfy it gives a class that does.
    suppression
        Leaving out some of the classes leaves the others' verdict as it was.
    absorbing
        Merging a class that satisfies it with any other gives a class that does.
    """

    generalization: bool
    suppression: bool
    absorbing: bool = False


class PrivacyModel(Configured, ABC):
    """A condition on the equivalence classes of a table, with the measure behind that condition.

    Most models have three steps. They give each class a value (`values`). They compare it with a limit
    (`accepts`). They give the table the value of its worst class (`overall`). Example: k-anonymity gives each
    class its size, and the table the smallest size.

    A model with two limits is made of `parts`. A model of the whole table overrides `overall`. What it
    accepts of a class is then a sufficient condition. So a search can enforce it class by class.

    Attributes
    ----------
    shorthand
        The command line's short option, without the dash.
    limit_name
        The parameter that is compared with the measure.
    more_is_safer
        Whether the measure must reach the limit (True) or must not exceed it (False).
    needs_cells
        Whether it looks at the cells of classes and not at their contents alone.
    size_only
        Whether a class of at least `least_size` records satisfies it, whatever else is in it.
    unasked
        Whether the value says something where nobody gave the model's settings; only such models are
        measured when none was asked for.
    by_class
        Whether the value of a single class says something.
    needs_every_class
        Whether a class is judged together with the others that its people have rows in.
    same_by_people
        Whether `monotone` holds, too, where somebody has rows in several of the classes that merge, as a
        merged class has at least the people of each part.
    """

    # --- What a model is -----------------------------------------------------------------------------

    shorthand: ClassVar[str] = ""
    limit_name: ClassVar[str]
    more_is_safer: ClassVar[bool] = True
    unasked: ClassVar[bool] = True

    @classmethod
    def variants(cls) -> Sequence[PrivacyModel]:
        """Return a model for every kind of measure, if possible with limits that every table meets.

        These are the least limits that may be given where more is safer, else the largest. A model of several
        kinds overrides it.
        """
        limits = {}
        for name in cls.needed():
            declared = cls.parameters()[name]
            bound = declared.low if cls.more_is_safer or declared.high is None else declared.high
            limits[name] = declared.kind(bound)
        return (cls(**limits),)

    @property
    def limit(self) -> float:
        """The requested value."""
        return float(getattr(self, self.limit_name))

    @property
    def sign(self) -> str:
        """How the measure must compare with the limit."""
        return ">=" if self.more_is_safer else "<="

    @property
    def least_size(self) -> int:
        """Smallest class that can satisfy the model."""
        return 1

    @property
    def wildcards(self) -> Sequence[str]:
        """Meanings of `*` and missing cells for which the model is defined; see `WILDCARDS`."""
        return WILDCARDS

    @property
    def is_joint(self) -> bool:
        """Whether the other sensitive attributes count as quasi-identifiers."""
        return False

    def parts(self) -> Sequence[PrivacyModel]:
        """Return the conditions that make up the model, the model itself if there is a single condition."""
        return (self,)

    @abstractmethod
    def attributes(self, frequency: FrequencyTable) -> Sequence[int | None]:
        """Return the positions of sensitive attributes to measure, or None where the model needs none."""

    @abstractmethod
    def values(
        self, classes: EquivalenceClasses, attribute: int | None
    ) -> NDArray[np.float64] | NDArray[np.int64]:
        """Return a number for every class.

        Parameters
        ----------
        attribute
            Position of a sensitive attribute in the frequency table, as `attributes` returns it.
        """

    def accepts(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Compare measured values with the limit."""
        slack = TOLERANCE * max(1.0, abs(self.limit))
        return values >= self.limit - slack if self.more_is_safer else values <= self.limit + slack

    def overall(self, classes: EquivalenceClasses, values: NDArray[Any]) -> float:
        """Return the table's value from the values of its classes (at least one)."""
        worst: float = (values.min() if self.more_is_safer else values.max()).item()
        return worst

    # --- What a search may conclude ------------------------------------------------------------------

    size_only: ClassVar[bool] = False
    by_class: ClassVar[bool] = True
    needs_cells: ClassVar[bool] = False
    needs_every_class: ClassVar[bool] = False

    @property
    @abstractmethod
    def monotone(self) -> Monotone:
        """Proved changes after which satisfied classes stay satisfied; see `Monotone`."""

    @property
    def of_table(self) -> bool:
        """Whether the limit is on the table, so that no single class is suppressed because of the model."""
        return False

    @property
    def needs_table(self) -> bool:
        """Whether the table is measured even when every class satisfies the model."""
        return self.of_table

    def certain_losses(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        """Bound from below the records that each class must suppress: int64[classes].

        The bound is 0 for classes that satisfy the model, and holds however a class is divided. Only models
        that are monotone under merging are asked: parts that satisfy the model do so together, too. So a
        failing class cannot be kept in full.
        """
        return (~self.holds(classes)).astype(np.int64)

    # --- How people and populations count ------------------------------------------------------------

    same_by_people: ClassVar[bool] = False

    @property
    def monotone_by_people(self) -> Monotone:
        """Proved changes where a person may have rows in several of the classes that merge.

        Counts of people do not add up then. So nothing but suppression is taken for proved where the model
        does not say so; see `same_by_people`.
        """
        monotone = self.monotone
        return monotone if self.same_by_people else Monotone(False, suppression=monotone.suppression)

    def bounds_people(self, frequency: FrequencyTable) -> bool:
        """Whether `certain_losses` is a bound even where people have several rows."""
        return False

    @property
    def needs_population(self) -> bool:
        """Whether the model compares the table with a population."""
        return False

    @property
    def takes_estimate(self) -> bool:
        """Whether a population may be estimated from the sampling weights of the table."""
        return False

    # --- What is checked and told of a table ---------------------------------------------------------

    def check_values(self, frequency: FrequencyTable) -> None:
        """Raise for a protected value that no record of a raw table has.

        Raises
        ------
        ParameterError
        """

    def check_table(self, frequency: FrequencyTable) -> None:
        """Raise for a parameter that no recoding of the table can satisfy.

        Raises
        ------
        ParameterError, SchemaError
        """
        self.attributes(frequency)
        if not self.knows_population(frequency):
            weights = setting("Schema(weights=)", "--weights")
            raise ParameterError(
                f"{self.name} compares the table with a population; give one with "
                + setting("population=", "--population")
                + (f", or the column of sampling weights ({weights})" if self.takes_estimate else "")
            )

    def remarks(self, frequency: FrequencyTable) -> list[str]:
        """Return remarks on the model's figures for this table."""
        return []

    def details(self, frequency: FrequencyTable, attribute: int) -> dict[str, Any]:
        """Return the settings that were chosen for an attribute, for the report."""
        return {}

    # --- What is done with every model (`Attacker` overrides some) -----------------------------------

    @classmethod
    @final
    def monotone_words(cls) -> tuple[str, str]:
        """Say yes, no or "depends on the settings": under generalization, under suppression."""
        flags = [variant.monotone for variant in cls.variants()]
        generalization, suppression = (
            "yes" if all(verdicts) else "depends on the settings" if any(verdicts) else "no"
            for verdicts in list(zip(*flags, strict=True))[:2]
        )
        return generalization, suppression

    @final
    def monotone_for(self, frequency: FrequencyTable) -> Monotone:
        """Return `monotone`, or `monotone_by_people` where a person of the table has several rows."""
        return self.monotone if frequency.people.table is None else self.monotone_by_people

    def for_classes(self) -> Sequence[PrivacyModel]:
        """Return the conditions that every class must satisfy alone; see `Attacker`."""
        return (self,)

    @final
    def check_wildcards(self, wildcards: str) -> None:
        """Raise for a meaning of `*` that the model does not define.

        Raises
        ------
        ParameterError
        """
        if wildcards not in self.wildcards:
            choices = " or ".join(map(repr, self.wildcards))
            raise ParameterError(
                f"{self.name} is not defined where wildcards are {wildcards!r}; leave the model out, or set "
                f"{setting('wildcards', '--wildcards')} to {choices}"
            )

    @final
    def knows_population(self, frequency: FrequencyTable) -> bool:
        """Return whether the table has every population that the model needs."""
        population = frequency.population
        return not self.needs_population or (
            population is not None and (self.takes_estimate or population.weights is None)
        )

    def holds(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Return whether each class satisfies the model: bool[classes]."""
        classes = classes.counted
        if self.size_only and classes.frequency.people.listed is not None:
            # People are counted one by one, and enough are enough.
            return classes.reach(self.least_size)
        verdict = np.ones(len(classes), np.bool_)
        for part in self.parts():
            for attribute in part.attributes(classes.frequency):
                verdict &= part.accepts(part.values(classes, attribute))
        return verdict

    def measure(self, classes: EquivalenceClasses, *, asked: bool = True) -> list[ModelResult]:
        """Measure the table for every limit, and for every sensitive attribute that the model concerns.

        Parameters
        ----------
        asked
            Whether the model's limits are to be judged; without classes nothing holds. Where they are not,
            parts that are models of their own are left out.
        """
        classes = classes.counted
        return [
            replace(part._measure(classes, attribute, asked=asked), model=self.name, settings=settings)
            for part, attribute, settings in self.aspects(classes.frequency, asked=asked)
        ]

    @final
    def aspects(
        self, frequency: FrequencyTable, *, asked: bool = True
    ) -> list[tuple[PrivacyModel, int | None, dict[str, Any]]]:
        """Return the measurements of `measure`: a part, a sensitive attribute, and the settings."""
        limits = {part.limit_name for part in self.parts()}
        settings = {
            name: value for name, value in self.settings().items() if name not in ("attribute", *limits)
        } | self.estimates(frequency)
        return [
            (part, attribute, settings | ({} if attribute is None else part.details(frequency, attribute)))
            for part in self.parts()
            if asked or part.name == self.name
            for attribute in part.attributes(frequency)
        ]

    def _measure(self, classes: EquivalenceClasses, attribute: int | None, *, asked: bool) -> ModelResult:
        name = None if attribute is None else classes.frequency.sensitive[attribute].name
        empty = ModelResult(
            self.name,
            self.limit_name,
            {},
            name,
            None,
            getattr(self, self.limit_name, self.limit) if asked else None,
            False if asked else None,
            self.sign,
            (0, 0) if asked else None,
        )
        if not len(classes):
            return replace(empty, reasons=("there is no class to measure",))
        values = self.values(classes, attribute)
        value = self.overall(classes, values)
        worst = np.flatnonzero(values == (values.min() if self.more_is_safer else values.max()))
        weakest = describe_classes(classes, worst, 1)
        result = replace(
            empty, value=value, weakest=weakest[0] if weakest else None, ties=len(worst) if weakest else 0
        )
        if not asked:
            return result
        holds = bool(self.accepts(np.array([value]))[0])
        return replace(result, holds=holds, **failing(classes, self.accepts(values)))

    @final
    def estimates(self, frequency: FrequencyTable) -> dict[str, str]:
        """Return estimated inputs and the source of each estimate, for the report."""
        population = frequency.population
        if not self.needs_population or population is None or population.weights is None:
            return {}
        return {"population": f"estimated by {population.weights}"}


class IdentityModel(PrivacyModel):
    """A model of class sizes, not of sensitive values: k-anonymity, risks, presence.

    A model of this kind implements `_values` of classes alone.
    """

    def attributes(self, frequency: FrequencyTable) -> Sequence[int | None]:
        """Return None alone."""
        return (None,)

    def values(
        self, classes: EquivalenceClasses, attribute: int | None = None
    ) -> NDArray[np.float64] | NDArray[np.int64]:
        """Measure every class; see `PrivacyModel.values`.

        Raises
        ------
        ParameterError
            When a sensitive attribute is given.
        """
        if attribute is not None:
            raise ParameterError(f"{self.name} looks at no sensitive attribute; leave attribute out")
        return self._values(classes) if len(classes) else np.zeros(0)

    @abstractmethod
    def _values(self, classes: EquivalenceClasses) -> NDArray[np.float64] | NDArray[np.int64]:
        """Measure every class; there is at least one class."""


def class_size(models: Sequence[PrivacyModel]) -> int:
    """Return how many people, or records, the models ask every class to have, 1 where none says.

    Other models are left out: for 3 values of diversity a class needs 3 records, but nobody asks for them.
    """
    parts = (part for model in models for part in model.parts() if isinstance(part, IdentityModel))
    return max((part.least_size for part in parts), default=1)


class SensitiveModel(PrivacyModel):
    """A model of the sensitive values of a class, such as l-diversity or t-closeness.

    A model of this kind implements `_values` of classes and one sensitive attribute. It may have the
    parameters `attribute` (`ATTRIBUTE`) and `joint` (`JOINT`).

    Where a column declares its cells as lists (`Attribute.parts`), a class is judged by the whole texts and
    by their parts: its value is the worse of `_values` and `_part_values`. A model that implements no
    `_part_values` refuses such columns.
    """

    @property
    def is_joint(self) -> bool:
        """Whether the other sensitive attributes count as quasi-identifiers."""
        return bool(getattr(self, "joint", False))

    @property
    def judges_lists(self) -> bool:
        """Whether the model judges columns of lists by the parts of each list."""
        return type(self)._part_values is not SensitiveModel._part_values

    def check_table(self, frequency: FrequencyTable) -> None:
        """Raise for parameters or lists that the model cannot judge; see `PrivacyModel`."""
        super().check_table(frequency)
        self.check_lists(frequency)

    def check_lists(self, frequency: FrequencyTable) -> None:
        """Raise for sensitive attributes of lists where the model cannot judge lists.

        Raises
        ------
        ParameterError
        """
        for position in self.positions(frequency) if not self.judges_lists else ():
            if frequency.sensitive[position].domain.parts is not None:
                raise self._no_lists(frequency.sensitive[position].name)

    def knows_lists(self, frequency: FrequencyTable) -> bool:
        """Return whether the model can judge the sensitive attributes, including lists."""
        positions = self.positions(frequency)
        return self.judges_lists or all(frequency.sensitive[at].domain.parts is None for at in positions)

    def _no_lists(self, column: str) -> ParameterError:
        return ParameterError(
            f"{self.name} does not judge lists, and column {column!r} declares its parts; use l-diversity or "
            "t-closeness there, or leave parts out"
        )

    def positions(self, frequency: FrequencyTable) -> list[int]:
        """Return the positions of the sensitive attributes that the model concerns.

        Raises
        ------
        SchemaError
            When there is none.
        """
        attribute: str | None = getattr(self, "attribute", None)
        if attribute is not None:
            return [frequency.sensitive.index(frequency.attribute(attribute))]
        if not frequency.sensitive:
            raise SchemaError(
                f"{self.name} protects sensitive attributes and the schema names none; name one, or "
                "leave the model out"
            )
        return list(range(len(frequency.sensitive)))

    def attributes(self, frequency: FrequencyTable) -> Sequence[int | None]:
        """Return `positions`."""
        return self.positions(frequency)

    def certain_losses(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        """Return the largest of the bounds of `_lost` over all attributes; see `PrivacyModel`."""
        if not self.counts_records(classes):
            return super().certain_losses(classes)
        lost = np.zeros(len(classes), np.int64)
        for part in self.parts():
            for attribute in part.attributes(classes.frequency):
                failing = ~part.accepts(part.values(classes, attribute))
                if attribute is not None and part is self:
                    lost = np.maximum(lost, self._lost(classes, attribute, failing))
                else:
                    lost = np.maximum(lost, failing)
        return lost

    def _lost(
        self, classes: EquivalenceClasses, attribute: int, failing: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Bound from below the records that each failing class loses for an attribute, at least 1.

        Each record counts once here; see `counts_records`. Others lose nothing.
        """
        return failing.astype(np.int64)

    def counts_records(self, classes: EquivalenceClasses) -> bool:
        """Whether each record counts once in a class, with a single value of each attribute."""
        positions = self.positions(classes.frequency)
        return not (
            self.is_joint
            or classes.counted is not classes
            or classes.frequency.people.listed is not None
            or any(classes.singles(position) is not None for position in positions)
            or any(classes.frequency.sensitive[position].domain.parts is not None for position in positions)
        )

    def values(
        self, classes: EquivalenceClasses, attribute: int | None
    ) -> NDArray[np.float64] | NDArray[np.int64]:
        """Measure every class by a sensitive attribute; see `PrivacyModel.values`.

        Raises
        ------
        ParameterError
            When no attribute is given.
        """
        if attribute is None:
            raise ParameterError(
                f"{self.name} looks at one sensitive attribute at a time; give its position, as positions() "
                "returns it"
            )
        if not len(classes):
            return np.zeros(0)
        if self.needs_cells:
            return self._values(classes, attribute)
        if self.is_joint and len(classes.frequency.sensitive) > 1:
            parts, first = classes.joined(attribute)
            values = self._worst(self._judged(parts, 0), first)
        else:
            values = self._judged(classes, attribute)
        return self.with_singles(classes, attribute, values, self._judged)

    def with_singles(
        self, classes: EquivalenceClasses, attribute: int, values: NDArray[Any], measure: _Measure
    ) -> NDArray[Any]:
        """Give classes of records that are judged singly the value of the worst record.

        Parameters
        ----------
        values
            The value of each class as it is.
        measure
            A function that measures classes.
        """
        singles = classes.singles(attribute)
        if singles is None:
            return values
        values = values.copy()
        values[singles.alone] = self._worst(measure(singles.classes, 0), singles.first)
        return values

    def _worst(self, values: NDArray[Any], first: NDArray[np.int64]) -> NDArray[Any]:
        worst = np.minimum.reduceat if self.more_is_safer else np.maximum.reduceat
        return worst(values, first)

    def _judged(self, classes: EquivalenceClasses, attribute: int) -> NDArray[Any]:
        """Measure every class by full texts, and by the parts of lists."""
        values = self._values(classes, attribute)
        if classes.frequency.sensitive[attribute].domain.parts is None:
            return values
        worse = np.minimum if self.more_is_safer else np.maximum
        return np.asarray(worse(values, self._part_values(classes, attribute)))

    @abstractmethod
    def _values(self, classes: EquivalenceClasses, attribute: int) -> NDArray[np.float64] | NDArray[np.int64]:
        """Measure every class by a sensitive attribute; there is at least one class."""

    def _part_values(
        self, classes: EquivalenceClasses, attribute: int
    ) -> NDArray[np.float64] | NDArray[np.int64]:
        """Measure every class by the parts of a column of lists; there is at least one class.

        Raises
        ------
        ParameterError
            Where the model does not judge lists.
        """
        raise self._no_lists(classes.frequency.sensitive[attribute].name)


def describe_classes(
    classes: EquivalenceClasses, chosen: NDArray[np.int64], most: int
) -> tuple[EquivalenceClass, ...]:
    """Describe at most `most` of the chosen classes, ordered by size and then by cells.

    Classes that join keys have no cells in the table yet, so nothing is returned.
    """
    joined = len(classes.members) != len(classes) and classes.known is None
    if joined or not len(chosen):
        return ()
    records = classes if classes.rows is None else classes.rows
    return tuple(
        EquivalenceClass(
            classes.cells(number),
            int(records.sizes[number]),
            None if classes.rows is None else int(classes.sizes[number]),
        )
        for number in classes.smallest(chosen, most).tolist()
    )


def failing(classes: EquivalenceClasses, accepted: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the fields of a `ModelResult` that describe the failing classes."""
    failed = np.flatnonzero(~accepted)
    records = classes if classes.rows is None else classes.rows
    return {
        "failing": (len(failed), records.within(~accepted)),
        "failing_people": None if classes.rows is None else classes.within(~accepted),
        "examples": describe_classes(classes, failed, EXAMPLES),
    }
