"""compare(): the grid, the figures, and failing runs."""

from __future__ import annotations

import csv
import io
import itertools
import json
import statistics
import time
from dataclasses import replace

import polars as pl
import pytest

import incrowd as ic
from incrowd.faces.cli.parsing import algorithms_of
from incrowd.measures.utility import METRICS
from local_readings import Quiet, scattered, schema_of


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return scattered(120, 11)


SCHEMA = schema_of("n", "t", "c")


@pytest.mark.slow
def test_every_run_is_what_anonymize_gives(table):
    comparison = ic.compare(
        table, SCHEMA, [ic.Mondrian(), ic.Random(), ic.Clustering()], k=[3, 6], l=[1, 2], seeds=[1, 5]
    )
    assert comparison.records == 120
    assert comparison.complete
    grid = [(3, 1), (3, 2), (6, 1), (6, 2)]
    asked = [(run.algorithm, run.k, run.l, run.seed) for run in comparison.runs]
    assert asked == [
        *(("mondrian", *limits, None) for limits in grid),
        *(("random", *limits, seed) for limits in grid for seed in (1, 5)),
        *(("clustering", *limits, None) for limits in grid),
    ]
    algorithms = {"mondrian": ic.Mondrian(), "random": ic.Random(), "clustering": ic.Clustering()}
    for run in comparison.runs:
        models = [ic.KAnonymity(run.k), ic.LDiversity(run.l)]
        release = ic.anonymize(table, SCHEMA, models, algorithms[run.algorithm], seed=run.seed or 0)
        assert run.utility == {name: lost.value for name, lost in release.utility.items()}
        assert (run.classes, run.smallest) == (release.privacy.classes, release.privacy.smallest)
        assert run.suppressed == release.privacy.suppressed
        assert run.seconds > 0


@pytest.mark.slow
def test_seeds_are_averaged_with_their_spread(table):
    comparison = ic.compare(table, SCHEMA, [ic.Random(), ic.Mondrian()], k=[4], seeds=[1, 2, 3])
    average, alone = comparison.averaged()
    assert (average.runs, alone.runs) == (3, 1)
    assert average.seed is None
    losses = [run.utility["loss"] for run in comparison.runs[:3]]
    assert average.utility["loss"] == pytest.approx(statistics.fmean(losses))
    assert average.spread["loss"] == pytest.approx(statistics.pstdev(losses))
    assert alone.spread is None


def test_a_failing_run_does_not_lose_the_others(table, monkeypatch):
    def broken(self, job):
        raise ValueError("a cell of the table: Alice")

    monkeypatch.setattr(ic.MDAV, "assign", broken)
    algorithms = [ic.MDAV(), ic.Microaggregation(), ic.Mondrian()]
    comparison = ic.compare(table, SCHEMA, algorithms, k=[3, 500])
    assert not comparison.complete
    problems = [run.problem for run in comparison.runs]
    assert problems[0] == "internal error (ValueError); please report it"
    assert "k=500 is more than the table's 120 records" in problems[1]
    assert "works on one number" in problems[2]
    assert problems[4] is None
    assert "Alice" not in json.dumps(comparison.to_dict())
    for run in comparison.runs:
        assert (run.utility is None) == (run.problem is not None)


def test_json_and_csv_say_the_same(table):
    comparison = ic.compare(table, SCHEMA, [ic.Random(), ic.Microaggregation()], k=[4], t=[0.9], seeds=[1, 2])
    document = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert document["format"] == "incrowd comparison"
    lines = list(csv.DictReader(io.StringIO(comparison.to_csv())))
    assert len(lines) == len(document["runs"]) == 3
    for line, run in zip(lines, document["runs"], strict=True):
        assert line["algorithm"] == run["algorithm"]
        assert (line["k"], line["t"]) == ("4", "0.9")
        assert line["problem"] == run.get("problem", "")
        for name in METRICS.names():
            assert line[name] == (str(run["utility"][name]) if "utility" in run else "")
    assert document["averages"][0]["runs"] == 2


