"""Makes a failing case small: fewer rows, fewer columns, plainer settings, with the same failure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from fuzz.draw import Case

CELLS = ("cells", "people", "batch", "later")


def shrink(case: Case, fails: Callable[[Case], bool], seconds: float = 30.0) -> Case:
    """Return the smallest case that was found to fail.

    Parameters
    ----------
    fails
        Says whether a case fails in the way that is looked for.
    seconds
        When to stop.
    """
    end = time.monotonic() + seconds
    smaller = True
    while smaller and time.monotonic() < end:
        smaller = False
        for candidate in _simpler(case):
            if time.monotonic() > end:
                break
            if fails(candidate):
                case, smaller = candidate, True
                break
    return case


def _simpler(case: Case) -> Iterator[Case]:
    """Simpler cases, the much simpler first."""
    if case["source"] != "polars":
        yield case | {"source": "polars"}
    yield from _fewer_rows(case)
    for place, column in enumerate(case["columns"]):
        if not column.get("rid"):
            yield case | {"columns": case["columns"][:place] + case["columns"][place + 1 :]}
    for place in range(len(case["models"])):
        if len(case["models"]) > 1:
            yield case | {"models": case["models"][:place] + case["models"][place + 1 :]}
    yield from _fewer_attackers(case)
    plain: dict[str, Any] = {
        "null_values": [], "max_suppression": 0.0, "output": "auto", "keep_order": False, "seed": 0, "others": None,
        "ends": "exact",
    }  # fmt: skip
    for name, value in plain.items():
        if case.get(name, value) != value and not (
            name == "others" and any(c["role"] == "other" for c in case["columns"])
        ):
            yield case | {name: value}
    for name, value in case.get("batches", {}).items():
        if value:
            yield case | {"batches": case["batches"] | {name: False}}
    if "wildcards" in case:
        yield {name: value for name, value in case.items() if name != "wildcards"}
    for place, value in enumerate(case["null_values"]):
        if len(case["null_values"]) > 1:
            yield case | {
                "null_values": [other for other in case["null_values"] if other != value or not place]
            }
    for name in case["algorithm"]:
        if name not in ("name", "target"):
            yield case | {
                "algorithm": {key: value for key, value in case["algorithm"].items() if key != name}
            }
    if case["models"] != [{"model": "k-anonymity", "k": 1}]:
        yield case | {"models": [{"model": "k-anonymity", "k": 1}]}
        yield case | {"models": [{"model": "k-anonymity", "k": 2}]}
    for place, model in enumerate(case["models"]):
        for name in set(model) & {"attribute", "joint", "value"}:
            less = {key: value for key, value in model.items() if key != name}
            yield case | {"models": [*case["models"][:place], less, *case["models"][place + 1 :]]}
    yield from _plainer_columns(case)


def _fewer_attackers(case: Case) -> Iterator[Case]:
    attackers = case.get("attackers", [])
    for place, attacker in enumerate(attackers):
        others = [*attackers[:place], *attackers[place + 1 :]]
        yield case | {"attackers": others}
        for what in ("knows", "models"):
            for least in range(len(attacker[what])):
                fewer = [*attacker[what][:least], *attacker[what][least + 1 :]]
                if fewer:
                    yield case | {"attackers": [attacker | {what: fewer}, *others]}


def _fewer_rows(case: Case) -> Iterator[Case]:
    for what in CELLS:
        rows = max((len(column[what]) for column in case["columns"] if what in column), default=0)
        size = rows // 2
        while size:
            for start in range(0, rows, size):
                if rows > size or what != "cells":
                    yield _without(case, what, start, start + size)
            size //= 2


def _without(case: Case, what: str, start: int, stop: int) -> Case:
    columns = [
        column | {what: column[what][:start] + column[what][stop:]} if what in column else column
        for column in case["columns"]
    ]
    return case | {"columns": columns}


def _plainer_columns(case: Case) -> Iterator[Case]:
    for place, column in enumerate(case["columns"]):

        def having(made: dict[str, Any], place: int = place) -> Case:
            return case | {"columns": [*case["columns"][:place], made, *case["columns"][place + 1 :]]}

        for name in (
            "levels",
            "weight",
            "output",
            "grid",
            "missing",
            "kind",
            "recipe",
            "paths",
            "format",
            "decimal",
            "thousands",
        ):
            if name in column:
                yield having({key: value for key, value in column.items() if key != name})
        short = f"c{place}"
        if column["name"] != short:
            yield _renamed(case, place, short)
        for cells in {cell for cell in column["cells"] if cell is not None and not column.get("rid")}:
            first = column["cells"][0]
            if cells != first:
                changed = {
                    what: [first if cell == cells else cell for cell in column[what]]
                    for what in CELLS
                    if what in column
                }
                yield having(column | changed)


def _renamed(case: Case, place: int, name: str) -> Case:
    old = case["columns"][place]["name"]
    columns = [
        column | {"name": name} if number == place else column
        for number, column in enumerate(case["columns"])
    ]

    def named(settings: dict[str, Any]) -> dict[str, Any]:
        return {
            key: name if key in ("attribute", "target") and value == old else value
            for key, value in settings.items()
        }

    attackers = [
        attacker
        | {
            "knows": [name if known == old else known for known in attacker["knows"]],
            "models": list(map(named, attacker["models"])),
        }
        for attacker in case.get("attackers", [])
    ]
    return case | {
        "columns": columns,
        "models": list(map(named, case["models"])),
        "algorithm": named(case["algorithm"]),
        **({"attackers": attackers} if attackers else {}),
    }
