"""Input files, and files that are no release's, are never replaced: a line per case."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

ROWS = "age,zip,disease\n" + "".join(
    f"{20 + i},021{i % 10},{'flu' if i % 2 else 'cold'}\n" for i in range(12)
)
ROLES = "--qi age,zip --sensitive disease -k 2"
POLICY = (
    'version = 1\n[columns.age]\nrole = "quasi"\nhierarchy = "trees/age.txt"\n'
    '[columns.zip]\nrole = "quasi"\n[columns.disease]\nrole = "sensitive"\n'
    '[[models]]\nmodel = "k-anonymity"\nk = 2\n'
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table in every form and people's other files, where no test works."""
    work = tmp_path_factory.mktemp("kept")
    (work / "data" / "big").mkdir(parents=True)
    (work / "people.csv").write_text(ROWS)
    (work / "data" / "notes.txt").write_text("by hand")
    for part in ("0", "1"):
        (work / "data" / "big" / f"{part}.csv").write_text(ROWS)
    (work / "trees").mkdir()
    ages = "".join(f"\t\t{20 + i}\n" for i in range(12))
    (work / "trees" / "age.txt").write_text(f"*\n\tany\n{ages}")
    (work / "policy.toml").write_text(POLICY)
    (work / "noise.toml").write_text('[columns.age]\nmechanism = "laplace"\nepsilon = 1.0\nlow=0\nhigh=99\n')
    with closing(sqlite3.connect(work / "p.db")) as connection, connection:
        connection.execute("CREATE TABLE t (age INTEGER, zip TEXT, disease TEXT)")
        connection.executemany(
            "INSERT INTO t VALUES (?, ?, ?)", [line.split(",") for line in ROWS.split()[1:]]
        )
        connection.execute("CREATE TABLE kept AS SELECT 'precious' AS what")
        connection.execute("CREATE VIEW seen AS SELECT * FROM kept")
    connection.close()
    with duckdb.connect(work / "d.db") as other:
        other.execute("CREATE TABLE t AS SELECT * FROM read_csv('" + str(work / "people.csv") + "')")
    (work / "mine").mkdir()
    (work / "mine" / "thesis.doc").write_text("three years")
    (work / "full.csv").write_text("precious")
    return work


