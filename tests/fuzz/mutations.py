"""Breaks incrowd in several ways in turn and reports the fuzzer's delay: ``python -m fuzz.mutations``."""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from fuzz import draw
from fuzz.checks import run
from fuzz.sources import Services
from incrowd.core.reading.spellings import Spelling
from incrowd.core.recoding import Recoding
from incrowd.core.table import matching
from incrowd.core.table.domain import Domain
from incrowd.core.table.frequency import FrequencyTable
from incrowd.core.table.schema import Schema
from incrowd.core.table.sensitive import SensitiveCounts
from incrowd.core.table.settings import Grid
from incrowd.engines.scan import StreamedCount
from incrowd.measures.privacy import MODELS, KAnonymity, KMAnonymity, LDiversity, TCloseness
from incrowd.measures.privacy.attacker import Attacker
from incrowd.release.jobs.later import apply
from incrowd.release.jobs.later.batch import BatchJudge, Earlier
from incrowd.release.jobs.later.ledger import Ledger
from incrowd.release.jobs.later.next_release import _Plan
from incrowd.release.jobs.make import recode_batch, released_rows
from incrowd.search import ALGORITHMS
from incrowd_verify import classes

Wrap = Callable[..., Any]


def after(change: Callable[[Any], Any]) -> Callable[[Wrap], Wrap]:
    """Wrap a function so that the result is changed."""
    return lambda wrapped: lambda *arguments, **named: change(wrapped(*arguments, **named))


def _lower(value: Any) -> Any:
    return np.maximum(np.asarray(value) - 1, 0)


def _narrow(made: Any) -> Any:
    def label(domain: Domain, lo: int, hi: int) -> str | None:
        return made(domain, lo, hi - 1 if hi > lo else hi)

    return label


def _inward(wrapped: Wrap) -> Wrap:
    return lambda self, text: self.down(text)


def _swapped(wrapped: Wrap) -> Wrap:
    def of_rows(grouped: Any, domain: Any, ranks: Any) -> Any:
        return wrapped(grouped, domain, np.roll(ranks, 1))

    return of_rows


def _without_last(wrapped: Wrap) -> Wrap:
    return lambda domain, present: wrapped(domain, present[:-1] if len(present) > 2 else present)


def _missing_policy(wrapped: Wrap) -> Wrap:
    return lambda assessment, policy: wrapped(assessment, replace(policy, max_suppression=1.0))


def _identifying(wrapped: Wrap) -> Wrap:
    return lambda self, columns: list(columns)


def _shifted(wrapped: Wrap) -> Wrap:
    def load(folder: Any) -> Any:
        result = wrapped(folder)
        cells = tuple(replace(cells, lo=cells.hi, hi=cells.lo) for cells in result.cells)
        return replace(result, cells=cells)

    return load


def _least(wrapped: Wrap) -> Wrap:
    return lambda self, classes, attribute: wrapped(self, classes, attribute) + 1


def _deaf(wrapped: Wrap) -> Wrap:
    return lambda models, classes: np.ones(len(classes), np.bool_)


def _unjudged(wrapped: Wrap) -> Wrap:
    return lambda self, released: wrapped(replace(self, policy=replace(self.policy, models=())), released)


def _only_together(wrapped: Wrap) -> Any:
    return property(lambda self: [self.parts])


def _reversed(wrapped: Wrap) -> Wrap:
    def apply(self: Any, *arguments: Any, **named: Any) -> Any:
        result = wrapped(self, *arguments, **named)
        return replace(result, table=result.table.reverse()) if hasattr(result.table, "reverse") else result

    return apply


def _up(wrapped: Wrap) -> Wrap:
    """A column's level is lower by 1 than was decided."""
    return lambda domain, level: wrapped(domain, max(level - 1, 0))


Patch = tuple[Any, str, Callable[[Wrap], Wrap]]

