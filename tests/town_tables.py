"""A small table with a number, a hierarchy and plain categories, for slow readings of local recoding."""

from __future__ import annotations

import numpy as np
import polars as pl

import incrowd as ic

__all__ = ["NORTH", "QUASI", "TOWNS", "town_table"]

TOWNS = ic.Hierarchy.from_nested({"*": {"north": ["a", "b"], "south": ["c", "d", "e"]}})
NORTH = {"a": "north", "b": "north", "c": "south", "d": "south", "e": "south"}
QUASI = {"age": "number", "town": TOWNS, "job": "category"}


def town_table(seed: int, rows: int, *, ages: tuple[int, int] = (20, 40)) -> pl.DataFrame:
    """Draw rows, where every tenth age is missing."""
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": [None if draw.random() < 0.1 else int(age) for age in draw.integers(*ages, rows)],
            "town": draw.choice(list("abcde"), rows).tolist(),
            "job": draw.choice(["x", "y", "z"], rows).tolist(),
        }
    )
