"""k-map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.measures.privacy._one_call import Columns, reached
from incrowd.measures.privacy.base import IdentityModel, Monotone

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable


@dataclass(frozen=True)
class KMap(IdentityModel):
    """Every released record could be at least k people of a population.

    A record's cells cover people of the population, by hierarchy, range or set. Example: the cells
    ``30-39, 02*`` cover everybody of age 35 with zip 02139. They must cover at least k people.

    Without a population, sampling weights give an estimate: the rows of a class stand for as many people as
    their weights add up to. Example: two rows of the weights 1.5 and 4 stand for 5.5 people. Every output
    says that it is an estimate.

    The model protects against an attacker who does not know who is in the table. The population table must be
    the one that the attacker has, or a smaller one.

    Parameters
    ----------
    k
        Smallest number of people allowed, >= 1.

    Notes
    -----
    A search for local recoding counts only people whose values occur in the table, because its keys hold no
    others. This errs on the safe side. Full-domain searches recode the population, too. The release itself is
    measured against the whole population.

    References
    ----------
    Sweeney, Achieving k-anonymity privacy protection using generalization and suppression, IJUFKS 10(5),
    2002, section 2 (k-map). El Emam and Dankar, Protecting privacy using k-anonymity, JAMIA 15(5), 2008.
    """

    k: int = parameter("smallest number of people of the population allowed", kind=int, low=1)

    name: ClassVar[str] = "k-map"
    summary: ClassVar[str] = "every released record could be at least k people of a population"
    paper: ClassVar[str] = "Sweeney 2002; El Emam and Dankar 2008"
    limit_name: ClassVar[str] = "k"
    needs_population: ClassVar[bool] = True
    takes_estimate: ClassVar[bool] = True
    # A merged class covers the people of the population that its parts cover.
    monotone: ClassVar[Monotone] = Monotone(generalization=True, suppression=True, absorbing=True)
    same_by_people: ClassVar[bool] = True

    def check_table(self, frequency: FrequencyTable) -> None:
        """Raise for a k above the number of people."""
        super().check_table(frequency)
        population = frequency.population
        if population is not None and self.k > population.records:
            limit = f"the population's {population.records} records"
            if population.weights is not None:
                limit = f"the {population.records} people whom all rows stand for by their sampling weights"
            raise ParameterError(f"k-map: k={self.k} is more than {limit}")

    def _values(self, classes: EquivalenceClasses) -> NDArray[np.float64] | NDArray[np.int64]:
        return classes.population


def k_map(table: Any, quasi: Columns, population: Any = None, *, weights: str | None = None) -> int:
    """Return the largest k of k-map that a table satisfies; see `KMap` and `reached`.

    Parameters
    ----------
    weights
        The column of sampling weights, for an estimate where there is no population.
    """
    return int(reached(KMap(1), table, quasi, population=population, weights=weights))
