"""Tables, files and hierarchies that somebody made to take over the page: it shows them as they are written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest

from incrowd.errors import visible
from studio_browser import Visit

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
def watched(visit):
    """A window that remembers whether anything was asked, and of whom."""
    visit.browser.get_log("performance")
    visit.browser.execute_script(WATCH)
    yield visit
    harmless(visit)


def harmless(visit: Visit) -> None:
    """Nothing of the table ran, became an element, or asked for anything elsewhere."""
    assert visit.browser.execute_script(f"return {SIGN} === undefined && parent.hacked === undefined")
    made = "main :is(img, svg[onload], iframe, script, [onerror], a[href^='javascript'], a[href='x'])"
    assert [each.get_attribute("outerHTML")[:200] for each in visit.all(made)] == []
    assert visit.browser.execute_script("return Object.keys(Object.prototype)") == []
    asked = [json.loads(entry["message"])["message"] for entry in visit.browser.get_log("performance")]
    addresses = {
        each["params"]["request"]["url"] for each in asked if each["method"] == "Network.requestWillBeSent"
    }
    own = visit.browser.current_url.rstrip("/")
    assert [
        each for each in addresses if not each.startswith((own, own.replace("http", "ws"), "data:", "blob:"))
    ] == []
    assert [each for each in addresses if each in (f"{own}/x", f"{own}/gnp.exe")] == []


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
    visit.until(
        lambda: visit.text().count("quasi-identifier\n") >= len(visit.all("[data-column]")), "the roles"
    )
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
    harmless(visit)
    visit.go(4)
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
    visit.wait("[data-mark=before] table")
    literal(visit, *NAMES)
    visit.mark("fidelity")
    visit.wait("[data-mark=fidelity-found] table")
    visit.mark("attack")
    visit.wait("[data-mark=attacked] table")
    picture(visit, "7")
    visit.go(8)
    literal(visit, path.name)
    picture(visit, "8")
    harmless(visit)
    for mark, name in (
        ("get-release", "release.csv"),
        ("get-report", "report.html"),
        ("get-script", "release.py"),
        ("get-policy", "policy.zip"),
    ):
        visit.take(mark, name)
    assert studio.errors.read_text() == ""
