"""The release of a table on Spark that is recoded block by block."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from incrowd.core.documents import envelope
from incrowd.core.errors import InfeasibleError, ParameterError, UnavailableError, setting
from incrowd.core.markup import InNotebooks
from incrowd.core.progress import Silent, in_job
from incrowd.core.table.schema import Schema
from incrowd.engines import DRIVER_KEYS, EngineSettings, SparkEngine
from incrowd.engines.base import no_order
from incrowd.engines.spark import (
    in_random_order,
)
from incrowd.engines.spark.errors import guarded
from incrowd.engines.spark.folder import replace_folder
from incrowd.measures.privacy import PrivacyModel
from incrowd.release.accounts.people import refuse_survey
from incrowd.release.jobs.make.distributed.blocks import Blocks, without_suppressed
from incrowd.release.jobs.make.distributed.check import measure, refuse_other_rows
from incrowd.release.jobs.make.distributed.points import BlockRows
from incrowd.release.jobs.make.distributed.rows import losses
from incrowd.release.jobs.make.distributed.scale import TableStatistics
from incrowd.release.jobs.make.release import Release
from incrowd.release.jobs.make.released_rows import model_verdict
from incrowd.release.jobs.make.suppressed_records import Suppression
from incrowd.release.jobs.make.table_treatments import refuse_untreatable
from incrowd.release.policy.limits import check_values
from incrowd.release.policy.policy import search_problem, terms_of
from incrowd.search import Mondrian
from incrowd_gate import rules

if TYPE_CHECKING:
    from incrowd.core.progress import Progress
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.measures.utility import MetricResult
    from incrowd.release.jobs.measure.assess import Assessment
    from incrowd.release.policy.policy import Policy


@dataclass(frozen=True)
class DistributedRelease(InNotebooks, Release):
    """A table on Spark that was recoded block by block, with an account.

    The class is a `Release` without what does not fit on one machine: `recoding`, `frequency`, `before`,
    and what needs these, such as `save` and `report`. These raise `UnavailableError`.

    Attributes
    ----------
    table
        The released DataFrame. Spark keeps its rows as they were checked, in the memory and on the disks of
        the executors. If an executor is lost, its rows are made again from the input. They are the same as
        long as the input is the same. To keep the release, write it with `write`: what was written is
        checked.
    policy
        What it had to satisfy.
    blocks
        Number of blocks that were recoded, after those that would not have held were joined with others.
    sizes
        Records of each block, the largest first.
    privacy
        The released table, measured anew.
    utility
        What was lost, per metric that is a mean over records: added up from the blocks.
    seconds
        Wall time per stage.
    treatments
        What became of treated columns before they were counted; `policy` is that of the treated table.
    """

    _shown = ("algorithm", "models", "max_suppression", "blocks", "utility", "seconds")

    recoding: Recoding = field(init=False, repr=False, compare=False)
    frequency: FrequencyTable = field(init=False, repr=False, compare=False)
    _measure_before: Callable[[], Assessment] = field(init=False, repr=False, compare=False)
    driver_keys: int = field(default=DRIVER_KEYS, repr=False, kw_only=True)
    blocks: int = field(kw_only=True)
    sizes: tuple[int, ...] = field(kw_only=True, repr=False)
    source: Any = field(default=None, repr=False, kw_only=True)
    kept: Any = field(default=None, repr=False, kw_only=True)
    named: Any = field(default=None, repr=False, kw_only=True)
    scale: TableStatistics | None = field(default=None, repr=False, kw_only=True)
    treatments: tuple[dict[str, Any], ...] = field(default=(), repr=False, kw_only=True)

    def __getattr__(self, name: str) -> Any:
        # Also called for a property, such as `before`, that needs one of these fields.
        if name in self.__dataclass_fields__ or hasattr(type(self), name):
            raise UnavailableError(
                f"a release that was made block by block has no {name}, since the keys of its table are not "
                "on one machine; use table, privacy, utility, seconds, write and to_dict, or leave blocks "
                "out and raise driver_keys where memory allows"
            )
        raise AttributeError(name)

    def __repr__(self) -> str:
        left_out = f", {self.left_out:,} left out" if self.left_out else ""
        counts = f"{self.privacy.records:,} records in {self.blocks:,} blocks{left_out}"
        return f"DistributedRelease({counts}; {model_verdict(None, self.verdict)})"

    def undivided(self) -> dict[str, MetricResult]:
        """Return the losses of the same policy without blocks, in the metrics of `utility`.

        The table is counted and searched once more, on the driver.

        Raises
        ------
        TableError
            When its distinct combinations are more than `driver_keys`.
        """
        engine = SparkEngine(self.source, EngineSettings(self.driver_keys))
        schema = self.policy.counting
        frequency = engine.count(schema).frequency
        solution = self.policy.algorithm.search(
            search_problem(self.policy, frequency, schema.quasi, Silent())
        )
        return losses(frequency, solution.recoding)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without any value of the table."""
        return {
            **envelope("release"),
            **terms_of(self.policy),
            **({"treatments": list(self.treatments)} if self.treatments else {}),
            "blocks": {"count": self.blocks, "largest": self.sizes[0], "smallest": self.sizes[-1]},
            "verdict": self.verdict.to_dict(),
            "suppression": self.suppression.to_dict(),
            "left_out": self.left_out,
            "after": self.privacy.to_dict(cells=False),
            "utility": [lost.to_dict() for lost in self.utility.values()],
            "seconds": self.seconds,
        }

    @in_job
    def write(
        self,
        path: str | os.PathLike[str],
        *,
        force: bool = False,
        escape_formulas: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Write the table to a folder of Parquet files, completely or not at all.

        Parquet has no formulas, so `escape_formulas` changes nothing.

        Raises
        ------
        TableError
            When the folder exists (unless `force`) or cannot be written.
        InfeasibleError
            When the verdict is broken, or what was written does not satisfy the policy.
        """
        self.verdict.refuse(only_broken=True)
        self._write(path, force=force)

    def _write(
        self,
        path: str | os.PathLike[str],
        *,
        force: bool = False,
        escape_formulas: bool = False,
        progress: Progress | None = None,
    ) -> None:
        from incrowd.release.jobs.make.released_rows import judge

        def check(written: Any) -> None:
            if self.policy.schema.person:
                # What was written names nobody: it has to hold the rows of those who are counted.
                names = [a.name for a in self.policy.schema.attributes if a.role in ("quasi", "sensitive")]
                refuse_other_rows(written, self.named, names)
                written = self.named
            assessment = measure(written, self.policy, self.driver_keys, self.scale)
            judge(assessment, self.policy, self.suppression)

        replace_folder(self.table, path, check, force=force, source=self.source)

    def unpersist(self) -> None:
        """Free the rows that Spark keeps, which Spark recomputes if the table is read again."""
        self.kept.unpersist()


def refuse_divided(policy: Policy) -> None:
    """Refuse policies that cannot work block by block.

    Raises
    ------
    ParameterError
    """
    refuse_survey(policy.schema, "a table that is cut into blocks")
    refuse_untreatable(policy.schema, "a table that is cut into blocks")
    if policy.analyses:
        raise ParameterError(
            "blocks: analyses need the rows of all blocks; leave [[analyses]] out of the policy, or leave "
            "blocks out"
        )
    algorithm = policy.algorithm
    if not isinstance(algorithm, Mondrian):
        raise ParameterError(
            f"blocks: only mondrian works block by block, not {algorithm.name}; leave blocks out"
        )
    for wrong, what in (
        (algorithm.mode != "strict", "mode=relaxed"),
        (algorithm.target is not None, "choose=gain"),
        (algorithm.categories == "appearance", "categories=appearance"),
        (algorithm.max_depth is not None, "max_depth"),
    ):
        if wrong:
            raise ParameterError(f"blocks: mondrian with {what} cannot work block by block; leave it out")
    if policy.keep_order:
        raise no_order(SparkEngine.whose)
    if policy.wildcards != "value":
        raise ParameterError(
            f"blocks: records of all blocks are compared where wildcards are {policy.wildcards!r}; set "
            f"{setting('wildcards', '--wildcards')} to 'value'"
        )
    if not policy.models:
        raise ParameterError("name at least one privacy model, e.g. models=[ic.KAnonymity(5)] or -k 5")
    for model in policy.models:
        overall = any(type(part).overall is not PrivacyModel.overall for part in model.parts())
        for wrong, what in (
            (model.needs_population, "compares with a population"),
            (model.is_joint, "looks at several sensitive attributes together"),
            (model.needs_cells, "looks at released cells"),
            (model.needs_every_class, "looks at what people have in several classes"),
            (model.of_table or model.needs_table or overall, "is a limit on the whole table"),
        ):
            if wrong:
                raise ParameterError(f"blocks: {model.name} {what}, so blocks cannot be judged one by one")


def in_blocks(
    table: Any,
    policy: Policy,
    searched: Schema,
    *,
    blocks: int | None,
    driver_keys: int,
    progress: Progress | None = None,
) -> DistributedRelease:
    """Recode a DataFrame block by block, as `anonymize` does with `blocks`.

    Parameters
    ----------
    table
        A Spark DataFrame.
    searched
        The policy's schema with the output style of every quasi-identifier.
    blocks
        About how many blocks; None for one per `ROWS_PER_BLOCK` rows.
    """
    from incrowd.core.progress import Clock
    from incrowd.release.jobs.make.released_rows import judge

    clock = Clock(progress or Silent())
    with guarded(table.sparkSession), ExitStack() as at_end, ExitStack() as on_failure:
        rows, suppression = table, Suppression(policy.suppressed)
        if policy.suppressed != "keep":
            with clock.stage("count"):
                rows, count = without_suppressed(table, [each.name for each in searched.quasi])
            # No model judges records that came in suppressed, so all of them are named.
            failing = tuple(dict.fromkeys(model.name for model in policy.models)) if count else ()
            suppression = Suppression(policy.suppressed, count, count, count, failing)
        job = Blocks(rows, policy, searched, driver_keys)
        with clock.stage("count"):
            statistics = job.scale()
        for domain, attribute in zip(statistics.quasi, searched.quasi, strict=True):
            check_values(domain, attribute, statistics.records, policy.set_limit)
        with clock.stage("cut"):
            tree = job.cut(statistics, blocks)
        encoded = job.encoded(statistics, tree).persist()
        at_end.callback(encoded.unpersist)
        with clock.stage("count"):
            scale = job.people(encoded, statistics)
        with clock.stage("join blocks"):
            unit_of_block, sizes = job.units(encoded, scale, tree)
        recoded = job.recoded(encoded, scale, unit_of_block).persist()
        on_failure.callback(recoded.unpersist)
        with clock.stage("recode"):
            utility = job.losses(recoded, scale)
        cells = [f"o{j}" for j in range(len(job.released))]
        in_place = recoded.select(*cells).toDF(*job.released)
        # Who the released rows are of is told to the check alone.
        people = [f"w{j}" for j in range(len(job.person))]
        named = recoded.select(*cells, *people).toDF(*job.released, *job.person)
        with clock.stage("check"):
            after = measure(named, policy, driver_keys, scale)
        judge(after, policy, suppression)
        if policy.suppressed == "drop" and after.suppressed:
            # Classes that satisfy the models, and so does what they are together.
            raise InfeasibleError(
                f"nothing was released: {after.suppressed:,} records are in classes of * alone, "
                f"and blocks cannot drop them; set {setting('suppressed', '--suppressed')} to 'judged'"
            )
        with clock.stage("points"):
            evidence = BlockRows(table, in_place, policy, scale.quasi, after, suppression, driver_keys)
            points = rules.points_of(evidence, policy.accepted)
        released = in_random_order(in_place)
        on_failure.pop_all()
    return DistributedRelease(
        table=released,
        policy=policy,
        blocks=len(sizes),
        sizes=tuple(sorted(sizes, reverse=True)),
        privacy=after,
        points=points,
        utility=utility,
        seconds=clock.seconds,
        driver_keys=driver_keys,
        suppression=suppression,
        source=table,
        kept=recoded,
        named=named,
        scale=scale,
    )
