"""The whole way through the page, in a real browser."""

from __future__ import annotations

import gzip
import json
import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
import xlsxwriter

import incrowd as ic
from incrowd.core.io.files import read_table
from incrowd.release.policy.policy import Policy
from incrowd.samples import hospital
from spark_session import SOURCES
from studio_browser import PANELS, Studio, Visit

ROWS = 2_000
MARKUP = "<img src=x onerror=window.hacked=1>"


@pytest.fixture(scope="module")
def adult(shared_data, tmp_path_factory) -> Path:
    """The first rows of UCI Adult with the roles of ARX's project."""
    path = tmp_path_factory.mktemp("adult") / "adult sample.csv"
    with gzip.open(shared_data / "arx-adult" / "adult.csv.gz", "rt") as table:
        path.write_text("".join(line for _, line in zip(range(ROWS + 1), table, strict=False)))
    return path


def open_path(visit: Visit, path: Path) -> None:
    visit.fill("[data-field=path]", str(path))
    visit.mark("open")


def rows_of(path: Path) -> tuple[str, list[str]]:
    head, *rows = path.read_text().splitlines()
    return head, sorted(rows)


def run(*words: str, folder: Path) -> None:
    process = subprocess.run(
        words,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": SOURCES, "HOME": "/"},
    )
    assert process.returncode == 0, process.stderr


@pytest.mark.slow
def test_the_whole_way_on_adult_leaves_what_makes_the_same_release_without_the_page(
    visit, adult, tmp_path, studio
):
    open_path(visit, adult)
    visit.reads("2,000 rows, 9 columns")
    visit.reads("as incrowd init does")
    for column in range(8):
        visit.give(column, "quasi")
    visit.give(8, "sensitive")
    visit.fill(visit.column(1, "hierarchy") + "[data-field=widths]", "5, 15, 45")
    visit.reads("Hierarchy: intervals 5, 15, 45")
    for column in (4, 5, 7):
        visit.choose(visit.column(column, "hierarchy") + "[data-field=hierarchy]", "flat")
        visit.reads("Hierarchy: flat")
    visit.go("Limits")
    visit.fill("[data-model=k-anonymity] [data-field=k]", "7")
    visit.choose("[data-field=model]", "t-closeness")
    visit.mark("add-model")
    visit.fill("[data-model=t-closeness] [data-field=t]", "0.4")
    visit.mark("measure")
    visit.reads("t-closeness of salary-class")
    visit.until(lambda: "k is 1." in visit.wait("[data-model=k-anonymity]").text, "what is reached")
    visit.fill("[data-field=max_suppression]", "0.1")
    visit.go("Verdict")
    visit.reads("k is 7, asked was >= 7")
    visit.until(lambda: "up to 10%" in visit.wait("[data-mark=limit-max_suppression]").text, "the share")
    visit.hand_over()
    policy = Policy.read(visit.take("get-policy", "policy.toml"))
    assert [(model.name, *model.settings().values())[:2] for model in policy.models] == [
        ("k-anonymity", 7), ("l-diversity", 2), ("t-closeness", 0.4),
    ]  # fmt: skip
    assert policy.schema["age"].hierarchy.widths == (5, 15, 45)
    assert policy.max_suppression == 0.1
    released = rows_of(visit.take("get-release", "release.csv"))
    assert len(released[1]) == ROWS
    report = visit.take("get-report", "report.html").read_text()
    assert "k-anonymity" in report

    (tmp_path / "policy.toml").write_bytes((visit.downloads / "policy.toml").read_bytes())
    command = shlex.split(visit.wait("[data-mark=command]").text)
    assert command[:3] == ["incrowd", "anonymize", str(adult)]
    run(sys.executable, "-m", *command, folder=tmp_path)
    assert rows_of(tmp_path / "release.csv") == released
    (tmp_path / "release.csv").unlink()
    script = visit.take("get-script", "release.py")
    assert script.read_text().strip() == visit.wait("[data-mark=script]").get_attribute("textContent").strip()
    run(sys.executable, str(script), folder=tmp_path)
    assert rows_of(tmp_path / "release.csv") == released
    assert studio.errors.read_text() == ""


