"""Rare categories under a common label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.lazy import pl
from incrowd.core.parameters import parameter
from incrowd.core.treatments.base import LINKED, Batch, Distinct, Treatment

if TYPE_CHECKING:
    from incrowd.core.treatments.keys import Secret


@dataclass(frozen=True)
class Other(Treatment):
    """Keep frequent values and replace all others by the same text.

    The one beekeeper of a town is known by the job alone. If fewer records than `least` have rare values, the
    next rarest values join them: the group is not rare itself. Which values are kept is decided once: the
    next batch gets the same, and a new value is replaced.

    Parameters
    ----------
    least
        How many records a value needs at least.
    label
        What stands for the others.
    linked
        Columns that tell the same and go along; see "Columns that tell the same" on the page of treatments.

    Examples
    --------
    >>> import incrowd as ic
    >>> import polars as pl
    >>> jobs = pl.Series(["clerk", "clerk", "beekeeper", "mayor", None])
    >>> other = ic.Other(2)
    >>> counts = jobs.drop_nulls().value_counts()
    >>> decided = other.learn(ic.treatments.Distinct("job", counts[""], counts["count"].to_numpy()), None)
    >>> other.treat(ic.treatments.Batch(jobs, decided=decided)).to_list()
    ['clerk', 'clerk', 'other', 'other', None]

    References
    ----------
    Hundepool et al., Statistical Disclosure Control, 2012, section 3.6.1 (global recoding of categories).
    """

    least: int = parameter("records that a value needs to be kept", kind=int, low=2, default=20)
    label: str = parameter("what stands for the others", kind=str, default="other")
    linked: str | None = LINKED.field(None)

    name: ClassVar[str] = "other"
    summary: ClassVar[str] = "replaces the values that few records have by one text"
    paper: ClassVar[str] = "Hundepool et al. 2012"
    no_promise: ClassVar[str] = "Values that enough records have are released as they are."
    for_quasi: ClassVar[bool] = True

    @property
    def promise(self) -> str:
        """Say which values are kept."""
        return f"has values of fewer than {self.least} records replaced by {self.label}"

    def learn(self, found: Distinct, secret: Secret | None) -> dict[str, Any]:
        """Decide which values are kept."""
        counted = pl.DataFrame({"value": found.values, "records": found.counts}).sort("records", "value")
        # Of 3, 4, 25 and 90 records with at least 20, the first two are rare, and the third joins them.
        before = pl.col("records").cum_sum() - pl.col("records")
        rare = (pl.col("records") < self.least) | ((before > 0) & (before < self.least))
        return {"values": sorted(counted.filter(~rare)["value"])}

    def treat(self, batch: Batch) -> pl.Series:
        """Replace the rare values of the rows."""
        return with_label(batch.values, batch.values, batch.decided["values"], self.label)


def with_label(came: pl.Series, values: pl.Series, kept: Sequence[str], label: str) -> pl.Series:
    """Return frequent values and a label for all others, leaving missing values missing."""
    frequent = pl.lit(values).is_in(pl.Series(kept, dtype=pl.String).implode()).fill_null(value=False)
    labelled = pl.when(frequent).then(pl.lit(values)).otherwise(pl.lit(label))
    return pl.select(pl.when(pl.lit(came).is_not_null()).then(labelled)).to_series()
