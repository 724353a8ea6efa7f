"""``python -m fuzz.tables``: count tables of random people, released, judged and forged.

A case is one table or two of some people: with a column in common, a copy of a column, or areas beside towns.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import secrets
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

import incrowd as ic
from fuzz.table_oracle import Key, Rules, World
from incrowd_verify.count_tables import RawTable, verify_tables

TOWNS = {"n": ["n1", "n2"], "s": ["s1", "s2", "s3"]}
AMOUNTS = [0, 0, 1, 2, 3, 7.5, 10, 40, 40, 100, 250, 1000]
_SECONDS = 3.0
_FORGERIES = 3
_LIMITS = ("cell", "limit", "conformity")
"""Points that say that tables do not hold; others are questions to whoever releases."""


def case_of(seed: int) -> dict[str, Any]:
    """Draw people, and tables of the people."""
    draw = random.Random(seed)
    people, size = draw.randint(4, 40), draw.randint(8, 70)
    persons = draw.choice(["one row", "any", "any", "own town", "none"])
    rows = []
    for number in range(size):
        who = number if persons == "one row" else draw.randrange(people)
        home = random.Random(f"{seed} {who}") if persons == "own town" else draw
        town = home.choice([*TOWNS["n"], *TOWNS["s"]])
        who = None if draw.random() < 0.1 or persons == "none" else who
        rows.append({"who": who, "town": town, "area": town[0], "h": draw.choice("xyz"),
                     "k": draw.choice("pq"), "v": float(draw.choice(AMOUNTS))})  # fmt: skip
    for row in rows:
        row["copy"] = row["h"]
    what = draw.choice(["sum", "sum", "people", "records"])
    rule: dict[str, Any] = {"threshold": draw.choice([2, 2, 3, 4, 5]), "zeros": draw.choice(["show", "hide"])}
    if what == "sum":
        rule |= {"sum": "v"} | draw.choice(
            [{}, {"p_percent": 20.0}, {"p_percent": 40.0}, {"dominance": [2, 0.8]}, {"dominance": [1, 0.6]}]
        )
    else:
        rule |= {"count": what} | draw.choice([{}, {"width": draw.choice([1, 2, 4])}])
    one = ["h", "town", "town area", "h copy", "town h", "h k", "town k", "town h k"]
    two = ["h k,copy", "h k,copy town", "town h,area h", "town,area k", "town k,area", "h k,h area",
           "town h,town k", "town h,area k", "h,k", "town h,copy k", "h k,copy area"]  # fmt: skip
    sides = draw.choice(draw.choice([one, two])).split(",")
    tables = [{"name": f"t{n}", "rows": each.split(), **rule} for n, each in enumerate(sides)]
    if what != "sum" and persons == "one row" and draw.random() < 0.5:
        tables[-1]["count"] = draw.choice(["people", "records"])
    if draw.random() < 0.2:
        tables[-1]["zeros"] = draw.choice(["show", "hide"])
    if draw.random() < 0.2:
        tables[-1]["threshold"] = draw.choice([2, 3, 5])
    flat = draw.random() < 0.4
    return {"rows": rows, "tables": tables, "flat": flat, "people": persons != "none"}


def policy_of(case: dict[str, Any]) -> ic.Policy:
    columns = dict.fromkeys(column for table in case["tables"] for column in table["rows"])
    quasi = {name: ic.Hierarchy.flat() for name in columns}
    if "town" in quasi and not case["flat"]:
        quasi["town"] = ic.Hierarchy.from_nested({"*": TOWNS})
    person = {"person": ["who"]} if case["people"] else {}
    schema = ic.Schema(**person, quasi=quasi, insensitive=["v"], unlisted="drop")
    return ic.Policy(schema, tables=[ic.CountTable(**table) for table in case["tables"]])


def world_of(case: dict[str, Any]) -> World:
    """Return the tables in the oracle's reading, with people beside records if nobody has two."""
    rows = case["rows"]
    below = {
        name: {"Total": sorted({row[name] for row in rows})} for name in ("town", "area", "h", "k", "copy")
    }
    below["town"] = below["town"] if case["flat"] else {"Total": [*TOWNS], **TOWNS}
    rules = [
        Rules(
            tuple(each["rows"]),
            each.get("sum"),
            each.get("count", "people"),
            each["threshold"],
            each.get("width", each["threshold"]),
            each["zeros"],
            tuple(each["dominance"]) if "dominance" in each else None,
            each.get("p_percent"),
        )
        for each in case["tables"]
    ]
    return World(rows, below, rules)