def test_frames_have_the_figures_of_the_runs_and_of_the_averages(table):
    comparison = ic.compare(table, SCHEMA, [ic.Random(), ic.Microaggregation()], k=[4], seeds=[1, 2])
    runs = comparison.to_frame()
    lines = list(csv.DictReader(io.StringIO(comparison.to_csv())))
    assert runs.columns == list(lines[0])
    assert runs["loss"].to_list()[:2] == [run.utility["loss"] for run in comparison.runs[:2]]
    assert runs["problem"].to_list()[2] == comparison.runs[2].problem
    averages = comparison.to_frame(averaged=True)
    assert averages["runs"].to_list() == [2, 1]
    first, second = (run.utility["loss"] for run in comparison.runs[:2])
    assert averages["loss"][0] == pytest.approx((first + second) / 2, abs=1e-12)
    assert averages["loss_spread"][0] == pytest.approx(abs(first - second) / 2, abs=1e-12)
    assert averages["loss_spread"][1] is None


def test_tables_for_papers_have_the_figures_of_the_averages(table):
    algorithms = [ic.Random(), ic.Optimal(metric="ncp"), ic.Microaggregation()]
    comparison = ic.compare(table, SCHEMA, algorithms, k=[4], seeds=[1, 2], max_suppression=0.5)
    random, optimal, _ = comparison.averaged()
    header, rule, *rows = comparison.to_markdown().splitlines()
    assert header.startswith("| algorithm | k | seconds | LM | MD |")
    assert set(rule) == set("| -:")
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[:3]]
    assert {len(row) for row in cells} == {header.count("|") - 1}
    deviation = random.spread["loss"]
    assert cells[0][3] == f"{random.utility['loss']:.6g} ±{deviation:.2g}"
    assert cells[1][3] == f"{optimal.utility['loss']:.6g}"
    assert cells[2][2] == "nothing released"
    latex = comparison.to_latex()
    assert latex.startswith("% 120 records")
    assert f"{random.utility['loss']:.6g} $\\pm${deviation:.2g} &" in latex
    assert "optimal(metric=ncp) & 4 &" in latex
    assert r"\multicolumn{7}{l}{nothing released} \\" in latex
    assert latex.count("&") == 3 * 8 + 2


def test_names_are_written_for_latex_and_markdown():
    from incrowd.release.report.comparison_table import to_latex, to_markdown
    from incrowd.release.report.document import ComparisonRun

    run = ComparisonRun(r"a_b & 50% {c}\d|e", 2, None, None, None, problem="nothing")
    assert r"a\_b \& 50\% \{c\}\textbackslash{}d|e & 2 &" in to_latex(10, [run])
    assert r"| a_b & 50% {c}\d\|e | 2 |" in to_markdown(10, [run])


def test_a_policy_brings_what_the_grid_leaves_open(table, tmp_path):
    policy = ic.Policy(
        SCHEMA, (ic.KAnonymity(50), ic.LDiversity(2)), ic.Datafly(), max_suppression=0.3, seed=3
    )
    table.write_csv(tmp_path / "t.csv")
    told: list[tuple[int, int]] = []

    class Told(Quiet):
        def advance(self, done: int, total: int) -> None:
            told.append((done, total))

    comparison = ic.compare(tmp_path / "t.csv", policy, [ic.Mondrian()], k=[2, 3], progress=Told())
    for run in comparison.runs:
        models = [ic.LDiversity(2), ic.KAnonymity(run.k)]
        release = ic.anonymize(table, SCHEMA, models, max_suppression=0.3)
        assert run.utility["loss"] == release.utility["loss"].value
    assert told == [(0, 2), (1, 2)]
    as_it_is = ic.compare(table, policy, [ic.Mondrian()])
    assert as_it_is.runs[0].smallest >= 50


def tried(rows) -> ic.Comparison:
    algorithms = [ic.Mondrian(), ic.Optimal(), ic.Datafly(), ic.Clustering()]
    return ic.compare(rows, SCHEMA, algorithms, k=[3, 6], l=[1, 2], max_suppression=0.5)


@pytest.fixture(scope="module")
def expected(table) -> ic.Comparison:
    """The result of rows in memory."""
    return tried(table)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("opened", ["folder", "pattern", "scan"])
def test_a_folder_gives_the_figures_of_its_rows(table, expected, tmp_path, ending, opened):
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, part in enumerate((table[:50], table[50:90], table[90:])):
        getattr(part, f"write_{ending}")(folder / f"{number}.{ending}")
    path = {"folder": folder, "pattern": folder / f"*.{ending}", "scan": ic.scan(folder)}[opened]
    result = tried(path)
    assert result.records == expected.records == 120
    assert len(result.runs) == 16
    for run, same in zip(result.runs[:12], expected.runs[:12], strict=True):
        assert (run.problem, run.utility) == (None, same.utility)
        assert replace(run, seconds=None, utility={}) == replace(same, seconds=None, utility={})
    assert all("are not in memory" in str(run.problem) for run in result.runs[12:])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"algorithms": []}, "at least one algorithm"),
        ({"seeds": []}, "at least one algorithm and one seed"),
        ({"k": []}, "name limits"),
        ({"k": [0]}, "k must be a whole number of at least 1"),
    ],
)
def test_bad_calls(table, settings, words):
    arguments = {"algorithms": [ic.Mondrian()], "k": [2]} | settings
    with pytest.raises(ic.ParameterError, match=words):
        ic.compare(table, SCHEMA, **arguments)


