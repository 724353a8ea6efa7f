"""Household risk: an attacker that finds a member finds the entire household."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.lazy import np
from incrowd.core.markup import InNotebooks
from incrowd.core.parameters import Parameter
from incrowd.measures.privacy._one_call import Columns, read_for
from incrowd.measures.privacy.k_anonymity import KAnonymity
from incrowd.measures.risk.base import RiskModel
from incrowd.measures.risk.individual import individual_risk, risk_of_classes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from incrowd.core.table.classes import EquivalenceClasses

_SLACK = 1e-12
"""What a risk may be above the threshold because logarithms were added up."""
_THRESHOLD = Parameter(float, "risk above which a household is at risk", low=0, high=1)


@dataclass(frozen=True)
class Household(RiskModel):
    """Risk that any member of a household is found, 1 - product of (1 - r) over the members.

    The risk r of a member is 1 / (size of its class). If the rows have sampling weights, it is the individual
    risk. A person with several rows is one member, with the largest risk of these. The table needs columns of
    the role household.

    Parameters
    ----------
    threshold
        Households with a larger risk are at risk.

    References
    ----------
    Hundepool et al., Statistical Disclosure Control, Wiley 2012, section 3.3 (household risk).
    """

    threshold: float = _THRESHOLD.field(0.2)

    name: ClassVar[str] = "household"
    summary: ClassVar[str] = "risk that any member of a household is found, which exposes them all"
    paper: ClassVar[str] = "Hundepool et al. 2012"
    needs: ClassVar[str] = "households"

    def measure(self, classes: EquivalenceClasses) -> dict[str, float]:
        """Return the largest and mean risk of households, and the share of households at risk."""
        figures = household_figures(classes, self.threshold)
        return {name: figures.get(name, 0.0) for name in ("max", "mean", "at_risk")}


def household_figures(classes: EquivalenceClasses, threshold: float = 0.2) -> dict[str, float]:
    """Return the figures of `HouseholdRisk` without the risks, or nothing without households."""
    homes, people = classes.frequency.survey.households, classes.represented
    if homes is None or not len(classes):
        return {}
    risk_of_class = 1 / classes.sizes if people is None else risk_of_classes(classes.sizes, people)
    risks, times, rows = homes.risks(classes.of_key(risk_of_class))
    households = int(times.sum())
    return {
        "households": households,
        "unnamed": homes.unnamed,
        "mean": math.fsum(risks * times) / households,
        "max": float(risks.max()),
        "at_risk": float(times[risks > threshold + _SLACK].sum()) / households,
        "expected": math.fsum(risks * rows),
    }


@dataclass(frozen=True, eq=False)
class HouseholdRisk(InNotebooks):
    """How easily the households of a table are found.

    Attributes
    ----------
    risks
        float64[rows] in [0, 1]: the risk of each row's household.
    households
        Number of households.
    unnamed
        Rows without a household; each is a household of its own.
    mean, max
        Over the households.
    at_risk
        Share of the households whose risk is above the threshold.
    expected
        Rows that are expected to be found: the sum of `risks`.
    """

    _shown = ("households", "unnamed", "mean", "max", "at_risk", "expected")

    risks: NDArray[np.float64]
    households: int
    unnamed: int
    mean: float
    max: float
    at_risk: float
    expected: float

    def __repr__(self) -> str:
        return f"HouseholdRisk({self.households:,} households, mean {self.mean:.4g}, largest {self.max:.4g})"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON, without the risks of the rows."""
        return {name: value for name, value in asdict(self).items() if name != "risks"}


def household_risk(
    table: Any,
    quasi: Columns,
    household: str,
    weights: ArrayLike | str | None = None,
    *,
    threshold: float = 0.2,
) -> HouseholdRisk:
    """Measure the risk that any member of a household is found.

    A household of members with the risks r has the risk 1 - product of (1 - r). Example: two members who
    share their classes with one other record each have 1/2, and their household has 3/4.

    Parameters
    ----------
    table
        A pandas, Polars or PyArrow table, or the path of a CSV or Parquet file.
    quasi
        Names of the quasi-identifiers.
    household
        The column that says which household a row belongs to. A row without one is a household of its own.
    weights
        Sampling weights as in `individual_risk`, whose risks are then taken. Without them the table is all
        there is, and the risk of a row is 1 / (size of its class).
    threshold
        Risk above which a household is at risk.

    Raises
    ------
    ParameterError
        When a weight or the threshold is out of range.
    InputError
        When the table cannot be read or lacks a column.

    References
    ----------
    Hundepool et al., Statistical Disclosure Control, Wiley 2012, section 3.3 (household risk); the manual of
    mu-Argus 5.1, section 2.4.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"home": [1, 1, 2, 3], "age": ["30", "40", "30", "40"]})
    >>> household_risk(people, ["age"], "home").risks.tolist()
    [0.75, 0.75, 0.5, 0.5]
    """
    from incrowd.engines import engine_for, loaded

    threshold = _THRESHOLD.check(threshold, "household_risk", "threshold")
    table = loaded(table)
    if weights is None:
        frequency = read_for(KAnonymity(1), table, quasi).frequency
        risks = np.append(1 / frequency.weights, 0.0)[frequency.key_of_row("household_risk")]
    else:
        risks = individual_risk(table, quasi, weights)
    home, unnamed = engine_for(table).numbered([household])
    # A risk of 1 has the logarithm of nothing left: minus infinity.
    with np.errstate(divide="ignore"):
        hidden = np.bincount(home, np.log1p(-risks))
    of_home = -np.expm1(hidden)
    return HouseholdRisk(
        risks=of_home[home],
        households=len(of_home),
        unnamed=unnamed,
        mean=float(of_home.mean()),
        max=float(of_home.max()),
        at_risk=float((of_home > threshold + _SLACK).mean()),
        expected=float(of_home[home].sum()),
    )
