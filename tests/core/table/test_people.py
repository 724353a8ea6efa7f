"""Counting people in place of rows, held against people as sets."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from crossed import crossed
from incrowd.engines import engine_for
from people_readings import Reading, people_table

ROOT = Path(__file__).parents[3]
SCHEMA = ic.Schema(quasi=["age", "town"], sensitive=["ill", "cost"], person="person")


def read(table: pl.DataFrame) -> Reading:
    return Reading(
        table["person"].to_list(),
        [table["age"].to_list(), table["town"].to_list()],
        {name: table[name].to_list() for name in ("ill", "cost")},
    )


def test_two_rows_of_one_person_are_one_person():
    table = pl.DataFrame(
        {
            "who": ["a", "a", "b", "b", "b"],
            "age": [30, 30, 30, 40, 40],
            "ill": ["flu", "flu", "hiv", "flu", "flu"],
        }
    )
    schema = ic.Schema(quasi=["age"], sensitive=["ill"], person="who")
    assessment = ic.assess(table, schema, "k-anonymity:2")
    # Two people are 30 years old in three rows; only b is 40, in two rows.
    assert assessment.smallest == 2
    assert assessment.privacy[0].value == 1
    assert assessment.privacy[0].failing == (1, 2)
    assert assessment.privacy[0].failing_people == 1
    assert not assessment.holds


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
def test_every_figure_is_that_of_people_as_sets(seed):
    table = people_table(seed)
    reading = read(table)
    near = pytest.approx
    assessment = ic.assess(
        table,
        SCHEMA,
        [
            ic.KAnonymity(2),
            *(model for name in ("ill", "cost") for model in (
                ic.LDiversity(1, attribute=name),
                ic.LDiversity(1, "entropy", attribute=name),
                ic.LDiversity(1, "recursive", 3, attribute=name),
                ic.LDiversity(1, joint=True, attribute=name),
                ic.NormalizedEntropy(0.0, attribute=name),
                ic.TCloseness(1.0, "equal", attribute=name),
                ic.AlphaKAnonymity(1.0, 1, attribute=name),
                ic.AlphaKAnonymity(1.0, 1, attribute=name, joint=True),
                ic.BetaLikeness(9e9, attribute=name),
                ic.DeltaDisclosure(9e9, attribute=name),
            )),
            ic.TCloseness(1.0, "ordered", attribute="cost"),
            ic.LKCPrivacy(1, 1, 1.0, attribute="ill"),
            ic.MaximumRisk(1.0),
            ic.AverageRisk(1.0),
            ic.RecordsAtRisk(1.0, 0.3),
        ],
    )  # fmt: skip
    values = [measured.value for measured in assessment.privacy]
    expected = [reading.k()]
    for name in ("ill", "cost"):
        expected += [
            reading.distinct(name),
            near(reading.entropy(name), abs=1e-12),
            reading.recursive(name, 3),
            reading.joint_distinct(name),
            near(reading.normalized(name), abs=1e-12),
            near(reading.equal_distance(name), abs=1e-12),
            near(reading.alpha(name), abs=1e-12), reading.k(),
            near(reading.joint_alpha(name), abs=1e-12), reading.k(),
            near(reading.gain(name), abs=1e-9),
            near(reading.log_ratio(name), abs=1e-12),
        ]  # fmt: skip
    known = reading.lkc("ill", 1, 2)
    expected += [
        near(reading.ordered_distance("cost"), abs=1e-12),
        near(known[1], abs=1e-12), known[0],
        1 / reading.k(),
        near(reading.average_risk(), abs=1e-12),
        near(reading.at_risk(0.3), abs=1e-12),
    ]  # fmt: skip
    assert values[: len(expected)] == expected
    confidence = {
        figure: max(reading.confidence(name)[figure] for name in ("ill", "cost"))
        for figure in ("max", "mean", "homogeneous", "baseline")
    }
    assert assessment.risk["attribute-disclosure"] == near(confidence, abs=1e-12)
    assert assessment.risk["prosecutor"]["mean"] == near(reading.average_risk(), abs=1e-12)
    assert assessment.risk["prosecutor"]["at_risk"] == near(reading.at_risk(0.2), abs=1e-12)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
def test_one_row_a_person_is_counted_as_without_the_role(seed):
    table = people_table(seed).with_columns(pl.int_range(pl.len()).alias("person"))
    plain = ic.Schema(quasi=["age", "town"], sensitive=["ill", "cost"], identifying=["person"])
    frequency = engine_for(table).count(SCHEMA).frequency
    assert frequency.people.table is None
    assert frequency.people.number == len(table)
    assert ic.assess(table, SCHEMA).privacy == ic.assess(table, plain).privacy


ALGORITHMS = [
    "mondrian",
    "mondrian:mode=relaxed",
    "mondrian:categories=ordered",
    "mondrian:choose=gain,target=ill",
    "optimal",
    "optimal:metric=average-class-size",
    "optimal:recode_suppressed=true",
    "optimal:recode_suppressed=true,rounds=search",
    "flash",
    "ola",
    "incognito",
    "samarati",
    "datafly",
    "bottom-up",
    "clustering",
    "k-member",
    "oka",
    "mdav",
    "random",
    "cell-suppression",
    "top-down-specialization:target=ill",
    "bottom-up-generalization:target=ill",
]


HOLDS = {
    ic.KAnonymity(4): lambda reading: reading.k() >= 4,
    ic.LDiversity(2, "entropy"): lambda reading: reading.entropy("ill") >= 2 - 1e-9,
    ic.TCloseness(0.4, "equal"): lambda reading: reading.equal_distance("ill") <= 0.4 + 1e-9,
    ic.AlphaKAnonymity(0.7, 4): lambda reading: reading.alpha("ill") <= 0.7 + 1e-9 and reading.k() >= 4,
    ic.AverageRisk(0.2): lambda reading: reading.average_risk() <= 0.2 + 1e-9,
}


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("algorithm", "model"), crossed(ALGORITHMS, HOLDS), ids=lambda each: getattr(each, "name", each)
)
def test_every_algorithm_leaves_classes_of_people(algorithm, model):
    holds = HOLDS[model]
    for seed in range(3):
        table = people_table(seed, people=60)
        schema = ic.Schema(
            quasi={
                "age": ic.Hierarchy.intervals(2, 4, 8, 16),
                "town": ic.Hierarchy.from_nested({"*": {"ab": ["a", "b"], "cd": ["c", "d"]}}),
            },
            sensitive=["ill"], person="person", unlisted="drop",
        )  # fmt: skip
        if algorithm in ("flash", "ola", "incognito") and not isinstance(model, ic.KAnonymity):
            with pytest.raises(ic.ParameterError, match="use optimal"):
                ic.anonymize(table, schema, model, algorithm, max_suppression=0.3, suppressed="keep")
            continue
        try:
            release = ic.anonymize(
                table,
                schema,
                model,
                algorithm,
                max_suppression=0.3,
                suppressed="keep",
                keep_order=True,
                force=True,
            )
        except ic.InfeasibleError:
            continue
        assert "person" not in release.table.columns
        reading = Reading(
            table["person"].to_list(),
            [release.table[name].to_list() for name in ("age", "town")],
            {"ill": table["ill"].to_list()},
        )
        assert holds(reading), (algorithm, model, seed)


def test_a_population_has_one_row_a_person():
    table = people_table(1)
    with pytest.raises(ic.TableError, match=r"^population: it has several rows of one person"):
        ic.assess(table, SCHEMA, population=table)
    once = table.filter(pl.col("person").is_not_null()).unique("person", keep="first", maintain_order=True)
    assert ic.assess(table, SCHEMA, "k-map:1", population=once).reached("k-map") is not None


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        (lambda table: ic.Schema(quasi=["age", "town"], person="age"), "column 'age' is both person and quasi"),
        (lambda table: ic.assess(table, ic.Schema(quasi=["age"], person="whose")), "has no column 'whose'"),
        (
            lambda table: ic.anonymize(
                table, ic.Schema(quasi=["age", "town"], person="person", unlisted="drop"), "k-anonymity:41"
            ),
            "k=41 is more than the table's 40 people",
        ),
        (
            lambda table: ic.anatomize(table, ic.Schema(quasi=["age"], sensitive=["ill"], person="person", unlisted="drop"), "l-diversity:2"),
            "rows of a person can be joined",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_counted_is_refused(how, problem):
    with pytest.raises(ic.InputError, match=problem):
        how(people_table(3, missing=False))


def test_a_model_that_people_make_unsound_is_refused_by_algorithms_that_rely_on_it():
    schema = ic.Schema(quasi={"age": ic.Hierarchy.intervals(2, 4, 8)}, sensitive=["ill"], person="person", unlisted="drop")  # fmt: skip
    with pytest.raises(ic.ParameterError, match="use optimal"):
        ic.anonymize(people_table(3), schema, ic.TCloseness(0.5, "equal"), "flash")


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "limit"), crossed(range(4), [0.0, 0.05, 0.2]))
def test_the_optimum_is_that_of_all_nodes(seed, limit):
    from itertools import product

    table = people_table(seed, people=50)
    schema = ic.Schema(
        quasi={
            "age": ic.Hierarchy.intervals(2, 4, 8, 16, 32),
            "town": ic.Hierarchy.from_nested({"*": {"ab": ["a", "b"], "cd": ["c", "d"]}}),
        },
        sensitive=["ill"], person="person", unlisted="drop",
    )  # fmt: skip
    models = [ic.KAnonymity(5), ic.AlphaKAnonymity(0.9, 1)]
    keeping = {"max_suppression": limit, "suppressed": "keep", "keep_order": True, "force": True}
    best = ic.anonymize(table, schema, models, "optimal", **keeping)
    result = []
    for age, town in product(range(7), range(3)):
        # What each class holds is read from the release of a node that asks for nothing.
        cells = ic.anonymize(table, schema, "k-anonymity:1", levels={"age": age, "town": town}, **keeping) if (age, town) != (6, 2) else None  # fmt: skip
        if cells is None:
            continue
        columns = [cells.table[name].to_list() for name in ("age", "town")]
        reading = Reading(table["person"].to_list(), columns, {"ill": table["ill"].to_list()})
        bad = {
            cell
            for cell, people in reading.classes.items()
            if len(people) < 5 or max(reading.counts("ill", cell).values()) / len(people) > 0.9 + 1e-12
        }
        gone = sum(cell in bad for cell in zip(*columns, strict=True))
        if gone > limit * len(table) or gone == len(table):
            continue
        node = ic.anonymize(table, schema, models, levels={"age": age, "town": town}, **keeping)
        assert node.privacy.suppressed == gone
        result.append(node.utility["loss"].value)
    assert best.utility["loss"].value == min(result)


@pytest.mark.slow
def test_report_and_account_tell_people(tmp_path):
    import json

    import jsonschema

    table = people_table(4, people=80)
    schema = ic.Schema(quasi={"age": ic.Hierarchy.intervals(2, 4, 8, 16), "town": None}, sensitive=["ill"], person="person", unlisted="drop")  # fmt: skip
    release = ic.anonymize(table, schema, "k-anonymity:4")
    release.save(tmp_path / "safe")
    release.report(tmp_path / "report.json")
    release.report(tmp_path / "report.html")
    document = json.loads((tmp_path / "report.json").read_text())
    published = (ROOT / "docs" / "report.schema.json").read_text()
    jsonschema.validate(document, json.loads(published))
    people = len(set(table["person"].drop_nulls())) + table["person"].null_count()
    assert document["people"]["after"]["people"] == people
    assert document["people"]["after"]["smallest"] >= 4
    assert document["people"]["before"]["smallest"] < 4
    assert f"of {people} people" in document["sentences"][0]
    assert "people alone in a class" in (tmp_path / "report.html").read_text()
    account = json.loads((tmp_path / "safe" / "release.json").read_text())
    assert account["after"]["people"]["people"] == people
    # Nobody's name leaves: not in the release, nor in what is kept of it.
    for file in (tmp_path / "safe").rglob("*"):
        if file.is_file():
            assert b"p17" not in file.read_bytes(), file
    again = ic.Policy.read(tmp_path / "safe" / "policy.toml")
    assert again.schema.person == ("person",)


def test_a_release_that_holds_other_rows_than_were_recoded_is_refused(monkeypatch):
    from incrowd.engines.memory import MemoryCount

    table = people_table(4, people=80)
    schema = ic.Schema(quasi=["age", "town"], sensitive=["ill"], person="person", unlisted="drop")
    original = MemoryCount.apply

    def swapped(self, *arguments):
        released = original(self, *arguments)
        first = released.table["ill"].to_list()
        return replace(released, table=released.table.with_columns(pl.Series("ill", [*first[1:], first[0]])))

    monkeypatch.setattr(MemoryCount, "apply", swapped)
    with pytest.raises(ic.TableError, match="does not hold the rows that were recoded"):
        ic.anonymize(table, schema, "k-anonymity:4")


def test_released_rows_in_another_order_have_the_same_people(monkeypatch):
    from incrowd.engines.memory import MemoryCount

    table = people_table(4, people=80)
    schema = ic.Schema(quasi=["age", "town"], sensitive=["ill"], person="person", unlisted="drop")
    models = ["k-anonymity:4", "l-diversity:2"]
    in_order = ic.anonymize(table, schema, models).privacy
    original = MemoryCount.apply

    def reverse(self, *arguments):
        released = original(self, *arguments)
        return replace(released, table=released.table.reverse())

    monkeypatch.setattr(MemoryCount, "apply", reverse)
    turned = ic.anonymize(table, schema, models).privacy
    assert turned.people == in_order.people
    assert [turned.reached(name) for name in ("k-anonymity", "l-diversity")] == [
        in_order.reached(name) for name in ("k-anonymity", "l-diversity")
    ]


WRITTEN = {
    "whole floats": [9007199254740992.0, 1.5, -0.0, 2.0],
    "missing and no number": [1.0, float("nan"), None, 2.0],
    "times": [dt.datetime(2020, 1, 1, 5), dt.datetime(2020, 1, 2), None, dt.datetime(2020, 1, 2, 0, 0, 0, 1)],
    "days at midnight": [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2), None, dt.datetime(2020, 1, 3)],
    "texts of numbers": ["1", "1.0", "01", None],
}


@pytest.mark.few(3)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("what", WRITTEN)
def test_a_file_may_write_a_sensitive_value_in_other_words(what, suffix, tmp_path):
    table = pl.DataFrame({"who": ["a", "a", "b", "c"], "age": [30] * 4, "ill": WRITTEN[what]}, strict=False)
    schema = ic.Schema(quasi=["age"], sensitive=["ill"], person="who")
    release = ic.anonymize(table, schema, "k-anonymity:3")
    release.write(tmp_path / f"release.{suffix}")
    read = pl.read_csv if suffix == "csv" else pl.read_parquet
    assert read(tmp_path / f"release.{suffix}").shape == (4, 2)


@pytest.mark.parametrize("person", [False, True])
def test_a_file_is_judged_by_what_it_says_with_people_and_without(person, tmp_path):
    """Times in a CSV file are words to a reader, so distances are those of words."""
    days = [dt.datetime(2020, 1, day, 5) for day in (1, 3, 5, 7, 2, 4, 6, 8)]
    table = pl.DataFrame({"who": list("aabcdefg"), "group": ["x"] * 4 + ["y"] * 4, "day": days})
    role = {"person": "who"} if person else {"identifying": ["who"]}
    schema = ic.Schema(quasi=["group"], sensitive=["day"], **role)
    release = ic.anonymize(table, schema, ["k-anonymity:3", "t-closeness:0.3"], "optimal")
    release.write(tmp_path / "release.parquet")
    with pytest.raises(ic.InfeasibleError, match=r"t-closeness for 'day' reaches t=0\.5"):
        release.write(tmp_path / "release.csv")


def test_a_suppressed_row_with_another_value_is_another_row(monkeypatch):
    """The whole table's shares count suppressed rows, too."""
    from incrowd.engines.memory import MemoryCount

    table = pl.DataFrame({"who": list("aabcdz"), "age": [30] * 5 + [90], "ill": [*"fghfg", "f"]})
    schema = ic.Schema(quasi=["age"], sensitive=["ill"], person="who")
    original = MemoryCount.apply

    def changed(self, *arguments):
        released = original(self, *arguments)
        ill = pl.when(pl.col("age") == "*").then(pl.lit("g")).otherwise("ill")
        return replace(released, table=released.table.with_columns(ill=ill))

    ic.anonymize(table, schema, "k-anonymity:3", "cell-suppression", max_suppression=0.2, suppressed="keep")
    monkeypatch.setattr(MemoryCount, "apply", changed)
    with pytest.raises(ic.TableError, match="does not hold the rows that were recoded"):
        ic.anonymize(
            table, schema, "k-anonymity:3", "cell-suppression", max_suppression=0.2, suppressed="keep"
        )


