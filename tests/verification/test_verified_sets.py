"""Columns of sets: verify counts items in SQL, and catches what a release should not have."""

from __future__ import annotations

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest

import incrowd as ic
from incrowd_gate.errors import InfeasibleError, ParameterError, PolicyError
from incrowd_verify import verify
from incrowd_verify.verification import checks_as_sql
from set_readings import TREE, draw, fewest, fewest_people, people_of, policy, two_columns


def written(folder, table: pl.DataFrame, asked: ic.Policy, suffix: str = "csv") -> tuple[str, str]:
    release, terms = folder / f"safe.{suffix}", folder / "policy.toml"
    table.write_csv(release) if suffix == "csv" else table.write_parquet(release)
    asked.write(terms, force=True)
    return str(release), str(terms)


@pytest.mark.few(4)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("known", "others"), [(1, False), (2, False), (2, True), (3, False)])
def test_the_verifier_counts_all_sets_of_items(tmp_path, seed, known, others):
    table = draw(seed, 12, others=others).with_columns(codes=_ordered())
    if others:
        table = table.with_columns(age=pl.lit(30))
    result = verify(*written(tmp_path, table, policy(2, known, others=others)))
    finding = result.findings[-1]
    assert (finding.model, finding.attribute, finding.asked) == ("km-anonymity", "codes", 2)
    assert finding.reached == fewest(table, "codes", ["age", "sex"] if others else [], known)
    assert finding.holds == (finding.reached >= 2)
    assert len(result.findings) == (2 if others else 1)


def _ordered() -> pl.Expr:
    return pl.col("codes").str.split(";").list.sort().list.join(";")


@pytest.mark.few(4)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("known", [1, 2, 3])
def test_known_items_of_two_columns_are_counted_together(tmp_path, seed, known):
    raw = two_columns(seed, 12).with_columns(cs.string().str.split(";").list.sort().list.join(";"))
    result = verify(*written(tmp_path, raw, policy(2, known, more=["drugs"])))
    [finding] = result.findings
    assert finding.attribute == "codes and drugs"
    assert finding.reached == fewest(raw, ["codes", "drugs"], [], known)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"codes": "a1"}, "have an item of 'codes' that stands for none"),
        ({"drugs": "a1"}, "have an item of 'drugs' that stands for none"),
        ({"drugs": None}, "items of codes and drugs are left out"),
    ],
)
def test_a_change_of_one_of_two_columns_is_caught(tmp_path, change, words):
    two_columns(5, 100).write_csv(tmp_path / "raw.csv")
    asked = policy(3, more=["drugs"], max_suppression=0.01)
    release = ic.anonymize(tmp_path / "raw.csv", asked)
    release.write_row_map(tmp_path / "rows.parquet")
    beside = {"against": tmp_path / "raw.csv", "row_map": tmp_path / "rows.parquet"}
    kept = verify(*written(tmp_path, release.table, asked), **beside)
    assert kept.ok
    assert [each.reached for each in kept.findings] == [each.value for each in release.privacy.results.asked]
    [(name, cell)] = change.items()
    table = release.table.with_columns(pl.lit(cell, dtype=pl.String).alias(name))
    assert any(words in each for each in verify(*written(tmp_path, table, asked), **beside).problems)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    raw = draw(5, 400, others=True)
    raw.write_csv(folder / "raw.csv")
    asked = policy(4, others=True, max_suppression=0.05)
    release = ic.anonymize(folder / "raw.csv", asked)
    release.write_row_map(folder / "rows.parquet")
    return folder, asked, release


def checked(released, table: pl.DataFrame, tmp_path, **given):
    folder, asked, _ = released
    against = {"against": folder / "raw.csv", "row_map": folder / "rows.parquet"} | given
    return verify(*written(tmp_path, table, asked), **against)


def test_a_release_holds_with_and_without_the_raw_table(released, tmp_path):
    _, _, release = released
    result = checked(released, release.table, tmp_path)
    assert result.ok
    assert not result.problems
    assert not [each for each in result.unchecked if "codes" in each]
    assert [each.reached for each in result.findings] == [
        each.value for each in release.privacy.results.asked
    ]
    assert verify(*written(tmp_path, release.table, released[1])).ok


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda cells: [*cells[:-1], "a1"], "stands for none of their raw items"),
        (lambda cells: [*cells[:-1], "B;A"], "out of order, or with an item twice"),
        (lambda cells: [*cells[:-1], "A;A"], "out of order, or with an item twice"),
        (lambda cells: [*cells[:-1], "A; B"], "out of order, or with an item twice"),
        (lambda cells: [*cells[:-1], "*;A"], "out of order, or with an item twice"),
        (lambda cells: [*cells[:-1], "Z"], "in no place of its hierarchy"),
        (lambda cells: [*cells[:-1], "root"], "in no place of its hierarchy"),
        (lambda cells: [None] * len(cells), "are left out, and max_suppression is 0.05"),
    ],
)
def test_a_changed_release_is_caught(released, tmp_path, change, words):
    _, _, release = released
    table = release.table.with_columns(
        codes=pl.Series(change(release.table["codes"].to_list()), dtype=pl.String)
    )
    result = checked(released, table, tmp_path)
    assert not result.ok
    assert any(words in problem for problem in result.problems), result.problems


