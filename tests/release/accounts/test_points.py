"""The points of a release, the answers of a policy, and the same points by the verifier."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.release.accounts.points import unprotected
from incrowd.release.verification import verify
from incrowd_gate.points import Point

pytestmark = pytest.mark.gated

ROWS = 600
RNG = np.random.default_rng(7)
DAYS = np.datetime64("1950-01-01") + RNG.integers(0, 20_000, ROWS)
TABLE = pl.DataFrame(
    {
        "age": RNG.integers(20, 60, ROWS),
        "zip": [f"{number:05}" for number in RNG.choice(np.arange(100, 140), ROWS)],
        "seqn": np.arange(ROWS),
        "sqft": RNG.integers(0, 80, ROWS),
        "price": RNG.integers(0, 70, ROWS),
        "color": RNG.choice(["red", "blue"], ROWS),
        "income": RNG.choice(["low", "low", "low", "high"], ROWS),
        "ill": RNG.choice(list("abcdef"), ROWS),
    }
)
QUASI = {"age": ic.Hierarchy.intervals(10, 20), "zip": ic.Hierarchy.prefix()}
PLAIN = ("seqn", "sqft", "price", "color")
K = "k-anonymity:5"


def schema(*plain: str, sensitive: tuple[str, ...] = (), **more: object) -> ic.Schema:
    return ic.Schema(quasi=QUASI, sensitive=sensitive, insensitive=plain, unlisted="drop", **more)


def write(*call: object, **settings: object) -> ic.Release:
    """Make a release despite open points."""
    return ic.anonymize(*call, unanswered="write", **settings)


def found(release: ic.Release) -> dict[tuple[str, ...], ic.Point]:
    return {(each.name, *each.columns): each for each in release.verdict.points}


def lone(table: pl.DataFrame, *columns: str) -> float:
    """Count by a dictionary the rows with a unique value."""
    counts = Counter(table.select(columns).rows())
    return sum(number == 1 for number in counts.values()) / table.height


def test_unique_columns_and_pairs_are_found():
    release = write(TABLE, schema(*PLAIN), K)
    pairs = [
        pair
        for pair in combinations(PLAIN, 2)
        if lone(TABLE, *pair) >= 0.2 and all(lone(TABLE, name) < 0.2 for name in pair)
    ]
    assert ("sqft", "price") in pairs
    shares = {pair: lone(TABLE, *pair) for pair in pairs}
    assert {name: each.share for name, each in found(release).items()} == {
        ("unique-column", "seqn"): 1.0,
        ("unique-together", "sqft", "price"): max(shares.values()),
    }
    assert "100.0% of the records have a value of seqn that no other record has" in release.points[0].text
    assert not write(TABLE, schema("color"), K).points


@pytest.mark.few(1)
@pytest.mark.parametrize("role", ["insensitive", "sensitive"])
@pytest.mark.parametrize("treatments", [{}, {"seqn": "random-numbers"}])
def test_values_of_their_own_are_found_whatever_the_role_and_treatment(role, treatments):
    schema = ic.Schema(quasi=QUASI, unlisted="drop", treatments=treatments, **{role: ["seqn"]})
    models = [K, "l-diversity:5"] if role == "sensitive" else [K]
    assert found(write(TABLE, schema, models))["unique-column", "seqn"].share == 1.0


def test_unlisted_columns_that_are_kept_are_looked_at():
    schema = ic.Schema(quasi=QUASI, unlisted="keep")
    names = {name[1] for name in found(write(TABLE, schema, K))}
    assert {"seqn", "sqft"} <= names


def test_a_column_that_is_rounded_enough_is_no_point():
    treated = schema("seqn", treatments={"seqn": "round:100"})
    assert not write(TABLE, treated, K).points


@pytest.mark.slow
def test_large_tables_are_counted_in_full():
    """The first rows look unique, and all rows do not: every value occurs again behind."""
    half = np.arange(60_000)
    table = pl.DataFrame({"age": np.tile(half % 50, 2), "twice": np.tile(half, 2), "own": np.arange(120_000)})
    points = write(table, ic.Schema(quasi=["age"], insensitive=["twice", "own"]), K)
    assert [name for name in found(points) if name[0] == "unique-column"] == [("unique-column", "own")]
    lazy = write(table.lazy(), ic.Schema(quasi=["age"], insensitive=["twice", "own"]), K)
    assert list(found(lazy)) == list(found(points))


def test_rows_of_a_database_are_counted_there(tmp_path):
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection, connection:
        connection.execute("create table people (age, seqn, color)")
        rows = TABLE.select("age", "seqn", "color").rows()
        connection.executemany("insert into people values (?, ?, ?)", rows)
    with ic.Database(f"sqlite:///{tmp_path / 't.db'}") as database:
        people = ic.Schema(quasi=["age"], insensitive=["seqn", "color"])
        release = write(database.table("people"), people, K)
        assert list(found(release)) == [("unique-column", "seqn")]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "treatments",
    [
        {},
        {"price": "round:100"},
        {"price": "round:100", "sqft": "round:500"},
        {"sqft": "random-numbers"},
        {"note": "redact", "price": "noise:1", "sqft": "round:500"},
    ],
)
def test_a_database_and_a_frame_have_the_same_points_whatever_is_treated(tmp_path, treatments):
    notes = [f"call Mrs Schroeder, +43 1 555 {number:04}" for number in range(ROWS)]
    table = TABLE.select("age", "sqft", "price", "color").with_columns(note=pl.Series(notes))
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection, connection:
        connection.execute("create table people (age, sqft, price, color, note)")
        connection.executemany("insert into people values (?, ?, ?, ?, ?)", table.rows())
    plain = [name for name in table.columns[1:] if name != "note" or "note" in treatments]
    schema = ic.Schema(quasi=["age"], insensitive=plain, unlisted="drop", treatments=treatments)
    expected = found(write(table, schema, K))
    with ic.Database(f"sqlite:///{tmp_path / 't.db'}") as database:
        points = found(write(database.table("people"), schema, K))
    assert list(points) == list(expected)
    drawn = {"sqft", "price"} if len({*treatments.values()} & {"random-numbers", "noise:1"}) else set()
    for name, point in expected.items():
        assert drawn & {*name} or points[name].share == point.share


@pytest.mark.few(2)
@pytest.mark.parametrize("write_day", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y"])
def test_days_are_no_ids_of_people(tmp_path, write_day):
    """Nearly every row has a unique day of birth, a few share a day, and the verifier reads texts."""
    born = pl.Series(DAYS).dt.strftime(write_day)
    assert 0.9 < born.n_unique() / ROWS < 1
    table = TABLE.select("age", "zip").with_columns(birth_date=born)
    table.write_csv(tmp_path / "raw.csv")
    schema = ic.Schema(quasi=QUASI, identifying=["birth_date"])
    release = write(tmp_path / "raw.csv", schema, K)
    release.save(tmp_path / "out")
    checked = ic.verify(
        tmp_path / "out" / "release.csv",
        tmp_path / "out" / "policy.toml",
        against=tmp_path / "raw.csv",
        row_map=tmp_path / "out" / "internal" / "rows.parquet",
    )
    assert (release.verdict.points, checked.verdict.points) == ((), ())


def test_a_sensitive_column_without_a_model_is_found():
    roles = schema(sensitive=("ill", "income"))
    release = write(TABLE, roles, [K, ic.LDiversity(2, attribute="ill")])
    (finding,) = release.points
    assert (finding.name, finding.columns) == ("unprotected-sensitive", ("income",))
    classes = release.table.group_by("age", "zip").agg(pl.len().alias("n"), pl.col("income").n_unique())
    alike = classes.filter(pl.col("income") == 1)["n"].sum()
    assert finding.share == alike / ROWS
    assert not write(TABLE, roles, [K, ic.LDiversity(2)], max_suppression=0.5).points
    score = write(TABLE, roles, [K, ic.P29(0.1)], max_suppression=0.9)
    assert "unprotected-sensitive" not in {finding.name for finding in score.points}
    neighbour = ic.Attacker("neighbour", ["age"], [ic.LDiversity(2)])
    assert not write(TABLE, roles, [K, neighbour]).points


@pytest.mark.parametrize(
    ("models", "left"),
    [
        ([], ["ill", "income"]),
        ([ic.KAnonymity(5), ic.AverageRisk(0.2)], ["ill", "income"]),
        ([ic.KAnonymity(5), ic.TCloseness(0.3)], []),
        ([ic.P29(0.1)], []),
        ([ic.AlphaKAnonymity(0.5, 2, attribute="income")], ["ill"]),
        ([ic.LDiversity(2, attribute="ill"), ic.LDiversity(2, attribute="income")], []),
        ([ic.Attacker("neighbour", ["age"], [ic.KAnonymity(5)])], ["ill", "income"]),
        (
            [ic.Attacker("neighbour", ["age"], [ic.KAnonymity(5), ic.LDiversity(2, attribute="ill")])],
            ["income"],
        ),
    ],
)
def test_sensitive_attributes_without_a_model_are_named(models, left):
    assert unprotected(models, ["ill", "income"]) == left
    assert unprotected(models, []) == []


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("month", [int(str(day)[5:7]) for day in DAYS]),
        ("day", [str(day)[8:10] for day in DAYS]),
        ("year", [str(day)[:4] for day in DAYS]),
        ("weekday", [day.item().strftime("%A") for day in DAYS]),
        ("birthday", [str(day)[5:10] for day in DAYS]),
    ],
)
def test_a_part_of_a_generalized_date_is_found(name, values):
    table = pl.DataFrame({"born": pl.Series(DAYS).cast(pl.Date), name: values})
    dated = ic.Schema(quasi={"born": ic.Hierarchy.dates("year", "decade")}, insensitive=[name])
    release = write(table, dated, K, "optimal")
    assert ("derived-column", name, "born") in found(release)


def test_a_column_that_follows_from_a_generalized_one_is_found_and_the_other_way_round():
    table = TABLE.with_columns(town=pl.col("zip").str.slice(3, 1), code=pl.col("zip"))
    release = write(table, schema("town", "code", "color"), K)
    derived = {name: each.text for name, each in found(release).items() if name[0] == "derived-column"}
    assert "it follows from zip" in derived["derived-column", "town", "zip"]
    assert ("derived-column", "code", "zip") in derived
    assert len(derived) == 2
    by_state = ic.Schema(quasi={"town": None}, insensitive=["zip"], unlisted="drop")
    (text,) = (each.text for each in write(table, by_state, K).points if each.name == "derived-column")
    assert "town, which is not, follows from it" in text


def of_people(rows: pl.DataFrame, most: int) -> pl.DataFrame:
    """Give equal rows to the same person, up to a number of rows per person."""
    near = rows.sort("age", "zip").with_row_index("place")
    return near.with_columns(pid=pl.format("K{}", (pl.col("place") // most + 10_000).cast(pl.String))).drop(
        "place"
    )


@pytest.mark.parametrize("most", [2, 3])
def test_the_people_of_each_class_are_counted_by_a_key_that_does_not_leave(most):
    rows = of_people(TABLE, most)
    release = write(rows, schema(identifying=["pid"]), K)
    point = found(release)["repeated-id", "pid"]
    assert f"{ROWS // most} values of pid occur more than once: is this a person?" in point.text
    classes = rows.with_columns(release.table.select("age", "zip"))
    sizes = classes.group_by("age", "zip").agg(pl.col("pid").n_unique())["pid"]
    text = f"{(sizes < 5).sum()} of {len(sizes)} classes hold fewer than 5 people, the least {sizes.min()}"
    assert text in point.text
    named = write(rows, schema(person=["pid"]), K, max_suppression=0.2)
    assert "repeated-id" not in {name for name, *_ in found(named)}


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (K, "1 of 7 classes hold fewer than 5"),
        ("maximum-risk:0.2", "1 of 7 classes hold fewer than 5"),
        # Without a limit on sizes each class needs as many people as the smallest has records.
        ("average-risk:0.9", "7 of 7 classes hold fewer than 6"),
    ],
)
def test_a_class_needs_as_many_people_as_the_limit_on_its_size_says(model, text, tmp_path):
    """The class of age 20 has 6 records of 2 people, and each of the others has 12 of 5."""
    people = [(20, person % 2) for person in range(6)]
    people += [(age, person % 5) for age in range(30, 90, 10) for person in range(12)]
    rows = pl.DataFrame(
        {"age": [age for age, _ in people], "pid": [f"K{age}{person:03}" for age, person in people]}
    ).sample(fraction=1.0, shuffle=True, seed=1)
    release = write(rows, ic.Schema(["age"], identifying=["pid"]), model, keep_order=True)
    assert text in found(release)["repeated-id", "pid"].text
    rows.write_csv(tmp_path / "raw.csv")
    release.write(tmp_path / "out.csv")
    release.policy.write(tmp_path / "policy.toml")
    checked = verify(tmp_path / "out.csv", tmp_path / "policy.toml", against=tmp_path / "raw.csv")
    assert [text in point.text for point in checked.points if point.name == "repeated-id"] == [True]


def test_a_key_that_repeats_is_none_where_every_class_has_enough_people():
    """Two rows each, far from each other: any person is among five."""
    people = [f"K{number % (ROWS // 2):05}" for number in range(ROWS)]
    rows = TABLE.with_columns(pid=pl.Series(people), age=pl.lit(30), zip=pl.lit("00100"))
    assert "repeated-id" not in {name for name, *_ in found(write(rows, schema(identifying=["pid"]), K))}


def test_several_keys_of_one_person_are_one_point():
    rows = of_people(TABLE, 3).with_columns(
        mail=pl.format("{}@example.org", "pid"),
        full_name=pl.format("Ann {}", pl.col("pid").str.replace_all(r"[0-9]", "a")),
    )
    names = set(found(write(rows, schema(identifying=["pid", "mail", "full_name"]), K)))
    assert len([each for each in names if each[0] == "repeated-id"]) == 1


def test_a_wrong_person_column_does_not_silence_a_key():
    """A doctor has many patients: five doctors of a class may see the same patient."""
    rows = of_people(TABLE, 4).with_columns(doctor=pl.Series([f"D{number % 90}" for number in range(ROWS)]))
    release = write(rows, schema(person=["doctor"], identifying=["pid"]), K, max_suppression=0.5)
    assert ("repeated-id", "pid") in found(release)


def test_what_follows_from_the_person_is_no_other_person():
    rows = of_people(TABLE, 3).with_columns(mail=pl.format("{}@example.org", pl.col("pid").str.slice(0, 5)))
    release = write(rows, schema(person=["pid"], identifying=["mail"]), K, max_suppression=0.5)
    assert "repeated-id" not in {name for name, *_ in found(release)}


@pytest.mark.parametrize("name", ["avatar", "visit_no", "at"])
def test_what_repeats_by_chance_is_no_key(name):
    """An address that stands twice in 600 rows, a number of a visit, a clock time."""
    values = {
        "avatar": [f"https://example.org/{number % (ROWS - 1)}.png" for number in range(ROWS)],
        "visit_no": [1 + number % 30 for number in range(ROWS)],
        "at": [f"{7 + number % 12:02}:{5 * (number % 12):02}" for number in range(ROWS)],
    }
    rows = TABLE.with_columns(pl.Series(name, values[name]))
    points = found(write(rows, schema(identifying=[name]), K))
    assert "repeated-id" not in {each for each, *_ in points}


def test_rows_are_people_where_a_key_of_people_is_unique():
    """The doctor repeats, and so does a telephone number of a family."""
    rows = of_people(TABLE, 4).with_columns(person_id=pl.int_range(pl.len()) + 7000)
    release = write(rows, schema(identifying=["person_id", "pid"]), K)
    assert "repeated-id" not in {name for name, *_ in found(release)}


@pytest.mark.parametrize("role", ["identifying", "insensitive"])
def test_a_repeated_id_is_found_by_what_it_tells_though_its_name_says_nothing(role):
    """A number is an id of people if all rows of each number have the same year of birth."""
    born = RNG.integers(1950, 1990, ROWS // 6)
    rows = pl.DataFrame(
        {
            "idcode": np.repeat(np.arange(ROWS // 6) * 3 + 5, 6),
            "birth_yr": np.repeat(born, 6),
            "wage": RNG.integers(100, 200, ROWS),
        }
    )
    columns = {"quasi": ["birth_yr"], "unlisted": "drop", role: ["idcode"]}
    names = {
        each.columns for each in write(rows, ic.Schema(**columns), K).points if each.name == "repeated-id"
    }
    assert names == {("idcode",)}
    other = rows.with_columns(birth_yr=pl.Series(RNG.integers(1950, 1990, ROWS)))
    assert "repeated-id" not in {each.name for each in write(other, ic.Schema(**columns), K).points}


NOTES = ["fine", "all good", "ok", "please call 030-1234567", "ask jane@example.org", "Mrs Schroeder called"]


@pytest.mark.parametrize("role", ["insensitive", "sensitive"])
def test_texts_that_reach_people_are_found_and_counted(role):
    notes = RNG.choice(NOTES, ROWS)
    rows = TABLE.with_columns(note=pl.Series(notes))
    models = [K, "l-diversity:2"] if role == "sensitive" else [K]
    release = write(
        rows, ic.Schema(quasi=QUASI, unlisted="drop", **{role: ["note"]}), models, max_suppression=0.2
    )
    point = found(release)["personal-text", "note"]
    records = Counter(notes.tolist())
    for text, phrase in ((NOTES[3], "telephone numbers"), (NOTES[4], "mail addresses")):
        assert f"{phrase} ({records[text] / ROWS:.1%}, {records[text]} records)" in point.text
    assert point.share == sum(records[text] for text in NOTES[3:]) / ROWS


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["^a.*$", "*", "^n$", "", "a\nb"])
def test_columns_of_odd_names_are_looked_at_like_others(name):
    rows = TABLE.with_columns(pl.Series(name, [f"call 030-555{number:04}" for number in range(ROWS)]))
    points = found(write(rows, schema(name), K))
    assert {("unique-column", name), ("personal-text", name)} <= set(points)


def test_one_row_with_a_number_is_enough():
    notes = ["fine"] * (ROWS - 1) + ["reach her at +44 20 7946 0958"]
    rows = TABLE.with_columns(note=pl.Series(notes))
    point = found(write(rows, schema("note"), K))["personal-text", "note"]
    assert point.share == 1 / ROWS


def test_free_text_is_always_open():
    words = ["slept", "badly", "walked", "home", "felt", "tired", "after", "lunch", "with", "family", "again"]
    notes = [" ".join(RNG.choice(words, 9)) for _ in range(ROWS)]
    rows = TABLE.with_columns(note=pl.Series(notes))
    assert ("free-text", "note") in found(write(rows, schema("note"), K))
    redacted = schema("note", treatments={"note": "redact"})
    assert not [name for name in found(write(rows, redacted, K)) if name[0] == "free-text"]


def test_lists_in_sensitive_cells_are_found():
    codes = [";".join(RNG.choice(["F32", "E11", "I10", "J45"], 2, replace=False)) for _ in range(ROWS)]
    rows = TABLE.with_columns(codes=pl.Series(codes))
    roles = schema(sensitive=["codes"])
    release = write(rows, roles, [K, "l-diversity:2"], max_suppression=0.2)
    assert found(release)["list-cells", "codes"].share == 1


def test_suppressed_records_that_leave_unprotected_are_a_point():
    table = pl.DataFrame({"side": list("LRB") * 7 + ["F"], "ill": list("aabbcc") * 3 + list("abc") + ["z"]})
    schema = ic.Schema(quasi=["side"], sensitive=["ill"])
    models, settings = ["k-anonymity:3", "l-diversity:2"], {"max_suppression": 0.2}
    release = write(table, schema, models, "cell-suppression", suppressed="keep", **settings)
    point = found(release)["suppressed-records",]
    assert "1 suppressed record leaves, and of them nothing is promised" in point.text
    judged = write(table, schema, models, "cell-suppression", **settings)
    assert judged.left_out == 1
    assert ("suppressed-records",) not in found(judged)


def test_a_release_of_stars_alone_is_broken(tmp_path):
    table = pl.DataFrame({"a": [str(number) for number in range(8)], "one": ["same"] * 8})
    flat = ic.Schema(quasi={"a": ic.Hierarchy.flat(), "one": ic.Hierarchy.flat()})
    with pytest.raises(ic.VerdictError, match="BROKEN"):
        ic.anonymize(table, flat, "k-anonymity:5", "optimal")
    release = write(table, flat, "k-anonymity:5", "optimal")
    assert release.verdict.state == "broken"
    with pytest.raises(ic.VerdictError, match="nothing-left"):
        release.write(tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())
    policy = ic.Policy(flat, (ic.KAnonymity(5),), ic.Optimal())
    assert not ic.suggest(table, policy).feasible


def test_much_suppression_is_found():
    table = pl.DataFrame({"code": ["a"] * 7 + list("bcd")})
    flat = ic.Schema(quasi={"code": ic.Hierarchy.flat()})
    release = write(table, flat, K, "cell-suppression", max_suppression=0.3)
    assert (release.privacy.suppressed, release.left_out) == (0, 3)
    assert ("much-suppressed",) in found(release)


# --- answers ------------------------------------------------------------------------------------------


def policy(*accepted: ic.Accepted) -> ic.Policy:
    return ic.Policy(schema("seqn", "color"), (ic.KAnonymity(5),), accepted=accepted)


WHY = "a number that the study made up"


def test_a_release_is_refused_until_each_point_has_an_answer():
    with pytest.raises(
        ic.VerdictError, match=r"OPEN: 1 point waits for an answer \(unique-column: seqn\)"
    ) as error:
        ic.anonymize(TABLE, policy())
    assert error.value.verdict.state == "open"
    assert 'Or accept it: accepted=[ic.Accepted("unique-column", "seqn", "...")]' in str(error.value)
    release = ic.anonymize(TABLE, policy(ic.Accepted("unique-column", "seqn", WHY)))
    assert release.verdict.holds
    (entry,) = release.to_dict()["verdict"]["points"]
    assert entry["accepted"] == release.verdict.points[0].why == WHY
    assert release.document()["verdict"] == release.to_dict()["verdict"]


def test_an_answer_goes_to_anonymize_as_the_message_says_it():
    schema_, models = schema("seqn", "color"), "k-anonymity:5"
    with pytest.raises(ic.VerdictError) as error:
        ic.anonymize(TABLE, schema_, models)
    [answer] = re.findall(r"Or accept it: accepted=(.*)", str(error.value))
    release = ic.anonymize(TABLE, schema_, models, accepted=eval(answer, {"ic": ic}))
    assert release.verdict.holds
    assert release.policy.accepted == (ic.Accepted("unique-column", "seqn", "..."),)
    about_records = Point("much-suppressed", (), 0.5, "", "")
    assert about_records.answer == 'accepted=[ic.Accepted("much-suppressed", why="...")]'
    other = policy(ic.Accepted("unique-column", "color", WHY), ic.Accepted("much-suppressed", None, WHY))
    with pytest.raises(ic.VerdictError, match="unique-column: seqn"):
        ic.anonymize(TABLE, other)
    assert ic.anonymize(TABLE, schema("color"), K).verdict.points == ()


def test_whoever_writes_all_the_same_gets_an_account_that_says_so(tmp_path):
    release = ic.anonymize(TABLE, policy(), unanswered="write")
    release.save(tmp_path / "out")
    account = json.loads((tmp_path / "out" / "release.json").read_text())
    assert account["verdict"]["state"] == "open"
    answered = release.accepting([ic.Accepted("unique-column", "seqn", WHY)])
    assert answered.verdict.state == "holds"
    with pytest.raises(ic.ParameterError, match="unanswered"):
        ic.anonymize(TABLE, policy(), unanswered="keep")


def test_answers_are_kept_in_the_policy_file(tmp_path):
    accepted = (ic.Accepted("unique-column", "seqn", WHY), ic.Accepted("much-suppressed", None, 'say "why"'))
    policy(*accepted).write(tmp_path / "policy.toml")
    assert ic.Policy.read(tmp_path / "policy.toml").accepted == accepted


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('point = "unique-colum"\ncolumn = "seqn"\nwhy = "x"', "did you mean 'unique-column'"),
        ('point = "unique-column"\ncolumn = "seqn"\nwhy = " "', "say why"),
        ('point = "unique-column"\ncolumn = "seqn"', "why"),
        ('point = "clause"\nwhy = "x"', "nobody can accept"),
        ('point = "unique-column"\nwhy = "x"\ncolum = "seqn"', "colum"),
    ],
)
def test_wrong_answers_are_refused_by_both_readers(tmp_path, entry, words):
    text = policy().to_toml() + f"\n[[accepted]]\n{entry}\n"
    (tmp_path / "policy.toml").write_text(text)
    with pytest.raises(ic.PolicyError, match=words):
        ic.Policy.read(tmp_path / "policy.toml")


def test_points_hold_no_value_of_the_table():
    planted = TABLE.with_columns(
        seqn=pl.Series([f"planted{number}" for number in range(ROWS)]),
        color=pl.Series([f"call 030-555{number:04} planted, please" for number in range(ROWS)]),
    )
    release = write(planted, schema(*PLAIN), K)
    assert {each.name for each in release.points} >= {"unique-column", "personal-text"}
    assert "planted" not in json.dumps(release.verdict.to_dict())


# --- the second reading -------------------------------------------------------------------------------


SHOWN = ("unique-column", "unique-together", "unprotected-sensitive", "blanked-column", "much-suppressed")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("plain", "sensitive", "models"),
    [
        (PLAIN, (), (ic.KAnonymity(5),)),
        (
            ("sqft", "price", "color"),
            ("ill", "income"),
            (ic.KAnonymity(3), ic.LDiversity(2, attribute="ill")),
        ),
        (("color",), ("income",), (ic.KAnonymity(8),)),
    ],
)
@pytest.mark.parametrize("algorithm", ["mondrian", "cell-suppression"])
def test_the_verifier_finds_the_same_in_the_file(tmp_path, plain, sensitive, models, algorithm):
    policy = ic.Policy(
        schema(*plain, sensitive=sensitive), models, algorithm, max_suppression=0.9,
        accepted=(ic.Accepted("unique-together", "sqft", WHY),),
    )  # fmt: skip
    release = write(TABLE, policy)
    release.save(tmp_path / "out")
    checked = verify(tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml")
    texts = [point.sentence() for point in release.verdict.points if point.name in SHOWN]
    assert [point.sentence() for point in checked.verdict.points] == texts


def late(rows: int, known: int, values: Callable[[int], list[Any]]) -> list[Any]:
    """Values that are missing in the first rows, as in a sorted file."""
    return [None] * (rows - known) + values(known)


@pytest.mark.slow
@pytest.mark.parametrize("of_files", [False, True], ids=["memory", "files"])
def test_the_first_rows_do_not_hide_what_the_others_tell(tmp_path, of_files):
    rows, known = 80_000, 28_000
    table = pl.DataFrame(
        {
            "age": [20 + row % 30 for row in range(rows)],
            "zip": late(rows, known, lambda n: [f"Z{row % 900:03}" for row in range(n)]),
            "town": late(rows, known, lambda n: [f"T{row % 900 // 30}" for row in range(n)]),
            "cost": late(rows, known, lambda n: [*range(n)]),
            "height": late(rows, known, lambda n: [row % 170 for row in range(n)]),
            "weight": late(rows, known, lambda n: [row % 173 for row in range(n)]),
        }
    )
    schema = ic.Schema(quasi=["age", "zip"], insensitive=["town", "cost", "height", "weight"])
    data: Any = table
    if of_files:
        data = tmp_path / "people.parquet"
        table.write_parquet(data)
    release = ic.anonymize(data, schema, "k-anonymity:5", unanswered="write")
    assert {("unique-column", "cost"), ("unique-together", "height", "weight")} <= found(release).keys()
    assert ("derived-column", "town", "zip") in found(release)
    table.write_csv(tmp_path / "raw.csv")
    release.save(tmp_path / "out", force=True)
    place = tmp_path / "out"
    verified = ic.verify(
        place / "release.csv",
        place / "policy.toml",
        against=tmp_path / "raw.csv",
        row_map=place / "internal" / "rows.parquet",
    )
    assert [p.text for p in verified.verdict.points] == [p.text for p in release.verdict.points]


def test_numbers_that_are_none_are_rounded_in_a_file_too(tmp_path):
    """A frame holds NaN among the numbers, and a CSV the text of NaN: both say that rounding helps."""
    table = TABLE.with_columns(cost=pl.Series([*(number / 7 for number in range(ROWS - 1)), float("nan")]))
    release = write(table, schema("cost"), K)
    release.save(tmp_path / "out")
    checked = verify(tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml")
    assert [each.sentence() for each in checked.verdict.points] == [
        each.sentence() for each in release.verdict.points
    ]
    assert "round:0.5" in release.verdict.points[0].way_out


@pytest.mark.parametrize(("scale", "base"), [(0.01, "0.02"), (1, "2"), (1000, "2000")])
def test_the_advice_to_round_fits_the_scale_of_the_column(scale, base):
    """Rounded as the point says, the column is no point any more, and keeps most of the information."""
    table = TABLE.with_columns(stay=pl.Series([number * scale for number in range(ROWS)]))
    points = [(point.name, point.way_out) for point in write(table, schema("stay"), K).verdict.points]
    assert [name for name, _ in points] == ["unique-column"]
    assert f"treatments={{'stay': 'round:{base}'}}" in points[0][1]
    rounded = write(table, schema("stay", treatments={"stay": f"round:{base}"}), K)
    assert not rounded.verdict.points
    assert rounded.table["stay"].n_unique() > ROWS // 4
