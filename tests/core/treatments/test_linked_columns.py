"""Columns that tell the same as a treated column go along."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict

import polars as pl
import pytest
from hypothesis import given as tried
from hypothesis import strategies as st

import incrowd as ic
from treatment_tables import KEY

MODELS = "k-anonymity:1"


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("CLINIC_KEY", KEY)


def made(frame: pl.DataFrame, roles: dict | None = None, **treatments: object) -> pl.DataFrame:
    """The treated frame, where `q` is a quasi-identifier of a single value."""
    frame = frame.with_columns(q=pl.lit(1))
    insensitive = [name for name in frame.columns if name not in ("q", "pid")]
    schema = ic.Schema(
        ["q"], insensitive=roles or insensitive, person=[n for n in frame.columns if n == "pid"],
        treatments=treatments,
    )  # fmt: skip
    return ic.anonymize(frame, schema, MODELS).table


def one_by_one(frame: pl.DataFrame, treated: list, lead: str, own: str) -> list:
    """The definition, read slowly: the cells of the linked column in each row."""
    rows = defaultdict(list)
    for value, raw, linked in zip(treated, frame[lead], frame[own], strict=True):
        rows[value].append((raw, linked))
    result = []
    for value, linked in zip(treated, frame[own], strict=True):
        known = [each for _, each in rows[value] if each is not None]
        if linked is None:
            result.append(None)
        elif len({raw for raw, _ in rows[value]}) < 2:
            result.append("gone")
        elif len(set(known)) == 1:
            result.append(linked)
        elif isinstance(linked, str) or len(known) < 10:
            result.append("gone")
        else:
            result.append(sum(known) / len(known))
    return result


@tried(
    st.lists(
        st.tuples(
            st.none() | st.integers(0, 39), st.none() | st.integers(0, 9),
            st.none() | st.sampled_from(["Ulm", "Bonn"]),
        ),
        min_size=1,
        max_size=60,
    )
)  # fmt: skip
def test_the_definition_read_twice(rows):
    frame = pl.DataFrame(
        rows, schema={"pay": pl.Float64, "bonus": pl.Float64, "town": pl.String}, orient="row"
    )
    result = made(frame, pay={"round": 20, "linked": ["bonus", "town"]})
    treated = result["pay"].to_list()
    for name, gone in (("bonus", None), ("town", "[redacted]")):
        for cell, meant in zip(result[name], one_by_one(frame, treated, "pay", name), strict=True):
            assert cell == (gone if meant == "gone" else pytest.approx(meant, abs=0.5))
    # Whoever knows the treated value learns nothing more of the raw one.
    told = result.drop_nulls().group_by("pay").agg(pl.exclude("q").n_unique())
    assert told.drop("pay").to_numpy().max(initial=1) == 1


def test_a_town_goes_along_with_its_zip():
    zips = ["80331", "80335", "80339", "89073", "89077", "53111"]
    towns = ["Munich", "Munich", "Munich", "Ulm", "Neu-Ulm", "Bonn"]
    result = made(
        pl.DataFrame({"zip": zips * 3, "town": towns * 3}),
        {"zip": "category", "town": "category"},
        zip={"keep-first": 3, "linked": ["town"]},
    )
    # One zip alone stands behind 531**, so the town would tell which.
    assert set(result.select("zip", "town").rows()) == {
        ("803**", "Munich"), ("890**", "[redacted]"), ("531**", "[redacted]"),
    }  # fmt: skip


def test_what_lies_within_the_limits_stays_and_what_lies_beyond_goes_along():
    pay = [float(n) for n in range(100)]
    frame = pl.DataFrame(
        {"pay": pay, "monthly": [n / 12 for n in pay], "grade": [f"g{n}" for n in range(100)]}
    )
    result = made(frame, pay={"top": 80, "linked": ["monthly", "grade"]})
    within, beyond = result.filter(pl.col("pay") < 80), result.filter(pl.col("pay") == 80)
    assert within.drop("q").rows() == frame.filter(pl.col("pay") < 80).rows()
    assert len(beyond) == 20
    assert beyond["monthly"].n_unique() == 1
    assert beyond["monthly"][0] == pytest.approx(sum(range(80, 100)) / 20 / 12, abs=1e-6)
    assert set(beyond["grade"]) == {"[redacted]"}


def test_a_date_of_birth_goes_along_with_the_age():
    born = [dt.date(1930, 1, 1) + dt.timedelta(days=97 * n) for n in range(300)]
    age = [2020 - day.year for day in born]
    frame = made(pl.DataFrame({"age": age, "born": born}), age={"round": 10, "linked": ["born"]})
    assert frame.schema["born"] == pl.Date
    assert (
        frame.group_by("age").agg(pl.col("born").n_unique())["born"].to_list()
        == [1] * frame["age"].n_unique()
    )
    years = frame.filter(pl.col("age").is_between(20, 80)).select(
        2020 - pl.col("born").dt.year() - pl.col("age")
    )
    assert years.to_series().abs().max() <= 5


@pytest.mark.parametrize("lazy", [False, True])
def test_dates_move_by_as_many_days(lazy):
    day = dt.date(2020, 3, 17)
    frame = pl.DataFrame(
        {
            "pid": ["a", "a", "b", "c", None],
            "came": [day, day, day, None, day],
            "went": [f"2020-03-{n}" for n in (18, 27, 20, 21, 22)],
        }
    )
    source = frame.lazy() if lazy else frame
    schema = ic.Schema(
        ["pid"], insensitive=["came", "went"],
        treatments={"came": {"truncate-dates": "month", "linked": ["went"]}},
    )  # fmt: skip
    table = pl.DataFrame(ic.anonymize(source, schema, MODELS, keep_order=True).table.lazy().collect())
    assert table["went"].to_list() == ["2020-03-02", "2020-03-11", "2020-03-04", None, "2020-03-06"]
    # A shift needs no date in the lead, but somebody whose date it is.
    shift = {"shift-dates": 20, "key": "env:CLINIC_KEY"}
    both = made(frame, came={**shift, "linked": ["went"]})
    each = made(frame, came=shift, went=shift)
    assert both.equals(each)
    assert both["went"][3] is not None
    assert both["went"][4] is None


def test_numbers_are_written_as_their_column_writes_them():
    frame = pl.DataFrame({"pay": range(40), "bonus": [f"1.{n:03},5" for n in range(40)], "q": 1})
    bonus = ic.Attribute("bonus", "sensitive", decimal=",", thousands=".")
    schema = ic.Schema(
        ["q"], {"pay": None, "bonus": bonus}, treatments={"pay": {"round": 20, "linked": ["bonus"]}}
    )
    release = ic.anonymize(frame, schema, "l-diversity:3")
    assert set(release.table["bonus"]) == {"1.005", "1.020", "1.035"}
    assert release.table.group_by("pay").agg(pl.col("bonus").n_unique())["bonus"].max() == 1


def test_the_next_batch_follows_alike_and_a_policy_keeps_it(tmp_path):
    frame = pl.DataFrame({"pay": range(100), "bonus": range(0, 200, 2), "q": 1})
    schema = ic.Schema(
        ["q"], ["pay"], insensitive=["bonus"], treatments={"pay": {"round": 20, "linked": ["bonus"]}}
    )
    policy = ic.Policy(schema, ["k-anonymity:2"])
    policy.write(tmp_path / "policy.toml")
    text = (tmp_path / "policy.toml").read_text()
    assert 'treat = { round = 20, linked = ["bonus"] }' in text
    assert text.count("treat") == 1
    again = ic.Policy.read(tmp_path / "policy.toml")
    assert [each.treatment for each in again.schema.attributes] == [
        each.treatment for each in schema.attributes
    ]
    release = ic.anonymize(frame, again)
    first = dict(release.table.select("pay", "bonus").rows())
    # 300 was in no batch before, so nothing goes with it.
    batch = pl.DataFrame({"pay": [5, 7, 33, 300], "bonus": [1, 2, 3, 4], "q": 1})
    table = ic.apply_recoding(release.recoding, batch, again).table
    assert table["bonus"].to_list() == [first[0], first[0], first[40], None]
    assert "bonus goes along with pay" in " ".join(release.sentences())


def test_verify_sees_a_linked_column_that_tells_more(tmp_path):
    frame = pl.DataFrame({"pay": range(100), "bonus": range(100), "q": 1})
    schema = ic.Schema(
        ["q"], insensitive=["pay", "bonus"], treatments={"pay": {"round": 20, "linked": ["bonus"]}}
    )
    release = ic.anonymize(frame, schema, "k-anonymity:2")
    release.save(tmp_path / "out")
    file, policy = tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml"
    assert ic.verify(file, policy).ok
    rows = pl.read_csv(file, infer_schema=False)
    rows.with_columns(bonus=pl.int_range(100).cast(pl.String)).write_csv(file)
    verification = ic.verify(file, policy)
    assert not verification.ok
    assert any("'bonus'" in text and "'pay'" in text for text in verification.problems)


@pytest.mark.parametrize(
    ("treatments", "said"),
    [
        ({"a": "redact:linked=b"}, "no column can be linked with it, as nothing is left"),
        ({"a": {"pram": 0.8, "linked": ["b"]}}, "no column can be linked with it, as every row is drawn"),
        ({"a": {"rank-swap": 0.8, "linked": ["b"]}}, "the other column has rank-swap, too"),
        ({"a": {"pseudonym": "hmac", "linked": ["b"]}}, "give the other column a pseudonym"),
        ({"a": {"round": 5, "how": "random", "linked": ["b"]}}, "take how = 'nearest'"),
        ({"a": {"round": 5, "linked": ["c"]}}, "names 'c', which has no role"),
        ({"a": {"round": 5, "linked": ["a"]}}, "names 'a', which is the column itself"),
        ({"a": {"round": 5, "linked": ["id"]}}, "names 'id', which never leaves, as its role is identifying"),
        ({"a": {"round": 5, "linked": ["q"]}}, "names 'q', which is a quasi-identifier, unlike"),
        ({"q": {"round": 5, "linked": ["b"]}}, "names 'b', which is no quasi-identifier, unlike"),
        ({"a": {"round": 5, "linked": ["b"]}, "b": "redact"}, "names 'b', which has another treatment"),
        (
            {"a": {"round": 5, "linked": ["b"]}, "d": {"round": 5, "linked": ["b"]}},
            "names 'b', which has another treatment",
        ),
    ],
)
def test_what_cannot_go_along_is_refused(treatments, said):
    with pytest.raises(ic.InputError, match=said):
        ic.Schema(["q"], identifying=["id"], insensitive=["a", "b", "d"], treatments=treatments)


def test_what_moves_with_dates_is_a_date():
    frame = pl.DataFrame({"came": ["2020-03-05"] * 3, "note": ["x", "y", "z"]})
    with pytest.raises(ic.SchemaError, match="'note': linked needs dates"):
        made(frame, came={"truncate-dates": "month", "linked": ["note"]})
