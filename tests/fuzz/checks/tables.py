"""Count tables of random columns: hidden cells stay hidden, and each published cell is that of the rows."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

import incrowd as ic
from fuzz.checks.errors import leaks
from fuzz.checks.made import Finding, Made, Outcome, skeleton
from fuzz.draw import FRAMES, SERVERS
from fuzz.sources import Services
from incrowd.release.tables.layout import CountTable
from incrowd_verify.count_tables import RawTable, verify_tables

_FEW = 12
"""Hidden cells of which all tables that fit are tried."""
_LARGE = 60
"""Cells above which a table is left out: searches of some seconds would be most of a run."""
_WAYS: list[dict[str, Any]] = [
    {}, {}, {}, {"protect": "round"}, {"protect": "round", "rounding": "small"},
    {"protect": "cell-key", "key_table": "5-3"}, {"protect": "cell-key", "key_table": "4-2"},
]  # fmt: skip
"""Ways of protection: to suppress, to round, and by rules of offices."""
_STEPS = 2_000
"""Tables that are tried at most."""
_SECONDS = 1.0


def tables(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """Tables of the rows hold for the verifier, keep hidden cells hidden, and are the same in memory."""
    case = made.case
    draw = random.Random(json.dumps(case, sort_keys=True) + "tables")
    if draw.random() < (0.8 if case["source"] in SERVERS else 0.5):
        return
    layouts = _layouts(draw, made)
    if not layouts:
        return
    policy = replace(made.policy, tables=layouts)
    options = made.place.options or {}
    try:
        release = ic.tabulate(
            made.place.table,
            policy,
            seconds=_SECONDS,
            unanswered="write",
            csv_format=options.get("csv_format"),
        )
    except ic.IncrowdError as error:
        outcome.skipped.append("tables: " + skeleton(str(error)))
        yield from leaks(case, made.place, str(error))
        return
    for layout in layouts:
        outcome.met.append(("table", f"{layout.protect} {(layout.sum and 'sum') or layout.count}"))
    if case["source"] not in FRAMES:
        memory = ic.tabulate(made.place.seen, policy, seconds=_SECONDS, unanswered="write")
        for layout in layouts:
            if not release[layout.name].equals(memory[layout.name]):
                yield Finding(
                    "tables engines",
                    f"table {layout.name}: {release[layout.name]} is not {memory[layout.name]}"[:600],
                )
                return
    yield from _told(release)
    yield from _verified(draw, made, policy, release, services.fresh())


def _layouts(draw: random.Random, made: Made) -> tuple[CountTable, ...]:
    """Draw tables of columns that leave as counted."""
    schema, seen = made.policy.schema, made.place.seen
    able = [
        each.name for each in (*schema.quasi, *schema.sensitive)
        if each.name not in schema.person and each.name not in schema.treated
    ]  # fmt: skip
    numbers = [name for name in seen.columns if name in schema and seen.schema[name].is_numeric()]
    layouts: list[CountTable] = []
    for number in range(draw.randint(1, 3)):
        sides = draw.sample(able, min(len(able), draw.choice([1, 2, 2])))
        if any(":" in name for name in sides):
            continue
        # Tables of common cells are protected alike.
        way = layouts[0].settings() if layouts else draw.choice(_WAYS)
        protect = way.get("protect", "suppress")
        settings: dict[str, Any] = {
            "rows": sides[:1], "columns": sides[1:], "threshold": draw.choice([2, 3, 5]), "protect": protect,
            "count": layouts[0].count if layouts else draw.choice(["people", "records"]),
            "zeros": draw.choice(["show", "hide"]), "cost": draw.choice(["cells", "people", "values"]),
        }  # fmt: skip
        if protect == "round":
            settings |= {"base": layouts[0].base if layouts else draw.choice([3, 5])}
            settings |= {"rounding": way.get("rounding", "controlled")}
        elif protect == "cell-key":
            settings |= {"key_table": way["key_table"]}
        elif numbers and draw.random() < 0.3:
            settings |= {"sum": draw.choice(numbers)} | draw.choice(
                [{}, {"dominance": [draw.choice([1, 2, 3]), draw.choice([0.5, 0.9])]}, {"p_percent": 15.0}]
            )
        if settings.get("rounding") == "small" and settings["base"] < settings["threshold"]:
            settings["threshold"] = settings["base"]
        sizes = [seen.get_column(name).n_unique() for name in sides]
        if (sizes[0] + 4) * ((sizes[1] + 4) if sizes[1:] else 1) * 2 <= _LARGE:
            layouts.append(CountTable(f"t{number}", **settings))
    return tuple(layouts)


def _told(release: Any) -> Iterator[Finding]:
    """Try every table of whole numbers that fits: no hidden count may be the same in all."""
    for table in release.tables:
        hidden = [cell for cell, gone in enumerate(table.hidden.tolist()) if gone]
        if table.layout.sum is not None or table.overlapping or not 0 < len(hidden) <= _FEW:
            continue
        result = _fitting(table, hidden)
        if result is None:
            continue
        if not result:
            yield Finding("tables brute force", f"table {table.layout.name}: no counts fit it")
        told = [cell for cell, counts in result.items() if len(counts) == 1]
        if told and result:
            codes = table.frame.drop(table.quantity, "mark").row(told[0])
            yield Finding("tables brute force", f"table {table.layout.name}: the cell {codes!r} is told")


def _fitting(table: Any, hidden: list[int]) -> dict[int, set[int]] | None:
    """Return the counts of each hidden cell in the fitting tables, and None for too many tables."""
    shape = [len(axis.codes) for axis in table.axes]
    sums = _sums(table.axes, shape)
    values = {cell: int(value) for cell, value in enumerate(table.values.tolist()) if cell not in set(hidden)}
    least = 1 if table.layout.zeros == "show" else 0
    most = {cell: _bound(cell, sums, values) for cell in hidden}
    result: dict[int, set[int]] = {cell: set() for cell in hidden}
    steps = 0

    def fits(chosen: dict[int, int]) -> bool:
        for total, parts in sums:
            known = [chosen.get(part, values.get(part)) for part in parts]
            whole = chosen.get(total, values.get(total))
            rest = sum(each for each in known if each is not None)
            lacking = sum(each is None for each in known)
            if whole is not None and (rest + least * lacking > whole or (not lacking and rest != whole)):
                return False
        return True

    def fill(place: int, chosen: dict[int, int]) -> bool:
        nonlocal steps
        if place == len(hidden):
            for cell, count in chosen.items():
                result[cell].add(count)
            return True
        for count in range(least, most[hidden[place]] + 1):
            steps += 1
            if steps > _STEPS:
                return False
            following = chosen | {hidden[place]: count}
            if fits(following) and not fill(place + 1, following):
                return False
        return True

    # Whoever stops early has seen some of the tables, and what differs among these is open.
    whole = fill(0, {})
    return result if whole or all(len(counts) > 1 for counts in result.values()) else None


def _sums(axes: Any, shape: list[int]) -> list[tuple[int, list[int]]]:
    """Return every code that is a sum of others, for all codes of the other dimension."""
    stride = shape[1] if len(shape) > 1 else 1
    sums = []
    for place, axis in enumerate(axes):
        step, others = (stride, range(stride)) if place == 0 else (1, range(0, shape[0] * stride, stride))
        parents = axis.tree.parents.tolist()
        for node in range(len(parents)):
            parts = [part for part, parent in enumerate(parents) if parent == node]
            sums += [
                (node * step + other, [part * step + other for part in parts]) for other in others if parts
            ]
    return sums


def _bound(cell: int, sums: list[tuple[int, list[int]]], shown: dict[int, int]) -> int:
    """Return the largest possible hidden count, by the shown totals above."""
    open_cells, above = [cell], [shown.get(0, 100)]
    while open_cells:
        at = open_cells.pop()
        for total, parts in sums:
            if at in parts:
                (above.append(shown[total]) if total in shown else open_cells.append(total))
    return min(above)


def _verified(draw: random.Random, made: Made, policy: Any, release: Any, folder: Path) -> Iterator[Finding]:
    """The verifier says that the files hold beside the rows, and names a cell that is changed."""
    seen = made.place.seen
    if any("\0" in name or not name for name in seen.columns) or seen.height == 0:
        return
    try:
        seen.write_parquet(folder / "raw.parquet")
    except pl.exceptions.PolarsError:
        return
    policy.write(folder / "policy.toml")
    release.save(folder / "out")
    raw = RawTable(str(folder / "raw.parquet"))
    try:
        checked = verify_tables(folder / "out", folder / "policy.toml", raw=raw)
    except ic.IncrowdError as error:
        yield Finding("tables verify refuses: " + skeleton(str(error))[:60], str(error)[:400])
        return
    if not checked.ok and release.verdict.holds:
        sentences = [point.text for point in checked.verdict.points if point.why is None]
        yield Finding("tables verify", "; ".join(sentences)[:500])
        return
    path = folder / "out" / f"{release.tables[0].layout.name}.csv"
    table = release.tables[0]
    cells = [cell for cell, gone in enumerate(table.hidden.tolist()) if not gone]
    if not cells or table.layout.protect != "suppress":
        return
    cell = draw.choice(cells)
    values = table.frame.with_row_index("\0place").with_columns(
        pl.when(pl.col("\0place") == cell)
        # Sums of numbers as large as 1e12 may be 7 apart by the order of adding them up.
        .then(pl.col(table.quantity) * 2 + 7)
        .otherwise(table.quantity)
        .alias(table.quantity)
    )
    values.drop("\0place").write_csv(path)
    manifest = folder / "out" / "tables.json"
    document = json.loads(manifest.read_text("utf-8"))
    document["files"][path.name]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(document), "utf-8")
    try:
        changed = verify_tables(folder / "out", folder / "policy.toml", raw=raw)
    except ic.IncrowdError as error:
        yield Finding("tables forged refuses", str(error)[:400])
        return
    codes = [*values.row(cell)[1 : 1 + len(table.axes)]]
    said = " ".join(point.text for point in changed.verdict.points)
    if changed.ok or str(codes[0]) not in said:
        yield Finding("tables forged", f"the verifier does not name {codes!r}: {said[:300]}")
