"""What every privacy model has in common."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.parameters import Configured, parameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.classes import EquivalenceClasses
    from incrowd.frequency import FrequencyTable

__all__ = ["TOLERANCE", "Measured", "PrivacyModel", "attribute_parameter"]

TOLERANCE = 1e-12
"""Slack for sums in floating point; a limit is met with equality."""


def attribute_parameter() -> Any:
    """Declare which sensitive attribute a model concerns."""
    return parameter(
        "the sensitive attribute; all of them, each on its own, by default",
        kind=str,
        default=None,
        optional=True,
    )


@dataclass(frozen=True, slots=True)
class Measured:
    """The value that a table reaches under one model.

    Attributes
    ----------
    model
        Name of the model.
    settings
        The parameters that say what was measured or asked.
    attribute
        The sensitive attribute, None where the model concerns none.
    value
        The reached value; None where there is no class to measure.
    limit
        The value asked for; None where nothing was asked.
    holds
        Whether the limit is met; None where nothing was asked.
    """

    model: str
    settings: dict[str, Any]
    attribute: str | None
    value: float | None
    limit: float | None = None
    holds: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        result: dict[str, Any] = {"model": self.model}
        if self.settings:
            result["settings"] = self.settings
        if self.attribute is not None:
            result["attribute"] = self.attribute
        # JSON has no infinity.
        result["value"] = "infinity" if self.value is not None and math.isinf(self.value) else self.value
        if self.limit is not None:
            result |= {"limit": self.limit, "holds": self.holds}
        return result


@dataclass(frozen=True)
class PrivacyModel(Configured, ABC):
    """A condition on the equivalence classes of a table, and the measure behind it.

    Attributes
    ----------
    shorthand
        The command line's short option, without the dash.
    limit_name
        The parameter that is compared with the measure.
    more_is_safer
        Whether the measure must reach the limit (True) or must not exceed it (False).
    needs_counts
        Whether it looks at sensitive values.
    monotone_generalization
        Whether merging classes that satisfy it gives a class that does.
    monotone_suppression
        Whether leaving out some of the classes leaves the others' verdict as it was.
    """

    shorthand: ClassVar[str] = ""
    limit_name: ClassVar[str]
    more_is_safer: ClassVar[bool] = True
    needs_counts: ClassVar[bool] = True
    monotone_generalization: ClassVar[bool]
    monotone_suppression: ClassVar[bool]

    @classmethod
    @abstractmethod
    def variants(cls) -> Sequence[PrivacyModel]:
        """Return the models to measure when nobody asked for a limit; their limits always hold."""

    @abstractmethod
    def values(self, classes: EquivalenceClasses, attribute: int | None) -> NDArray[np.float64 | np.int64]:
        """Measure every class: one value each.

        Parameters
        ----------
        attribute
            Position of the sensitive attribute in the frequency table, None where `needs_counts` is False.
        """

    @property
    def limit(self) -> float:
        """The value asked for."""
        return float(getattr(self, self.limit_name))

    @property
    def least_size(self) -> int:
        """A class of fewer records cannot satisfy the model."""
        return 1

    def check_table(self, frequency: FrequencyTable) -> None:
        """Refuse a parameter that no recoding of the table could satisfy.

        Raises
        ------
        ParameterError, SchemaError
        """
        self.attributes(frequency)

    def attributes(self, frequency: FrequencyTable) -> list[int | None]:
        """Return the positions of the sensitive attributes that the model concerns."""
        if not self.needs_counts:
            return [None]
        named: str | None = getattr(self, "attribute", None)
        if named is not None:
            return [frequency.sensitive.index(frequency.attribute(named))]
        if not frequency.sensitive:
            from incrowd.errors import SchemaError

            raise SchemaError(f"{self.name} protects sensitive attributes and the schema names none")
        return list(range(len(frequency.sensitive)))

    def accepts(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Compare measured values with the limit."""
        slack = TOLERANCE * max(1.0, self.limit)
        return values >= self.limit - slack if self.more_is_safer else values <= self.limit + slack

    def holds(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Say for each class whether it satisfies the model: bool[classes]."""
        verdicts = [
            self.accepts(self.values(classes, attribute)) for attribute in self.attributes(classes.frequency)
        ]
        verdict = verdicts[0]
        for other in verdicts[1:]:
            verdict = verdict & other
        return verdict

    def measure(self, classes: EquivalenceClasses, *, asked: bool = True) -> list[Measured]:
        """Measure the table, once per sensitive attribute where the model concerns them.

        Parameters
        ----------
        asked
            Whether the model's limit is to be judged; without classes nothing holds.
        """
        results = []
        settings = {
            name: value
            for name, value in self.settings().items()
            if name not in ("attribute", self.limit_name)
        }
        for attribute in self.attributes(classes.frequency):
            value: float | int | None = None
            if len(classes):
                values = self.values(classes, attribute)
                value = (values.min() if self.more_is_safer else values.max()).item()
            name = None if attribute is None else classes.frequency.sensitive[attribute].name
            extra = settings | (self.details(classes.frequency, attribute) if attribute is not None else {})
            results.append(
                Measured(
                    self.name,
                    extra,
                    name,
                    value,
                    getattr(self, self.limit_name) if asked else None,
                    self._reached(value) if asked else None,
                )
            )
        return results

    def details(self, frequency: FrequencyTable, attribute: int) -> dict[str, Any]:
        """Return what was chosen for an attribute, for the report."""
        return {}

    def _reached(self, value: float | None) -> bool:
        import numpy as np

        return value is not None and bool(self.accepts(np.array([value]))[0])
