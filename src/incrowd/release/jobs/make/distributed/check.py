"""Measuring a release with classes too many for the driver."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import TableError
from incrowd.core.kernels.grouping.counting import counts_per_key, tally
from incrowd.core.lazy import NDArray, np, pa, pl, sf, st
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.core.table.domain import Domain
from incrowd.core.table.frequency import FrequencyTable, smallest_codes
from incrowd.core.table.schema import Attribute
from incrowd.engines import SparkEngine, TooManyKeysError
from incrowd.engines.distinct import dictionary
from incrowd.engines.plan import PeoplePlan
from incrowd.engines.spark import all_suppressed, positional, to_polars
from incrowd.engines.spark.errors import guarded
from incrowd.engines.spark.fetching import ask
from incrowd.measures.privacy import ModelResult
from incrowd.release.accounts.people import PeopleFigures, size_bins
from incrowd.release.accounts.results import Results
from incrowd.release.jobs.make.distributed.rows import FIGURES, rows_of
from incrowd.release.jobs.measure.assess import Assessment, assess_table

if TYPE_CHECKING:
    from incrowd.release.jobs.make.distributed.people import WholePeople
    from incrowd.release.jobs.make.distributed.scale import TableStatistics
    from incrowd.release.policy.policy import Policy

_OF_RESULT = (
    "model", "quantity", "settings", "attribute", "value", "limit", "holds", "sign", "failing",
    "failing_people",
)  # fmt: skip
"""Fields of a model's result that an executor sends to the driver."""
_CHECKED_TOGETHER = 200_000
"""Combinations of a part, about."""


def measure(table: Any, policy: Policy, driver_keys: int, scale: TableStatistics | None) -> Assessment:
    """Measure a released table on the driver, or in parts on the executors if too large."""
    try:
        return assess_table(table, policy.schema, policy.models, driver_keys=driver_keys)
    except TooManyKeysError as error:
        if scale is None:
            raise
        with guarded(table.sparkSession):
            return check_in_parts(table, policy, scale, error.found)


def refuse_other_rows(written: Any, rows_with_people: Any, names: Sequence[str]) -> None:
    """Refuse a written table with other rows than the table with the known people.

    Raises
    ------
    TableError
    """
    counts = []
    for table in (written, rows_with_people):
        frame, _ = positional(table)
        places = [f"c{table.columns.index(name)}" for name in names]
        counts.append(frame.groupBy(*places).agg(sf.count(sf.lit(1)).alias("n")))
    one, other = counts
    if one.subtract(other).count() or other.subtract(one).count():
        raise TableError("what was written does not hold the rows that were recoded; nothing is kept")


def check_in_parts(table: Any, policy: Policy, scale: TableStatistics, combinations: int) -> Assessment:
    """Measure a released table in parts that hold whole classes.

    Every class lies in one part, by a hash of its cells, and is compared with the whole table there. Only
    what was asked is measured.

    Parameters
    ----------
    combinations
        About how many combinations there are; it says how many parts.
    """
    engine = SparkEngine(table)
    frame, _ = positional(table)
    quasi = [attribute.name for attribute in policy.schema.quasi]
    nulls = [attribute.nulls(policy.schema.null_values) for attribute in policy.schema.quasi]
    sensitive = [attribute.name for attribute in policy.schema.sensitive]
    frame = frame.select(
        *(engine.column(name).alias(f"q{j}") for j, name in enumerate(quasi)),
        *(engine.column(name).alias(f"s{j}") for j, name in enumerate(sensitive)),
        *(engine.column(name).alias(f"w{j}") for j, name in enumerate(policy.schema.person)),
    )
    cells = [f"q{j}" for j in range(len(quasi))]
    parts = math.ceil(combinations / _CHECKED_TOGETHER)
    grouped = frame.groupBy(*frame.columns).agg(sf.count(sf.lit(1)).alias("n"))
    grouped = grouped.withColumn("gone", all_suppressed(cells)).withColumn(
        "part", sf.pmod(sf.xxhash64(*cells), sf.lit(parts)).cast("int")
    )
    models = policy.models

    def check(part: Any) -> Any:
        return check_part((scale, models, quasi, nulls), part)

    schema = st.StructType([st.StructField(FIGURES, st.StringType())])
    fetched = to_polars(grouped.repartition(parts, "part").groupBy("part").applyInArrow(check, schema))
    figures = [json.loads(text) for text in fetched[FIGURES]]
    whole = scale.people
    records = sum(part["records"] for part in figures)
    suppressed = sum(part["suppressed"] for part in figures)
    if records + suppressed != scale.rows:
        raise TableError("the release has not as many rows as the table; nothing was released")
    sizes, classes = _histogram([part["sizes"] for part in figures])
    by_part = [part["privacy"] for part in figures if part["records"]]
    measured = [_combine(results) for results in zip(*by_part, strict=True)]
    return Assessment(
        quasi=tuple(quasi),
        sensitive=tuple(sensitive),
        records=records + suppressed,
        suppressed=suppressed,
        classes=int(classes.sum()),
        smallest=int(sizes[0]) if len(sizes) else 0,
        largest=int(sizes[-1]) if len(sizes) else 0,
        mean_size=records / int(classes.sum()) if len(sizes) else 0.0,
        unique=int(classes[sizes == 1].sum()),
        distribution=size_bins(sizes, classes),
        results=Results(measured),
        risk={},
        people=None if whole is None else _people(grouped.filter("not gone"), cells, whole, figures),
    )


