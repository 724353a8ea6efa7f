"""The panel of the downloads: the report as a PDF, and the archive by which others check the release."""

from __future__ import annotations

import json
import shlex
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest

from incrowd.core.errors import IncrowdError
from incrowd.core.io.files import CsvFormat
from incrowd.core.progress import Silent
from incrowd.faces.studio import export, window_table
from incrowd.faces.studio.cancelling import Cancelled, Watched
from incrowd.faces.studio.tables import Source, in_database
from incrowd.faces.studio.work import Work
from incrowd.release.jobs.make.release import Release
from incrowd.release.policy.policy_file import read_toml
from incrowd.samples import hospital, hospital_policy
from incrowd_gate.points import Accepted
from spark_session import SOURCES
from studio_browser import Studio, Visit

pytestmark = pytest.mark.gated

NAMES = ("age", "sex", "zip", "diagnosis")


@pytest.fixture
def window():
    work = Work()
    yield work
    work.close()


def verified(command: str, archive: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Unpack an archive, and run the command that the page shows."""
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    return run(command, folder)


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = shlex.split(command)
    assert words[:2] == ["incrowd", "verify"]
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": SOURCES, "HOME": "/"},
    )


def opened(window: Work, kind: str, folder: Path) -> None:
    """Open the same people from some kind of source."""
    table = hospital(400).select(NAMES)
    if kind == "database":
        with closing(sqlite3.connect(folder / "people.db")) as connection, connection:
            connection.execute("CREATE TABLE people (age INTEGER, sex TEXT, zip TEXT, diagnosis TEXT)")
            connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", table.rows())
        source = in_database(f"sqlite:///{folder / 'people.db'}", "people", window.place(""))
        window.open(source, None, Watched())
    elif kind == "folder":
        (folder / "parts").mkdir()
        for place in range(2):
            table.slice(place * 200, 200).write_csv(folder / "parts" / f"{place}.csv")
        window.open(Source(folder / "parts", "parts"))
    elif kind == "feather":
        table.write_ipc(folder / "people.feather")
        window.open(Source(folder / "people.feather", "people.feather"))
    else:
        table = table.with_columns(diagnosis="Grüße " + pl.col("diagnosis"))
        (folder / "people.csv").write_bytes(table.write_csv(separator=";").encode("latin-1"))
        window.open(Source(folder / "people.csv", "people.csv"), CsvFormat(encoding="latin-1"))


def answered(window: Work) -> None:
    """Make the release, and accept each point."""
    points = window.anonymize(Watched()).verdict.open
    window.accept([Accepted(each.name, next(iter(each.columns), None), "looked at") for each in points])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "streamed", "folder", "feather", "database"])
def test_the_archive_is_checked_by_the_command_that_is_shown(window, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(window_table, "_STREAMED", 0 if kind == "streamed" else 2**40)
    opened(window, kind, tmp_path)
    answered(window)
    archive, name = export.published_file(window, Watched())
    released = f"release/{export.release_name(window)}"
    assert name == "release.zip"
    with zipfile.ZipFile(archive) as packed:
        # Raw values, and digests that would confirm a guess of them, stay here.
        assert packed.namelist() == sorted([released, "release/policy.toml", "release/release.json"])
    result = verified(export.check(window), archive, tmp_path / "elsewhere")
    assert (result.returncode, result.stdout.splitlines()[-1]) == (0, "verified"), result
    changed = tmp_path / "elsewhere" / "release" / "release.json"
    account = json.loads(changed.read_text())
    account["files"][released.partition("/")[2]]["sha256"] = "0" * 64
    changed.write_text(json.dumps(account))
    result = run(export.check(window), tmp_path / "elsewhere")
    assert result.returncode == 1
    assert "so it was changed or written anew" in result.stdout + result.stderr


@pytest.mark.slow
def test_trees_of_the_published_policy_stand_in_the_archive(tmp_path):
    hospital(300).write_csv(tmp_path / "people.csv")
    hospital_policy().write(tmp_path / "p.toml")
    window = Work((read_toml(tmp_path / "p.toml"), tmp_path / "p.toml"))
    window.open(Source(tmp_path / "people.csv", "people.csv"))
    answered(window)
    archive, _ = export.published_file(window, Watched())
    with zipfile.ZipFile(archive) as packed:
        assert "release/hierarchies/09-diagnosis.json" in packed.namelist()
    assert verified(export.check(window), archive, tmp_path).returncode == 0
    window.close()


def test_an_archive_that_is_cancelled_is_not_there(window, tmp_path):
    opened(window, "csv", tmp_path)
    answered(window)
    watched = Watched()
    watched.cancel()
    with pytest.raises(Cancelled):
        export.published_file(window, watched)
    assert list(window.place("").parent.rglob("*.zip")) == []


def test_nothing_is_packed_before_every_point_has_an_answer(window, tmp_path):
    rows = [f"{20 + place % 20},{place}" for place in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["age,number", *rows]) + "\n")
    window.open(Source(tmp_path / "people.csv", "people.csv"))
    window.choices.columns["age"]["role"] = "quasi"
    window.choices.columns["number"]["role"] = "insensitive"
    window.anonymize(Silent())
    with pytest.raises(IncrowdError, match="unique-column"):
        export.published_file(window, Silent())
    with pytest.raises(IncrowdError, match="unique-column"):
        export.report_file(window, Watched(), ".pdf")


def released(visit: Visit) -> None:
    visit.mark("sample")
    visit.reads("2,000 rows, 12 columns")
    visit.give(8, "insensitive")
    visit.hand_over()


@pytest.mark.slow
def test_the_page_gives_a_pdf_and_an_archive(visit, studio, tmp_path):
    released(visit)
    assert visit.take("get-pdf", "report.pdf").read_bytes().startswith(b"%PDF-")
    archive = visit.take("get-archive", "release.zip")
    process = verified(visit.wait("[data-mark=check]").text, archive, tmp_path)
    assert process.returncode == 0, process
    assert studio.errors.read_text() == ""


WITHOUT = 'raise ModuleNotFoundError("No module named typst", name="typst")\n'


@pytest.mark.slow
def test_a_pdf_without_its_extra_says_in_one_line_how_to_install_it(browser, downloads, tmp_path):
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "typst.py").write_text(WITHOUT)
    studio = Studio(tmp_path, first=f"{tmp_path / 'without'}:")
    try:
        visit = Visit(browser, studio, downloads)
        released(visit)
        visit.mark("get-pdf")
        text = visit.wait("[data-mark=problem]").text
        assert text.startswith("writing a PDF needs typst: ")
        assert "pip install" in text
        assert "\n" not in text
        assert visit.take("get-report", "report.html").read_text().startswith("<!doctype html>")
        assert studio.errors.read_text() == ""
    finally:
        studio.end()


def test_the_report_names_the_file_that_is_saved_and_for_whom_and_why(tmp_path, monkeypatch):
    written, write = [], Release.write
    monkeypatch.setattr(Release, "write", lambda *args, **more: (written.append(1), write(*args, **more)))
    hospital(300).select("age", "sex", "diagnosis").write_csv(tmp_path / "people.csv")
    window = Work()
    window.open(Source(tmp_path / "people.csv", "people.csv"))
    window.recode(Watched())
    window.judge(Watched())
    window.about.update(recipient="the institute", purpose="a study of stays")
    window.attack(Watched())
    saved, name = export.release_file(window, Watched())
    path, _ = export.report_file(window, Watched(), ".json")
    text = path.read_text()
    for part in (
        name,
        sha256(saved.read_bytes()).hexdigest(),
        "the institute",
        "a study of stays",
        window.attacks[0].name,
    ):
        assert part in text
    # The file that was saved is the one of the report: it is written once, and again for another release.
    assert saved.is_file()
    assert len(written) == 1
    window.recode(Watched())
    window.judge(Watched())
    export.report_file(window, Watched(), ".json")
    assert len(written) == 2
    window.changed()
    assert window.attacks == []
    window.close()
