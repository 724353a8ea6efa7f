"""Projects on the first page, and a new batch, as in a user's clicks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import incrowd as ic
from axe_core import axe, findings
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.places import keep, projects
from incrowd.faces.studio.tables import Source
from incrowd.faces.studio.work import Work
from incrowd.release.policy.policy_file import read_toml
from studio_browser import Studio, Visit, require_browser

pytestmark = pytest.mark.slow
__all__ = ["axe"]
WCAG = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}

POLICY = """version = 1
max_suppression = 0.05
unlisted = "drop"
columns.patient_id = { role = "person" }
columns.age = { role = "quasi", hierarchy = { intervals = [5, 10] } }
columns.sex = { role = "quasi" }
columns.diagnosis = { role = "sensitive" }
algorithm.name = "optimal"
models = [{ model = "k-anonymity", k = 5 }, { model = "l-diversity", l = 2 }]
"""


def month(folder: Path, name: str, seed: int, rows: int = 500) -> Path:
    path = folder / f"{name}.csv"
    ic.samples.hospital(rows, seed=seed).write_csv(path)
    return path


@pytest.fixture
def places(tmp_path):
    """A folder with the project ``clinic`` beside two months."""
    return with_project(tmp_path, POLICY)


def with_project(tmp_path: Path, policy: str) -> Path:
    require_browser()
    folder = tmp_path / "places"
    folder.mkdir()
    (tmp_path / "p.toml").write_text(policy)
    window = Work((read_toml(tmp_path / "p.toml"), tmp_path / "p.toml"))
    window.open(Source(month(tmp_path, "january", 1, 2_000), "january.csv"))
    window.anonymize(Watched())
    keep(window, folder, "clinic", "hospital A")
    window.close()
    month(tmp_path, "february", 2)
    month(tmp_path, "march", 3)
    return folder


@pytest.fixture
def start(browser, downloads, tmp_path):
    """A function that starts a studio with arguments, and opens the page."""
    studios = []

    def started(*arguments: object) -> Visit:
        studios.append(Studio(tmp_path, *arguments))
        return Visit(browser, studios[-1], downloads)

    yield started
    for each in studios:
        assert each.errors.read_text() == ""
        each.end()


def path_of(visit: Visit) -> str:
    return visit.browser.execute_script("return location.pathname")


def choose(visit: Visit, file: Path) -> None:
    """Choose the file of a new batch, once the page of the project is there."""
    visit.reads("Drop the new batch here")
    visit.fill("[data-field=path]", str(file))
    visit.mark("open")
    visit.wait("[data-mark=problem], [data-mark=verdict]")


def hand_over(visit: Visit) -> None:
    visit.fill("[data-field=recipient]", "hospital A")
    visit.mark("record")
    visit.wait("[data-mark=recorded]")


def test_projects_are_listed_and_a_batch_is_compared_and_recorded(start, places, tmp_path):
    visit = start(places)
    box = visit.wait("[data-mark=project]").text
    assert box.splitlines()[:4] == [
        "clinic", "Table: january.csv", f"1 release, the last on {projects(places)[0].last['date'][:10]} for hospital A", "Holds",
    ]  # fmt: skip
    assert "Drop a table, or several" in visit.text()
    visit.mark("new-batch")
    visit.reads("Drop the new batch here")
    assert path_of(visit) == "/project/clinic"
    choose(visit, tmp_path / "february.csv")
    visit.reads("What differs from last time")
    visit.reads("New in diagnosis")
    rows = next(
        each.text for each in visit.all('[aria-label="What differs"] tbody tr') if "Rows" in each.text
    )
    assert rows.split() == ["Rows", "2,000", "473"]
    address = path_of(visit)
    visit.browser.refresh()
    visit.connected()
    visit.reads("What differs from last time")
    visit.browser.back()
    visit.reads("Drop the new batch here")
    visit.browser.forward()
    visit.reads("What differs from last time")
    assert path_of(visit) == address
    assert len(projects(places)[0].entries) == 1
    hand_over(visit)
    visit.until(lambda: visit.browser.execute_script("return scrollY") == 0, "the top of the page")
    project = projects(places)[0]
    assert (len(project.entries), project.release.name) == (2, "release-2.csv")
    assert visit.take("get-batch", "release-2.csv").read_bytes() == project.release.read_bytes()
    # A window that is loaded again records nothing more.
    visit.browser.refresh()
    visit.connected()
    visit.wait("[data-mark=recorded]")
    assert not visit.all("[data-mark=record]")
    visit.mark("all-projects")
    visit.until(lambda: "2 releases" in visit.wait("[data-mark=project]").text, "the second release")
    assert len(projects(places)[0].entries) == 2


def test_what_the_ledger_refuses_says_why_and_what_helps(start, places, tmp_path):
    visit = start(places)
    for name, count in (("february", 2), ("march", 3)):
        visit.mark("new-batch")
        choose(visit, tmp_path / f"{name}.csv")
        if name == "march":
            text = visit.wait("[data-mark=problem]").text
            assert "finds 0% of the people of release 2 of the ledger" in text
            assert "if they are others, say so (the switch Other people)" in text
            assert not visit.all("[data-mark=record]")
            assert len(projects(places)[0].entries) == 2
            visit.mark("new-people")
            visit.mark("apply")
        hand_over(visit)
        assert len(projects(places)[0].entries) == count
        visit.mark("all-projects")
        visit.wait("[data-mark=project]")
    both = tmp_path / "both.csv"
    both.write_text(
        (tmp_path / "march.csv").read_text() + month(tmp_path, "more", 8, 40).read_text().split("\n", 1)[1]
    )
    visit.mark("new-batch")
    choose(visit, both)
    text = visit.wait("[data-mark=problem]").text
    assert "exposes" in text
    assert "Recode the new people alone as before" in text
    assert "choose a file of the new people alone" in visit.text()
    visit.mark("another-file")
    visit.reads("Drop the new batch here")
    assert path_of(visit) == "/project/clinic"
    visit.mark("open-project")
    visit.reads("500 rows,")
    visit.judged()
    visit.go("Table")
    visit.reads("Choose a table about people")
    assert len(projects(places)[0].entries) == 3


FINE = "keep_order = true\ncolumns.zip = { role = 'quasi', hierarchy = { prefix = true } }\n"
"""With these no row waits, and classes of the next batch are small."""


def test_a_batch_of_which_too_much_is_suppressed_is_mended_by_its_buttons(start, tmp_path):
    visit = start(with_project(tmp_path, FINE + POLICY))
    visit.mark("new-batch")
    choose(visit, tmp_path / "february.csv")
    assert "rows would be suppressed" in visit.wait("[data-mark=problem]").text
    clicks = visit.clicks
    visit.mark("any-share")
    visit.reads("OPEN: 1 point waits for an answer (much-suppressed).")
    assert visit.wait("[data-mark=take-anew]").text == "Search anew"
    visit.answer("a month with few people")
    hand_over(visit)
    assert visit.clicks - clicks == 3
    assert len(projects(tmp_path / "places")[0].entries) == 2


def test_a_project_is_opened_and_a_release_is_kept_as_one(start, places, tmp_path):
    visit = start(places)
    visit.mark("open-project")
    visit.reads("2,000 rows,")
    visit.judged()
    assert visit.wait("[data-mark=limit-k]").text == "5"
    visit.hand_over()
    visit.fill("[data-field=project]", "Wörd 1")
    visit.fill("[data-field=project-recipient]", "hospital B")
    visit.mark("keep")
    visit.wait("[data-mark=kept]")
    assert [each.folder.name for each in projects(places)] == ["Wörd 1", "clinic"]
    assert projects(places)[0].last["recipient"] == "hospital B"
    visit.mark("go-project")
    visit.reads("New batch of Wörd 1")
    assert path_of(visit) == "/project/W%C3%B6rd%201"


def test_a_folder_of_a_table_is_still_a_table(start, tmp_path):
    (tmp_path / "parts").mkdir()
    shutil.copy(month(tmp_path, "january", 1), tmp_path / "parts" / "1.csv")
    visit = start(tmp_path / "parts")
    visit.reads("500 rows, 12 columns")
    assert not visit.all("[data-mark=project]")


def test_an_address_without_its_project_says_so(start, places):
    visit = start(places)
    visit.browser.get(f"{visit.browser.current_url.rstrip('/')}/project/nobody")
    visit.connected()
    visit.reads("nobody: there is no such project")


def test_axe_finds_nothing_on_the_pages_of_projects(start, places, tmp_path, axe):
    visit = start(places)
    visit.browser.set_script_timeout(300)

    def look(what: str) -> None:
        for width, theme in ((1440, "light"), (1440, "dark"), (390, "light")):
            visit.resize(width, theme)
            visit.settle()
            assert findings(visit.browser, axe, WCAG) == [], (what, width, theme)
            assert visit.browser.execute_script("return document.documentElement.scrollWidth") <= width

    try:
        visit.wait("[data-mark=project]")
        look("projects")
        visit.mark("new-batch")
        choose(visit, tmp_path / "february.csv")
        visit.reads("New in diagnosis")
        look("a batch")
    finally:
        visit.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        visit.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
