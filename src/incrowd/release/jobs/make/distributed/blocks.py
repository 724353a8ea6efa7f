"""The steps of a release block by block, with rows that stay on Spark."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from incrowd.core.errors import ParameterError, TableError, named
from incrowd.core.kernels.grouping.counting import counts_per_key
from incrowd.core.lazy import NDArray, np, pl, sf, st
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.core.table.frequency import FrequencyTable, smallest_codes
from incrowd.core.table.schema import Schema
from incrowd.engines import SparkEngine
from incrowd.engines.fold import CHANGED
from incrowd.engines.spark import all_suppressed, positional, to_polars, without_comments
from incrowd.engines.spark.fetching import as_arrow, fetched_within
from incrowd.release.jobs.make.distributed.cuts import BLOCK, Cut, cut_tree, join_failing
from incrowd.release.jobs.make.distributed.people import (
    WholePeople,
    listed_people,
    people_of_blocks,
    person_columns,
)
from incrowd.release.jobs.make.distributed.rows import (
    FIGURES,
    encode_batches,
    recode_block,
    single_key_counts,
    summed,
)
from incrowd.release.jobs.make.distributed.scale import Coder, TableStatistics, rank_values
from incrowd.search import Mondrian
from incrowd.search.base import all_hold

if TYPE_CHECKING:
    from incrowd.core.table.domain import Domain
    from incrowd.measures.utility import MetricResult
    from incrowd.release.policy.policy import Policy

ROWS_PER_BLOCK = 500_000
"""Rows of a block where the caller does not say how many blocks there shall be."""

_SAMPLED = (20_000, 200_000)
"""Rows that a sample has at least and at most, about."""

_SAMPLED_PER_BLOCK = 500


@dataclass(frozen=True, eq=False)
class _Counts:
    """Numbers of rows per combination for several sets of columns, from a single pass.

    Attributes
    ----------
    sets
        The columns of each set, by a name of it.
    """

    sets: Mapping[str, Sequence[str]]

    @cached_property
    def _columns(self) -> list[str]:
        return list(dict.fromkeys(name for columns in self.sets.values() for name in columns))

    def counted(self, frame: Any) -> Any:
        """Count the rows of a DataFrame: the columns, ``set`` for the set and ``n`` for the rows."""
        sets = [[sf.col(name) for name in columns] for columns in self.sets.values()]
        grouped = frame.groupingSets(sets, *map(sf.col, self._columns))
        return grouped.agg(sf.grouping_id().alias("set"), sf.count(sf.lit(1)).alias("n"))

    def of(self, name: str, fetched: pl.DataFrame) -> pl.DataFrame:
        """Return the counts of a set."""
        last = len(self._columns) - 1
        absent = (place for place, each in enumerate(self._columns) if each not in self.sets[name])
        return fetched.filter(fetched["set"] == sum(1 << (last - place) for place in absent))


def without_suppressed(table: Any, quasi: Sequence[str]) -> tuple[Any, int]:
    """Leave out rows that are already suppressed, and return the table and the number of rows."""
    engine = SparkEngine(table)
    if not quasi or any(name not in engine.columns for name in quasi):
        return table, 0
    if not all(isinstance(engine.kind(name), st.StringType) for name in quasi):
        return table, 0
    frame, _ = positional(table)
    is_suppressed = all_suppressed([f"c{engine.columns.index(name)}" for name in quasi])
    suppressed = frame.filter(is_suppressed).count()
    return (frame.filter(~is_suppressed).toDF(*engine.columns), suppressed) if suppressed else (table, 0)


class Blocks:
    """The steps of a release, each of which leaves the rows on Spark."""

    def __init__(self, table: Any, policy: Policy, searched: Schema, driver_keys: int) -> None:
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
        lists = [attribute.name for attribute in self.sensitive if attribute.parts is not None]
        if self.person and lists:
            raise ParameterError(
                f"column {named(lists)} declares its parts, and people are not counted by parts block by "
                "block; fetch the table, or leave parts or the role person out"
            )
        engine.check_types([*names, *self.person])
        frame, schema = positional(table)
        self.session = table.sparkSession
        forms = [f"q{j}" for j in range(len(self.quasi))] + [f"s{j}" for j in range(len(self.sensitive))]
        columns = [engine.column(name).alias(form) for name, form in zip(names, forms, strict=True)]
        self.all_text = all(isinstance(engine.kind(each.name), st.StringType) for each in self.quasi)
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

    def _is_suppressed(self) -> Any:
        """Return a column that says whether a row was already suppressed."""
        return all_suppressed([f"q{j}" for j in range(len(self.quasi))])

    def scale(self) -> TableStatistics:
        """Count and rank every column's values in a single pass."""
        lead = ["gone"] if self.all_text else []
        forms = self.narrow.columns
        # Values of rows that came in suppressed are counted apart.
        values = _Counts({form: [*lead, form] if form[0] == "q" else [form] for form in forms})
        frame = self.narrow.withColumn("gone", self._is_suppressed()) if lead else self.narrow

        def limit_error(number: int) -> TableError:
            return TableError(
                f"the columns have {number:,} distinct values, more than the {self.driver_keys:,} that "
                "may come to the driver (driver_keys); raise it, or coarsen the columns first"
            )

        fetched = fetched_within(values.counted(frame), self.driver_keys, limit_error)
        if not len(fetched):
            raise TableError("the table has no rows")
        suppressed = 0
        ranks: list[tuple[Domain, Coder, NDArray[np.int64]]] = []
        for form, attribute in zip(forms, (*self.quasi, *self.sensitive), strict=True):
            part = values.of(form, fetched)
            if "gone" in values.sets[form]:
                suppressed = int(part.filter(part["gone"])["n"].sum())
                part = part.filter(~part["gone"])
            ranks.append(rank_values(attribute, part[form], part["n"].to_numpy(), self.null_values))
        first = len(self.quasi)
        domains, coders, totals = (tuple(column) for column in zip(*ranks, strict=True))
        records = int(totals[0].sum())
        if not records:
            raise TableError("every record of the table is suppressed (* in every quasi-identifier)")
        return TableStatistics(
            quasi=domains[:first],
            sensitive=domains[first:],
            quasi_coders=coders[:first],
            sensitive_coders=coders[first:],
            totals=totals[first:],
            records=records,
            suppressed=suppressed,
        )

    def cut(self, scale: TableStatistics, blocks: int | None) -> tuple[Cut, int]:
        """Cut a sample of the keys into blocks."""
        whole = FrequencyTable(
            (),
            (),
            np.array([scale.records]),
            scale.counted([single_key_counts(totals) for totals in scale.totals]),
        )
        for model in self.policy.models:
            model.check_table(whole)
        if blocks is None:
            blocks = max(math.ceil(scale.records / ROWS_PER_BLOCK), 2)
        if blocks == 1:
            return Cut(block=0), 1
        forms = [f"q{j}" for j in range(len(self.quasi))]
        frame = self.narrow.filter(~self._is_suppressed()) if self.all_text else self.narrow
        sample_size = min(max(_SAMPLED[0], blocks * _SAMPLED_PER_BLOCK), _SAMPLED[1])
        one_in = max(1, scale.records // sample_size)
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
        """Return every row with ranks and a block."""
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
        """Count every block exactly, join failing blocks, and return units and sizes."""
        root, blocks = tree
        live = encoded.filter(sf.col(BLOCK) >= 0)
        forms = [f"s{j}" for j in range(len(self.sensitive))]
        counts = _Counts({form: [BLOCK, form] for form in forms} or {"": [BLOCK]})
        fetched = to_polars(counts.counted(live))
        keys = []
        for form, domain in zip(forms, scale.sensitive, strict=True):
            part = counts.of(form, fetched)
            key, codes, rows = (part[name].to_numpy() for name in (BLOCK, form, "n"))
            keys.append(counts_per_key(key.astype(np.int64), codes, rows, blocks, domain.size))
        # Every set has all rows, so any of them gives the weights.
        part = counts.of(next(iter(counts.sets)), fetched)
        weights = np.bincount(part[BLOCK].to_numpy(), part["n"].to_numpy(), blocks).astype(np.int64)
        if weights.sum() != scale.records:
            raise TableError(CHANGED)
        table = FrequencyTable((), (), weights, scale.counted(keys))
        units = self._units(live, table, scale, root)
        sizes = np.bincount(units, weights).astype(np.int64)
        return units, sizes.tolist()

    def _units(
        self, live: Any, table: FrequencyTable, scale: TableStatistics, root: Cut
    ) -> NDArray[np.int32]:
        """Join blocks, and list people only if a block fails alone."""
        models = self.policy.models
        if scale.people is not None and scale.people.several:
            people = people_of_blocks(live, table, scale.people)
            occupied = table.weights > 0
            if all_hold(models, EquivalenceClasses.of_keys(people))[occupied].all():
                return np.where(occupied, np.cumsum(occupied) - 1, 0).astype(np.int32)
            table = listed_people(live, table, scale.people, self.driver_keys)
        return join_failing(root, EquivalenceClasses.of_keys(table), models)

    def people(self, encoded: Any, scale: TableStatistics) -> TableStatistics:
        """Count the people of the whole table, if the role person is used."""
        if not self.person:
            return scale
        people = WholePeople.of_rows(encoded, self.person, [domain.size for domain in scale.sensitive])
        return replace(scale, people=people)

    def recoded(self, encoded: Any, scale: TableStatistics, units: NDArray[np.int32]) -> Any:
        """Repartition the rows by unit, and recode each unit."""
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
        searched = [replace(attribute, hierarchy=None, key_of=()) for attribute in self.quasi]
        policy = replace(self.policy, schema=Schema.of_attributes(searched, null_values=self.null_values))
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

    def losses(self, recoded: Any, scale: TableStatistics) -> dict[str, MetricResult]:
        """Recode the blocks, and sum the losses."""
        fetched = to_polars(recoded.filter(sf.col(FIGURES).isNotNull()).select(FIGURES))
        return summed([json.loads(text) for text in fetched[FIGURES]], scale)

    def _parallel(self) -> int:
        try:
            return int(self.session.sparkContext.defaultParallelism)
        except Exception:
            return 8  # Connect does not say

    def _shared(self, value: Any) -> Any:
        """Return a function that gives executors an object, which is sent once if possible."""
        try:
            broadcast = self.session.sparkContext.broadcast(value)
        except Exception:
            return lambda: value  # Connect sends it along with the function
        return lambda: broadcast.value
