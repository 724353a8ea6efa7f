"""Distributed Mondrian: a table on Spark is cut into blocks, and each block is recoded where it lies."""

from __future__ import annotations

import heapq
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms import Mondrian
from incrowd.algorithms.base import all_hold, refuse_infeasible
from incrowd.assessment import Assessment, assess, size_bins
from incrowd.classes import EquivalenceClasses
from incrowd.domain import Domain
from incrowd.engines import DRIVER_KEYS, SparkEngine, TooManyKeysError
from incrowd.engines.grouped import counts_per_key
from incrowd.engines.memory import dictionary
from incrowd.engines.spark import (
    OTHER_VALUES,
    as_arrow,
    guarded,
    positional,
    replace_folder,
    to_polars,
    without_comments,
)
from incrowd.errors import InfeasibleError, ParameterError, TableError
from incrowd.frequency import FrequencyTable, SensitiveCounts, smallest_codes
from incrowd.kernels.counting import Counts
from incrowd.privacy import KAnonymity, Measured, PrivacyModel
from incrowd.progress import Silent
from incrowd.recoding import SUPPRESSED
from incrowd.schema import Attribute
from incrowd.utility import METRICS, Lost

if TYPE_CHECKING:
    import polars as pl

    from incrowd.policy import Policy
    from incrowd.progress import Progress
    from incrowd.recoding import Recoding
    from incrowd.schema import Schema

__all__ = ["DistributedRelease", "in_blocks", "refuse_divided"]

ROWS_PER_BLOCK = 500_000
"""Rows of a block where the caller does not say how many blocks there shall be."""

_SAMPLED = (20_000, 200_000)
_SAMPLED_PER_BLOCK = 500
_CHECKED_TOGETHER = 200_000
_STAT = "figures"
_BLOCK = "block"
_ADDED = ("loss", "ncp", "generalization-intensity")
"""Metrics that are a mean over records, so that those of blocks add up."""


