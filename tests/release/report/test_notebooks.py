"""A notebook shows a result as tables with every text escaped, and as charts."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import polars as pl
import pytest

import incrowd as ic
from incrowd.core.documents import rounded
from incrowd.release.jobs.make.plan import plan
from incrowd.release.verification import verify

EVIL = "<script>alert('a')</script>"
TABLE = pl.DataFrame(
    {
        EVIL: [n // 3 for n in range(60)],
        "ill & well": [f"{EVIL}{n % 4}" for n in range(60)],
        "cost": [n * 37 % 11 for n in range(60)],
        "house": [n // 2 for n in range(60)],
    }
)
SCHEMA = ic.Schema(quasi={EVIL: ic.Hierarchy.intervals(2, 4)}, sensitive=["ill & well"], unlisted="drop")
ATTACKER = ic.Attacker(EVIL, [EVIL], [ic.KAnonymity(2)])


def results(folder):
    release = ic.anonymize(TABLE, SCHEMA, [ic.KAnonymity(5), ATTACKER], ic.Optimal(), unanswered="write")
    yield release
    yield release.policy
    yield release.recoding
    yield release.lattice
    yield release.privacy
    yield from release.privacy.privacy
    yield ic.assess(TABLE, SCHEMA).by_class()
    evaluation = ic.evaluate(TABLE, release.table, SCHEMA)
    yield evaluation
    yield ic.fidelity(evaluation, columns=1)
    yield from ic.attack(TABLE, release.table, SCHEMA, attacks=10)
    yield ic.anatomize(TABLE, SCHEMA, [ic.LDiversity(2)])
    yield ic.compare(TABLE, SCHEMA, [ic.Mondrian()], k=[2, 3])
    yield ic.ensure_privacy(TABLE, SCHEMA, t=1.0, k=0)
    yield ic.privacy.P29(0.0).of(ic.assess(TABLE, SCHEMA)._measured[0])
    yield ic.loss_bound(TABLE, SCHEMA, 3)
    yield ic.risk.suda2(TABLE, [EVIL], max_size=1)
    yield from ic.risk.quasi_identifiers(TABLE, [EVIL, "house"], max_size=2)
    yield ic.risk.household_risk(TABLE, [EVIL], "house")
    yield ic.risk.population_uniqueness(TABLE, [EVIL], population=6000)
    yield ic.randomize(TABLE, {EVIL: ic.Laplace(1.0, 0, 20)})
    yield plan(TABLE, release.policy)
    yield SCHEMA
    release.policy.write(folder / "p.toml")
    release.write(folder / "t.csv")
    yield verify(folder / "t.csv", folder / "p.toml")
    release.recoding.save(folder / "r")
    yield ic.apply_recoding(folder / "r", TABLE.head(30), release.policy)


class Checked(HTMLParser):
    """Collects the tags, and whether each that opens closes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def release():
    return ic.anonymize(TABLE, SCHEMA, [ic.KAnonymity(5), ATTACKER], ic.Optimal(), unanswered="write")


def test_a_release_is_shown_as_tables_with_its_texts_escaped(release):
    for each in (release, release.policy, release.lattice, release.privacy):
        page = each._repr_html_()
        assert "<script" not in page
        assert "<table" in page
    assert "&lt;script&gt;" in release._repr_html_()


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    return list(results(tmp_path_factory.mktemp("notebooks")))


@pytest.mark.slow
def test_every_result_is_shown_as_tables_with_its_texts_escaped(every):
    escaped = 0
    for result in every:
        markup = result._repr_html_()
        page = Checked()
        page.feed(re.sub(r"<svg.*?</svg>", "", markup, flags=re.DOTALL))
        assert "<script" not in markup, type(result)
        assert page.open == [], type(result)
        assert {"table", "th"} <= set(page.tags), type(result)
        assert set(page.tags) <= {
            "table", "caption", "thead", "tbody", "tr", "th", "td", "p", "b", "ul", "li", "div",
        }, type(result)  # fmt: skip
        escaped += "&lt;script&gt;" in markup
    assert escaped > 12
    assert len({type(result) for result in every}) >= 24


