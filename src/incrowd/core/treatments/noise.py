"""Noise on numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.parameters import parameter
from incrowd.core.treatments._perturbing import Perturbing, decimals_of, independent, normal_of, written_to
from incrowd.core.treatments.base import Batch, Distinct, Reads

if TYPE_CHECKING:
    from incrowd.core.treatments.keys import Secret


@dataclass(frozen=True)
class Noise(Perturbing):
    """Add normal noise to numbers, or multiply numbers by noise around 1.

    ``additive`` noise has `share` of the column's standard deviation. ``multiplicative`` noise has a standard
    deviation of `share` itself, so a large number moves by more. ``correlated`` noise is additive, and that
    of several columns is correlated as the columns are: their correlations stay. Means are unchanged in
    expectation. Noise is drawn anew for every release and has no seed. Numbers keep as many decimals as the
    column has.

    Parameters
    ----------
    share
        How much noise, > 0.
    how
        ``additive``, ``multiplicative`` or ``correlated``.
    together
        All columns whose noise is correlated, this one among them, with ``+`` between: ``income+savings``.
        Give each of them the same treatment. They are needed at once, so they have to fit into memory. A row
        with a missing number in one of them gets noise that is not correlated.

    Examples
    --------
    >>> import incrowd as ic
    >>> ic.Noise(0.1).spec()
    {'noise': 0.1}

    References
    ----------
    Kim, A method for limiting disclosure in microdata based on random noise and transformation, ASA 1986;
    Templ, Kowarik and Meindl, JSS 67(4), 2015, section 4.3.
    """

    share: float = parameter(
        "noise, as a share of the standard deviation or of the number", kind=float, above=0
    )
    how: str = parameter(
        "noise is added, multiplied with, or added as columns are correlated",
        kind=str,
        choices=("additive", "multiplicative", "correlated"),
        default="additive",
    )
    together: str | None = parameter(
        "all columns whose noise is correlated, as income+savings", kind=str, optional=True
    )

    name: ClassVar[str] = "noise"
    summary: ClassVar[str] = "adds normal noise to numbers, or multiplies them by it"
    paper: ClassVar[str] = "Kim 1986"
    unlinked: ClassVar[str] = "it has a way of its own: how = 'correlated' and together"
    reads: ClassVar[Reads] = "number"
    no_promise: ClassVar[str] = (
        "Noise is no differential privacy: the largest values stay the largest, and a few per cent of noise "
        "hide little."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.how == "correlated") != (len(self._all) > 1):
            raise ParameterError(
                f"{self.name}: how = 'correlated' and together with two columns at least go together"
            )

    @property
    def _all(self) -> tuple[str, ...]:
        return () if self.together is None else tuple(sorted(self.together.split("+")))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns with correlated noise."""
        return self._all

    def reads_of(self, column: str) -> Reads:
        """Return that further columns are read as numbers."""
        return "number"

    def moves_with(self, column: str) -> tuple[str, ...]:
        """Return the columns with correlated noise, which share the draws."""
        return self._all

    @property
    def is_whole(self) -> bool:
        """Whether noise is correlated, which takes the correlations of all rows."""
        return self.how == "correlated"

    @property
    def promise(self) -> str:
        """Say how much noise there is."""
        if self.how == "multiplicative":
            return f"has noise of {self.share:.0%} of each number multiplied in"
        along = f", correlated as {self.together} are" if self.together else ""
        return f"has noise of {self.share:.0%} of its standard deviation added{along}"

    def learn(self, found: Distinct, secret: Secret | None) -> dict[str, Any]:
        """Decide how large noise is."""
        values, counts = found.values.to_numpy(), found.counts
        if not len(values):
            return {"deviation": 0.0, "decimals": 0}
        mean = np.average(values, weights=counts)
        deviation = float(np.sqrt(np.average((values - mean) ** 2, weights=counts)))
        return {"deviation": deviation, "decimals": decimals_of(found.values)}

    def treat(self, batch: Batch) -> pl.Series:
        """Add noise to the rows."""
        assert batch.draws is not None
        drawn = pl.Series(self._correlated(batch) if self.is_whole else normal_of(batch.draws))
        if self.how != "multiplicative":
            noisy = batch.values + drawn * (self.share * batch.decided["deviation"])
        else:
            noisy = batch.values * (1.0 + drawn * self.share)
        return written_to(noisy, batch.decided["decimals"])

    def _correlated(self, batch: Batch) -> NDArray[np.float64]:
        """Return standard noise of this column, correlated with the others' noise as the columns are."""
        assert batch.draws is not None
        normal = [normal_of(drawn) for drawn in independent(batch.draws, len(self._all))]
        numbers = np.column_stack([batch.beside[name].to_numpy() for name in self._all])
        complete = ~np.isnan(numbers).any(axis=1)
        column = self._all.index(batch.name)
        noise = normal[column].copy()
        spread = numbers[complete].std(axis=0) if complete.any() else np.zeros(len(self._all))
        if not (spread > 0).all():
            return noise
        values, vectors = np.linalg.eigh(np.corrcoef(numbers[complete], rowvar=False))
        # A square root of the correlation matrix, which may be singular.
        root = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
        noise[complete] = (np.column_stack(normal) @ root)[complete, column]
        return noise
