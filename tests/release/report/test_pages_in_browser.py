"""Reports in a browser: texts of pictures stay inside, for any fonts of the reader."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import incrowd as ic
from axe_core import axe, findings
from incrowd.attacks import Attack, wilson
from incrowd.release.report.charts import attacks, boundaries, svg_for_pages
from incrowd.release.report.pages import to_html
from incrowd.samples import hospital
from studio_browser import new_browser, require_browser

__all__ = ["axe"]

SCHEMA = ic.Schema(
    quasi={
        "age": ic.Hierarchy.intervals(5, 10, 20, 40),
        "zip": ic.Hierarchy.prefix(),
        "marital_status": None,
    },
    sensitive=["diagnosis"],
    unlisted="drop",
)

OUTSIDE = """
const found = [];
for (const text of document.querySelectorAll('svg text')) {
    if (getComputedStyle(text).opacity === '0' || text.textContent === '') continue;
    const box = text.getBoundingClientRect(), frame = text.ownerSVGElement.getBoundingClientRect();
    if (box.left < frame.left - 0.5 || box.right > frame.right + 0.5) found.push(text.textContent);
}
return found;
"""
OVERLAPPING = """
const boxes = (kind) => [...document.querySelectorAll('svg ' + kind)].map(e => e.getBoundingClientRect());
return boxes('.role-axis-title text').some(a => boxes('.role-axis-label text').some(
    b => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom));
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    require_browser()
    driver = new_browser(tmp_path_factory.mktemp("downloads"))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def table():
    return hospital(2000, 1)


def opened(browser, folder, text, font):
    page = folder / "page.html"
    page.write_text(re.sub('font-family="[^"]*"', f'font-family="{font}"', text), encoding="utf-8")
    browser.get(page.as_uri())
    assert browser.find_elements("css selector", "svg text")


@pytest.mark.parametrize("font", ["Liberation Sans, sans-serif", "DejaVu Sans, Verdana"])
def test_texts_of_charts_stay_within_their_pictures(browser, table, tmp_path, font):
    release = ic.anonymize(
        table, SCHEMA, [ic.KAnonymity(5)], algorithm=ic.Optimal(), max_suppression=0.05, unanswered="write"
    )
    opened(browser, tmp_path, to_html(release.document()), font)
    assert browser.execute_script(OUTSIDE) == []
    assert not browser.execute_script(OVERLAPPING)


@pytest.mark.parametrize("font", ["Liberation Sans, sans-serif", "DejaVu Sans, Verdana"])
def test_texts_of_attacks_stay_within_their_picture(browser, tmp_path, font):
    rates = [wilson(successes, 100) for successes in (60, 7, 9)]
    names = ("singling-out-multivariate", "composition-by-order")
    drawn = svg_for_pages(attacks([Attack(name, 100, *rates, None).to_dict() for name in names]))
    assert "against others" in drawn
    opened(browser, tmp_path, drawn, font)
    assert browser.execute_script(OUTSIDE) == []


def test_title_of_an_axis_stands_beside_its_ticks(browser, table, tmp_path):
    schema = ic.Schema(quasi=["age", "zip"], unlisted="drop")
    schema = schema.with_attributes(replace(each, kind="number") for each in schema.attributes)
    table = table.with_columns(table["zip"].cast(int))
    release = ic.anonymize(table, schema, [ic.KAnonymity(20)])
    opened(browser, tmp_path, svg_for_pages(boundaries(release, "age", "zip")), "DejaVu Sans, Verdana")
    assert browser.execute_script(OUTSIDE) == []
    assert not browser.execute_script(OVERLAPPING)


