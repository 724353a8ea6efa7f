"""``python -m fuzz.linked``: random linked tables, judged, released and verified beside their definitions."""

from __future__ import annotations

import argparse
import random
import secrets
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

import incrowd as ic
from incrowd.core.errors import InfeasibleError
from incrowd_verify.linked import verify_linked
from linked_readings import draw, fewest, saved


def check(seed: int) -> list[str]:
    """Return what is wrong of the tables of a seed: readings that differ, and releases that expose people."""
    rng = random.Random(seed)
    k = rng.randint(1, 4)
    tables, policy = draw(seed, k=k, people=rng.randint(5, 25), max_suppression=rng.choice((0.0, 0.5, 0.9)))
    wrong = []
    if (judged := ic.assess_linked(tables, policy).smallest) != (least := fewest(tables, policy)):
        wrong.append(f"{judged} people share a view to the judge, and {least} by the definition")
    with tempfile.TemporaryDirectory() as folder:
        second = verify_linked(saved(Path(folder) / "out", tables, policy))
    if second.smallest != least:
        wrong.append(f"{second.smallest} people share a view to the verifier, and {least} by the definition")
    try:
        release = ic.anonymize_linked(tables, policy, unanswered="write")
    except InfeasibleError:
        return wrong
    released = {name: pl.DataFrame(frame) for name, frame in release.tables.items()}
    if (least := fewest(released, policy)) < k:
        wrong.append(f"{least} people share a view of a release for k = {k}")
    if release.left_out > policy.terms.max_suppression * len(tables["person"]):
        wrong.append("more people left than may")
    for name in policy.order[1:]:
        [(own, target)] = policy[name].join.items()
        table, _, key = target.partition(".")
        if not {*released[name][own]} <= {*released[table][key]}:
            wrong.append(f"rows of {name} belong to nobody")
    if release.verdict.broken:
        return wrong
    with tempfile.TemporaryDirectory() as folder:
        release.save(Path(folder) / "out")
        second = verify_linked(Path(folder) / "out")
    if second.smallest != least or second.verdict.broken:
        wrong.append(f"the verifier finds {second.smallest} people, {second.verdict.text}")
    return wrong


def main() -> int:
    """Try seeds for some minutes; 1 if something was found."""
    parser = argparse.ArgumentParser(prog="fuzz.linked", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else secrets.randbelow(10**9)
    ends = time.monotonic() + options.minutes * 60
    tried = 0
    while time.monotonic() < ends:
        if wrong := check(seed + tried):
            print(f"seed {seed + tried}: {'; '.join(wrong)}")
            return 1
        tried += 1
    print(f"{tried:,} linked tables, nothing found; SEED={seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
