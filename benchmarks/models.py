"""How fast every privacy model is measured, beside group-bys and beside pyCANON where it is installed.

Run with ``make bench``, or ``python benchmarks/models.py --help``. The comparison with pyCANON needs
``pip install pycanon`` and UCI Adult as a CSV.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.console import Console
from rich.table import Table

import incrowd as ic
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.engines import engine_for
from incrowd.measures.privacy import MODELS
from incrowd.release.jobs.measure.assess import assess_classes
from incrowd.samples import diagnosis_hierarchy, hospital
from mondrian import SIX, median_of

if TYPE_CHECKING:
    import pandas as pd

SENSITIVE = ("diagnosis", "length_of_stay", "cost")
ADULT_QUASI = ("age", "education", "occupation", "relationship", "sex", "native-country")
ADULT_SENSITIVE = "salary-class"


def schema() -> ic.Schema:
    """Return the table's quasi-identifiers and sensitive attributes."""
    return ic.Schema(
        quasi={name: ic.Hierarchy.prefix() if name == "zip" else None for name in SIX},
        sensitive={"diagnosis": diagnosis_hierarchy(), "length_of_stay": None, "cost": None},
        unlisted="drop",
    )


def one_table(rows: int, repeat: int) -> dict[str, dict[str, float]]:
    """Seconds for every model on a made-up table as it came in, and released with k=10."""
    raw = hospital(rows)
    released = ic.anonymize(raw, schema(), [ic.KAnonymity(10)], unanswered="write").table
    results = {}
    for name, table in (("raw", raw), ("released, k=10", released)):
        engine = engine_for(table)
        measured = schema().measured()
        assess_classes(EquivalenceClasses.of_keys(engine.count(measured).frequency))
        count, frequency = median_of(repeat, lambda e=engine, s=measured: e.count(s).frequency)
        models, assessment = median_of(
            repeat, lambda f=frequency: assess_classes(EquivalenceClasses.of_keys(f))
        )
        group_by, _ = median_of(repeat, lambda t=table: t.group_by(*SIX).len())
        per_attribute, _ = median_of(
            repeat, lambda t=table: [t.group_by(*SIX, name).len() for name in SENSITIVE]
        )
        results[name] = {
            "classes": assessment.classes,
            "figures": len(assessment.privacy),
            "count": count,
            "models": models,
            "group-by": group_by,
            "group-bys with each attribute": per_attribute,
        }
    return results


def each_model(rows: int, repeat: int) -> dict[str, float]:
    """Seconds per model on the released table, all kinds and three sensitive attributes."""
    released = ic.anonymize(hospital(rows), schema(), [ic.KAnonymity(10)], unanswered="write").table
    frequency = engine_for(released).count(schema().measured()).frequency
    classes = EquivalenceClasses.of_keys(frequency)
    seconds = {}
    for entry in MODELS:
        kinds = [variant for variant in entry.variants() if not variant.needs_population]
        if kinds:
            work = lambda kinds=kinds: [kind.measure(classes, asked=False) for kind in kinds]  # noqa: E731
            work()
            seconds[entry.name] = median_of(repeat, work)[0]
    return seconds


def _of_pycanon(table: pd.DataFrame, quasi: list[str], sensitive: list[str]) -> tuple[float, list[Any]]:
    """Measure by pyCANON: seconds, and its nine figures."""
    from pycanon import anonymity

    theirs = (
        lambda: anonymity.k_anonymity(table, quasi),
        lambda: anonymity.alpha_k_anonymity(table, quasi, sensitive),
        lambda: anonymity.l_diversity(table, quasi, sensitive),
        lambda: anonymity.entropy_l_diversity(table, quasi, sensitive),
        lambda: anonymity.recursive_c_l_diversity(table, quasi, sensitive),
        lambda: anonymity.basic_beta_likeness(table, quasi, sensitive),
        lambda: anonymity.enhanced_beta_likeness(table, quasi, sensitive),
        lambda: anonymity.t_closeness(table, quasi, sensitive),
        lambda: anonymity.delta_disclosure(table, quasi, sensitive),
    )
    start = time.perf_counter()
    found = [measure() for measure in theirs]
    return time.perf_counter() - start, found


def beside_pycanon(path: Path, repeat: int) -> dict[str, Any]:
    """Seconds for pyCANON's nine measures on UCI Adult, where it is installed, and for ours."""
    import pandas as pd

    table = pd.read_csv(path, skipinitialspace=True)
    table.columns = table.columns.str.strip()
    quasi, sensitive = list(ADULT_QUASI), [ADULT_SENSITIVE]
    models = [
        ic.KAnonymity(1),
        ic.AlphaKAnonymity(1.0, 1),
        ic.LDiversity(1),
        ic.LDiversity(1, "entropy"),
        ic.LDiversity(1, "recursive", 1),
        ic.BetaLikeness(1.0),
        ic.BetaLikeness(1.0, "enhanced"),
        ic.TCloseness(1.0),
        ic.DeltaDisclosure(1.0, "skip"),
    ]
    frame = pl.from_pandas(table)
    adult = ic.Schema(quasi=quasi, sensitive=sensitive).measured()

    def ours() -> list[float]:
        frequency = engine_for(frame).count(adult).frequency
        classes = EquivalenceClasses.of_keys(frequency)
        return [model.measure(classes, asked=False)[0].value or math.nan for model in models]

    ours()
    fast, found = median_of(repeat, ours)
    if find_spec("pycanon") is None:
        return {"rows": len(table), "pyCANON": None, "incrowd": fast, "ratio": None}
    slow, expected = _of_pycanon(table, quasi, sensitive)
    assert found[0] == expected[0]
    assert found[2] == expected[2]
    assert math.isclose(found[7], expected[7], abs_tol=1e-12)
    return {"rows": len(table), "pyCANON": slow, "incrowd": fast, "ratio": slow / fast}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--adult", type=Path, help="UCI Adult as a CSV, for the comparison with pyCANON")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    parser.add_argument("--quick", action="store_true", help="only try whether it runs")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.repeat = 5_000, 1
    figures: dict[str, Any] = {"rows": options.rows}
    figures["table"] = one_table(options.rows, options.repeat)
    figures["models"] = each_model(options.rows, options.repeat)
    if options.adult is not None:
        figures["pycanon"] = beside_pycanon(options.adult, options.repeat)
    out = Console()
    first = next(iter(figures["table"].values()))
    table = Table(title=f"{options.rows:,} rows, {len(SENSITIVE)} sensitive attributes", box=None)
    table.add_column("")
    for name in first:
        table.add_column(name, justify="right")
    for name, row in figures["table"].items():
        table.add_row(
            name, *(f"{value:.3f}" if isinstance(value, float) else f"{value:,}" for value in row.values())
        )
    out.print(table)
    table = Table(title="Seconds per model, all kinds, the released table", box=None)
    table.add_column("model")
    table.add_column("seconds", justify="right")
    for name, seconds in figures["models"].items():
        table.add_row(name, f"{seconds:.4f}")
    out.print(table)
    if "pycanon" in figures:
        out.print(figures["pycanon"])
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
