"""The release that is made block by block, and the steps to it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms import Mondrian
from incrowd.algorithms.base import all_hold
from incrowd.engines import DRIVER_KEYS, EngineSettings, SparkEngine
from incrowd.engines.base import no_order
from incrowd.engines.grouped import CHANGED
from incrowd.engines.spark import (
    all_suppressed,
    as_arrow,
    in_random_order,
    positional,
    to_polars,
    without_comments,
)
from incrowd.engines.spark.errors import guarded
from incrowd.engines.spark.folder import replace_folder
from incrowd.errors import ParameterError, TableError, named, setting
from incrowd.jobs.distributed.check import measure, refuse_other_rows
from incrowd.jobs.distributed.cuts import BLOCK, Cut, cut_tree, join_failing
from incrowd.jobs.distributed.people import WholePeople, listed_people, people_of_blocks, person_columns
from incrowd.jobs.distributed.rows import FIGURES, added, alone, encode_batches, losses, recode_block
from incrowd.jobs.distributed.scale import Coder, TableStatistics, ranked
from incrowd.jobs.policy import terms_of
from incrowd.jobs.set_limit import check_values
from incrowd.jobs.survey import refuse_survey
from incrowd.jobs.treating import refuse_untreatable
from incrowd.kernels.counting import counts_per_key
from incrowd.privacy import PrivacyModel
from incrowd.progress import Silent
from incrowd.table.classes import EquivalenceClasses
from incrowd.table.documents import envelope
from incrowd.table.frequency import FrequencyTable, smallest_codes
from incrowd.table.markup import InNotebooks
from incrowd.table.schema import Schema

if TYPE_CHECKING:
    from incrowd.jobs.assess import Assessment
    from incrowd.jobs.policy import Policy
    from incrowd.progress import Progress
    from incrowd.table.domain import Domain
    from incrowd.table.schema import Schema
    from incrowd.utility import MetricResult

__all__ = ["DistributedRelease", "in_blocks", "refuse_divided"]

ROWS_PER_BLOCK = 500_000
"""Rows of a block where the caller does not say how many blocks there shall be."""

_SAMPLED = (20_000, 200_000)
"""Rows that a sample has at least and at most, about."""

_SAMPLED_PER_BLOCK = 500


@dataclass(frozen=True)
class DistributedRelease(InNotebooks):
    """A table on Spark that was recoded block by block, and the account of it.

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

    table: Any = field(repr=False)
    policy: Policy
    blocks: int
    sizes: tuple[int, ...] = field(repr=False)
    privacy: Assessment = field(repr=False)
    utility: dict[str, MetricResult] = field(repr=False)
    seconds: dict[str, float] = field(repr=False)
    driver_keys: int = field(default=DRIVER_KEYS, repr=False, kw_only=True)
    source: Any = field(default=None, repr=False, kw_only=True)
    kept: Any = field(default=None, repr=False, kw_only=True)
    named: Any = field(default=None, repr=False, kw_only=True)
    scale: TableStatistics | None = field(default=None, repr=False, kw_only=True)
    treatments: tuple[dict[str, Any], ...] = field(default=(), repr=False, kw_only=True)

    def __repr__(self) -> str:
        records = self.privacy.records
        return f"DistributedRelease({records:,} records in {self.blocks:,} blocks; every model holds)"

    @property
    def texts(self) -> Any:
        """The released table, in which every quasi-identifier is text; see `Release.texts`."""
        return self.table

    @property
    def risk(self) -> dict[str, dict[str, float]]:
        """Figures per risk model of the released table; none where its classes do not fit on the driver."""
        return self.privacy.risk

    def undivided(self) -> dict[str, MetricResult]:
        """Return what the same policy would have lost without blocks, in the metrics of `utility`.

        The table is counted and searched once more, on the driver.

        Raises
        ------
        TableError
            When its distinct combinations are more than `driver_keys`.
        """
        from incrowd.jobs.checks import styled

        engine = SparkEngine(self.source, EngineSettings(self.driver_keys))
        schema = styled(self.policy)
        frequency = engine.count(schema)
        found = self.policy.algorithm.search(self.policy.problem(frequency, schema.quasi, Silent()))
        return losses(frequency, found.recoding)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: no value of the table is in it."""
        return {
            **envelope("release"),
            **terms_of(self.policy),
            **({"treatments": list(self.treatments)} if self.treatments else {}),
            "blocks": {"count": self.blocks, "largest": self.sizes[0], "smallest": self.sizes[-1]},
            "after": self.privacy.to_dict(cells=False),
            "utility": [lost.to_dict() for lost in self.utility.values()],
            "seconds": self.seconds,
        }

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the table to a folder of Parquet files, all or nothing; see `Release.write`.

        Raises
        ------
        TableError
            When the folder exists (unless `force`) or cannot be written.
        InfeasibleError
            When what was written does not satisfy the policy.
        """
        from incrowd.jobs.checks import judge

        def check(written: Any) -> None:
            if self.policy.schema.person:
                # What was written names nobody: it has to hold the rows of those who are counted.
                names = [a.name for a in self.policy.schema.attributes if a.role in ("quasi", "sensitive")]
                refuse_other_rows(written, self.named, names)
                written = self.named
            judge(measure(written, self.policy, self.driver_keys, self.scale), self.policy)

        replace_folder(self.table, path, check, force=force, source=self.source)

    def unpersist(self) -> None:
        """Let Spark forget the rows that it keeps; whoever asks the table again has them made again."""
        self.kept.unpersist()


