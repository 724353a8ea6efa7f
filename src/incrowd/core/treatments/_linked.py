"""Columns that follow a treated column because of the same information."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from incrowd.core.lazy import pl
from incrowd.core.treatments._perturbing import decimals_of
from incrowd.core.treatments.base import Batch, Reads, Treatment

REDACTED = "[redacted]"
_OF = 10
"""Records that a mean of linked numbers or days needs."""
_AT_LEAST = 2
"""Different raw values that have to be behind a treated one before a linked value stays."""


def _of_lead(name: str, meaning: str) -> Any:
    """Return a property of the lead's treatment."""
    return property(lambda linked: getattr(linked.of, name), doc=meaning)


@dataclass(frozen=True)
class Linked(Treatment):
    """Limit a column to the information of a treated column.

    Of all records that share a treated value, the linked column has one value. That is the one that they all
    have, if there is but one. Else numbers and days become their mean, and texts are redacted. Dates that go
    along with shifted or cut ones move by as many days.

    A value stays, or is averaged, only if at least two different raw values are behind the treated one: else
    it would tell which it was. Means are those of at least ten records. What has none becomes missing.

    Parameters
    ----------
    lead
        The treated column.
    of
        Its treatment.
    kind
        How the linked column is read; ``auto`` where its values decide.
    """

    lead: str
    of: Treatment
    kind: Literal["text", "number", "date", "auto"] = "auto"

    name: ClassVar[str] = "linked"

    def __post_init__(self) -> None:
        """Check nothing: this follows from another treatment."""

    @property
    def reads(self) -> Reads:  # type: ignore[override]
        """How the column is read."""
        return "text" if self.kind == "auto" else self.kind

    for_quasi = _of_lead("for_quasi", "Whether a quasi-identifier can follow.")
    no_promise = _of_lead("no_promise", "The limits of the lead's treatment.")
    perturbs = _of_lead("perturbs", "Whether equal values may become others.")
    key_source = _of_lead("key_source", "Where the key of the lead is.")
    keeps_time = _of_lead("keeps_time", "Whether times of the day stay as in the lead.")

    @property
    def promise(self) -> str:
        """Name the treated column that is followed."""
        if self.of.moves_dates:
            return f"moves by as many days as {self.lead}"
        return f"goes along with {self.lead}, and has one value for each value of it"

    @property
    def columns(self) -> tuple[str, ...]:
        """The lead, and the columns read by the lead's treatment."""
        return (self.lead, *self.of.columns)

    def reads_of(self, column: str) -> Reads:
        """Return how the lead's treatment reads a column."""
        return self.of.reads if column == self.lead else self.of.reads_of(column)

    def settings(self) -> dict[str, Any]:
        """Return the name of the lead."""
        return {"lead": self.lead}

    def spec(self) -> dict[str, Any]:
        """Return the name of the lead for an account, since a policy names linked columns at the lead."""
        return {self.name: self.lead}

    def published(self) -> Linked:
        """Return the treatment without the source of a key."""
        return replace(self, of=self.of.published())

    def of_lead(self, batch: Batch) -> Batch:
        """Return the rows of the lead as input of the lead's treatment."""
        beside = {
            name: values
            for name, values in batch.beside.items()
            if name != self.lead or self.lead in self.of.columns
        }
        decided = batch.decided.get("lead", {})
        values = batch.beside[self.lead]
        return Batch(values, beside, decided, batch.secret, name=self.lead, codes=batch.codes)

    def decide(self, batch: Batch, records: pl.Series) -> dict[str, Any]:
        """Decide which linked value goes with each treated value.

        Parameters
        ----------
        batch
            The distinct combinations of the column and what it looks at.
        records
            How many records have each.
        """
        if self.of.moves_dates:
            return {"kind": "date"}
        lead = self.of_lead(batch)
        frame = pl.DataFrame(
            {"made": self.of.treat(lead), "raw": lead.values, "own": batch.values, "records": records}
        )
        linked, weights = pl.col("own"), pl.col("records").filter(pl.col("own").is_not_null())
        present = linked.drop_nulls()
        mean: pl.Expr = pl.lit(None)
        if self.reads != "text":
            decimals = decimals_of(batch.values.cast(pl.Float64))
            mean = ((linked * pl.col("records")).sum() / weights.sum()).round(decimals)
            mean = pl.when(weights.sum() >= _OF).then(mean).cast(batch.values.dtype)
        value = pl.when(present.n_unique() == 1).then(present.first()).otherwise(mean)
        # All records of a value count, also those without a linked one.
        groups = frame.group_by("made").agg(value.alias("own"), pl.col("raw").n_unique().alias("behind"))
        groups = groups.filter((pl.col("behind") >= _AT_LEAST) & linked.is_not_null()).sort("made")
        return {"kind": self.reads, "made": groups["made"].to_list(), "own": groups["own"].to_list()}

    def treat(self, batch: Batch) -> pl.Series:
        """Give each row the linked value of the lead's treated value."""
        lead = self.of_lead(batch)
        if self.of.moves_dates:
            return self.of.along(batch.values, lead)
        treated = self.of.treat(lead)
        types = {"made": treated.dtype, "own": batch.values.dtype}
        table = pl.DataFrame(
            [pl.Series(name, batch.decided[name], dtype=kind, strict=False) for name, kind in types.items()]
        )
        rows = pl.DataFrame({"made": treated})
        linked = rows.join(table, on="made", how="left", nulls_equal=True, maintain_order="left")["own"]
        if self.reads == "text":
            linked = linked.fill_null(REDACTED)
        values, exact = pl.lit(batch.values), pl.lit(self.of.leaves_exact(treated, lead))
        return pl.select(pl.when(values.is_null() | exact).then(values).otherwise(pl.lit(linked))).to_series()
