"""Figures of surveys, read from definitions: households as sets of members, estimates as sums over rows."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import prod

import numpy as np
import polars as pl

__all__ = ["class_weights", "household_figures", "survey_table"]


def survey_table(seed: int, rows: int = 60) -> pl.DataFrame:
    """A survey: households of one to five, some rows without one, weights also below 1."""
    draw = np.random.default_rng(seed)
    homes = draw.integers(0, rows // 3, rows)
    return pl.DataFrame(
        {
            "home": [None if draw.random() < 0.1 else f"h{home}" for home in homes],
            "w": draw.choice([0.25, 0.5, 1, 1.5, 2.75, 40], rows),
            "age": draw.integers(20, 40, rows),
            "town": draw.choice(["a", "b", "c"], rows),
            "ill": draw.choice(["flu", "gout", "cold"], rows),
        }
    )


def household_figures(cells, homes, people=None, risk=None, threshold=0.2):
    """Mean, largest and share at risk over households, as fractions where the risks are.

    Parameters
    ----------
    cells
        The class of each row; None is a suppressed one.
    homes, people
        Of each row, None for one of its own; without `people` every row is a person.
    risk
        The risk of each row; by default 1 / people in its class.
    """
    everybody = range(len(cells)) if people is None else [("row", n) if p is None else p for n, p in enumerate(people)]  # fmt: skip
    in_class = defaultdict(set)
    for cell, person in zip(cells, everybody, strict=True):
        in_class[cell].add(person)
    members = defaultdict(lambda: defaultdict(list))
    for row, (cell, home, person) in enumerate(zip(cells, homes, everybody, strict=True)):
        alone = ("person", person)
        each = Fraction(1, len(in_class[cell])) if risk is None else risk[row]
        members[alone if home is None else home][person].append(0 if cell is None else each)
    result = [1 - prod(1 - max(rows) for rows in home.values()) for home in members.values()]
    return {
        "mean": float(sum(result) / len(result)),
        "max": float(max(result)),
        "at_risk": sum(each > threshold + 1e-12 for each in result) / len(result),
    }


def class_weights(cells, weights):
    """Sum of the weights of each class."""
    totals = defaultdict(Fraction)
    for cell, weight in zip(cells, weights, strict=True):
        totals[cell] += Fraction(str(weight))
    return dict(totals)