def test_a_folder_streams_and_its_command_makes_the_same_release(visit, tmp_path, studio):
    table = hospital(3_000).select("age", "sex", "zip", "diagnosis")
    (tmp_path / "parts").mkdir()
    for place in range(3):
        table.slice(place * 1_000, 1_000).write_parquet(tmp_path / "parts" / f"{place}.parquet")
    open_path(visit, tmp_path / "parts")
    visit.reads("3,000 rows, 4 columns")
    visit.go("Table")
    visit.reads("distinct values, about")
    visit.reads("estimate, by 3,000 random rows")
    visit.until(visit.row, "the rows")
    visit.mark("run")
    visit.hand_over()
    (tmp_path / "policy.toml").write_bytes(visit.take("get-policy", "policy.toml").read_bytes())
    released = rows_of(visit.take("get-release", "release.csv"))
    assert len(released[1]) == 3_000
    run(sys.executable, "-m", *shlex.split(visit.wait("[data-mark=command]").text), folder=tmp_path)
    assert rows_of(tmp_path / "release.csv") == released
    assert studio.errors.read_text() == ""


@pytest.mark.slow
def test_points_stand_before_the_release_until_each_has_an_answer(browser, downloads, tmp_path):
    rows = [f"{20 + place % 20},{place},{'<b>' + 'xyz'[place % 3]}" for place in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["age,number,ill", *rows]) + "\n")
    (tmp_path / "policy.toml").write_text(
        'version = 1\nmodels = [{ model = "k-anonymity", k = 3 }]\n'
        'columns.age = { role = "quasi" }\ncolumns.number = { role = "insensitive" }\n'
        'columns.ill = { role = "sensitive" }\n'
    )
    (tmp_path / "studio").mkdir()
    studio = Studio(tmp_path / "studio", tmp_path / "people.csv", "--policy", tmp_path / "policy.toml")
    visit = Visit(browser, studio, downloads)
    visit.reads("60 rows, 3 columns")
    assert visit.judged() == "Verdict: 2 points are open"
    # The points stand in the heads of their columns, too.
    marks = {place: visit.all(visit.head(place) + "[data-mark=column-points]") for place in range(3)}
    assert {place: len(found) for place, found in marks.items()} == {0: 0, 1: 1, 2: 1}
    assert "of number that no other" in marks[1][0].get_attribute("title")
    visit.mark("next")
    assert visit.wait("[data-mark=verdict]").text.startswith("OPEN: 2 points wait for an answer")
    text = visit.wait("[data-mark=point-0]").text
    assert "100.0% of the records have a value of number that no other" in text
    visit.fill("[data-field=why-0]", "numbers of the study")
    visit.mark("accept")
    visit.reads("Nothing can be taken yet: 1 point without an answer.")
    assert not visit.all("[data-mark=get-release]")
    visit.fill("[data-field=why-1]", "a <i>cold</i> is no secret")
    visit.mark("accept")
    visit.mark("to-hand-over")
    policy = visit.take("get-policy", "policy.toml")
    assert [(each.point, each.column, each.why) for each in Policy.read(policy).accepted] == [
        ("unique-column", "number", "numbers of the study"),
        ("unprotected-sensitive", "ill", "a <i>cold</i> is no secret"),
    ]
    visit.go("Verdict")
    visit.reads("Accepted: a <i>cold</i> is no secret")
    visit.go("Hand over")
    assert (
        "Accepted by the owner: numbers of the study" in visit.take("get-report", "report.html").read_text()
    )
    (tmp_path / "policy.toml").write_bytes(policy.read_bytes())
    command = shlex.split(visit.wait("[data-mark=command]").text)
    # What the page lets pass, the command line lets pass, too.
    run(sys.executable, "-m", *command, folder=tmp_path)
    # The next release knows the reasons.
    visit.slide("k", 1)
    visit.until(lambda: visit.wait("[data-mark=limit-k]").text == "4", "the next release")
    assert visit.judged() == "Verdict: holds"
    visit.go("Verdict")
    visit.until(lambda: "each point has an answer" in visit.wait("[data-mark=verdict]").text, "them")
    visit.go("Hand over")
    visit.wait("[data-mark=get-release]")
    assert studio.errors.read_text() == ""
    studio.end()