def test_people_are_counted_where_means_come_back_as_numbers():
    table = people_table(2, people=60)
    schema = ic.Schema(quasi=["age"], sensitive=["ill"], person="person", unlisted="drop")
    release = ic.anonymize(table, schema, "k-anonymity:4", "microaggregation", output="mean", keep_order=True, force=True)  # fmt: skip
    assert release.table["age"].dtype.is_float()
    reading = Reading(table["person"].to_list(), [release.table["age"].to_list()], {})
    assert reading.k() >= 4


@pytest.mark.slow
@pytest.mark.parametrize("k", [5, 10])
def test_encounters_of_diabetes_hold_by_people_where_rows_did_not(shared_data, k):
    """UCI diabetes, 101,766 encounters of 71,518 patients: the loss by people is hardly larger."""
    table = pl.read_csv(
        shared_data / "diabetes" / "diabetic_data.csv.gz", infer_schema=False, null_values=["?"]
    )
    codes = ["admission_type_id", "discharge_disposition_id", "admission_source_id"]
    quasi = {"race": None, "gender": None, "age": None, **dict.fromkeys(codes, "number")}
    loss = []
    for person in ((), "patient_nbr"):
        schema = ic.Schema(quasi=quasi, person=person, unlisted="drop")
        one_rule = ic.Mondrian(choose="range")
        release = ic.anonymize(table, schema, ic.KAnonymity(k), one_rule, keep_order=True, force=True)
        cells = release.table.with_columns(table["patient_nbr"]).group_by(list(quasi))
        people = cells.agg(pl.col("patient_nbr").n_unique())["patient_nbr"]
        assert (people.min() >= k) == bool(person)
        loss.append(release.utility["loss"].value)
    assert loss[0] < loss[1] < 1.06 * loss[0]