def test_items_that_stand_for_others_are_caught_by_the_tree_and_by_stars(tmp_path):
    nested = pl.DataFrame({"codes": ["A", "A", "a1", "a1"]})
    assert "stand for other items" in verify(*written(tmp_path, nested, policy())).problems[0]
    stars = pl.DataFrame({"codes": ["E1*", "E1*", "E11", "E11"]})
    by_prefix = policy(hierarchy=ic.Hierarchy.prefix())
    assert "stand for other items" in verify(*written(tmp_path, stars, by_prefix)).problems[0]
    apart = pl.DataFrame({"codes": ["E1*", "E1*", "E21", "E21"]})
    assert verify(*written(tmp_path, apart, by_prefix)).ok


def test_lists_of_parquet_are_counted_as_texts_are(tmp_path):
    table = draw(3, 30).with_columns(codes=_ordered())
    lists = table.with_columns(codes=pl.col("codes").str.split(";"))
    texts = verify(*written(tmp_path, table, policy()))
    assert verify(*written(tmp_path, lists, policy(), "parquet")).findings == texts.findings


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("known = 2", "", "known says how many items"),
        ("known = 2", "known = 0", "from 1"),
        ("known = 2", "known = 2\noutput = 'set'", "no setting of sets"),
        ("keep_order = false", "keep_order = true", "keep_order is not defined"),
        ('model = "k-anonymity"\nk = 2', 'model = "average-risk"\nrisk = 0.5', "k-anonymity is judged alone"),
    ],
)
def test_a_policy_that_says_too_little_or_too_much_is_refused(tmp_path, old, new, words):
    release, terms = written(tmp_path, pl.DataFrame({"codes": ["a1", "a1"]}), policy(hierarchy=None))
    text = (tmp_path / "policy.toml").read_text()
    assert old in text
    (tmp_path / "policy.toml").write_text(text.replace(old, new))
    with pytest.raises(PolicyError, match=words):
        verify(release, terms)


def test_a_profile_is_refused(tmp_path):
    with pytest.raises(PolicyError, match="a profile or a context is not defined"):
        verify(*written(tmp_path, draw(1), policy()), profile="ema-0070")


def test_no_script_is_written(tmp_path):
    with pytest.raises(ParameterError, match="no SQL script judges the sets of column 'codes'"):
        checks_as_sql(*written(tmp_path, pl.DataFrame({"codes": ["a1", "a1"]}), policy()))


@pytest.mark.few(1)
@pytest.mark.parametrize("suppressed", ["judged", "drop", "keep"])
def test_suppressed_records_have_a_star_in_place_of_their_set(tmp_path, suppressed):
    towns = [*(f"t{n % 4}" for n in range(180)), *["far"] * 4]
    tree = ic.Hierarchy.from_paths([[f"t{n}", "T", "*"] for n in range(4)] + [["far", "F", "*"]])
    raw = draw(2, 184).with_columns(town=pl.Series(towns))
    raw.write_csv(tmp_path / "raw.csv")
    schema = ic.Schema.of_attributes([ic.Attribute("town", "quasi", hierarchy=tree), policy().schema.sets[0]])
    asked = ic.Policy(schema, "k-anonymity:5", "optimal", max_suppression=0.04, suppressed=suppressed)
    release = ic.anonymize(tmp_path / "raw.csv", asked, unanswered="write")
    stars = release.table.filter(pl.col("codes") == "*")
    assert set(stars["town"]) <= {"*"}
    assert len(stars) == (4 if suppressed == "keep" else 0)
    release.write_row_map(tmp_path / "rows.parquet")
    result = verify(
        *written(tmp_path, release.table, asked),
        against=tmp_path / "raw.csv",
        row_map=tmp_path / "rows.parquet",
    )
    assert result.keeps_limits
    assert [each.reached for each in result.findings] == [
        each.value for each in release.privacy.results.asked
    ]
    assert [each.name for each in result.points] == [each.name for each in release.points]


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("known", "others", "both"), [(1, True, False), (2, True, True), (3, False, True)])
def test_people_with_several_records_are_counted_once(tmp_path, seed, known, others, both):
    columns = ["codes", "drugs"][: 1 + both]
    raw = two_columns(seed, 90, others=others).drop({"drugs"} - {*columns})
    whose, person = people_of(seed, 90)
    raw.with_columns(whose).write_csv(tmp_path / "raw.csv")
    asked = policy(2, known, others=others, max_suppression=0.5, more=columns[1:], people=True)
    release = ic.anonymize(tmp_path / "raw.csv", asked, unanswered="write")
    release.write_row_map(tmp_path / "rows.parquet")
    beside = {"against": tmp_path / "raw.csv", "row_map": tmp_path / "rows.parquet"}
    result = verify(*written(tmp_path, release.table, asked), **beside)
    assert result.keeps_limits
    assert [each.reached for each in result.findings] == [
        each.value for each in release.privacy.results.asked
    ]
    # Raw sets break the limit, and are counted alike.
    places = release.row_map()["row"].to_numpy() - 1
    sort = cs.by_name(columns).str.split(";").list.sort().list.join(";")
    shown = ["age", "sex"] if others else []
    forged = release.table.with_columns(raw[places].select(columns)).with_columns(sort)
    finding = verify(*written(tmp_path, forged, asked), **beside).findings[-1]
    least = fewest_people(forged, columns, shown, known, [person[at] for at in places])
    assert finding.reached == least
    assert finding.holds == (least is None or least >= 2)


