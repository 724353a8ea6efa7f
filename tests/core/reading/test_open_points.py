"""Numbers with points that may be decimal or thousands: no reader decides without an answer."""

from __future__ import annotations

import polars as pl
import pytest

import incrowd as ic
from incrowd.core.reading.recognition import UNCLEAR_POINTS, recognize
from incrowd.core.reading.spellings import has_decimal_points, has_unclear_points

OPEN = [["27.500", "31.250"], ["27.500", "954"], ["-27.500", "1.000"], ["27.500", "1500"]]
SETTLED = [
    ["27.500", "27.5"], ["27.500", "0.125"], ["27.500", "1234.567"], ["27.500", "3.125e2"],
    ["27.500", "31.2500"],
]  # fmt: skip
MODELS = 'models = [{ model = "k-anonymity", k = 5 }]\n'
POINTS = "three digits follow every point"


@pytest.mark.parametrize("texts", OPEN)
def test_threes_behind_every_point_are_open(texts):
    assert has_unclear_points(pl.Series(texts))
    assert not has_decimal_points(pl.Series(texts))
    assert recognize(texts).ways == UNCLEAR_POINTS


@pytest.mark.parametrize("texts", SETTLED)
def test_one_number_settles_all(texts):
    assert not has_unclear_points(pl.Series(texts))
    # Wherever it stands.
    assert not has_unclear_points(pl.Series([*["27.500"] * 1000, *texts]))


@pytest.mark.parametrize(
    ("texts", "settings", "unit"),
    [
        (["3.434.830", "48.500", "7"], {"thousands": "."}, ""),
        (["3.434.830,50", "48.500"], {"decimal": ",", "thousands": "."}, ""),
        (["1.045.000 TL", "45.000 TL"], {"thousands": "."}, "TL"),
        (["€ 45.50", "€ 45.000"], {"decimal": "."}, "€"),
        (["12 %", "7 %"], {"decimal": "."}, "%"),
    ],
)
def test_a_mix_and_a_unit_are_told(texts, settings, unit):
    known = recognize(texts)
    assert [way.settings() for way in known.ways] == [settings]
    assert known.unit == unit


@pytest.mark.parametrize("unit", ["€ {}", "{} TL", "{} %"])
def test_a_unit_does_not_settle_the_points(unit):
    known = recognize([unit.format(number) for number in ("45.000", "12.500")])
    assert {way.point for way in known.ways} == {".", ","}


# --- every reader -------------------------------------------------------------------------------------


def frame(pays=("27.500", "31.250", "12.000", "65.650"), name="pay") -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + row // 20 for row in range(80)],
            name: [pays[row % len(pays)] for row in range(80)],
            "ill": ["abc"[row % 3] for row in range(80)],
        }
    )


def policy(pay: str, more: str = MODELS) -> ic.Policy:
    import tomllib

    text = f'version = 1\n{more}[columns]\nage = {{ role = "quasi" }}\nill = {{ role = "sensitive" }}\npay = {pay}'
    return ic.Policy.from_dict(tomllib.loads(text), ".", "the policy")


@pytest.mark.parametrize(
    "pay",
    [
        '{ role = "quasi" }',
        '{ role = "quasi", kind = "number" }',
        '{ role = "quasi", hierarchy = { intervals = [10, 100] } }',
        '{ role = "sensitive" }',
        '{ role = "insensitive", treat = { round = 5 } }',
        '{ role = "sensitive", treat = { round = 5 } }',
        '{ role = "weight" }',
    ],
)
def test_whoever_reads_the_numbers_asks_what_a_point_means(pay, tmp_path):
    frame().write_csv(tmp_path / "t.csv")
    frame().write_parquet(tmp_path / "t.parquet")
    for table in (frame(), tmp_path / "t.csv", tmp_path / "t.parquet"):
        with pytest.raises(ic.SchemaError, match=POINTS) as error:
            ic.anonymize(table, policy(pay))
        assert "27.5" not in str(error.value)
        assert 'thousands = "."' in str(error.value)


@pytest.mark.parametrize(
    "pay",
    ['{ role = "quasi", kind = "category" }', '{ role = "insensitive" }', '{ role = "identifying" }'],
)
def test_texts_that_are_not_read_as_numbers_are_no_question(pay):
    ic.anonymize(frame(), policy(pay), unanswered="write")


