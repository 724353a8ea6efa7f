"""Tables, files and hierarchies that somebody made to take over the page: it shows them as they are written."""

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

from incrowd.core.errors import visible
from incrowd.works.samples import hospital
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
    made = "main :is(img, svg[onload], iframe, script, [onerror], a[href^='javascript'], a[href='x'])"
    assert [each.get_attribute("outerHTML")[:200] for each in visit.all(made)] == []
    assert visit.browser.execute_script("return Object.keys(Object.prototype)") == []
    asked = [json.loads(entry["message"])["message"] for entry in visit.browser.get_log("performance")]
    addresses = {
        each["params"]["request"]["url"] for each in asked if each["method"] == "Network.requestWillBeSent"
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


def test_a_hostile_table_is_shown_as_it_is_written_in_every_step(watched, tmp_path, studio):
    visit = watched
    path = tmp_path / f"<img src=x onerror={SIGN}=20>.parquet"
    hostile().write_parquet(path)
    visit.fill("[data-field=path]", str(path))
    visit.mark("open")
    visit.reads("60 rows, 29 columns")
    literal(visit, path.name, *NAMES, VALUES[0], VALUES[1], VALUES[2], VALUES[3])
    picture(visit, "1")
    visit.go(2)
    literal(visit, *NAMES)
    visit.mark("identify")
    visit.wait("[data-mark=identifying] table")
    picture(visit, "2")
    visit.mark("all")
    visit.choose("[data-field=many]", "quasi")
    visit.mark("give")
    visit.until(lambda: not visit.all("th[data-role]:not([data-role=quasi])"), "the roles")
    picture(visit, "2b")
    visit.go(3)
    for name in NAMES[1:3]:
        visit.choose("[data-field=column]", name)
        visit.wait(f"[data-mark=tree] [aria-label={json.dumps('Choose ' + VALUES[1])}]")
    literal(visit, *VALUES[:9], VALUES[9][:200])
    visit.fill("[data-field=find]", VALUES[1] + "\n")
    visit.fill("[data-field=label]", f"group <img src=y onerror={SIGN}=30>")
    visit.mark("merge")
    literal(visit, f"group <img src=y onerror={SIGN}=30>")
    picture(visit, "3")
    harmless(visit, studio)
    visit.go(4)
    visit.unfold("advanced-limits")
    visit.mark("add-attacker")
    visit.fill("[data-attacker] [data-field=called]", f"<img src=x onerror={SIGN}=31>")
    visit.mark("measure")
    visit.wait("[data-mark=measured] table")
    picture(visit, "4")
    visit.go(5)
    visit.mark("compare")
    visit.wait("[data-mark=front]")
    picture(visit, "5")
    visit.go(6)
    visit.fill("[data-field=max_suppression]", "0.5")
    visit.mark("run")
    visit.wait("[data-mark=verdict]")
    visit.mark("look")
    visit.wait("[data-mark=rows] table")
    literal(visit, *NAMES)
    visit.mark("fidelity")
    visit.wait("[data-mark=fidelity-found] table")
    visit.mark("attack")
    visit.wait("[data-mark=attacked] table")
    picture(visit, "7")
    visit.hand_over()
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
    visit.go(6)
    visit.mark("run")
    visit.wait("[data-mark=verdict]")
    visit.hand_over()
    assert "incrowd anonymize" in visit.wait("[data-mark=command]").text
    assert studio.errors.read_text() == ""


def test_a_hierarchy_file_and_a_policy_with_markup_are_shown_as_they_are_written(watched, tmp_path, studio):
    visit = watched
    hostile().select("age", "style").write_parquet(tmp_path / "people.parquet")
    visit.fill("[data-field=path]", str(tmp_path / "people.parquet"))
    visit.mark("open")
    visit.reads("60 rows, 2 columns")
    visit.go(2)
    visit.mark("all")
    visit.choose("[data-field=many]", "quasi")
    visit.mark("give")
    visit.go(3)
    visit.choose("[data-field=column]", "style")
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
    visit.go(5)
    visit.mark("lattice")
    visit.wait("[data-mark=nodes-front]")
    shown = visit.until(lambda: visit.wait("[aria-label='Nodes of the lattice']").text, "the nodes")
    assert any(group in shown for group in groups)
    picture(visit, "lattice")
    assert studio.errors.read_text() == ""


def test_a_tree_of_very_many_levels_is_shown_to_a_depth(watched, tmp_path, studio):
    visit = watched
    pl.DataFrame({"q": list("ab") * 20}).write_csv(tmp_path / "people.csv")
    visit.fill("[data-field=path]", str(tmp_path / "people.csv"))
    visit.mark("open")
    visit.reads("40 rows, 1 column")
    visit.go(2)
    visit.choose("[data-column='0'] [data-field=role]", "quasi")
    visit.go(3)
    visit.wait("[data-mark=tree]")
    # One label on all levels: what opens one of them opens all.
    levels = "w;" * 3_000
    visit.browser.execute_script(DROP, "[data-mark=tree-upload]", "deep.csv", f"a;{levels}*\nb;{levels}*\n")
    visit.click("[aria-label='Open w']")
    visit.reads("more than 100 levels")
    visit.fill("[data-field=find]", "a\n")
    visit.fill("[data-field=label]", "group")
    visit.mark("merge")
    visit.go(6)
    visit.mark("run")
    visit.wait("[data-mark=verdict]")
    visit.hand_over()
    with zipfile.ZipFile(visit.take("get-policy", "policy.zip")) as packed:
        assert [name for name in packed.namelist() if name.endswith(".csv")]
    visit.go(3)
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
            from incrowd.faces.studio.steps.limits import Limits

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
        visit.go(4)
        visit.reads("Internal error (ValueError); please report it.")
        assert "a cell" not in visit.text()
        visit.go(6)
        visit.until(lambda: "Internal error" not in visit.text(), "the end of the message")
        assert studio.errors.read_text() == ""
    finally:
        studio.end()


# --- two windows, and what ends in the middle -----------------------------------------------------


def searching(visit: Visit, path: Path) -> None:
    """Open a table, and begin a search that takes far longer than what is tried in the meantime."""
    visit.fill("[data-field=path]", str(path))
    visit.mark("open")
    visit.reads("80,000 rows")
    visit.go(6)
    visit.choose("[data-field=algorithm]", "k-member")
    visit.mark("run")
    visit.wait("[data-mark=cancel-run]")


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
    other.go(4)
    other.fill("[data-model=k-anonymity] [data-field=k]", "7")
    other.go(6)
    # Neither the search nor its button is here, and cancelling what runs here stops nothing there.
    assert other.shown("[data-mark=cancel-run]") is None
    other.mark("run")
    other.wait("[data-mark=verdict]")
    other.hand_over()
    assert str(tmp_path / "few.csv") in other.wait("[data-mark=command]").text
    policy = other.take("get-policy", "policy.toml").read_text()
    assert ("k = 7" in policy, "zip" in policy) == (True, False)
    assert other.take("get-release", "release.csv").read_text().splitlines()[0] == "sex,age"
    visit.browser.close()
    visit.browser.switch_to.window(first)
    assert visit.shown("[data-mark=cancel-run]") is not None
    visit.go(4)
    assert visit.wait("[data-model=k-anonymity] [data-field=k]").get_attribute("value") == "5"
    visit.go(6)
    visit.mark("cancel-run")
    visit.reads("Cancelled. Nothing was made.")
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
    visit.reads("80,000 rows")
    visit.go(6)
    visit.choose("[data-field=algorithm]", "k-member")
    visit.mark("run")
    visit.wait("[data-mark=cancel-run]")
    assert list(studio.temporary.rglob("*.csv"))
    studio.end(number)
    visit.reads("Start it again, and open the address that it prints")
    if number == signal.SIGKILL:
        # Nobody could clean up; the next studio does.
        (tmp_path / "again").mkdir()
        surroundings = {**os.environ, "TMPDIR": str(studio.temporary), "PYTHONPATH": SOURCES}
        told = "from incrowd.core.io.scratch import PrivateFolder; PrivateFolder().remove()"
        subprocess.run([sys.executable, "-c", told], env=surroundings, check=True)
    assert list(studio.temporary.rglob("*")) == []
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"people.csv", "errors", "told"}


@pytest.mark.slow
def test_a_window_that_is_loaded_again_in_mid_search_is_continued_and_its_search_ends(visit, studio, many):
    searching(visit, many)
    visit.browser.refresh()
    visit.mark("continue")
    visit.reads("What is each column?")
    visit.go(6)
    assert visit.shown("[data-mark=cancel-run]") is None
    assert "k-member" in visit.text()
    visit.until(lambda: spent(studio) < 0.2, "the end of the search", seconds=90)


def spent(studio: Studio) -> float:
    """Return the share of a core that a studio takes, over a second."""

    def ticks() -> float:
        return math.fsum(map(int, Path(f"/proc/{studio.process}/stat").read_text().split()[13:15]))

    began = ticks()
    time.sleep(1)
    return (ticks() - began) / os.sysconf("SC_CLK_TCK")