def _people(
    live: Any, cells: Sequence[str], whole: WholePeople, parts: Sequence[Mapping[str, Any]]
) -> PeopleFigures:
    """Count on the executors the people in the release and the people alone in a class."""
    person = [f"w{j}" for j in range(len(whole.columns))]
    plan = PeoplePlan("{rows}", cells, (), person, weight="n")
    present, alone = to_polars(ask(plan.alone(), rows=live)).row(0)
    sizes, classes = _histogram([part["people"] for part in parts])
    return PeopleFigures(
        columns=whole.columns,
        people=whole.people,
        unnamed=whole.unnamed,
        suppressed=whole.people - present,
        smallest=int(sizes[0]) if len(sizes) else 0,
        largest=int(sizes[-1]) if len(sizes) else 0,
        mean_size=float((sizes * classes).sum() / classes.sum()) if len(sizes) else 0.0,
        alone=alone,
        distribution=size_bins(sizes, classes),
    )


def _histogram(parts: Sequence[Sequence[tuple[int, int]]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sum the numbers of classes by size: int64[sizes], ascending, and int64[sizes]."""
    classes_by_size: dict[int, int] = {}
    for size, classes in (entry for part in parts for entry in part):
        classes_by_size[size] = classes_by_size.get(size, 0) + classes
    sizes = np.array(sorted(classes_by_size), np.int64)
    return sizes, np.array([classes_by_size[size] for size in sizes.tolist()], np.int64)


def check_part(shared: Any, table: Any) -> Any:
    """Measure whole classes, given as an Arrow table of combinations, on an executor."""
    from incrowd.core.kernels.grouping.grouping import group_columns

    scale, models, quasi, nulls = shared
    frame = pl.DataFrame(pl.from_arrow(table))
    suppressed = int(frame.filter(frame["gone"])["n"].sum())
    frame = frame.filter(~frame["gone"])
    figures: dict[str, Any] = {
        "records": 0, "suppressed": suppressed, "sizes": [], "people": [], "privacy": [],
    }  # fmt: skip
    if len(frame):
        rows = frame["n"].to_numpy()
        domains, codes = [], []
        for j, name in enumerate(quasi):
            distinct, places = dictionary(frame[f"q{j}"], name, nulls[j])
            domain, ranks = Domain.build(Attribute(name, "quasi", kind="category"), distinct)
            domains.append(domain)
            codes.append(smallest_codes(ranks[places], max(domain.size, 1)))
        ids, first = group_columns(codes, [domain.size for domain in domains], len(frame))
        sensitive = [coder.codes(frame[f"s{j}"].to_arrow()) for j, coder in enumerate(scale.sensitive_coders)]
        keys = [
            counts_per_key(ids.astype(np.int64), ranks_of_rows, rows, len(first), domain.size)
            for ranks_of_rows, domain in zip(sensitive, scale.sensitive, strict=True)
        ]
        frequency = FrequencyTable(
            tuple(domains),
            tuple(column[first] for column in codes),
            np.bincount(ids, rows, len(first)).astype(np.int64),
            scale.counted(keys),
            in_order=False,
        )
        if scale.people is not None:
            people = rows_of(frame.to_arrow(), len(scale.people.columns), ids, sensitive)
            frequency = scale.people.counted(frequency, people._replace(rows=rows.astype(np.int64)))
        classes = EquivalenceClasses.of_keys(frequency)
        figures |= {
            "records": frequency.records,
            "sizes": _sizes(classes.sizes),
            "people": _sizes(classes.counted.sizes),
            "privacy": [
                {name: getattr(measured, name) for name in _OF_RESULT}
                for model in models
                for measured in model.measure(classes)
            ],
        }
    return pa.table({FIGURES: pa.array([json.dumps(figures)], pa.string())})


def _sizes(sizes: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return the number of classes of each size."""
    distinct, numbers = tally(sizes)
    return list(zip(distinct.tolist(), numbers.tolist(), strict=True))


def _combine(parts: Sequence[Mapping[str, Any]]) -> ModelResult:
    """Combine the results of a model on parts: the worst value, and whether every part holds."""
    first = parts[0]
    worst = min if first["sign"] == ">=" or first["sign"] == ">" else max
    values = [float(part["value"]) for part in parts if part["value"] is not None]
    # A part that could not be measured does not hold, and the whole has no value then.
    whole = len(values) == len(parts)
    # A person may be in several parts, so the counts of parts cannot be added. Only 0 is certain.
    nobody = all(part["failing_people"] == 0 for part in parts)
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
        failing_people=0 if nobody else None,
        reasons=() if whole else ("a part of the table could not be measured",),
    )