def test_every_public_result_has_a_display():
    import incrowd.release.jobs.make.release as job

    classes = [getattr(ic, name) for name in dir(ic) if isinstance(getattr(ic, name), type)]
    lacking = [
        kind.__name__
        for kind in classes
        if hasattr(kind, "to_dict") and not hasattr(kind, "_repr_html_") and kind.__module__ != job.__name__
    ]
    assert lacking == []


@pytest.mark.slow
def test_long_lists_are_cut_and_say_so():
    runs = ic.compare(TABLE, SCHEMA, [ic.Mondrian()], k=range(2, 40))
    page = runs._repr_html_()
    assert "Averages; 8 more" in page
    assert page.count("<tr>") < 50


def test_release_comparison_and_attack_show_cards_a_picture_and_a_small_table(release):
    compared = ic.compare(TABLE, SCHEMA, [ic.Mondrian(), ic.Random()], k=[2, 3])
    (attack,) = ic.attack(TABLE, release.table, SCHEMA, attacks=10, kinds=["singling-out-multivariate"])
    cards = [
        (release, release.document()["board"]["cards"]),
        (compared, compared.document()["board"]["cards"]),
        (attack, [("Right guesses", f"{attack.main.value:.1%}", "with the release")]),
    ]
    for result, expected in cards:
        page = result._repr_html_()
        # The panels of a comparison stand below each other where there is little room.
        assert page.count("<svg") == (3 if result is compared else 1), result
        assert page.count("<table") == 1, result
        assert 3 <= page.count("<th ") <= 8, result
        assert [figure for _, figure, _ in expected if f"<b>{html.escape(figure)}</b>" not in page] == []
        cells = re.findall(r"<td[^>]*>([^<]*)</td>", page)
        # Four digits are enough to read; whole numbers have all.
        figures = [cell for cell in cells if re.fullmatch(r"0\.[0-9]+|[1-9][0-9]*\.[0-9]+", cell)]
        assert [each for each in figures if len(each.replace(".", "").lstrip("0")) > 4] == []


def test_a_notebook_without_the_extra_for_pictures_shows_the_figures(release, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "vl_convert", None)
    page = release._repr_html_()
    assert "<svg" not in page
    assert page.count("<table") == 1


@pytest.mark.slow
def test_charts_show_the_figures_of_the_report(release):
    sizes = release.plot.classes().to_dict()["data"]["values"]
    after = sum(row["value"] for row in sizes if row["when"] == "after")
    assert after == release.privacy.records - release.privacy.suppressed
    assert {row["when"] for row in release.plot.risk().to_dict()["data"]["values"]} == {"before", "after"}
    scores = [row["score"] for row in release.plot.front().to_dict()["data"]["values"]]
    assert scores == rounded([node.score for node in release.lattice.front()])
    bins = release.plot.column(EVIL).to_dict()["data"]["values"]
    assert sum(row["value"] for row in bins if row["when"] == "before") == 60


def test_a_table_as_it_stands_has_charts_of_one_side():
    plot = ic.assess(TABLE, SCHEMA).plot
    assert {row["when"] for row in plot.classes().to_dict()["data"]["values"]} == {"before"}
    assert {row["when"] for row in plot.risk().to_dict()["data"]["values"]} == {"before"}
    assert repr(plot) == "AssessmentPlots(classes(), risk())"


def test_what_there_is_no_chart_of_is_refused_with_what_to_do(release):
    with pytest.raises(ic.ParameterError, match="full-domain algorithm"):
        ic.anonymize(TABLE, SCHEMA, "k-anonymity:5", unanswered="write").plot.front()
    with pytest.raises(ic.ParameterError, match="'age' is no quasi-identifier"):
        release.plot.column("age")


def test_charts_ask_for_their_extra(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ic.MissingExtraError, match=r"\.\[report\]"):
        ic.assess(TABLE, SCHEMA).plot.classes()