def refuse_divided(policy: Policy) -> None:
    """Refuse what cannot be done block by block.

    Raises
    ------
    ParameterError
    """
    refuse_survey(policy.schema, "a table that is cut into blocks")
    refuse_untreatable(policy.schema, "a table that is cut into blocks")
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
    """Recode a DataFrame block by block; see `anonymize`.

    Parameters
    ----------
    table
        A Spark DataFrame.
    searched
        The policy's schema with the output style of every quasi-identifier.
    blocks
        About how many blocks; None for one per `ROWS_PER_BLOCK` rows.
    """
    from incrowd.jobs.checks import judge
    from incrowd.jobs.stages import Clock

    clock = Clock(progress or Silent())
    with guarded():
        job = _Blocks(table, policy, searched, driver_keys)
        held: list[Any] = []
        try:
            with clock.stage("count"):
                scale = job.scale()
            for domain, attribute in zip(scale.quasi, searched.quasi, strict=True):
                check_values(domain, attribute, scale.records, policy.set_limit)
            with clock.stage("cut"):
                tree = job.cut(scale, blocks)
            encoded = job.encoded(scale, tree).persist()
            held.append(encoded)
            with clock.stage("count"):
                scale = job.people(encoded, scale)
            with clock.stage("join blocks"):
                unit_of_block, sizes = job.units(encoded, scale, tree)
            kept = job.recoded(encoded, scale, unit_of_block).persist()
            held.append(kept)
            with clock.stage("recode"):
                utility = job.losses(kept, scale)
            names = job.released
            released = kept.select(*(f"o{j}" for j in range(len(names)))).toDF(*names)
            # Who the released rows are of is told to the check alone.
            columns = [f"o{j}" for j in range(len(names))] + [f"w{j}" for j in range(len(job.person))]
            named = kept.select(*columns).toDF(*names, *job.person)
            with clock.stage("check"):
                after = measure(named, policy, driver_keys, scale)
            judge(after, policy)
            released = in_random_order(released)
            held.remove(kept)
        finally:
            for frame in held:
                frame.unpersist()
    return DistributedRelease(
        table=released,
        policy=policy,
        blocks=len(sizes),
        sizes=tuple(sorted(sizes, reverse=True)),
        privacy=after,
        utility=utility,
        seconds=clock.seconds,
        driver_keys=driver_keys,
        source=table,
        kept=kept,
        named=named,
        scale=scale,
    )


