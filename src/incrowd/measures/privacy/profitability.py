"""The profitability game."""

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


@dataclass(frozen=True)
class Profitability(IdentityModel):
    """No attack for profit pays, or publishing pays although some attacks do.

    An attack on a record costs `adversary_cost`. It succeeds with probability p = 1 / size of the record's
    class. Then it brings `adversary_gain` to the attacker, and costs the publisher `publisher_loss`. A
    published record brings the publisher `publisher_benefit`.

    Parameters
    ----------
    attack
        ``allowed``: attacks happen where they pay, and the publisher's payoff stays above 0. ``none``: an
        attack costs more than it brings.
    definition
        Whose payoff counts.

        - ``record``: the payoff of every record, as in Wan et al. and ARX. A record is attacked only if that
          pays (gain p > cost). It must then keep a payoff ``benefit - loss p`` above 0. Under ``none``,
          ``cost - gain p`` must be above 0, or there is no gain.
        - ``table``: the payoff of the table, as in PETWorks. Every class is attacked. The payoff ``benefit``
          x records - ``loss`` x (sum over classes of 1 / size) must be above 0. Under ``none``, ``gain`` x
          (sum over records of 1 / size) must be at most ``cost`` x records.
    attacker
        ``prosecutor``: knows that the person is in the table. ``journalist``: does not know it. Then the
        class of a record is the people of the population whom its cells cover. This is for ``record`` only.
    adversary_cost, adversary_gain, publisher_loss, publisher_benefit
        In one currency, >= 0.

    Notes
    -----
    The measured value is the least payoff of a record, or the payoff of the table. Under ``allowed`` it is
    what the publisher is left with. Under ``none`` it is what an attack costs less what it brings. ARX lowers
    a record's benefit by its loss of information. Here a record brings the whole benefit, as in PETWorks.

    References
    ----------
    Wan, Vorobeychik, Xia, Clayton, Kantarcioglu, Ganta, Heatherly and Malin, A game theoretic framework for
    analyzing re-identification risk, PLOS ONE 10(3), 2015. Prasser, Gaupp, Wan, Xia, Vorobeychik,
    Kantarcioglu, Kuhn and Malin, An open source tool for game theoretic health data de-identification,
    AMIA 2017.
    """

    attack: str = parameter(
        "whether attacks that pay are allowed for", kind=str, default="allowed", choices=("allowed", "none")
    )
    definition: str = parameter(
        "whose payoff counts", kind=str, default="record", choices=("record", "table")
    )
    attacker: str = parameter(
        "what the attacker knows", kind=str, default="prosecutor", choices=("prosecutor", "journalist")
    )
    adversary_cost: float = parameter("cost of an attack on a record", kind=float, default=4.0, low=0)
    adversary_gain: float = parameter("gain of a successful attack", kind=float, default=300.0, low=0)
    publisher_loss: float = parameter("loss by a successful attack", kind=float, default=300.0, low=0)
    publisher_benefit: float = parameter("benefit of a published record", kind=float, default=1200.0, low=0)

    name: ClassVar[str] = "profitability"
    summary: ClassVar[str] = "no attack for profit pays, or publishing pays although some attacks do"
    paper: ClassVar[str] = "Wan et al. 2015; Prasser et al. 2017"
    limit_name: ClassVar[str] = "payoff"
    unasked: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.attacker == "journalist" and self.definition == "table":
            raise ParameterError("profitability: attacker journalist goes with definition record only")

    @classmethod
    def variants(cls) -> Sequence[PrivacyModel]:
        """Return a variant per definition and game, with the default payoffs of ARX."""
        return tuple(
            cls(attack, definition) for definition in ("record", "table") for attack in ("allowed", "none")
        )

    @property
    def limit(self) -> float:
        """The payoff that must be exceeded, 0."""
        return 0.0

    @property
    def sign(self) -> str:
        """How the payoff must compare with 0."""
        return ">=" if self._may_be_zero else ">"

    @property
    def _may_be_zero(self) -> bool:
        return self.attack == "none" and (self.definition == "table" or self.adversary_gain == 0)

    @property
    def needs_population(self) -> bool:
        """Whether the attacker is a journalist, and so compares the table with a population."""
        return self.attacker == "journalist"

    @property
    def of_table(self) -> bool:
        """Whether the limit is on the table's total payoff rather than each record's."""
        return self.definition == "table"

    @property
    def wildcards(self) -> Sequence[str]:
        """Meanings of `*` for the payoff: a sum over classes counts each record once."""
        return ("value",) if self.definition == "table" else super().wildcards

    @property
    def monotone(self) -> Monotone:
        """Payoffs of records grow with classes, but the table's payoff loses that of suppressed classes."""
        return Monotone(generalization=True, suppression=self.definition == "record")

    def _values(self, classes: EquivalenceClasses) -> NDArray[np.float64] | NDArray[np.int64]:
        """Return each record's payoff (``record``), or the payoff that each class adds to the table's."""
        if self.definition == "table":
            sizes = classes.sizes.astype(np.float64)
            if self.attack == "allowed":
                return self.publisher_benefit * sizes - self.publisher_loss / sizes
            return self.adversary_cost * sizes - self.adversary_gain
        size = classes.population if self.attacker == "journalist" else classes.sizes
        # A record without counterpart in the population could be nobody else.
        size = np.maximum(size, 1)
        margin = self.adversary_cost - self.adversary_gain / size
        if self.attack == "none":
            return margin
        return self.publisher_benefit - np.where(margin < 0, self.publisher_loss / size, 0.0)

    def overall(self, classes: EquivalenceClasses, values: NDArray[Any]) -> float:
        """Return the least payoff of a record, or the payoff of the table."""
        return float(values.sum()) if self.definition == "table" else super().overall(classes, values)

    def accepts(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Return whether each payoff is above 0, or at least 0 for a table that must not pay an attacker."""
        return values >= 0 if self._may_be_zero else values > 0


def profitability(  # noqa: PLR0913
    table: Any,
    quasi: Columns,
    *,
    population: Any = None,
    attack: str = "allowed",
    definition: str = "record",
    attacker: str = "prosecutor",
    adversary_cost: float = 4.0,
    adversary_gain: float = 300.0,
    publisher_loss: float = 300.0,
    publisher_benefit: float = 1200.0,
) -> float:
    """Return the payoff that a table leaves; see `Profitability` and `reached`."""
    model = Profitability(
        attack, definition, attacker, adversary_cost, adversary_gain, publisher_loss, publisher_benefit
    )
    return reached(model, table, quasi, population=population)
