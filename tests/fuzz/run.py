"""Runs the fuzzer for some minutes in several processes, saves failures, and counts events."""

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
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "cases"
REQUIRED = os.environ.get("INCROWD_REQUIRE_SERVICES") == "1"
SILENCE = 300.0
"""Seconds after which a process that says nothing counts as hanging."""
WARM = 900.0
"""The same while servers start and kernels are compiled, before the clock runs."""
SCRIPT = "script: "
"""How reasons begin for which no script of checks is written."""
WHOLE = 3.0
"""Minutes from which everything has to be met."""
MANY = 500
"""Cases from which everything has to be met: a busy machine tries half as many in three minutes."""
SLOW = ("spark", "postgresql", "mysql")
"""Sources that are sessions of a server, which a process may lack."""
ENDLESS = 7 * 24 * 60.0
"""Minutes of a run that ends after some cases."""


@dataclass
class Tally:
    """The findings of all processes."""

    statuses: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    met: Counter[tuple[str, str]] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    details: dict[str, str] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)


def main(arguments: list[str] | None = None) -> int:
    """Fuzz; 1 if something was found, or, in a long run of many cases, something was never met."""
    options = _options(arguments)
    seed = options.seed if options.seed is not None else secrets.randbelow(10**9)
    minutes = options.minutes or (10.0 if options.cases is None else ENDLESS)
    # One process alone has a session of Spark.
    processes = 1 if options.engine == "spark" else options.processes
    length = f"{minutes:g} minutes" if options.cases is None else f"{options.cases} cases"
    where = f" of {options.engine}" if options.engine else ""
    print(f"fuzzing for {length}{where} in {processes} processes; SEED={seed}", flush=True)
    tally = Tally()
    pool = _Pool(tally, seed, processes, minutes * 60, save=not options.no_save)
    pool.limit_to(options.engine, options.cases, people=options.people)
    started = time.monotonic()
    # What was found until then is printed.
    with contextlib.suppress(KeyboardInterrupt):
        pool.run()
    _print(tally, time.monotonic() - started)
    # A run of one engine or of some cases cannot meet everything.
    if options.engine is None and options.cases is None:
        lacking = _lacking(tally)
    else:
        lacking = [options.engine] if options.engine and not tally.met["source", options.engine] else []
    if lacking:
        print(f"never met in a release: {', '.join(lacking)}")
    whole = minutes >= WHOLE and sum(tally.statuses.values()) >= MANY
    return 1 if tally.found or (lacking and whole) else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    from fuzz.draw import SOURCES

    parser = argparse.ArgumentParser(
        prog="fuzz", description="Try random tables and policies against an oracle."
    )
    parser.add_argument("--minutes", type=float, help="10 if --cases is not given")
    parser.add_argument("--cases", type=int, help="end after so many cases")
    parser.add_argument(
        "--engine", choices=SOURCES, metavar="NAME", help="where all tables are: spark, csv ..."
    )
    parser.add_argument(
        "--people",
        action="store_true",
        help="let a column of every table name a person; no batches, files, series and scripts",
    )
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--no-save", action="store_true", help="do not save failing cases as tests")
    return parser.parse_args(arguments)


# --- a process ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Limits:
    """The end time of all processes, and the folder of the cases' tables.

    Attributes
    ----------
    clock
        A shared number: the time at which to end, by `time.time`; 0 until all are ready.
    left
        A shared number: how many cases are left to try; less than 0 for any number.
    engine
        Where the tables are, by its name among `SOURCES`; None for anywhere.
    people
        Whether all tables have a column of people, and what is made of a release later is left out.
    """

    clock: Any
    left: Any
    engine: str | None = None
    people: bool = False

    def take_case(self) -> bool:
        """Take a remaining case, if any, while there is time."""
        with self.left.get_lock():
            if not self.left.value or time.time() >= self.clock.value:
                return False
            self.left.value -= self.left.value > 0
            return True


def work(number: int, seed: int, folder: str, results: Any, limits: Limits) -> None:
    """Try case after case until the limits are reached.

    Every process has a server of PostgreSQL and one of MariaDB, process 0 has a session of Spark.
    """
    faulthandler.enable()
    os.setpgrp()
    from fuzz.draw import SOURCES, Draw
    from fuzz.sources import Services
    from incrowd.measures.privacy import MODELS
    from incrowd.search import ALGORITHMS

    services = Services(Path(folder))
    with _servers(number, services, limits.engine, people=limits.people):
        here = [name for name in SOURCES if name not in services.skipped]
        met: Counter[Any] = Counter()
        people = 1.0 if limits.people else None
        draw = Draw(seed, MODELS.names(), ALGORITHMS.names(), here, met, people=people)
        _warm(services, people=limits.people)
        results.put(("ready", dict(services.skipped)))
        while not limits.clock.value:
            time.sleep(0.1)
        known: set[str] = set()
        cases, parent = 0, os.getppid()
        # Whoever ends the run by force ends its processes, too.
        while (limits.engine or "polars") in here and os.getppid() == parent and limits.take_case():
            name = limits.engine or _turn(draw, here, cases, met)
            _try(
                _drawn(draw, name, services, people=limits.people),
                services,
                met,
                known,
                results,
                people=limits.people,
            )
            cases += 1
        results.put(("ended",))