@pytest.mark.slow
def test_the_sample_is_the_table_that_the_command_names(visit, tmp_path):
    visit.mark("sample")
    visit.reads("2,000 rows, 12 columns")
    visit.reads("Still without a role: admission_type")
    visit.give(8, "insensitive")
    visit.judged()
    # A changed setting undoes nothing that was done; one that keeps the order makes the very same bytes.
    visit.go("Limits")
    visit.unfold("advanced-run")
    visit.click("[data-field=keep_order]")
    visit.hand_over()
    for mark, name in (
        ("get-sample", "people.csv"),
        ("get-policy", "policy.toml"),
        ("get-release", "release.csv"),
    ):
        (tmp_path / name).write_bytes(visit.take(mark, name).read_bytes())
    assert (tmp_path / "people.csv").read_bytes().count(b"\n") == ROWS + 1
    data = (tmp_path / "release.csv").read_bytes()
    (tmp_path / "release.csv").unlink()
    command = shlex.split(visit.wait("[data-mark=command]").text)
    run(sys.executable, "-m", *command, folder=tmp_path)
    assert (tmp_path / "release.csv").read_bytes() == data


@pytest.mark.slow
def test_a_setting_that_was_compared_can_be_taken(visit):
    visit.mark("sample")
    visit.give(8, "insensitive")
    visit.go("Explore")
    visit.fill("[data-field=sizes]", "3, x")
    visit.mark("compare")
    visit.reads("write whole numbers from 1")
    visit.fill("[data-field=sizes]", "3, 11")
    visit.mark("compare")

    def card_of(title: str) -> str:
        """Return the number of a card, also of a slower method that was tried meanwhile."""
        texts = (each.text for each in visit.all("[data-mark^=card-]"))
        return next((text.partition(":")[0] for text in texts if f": {title}," in text), "")

    titles = ("Mondrian, k = 3", "Mondrian, k = 11")
    numbers = [visit.until(lambda title=title: card_of(title), title) for title in titles]
    for number in numbers:
        visit.click(f"[data-mark=card-{number}] .q-checkbox")
    lost = visit.wait("[data-mark=lost]").text
    for number, title in zip(numbers, titles, strict=True):
        assert f"{number}: {title}" in lost
    assert "zip" in lost
    visit.mark(f"take-{numbers[1]}")
    visit.until(lambda: visit.wait("[data-mark=limit-k]").text == "11", "the limit")
    visit.go("Verdict")
    visit.reads("asked was >= 11")


def test_columns_that_identify_are_named_and_usual_limits_are_taken(visit):
    from selenium.webdriver.common.keys import Keys

    visit.mark("sample")
    visit.mark("identify")
    visit.until(
        lambda: "different among the records" in visit.wait("[data-mark=identifying]").text, "the sets"
    )
    _, first, *_ = visit.wait("[data-mark=identifying] table").text.split("\n")
    assert first.startswith("birth_date, ")
    visit.go("Limits")
    visit.mark("usual-public")
    visit.until(lambda: visit.wait("[data-field=k]").get_attribute("value") == "11", "the limit")
    assert visit.wait("[data-field=l]").get_attribute("value") == "3"
    # The slider and the field are one limit, and say what it means; what the table reaches stands beside.
    assert "at most 9.1%" in visit.wait("[data-model=k-anonymity] [data-mark=means]").text
    visit.wait("[data-model=k-anonymity] [type=range]").send_keys(Keys.ARROW_RIGHT)
    visit.until(lambda: visit.wait("[data-field=k]").get_attribute("value") == "12", "the step")
    visit.reads("finds at least 12 records")
    visit.fill("[data-field=k]", "20")
    visit.until(
        lambda: visit.wait("[data-model=k-anonymity] [type=range]").get_attribute("value") == "20",
        "the slider",
    )
    visit.mark("usual-teaching")
    visit.until(lambda: not visit.all("[data-model=l-diversity]"), "the end of the other model")


