"""Tables, files and hierarchies of an attacker on the page: the page shows all texts as written."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import polars as pl
import pytest

from clinic_tables import write_clinic
from incrowd.core.errors import visible
from incrowd.release.policy.policy import Policy
from incrowd.samples import hospital
from spark_session import SOURCES
from studio_browser import Studio, Visit

SIGN = "window.hacked"
NAMES = (
    "age",
    f"<script>{SIGN}=1</script>",
    f"<img src=x onerror={SIGN}=2>",
    f"{{{{ constructor.constructor('{SIGN}=3')() }}}}",
    f"${{{SIGN}=4}}",
    f"[x](javascript:{SIGN}=5)",
    f'"><svg onload={SIGN}=6>',
    ":label",
    "@click",
    "#body",
    "v-html",
    "a.b",
    "__proto__",
    "constructor",
    "toString",
    "children",
    "style",
    "data-mark=run",
    "*",
    "^name$",
    "\u202egnp.exe",
    "\u2066isolated",
    "n" * 3_000,
    "=1+1",
    f"'; {SIGN}=7; '",
    f"`${{{SIGN}=8}}`",
    "a\nb",
    "%3Cscript%3E",
    r"\u003cscript\u003e",
)
VALUES = (
    f"<script>{SIGN}=10</script>",
    f"<img src=x onerror={SIGN}=11>",
    f"{{{{ constructor.constructor('{SIGN}=12')() }}}}",
    f'"><svg/onload={SIGN}=13>',
    "<iframe srcdoc='<script>parent.hacked=14</script>'></iframe>",
    f"<a href=javascript:{SIGN}=15>click</a>",
    "\u202eright to left",
    "prototype",
    "hasOwnProperty",
    "x" * 3_000,
)
WATCH = """
window.alert = window.confirm = window.prompt = () => { window.hacked = 'asked'; };
"""


def hostile(rows: int = 60) -> pl.DataFrame:
    """Every name over every value, in classes of six."""
    table = {
        name: [VALUES[(row // 6 + place) % len(VALUES)] for row in range(rows)]
        for place, name in enumerate(NAMES)
    }
    return pl.DataFrame({**table, "age": [str(20 + row % 5) for row in range(rows)]})


@pytest.fixture
def watched(visit, studio):
    """A window that remembers whether anything was asked, and of whom."""
    visit.browser.get_log("performance")
    visit.browser.execute_script(WATCH)
    yield visit
    harmless(visit, studio)


def harmless(visit: Visit, studio: Studio) -> None:
    """Nothing of the table ran, became an element, or asked for anything elsewhere."""
    assert visit.browser.execute_script(f"return {SIGN} === undefined && parent.hacked === undefined")
    selector = "main :is(img, svg[onload], iframe, script, [onerror], a[href^='javascript'], a[href='x'])"
    assert [each.get_attribute("outerHTML")[:200] for each in visit.all(selector)] == []
    assert visit.browser.execute_script("return Object.keys(Object.prototype)") == []
    messages = [json.loads(entry["message"])["message"] for entry in visit.browser.get_log("performance")]
    addresses = {
        each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent"
    }
    own = (studio.base, studio.base.replace("http", "ws"), "data:", "blob:")
    assert [each for each in addresses if not each.startswith(own)] == []
    assert [each for each in addresses if each in (f"{studio.base}/x", f"{studio.base}/y")] == []


def picture(visit: Visit, name: str) -> None:
    """Keep a picture where somebody wants to look."""
    if folder := os.environ.get("INCROWD_HOSTILE_PICTURES"):
        height = visit.browser.execute_script("return document.documentElement.scrollHeight")
        visit.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": 1440, "height": min(height, 6_000), "deviceScaleFactor": 1, "mobile": False},
        )
        visit.browser.save_screenshot(str(Path(folder) / f"{name}.png"))
        visit.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def literal(visit: Visit, *texts: str) -> None:
    for text in map(visible, texts):
        visit.until(
            lambda text=text: text in visit.browser.execute_script("return document.body.textContent"),
            text[:80],
        )


def heads(visit: Visit) -> dict[str, str]:
    """Return the names in the heads, and the names of the lists, as far as drawn."""
    result = {}
    for place in range(len(NAMES)):
        head = visit.wait(visit.head(place))
        chip = head.find_element("css selector", "select")
        name = head.find_element("css selector", ".head-name").get_attribute("title")
        result[name] = chip.get_attribute("aria-label")
    return result


def given(tmp_path: Path, role: str) -> Path:
    """Write a policy that gives every column of the hostile table a role."""
    columns = {name: {"role": role} for name in NAMES}
    policy = {"version": 1, "models": [{"model": "k-anonymity", "k": 5}], "columns": columns}
    path = tmp_path / "policy.toml"
    Policy.from_dict(policy, tmp_path, "the hostile table").write(path)
    return path


def test_a_hostile_table_is_shown_as_it_is_written_in_every_panel(watched, tmp_path, studio):
    visit = watched
    path = tmp_path / f"<img src=x onerror={SIGN}=20>.parquet"
    hostile().write_parquet(path)
    visit.fill("[data-field=path]", str(path))
    visit.mark("open")
    visit.reads("60 rows, 29 columns")
    # Heads, their lists and their tips have the names as they are; cells have the values.
    labels = {visible(name): f"Role of {visible(name)}" for name in NAMES}
    assert heads(visit) == labels
    visit.until(visit.row, "the rows")
    literal(visit, path.name, *VALUES[:3])
    picture(visit, "1")
    harmless(visit, studio)
    visit.mark("identify")
    visit.wait("[data-mark=identifying] table")
    literal(visit, *NAMES[1:4])
    picture(visit, "2")
    # A column of each kind is opened, found by its name, and gets a role.
    for place in (1, 2, 3, 12, 16, NAMES.index("^name$"), 22):
        panel = visit.wait(visit.column(place) + f'[data-panel="{place}"]')
        assert visible(NAMES[place]) in panel.get_attribute("textContent")
        visit.wait("[data-mark=distribution] table")
    visit.fill("[data-field=find-column]", NAMES[2])
    visit.until(
        lambda: [each.get_attribute("title") for each in visit.all(".head-name")] == [NAMES[2]],
        "the one column",
    )
    visit.fill("[data-field=find-column]", "")
    visit.go("Table")
    visit.drop(given(tmp_path, "quasi"))
    visit.until(lambda: visit.judged().startswith("Verdict: "), "the release")
    assert heads(visit) == labels
    visit.head(0)
    visit.until(lambda: ", before " in "".join(visit.row()), "cells that changed")
    literal(visit, *VALUES[:3])
    harmless(visit, studio)
    for place in (1, 2):
        tree = visit.column(place, "tree")
        visit.wait(f"{tree}[data-mark=tree] [aria-label={json.dumps('Choose ' + VALUES[1])}]")
    literal(visit, *VALUES[:9], VALUES[9][:200])
    visit.fill("[data-field=find]", VALUES[1] + "\n")
    visit.fill("[data-field=label]", f"group <img src=y onerror={SIGN}=30>")
    visit.mark("merge")
    literal(visit, f"group <img src=y onerror={SIGN}=30>")
    picture(visit, "3")
    harmless(visit, studio)
    visit.go("Limits")
    visit.unfold("advanced-limits")
    visit.mark("add-attacker")
    visit.fill("[data-attacker] [data-field=called]", f"<img src=x onerror={SIGN}=31>")
    visit.mark("measure")
    visit.wait("[data-mark=measured] table")
    literal(visit, f"<img src=x onerror={SIGN}=31>")
    picture(visit, "4")
    visit.go("Explore")
    visit.mark("compare")
    visit.wait("[data-mark=front]")
    picture(visit, "5")
    visit.hand_over()
    visit.go("Verdict")
    visit.mark("fidelity")
    visit.wait("[data-mark=fidelity-found] table")
    visit.mark("attack")
    visit.wait("[data-mark=attacked] table")
    literal(visit, *NAMES)
    for word in ("After", "Difference", "Before"):
        visit.view(word)
        visit.until(visit.row, "the rows")
        harmless(visit, studio)
    picture(visit, "7")
    visit.go("Hand over")
    literal(visit, path.name)
    picture(visit, "8")
    harmless(visit, studio)
    for mark, name in (
        ("get-release", "release.csv"),
        ("get-report", "report.html"),
        ("get-script", "release.py"),
        ("get-policy", "policy.zip"),
    ):
        visit.take(mark, name)
    assert studio.errors.read_text() == ""


ANSWER = "incrowd.give(0, [], 0); return Object.keys(Object.prototype)"
"""What the server sends for rows that nobody asked for."""


def test_the_page_is_told_rows_and_heads_as_data_and_never_as_a_script(watched, tmp_path, studio):
    """A cell may look like the end of a script, of a string or of an answer."""
    visit = watched
    cells = [
        "</script><script>window.hacked=60</script>", "\"}], 1); window.hacked = 61; incrowd.give(1, [{\"c0\": \"",
        "'); window.hacked = 62; ('", "${window.hacked = 63}", "`+(window.hacked=64)+`", "\u2028window.hacked=65",
        "\\", "\\u0027);window.hacked=66;//", "__proto__", "*",
    ]  # fmt: skip
    names = [f"{cell} name" for cell in cells[:7]]
    table = pl.DataFrame({name: [cells[(row + place) % len(cells)] for row in range(60)]
                          for place, name in enumerate(names)})  # fmt: skip
    table.write_parquet(tmp_path / "people.parquet")
    visit.fill("[data-field=path]", str(tmp_path / "people.parquet"))
    visit.mark("open")
    visit.reads("60 rows, 7 columns")
    visit.until(visit.row, "the rows")
    assert visit.row() == [visible(cell) for cell in table.row(0)]
    for place in range(len(names)):
        visit.give(place, "quasi")
    # Each row stands six times, so classes of eight have cells of several values.
    visit.slide("k", 3)
    visit.until(lambda: ", before " in "".join(visit.row()), "cells that changed")
    shown = "".join(cell for number in range(10) for cell in visit.row(number))
    assert all(visible(cell) in shown for cell in cells)
    assert visit.browser.execute_script(ANSWER) == []
    assert studio.errors.read_text() == ""


def test_what_a_page_sends_by_itself_changes_nothing(watched, tmp_path, studio):
    """A script of another origin cannot send such messages, and the server must still bear such messages."""
    visit = watched
    hospital(60).select("age", "sex", "diagnosis").write_csv(tmp_path / "people.csv")
    visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
    visit.mark("open")
    verdict, roles = visit.judged(), [visit.role(place) for place in range(3)]
    visit.browser.execute_script(
        """
        for (const place of [-1, 3, 1e9, "0", "<b>", null, {}, [], 0.5]) {
            emitEvent("open-column", place);
            emitEvent("give-role", {place, role: "identifying"});
        }
        for (const role of ["", "owner", "__proto__", null, 7, {}, "<script>"]) emitEvent("give-role", {place: 0, role});
        for (const place of ["/", "//", "/x/Hand over", "/../../etc", "/%00/%ff/%3Cscript%3E", "", "x".repeat(9999)])
            emitEvent("place", place);
        emitEvent("rows", {question: 1e6, first: -5, end: 0});
        emitEvent("rows", {question: 1e6, first: 1e9, end: 0});
        """
    )
    visit.view("After")
    visit.until(visit.row, "the rows")
    assert visit.judged() == verdict
    assert [visit.role(place) for place in range(3)] == roles
    assert studio.errors.read_text() == ""


DROP = """
const [selector, name, text] = arguments;
const field = document.querySelector(selector + ' input[type=file]');
const moved = new DataTransfer();
moved.items.add(new File([text], name));
field.files = moved.files;
field.dispatchEvent(new Event('change', {bubbles: true}));
"""
"""No file on a disk can be called so, but a browser sends whatever name a script gives."""


@pytest.mark.parametrize(
    "name",
    [
        "../../../etc/people.csv",
        r"..\..\people.csv",
        f"<img src=x onerror={SIGN}=40>.csv",
        "</script><script>window.hacked=41</script>.csv",
        "people.csv/../../x.html",
        "\u202evsc.elpoep",
        "a\0b.csv",
        "",
        "-o.csv",
        "n" * 250 + ".csv",
    ],
)
def test_an_uploaded_file_may_be_called_anything(watched, studio, name):
    visit = watched
    before = set(studio.temporary.rglob("*"))
    visit.wait("[data-mark=upload]")
    visit.browser.execute_script(DROP, "[data-mark=upload]", name, "age,sex\n" + "30,m\n" * 12)
    visit.reads("12 rows, 2 columns")
    added = [path for path in set(studio.temporary.rglob("*")) - before if path.is_file()]
    assert [path.name for path in added] == ["0001.csv"]
    picture(visit, f"upload{len(name)}")
    for place in range(2):
        visit.give(place, "quasi")
    visit.hand_over()
    assert "incrowd anonymize" in visit.wait("[data-mark=command]").text
    assert studio.errors.read_text() == ""


@pytest.mark.slow
def test_hostile_tables_are_shown_as_they_are_written(watched, studio, tmp_path):
    visit = watched
    names = [name for name in NAMES if name != "age"]
    rows = {name: [VALUES[(row // 8 + place) % 8] for row in range(64)] for place, name in enumerate(names)}
    write_clinic(tmp_path / "clinic", **rows)
    ids = [f"P{number:03}" for number in range(64)]
    folder = tmp_path / f"<img src=x onerror={SIGN}=70>"
    os.rename(tmp_path / "clinic", folder)
    hostile = f"<script>{SIGN}=71</script>"
    pl.DataFrame({"patient_id": ids, hostile: [VALUES[row // 16] for row in range(64)]}).write_csv(
        folder / f"{hostile.replace('/', '-')}.csv"
    )
    visit.fill("[data-field=path]", str(folder))
    visit.mark("open")
    visit.wait(".joins")
    literal(visit, folder.name, *(name[:200] for name in names))
    harmless(visit, studio)
    for place in (2, 4, 6, 2 + names.index("^name$")):
        visit.click(f'.linked-column[data-column="{place}"] [data-mark=open-column]')
        visit.wait("[data-mark=distribution] table")
        literal(visit, names[place - 2])
    harmless(visit, studio)
    assert studio.errors.read_text() == ""


def test_a_hierarchy_file_and_a_policy_with_markup_are_shown_as_they_are_written(watched, tmp_path, studio):
    visit = watched
    hostile().select("age", "style").write_parquet(tmp_path / "people.parquet")
    visit.fill("[data-field=path]", str(tmp_path / "people.parquet"))
    visit.mark("open")
    visit.reads("60 rows, 2 columns")
    for place in range(2):
        visit.give(place, "quasi")
    visit.column(1, "tree")
    visit.wait("[data-mark=tree-upload]")
    groups = {f"<script>{SIGN}=50</script>": list(VALUES[:5]), f"{{{{ {SIGN}=51 }}}}": list(VALUES[5:])}
    tree = json.dumps({f"<img src=x onerror={SIGN}=52>": groups})
    visit.browser.execute_script(
        DROP, "[data-mark=tree-upload]", f"../<img src=x onerror={SIGN}=53>.json", tree
    )
    literal(visit, *groups, f"<img src=x onerror={SIGN}=52>")
    visit.browser.execute_script(
        DROP, "[data-mark=tree-upload]", f"../<img src=x onerror={SIGN}=54>.json", '{"<script>": ["a", "a"]}'
    )
    visit.reads(f"<img src=x onerror={SIGN}=54>.json: 'a' stands twice")
    picture(visit, "tree")
    visit.go("Explore")
    visit.mark("levels")
    visit.until(lambda: "Levels: age " in visit.wait("[data-mark=cards]").text, "the levels")
    picture(visit, "levels")
    assert studio.errors.read_text() == ""


def test_a_tree_of_very_many_levels_is_shown_to_a_depth(watched, tmp_path, studio):
    visit = watched
    pl.DataFrame({"q": list("ab") * 20}).write_csv(tmp_path / "people.csv")
    visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
    visit.mark("open")
    visit.reads("40 rows, 1 column")
    visit.give(0, "quasi")
    visit.column(0, "tree")
    visit.wait("[data-mark=tree]")
    # One label on all levels: what opens one of them opens all.
    levels = "w;" * 3_000
    visit.browser.execute_script(DROP, "[data-mark=tree-upload]", "deep.csv", f"a;{levels}*\nb;{levels}*\n")
    visit.click("[aria-label='Open w']")
    visit.reads("more than 100 levels")
    visit.fill("[data-field=find]", "a\n")
    visit.fill("[data-field=label]", "group")
    visit.mark("merge")
    visit.hand_over()
    with zipfile.ZipFile(visit.take("get-policy", "policy.zip")) as packed:
        assert [name for name in packed.namelist() if name.endswith(".csv")]
    visit.column(0, "tree")
    visit.wait("[data-mark=tree]")
    visit.mark("save-tree")
    visit.choose("[data-field=format]", "JSON")
    visit.mark("save-tree")
    visit.reads("hierarchy.json: the tree is too deep for this format")
    visit.fill("[data-field=tree-file]", "~nobody-of-this-name/tree.csv\n")
    visit.reads("there is no user of this name")
    assert studio.errors.read_text() == ""


BROKEN = """
import importlib.abc, sys

