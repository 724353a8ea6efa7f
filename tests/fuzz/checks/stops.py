"""A writing command is stopped at some file operations: there is nothing, or files and entry."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

from forged_ledgers import copy_of
from fuzz.checks.commands import draw_call
from fuzz.checks.made import Finding, Made, Outcome, skeleton
from fuzz.draw import SERVERS
from fuzz.sources import Services
from interruptions import WAYS, content, ledger_of, prepare, shared_runs, stopped

_SHARE = 0.15
_TIMES = 3
_NEVER = 10**9


def stops(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """A stopped command leaves nothing, or everything, and the next run repairs a killed run's remains."""
    draw = random.Random(json.dumps(made.case, sort_keys=True) + "stops")
    if made.case["source"] in SERVERS or draw.random() > _SHARE:
        return
    whole, work = services.fresh(), services.fresh() / "work"
    command, call = draw_call(draw, made, whole)
    prepare(whole, call)
    copy_of(whole, work)
    runs, book = shared_runs(), ledger_of(call, work)
    before = content(work, book)
    result = runs(work, call)
    if "internal error" in result.said:
        yield Finding("stops crash", f"{call}: {result.said}"[:600])
    if result.status:
        outcome.skipped.append(f"stops: {skeleton(result.said)}")
        return
    after = content(work, book)
    written = {name.partition("/")[0] for name in after if after[name] != before.get(name)}
    for _ in range(_TIMES):
        drawn = [(_operation(draw, len(result.operations)), draw.choice(list(WAYS)))]
        while drawn[-1][1] == "SIGKILL" and len(drawn) < 4 and draw.random() < 0.5:
            drawn.append((_operation(draw, len(result.operations)), draw.choice(list(WAYS))))
        repaired = draw.random() < 0.4
        if repaired:
            drawn.append((_NEVER, "error"))
        copy_of(whole, work)
        try:
            _, everything = stopped(runs, work, call, drawn, written)
            if repaired and not everything:
                yield Finding("stops", f"{call}: after {drawn} there is nothing")
        except AssertionError as error:
            yield Finding("stops", f"{drawn}: {error}"[:600])
        outcome.met += [("stopped", f"{command} by {way}") for number, way in drawn if number != _NEVER]


def _operation(draw: random.Random, count: int) -> int:
    """Draw an operation, half of the time a late operation, including the point of no return."""
    return draw.randrange(count) if draw.random() < 0.5 else draw.randrange(count * 2 // 3, count)