@pytest.mark.slow
def test_treatments_attackers_and_a_population_have_forms(visit, tmp_path, studio):
    hospital(400).select("patient_id", "age", "sex", "zip", "cost").write_csv(tmp_path / "people.csv")
    hospital(900, seed=7).select("age", "sex", "zip").write_csv(tmp_path / "all.csv")
    open_path(visit, tmp_path / "people.csv")
    visit.reads("400 rows")
    visit.give(4, "insensitive")
    cost = visit.column(4, "treatment")
    visit.choose(f"{cost}[data-field=treatment]", "round")
    visit.fill(f"{cost}[data-field=base]", "0")
    visit.reads("base must be a number above 0")
    visit.fill(f"{cost}[data-field=base]", "500")
    visit.mark("close-column")
    visit.give(0, "person")
    visit.click("[data-field=join]")
    visit.give(0, "identifying")
    visit.until(lambda: not visit.all("[data-field=join]"), "no people any more")
    visit.go("Limits")
    visit.click('[aria-label="Remove l-diversity"]')
    visit.unfold("advanced-limits")
    visit.mark("add-attacker")
    visit.fill("[data-attacker] [data-field=called]", "insurer")
    visit.fill("[data-attacker] [data-field=k]", "20")
    visit.choose("[data-field=model]", "k-map")
    visit.mark("add-model")
    visit.fill("[data-field=population]", str(tmp_path / "none.csv") + "\n")
    visit.reads("there is no such file")
    visit.fill("[data-field=population]", str(tmp_path / "all.csv") + "\n")
    visit.until(lambda: "there is no such file" not in visit.text(), "the population")
    visit.fill("[data-model=k-map] [data-field=k]", "2")
    visit.hand_over()
    policy = Policy.read(visit.take("get-policy", "policy.toml"))
    assert policy.schema["cost"].treatment == ic.Round(500, top=0.98)
    assert [str(model) for model in policy.models] == [
        "k-anonymity(k=5)", "k-map(k=2)", "insurer (age, sex): k-anonymity(k=20)",
    ]  # fmt: skip
    released = rows_of(visit.take("get-release", "release.csv"))
    (tmp_path / "policy.toml").write_bytes((visit.downloads / "policy.toml").read_bytes())
    run(sys.executable, "-m", *shlex.split(visit.wait("[data-mark=command]").text), folder=tmp_path)
    assert rows_of(tmp_path / "release.csv") == released
    assert studio.errors.read_text() == ""


@pytest.mark.slow
def test_a_table_of_a_database_is_opened_and_released(visit, tmp_path, studio):
    with closing(sqlite3.connect(tmp_path / "people.db")) as connection, connection:
        connection.execute("CREATE TABLE people (age INTEGER, sex TEXT, zip TEXT)")
        rows = hospital(300).select("age", "sex", "zip").rows()
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    connection.close()
    visit.click(".q-expansion-item:has([data-field=address]) .q-item")
    visit.fill("[data-field=address]", f"sqlite:///{tmp_path}/people.db")
    visit.mark("open-table")
    visit.reads("write the name of a table")
    visit.fill("[data-field=table]", "people")
    visit.mark("open-table")
    visit.reads("300 rows, 3 columns")
    visit.reads("estimate, by 300 random rows")
    visit.mark("run")
    visit.judged()
    visit.until(lambda: ", before " in "".join(visit.row()), "the rows of the release")
    visit.go("Verdict")
    visit.mark("attack")
    visit.until(lambda: "linkage" in visit.wait("[data-mark=attacked]").text, "the attacks")
    visit.hand_over()
    assert "--table people" in visit.wait("[data-mark=command]").text
    assert len(visit.take("get-release", "release.csv").read_text().splitlines()) == 301
    assert studio.errors.read_text() == ""


@pytest.mark.slow
def test_an_infeasible_policy_is_mended_by_what_would_help_and_a_node_is_taken(visit, tmp_path, studio):
    hospital(400).select("age", "sex", "zip", "diagnosis").write_csv(tmp_path / "people.csv")
    open_path(visit, tmp_path / "people.csv")
    visit.reads("400 rows")
    visit.go("Limits")
    visit.choose("[data-field=model]", "t-closeness")
    visit.mark("add-model")
    visit.fill("[data-model=t-closeness] [data-field=t]", "0.05")
    visit.choose("[data-field=method]", "Optimal")
    visit.mark("help-me")
    visit.reads("The table cannot satisfy the policy")
    told = visit.until(lambda: visit.wait("[data-mark=advice]").text, "what would help")
    assert "mondrian in place of optimal" in told
    visit.mark("take-advice")
    visit.wait("[data-mark=verdict]")
    visit.go("Limits")
    visit.fill("[data-model=t-closeness] [data-field=t]", "0.9")
    visit.go("Explore")
    visit.mark("levels")
    card = visit.until(
        lambda: next(
            (each for each in visit.all("[data-mark=cards] section") if "Levels: " in each.text), None
        ),
        "a card of levels",
    )
    levels = next(line for line in card.text.splitlines() if "Levels: " in line)
    visit.mark(f"take-{levels.partition(':')[0]}")
    visit.judged()
    visit.go("Limits")
    visit.go("Explore")
    element = visit.wait("[data-mark=free-levels]")
    assert element.is_displayed()
    for part in levels.partition("Levels: ")[2].split(", "):
        name, level = part.split()
        assert f"{name} {level} to {level}" in visit.text()
    visit.mark("free-levels")
    visit.until(lambda: "Fixed levels" not in visit.text(), "free levels")
    assert studio.errors.read_text() == ""


