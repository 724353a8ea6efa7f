"""A file with two rows of names or units is refused by every command that reads a raw table."""

from __future__ import annotations

from pathlib import Path

import pytest
import xlsxwriter

import incrowd as ic

ROWS = [(20 + number // 6, 10_000 + number % 3, 1000 + number) for number in range(24)]
UNITS = ("years", "", "EUR")
QUASI = ["--qi", "age,zip", "--sensitive", "salary"]
TOLD = (
    "looks like a second row of names, since it has texts alone, above numbers or other texts; keep one row"
)


def written(path: Path, *, units: bool) -> Path:
    """Write the table as a CSV or as a workbook."""
    lines = [("age", "zip", "salary"), *([UNITS] if units else []), *ROWS]
    if path.suffix == ".csv":
        path.write_text("".join(",".join(map(str, line)) + "\n" for line in lines))
        return path
    book = xlsxwriter.Workbook(path)
    sheet = book.add_worksheet()
    for row, line in enumerate(lines):
        for place, cell in enumerate(line):
            if cell != "":
                sheet.write(row, place, cell)
    book.close()
    return path


COMMANDS = {
    "init": ["init", "RAW", "-o", "NEW"],
    "assess": ["assess", "RAW", *QUASI],
    "assess, streaming": ["assess", "RAW", *QUASI, "--stream"],
    "anonymize": ["anonymize", "RAW", *QUASI, "-k", "2", "-o", "NEW"],
    "anonymize, streaming": ["anonymize", "RAW", *QUASI, "-k", "2", "-o", "NEW", "--stream"],
    "anonymize, dry": ["anonymize", "RAW", *QUASI, "-k", "2", "--dry-run"],
    "anonymize, population": ["anonymize", "GOOD", *QUASI, "-k", "2", "--population", "RAW", "-o", "NEW"],
    "anatomize": ["anatomize", "RAW", *QUASI, "-l", "2", "-o", "NEW"],
    "apply": ["apply", "DONE/recoding", "RAW", "--policy", "DONE/policy.toml", "-o", "NEW"],
    "attack": ["attack", "RAW", "DONE/release.csv", *QUASI],
    "attack, others": ["attack", "GOOD", "DONE/release.csv", *QUASI, "--control", "RAW"],
    "compare": ["compare", "RAW", *QUASI, "-k", "2", "--algorithms", "mondrian"],
    "lattice": ["lattice", "RAW", *QUASI, "-k", "2", "-o", "NEW.json"],
    "p29": ["p29", "RAW", *QUASI, "-o", "NEW"],
    "perturbation": ["perturbation", "RAW", "DONE/release.csv", "--columns", "salary"],
    "randomize": ["randomize", "RAW", "--spec", "SPEC", "-o", "NEW"],
    "risk": ["risk", "RAW", *QUASI],
    "utility": ["utility", "RAW", "DONE/release.csv", *QUASI],
    "verify": ["verify", "DONE/release.csv", "--policy", "DONE/policy.toml", "--against", "RAW"],
}
CSV_ALONE = [name for name in COMMANDS if "streaming" in name]


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Path:
    """A folder with the table, a release with recoding and policy."""
    folder = tmp_path_factory.mktemp("done")
    policy = ic.Policy(ic.Schema(quasi=["age", "zip"], sensitive=["salary"]), [ic.KAnonymity(2)])
    release = ic.anonymize(written(folder / "good.csv", units=False), policy)
    release.write(folder / "release.csv")
    release.recoding.save(folder / "recoding")
    policy.write(folder / "policy.toml")
    spec = "[columns.salary]\nmechanism = 'laplace'\nepsilon = 1\nlow = 0\nhigh = 2000\n"
    (folder / "spec.toml").write_text(spec)
    return folder


@pytest.mark.few(23)
@pytest.mark.parametrize(
    ("command", "ending"),
    [
        (name, ending)
        for name in COMMANDS
        for ending in (".csv", ".xlsx")
        if ending == ".csv" or name not in CSV_ALONE
    ],
)
def test_a_row_of_units_is_refused_and_nothing_is_written(tmp_path, run, done, command, ending):
    raw = written(tmp_path / f"people{ending}", units=True)
    places = {"RAW": raw, "NEW": tmp_path / "new.csv", "GOOD": done / "good.csv", "SPEC": done / "spec.toml"}
    places |= {"NEW.json": tmp_path / "new.json"}
    words = [str(places.get(word, word)).replace("DONE", str(done)) for word in COMMANDS[command]]
    before = sorted(done.rglob("*"))
    result = run(*words)
    assert result.status == 2, result
    assert str(raw) in result.err
    assert " no record, since it has texts" in result.err if command == "verify" else TOLD in result.err
    assert result.err.count("\n") == 1
    assert "EUR" not in result.err
    assert [each.name for each in tmp_path.iterdir()] == [raw.name]
    assert sorted(done.rglob("*")) == before


@pytest.mark.slow
def test_the_same_commands_work_without_the_units(tmp_path, run, done):
    for number, (command, words) in enumerate(COMMANDS.items()):
        places = {"RAW": done / "good.csv", "GOOD": done / "good.csv", "SPEC": done / "spec.toml"}
        places |= {"NEW": tmp_path / f"new{number}.csv", "NEW.json": tmp_path / "new.json"}
        result = run(*(str(places.get(word, word)).replace("DONE", str(done)) for word in words))
        assert result.status in (0, 1), (command, result)


def test_python_refuses_a_path_as_the_commands_do(tmp_path):
    raw = written(tmp_path / "people.csv", units=True)
    policy = ic.Policy(ic.Schema(quasi=["age", "zip"], sensitive=["salary"]), [ic.KAnonymity(2)])
    for call in (lambda: ic.anonymize(raw, policy), lambda: ic.assess(raw, policy.schema), lambda: ic.scan(raw),
                 lambda: ic.anonymize(str(tmp_path / "*.csv"), policy)):  # fmt: skip
        with pytest.raises(ic.TableError, match=TOLD):
            call()


def test_every_file_of_a_folder_is_looked_at(tmp_path, run):
    (tmp_path / "parts").mkdir()
    written(tmp_path / "parts" / "a.csv", units=False)
    second = written(tmp_path / "parts" / "b.csv", units=True)
    result = run("anonymize", str(tmp_path / "parts"), *QUASI, "-k", "2", "-o", str(tmp_path / "new"))
    assert result.status == 2
    assert f"{second}: the second line {TOLD}" in result.err
    assert not (tmp_path / "new").exists()


def test_a_header_below_names_that_were_given(tmp_path, run):
    raw = written(tmp_path / "people.csv", units=False)
    result = run(
        "anonymize", str(raw), *QUASI, "-k", "2", "--names", "age,zip,salary", "-o", str(tmp_path / "new.csv")
    )
    assert result.status == 2
    assert "the first line looks like a row of names" in result.err
    assert "leave --names out and keep one row of names" in result.err


def test_the_page_refuses_the_table(tmp_path, monkeypatch):
    from incrowd.faces.studio import window_table, work
    from incrowd.faces.studio.tables import Source

    raw = written(tmp_path / "people.csv", units=True)
    for streams in (False, True):
        monkeypatch.setattr(window_table, "_STREAMED", 0 if streams else 2**30)
        with pytest.raises(ic.TableError, match=r"^people: the second line looks"):
            work.Work().open(Source(raw, "people"))