class _Blocks:
    """The steps of one release; each leaves its rows on Spark."""

    def __init__(self, table: Any, policy: Policy, searched: Schema, driver_keys: int) -> None:
        from pyspark.sql import functions as sf
        from pyspark.sql import types as st

        engine = SparkEngine(table)
        self.policy = policy
        self.driver_keys = driver_keys
        self.null_values = policy.schema.null_values
        self.quasi = searched.quasi
        self.sensitive = searched.sensitive
        self.released = policy.schema.released(engine.columns)
        names = [attribute.name for attribute in (*self.quasi, *self.sensitive)]
        if not self.quasi:
            engine.count(searched)  # which refuses it in its own words
        self.person = policy.schema.person
        engine.check_types([*names, *self.person])
        frame, schema = positional(table)
        self.session = table.sparkSession
        columns = []
        for name, form in [
            *((attribute.name, f"q{j}") for j, attribute in enumerate(self.quasi)),
            *((attribute.name, f"s{j}") for j, attribute in enumerate(self.sensitive)),
        ]:
            place = engine.columns.index(name)
            column = sf.col(f"c{place}")
            if isinstance(schema[place].dataType, st.StringType):
                column = column.cast(st.StringType())
            columns.append(column.alias(form))
        self.all_text = all(
            isinstance(schema[engine.columns.index(attribute.name)].dataType, st.StringType)
            for attribute in self.quasi
        )
        self.narrow = frame.select(*columns)
        quasi = {attribute.name for attribute in self.quasi}
        self.passed = [name for name in self.released if name not in quasi]
        for j, name in enumerate(self.passed):
            place = engine.columns.index(name)
            kind = schema[place].dataType
            columns.append(without_comments(sf.col(f"c{place}"), kind).alias(f"p{j}"))
        places = [f"c{engine.columns.index(name)}" for name in self.person]
        columns += person_columns(frame, places, self.person, self.null_values)
        self.frame = frame.select(*columns)
        if as_arrow(self.frame) is None:
            wrong = [
                name for j, name in enumerate(self.passed) if as_arrow(self.frame.select(f"p{j}")) is None
            ]
            raise TableError(
                f"column {named(wrong)}: Spark cannot hand its type to Python; convert it "
                "first, or leave it out of the release"
            )

    def _gone(self) -> Any:
        """Say of a row whether it came in suppressed."""
        return all_suppressed([f"q{j}" for j in range(len(self.quasi))])

    def scale(self) -> TableStatistics:
        """Count every column's values in one pass, and rank them."""
        from pyspark.sql import functions as sf

        forms = self.narrow.columns
        frame = self.narrow
        lead = []
        if self.all_text:
            frame = frame.withColumn("gone", self._gone())
            lead = ["gone"]
        sets = [[sf.col(name) for name in ([*lead, form] if form[0] == "q" else [form])] for form in forms]
        columns = [*lead, *forms]
        grouped = (
            frame.groupingSets(sets, *(sf.col(name) for name in columns))
            .agg(sf.grouping_id().alias("set"), sf.count(sf.lit(1)).alias("n"))
            .persist()
        )
        try:
            found = grouped.count()
            if found > self.driver_keys:
                raise TableError(
                    f"the columns have {found:,} distinct values, more than the {self.driver_keys:,} that "
                    "may come to the driver (driver_keys); raise it, or coarsen the columns first"
                )
            fetched = to_polars(grouped)
        finally:
            grouped.unpersist()
        if not len(fetched):
            raise TableError("the table has no rows")
        domains: list[Domain] = []
        coders: list[Coder] = []
        totals: list[NDArray[np.int64]] = []
        suppressed = 0
        for j, attribute in enumerate((*self.quasi, *self.sensitive)):
            bits = 0
            for place, name in enumerate(columns):
                in_set = name == forms[j] or (name in lead and forms[j][0] == "q")
                bits |= (not in_set) << (len(columns) - 1 - place)
            part = fetched.filter(fetched["set"] == bits)
            if lead and forms[j][0] == "q":
                suppressed = int(part.filter(part["gone"])["n"].sum())
                part = part.filter(~part["gone"])
            domain, coder, total = ranked(attribute, part[forms[j]], part["n"].to_numpy(), self.null_values)
            domains.append(domain)
            coders.append(coder)
            totals.append(total)
        first = len(self.quasi)
        records = int(totals[0].sum())
        if not records:
            raise TableError("every record of the table is suppressed (* in every quasi-identifier)")
        return TableStatistics(
            tuple(domains[:first]),
            tuple(domains[first:]),
            tuple(coders[:first]),
            tuple(coders[first:]),
            tuple(totals[first:]),
            records,
            suppressed,
        )

    def cut(self, scale: TableStatistics, blocks: int | None) -> tuple[Cut, int]:
        """Cut a sample of the keys into blocks."""
        from pyspark.sql import functions as sf

        whole = FrequencyTable(
            (), (), np.array([scale.records]), scale.counted([alone(totals) for totals in scale.totals])
        )
        for model in self.policy.models:
            model.check_table(whole)
        if blocks is None:
            blocks = max(math.ceil(scale.records / ROWS_PER_BLOCK), 2)
        if blocks == 1:
            return Cut(block=0), 1
        forms = [f"q{j}" for j in range(len(self.quasi))]
        frame = self.narrow.filter(~self._gone()) if self.all_text else self.narrow
        wanted = min(max(_SAMPLED[0], blocks * _SAMPLED_PER_BLOCK), _SAMPLED[1])
        one_in = max(1, scale.records // wanted)
        if one_in > 1:
            # A hash of the key, not of the row: the same rows give the same sample wherever they lie.
            frame = frame.filter(sf.pmod(sf.xxhash64(*forms), sf.lit(one_in)) == 0)
        fetched = to_polars(frame.groupBy(*forms).agg(sf.count(sf.lit(1)).alias("n")))
        codes = [
            coder.codes(fetched[form].to_arrow())
            for coder, form in zip(scale.quasi_coders, forms, strict=True)
        ]
        # Spark gives groups in any order.
        order = np.lexsort(codes[::-1])
        sample = FrequencyTable(
            scale.quasi,
            tuple(
                smallest_codes(column[order], domain.size)
                for column, domain in zip(codes, scale.quasi, strict=True)
            ),
            fetched["n"].to_numpy()[order],
            (),
            in_order=False,
        )
        return cut_tree(sample, cast(Mondrian, self.policy.algorithm), self.quasi, blocks)

    def encoded(self, scale: TableStatistics, tree: tuple[Cut, int]) -> Any:
        """Give every row its ranks and its block."""
        from pyspark.sql import types as st

        quasi, sensitive = len(self.quasi), len(self.sensitive)
        schema = st.StructType(
            [
                st.StructField(BLOCK, st.IntegerType()),
                *(st.StructField(f"q{j}", st.IntegerType()) for j in range(quasi)),
                *(st.StructField(f"s{j}", st.IntegerType()) for j in range(sensitive)),
                *(self.frame.schema[f"p{j}"] for j in range(len(self.passed))),
                *(self.frame.schema[f"w{j}"] for j in range(len(self.person))),
            ]
        )
        counts = quasi, sensitive, len(self.passed), len(self.person)
        shared = self._shared((scale, tree[0], self.all_text, *counts))

        def encode(batches: Iterator[Any]) -> Iterator[Any]:
            return encode_batches(shared(), batches)

        return self.frame.mapInArrow(encode, schema)

    def units(
        self, encoded: Any, scale: TableStatistics, tree: tuple[Cut, int]
    ) -> tuple[NDArray[np.int32], list[int]]:
        """Count every block exactly, and join those that fail: the unit of each block, and their records."""
        from pyspark.sql import functions as sf

        root, blocks = tree
        live = encoded.filter(sf.col(BLOCK) >= 0)
        forms = [f"s{j}" for j in range(len(self.sensitive))]
        weights = np.zeros(blocks, np.int64)
        keys = []
        if forms:
            grouped = live.groupingSets(
                [[sf.col(BLOCK), sf.col(form)] for form in forms],
                sf.col(BLOCK),
                *(sf.col(form) for form in forms),
            ).agg(sf.grouping_id().alias("set"), sf.count(sf.lit(1)).alias("n"))
        else:
            grouped = live.groupBy(BLOCK).agg(sf.count(sf.lit(1)).alias("n"))
        fetched = to_polars(grouped)
        for j, form in enumerate(forms):
            bits = sum(1 << (len(forms) - 1 - other) for other in range(len(forms)) if other != j)
            part = fetched.filter(fetched["set"] == bits)
            key, codes, rows = (part[name].to_numpy() for name in (BLOCK, form, "n"))
            keys.append(counts_per_key(key.astype(np.int64), codes, rows, blocks, scale.sensitive[j].size))
            weights = np.bincount(key, rows, blocks).astype(np.int64)
        if not forms:
            np.add.at(weights, fetched[BLOCK].to_numpy(), fetched["n"].to_numpy())
        if weights.sum() != scale.records:
            raise TableError(CHANGED)
        table = FrequencyTable((), (), weights, scale.counted(keys))
        units = self._units(live, table, scale, root)
        sizes = np.bincount(units, weights).astype(np.int64)
        return units, sizes.tolist()

    def _units(
        self, live: Any, table: FrequencyTable, scale: TableStatistics, root: Cut
    ) -> NDArray[np.int32]:
        """Join blocks; their people are listed only if some block does not hold by itself."""
        models = self.policy.models
        if scale.people is not None and scale.people.several:
            people = people_of_blocks(live, table, scale.people)
            there = table.weights > 0
            if all_hold(models, EquivalenceClasses.of_keys(people))[there].all():
                return np.where(there, np.cumsum(there) - 1, 0).astype(np.int32)
            table = listed_people(live, table, scale.people, self.driver_keys)
        return join_failing(root, EquivalenceClasses.of_keys(table), models)

    def people(self, encoded: Any, scale: TableStatistics) -> TableStatistics:
        """Count the people of the whole table, where columns name them."""
        if not self.person:
            return scale
        found = WholePeople.of(encoded, self.person, [domain.size for domain in scale.sensitive])
        return replace(scale, people=found)

    def recoded(self, encoded: Any, scale: TableStatistics, units: NDArray[np.int32]) -> Any:
        """Bring the rows of each unit together and recode them."""
        from pyspark.sql import functions as sf
        from pyspark.sql import types as st

        place = {name: j for j, name in enumerate(self.passed)}
        kinds = {f"p{j}": encoded.schema[f"p{j}"].dataType for j in place.values()}
        sources = [f"p{place[name]}" if name in place else "" for name in self.released]
        schema = st.StructType(
            [
                *(
                    st.StructField(f"o{j}", kinds.get(source, st.StringType()))
                    for j, source in enumerate(sources)
                ),
                st.StructField(FIGURES, st.StringType()),
                *(encoded.schema[f"w{j}"] for j in range(len(self.person))),
            ]
        )
        names = [attribute.name for attribute in self.quasi]
        order = [names.index(name) if name in names else -1 for name in self.released]
        # Builders of hierarchies have done their work and stay here.
        searched = [replace(attribute, hierarchy=None) for attribute in self.quasi]
        policy = replace(self.policy, schema=Schema.of(searched, null_values=self.null_values))
        bare = replace(scale, quasi_coders=(), sensitive_coders=())
        shared = self._shared((bare, policy, sources, order))

        def recode(table: Any) -> Any:
            return recode_block(shared(), table)

        unit = sf.col(BLOCK)
        if len(units) > 1 and (units != np.arange(len(units))).any():
            numbers = sf.lit(units.tolist())
            unit = sf.when(unit >= 0, sf.get(numbers, unit)).otherwise(unit)
        tasks = max(1, min(int(units.max()) + 1, self._parallel() * 8))
        rows = encoded.withColumn("unit", unit).repartition(tasks, "unit")
        return rows.groupBy("unit").applyInArrow(recode, schema)

    def losses(self, kept: Any, scale: TableStatistics) -> dict[str, MetricResult]:
        """Have the blocks recoded, and add up what they lost."""
        from pyspark.sql import functions as sf

        fetched = to_polars(kept.filter(sf.col(FIGURES).isNotNull()).select(FIGURES))
        return added([json.loads(text) for text in fetched[FIGURES]], scale)

    def _parallel(self) -> int:
        try:
            return int(self.session.sparkContext.defaultParallelism)
        except Exception:
            return 8  # Connect does not say

    def _shared(self, value: Any) -> Any:
        """Send an object to the executors once, where the session can: a function that returns it there."""
        try:
            broadcast = self.session.sparkContext.broadcast(value)
        except Exception:
            return lambda: value  # Connect sends it along with the function
        return lambda: broadcast.value
