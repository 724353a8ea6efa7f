"""The panel of a column: roles in heads and panel, the forms of a column, questions and undo."""

from __future__ import annotations

import polars as pl
import pytest

from incrowd.core.errors import visible
from incrowd.samples import hospital
from studio_browser import Visit

ROWS = 400
MARKUP = "<img src=x onerror=window.hacked=1>"


def shown(visit: Visit, path) -> None:
    """Open a table: the panel of all columns is shown."""
    visit.fill("[data-field=path]", str(path))
    visit.mark("open")
    visit.wait(visit.head(0))
    visit.wait("[data-mark=identify]")


def undoes(visit: Visit) -> bool:
    return visit.wait("[data-mark=undo-change]").is_enabled()


@pytest.fixture
def survey(tmp_path):
    """The sample with four answers that nobody can judge from outside."""
    answers = {f"q{number}": pl.Series(["yes", "no", "no", "yes"] * 100) for number in range(4)}
    path = tmp_path / "survey.csv"
    hospital(ROWS).select("name", "age", "sex", "diagnosis").with_columns(**answers).write_csv(path)
    return path


def test_heads_say_each_role_by_a_word(visit, survey):
    from selenium.webdriver.support.ui import Select

    shown(visit, survey)
    looks = {}
    for place in (0, 1, 3, 4):
        head = visit.wait(visit.head(place))
        word = Select(head.find_element("css selector", "[data-field=role]")).first_selected_option.text
        looks[head.get_attribute("data-role")] = word
    assert looks == {
        "identifying": "identifying", "quasi": "quasi-identifier", "sensitive": "sensitive", "?": "? choose",
    }  # fmt: skip
    chips = [each.text for each in visit.all(".side .chip[data-role]")]
    assert chips == ["4 open", "2 quasi-identifier", "1 sensitive", "1 identifying"]
    visit.give(4, "insensitive")
    visit.until(lambda: visit.all(".side .chip[data-role]")[0].text == "3 open", "the open question")


@pytest.mark.slow
def test_a_name_opens_a_panel_with_examples_distribution_and_reason(visit, survey):
    from selenium.webdriver.common.keys import Keys

    shown(visit, survey)
    button = visit.wait(visit.head(1) + "[data-mark=open-column]")
    assert (button.tag_name, button.get_attribute("aria-pressed")) == ("button", "false")
    button.send_keys(Keys.ENTER)
    panel = visit.wait('[data-panel="1"]')
    visit.until(lambda: button.get_attribute("aria-pressed") == "true", "the pressed name")
    ages = hospital(ROWS)["age"].cast(pl.String)
    first = ", ".join(ages.unique(maintain_order=True)[:3])
    assert visit.wait("[data-mark=examples]").text == f"For example: {first}"
    assert "distinct values in 400 rows" in visit.wait("[data-mark=reason]").text
    visit.wait("[data-mark=distribution] table")

    def records() -> int:
        return sum(int(each.text or 0) for each in visit.all("[data-mark=distribution] td"))

    # Beside each number stands its bar, before and after.
    visit.until(lambda: records() == 2 * ROWS, "the records before and after")
    for fold in ("hierarchy", "treatment"):
        assert "collapsed" in visit.wait(f"[data-mark=fold-{fold}]").get_attribute("class")
    assert "Hierarchy: intervals 5, 10, 20" in panel.text
    assert "Treatment: none" in panel.text
    # What means missing in this column alone.
    visit.click("[data-mark=fold-missing] .q-item")
    visit.fill("[data-field=missing]", "30, 31")
    visit.until(lambda: "Missing: 30, 31" in panel.text, "the codes in the line")
    # A role that is given in the panel is that of the head, and has the forms of its own.
    visit.choose('[data-panel="1"] [data-field=role]', "insensitive")
    visit.until(lambda: visit.role(1) == "insensitive", "the role of the head")
    visit.until(lambda: not visit.all("[data-mark=fold-hierarchy]"), "the end of its form")
    visit.mark("close-column")
    visit.until(lambda: not visit.all("[data-panel]"), "the end of the panel")
    # It stays open while other panels are shown.
    visit.column(2)
    visit.go("Limits")
    visit.go("Column")
    visit.wait('[data-panel="2"]')
    visit.mark("next-column")
    visit.wait('[data-panel="3"]')


def test_columns_are_found_by_name(visit, survey):
    shown(visit, survey)
    visit.fill("[data-field=find-column]", "Q")
    visit.until(
        lambda: [each.get_attribute("data-column") for each in visit.all(".head")] == [*"4567"], "the answers"
    )
    # What has got an answer stays until other columns are sought.
    visit.give(5, "insensitive")
    visit.fill("[data-field=find-column]", "nothing")
    visit.until(lambda: visit.shown(".head") is None, "no column")
    visit.reads("400 rows, 0 of 8 columns")
    visit.fill("[data-field=find-column]", "")
    visit.until(lambda: len(visit.all(".head")) > 4, "the others")
    visit.reads("400 rows, 8 columns")