@pytest.mark.slow
def test_a_change_makes_the_release_before_count_no_more(visit, tmp_path):
    # The release of a database is made when somebody asks for it, so a change leaves none.
    with closing(sqlite3.connect(tmp_path / "people.db")) as connection, connection:
        connection.execute("CREATE TABLE people (age INTEGER, sex TEXT, zip TEXT)")
        rows = hospital(300).select("age", "sex", "zip").rows()
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    connection.close()
    visit.click(".q-expansion-item:has([data-field=address]) .q-item")
    visit.fill("[data-field=address]", f"sqlite:///{tmp_path}/people.db")
    visit.fill("[data-field=table]", "people")
    visit.mark("open-table")
    visit.reads("300 rows, 3 columns")
    visit.mark("run")
    visit.judged()
    visit.go("Limits")
    visit.fill("[data-model=k-anonymity] [data-field=k]", "9")
    visit.wait("[data-mark=run]")
    assert visit.shown("[data-mark=status-verdict]") is None
    assert visit.is_shut("Hand over")
    visit.fill("[data-model=k-anonymity] [data-field=k]", "0")
    visit.reads("k must be a whole number of at least 1")
    visit.mark("run")
    visit.judged()
    visit.go("Verdict")
    visit.reads("asked was >= 9")


@pytest.mark.slow
def test_a_release_is_looked_at_from_all_sides(visit, tmp_path, studio):
    hospital(400).select("age", "sex", "zip", "diagnosis").write_csv(tmp_path / "people.csv")
    open_path(visit, tmp_path / "people.csv")
    visit.reads("400 rows")
    visit.judged()
    visit.go("Verdict")
    age, *_ = visit.until(lambda: visit.all("[data-mark=distributions] table"), "the distributions")
    rows = [row.text.split() for row in age.find_elements("css selector", "tbody tr")]
    assert sum(int(before) for *_, before, _ in rows) == 400
    # A bar is as long as its number says.
    lengths = [each.size["width"] for each in age.find_elements("css selector", "tbody .bar.before")]
    assert lengths.index(max(lengths)) == max(range(len(rows)), key=lambda row: int(rows[row][-2]))
    assert "k-anonymity" in visit.wait("[data-mark=weakest]").text
    assert "prosecutor, highest" in visit.wait("[data-mark=risks]").text
    visit.mark("fidelity")
    visit.until(lambda: "age and zip" in visit.wait("[data-mark=fidelity-found]").text, "the pairs")
    visit.mark("attack")
    visit.until(lambda: "linkage" in visit.wait("[data-mark=attacked]").text, "the attacks")
    assert studio.errors.read_text() == ""


def test_what_looks_like_markup_is_shown_as_it_is_written(visit, tmp_path, studio):
    from selenium.webdriver.common.keys import Keys

    names = ["age", MARKUP, ":label", "a.b", "__proto__"]
    table = pl.DataFrame(
        {name: [f"{MARKUP}{i % 2}" if i % 3 else "{{1+1}}" for i in range(60)] for name in names}
    ).with_columns(age=pl.Series([str(20 + i % 5) for i in range(60)]))
    path = tmp_path / f"{MARKUP.replace('/', '')}.csv"
    table.write_csv(path)
    open_path(visit, path)
    visit.reads("60 rows, 5 columns")
    visit.until(visit.row, "the rows")
    for text in (*names, f"{MARKUP}1", "{{1+1}}"):
        assert text in visit.text()
    # Several at once.
    visit.click(".q-expansion-item:has([data-field=many-columns]) .q-item")
    visit.click("[data-field=many-columns]")
    options = visit.until(lambda: visit.all(".q-menu .q-item"), "the columns")
    assert [each.text.strip() for each in options] == names
    for each in options:
        visit.press(each)
    visit.key(Keys.ESCAPE)
    visit.until(lambda: not visit.all(".q-menu"), "the end of the list")
    visit.choose("[data-field=many]", "quasi")
    visit.mark("give")
    visit.until(lambda: all(visit.role(place) == "quasi" for place in range(5)), "the roles")
    visit.column(1, "tree")
    visit.until(lambda: visit.all(f'[aria-label="Choose {MARKUP}1"]'), "the tree")
    assert f"{MARKUP}1" in visit.wait("[data-mark=tree]").text
    visit.go("Limits")
    visit.unfold("advanced-limits")
    visit.mark("add-attacker")
    visit.go("Verdict")
    visit.reads(MARKUP)
    visit.hand_over()
    visit.reads(MARKUP)
    assert visit.browser.execute_script("return window.hacked === undefined")
    assert not visit.all("main img")
    assert studio.errors.read_text() == ""


