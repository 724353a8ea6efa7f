"""The step Explore: a chart of loss against risk, whose points can be taken."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from incrowd.faces.studio.steps import explore

from incrowd.faces.studio.work import Source, Work
from incrowd.works.samples import hospital

POINT = "//*[@data-mark='{}']//*[local-name()='text'][normalize-space()='{}']"


def open_table(visit, table, path) -> None:
    table.write_parquet(path)
    visit.fill("[data-field=path]", str(path))
    visit.mark("open")
    visit.reads(f"{table.height} rows")


def point_of(visit, mark: str, label: str):
    """Return the label of a point as it is drawn now; None while it is not."""
    return next(iter(visit.browser.find_elements("xpath", POINT.format(mark, label))), None)


def over(visit, mark: str, label: str):
    """Hold the pointer over a point, and return what is said of it. The chart may be drawn anew meanwhile."""
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver import ActionChains

    def told():
        if (point := point_of(visit, mark, label)) is None:
            return None
        try:
            visit.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", point)
            ActionChains(visit.browser).move_to_element(point).perform()
        except WebDriverException:
            return None
        shown = visit.shown(f"[data-mark={mark}] div[style*='pre-line']")
        return None if shown is None else shown.text

    return visit.until(told, f"what the point {label} is")


def take(visit, mark: str, label: str) -> None:
    """Click a point."""

    def taken() -> bool:
        point = point_of(visit, mark, label)
        return point is not None and visit.press(point)

    visit.until(taken, f"a click on the point {label}")


@pytest.fixture
def compared(visit, tmp_path):
    open_table(visit, hospital(300).select("age", "sex", "zip"), tmp_path / "people.parquet")
    visit.go(5)
    visit.fill("[data-field=sizes]", "2, 5, 9")
    visit.mark("compare")
    visit.wait("[data-mark=front] svg")
    return visit


@pytest.mark.slow
def test_a_point_says_its_figures_and_is_taken_by_a_click(compared, studio):
    visit = compared
    words = visit.wait("[data-mark=front]").text.split("\n")
    for word in ("largest risk, %", "loss, %", "mondrian", "datafly", "2 recommended"):
        assert word in words
    # The first setting loses less, but has a smaller k than the policy.
    assert visit.wait("[data-mark=recommended]").text.startswith("2 is recommended: among the settings that")
    assert visit.wait("[data-field=setting]").text == "2: mondrian, k = 5"
    told = over(visit, "front", "3")
    row = [each.text for each in visit.all("[aria-label='Settings compared'] tbody tr")][2].split()
    number, algorithm, k, loss, risk, suppressed = row
    assert told.split("\n") == [
        f"{number}: {algorithm}, k = {k}", f"loss {loss}", f"largest risk {risk}", f"suppressed {suppressed}",
    ]  # fmt: skip
    take(visit, "front", "3")
    visit.reads("Make the release")
    assert visit.wait("[data-field=algorithm]").text.startswith("mondrian: ")
    visit.go(4)
    visit.until(lambda: visit.wait("[data-field=k]").get_attribute("value") == "9", "the k of the point")
    assert studio.errors.read_text() == ""


@pytest.mark.slow
def test_names_of_columns_are_no_markup_in_the_chart_of_nodes(visit, tmp_path, studio):
    names = {"age": "<img src=x onerror=alert(1)>", "sex": "{b} {a|x}", "zip": ":formatter"}
    table = hospital(300).select(*names).rename(names)
    open_table(visit, table, tmp_path / "people.parquet")
    visit.go(2)
    visit.mark("all")
    visit.choose("[data-field=many]", "quasi")
    visit.mark("give")
    visit.go(4)
    visit.fill("[data-model=k-anonymity] [data-field=k]", "3")
    visit.go(5)
    visit.mark("lattice")
    told = over(visit, "nodes-front", "1 recommended")
    assert all(name in told for name in names.values())
    assert not visit.all("[data-mark=nodes-front] img")
    assert visit.wait("[data-mark=recommended]").text.startswith("1 is recommended: ")
    take(visit, "nodes-front", "1 recommended")
    visit.reads("Make the release")
    visit.go(5)
    visit.wait("[data-mark=free-levels]")
    assert studio.errors.read_text() == ""


@pytest.mark.slow
def test_the_words_of_the_chart_can_be_read_in_the_dark(compared):
    visit = compared
    fill = "return getComputedStyle(document.querySelector('[data-mark=front] svg text')).fill"
    try:
        shades = []
        for theme, body in (("light", "body:not(.body--dark)"), ("dark", "body.body--dark")):
            media = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
            visit.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
            visit.wait(body)
            shades.append(visit.browser.execute_script(fill))
        assert shades == ["rgb(56, 66, 78)", "rgb(219, 227, 236)"]
    finally:
        visit.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_points_of_choices_that_changed_meanwhile_are_not_offered(tmp_path, monkeypatch):
    hospital(50).select("age", "sex").write_csv(tmp_path / "people.csv")
    work, said = Work(), []
    monkeypatch.setattr(explore, "note", said.append)
    work.open(Source(tmp_path / "people.csv", "people.csv"))
    step = explore.Explore(SimpleNamespace(work=work))
    before = step._choices()
    # To look at the settings of a run changes nothing.
    work.choices.algorithm.setdefault("name", "mondrian")
    assert step._stand(before)
    work.choices.models[0]["k"] = 7
    assert not step._stand(before)
    assert said == ["The choices changed while this ran. Start it again."]
    assert step._stand(step._choices())
    work.close()
