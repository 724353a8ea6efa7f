"""People go from the first page to the downloaded release, on several screens, and mend what is refused.

What stands where on the page is named in the first functions alone.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from incrowd.core.io.files import CsvFormat, read_table
from incrowd.samples import hospital
from studio_browser import Studio, Visit

pytestmark = pytest.mark.slow

ROWS = 2_000
PICTURES = Path(__file__).parents[3] / "gallery" / "studio"
WRITES = os.environ.get("INCROWD_WRITE_PICTURES") == "1"


# --- what stands where ----------------------------------------------------------------------------


def open_path(visit: Visit, path: Path) -> None:
    visit.fill("[data-field=path]", str(path))
    visit.mark("open")


def take_encoding(visit: Visit) -> None:
    """Answer that the guess of the encoding is right."""
    visit.until(lambda: "Western European" in visit.wait("[data-mark=question]").text, "the question")
    visit.mark("yes")


def open_table(visit: Visit, address: str, table: str) -> None:
    visit.click(".q-expansion-item:has([data-field=address]) .q-item")
    visit.fill("[data-field=address]", address)
    visit.fill("[data-field=table]", table)
    visit.mark("open-table")


def open_sample(visit: Visit) -> None:
    visit.mark("sample")


def opened(visit: Visit, rows: int, seconds: float = 60) -> None:
    """Wait for the table."""
    visit.until(lambda: f"{rows:,} rows, 12 columns" in visit.text(), "the table", seconds)


def answer_roles(visit: Visit) -> int:
    """Give every column without a role the role insensitive, and return the number of such columns."""
    visit.wait("[data-mark=open-roles], [data-mark=status-verdict], [data-mark=run]")
    asked = [place for place in range(12) if visit.role(place) == "?"]
    for place in asked:
        visit.give(place, "insensitive")
    visit.until(lambda: not visit.all("[data-mark=open-roles]"), "the end of the questions")
    return len(asked)


def publish(visit: Visit) -> None:
    """Take the limits of a public release."""
    visit.choose("[data-field=readers]", "Public release")
    visit.until(lambda: visit.wait("[data-mark=limit-k]").text == "11", "the limits")


def run(visit: Visit, seconds: float = 60) -> str:
    """Have a large table judged, which no page does alone, or wait for the judgement."""
    visit.until(lambda: visit.shown("[data-mark=run], [data-mark=status-verdict]"), "the way on", seconds)
    if visit.shown("[data-mark=run]"):
        visit.mark("run")
    return visit.judged(seconds)


def drawn(visit: Visit, panel: str) -> None:
    """Wait until a panel shows the content."""
    visit.wait(
        {
            "Column": "[data-mark=identify]",
            "Limits": "[data-field=k]",
            "Explore": "[data-mark=compare]",
            "Verdict": "[data-mark=sentences]",
            "Hand over": "[data-mark=get-release]",
        }[panel]
    )


def teach(visit: Visit) -> None:
    visit.mark("teach")


def taught(visit: Visit) -> str:
    """Return the terms that are explained; an empty text where none are."""
    result = visit.shown("[data-mark=teaching]")
    return "" if result is None else result.text


# --- the people -----------------------------------------------------------------------------------


def people() -> pl.DataFrame:
    """The sample with letters that only some encodings have."""
    german = pl.col("admission_type").replace("emergency", "Notfälle")
    return hospital(ROWS).with_columns(german, name=pl.col("name") + " Müller")


def steward(visit: Visit, folder: Path) -> None:
    path = folder / "Patienten.csv"
    german = people().with_columns(pl.col("cost") + 0.25)
    path.write_bytes(german.write_csv(separator=";", decimal_comma=True).encode("latin-1"))
    open_path(visit, path)
    take_encoding(visit)


def engineer(visit: Visit, folder: Path) -> None:
    table = people().with_columns(pl.col(pl.Date).cast(pl.String))
    types = ("TEXT" if kind == pl.String else "INTEGER" for kind in table.dtypes)
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(table.columns, types, strict=True))
    with closing(sqlite3.connect(folder / "hospital.db")) as connection, connection:
        connection.execute(f"CREATE TABLE stays ({columns})")
        connection.executemany(f"INSERT INTO stays VALUES ({', '.join('?' * 12)})", table.rows())
    open_table(visit, f"sqlite:///{folder / 'hospital.db'}", "stays")


def statistician(visit: Visit, folder: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    pyreadstat.write_dta(people(), folder / "stays.dta")
    open_path(visit, folder / "stays.dta")


def researcher(visit: Visit, folder: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    labels = {1.0: "female", 2.0: "male", 3.0: "diverse"}
    coded = people().with_columns(pl.col("sex").replace_strict(dict(zip("FMX", labels, strict=True))))
    pyreadstat.write_sav(coded, folder / "stays.sav", variable_value_labels={"sex": labels})
    open_path(visit, folder / "stays.sav")


def student(visit: Visit, _: Path) -> None:
    teach(visit)
    open_sample(visit)


@dataclass(frozen=True)
class Walk:
    """A way through the page.

    Attributes
    ----------
    opens
        Opens the table, with files in a folder.
    width, height
        The screen.
    release
        The name of the downloaded file.
    clicks, typed
        The most that the way may take.
    """

    opens: Callable[[Visit, Path], None]
    width: int
    height: int
    release: str
    clicks: int
    typed: int


WALKS = (
    Walk(steward, 1440, 900, "release.csv", 12, 2),
    Walk(engineer, 1024, 768, "release.csv", 12, 2),
    Walk(statistician, 1440, 900, "release.dta", 12, 1),
    Walk(researcher, 1024, 768, "release.sav", 12, 1),
    Walk(student, 390, 844, "release.csv", 12, 0),
)


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.opens.__name__)
def test_somebody_walks_from_the_first_page_to_the_release(
    any_screen, walk, tmp_path, studio, record_property
):
    visit = any_screen
    visit.resize(walk.width, "light", walk.height)
    began = time.monotonic()
    walk.opens(visit, tmp_path)
    opened(visit, ROWS)
    pictured(visit, walk, "1-opened")
    if walk.opens is student:
        visit.until(lambda: taught(visit), "the terms of the first panel")
    asked = answer_roles(visit)
    publish(visit)
    verdict = run(visit)
    pictured(visit, walk, "2-judged")
    visit.mark("next")
    if verdict != "Verdict: holds":
        drawn(visit, "Verdict")
        pictured(visit, walk, "3-points")
        visit.answer()
        visit.mark("to-hand-over")
    drawn(visit, "Hand over")
    if walk.opens is student:
        visit.until(lambda: "Account" in taught(visit), "the terms of the last panel")
    pictured(visit, walk, "4-hand-over")
    released, _ = read_table(visit.take("get-release", walk.release), CsvFormat(encoding="latin-1"))
    assert len(released) == ROWS
    assert "name" not in released.columns
    if walk.opens is researcher:
        # The labels of values stand on the page, and in the file.
        visit.view("Before")
        visit.until(lambda: "female" in visit.row() or "male" in visit.row(), "the labels")
        words = {word for cell in released["sex"].drop_nulls() for word in re.findall("[a-z]+", cell)}
        assert words == {"female", "male", "diverse"}
    assert visit.shown("[data-mark=problem]") is None
    assert studio.errors.read_text() == ""
    said = (
        f"{walk.opens.__name__}: {visit.clicks} clicks, {visit.typed} written fields, {asked} open roles, "
        f"{verdict}, {time.monotonic() - began:.0f} s"
    )
    record_property("walk", said)
    assert (visit.clicks <= walk.clicks, visit.typed <= walk.typed) == (True, True), said
    # On a small screen tabs are out of sight.
    for panel in ("Column", "Limits", "Explore", "Verdict") if walk.width > 1000 else ():
        visit.go(panel)
        drawn(visit, panel)
        pictured(visit, walk, f"aside-{panel.lower()}")
    if WRITES:
        (PICTURES / f"{walk.opens.__name__}.txt").write_text(said + "\n")


def pictured(visit: Visit, walk: Walk, name: str) -> None:
    """Nothing stands beside the page. Keep a picture where that is asked for."""
    wide = "return document.documentElement.scrollWidth"
    # What is drawn may be wider for a moment, until the page has laid it out.
    visit.until(lambda: visit.browser.execute_script(wide) <= walk.width, f"the width of {name}")
    if WRITES:
        visit.settle()
        visit.browser.execute_script("scrollTo(0, 0)")
        PICTURES.mkdir(parents=True, exist_ok=True)
        visit.browser.save_screenshot(str(PICTURES / f"{walk.opens.__name__}-{name}-{walk.width}.png"))


# --- changes and refusals -------------------------------------------------------------------------


def open_small(visit: Visit, folder: Path, table: pl.DataFrame) -> None:
    table.write_csv(folder / "people.csv")
    open_path(visit, folder / "people.csv")
    visit.reads(f"{table.height:,} rows, {table.width} columns")


def test_several_changes_are_undone_one_by_one_and_made_again(visit, tmp_path, studio):
    open_small(visit, tmp_path, hospital(400).select("age", "sex", "zip", "diagnosis"))
    visit.judged()

    def choices() -> tuple[str, ...]:
        marks = "limit-k", "limit-l", "suppressed-share"
        limits = [found.text for mark in marks if (found := visit.shown(f"[data-mark={mark}]"))]
        return (*limits, *map(visit.role, range(4)), visit.wait(".q-field:has([data-field=method])").text)

    def undone(step: str, before: tuple[str, ...]) -> tuple[str, ...]:
        visit.mark(f"{step}-change")
        return visit.until(lambda: (now := choices()) != before and now, step)

    changes = (
        lambda: visit.slide("k", 1),
        lambda: visit.give(1, "insensitive"),
        lambda: visit.choose("[data-field=method]", "Datafly"),
        lambda: visit.give(2, "identifying"),
    )
    passed = [choices()]
    for change in changes:
        change()
        passed.append(visit.until(lambda: (now := choices()) != passed[-1] and now, "the change"))
    last = visit.judged()
    clicks = visit.clicks
    for state in reversed(passed[:-1]):
        assert undone("undo", choices()) == state
    assert not visit.wait("[data-mark=undo-change]").is_enabled()
    visit.judged()
    for state in passed[1:]:
        assert undone("redo", choices()) == state
    assert visit.shown("[data-mark=redo-change]") is None
    assert (visit.judged(), visit.clicks - clicks) == (last, 2 * len(changes))
    assert studio.errors.read_text() == ""


def test_each_clause_that_is_not_met_has_a_button_that_mends_it(visit, tmp_path, studio, record_property):
    rows = range(400)
    phones = [f"030 {1_000_000 + 37 * row}" for row in rows]
    table = hospital(400).select("sex", "zip", "admission_date", "age").with_columns(phone=pl.Series(phones))
    open_small(visit, tmp_path, table)
    for place in range(1, 5):
        if visit.role(place) != "insensitive":
            visit.give(place, "insensitive")
    visit.judged()
    visit.go("Limits")
    visit.click("[data-mark=rules] .q-item")
    visit.choose("[data-field=profile]", "HIPAA Safe Harbor")
    visit.judged()
    visit.go("Verdict")
    visit.reads("BROKEN")
    # Heads mark the columns that break a clause.
    assert visit.wait(visit.head(1) + "[data-mark=column-points]").get_attribute("class").endswith("broken")
    clicks = visit.clicks
    for change in ("prefix", "years", "oldest", "identifying"):
        visit.until(lambda: visit.judged() == "Verdict: broken", "a clause that is not met")
        visit.mark(f"take-{change}")
    said = f"clauses: {visit.clicks - clicks} clicks"
    record_property("walk", said)
    assert visit.clicks - clicks == 4, said
    visit.until(lambda: "broken" not in visit.judged(), "an answer to every clause")
    assert studio.errors.read_text() == ""


def test_count_tables_are_made_mended_and_taken(visit, tmp_path, studio, record_property):
    open_small(visit, tmp_path, hospital(2_000).select("age", "sex", "zip", "diagnosis"))
    visit.judged()
    visit.go("Tables")
    visit.choose_several("[data-mark=table-0] [data-field=rows]", "age, as ")
    visit.choose_several("[data-mark=table-0] [data-field=columns]", "sex")
    visit.mark("tabulate")
    visit.wait("[data-mark=tables] [data-mark=verdict]")
    assert visit.take("get-tables", "tables.zip").stat().st_size
    said = f"count tables: {visit.clicks} clicks, {visit.typed} written fields"
    record_property("walk", said)
    assert (visit.clicks <= 7, visit.typed <= 1) == (True, True), said
    assert studio.errors.read_text() == ""


# --- a large file ---------------------------------------------------------------------------------

LARGE = 200 * 2**20


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> tuple[Path, int]:
    """A CSV of 200 MiB, and the rows."""
    head, _, body = hospital(20_000).write_csv().encode().partition(b"\n")
    times = LARGE // len(body) + 1
    path = tmp_path_factory.mktemp("large") / "people.csv"
    with path.open("wb") as file:
        file.write(head + b"\n")
        for _ in range(times):
            file.write(body)
    assert path.stat().st_size > LARGE
    return path, 20_000 * times


def most_memory(studio: Studio) -> int:
    """Return the most that a studio took so far, in MiB."""
    lines = Path(f"/proc/{studio.process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) // 2**10


def heap(visit: Visit) -> int:
    """Return the memory of the page's scripts, in MiB."""
    metrics = visit.browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return next(int(each["value"]) for each in metrics if each["name"] == "JSHeapUsedSize") // 2**20


