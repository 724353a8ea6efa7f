"""Runs the fuzzer for some minutes in some processes, saves what fails, and counts what was met."""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import hashlib
import json
import multiprocessing
import os
import queue
import re
import secrets
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "cases"
REQUIRED = os.environ.get("INCROWD_REQUIRE_SERVICES") == "1"
SILENCE = 300.0
"""Seconds after which a process that says nothing counts as hanging: kernels are compiled when first used."""
WHOLE = 3.0
"""Minutes from which everything has to be met."""


@dataclass
class Tally:
    """What all processes found."""

    statuses: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    met: Counter[tuple[str, str]] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    details: dict[str, str] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)


def main(arguments: list[str] | None = None) -> int:
    """Fuzz; 1 if something was found, or, in a run of three minutes or more, something was never met."""
    options = _options(arguments)
    seed = options.seed if options.seed is not None else secrets.randbelow(10**9)
    print(
        f"fuzzing for {options.minutes:g} minutes in {options.processes} processes; SEED={seed}", flush=True
    )
    tally = Tally()
    started = time.monotonic()
    _fuzz(tally, seed, options.processes, options.minutes * 60, save=not options.no_save)
    _print(tally, time.monotonic() - started)
    lacking = _lacking(tally)
    if lacking:
        print(f"never met in a release: {', '.join(lacking)}")
    return 1 if tally.found or (lacking and options.minutes >= WHOLE) else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="fuzz", description="Try random tables and policies against an oracle."
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--no-save", action="store_true", help="do not save failing cases as tests")
    return parser.parse_args(arguments)


# --- a process ------------------------------------------------------------------------------------------


def work(number: int, seed: int, seconds: float, folder: str, results: Any) -> None:
    """Try case after case until the time is up.

    Process 0 has a session of Spark, process 1 (or 0, where it is alone) a server of PostgreSQL.
    """
    faulthandler.enable()
    from fuzz.checks import run
    from fuzz.draw import SOURCES, Draw
    from fuzz.sources import Services
    from incrowd.algorithms import ALGORITHMS
    from incrowd.privacy import MODELS

    end = time.monotonic() + seconds
    services = Services(Path(folder))
    known: set[str] = set()
    with _servers(number, services):
        here = [name for name in SOURCES if name not in services.skipped]
        results.put(("started", dict(services.skipped)))
        met: Counter[Any] = Counter()
        draw = Draw(seed, MODELS.names(), ALGORITHMS.names(), here, met)
        cases = 0
        while time.monotonic() < end:
            case = draw.case(_source(draw, here, cases, met))
            cases += 1
            (Path(folder) / "case.json").write_text(json.dumps(case))
            outcome = run(case, services)
            met.update(outcome.met)
            fresh = [finding for finding in outcome.findings if finding.check not in known]
            results.put(("tried", outcome.status, outcome.reason, outcome.met, outcome.skipped,
                         [(finding.check, finding.detail) for finding in outcome.findings]))  # fmt: skip
            for finding in fresh:
                known.add(finding.check)
                results.put(("failed", finding.check, finding.detail, _small(case, finding.check, services)))
        results.put(("ended",))


def _source(draw: Any, here: list[str], cases: int, met: Counter[Any]) -> str:
    """Sessions are slow, so they have their turn now and then, and sooner while they were not met."""
    for name, turn in (("spark", 120), ("postgresql", 25)):
        if name in here and cases % (turn if met["source", name] else 10) == 5:
            return name
    return str(draw.rarest("source", [name for name in here if name not in ("spark", "postgresql")]))


def _small(case: dict[str, Any], check: str, services: Any) -> dict[str, Any]:
    from fuzz.checks import QUICK, run
    from fuzz.shrink import shrink

    thorough = not check.startswith(QUICK)

    def fails(candidate: dict[str, Any]) -> bool:
        outcome = run(candidate, services, thorough=thorough)
        return any(finding.check == check for finding in outcome.findings)

    return shrink(case, fails)


@contextlib.contextmanager
def _servers(number: int, services: Any) -> Iterator[None]:
    import pytest

    from postgres_server import running_server
    from spark_session import local_session, require_spark

    with contextlib.ExitStack() as stack:
        refused = (pytest.skip.Exception, pytest.fail.Exception)
        try:
            require_spark()
            if number:
                services.skipped["spark"] = ""
            else:
                services.spark = local_session()
                stack.callback(services.spark.stop)
        except refused as why:
            services.skipped["spark"] = str(why)
        try:
            services.postgres = stack.enter_context(running_server())
        except refused as why:
            services.skipped["postgresql"] = str(why)
        yield


# --- all processes ----------------------------------------------------------------------------------------


