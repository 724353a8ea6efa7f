"""The result of a privacy model: the value of a table, and the class that decides."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from incrowd.core.documents import plain
from incrowd.core.markup import document


@dataclass(frozen=True, slots=True)
class EquivalenceClass:
    """The cells and the size of an equivalence class.

    Attributes
    ----------
    cells
        Its cell in each quasi-identifier; None is the missing value.
    records
        Its size.
    people
        Its number of people, where a person may have several rows; else None.
    """

    cells: dict[str, str | None]
    records: int
    people: int | None = None

    def __repr__(self) -> str:
        return f"EquivalenceClass({self.records:,} records)"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, in which the cells are values of the table."""
        people = {} if self.people is None else {"people": self.people}
        return {"cells": self.cells, "records": self.records, **people}


@dataclass(frozen=True, slots=True)
class ModelResult:
    """The value that a table reaches under a privacy model.

    Attributes
    ----------
    model
        Name of the model.
    quantity
        What was measured: the name of the parameter that sets its limit.
    settings
        The other parameters, which say how it was measured.
    attribute
        The sensitive attribute, None where the model concerns none or all of them at once.
    value
        The reached value; None where there is nothing to measure, which `reasons` explain.
    limit
        The value asked for; None where nothing was asked.
    holds
        Whether the limit is met; None where nothing was asked.
    sign
        How the value must compare with the limit: ``>=``, ``<=`` or ``>``.
    failing
        Classes and records that do not meet the limit on their own; None where nothing was asked.
    failing_people
        People who have a record in a failing class, where a person may have several rows; else None.
    attacker, knows
        Whose knowledge it is about, where there are several attackers, and the quasi-identifiers that this
        one knows; see `incrowd.measures.privacy.attacker`.
    reasons
        What else there is to say about the value.
    weakest
        The class that decides, where the classes are known by their cells; of several, the smallest and then
        the first by its cells.
    ties
        How many classes reach the same value as the weakest, itself included.
    examples
        The first of the failing classes in the same order, at most `EXAMPLES`.
    """

    model: str
    quantity: str
    settings: dict[str, Any]
    attribute: str | None
    value: float | None
    limit: float | None = None
    holds: bool | None = None
    sign: str = ">="
    failing: tuple[int, int] | None = None
    failing_people: int | None = field(default=None, kw_only=True)
    attacker: str | None = field(default=None, kw_only=True)
    knows: tuple[str, ...] = field(default=(), kw_only=True)
    reasons: tuple[str, ...] = ()
    weakest: EquivalenceClass | None = field(default=None, compare=False)
    ties: int = 0
    examples: tuple[EquivalenceClass, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        reached = "nothing to measure" if self.value is None else f"{self.quantity}={self.value:g}"
        verdicts = {None: "", True: f", {self.limit} asked: holds", False: f", {self.limit} asked: fails"}
        of = "" if self.attribute is None else f" of {self.attribute!r}"
        of += "" if self.attacker is None else f" against {self.attacker!r}"
        return f"ModelResult({self.model}{of}: {reached}{verdicts[self.holds]})"

    def _repr_html_(self) -> str:
        # Settings may name a value to protect, and classes are described by their cells.
        result = self.to_dict(cells=False)
        result.pop("settings", None)
        return document(repr(self), result)

    def shortfall(self) -> str:
        """Compare the value with the limit, in a sentence."""
        where = f" for {self.attribute!r}" if self.attribute else ""
        where += f" against {self.attacker!r}, who knows {', '.join(self.knows)}," if self.attacker else ""
        if self.value is None:
            return f"{self.model}{where}: {'; '.join(self.reasons)}"
        return f"{self.model}{where} reaches {self.quantity}={self.value:g} where {self.limit:g} was asked"

    def to_dict(self, *, cells: bool = True) -> dict[str, Any]:
        """Return plain data for JSON.

        Parameters
        ----------
        cells
            Whether to describe the weakest and the failing classes by their cells, which are values of the
            table.
        """
        result: dict[str, Any] = {"model": self.model, "quantity": self.quantity}
        if self.settings:
            result["settings"] = self.settings
        if self.attribute is not None:
            result["attribute"] = self.attribute
        if self.attacker is not None:
            result["attacker"] = {"name": self.attacker, "knows": list(self.knows)}
        result["value"] = plain(self.value)
        if self.limit is not None:
            result |= {"limit": self.limit, "holds": self.holds}
        if self.failing is not None:
            result["failing"] = {"classes": self.failing[0], "records": self.failing[1]}
            if self.failing_people is not None:
                result["failing"]["people"] = self.failing_people
        if self.reasons:
            result["reasons"] = list(self.reasons)
        if cells and self.weakest is not None:
            result["weakest"] = self.weakest.to_dict() | {"ties": self.ties}
        if cells and self.examples:
            result["failing"]["examples"] = [example.to_dict() for example in self.examples]
        return result