@pytest.fixture
def alone(browser, downloads, tmp_path):
    """A studio that did nothing before, with a window that measures itself."""
    studio = Studio(tmp_path)
    browser.execute_cdp_cmd("Performance.enable", {})
    yield studio, Visit(browser, studio, downloads)
    studio.end()


def streamed(visit: Visit, rows: int) -> None:
    opened(visit, rows, 120)
    visit.go("Table")
    visit.reads("distinct values, about")


def small(studio: Studio, visit: Visit) -> None:
    held, most = heap(visit), most_memory(studio)
    assert (held < 300, most < 2 * 2**10) == (True, True), f"page {held} MiB, server {most} MiB"
    assert studio.errors.read_text() == ""


def test_a_file_of_200_mib_that_is_dropped_streams_and_neither_side_holds_it(alone, large):
    studio, visit = alone
    path, rows = large
    visit.drop(path)
    streamed(visit, rows)
    small(studio, visit)


def test_a_release_of_200_mib_is_made_and_neither_side_holds_it(alone, large):
    studio, visit = alone
    path, rows = large
    open_path(visit, path)
    streamed(visit, rows)
    small(studio, visit)
    # What is seen at once is made of a sample, and says so.
    answer_roles(visit)
    visit.reads("estimate, by")
    small(studio, visit)
    run(visit, 240)
    assert "estimate" not in visit.wait("[data-mark=risk]").text
    small(studio, visit)
    visit.go("Verdict")
    drawn(visit, "Verdict")
    small(studio, visit)
