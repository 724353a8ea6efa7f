"""The work of the executors on rows: assign blocks, and recode a block."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from incrowd.core.kernels.grouping.counting import Counts
from incrowd.core.lazy import NDArray, np, pa, pc, pl
from incrowd.core.progress import Silent
from incrowd.core.recoding import SUPPRESSED, check_cells
from incrowd.core.table.frequency import FrequencyTable
from incrowd.core.table.people import PersonRows
from incrowd.engines.memory import number_persons
from incrowd.measures.utility import METRICS, MetricResult
from incrowd.measures.utility.base import mean_of
from incrowd.release.jobs.make.distributed.cuts import BLOCK
from incrowd.release.policy.policy import search_problem

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.release.jobs.make.distributed.scale import TableStatistics

FIGURES = "figures"
"""Column that has an account of a block in its first row."""

_ADDED = ("loss", "ncp", "generalization-intensity")
"""Metrics that are a mean over records, so that those of blocks add up."""


def encode_batches(shared: Any, batches: Iterator[Any]) -> Iterator[Any]:
    """Add ranks and a block to every row of Arrow batches, on an executor."""
    scale, tree, all_text, quasi, sensitive, passed, person = shared
    for batch in batches:
        suppressed = np.zeros(batch.num_rows, np.bool_)
        if all_text:
            suppressed = np.ones(batch.num_rows, np.bool_)
            for j in range(quasi):
                same = pc.fill_null(pc.equal(batch.column(f"q{j}"), SUPPRESSED), False)
                suppressed &= same.to_numpy(zero_copy_only=False)
        live = batch.filter(pa.array(~suppressed)) if suppressed.any() else batch
        codes = [scale.quasi_coders[j].codes(live.column(f"q{j}")) for j in range(quasi)]
        block = np.empty(batch.num_rows, np.int32)
        block[~suppressed] = tree.blocks_of(codes)
        # Rows without a key are spread; nobody has to hold them together.
        block[suppressed] = -1 - np.arange(int(suppressed.sum()), dtype=np.int32) % 64
        columns = [pa.array(block)]
        for column in codes:
            full = np.zeros(batch.num_rows, np.int32)
            full[~suppressed] = column
            columns.append(pa.array(full))
        columns += [
            pa.array(scale.sensitive_coders[j].codes(batch.column(f"s{j}"))) for j in range(sensitive)
        ]
        others = [*(f"p{j}" for j in range(passed)), *(f"w{j}" for j in range(person))]
        columns += [batch.column(name) for name in others]
        names = [
            BLOCK,
            *(f"q{j}" for j in range(quasi)),
            *(f"s{j}" for j in range(sensitive)),
            *others,
        ]
        yield pa.RecordBatch.from_arrays(columns, names=names)


def rows_of(
    table: Any, columns: int, key: NDArray[np.integer], ranks: Sequence[NDArray[np.integer]]
) -> PersonRows:
    """Return the rows of people, named by the columns ``w0``, ... of an Arrow table."""
    names = [f"w{j}" for j in range(columns)]
    person = number_persons([pl.Series(pl.from_arrow(table.column(name))) for name in names], names, ())
    return PersonRows(key, person, tuple(ranks))


def recode_block(shared: Any, table: Any) -> Any:
    """Recode the rows of a block, given as an Arrow table, on an executor."""
    scale, policy, sources, order = shared
    person = 0 if scale.people is None else len(scale.people.columns)
    rows = table.num_rows
    figures: str | None = None
    cells: list[Any] = []
    if rows and table.column(BLOCK)[0].as_py() < 0:
        cells = [pa.array([SUPPRESSED] * rows, pa.string())] * len(scale.quasi)
    else:
        frequency = FrequencyTable.from_rows(
            [(domain, table.column(f"q{j}").to_numpy()) for j, domain in enumerate(scale.quasi)],
            [(domain, table.column(f"s{j}").to_numpy()) for j, domain in enumerate(scale.sensitive)],
            np.zeros(rows, np.bool_),
        )
        # Every class is compared with the whole table, not with its block.
        ranks = [counts.rank_of_row() for counts in frequency.sensitive]
        frequency = replace(frequency, sensitive=scale.counted([c.keys for c in frequency.sensitive]))
        if scale.people is not None:
            key = frequency.key_of_row("recoding a block")
            frequency = scale.people.counted(frequency, rows_of(table, person, key, ranks))
        recoding = policy.algorithm.search(
            search_problem(policy, frequency, policy.schema.quasi, Silent())
        ).recoding
        check_cells(recoding, policy.schema)
        lost = {
            name: {"per_attribute": result.per_attribute}
            for name, result in losses(frequency, recoding).items()
        }
        figures = json.dumps({"records": rows, "utility": lost})
        key = frequency.key_of_row("recoding a block")
        for domain, column in zip(recoding.domains, recoding.cells, strict=True):
            positions, labels = column.released
            of_row = positions[column.codes][key]
            cells.append(pa.array(domain.written(labels), pa.string()).take(pa.array(of_row)))
    columns = [
        _in_utc(table.column(source)) if source else cells[position]
        for source, position in zip(sources, order, strict=True)
    ]
    columns.append(pa.array([figures, *[None] * (rows - 1)], pa.string()))
    person_columns = [f"w{j}" for j in range(person)]
    columns += [_in_utc(table.column(name)) for name in person_columns]
    return pa.table(columns, names=[*(f"o{j}" for j in range(len(sources))), FIGURES, *person_columns])


def _in_utc(column: Any) -> Any:
    """Convert points of time to the zone UTC, as Spark expects, without a change of the points."""
    kind = _utc_type(column.type)
    return column if kind == column.type else column.cast(kind)


def _utc_type(kind: Any) -> Any:
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    if pa.types.is_struct(kind):
        fields = [kind.field(j) for j in range(kind.num_fields)]
        return pa.struct([field.with_type(_utc_type(field.type)) for field in fields])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_utc_type(kind.value_type)))
    return kind


def single_key_counts(totals: NDArray[np.int64]) -> Counts:
    """Return totals as the counts of a single key."""
    codes = np.flatnonzero(totals).astype(np.int32)
    return Counts(np.array([0, len(codes)], np.int64), codes, totals[codes])


def losses(frequency: FrequencyTable, recoding: Recoding) -> dict[str, MetricResult]:
    """Measure a recoding by the metrics that are means over records."""
    return {name: METRICS.get(name)().measure(frequency, recoding) for name in _ADDED}


def summed(figures: Sequence[Mapping[str, Any]], scale: TableStatistics) -> dict[str, MetricResult]:
    """Sum the losses of blocks, weighted by records, with full loss for suppressed records."""
    results = {}
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
        value = mean_of(per_attribute)
        results[name] = MetricResult(name, value, per_attribute, max(value, 0.0))
    return results
