"""The page of several tables: open, answer, release, hand over."""

from __future__ import annotations

import zipfile

import pytest

from clinic_tables import SECRET, write_clinic
from studio_browser import Visit

pytestmark = pytest.mark.slow


def key_of(tmp_path) -> str:
    """Write a secret that nobody else may read, and return its path."""
    path = tmp_path / "key"
    path.write_text(SECRET)
    path.chmod(0o600)
    return str(path)


def open_folder(visit: Visit, folder) -> None:
    visit.fill("[data-field=path]", str(folder))
    visit.mark("open")
    visit.wait(".joins")


def give_key(visit: Visit, tmp_path) -> None:
    from selenium.webdriver.common.keys import Keys

    visit.fill("[data-field=key-file]", key_of(tmp_path))
    visit.key(Keys.TAB)
    visit.until(lambda: not visit.all("[data-mark=key]"), "the secret")


def turn(visit: Visit, table: str) -> None:
    """Show the columns of a table."""
    visit.until(
        lambda: any(
            visit.press(each) for each in visit.all("[data-mark=linked-tables] button") if each.text == table
        ),
        table,
    )


def give(visit: Visit, place: int, role: str) -> None:
    visit.choose(f'.linked-column[data-column="{place}"] [data-field=role]', role)


def make(visit: Visit) -> str:
    """Make the release of all tables, and return the verdict."""
    visit.wait("[data-mark=run]")
    visit.mark("run")
    return visit.wait("[data-mark=verdict]").text


def test_a_folder_of_tables_is_opened_answered_released_and_handed_over(visit, studio, tmp_path):
    write_clinic(tmp_path / "clinic")
    open_folder(visit, tmp_path / "clinic")
    told = visit.wait(".joins").get_attribute("aria-label")
    assert told == "The tables and their joins: patients; visits, its patient_id is patients.patient_id"
    visit.reads("Not here for several tables")
    assert all(visit.is_shut(panel) for panel in ("Limits", "Tables", "Explore", "Verdict", "Hand over"))
    give_key(visit, tmp_path)
    turn(visit, "visits")
    visit.reads("leaves as patients.patient_id does")
    if visit.all("[data-mark=open-roles]"):
        give(visit, 2, "quasi")
    # The forms that one table has are there, and a change takes the release back.
    visit.click('.linked-column[data-column="2"] [data-mark=open-column]')
    visit.wait("[data-mark=distribution] table")
    visit.wait("[data-mark=fold-hierarchy]")
    assert make(visit).startswith("HOLDS")
    visit.wait("[data-mark=get-tables]")
    visit.slide("k", 15)
    visit.until(lambda: not visit.all("[data-mark=verdict]"), "the end of the release before")
    assert make(visit).startswith("OPEN")
    assert not visit.all("[data-mark=get-tables]")
    visit.answer()
    visit.wait("[data-mark=get-tables]")
    with zipfile.ZipFile(visit.take("get-tables", "released.zip")) as packed:
        names = packed.namelist()
        texts = b"".join(map(packed.read, names)).decode()
    assert {"released/patients.csv", "released/visits.csv"} <= {*names}
    assert "P000" not in texts
    assert "looked at" in texts
    assert "[[linked]]" in visit.take("get-policy", "policy.toml").read_text()
    # A window that is loaded again goes on, and nothing of the tables is in its address.
    address = visit.browser.current_url
    assert "clinic" not in address
    visit.browser.refresh()
    visit.wait("[data-mark=verdict]")
    visit.mark("another-table")
    visit.wait("[data-mark=upload]")
    assert studio.errors.read_text() == ""


def test_several_files_that_are_dropped_at_once_are_opened_together(visit, studio, tmp_path):
    write_clinic(tmp_path / "clinic")
    before = set(studio.temporary.rglob("*"))
    visit.drop(*sorted((tmp_path / "clinic").iterdir()))
    visit.wait(".joins")
    added = {path.name for path in set(studio.temporary.rglob("*")) - before if path.is_file()}
    assert {"patients.csv", "visits.csv"} <= added
    assert studio.errors.read_text() == ""


TWO = """
const moved = new DataTransfer(), field = document.querySelector('[data-mark=upload] input[type=file]');
arguments[0].forEach(text => moved.items.add(new File([text], 'table.csv')));
field.files = moved.files;
field.dispatchEvent(new Event('change', {bubbles: true}));
"""


def test_files_of_one_name_are_two_tables(visit, studio, tmp_path):
    write_clinic(tmp_path / "clinic")
    visit.wait("[data-mark=upload]")
    texts = [path.read_text() for path in sorted((tmp_path / "clinic").iterdir())]
    visit.browser.execute_script(TWO, texts)
    visit.wait(".joins")
    told = visit.wait(".joins").get_attribute("aria-label")
    assert "table-2" in told
    assert told.count("table") >= 4  # "The tables", both tables, and the join of one to the other
    assert studio.errors.read_text() == ""
