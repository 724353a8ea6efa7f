"""The picture and the table of settings that were tried to keep an analysis."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import incrowd as ic
from incrowd.release.report.content import contents_of
from incrowd.release.report.trials import Trial, blocks_of, chart, entries_of, table_of
from incrowd.release.report.vega import svg_for_pages

TRIALS = (
    Trial("on a sample", 300, 0.9, 0.1, 0.0, 0.2, 0.1),
    Trial("as it is", 1000, 0.5, 0.2, 0.0, 0.2, 0.1),
    Trial("the best", 1000, 0.75, 0.3, 0.02, 0.2, 0.15, chosen=True),
    Trial("open", 1000, 0.8, 0.3, 0.0, 0.25, 0.2, problem="OPEN: a point about one person"),
    Trial("impossible", 1000, problem="12 of 1000 records would be suppressed"),
)


def test_trials_of_samples_and_messages_about_the_table_are_left_out():
    entries = entries_of(TRIALS)
    assert [(each["setting"], each["state"]) for each in entries] == [
        ("as it is", "holds"), ("the best", "chosen"), ("open", "refused"), ("impossible", "refused")
    ]  # fmt: skip
    assert "person" not in json.dumps(entries)
    assert "would be" not in json.dumps(entries)


def test_the_picture_has_a_point_for_each_release():
    spec = chart(entries_of(TRIALS))
    points = {each["setting"]: each["state"] for each in spec["data"]["values"]}
    assert points == {"as it is": "holds", "the best": "chosen", "open": "refused"}
    # Colours are told apart by shape, too, and the chosen one lies on top.
    assert spec["encoding"]["shape"]["scale"]["range"] == ["diamond", "circle", "cross"]
    assert spec["data"]["values"][-1]["setting"] == "the best"


def test_the_table_has_them_all():
    assert table_of(entries_of(TRIALS)).rows == [
        ["as it is", "50%", "20%", "0%", "20%", "10%", "holds"],
        ["the best", "75%", "30%", "2%", "20%", "15%", "chosen"],
        ["open", "80%", "30%", "0%", "25%", "20%", "refused"],
        ["impossible", "\N{EN DASH}", "\N{EN DASH}", "\N{EN DASH}", "\N{EN DASH}", "\N{EN DASH}", "refused"],
    ]


def test_a_report_has_them_where_somebody_tuned():
    table = ic.samples.hospital(100).select("age")
    release = ic.anonymize(table, ic.Schema(quasi=["age"]), "k-anonymity:20")
    document = release.document()
    assert (document["trials"], blocks_of(document)) == ([], [])
    appendix = contents_of(document | {"trials": entries_of(TRIALS)})["appendix"]
    shown = [block for block in appendix if block["title"].startswith("Settings that were tried")]
    assert [block["kind"] for block in shown] == ["pictures", "table"]
    assert shown[0]["pictures"][0][0] == "Each point is a setting; 1 of 4 gave no release"
    assert blocks_of({"trials": entries_of(TRIALS[-1:])})[0]["kind"] == "table"


def test_a_name_of_a_column_never_becomes_markup():
    """The studio shows the picture as it is."""
    pytest.importorskip("vl_convert")
    name = 'weight of </text></svg><script>alert(1)</script><img src=x onerror="a()"> times 3'
    trials = (Trial(name, 10, 0.5, 0.1, 0.0, 0.2, 0.1), *TRIALS[2:3])
    picture = svg_for_pages(chart(entries_of([replace(each, records=10) for each in trials])))
    assert "&lt;script" in picture
    assert "<script" not in picture
    assert "<img" not in picture