def _fuzz(tally: Tally, seed: int, processes: int, seconds: float, *, save: bool) -> None:
    """Run the processes; one that dies or hangs is a finding, and another takes its place."""
    # Tables are small: threads of one process would only wait for those of the others.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    context = multiprocessing.get_context("spawn")
    end = time.monotonic() + seconds
    running: dict[int, tuple[Any, Any, Path, float]] = {}

    def start(number: int, seed: int) -> None:
        folder = Path(tempfile.mkdtemp(prefix="incrowd-fuzz-"))
        results = context.Queue()
        left = max(end - time.monotonic(), 1.0)
        process = context.Process(target=work, args=(number, seed, left, str(folder), results), daemon=False)
        process.start()
        running[number] = (process, results, folder, time.monotonic())

    for number in range(processes):
        start(number, seed + number)
    while running:
        for number, (process, results, folder, heard) in list(running.items()):
            message = _next(results)
            if message is not None:
                running[number] = (process, results, folder, time.monotonic())
                if message[0] == "ended":
                    process.join(60)
                    del running[number]
                    shutil.rmtree(folder, ignore_errors=True)
                else:
                    _note(tally, message, save=save)
                continue
            silent = time.monotonic() - heard
            if process.is_alive() and silent < SILENCE:
                continue
            check = "hangs" if process.is_alive() else f"process ends with {process.exitcode}"
            current = folder / "case.json"
            case = json.loads(current.read_text()) if current.exists() else {}
            _note(tally, ("tried", "refused", check, [], [], [(check, "")]), save=save)
            _note(tally, ("failed", check, f"after {silent:.0f} seconds", case), save=save)
            process.kill()
            process.join()
            del running[number]
            shutil.rmtree(folder, ignore_errors=True)
            if time.monotonic() < end:
                seed += processes
                start(number, seed + number)


def _next(results: Any) -> Any:
    try:
        return results.get(timeout=0.2)
    except queue.Empty:
        return None


def _note(tally: Tally, message: Any, *, save: bool) -> None:
    match message:
        case ("started", skipped):
            for name, why in skipped.items():
                if why:
                    tally.skipped[f"{name}: {why}"] += 1
        case ("tried", status, reason, met, skipped, findings):
            tally.statuses[status] += 1
            if status != "released":
                tally.reasons[f"{status}: {reason}"] += 1
            tally.met.update(met)
            tally.skipped.update(skipped)
            for check, detail in findings:
                tally.found[check] += 1
                tally.details.setdefault(check, detail)
        case ("failed", check, detail, case):
            if check in tally.files:
                return
            print(f"FOUND {check}: {detail[-600:]}", flush=True)
            if save:
                tally.files[check] = saved(check, detail, case)
                print(f"  saved as {tally.files[check]}", flush=True)


def saved(check: str, detail: str, case: dict[str, Any]) -> Path:
    """Save a failing case as a test of the suite; it passes when the case no longer fails."""
    text = json.dumps({"finding": check, "detail": detail[-600:], "case": case}, indent=1, ensure_ascii=True)
    slug = re.sub(r"[^a-z0-9]+", "-", check.lower()).strip("-")[:50]
    path = CASES / f"{slug}-{hashlib.sha256(json.dumps(case).encode()).hexdigest()[:8]}.json"
    CASES.mkdir(exist_ok=True)
    path.write_text(text + "\n")
    return path


def _print(tally: Tally, seconds: float) -> None:
    from fuzz.draw import FILES, STREAMS

    cases = sum(tally.statuses.values())
    print(
        f"\n{cases} cases in {seconds:.0f} seconds: "
        + ", ".join(f"{n} {what}" for what, n in tally.statuses.most_common())
    )
    titles = {"model": "models", "algorithm": "algorithms", "style": "styles", "source": "frames, files and engines",
              "null": "null values by type", "type": "column types"}  # fmt: skip
    for what, title in titles.items():
        counts = {name: n for (kind, name), n in tally.met.items() if kind == what}
        print(
            f"{title}: "
            + ", ".join(f"{name} {n}" for name, n in sorted(counts.items(), key=lambda pair: -pair[1]))
        )
    formats = sum(
        n for (kind, name), n in tally.met.items() if kind == "source" and name in (*FILES, *STREAMS)
    )
    print(f"releases of files and streams: {formats}")
    print("no release:")
    for reason, count in tally.reasons.most_common(40):
        print(f"  {count:6} {reason}")
    print("skipped:")
    for reason, count in tally.skipped.most_common(20):
        print(f"  {count:6} {reason}")
    print("findings: " + ("none" if not tally.found else ""))
    for check, count in tally.found.most_common():
        print(f"  {count:6} {check}: {tally.details[check][-200:]!r}")


def _lacking(tally: Tally) -> list[str]:
    from fuzz.draw import NULL_KINDS, SOURCES, STYLES
    from incrowd.algorithms import ALGORITHMS
    from incrowd.privacy import MODELS

    wanted = {
        "model": MODELS.names(), "algorithm": ALGORITHMS.names(), "style": STYLES, "source": SOURCES, "null": NULL_KINDS,
    }  # fmt: skip
    absent = {reason.partition(":")[0] for reason in tally.skipped} if not REQUIRED else set()
    return [
        f"{what} {name}"
        for what, names in wanted.items()
        for name in names
        if not tally.met[what, name] and name not in absent
    ]


if __name__ == "__main__":
    sys.exit(main())
