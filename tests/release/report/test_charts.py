"""Charts hold the displayed figures, and the one-page report is a single page with all figures."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from pypdf import PdfReader

import incrowd as ic
from incrowd.release.jobs.compare.compare import Comparison
from incrowd.release.report.charts import (
    against,
    boundaries,
    crowds,
    distribution,
    front,
    measures,
    save,
    svg_for_pages,
)
from incrowd.release.report.comparison_sentences import conclusions, observations
from incrowd.release.report.document import ComparisonRun
from incrowd.samples import hospital

SCHEMA = ic.Schema(quasi=["age", "sex"], sensitive=["diagnosis"], unlisted="drop")


@pytest.fixture(scope="module")
def table():
    return hospital(400, 1)


@pytest.fixture(scope="module")
def compared(table):
    algorithms = [ic.Random(), ic.Mondrian(), ic.Clustering()]
    return ic.compare(
        table, SCHEMA, algorithms, k=[2, 8, 32], seeds=[1, 2, 3], shuffle=True, max_suppression=1.0
    )


def panels(chart):
    return json.loads(chart.to_json())["hconcat"]


@pytest.mark.slow
def test_what_depends_on_the_order_of_rows_is_shuffled(table, compared):
    by_name = {run.algorithm: run for run in compared.averaged()}
    assert {name: run.runs for name, run in by_name.items()} == {"random": 3, "mondrian": 1, "clustering": 3}
    assert by_name["clustering"].spread["loss"] > 0
    once = ic.compare(table, SCHEMA, [ic.Clustering(), ic.Random()], k=[2], seeds=[1, 2], max_suppression=1.0)
    assert [run.seed for run in once.runs] == [None, 1, 2]
    # The seed of random shuffles the rows, so they are not shuffled before.
    of_random = [run.utility for run in compared.runs if run.algorithm == "random" and run.k == 2]
    assert of_random[:2] == [run.utility for run in once.runs[1:]]


@pytest.mark.slow
def test_charts_show_the_figures(compared):
    runs = compared.averaged()
    charts = panels(against(runs, "k", measures(compared.records)))
    assert [panel["title"]["text"].split(" (")[0] for panel in charts] == ["seconds", "LM", "MD"]
    for panel, name, scale in ((charts[1], "loss", compared.records), (charts[2], "distortion", 1)):
        rows = {(row["algorithm"], row["limit"]): row for row in panel["data"]["values"]}
        assert len(rows) == 9
        for run in runs:
            row = rows[run.algorithm, run.k]
            assert row["figure"] == pytest.approx(run.utility[name] * scale)
            spread = (run.spread or {}).get(name, 0) * scale
            assert row["high"] - row["figure"] == pytest.approx(spread, abs=1e-9)
    colours = {json.dumps(layer["encoding"]["color"]) for panel in charts for layer in panel["layer"]}
    assert len(colours) == 1
    with pytest.raises(ic.ParameterError, match="no run with a limit l gave a release"):
        against(runs, "l", measures(1))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("suffix", "start"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("json", b"{")]
)
def test_charts_are_written(compared, tmp_path, suffix, start):
    target = tmp_path / f"chart.{suffix}"
    save(against(compared.averaged(), "k", measures(compared.records)), target)
    assert target.read_bytes().startswith(start)


def test_charts_of_other_kinds_are_refused(compared, tmp_path, monkeypatch):
    chart = against(compared.averaged(), "k", measures(compared.records))
    with pytest.raises(ic.ParameterError, match=r"\.svg, \.png, \.pdf or \.json"):
        save(chart, tmp_path / "chart.gif")
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ic.MissingExtraError, match=r"pip install '\.\[report\]'"):
        against(compared.averaged(), "k", measures(compared.records))


def test_boundaries_are_those_of_the_classes():
    table = pl.DataFrame({"x": [1.0, 2, 3, 4, 5, 6], "y": [1, 1, 9, 9, 5, 5], "c": list("aabbab")})
    release = ic.anonymize(table, ic.Schema(quasi=["x", "y", "c"]), [ic.KAnonymity(2)], max_suppression=1.0)
    spec = json.loads(boundaries(release, "x", "y").to_json())
    rows = (
        spec["data"]["values"]
        if "data" in spec and "values" in spec["data"]
        else spec["layer"][0]["data"]["values"]
    )
    expected = set()
    of_row = release.recoding.class_of_key[release.frequency.row_keys]
    for number in set(of_row.tolist()):
        held = table.filter(pl.Series(of_row == number))
        expected.add((held["x"].min(), held["x"].max(), held["y"].min(), held["y"].max(), held.height))
    assert {(row["x"], row["x2"], row["y"], row["y2"], row["records"]) for row in rows} == expected
    with pytest.raises(ic.ParameterError, match="'c' is no quasi-identifier of numbers"):
        boundaries(release, "x", "c")
    full = ic.anonymize(
        table.select("x"), ic.Schema(quasi={"x": ic.Hierarchy.intervals(5)}), [ic.KAnonymity(1)], ic.Datafly()
    )
    with pytest.raises(ic.ParameterError, match="no classes of its own to draw"):
        boundaries(full, "x", "x")


def front_page():
    """Return the caption and the picture of the first page of the docs, made from the page's code."""
    page = Path(__file__).parents[3].joinpath("docs", "index.md").read_text(encoding="utf-8")
    [(caption, code)] = re.findall(r"^```\{chart\} ([^\n]*)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    *before, last = code.strip().splitlines()
    scope = {}
    exec("\n".join([*before, f"picture = {last}"]), scope)
    return caption, scope["picture"]


@pytest.mark.slow
def test_the_first_picture_of_the_docs_shows_people_who_hide_in_groups():
    caption, picture = front_page()
    before, after = panels(picture)
    *groups, points = after["layer"]
    boxes = groups[0]["data"]["values"]
    people = before["layer"][0]["data"]["values"]
    assert people == points["data"]["values"]
    # Rectangles fill the plane, and hold everybody.
    span = {axis: [min(p[axis] for p in people), max(p[axis] for p in people)] for axis in "xy"}
    plane = (span["x"][1] - span["x"][0]) * (span["y"][1] - span["y"][0])
    assert sum((b["x2"] - b["x"]) * (b["y2"] - b["y"]) for b in boxes) > 0.6 * plane
    assert all(
        any(b["x"] <= p["x"] <= b["x2"] and b["y"] <= p["y"] <= b["y2"] for b in boxes) for p in people
    )
    # One person stands out, and then one group does that has this person.
    [person], [group] = [[each for each in rows if each["one"]] for rows in (people, boxes)]
    assert group["x"] <= person["x"] <= group["x2"]
    assert group["y"] <= person["y"] <= group["y2"]
    everybody, size = sum(box["records"] for box in boxes), group["records"]
    assert before["title"]["text"] == "Before: one person stands alone"
    assert after["title"]["text"] == f"After: one of {size} who look alike"
    assert caption.startswith(f"{everybody} patients ")
    assert f" one of {size} " in caption
    # The same colours serve a light and a dark page.
    drawn = svg_for_pages(picture)
    assert "currentColor" in drawn
    assert "white" not in drawn


def test_too_many_points_to_see_are_refused():
    table = pl.DataFrame({"x": range(5_001), "y": [*range(5_000), 0]})
    release = ic.anonymize(table, ic.Schema(quasi=["x", "y"]), [ic.KAnonymity(2)])
    with pytest.raises(ic.ParameterError, match="5,001 points are too many to see"):
        crowds(release, "x", "y")


def test_dates_are_dates_on_an_axis():
    table = hospital(200, 1).select("admission_date", "age")
    schema = ic.Schema(quasi={"admission_date": "date", "age": "number"})
    release = ic.anonymize(table, schema, [ic.KAnonymity(20)])
    drawn = svg_for_pages(boundaries(release, "admission_date", "age"))
    assert ">2023-01<" in drawn
    assert ">admission date<" in drawn


@pytest.fixture(scope="module")
def drawings(compared):
    """Charts of every kind, drawn for pages."""
    release = ic.anonymize(
        hospital(200, 1).select("age", "cost"), ic.Schema(quasi=["age", "cost"]), [ic.KAnonymity(20)]
    )
    pictures = [
        boundaries(release, "age", "cost"),
        crowds(release, "age", "cost"),
        against(compared.averaged(), "k", measures(compared.records)),
        against(compared.averaged(), "k", measures(compared.records), width=225, height=160),
        release.plot.column("age"),
        release.plot.risk(),
        front([{"score": 0.1, "risk": 0.2, "chosen": True}]),
    ]
    return [svg_for_pages(picture) for picture in pictures]


@pytest.mark.slow
@pytest.mark.parametrize("column", [634, 350])
def test_texts_are_readable_at_the_width_of_a_page(drawings, column):
    """A page shrinks charts wider than the column, and puts panels without room below each other."""
    for drawn in drawings:
        widths = [float(width) for width in re.findall(r'<svg[^>]* width="([0-9.]+)"', drawn)]
        bases = [float(basis) for basis in re.findall(r"flex:1 1 ([0-9.]+)px", drawn)]
        beside = max(1, int((column + 16) / (max(bases) + 16))) if bases else 1
        room = (column - 16 * (beside - 1)) / beside
        sizes = [float(size) for size in re.findall(r'font-size="([0-9.]+)px"', drawn)]
        assert min(sizes) * min(1, room / max(widths)) >= 7.5


@pytest.mark.slow
def test_panels_are_pictures_of_their_own_that_stand_below_each_other_on_a_telephone(compared):
    drawn = svg_for_pages(against(compared.averaged(), "k", measures(compared.records)))
    assert drawn.count("<svg") == 3
    assert "flex-wrap:wrap" in drawn
    # A picture alone has its own legend.
    assert drawn.count(">mondrian<") == 3


def test_the_line_of_a_front_never_goes_below_a_risk_that_is_reached():
    nodes = [
        {"score": score, "risk": 0.06 / place, "chosen": place == 1} for place, score in ((1, 0.1), (2, 0.4))
    ]
    line, points = front(nodes)["layer"]
    assert line["mark"]["interpolate"] == "step-after"
    # The best recoding stands apart from the axis, so that its whole mark is seen.
    assert points["encoding"]["x"]["scale"]["padding"] > 0


def test_long_labels_go_on_in_a_second_line_and_break_no_word():
    name = "heart failure and other diseases of the circulation"
    bins = [{"label": label, "before": 5, "after": 5} for label in (name, "flu")]
    drawn = svg_for_pages(distribution({"name": "diagnosis", "bins": bins}))
    lines = re.findall(r">([^<>]+)<", drawn)
    assert "heart failure and other" in lines
    assert "diseases of the circulation" in lines
    longer = f"{name} and of much else that has no room in a chart"
    drawn = svg_for_pages(
        distribution({"name": "diagnosis", "bins": [bins[1], {**bins[0], "label": longer}]})
    )
    assert ">diseases of the circulation …<" in drawn


@pytest.mark.slow
def test_the_one_page(table, compared, tmp_path):
    varied = ic.compare(table, SCHEMA, [ic.Mondrian()], k=[8], l=[1, 2, 3])
    target = tmp_path / "report.pdf"
    about = "people.csv #set page(paper: a0) *not bold*"
    compared.one_page(target, against_l=varied, at_k=8, title="A comparison", about=about)
    pages = PdfReader(target).pages
    assert len(pages) == 1
    assert [round(float(side)) for side in pages[0].mediabox[2:]] == [595, 842]
    text = " ".join(pages[0].extract_text().split())
    for words in ("A comparison", about, "Impact of k in k-anonymity", "Impact of l in l-diversity at k = 8"):
        assert words in text
    run = next(run for run in compared.averaged() if (run.algorithm, run.k) == ("mondrian", 8))
    assert f"{run.utility['distortion']:,.0f}" in text
    assert f"{run.utility['loss'] * 400:,.0f}" in text
    assert "The terminal gives LM per record: LM / 400." in text
    assert text.count("per record") == 1
    for line in (*observations(compared.averaged(), "k", 400), *conclusions(varied.averaged(), "l")):
        assert "".join(line.split()) in "".join(text.split())
    again = tmp_path / "again.pdf"
    compared.one_page(again, against_l=varied, at_k=8, title="A comparison", about=about)
    assert again.read_bytes() == target.read_bytes()


@pytest.mark.slow
def test_pages_that_cannot_be(table, compared, tmp_path, monkeypatch):
    with pytest.raises(ic.ParameterError, match=r"is written as \.pdf"):
        compared.one_page(tmp_path / "report.html")
    many = ic.compare(
        table, SCHEMA, [ic.Random(), *(ic.Mondrian(max_depth=depth) for depth in range(1, 6))], k=[2]
    )
    with pytest.raises(ic.ParameterError, match="room for 5 algorithms, not for 6"):
        many.one_page(tmp_path / "report.pdf")
    monkeypatch.setitem(sys.modules, "typst", None)
    with pytest.raises(ic.MissingExtraError, match="needs typst"):
        compared.one_page(tmp_path / "report.pdf")
    assert not list(tmp_path.iterdir())


def _comparison(names, limit, values, spread=0.0):
    """Runs of made-up figures, two seeds each."""
    return Comparison(
        400,
        tuple(
            ComparisonRun(
                name, **{"k": None, "l": None, "t": None, limit: value}, seed=seed,
                seconds=10.0**-place * (1 + seed * spread),
                utility={"loss": 0.1 + value / 1000, "distortion": 1000.0 + value},
            )
            for place, name in enumerate(names)
            for value in values
            for seed in (0, 1)
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("names", "values"), [("abc", 28), pytest.param("abcde", 60, marks=pytest.mark.slow)]
)
def test_one_page_is_one_page_whatever_is_compared(tmp_path, names, values):
    limits = list(range(4, 4 + 4 * values, 4))
    target = tmp_path / "report.pdf"
    many_l = _comparison(names[-1], "l", range(1, 9))
    _comparison(names, "k", limits).one_page(target, against_l=many_l, at_k=16)
    pages = PdfReader(target).pages
    assert len(pages) == 1
    text = " ".join(pages[0].extract_text().split())
    number = int(re.search(rf"The tables show (\d+) of {values} values of k", text)[1])
    assert 4 < number < values
    for value in (limits[0], limits[-1]):
        assert f"{value} 1.000 {40 + value * 0.4:,.0f} {1000 + value:,}" in text
    with pytest.raises(ic.ParameterError, match="one page has no room for all of this"):
        _comparison("ab", "k", [2, 4]).one_page(tmp_path / "no.pdf", about="word " * 3000)
    assert not (tmp_path / "no.pdf").exists()


@pytest.mark.slow
def test_legends_name_what_is_drawn_and_keep_its_colour():
    runs = _comparison("c", "l", [1, 2]).averaged()
    for panel in panels(against(runs, "l", measures(400), algorithms=list("abc"))):
        for layer in panel["layer"]:
            for channel in set(layer["encoding"]) & {"color", "shape"}:
                assert layer["encoding"][channel]["legend"]["values"] == ["c"]
                assert layer["encoding"][channel]["scale"]["domain"] == list("abc")


@pytest.mark.slow
def test_bands_on_a_logarithmic_axis_end_above_nothing():
    runs = _comparison("abc", "k", [2, 4], spread=50).averaged()
    seconds = panels(against(runs, "k", measures(400)))[0]
    assert seconds["title"]["text"] == "seconds (log scale)"
    rows = seconds["data"]["values"]
    assert all(0 < row["low"] < row["figure"] < row["high"] for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("many", [False, True])
def test_an_axis_of_many_values_chooses_its_own(many):
    values = list(range(2, 60, 2)) if many else [4, 8, 16]
    panel = panels(against(_comparison("a", "k", values).averaged(), "k", measures(400)))[0]
    axis = panel["layer"][0]["encoding"]["x"]["axis"]
    assert axis.get("values") == (None if many else values)


@pytest.mark.slow
def test_labels_of_axes_are_plain_numbers():
    runs = _comparison("a", "l", [10, 20, 30]).averaged()
    runs = [replace(run, seconds=run.l, utility={"loss": 0.4, "distortion": 150_000}) for run in runs]
    drawn = svg_for_pages(against(runs, "l", measures(30_000)))
    labels = re.findall(r">([^<>]+)</text>", drawn)
    assert {"10", "20", "30", "12,000", "150,000"} <= set(labels)
    assert not [label for label in labels if re.search(r"\de[+-]?\d|\dk", label)]


def test_the_page_shows_the_spread_of_times(tmp_path):
    target = tmp_path / "report.pdf"
    _comparison("abcde", "k", [4, 8], spread=1).one_page(target)
    text = " ".join(PdfReader(target).pages[0].extract_text().split())
    # Of 1 and 2 seconds the mean is 1.5, and the standard deviation 0.5.
    assert re.search(r"4 1\.500\s?±\s?0\.500 42", text)
    assert "Seconds are processor time" in text


def test_spreads_that_have_no_room_in_a_table_are_in_the_charts_alone(tmp_path):
    target = tmp_path / "report.pdf"
    runs = _comparison("abcde", "k", [4, 8], spread=1).runs
    wide = [replace(run, seconds=1e4 * run.seconds, utility={"loss": 0.5, "distortion": 1e7}) for run in runs]
    Comparison(400, tuple(wide)).one_page(target)
    text = " ".join(PdfReader(target).pages[0].extract_text().split())
    assert "4 15,000.000 200 10,000,000 1,500.000 200 10,000,000" in text