@pytest.mark.parametrize(("answer", "high"), [('thousands = "."', "65650"), ('decimal = "."', "65.65")])
def test_an_answer_is_what_maker_and_verifier_read(answer, high, tmp_path):
    """Maker and verifier read thousands or decimals, as the policy says, and refuse without an answer."""
    frame().write_csv(tmp_path / "t.csv")
    body = f'version = 1\n{MODELS}[columns.age]\nrole = "quasi"\n[columns.ill]\nrole = "sensitive"\n'
    body += '[columns.pay]\nrole = "quasi"\n'
    (tmp_path / "open.toml").write_text(body)
    (tmp_path / "told.toml").write_text(body + answer + "\n")
    release = ic.anonymize(tmp_path / "t.csv", ic.Policy.read(tmp_path / "told.toml"), unanswered="write")
    release.table.write_csv(tmp_path / "release.csv")
    assert any(high in cell for cell in release.table["pay"].to_list() if cell)
    known = {"against": tmp_path / "t.csv"}
    assert ic.verify(tmp_path / "release.csv", tmp_path / "told.toml", **known).ok
    with pytest.raises(ic.SchemaError, match=POINTS):
        ic.verify(tmp_path / "release.csv", tmp_path / "open.toml", **known)


def test_a_batch_is_read_as_the_rows_that_were_recoded(tmp_path):
    """Points of a batch follow the first rows' decimals, and are asked about otherwise."""
    batch = frame(("27.500", "31.250"))
    for first, answer in ((("27.5", "31.25", "12.125", "65.65"), None), (("27", "31", "12", "65"), POINTS)):
        limits = policy('{ role = "quasi" }')
        recoding = ic.anonymize(frame(first), limits, unanswered="write").recoding
        if answer is None:
            assert ic.apply_recoding(recoding, batch, limits, unanswered="write").table.height
            continue
        with pytest.raises(ic.SchemaError, match=answer):
            ic.apply_recoding(recoding, batch, limits, unanswered="write")


def test_sums_weights_noise_and_differences_ask_too():
    rows = frame()
    calls = (
        lambda: ic.tabulate(
            rows, policy('{ role = "sensitive" }', '[[tables]]\nname = "t"\nrows = ["age"]\nsum = "pay"\n')
        ),
        lambda: ic.perturbation(rows, rows, ["pay"]),
        lambda: ic.randomize(rows.select("pay"), {"pay": ic.Laplace(epsilon=1, low=0, high=99)}),
    )
    for call in calls:
        with pytest.raises(ic.SchemaError, match=POINTS):
            call()


# --- a draft ------------------------------------------------------------------------------------------


def draft(table: pl.DataFrame, *, ask: bool = True) -> str:
    from incrowd.release.jobs.compare.draft import draft_policy

    return draft_policy(table, "t.csv", ask=ask).text


def test_a_draft_asks_and_without_an_answer_the_column_is_left_out():
    assert 'thousands = "?"  # QUESTION' in draft(frame())
    assert 'thousands = "." or decimal = "."' in draft(frame())
    silent = draft(frame(), ask=False)
    assert "pay" in silent
    assert "round = " not in silent
    assert "nobody knows how it writes numbers" in silent


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("other", "settings"),
    [
        (("7.320,50", "5.801,73", "912,10"), 'thousands = "."'),
        (("1.045.000", "48.500"), 'thousands = "."'),
        (("7.3", "5.81", "912.125"), 'decimal = "."'),
        (("7,320.5", "5,801.73", "912.10"), 'decimal = "."'),
    ],
)
def test_another_column_of_the_file_settles_it_and_the_draft_says_so(other, settings):
    table = frame(("27.500", "31.250")).with_columns(
        pl.Series("cost", [other[row % len(other)] for row in range(80)])
    )
    text = draft(table, ask=False)
    assert "cost tells what its points mean" in text
    assert settings in text.partition("[columns.pay]")[2].partition("\n\n")[0]


def test_columns_that_disagree_settle_nothing():
    table = frame().with_columns(
        cost=pl.Series(["7.320,50", "5.801,73"] * 40), rate=pl.Series(["0.5", "1.25"] * 40)
    )
    assert 'thousands = "?"' in draft(table)


def test_a_unit_is_said():
    text = draft(frame(("1.045.000 TL", "45.000 TL")))
    assert "its numbers have the unit TL" in text
    assert 'thousands = "."' in text


# --- pictures and pages -------------------------------------------------------------------------------


def test_a_histogram_shows_no_number_that_nobody_told():
    from incrowd.faces.studio.values import most_frequent

    open_cells = pl.Series("x", [f"{number}.500" for number in range(10, 99)])
    assert not any(" to " in label for label, _ in most_frequent(open_cells))
    assert any(" to " in label for label, _ in most_frequent(open_cells.cast(pl.Float64)))


def test_a_codebook_calls_such_a_column_one_of_texts():
    from incrowd.release.jobs.make.codebook import _is_of_numbers

    assert not _is_of_numbers(pl.Series(["27.500", "31.250"]))
    assert _is_of_numbers(pl.Series(["27.500", "31.2"]))
