"""Measuring a release whose classes need not fit on the driver."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from incrowd.engines import SparkEngine, TooManyKeysError
from incrowd.engines.memory import dictionary
from incrowd.engines.spark import all_suppressed, positional, to_polars
from incrowd.engines.spark.errors import guarded
from incrowd.errors import TableError
from incrowd.jobs.assess import Assessment, assess_table
from incrowd.jobs.class_sizes import size_bins
from incrowd.jobs.distributed.rows import FIGURES
from incrowd.kernels.counting import counts_per_key
from incrowd.privacy import ModelResult
from incrowd.table.classes import EquivalenceClasses
from incrowd.table.domain import Domain
from incrowd.table.frequency import FrequencyTable, smallest_codes
from incrowd.table.schema import Attribute

if TYPE_CHECKING:
    from incrowd.jobs.distributed.scale import TableStatistics
    from incrowd.jobs.policy import Policy

__all__ = ["check_in_parts", "check_part", "measure"]

_CHECKED_TOGETHER = 200_000
"""Combinations of a part, about."""


def measure(table: Any, policy: Policy, driver_keys: int, scale: TableStatistics | None) -> Assessment:
    """Measure a released table: on the driver where its classes fit there, else in parts on the executors."""
    try:
        return assess_table(table, policy.schema, policy.models, driver_keys=driver_keys)
    except TooManyKeysError as error:
        if scale is None:
            raise
        with guarded():
            return check_in_parts(table, policy, scale, error.found)


def check_in_parts(table: Any, policy: Policy, scale: TableStatistics, found: int) -> Assessment:
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
    parts = math.ceil(found / _CHECKED_TOGETHER)
    grouped = frame.groupBy(*frame.columns).agg(sf.count(sf.lit(1)).alias("n"))
    grouped = grouped.withColumn("gone", all_suppressed(cells)).withColumn(
        "part", sf.pmod(sf.xxhash64(*cells), sf.lit(parts)).cast("int")
    )
    models = policy.models

    def check(part: Any) -> Any:
        return check_part((scale, models, quasi, policy.schema.null_values), part)

    schema = st.StructType([st.StructField(FIGURES, st.StringType())])
    fetched = to_polars(grouped.repartition(parts, "part").groupBy("part").applyInArrow(check, schema))
    figures = [json.loads(text) for text in fetched[FIGURES]]
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
    return pa.table({FIGURES: pa.array([json.dumps(figures)], pa.string())})


def _plainly(measured: ModelResult) -> dict[str, Any]:
    names = ("model", "quantity", "settings", "attribute", "value", "limit", "holds", "sign", "failing")
    return {name: getattr(measured, name) for name in names}


def _together(parts: Sequence[Mapping[str, Any]]) -> ModelResult:
    """Say of a model what its worst part says; it holds where every part does."""
    first = parts[0]
    worst = min if first["sign"] == ">=" or first["sign"] == ">" else max
    values = [float(part["value"]) for part in parts if part["value"] is not None]
    # A part that could not be measured does not hold, and the whole has no value then.
    whole = len(values) == len(parts)
    return ModelResult(
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
