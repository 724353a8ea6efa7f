"""Dates: shifted by an offset per person, cut, or turned into ages."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from hypothesis import given as tried
from hypothesis import strategies as st

import incrowd as ic
from treatment_tables import KEY, given

DAYS = st.dates(dt.date(1900, 1, 1), dt.date(2100, 12, 31))
EPOCH = dt.date(1970, 1, 1)


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("CLINIC_KEY", KEY)


@st.composite
def visits(draw):
    rows = draw(st.integers(2, 30))
    people = draw(st.lists(st.sampled_from(["a", "b", "ä", "", "c d"]), min_size=rows, max_size=rows))
    days = draw(st.lists(st.one_of(DAYS, st.none()), min_size=rows, max_size=rows))
    return people, days


def number(day: dt.date | None) -> int | None:
    return None if day is None else (day - EPOCH).days


@tried(visits(), st.integers(1, 400), st.booleans())
def test_intervals_within_a_person_stay_exact(table, most, keep_weekday):
    people, days = table
    most = max(most, 7) if keep_weekday else most
    treatment = ic.ShiftDates(most, key="env:X", keep_weekday=keep_weekday)
    values = given(treatment, [number(day) for day in days], KEY, person=people)
    moved: dict[str, set[int]] = {}
    for person, before, after in zip(people, days, values, strict=True):
        assert (before is None) == (after is None)
        if before is not None:
            moved.setdefault(person, set()).add(after - number(before))
    for offsets in moved.values():
        [offset] = offsets
        assert 1 <= abs(offset) <= most
        assert not keep_weekday or offset % 7 == 0


def test_offsets_fill_their_range_and_are_none_nowhere():
    people = [f"person {n}" for n in range(6000)]
    values = given(ic.ShiftDates(3, key="env:X"), [0] * 6000, KEY, person=people)
    counted = {offset: values.count(offset) for offset in set(values)}
    assert set(counted) == {-3, -2, -1, 1, 2, 3}
    # Each is drawn about 1,000 times; 200 more or less happens with a probability below 1e-9.
    assert all(abs(times - 1000) < 200 for times in counted.values())
    weeks = given(ic.ShiftDates(30, key="env:X", keep_weekday=True), [0] * 6000, KEY, person=people)
    assert set(weeks) == {7 * n for n in (-4, -3, -2, -1, 1, 2, 3, 4)}


def test_a_row_that_says_nobody_has_no_date():
    assert given(ic.ShiftDates(3, key="env:X"), [0, 0], KEY, person=[None, "a"])[0] is None


def test_the_offset_follows_from_the_key_and_not_from_the_pseudonym():
    people = [f"person {n}" for n in range(50)]
    one, other = (
        given(ic.ShiftDates(300, key="env:X"), [0] * 50, key, person=people) for key in (KEY, KEY[::-1])
    )
    assert one != other
    tokens = given(ic.Pseudonym(key="env:X"), people, KEY)
    assert [int(token, 16) % 600 - 300 for token in tokens] != one


def test_people_of_two_columns_are_told_apart():
    pairs = [("a", "bc"), ("ab", "c"), ("a", None), (None, "a"), ("-", "1:a"), ("1:a", "-")]
    raw = pl.DataFrame(
        {"x": [a for a, _ in pairs], "y": [b for _, b in pairs], "age": 1, "seen": dt.date(2020, 1, 1)}
    )
    schema = ic.Schema(
        ["age"], insensitive=["seen"], person=["x", "y"],
        treatments={"seen": ic.ShiftDates(30_000, key="env:CLINIC_KEY")},
    )  # fmt: skip
    moved = ic.anonymize(raw, schema, "k-anonymity:2").table["seen"]
    assert moved.n_unique() == len(pairs)


KINDS = {
    "date": pl.Series([dt.date(2020, 2, 28), dt.date(2020, 3, 5), None]),
    "time": pl.Series([dt.datetime(2020, 2, 28, 7, 30), dt.datetime(2020, 3, 5, 23, 59, 59, 5), None]),
    "zone": pl.Series([dt.datetime(2020, 2, 28, 7, 30), dt.datetime(2020, 3, 5), None], dtype=pl.Datetime("ms", "Europe/Berlin")),
    "iso": pl.Series(["2020-02-28", "2020-03-05", None]),
    "iso times": pl.Series(["2020-02-28 07:30", "2020-03-05T23:59:59.5", None]),
    "spelled": pl.Series(["28.02.2020", "5.3.2020", None]),
    "spelled times": pl.Series(["28.02.2020 07:30", "05.03.2020 23:59", None]),
}  # fmt: skip
FORMATS = {"spelled": "%d.%m.%Y", "spelled times": "%d.%m.%Y %H:%M"}


def moment(value: object, form: str | None) -> dt.datetime:
    if isinstance(value, str):
        return dt.datetime.strptime(value, form) if form else dt.datetime.fromisoformat(value)
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
    assert isinstance(value, dt.date)
    return dt.datetime.combine(value, dt.time())


@pytest.mark.few(9)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lazy", [False, True])
def test_dates_of_every_kind_keep_their_kind_and_their_intervals(kind, lazy):
    raw = pl.DataFrame({"age": [1, 1, 1], "pid": ["a", "a", "b"], "seen": KINDS[kind]})
    seen = ic.Attribute(
        "seen", "sensitive", format=FORMATS.get(kind), treatment=ic.ShiftDates(30, key="env:CLINIC_KEY")
    )
    release = ic.anonymize(
        raw.lazy() if lazy else raw, ic.Schema(["age"], {"seen": seen}, person="pid"), "k-anonymity:2"
    )
    values = release.table.collect()["seen"] if lazy else release.table["seen"]
    assert values.dtype == KINDS[kind].dtype
    before, after = (
        [moment(value, FORMATS.get(kind)) for value in series[:2]] for series in (KINDS[kind], values)
    )
    assert after[0] - after[1] == before[0] - before[1]
    assert 1 <= abs(after[0] - before[0]).days <= 30
    assert values[2] is None


def test_the_next_batch_and_another_column_move_alike(tmp_path):
    raw = pl.DataFrame(
        {
            "age": [1, 1, 1, 1],
            "pid": ["a", "a", "b", "b"],
            "came": [dt.date(2020, 1, 1)] * 4,
            "went": [dt.date(2020, 1, 5)] * 4,
        }
    )
    shift = {"shift-dates": 90, "by": "person", "key": "env:CLINIC_KEY"}
    schema = ic.Schema(
        ["age"], ["came"], insensitive=["went"], person="pid", treatments={"came": shift, "went": shift}
    )
    policy = ic.Policy(schema, ["k-anonymity:2"], max_suppression=1.0, suppressed="keep")
    release = ic.anonymize(raw, policy)
    release.recoding.save(tmp_path / "recoding")
    batch = ic.apply_recoding(tmp_path / "recoding", raw, policy)
    for table in (release.table, batch.table):
        assert set(table["went"] - table["came"]) == {dt.timedelta(days=4)}
    assert release.table["came"].to_list() == batch.table["came"].to_list()


def test_columns_of_two_keys_move_each_by_its_own(monkeypatch):
    monkeypatch.setenv("OTHER_KEY", KEY[::-1])
    people = [f"p{n}" for n in range(40)]
    raw = pl.DataFrame({"age": 1, "pid": people, "came": "2020-01-01", "went": "2020-01-05"})
    keys = {"came": "env:CLINIC_KEY", "went": "env:OTHER_KEY"}
    shifts = {name: ic.ShiftDates(300, by="pid", key=key) for name, key in keys.items()}

    def moved(columns: list[str]) -> pl.DataFrame:
        chosen = {name: shifts[name] for name in columns}
        schema = ic.Schema(["age"], insensitive=columns, unlisted="drop", treatments=chosen)
        return ic.anonymize(raw, schema, "k-anonymity:2", keep_order=True).table

    both = moved(["came", "went"])
    assert both["came"].equals(moved(["came"])["came"])
    assert both["went"].equals(moved(["went"])["went"])
    assert (both["came"].str.to_date() - both["went"].str.to_date()).n_unique() > 1


@pytest.mark.parametrize(("days", "within"), [(1, "a day"), (6, "6 days"), (7, None), (30, None)])
def test_the_account_warns_of_a_range_below_a_week(days, within):
    frame = pl.DataFrame({"age": [30] * 4, "pid": list("abcd"), "came": [dt.date(2020, 1, 9)] * 4})
    shift = ic.ShiftDates(days, key="env:CLINIC_KEY")
    schema = ic.Schema(["age"], insensitive=["came"], person="pid", treatments={"came": shift})
    [said] = [
        line for line in ic.anonymize(frame, schema, "k-anonymity:2").sentences() if "came is shifted" in line
    ]
    warned = said.partition(" Each date is known to within ")[2]
    assert warned == (f"{within}: give a longer range, as 30." if within else "")


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%d.%m.%Y %H:%M"])
def test_a_date_at_the_end_of_time_is_refused(form):
    days = [dt.datetime(9999, 12, 31).strftime(form)] * 40
    raw = pl.DataFrame({"age": 1, "pid": [f"p{n}" for n in range(40)], "seen": days})
    seen = ic.Attribute("seen", "insensitive", format=form, treatment=ic.ShiftDates(30, key="env:CLINIC_KEY"))
    with pytest.raises(ic.SchemaError, match="too near to the years 1 or 9999"):
        ic.anonymize(raw, ic.Schema(["age"], insensitive={"seen": seen}, person="pid"), "k-anonymity:2")


# --- cut dates, ages -------------------------------------------------------------------------------


@tried(DAYS, st.sampled_from(["week", "month", "quarter", "year"]))
def test_dates_are_cut_to_the_first_day(day, to):
    [value] = given(ic.TruncateDates(to), [number(day)])
    first = {
        "week": day - dt.timedelta(days=day.weekday()),
        "month": day.replace(day=1),
        "quarter": day.replace(day=1, month=(day.month - 1) // 3 * 3 + 1),
        "year": day.replace(day=1, month=1),
    }[to]
    assert EPOCH + dt.timedelta(days=value) == first


def test_cut_times_lose_the_time_of_the_day():
    raw = pl.DataFrame({"age": [1, 1], "seen": KINDS["iso times"][:2], "at": KINDS["time"][:2]})
    schema = ic.Schema(
        ["age"],
        insensitive=["seen", "at"],
        treatments={"seen": "truncate-dates:month", "at": "truncate-dates:year"},
    )
    table = ic.anonymize(raw, schema, "k-anonymity:2").table
    assert table["seen"].to_list() == ["2020-02-01", "2020-03-01"]
    assert table["at"].to_list() == [dt.datetime(2020, 1, 1)] * 2


def age(born: dt.date, event: dt.date) -> int | None:
    """Count birthdays in a loop."""
    if event < born:
        return None
    return sum(
        1
        for year in range(born.year + 1, event.year + 1)
        if (year, born.month, born.day) <= (event.year, event.month, event.day)
    )


@tried(st.lists(st.tuples(DAYS, DAYS), min_size=1, max_size=20), st.integers(0, 120))
def test_an_age_is_the_number_of_birthdays_and_the_oldest_are_one_group(pairs, over):
    raw = pl.DataFrame({"sex": "f", "born": [b for b, _ in pairs], "seen": [e for _, e in pairs]})
    schema = ic.Schema(
        ["sex"], insensitive=["born"], unlisted="drop", treatments={"born": ic.AgeAt("seen", over)}
    )
    values = ic.anonymize(raw, schema, "k-anonymity:1").table["born"].to_list()
    ages = [age(born, event) for born, event in pairs]
    assert values == [each if each is None else min(each, over + 1) for each in ages]


def test_an_age_at_a_day_reads_the_spelling_of_its_columns():
    raw = pl.DataFrame(
        {"born": ["1.6.1950", "1.1.1901", None], "seen": ["05/31/2020", "06/01/2020", "06/01/2020"]}
    )
    born = ic.Attribute("born", "quasi", format="%d.%m.%Y", treatment=ic.AgeAt("seen"))
    seen = ic.Attribute("seen", "identifying", format="%m/%d/%Y")
    schema = ic.Schema.of_attributes([born, seen])
    cells = ic.anonymize(raw, schema, "k-anonymity:1").table["born"].to_list()
    assert cells == ["69", "90", None]


def test_a_quasi_identifier_of_ages_is_generalized():
    raw = pl.DataFrame({"born": [f"{year}-01-01" for year in range(1920, 2000)]})
    schema = ic.Schema(["born"], treatments={"born": {"age-at": "2020-06-01"}})
    cells = set(ic.anonymize(raw, schema, "k-anonymity:5").table["born"])
    assert {"25 or less", "[30-35]"} < cells
    assert not any("19" in cell and "-01" in cell for cell in cells)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ic.ShiftDates(3, key="env:X", keep_weekday=True), "at least 7"),
        (lambda: ic.ShiftDates(0, key="env:X"), "at least 1|between 1"),
        (lambda: ic.AgeAt("2020-02-30"), "no day of the calendar"),
        (lambda: ic.Schema(["a"], ["b"], treatments={"b": ic.ShiftDates(3, key="env:X")}), "no column has the role"),
        (lambda: ic.Schema({"a": "date"}, person="p", treatments={"a": ic.ShiftDates(3, key="env:X")}), "k-anonymity"),
        (lambda: ic.Schema(["a"], {"b": "number"}, treatments={"b": "truncate-dates"}), "is for dates"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(call, said):
    with pytest.raises(ic.InputError, match=said):
        call()


def test_dates_that_cannot_be_read_are_counted():
    raw = pl.DataFrame({"age": [1, 1], "seen": ["2020-02-30", "5.3.2020"]})
    schema = ic.Schema(["age"], insensitive=["seen"], treatments={"seen": "truncate-dates"})
    with pytest.raises(ic.SchemaError, match=r"needs dates .* and 2 distinct values are none"):
        ic.anonymize(raw, schema, "k-anonymity:2")
    schema = ic.Schema(["age"], insensitive=["seen"], treatments={"seen": ic.AgeAt("gone")})
    with pytest.raises(ic.SchemaError, match="age-at: the table has no column 'gone'"):
        ic.anonymize(raw, schema, "k-anonymity:2")


def test_verify_knows_shifted_and_cut_dates_and_ages(tmp_path):
    raw = pl.DataFrame(
        {
            "zip": ["1", "2"] * 10, "pid": [f"p{n}" for n in range(20)], "born": ["1950-02-03"] * 20,
            "came": ["2020-02-03"] * 20, "went": ["2020-02-05"] * 20,
        }
    )  # fmt: skip
    schema = ic.Schema(
        ["zip"], ["came"], insensitive=["born", "went"], person="pid",
        treatments={
            "came": ic.ShiftDates(30, key="env:CLINIC_KEY"), "born": ic.AgeAt("came"), "went": "truncate-dates",
            "pid": "random-numbers:6",
        },
    )  # fmt: skip
    ic.anonymize(raw, schema, "k-anonymity:2").save(tmp_path / "out")
    file, policy = tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml"
    verified = ic.verify(file, policy)
    assert not verified.problems
    assert any("'came' are about the values in the file" in text for text in verified.notes)
    good = file.read_text()
    for wrong, right in ((",70,", ",91,"), ("2020-02-01", "2020-02-02")):
        assert wrong in good or right in good
        file.write_text(good.replace(wrong, right))
        assert len(ic.verify(file, policy).problems) == 1
