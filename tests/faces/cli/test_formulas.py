"""Cells that a spreadsheet would run: written unchanged, or escaped on request, and read back."""

from __future__ import annotations

import csv

import polars as pl
import pytest

import incrowd as ic
from incrowd.core.io.files import escape, unescape

FORMULAS = [
    "=1+1",
    "+1-1",
    "-2+cmd|' /C calc'!A0",
    "@SUM(1)",
    "\tx",
    "\rx",
    "\n=1",
    "'=1",
    "''-x",
    "-",
    "--5",
    "＝1",
]
PLAIN = [
    "-5",
    "+5",
    "-5.25",
    "-1e-3",
    ".5",
    "",
    "a=1",
    "'a",
    "'",
    "5-3",
    "[-5 - 3]",
    "{-1, x}",
    " =1",
    "*",
    None,
]


def begins_as_formula(cell: str) -> bool:
    return cell[:1] in tuple("=+-@\t\r\n＝＋－＠")


@pytest.mark.parametrize("cell", FORMULAS)
def test_formulas_get_a_quote_and_lose_it(cell):
    table = pl.DataFrame({"a": [cell]})
    assert escape(table)["a"].to_list() == ["'" + cell]
    assert unescape(escape(table)).equals(table)


@pytest.mark.parametrize("cell", PLAIN)
def test_other_cells_stay(cell):
    table = pl.DataFrame({"a": [cell]}, schema={"a": pl.String})
    assert escape(table).equals(table)
    assert unescape(table).equals(table)


def test_names_are_literal_and_typed_columns_stay():
    table = pl.DataFrame({"^a.*$": ["=1"], "*": ["=2"], "a": ["x"], "n": [-1], "f": [float("-inf")]})
    assert escape(table).row(0) == ("'=1", "'=2", "x", -1, float("-inf"))
    kinds = pl.DataFrame({"c": pl.Series(["=1"], dtype=pl.Categorical)})
    assert escape(kinds)["c"].to_list() == ["'=1"]


CALLS = {
    "anonymize": ("people.csv", "-o", "out.csv", "--policy", "policy.toml"),
    "anonymize --stream": ("people.csv", "-o", "out.csv", "--policy", "policy.toml", "--stream"),
    "anatomize": (
        "people.csv",
        "-o",
        "out",
        *["--qi", "q", "--sensitive", "s", "--insensitive", "n", "-l", "2"],
    ),
    "p29": ("people.csv", "-o", "out.csv", "--policy", "policy.toml"),
    "randomize": ("people.csv", "-o", "out.csv", "--spec", "spec.toml"),
    "apply": ("recoding", "people.csv", "-o", "out.csv", "--policy", "policy.toml"),
}
TREE = "any\n\t=A()\n\t\ta\n\t\tb\n\t=B()\n\t\tc\n\t\td\n"
POLICY = """version = 1
null_values = ["-"]
[columns.q]
role = "quasi"
hierarchy = "q.txt"
[columns.n]
role = "insensitive"
[columns.s]
role = "sensitive"
hierarchy = "s.txt"
[[models]]
model = "k-anonymity"
k = 4
[[models]]
model = "t-closeness"
t = 0.6
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = ["=x", "-y", "@z", "-"]
    rows = [("abcd"[i % 4], "-5", cells[i // 4 % 4]) for i in range(16)]
    with open("people.csv", "w", newline="") as file:
        csv.writer(file).writerows([("q", "n", "s"), *rows])
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "q.txt").write_text(TREE)
    (tmp_path / "s.txt").write_text("*\n\t=x\n\t-y\n\t@z\n")
    (tmp_path / "spec.toml").write_text(
        '[columns.q]\nmechanism = "randomized-response"\nepsilon = 1\ncategories = ["a", "b", "c", "d"]\n'
    )
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_every_command_that_writes_rows_escapes_when_asked(run, folder, name):
    command = name.split()[0]
    if command == "apply":
        outcome = run("anonymize", *CALLS["anonymize"][:1], "-o", "first.csv", "--policy", "policy.toml",
                   "--recoding", "recoding")  # fmt: skip
        assert outcome.status == 0, outcome.err
    plain = run(command, *CALLS[name])
    assert plain.status == 0, plain.err
    cells = written(folder)
    assert any(begins_as_formula(cell) for cell in cells if cell != "-5")
    result = run(command, *CALLS[name], "--force", "--escape-formulas")
    assert result.status == 0, result.err
    escaped = written(folder)
    assert not any(begins_as_formula(cell) for cell in escaped if cell != "-5")
    assert "-5" in escaped
    if command != "randomize":
        assert sorted(cell.removeprefix("'") for cell in escaped) == sorted(cells)
    if command in ("anonymize", "apply"):
        verified = run("verify", "out.csv", "--policy", "policy.toml", "--escape-formulas")
        assert verified.status == 0, verified.out + verified.err
        # Else the cells are not those of the hierarchy.
        assert run("verify", "out.csv", "--policy", "policy.toml").status == 2


def written(folder) -> list[str]:
    result = []
    for path in [*folder.glob("out.csv"), *folder.glob("out/*.csv")]:
        with path.open(newline="") as file:
            result += [cell for row in list(csv.reader(file))[1:] for cell in row]
    return result


@pytest.mark.slow
def test_escaped_release_from_python(folder):
    release = ic.anonymize("people.csv", ic.Policy.read("policy.toml"))
    release.write("plain.csv")
    release.write("escaped.csv", escape_formulas=True)
    release.save("saved", escape_formulas=True)
    escaped = (folder / "escaped.csv").read_text()
    assert (folder / "saved/release.csv").read_text() == escaped
    assert escaped == (folder / "plain.csv").read_text().replace("=", "'=").replace("@", "'@").replace(
        "-y", "'-y"
    ).replace("-\n", "'-\n")
    assert ic.verify("escaped.csv", "policy.toml", escaped=True).ok
    first = ic.verify("plain.csv", "policy.toml")
    assert ic.verify("escaped.csv", "policy.toml", escaped=True).findings == first.findings
