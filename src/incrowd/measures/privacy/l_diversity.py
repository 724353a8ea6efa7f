"""l-diversity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np
from incrowd.core.parameters import parameter
from incrowd.measures.privacy._one_call import Columns, reached
from incrowd.measures.privacy._parts import hitting_numbers, part_shares
from incrowd.measures.privacy.base import ATTRIBUTE, JOINT, Monotone, PrivacyModel, SensitiveModel

if TYPE_CHECKING:
    from incrowd.core.table.classes import EquivalenceClasses
    from incrowd.core.table.frequency import FrequencyTable


@dataclass(frozen=True)
class LDiversity(SensitiveModel):
    """Every equivalence class has at least l well-represented sensitive values.

    Parameters
    ----------
    l
        Least diversity allowed, >= 1; a whole number for the kinds ``distinct`` and ``recursive``.
    kind
        How diversity is counted.

        - ``distinct``: the number of distinct sensitive values in the class.
        - ``entropy``: exp of the Shannon entropy of the class. So the limit reads entropy >= log l.
        - ``grassberger``: the same with Grassberger's estimate of the entropy, which corrects for small
          classes. It is at most the number of distinct values.
        - ``grassberger-arx``: the same as ARX computes it; see the notes.
        - ``recursive``: the largest l for which the class is recursively (c, l)-diverse: r1 < c (rl + ... +
          rm). Here r1, ..., rm are the counts of the m values of the class in descending order. It is 0 if
          not even l = 1 holds.
    c
        The c of the recursive kind, > 0; only there.
    attribute
        The sensitive attribute; None protects each of them on its own.
    joint
        Whether the other sensitive attributes count as quasi-identifiers, so that knowing one of them
        does not give away another.

    Notes
    -----
    Where cells are lists (`Attribute.parts`), the diversity of a class is the least of two: that of the whole
    texts, and that of the parts. By kind, that of the parts is:

    - ``distinct``: the fewest parts such that every record of the class has one of them. If all records share
      a part, it is 1. A record without a part has the part "missing". Parts that some record has alone are
      counted all, and of the others at most 10, or as many as reach l.
    - the other kinds: 1 over the share of the class that has its most frequent part; for ``recursive`` the
      whole number below. So no part may be in more than 1/l of the records.

    With Grassberger's G, the estimate is ln n - (sum of n_i G(n_i)) / n. ARX has G(n) in the place of ln n.
    It adds up the values in the order of its hash table, and a class fails as soon as the sum is too large. A
    value that one record has lowers the sum, so the order of values decides about a class.
    ``grassberger-arx`` takes the order in which the sum becomes largest. So a class that holds here holds in
    ARX.

    References
    ----------
    Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, l-diversity: privacy beyond k-anonymity,
    ACM TKDD 1(1), 2007, definitions 4.1 (entropy) and 4.2 (recursive); distinct l-diversity as named in Li,
    Li and Venkatasubramanian, t-closeness, ICDE 2007, section 2.
    Grassberger, Entropy estimates from insufficient samplings, arXiv:physics/0307138, 2003.
    """

    l: float = parameter("least diversity of the sensitive values in a class", kind=float, low=1)  # noqa: E741
    kind: str = parameter(
        "how diversity is counted",
        kind=str,
        default="distinct",
        choices=("distinct", "entropy", "grassberger", "grassberger-arx", "recursive"),
    )
    c: float | None = parameter(
        "how much the most frequent value may outweigh the tail; for the recursive kind",
        kind=float,
        low=0,
        optional=True,
    )
    attribute: str | None = ATTRIBUTE.field(None)
    joint: bool = JOINT.field(default=False)

    name: ClassVar[str] = "l-diversity"
    summary: ClassVar[str] = "every equivalence class has at least l well-represented sensitive values"
    paper: ClassVar[str] = "Machanavajjhala et al. 2007"
    shorthand: ClassVar[str] = "l"
    limit_name: ClassVar[str] = "l"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind in ("distinct", "recursive") and self.l != int(self.l):
            raise ParameterError(
                f"l-diversity: l must be a whole number for kind {self.kind}, got {self.l!r}"
            )
        if (self.kind == "recursive") != (self.c is not None):
            raise ParameterError("l-diversity: c must be given for kind recursive, and for no other")

    @classmethod
    def variants(cls) -> Sequence[PrivacyModel]:
        """Return a variant per kind, the recursive kind with the c = 3 of the paper's experiments."""
        kinds = ("distinct", "entropy", "grassberger", "grassberger-arx")
        return (*(cls(1, kind) for kind in kinds), cls(1, "recursive", 3))

    @property
    def least_size(self) -> int:
        """Smallest class that can have l values."""
        return math.ceil(self.l)

    def check_table(self, frequency: FrequencyTable) -> None:
        """Raise for an l above the number of distinct values."""
        for position in self.positions(frequency):
            counted = frequency.sensitive[position]
            limits = {"values": counted.present}
            if counted.domain.parts is not None:
                limits["parts"] = int(np.count_nonzero(counted.part_totals))
            for kind, count in limits.items():
                if self.l > count:
                    raise ParameterError(
                        f"l-diversity: l={self.l} is more than the {count} distinct {kind} of column "
                        f"{counted.name!r}; lower l"
                    )

    @property
    def monotone(self) -> Monotone:
        """The corrected estimate of a merged class can be lower than that of each part."""
        # Joint, the values of the other attributes split classes that stay as they were.
        absorbing = self.kind == "distinct" and not self.joint
        return Monotone("grassberger" not in self.kind, suppression=True, absorbing=absorbing)

    @property
    def monotone_by_people(self) -> Monotone:
        """Distinct values stay distinct, but shares of a merged class may leave the range of the parts."""
        distinct = self.kind == "distinct" and not self.joint
        return Monotone(generalization=distinct, suppression=True, absorbing=distinct)

    def holds(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Return whether each class satisfies the model, counting no more distinct values than l."""
        if self.kind != "distinct" or not self.counts_records(classes):
            return super().holds(classes)
        each = (classes.have_values(at, self.least_size) for at in self.positions(classes.frequency))
        return np.asarray(np.logical_and.reduce(list(each)))

    def _lost(
        self, classes: EquivalenceClasses, attribute: int, failing: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Count the records above the cap under which the values are diverse.

        A class with fewer than l values has no diverse part, so it loses every record.
        """
        if "grassberger" in self.kind:
            return super()._lost(classes, attribute, failing)
        from incrowd.core.kernels.diversity import beyond_entropy, beyond_tail

        counts = classes.counts(attribute)
        if self.kind == "entropy":
            return beyond_entropy(counts, failing, self.l)
        if self.kind == "recursive":
            return beyond_tail(counts, failing, int(self.l), float(self.c or 0))
        return np.where(failing, classes.sizes, 0)

    def _values(self, classes: EquivalenceClasses, attribute: int) -> NDArray[np.float64] | NDArray[np.int64]:
        counts = classes.counts(attribute)
        if self.kind == "distinct":
            return np.diff(counts.indptr)
        if self.kind == "entropy":
            return classes.effective_values(attribute)
        if "grassberger" in self.kind:
            from incrowd.core.kernels.diversity import grassberger_values

            arx = self.kind == "grassberger-arx"
            return grassberger_values(counts, classes.occurrences(attribute), arx=arx)
        from incrowd.core.kernels.diversity import recursive_levels

        return recursive_levels(counts, float(self.c or 0))

    def _part_values(
        self, classes: EquivalenceClasses, attribute: int
    ) -> NDArray[np.float64] | NDArray[np.int64]:
        if self.kind == "distinct":
            return hitting_numbers(classes, attribute, self.least_size)
        if self.kind == "recursive":
            return classes.sizes // classes.most_frequent(attribute)
        return 1 / part_shares(classes, attribute)


def l_diversity(
    table: Any,
    quasi: Columns,
    sensitive: Columns,
    *,
    kind: str = "distinct",
    c: float | None = None,
    attribute: str | None = None,
    joint: bool = False,
) -> float:
    """Return the largest l for which a table is l-diverse; see `LDiversity` and `reached`."""
    return reached(LDiversity(1, kind, c, attribute, joint), table, quasi, sensitive)