def _warm(services: Any, *, people: bool) -> None:
    """Compile the kernels of every case, so that the first cases are no slower than others."""
    from fuzz.checks import run
    from fuzz.draw import Draw
    from incrowd.measures.privacy import MODELS
    from incrowd.search import ALGORITHMS

    met: Counter[Any] = Counter()
    draw = Draw(0, MODELS.names(), ALGORITHMS.names(), ["polars"], met)
    for _ in ALGORITHMS.names():
        met.update(run(draw.case("polars"), services, people=people).met)
    if services.spark is not None:
        services.spark.range(3).groupBy("id").count().collect()


def _try(
    case: dict[str, Any], services: Any, met: Counter[Any], known: set[str], results: Any, *, people: bool
) -> None:
    from fuzz.checks import run

    (services.folder / "case.json").write_text(json.dumps(case))
    outcome = run(case, services, people=people)
    met.update(outcome.met)
    results.put(("tried", outcome.status, outcome.reason, outcome.met, outcome.skipped,
                 [(finding.check, finding.detail) for finding in outcome.findings]))  # fmt: skip
    for finding in outcome.findings:
        if finding.check not in known:
            known.add(finding.check)
            results.put(
                ("failed", finding.check, finding.detail, _small(case, finding.check, services, people))
            )


def _turn(draw: Any, here: list[str], cases: int, met: Counter[Any]) -> str:
    """Return the source for the next turn: slow sources now and then, sooner before a first case."""
    for name, first, turn in (("spark", 6, 90), ("postgresql", 8, 25), ("mysql", 10, 30)):
        seen = met["source", name] and met["person", name]
        if name in here and cases % (turn if seen else first) == 3:
            return name
    return str(draw.rarest("source", [name for name in here if name not in SLOW]))


def _drawn(draw: Any, name: str, services: Any, *, people: bool) -> dict[str, Any]:
    """Draw a case for a source, where slow sources take cases that lead to a release in Polars."""
    from fuzz.checks import run

    for _ in range(5):
        case: dict[str, Any] = draw.case(name)
        if name not in SLOW:
            break
        here = case | {"source": "polars"}
        if run(here, services, thorough=False, people=people).status == "released":
            break
    return case


def _small(case: dict[str, Any], check: str, services: Any, people: bool) -> dict[str, Any]:
    from fuzz.checks import QUICK, run
    from fuzz.shrink import shrink

    thorough = not check.startswith(QUICK)

    def fails(candidate: dict[str, Any]) -> bool:
        outcome = run(candidate, services, thorough=thorough, people=people and thorough)
        return any(finding.check == check for finding in outcome.findings)

    return shrink(case, fails)


@contextlib.contextmanager
def _servers(number: int, services: Any, engine: str | None, *, people: bool) -> Iterator[None]:
    """Start the servers that a process needs; with an engine, no others."""
    import pytest

    import mariadb_server
    import postgres_server
    from spark_session import PLAIN, local_session, require_spark

    with contextlib.ExitStack() as stack:
        refused = (pytest.skip.Exception, pytest.fail.Exception)
        try:
            require_spark()
            if number or engine not in (None, "spark"):
                services.skipped["spark"] = ""
            else:
                services.spark = local_session("local[1]", **PLAIN) if people else local_session()
                stack.callback(services.spark.stop)
        except refused as why:
            services.skipped["spark"] = str(why)
        for name, server in (("postgresql", postgres_server), ("mysql", mariadb_server)):
            try:
                if engine not in (None, name):
                    services.skipped[name] = ""
                else:
                    services.urls[name] = stack.enter_context(server.running_server())
            except refused as why:
                services.skipped[name] = str(why)
        yield


# --- all processes ----------------------------------------------------------------------------------------


