"""The published interfaces beside plain code that does the same, in one run; medians.

Plain code is what the documents of the interfaces spell out: the notebook's loop with a callable for every
half, a loop over the homework's records in Python, a loop over classes with pandas.
"""

from __future__ import annotations

import functools
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from incrowd.compat import notebook as nb
from incrowd.compat.comp430 import clustering_anonymizer, cost_LM
from incrowd.compat.notebook import is_k_anonymous, is_l_diverse, partition_dataset
from incrowd.compat.p29 import (
    calculate_global_distribution,
    calculate_t_closeness,
    compute_t_closeness,
    ensure_privacy,
)
from incrowd.samples import hospital

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "compat"))
from test_comp430 import Plain, write
from test_p29 import published_loop


def median(call: Callable[[], object], times: int) -> float:
    """Return the median time of some calls."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


class Line(NamedTuple):
    """Seconds of a published interface, and those of plain code that does the same."""

    what: str
    ours: float
    plain: float


CONDITIONS: dict[str, Callable[..., bool]] = {
    "k=3": is_k_anonymous,
    "k=3 and l=2": lambda *args: is_k_anonymous(*args) and is_l_diverse(*args),
}
SPELLINGS: dict[str, Callable[..., bool]] = {
    "nb.k and nb.l": lambda *args: nb.is_k_anonymous(*args) and nb.is_l_diverse(*args),
    "all of a list": lambda *args: all([nb.is_k_anonymous(*args), nb.is_l_diverse(*args)]),
    "any of a list": lambda *args: any([nb.is_k_anonymous(*args, k=50), nb.is_l_diverse(*args)]),
}


def notebook(rows: int, conditions: Mapping[str, Callable[..., bool]] = CONDITIONS) -> Iterator[Line]:
    """Measure recognized conditions, and the same ones called for every half."""
    rng = np.random.default_rng(1)
    df = pd.DataFrame(
        {
            "age": rng.integers(17, 91, rows),
            "education-num": rng.integers(1, 17, rows),
            "income": rng.choice(["<=50k", ">50k"], rows, p=[0.76, 0.24]),
        }
    )
    for what, fast in conditions.items():
        partition = functools.partial(partition_dataset, df, ["age", "education-num"], "income")
        ours = median(lambda partition=partition, fast=fast: partition(fast), 5)
        plain = median(lambda partition=partition, fast=fast: partition(lambda *args: bool(fast(*args))), 1)
        yield Line(f"notebook: partition_dataset, {rows:,} rows, {what}", ours, plain)


def homework(rows: int) -> Iterator[Line]:
    """Measure the homework in compiled code, and record by record in fractions."""
    rng = np.random.default_rng(1)
    letters = [f"{a}{b}{c}" for a in "abcd" for b in "efgh" for c in "ijk"]
    tree = {"Any": {a: {a + b: [v for v in letters if v.startswith(a + b)] for b in "efgh"} for a in "abcd"}}
    trees = {f"q{j}": tree for j in range(5)}
    table = [(*rng.choice(letters, 5).tolist(), str(rng.integers(8))) for _ in range(rows)]
    with tempfile.TemporaryDirectory() as folder:
        raw, dghs = write(Path(folder), trees, table)
        out = Path(folder) / "out.csv"
        clustering_anonymizer(raw, dghs, 8, out)
        reading = Plain(trees, table)
        ours = median(lambda: clustering_anonymizer(raw, dghs, 8, out), 5)
        plain = median(lambda: reading.generalized(reading.clustering(8)), 1)
        yield Line(f"homework: clustering_anonymizer, {rows:,} records, k=8", ours, plain)
        made = reading.generalized(reading.clustering(8))
        ours, plain = median(lambda: cost_LM(raw, out, dghs), 5), median(lambda: reading.costs(made), 3)
        yield Line(f"homework: cost_LM, {rows:,} records", ours, plain)


def p29(rows: int) -> Iterator[Line]:
    """Measure all classes at once, and class by class."""
    df = hospital(rows, 1).to_pandas()
    quasi, sensitive = ["sex", "age"], ["diagnosis", "ward"] if "ward" in df else ["diagnosis"]

    def loop() -> None:
        whole = {name: calculate_global_distribution(df[name]) for name in sensitive}
        for _, group in df.groupby(quasi):
            for name in sensitive:
                compute_t_closeness(group[name], whole[name])

    ours = median(lambda: calculate_t_closeness(df, quasi, sensitive), 5)
    yield Line(f"P_29: calculate_t_closeness, {rows:,} rows", ours, median(loop, 1))


def p29_loop(rows: int) -> Iterator[Line]:
    """Measure the loop that deletes classes, and the same loop of the document's own functions."""
    rng = np.random.default_rng(1)
    values = {"sex": 2, "age": 5, "race": 4, "readmitted": 3, "diagnosis": 9}
    df = pd.DataFrame({name: rng.integers(count, size=rows).astype(str) for name, count in values.items()})
    for quasi, sensitive in (
        (["sex"], ["readmitted"]),
        (["sex", "age"], ["readmitted"]),
        (["sex", "age", "race"], ["readmitted", "diagnosis"]),
    ):
        ours = median(functools.partial(ensure_privacy, df, quasi, sensitive), 15)
        plain = median(functools.partial(published_loop, df, quasi, sensitive), 15)
        classes = df.groupby(quasi).ngroups
        what = f"P_29: ensure_privacy, {rows:,} rows, {classes} classes, {len(sensitive)} sensitive"
        yield Line(what, ours, plain)


if __name__ == "__main__":
    print(f"{'':62} {'ours':>11} {'plain':>11} {'ratio':>9}")
    loops = (line for rows in (200, 300, 500, 1000, 5000) for line in p29_loop(rows))
    for each in (*notebook(48_842, CONDITIONS | SPELLINGS), *homework(400), *p29(100_000), *loops):
        print(f"{each.what:62} {each.ours:9.4f} s {each.plain:9.4f} s {each.plain / each.ours:9.1f}")