@pytest.mark.slow
def test_the_sheet_of_a_workbook_is_named(visit, tmp_path, studio):
    book = xlsxwriter.Workbook(tmp_path / "people.xlsx")
    for name, rows in (("notes", 3), ("people", 40)):
        book.add_worksheet(name).write_column(0, 0, ["age", *range(20, 20 + rows)])
    book.close()
    open_path(visit, tmp_path / "people.xlsx")
    visit.reads("has several sheets")
    visit.reads("choose one with the field Sheet")
    visit.fill("[data-field=sheet]", "none of them")
    visit.mark("read-again")
    visit.reads("it has 'notes', 'people'")
    visit.fill("[data-field=sheet]", "people")
    visit.mark("read-again")
    visit.reads("40 rows, 1 columns")
    visit.hand_over()
    assert "--sheet people" in visit.wait("[data-mark=command]").text
    policy, released = visit.take("get-policy", "policy.toml"), visit.take("get-release", "release.xlsx")
    (tmp_path / "policy.toml").write_bytes(policy.read_bytes())
    run(sys.executable, "-m", *shlex.split(visit.wait("[data-mark=command]").text), folder=tmp_path)
    result, again = (sorted(read_table(path)[0].rows()) for path in (released, tmp_path / "release.xlsx"))
    assert result == again
    assert len(result) == 40
    assert studio.errors.read_text() == ""


def test_a_file_that_is_no_table_is_told_and_the_one_before_stays(visit, tmp_path):
    visit.mark("sample")
    visit.reads("2,000 rows")
    visit.go("Table")
    for place, (content, told) in enumerate(
        (
            (b"", "empty"),
            (b"a,b\n", "no rows"),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not utf-8; name the encoding, e.g. with the field Encoding"),
            (b"a,b\n1,2,3\n", "line 2"),
        )
    ):
        path = tmp_path / f"wrong{place}.csv"
        path.write_bytes(content)
        open_path(visit, path)
        # What was told of the file before may still be there.
        visit.reads(path.name)
        assert told in visit.wait("[data-mark=problem]").text
        assert path.name in visit.wait("[data-mark=problem]").text
        assert "2,000 rows, 12 columns" in visit.text()


def test_an_uploaded_file_is_kept_under_a_name_of_its_own_in_a_private_folder(visit, tmp_path, studio):
    hospital(30).write_csv(tmp_path / "..;secret name.csv")
    before = set(studio.temporary.rglob("*"))
    visit.drop(tmp_path / "..;secret name.csv")
    visit.reads("30 rows, 12 columns")
    added = {path for path in studio.temporary.rglob("*") if path.suffix == ".csv"} - before
    assert [path.name for path in added] == ["0001.csv"]
    for folder in added.pop().parents:
        if folder == studio.temporary:
            break
        assert folder.stat().st_mode & 0o777 == 0o700
    assert "..;secret name.csv" in visit.text()


def test_two_windows_do_not_mix(visit, studio, downloads):
    visit.mark("sample")
    visit.reads("2,000 rows")
    first = visit.browser.current_window_handle
    visit.browser.switch_to.new_window("tab")
    other = Visit(visit.browser, studio, downloads)
    assert "2,000 rows" not in other.text()
    visit.browser.close()
    visit.browser.switch_to.window(first)
    assert "2,000 rows" in visit.text()


