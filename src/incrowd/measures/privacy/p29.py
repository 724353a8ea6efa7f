"""The P29 score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.lazy import NDArray, np
from incrowd.core.markup import InNotebooks
from incrowd.core.parameters import parameter
from incrowd.measures.privacy._one_call import Columns, read_for
from incrowd.measures.privacy.base import TOLERANCE, Monotone, SensitiveModel
from incrowd.measures.privacy.normalized_entropy import NormalizedEntropy
from incrowd.measures.privacy.results import ModelResult
from incrowd.measures.privacy.t_closeness import TCloseness

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable

_ENTROPY = NormalizedEntropy(0.0)
_DISTANCE = TCloseness(1.0, "equal")
_LARGEST_T = 0.5


@dataclass(frozen=True, slots=True)
class Offending:
    """A class that makes the score zero.

    Attributes
    ----------
    cells, records
        As in `EquivalenceClass`.
    reasons
        The conditions that it fails.
    """

    cells: dict[str, str | None]
    records: int
    reasons: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Offending({self.records:,} records, {len(self.reasons)} reasons)"


@dataclass(frozen=True, slots=True)
class P29Score(InNotebooks):
    """The P29 score of a table with the components of the score.

    Attributes
    ----------
    value
        The score; None where it is not defined, which `reasons` explain.
    k_min
        Size of the smallest class.
    l_min
        Least normalized entropy of any class and attribute.
    t_max
        Largest distance of any class and attribute to the whole table.
    entropy
        N_l': mean of `entropies`.
    distance
        N_t': mean of `distances`; None where it is not defined.
    entropies
        Per sensitive attribute the mean normalized entropy of the classes.
    distances
        Per sensitive attribute the mean over the classes of the distance, scaled so that the least is 0 and
        the largest 1; None where all are equal and `strict` was asked.
    reasons
        Why the score is zero or not defined, and what was done about a column of equal distances.
    offending
        The classes that make it zero, the smallest first.
    """

    _shown = ("value", "k_min", "l_min", "t_max", "entropies", "distances", "reasons")

    value: float | None
    k_min: int
    l_min: float
    t_max: float
    entropy: float
    distance: float | None
    entropies: dict[str, float]
    distances: dict[str, float | None]
    reasons: tuple[str, ...]
    offending: tuple[Offending, ...]

    def __repr__(self) -> str:
        score = "not defined" if self.value is None else f"{self.value:g}"
        return f"P29Score({score}; {len(self.offending)} classes make it zero)"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: figures, and no value of the table but how many classes offend."""
        document = asdict(self)
        return document | {"offending": len(self.offending)}


