"""The step "Roles": coloured heads over the table, the panel of a column, filters and undo."""

from __future__ import annotations

import polars as pl
import pytest

from incrowd.core.errors import visible
from incrowd.faces.studio.values import most_frequent
from incrowd.works.samples import hospital
from studio_browser import Visit

ROWS = 400
MARKUP = "<img src=x onerror=window.hacked=1>"


def shown(visit: Visit, path) -> None:
    """Open a table, and go to the step."""
    visit.fill("[data-field=path]", str(path))
    visit.mark("open")
    visit.until(lambda: visit.shown('[data-step="2"]:not(.disabled)'), "the table")
    visit.go(2)
    visit.wait("th[data-column]")


def heads(visit: Visit) -> list[str]:
    return [each.text for each in visit.all("th[data-column] .name")]


def role(visit: Visit, column: int) -> str:
    return visit.wait(f'[data-column="{column}"]').get_attribute("data-role")


def enabled(visit: Visit) -> bool:
    return visit.wait("[data-mark=undo-roles]").is_enabled()


@pytest.fixture
def survey(tmp_path):
    """The sample with four answers of which nobody can judge from outside what they are."""
    answers = {f"q{number}": pl.Series(["yes", "no", "no", "yes"] * 100) for number in range(4)}
    path = tmp_path / "survey.csv"
    hospital(ROWS).with_columns(**answers).write_csv(path)
    return path


def test_heads_say_each_role_by_a_colour_a_word_and_a_picture(visit, survey):
    shown(visit, survey)
    found = {}
    for each in visit.all("th[data-column]"):
        found.setdefault(each.get_attribute("data-role"), set()).add(
            (
                each.find_element("css selector", ".q-field__native").text.replace("\n", ""),
                each.find_element("css selector", ".q-icon").text,
                each.value_of_css_property("background-color"),
            )
        )
    assert {kind: {word for word, _, _ in each} for kind, each in found.items()} == {
        "identifying": {"identifying"}, "quasi": {"quasi-identifier"}, "sensitive": {"sensitive"},
        "?": {"? choose"},
    }  # fmt: skip
    assert [len(each) for each in found.values()] == [1, 1, 1, 1]
    for part in (1, 2):
        assert len({next(iter(each))[part] for each in found.values()}) == 4
    rows = [[cell.text for cell in row.find_elements("css selector", "td")] for row in visit.all("tbody tr")]
    assert [row[3] for row in rows] == [str(age) for age in hospital(ROWS)["age"][:5]]
    visit.choose('[data-column="8"] [data-field=role]', "insensitive")
    visit.until(lambda: role(visit, 8) == "insensitive", "the new colour")


def test_sixteen_columns_fit_on_one_screen(visit, survey):
    visit.browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 1440, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )
    try:
        shown(visit, survey)
        visit.reads("Columns 1 to 16 of 16")
        visit.until(lambda: visit.browser.execute_script("return innerWidth") == 1440, "the width")
        page = "const e = document.documentElement; return e.scrollHeight <= innerHeight"
        assert visit.browser.execute_script(page)
        region = (
            "const e = document.querySelector('.roles .wide-table'); return e.scrollWidth <= e.clientWidth"
        )
        assert visit.browser.execute_script(region)
    finally:
        visit.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.slow
