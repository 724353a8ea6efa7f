"""A limit that a policy asks for, and the finding that says whether a release meets the limit."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

SLACK = 1e-12


@dataclass(frozen=True)
class Demand:
    """A limit to check.

    Attributes
    ----------
    attribute
        The sensitive column that it looks at; None where it looks at none, or at all together.
    at_least
        Whether the quantity must reach the limit; else it must not exceed it.
    settings
        The model's other settings.
    """

    model: str
    quantity: str
    attribute: str | None
    limit: float
    at_least: bool
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def is_met(self) -> str:
        """SQL of whether `reached` meets the limit: with equality, and sums within a slack."""
        if self.model == "profitability":
            may_be_zero = self.settings["attack"] == "none" and (
                self.settings["definition"] == "table" or not self.settings["adversary_gain"]
            )
            return "reached >= 0" if may_be_zero else "reached > 0"
        slack = SLACK * max(1.0, self.limit)
        if self.at_least:
            return f"reached >= {self.limit - slack!r}::DOUBLE"
        return f"reached <= {self.limit + slack!r}::DOUBLE"

    @property
    def needs_people(self) -> bool:
        """Whether the demand compares the table with a population."""
        return self.model in ("k-map", "delta-presence") or self.settings.get("attacker") == "journalist"

    def looks_at(self, columns: Collection[str]) -> bool:
        """Whether the demand looks at the values of some sensitive columns."""
        every = self.model == "p29" or (self.attribute is not None and bool(self.settings.get("joint")))
        return self.attribute in columns or (every and bool(columns))

    @property
    def shown(self) -> dict[str, Any]:
        """The settings of the measurement: no limits, and nothing that is not set."""
        limits = {self.quantity, "k", "K", "C", "alpha", "attribute"}
        return {
            name: value
            for name, value in self.settings.items()
            if name not in limits and value is not None and value is not False
        }


@dataclass(frozen=True)
class Attacker:
    """An attacker with some known quasi-identifiers, and the limits that must hold against the attacker."""

    name: str
    knows: tuple[str, ...]
    demands: tuple[Demand, ...]


@dataclass(frozen=True)
class Finding:
    """A limit of a model on an attribute: the limit and the value of the file.

    Attributes
    ----------
    model
        Name of the model.
    attribute
        The sensitive column; None where a model looks at none, or at all together.
    asked
        The limit, in the model's own measure.
    reached
        What the worst class has, or the table where the model is a condition on it. None if there is no
        class, or the measure is not defined.
    holds
        Whether the limit is met; meeting it exactly counts. None where that is not known: the policy says
        whose row it is, and only records could be counted.
    distance
        For t-closeness the distance that was taken, else None.
    quantity
        What was limited: the model's parameter, as ``k`` or ``alpha``.
    unit
        What was counted: ``records`` or ``people``.
    attacker, knows
        Whom the limit is about, and the quasi-identifiers that this attacker knows. None and nothing where it
        is about somebody who knows every quasi-identifier.
    settings
        The model's other settings, as ``power`` or ``kind``: those that are set, or that count if they are
        not.
    """

    model: str
    attribute: str | None
    asked: float
    reached: float | None
    holds: bool | None
    distance: str | None = None
    quantity: str = ""
    unit: str = "records"
    attacker: str | None = None
    knows: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The model with the other settings, as ``km-anonymity (power=0)`` or ``l-diversity (entropy)``."""
        words = [
            str(value) if isinstance(value, str) else name if value is True else f"{name}={value:g}"
            for name, value in self.settings.items()
        ]
        return self.model + (f" ({', '.join(words)})" if words else "")