MUTATIONS: dict[str, tuple[Patch, ...]] = {
    "k is one too small, in search and check": (
        (KAnonymity, "least_size", lambda f: property(lambda self: max(self.k - 1, 1))),
        (KAnonymity, "accepts", lambda f: lambda self, values: f(self, values + 1)),
    ),
    "a range is one rank too narrow": (("incrowd.core.recoding.cells", "range_label", _narrow),),
    "upper ends of ranges are rounded inward": ((Grid, "up", _inward),),
    "ranges have no end on a grid": ((Grid, "down", lambda f: lambda self, text: text), (Grid, "up", lambda f: lambda self, text: text)),
    "sensitive values are counted for the next row": ((SensitiveCounts, "of_rows", _swapped),),
    "a set lacks its last value": (("incrowd.core.recoding.cells", "set_label", _without_last),),
    "the limit of suppression is not looked at": ((released_rows, "judge", _missing_policy),),
    "every column leaves": ((Schema, "released", _identifying),),
    "a recoding is loaded with ends swapped": ((Recoding, "load", _shifted),),
    "diversity is counted one too high": ((LDiversity, "_values", _least),),
    "distances are halved": ((TCloseness, "_values", after(lambda values: values / 2)),),
    "later rows are not judged": (
        ("incrowd.search.base", "all_hold", _deaf),
        (BatchJudge, "assessments", _unjudged),
    ),
    "later rows are judged only together with the earlier release": ((Earlier, "beside", _only_together),),
    "rows that were held are lost": ((apply, "with_held", lambda f: lambda table, held: (table, 0)),),
    "rows that wait leave, too": ((apply, "rows_at", lambda f: lambda table, places: table),),
    "lazy rows come out reversed": ((StreamedCount, "apply", _reversed),),
    "labels are those of a level lower": (("incrowd.core.recoding.cells", "level_cells", _up),),
    "means are one too high": (("incrowd.core.recoding.cells", "_number_text", lambda f: lambda value, exponent: f(value + 1, exponent)),),
    "days that are written in a way of their own are first days": (
        (Spelling, "moment", after(lambda moment: moment and moment.replace(day=1))),
    ),
    "the signs of a spelled column are lost": (
        (Spelling, "number", after(lambda read: (read[0] and read[0].lstrip("-"), read[1]))),
    ),
    "rows are counted in place of people": (
        (FrequencyTable, "with_person_rows", after(lambda table: replace(table, people=replace(table.people, table=None)))),
    ),
    "attackers see nothing": (
        (Attacker, "holds", lambda f: lambda self, classes: np.ones(len(classes), np.bool_)),
        (Attacker, "measure", lambda f: lambda self, classes, **named: []),
    ),
    "a star matches nothing but itself": (
        (matching, "matched", lambda f: lambda classes, wildcards: classes),
    ),
    "whoever knows several rows is taken to know one": (
        (KMAnonymity, "_values", lambda f: lambda self, classes: classes.sizes),
    ),
    "losses are a tenth too high": ((Domain, "span", after(lambda lost: lost * 1.1)),),
    "numbers that are one double lose nothing": ((Domain, "positions", lambda f: property(lambda self: self.numbers)),),
    "new values take the cell of their neighbour": ((
        recode_batch, "_places", after(lambda sides: (np.maximum(sides[0], 0), np.maximum(sides[1], 0))),
    ),),
    "perturbed values are judged only as they were before": (
        ("incrowd.release.jobs.make.released_rows", "_models_of_perturbed", lambda f: lambda policy: ()),
    ),
    "earlier signatures of a series are forgotten": ((Ledger, "signatures", lambda f: lambda self, *given: {}),),
    "what several releases tell together is not asked": (
        ("incrowd.release.jobs.later.ledger", "deduced_people", lambda f: lambda releases, **given: []),
    ),
    "counterfeit records are not counted": (
        (_Plan, "counterfeits_by_group", after(lambda counted: counted.clear())),
    ),
    "verify counts one record more": (
        (classes, "count_records", after(lambda counted: (counted[0] + 1, *counted[1:]))),
    ),
}  # fmt: skip
SLOW = (
    "a recoding is loaded with ends swapped", "later rows are not judged",
    "later rows are judged only together with the earlier release",
    "rows that were held are lost", "rows that wait leave, too", "lazy rows come out reversed", "new values take the cell of their neighbour",
    "verify counts one record more", "earlier signatures of a series are forgotten", "counterfeit records are not counted",
    "what several releases tell together is not asked",
)  # fmt: skip
"""Mutations that only a second release, a file or a later batch shows."""


@contextlib.contextmanager
def broken(name: str) -> Iterator[None]:
    """Break incrowd in a single way."""
    with contextlib.ExitStack() as stack:
        for patch in MUTATIONS[name]:
            stack.enter_context(_patched(*patch))
        yield


@contextlib.contextmanager
def _patched(home: Any, what: str, change: Callable[[Wrap], Wrap]) -> Iterator[None]:
    if isinstance(home, str):
        from importlib import import_module

        home = import_module(home)
    held = getattr(home, what)
    if isinstance(home, type):
        kept = next(vars(base)[what] for base in home.__mro__ if what in vars(base))
        wrapped: Any = _bound(kept, change) if isinstance(kept, classmethod) else change(held)
        wrapped = staticmethod(wrapped) if isinstance(kept, staticmethod) else wrapped
    else:
        wrapped = change(held)
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(home, what, wrapped))
        # Other modules hold the same function under the same name.
        for module in list(sys.modules.values()):
            if getattr(module, "__name__", "").startswith("incrowd") and vars(module).get(what) is held:
                stack.enter_context(mock.patch.object(module, what, wrapped))
        yield


def _bound(held: Any, change: Callable[[Wrap], Wrap]) -> Any:
    def method(cls: Any, *arguments: Any, **named: Any) -> Any:
        return change(held.__get__(None, cls))(*arguments, **named)

    return classmethod(method)


def seconds_to_find(name: str, seed: int, seconds: float) -> tuple[int, float, str]:
    """Return the number of cases and seconds until a finding, and the finding, or an empty text without.

    Seconds are those of the processor, which other programs do not lengthen.
    """
    sources = [source for source in draw.SOURCES if source not in draw.SERVERS]
    met: Counter[Any] = Counter()
    drawing = draw.Draw(seed, MODELS.names(), ALGORITHMS.names(), sources, met)
    with tempfile.TemporaryDirectory() as folder:
        services = Services(Path(folder))
        start, cases = time.process_time(), 0
        while time.process_time() - start < seconds:
            cases += 1
            case = drawing.case(drawing.rarest("source", sources))
            with broken(name):
                outcome = run(case, services, thorough=name in SLOW)
            met.update(outcome.met)
            if outcome.findings:
                whole = {finding.check for finding in run(case, services, thorough=name in SLOW).findings}
                fresh = [finding.check for finding in outcome.findings if finding.check not in whole]
                if fresh:
                    return cases, time.process_time() - start, fresh[0]
    return cases, seconds, ""


def main() -> int:
    """Try all mutations, and return 1 if any was not noticed."""
    parser = argparse.ArgumentParser(prog="fuzz.mutations")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="a part of the names to try")
    options = parser.parse_args()
    missed = 0
    for name in (name for name in MUTATIONS if options.only in name):
        cases, seconds, check = seconds_to_find(name, options.seed, options.seconds)
        missed += not check
        print(f"{name}: {check or 'NOT FOUND'} after {cases} cases, {seconds:.1f} s", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
