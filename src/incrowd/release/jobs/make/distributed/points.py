"""The points of rows that were recoded block by block on Spark, counted on the executors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from incrowd.core.lazy import pl, sf
from incrowd.core.recoding import SUPPRESSED
from incrowd.core.recoding.observed import ranks_of
from incrowd.engines.base import EngineSettings
from incrowd.engines.spark import SparkEngine, positional, to_polars
from incrowd.release.accounts.points import RowsThatLeave, trees_of, unprotected
from incrowd_gate.rules.columns import Losses, Values

if TYPE_CHECKING:
    from incrowd.core.table.domain import Domain
    from incrowd.release.jobs.make.suppressed_records import Suppression
    from incrowd.release.jobs.measure.assess import Assessment
    from incrowd.release.policy.policy import Policy


class BlockRows(RowsThatLeave):
    """The rows of all blocks (see `incrowd_gate.rules.columns.Release`).

    Parameters
    ----------
    raw, released
        The DataFrames.
    domains
        The values of each quasi-identifier.
    after
        The figures of the released rows.
    """

    is_local = True

    def __init__(
        self,
        raw: Any,
        released: Any,
        policy: Policy,
        domains: Sequence[Domain],
        after: Assessment,
        suppression: Suppression,
        driver_keys: int,
    ) -> None:
        quasi = [attribute.name for attribute in policy.schema.quasi]
        engines = [SparkEngine(table, EngineSettings(driver_keys)) for table in (released, raw)]
        super().__init__(engines[0], policy.schema, after.records, engines[1], quasi)
        self.policy, self.suppression = policy, suppression
        self.domains = {domain.name: domain for domain in domains}
        gone = after.suppressed + suppression.left_out
        self.suppressed = gone / max(after.records + suppression.left_out, 1)
        frame, _ = positional(released)
        self.places = {name: f"c{place}" for place, name in enumerate(released.columns)}
        cells = [sf.coalesce(sf.col(self.places[name]), sf.lit("")) for name in quasi]
        shown = sf.lit(False)
        for cell in cells:
            shown = shown | (cell != sf.lit(SUPPRESSED))
        self.kept = frame.filter(shown)

    def labels(self, name: str) -> Values:
        """Count the cells of a quasi-identifier, suppressed records aside."""
        if (rows := self._all_rows(self.hidden)) is not None:
            shown = pl.any_horizontal(pl.all().ne_missing(SUPPRESSED))
            cells = rows.filter(shown)[name].alias("v").to_frame().group_by("v").len("n")
            return Values(cells["v"], cells["n"].cast(pl.Int64).to_numpy(), are_labels=True)
        counts = to_polars(self.kept.groupBy(self.places[name]).agg(sf.count(sf.lit(1)).alias("n")))
        return Values(counts.to_series(0).cast(pl.String), counts["n"].to_numpy(), are_labels=True)

    def trees(self) -> Iterator[tuple[str, Sequence[str | None], Sequence[int]]]:
        """Return the hierarchies that are no recipes."""
        return trees_of(self.policy)

    def unprotected(self) -> Iterator[tuple[str, float]]:
        """Count the records in classes that share a sensitive value that no model protects."""
        names = unprotected(self.policy.models, [each.name for each in self.policy.schema.sensitive])
        cells = [self.places[name] for name in self.hidden]
        for name in names:
            value = sf.concat(sf.lit("v"), sf.col(self.places[name]).cast("string"))
            kinds = sf.countDistinct(sf.coalesce(value, sf.lit("m"))).alias("kinds")
            classes = self.kept.groupBy(*cells).agg(sf.count(sf.lit(1)).alias("n"), kinds)
            alike = sf.sum(sf.when(sf.col("kinds") == 1, sf.col("n")).otherwise(0))
            row = classes.agg(sf.sum("n"), alike).first()
            yield name, float(row[1] or 0) / max(float(row[0] or 0), 1)

    def losses(self) -> Losses:
        """Count the cells that stand for every value, and the suppressed records."""
        blanked, starred = {}, []
        for name in self.hidden:
            domain, labels = self.domains[name], self.labels(name)
            if domain.size < 2:
                continue
            texts = labels.values.to_list()
            covered = [len(ranks) == domain.size for ranks in ranks_of(domain, texts)]
            stars = (labels.values == SUPPRESSED).fill_null(False)
            blank = stars | pl.Series(covered, dtype=pl.Boolean)
            blanked[name] = float(labels.only(blank).counts.sum()) / max(float(labels.counts.sum()), 1)
            starred.append(bool(stars.all()))
        exposed, nothing = self.suppression.exposed, bool(starred) and all(starred)
        share = exposed / max(self.records, 1)
        return Losses(blanked, self.suppressed, nothing, exposed, share, self.suppression.failing)
