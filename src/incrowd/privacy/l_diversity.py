"""l-diversity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from incrowd.errors import ParameterError
from incrowd.parameters import parameter
from incrowd.privacy.base import PrivacyModel, attribute_parameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.classes import EquivalenceClasses
    from incrowd.frequency import FrequencyTable

__all__ = ["LDiversity"]


@dataclass(frozen=True)
class LDiversity(PrivacyModel):
    """Every equivalence class has at least l well-represented sensitive values.

    Parameters
    ----------
    l
        Least diversity allowed, >= 1.
    kind
        ``distinct``: the number of distinct sensitive values in the class.
    attribute
        The sensitive attribute; None protects each of them on its own.

    References
    ----------
    Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, l-diversity: privacy beyond k-anonymity,
    ACM TKDD 1(1), 2007, section 4; distinct l-diversity as named in Li, Li and Venkatasubramanian,
    t-closeness, ICDE 2007, section 2.
    """

    l: int = parameter("least number of distinct sensitive values in a class", kind=int, low=1)  # noqa: E741
    kind: str = parameter("how diversity is counted", kind=str, default="distinct", choices=("distinct",))
    attribute: str | None = attribute_parameter()

    name: ClassVar[str] = "l-diversity"
    summary: ClassVar[str] = "every equivalence class has at least l distinct sensitive values"
    paper: ClassVar[str] = "Machanavajjhala et al. 2007"
    shorthand: ClassVar[str] = "l"
    limit_name: ClassVar[str] = "l"
    monotone_generalization: ClassVar[bool] = True
    monotone_suppression: ClassVar[bool] = True

    @classmethod
    def variants(cls) -> Sequence[PrivacyModel]:
        """Return one variant per kind."""
        return tuple(cls(1, kind) for kind in cls.parameters()["kind"].choices)

    @property
    def least_size(self) -> int:
        """A class needs l records to have l values."""
        return self.l

    def check_table(self, frequency: FrequencyTable) -> None:
        """Refuse an l above the number of distinct values."""
        for position in self.attributes(frequency):
            counted = frequency.sensitive[position or 0]
            if self.l > counted.present:
                raise ParameterError(
                    f"l-diversity: l={self.l} is more than the {counted.present} distinct values of "
                    f"column {counted.name!r}; lower l"
                )

    def values(self, classes: EquivalenceClasses, attribute: int | None) -> NDArray[np.float64 | np.int64]:
        """Return the number of distinct values in each class."""
        import numpy as np

        return np.diff(classes.counts(attribute or 0).indptr)