@dataclass(frozen=True)
class P29(SensitiveModel):
    """A single score of k-anonymity, diversity and t-closeness, which is zero if any of the three is lacking.

    The score is ``w_k (1 - 1 / k_min) + w_l N_l' + w_t (1 - N_t')``:

    - k_min is the size of the smallest class.
    - N_l' is the normalized entropy.
    - N_t' is the distance to the whole table (equal ground distance), scaled per attribute from its least to
      its largest value.

    N_l' and N_t' are averaged over classes and then over the sensitive attributes. The score is zero if a
    class has one record, if a normalized entropy is 0, or if a distance is above 0.5.

    Parameters
    ----------
    score
        Least score allowed, >= 0.
    w_k, w_l, w_t
        Weights of the three terms, >= 0; with a sum of 1 the score lies in [0, 1].
    strict
        What happens if all classes have the same distance in an attribute. The scaled distance is then 0/0.
        False counts it as 0 and says so. True leaves the score undefined; an undefined score satisfies no
        limit.

    Notes
    -----
    This is a condition on the table. A search asks of every class that it does not make the score zero. Then
    the release is measured. It is refused if it does not reach the limit.

    References
    ----------
    The P_29 score of the notebook on the diabetes data of 130 US hospitals: delta_k * delta_l * delta_t *
    (w_k (1 - 1/k_min) + w_l N_l' + w_t (1 - N_t')) with the weights 0.5, 0.25 and 0.25. Its prose asks for a
    distance below 0.5; its code, followed here, lets 0.5 pass.
    """

    score: float = parameter("least score allowed", kind=float, low=0)
    w_k: float = parameter("weight of the smallest class", kind=float, default=0.5, low=0)
    w_l: float = parameter("weight of the normalized entropy", kind=float, default=0.25, low=0)
    w_t: float = parameter("weight of the distance to the whole table", kind=float, default=0.25, low=0)
    strict: bool = parameter(
        "whether equal distances of all classes leave the score undefined", kind=bool, default=False
    )

    name: ClassVar[str] = "p29"
    summary: ClassVar[str] = "one score of class size, normalized entropy and closeness to the table"
    paper: ClassVar[str] = "the P_29 score of a study on the diabetes data of 130 US hospitals"
    limit_name: ClassVar[str] = "score"
    by_class: ClassVar[bool] = False
    # Classes only say whether the score is zero.
    needs_table: ClassVar[bool] = True
    # It is defined by the classes as they are written.
    wildcards: ClassVar[Sequence[str]] = ("value",)
    # Neither the entropies nor the scaled distances are monotone.
    monotone: ClassVar[Monotone] = Monotone(generalization=False, suppression=False)

    @property
    def least_size(self) -> int:
        """Smallest class that does not make the score zero."""
        return 2 if self.score > 0 else 1

    def attributes(self, frequency: FrequencyTable) -> Sequence[int | None]:
        """Return (None,), as all sensitive attributes are measured together; raise if there is none."""
        self.positions(frequency)
        return (None,)

    def values(self, classes: EquivalenceClasses, attribute: int | None = None) -> NDArray[np.float64]:
        """Return 0 for each class that makes the score zero, infinity for the others.

        Parameters
        ----------
        attribute
            The one attribute to look at; all of them by default.
        """
        self.check_lists(classes.frequency)
        if not len(classes):
            return np.zeros(0)
        positions = self.positions(classes.frequency) if attribute is None else [attribute]
        return np.asarray(np.minimum.reduce([self._values(classes, position) for position in positions]))

    def _values(self, classes: EquivalenceClasses, attribute: int) -> NDArray[np.float64] | NDArray[np.int64]:
        """Return 0 for each class that makes the score zero by an attribute, infinity for the others."""
        good = classes.sizes > 1
        good &= _ENTROPY.values(classes, attribute) > 0
        good &= _DISTANCE.values(classes, attribute) <= _LARGEST_T
        return np.where(good, np.inf, 0.0)

    def _measure(self, classes: EquivalenceClasses, attribute: int | None, *, asked: bool) -> ModelResult:
        result = super()._measure(classes, attribute, asked=asked)
        if result.value is None:
            return result
        score = self.of(classes, describe=False)
        result = replace(result, value=score.value, reasons=score.reasons)
        if score.value is None or score.value > 0:
            result = replace(result, weakest=None, ties=0)
        if not asked:
            return result
        return replace(result, holds=score.value is not None and score.value >= self.score - TOLERANCE)

    def of(self, classes: EquivalenceClasses, *, describe: bool = True) -> P29Score:
        """Compute the score of a table's classes.

        Parameters
        ----------
        classes
            At least one.
        describe
            Whether to describe the classes that make it zero; only for a table as it stands.

        Raises
        ------
        SchemaError
            When there is no sensitive attribute.
        ParameterError
            When a sensitive attribute has lists.
        """
        self.check_lists(classes.frequency)
        names = [counts.name for counts in classes.frequency.sensitive]
        conditions: dict[str, NDArray[np.bool_]] = {"a class of one record": classes.sizes == 1}
        entropies: dict[str, float] = {}
        distances: dict[str, float | None] = {}
        notes = []
        l_min, t_max = 1.0, 0.0
        for position, name in enumerate(names):
            entropy = _ENTROPY.values(classes, position)
            distance = _DISTANCE.values(classes, position)
            l_min, t_max = min(l_min, float(entropy.min())), max(t_max, float(distance.max()))
            entropies[name] = float(entropy.mean())
            conditions[f"a single value of {name!r}"] = entropy == 0
            conditions[f"a distance above {_LARGEST_T} in {name!r}"] = distance > _LARGEST_T
            least, extent = float(distance.min()), float(distance.max() - distance.min())
            # Distances that are equal may differ by rounding.
            if extent > 1e-12:
                distances[name] = float(((distance - least) / extent).mean())
            else:
                distances[name] = None if self.strict else 0.0
                notes.append(
                    f"every class has the same distance in {name!r}, so scaling it is 0/0; "
                    + ("the score is not defined (strict)" if self.strict else "it counts as 0")
                )
        reasons = [
            f"{int(classes_of.sum())} of {len(classes)} classes: {reason}"
            for reason, classes_of in conditions.items()
            if classes_of.any()
        ]
        defined = [distance for distance in distances.values() if distance is not None]
        mean_entropy = math.fsum(entropies.values()) / len(names)
        mean_distance = math.fsum(defined) / len(names) if len(defined) == len(names) else None
        k_min = int(classes.sizes.min())
        value: float | None = None
        if mean_distance is not None:
            value = 0.0 if reasons else (
                self.w_k * (1 - 1 / k_min) + self.w_l * mean_entropy + self.w_t * (1 - mean_distance)
            )  # fmt: skip
        failed = np.flatnonzero(np.logical_or.reduce(list(conditions.values())))
        offending = tuple(
            Offending(
                classes.cells(number),
                int(classes.sizes[number]),
                tuple(reason for reason, classes_of in conditions.items() if classes_of[number]),
            )
            for number in (classes.smallest(failed, len(failed)).tolist() if describe else ())
        )
        return P29Score(
            value, k_min, l_min, t_max, mean_entropy, mean_distance, entropies, distances,
            tuple(reasons + notes), offending,
        )  # fmt: skip


def p29(
    table: Any,
    quasi: Columns,
    sensitive: Columns,
    *,
    w_k: float = 0.5,
    w_l: float = 0.25,
    w_t: float = 0.25,
    strict: bool = False,
) -> P29Score:
    """Return the P29 score of a table with the components of the score; see `P29` and `reached`."""
    model = P29(0.0, w_k, w_l, w_t, strict)
    return model.of(read_for(model, table, quasi, sensitive))