def test_algorithms_on_the_command_line():
    result = algorithms_of("mondrian:mode=relaxed,choose=span, clustering,optimal:metric=ncp,budget=30s")
    assert result == [
        ic.Mondrian(mode="relaxed", choose="span"),
        ic.Clustering(),
        ic.Optimal(metric="ncp", budget="30s"),
    ]
    every = algorithms_of("all")
    assert ic.Mondrian() in every
    assert not any(entry.predicts for entry in every)
    with pytest.raises(ic.PolicyError, match="no 'mondrain' among the algorithms"):
        algorithms_of("clustering,mondrain")


def test_time_is_processor_time_of_the_stages_from_counting_to_checking(table, monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr(time, "process_time", lambda: float(next(ticks)))
    (run,) = ic.compare(table, SCHEMA, [ic.Mondrian()], k=[4]).runs
    # The clock is read once at the start of each stage: one tick each for count, search, apply and check.
    assert run.seconds == 4


@pytest.mark.slow
def test_every_setting_has_a_time_with_a_spread_on_request(table):
    algorithms = [ic.Mondrian(), ic.Random()]
    comparison = ic.compare(table, SCHEMA, algorithms, k=[4], seeds=[1, 2, 3], repeat=True)
    mondrian, random = comparison.averaged()
    assert mondrian.runs == random.runs == 3
    assert mondrian.spread["loss"] == 0 < random.spread["loss"]
    times = [run.seconds for run in comparison.runs[:3]]
    assert mondrian.seconds == pytest.approx(statistics.fmean(times))
    assert mondrian.spread["seconds"] == pytest.approx(statistics.pstdev(times))


def test_code_is_loaded_by_the_whole_table_before_repeats_are_measured(table, monkeypatch):
    from incrowd.release.jobs.compare import compare as job

    sizes, run_of = [], job.run_of

    def counted(run, rows, *others):
        sizes.append((run.algorithm, len(rows)))
        return run_of(run, rows, *others)

    monkeypatch.setattr(job, "run_of", counted)
    ic.compare(table, SCHEMA, [ic.Mondrian()], k=[3, 6], l=[2], repeat=True)
    assert sizes == [("", 120), ("mondrian", 120), ("mondrian", 120)]


def test_a_known_setting_is_not_run_again(table):
    def levels(**limits):
        return ic.compare(table, SCHEMA, [ic.Datafly()], **limits, max_suppression=0.5)

    against_k = levels(k=[3, 6])
    against_l = levels(k=[6], l=[1, 2], known=against_k)
    assert against_l.runs[0] == replace(against_k.runs[1], l=1)
    assert [(run.k, run.l) for run in against_l.runs] == [(6, 1), (6, 2)]
    with pytest.raises(ic.ParameterError, match="known is of another table, which has 120 records"):
        ic.compare(table[:100], SCHEMA, [ic.Datafly()], k=[6], known=against_k)
    # A policy with l-diversity asks for more than k alone does, and l = 1 takes its place.
    diverse = {"models": [ic.LDiversity(2)], "known": against_k}
    assert levels(k=[6], l=[1], **diverse).runs[0].seconds != against_k.runs[1].seconds


def test_runs_have_the_risks_of_their_release(table):
    (run,) = ic.compare(table, SCHEMA, [ic.Datafly()], k=[4], max_suppression=0.5).runs
    release = ic.anonymize(table, SCHEMA, [ic.KAnonymity(4)], ic.Datafly(), max_suppression=0.5)
    for model in ("prosecutor", "attribute-disclosure"):
        for name, value in release.privacy.risk[model].items():
            assert run.risk[f"{model}-{name}"] == value
    assert run.levels == release.recoding.levels
    assert run.to_dict()["risk"] == run.risk
    without = ic.compare(table.select("n", "t"), ic.Schema(["n", "t"]), [ic.Mondrian()], k=[4]).runs[0]
    assert {name.partition("-")[0] for name in without.risk} == {"prosecutor"}
    assert without.levels is None