@dataclass(frozen=True)
class DistributedRelease:
    """A table on Spark that was recoded block by block, and the account of it.

    Attributes
    ----------
    table
        The released DataFrame. Spark keeps its rows (memory and disk of the executors) as they were checked;
        rows that are lost with an executor are made again from the input, in the same way as long as the
        input stays what it is. What is to stay is what `write` wrote, which is checked as it was written.
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
    """

    table: Any = field(repr=False)
    policy: Policy
    blocks: int
    sizes: tuple[int, ...] = field(repr=False)
    privacy: Assessment = field(repr=False)
    utility: dict[str, Lost] = field(repr=False)
    seconds: dict[str, float] = field(repr=False)
    driver_keys: int = field(default=DRIVER_KEYS, repr=False, kw_only=True)
    source: Any = field(default=None, repr=False, kw_only=True)
    kept: Any = field(default=None, repr=False, kw_only=True)
    scale: Scale | None = field(default=None, repr=False, kw_only=True)

    @property
    def risk(self) -> dict[str, dict[str, float]]:
        """Figures per risk model of the released table; none where its classes do not fit on the driver."""
        return self.privacy.risk

    def undivided(self) -> dict[str, Lost]:
        """Return what the same policy would have lost without blocks, in the metrics of `utility`.

        The table is counted and searched once more, on the driver.

        Raises
        ------
        TableError
            When its distinct combinations are more than `driver_keys`.
        """
        from incrowd.release import styled

        engine = SparkEngine(self.source)
        engine.driver_keys = self.driver_keys
        schema = styled(self.policy)
        frequency = engine.count(schema)
        found = self.policy.algorithm.search(
            frequency,
            self.policy.models,
            attributes=schema.quasi,
            max_suppression=self.policy.max_suppression,
            progress=Silent(),
            seed=self.policy.seed,
        )
        return _losses(frequency, found.recoding)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: no value of the table is in it."""
        return {
            "format": "incrowd release",
            "version": 1,
            "algorithm": str(self.policy.algorithm),
            "models": [str(model) for model in self.policy.models],
            "max_suppression": self.policy.max_suppression,
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
        from incrowd.release import judge

        replace_folder(
            self.table,
            path,
            lambda written: judge(_check(written, self.policy, self.driver_keys, self.scale), self.policy),
            force=force,
        )

    def unpersist(self) -> None:
        """Let Spark forget the rows that it keeps; whoever asks the table again has them made again."""
        self.kept.unpersist()


def refuse_divided(policy: Policy) -> None:
    """Refuse what cannot be done block by block.

    Raises
    ------
    ParameterError
    """
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
    if policy.shuffle:
        raise ParameterError("blocks: rows on Spark have no order that could be shuffled; leave shuffle out")
    if not policy.models:
        raise ParameterError("name at least one privacy model, e.g. models=[ic.KAnonymity(5)] or -k 5")
    for model in policy.models:
        overall = any(type(part).overall is not PrivacyModel.overall for part in model.parts())
        for wrong, what in (
            (model.needs_population, "compares with a population"),
            (model.is_joint, "looks at several sensitive attributes together"),
            (model.needs_cells, "looks at released cells"),
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
    from incrowd.release import Clock, judge

    clock = Clock(progress or Silent())
    with guarded():
        job = _Blocks(table, policy, searched, driver_keys)
        held: list[Any] = []
        try:
            scale = clock.run("count", job.scale)
            tree = clock.run("cut", lambda: job.cut(scale, blocks))
            encoded = job.encoded(scale, tree).persist()
            held.append(encoded)
            unit_of_block, sizes = clock.run("join blocks", lambda: job.units(encoded, scale, tree))
            kept = job.recoded(encoded, scale, unit_of_block).persist()
            held.append(kept)
            utility = clock.run("recode", lambda: job.losses(kept, scale))
            names = job.released
            released = kept.select(*(f"o{j}" for j in range(len(names)))).toDF(*names)
            after = clock.run("check", lambda: _check(released, policy, driver_keys, scale))
            judge(after, policy)
            held.remove(kept)
        finally:
            for frame in held:
                frame.unpersist()
    return DistributedRelease(
        released,
        policy,
        len(sizes),
        tuple(sorted(sizes, reverse=True)),
        after,
        utility,
        clock.seconds,
        driver_keys=driver_keys,
        source=table,
        kept=kept,
        scale=scale,
    )


# --- what the whole table has ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Coder:
    """Finds the ranks of a column's values, as they come from Spark.

    Attributes
    ----------
    values
        The values without the missing one, sorted: texts, or numbers as they are stored.
    ranks
        int32[values]: the rank of each.
    missing
        The rank of the missing value, -1 where none is missing.
    """

    values: Any
    ranks: NDArray[np.int32]
    missing: int

    @classmethod
    def of(cls, raw: pl.Series, ranks: NDArray[np.integer]) -> Coder:
        """Learn the rank of each value of a series."""
        import polars as pl

        plain = _plain(raw)
        known = plain.is_not_null().to_numpy()
        missing = ranks[~known]
        plain, ranks = plain.filter(pl.Series(known)), ranks[known]
        order = plain.arg_sort().to_numpy()
        plain = plain.gather(order)
        values = plain if plain.dtype == pl.String else plain.to_numpy()
        return cls(values, ranks[order].astype(np.int32), int(missing[0]) if len(missing) else -1)

    def codes(self, column: Any) -> NDArray[np.int32]:
        """Look up an Arrow column: int32[rows].

        Raises
        ------
        ValueError
            When a value was not there before.
        """
        import polars as pl

        plain = _plain(pl.Series(pl.from_arrow(column)))
        gone = plain.is_null().to_numpy()
        codes = np.full(len(plain), self.missing, np.int32)
        wrong = self.missing < 0 and bool(gone.any())
        live = plain.drop_nulls()
        if len(live) and not len(self.values):
            wrong = True
        elif len(live) and live.dtype == pl.String:
            # An Enum finds the place of a text without sorting or joining anything again.
            enum = self.__dict__.setdefault("_enum", pl.Enum(self.values))
            places = live.cast(enum, strict=False).to_physical()
            wrong |= places.null_count() > 0
            codes[~gone] = self.ranks[places.fill_null(0).to_numpy()]
        elif len(live):
            found = live.to_numpy()
            place = np.minimum(np.searchsorted(self.values, found), len(self.values) - 1)
            wrong |= bool((self.values[place] != found).any())
            codes[~gone] = self.ranks[place]
        if wrong:
            raise ValueError(OTHER_VALUES)
        return codes

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_enum"}


def _plain(series: pl.Series) -> pl.Series:
    """Bring values to texts or stored numbers, with what means missing as null."""
    import polars as pl

    kind = series.dtype
    if kind in (pl.String, pl.Boolean, pl.Null) or kind.is_decimal():
        return series.cast(pl.String)
    if kind.is_float():
        # Adding zero makes negative zero the same number.
        return series.fill_nan(None) + 0.0
    return series.to_physical()


@dataclass(frozen=True, eq=False)
class Scale:
    """What is known of the whole table: by it every block is recoded and every class judged.

    Attributes
    ----------
    quasi, sensitive
        The domain of each column.
    quasi_coders, sensitive_coders
        How to find the ranks of their values.
    totals
        Per sensitive attribute int64[size]: records of each value, suppressed ones included.
    records
        Records that have a key.
    suppressed
        Records suppressed before.
    """

    quasi: tuple[Domain, ...]
    sensitive: tuple[Domain, ...]
    quasi_coders: tuple[Coder, ...]
    sensitive_coders: tuple[Coder, ...]
    totals: tuple[NDArray[np.int64], ...]
    records: int
    suppressed: int

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return self.records + self.suppressed

    def counted(self, keys: Sequence[Counts]) -> tuple[SensitiveCounts, ...]:
        """Put counts per key of each sensitive attribute beside the totals of the whole table."""
        return tuple(
            SensitiveCounts(domain, counts, totals)
            for domain, counts, totals in zip(self.sensitive, keys, self.totals, strict=True)
        )


def ranked(
    attribute: Attribute, raw: pl.Series, counts: NDArray[np.integer], null_values: tuple[str, ...]
) -> tuple[Domain, Coder, NDArray[np.int64]]:
    """Rank the values of a column, given the distinct ones and how many rows have each."""
    met, codes = dictionary(raw, attribute.name, null_values)
    domain, ranks = Domain.build(attribute, met)
    of_raw = ranks[codes]
    return domain, Coder.of(raw, of_raw), np.bincount(of_raw, counts, domain.size).astype(np.int64)


# --- cuts ---------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Cut:
    """A node of the tree of cuts: a block, or which part each rank of an attribute belongs to.

    Attributes
    ----------
    attribute
        Position of the quasi-identifier that is cut, -1 for a block.
    part_of
        int32[size]: the part of each of its ranks.
    parts
        The nodes below.
    block
        Number of the block.
    """

    attribute: int = -1
    part_of: NDArray[np.int32] | None = None
    parts: list[Cut] = field(default_factory=list)
    block: int = -1

    def blocks_of(self, codes: Sequence[NDArray[np.integer]]) -> NDArray[np.int32]:
        """Find the block of every row, given its ranks: int32[rows]."""
        found = np.empty(len(codes[0]), np.int32)
        waiting = [(self, np.arange(len(found)))]
        while waiting:
            node, rows = waiting.pop()
            if node.part_of is None:
                found[rows] = node.block
                continue
            part = node.part_of[codes[node.attribute][rows]]
            waiting += [(child, rows[part == number]) for number, child in enumerate(node.parts)]
        return found


def cut_tree(
    sample: FrequencyTable, algorithm: Mondrian, attributes: Sequence[Attribute], blocks: int
) -> tuple[Cut, int]:
    """Cut a sample into about so many blocks as Mondrian would: the tree, and the number of blocks.

    The heaviest block is cut first. A cut of the sample says for every rank, those it has not met included,
    on which side it lies; so whatever the sample is, the blocks part the table by its keys.
    """
    once = replace(algorithm, max_depth=1)
    models = [KAnonymity(max(1, sample.records // (4 * blocks)))]
    root = Cut()
    leaves = 1
    everything = np.arange(sample.keys)
    # The second entry settles ties, so that nodes are never compared.
    waiting = [(-sample.records, 0, root, everything)] if sample.keys else []
    made = 0
    while waiting and leaves < blocks:
        _, _, node, keys = heapq.heappop(waiting)
        kept = np.zeros(sample.keys, np.bool_)
        kept[keys] = True
        part = sample.only(kept)
        if part.records < 2 * models[0].least_size:
            continue
        found = once.search(
            part, models, attributes=attributes, max_suppression=0.0, progress=Silent()
        ).recoding
        class_of_key, count = cast(Any, found).class_of_key, cast(Any, found).count
        if count < 2:
            continue
        node.attribute, node.part_of = _sides(part, class_of_key, count, algorithm)
        for number in range(count):
            child = Cut()
            node.parts.append(child)
            members = keys[class_of_key == number]
            made += 1
            heapq.heappush(waiting, (-int(sample.weights[members].sum()), made, child, members))
        leaves += count - 1
    number = 0
    order = [root]
    while order:
        node = order.pop()
        if node.part_of is None:
            node.block = number
            number += 1
        order += reversed(node.parts)
    return root, number


def _sides(
    part: FrequencyTable, class_of_key: NDArray[np.int32], count: int, algorithm: Mondrian
) -> tuple[int, NDArray[np.int32]]:
    """Find the attribute that a cut went by, and the side of each of its ranks.

    Several attributes may tell the sides apart; the one that is spread widest is tried first, as the search
    does, and any of them is as good.
    """
    spans = [
        -float(domain.span(codes.min()[None], codes.max()[None])[0])
        for domain, codes in zip(part.domains, part.codes, strict=True)
    ]
    for position in np.argsort(spans, kind="stable").tolist():
        domain, codes = part.domains[position], part.codes[position].astype(np.int64)
        tree = domain.hierarchy
        if tree is None or algorithm.categories == "ordered":
            if count != 2:
                continue
            first = int(codes[class_of_key == 0].max() < codes[class_of_key == 1].min())
            left, right = (0, 1) if first else (1, 0)
            start = int(codes[class_of_key == right].min())
            if int(codes[class_of_key == left].max()) < start:
                return position, np.where(np.arange(domain.size) < start, left, right).astype(np.int32)
            continue
        top = domain.ancestors(codes.min()[None], codes.max()[None])[0]
        if tree.leaves[codes.min()] == top:
            continue
        below = [int(node) for node in np.flatnonzero(tree.parents == top)]
        weights = np.bincount(class_of_key, part.weights, count)
        found: dict[int, int] = {}
        consistent = True
        for node in below:
            here = (codes >= tree.lo[node]) & (codes < tree.hi[node])
            sides = np.unique(class_of_key[here])
            if len(sides) > 1:
                consistent = False
                break
            if len(sides):
                found[node] = int(sides[0])
        if not consistent:
            continue
        # What the sample has not met stays with those that stayed together.
        several = [side for side in range(count) if list(found.values()).count(side) > 1]
        rest = several[0] if several else int(np.argmax(weights))
        side_of = np.full(domain.size, rest, np.int32)
        for node, side in found.items():
            side_of[tree.lo[node] : tree.hi[node]] = side
        return position, side_of
    raise AssertionError("a cut of Mondrian goes by one attribute")


def join_failing(tree: Cut, blocks: EquivalenceClasses, models: Sequence[PrivacyModel]) -> NDArray[np.int32]:
    """Join blocks that do not satisfy the models with others, nearest in the tree first: int32[blocks].

    Parameters
    ----------
    blocks
        Every block as a class, in order.

    Raises
    ------
    InfeasibleError
        When the whole table does not satisfy them.
    """
    frequency = blocks.frequency
    refuse_infeasible(frequency, models)

    def holding(sets: Sequence[list[int]]) -> list[bool]:
        numbers = np.full(frequency.keys, -1, np.int32)
        for number, members in enumerate(sets):
            numbers[members] = number
        joined = EquivalenceClasses.from_assignment(frequency, numbers, len(sets))
        return list(map(bool, all_hold(models, joined)))

    def settle(node: Cut) -> tuple[list[list[int]], list[int]]:
        """Blocks below a node as sets that hold, and the blocks that belong to none yet."""
        if node.part_of is None:
            # No row may have fallen into it.
            empty = frequency.weights[node.block] == 0
            return ([], []) if empty else ([[node.block]], []) if alone[node.block] else ([], [node.block])
        good: list[list[int]] = []
        failing: list[int] = []
        for part in node.parts:
            held, rest = settle(part)
            good += held
            failing += rest
        if not failing or holding([failing])[0]:
            return good + ([failing] if failing else []), []
        by_size = sorted(good, key=lambda members: (int(frequency.weights[members].sum()), members))
        for members in by_size:
            if holding([members + failing])[0]:
                return [other for other in good if other is not members] + [members + failing], []
        everything = failing + [block for members in good for block in members]
        return ([everything], []) if holding([everything])[0] else ([], everything)

    occupied = [[block] if frequency.weights[block] else [] for block in range(frequency.keys)]
    verdicts = iter(holding([members for members in occupied if members]))
    alone = [bool(members) and next(verdicts) for members in occupied]
    good, failing = settle(tree)
    if failing:
        raise InfeasibleError("the table as a whole does not satisfy the models; loosen them")
    unit_of_block = np.zeros(frequency.keys, np.int32)
    for number, members in enumerate(good):
        unit_of_block[members] = number
    return unit_of_block


# --- the work on Spark --------------------------------------------------------------------------------


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
        engine.check_types(names)
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
        self.frame = frame.select(*columns)
        if as_arrow(self.frame) is None:
            wrong = [
                name for j, name in enumerate(self.passed) if as_arrow(self.frame.select(f"p{j}")) is None
            ]
            raise TableError(
                f"column {', '.join(map(repr, wrong))}: Spark cannot hand its type to Python; convert it "
                "first, or leave it out of the release"
            )

    def _gone(self) -> Any:
        """Say of a row whether it came in suppressed."""
        from pyspark.sql import functions as sf

        gone = sf.lit(True)
        for j in range(len(self.quasi)):
            gone = gone & sf.coalesce(sf.col(f"q{j}") == sf.lit(SUPPRESSED), sf.lit(False))
        return gone

    def scale(self) -> Scale:
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
        return Scale(
            tuple(domains[:first]),
            tuple(domains[first:]),
            tuple(coders[:first]),
            tuple(coders[first:]),
            tuple(totals[first:]),
            records,
            suppressed,
        )

    def cut(self, scale: Scale, blocks: int | None) -> tuple[Cut, int]:
        """Cut a sample of the keys into blocks."""
        from pyspark.sql import functions as sf

        whole = FrequencyTable(
            (), (), np.array([scale.records]), scale.counted([_alone(totals) for totals in scale.totals])
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

    def encoded(self, scale: Scale, tree: tuple[Cut, int]) -> Any:
        """Give every row its ranks and its block."""
        from pyspark.sql import types as st

        quasi, sensitive = len(self.quasi), len(self.sensitive)
        schema = st.StructType(
            [
                st.StructField(_BLOCK, st.IntegerType()),
                *(st.StructField(f"q{j}", st.IntegerType()) for j in range(quasi)),
                *(st.StructField(f"s{j}", st.IntegerType()) for j in range(sensitive)),
                *(self.frame.schema[f"p{j}"] for j in range(len(self.passed))),
            ]
        )
        shared = self._shared((scale, tree[0], self.all_text, quasi, sensitive, len(self.passed)))

        def encode(batches: Iterator[Any]) -> Iterator[Any]:
            return encode_batches(shared(), batches)

        return self.frame.mapInArrow(encode, schema)

    def units(self, encoded: Any, scale: Scale, tree: tuple[Cut, int]) -> tuple[NDArray[np.int32], list[int]]:
        """Count every block exactly, and join those that fail: the unit of each block, and their records."""
        from pyspark.sql import functions as sf

        root, blocks = tree
        live = encoded.filter(sf.col(_BLOCK) >= 0)
        forms = [f"s{j}" for j in range(len(self.sensitive))]
        weights = np.zeros(blocks, np.int64)
        keys = []
        if forms:
            grouped = live.groupingSets(
                [[sf.col(_BLOCK), sf.col(form)] for form in forms],
                sf.col(_BLOCK),
                *(sf.col(form) for form in forms),
            ).agg(sf.grouping_id().alias("set"), sf.count(sf.lit(1)).alias("n"))
        else:
            grouped = live.groupBy(_BLOCK).agg(sf.count(sf.lit(1)).alias("n"))
        fetched = to_polars(grouped)
        for j, form in enumerate(forms):
            bits = sum(1 << (len(forms) - 1 - other) for other in range(len(forms)) if other != j)
            part = fetched.filter(fetched["set"] == bits)
            key, codes, rows = (part[name].to_numpy() for name in (_BLOCK, form, "n"))
            keys.append(counts_per_key(key.astype(np.int64), codes, rows, blocks, scale.sensitive[j].size))
            weights = np.bincount(key, rows, blocks).astype(np.int64)
        if not forms:
            np.add.at(weights, fetched[_BLOCK].to_numpy(), fetched["n"].to_numpy())
        if weights.sum() != scale.records:
            raise TableError("the table was changed while it was counted; try again when nobody writes to it")
        table = FrequencyTable((), (), weights, scale.counted(keys))
        units = join_failing(root, EquivalenceClasses.of_keys(table), self.policy.models)
        sizes = np.bincount(units, weights).astype(np.int64)
        return units, sizes.tolist()

    def recoded(self, encoded: Any, scale: Scale, units: NDArray[np.int32]) -> Any:
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
                st.StructField(_STAT, st.StringType()),
            ]
        )
        names = [attribute.name for attribute in self.quasi]
        order = [names.index(name) if name in names else -1 for name in self.released]
        # Builders of hierarchies have done their work and stay here.
        attributes = [replace(attribute, hierarchy=None) for attribute in self.quasi]
        bare = replace(scale, quasi_coders=(), sensitive_coders=())
        policy = self.policy
        shared = self._shared(
            (bare, policy.algorithm, policy.models, attributes, policy.max_suppression, sources, order)
        )

        def recode(table: Any) -> Any:
            return recode_block(shared(), table)

        unit = sf.col(_BLOCK)
        if len(units) > 1 and (units != np.arange(len(units))).any():
            numbers = sf.lit(units.tolist())
            unit = sf.when(unit >= 0, sf.get(numbers, unit)).otherwise(unit)
        tasks = max(1, min(int(units.max()) + 1, self._parallel() * 8))
        rows = encoded.withColumn("unit", unit).repartition(tasks, "unit")
        return rows.groupBy("unit").applyInArrow(recode, schema)

    def losses(self, kept: Any, scale: Scale) -> dict[str, Lost]:
        """Have the blocks recoded, and add up what they lost."""
        from pyspark.sql import functions as sf

        fetched = to_polars(kept.filter(sf.col(_STAT).isNotNull()).select(_STAT))
        return added([json.loads(text) for text in fetched[_STAT]], scale)

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


def encode_batches(shared: Any, batches: Iterator[Any]) -> Iterator[Any]:
    """Give every row of some Arrow batches its ranks and its block; runs on the executors."""
    import pyarrow as pa
    import pyarrow.compute as pc

    scale, tree, all_text, quasi, sensitive, passed = shared
    for batch in batches:
        gone = np.zeros(batch.num_rows, np.bool_)
        if all_text:
            gone = np.ones(batch.num_rows, np.bool_)
            for j in range(quasi):
                same = pc.fill_null(pc.equal(batch.column(f"q{j}"), SUPPRESSED), False)
                gone &= same.to_numpy(zero_copy_only=False)
        live = batch.filter(pa.array(~gone)) if gone.any() else batch
        codes = [scale.quasi_coders[j].codes(live.column(f"q{j}")) for j in range(quasi)]
        block = np.empty(batch.num_rows, np.int32)
        block[~gone] = tree.blocks_of(codes)
        # Rows without a key are spread; nobody has to hold them together.
        block[gone] = -1 - np.arange(int(gone.sum()), dtype=np.int32) % 64
        columns = [pa.array(block)]
        for column in codes:
            full = np.zeros(batch.num_rows, np.int32)
            full[~gone] = column
            columns.append(pa.array(full))
        columns += [
            pa.array(scale.sensitive_coders[j].codes(batch.column(f"s{j}"))) for j in range(sensitive)
        ]
        columns += [batch.column(f"p{j}") for j in range(passed)]
        names = [
            _BLOCK,
            *(f"q{j}" for j in range(quasi)),
            *(f"s{j}" for j in range(sensitive)),
            *(f"p{j}" for j in range(passed)),
        ]
        yield pa.RecordBatch.from_arrays(columns, names=names)


def recode_block(shared: Any, table: Any) -> Any:
    """Recode the rows of one block, given as an Arrow table; runs on the executors."""
    import pyarrow as pa

    scale, algorithm, models, attributes, max_suppression, sources, order = shared
    rows = table.num_rows
    figures: str | None = None
    cells: list[Any] = []
    if rows and table.column(_BLOCK)[0].as_py() < 0:
        cells = [pa.array([SUPPRESSED] * rows, pa.string())] * len(scale.quasi)
    else:
        frequency = FrequencyTable.from_rows(
            [(domain, table.column(f"q{j}").to_numpy()) for j, domain in enumerate(scale.quasi)],
            [(domain, table.column(f"s{j}").to_numpy()) for j, domain in enumerate(scale.sensitive)],
            np.zeros(rows, np.bool_),
        )
        # Every class is compared with the whole table, not with its block.
        frequency = replace(frequency, sensitive=scale.counted([c.keys for c in frequency.sensitive]))
        recoding = algorithm.search(
            frequency, models, attributes=attributes, max_suppression=max_suppression, progress=Silent()
        ).recoding
        lost = {
            name: {"per_attribute": found.per_attribute}
            for name, found in _losses(frequency, recoding).items()
        }
        figures = json.dumps({"records": rows, "utility": lost})
        assert frequency.row_keys is not None
        for column in recoding.cells:
            positions, labels = column.released
            of_row = positions[column.codes][frequency.row_keys]
            cells.append(pa.array(labels, pa.string()).take(pa.array(of_row)))
    columns = [
        _in_utc(table.column(source)) if source else cells[position]
        for source, position in zip(sources, order, strict=True)
    ]
    columns.append(pa.array([figures, *[None] * (rows - 1)], pa.string()))
    return pa.table(columns, names=[*(f"o{j}" for j in range(len(sources))), _STAT])


def _in_utc(column: Any) -> Any:
    """Name UTC as the zone of points of time, as Spark wants them back; the points stay what they are."""
    kind = _utc_type(column.type)
    return column if kind == column.type else column.cast(kind)


def _utc_type(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    if pa.types.is_struct(kind):
        fields = [kind.field(j) for j in range(kind.num_fields)]
        return pa.struct([field.with_type(_utc_type(field.type)) for field in fields])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_utc_type(kind.value_type)))
    return kind


def _alone(totals: NDArray[np.int64]) -> Counts:
    """Lay totals out as the counts of one key."""
    codes = np.flatnonzero(totals).astype(np.int32)
    return Counts(np.array([0, len(codes)], np.int64), codes, totals[codes])


def _losses(frequency: FrequencyTable, recoding: Recoding) -> dict[str, Lost]:
    return {name: METRICS.get(name)().measure(frequency, recoding) for name in _ADDED}


def added(figures: Sequence[Mapping[str, Any]], scale: Scale) -> dict[str, Lost]:
    """Add up what blocks lost, by their records; a record suppressed before lost everything."""
    found = {}
    for name in _ADDED:
        per_attribute = {
            domain.name: (
                math.fsum(
                    block["records"] * block["utility"][name]["per_attribute"][domain.name]
                    for block in figures
                )
                + scale.suppressed
            )
            / scale.rows
            for domain in scale.quasi
        }
        value = sum(per_attribute.values()) / len(per_attribute)
        found[name] = Lost(name, value, per_attribute, max(value, 0.0))
    return found


# --- the check ----------------------------------------------------------------------------------------


def _check(table: Any, policy: Policy, driver_keys: int, scale: Scale | None) -> Assessment:
    """Measure a released table: on the driver where its classes fit there, else in parts on the executors."""
    try:
        return assess(table, policy.schema, policy.models, driver_keys=driver_keys)
    except TooManyKeysError as error:
        assert scale is not None
        with guarded():
            return check_in_parts(table, policy, scale, error.found)


def check_in_parts(table: Any, policy: Policy, scale: Scale, found: int) -> Assessment:
    """Measure a released table by parts that hold whole classes.

    Every class lies in one part, by a hash of its cells, and is compared with the whole table there. Only
    what was asked is measured.

    Parameters
    ----------
    found
        About how many combinations there are; it says how many parts.
    """
    from pyspark.sql import functions as sf
    from pyspark.sql import types as st

    engine = SparkEngine(table)
    frame, _ = positional(table)
    quasi = [attribute.name for attribute in policy.schema.quasi]
    sensitive = [attribute.name for attribute in policy.schema.sensitive]
    frame = frame.select(
        *(
            sf.col(f"c{engine.columns.index(name)}").cast(st.StringType()).alias(f"q{j}")
            for j, name in enumerate(quasi)
        ),
        *(sf.col(f"c{engine.columns.index(name)}").alias(f"s{j}") for j, name in enumerate(sensitive)),
    )
    cells = [f"q{j}" for j in range(len(quasi))]
    gone = sf.lit(True)
    for name in cells:
        gone = gone & sf.coalesce(sf.col(name) == sf.lit(SUPPRESSED), sf.lit(False))
    parts = math.ceil(found / _CHECKED_TOGETHER)
    grouped = frame.groupBy(*frame.columns).agg(sf.count(sf.lit(1)).alias("n"))
    grouped = grouped.withColumn("gone", gone).withColumn(
        "part", sf.pmod(sf.xxhash64(*cells), sf.lit(parts)).cast("int")
    )
    models = policy.models

    def check(part: Any) -> Any:
        return check_part((scale, models, quasi, policy.schema.null_values), part)

    schema = st.StructType([st.StructField(_STAT, st.StringType())])
    fetched = to_polars(grouped.repartition(parts, "part").groupBy("part").applyInArrow(check, schema))
    figures = [json.loads(text) for text in fetched[_STAT]]
    records = sum(part["records"] for part in figures)
    suppressed = sum(part["suppressed"] for part in figures)
    if records + suppressed != scale.rows:
        raise TableError("the release has not as many rows as the table; nothing was released")
    histogram: dict[int, int] = {}
    for part in figures:
        for size, classes in part["sizes"]:
            histogram[size] = histogram.get(size, 0) + classes
    sizes = np.array(sorted(histogram), np.int64)
    classes = np.array([histogram[size] for size in sizes.tolist()], np.int64)
    measured = [
        _together([part["privacy"][j] for part in figures if part["records"]]) for j in range(_asked(figures))
    ]
    return Assessment(
        quasi=tuple(quasi),
        sensitive=tuple(sensitive),
        records=records + suppressed,
        suppressed=suppressed,
        classes=int(classes.sum()),
        smallest=int(sizes[0]) if len(sizes) else 0,
        largest=int(sizes[-1]) if len(sizes) else 0,
        mean_size=records / int(classes.sum()) if len(sizes) else 0.0,
        unique=histogram.get(1, 0),
        distribution=size_bins(sizes, classes),
        privacy=tuple(measured),
        risk={},
    )


def _asked(figures: Sequence[Mapping[str, Any]]) -> int:
    return max((len(part["privacy"]) for part in figures if part["records"]), default=0)


def check_part(shared: Any, table: Any) -> Any:
    """Measure whole classes, given as an Arrow table of combinations; runs on the executors."""
    import polars as pl
    import pyarrow as pa

    from incrowd.kernels.grouping import group_columns

    scale, models, quasi, null_values = shared
    frame = pl.DataFrame(pl.from_arrow(table))
    suppressed = int(frame.filter(frame["gone"])["n"].sum())
    frame = frame.filter(~frame["gone"])
    figures: dict[str, Any] = {"records": 0, "suppressed": suppressed, "sizes": [], "privacy": []}
    if len(frame):
        rows = frame["n"].to_numpy()
        domains, codes = [], []
        for j, name in enumerate(quasi):
            met, places = dictionary(frame[f"q{j}"], name, null_values)
            domain, ranks = Domain.build(Attribute(name, "quasi", kind="category"), met)
            domains.append(domain)
            codes.append(smallest_codes(ranks[places], max(domain.size, 1)))
        ids, first = group_columns(codes, [domain.size for domain in domains], len(frame))
        keys = [
            counts_per_key(
                ids.astype(np.int64), coder.codes(frame[f"s{j}"].to_arrow()), rows, len(first), domain.size
            )
            for j, (coder, domain) in enumerate(zip(scale.sensitive_coders, scale.sensitive, strict=True))
        ]
        frequency = FrequencyTable(
            tuple(domains),
            tuple(column[first] for column in codes),
            np.bincount(ids, rows, len(first)).astype(np.int64),
            scale.counted(keys),
            in_order=False,
        )
        classes = EquivalenceClasses.of_keys(frequency)
        sizes, many = np.unique(classes.sizes, return_counts=True)
        figures |= {
            "records": frequency.records,
            "sizes": list(zip(sizes.tolist(), many.tolist(), strict=True)),
            "privacy": [_plainly(measured) for model in models for measured in model.measure(classes)],
        }
    return pa.table({_STAT: pa.array([json.dumps(figures)], pa.string())})


def _plainly(measured: Measured) -> dict[str, Any]:
    names = ("model", "quantity", "settings", "attribute", "value", "limit", "holds", "sign", "failing")
    return {name: getattr(measured, name) for name in names}


def _together(parts: Sequence[Mapping[str, Any]]) -> Measured:
    """Say of a model what its worst part says; it holds where every part does."""
    first = parts[0]
    worst = min if first["sign"] == ">=" or first["sign"] == ">" else max
    values = [float(part["value"]) for part in parts if part["value"] is not None]
    # A part that could not be measured does not hold, and the whole has no value then.
    whole = len(values) == len(parts)
    return Measured(
        first["model"],
        first["quantity"],
        first["settings"],
        first["attribute"],
        worst(values) if whole else None,
        first["limit"],
        whole and all(part["holds"] is True for part in parts),
        first["sign"],
        (sum(part["failing"][0] for part in parts), sum(part["failing"][1] for part in parts)),
        () if whole else ("a part of the table could not be measured",),
    )
