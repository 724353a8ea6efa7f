"""Loss and tables by sampling weights, before and after."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.documents import rounded
from incrowd.release.jobs.compare.fidelity import fidelity
from survey_readings import survey_table

QUASI = {"age": ic.Hierarchy.intervals(2, 4, 8, 16), "town": None}
SCHEMA = ic.Schema(quasi=QUASI, sensitive=["ill"], weights="w", unlisted="drop")
WEIGHTED = ("loss", "ncp", "generalization-intensity", "suppression")


def released(table, schema=SCHEMA, algorithm="optimal", **settings):
    settings = {"max_suppression": 0.1, "keep_order": True, "force": True, "suppressed": "keep"} | settings
    return ic.anonymize(table, schema, "k-anonymity:4", algorithm, **settings)


def repeated(table):
    """A row for every quarter of a person."""
    times = (table["w"] * 4).cast(pl.Int64).to_list()
    return table[np.repeat(np.arange(len(table)), times)].with_columns(w=pl.lit(0.25))


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("algorithm", ["optimal", "mondrian", "mdav"])
def test_the_weighted_loss_is_the_loss_of_everybody(seed, algorithm):
    """A table with a row per quarter of a person loses plainly the same as the survey by weights."""
    table = survey_table(seed, 120)
    release = released(table, algorithm=algorithm)
    columns = release.table.with_columns(w=table["w"])
    whole = ic.evaluate(repeated(table), repeated(columns).drop("w"), SCHEMA)
    for name in WEIGHTED:
        assert release.utility[name].weighted == pytest.approx(whole.utility[name].value, abs=1e-9), name
    if algorithm != "optimal":
        assert release.utility["loss"].weighted != pytest.approx(release.utility["loss"].value)
    evaluation = ic.evaluate(table, release.table, SCHEMA)
    assert {name for name, lost in evaluation.utility.items() if lost.weighted is not None} == set(WEIGHTED)
    for name in WEIGHTED:
        assert evaluation.utility[name].weighted == pytest.approx(release.utility[name].weighted)


def test_equal_weights_change_nothing():
    table = survey_table(2, 100).with_columns(w=pl.lit(3.7))
    release = released(table)
    for name in WEIGHTED:
        assert release.utility[name].weighted == pytest.approx(release.utility[name].value)
    plain = released(table, ic.Schema(quasi=QUASI, sensitive=["ill"], unlisted="drop"))
    assert all(lost.weighted is None for lost in plain.utility.values())
    assert "weighted" not in plain.utility["loss"].to_dict()
    # The search itself minimizes the loss of records.
    assert plain.recoding.levels == release.recoding.levels


def test_rows_suppressed_before_count_with_their_weights():
    table = pl.DataFrame({"age": ["1", "1", "*", "2"], "w": [1.0, 1.0, 6.0, 2.0]})
    schema = ic.Schema(quasi=["age"], weights="w")
    release = ic.anonymize(
        table,
        schema,
        "k-anonymity:2",
        max_suppression=0.9,
        keep_order=True,
        force=True,
        ends="exact",
        suppressed="keep",
    )
    evaluation = ic.evaluate(table, table, schema)
    assert evaluation.utility["loss"].weighted == pytest.approx(0.6)
    assert evaluation.people == {"estimated_by": "w", "before": 10.0, "suppressed": 6.0}
    assert release.utility["suppression"].weighted >= 0.6


def slow_table(table, release, names):
    """People by value before and after, with each record spread over the values of the cells."""
    before, after = defaultdict(float), defaultdict(float)
    rows = zip(*(table[name].to_list() for name in names), table["w"].to_list(), *(release[name].to_list() for name in names), strict=True)  # fmt: skip
    everything = {name: sorted(set(table[name].to_list())) for name in names}
    for row in rows:
        values, weight, cells = row[: len(names)], row[len(names)], row[len(names) + 1 :]
        before[tuple(map(str, values))] += weight
        meant = [[()]]
        combinations = [()]
        for name, cell in zip(names, cells, strict=True):
            meant = [value for value in everything[name] if covers(cell, value)]
            combinations = [(*known, (value, len(meant))) for known in combinations for value in meant]
        for combination in combinations:
            share = weight / np.prod([many for _, many in combination])
            after[tuple(str(value) for value, _ in combination)] += share
    return before, after


def covers(cell, value):
    if cell == "*":
        return True
    if isinstance(value, int):
        low, _, high = str(cell).strip("[]").partition("-")
        return int(low) <= value <= int(high or low)
    return cell == value


@pytest.mark.parametrize("names", [["age"], ["town"], ["age", "town"]])
def test_tables_of_the_population_before_and_after(names):
    table = survey_table(7, 150)
    release = released(table)
    frame = ic.evaluate(table, release.table, SCHEMA).table(*names)
    before, after = slow_table(table, release.table, names)
    told = {tuple(row[: len(names)]): row[len(names) :] for row in frame.rows()}
    assert set(told) == {value for value in {**before, **after} if before[value] or after[value]}
    for value, (was, is_) in told.items():
        assert was == pytest.approx(before[value])
        assert is_ == pytest.approx(after[value])
    assert frame["before"].sum() == pytest.approx(table["w"].sum())
    assert frame["after"].sum() == pytest.approx(table["w"].sum())


def test_tables_without_weights_count_records_and_names_do_not_clash():
    table = pl.DataFrame({"before": ["a", "a", "b"], "x": [1, 1, 2]})
    schema = ic.Schema(quasi=["before", "x"])
    evaluation = ic.evaluate(table, table, schema)
    assert evaluation.table("before").rows() == [("a", 2.0, 2.0), ("b", 1.0, 1.0)]
    assert evaluation.table("before").columns == ["before", "before (count)", "after (count)"]
    assert evaluation.people is None
    for names in ((), ("x", "x"), ("y",), ("x", "before", "x")):
        with pytest.raises(ic.ParameterError, match="table: name one or two of the quasi-identifiers 'before', 'x'"):  # fmt: skip
            evaluation.table(*names)


def test_distances_of_the_population_are_those_of_everybody():
    table = survey_table(9, 100)
    release = released(table)
    evaluation = ic.evaluate(table, release.table, SCHEMA)
    measures = fidelity(evaluation)
    everybody = ic.evaluate(
        repeated(table), repeated(release.table.with_columns(w=table["w"])).drop("w"), SCHEMA
    )
    whole = fidelity(everybody)
    for marginal, expected in zip(measures.weighted, whole.marginals, strict=True):
        assert marginal.total_variation == pytest.approx(expected.total_variation)
        assert marginal.hellinger == pytest.approx(expected.hellinger)
        assert marginal.wasserstein == pytest.approx(expected.wasserstein)
    assert measures.weighted != measures.marginals


def test_the_account_tells_the_weighted_loss(tmp_path):
    table = survey_table(4, 120)
    release = released(table)
    loss = release.utility["loss"]
    assert f"By the sampling weights it is {loss.weighted:.1%}." in " ".join(release.sentences())
    entry = next(each for each in release.document()["loss"] if each["metric"] == "loss")
    assert entry["weighted"] == rounded(loss.weighted)
    release.report(tmp_path / "report.html")
    assert "weighted" in (tmp_path / "report.html").read_text()
    utility = next(each for each in release.to_dict()["utility"] if each["metric"] == "loss")
    assert utility["weighted"] == loss.weighted
    json.dumps(release.to_dict())
