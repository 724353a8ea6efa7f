"""A command that writes is stopped at each of its file operations: there is nothing, or files and entry."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import polars as pl
import pytest

from incrowd.io.scratch import remove_dead
from incrowd.io.seals import digest_of
from incrowd.io.targets import Outputs
from incrowd.jobs.ledger import Ledger
from interruptions import WAYS, Runs

POLICY = """
version = 3
unlisted = "drop"
columns.ssn = { role = "person" }
columns.age = { role = "quasi", hierarchy = { intervals = [10] }, levels = [1] }
columns.disease = { role = "sensitive" }
algorithm.name = "optimal"
models = [{ model = "k-anonymity", k = 3 }]
"""
SPEC = 'columns.disease = { mechanism = "randomized-response", epsilon = 1.5, categories = ["a", "b", "c"] }'
BOOK = "--ledger book --recipient A --unanswered write"
SERIES = BOOK.replace("book", "series")
MAIN = f"anonymize people.csv --policy policy.toml -o out.csv {BOOK}"
COMMANDS = {
    "anonymize alone": "anonymize people.csv --policy policy.toml -o out.csv --unanswered write",
    "anonymize": f"{MAIN} --row-map rows.parquet --save-policy p.toml --recoding rec",
    "anonymize --force": f"{MAIN} --row-map rows.parquet --recoding rec --force",
    "next": f"next people.csv --policy next.toml -o out.csv --counterfeits counts.csv {SERIES}",
    "apply": f"apply kept people.csv --policy policy.toml -o out.csv --hold held.parquet --rows r.csv {BOOK}",
    "randomize": f"randomize people.csv --spec spec.toml -o out.csv {BOOK}",
    "a folder": "anonymize parts --policy policy.toml -o out --recoding rec --unanswered write --force",
}
PRIVATE = "*incrowd-*.tmp"


@pytest.fixture(scope="module")
def runs():
    found = Runs()
    yield found
    found.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory, runs) -> dict[str, Path]:
    """A folder for each command with what it needs; one that replaces finds what it wrote before."""
    work = tmp_path_factory.mktemp("whole")
    (work / "temporary").mkdir()
    table = pl.DataFrame(
        {
            "ssn": [f"planted-{n}" for n in range(60)],
            "age": range(20, 80),
            "disease": ["abc"[n % 3] for n in range(60)],
        }
    )
    table.write_csv(work / "people.csv")
    (work / "parts").mkdir()
    table.head(30).write_csv(work / "parts" / "1.csv")
    table.tail(30).write_csv(work / "parts" / "2.csv")
    (work / "policy.toml").write_text(POLICY)
    series = POLICY.replace(", levels = [1]", "") + "ledger.m = 3\n"
    (work / "next.toml").write_text("max_suppression = 0.5\n" + series)
    (work / "spec.toml").write_text(SPEC)
    first = f"{MAIN.replace('out.csv', 'first.csv')} --recoding kept"
    for call in ("ledger init book", "ledger init series", first):
        done = runs(work, call.split())
        assert done.status == 0, done.said
    found = {}
    for name in ("new", "old"):
        found[name] = tmp_path_factory.mktemp(name) / "work"
        shutil.copytree(work, found[name])
    for name in ("anonymize --force", "a folder"):
        assert runs(found["old"], COMMANDS[name].split()).status == 0
    return found


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder but those of ledgers, which have names and digests of their own."""
    # Python tries a folder for temporary files by writing one word.
    assert {path.read_bytes() for path in (folder / "temporary").iterdir()} <= {b"", b"blat"}
    others = {"book", "series", "temporary"}
    paths = [path for path in folder.rglob("*") if path.is_file() and not others & {*path.parts}]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def entries(book: Path, *, alone: bool = False) -> list[dict]:
    """The entries of a ledger, whose files are all there, and no others."""
    ledger = Ledger.open(book)
    assert ledger.verify() is None
    named = {each["file"]["name"] for each in ledger.entries if each["file"]}
    found = {path.name for path in (book / "people").iterdir()}
    assert found == named if alone else found >= named
    return ledger.entries


