"""The checks of stopped runs and forged ledgers notice faults."""

from __future__ import annotations

import random
import shutil
import sys
from collections import Counter

import pytest

from forged_ledgers import change_bytes, change_lines, copy_of
from fuzz import checks
from fuzz.checks.forgeries import fault_of
from fuzz.draw import Draw
from fuzz.sources import Services
from fuzz.test_oracle import made
from incrowd.release.jobs.later.ledger import Ledger
from interruptions import WAYS, Run, prepare, stopped

CALL = ["anonymize", "people.csv", "-o", "out.csv", "--row-map", "rows.csv"]


def run_of(status, *written, said=""):
    """A program that writes some files and ends."""

    def run(work, call, number=None, way="error"):
        for name in written:
            (work / name).write_text("new")
        return Run(status, ["open"], said, "")

    return run


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_stopped_run_that_leaves_a_half_is_noticed(tmp_path, force):
    def stop(run, name):
        work = tmp_path / name
        work.mkdir()
        prepare(work, [*CALL, *force])
        return stopped(run, work, [*CALL, *force], [(0, "error")])

    assert stop(run_of(130), "nothing") == (130, False)
    assert stop(run_of(0, "out.csv", "rows.csv"), "everything") == (0, True)
    for number, wrong in enumerate((
        run_of(130, "out.csv"), run_of(0), run_of(0, "out.csv", "rows.csv", "left.csv"),
        run_of(2, said="incrowd: internal error"), run_of(2, "temporary/copy"),
    )):  # fmt: skip
        with pytest.raises(AssertionError):
            stop(wrong, str(number))


def test_a_release_without_its_entry_is_noticed(tmp_path):
    Ledger.init(tmp_path / "book")
    call = [*CALL, "--ledger", "book", "--recipient", "A"]
    prepare(tmp_path, call)
    with pytest.raises(AssertionError):
        stopped(run_of(0, "out.csv", "rows.csv"), tmp_path, call, [(0, "SIGKILL")])


HONEST = Run(0, [], "", "all")
REFUSAL = "incrowd: book/key: was changed; put it back from a copy\n"


@pytest.mark.parametrize(
    ("name", "done", "fault"),
    [
        ("show", HONEST, None),
        ("show", Run(2, [], REFUSAL, ""), None),
        ("verify", Run(1, [], REFUSAL, ""), None),
        ("show", Run(1, [], REFUSAL, ""), "answers otherwise"),
        ("show", Run(0, [], "", "less"), "answers otherwise"),
        ("show", Run(2, [], "incrowd: book/key: was changed\n", ""), "has no way out"),
        ("show", Run(2, [], f"warning\n{REFUSAL}", ""), "is not named in one line"),
        ("show", Run(2, [], "incrowd: put it back from a copy\n", ""), "is not named in one line"),
        ("show", Run(2, [], "incrowd: internal error\n", ""), "crashes"),
        ("show", Run(-11, [], "", ""), "crashes"),
    ],
)
def test_a_wrong_answer_of_a_forged_ledger_is_noticed(name, done, fault):
    assert fault_of(name, HONEST, done, by_hand=True) == fault


def test_a_release_that_the_honest_ledger_refuses_is_noticed():
    refused = Run(1, [], "incrowd: nothing was released\n", "")
    assert fault_of("anonymize", refused, Run(0, [], "", ""), by_hand=True) == "answers otherwise"


@pytest.mark.slow
def test_every_kind_of_forgery_changes_a_ledger(tmp_path):
    one, _ = made(tmp_path)
    ledger = Ledger.init(tmp_path / "made")
    ledger.add(one.release, one.place.table, recipient="A")
    (tmp_path / "witness").write_bytes(b"witness")
    draw, kinds = random.Random(1), Counter()
    for number in range(1200):
        book = copy_of(tmp_path / "made", tmp_path / "book")
        how = change_bytes(draw, book, tmp_path / "witness") if number % 2 else change_lines(draw, book)
        kinds[how.partition(":")[0] if number % 2 else how] += 1
    shutil.rmtree(tmp_path / "book")
    by_hand = {"flip", "insert", "delete", "cut", "empty", "gone", "crlf", "line lost", "line doubled", "link", "other kind"}  # fmt: skip
    assert by_hand <= kinds.keys()
    assert {"rewritten: text", "rewritten: line lost", "rewritten: people, type"} <= kinds.keys()


@pytest.mark.slow
def test_commands_are_stopped_and_ledgers_forged(tmp_path, monkeypatch):
    for name in ("stops", "forgeries"):
        # The package has functions of these names.
        monkeypatch.setattr(sys.modules[f"fuzz.checks.{name}"], "_SHARE", 1.0)
    monkeypatch.setattr(checks, "written", lambda *given: ())
    draw = Draw(1, ["k-anonymity"], ["mondrian"], ["polars"], Counter())
    met: set[str] = set()
    wanted = {"stopped", "forged", *WAYS}
    for _ in range(12):
        outcome = checks.run(draw.case("polars"), Services(tmp_path))
        assert outcome.findings == []
        met |= {what for what, _ in outcome.met} | {
            name.rpartition(" ")[2] for what, name in outcome.met if what == "stopped"
        }
        if met >= wanted:
            break
    assert met >= wanted