def hidden_in(release: ic.TableRelease) -> set[Key]:
    result: set[Key] = set()
    for table in release.tables:
        columns = [axis.column for axis in table.axes]
        for *codes, _, mark in table.frame.rows():
            if mark:
                result.add(frozenset(pair for pair in zip(columns, codes, strict=True) if pair[1] != "Total"))
    return result


def try_case(case: dict[str, Any], folder: Path, tally: Counter[str]) -> Iterator[tuple[str, str]]:
    """Yield the faults of a case: a name, and details."""
    policy = policy_of(case)
    frame = pl.DataFrame(case["rows"], schema_overrides={"who": pl.Int64})
    try:
        release = ic.tabulate(frame, policy, seconds=_SECONDS, unanswered="write")
    except ic.InfeasibleError as error:
        tally[f"no release: {str(error)[:60]}"] += 1
        return
    except ic.VerdictError as error:
        yield "refused", str(error)
        return
    world = world_of(case)
    hidden = hidden_in(release)
    tally["releases"] += 1
    tally["tables"] += len(release.tables)
    tally["cells"] += len(world.keys)
    tally["hidden cells"] += len(hidden)
    for each in (told := [*world.told(hidden, tally)]):
        tally[f"told: {each.kind}"] += 1
    if wrong := [each for each in told if each.promised]:
        yield f"told: {wrong[0].kind}", said(wrong[0].cells)
    policy.write(folder / "policy.toml")
    frame.write_parquet(folder / "raw.parquet")
    release.save(folder / "out")
    if (text := verified(folder / "out")) and not wrong:
        yield "verify", text
    draw = random.Random(len(case["rows"]))
    for key in draw.sample(sorted(hidden, key=sorted), min(_FORGERIES, len(hidden))):
        # The verifier does not know what people have on average.
        told = world.told(hidden - {key}, Counter())
        why = next((each for each in told if each.promised and not each.kind.startswith("thin")), None)
        if why and not wrong:
            shutil.copytree(folder / "out", folder / "forged", dirs_exist_ok=True)
            reveal(folder / "forged", case, key, world.value(key))
            tally["forgeries"] += 1
            tally[f"forged: {why.kind}"] += 1
            if not verified(folder / "forged"):
                yield f"forged: {why.kind}", f"{said([key])} is shown, which tells {said(why.cells)}"


def said(cells: Any) -> str:
    return " with ".join(" and ".join(f"{c} = {code}" for c, code in sorted(key)) or "all" for key in cells)


def verified(folder: Path) -> str:
    """Return the verifier's statements against the tables."""
    try:
        raw = RawTable(str(folder.parent / "raw.parquet"))
        verdict = verify_tables(folder, folder.parent / "policy.toml", raw=raw).verdict
    except ic.IncrowdError as error:
        return f"refused: {error}"
    return "; ".join(point.text for point in verdict.points if point.name in _LIMITS)


def reveal(folder: Path, case: dict[str, Any], key: Key, value: float) -> None:
    """Show a hidden cell in every table of the cell."""
    manifest = json.loads((folder / "tables.json").read_text())
    for table in case["tables"]:
        path = folder / f"{table['name']}.csv"
        lines = pl.read_csv(path, infer_schema=False)
        rows = [
            (*codes, f"{value:g}", "")
            if frozenset(pair for pair in zip(table["rows"], codes, strict=True) if pair[1] != "Total") == key
            else (*codes, shown, mark)
            for *codes, shown, mark in lines.rows()
        ]
        pl.DataFrame(rows, lines.schema, orient="row").write_csv(path)
        manifest["files"][path.name]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "tables.json").write_text(json.dumps(manifest))


def main(arguments: list[str] | None = None) -> int:
    """Try cases; 1 if something was found."""
    parser = argparse.ArgumentParser(prog="fuzz.tables", description="Try random count tables.")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--cases", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args(arguments)
    seed = options.seed if options.seed is not None else secrets.randbelow(10**9)
    tally, result, end = Counter[str](), Counter[str](), time.monotonic() + 60 * options.minutes
    print(f"count tables for {options.minutes:g} minutes; SEED={seed}", flush=True)
    for number in range(seed, seed + options.cases):
        if time.monotonic() > end:
            break
        tally["cases"] += 1
        with tempfile.TemporaryDirectory() as folder:
            for name, detail in try_case(case_of(number), Path(folder), tally):
                result[name] += 1
                print(f"FOUND {name} (--seed {number} --cases 1): {detail[:400]}", flush=True)
    print(", ".join(f"{name} {count:,}" for name, count in sorted(tally.items())))
    print(f"findings: {dict(result) or 'none'}")
    return 1 if result else 0


if __name__ == "__main__":
    sys.exit(main())