@pytest.mark.slow
def test_roles_that_were_given_to_one_many_or_like_columns_are_undone(visit, tmp_path):
    answers = {f"q{number}": pl.Series(["yes", "no", "no", "yes"] * 100) for number in range(8)}
    table = hospital(ROWS).select("patient_id", "age", "sex", "diagnosis").with_columns(**answers)
    table.write_csv(tmp_path / "survey.csv")
    shown(visit, tmp_path / "survey.csv")

    def roles() -> list[str]:
        return [visit.role(place) for place in range(12)]

    first = roles()
    assert not undoes(visit)
    visit.give(2, "person")
    visit.click("[data-field=join]")
    visit.wait("[data-field=join][aria-checked=true]")
    visit.give(2, "insensitive")
    visit.until(lambda: not visit.all("[data-field=join]"), "no people any more")
    second = roles()
    visit.mark("all-quasi")
    visit.until(lambda: roles()[4:] == ["quasi"] * 8, "the roles of all")
    visit.mark("undo-change")
    visit.until(lambda: roles() == second, "the roles before")
    visit.mark("undo-change")
    # The answer about people comes back with them.
    visit.wait("[data-field=join][aria-checked=true]")
    visit.reads("Undo: linked off to on")
    visit.mark("undo-change")
    visit.wait("[data-field=join][aria-checked=false]")
    visit.mark("undo-change")
    visit.until(lambda: roles() == first, "the first roles")
    assert not undoes(visit)
    # What a form of the panel chose is undone, too.
    visit.choose(visit.column(1, "hierarchy") + "[data-field=hierarchy]", "flat")
    visit.reads("Hierarchy: flat")
    visit.mark("undo-change")
    visit.reads("Hierarchy: intervals")


@pytest.mark.slow
def test_several_columns_get_one_role(visit, survey):
    from selenium.webdriver.common.keys import Keys

    shown(visit, survey)
    visit.click(".q-expansion-item:has([data-field=many]) .q-item")
    visit.click("[data-field=many-columns]")
    for name in ("q1", "q3"):
        visit.until(
            lambda name=name: any(
                visit.press(each) for each in visit.all(".q-menu .q-item") if each.text == name
            ),
            name,
        )
    visit.key(Keys.ESCAPE)
    visit.choose("[data-field=many]", "sensitive")
    visit.mark("give")
    visit.until(
        lambda: [visit.role(place) for place in range(4, 8)] == ["?", "sensitive", "?", "sensitive"], "roles"
    )
    # All of them at once, and one less.
    visit.click(".q-expansion-item:has([data-field=many]) .q-item")
    visit.mark("all-columns")
    visit.until(lambda: len(visit.all(".q-chip")) == len(visit.all(".head[data-column]")), "all columns")
    visit.click(".q-chip .q-chip__icon--remove")
    visit.choose("[data-field=many]", "insensitive")
    visit.mark("give")
    last = len(visit.all(".head[data-column]")) - 1
    visit.until(lambda: visit.role(last) == "insensitive", "the last role")
    assert visit.role(0) != "insensitive"


def test_a_spelling_that_the_texts_do_not_tell_is_asked(visit, tmp_path):
    born = ["05.03.1980", "05.03.1980", "07.11.1991"] * 20
    pl.DataFrame({"birth_date": born, "sex": ["m", "f", "f"] * 20}).write_csv(tmp_path / "born.csv")
    shown(visit, tmp_path / "born.csv")
    assert visit.wait("[data-mark=open-spellings]").text.endswith("say how values are written: birth_date")
    panel = visit.column(0)
    visit.choose(f"{panel}[data-field=spelling]", "format %d.%m.%Y")
    visit.reads("Spelling: format %d.%m.%Y")
    visit.mark("close-column")
    visit.wait("[data-mark=identify]")
    assert not visit.all("[data-mark=open-spellings]")


@pytest.mark.slow
def test_names_and_values_with_markup_are_shown_as_they_are_written(visit, tmp_path, studio):
    names = [MARKUP, "{{ 1 + 1 }}", '"] [data-mark=give', "__proto__", "\u202egnp.exe", "n" * 3_000]
    table = pl.DataFrame({name: [f"{MARKUP}{row % 3}" for row in range(30)] for name in names})
    table.write_parquet(tmp_path / "hostile.parquet")
    shown(visit, tmp_path / "hostile.parquet")
    for place, name in enumerate(names):
        visit.give(place, "quasi")
        panel = visit.wait(visit.column(place) + "[data-panel]")
        visit.wait("[data-mark=distribution] table")
        assert panel.find_element("css selector", "h2").get_attribute("textContent") == visible(name)
        assert f"For example: {MARKUP}0, {MARKUP}1" in panel.text
    visit.fill("[data-field=find-column]", MARKUP)
    visit.until(lambda: len(visit.all(".head")) == 1, "the column")
    assert visit.browser.execute_script("return window.hacked === undefined")
    assert not visit.all("main img")
    assert studio.errors.read_text() == ""