class Breaking(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "incrowd.faces.studio.page":
            sys.meta_path.remove(self)
            from incrowd.faces.studio.panels.limits import Limits

            def draw(self):
                raise ValueError("a cell of the table")

            Limits.draw = draw
        return None

sys.meta_path.insert(0, Breaking())
"""


def test_a_part_that_cannot_be_drawn_says_so_and_quotes_nothing(browser, downloads, tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "sitecustomize.py").write_text(BROKEN)
    studio = Studio(tmp_path, first=f"{tmp_path / 'broken'}{os.pathsep}")
    try:
        visit = Visit(browser, studio, downloads)
        visit.mark("sample")
        visit.reads("2,000 rows")
        visit.go("Limits")
        visit.reads("Internal error (ValueError); please report it.")
        assert "a cell" not in visit.text()
        visit.go("Explore")
        visit.until(lambda: "Internal error" not in visit.text(), "the end of the message")
        assert studio.errors.read_text() == ""
    finally:
        studio.end()


# --- two windows, and what ends in the middle -----------------------------------------------------


def searching(visit: Visit, path: Path) -> None:
    """Open a table, and begin a search that takes far longer than the rest of the test."""
    visit.fill("[data-field=path]", str(path))
    visit.mark("open")
    slowly(visit)


def slowly(visit: Visit) -> None:
    """Wait for the table, and choose a method that takes long."""
    visit.reads("80,000 rows")
    visit.judged()
    visit.choose("[data-field=method]", "K member")
    visit.wait('[aria-label="Measuring"]')
    assert visit.shown("[data-mark=status-verdict]") is None or visit.is_shut("Hand over")


@pytest.fixture
def many(tmp_path) -> Path:
    hospital(80_000).select("age", "sex", "zip", "diagnosis", "cost").write_csv(tmp_path / "people.csv")
    return tmp_path / "people.csv"


@pytest.mark.slow
def test_two_windows_at_work_know_nothing_of_each_other(visit, studio, downloads, many, tmp_path):
    first = visit.browser.current_window_handle
    searching(visit, many)
    visit.browser.switch_to.new_window("tab")
    other = Visit(visit.browser, studio, downloads)
    hospital(300).select("sex", "age").write_csv(tmp_path / "few.csv")
    other.fill("[data-field=path]", str(tmp_path / "few.csv"))
    other.mark("open")
    other.reads("300 rows, 2 columns")
    # The search is not here.
    other.judged()
    other.go("Limits")
    other.fill("[data-model=k-anonymity] [data-field=k]", "7")
    other.until(lambda: "14.3% after" in other.wait("[data-mark=risk]").text, "the risk of classes of 7")
    other.hand_over()
    assert str(tmp_path / "few.csv") in other.wait("[data-mark=command]").text
    policy = other.take("get-policy", "policy.toml").read_text()
    assert ("k = 7" in policy, "zip" in policy) == (True, False)
    assert other.take("get-release", "release.csv").read_text().splitlines()[0] == "sex,age"
    visit.browser.close()
    visit.browser.switch_to.window(first)
    assert visit.shown('[aria-label="Measuring"]') is not None
    visit.go("Limits")
    assert visit.wait("[data-model=k-anonymity] [data-field=k]").get_attribute("value") == "5"
    # Another choice ends the search, and is followed.
    visit.choose("[data-field=method]", "Mondrian")
    visit.judged()
    assert studio.errors.read_text() == ""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_studio_that_ends_in_mid_search_leaves_nothing_and_the_page_says_how_to_go_on(
    browser, downloads, tmp_path, many, number
):
    (tmp_path / "ended").mkdir()
    studio = Studio(tmp_path / "ended")
    visit = Visit(browser, studio, downloads)
    visit.browser.execute_script(DROP, "[data-mark=upload]", "people.csv", many.read_text())
    slowly(visit)
    assert list(studio.temporary.rglob("*.csv"))
    studio.end(number)
    visit.reads("Start it again, and open the address that it prints")
    if number == signal.SIGKILL:
        # Nobody could clean up; the next studio does.
        (tmp_path / "again").mkdir()
        surroundings = {**os.environ, "TMPDIR": str(studio.temporary), "PYTHONPATH": SOURCES}
        script = "from incrowd.core.io.scratch import PrivateFolder; PrivateFolder().remove()"
        subprocess.run([sys.executable, "-c", script], env=surroundings, check=True)
    assert list(studio.temporary.rglob("*")) == []
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"people.csv", "errors", "told"}


@pytest.mark.slow
def test_a_window_that_is_loaded_again_in_mid_search_is_continued_and_its_search_ends(visit, studio, many):
    searching(visit, many)
    visit.browser.refresh()
    visit.connected()
    visit.reads("80,000 rows")
    # The window that is gone searches no more: the one that continues does, until another choice ends it.
    visit.reads("K member")
    visit.choose("[data-field=method]", "Mondrian")
    visit.judged()
    visit.until(lambda: spent(studio) < 0.2, "the end of both searches", seconds=90)


def spent(studio: Studio) -> float:
    """Return the share of a core that a studio takes, over a second."""

    def ticks() -> float:
        return math.fsum(map(int, Path(f"/proc/{studio.process}/stat").read_text().split()[13:15]))

    began = ticks()
    time.sleep(1)
    return (ticks() - began) / os.sysconf("SC_CLK_TCK")
