"""What every algorithm has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incrowd.parameters import Configured

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from incrowd.classes import EquivalenceClasses
    from incrowd.frequency import FrequencyTable
    from incrowd.privacy import PrivacyModel
    from incrowd.progress import Progress
    from incrowd.recoding import Recoding
    from incrowd.schema import Style

__all__ = ["Algorithm", "all_hold", "least_size"]


@dataclass(frozen=True)
class Algorithm(Configured, ABC):
    """Searches a recoding of the keys that satisfies privacy models.

    An algorithm sees a `FrequencyTable` and nothing else of the table.
    """

    @abstractmethod
    def search(
        self,
        frequency: FrequencyTable,
        models: Sequence[PrivacyModel],
        *,
        styles: Sequence[Style],
        max_suppression: float,
        progress: Progress,
    ) -> Recoding:
        """Find a recoding.

        Parameters
        ----------
        models
            What every released class must satisfy; not empty.
        styles
            Output style per quasi-identifier.
        max_suppression
            Largest share of records that may be suppressed, 0..1.
        progress
            Told how far the search is.

        Raises
        ------
        InfeasibleError
            When no recoding that the algorithm can make satisfies the models.
        """


def least_size(models: Sequence[PrivacyModel]) -> int:
    """Return the number of records below which no class can satisfy all models."""
    return max((model.least_size for model in models), default=1)


def all_hold(models: Sequence[PrivacyModel], classes: EquivalenceClasses) -> NDArray[np.bool_]:
    """Say for each class whether it satisfies every model: bool[classes]."""
    import numpy as np

    verdict = np.ones(len(classes), np.bool_)
    for model in models:
        verdict &= model.holds(classes)
    return verdict
