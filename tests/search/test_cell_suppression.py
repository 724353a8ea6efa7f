"""Cell suppression where `*` matches any value: a plain second reading of each record's matches."""

from __future__ import annotations

import gzip

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

import incrowd as ic
from examples import examples
from incrowd.engines import engine_for
from incrowd.release.verification import verify
from incrowd.search import SearchProblem, cell_suppression
from wildcard_readings import Rows

THREE = pl.DataFrame({"age": ["30"] * 3, "zip": ["1", "2", "3"]})
ANY = {"wildcards": "matches-any", "keep_order": True, "force": True, "unanswered": "write"}


def suppressed(table: pl.DataFrame, models, schema: ic.Schema | None = None, **settings) -> ic.Release:
    schema = schema or ic.Schema(quasi=[name for name in table.columns if name not in ("s", "person")])
    return ic.anonymize(table, schema, models, ic.CellSuppression(), **ANY | settings)


def stars(release: ic.Release) -> int:
    """Suppressed cells, where a left-out record has lost all cells."""
    names = [attribute.name for attribute in release.policy.schema.quasi]
    shown = sum(int((release.table[name].cast(pl.String) == "*").sum()) for name in names)
    return shown + len(names) * release.left_out


@st.composite
def tables(draw, columns: int = 3):
    """Few values, so that there are ties, equal records, missing cells and cells that came in suppressed."""
    rows = draw(st.integers(2, 14))
    extra = [*draw(st.sampled_from([(), (None,), ("*",), (None, "*")]))]
    width = draw(st.integers(1, columns))
    data = {
        f"q{j}": draw(
            st.lists(
                st.sampled_from([*"abcdefgh"[: draw(st.integers(1, 8))], *extra]),
                min_size=rows,
                max_size=rows,
            )
        )
        for j in range(width)
    }
    data["s"] = draw(st.lists(st.sampled_from("xyz"), min_size=rows, max_size=rows))
    return pl.DataFrame(data, schema=dict.fromkeys(data, pl.String))


def schema_of(table: pl.DataFrame, **settings) -> ic.Schema:
    return ic.Schema(quasi=[name for name in table.columns if name != "s"], sensitive=["s"], **settings)


def test_one_cell_is_enough_where_it_matches_all():
    strict = suppressed(THREE, "k-anonymity:2", wildcards="value")
    assert strict.table.rows() == [("30", "*")] * 3
    release = suppressed(THREE, "k-anonymity:2")
    assert stars(release) == 1
    assert sorted(Rows(release.table, ["age", "zip"], "matches-any").sizes()) == [2, 2, 3]
    # Each of four others has to find two that could be it.
    five = pl.DataFrame({"age": ["30"] * 5, "zip": [*"12345"]})
    assert stars(suppressed(five, "k-anonymity:3")) == 2


@pytest.mark.slow
@examples(80)
@given(
    tables(), st.integers(2, 4), st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from(["judged", "keep", "drop"])
)
def test_every_record_matches_enough_and_no_more_is_suppressed(table, k, limit, what):
    assume(k <= table.height)
    schema, settings = schema_of(table), {"max_suppression": limit, "suppressed": what}
    result = []
    for wildcards in ("value", "matches-any"):
        try:
            result.append(suppressed(table, f"k-anonymity:{k}", schema, wildcards=wildcards, **settings))
        except (ic.InfeasibleError, ic.ParameterError, ic.TableError):
            result.append(None)
    strict, release = result
    if release is None:
        assert strict is None
        return
    names = [attribute.name for attribute in schema.quasi]
    assert min(Rows(release.table, names, "matches-any").sizes(), default=k) >= k
    assert strict is None or stars(release) <= stars(strict)
    if release.left_out:
        return
    before, after = table.select(names).rows(), release.table.select(names).rows()
    for old, new in zip(before, after, strict=True):
        assert all(cell in ("*", value) for value, cell in zip(old, new, strict=True))
    # The order of the rows decides nothing.
    back = suppressed(table.reverse(), f"k-anonymity:{k}", schema, **settings)
    if strict is None or stars(release) < stars(strict):
        assert back.table.select(names).rows() == after[::-1]


@pytest.mark.slow
@examples(40)
@given(tables(), st.sampled_from(["l-diversity:2", "t-closeness:0.4", "alpha-k-anonymity:0.7,k=2"]))
def test_other_models_hold_of_whom_each_record_matches(table, model):
    schema = schema_of(table)
    try:
        release = suppressed(table, ["k-anonymity:2", model], schema, max_suppression=1.0, suppressed="keep")
    except (ic.InfeasibleError, ic.ParameterError, ic.TableError):
        reject()
    read = Rows(release.table, [attribute.name for attribute in schema.quasi], "matches-any")
    if not read.rows:
        return
    assert min(read.sizes()) >= 2
    if model.startswith("l-"):
        assert read.distinct("s") >= 2
    elif model.startswith("t-"):
        assert read.distance("s") <= 0.4 + 1e-9
    else:
        assert read.alpha("s") <= 0.7 + 1e-9


