"""Draws the people of rows, and the attackers."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

Case = dict[str, Any]
Column = dict[str, Any]

NAMES = ["who", "patient", "site", "n.r", "^p.*$", "Whose", "case no"]
PLANTED = ("Planted-id", "700100312")
"""How ids begin that stand nowhere by accident."""
MANY = 90
"""People from whom ids are drawn."""
ALIKE = ["a", "A", "a ", "\u00e1", "a\u0301", "\uff41", " a", "a\u200b", "\u00c1", "ss", "\u00df", "SS"]
"""Texts of which collations take some for one."""
IDS: dict[str, list[list[str]]] = {
    "text": [[f"{PLANTED[0]}-{n}" for n in range(MANY)], ["a", "A", "a ", " a", "\u00e9", "e\u0301", "", "1", "1.0", "01", "?", "*"],
             [f"{n // len(ALIKE)}{ALIKE[n % len(ALIKE)]}" for n in range(MANY)]],
    "numeric": [[f"{PLANTED[1]}{n:02d}" for n in range(MANY)]],
    "int": [[f"{PLANTED[1]}{n:02d}" for n in range(MANY)], ["9007199254740992", "9007199254740993", "-1", "99", "0"],
            [str(2**53 + n) for n in range(MANY)]],
    "float": [["0.0", "-0.0", "nan", "99.0", "1.5", f"{PLANTED[1]}.25"], [f"{PLANTED[1]}{n:02d}.5" for n in range(MANY)]],
    "decimal": [[f"{PLANTED[1]}{n:02d}.25" for n in range(MANY)], [f"1234567890123456789012345678901234{n:02d}.25" for n in range(MANY)]],
    "date": [[f"19{n:02d}-03-05" for n in range(MANY)]],
    "datetime": [[f"2020-11-01T0{5 + n // 60}:{n % 60:02d}:00.000001" for n in range(MANY)]],
    "category": [[f"{PLANTED[0]}-{n}" for n in range(MANY)]],
}  # fmt: skip
"""Ids by type of column; the points of time are in an hour that clocks show twice, or in the one after it."""
NULLS = {
    "text": ["?", "", "*"][:2],
    "int": ["-1", "99"],
    "float": ["99"],
    "numeric": ["-1"],
    "category": ["?"],
    "decimal": ["-1", "99.00"],
    "date": ["1900-01-01"],
    "datetime": ["1900-01-01", "2020-11-01T06:30:00.000001"],
}
ABOUT = ("k-anonymity", "l-diversity", "alpha-k-anonymity")
"""Models that are asked against attackers."""


def give_persons(r: random.Random, columns: list[Column], caseless: bool) -> None:
    """Add a column or two of person names, for one to six rows or a single row each, to a table's columns."""
    rows = len(columns[0]["cells"])
    if r.random() < 0.15:
        person = list(range(rows))
    else:
        person = [who for who in range(rows) for _ in range(r.choice([1, 1, 2, 3, 4, 6]))][:rows]
    alike = r.choice([0.0, 0.5, 0.9])
    for column in columns:
        if column["role"] in ("quasi", "sensitive"):
            cells = column["cells"]
            for row in range(1, rows):
                if person[row] == person[row - 1] and r.random() < alike:
                    cells[row] = cells[row - 1]
    if r.random() < 0.5:
        order = r.sample(range(rows), rows)
        person = [person[row] for row in order]
        for column in columns:
            if not column.get("rid"):
                column["cells"] = [column["cells"][row] for row in order]
    missing = r.choice([0.0, 0.0, 0.05, 0.3])
    gone = [r.random() < missing for _ in person]
    taken = {name if not caseless else name.lower() for name in (column["name"] for column in columns)}
    names = [name for name in NAMES if (name.lower() if caseless else name) not in taken]
    names = r.sample([*names, "person 1", "person 2"], 2)
    within = [[who % 3 for who in person], [who // 3 for who in person]]
    parts = within if r.random() < 0.25 else [person]
    for name, part in zip(names, parts, strict=False):
        columns.insert(r.randrange(len(columns) + 1), _ids(r, name, part, gone))


def _ids(r: random.Random, name: str, person: list[int], gone: list[bool]) -> Column:
    kind = r.choice(["text", "text", "text", "int", "int", *IDS])
    few = max(person) < 5
    pool = r.choice(IDS[kind] if few else [pool for pool in IDS[kind] if len(pool) == MANY])
    if few and len(pool) < MANY:
        pool = r.sample(pool, len(pool))
    lacking = r.choice([0.0, 0.0, 0.1])
    cells = [
        None if absent or r.random() < lacking else pool[who]
        for who, absent in zip(person, gone, strict=True)
    ]
    return {"name": name, "type": kind, "role": "person", "cells": cells}


def null_person(r: random.Random, case: Case) -> None:
    """Let a null value stand in a column that names a person, now and then."""
    for column in case["columns"]:
        if column["role"] == "person" and column["type"] in NULLS and r.random() < 0.25:
            null = r.choice(NULLS[column["type"]])
            case["null_values"] = list(dict.fromkeys([*case["null_values"], null]))
            for _ in range(r.choice([1, 2, 3])):
                column["cells"][r.randrange(len(column["cells"]))] = null


def rows_of_people(case: Case) -> Counter[tuple[str | None, ...]]:
    """The number of rows of each person, where a row without an id is a person."""
    columns = [column["cells"] for column in case["columns"] if column["role"] == "person"]
    rows = len(case["columns"][0]["cells"])
    if not columns:
        return Counter((f"row {row}",) for row in range(rows))
    named = Counter(zip(*columns, strict=True))
    unnamed = named.pop((None,) * len(columns), 0)
    return named + Counter((f"row {row}",) for row in range(unnamed))


def has_persons(case: Case) -> bool:
    """Whether a column names a person."""
    return any(column["role"] == "person" for column in case["columns"])


def draw_attackers(
    r: random.Random, case: Case, names: list[str], model: Callable[[str], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Draw an attacker or two, with some of the quasi-identifiers each.

    Parameters
    ----------
    names
        Models that may be asked against them.
    model
        Draws the settings of a model.
    """
    quasi = [column["name"] for column in case["columns"] if column["role"] == "quasi"]
    return [
        {
            "name": name,
            "knows": r.sample(quasi, r.randint(1, len(quasi))),
            "models": [model(each) for each in r.sample(names, min(len(names), r.choice([1, 1, 2])))],
        }
        for name in r.sample(["neighbour", 'in\'s "urer"', "x"], r.choice([1, 1, 2]))
    ]
