"""What weights and households say of a table, in words, and where they are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from incrowd.errors import ParameterError, named
from incrowd.jobs.statements import percent

if TYPE_CHECKING:
    from incrowd.table.schema import Schema

__all__ = ["refuse_survey", "survey_sentences"]

Risks = Mapping[str, Mapping[str, float]]


def survey_sentences(risk: Risks, before: Risks | None = None) -> list[str]:
    """Say how easily survey records and households are found; nothing where no column says so.

    Parameters
    ----------
    risk
        Figures per risk model.
    before
        The same of the table before recoding.
    """
    found = []
    if individual := risk.get("individual"):
        found.append(
            "By the sampling weights, which give an estimate, a record is found among all people with a "
            f"probability of up to {percent(individual['max'])}, {percent(individual['mean'])} on average"
            + _before(before, "individual", "mean")
            + "."
        )
    if household := risk.get("household"):
        found.append(
            "Whoever finds one member of a household has found all. A household is found with a probability "
            f"of up to {percent(household['max'])}, {percent(household['mean'])} on average, and "
            f"{percent(household['at_risk'])} of the households are at risk"
            + _before(before, "household", "at_risk")
            + "."
        )
    return found


def _before(before: Risks | None, model: str, figure: str) -> str:
    figures = {} if before is None else before.get(model, {})
    return f" (before: {percent(figures[figure])})" if figures else ""


def refuse_survey(schema: Schema, who: str) -> None:
    """Refuse weights and households where nothing is measured of them.

    Raises
    ------
    ParameterError
    """
    given = {"household": schema.household, "weight": () if schema.weights is None else (schema.weights,)}
    for role, columns in given.items():
        if columns:
            raise ParameterError(
                f"{who} measures nothing by households or sampling weights, and column {named(columns)} has "
                f"the role {role}; give it the role identifying, which is not released either, and accept "
                "figures without"
            )