def test_a_name_opens_a_panel_with_examples_distribution_and_reason(visit, survey):
    from selenium.webdriver.common.keys import Keys

    shown(visit, survey)
    button = visit.wait('[data-column="3"] [data-mark=open-column]')
    assert (button.tag_name, button.get_attribute("aria-pressed")) == ("button", "false")
    button.send_keys(Keys.ENTER)
    panel = visit.wait('[data-panel="3"]')
    visit.until(lambda: visit.browser.switch_to.active_element == panel, "the focus in the panel")
    assert button.get_attribute("aria-pressed") == "true"
    ages = hospital(ROWS)["age"].cast(pl.String)
    assert (
        visit.wait("[data-mark=examples]").text
        == f"For example: {', '.join(ages.unique(maintain_order=True)[:3])}"
    )
    assert "distinct values in 400 rows" in visit.wait("[data-mark=reason]").text
    visit.wait("[data-mark=distribution] table")
    # Beside each number stands its bar.
    assert sum(int(each.text or 0) for each in visit.all("[data-mark=distribution] td")) == ROWS
    for fold in ("hierarchy", "treatment"):
        assert "collapsed" in visit.wait(f"[data-mark=fold-{fold}]").get_attribute("class")
    assert "Hierarchy: intervals 5, 10, 20" in panel.text
    assert "Treatment: none" in panel.text
    # What means missing in this column alone.
    visit.click("[data-mark=fold-missing] .q-item")
    visit.fill("[data-field=missing]", "30, 31")
    visit.until(lambda: "Missing: 30, 31" in panel.text, "the codes in the line")
    # A role that is given in the panel is that of the head, and has the forms of its own.
    visit.choose('[data-panel="3"] [data-field=role]', "insensitive")
    visit.until(lambda: role(visit, 3) == "insensitive", "the role of the head")
    assert not visit.all("[data-mark=fold-hierarchy]")
    visit.mark("close-column")
    visit.until(lambda: not visit.all("[data-panel]"), "the end of the panel")
    visit.until(lambda: visit.browser.switch_to.active_element == button, "the focus in the head")
    # It stays open while other steps are shown.
    visit.column(4)
    visit.go(3)
    visit.go(2)
    visit.wait('[data-panel="4"]')


def test_columns_are_found_by_name_role_and_question(visit, survey):
    shown(visit, survey)
    assert [each.text.split("\n")[-1] for each in visit.all("[data-mark=only]") if each.is_displayed()] == [
        "5 open", "6 quasi-identifiers", "3 sensitive", "2 identifying",
    ]  # fmt: skip
    visit.click("[data-field=questions-first]")
    visit.until(lambda: heads(visit)[:2] == ["admission_type", "q0"], "the questions")
    assert len(heads(visit)) == 16
    visit.click("[data-field=questions-first]")
    visit.click("[data-mark=only][data-role=sensitive]")
    visit.until(lambda: heads(visit) == ["diagnosis", "length_of_stay", "cost"], "the sensitive columns")
    assert visit.wait("[data-mark=only][data-role=sensitive]").get_attribute("aria-pressed") == "true"
    visit.click('[data-mark=only][data-role="?"]')
    visit.until(lambda: len(heads(visit)) == 8, "both roles")
    visit.fill("[data-field=find-column]", "Q")
    visit.until(lambda: heads(visit) == ["q0", "q1", "q2", "q3"], "the answers")
    # What has got an answer stays until other columns are sought.
    visit.choose('[data-column="13"] [data-field=role]', "insensitive")
    visit.until(lambda: role(visit, 13) == "insensitive", "the answer")
    visit.fill("[data-field=find-column]", "")
    visit.until(lambda: len(heads(visit)) == 7, "the others")


@pytest.mark.slow
def test_roles_that_were_given_to_one_many_or_like_columns_are_undone(visit, tmp_path):
    answers = {f"q{number}": pl.Series(["yes", "no", "no", "yes"] * 100) for number in range(8)}
    table = hospital(ROWS).select("patient_id", "age", "sex", "diagnosis").with_columns(**answers)
    table.write_csv(tmp_path / "survey.csv")
    shown(visit, tmp_path / "survey.csv")

    def roles() -> list[str]:
        return [each.get_attribute("data-role") for each in visit.all("th[data-column]")]

    first = roles()
    assert not enabled(visit)
    visit.choose('[data-column="2"] [data-field=treatment], [data-column="2"] [data-field=role]', "person")
    visit.click("[data-field=join]")
    visit.choose('[data-column="2"] [data-field=role]', "insensitive")
    visit.until(lambda: not visit.all("[data-field=join]"), "no people any more")
    second = roles()
    for column in (0, 1):
        visit.click(f'[data-column="{column}"] [role=checkbox]')
    visit.reads("Give it to 2")
    visit.choose("[data-field=many]", "sensitive")
    visit.mark("give")
    visit.until(lambda: roles()[:2] == ["sensitive", "sensitive"], "the roles of several")
    third = roles()
    visit.choose("[data-field=together]", "quasi")
    visit.until(lambda: roles()[4:] == ["quasi"] * 8, "the roles of all")
    for before in (third, second):
        visit.mark("undo-roles")
        visit.until(lambda before=before: roles() == before, "the roles before")
    visit.mark("undo-roles")
    # The answer about people comes back with them.
    visit.wait("[data-field=join][aria-checked=true]")
    visit.mark("undo-roles")
    visit.until(lambda: roles() == first, "the first roles")
    assert not enabled(visit)
    # What a form of the panel chose is undone, too.
    visit.choose(visit.column(1, "hierarchy") + "[data-field=hierarchy]", "flat")
    visit.reads("Hierarchy: flat")
    visit.mark("undo-roles")
    visit.reads("Hierarchy: intervals")


