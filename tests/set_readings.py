"""k^m-anonymity by the words of its definition, over all sets of items of small tables."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl

import incrowd as ic

ITEMS = ("a1", "a2", "b1", "b2", "c1", "c2", "c3")
TREE = ic.Hierarchy.from_nested(
    {"root": {"A": ["a1", "a2"], "R": {"B": ["b1", "b2"], "C": ["c1", "c2", "c3"]}}}
)


def items_of(row: dict, columns: list[str]) -> frozenset:
    """Return the items of a row, each with its column."""
    return frozenset((name, item) for name in columns for item in (row[name] or "").split(";")) - {
        (name, item) for name in columns for item in ("", "*")
    }


def fewest(table: pl.DataFrame, column: str | list[str], others: list[str], known: int) -> int | None:
    """Return the fewest rows of a class that hold a set of at most `known` items that a row has."""
    columns = [column] if isinstance(column, str) else column
    least = None
    groups = table.group_by(others) if others else [((), table)]
    for _, rows in groups:
        sets = [items_of(row, columns) for row in rows.to_dicts()]
        for one in sets:
            for size in range(1, known + 1):
                for some in combinations(sorted(one), size):
                    people = sum(set(some) <= other for other in sets)
                    least = people if least is None else min(least, people)
    return least


def fewest_people(
    table: pl.DataFrame, columns: list[str], others: list[str], known: int, person: list[int]
) -> int | None:
    """Return the fewest people of a class who share known items: of one row, or of all rows of a person.

    Suppressed rows are in no class, and release nothing.
    """
    rows = [
        (tuple(row[name] for name in others), whose, items_of(row, columns))
        for row, whose in zip(table.to_dicts(), person, strict=True)
        if row[columns[0]] != "*"
    ]
    whole: dict[int, frozenset] = {}
    for _, whose, items in rows:
        whole[whose] = whole.get(whose, frozenset()) | items
    least = None
    for home in {home for home, _, _ in rows}:
        here = [(whose, items) for place, whose, items in rows if place == home]
        for sets in (here, [(whose, whole[whose]) for whose, _ in here]):
            for _, one in sets:
                for size in range(1, known + 1):
                    for some in combinations(sorted(one), size):
                        people = len({whose for whose, other in sets if set(some) <= other})
                        least = people if least is None else min(least, people)
    return least


def people_of(seed: int, rows: int) -> tuple[pl.Series, list[int]]:
    """Draw a column of people with some rows each, of whom some are missing, and the number of each person."""
    rng = np.random.default_rng(seed)
    whose = [f"p{n}" for n in rng.integers(0, rows * 2 // 3, rows)]
    cells = [None if missing else name for name, missing in zip(whose, rng.random(rows) < 0.05, strict=True)]
    numbers = {name: n for n, name in enumerate(sorted({*whose}))}
    person = [rows + n if cell is None else numbers[cell] for n, cell in enumerate(cells)]
    return pl.Series("id", cells), person


def two_columns(seed: int, rows: int = 40, *, others: bool = False) -> pl.DataFrame:
    """Draw a table with a second column of sets, whose items have the texts of the first."""
    second = draw(seed + 1_000, rows)["codes"].alias("drugs")
    return draw(seed, rows, others=others).with_columns(second)


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
    people = [ic.Attribute("id", "person")] if settings.pop("people", False) else []
    more = [replace(column, name=name) for name in settings.pop("more", ())]
    return ic.Policy(
        ic.Schema.of_attributes([*plain, column, *more, *people]),
        settings.pop("models", [ic.KAnonymity(k)]),
        **settings,
    )
