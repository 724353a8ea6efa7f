"""A writing command is stopped at each file operation: there is nothing, or files and entry."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import polars as pl
import pytest

from interruptions import WAYS, Runs, outputs, prepare, stopped

POLICY = """
version = 1
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
# Rows of the same people tell what a table hides.
COUNTS = BOOK.replace("book", "counts")
MAIN = f"anonymize people.csv --policy policy.toml -o out.csv {BOOK}"
COMMANDS = {
    "anonymize alone": "anonymize people.csv --policy policy.toml -o out.csv --unanswered write",
    "anonymize": f"{MAIN} --row-map rows.parquet --save-policy p.toml --recoding rec",
    "anonymize --force": f"{MAIN} --row-map rows.parquet --recoding rec --force",
    "next": f"next people.csv --policy next.toml -o out.csv --counterfeits counts.csv {SERIES}",
    "apply": f"apply kept people.csv --policy policy.toml -o out.csv --hold held.parquet --rows r.csv {BOOK}",
    "randomize": f"randomize people.csv --spec spec.toml -o out.csv {BOOK}",
    "tabulate": f"tabulate people.csv --policy tables.toml -o tables {COUNTS}",
    "a folder": "anonymize parts --policy policy.toml -o out --recoding rec --unanswered write --force",
}


@pytest.fixture(scope="module")
def runs():
    result = Runs()
    yield result
    result.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory, runs) -> Path:
    """A folder with the inputs of each command."""
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
    tables = 'tables = [{ name = "t", rows = ["age:1"], columns = ["disease"] }]\n'
    (work / "tables.toml").write_text(tables + POLICY.replace(", levels = [1]", ""))
    first = f"{MAIN.replace('out.csv', 'first.csv')} --recoding kept"
    for call in ("ledger init book", "ledger init series", "ledger init counts", first):
        result = runs(work, call.split())
        assert result.status == 0, result.said
    return work


def stop(runs, whole, tmp_path, command, *stops) -> tuple[int, bool]:
    """Stop a run, check that there is nothing, or everything, and say which."""
    call, work = COMMANDS[command].split(), tmp_path / "work"
    shutil.copytree(whole, work)
    prepare(work, call)
    # The row map of a release of people comes with it, unless it has a place of its own.
    beside = {"internal"} if call[0] == "anonymize" and "--row-map" not in call else set()
    result = stopped(runs, work, call, stops, outputs(call) | beside)
    shutil.rmtree(work)
    return result


def whole_run(runs, whole, tmp_path, command) -> list[str]:
    """The operations of a run that nobody stops."""
    call = COMMANDS[command].split()
    shutil.copytree(whole, tmp_path / "work")
    prepare(tmp_path / "work", call)
    result = runs(tmp_path / "work", call)
    assert result.status == 0, result.said
    shutil.rmtree(tmp_path / "work")
    return result.operations


def looked_at(operations: list[str], way: str) -> list[int]:
    """Every sixth operation, others for each way, the first and the last; all with INCROWD_EXAMPLES=10."""
    step = 1 if os.environ.get("INCROWD_EXAMPLES") == "10" else 6
    last = len(operations) - 1
    return sorted({0, last, *range([*WAYS].index(way), last, step)})


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_stopped_run_leaves_nothing_or_everything(runs, whole, tmp_path, command, way):
    operations = whole_run(runs, whole, tmp_path, command)
    result = [stop(runs, whole, tmp_path, command, (n, way)) for n in looked_at(operations, way)]
    assert {everything for _, everything in result} == {False, True}
    if WAYS[way]:
        assert {status for status, _ in result} == {-9 if way == "SIGKILL" else 128 + WAYS[way]}


@pytest.mark.slow
@pytest.mark.parametrize("way", ["SIGINT", "SIGTERM"])
def test_past_the_point_of_no_return_signals_wait(runs, whole, tmp_path, way):
    operations = whole_run(runs, whole, tmp_path, "anonymize")
    record, *_, steps = (
        n for n, each in enumerate(operations) if each.endswith(("record.json", "steps.json"))
    )
    for number in (record, record + 1, (record + steps) // 2, steps - 1, steps, steps + 1):
        result = stop(runs, whole, tmp_path, "anonymize", (number, way))
        assert result == (128 + WAYS[way], True), operations[number]


@pytest.mark.slow
def test_who_stops_a_run_too_late_is_told_so(runs, whole, tmp_path):
    operations = whole_run(runs, whole, tmp_path, "randomize")
    steps = max(n for n, each in enumerate(operations) if each.endswith("steps.json"))
    for number, words in (
        (0, "terminated before it was done"),
        (steps, "terminated when its files were written"),
    ):
        shutil.copytree(whole, tmp_path / "work")
        result = runs(tmp_path / "work", COMMANDS["randomize"].split(), number, "SIGTERM")
        assert (result.status, result.said) == (143, f"incrowd: {words}\n")
        shutil.rmtree(tmp_path / "work")