def stopped(runs, whole, tmp_path, command, number, way) -> tuple[int, bool]:
    """Stop a run, check that there is nothing, or everything, and say which."""
    call, work = COMMANDS[command].split(), tmp_path / "work"
    shutil.copytree(whole["old" if "--force" in call else "new"], work)
    book = work / ("series" if command == "next" else "book")
    before, known = content(work), entries(book)
    target = work / call[call.index("-o") + 1]
    old = digest_of(target) if target.exists() else None
    done = runs(work, call, number, way)
    what = f"{command}, {way} before {done.operations[-1]}: {done.status}, {done.said}"
    recorded = "--ledger" in call
    if way == "SIGKILL":
        if recorded and target.exists() and digest_of(target) != old:
            assert len(entries(book)) == len(known) + 1, what
        # The next run that writes there does away with what the killed one left.
        Outputs().add(work / "later.csv")
        remove_dead(work / "temporary")
    assert not [*work.rglob(PRIVATE)], what
    after, now = content(work), entries(book, alone=way != "SIGKILL")
    shown = digest_of(target) if target.exists() else None
    shutil.rmtree(work)
    if after == before:
        assert now == known, what
        assert done.status != 0, what
        return done.status, False
    assert {name.partition("/")[0] for name in after.keys() - before.keys()} <= outputs(call), what
    assert {name.partition("/")[0] for name in after} >= outputs(call), what
    assert shown != old, what
    if recorded:
        assert now[:-1] == known, what
        assert now[-1]["release"] == shown, what
    return done.status, True


def outputs(call: list[str]) -> set[str]:
    options = ("-o", "--row-map", "--save-policy", "--recoding", "--counterfeits", "--hold", "--rows")
    return {call[place + 1] for place, word in enumerate(call) if word in options}


def whole_run(runs, whole, tmp_path, command) -> list[str]:
    """The operations of a run that nobody stops."""
    call = COMMANDS[command].split()
    shutil.copytree(whole["old" if "--force" in call else "new"], tmp_path / "work")
    done = runs(tmp_path / "work", call)
    assert done.status == 0, done.said
    shutil.rmtree(tmp_path / "work")
    return done.operations


def looked_at(operations: list[str], way: str) -> list[int]:
    """Every sixth operation, others for each way, the first and the last one; all with INCROWD_EXAMPLES=10."""
    step = 1 if os.environ.get("INCROWD_EXAMPLES") == "10" else 6
    last = len(operations) - 1
    return sorted({0, last, *range([*WAYS].index(way), last, step)})


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_stopped_run_leaves_nothing_or_everything(runs, whole, tmp_path, command, way):
    operations = whole_run(runs, whole, tmp_path, command)
    found = [stopped(runs, whole, tmp_path, command, n, way) for n in looked_at(operations, way)]
    assert {everything for _, everything in found} == {False, True}
    if WAYS[way]:
        assert {status for status, _ in found} == {-9 if way == "SIGKILL" else 128 + WAYS[way]}


@pytest.mark.parametrize("way", ["SIGINT", "SIGTERM"])
def test_past_the_point_of_no_return_signals_wait(runs, whole, tmp_path, way):
    operations = whole_run(runs, whole, tmp_path, "anonymize")
    record, *_, steps = (
        n for n, each in enumerate(operations) if each.endswith(("record.json", "steps.json"))
    )
    for number in (record, record + 1, (record + steps) // 2, steps - 1, steps, steps + 1):
        found = stopped(runs, whole, tmp_path, "anonymize", number, way)
        assert found == (128 + WAYS[way], True), operations[number]


def test_who_stops_a_run_too_late_is_told_so(runs, whole, tmp_path):
    operations = whole_run(runs, whole, tmp_path, "randomize")
    steps = max(n for n, each in enumerate(operations) if each.endswith("steps.json"))
    for number, words in (
        (0, "terminated before it was done"),
        (steps, "terminated when its files were written"),
    ):
        shutil.copytree(whole["new"], tmp_path / "work")
        done = runs(tmp_path / "work", COMMANDS["randomize"].split(), number, "SIGTERM")
        assert (done.status, done.said) == (143, f"incrowd: {words}\n")
        shutil.rmtree(tmp_path / "work")
