"""A release beside an earlier release: each is checked alone, and the limits on both as a single table."""

from __future__ import annotations

import json
import random
from collections import defaultdict

import polars as pl
import pytest

import incrowd as ic
from incrowd.release.verification import verify

POLICY = """
[columns.age]
role = "quasi"
kind = "category"
[columns.ill]
role = "sensitive"
[algorithm]
name = "optimal"
[[models]]
model = "k-anonymity"
k = 4
[[models]]
model = "l-diversity"
l = 2
"""


def reached(*tables):
    """The smallest class and the fewest values of some tables, read as a single table."""
    classes = defaultdict(list)
    for table in tables:
        for age, ill in table.select("age", "ill").rows():
            if age != "*":
                classes[age].append(ill)
    if not classes:
        return None, None
    return min(map(len, classes.values())), min(len(set(values)) for values in classes.values())


def drawn(seed, rows):
    r = random.Random(seed)
    ages = ["20-24", "25-29", "*"]
    return pl.DataFrame(
        {"age": r.choices(ages, (5, 5, 1), k=rows), "ill": r.choices([*"abc"], (8, 2, 1), k=rows)}
    )


def figures(found):
    return tuple(next(each.reached for each in found.findings if each.quantity == name) for name in "kl")


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text("version = 1\nmax_suppression = 1.0\nsuppressed = 'keep'\n" + POLICY)
    return path


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(12))
def test_each_file_and_both_are_checked(tmp_path, policy, seed):
    now, before = drawn(seed, 5 + seed), drawn(100 + seed, 12 + seed)
    now.select("ill", "age").write_csv(tmp_path / "now.csv")
    (before.write_parquet if seed % 2 else before.write_csv)(tmp_path / "before")
    verification = verify(tmp_path / "now.csv", policy, previous_release=tmp_path / "before")
    sides = (now,), (before,), (now, before)
    parts = verification, verification.earlier, verification.together
    for part, tables in zip(parts, sides, strict=True):
        assert figures(part) == reached(*tables)
        assert part.records == sum(map(len, tables))
    well = [
        None not in reached(*tables) and reached(*tables) >= (4, 0) and reached(*tables)[1] >= 2
        for tables in sides
    ]
    assert verification.keeps_limits == all(well)
    assert not verification.is_unchecked
    one = verify(tmp_path / "now.csv", policy, previous_release=tmp_path / "before", published_as_one=True)
    assert one.findings == one.earlier.findings == ()
    assert one.together.findings == verification.together.findings
    assert one.keeps_limits == well[2]
    document = json.loads(json.dumps(verification.to_dict()))
    assert document["ok"] == verification.ok
    assert document["together"]["findings"] == verification.together.to_dict()["findings"]
    assert "published_as_one" not in document
    assert one.to_dict()["published_as_one"]
    assert verification._repr_html_().count("<table>") == 3


@pytest.mark.slow
def test_what_else_is_wrong_in_either_file_counts(tmp_path, policy):
    good = pl.DataFrame({"age": ["20-24"] * 6, "ill": [*"abcabc"]})
    good.write_csv(tmp_path / "good.csv")
    good.with_columns(name=pl.lit("Ann")).write_csv(tmp_path / "bad.csv")
    policy.write_text(
        policy.read_text().replace("[algorithm]", '[columns.name]\nrole = "identifying"\n[algorithm]')
    )
    for files in (("good", "bad"), ("bad", "good")):
        for one in (False, True):
            verification = verify(
                tmp_path / f"{files[0]}.csv",
                policy,
                previous_release=tmp_path / f"{files[1]}.csv",
                published_as_one=one,
            )
            assert not verification.keeps_limits
            assert not verification.is_unchecked
    assert verification.problems == ("the identifying column 'name' is in the file",)
    assert verify(tmp_path / "good.csv", policy, previous_release=tmp_path / "good.csv").keeps_limits


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("here", "there"),
    [
        (pl.Series([1, 2, 3]), pl.Series(["1", "2", "3"])),
        (pl.Series([1.0, 2.0, 3.5]), pl.Series(["1", "2", "3.5"])),
        (pl.Series([1, 2, 3]), pl.Series([1.0, 2.0, 3.0])),
        (pl.Series([2**53, 2**53 + 1, 3]), pl.Series([str(2**53), str(2**53 + 1), "3"])),
        (pl.Series([None, 2, 3]), pl.Series([None, "2", "3"])),
        (
            pl.Series(["2020-01-01", "2020-01-02", None]).str.to_date(),
            pl.Series(["2020-01-01", "2020-01-02", None]),
        ),
    ],
)
def test_values_are_one_whatever_their_type(tmp_path, policy, here, there):
    """Three values in each file are three in both."""
    for name, values in (("here", here), ("there", there)):
        pl.DataFrame({"age": ["x"] * 6, "ill": pl.concat([values, values])}).write_parquet(
            tmp_path / f"{name}.parquet"
        )
    verification = verify(tmp_path / "here.parquet", policy, previous_release=tmp_path / "there.parquet")
    assert verification.keeps_limits
    assert figures(verification.together) == (12, 3)


