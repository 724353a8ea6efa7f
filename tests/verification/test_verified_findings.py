"""With the raw table, the verifier finds derived and blanked columns, as a release does."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from incrowd.release.verification import verify
from policy_texts import K2, entry, policy_text

ROWS = 400
RNG = np.random.default_rng(41)
YEAR = pl.Series(np.datetime64("2024-01-01") + RNG.integers(0, 366, ROWS)).cast(pl.Date)
BORN = pl.Series(np.datetime64("1950-01-01") + RNG.integers(0, 20_000, ROWS)).cast(pl.Date)
TABLE = pl.DataFrame(
    {
        "age": RNG.integers(20, 60, ROWS),
        "zip": [f"{number:05}" for number in RNG.integers(100, 140, ROWS)],
        "visit": YEAR,
        "born": BORN,
        "sex": RNG.choice(["m", "f"], ROWS),
        "one": ["same"] * ROWS,
        "town": None,
        "month": BORN.dt.month(),
        "birthday": BORN.dt.strftime("%m-%d"),
        "color": RNG.choice(["red", "blue"], ROWS),
    }
).with_columns(town=pl.col("zip").str.slice(3, 1))
PLAIN = ("town", "month", "birthday", "color")
TREES = {
    "age": ic.Hierarchy.intervals(10, 20),
    "zip": ic.Hierarchy.prefix(),
    "visit": ic.Hierarchy.dates("month", "year"),
    "born": ic.Hierarchy.dates("year", "decade"),
}


def seen(folder, release, raw, **options):
    """Return the points of a release and those of the verifier as sets, word for word."""
    release.save(folder / "out")
    checked = verify(folder / "out" / "release.csv", folder / "out" / "policy.toml", against=raw, **options)
    assert checked.keeps_limits, checked.problems
    return [
        {(each.name, each.columns, each.text, each.way_out) for each in points}
        for points in (release.points, checked.points)
    ]


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("quasi", "algorithm", "more"),
    [
        ({name: TREES[name] for name in ("age", "zip", "born")}, "mondrian", {}),
        ({"age": None, "visit": TREES["visit"]}, "optimal", {"k": 60}),
        (
            {name: TREES[name] for name in ("visit", "born", "zip", "age")},
            "datafly",
            {"suppressed": 0.1},
        ),
        (dict.fromkeys(("age", "zip", "sex", "one")), "optimal", {}),
        (dict.fromkeys(("age", "visit", "sex", "one")), "mondrian", {"k": 150}),
        ({"zip": None, "one": ic.Hierarchy.flat()}, "cell-suppression", {"suppressed": 1}),
    ],
)
def test_the_findings_are_those_of_the_release(tmp_path, quasi, algorithm, more, kind):
    schema = ic.Schema(quasi=quasi, insensitive=PLAIN, unlisted="drop")
    model = ic.KAnonymity(more.get("k", 8))
    release = ic.anonymize(
        TABLE, schema, model, algorithm, max_suppression=more.get("suppressed", 0), unanswered="write"
    )
    raw = tmp_path / f"raw.{kind}"
    TABLE.write_csv(raw) if kind == "csv" else TABLE.write_parquet(raw)
    ours, theirs = seen(tmp_path, release, raw)
    assert theirs == ours
    assert [each for each in ours if each[0] in ("derived-column", "blanked-column")]


def test_cells_that_say_no_more_than_a_star_are_seen_beside_the_raw_table(tmp_path):
    """All rows are of 2024, so each cell stands for every row; only the raw table shows that."""
    visit = ic.Attribute("visit", "quasi", hierarchy=TREES["visit"], levels=(2, 2))
    release = ic.anonymize(
        TABLE,
        ic.Schema.of_attributes([visit], unlisted="drop"),
        "k-anonymity:8",
        "optimal",
        unanswered="write",
    )
    assert set(release.table["visit"]) == {"2024"}
    TABLE.write_csv(tmp_path / "raw.csv")
    release.write_row_map(tmp_path / "rows.parquet")
    ours, theirs = seen(tmp_path, release, tmp_path / "raw.csv", row_map=tmp_path / "rows.parquet")
    assert theirs == ours
    assert [each[:2] for each in ours] == [("blanked-column", ("visit",))]
    assert not verify(tmp_path / "out" / "release.csv", tmp_path / "out" / "policy.toml").points


AGES = entry("age", "quasi", 'kind = "number"')
KEPT = entry("more", "insensitive")


@pytest.fixture
def gate(tmp_path):
    """Return the findings on a released and a raw table of two columns, age and more."""

    def run(cells, raw, columns=(AGES, KEPT), head="", **options):
        (tmp_path / "policy.toml").write_text(policy_text(columns, [K2], head))
        for name, rows in (("out", cells), ("raw", raw)):
            lines = ["age,more", *(",".join(f'"{cell}"' if cell else "" for cell in row) for row in rows)]
            (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
        verification = verify(
            tmp_path / "out.csv", tmp_path / "policy.toml", against=tmp_path / "raw.csv", **options
        )
        return {(each.name, *each.columns): each.share for each in verification.points}

    return run


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("cells", "values", "share"),
    [
        (["[1-8]"] * 8, [1, 2, 3, 4, 5, 6, 7, 8], 1),
        (["[1-8]"] * 6 + ["[7-8]"] * 2, [1, 2, 3, 4, 5, 6, 7, 8], 0.75),
        (["[1-8]"] * 4 + ["[5-8]"] * 4, [1, 2, 3, 4, 5, 6, 7, 8], None),
        (["{1, 3}"] * 8, [1, 3] * 4, 1),
        (["{1, 3}"] * 3 + ["*"] * 5, [1, 3] * 4, 1),
        # No cell but one with the missing value covers a row that has none.
        (["{1, <missing>}"] * 8, [1, ""] * 4, 1),
        (["1"] * 6 + [""] * 2, [1] * 6 + [""] * 2, None),
        # A column of one value had nothing to lose.
        (["1"] * 8, [1] * 8, None),
        (["*"] * 8, [1] * 8, None),
    ],
)
def test_a_cell_that_covers_every_raw_value_leaves_nothing(gate, cells, values, share):
    other = ["a", "b"] * 4
    quasi = (AGES, entry("more", "quasi"))
    result = gate(zip(cells, other, strict=True), zip(values, other, strict=True), quasi)
    assert result == ({} if share is None else {("blanked-column", "age"): share})


def test_suppressed_records_count_neither_in_the_release_nor_in_the_raw_table(gate):
    rows = [("[1-4]", "a"), ("[1-4]", "a"), ("[1-2]", "b"), ("*", "*"), ("*", "*")]
    raw = [(1, "a"), (4, "a"), (1, "b"), (2, "a"), ("*", "*")]
    result = gate(rows, raw, (AGES, entry("more", "quasi")))
    assert result == {("blanked-column", "age"): 2 / 3, ("much-suppressed",): 0.4}


def test_a_mean_of_all_leaves_nothing(gate):
    style = entry("age", "quasi", 'kind = "number"\noutput = "mean"')
    quasi = (style, entry("more", "quasi"))
    assert gate([("2", "a")] * 3, [(1, "a"), (2, "a"), (3, "a")], quasi) == {("blanked-column", "age"): 1}
    rows = [("2", "a")] * 2 + [("5", "a")] * 2
    assert gate(rows, [(1, "a"), (3, "a"), (5, "a"), (5, "a")], quasi) == {}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("ages", "more", "derived"),
    [
        # Ten ages, and one value of the other column for each.
        (list(range(10, 20)) * 2, ["ab"[age % 2] for age in range(10, 20)] * 2, True),
        # One row breaks it.
        (list(range(10, 20)) * 2, ["ab"[age % 2] for age in range(10, 20)] + ["a"] * 10, False),
        # The other way round: each value of the other column has one age.
        ([age // 3 for age in range(30, 45)] * 2, [f"x{number}" for number in range(15)] * 2, True),
        # Values that are nearly all different tell every column, and mean nothing.
        (list(range(10, 30)), ["a", "b"] * 10, False),
        (list(range(10, 30)), ["a"] * 20, False),
        # A missing value is one of its own.
        (["", *range(11, 20)] * 2, ["ab"[age % 2] for age in range(10, 20)] * 2, True),
        (["", *range(11, 20)] * 2, [*"aaabababab", *"babbababab"], False),
        # Where no row has both, none is a part.
        ([*range(10, 22), *[""] * 8], [""] * 12 + ["1"] * 4 + ["2"] * 4, False),
        # Parts of a text count although its values are all different.
        (
            [f"{number}00{number % 7}" for number in range(10, 30)],
            [str(n) for n in range(10, 28)] + ["2", "2"],
            True,
        ),
        ([f"{number}00{number % 7}" for number in range(10, 30)], [str(n % 7) for n in range(10, 30)], True),
        ([f"{number}00{number % 7}" for number in range(10, 30)], [str(n % 6) for n in range(10, 30)], False),
    ],
)
def test_a_column_that_tells_an_age_or_follows_from_it(gate, ages, more, derived):
    result = gate(
        [("*", each) for each in more], list(zip(ages, more, strict=True)), (entry("age", "quasi"), KEPT)
    )
    assert {name for name in result if name[0] == "derived-column"} == (
        {("derived-column", "more", "age")} if derived else set()
    )


DAYS = [
    f"{year + number}-{number % 12 + 1:02}-{day + number:02}"
    for number in range(20)
    for year, day in ((1950, 1), (1950, 2), (1978, 1))
]


@pytest.mark.few(1)
@pytest.mark.parametrize("form", ["%Y", "%m", "%d", "%Y-%m", "%m-%d", "%u", "%A", "%B", "%V", "%j"])
def test_a_part_of_dates_that_are_all_different(gate, form):
    parts = pl.Series(DAYS).str.to_date().dt.strftime(form).to_list()
    plain = [part.lstrip("0") for part in parts]
    quasi = (entry("age", "quasi"), KEPT)
    for more in (parts, plain):
        result = gate([("*", each) for each in more], list(zip(DAYS, more, strict=True)), quasi)
        assert result["derived-column", "more", "age"] == 1
    wrong = [*parts[1:], "00"]
    assert ("derived-column", "more", "age") not in gate(
        [("*", each) for each in wrong], list(zip(DAYS, wrong, strict=True)), quasi
    )
    undated = ["", "unknown", *DAYS[2:]]
    result = gate([("*", each) for each in parts], list(zip(undated, parts, strict=True)), quasi)
    assert ("derived-column", "more", "age") not in result


def test_what_leaves_unlisted_is_looked_at_and_what_is_treated_is_not(gate):
    ages, more = list(range(10, 20)) * 2, ["ab"[age % 2] for age in range(10, 20)] * 2
    rows, raw = [("*", each) for each in more], list(zip(ages, more, strict=True))
    points = gate(rows, raw, (AGES,), 'unlisted = "keep"')
    assert ("derived-column", "more", "age") in points
    treated = entry("more", "insensitive", "treat = 'pseudonym'")
    assert ("derived-column", "more", "age") not in gate(rows, raw, (AGES, treated))


@pytest.mark.slow
def test_some_rows_of_the_raw_table_are_looked_at_in_its_own_order(gate, tmp_path):
    """As in `anonymize`, the other half of the rows breaks the pattern of the first."""
    ages = list(range(10, 30)) * 2_000
    chosen = [row * 2654435761 % 2**32 < 2**31 for row in range(len(ages))]
    more = ["ab"[age % 2] if row else "a" for age, row in zip(ages, chosen, strict=True)]
    order = np.random.default_rng(1).permutation(len(ages))
    pl.DataFrame({"row": order + 1}).write_parquet(tmp_path / "rows.parquet")
    result = gate(
        [("*", more[row]) for row in order], zip(ages, more, strict=True), row_map=tmp_path / "rows.parquet"
    )
    assert result["derived-column", "more", "age"] == 1


def test_a_policy_accepts_them(gate):
    ages, more = list(range(10, 20)) * 2, ["ab"[age % 2] for age in range(10, 20)] * 2
    reason = '[[accepted]]\npoint = "derived-column"\ncolumn = "more"\nwhy = "odd or even"\n'
    rows, raw = [("*", each) for each in more], list(zip(ages, more, strict=True))
    assert ("derived-column", "more", "age") in gate(rows, raw, (AGES, KEPT, reason))


REPEATED = {
    "bib_num": [*range(1, 587), *range(1, 15)],
    "fica": [3_400 + number % 250 / 4 for number in range(600)],
    "base": [40_000 + number % 250 for number in range(600)],
    "cls_students": [6 + number * 7 % 480 for number in range(600)],
}
"""Columns that are left out, and what they are: nearly unique numbers, amounts, counts of people."""


@pytest.mark.few(1)
@pytest.mark.parametrize("name", REPEATED)
def test_the_verifier_and_the_release_agree_on_ids_that_repeat(name, tmp_path):
    # The 14 runners who come twice are alike, and few others are.
    ages = [20 + row % 40 if 14 <= row < 586 else 90 + row % 586 // 3 * 10 for row in range(600)]
    table = pl.DataFrame({name: REPEATED[name], "age": ages})
    table.write_csv(tmp_path / "raw.csv")
    schema = ic.Schema(quasi=["age"], identifying=[name])
    release = ic.anonymize(table, schema=schema, models=[ic.KAnonymity(5)], unanswered="write")
    result = {(point.name, point.columns) for point in release.points}
    assert result == ({("repeated-id", (name,))} if name == "bib_num" else set())
    rows = tmp_path / "out" / "internal" / "rows.parquet"
    ours, theirs = seen(tmp_path, release, tmp_path / "raw.csv", row_map=rows)
    assert ours == theirs
