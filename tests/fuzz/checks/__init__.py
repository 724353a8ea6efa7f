"""A single case: make the release, and hold every statement about the release against the oracle."""

from __future__ import annotations

import shutil
import warnings
from dataclasses import replace

import incrowd as ic
from fuzz.checks.account import account, loss
from fuzz.checks.again import engines, into, policy_back, recoding_back, written
from fuzz.checks.batches import applied
from fuzz.checks.errors import leaks, needless, too_high
from fuzz.checks.forgeries import forgeries
from fuzz.checks.made import (
    Finding,
    Made,
    Outcome,
    anonymized,
    crash,
    met_in,
    policy_of,
    read_release,
    skeleton,
)
from fuzz.checks.overlaps import overlaps
from fuzz.checks.people import nobody, one_row_each
from fuzz.checks.profiles import profiles
from fuzz.checks.released import columns, levels, models, narrow, suppression, truth, types, values
from fuzz.checks.series import series
from fuzz.checks.stops import stops
from fuzz.checks.suppressed import judged
from fuzz.checks.tables import tables
from fuzz.draw import Case
from fuzz.sources import Placed, Services, frame_of, placed

__all__ = ["QUICK", "Finding", "Made", "Outcome", "policy_of", "run"]

QUICK = (
    "columns", "rows", "order", "others", "types", "truth", "nul", "narrow", "levels", "suppression", "model", "account",
    "measured", "utility", "leak", "needless", "nobody", "write people", "server",
)  # fmt: skip
"""Beginnings of the findings that need no second release."""


def run(case: Case, services: Services, *, thorough: bool = True, people: bool = False) -> Outcome:
    """Try a case.

    Parameters
    ----------
    thorough
        Whether to write, read back, verify, apply and compare engines, too.
    people
        Whether to do no more of that than write a table, compare engines and look at suppressed records.
    """
    services = replace(services, folder=services.fresh())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            stored = {each["name"]: each["stored"] for each in case["columns"] if "stored" in each}
            with placed(case["source"], frame_of(case["columns"]), services, stored) as place:
                return _run(case, place, services, thorough, people)
        except Exception as error:
            return Outcome("released", findings=[crash("harness", error)])
        finally:
            shutil.rmtree(services.folder, ignore_errors=True)


def _run(case: Case, place: Placed, services: Services, thorough: bool, people: bool) -> Outcome:
    try:
        policy = policy_of(case)
        release = anonymized(case, policy, place)
    except ic.InfeasibleError as error:
        findings = [*leaks(case, place, str(error)), *needless(case, place, str(error)), *too_high(case)]
        return Outcome("infeasible", skeleton(str(error)), findings)
    except ic.IncrowdError as error:
        # What is wrong with a table or a policy is said before a server is asked for what it cannot do.
        failed = [Finding("server", str(error))] if "nothing was kept" in str(error) else []
        return Outcome("refused", skeleton(str(error)), [*leaks(case, place, str(error)), *failed])
    except Exception as error:
        return Outcome("refused", "crash", [crash("anonymize", error)])
    outcome = Outcome("released", met=met_in(case))
    result, problems = read_release(case, policy, release, place, services)
    outcome.findings += [*problems, *too_high(case)]
    if result is None:
        return outcome
    checks = [columns, types, truth, narrow, levels, suppression, models, values, account, loss, nobody]
    if people:
        checks.remove(nobody)
    if people and thorough:
        checks += [*([] if result.perturbed else [engines, judged, tables]), into]
    elif thorough and result.perturbed:
        # Values are drawn anew for every release, so no second one is like the first.
        checks += [recoding_back, written, profiles, into, stops]
    elif thorough:
        checks += [
            policy_back,
            recoding_back,
            engines,
            written,
            applied,
            one_row_each,
            series,
            overlaps,
            judged,
            tables,
            profiles,
            into,
            stops,
            forgeries,
        ]
    for check in checks:
        try:
            outcome.findings += list(check(result, services, outcome))
        except Exception as error:
            outcome.findings.append(crash(check.__name__.strip("_"), error))
    return outcome