def test_records_that_fail_another_model_match_more():
    table = pl.DataFrame({"age": [*"1122334455"], "zip": ["a"] * 10, "s": [*"xxxxxxxxyy"]})
    strict = suppressed(table, ["k-anonymity:2", "l-diversity:2"], schema_of(table), wildcards="value")
    release = suppressed(table, ["k-anonymity:2", "l-diversity:2"], schema_of(table))
    assert stars(release) < stars(strict) == 10
    assert Rows(release.table, ["age", "zip"], "matches-any").distinct("s") == 2


def test_people_are_counted_where_they_have_several_rows():
    table = THREE.vstack(THREE).with_columns(person=pl.Series([*"aabbcc"]))
    schema = ic.Schema(quasi=["age", "zip"], person="person")
    release = suppressed(table, "k-anonymity:3", schema)
    whom = release.table.with_columns(table["person"])
    assert min(Rows(whom, ["age", "zip"], "matches-any").sizes()) == 3
    assert stars(release) < stars(suppressed(table, "k-anonymity:3", schema, wildcards="value"))


def test_an_attacker_who_knows_some_columns_matches_in_these():
    table = pl.DataFrame({"a": [*"12345678"], "b": [*"uuuuvvvv"], "c": [*"xyxyxyxy"]})
    schema = ic.Schema(quasi=["a", "b", "c"])
    asked = ["k-anonymity:2", ic.Attacker("neighbour", ["a"], [ic.KAnonymity(4)])]
    release = suppressed(table, asked, schema)
    assert min(Rows(release.table, ["a", "b", "c"], "matches-any").sizes()) >= 2
    assert min(Rows(release.table, ["a", "b", "c"], "matches-any", ["a"]).sizes()) >= 4


def test_importance_decides_what_is_suppressed():
    table = pl.DataFrame({"n": [*"1212"], "c": [*"uuvv"]})
    for heavy, light in (("n", "c"), ("c", "n")):
        schema = ic.Schema.of_attributes(
            [ic.Attribute(heavy, "quasi", weight=5), ic.Attribute(light, "quasi")]
        )
        release = suppressed(table, "k-anonymity:2", schema)
        assert "*" not in set(release.table[heavy])
        assert (release.table[light] == "*").sum() == 2


def test_a_record_that_agrees_with_nobody_is_helped_by_others():
    table = pl.DataFrame({"a": [*"1123"], "b": [*"xxyz"]})
    release = suppressed(table, "k-anonymity:2")
    assert release.privacy.suppressed == 0
    assert min(Rows(release.table, ["a", "b"], "matches-any").sizes()) >= 2
    with pytest.raises(ic.InfeasibleError):
        suppressed(table, "k-anonymity:2", wildcards="value")


@pytest.mark.parametrize(
    ("schema", "models"),
    [
        (ic.Schema.of_attributes([ic.Attribute("age", "quasi"), ic.Attribute("zip", "quasi", output="set")]), ["k-anonymity:2"]),
        (ic.Schema(quasi=["zip"], unlisted="drop"), ["k-anonymity:2"]),
        (ic.Schema(quasi=["age", "zip"]), ["k-anonymity:2", "normalized-entropy:h=0.99,over=mean"]),
    ],
    ids=["style", "one column", "model"],
)  # fmt: skip
def test_where_it_finds_nothing_the_result_is_that_by_value(schema, models):
    if len(models) > 1:
        schema = ic.Schema(quasi=["age", "zip"], sensitive=["s"])
    table = THREE.with_columns(s=pl.Series([*"xxy"])) if len(models) > 1 else THREE
    settings = {"max_suppression": 1.0, "suppressed": "keep"}
    try:
        strict = suppressed(table, models, schema, wildcards="value", **settings)
    except ic.InfeasibleError:
        with pytest.raises(ic.InfeasibleError):
            suppressed(table, models, schema, **settings)
        return
    assert suppressed(table, models, schema, **settings).table.equals(strict.table)


def test_blocks_of_keys_hold_by_themselves(monkeypatch):
    table = ic.samples.hospital(300, seed=3).select("sex", "age", "zip")
    monkeypatch.setattr(cell_suppression, "_BLOCK", 60)
    release = suppressed(table, "k-anonymity:3")
    assert min(Rows(release.table, table.columns, "matches-any").sizes()) >= 3
    assert stars(release) < stars(suppressed(table, "k-anonymity:3", wildcards="value"))


def test_a_search_by_value_finds_what_it_found():
    frequency = engine_for(THREE).count(ic.Schema(quasi=["age", "zip"])).frequency
    attributes = ic.Schema(quasi=["age", "zip"]).quasi
    by = {
        wildcards: ic.CellSuppression()
        .search(SearchProblem(frequency, [ic.KAnonymity(2)], attributes, wildcards=wildcards))
        .recoding
        for wildcards in ("value", "conservative", "matches-any")
    }
    assert [by[name].count for name in by] == [1, 1, 3]


