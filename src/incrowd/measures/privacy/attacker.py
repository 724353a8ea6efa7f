"""Attackers that each know some of the quasi-identifiers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.errors import ParameterError, SchemaError, named, those_are
from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import Parameter
from incrowd.core.table.settings import WILDCARDS
from incrowd.measures.privacy.base import Monotone, PrivacyModel
from incrowd.measures.privacy.results import ModelResult

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable


@dataclass(frozen=True)
class Attacker(PrivacyModel):
    """Attacker with knowledge of some of the quasi-identifiers, and the models that must hold then.

    Example: a neighbour knows age and sex, an insurer knows zip and admission date. Records that have the
    same cells in these columns look alike to that attacker. The models judge these groups in place of the
    equivalence classes. It stands beside other models in a list of models:
    ``[ic.KAnonymity(3), ic.Attacker("insurer", ["zip", "admitted"], ic.KAnonymity(20))]``.

    Parameters
    ----------
    attacker
        What the attacker is called in reports.
    knows
        The quasi-identifiers that the attacker knows; at least one.
    models
        What must hold against this attacker; one model or several.

    Notes
    -----
    Full-domain algorithms enforce just this. A local algorithm chooses cells per class, so it enforces the
    models for its classes, as if the attacker knew every quasi-identifier. This is stricter for models that
    hold for merged classes, as k-anonymity does. The release itself is always judged by what each attacker
    knows.

    Attackers for all sets of L columns, with k-anonymity and a bound on shares, are LKC-privacy.

    Raises
    ------
    ParameterError
        When a name or model is missing, or a model looks at a population or at cells.
    """

    attacker: str
    knows: tuple[str, ...]
    models: tuple[PrivacyModel, ...]

    name: ClassVar[str] = "attacker"
    summary: ClassVar[str] = "models for somebody who knows some of the quasi-identifiers"
    limit_name: ClassVar[str] = "limit"
    needs_cells: ClassVar[bool] = True
    unasked: ClassVar[bool] = False
    by_class: ClassVar[bool] = False

    def __init__(
        self, attacker: str, knows: str | Iterable[str], models: PrivacyModel | Iterable[PrivacyModel]
    ) -> None:
        columns = (knows,) if isinstance(knows, str) else tuple(knows)
        conditions = (models,) if isinstance(models, PrivacyModel) else tuple(models)
        if not isinstance(attacker, str) or not attacker:
            raise ParameterError('attacker: give a name, e.g. "insurer"')
        if not columns or not all(isinstance(name, str) for name in columns):
            raise ParameterError(f"attacker {attacker!r} knows no column; name at least one quasi-identifier")
        if not conditions or not all(isinstance(model, PrivacyModel) for model in conditions):
            raise ParameterError(
                f"attacker {attacker!r}: give at least one model that must hold, e.g. ic.KAnonymity(20)"
            )
        for model in conditions:
            if model.needs_cells or model.needs_population or model.needs_every_class:
                raise ParameterError(
                    f"attacker {attacker!r}: {model.name} says itself who knows what; use it beside the "
                    "attackers"
                )
        object.__setattr__(self, "attacker", attacker)
        object.__setattr__(self, "knows", tuple(dict.fromkeys(columns)))
        object.__setattr__(self, "models", conditions)

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """Return no parameters: a policy declares an attacker in a separate table."""
        return {}

    @classmethod
    def variants(cls) -> Sequence[PrivacyModel]:
        """Return no variants."""
        return ()

    def settings(self) -> dict[str, Any]:
        """Return the attacker's name and known attributes."""
        return {"attacker": self.attacker, "knows": list(self.knows)}

    def __str__(self) -> str:
        return f"{self.attacker} ({', '.join(self.knows)}): {' and '.join(map(str, self.models))}"

    @property
    def of_table(self) -> bool:
        """Whether every model is a condition on the table."""
        return all(model.of_table for model in self.models)

    @property
    def needs_table(self) -> bool:
        """Whether any of the models needs the table to be measured."""
        return any(model.needs_table for model in self.models)

    @property
    def is_joint(self) -> bool:
        """Whether any of the models looks at combinations of sensitive values."""
        return any(model.is_joint for model in self.models)

    @property
    def monotone(self) -> Monotone:
        """Generalization flag of the models; suppressing a class takes records from a group."""
        return Monotone(all(model.monotone.generalization for model in self.models), suppression=False)

    @property
    def monotone_by_people(self) -> Monotone:
        """Generalization flag of the models by people; see `monotone`."""
        flags = [model.monotone_by_people.generalization for model in self.models]
        return Monotone(all(flags), suppression=False)

    def check_values(self, frequency: FrequencyTable) -> None:
        """Raise for values that a model rejects."""
        for model in self.models:
            model.check_values(frequency)

    def check_table(self, frequency: FrequencyTable) -> None:
        """Raise for columns that are no quasi-identifiers, and for tables that a model rejects."""
        self._positions([domain.name for domain in frequency.domains])
        for model in self.models:
            model.check_table(frequency)

    @property
    def wildcards(self) -> Sequence[str]:
        """The wildcards that every model is defined for."""
        return [meaning for meaning in WILDCARDS if all(meaning in model.wildcards for model in self.models)]

    def for_classes(self) -> Sequence[PrivacyModel]:
        """Return the models, as for an attacker with knowledge of every quasi-identifier."""
        return self.models

    def attributes(self, frequency: FrequencyTable) -> Sequence[int | None]:
        """Return None alone."""
        return (None,)

    def values(self, classes: EquivalenceClasses, attribute: int | None = None) -> NDArray[np.float64]:
        """Return 1 for each class in a group that satisfies every model, 0 for the others."""
        return self.holds(classes).astype(np.float64)

    def holds(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Return for each class whether the class's group satisfies the models: bool[classes]."""
        group, groups = self._groups(classes)
        verdict = np.ones(len(groups), np.bool_)
        for model in self.models:
            if not model.of_table:
                verdict &= model.holds(groups)
        return np.asarray(verdict[group])

    def measure(self, classes: EquivalenceClasses, *, asked: bool = True) -> list[ModelResult]:
        """Measure the groups of records that look alike to the attacker; see `PrivacyModel.measure`."""
        _, groups = self._groups(classes)
        return [
            replace(result, attacker=self.attacker, knows=self.knows)
            for model in self.models
            for result in model.measure(groups, asked=asked)
        ]

    def _groups(self, classes: EquivalenceClasses) -> tuple[NDArray[np.integer], EquivalenceClasses]:
        counted = classes.counted
        if counted.codes is None:
            # The cells are not decided yet: each class as it is, which is stricter.
            return np.arange(len(counted)), counted
        return counted.subset_groups(self._positions(counted.names))

    def _positions(self, names: Sequence[str]) -> list[int]:
        unknown = [name for name in self.knows if name not in names]
        if unknown:
            raise SchemaError(
                f"attacker {self.attacker!r} knows {named(unknown)}, which is no quasi-identifier; "
                + those_are(names, unknown[0])
            )
        return [names.index(name) for name in self.knows]