@pytest.fixture
def work(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder for a single test, with further names of files."""
    work = tmp_path / "work"
    shutil.copytree(kept, work)
    (work / "same.csv").hardlink_to(work / "people.csv")
    (work / "link.csv").symlink_to(work / "people.csv")
    (work / "also").symlink_to(work / "data")
    os.mkfifo(work / "pipe.csv")
    monkeypatch.chdir(work)
    return work


def content(folder: Path) -> dict[str, str]:
    """Every file below a folder, byte for byte."""
    result = {}
    for path in sorted(folder.rglob("*")):
        kind = "link" if path.is_symlink() else "folder" if path.is_dir() else "file"
        held = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        result[path.relative_to(folder).as_posix()] = f"{kind} {held}"
    return result


FOLDER = f"anonymize data/big {ROLES} --force"
PATTERN = f"anonymize 'data/big/*.csv' {ROLES} --force"
FILE = f"anonymize people.csv {ROLES}"
LITE = f"anonymize sqlite:///p.db --table t {ROLES} --force"
DUCK = f"anonymize duckdb:///d.db --table t {ROLES} --force"
CASES = [
    # Folders that hold an input, or lie in one.
    (f"{FOLDER} -o data", "would replace the input's folder"),
    (f"{FOLDER} -o data/big", "would replace an input"),
    (f"{FOLDER} -o also", "would replace the input's folder"),
    (f"{FOLDER} -o also/big", "would replace an input"),
    (f"{FOLDER} -o data/../data", "would replace the input's folder"),
    (f"{FOLDER} -o .", "would replace the input's folder"),
    (f"{FOLDER} -o ..", "would replace the input's folder"),
    (f"{FOLDER} -o data/big/out", "lies inside the input's folder"),
    (f"{FOLDER} -o data/big/out.csv", "lies inside the input's folder"),
    (f"{FOLDER} -o also/big/0.csv", "would replace an input file"),
    (f"{FOLDER} -o mine", "holds files that no release wrote (thesis.doc)"),
    (f"{FOLDER} -o full.csv --save-policy data/big/p.toml", "lies inside the input's folder"),
    (f"{FOLDER} -o out --recoding data", "would replace the input's folder"),
    (f"{FOLDER} -o out --recoding mine", "holds files that no release wrote (thesis.doc)"),
    # Patterns.
    (f"{PATTERN} -o data/big", "would replace the input's folder"),
    (f"{PATTERN} -o data/big/1.csv", "would replace an input file"),
    (f"{PATTERN} -o also/big/1.csv", "would replace an input file"),
    (f"{PATTERN} -o data/big/2.csv", "would be read as part of the input"),
    (f"anonymize 'data/**/*.csv' {ROLES} --force -o data/out", "would be read as part of the input"),
    # One file, by any of its names.
    (f"{FILE} --force -o people.csv", "would replace an input file"),
    (f"{FILE} --force -o same.csv", "would replace an input file"),
    (f"{FILE} --force -o link.csv", "would replace an input file"),
    (f"{FILE} --force -o ./data/../people.csv", "would replace an input file"),
    (f"{FILE} --force -o data", "is a folder; name a file"),
    (f"{FILE} --force -o pipe.csv", "is no file that can be replaced"),
    (f"{FILE} --force -o .", "would replace the input's folder"),
    (f"{FILE} --stream --force -o .", "would replace the input's folder"),
    (f"{FILE} --stream --force -o mine", "holds files that no release wrote (thesis.doc)"),
    (f"{FILE} -o full.csv", "exists already"),
    (f"{FILE} -o nowhere/out.csv", "the folder nowhere does not exist"),
    (f"{FILE} -o {'x' * 252}.csv", "256 bytes is too long"),
    (f"{FILE} -o out.csv --recoding {'x' * 300}", "300 bytes is too long"),
    # Databases that are files.
    (f"{LITE} -o p.db", "would replace an input file"),
    (f"{LITE} -o p.db-wal", "would replace an input file"),
    (f"{LITE} -o out.csv --save-policy p.db", "would replace an input file"),
    (f"{LITE} --into safe --save-policy p.db", "would replace an input file"),
    (f"{LITE} --into temp.safe", "tables of temp are temporary"),
    (f"{LITE} --into TEMP.safe", "tables of TEMP are temporary"),
    (f"{DUCK} -o d.db", "would replace an input file"),
    (f"{DUCK} -o d.db.wal", "would replace an input file"),
    (f"{DUCK} --into temp.main.safe", "tables of temp are temporary"),
    # No search comes before: it would find that 999 are too many.
    (f"{LITE} -k 999 --into temp.safe", "tables of temp are temporary"),
    (f"{LITE} -k 999 --into t", "is the table that is released"),
    (f"{LITE} -k 999 --into '\"t'", "is no name of a table"),
    (f"{LITE.replace('--force', '-k 999')} --into kept", "exists already"),
    (f"{LITE} -k 999 --into seen", "is a view"),
    (f"{DUCK} -k 999 --into temp.main.safe", "tables of temp are temporary"),
    (f"{DUCK} -k 999 --into t", "is the table that is released"),
    # Two outputs of one name, or one in the other.
    (f"{FILE} -o x.csv --save-policy x.csv", "another output of this call has that name"),
    (f"{FILE} -o x.csv --save-policy X.csv", "another output of this call has that name"),
    (f"{FILE} -o x.json --report x.json", "the name is that of a JSON file"),
    (f"{FILE} -o x.csv --recoding x.csv", "another output of this call has that name"),
    (f"{FILE} -o x.csv --recoding r --save-policy r", "another output of this call has that name"),
    (f"{FOLDER} -o out --save-policy out/p.toml", "lies in out, another output of this call"),
    (f"{FOLDER} -o x.csv --recoding r/in --save-policy r", "another output of this call"),
    # Other outputs exist, or would replace what is read: nothing of the call is written.
    (f"{FILE} -o out.csv --save-policy full.csv", "exists already"),
    (f"{FILE} -o out.csv --recoding mine", "exists already"),
    (f"{FILE} -o out.csv --save-policy people.csv --force", "would replace an input file"),
    (f"{FILE} -o out.csv --hierarchies trees --save-policy trees/p.toml", "lies inside the input's folder"),
    ("anonymize people.csv --policy policy.toml -o policy.toml --force", "would replace an input file"),
    ("anonymize people.csv --policy policy.toml -o trees/age.txt --force", "would replace an input file"),
    (f"{FILE} -o out.csv --model k-map:2 --population same.csv --save-policy same.csv --force", "input file"),
    # The other commands.
    (f"assess people.csv {ROLES} --report full.json/x.json", "does not exist"),
    (f"lattice people.csv {ROLES} -o people.csv --force", "would replace an input file"),
    (f"lattice 'data/big/*.csv' {ROLES} -o data/big/1.csv --force", "would replace an input file"),
    ("anatomize people.csv --qi age,zip --sensitive disease -l 2 -o full.csv", "does not exist"),
    ("p29 people.csv --qi age,zip --sensitive disease -o link.csv --force", "would replace an input file"),
    ("randomize people.csv --spec noise.toml -o noise.toml --force", "would replace an input file"),
    ("init people.csv -o people.csv --force", "would replace an input file"),
    ("init people.csv -o full.csv", "exists already"),
    (f"compare people.csv --algorithms mondrian {ROLES} --report full.json/r.json", "does not exist"),
    (f"compare people.csv --algorithms mondrian {ROLES} --one-page people.csv --force", "input file"),
    ("hierarchy convert trees/age.txt trees/age.txt --force", "would replace an input file"),
    ("hierarchy convert trees/age.txt full.csv", "exists already"),
    ("apply mine people.csv --policy policy.toml -o policy.toml --force", "would replace an input file"),
    ("apply mine people.csv --policy policy.toml -o mine/x.csv", "lies inside the input's folder"),
    ("apply mine people.csv --policy policy.toml -o x.csv --rows x.csv", "another output of this call"),
    ("demo -o mine --force", "holds files that no release wrote (thesis.doc)"),
    ("demo -o mine", "exists already"),
]  # fmt: skip


@pytest.mark.few(21)
@pytest.mark.parametrize(("command", "words"), CASES)
def test_refused_before_any_work(run, work, command, words):
    before = content(work.parent)
    result = run(*shlex.split(command))
    assert (result.status, words in result.err) == (2, True), result.err + result.out
    assert content(work.parent) == before


GOOD = [
    (f"{PATTERN} -o released.csv --report r.json --save-policy p.toml --recoding rec", 6),
    (f"{FOLDER} -o out --recoding deep/er/rec", 6),
    (f"{FILE} -o {'x' * 251}.csv", 1),
    (f"{FILE} -o full.csv --force", 0),
    (f"{LITE} -o out.parquet --save-policy p.toml", 2),
    (f"{DUCK} --into safe --save-policy p.toml", 1),
]


@pytest.mark.few(1)
@pytest.mark.parametrize(("command", "new"), GOOD)
def test_what_is_nobodys_is_written(run, work, command, new):
    before = content(work)
    for again in ("", " --force"):
        result = run(*shlex.split(command + again))
        assert result.status == 0, result.err
        after = content(work)
        assert sum(kind != "folder " for name, kind in after.items() if name not in before) == new
        files = {name: held for name, held in after.items() if name in before and not name.endswith(".db")}
        changed = {name for name in files if files[name] != before[name]}
        assert changed <= {"full.csv"}
        if "--force" not in command:
            refused = run(*shlex.split(command))
            assert (refused.status, "exists already" in refused.err) == (2, True)
            assert content(work) == after


def test_a_folder_of_a_release_is_replaced_and_nothing_else(run, work):
    call = shlex.split(f"{FOLDER} -o out")
    assert run(*call).status == 0
    parts = sorted(path.name for path in (work / "out").iterdir())
    assert parts[1:] == ["part-00000.csv", "part-00001.csv"]
    for name, text, words in (
        ("notes.txt", "mine", "beside the files of a release it holds notes.txt"),
        ("part-00009.csv", "age\n1\n", "it holds part-00009.csv"),
        ("sub/deep.txt", "mine", "it holds"),
    ):
        path = work / "out" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        before = content(work)
        refused = run(*call)
        assert (refused.status, words in refused.err) == (2, True), refused.err
        assert content(work) == before
        path.unlink()
        if path.parent.name == "sub":
            path.parent.rmdir()
    (work / "out" / "part-00000.csv").write_text("edited by hand\n")
    assert "some were added, changed or removed" in run(*call).err
    os.replace(work / "out" / "part-00001.csv", work / "out" / "part-00000.csv")
    assert run(*call).status == 2


def test_one_of_several_that_cannot_be_written_takes_the_others_along(run, work, monkeypatch):
    """The second to last step fails, and the earlier files stand there again."""
    call = shlex.split(f"{FILE} -o out.csv --save-policy p.toml --recoding rec --force")
    assert run(*call).status == 0
    before = content(work)
    from incrowd.core.io import placing

    real = placing.Step.put

    def fail(step: placing.Step) -> None:
        if step.target.name == "out.csv":
            raise OSError(28, "No space left on device")
        real(step)

    monkeypatch.setattr(placing.Step, "put", fail)
    result = run(*shlex.split(f"{FILE} -k 3 -o out.csv --save-policy p.toml --recoding rec --force"))
    assert (result.status, "out.csv: cannot be written (No space left on device)" in result.err) == (2, True)
    assert content(work) == before


# --- while the work is done ---------------------------------------------------------------------------

APPEARED = [
    (f"{FILE} -o out.csv", "out.csv"),
    (f"{FILE} -o out.csv --force", "out.csv"),
    (f"{FOLDER.replace(' --force', '')} -o out", "out/mine.txt"),
    (f"{FOLDER} -o out", "out/mine.txt"),
    (f"{FILE} -o out.csv --recoding rec", "rec/mine.txt"),
    (f"{FILE} -o out.csv --save-policy p.toml", "p.toml"),
]


@pytest.mark.few(5)
@pytest.mark.parametrize(("command", "name"), APPEARED)
@pytest.mark.parametrize("exchange", [True, False])
def test_what_appears_meanwhile_stays(run, work, monkeypatch, command, name, exchange):
    from incrowd.release.jobs.make import decision

    if not exchange:
        monkeypatch.setattr("incrowd.core.io.placing._exchange", lambda one, other: False)
    before = content(work)
    judge = decision.judge

    def slow(*arguments: object) -> None:
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text("of somebody else")
        judge(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(decision, "judge", slow)
    result = run(*shlex.split(command))
    assert (result.status, "was put there while the work was done" in result.err) == (2, True), result.err
    assert (work / name).read_text() == "of somebody else"
    after = content(work)
    assert {path for path in after if path not in before} <= {name, name.partition("/")[0]}


@pytest.mark.slow
def test_what_comes_into_a_released_folder_meanwhile_stays(run, work, monkeypatch):
    from incrowd.release.jobs.make import decision

    call = shlex.split(f"{FOLDER} -o out")
    assert run(*call).status == 0
    judge = decision.judge

    def slow(*arguments: object) -> None:
        (work / "out" / "mine.txt").write_text("of somebody else")
        judge(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(decision, "judge", slow)
    for exchanged in (True, False):
        if not exchanged:
            monkeypatch.setattr("incrowd.core.io.placing._exchange", lambda one, other: False)
        (work / "out" / "mine.txt").unlink(missing_ok=True)
        result = run(*call)
        assert (result.status, "it holds mine.txt" in result.err) == (2, True), result.err
        assert (work / "out" / "mine.txt").read_text() == "of somebody else"
        assert len(list((work / "out").iterdir())) == 4
        assert not list(work.glob(".incrowd-*"))


@pytest.mark.slow
@pytest.mark.parametrize("output", ["out.csv", "out"])
def test_of_two_processes_one_reports_success(work, output):
    """Both are past every check when the first process puts the output in place."""
    code = (
        "import sys, incrowd.core.io.placing as placing\n"
        "real = placing.Step.put\n"
        "def put(step):\n"
        "    print('ready', flush=True)\n"
        "    sys.stdin.readline()\n"
        "    real(step)\n"
        "placing.Step.put = put\n"
        "from incrowd.faces.cli import main\n"
        "main()\n"
    )
    arguments = shlex.split(f"anonymize data/big {ROLES} -o {output} --unanswered write")
    both = [
        subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    outputs = [process.communicate("\n", timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 2]
    assert "was put there while the work was done" in outputs[1][1]
    assert not list(work.glob(".incrowd-*"))


# --- kills --------------------------------------------------------------------------------------------

KILLS = [
    # Where it is killed, and what is then there of the call's outputs.
    ("incrowd.core.io.files.write_table", "before", f"{FILE} -o out.csv --save-policy p.toml"),
    ("incrowd.core.io.files.write_table", "after", f"{FILE} -o out.csv --save-policy p.toml"),
    ("incrowd.core.io.streams._stage", "after", f"{FOLDER} -o out"),
    ("incrowd.engines.spilling.SpilledRows._save", "after", f"{FOLDER} -o out"),
    ("incrowd.core.io.streams.stream_table", "after", f"{FOLDER} -o out --recoding rec"),
    (
        "incrowd.core.io.placing.Step.put",
        "after",
        f"{FILE} -o full.csv --save-policy p.toml --recoding rec --force",
    ),
    ("incrowd.core.io.placing.Step.put", "last", f"{FILE} -o full.csv --save-policy p.toml --force"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("place", "when", "command"), KILLS)
def test_the_next_run_removes_what_a_killed_one_left(run, work, tmp_path, monkeypatch, place, when, command):
    temporary = tmp_path / "system"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", None)
    before = content(work)
    holder, name = place.rsplit(".", 1)
    code = (
        "import os, signal, sys, pkgutil\n"
        f"holder = pkgutil.resolve_name({holder!r})\n"
        f"real = getattr(holder, {name!r})\n"
        "calls = [0]\n"
        "def killed(*a, **k):\n"
        "    calls[0] += 1\n"
        f"    if {when!r} != 'before':\n"
        "        real(*a, **k)\n"
        f"    if {when!r} != 'last' or calls[0] == 2:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        f"setattr(holder, {name!r}, killed)\n"
        "from incrowd.faces.cli import main\n"
        "main()\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, *shlex.split(command), "--unanswered", "write"],
        check=False,
        capture_output=True,
    )
    assert process.returncode == -signal.SIGKILL, process.stderr
    left = [path for folder in (work, temporary) for path in folder.glob("*incrowd-*.tmp")]
    assert left
    for folder in left:
        assert folder.stat().st_mode & 0o777 == 0o700
    if when != "last":
        # The table is put in place last, so that it never stands there while others do not.
        assert content(work).get("out.csv") is None
        assert (work / "full.csv").read_text() == "precious"
    assert run(*shlex.split(f"anonymize data/big {ROLES} -o other.csv")).status == 0
    assert not [path for folder in (work, temporary) for path in folder.glob("*incrowd-*.tmp")]
    (work / "other.csv").unlink()
    if when == "last":
        assert (work / "full.csv").read_text() != "precious"
    else:
        assert content(work) == before


# --- disks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "output", ["-o out.csv", "-o out.parquet", "-o out.csv --stream", "-o out.parquet --stream"]
)
def test_a_full_disk_is_said(run, work, monkeypatch, output):
    """A limit of the process stands for the disk; the system's answer is another number alone."""
    import resource

    from incrowd.engines import Engine

    real, usual = Engine.write_checked, resource.getrlimit(resource.RLIMIT_FSIZE)

    def small(*arguments: object, **settings: object) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, usual[1]))
        try:
            real(*arguments, **settings)  # type: ignore[arg-type]
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, usual)

    monkeypatch.setattr(Engine, "write_checked", small)
    before = content(work)
    result = run(*shlex.split(f"{FILE} {output}"))
    assert result.status == 2, result.err
    assert "cannot be written (File too large)" in result.err
    assert content(work) == before


def test_a_read_only_file_system_is_said(run, work, monkeypatch):
    def refuse(path: object, *_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr("incrowd.core.io.scratch.Path.mkdir", refuse)
    result = run(*shlex.split(f"{FILE} -o out.csv"))
    assert (result.status, "out.csv: cannot be written (Read-only file system)" in result.err) == (2, True)
    monkeypatch.undo()
    monkeypatch.chdir(work)
    monkeypatch.setattr("incrowd.core.io.targets.os.access", lambda *_: False)
    result = run(*shlex.split(f"{FILE} -o out.csv"))
    assert (result.status, "cannot be written to the folder ." in result.err) == (2, True)
