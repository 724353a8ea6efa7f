"""Statements about the released cells and columns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from fuzz import oracle
from fuzz.checks.made import Finding, Made, Outcome, applied_to, is_summarized
from fuzz.draw import BY_COUNTS
from fuzz.oracle import STAR, Column
from fuzz.sources import Services, fetched


def columns(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """Identifying columns are gone, and others are unchanged."""
    roles = {column["name"]: column["role"] for column in made.case["columns"]}
    kept = [
        name
        for name in made.place.seen.columns
        if roles[name] not in ("identifying", "person")
        and (roles[name] != "other" or made.case["others"] == "keep")
    ]
    if made.out.columns != kept:
        yield Finding("columns", f"released {made.out.columns} and not {kept}")
        return
    for name in kept:
        if name in made.quasi or name in made.perturbed:
            continue
        raw = [_bare(value) for value in made.place.seen.get_column(name).to_list()]
        now = [_bare(value) for value in made.out.get_column(name).to_list()]
        wrong = [row for place, row in enumerate(made.origin) if now[place] != raw[row]]
        if wrong:
            yield Finding(
                "others", f"{name!r} changed in rows {wrong[:5]}: {[raw[row] for row in wrong[:3]]}"
            )


def _bare(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def types(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """Numbers or days of the table read as the cells of files."""
    if made.release.table is made.release.texts:
        return
    table = fetched(made.release.table, services.folder)
    if table.columns != made.out.columns:
        yield Finding("types", f"the table has {table.columns} and its texts {made.out.columns}")
        return
    for name in table.columns:
        typed, texts = table.get_column(name), made.out.get_column(name)
        if typed.dtype == texts.dtype:
            same = typed.to_list() == texts.to_list() or typed.dtype.is_float()
        else:
            asked = name in made.quasi and is_summarized(made, made.quasi[name])
            same = asked and all(map(_says, typed.to_list(), texts.to_list()))
        if not same:
            yield Finding(
                "types", f"{name!r} is {typed.dtype}: {typed.to_list()[:3]} and not {texts.to_list()[:3]}"
            )


def _says(value: Any, text: str | None) -> bool:
    """Say whether a number or a day equals a text."""
    if text is None or value is None:
        return text is None and value is None
    if isinstance(value, float):
        return float(text) == value
    return value.isoformat() in (text, f"{text}T00:00:00")


def truth(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """Every cell covers the raw value, and means and most frequent values are checked apart."""
    for name, column in made.quasi.items():
        for row, cell in enumerate(made.cells[name]):
            if cell is not None and "\0" in cell and "\0" not in "".join(filter(None, column.texts)):
                yield Finding("nul", f"{name!r} has a NUL in row {row}: {cell!r}")
                return
            if made.before[row]:
                if cell != STAR:
                    yield Finding("truth", f"{name!r} of a row that came in suppressed: {cell!r}")
                    return
                continue
            if is_summarized(made, column):
                continue
            if not oracle.covers(column, column.keys[row], cell):
                yield Finding(
                    "truth", f"{name!r} row {row}: {cell!r} for {column.keys[row]!r} ({column.style})"
                )
                return


def narrow(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """Local recoding gives a class the narrowest cells, and means are the means."""
    if made.kind != "local":
        return
    case = made.case
    singly = (case["algorithm"]["name"], case.get("wildcards")) == ("cell-suppression", "matches-any")
    for cells, rows in zip(made.classes.cells, made.classes.rows, strict=True):
        for (name, column), cell in zip(made.quasi.items(), cells, strict=True):
            if singly and cell == STAR:
                continue  # even of a single record, for the sake of another
            problem = oracle.narrowest(column, [column.keys[row] for row in rows], cell)
            if problem is not None:
                values = sorted({repr(column.keys[row]) for row in rows})
                yield Finding("narrow", f"{name!r} {cell!r} ({column.style}): {problem}: {values[:6]}")
                return


def levels(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """In full-domain recoding every value of a column is on the column's level."""
    if made.kind != "full-domain":
        return
    levels = made.release.recoding.decisions()["levels"]
    attributes = {column["name"]: column.get("levels") for column in made.case["columns"]}
    for name, column in made.quasi.items():
        level, bounds = levels[name], attributes[name]
        if bounds is not None and (level < bounds[0] or (bounds[1] is not None and level > bounds[1])):
            yield Finding("levels", f"{name!r} is on level {level}, outside {bounds}")
        for row, cell in enumerate(made.cells[name]):
            if all(cells[row] == STAR for cells in made.cells.values()):
                continue
            key = column.keys[row]
            if not _on_level(column, key, level, cell):
                yield Finding("levels", f"{name!r} row {row}: {cell!r} for {key!r} on level {level}")
                return


def _on_level(column: Column, key: Any, level: int, cell: str | None) -> bool:
    if level == 0:
        return cell is None if key is None else cell is not None and oracle.same_value(column, key, cell)
    if column.paths is None:
        return cell == STAR
    root = column.leaves[0][-1] if column.leaves else STAR
    path = (None, root) if key is None else column.paths[key]
    return cell == path[min(level, len(path) - 1)]


def suppression(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    classes = made.classes
    if Fraction(classes.suppressed, classes.total) > Fraction(made.case["max_suppression"]) + Fraction(
        1, 10**12
    ):
        yield Finding(
            "suppression", f"{classes.suppressed} of {classes.total}, {made.case['max_suppression']} may be"
        )


def models(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """Every model holds in the table that leaves."""
    asked = list(applied_to(made.case, made.classes))
    for place, (name, settings, groups) in enumerate(asked):
        against = "" if place < len(made.case["models"]) else " against an attacker"
        for problem in oracle.holds(name, settings, groups):
            yield Finding(f"model {name}{against}", problem)
    if made.case.get("judge") == "original":
        return
    for name, settings, groups in applied_to(made.case, made.read):
        if made.perturbed and name in BY_COUNTS:
            for problem in oracle.holds(name, settings, groups):
                yield Finding(f"model {name} as released", problem)


def values(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """The account has the figures of the models for the released values."""
    document = made.release.to_dict().get("released_values")
    asked = [name for name, _, _ in applied_to(made.case, made.read) if name in BY_COUNTS]
    if document is None:
        about = {name: model.get("attribute") for model in made.case["models"] for name in [model["model"]]}
        if made.perturbed and any(name in asked and about.get(name) is None for name in about):
            yield Finding("account", "nothing is said of the values that leave")
        return
    if (document["judge"] == "original") != (made.case["judge"] == "original") or ("models" in document) != (
        made.case["judge"] == "released"
    ):
        yield Finding("account", f"{document['judge']} is said of the values that leave")
    if any(not each.get("holds", True) for each in document.get("models", [])):
        yield Finding("account", f"a model that fails is released: {document}")
