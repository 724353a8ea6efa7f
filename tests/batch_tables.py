"""A table of January with its policy, and a reading of released batches as a single table."""

from __future__ import annotations

from collections import defaultdict

import polars as pl

import incrowd as ic

AGES = ic.Hierarchy.intervals(5)
SCHEMA = ic.Schema(quasi={"age": AGES}, sensitive=["ill"], unlisted="keep")
# Suppressed rows stay, so that each row says what became of it.
POLICY = ic.Policy(SCHEMA, (ic.KAnonymity(5), ic.LDiversity(2)), ic.Optimal(), 1.0, suppressed="keep")
JANUARY = pl.DataFrame(
    {"age": [age for age in range(20, 25) for _ in range(10)], "ill": [*"abcd", *"abcdab"] * 5}
)


def classes(*tables, quasi=("age",)):
    """The sensitive values of every class of some released tables, read as a single table."""
    groups = defaultdict(list)
    for table in tables:
        for row in pl.DataFrame(table).iter_rows(named=True):
            cells = tuple(row[name] for name in quasi)
            if set(cells) != {"*"}:
                groups[cells].append(row["ill"])
    return groups


def holds(*tables, k=5, l=2):  # noqa: E741
    return all(len(values) >= k and len(set(values)) >= l for values in classes(*tables).values())