def test_a_spelling_that_the_texts_do_not_tell_is_asked(visit, tmp_path):
    born = ["05.03.1980", "05.03.1980", "07.11.1991"] * 20
    pl.DataFrame({"birth_date": born, "sex": ["m", "f", "f"] * 20}).write_csv(tmp_path / "born.csv")
    shown(visit, tmp_path / "born.csv")
    assert visit.wait("[data-mark=open-spellings]").text.endswith("say how values are written: birth_date")
    panel = visit.column(0)
    visit.choose(f"{panel}[data-field=spelling]", "format %d.%m.%Y")
    visit.reads("Spelling: format %d.%m.%Y")
    assert not visit.all("[data-mark=open-spellings]")


@pytest.mark.slow
def test_three_hundred_columns_come_forty_at_a_time(visit, tmp_path):
    names = [f"c{number:03d}" for number in range(300)]
    pl.DataFrame(
        {name: [str(row % 2 + place) for row in range(40)] for place, name in enumerate(names)}
    ).write_csv(tmp_path / "wide.csv")
    shown(visit, tmp_path / "wide.csv")
    # With so many, the questions come first.
    visit.click("[data-field=questions-first]")
    visit.reads("Columns 1 to 40 of 300")
    visit.until(lambda: heads(visit) == names[:40], "the first page")
    visit.click('[data-mark=pages] [aria-label="Next page"]')
    visit.reads("Columns 41 to 80 of 300")
    assert heads(visit) == names[40:80]
    visit.choose('[data-column="41"] [data-field=role]', "quasi")
    visit.until(lambda: role(visit, 41) == "quasi", "the role")
    visit.fill("[data-field=find-column]", "c29")
    visit.reads("Columns 1 to 10 of 10")
    # All that are sought are chosen, on whatever page.
    visit.mark("all")
    visit.reads("Give it to 10")
    visit.fill("[data-field=find-column]", "nothing")
    visit.reads("Columns 0 to 0 of 0")


@pytest.mark.slow
def test_names_and_values_with_markup_are_shown_as_they_are_written(visit, tmp_path, studio):
    names = [MARKUP, "{{ 1 + 1 }}", '"] [data-mark=give', "__proto__", "\u202egnp.exe", "n" * 3_000]
    table = pl.DataFrame({name: [f"{MARKUP}{row % 3}" for row in range(30)] for name in names})
    table.write_parquet(tmp_path / "hostile.parquet")
    shown(visit, tmp_path / "hostile.parquet")
    for place, name in enumerate(names):
        visit.choose(f'[data-column="{place}"] [data-field=role]', "quasi")
        panel = visit.wait(visit.column(place))
        visit.wait("[data-mark=distribution] table")
        assert panel.find_element("css selector", "h3").get_attribute("textContent") == visible(name)
        assert f"For example: {MARKUP}0, {MARKUP}1" in panel.text
    visit.fill("[data-field=find-column]", MARKUP)
    visit.until(lambda: len(heads(visit)) == 1, "the column")
    assert visit.browser.execute_script("return window.hacked === undefined")
    assert not visit.all("main img")
    assert studio.errors.read_text() == ""


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["b", "a", "a", None, ""], [("a", 2), ("(empty)", 1), ("b", 1), ("(missing)", 1)]),
        (
            [str(row) for row in range(80)],
            [(f"{10 * i - (i > 4)} to {10 * (i + 1) - (i > 3)}", 10) for i in range(8)],
        ),
        ([f"v{row}" for row in range(10)], [*((f"v{row}", 1) for row in range(8)), ("other values", 2)]),
        ([None, None], [("(missing)", 2)]),
        ([float("nan"), *map(float, range(8))], None),
    ],
)
def test_the_most_frequent_values_or_ranges_are_counted(cells, found):
    records = most_frequent(pl.Series("x", cells, dtype=None if any(cells) else pl.String))
    assert sum(number for _, number in records) == len(cells)
    assert found is None or records == found