@pytest.mark.slow
def test_a_search_can_be_cancelled_and_another_one_started(visit, tmp_path):
    # So many that the search takes far longer than it takes to cancel it.
    (tmp_path / "parts").mkdir()
    hospital(20_000).write_parquet(tmp_path / "parts" / "0.parquet")
    open_path(visit, tmp_path / "parts")
    visit.reads("20,000 rows")
    visit.give(8, "insensitive")
    visit.mark("run")
    visit.mark("cancel-run")
    visit.reads("Cancelled. Nothing was made.")
    assert visit.is_shut("Hand over")
    visit.mark("run")
    visit.judged()
    # Another choice cancels what was asked for under those before.
    visit.slide("k", 1)
    visit.mark("run")
    visit.wait("[data-mark=cancel-run]")
    visit.slide("k", 1)
    visit.wait("[data-mark=run]:not([disabled])")
    assert visit.shown("[data-mark=status-verdict]") is None
    assert visit.is_shut("Hand over")


@pytest.mark.slow
def test_a_tree_is_edited_over_the_values_and_the_release_follows_it(visit, studio):
    def rows() -> list[str]:
        return [each.text for each in visit.all("[data-mark=tree] .tree-label")]

    visit.mark("sample")
    visit.give(8, "insensitive")
    age = visit.column(3, "hierarchy")
    visit.fill(f"{age}[data-field=widths]", "5, 12")
    visit.reads("no multiple of the one before")
    visit.fill(f"{age}[data-field=widths]", "10, 50")
    visit.column(3, "tree")
    visit.click('[aria-label="Open [0-49]"]')
    visit.until(lambda: "[20-29]" in rows(), "the intervals")
    assert "[20-29]" in visit.wait("[data-mark=histogram]").text
    # A group is split in one step, and the history of the page takes the step back.
    visit.click('[aria-label="Choose [30-39]"]')
    visit.fill("[data-field=label]", "thirties")
    visit.mark("split")
    visit.until(lambda: "thirties" in rows(), "the new group")
    visit.mark("undo-change")
    visit.until(lambda: rows() and "thirties" not in rows(), "the step before")
    visit.mark("redo-change")
    visit.until(lambda: "thirties" in rows(), "the step again")
    visit.mark("undo-change")
    visit.until(lambda: rows() and "thirties" not in rows(), "the step before")
    # By the keyboard or the mouse: choose, write, press.
    visit.click('[aria-label="Choose [20-29]"]')
    visit.click('[aria-label="Choose [30-39]"]')
    visit.fill("[data-field=label]", "[100-149]")
    visit.mark("merge")
    visit.reads("take another one")
    visit.fill("[data-field=label]", "young")
    visit.mark("merge")
    visit.wait('[aria-label="Open young"]')
    visit.fill("[data-field=find]", "45\n")
    visit.until(lambda: visit.shown('[aria-label="Choose 45"][aria-checked=true]'), "the value")
    visit.choose("[data-field=target]", "young")
    visit.mark("move")
    visit.until(lambda: not visit.all('[aria-label="Choose 45"]'), "the move")
    visit.click('[aria-label="Open young"]')
    visit.wait('[aria-label="Choose 45"]')
    # A group that is dragged onto another one goes below it.
    visit.browser.execute_script(
        """
        const row = name => document.querySelector(`[aria-label="Choose ${name}"]`).closest('.tree-row');
        row('[0-9]').dispatchEvent(new DragEvent('dragstart', {bubbles: true}));
        row('young').dispatchEvent(new DragEvent('drop', {bubbles: true, cancelable: true}));
        """
    )
    visit.until(lambda: rows()[2] == "[10-19]", "the drop")
    visit.mark("undo-change")
    visit.until(lambda: rows()[2:3] == ["[0-9]"], "the step before")
    visit.go("Limits")
    visit.column(2)
    assert "Hierarchy: edited" in visit.wait(visit.column(3)).text
    visit.judged()
    visit.view("After")
    visit.head(3)
    visit.reads("young")
    # The open column follows each release, as the rows do: Datafly hides every age of the sample.
    text = visit.wait("[data-mark=distribution]").text
    assert "[50-99] 1,120 1,120" in text
    visit.choose("[data-field=method]", "Datafly")
    visit.until(lambda: visit.wait("[data-mark=distribution]").text not in ("", text), "the bars")
    assert studio.errors.read_text() == ""


