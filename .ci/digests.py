"""Print the digests of ten releases, which must be the same whatever else is installed.

usage: python .ci/digests.py
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import polars as pl

import incrowd as ic
from incrowd.samples import hospital

TABLE = hospital(rows=1_500, seed=3)
NUMBERS = ic.Hierarchy.intervals(5, 10, 20, 40)
SCHEMA = ic.Schema(
    quasi={"age": NUMBERS, "zip": ic.Hierarchy.prefix(), "sex": ic.Hierarchy.flat()},
    sensitive=["diagnosis"],
    unlisted="drop",
)
LOCAL = ic.Schema(
    quasi={"age": None, "zip": ic.Hierarchy.prefix(), "sex": None}, sensitive=["diagnosis"], unlisted="drop"
)


def huge(columns: int = 12) -> tuple[pl.DataFrame, ic.Schema]:
    """Make a table whose lattice has more than 16 million nodes."""
    random = np.random.default_rng(11)
    digits = [np.minimum(random.geometric(0.5, (2_000, 3)), 4) for _ in range(columns)]
    table = pl.DataFrame({f"q{j}": ["".join(map(str, row)) for row in each] for j, each in enumerate(digits)})
    return table, ic.Schema(quasi=dict.fromkeys(table.columns, ic.Hierarchy.prefix()))


def releases() -> dict[str, tuple[pl.DataFrame, ic.Schema, list[Any], Any]]:
    """Return each release by its name: table, schema, models and algorithm."""
    wide, wide_schema = huge()
    k, l = ic.KAnonymity(4), ic.LDiversity(6)  # noqa: E741
    return {
        "optimal": (TABLE, SCHEMA, [k], ic.Optimal()),
        "optimal, l-diversity": (TABLE, SCHEMA, [k, l], ic.Optimal()),
        "optimal, t-closeness": (TABLE, SCHEMA, [k, ic.TCloseness(0.4)], ic.Optimal(metric="discernibility")),
        "optimal, huge lattice": (wide, wide_schema, [k], ic.Optimal(budget="600")),
        "flash": (TABLE, SCHEMA, [ic.KAnonymity(20)], ic.Flash()),
        "mondrian": (TABLE, LOCAL, [k, ic.LDiversity(2)], ic.Mondrian()),
        "mdav": (TABLE, LOCAL, [k], ic.MDAV()),
        "agglomerative": (TABLE, LOCAL, [k], ic.Agglomerative()),
        "cell suppression": (TABLE, LOCAL, [k], ic.CellSuppression()),
        "random": (TABLE, SCHEMA, [k], ic.Random()),
    }


def main() -> None:
    """Print the digests as JSON."""
    found = {}
    for name, (table, schema, models, algorithm) in releases().items():
        limit = 0.05 if algorithm.full_domain else 1.0
        release = ic.anonymize(
            table,
            schema,
            models,
            algorithm,
            max_suppression=limit,
            seed=7,
            keep_order=True,
            force=True,
            unanswered="write",
        )
        found[name] = hashlib.sha256(release.texts.write_csv().encode()).hexdigest()
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
