"""t-closeness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.measures.privacy._one_call import Columns, reached
from incrowd.measures.privacy._parts import part_distances
from incrowd.measures.privacy.base import ATTRIBUTE, JOINT, TOLERANCE, Monotone, PrivacyModel, SensitiveModel

if TYPE_CHECKING:
    from incrowd.core.kernels.distances import Tree
    from incrowd.core.kernels.grouping.counting import Counts
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.frequency import FrequencyTable

MAXIMAL = "maximal-frequency-difference"


@dataclass(frozen=True)
class TCloseness(SensitiveModel):
    """The sensitive values of every class are distributed nearly as in the whole table.

    The distance is the Earth Mover's Distance unless another is named. The whole table includes suppressed
    records.

    Parameters
    ----------
    t
        Largest distance allowed, in [0, 1].
    distance
        Ground distance of two values.

        - ``ordered``: the difference of ranks over m - 1. The m distinct numbers or dates of the table are in
          order, and a missing value comes last.
        - ``hierarchical``: the height of the lowest common ancestor over the height of the hierarchy.
        - ``equal``: 1.
        - ``auto``: hierarchical if the attribute has a hierarchy. Otherwise ordered for numbers and dates,
          and equal for categories.
        - ``maximal-frequency-difference`` is no Earth Mover's Distance. It is the largest absolute difference
          of a value's shares, over the values that occur in the class. It misses a value that the class
          lacks. Some call it a Kolmogorov-Smirnov distance, which it is not.
    attribute
        The sensitive attribute; None protects each of them on its own.
    joint
        Whether the other sensitive attributes count as quasi-identifiers.

    Notes
    -----
    Where cells are lists (`Attribute.parts`), each part is an attribute of its own, which a record has or
    not. The distance of a class is the largest of that of the whole texts, and of the differences between
    the shares of a part in the class and in the table. The maximal frequency difference looks only at parts
    that occur in the class.

    References
    ----------
    Li, Li and Venkatasubramanian, t-closeness: privacy beyond k-anonymity and l-diversity, ICDE 2007,
    section 3 (definition 2) and section 4 (the three distances).
    """

    t: float = parameter("largest distance to the whole table", kind=float, low=0, high=1)
    distance: str = parameter(
        "ground distance of two values",
        kind=str,
        default="auto",
        choices=("auto", "ordered", "hierarchical", "equal", MAXIMAL),
    )
    attribute: str | None = ATTRIBUTE.field(None)
    joint: bool = JOINT.field(default=False)

    name: ClassVar[str] = "t-closeness"
    summary: ClassVar[str] = "each class has nearly the table's distribution of sensitive values, up to t"
    paper: ClassVar[str] = "Li, Li and Venkatasubramanian 2007"
    shorthand: ClassVar[str] = "t"
    limit_name: ClassVar[str] = "t"
    more_is_safer: ClassVar[bool] = False

    @classmethod
    def variants(cls) -> Sequence[PrivacyModel]:
        """Return the automatic distance and the maximal frequency difference."""
        return (cls(1.0), cls(1.0, MAXIMAL))

    def check_table(self, frequency: FrequencyTable) -> None:
        """Raise for a distance that an attribute does not support."""
        for position in self.positions(frequency):
            self.distance_of(frequency.sensitive[position].domain)

    def distance_of(self, domain: Domain) -> str:
        """Return the ground distance used for an attribute.

        Raises
        ------
        ParameterError
            When the attribute has no order or no hierarchy and was asked to.
        """
        if self.distance == "auto":
            if domain.hierarchy is not None:
                return "hierarchical"
            return "ordered" if domain.kind != "category" else "equal"
        if self.distance == "hierarchical" and domain.hierarchy is None:
            raise ParameterError(
                f"t-closeness: column {domain.name!r} has no hierarchy; give it one or another distance"
            )
        if self.distance == "ordered" and domain.kind == "category":
            raise ParameterError(
                f"t-closeness: column {domain.name!r} holds neither numbers nor dates; "
                "use distance equal or hierarchical"
            )
        return self.distance

    def details(self, frequency: FrequencyTable, attribute: int) -> dict[str, Any]:
        """Return the distance that was used."""
        return {"distance": self.distance_of(frequency.sensitive[attribute].domain)}

    @property
    def monotone(self) -> Monotone:
        """Whether the distance is convex, as Earth Mover's Distances are."""
        return Monotone(generalization=self.distance != MAXIMAL, suppression=True)

    def bounds_people(self, frequency: FrequencyTable) -> bool:
        """Whether all values are equally far apart, for which a bound is known."""
        domains = (frequency.sensitive[position].domain for position in self.positions(frequency))
        return not self.is_joint and all(
            self.distance_of(domain) == "equal" and domain.parts is None for domain in domains
        )

    def certain_losses(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        """Bound from below the records to suppress until the others are close enough; see `most_kept`.

        In an order of values: let the share x of a class leave. The class is a mixture of what is kept, at
        most t away, and of what leaves, at most 1 away. So its distance d is at most (1 - x) t + x.

        People do not add up. But however the class is divided, nobody who is kept counts less often than in
        the class, and no more often than their records; see `lost_of_pairs`.
        """
        attributes = self.positions(classes.frequency)
        people = classes.counted
        several = people.frequency.people.listed is not None and not self.bounds_people(people.frequency)
        lists = any(people.frequency.sensitive[at].domain.parts is not None for at in attributes)
        apart = any(people.singles(at) is not None for at in attributes)
        if self.is_joint or several or lists or apart:
            return super().certain_losses(classes)
        lost = np.zeros(len(classes), np.int64)
        for attribute in attributes:
            if people.frequency.people.listed is not None:
                lost = np.maximum(lost, self._lost_people(people, attribute))
                continue
            distances = np.asarray(self.values(people, attribute), np.float64)
            far = np.flatnonzero(~self.accepts(distances))
            sizes = people.sizes[far]
            most = self._most_kept(people, attribute, far, distances[far])
            # Rounded up, so that a rounding error never raises the bound.
            least = np.ceil(sizes - np.minimum(most, sizes) * (1 + 1e-9) - 1e-6)
            lost[far] = np.maximum(lost[far], np.maximum(least, 1).astype(np.int64))
        return lost

    def _most_kept(
        self,
        classes: EquivalenceClasses,
        attribute: int,
        far: NDArray[np.int64],
        distances: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Bound the records that can be kept of classes that are too far away: float64[far]."""
        from incrowd.core.kernels.distances import flat_tree, most_kept

        counted = classes.frequency.sensitive[attribute]
        distance = self.distance_of(counted.domain)
        if distance == "ordered":
            # Whoever is too far away has a distance above t, so t is below 1.
            return classes.sizes[far] * (1 - distances) / (1 - self.t)
        tree = _tree(counted.domain) if distance == "hierarchical" else flat_tree(len(counted.totals))
        return most_kept(far, classes.counts(attribute), counted.totals, tree, self.t + TOLERANCE)

    def _lost_people(self, people: EquivalenceClasses, attribute: int) -> NDArray[np.int64]:
        """Bound from below the records that each class loses if all values are equally far apart."""
        from incrowd.core.kernels.clusters.keyed_classes import lost_of_pairs

        assert people.rows is not None
        pairs, records = people.counts(attribute), people.rows.counts(attribute)
        if not np.array_equal(pairs.codes, records.codes):
            return np.zeros(len(people), np.int64)
        totals = people.frequency.sensitive[attribute].totals
        return lost_of_pairs(pairs, records, totals / totals.sum(), self.t + TOLERANCE)

    def _values(self, classes: EquivalenceClasses, attribute: int) -> NDArray[np.float64] | NDArray[np.int64]:
        from incrowd.core.kernels import distances

        counted = classes.frequency.sensitive[attribute]
        counts, sizes = classes.counts(attribute), classes.occurrences(attribute)
        domain = counted.domain
        distance = self.distance_of(domain)
        if distance == MAXIMAL:
            return distances.frequency_differences(counts, sizes, counted.totals)
        if distance == "equal":
            return distances.equal_distances(counts, sizes, counted.totals)
        if distance == "hierarchical":
            return distances.hierarchical_distances(counts, sizes, counted.totals, _tree(domain))
        counts, totals = _by_number(classes, attribute)
        if len(counts.codes):
            # Somebody who writes a number in two ways counts once.
            sizes = np.add.reduceat(counts.counts, counts.indptr[:-1])
        return distances.ordered_distances(counts, sizes, totals)

    def _part_values(self, classes: EquivalenceClasses, attribute: int) -> NDArray[np.float64]:
        return part_distances(classes, attribute, absent=self.distance != MAXIMAL)


def t_closeness(
    table: Any,
    quasi: Columns,
    sensitive: Columns,
    *,
    distance: str = "auto",
    attribute: str | None = None,
    joint: bool = False,
) -> float:
    """Return the least t for which a table is t-close; see `TCloseness` and `reached`."""
    return reached(TCloseness(1.0, distance, attribute, joint), table, quasi, sensitive)


def _tree(domain: Domain) -> Tree:
    from incrowd.core.kernels.distances import Tree

    return Tree(domain.tree.leaves, domain.tree.parents, domain.tree.heights)


def _by_number(classes: EquivalenceClasses, attribute: int) -> tuple[Counts, NDArray[np.int64]]:
    """Rank the occurring values by number, if the domain has another order or further values."""
    from incrowd.core.kernels.grouping.counting import Counts, class_counts
    from incrowd.core.table.domain import rank_values
    from incrowd.core.table.wildcard_classes import counts_by_number

    counted, counts = classes.frequency.sensitive[attribute], classes.counts(attribute)
    domain, totals = counted.domain, counted.totals
    if domain.hierarchy is None and totals.all():
        return counts, totals
    present = np.flatnonzero(totals)
    numeric = present[present != domain.missing]
    # Under a hierarchy 1 and 1.0 are two leaves, but they are one number.
    values, new_ranks = rank_values(
        [domain.values[rank] or "" for rank in numeric], domain.numbers[numeric], domain.kind
    )
    ranks = np.full(domain.size, -1, np.int32)
    ranks[numeric] = new_ranks
    count = len(values)
    if len(numeric) < len(present):
        ranks[domain.missing] = count
        count += 1
    if counted.by_number is not None and classes.frequency.people.listed is not None:
        people = np.zeros(count, np.int64)
        people[ranks[present]] = counted.by_number[present]
        return counts_by_number(classes, attribute, ranks, count), people
    # One entry per value makes `class_counts` sort each class's entries again.
    entries = np.arange(len(counts.codes), dtype=np.int64)
    single = Counts(np.append(entries, len(entries)), ranks[counts.codes], counts.counts)
    merged = np.bincount(ranks[present], totals[present], count).astype(np.int64)
    return class_counts(counts.indptr, entries, single, count), merged