def test_people_of_both_are_not_known(tmp_path):
    schema = ic.Schema(quasi=["age"], person="who", unlisted="drop")
    policy = ic.Policy(schema, (ic.KAnonymity(2),), ic.Optimal(), keep_order=True)
    table = pl.DataFrame({"age": [1, 1, 2, 2], "who": [*"ABCD"]})
    table.write_csv(tmp_path / "raw.csv")
    ic.anonymize(tmp_path / "raw.csv", policy, force=True, unanswered="write").save(tmp_path / "out")
    arguments = (tmp_path / "out" / "release.csv", tmp_path / "out" / "internal" / "policy.toml")
    assert verify(*arguments, against=tmp_path / "raw.csv").keeps_limits
    verification = verify(*arguments, against=tmp_path / "raw.csv", previous_release=arguments[0])
    assert verification.findings[0].holds is not None
    assert verification.together.findings[0].holds is None
    assert verification.is_unchecked
    assert not verification.keeps_limits
    assert "nothing tells who is in both releases" in " ".join(verification.together.unchecked)


@pytest.mark.slow
def test_what_apply_writes_is_verified_as_a_pair(tmp_path):
    ages = ic.Hierarchy.intervals(5)
    schema = ic.Schema(quasi={"age": ages}, sensitive=["ill"])
    policy = ic.Policy(schema, (ic.KAnonymity(5), ic.LDiversity(2)), ic.Optimal())
    january = pl.DataFrame(
        {"age": [age for age in range(20, 25) for _ in range(10)], "ill": [*"abcdabcdab"] * 5}
    )
    january.write_csv(tmp_path / "january.csv")
    release = ic.anonymize(tmp_path / "january.csv", policy, unanswered="write")
    release.save(tmp_path / "out")
    batch = pl.DataFrame({"age": [22], "ill": ["SYPHILIS"]})
    batch.write_csv(tmp_path / "february.csv")
    earlier = {"previous_release": tmp_path / "out" / "release.csv"}
    merged = ic.apply_recoding(
        release.recoding, tmp_path / "february.csv", policy, published_as_one=True, **earlier
    )
    merged.write(tmp_path / "safe.csv")
    arguments = (tmp_path / "safe.csv", tmp_path / "out" / "policy.toml")
    verification = verify(*arguments, **earlier)
    assert not verification.keeps_limits
    assert verification.together.keeps_limits
    assert verify(*arguments, published_as_one=True, **earlier).keeps_limits


def test_wrong_calls(tmp_path, policy):
    drawn(1, 30).write_csv(tmp_path / "now.csv")
    pl.DataFrame({"age": ["1"]}).write_csv(tmp_path / "lacking.csv")
    with pytest.raises(
        ic.ParameterError, match=r"is about two releases; name the earlier one \(previous_release=\)"
    ):
        verify(tmp_path / "now.csv", policy, published_as_one=True)
    with pytest.raises(
        ic.SchemaError, match=r"lacking\.csv: the policy's column\(s\) 'ill' are not in the file"
    ):
        verify(tmp_path / "now.csv", policy, previous_release=tmp_path / "lacking.csv")
    with pytest.raises(ic.TableError, match="an address is no file"):
        verify(tmp_path / "now.csv", policy, previous_release="postgresql://u:secret@h/d")