BROKEN = r"""
const found = [];
const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
    const node = texts.currentNode;
    if (!node.parentElement.closest('td, dd, li, .cards')) continue;
    for (const word of node.data.matchAll(/\S+/g)) {
        if (!/^[(\[]?[-<>]*\d[\d.,\u2013\u2060-]*%?[)\];:.,]*$/.test(word[0])) continue;
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].map(each => Math.round(each.top)));
        if (lines.size > 1) found.push(word[0]);
    }
}
return found;
"""
PICTURES = """
const boxes = [...document.querySelectorAll('.grid svg')].map(each => each.getBoundingClientRect());
const page = document.querySelector('.grid').getBoundingClientRect();
const scales = [...document.querySelectorAll('.grid svg')].map(each => each.getScreenCTM().a);
return {
    share: (Math.max(...boxes.map(each => each.right)) - page.left) / page.width,
    text: 10 * Math.min(...scales),
};
"""
WIDER = """
return [...document.querySelectorAll('.scroll')].filter(each => each.scrollWidth > each.clientWidth + 1)
    .map(each => each.getAttribute('aria-label'));
"""


@pytest.mark.parametrize("width", [390, 700])
def test_figures_of_tables_never_break_and_long_names_do(browser, table, tmp_path, width):
    long = "date_of_the_first_admission_to_the_ward_or_of_the_transfer"
    table = table.rename({"marital_status": long})
    schema = ic.Schema(
        quasi={long: None, "zip": ic.Hierarchy.prefix()}, sensitive=["diagnosis"], unlisted="drop"
    )
    release = ic.anonymize(table, schema, [ic.KAnonymity(5), ic.LDiversity(2)], unanswered="write")
    rates = [wilson(successes, 100) for successes in (100, 7)]
    attack = Attack("singling-out-univariate", 100, *rates, None, None)
    page = tmp_path / "page.html"
    page.write_text(to_html(release.document(attacks=[attack])), encoding="utf-8")
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(page.as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach(each => each.open = true)")
    broken, wider, drawn = map(browser.execute_script, (BROKEN, WIDER, PICTURES))
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert broken == []
    # A telephone has no room for all columns of the widest tables; none of them is on the first page.
    assert wider == [] or width < 700
    front = {"What was asked for", "Attacks that were carried out, with 95% intervals"}
    assert front.isdisjoint(wider)
    # Pictures fill the page, with texts of 10 pixels or more.
    assert drawn["share"] > 0.95
    assert drawn["text"] >= 10


@pytest.fixture(scope="module")
def reports(table):
    """Every kind of report, with all possible parts."""
    schema = ic.Schema(
        quasi={"age": None, "zip": ic.Hierarchy.prefix()}, sensitive=["diagnosis"],
        insensitive=["patient_id"], unlisted="drop",
    )  # fmt: skip
    release = ic.anonymize(table, schema, [ic.KAnonymity(5)], unanswered="write")
    attacks = ic.attack(table, release.table, schema, attacks=20, kinds=["linkability"])
    assessed = ic.assess(table, schema, [ic.KAnonymity(5)])
    tables = [
        ic.CountTable("t", rows=["age"], columns=["sex", "admission_type"]),
        ic.CountTable("by-sex", rows=["sex"]),
    ]
    layout = ic.Schema(
        quasi={"age": ic.Hierarchy.intervals(20, 40), "sex": None}, sensitive=["admission_type"],
        unlisted="drop",
    )  # fmt: skip
    return {
        "tables": ic.tabulate(table, ic.Policy(layout), tables).document(internal=True),
        "release": release.document(attacks=attacks, internal=True),
        "assessment": assessed.document(schema),
        "comparison": ic.compare(table, schema, [ic.Random(), ic.Mondrian()], k=[2, 4]).document(),
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["release", "assessment", "comparison", "tables"])
def test_axe_finds_nothing_in_a_report_and_nothing_stands_beside_it(browser, axe, reports, tmp_path, kind):
    page = tmp_path / "page.html"
    page.write_text(to_html(reports[kind]), encoding="utf-8")
    browser.set_script_timeout(120)
    result = {}
    for width in (1440, 390):
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
        )
        for theme in ("light", "dark"):
            features = [{"name": "prefers-color-scheme", "value": theme}]
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
            browser.get(page.as_uri())
            # Folded parts are read, too.
            browser.execute_script("document.querySelectorAll('details').forEach(each => each.open = true)")
            # All rules, those on trial included.
            result[width, theme] = findings(
                browser, axe, {"rules": {"label-content-name-mismatch": {"enabled": True}}}
            )
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert {place: told for place, told in result.items() if told} == {}