@pytest.mark.parametrize(("repeat", "holds"), [(1, True), (2, True), (4, False)])
def test_sets_of_people_are_counted_where_the_raw_table_names_them(tmp_path, repeat, holds):
    schema = ic.Schema.of_attributes([*policy().schema.attributes, ic.Attribute("id", "person")])
    asked = ic.Policy(schema, "k-anonymity:2", keep_order=False)
    raw = pl.DataFrame({"codes": ["a1", "a1", "a1", "a1"], "id": [n // repeat for n in range(4)]})
    raw.write_csv(tmp_path / "raw.csv")
    release, terms = written(tmp_path, raw.drop("id"), asked)
    pl.DataFrame({"row": [1, 2, 3, 4]}).write_parquet(tmp_path / "rows.parquet")
    alone, beside = (
        verify(release, terms, **given).findings[-1].holds
        for given in ({}, {"against": tmp_path / "raw.csv", "row_map": tmp_path / "rows.parquet"})
    )
    assert (alone, beside) == (None, holds)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_three_counts_of_any_release_agree(tmp_path, seed):
    rng = np.random.default_rng(seed)
    others, known, k = bool(rng.integers(2)), int(rng.integers(1, 5)), int(rng.integers(2, 6))
    both = ["codes", "drugs"][: int(rng.integers(1, 3))]
    raw = two_columns(seed, int(rng.integers(20, 250)), others=others)
    raw.drop({"drugs"} - {*both}).write_csv(tmp_path / "raw.csv")
    trees = {"tree": TREE, "prefix": ic.Hierarchy.prefix(), "none": None}
    asked = policy(
        k, known, others=others, hierarchy=trees[str(rng.choice([*trees]))], more=both[1:],
        max_suppression=float(rng.choice([0, 0.05, 0.2, 0.5])),
        suppressed=str(rng.choice(["judged", "drop", "keep"])),
    )  # fmt: skip
    try:
        release = ic.anonymize(tmp_path / "raw.csv", asked, unanswered="write")
    except InfeasibleError:
        return
    release.write(tmp_path / "safe.csv")
    release.write_row_map(tmp_path / "rows.parquet")
    asked.write(tmp_path / "policy.toml")
    result = verify(
        tmp_path / "safe.csv", tmp_path / "policy.toml",
        against=tmp_path / "raw.csv", row_map=tmp_path / "rows.parquet",
    )  # fmt: skip
    least = fewest(release.table, both, ["age", "sex"] if others else [], known)
    assert least is None or least >= k
    assert release.privacy.results.asked[-1].value == least == result.findings[-1].reached
    assert not result.problems
    assert [each.name for each in result.points] == [each.name for each in release.points]


@pytest.mark.slow
@pytest.mark.parametrize(
    "algorithm", ["optimal", "datafly", "agglomerative", "k-member", "mdav", "cell-suppression"]
)
def test_every_kind_of_search_leaves_sets_that_are_counted_alike(tmp_path, algorithm):
    draw(7, 150, others=True).write_csv(tmp_path / "raw.csv")
    asked = policy(4, others=True, max_suppression=0.2, algorithm=algorithm)
    release = ic.anonymize(tmp_path / "raw.csv", asked, unanswered="write")
    release.write(tmp_path / "safe.csv")
    asked.write(tmp_path / "policy.toml")
    result = verify(tmp_path / "safe.csv", tmp_path / "policy.toml")
    assert [each.reached for each in result.findings] == [
        each.value for each in release.privacy.results.asked
    ]
    assert fewest(release.table, "codes", ["age", "sex"], 2) == result.findings[-1].reached
