"""The account of a batch: the decision on each row, and the figures of the rows that leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from incrowd.core.documents import envelope
from incrowd.core.errors import TableError
from incrowd.core.lazy import NDArray, np, pl
from incrowd.release.accounts.people import survey_sentences
from incrowd.release.jobs.make.leaving_rows import LeavingRows
from incrowd.release.jobs.make.reasons import reason_table
from incrowd.release.jobs.make.released_rows import ReleasedValues, model_verdict
from incrowd_gate.points import Point
from incrowd_gate.verdict import Verdict

if TYPE_CHECKING:
    from incrowd.release.jobs.measure.assess import Assessment
    from incrowd.release.policy.policy import Policy


@dataclass(frozen=True, kw_only=True)
class BatchDecision:
    """The decision on a batch: which rows leave, and why others are suppressed or wait.

    Attributes
    ----------
    policy
        What the batch has to satisfy.
    records
        Rows of the batch, with those that were held before.
    outside
        Rows that no cell of the recoding covers; suppressed.
    unknown
        Of these, how many have a value that the recoding does not know, by quasi-identifier.
    too_small
        Rows whose class does not satisfy the models; suppressed.
    suppressed
        All suppressed rows, with those that came in as ``*`` or that the recoding suppressed.
    held_before
        Rows that an earlier batch held, and that came with this one.
    held
        Rows that wait for the next batch: neither released nor suppressed.
    waiting
        These rows as they came, raw; None unless rows are held. Do not hand them out.
    came
        The raw rows that do not wait. Do not hand them out.
    """

    policy: Policy
    records: int
    outside: int = 0
    unknown: dict[str, int] = field(default_factory=dict)
    too_small: int = 0
    suppressed: int = 0
    held_before: int = 0
    held: int = 0
    waiting: Any = None
    came: Any = None
    _reason_of_row: NDArray[np.int8] | None = None

    def rows(self) -> pl.DataFrame:
        """Return the rows of the batch that were suppressed or wait, with the reason of each.

        The numbers are those of the rows as they came in; those that were held before come after the others.
        Do not hand them out.

        Returns
        -------
        A Polars frame with ``row`` (the first has number 1) and ``reason``: the name of a `Reason`, as
        ``outside``, ``class`` or ``waiting``.

        Raises
        ------
        TableError
            When the rows are not in memory.
        """
        if self._reason_of_row is None:
            raise TableError("the rows of this batch are not in memory, so they have no numbers")
        return reason_table(self._reason_of_row)


@dataclass(frozen=True, kw_only=True)
class BatchAccount(BatchDecision, LeavingRows):
    """The account of a batch and of the rows that leave: figures, points and the verdict.

    Attributes
    ----------
    privacy
        The released rows, measured as they leave: alone, or with the earlier release if both are published as
        one. None if every row waits.
    together
        The released rows and the earlier release, measured together; None where none was named.
    published_as_one
        Whether the models hold only for both together.
    values
        What the models say of perturbed values as they are released, as in `Release`.
    points
        Dangers and losses that somebody has to answer for, as in `Release`.
    """

    privacy: Assessment | None = None
    together: Assessment | None = None
    published_as_one: bool = False
    values: ReleasedValues | None = None
    points: tuple[Point, ...] = ()
    _ends: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The verdict on the released rows."""
        return Verdict(self.points)

    @property
    def holding(self) -> str:
        """The tables of which every model holds, in words."""
        if self.table is None:
            return "nothing is released"
        if self.published_as_one:
            return "every model holds of it and the earlier release as one table, not of it alone"
        beside = "" if self.together is None else ", alone and with the earlier release"
        return f"{model_verdict(self.values)}{beside}"

    def sentences(self) -> list[str]:
        """Describe ends of ranges, survey and household risks, and risks that are not measured."""
        alone, both = (
            [] if each is None else [*survey_sentences(each.estimates, each.risk, each.quasi), *each.notes]
            for each in (self.privacy, self.together)
        )
        suppressed = self.suppression.sentences()
        if self.published_as_one:
            return [*suppressed, *self._ends, *both]
        drawn = () if self.values is None else self.values.sentences()
        together = (f"With the earlier release: {text}" for text in both)
        return [*suppressed, *self._ends, *alone, *drawn, *together]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without any value of the tables."""
        privacy, both = (
            None if each is None else each.to_dict(cells=False) for each in (self.privacy, self.together)
        )
        return {
            **envelope("batch"),
            "verdict": self.verdict.to_dict(),
            "records": self.records,
            "outside": self.outside,
            "unknown": self.unknown,
            "too_small": self.too_small,
            "suppressed": self.suppressed,
            "left_out": self.left_out,
            "suppression": self.suppression.to_dict(),
            "held_before": self.held_before,
            "held": self.held,
            "published_as_one": self.published_as_one,
            "privacy": privacy,
            "together": both,
            **({} if self.values is None else {"released_values": self.values.to_dict()}),
        }