@dataclass
class _Process:
    """A process that tries cases, and the time of the last message."""

    process: Any
    results: Any
    folder: Path
    heard: float
    ready: bool = False

    def end(self) -> None:
        """End the process with all children."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        shutil.rmtree(self.folder, ignore_errors=True)


class _Pool:
    """Runs the processes, where a dead or hanging process is a finding, and gets a replacement."""

    def __init__(self, tally: Tally, seed: int, processes: int, seconds: float, *, save: bool) -> None:
        # Tables are small: threads of one process would only wait for those of the others.
        os.environ.setdefault("POLARS_MAX_THREADS", "1")
        self.context = multiprocessing.get_context("spawn")
        self.clock = self.context.Value("d", 0.0)
        self.limits = Limits(self.clock, self.context.Value("q", -1))
        self.tally, self.seed, self.seconds, self.save = tally, seed, seconds, save
        self.started = 0
        self.running: dict[int, _Process] = {}
        self.processes = processes

    def limit_to(self, engine: str | None, cases: int | None, *, people: bool) -> None:
        """Try only cases of a given engine, a given number of cases, or tables of people."""
        self.limits = replace(self.limits, engine=engine, people=people)
        self.limits.left.value = -1 if cases is None else cases

    def run(self) -> None:
        try:
            for number in range(self.processes):
                self.start(number)
            while self.running:
                for number, one in list(self.running.items()):
                    self.listen(number, one)
        finally:
            for one in self.running.values():
                one.end()

    def start(self, number: int) -> None:
        folder = Path(tempfile.mkdtemp(prefix="incrowd-fuzz-"))
        results = self.context.Queue()
        arguments = (number, self.seed + self.started, str(folder), results, self.limits)
        self.started += 1
        process = self.context.Process(target=work, args=arguments, daemon=False)
        process.start()
        self.running[number] = _Process(process, results, folder, time.monotonic())

    def listen(self, number: int, one: _Process) -> None:
        message = _next(one.results)
        if message is None:
            self.look_after(number, one)
            return
        one.heard = time.monotonic()
        if message[0] == "ended":
            one.process.join(60)
            one.end()
            del self.running[number]
            return
        if message[0] == "ready":
            one.ready = True
            if not self.clock.value and all(other.ready for other in self.running.values()):
                self.clock.value = time.time() + self.seconds
                for other in self.running.values():
                    other.heard = time.monotonic()
        _note(self.tally, message, save=self.save)

    def look_after(self, number: int, one: _Process) -> None:
        """See whether a process that says nothing is still at work."""
        silent = time.monotonic() - one.heard
        waiting = one.ready and not self.clock.value
        if one.process.is_alive() and (waiting or silent < (SILENCE if one.ready else WARM)):
            return
        check = "hangs" if one.process.is_alive() else f"process ends with {one.process.exitcode}"
        current = one.folder / "case.json"
        case = json.loads(current.read_text()) if current.exists() else {}
        _note(self.tally, ("tried", "refused", check, [], [], [(check, "")]), save=self.save)
        _note(self.tally, ("failed", check, f"after {silent:.0f} seconds", case), save=self.save)
        one.end()
        del self.running[number]
        if not self.clock.value or time.time() < self.clock.value:
            self.start(number)


def _next(results: Any) -> Any:
    try:
        return results.get(timeout=0.2)
    except queue.Empty:
        return None


def _note(tally: Tally, message: Any, *, save: bool) -> None:
    match message:
        case ("ready", skipped):
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
    """Save a failing case as a test of the suite, which passes once the case no longer fails."""
    # Where the package lies on somebody's machine is of no matter.
    told = re.sub(r"(?:/[\w.+-]+)+/", "", detail[-600:])
    text = json.dumps({"finding": check, "detail": told, "case": case}, indent=1, ensure_ascii=True)
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
              "null": "null values by type", "type": "column types", "stored": "types of databases",
              "spelled": "declared spellings by place", "person": "people with several rows by place",
              "attacker": "models against attackers", "power": "powers of km-anonymity",
              "wildcards": "what * matches", "ends": "ends of ranges", "batch": "batches of later rows", "series": "series of releases", "perturbed": "perturbed sensitive columns",
              "point": "points of verdicts", "ledger": "overlapping releases in a ledger",
              "stopped": "runs that were stopped", "forged": "ledgers that were forged",
              "table": "count tables", "script": "scripts of checks for DuckDB"}  # fmt: skip
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
    scripts = Counter({reason: n for reason, n in tally.skipped.items() if reason.startswith(SCRIPT)})
    print("skipped:")
    for reason, count in (tally.skipped - scripts).most_common(20):
        print(f"  {count:6} {reason}")
    print("no script:")
    for reason, count in scripts.most_common(20):
        print(f"  {count:6} {reason.removeprefix(SCRIPT)}")
    print("findings: " + ("none" if not tally.found else ""))
    for check, count in tally.found.most_common():
        print(f"  {count:6} {check}: {tally.details[check][-200:]!r}")


def _lacking(tally: Tally) -> list[str]:
    from fuzz.crowds import ABOUT
    from fuzz.draw import BATCHES, NULL_KINDS, PERTURBING, SERIES, SOURCES, STYLES, WILDCARDS
    from incrowd.measures.privacy import MODELS
    from incrowd.search import ALGORITHMS

    wanted = {
        "model": MODELS.names(), "algorithm": ALGORITHMS.names(), "style": STYLES, "source": SOURCES, "null": NULL_KINDS,
        "spelled": SOURCES, "person": SOURCES, "attacker": ABOUT,
        "wildcards": WILDCARDS, "ends": ("outward", "exact"), "batch": BATCHES, "series": SERIES, "perturbed": PERTURBING,
        "point": ("outlying-value",),
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
