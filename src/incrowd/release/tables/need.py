"""How wide the interval of each suppressed cell must be."""

from __future__ import annotations

from dataclasses import dataclass, replace

from incrowd.core.lazy import NDArray, np
from incrowd.release.tables.audit import Intervals


@dataclass(frozen=True)
class Need:
    """The widths that the intervals of suppressed cells must have.

    Attributes
    ----------
    values
        float64[cells]: the true values.
    width
        float64[cells]: the least difference of the largest and the least value that fit.
    slack
        float64[cells]: how far above and how far below the true value they must reach, as the rules of
        dominance and p % ask for.
    share
        The interval is also at least this share of its largest value wide, 0..1.
    floor
        float64[cells]: the least value that a suppressed cell can have: 1 for counts where zeros are always
        shown, else 0. One number stands for all.
    whole
        Whether values are whole numbers.
    """

    values: NDArray[np.float64]
    width: NDArray[np.float64]
    slack: NDArray[np.float64]
    share: float = 0.0
    floor: NDArray[np.float64] | float = 0.0
    whole: bool = True

    @property
    def floors(self) -> NDArray[np.float64]:
        """float64[cells]: the floor of each cell."""
        return np.broadcast_to(self.floor, self.values.shape)

    @property
    def enough(self) -> NDArray[np.float64] | None:
        """The widths at which an interval needs no further look; None where the ends count, too."""
        return None if self.share or self.slack.any() else self.width

    def scaled(self, factor: float) -> Need:
        """Return the need of the same values in another unit."""
        return replace(
            self, values=self.values * factor, width=self.width * factor, slack=self.slack * factor,
            floor=self.floors * factor,
        )  # fmt: skip

    def bounds(self, hidden: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the bounds of each cell by the cell's publication alone: the least and the largest value."""
        return np.where(hidden, self.floor, self.values), np.where(hidden, np.inf, self.values)

    def shortfall(
        self, cells: NDArray[np.int64], ends: Intervals, *, above: bool = False
    ) -> NDArray[np.float64]:
        """Return float64[cells]: by how much the interval of each is too narrow; 0 for a safe cell.

        With `above`, an interval need reach far enough above the true value alone.

        Examples
        --------
        A count of 3 that lies between 2 and 6, where it must be open by 5:

        >>> need = Need(np.array([3.0]), np.array([5.0]), np.array([0.0]))
        >>> need.shortfall(np.array([0]), Intervals(np.array([2.0]), np.array([6.0])))
        array([1.])
        """
        value, slack = self.values[cells], self.slack[cells]
        beyond = value + slack - ends.upper
        if not above:
            # No value is below its floor.
            beyond = np.maximum(beyond, ends.lower - np.maximum(value - slack, self.floors[cells]))
        # Whatever is not bounded is wide enough.
        upper = np.where(np.isinf(ends.upper), 0.0, ends.upper)
        width = np.maximum(self.width[cells], self.share * upper) - ends.widths
        return np.maximum(np.maximum(width, np.where(slack > 0, beyond, 0.0)), 0.0)
