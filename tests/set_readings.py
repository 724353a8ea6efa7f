"""k^m-anonymity by the words of its definition, over all sets of items of small tables."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl

import incrowd as ic

ITEMS = ("a1", "a2", "b1", "b2", "c1", "c2", "c3")
TREE = ic.Hierarchy.from_nested(
    {"root": {"A": ["a1", "a2"], "R": {"B": ["b1", "b2"], "C": ["c1", "c2", "c3"]}}}
)


def fewest(table: pl.DataFrame, column: str, others: list[str], known: int) -> int | None:
    """Return the fewest rows of a class that hold a set of at most `known` items that a row has."""
    least = None
    groups = table.group_by(others) if others else [((), table)]
    for _, rows in groups:
        sets = [frozenset((cell or "").split(";")) - {"", "*"} for cell in rows[column].to_list()]
        for one in sets:
            for size in range(1, known + 1):
                for some in combinations(sorted(one), size):
                    people = sum(set(some) <= other for other in sets)
                    least = people if least is None else min(least, people)
    return least


def draw(seed: int, rows: int = 40, *, others: bool = False) -> pl.DataFrame:
    """Draw a table with a set of items in each row, some of them empty."""
    rng = np.random.default_rng(seed)
    cells = [
        ";".join(rng.permutation(ITEMS)[: rng.choice([0, 1, 2, 3, 4], p=[0.05, 0.3, 0.3, 0.2, 0.15])])
        for _ in range(rows)
    ]
    columns = {"age": rng.integers(20, 60, rows), "sex": rng.choice(["f", "m"], rows)} if others else {}
    return pl.DataFrame({**columns, "codes": [cell or None for cell in cells]})


def policy(k: int = 2, known: int = 2, *, others: bool = False, hierarchy=TREE, **settings) -> ic.Policy:
    column = ic.Attribute(
        "codes", "quasi", kind="set", parts=settings.pop("parts", ";"), known=known, hierarchy=hierarchy
    )
    plain = [ic.Attribute("age", "quasi"), ic.Attribute("sex", "quasi")] if others else []
    return ic.Policy(
        ic.Schema.of_attributes([*plain, column]), settings.pop("models", [ic.KAnonymity(k)]), **settings
    )
