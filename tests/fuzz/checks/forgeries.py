"""A ledger that somebody changed is refused in a single line, or everything is as before."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import incrowd as ic
from forged_ledgers import change_bytes, change_lines, copy_of
from fuzz.checks.commands import draw_call
from fuzz.checks.made import Finding, Made, Outcome, rid_of, skeleton
from fuzz.draw import FRAMES
from fuzz.sources import Services
from interruptions import Run, shared_runs

_SHARE = 0.5
_TIMES = 4
_READING = {
    "show": ["ledger", "show", "book", "--json"],
    "verify": ["ledger", "verify", "book"],
    "attack": ["attack", "--ledger", "book", "--json"],
}
_WAYS_OUT = ("from a copy", "incrowd ledger init makes one", "whether lines are gone")


def forgeries(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """A command with a forged ledger says so, or answers as before, and crashes in no case."""
    draw = random.Random(json.dumps(made.case, sort_keys=True) + "forgeries")
    if made.case["source"] not in FRAMES or draw.random() > _SHARE:
        return
    whole, work = services.fresh(), services.fresh() / "work"
    command, call = draw_call(draw, made, whole, recorded=True)
    calls, runs = {**_READING, command: call}, shared_runs()
    (whole / "temporary").mkdir()
    (whole / "witness").write_bytes(b"witness")
    try:
        keys = [rid_of(made.case)] if "--ledger-keys" in call else []
        for new in (False, True)[: draw.randint(1, 2)]:
            ic.Ledger(whole / "book").add(
                made.release, made.place.table, recipient="A", keys=keys, new_people=new
            )
    except ic.IncrowdError as error:
        outcome.skipped.append(f"forgeries: {skeleton(str(error))}")
    honest: dict[str, Run] = {}
    for _ in range(_TIMES):
        name = draw.choice(list(calls))
        if name not in honest:
            honest[name] = runs(copy_of(whole, work), calls[name])
        book = copy_of(whole, work) / "book"
        by_hand = draw.random() < 0.6
        what = change_bytes(draw, book, work / "witness") if by_hand else change_lines(draw, book)
        before = _files(work)
        result = runs(work, calls[name])
        outcome.met.append(("forged", what.partition(":")[0] if by_hand else what))
        if fault := fault_of(name, honest[name], result, by_hand=by_hand):
            yield Finding(
                f"forged ledger {fault}", f"{what}; {calls[name]}: {result.status} {result.said}"[:600]
            )
        after = _files(work)
        kept = after == before if result.status == 2 else after["witness"] == b"witness"
        if not kept:
            changed = [path for path in before | after if before.get(path) != after.get(path)]
            yield Finding("forged ledger changes", f"{what}; {calls[name]}: {changed}"[:600])


def fault_of(name: str, honest: Run, done: Run, *, by_hand: bool) -> str | None:
    """Describe the fault of an answer, None without a fault."""
    if done.status not in (0, 1, 2) or "internal error" in done.said or "Traceback" in done.said:
        return "crashes"
    if done.status == honest.status and (name not in _READING or done.printed == honest.printed):
        return None
    if done.status == 2 or (done.status, name) == (1, "verify"):
        lines = [line for line in done.said.splitlines() if line not in honest.said]
        if len(lines) != 1 or "book" not in lines[0]:
            return "is not named in one line"
        if not any(way in lines[0] for way in _WAYS_OUT):
            return "has no way out"
        return None
    return "answers otherwise" if by_hand else None


def _files(work: Path) -> dict[str, bytes | None]:
    """Every file below a folder, without locks, where links count as targets, and other things as nothing."""
    result: dict[str, bytes | None] = {}
    for path in work.rglob("*"):
        name = path.relative_to(work).as_posix()
        if path.is_symlink():
            result[name] = os.fsencode(os.readlink(path))
        elif path.is_file() and path.suffix != ".lock" and "temporary" not in name:
            result[name] = path.read_bytes()
    return result
