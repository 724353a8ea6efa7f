"""Guests of the core stand in separate rooms, listed in the table of the architecture page."""

from __future__ import annotations

import re

import pytest

from package_sources import PACKAGE
from test_layers import VERIFY, imports_of, modules

PAGE = (PACKAGE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([^|]+)` \| [^|]+ \| ([0-9,]+) \| ([^|]+) \|$", re.MULTILINE)
CORE = re.compile(r"The core has at most ([0-9,]+) lines")
LISTS = {
    "engines.open", "release.verification", f"{VERIFY}.cli", f"{VERIFY}.verification",
    "release.policy.policy", "release.policy.policy_schema",
    "release.jobs.make.anonymize", "release.jobs.make.release", "release.jobs.compare.draft",
    "release.jobs.later.next_release", "release.drafting.roles",
    "release.jobs.make.account", "release.jobs.measure.evaluate", "release.report.content",
    "release.jobs.compare.perturbation", "search.cell_suppression",
}  # fmt: skip
"""Files of the core that call a guest: lists of engines, of policies' parts, and verbs that pass a call on.

Beside them the command line calls guests, a command each.
"""


def guests() -> list[tuple[str, int, set[str]]]:
    """Return the rooms of the table: the dotted name of each, the number, and the modules of the way in."""
    rows = []
    for place, most, entry in ROW.findall(PAGE):
        room = place.strip("/").replace("/", ".")
        entries = {f"{room}.{each}" for each in re.findall("`([^`]+)`", entry)}
        rows.append((room, int(most.replace(",", "")), entries | ({room} if "itself" in entry else set())))
    return rows


GUESTS = guests()
EVERY = pytest.mark.parametrize(("room", "most", "entries"), GUESTS, ids=[room for room, _, _ in GUESTS])


def within(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")


def is_guest(module: str) -> bool:
    return any(within(module, room) for room, _, _ in GUESTS)


def lines(module: str) -> int:
    return len(modules()[module].read_text(encoding="utf-8").splitlines())


def test_the_table_has_guests():
    assert len(GUESTS) >= 10


@EVERY
def test_a_guest_stays_under_its_number(room, most, entries):
    assert entries <= modules().keys()
    assert 0 < sum(lines(module) for module in modules() if within(module, room)) <= most


@EVERY
def test_a_guest_is_called_by_its_way_in_and_not_by_the_core(room, most, entries):
    for module in modules():
        if not is_guest(module):
            called = {other for other in imports_of(module) if within(other, room)}
            assert called <= entries, f"{module} passes by the way in"
            assert not called or module in LISTS or module.startswith("faces.cli."), module


def test_the_core_only_falls():
    most = CORE.search(PAGE)
    assert most is not None
    total = sum(lines(module) for module in modules() if not is_guest(module))
    assert total <= int(most[1].replace(",", "")), total
