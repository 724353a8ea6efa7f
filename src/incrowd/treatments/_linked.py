"""Columns that follow a treated one, since they have the same information."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from incrowd.lazy import pl
from incrowd.treatments._numbers import decimals_of
from incrowd.treatments.base import Batch, Reads, Treatment

REDACTED = "[redacted]"
_OF = 10
"""Records that a mean of linked numbers or days needs."""
_AT_LEAST = 2
"""Different raw values that have to be behind a treated one before a linked value stays."""


@dataclass(frozen=True)
class Linked(Treatment):
    """Let a column have no more information than a treated one.

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

    @property
    def for_quasi(self) -> bool:  # type: ignore[override]
        """Whether a quasi-identifier can follow."""
        return self.of.for_quasi

    @property
    def promise(self) -> str:
        """Say which column it follows."""
        if self.of.moves_dates:
            return f"moves by as many days as {self.lead}"
        return f"goes along with {self.lead}, and has one value for each value of it"

    @property
    def no_promise(self) -> str:  # type: ignore[override]
        """Repeat the limits of the lead's treatment."""
        return self.of.no_promise

    @property
    def perturbs(self) -> bool:
        """Whether equal values may become others."""
        return self.of.perturbs

    @property
    def key_source(self) -> str | None:
        """Where the key of the lead is."""
        return self.of.key_source

    @property
    def keeps_time(self) -> bool:
        """Whether times of the day stay as in the lead."""
        return self.of.keeps_time

    @property
    def columns(self) -> tuple[str, ...]:
        """The lead, and the columns that its treatment reads."""
        return (self.lead, *self.of.columns)

    def reads_of(self, column: str) -> Reads:
        """Read the lead as its treatment does."""
        return self.of.reads if column == self.lead else self.of.reads_of(column)

    def settings(self) -> dict[str, Any]:
        """Return the column that it follows."""
        return {"lead": self.lead}

    def spec(self) -> dict[str, Any]:
        """Return it for an account; a policy names it at the lead."""
        return {self.name: self.lead}

    def published(self) -> Linked:
        """Return it without the place of a key."""
        return replace(self, of=self.of.published())

    def of_lead(self, batch: Batch) -> Batch:
        """Return the rows of the lead, as its treatment is given them."""
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
        own, weights = pl.col("own"), pl.col("records").filter(pl.col("own").is_not_null())
        known = own.drop_nulls()
        mean: pl.Expr = pl.lit(None)
        if self.reads != "text":
            decimals = decimals_of(batch.values.cast(pl.Float64))
            mean = ((own * pl.col("records")).sum() / weights.sum()).round(decimals)
            mean = pl.when(weights.sum() >= _OF).then(mean).cast(batch.values.dtype)
        one = pl.when(known.n_unique() == 1).then(known.first()).otherwise(mean)
        # All records of a value count, also those without a linked one.
        groups = frame.group_by("made").agg(one.alias("own"), pl.col("raw").n_unique().alias("behind"))
        kept = groups.filter((pl.col("behind") >= _AT_LEAST) & own.is_not_null()).sort("made")
        return {"kind": self.reads, "made": kept["made"].to_list(), "own": kept["own"].to_list()}

    def treat(self, batch: Batch) -> pl.Series:
        """Give each row the linked value of the treated value of its lead."""
        lead = self.of_lead(batch)
        if self.of.moves_dates:
            return self.of.along(batch.values, lead)
        made = self.of.treat(lead)
        found = _looked_up(made, batch.decided, batch.values.dtype)
        if self.reads == "text":
            found = found.fill_null(REDACTED)
        own, exact = pl.lit(batch.values), pl.lit(self.of.leaves_exact(made, lead))
        shown = pl.when(own.is_null() | exact).then(own).otherwise(pl.lit(found))
        return pl.select(shown).to_series()


def _looked_up(made: pl.Series, decided: Mapping[str, Any], kind: pl.DataType) -> pl.Series:
    table = pl.DataFrame(
        {
            "made": pl.Series(decided["made"], dtype=made.dtype, strict=False),
            "own": pl.Series(decided["own"], dtype=kind, strict=False),
        }
    )
    rows = pl.DataFrame({"made": made})
    return rows.join(table, on="made", how="left", nulls_equal=True, maintain_order="left")["own"]
