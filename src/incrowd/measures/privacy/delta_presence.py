"""delta-presence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.measures.privacy._one_call import Columns, reached
from incrowd.measures.privacy.base import IdentityModel, Monotone, PrivacyModel

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses


def _presence(classes: EquivalenceClasses) -> NDArray[np.float64]:
    """Return each class's size over the people in the population: float64[classes], infinite for none."""
    people = classes.population
    shares = np.full(len(classes), np.inf)
    np.divide(classes.sizes, people, out=shares, where=people > 0)
    return shares


@dataclass(frozen=True)
class DeltaPresence(IdentityModel):
    """Nobody learns with more than a given certainty that a person is in the table, or is not.

    The share of a class is its number of records over the number of people whom its cells cover in the
    population. Every share must lie in ``delta_min .. delta_max``. Example: a class of 2 records that covers
    10 people has the share 0.2.

    People whom no class covers make a class of share 0. Records without any counterpart in the population
    have an infinite share, which fails. Such a table is not part of that population.

    Parameters
    ----------
    delta_max
        Largest share allowed, in [0, 1].
    delta_min
        Least share allowed, in [0, 1].

    Notes
    -----
    Where cells of several classes cover the same people, each class counts them.

    A search for local recoding counts only people whose values occur in the table. This errs on the safe side
    of ``delta_max``, and on the other side of ``delta_min``. Full-domain searches recode the population, too.
    The release itself is measured against the whole population. It is refused if it falls short.

    References
    ----------
    Nergiz, Atzori and Clifton, Hiding the presence of individuals from shared databases, SIGMOD 2007,
    definition 3.
    """

    delta_max: float = parameter(
        "largest share of a population class in the table", kind=float, low=0, high=1
    )
    delta_min: float = parameter(
        "least share of a population class in the table", kind=float, default=0.0, low=0, high=1
    )

    name: ClassVar[str] = "delta-presence"
    summary: ClassVar[str] = "the table holds a share within bounds of every class of the population"
    paper: ClassVar[str] = "Nergiz, Atzori and Clifton 2007"
    limit_name: ClassVar[str] = "delta_max"
    more_is_safer: ClassVar[bool] = False
    needs_population: ClassVar[bool] = True
    # A share of the population cannot count records that another class covers.
    wildcards: ClassVar[Sequence[str]] = ("value", "conservative")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta_min > self.delta_max:
            raise ParameterError("delta-presence: delta_min must be at most delta_max")

    @property
    def needs_table(self) -> bool:
        """Whether people outside every class can fail the lower bound."""
        return self.delta_min > 0

    @property
    def monotone(self) -> Monotone:
        """Merged shares lie between the shares of the parts, and suppression leaves a share of 0."""
        return Monotone(generalization=True, suppression=self.delta_min == 0)

    def parts(self) -> Sequence[PrivacyModel]:
        """Return the upper and the lower bound."""
        return (self, _Least(self.delta_min))

    def _values(self, classes: EquivalenceClasses) -> NDArray[np.float64] | NDArray[np.int64]:
        return _presence(classes)


@dataclass(frozen=True)
class _Least(IdentityModel):
    delta_min: float = parameter("least share", kind=float, low=0, high=1)

    name: ClassVar[str] = DeltaPresence.name
    limit_name: ClassVar[str] = "delta_min"

    @property
    def monotone(self) -> Monotone:
        return Monotone(generalization=True, suppression=self.delta_min == 0)

    def _values(self, classes: EquivalenceClasses) -> NDArray[np.float64] | NDArray[np.int64]:
        return _presence(classes)

    def overall(self, classes: EquivalenceClasses, values: NDArray[Any]) -> float:
        return 0.0 if classes.outside else super().overall(classes, values)


def delta_presence(table: Any, quasi: Columns, population: Any) -> tuple[float, float]:
    """Return the least and the largest share that a table has; see `DeltaPresence` and `reached`."""
    model = DeltaPresence(1.0)
    least, most = (reached(part, table, quasi, population=population) for part in reversed(model.parts()))
    return least, most