@pytest.mark.slow
def test_a_hierarchy_leaves_as_a_file_and_comes_back_as_one(visit, tmp_path):
    visit.mark("sample")
    visit.column(3, "tree")
    saved = visit.take("save-tree", "hierarchy.csv")
    lines = saved.read_text().splitlines(keepends=True)
    (tmp_path / "age.csv").write_text("".join(lines[1:]))
    visit.choose("[data-field=format]", "YAML")
    written = visit.take("save-tree", "hierarchy.yaml")
    assert ic.Hierarchy.read(written) == ic.Hierarchy.read(saved)
    visit.fill("[data-field=tree-file]", str(tmp_path / "none.csv") + "\n")
    visit.reads("none.csv: cannot be read")
    visit.fill("[data-field=tree-file]", str(tmp_path / "age.csv") + "\n")
    visit.reads(f"Values that it does not know: {lines[0].split(';')[0]}")
    visit.mark("add-unknown")
    visit.until(lambda: not visit.all("[data-mark=unknown]"), "the end of unknown values")
    visit.drop(written, zone="tree-upload")
    visit.until(lambda: visit.all('[aria-label="Open [0-39]"]'), "the tree of the file")
    visit.column(2)
    age = visit.column(3, "hierarchy")
    visit.choose(f"{age}[data-field=hierarchy]", "file")
    visit.fill(f"{age}[data-field=file]", str(tmp_path / "none.csv") + "\n")
    visit.reads("none.csv: cannot be read")
    visit.fill(f"{age}[data-field=file]", str(tmp_path / "age.csv") + "\n")
    visit.until(lambda: "cannot be read" not in visit.text(), "the end of the error")
    visit.column(3, "tree")
    visit.reads("Values that it does not know:")


def test_every_field_and_button_has_a_name_and_the_keyboard_reaches_it(visit):
    from selenium.webdriver.common.keys import Keys

    visit.mark("sample")
    visit.give(8, "insensitive")
    visit.judged()
    for panel in PANELS[:6]:
        visit.go(panel)
        unnamed = visit.browser.execute_script(
            """
            const named = e => e.getAttribute('aria-label') || e.getAttribute('aria-labelledby')
                || e.closest('label')?.textContent.trim() || e.textContent.trim();
            return [...document.querySelectorAll('main :is(input:not([type=file]), button, select,'
                + ' [role=checkbox], [role=slider])')]
                .filter(e => e.offsetParent && !named(e)).map(e => e.outerHTML.slice(0, 200));
            """
        )
        assert unnamed == []
    visit.go("Limits")
    for _ in range(60):
        visit.key(Keys.TAB)
        if "Measure" in visit.browser.execute_script("return document.activeElement.innerText"):
            break
    visit.key(Keys.ENTER)
    visit.until(lambda: "fails" in visit.wait("[data-mark=measured]").text, "what the table reaches")


def test_nothing_is_asked_of_anybody_else(visit, studio):
    visit.browser.get_log("performance")
    visit.mark("sample")
    visit.reads("2,000 rows")
    visit.browser.refresh()
    visit.connected()
    visit.reads("2,000 rows")
    messages = [json.loads(each["message"])["message"] for each in visit.browser.get_log("performance")]
    addresses = [
        each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent"
    ] + [each["params"]["url"] for each in messages if each["method"] == "Network.webSocketCreated"]
    assert len(addresses) > 5
    own = (studio.base, studio.base.replace("http", "ws"), "data:", "blob:")
    assert [address for address in addresses if not address.startswith(own)] == []


@pytest.mark.slow
def test_columns_that_look_alike_are_answered_together(visit, tmp_path):
    table = hospital(400).select("age", "sex", "diagnosis")
    answers = {f"q{number}": pl.Series(["yes", "no", "no", "yes"] * 100) for number in range(8)}
    path = tmp_path / "survey.csv"
    table.with_columns(**answers).write_csv(path)
    open_path(visit, path)
    visit.reads("400 rows, 11 columns")
    visit.reads("8 yes/no columns such as q0, q2, q4: what are they?")
    visit.give(5, "insensitive")
    visit.mark("all-sensitive")
    visit.until(lambda: not visit.all("[data-mark=together]"), "the end of the question")
    visit.until(lambda: not visit.all("[data-mark=open-roles]"), "the end of all questions")
    assert (visit.role(4), visit.role(5)) == ("sensitive", "insensitive")
