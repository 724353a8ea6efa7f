"""Treatments in a release: released values, judged values, the next batch, and refusals."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import narwhals as nw
import pandas as pd
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.treatments.keys import Secret
from incrowd.release.verification import checks_as_sql
from treatment_tables import KEY, MARK, people, treated, written

MODELS = ["k-anonymity:5", "l-diversity:2"]


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("CLINIC_KEY", KEY)


def frame(table) -> pl.DataFrame:
    if isinstance(table, pl.LazyFrame):
        return table.collect()
    return pl.from_pandas(table) if isinstance(table, pd.DataFrame) else pl.DataFrame(table)


def token(value: str) -> str:
    return Secret(KEY.encode()).digest(value.encode()).hex()[:14]


KINDS = {
    "polars": lambda table: table,
    "pandas": lambda table: table.to_pandas().set_index(pd.Index([7] * len(table))),
    "arrow": lambda table: table.to_arrow(),
    "lazy": lambda table: table.lazy(),
}


def check_treated(found: pl.DataFrame, raw: pl.DataFrame) -> None:
    """Check the columns of a release with rows in the order of the raw table."""
    assert found["pid"].to_list() == [token(pid) for pid in raw["pid"]]
    assert found["phone"].to_list() == ["*" * 10 + phone[-2:] for phone in raw["phone"]]
    assert found["note"].to_list() == [note and "[redacted]" for note in raw["note"]]
    assert set(found["mail"]) == {"clinic.org", "other"}
    salaries = found["salary"].cast(pl.Int64)
    assert (salaries % 500 == 0).all()
    top = salaries.max()
    below = raw["salary"] < top - 250
    assert (salaries.filter(below) - raw["salary"].filter(below)).abs().max() <= 250
    assert 1 < (raw["salary"] > top + 250).sum() < len(raw) * 0.04


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_treated_in_every_kind_of_table(kind):
    raw = people()
    release = ic.anonymize(KINDS[kind](raw), treated(), MODELS)
    rows = frame(release.table)
    check_treated(rows, raw)
    # A column of numbers stays one.
    assert rows["salary"].dtype == pl.Int64
    assert not any(MARK in text or "+49" in text for text in rows.write_csv().split(","))


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_that_stream_are_treated_alike(tmp_path, suffix):
    raw = people()
    source = tmp_path / "in"
    source.mkdir()
    for number in range(2):
        half = raw[number * 200 : number * 200 + 200]
        place = source / f"{number}.{suffix}"
        half.write_csv(place) if suffix == "csv" else half.write_parquet(place)
    release = ic.anonymize(ic.scan(source), treated(), MODELS)
    release.write(tmp_path / f"out.{suffix}")
    read = pl.read_csv if suffix == "csv" else pl.read_parquet
    check_treated(read(tmp_path / f"out.{suffix}").with_columns(pl.col("pid").cast(pl.String)), raw)
    memory = frame(ic.anonymize(raw, treated(), MODELS).table)
    result = read(tmp_path / f"out.{suffix}", **({"infer_schema": False} if suffix == "csv" else {}))
    assert result.cast(pl.String).equals(memory.cast(pl.String))


def test_planted_values_are_nowhere_in_what_is_saved(tmp_path):
    raw = people()
    release = ic.anonymize(raw, treated(), MODELS)
    release.save(tmp_path / "out")
    release.report(tmp_path / "out" / "report.html")
    outside = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    for path in outside:
        text = path.read_bytes().decode("utf-8", "replace")
        assert KEY not in text, path
        if "internal" not in path.parts:
            assert MARK not in text, path
            assert "+49" not in text, path
            assert "CLINIC_KEY" not in text, path
    assert MARK not in repr(release) + repr(release.recoding) + " ".join(release.sentences())


def test_models_judge_the_values_that_are_released():
    # Two salaries in every class, which are one after rounding.
    raw = pl.DataFrame({"age": [30] * 4 + [40] * 4, "salary": [1010, 1020] * 2 + [5010, 5020] * 2})
    schema = ic.Schema(["age"], ["salary"])
    assert ic.anonymize(raw, schema, ["l-diversity:2"]).privacy.classes == 2
    rounded = ic.Schema(["age"], ["salary"], treatments={"salary": ic.Round(1000)})
    release = ic.anonymize(raw, rounded, ["l-diversity:2"], ends="exact")
    assert release.privacy.classes == 1


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("person", [True, False])
def test_perturbed_values_are_judged_as_they_were(kind, person):
    # Randomly rounded, every class of one salary would seem to have two.
    raw = pl.DataFrame(
        {
            "pid": range(80),
            "age": [30] * 40 + [40] * 40,
            "salary": [1500] * 40 + [3500] * 40,
            "job": ["a", "b"] * 40,
        }
    )
    schema = ic.Schema(
        ["age"], ["salary", "job"], [] if person else ["pid"], person=["pid"] if person else [],
        treatments={"salary": ic.Round(1000, how="random")},
    )  # fmt: skip
    release = ic.anonymize(KINDS[kind](raw), schema, ["l-diversity:2"], ends="exact")
    assert release.privacy.classes == 1
    rows = frame(release.table)
    assert set(rows["salary"]) == {1000, 2000, 3000, 4000}
    assert any("judge salary by its values before" in sentence for sentence in release.sentences())
    again = frame(release.table)
    assert rows.equals(again)


def test_what_is_drawn_is_drawn_anew_and_does_not_follow_from_a_seed():
    raw = pl.DataFrame({"age": [30] * 64, "salary": [1500] * 64})
    schema = ic.Schema(["age"], ["salary"], treatments={"salary": ic.Round(1000, how="random")})
    first, second = (ic.anonymize(raw, schema, "k-anonymity:2", seed=1).table["salary"] for _ in range(2))
    assert first.to_list() != second.to_list()


def test_a_quasi_identifier_is_treated_first_and_then_generalized():
    raw = people()
    schema = ic.Schema(
        ["age", "salary"], unlisted="drop", treatments={"salary": ic.Round(10_000, top=50_000)}
    )
    cells = set(ic.anonymize(raw, schema, ic.KAnonymity(2)).table["salary"])
    ends = {int(end) for cell in cells for end in re.findall(r"\d+", cell)}
    assert ends
    assert all(end % 10_000 == 0 and end <= 50_000 for end in ends)


# --- the next batch --------------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize("stream", [False, True])
def test_the_next_batch_is_treated_alike(tmp_path, stream):
    raw = people(400)
    policy = ic.Policy(treated(), ["k-anonymity:2"], max_suppression=1.0)
    release = ic.anonymize(raw, policy)
    release.save(tmp_path / "out")
    # The top one per cent of this batch lies elsewhere, and no domain has enough records.
    batch = raw[:40].with_columns(salary=pl.col("salary") * 10)
    table = ic.scan(written(tmp_path / "batch.csv", batch)) if stream else batch
    applied = ic.apply_recoding(tmp_path / "out" / "internal" / "recoding", table, policy)
    applied.write(tmp_path / "batch-out.csv")
    frame = pl.read_csv(tmp_path / "batch-out.csv", infer_schema=False)
    assert frame["pid"].to_list() == [token(pid) for pid in batch["pid"]]
    assert frame["salary"].cast(pl.Int64).max() == release.table["salary"].max()
    assert set(frame["mail"]) == {"clinic.org", "other"}
    assert MARK not in frame.write_csv()


def test_a_batch_with_another_treatment_is_refused(tmp_path):
    raw = people(400)
    release = ic.anonymize(raw, treated(), ["k-anonymity:2"])
    release.recoding.save(tmp_path / "recoding")
    for other in ({"salary": "round:100"}, {"phone": "keep-last:9"}):
        with pytest.raises(ic.ParameterError, match="is not the one that the recoding was made with"):
            ic.apply_recoding(tmp_path / "recoding", raw, ic.Policy(treated(**other), ["k-anonymity:2"]))
    plain = ic.Schema(["age"], unlisted="drop")
    with pytest.raises(ic.ParameterError, match="'pid', 'salary'"):
        ic.apply_recoding(tmp_path / "recoding", raw, ic.Policy(plain, ["k-anonymity:2"]))


def test_a_perturbed_batch_beside_an_earlier_release_is_refused(tmp_path):
    raw = people(80)
    schema = ic.Schema(["age"], ["salary"], unlisted="drop", treatments={"salary": "round:100,how=random"})
    policy = ic.Policy(schema, ["k-anonymity:2"], max_suppression=1.0)
    release = ic.anonymize(raw, policy)
    assert ic.apply_recoding(release.recoding, raw, policy).privacy.holds
    with pytest.raises(ic.ParameterError, match="'salary' is perturbed"):
        ic.apply_recoding(release.recoding, raw, policy, previous_release=release.table)


# --- policies, verify ------------------------------------------------------------------------------


def test_a_policy_file_keeps_treatments(tmp_path):
    policy = ic.Policy(treated(), MODELS)
    policy.write(tmp_path / "policy.toml")
    text = (tmp_path / "policy.toml").read_text()
    assert 'treat = { pseudonym = "hmac", key = "env:CLINIC_KEY", length = 14 }' in text
    assert "treat = { round = 500, top = 0.98 }" in text
    again = ic.Policy.read(tmp_path / "policy.toml")
    assert [each.treatment for each in again.schema.attributes] == [
        each.treatment for each in policy.schema.attributes
    ]


def spoilt(path: Path, column: str, value: str) -> None:
    table = pl.read_csv(path, infer_schema=False)
    rest = table[column][1:]
    table.with_columns(pl.concat([pl.Series([value]), rest]).alias(column)).write_csv(path)


@pytest.mark.slow
def test_verify_looks_at_the_forms_of_treated_columns(tmp_path):
    raw = people()
    policy = ic.Policy(treated(), ["k-anonymity:5"], keep_order=True)
    release = ic.anonymize(raw, policy)
    release.save(tmp_path / "out")
    source = written(tmp_path / "raw.csv", raw)
    file, policy_file = tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml"
    verified = ic.verify(file, policy_file, against=source)
    assert not verified.problems
    assert verified.ok is not False if hasattr(verified, "ok") else True
    whole = file.read_bytes()
    for column, value in (
        ("pid", f"{MARK}-00000"), ("pid", "0" * 13), ("salary", "501"), ("phone", raw["phone"][0]),
        ("mail", "a@clinic.org"), ("mail", "rare.org"), ("note", "Fell at home"),
    ):  # fmt: skip
        spoilt(file, column, value)
        problems = ic.verify(file, policy_file).problems
        assert [problem for problem in problems if repr(column) in problem], (column, value)
        file.write_bytes(whole)
    spoilt(file, "phone", raw["phone"][5])
    assert any(
        "a value of the raw column" in x for x in ic.verify(file, policy_file, against=source).problems
    )
    file.write_bytes(whole)
    pl.read_csv(file, infer_schema=False).drop("phone").write_csv(file)
    assert any("'phone' is not in the file" in x for x in ic.verify(file, policy_file).problems)


def linked(schema):
    """Say that rows can be joined, and give ages a hierarchy, so that histories may be alike."""
    ages = replace(schema["age"], hierarchy=ic.Hierarchy.intervals(25, 100))
    return ic.Schema.of_attributes(
        [ages if each.name == "age" else each for each in schema.attributes], linked=True
    )


@pytest.mark.slow
def test_verify_counts_people_by_their_pseudonyms(tmp_path):
    raw = people(each=2)
    raw = raw.with_columns(pid=pl.when(pl.int_range(pl.len()) < 5).then(None).otherwise(pl.col("pid")))
    release = ic.anonymize(raw, linked(treated()), ["k-anonymity:5"], "optimal")
    release.save(tmp_path / "out")
    verified = ic.verify(tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml")
    assert not verified.problems
    assert verified.people is not None
    assert (verified.people.people, verified.people.unnamed) == (
        release.privacy.people.people, release.privacy.people.unnamed,
    )  # fmt: skip
    assert [(each.model, each.holds, each.unit) for each in verified.findings] == [
        ("k-anonymity", True, "people"), ("km-anonymity", True, "people"),
    ]  # fmt: skip
    # Everybody in one class is one person: rows alone would satisfy the policy.
    file = tmp_path / "out" / "release.csv"
    table = pl.read_csv(file, infer_schema=False)
    table.with_columns(pid=pl.lit("0" * 14)).write_csv(file)
    verification = ic.verify(file, tmp_path / "out" / "policy.toml")
    assert [each.holds for each in verification.findings] == [False, False]
    # A policy that says nothing of joined rows does not fit such a release.
    policy = tmp_path / "out" / "policy.toml"
    policy.write_text(policy.read_text().replace("linked = true", "linked = false"))
    assert "column 'pid' joins the records of a person" in " ".join(ic.verify(file, policy).problems)


def test_verify_checks_models_of_perturbed_values_once_by_those_in_the_file(tmp_path):
    raw = people()
    schema = ic.Schema(["age"], ["salary"], unlisted="drop", treatments={"salary": "round:100,how=random"})
    release = ic.anonymize(raw, schema, ["k-anonymity:2", "l-diversity:2"])
    release.save(tmp_path / "out")
    file, policy = tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml"
    verified = ic.verify(file, policy)
    assert verified.ok
    assert [(each.model, each.holds) for each in verified.findings] == [
        ("k-anonymity", True),
        ("l-diversity", True),
    ]
    assert any("'salary' are about the values in the file" in text for text in verified.notes)
    assert not any("salary" in text for text in verified.unchecked)
    pl.read_csv(file, infer_schema=False).with_columns(salary=pl.lit("100")).write_csv(file)
    spoilt = ic.verify(file, policy)
    assert [(each.model, each.holds) for each in spoilt.findings] == [
        ("k-anonymity", True),
        ("l-diversity", False),
    ]
    assert not any("salary" in text for text in spoilt.unchecked)


def test_verify_leaves_models_open_that_judge_only_values_before(tmp_path):
    raw = people()
    schema = ic.Schema(
        ["age"], ["salary", "dx"], unlisted="drop", treatments={"salary": "round:100,how=random"}
    )
    models = [
        "k-anonymity:2",
        "l-diversity:2",
        ic.Attacker("a", ["age"], ic.LDiversity(2, attribute="salary")),
    ]
    release = ic.anonymize(raw, ic.Policy(schema, models, judge="original"))
    release.save(tmp_path / "out")
    file, policy = tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml"
    verified = ic.verify(file, policy)
    assert verified.is_unchecked
    assert [(each.model, each.attribute, each.holds, each.reached is None) for each in verified.findings] == [
        ("k-anonymity", None, True, False), ("l-diversity", "salary", None, True), ("l-diversity", "dx", True, False),
        ("l-diversity", "salary", None, True),
    ]  # fmt: skip
    assert any("judge = 'original'" in text for text in verified.unchecked)
    with pytest.raises(ic.ParameterError, match="judge = 'original'"):
        checks_as_sql(file, policy)
    policy.write_text(policy.read_text().replace('judge = "original"', 'judge = "both"'))
    with pytest.raises(ic.PolicyError, match="judge is 'both'"):
        ic.verify(file, policy)


def test_verify_refuses_a_treatment_that_it_does_not_know(tmp_path):
    raw = people()
    release = ic.anonymize(raw, treated(), ["k-anonymity:2"])
    release.save(tmp_path / "out")
    policy = tmp_path / "out" / "policy.toml"
    policy.write_text(policy.read_text().replace("round = 500", "sound = 500"))
    with pytest.raises(ic.PolicyError, match="does not know the treatment"):
        ic.verify(tmp_path / "out" / "release.csv", policy)


# --- types -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["uint8", "UInt8", "int16[pyarrow]"])
def test_whole_numbers_of_few_bits_are_not_cut_off_in_pandas(kind):
    raw = pd.DataFrame({"age": [1, 1, 1], "salary": pd.array([255, 40, 60], dtype=kind)})
    schema = ic.Schema(["age"], ["salary"], treatments={"salary": ic.Round(100)})
    salary = ic.anonymize(raw, schema, "k-anonymity:2").table["salary"]
    assert salary.tolist() == [300, 0, 100]
    assert pd.api.types.is_integer_dtype(salary.dtype)


@pytest.mark.parametrize("kind", KINDS)
def test_categories_of_a_treated_column_do_not_travel_along(kind):
    raw = people(80).with_columns(pl.col("phone").cast(pl.Categorical), age=pl.lit(1))
    schema = ic.Schema(
        ["age"], ["dx"], insensitive=["phone"], unlisted="drop", treatments={"phone": "keep-last:2"}
    )
    table = ic.anonymize(KINDS[kind](raw), schema, "k-anonymity:2").table
    assert frame(table)["phone"].to_list() == ["*" * 10 + phone[-2:] for phone in raw["phone"]]
    assert "+49" not in repr(table["phone"] if kind != "lazy" else table.collect()["phone"])
    if kind == "pandas":
        assert not isinstance(table["phone"].dtype, pd.CategoricalDtype)


@pytest.mark.few(2)
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("treatment", ["pram:0.5", "redact", "email-domain", "pseudonym:key=env:CLINIC_KEY"])
def test_a_column_without_a_value_stays_so(treatment, lazy):
    raw = people(80).with_columns(note=pl.lit(None, dtype=pl.String))
    schema = ic.Schema(["age"], ["dx"], insensitive=["note"], unlisted="drop", treatments={"note": treatment})
    rows = frame(ic.anonymize(raw.lazy() if lazy else raw, schema, "k-anonymity:2").table)
    assert rows["note"].null_count() == 80


# --- the account -----------------------------------------------------------------------------------


def test_the_account_says_what_each_treatment_does_and_does_not_promise(tmp_path):
    release = ic.anonymize(people(), treated(), MODELS)
    said = " ".join(release.sentences())
    assert "pseudonymous, not anonymous" in said
    assert "pid joins rows of one person across tables that have the same key" in said
    assert "Released as they are: dx." in said
    entries = release.to_dict()["treatments"]
    assert [entry["name"] for entry in entries] == ["pid", "salary", "phone", "mail", "note"]
    assert all(entry["does"] for entry in entries)
    assert "CLINIC_KEY" not in json.dumps(release.to_dict())
    # The limit of a quantile is in no account.
    assert str(release.recoding.treated["salary"]["decided"]["top"]) not in json.dumps(release.to_dict())


def test_a_pseudonym_counts_the_same_people():
    raw = people(each=2)
    plain = replace(treated()["pid"], treatment=None)
    other = treated().with_attributes(plain if each.name == "pid" else each for each in treated().attributes)
    schemas = linked(treated()), linked(other)
    figures = [ic.anonymize(raw, schema, MODELS, "optimal").privacy.people for schema in schemas]
    assert figures[0].histories is not None
    assert figures[0] == figures[1]


def test_a_pseudonym_of_people_with_several_rows_needs_limits_on_whole_histories(tmp_path):
    """Anyone can join the rows, so limits on single rows would promise too much."""
    for each, refused in ((1, False), (2, True)):
        raw = people(each=each)
        said = (
            r"column 'pid': its pseudonym leaves, so anyone can join the rows of a person, and the limits would "
            r"hold for single rows alone; say that rows are linked \(linked=True\), or leave the treatment of "
            r"'pid' out"
        )
        with pytest.raises(ic.ParameterError, match=said) if refused else nullcontext():
            ic.anonymize(raw, treated(), MODELS)
    alone = ic.anonymize(people(), treated(), MODELS, max_suppression=1.0)
    with pytest.raises(ic.ParameterError, match="anyone can join the rows"):
        ic.apply_recoding(alone.recoding, raw, replace(alone.policy, max_suppression=1.0))
    # One row each, but an earlier release may have another.
    with pytest.raises(ic.ParameterError, match="anyone can join the rows"):
        ic.apply_recoding(alone.recoding, people(), alone.policy, previous_release=alone.table)


@pytest.mark.few(1)
@pytest.mark.parametrize("internal", [False, True])
def test_the_report_has_treatments_and_follows_its_schema(tmp_path, internal):
    release = ic.anonymize(people(), treated(), MODELS)
    for name in ("report.json", "report.html"):
        release.report(tmp_path / name, internal=internal)
        assert MARK not in (tmp_path / name).read_text()
    document = json.loads((tmp_path / "report.json").read_text())
    jsonschema = pytest.importorskip("jsonschema")
    schema = Path(__file__).resolve().parents[4] / "docs" / "report.schema.json"
    jsonschema.validate(document, json.loads(schema.read_text()))
    assert [entry["name"] for entry in document["treatments"]] == ["pid", "salary", "phone", "mail", "note"]
    assert {"name": "pid", "role": "person"} in document["columns"]["released"]
    assert "CLINIC_KEY" not in json.dumps(document)


# --- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ic.Schema(["a"], treatments={"b": "redact"}), "'b' has no role"),
        (lambda: ic.Schema(["a"], identifying=["b"], treatments={"b": "redact"}), "never leaves"),
        (lambda: ic.Schema(["a"], person="b", treatments={"b": "keep-first:2"}), "cannot stand for people"),
        (
            lambda: ic.Schema(["a"], treatments={"a": "round:5,how=random"}),
            "a quasi-identifier is generalized",
        ),
        (lambda: ic.Schema(["a"], treatments={"a": ic.Pseudonym()}), "a quasi-identifier is generalized"),
        (lambda: ic.Schema(["a"], {"b": "date"}, treatments={"b": "round:5"}), "is for numbers"),
        (lambda: ic.Schema(["a"], {"b": "category"}, treatments={"b": "round:5"}), "is for numbers"),
        (lambda: ic.Schema(["a"], ["b"], treatments={"b": "sound:5"}), "did you mean 'round'"),
        (lambda: ic.Schema(["a"], ["b"], treatments={"b": {"round": 5, "redact": True}}), "two treatments"),
        (
            lambda: ic.Schema(["a"], ["b"], treatments={"b": {"round": 5, "rop": 1}}),
            "unknown parameter 'rop'",
        ),
        (lambda: ic.Schema(["a"], ["b"], treatments={"b": ic.Round}), "is a class"),
        (lambda: ic.Schema(["a"], ["b"], treatments={"b": 5}), "a int is no treatment"),
        (lambda: ic.Schema(["a"], ["b"], treatments={"b": {"redact": 2}}), "has no setting"),
    ],
)
def test_wrong_treatments_are_refused(call, said):
    with pytest.raises(ic.InputError, match=said):
        call()


def test_a_column_has_one_treatment():
    once = ic.Attribute("b", "sensitive", treatment=ic.Round(5))
    with pytest.raises(ic.SchemaError, match="'b' has two treatments"):
        ic.Schema(["a"], {"b": once}, treatments={"b": "redact"})


def test_values_that_are_no_numbers_are_counted_and_not_repeated():
    raw = pl.DataFrame({"age": [1, 1], "salary": ["12", f"{MARK}-x"]})
    schema = ic.Schema(["age"], insensitive=["salary"], treatments={"salary": "round:5"})
    with pytest.raises(ic.SchemaError, match="round needs numbers, and 1 distinct values are none") as error:
        ic.anonymize(raw, schema, "k-anonymity:2")
    assert MARK not in str(error.value)
    told_missing = ic.Schema(
        ["age"], insensitive=["salary"], treatments={"salary": "round:5"}, null_values=[f"{MARK}-x"]
    )
    assert set(ic.anonymize(raw, told_missing, "k-anonymity:2").table["salary"]) == {"10", None}


def test_jobs_that_know_no_treatments_refuse_them():
    raw = people()
    schema = ic.Schema(["age"], ["dx"], insensitive=["note"], unlisted="drop", treatments={"note": "redact"})
    # It takes what was released already, so there is nothing left to treat.
    with pytest.raises(ic.InputError, match="'note' has a treatment, which only anonymize, apply and"):
        ic.ensure_privacy(raw, schema, k=2)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["polars", "pandas", "arrow"])
def test_anatomy_has_the_treated_columns(kind, monkeypatch):
    monkeypatch.setenv("CLINIC_KEY", KEY)
    raw = people()
    schema = ic.Schema(
        ["age"], ["salary"], insensitive=["note", "mail"], unlisted="drop",
        treatments={
            "salary": {"round": 50_000, "top": 400_000}, "note": "redact", "age": "round:10",
            "mail": "pseudonym:key=env:CLINIC_KEY",
        },
    )  # fmt: skip
    release = ic.anatomize(KINDS[kind](raw), schema, [ic.LDiversity(2)])
    quasi, sensitive = (
        nw.from_native(each, eager_only=True).to_polars()
        for each in (release.quasi_table, release.sensitive_table)
    )
    assert all(int(age) % 10 == 0 for age in quasi["age"])
    assert set(quasi["note"].drop_nulls()) == {"[redacted]"}
    assert MARK not in quasi.write_csv() + sensitive.write_csv()
    assert all(float(pay) % 50_000 == 0 and float(pay) <= 400_000 for pay in sensitive["salary"])
    # Two values that were rounded to one are one, so groups have two multiples.
    assert sensitive.group_by("group").agg(pl.col("salary").n_unique())["salary"].min() >= 2
    assert [entry["name"] for entry in release.to_dict()["treatments"]] == ["age", "salary", "note", "mail"]


def test_anatomy_refuses_what_looks_more_diverse_than_it_is():
    schema = ic.Schema(["age"], ["salary"], unlisted="drop", treatments={"salary": "noise:0.1"})
    with pytest.raises(ic.ParameterError, match="anatomize judges what was released, and column 'salary'"):
        ic.anatomize(people(), schema, [ic.LDiversity(2)])


def test_compare_treats_columns_in_every_run(monkeypatch):
    raw = people()
    treatments = {"salary": {"round": 200_000, "top": 400_000}, "note": "redact"}
    schema = ic.Schema(["age"], ["salary"], insensitive=["note"], unlisted="drop", treatments=treatments)
    comparison = ic.compare(raw, schema, [ic.Mondrian()], k=[2, 5], l=[3])
    plain = ic.compare(raw, ic.Schema(["age"], ["salary"], unlisted="drop"), [ic.Mondrian()], k=[5], l=[3])
    assert [run.problem for run in comparison.runs] == [None, None]
    # Values that are rounded to one are less diverse, so classes are larger.
    assert comparison.runs[1].classes < plain.runs[0].classes
    release = ic.anonymize(raw, ic.Policy(schema, ["k-anonymity:5", "l-diversity:3"]))
    assert comparison.runs[1].classes == release.privacy.classes
    keyed = schema.with_attributes(
        replace(each, treatment=ic.Pseudonym(key="env:CLINIC_KEY")) if each.name == "note" else each
        for each in schema.attributes
    )
    monkeypatch.delenv("CLINIC_KEY", raising=False)
    with pytest.raises(ic.ParameterError, match="'CLINIC_KEY' is not set"):
        ic.compare(raw, keyed, [ic.Mondrian()], k=[2])
    roles = ic.Schema(["age"], ["salary"], unlisted="drop", treatments={"salary": "pseudonym"})
    with pytest.raises(ic.ParameterError, match="every run would ask for the key"):
        ic.compare(raw, roles, [ic.Mondrian()], k=[2])


def test_numbers_are_written_as_their_column_writes_them():
    raw = pl.DataFrame({"age": [1, 1, 1], "cost": ["1.234,56", "12.345,00", None]})
    cost = ic.Attribute("cost", "sensitive", decimal=",", thousands=".", treatment=ic.Round(0.5))
    release = ic.anonymize(raw, ic.Schema(["age"], {"cost": cost}), "k-anonymity:3")
    assert set(release.table["cost"]) == {"1.234,5", "12.345", None}
