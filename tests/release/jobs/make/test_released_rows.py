"""Perturbed sensitive values: the models hold before and after, or nothing leaves."""

from __future__ import annotations

import contextlib
import json

import polars as pl
import pytest

import incrowd as ic
from incrowd.release.jobs.make import released_rows
from incrowd.release.jobs.make.released_rows import DRAWS

AGES = 30
ALWAYS = "pram:1,matrix=given,moves=b>a:1"
OFTEN = "pram:1,matrix=given,moves=b>a:0.3"
ONE_CLASS = pl.DataFrame({"age": [30] * 5, "ill": ["a"] * 4 + ["b"]})


def classes_of_five() -> pl.DataFrame:
    """Classes of five people, including a single person with another illness."""
    return pl.DataFrame(
        {"age": [20 + n // 5 for n in range(5 * AGES)], "ill": ["a", "a", "a", "a", "b"] * AGES}
    )


def schema(treatment: str, **roles: object) -> ic.Schema:
    return ic.Schema(["age"], ["ill"], treatments={"ill": treatment}, **roles)


def fewest(table: pl.DataFrame, column: str = "ill") -> int:
    """Return the fewest different values of a class that is not suppressed."""
    rows = table.filter(pl.col("age") != "*")
    return int(rows.group_by("age").agg(pl.col(column).n_unique())[column].min())


KINDS = {
    "polars": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "arrow": lambda table: table.to_arrow(),
    "lazy": lambda table: table.lazy(),
}


def frame(table: object) -> pl.DataFrame:
    return table.collect() if isinstance(table, pl.LazyFrame) else pl.DataFrame(table)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
def test_values_are_drawn_anew_until_no_class_has_a_single_one(kind):
    release = ic.anonymize(KINDS[kind](classes_of_five()), schema(OFTEN), ["k-anonymity:5", "l-diversity:2"])
    rows = frame(release.table)
    assert fewest(rows) == 2
    assert (rows["age"] == "*").sum() == 0
    # Of all rows at once, one draw in 44,000 would hold: 0.7 to the power of 30 classes.
    assert 1 < release.values.draws <= DRAWS
    assert [result.value for result in release.values.results] == [2]
    assert rows.equals(frame(release.table))


def test_a_column_of_a_single_class_that_fails_in_every_draw_is_refused_with_figures():
    with pytest.raises(ic.InfeasibleError, match="nothing was released") as refused:
        ic.anonymize(ONE_CLASS, schema(ALWAYS), "l-diversity:2")
    for part in ("l-diversity for 'ill' reaches l=1 where 2 was asked", "1 classes, 5 records", "5 of 5",
                 f"best of {DRAWS} draws", "max_suppression", "judge='original'"):  # fmt: skip
        assert part in str(refused.value)


def test_classes_that_fail_in_every_draw_are_suppressed_if_the_policy_allows_it():
    raw = pl.concat([ONE_CLASS, pl.DataFrame({"age": [50] * 5, "ill": ["a", "a", "c", "c", "c"]})])
    with pytest.raises(ic.InfeasibleError, match=r"5 of 10 \(50.00%\) would be suppressed where 40.00% may"):
        ic.anonymize(raw, schema(ALWAYS), "l-diversity:2", max_suppression=0.4)
    release = ic.anonymize(raw, schema(ALWAYS), "l-diversity:2", max_suppression=0.5)
    # As a class of their own, the values that were drawn fail, too.
    assert sorted(set(release.table["age"])) == ["50"]
    assert release.left_out == release.values.suppressed == 5
    result = ic.anonymize(raw, schema(ALWAYS), "l-diversity:2", max_suppression=0.5, suppressed="keep")
    assert sorted(set(result.table["age"])) == ["*", "50"]
    assert release.values.draws == DRAWS
    assert "5 records are suppressed" in " ".join(release.sentences())
    entry = release.to_dict()["released_values"]
    assert (entry["judge"], entry["columns"], entry["suppressed"]) == ("released", ["ill"], 5)
    assert json.dumps(entry)
    assert release.document()["released_values"] == entry


@pytest.mark.few(1)
@pytest.mark.parametrize("algorithm", ["mondrian", "optimal", "mdav", "incognito", "cell-suppression"])
def test_every_kind_of_recoding_can_lose_a_class(algorithm, tmp_path):
    raw = pl.concat([ONE_CLASS, pl.DataFrame({"age": [50] * 5, "ill": ["a", "a", "c", "c", "c"]})])
    release = ic.anonymize(
        raw, schema(ALWAYS), ["k-anonymity:5", "l-diversity:2"], algorithm, max_suppression=0.5
    )
    table = release.table.filter(pl.col("age") != "*")
    assert fewest(release.table) == 2
    release.save(tmp_path / "out")
    again = ic.Recoding.load(tmp_path / "out" / "internal" / "recoding")
    assert int(again.suppressed.sum()) == int(release.recoding.suppressed.sum())
    assert ic.verify(tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml").ok
    if algorithm != "optimal":
        assert len(table) in (5, 10)


def test_only_the_values_before_are_judged_if_the_policy_says_so(tmp_path):
    policy = ic.Policy(schema(ALWAYS), ["k-anonymity:2", "l-diversity:2"], judge="original")
    policy.write(tmp_path / "policy.toml")
    assert ic.Policy.read(tmp_path / "policy.toml").judge == "original"
    release = ic.anonymize(ONE_CLASS, policy)
    assert release.values.results == ()
    assert "not checked on released values" in repr(release)
    assert set(release.table["ill"]) == {"a"}
    text = " ".join(release.sentences())
    assert "before it was perturbed, and not by those that are released" in text
    assert "Not checked on released values: l-diversity(l=2, kind=distinct)." in text
    assert release.to_dict()["released_values"] == {
        "judge": "original", "columns": ["ill"], "not_checked": ["l-diversity(l=2, kind=distinct)"],
    }  # fmt: skip
    with pytest.raises(ic.ParameterError, match="judge"):
        ic.Policy(schema(ALWAYS), ["l-diversity:2"], judge="both")


def test_models_of_class_sizes_alone_judge_nothing_anew():
    release = ic.anonymize(ONE_CLASS, schema(ALWAYS), "k-anonymity:5")
    assert release.values is None
    assert "released_values" not in release.to_dict()


def test_a_model_of_another_column_is_not_concerned():
    raw = ONE_CLASS.with_columns(ward=pl.Series(["n", "s", "n", "s", "n"]))
    roles = ic.Schema(["age"], ["ill", "ward"], treatments={"ill": ALWAYS})
    release = ic.anonymize(raw, roles, ic.LDiversity(2, attribute="ward"))
    assert release.values is None
    with pytest.raises(ic.InfeasibleError):
        ic.anonymize(raw, roles, ic.LDiversity(2))


NUMBERS = pl.DataFrame({"age": [30] * 4 + [40] * 4, "pay": [1400, 1600, 1400, 1600, 2400, 2600, 2400, 2600]})


@pytest.mark.slow
@pytest.mark.parametrize(
    "treatment",
    ["round:5000,how=random", "microaggregate:2", "rank-swap:0.5", "record-swap:1", "noise:0.00001"],
)
def test_every_treatment_that_perturbs_is_judged_by_what_leaves(treatment):
    # A reader must not find fewer values in a class than were asked for, whatever the draw was.
    roles = ic.Schema(["age"], ["pay"], treatments={"pay": treatment})
    releases = 0
    for _ in range(20):
        with contextlib.suppress(ic.InfeasibleError):
            release = ic.anonymize(NUMBERS, roles, ["k-anonymity:4", "l-diversity:2"])
            assert fewest(release.table, "pay") >= 2
            releases += 1
    assert releases


def test_one_mean_for_all_records_is_never_diverse():
    roles = ic.Schema(["age"], ["pay"], treatments={"pay": "microaggregate:8"})
    with pytest.raises(ic.InfeasibleError, match="of the values that leave"):
        ic.anonymize(NUMBERS, roles, ["k-anonymity:4", "l-diversity:2"])


def test_what_is_not_drawn_is_judged_once(monkeypatch):
    calls = []
    counted = released_rows._frequency
    monkeypatch.setattr(
        released_rows, "_frequency", lambda *given, **named: calls.append(1) or counted(*given, **named)
    )
    roles = ic.Schema(["age"], ["pay"], treatments={"pay": "microaggregate:8"})
    with pytest.raises(ic.InfeasibleError, match="best of 1 draws"):
        ic.anonymize(NUMBERS, roles, "l-diversity:2")
    assert len(calls) == 1


def test_people_are_counted_by_the_values_that_leave(tmp_path):
    # People have three rows each, two of them alike: shares are of people, not of rows.
    raw = pl.DataFrame({
        "pid": [n // 3 for n in range(120)], "age": [20 + n // 6 for n in range(120)],
        "ill": ["abcd"[n // 3 % 4] if n % 3 else "abcde"[n % 5] for n in range(120)],
    })  # fmt: skip
    roles = schema("pram:0.5", person="pid")
    # A class may fail in every draw.
    release = ic.anonymize(raw, roles, [ic.AlphaKAnonymity(0.9, 2)], max_suppression=0.5)
    release.save(tmp_path / "out")
    raw.write_csv(tmp_path / "raw.csv")
    verification = ic.verify(
        tmp_path / "out" / "release.csv",
        tmp_path / "out" / "policy.toml",
        against=tmp_path / "raw.csv",
        row_map=tmp_path / "out" / "internal" / "rows.parquet",
    )
    assert verification.ok
    reached = {(each.model, each.quantity): each.reached for each in verification.findings}
    assert {
        ("alpha-k-anonymity", result.quantity): result.value for result in release.values.results
    } == reached


def test_a_file_that_was_tampered_with_is_not_written(tmp_path, monkeypatch):
    release = ic.anonymize(classes_of_five(), schema(OFTEN), "l-diversity:2")
    spoilt = release.table.with_columns(ill=pl.lit("a"))
    object.__setattr__(release, "table", spoilt)
    with pytest.raises(ic.InfeasibleError, match="of the values that leave"):
        release.write(tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_a_batch_is_judged_by_the_values_that_leave(tmp_path):
    policy = ic.Policy(schema(OFTEN), ["l-diversity:2"], max_suppression=0.5)
    raw = classes_of_five()
    release = ic.anonymize(raw, policy)
    applied = ic.apply_recoding(release.recoding, raw, policy)
    assert fewest(applied.table) == 2
    assert 1 < applied.values.draws <= DRAWS
    assert applied.to_dict()["released_values"]["judge"] == "released"
    applied.write(tmp_path / "next.csv")


def test_a_batch_whose_drawn_values_fail_loses_these_classes():
    raw = pl.concat([ONE_CLASS, pl.DataFrame({"age": [50] * 5, "ill": ["a", "a", "c", "c", "c"]})])
    policy = ic.Policy(schema(ALWAYS), ["l-diversity:2"], max_suppression=0.5)
    release = ic.anonymize(raw, policy)
    whole = ic.anonymize(raw, ic.Policy(schema(ALWAYS), ["k-anonymity:5"])).recoding
    applied = ic.apply_recoding(whole, raw, policy)
    assert sorted(set(applied.table["age"])) == sorted(set(release.table["age"])) == ["50"]
    assert applied.suppressed == applied.left_out == 5
    assert applied.rows()["reason"].to_list() == ["values"] * 5
    with pytest.raises(ic.InfeasibleError, match="5 of 10"):
        ic.apply_recoding(whole, raw, ic.Policy(schema(ALWAYS), ["l-diversity:2"], max_suppression=0.2))


def test_files_that_stream_are_drawn_anew(tmp_path):
    source = tmp_path / "in"
    source.mkdir()
    raw = classes_of_five()
    for number in range(3):
        raw[number * 50 : number * 50 + 50].write_csv(source / f"{number}.csv")
    release = ic.anonymize(ic.scan(source), schema(OFTEN), ["l-diversity:2"])
    release.write(tmp_path / "out.csv")
    assert fewest(pl.read_csv(tmp_path / "out.csv", infer_schema=False)) == 2
    assert 1 < release.values.draws <= DRAWS


def test_classes_that_held_keep_their_first_draw():
    import numpy as np

    from incrowd.core.io.shuffle import Draws

    first = Draws()
    second = first.renewed(np.array([3, 8]))
    third = second.renewed(np.array([8]))
    result = [each.numbers(0, 12) for each in (first, second, third)]
    assert np.flatnonzero(result[0] != result[1]).tolist() == [3, 8]
    assert np.flatnonzero(result[1] != result[2]).tolist() == [8]
    assert (third.numbers(5, 9) == result[2][5:9]).all()
    assert (first.renewed(None).numbers(0, 12) != result[0]).all()


def test_rows_whose_drawn_values_fail_are_suppressed_and_those_of_small_classes_wait():
    raw = pl.concat([ONE_CLASS, pl.DataFrame({"age": [50] * 5, "ill": ["a", "a", "c", "c", "c"]})])
    whole = ic.anonymize(raw, ic.Policy(schema(ALWAYS), ["k-anonymity:5"])).recoding
    batch = pl.concat([pl.DataFrame({"age": [30, 50], "ill": ["a", "c"]}), raw])[1:]
    policy = ic.Policy(schema(ALWAYS), ["k-anonymity:6", "l-diversity:2"], max_suppression=0.0)
    applied = ic.apply_recoding(whole, batch, policy, hold=True)
    assert (applied.held, set(applied.table["age"]), applied.suppressed) == (5, {"50"}, 0)
    policy = ic.Policy(schema(ALWAYS), ["k-anonymity:5", "l-diversity:2"], max_suppression=0.5)
    applied = ic.apply_recoding(whole, batch, policy, hold=True)
    assert (applied.held, applied.suppressed) == (0, 5)
    assert applied.rows()["row"].to_list() == [2, 3, 4, 5, 6]