@pytest.mark.slow
def test_adult(shared_data):
    """Thirty thousand records; the figures of docs/algorithms.md."""
    with gzip.open(shared_data / "arx-adult" / "adult.csv.gz") as opened:
        table = pl.read_csv(opened.read(), separator=";", infer_schema=False)
    schema = ic.Schema(quasi=["age", "sex", "race", "marital-status", "education"], unlisted="drop")
    for k, by_value, by_any in ((3, 5385, 1041), (5, 8233, 1694)):
        cells = [
            stars(
                suppressed(
                    table,
                    f"k-anonymity:{k}",
                    schema,
                    wildcards=wildcards,
                    max_suppression=0.01,
                    suppressed="keep",
                )
            )
            for wildcards in ("value", "matches-any")
        ]
        assert cells == [by_value, by_any]
    # Whom the cells protect: how many records fit each person, by the raw values.
    names = [attribute.name for attribute in schema.quasi]
    rows = suppressed(table, "k-anonymity:3", schema).table.select(names).rows()
    people = table.select(names).rows()
    released, many = np.unique(np.array(rows), axis=0, return_counts=True)
    starred = [person for person, row in zip(people, rows, strict=True) if "*" in row]
    fits = [
        many[((released == "*") | (released == np.array(person))).all(axis=1)].sum() for person in starred
    ]
    assert (len(fits), sum(n < 3 for n in fits), fits.count(1)) == (1035, 1007, 229)


# --- what is made of it -------------------------------------------------------------------------------


def test_verify_reads_it_the_same(tmp_path):
    table = ic.samples.hospital(200, seed=1).select("sex", "age", "zip", s="diagnosis")
    table.write_csv(tmp_path / "raw.csv")
    policy = ic.Policy(
        schema_of(table), (ic.KAnonymity(3), ic.LDiversity(2)), ic.CellSuppression(), wildcards="matches-any"
    )
    release = ic.anonymize(tmp_path / "raw.csv", policy, unanswered="write")
    release.save(tmp_path / "out")
    saved = tmp_path / "out/internal"
    read = verify(
        tmp_path / "out/release.csv",
        saved / "policy.toml",
        against=tmp_path / "raw.csv",
        row_map=saved / "rows.parquet",
    )
    assert [(each.reached, each.holds) for each in read.findings] == [
        (each.value, True) for each in release.privacy.privacy if each.limit is not None
    ]
    loaded = ic.Recoding.load(saved / "recoding")
    for mine, theirs in zip(release.recoding.cells, loaded.cells, strict=True):
        assert mine.labels == theirs.labels
        assert (mine.codes == theirs.codes).all()


def test_new_rows_get_the_cells_of_their_own_key_or_of_one_that_covers_them():
    release = suppressed(THREE, "k-anonymity:2", keep_order=False)
    cells = dict(zip(THREE["zip"], suppressed(THREE, "k-anonymity:2").table["zip"], strict=True))
    applied = ic.apply_recoding(
        release.recoding,
        pl.DataFrame({"age": ["30"] * 4, "zip": [*"1234"]}),
        release.policy,
        previous_release=release.table,
        unanswered="write",
    )
    assert sorted(applied.table["zip"]) == sorted([*cells.values(), "*"])


def test_a_summary_of_classes_does_not_tell_what_is_suppressed():
    table = THREE.with_columns(s=pl.Series([*"xyx"]))
    release = suppressed(table, "k-anonymity:2", schema_of(table))
    with pytest.raises(ic.ParameterError, match="would tell values of fewer people than the models ask for"):
        release.class_table()
    assert suppressed(table, "k-anonymity:2", schema_of(table), wildcards="value").class_table().height == 2


def test_records_that_came_in_suppressed_take_nobody_else_out():
    table = THREE.vstack(pl.DataFrame({"age": ["*"], "zip": ["*"]}))
    release = suppressed(table, "k-anonymity:2", max_suppression=0.25, suppressed="drop")
    assert (release.left_out, release.table.height, stars(release) - 2) == (1, 3, 1)


def test_where_perturbed_values_fail_only_those_who_match_too_few_are_suppressed():
    ages, zips = ["20"] * 5 + ["30"] * 15, ["x"] * 5 + [f"{n}" for n in range(15)]
    table = pl.DataFrame({"age": ages, "zip": zips, "s": [*"aaaab", *"cd" * 7, "c"]})
    schema = schema_of(table, treatments={"s": "pram:1,matrix=given,moves=b>a:1"})
    release = suppressed(
        table, ["k-anonymity:2", "l-diversity:2"], schema, max_suppression=0.25, suppressed="keep"
    )
    assert release.privacy.suppressed == 5
    assert Rows(release.table, ["age", "zip"], "matches-any").distinct("s") == 2


def test_a_refusal_says_which_search_counts_otherwise_than_the_policy():
    table = pl.DataFrame({"age": [*"3344"], "zip": [*"1255"]})
    with pytest.raises(
        ic.InfeasibleError, match=r"'conservative', and cell-suppression counts \* as a value"
    ):
        suppressed(table, "k-anonymity:2", wildcards="conservative")
