"""Sentences about sampling weights and households, and refusals of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import ParameterError, named
from incrowd_verify.gate.wording import at_most, percent, who_knows

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Schema

RiskFigures = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Estimates:
    """The figures that are estimates by a column of sampling weights.

    Attributes
    ----------
    column
        The column.
    figures
        Names of models and risks.
    """

    column: str
    figures: tuple[str, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.figures)}: estimated by the sampling weights of {self.column}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"by": self.column, "figures": list(self.figures)}


def estimates_of(frequency: FrequencyTable, risk: RiskFigures) -> Estimates | None:
    """Return the estimated figures of a table, or None without sampling weights."""
    if frequency.survey.sampling is None:
        return None
    # Without the weights of a class, as where records count alone, households have the risks of records.
    figures = [name for name in ("individual", "household") if name in risk and "individual" in risk]
    if frequency.population is not None and frequency.population.weights is not None:
        figures = ["k-map", *(name for name in ("journalist", "marketer") if name in risk), *figures]
    return Estimates(frequency.survey.sampling.column, tuple(figures))


def survey_sentences(
    estimates: Estimates | None,
    risk: RiskFigures,
    quasi: Sequence[str],
    before: RiskFigures | None = None,
) -> list[str]:
    """Describe the risks of survey records and households, if columns declare such.

    Parameters
    ----------
    estimates
        What is estimated.
    risk
        Figures per risk model.
    quasi
        The quasi-identifiers, which the attacker knows.
    before
        The same of the table before recoding.
    """
    sentences = []
    individual, knows = risk.get("individual"), who_knows(quasi)
    if estimates is not None and individual:
        sentences.append(
            f"The sampling weights of {estimates.column} estimate the population. By them {knows}, not even "
            "who took part, finds a record among all people with a probability of up to "
            f"{at_most(individual['max'])}, {percent(individual['mean'])} on average"
            + _before(before, "individual", "mean")
            + "."
        )
    if household := risk.get("household"):
        sentences.append(
            f"Whoever finds one member of a household has found all. By {knows}, a household is found with a "
            f"probability of up to {at_most(household['max'])}, {percent(household['mean'])} on average, and "
            f"{percent(household['at_risk'])} of the households are at risk"
            + _before(before, "household", "at_risk")
            + "."
        )
    return sentences


def _before(before: RiskFigures | None, model: str, figure: str) -> str:
    figures = {} if before is None else before.get(model, {})
    return f" (before: {percent(figures[figure])})" if figures else ""


def refuse_survey(schema: Schema, job: str) -> None:
    """Refuse weights and households for a job that measures nothing by these.

    Raises
    ------
    ParameterError
    """
    columns_of_role = {
        "household": schema.household,
        "weight": () if schema.weights is None else (schema.weights,),
    }
    for role, columns in columns_of_role.items():
        if columns:
            raise ParameterError(
                f"{job} measures nothing by households or sampling weights, and column {named(columns)} has "
                f"the role {role}; give it the role identifying, which is not released either, and accept "
                "figures without"
            )
