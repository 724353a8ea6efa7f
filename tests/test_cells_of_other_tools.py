"""Any tool may make a release: losses, attacks, k-map and verify read every spelling alike."""

from __future__ import annotations

import datetime as dt
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import incrowd as ic
from crossed import quick
from incrowd.core.reading.cells import SPELLINGS, read_span
from incrowd.faces.cli import app
from incrowd_verify.cells import bounds_of

NUMBERS = {
    "from 20 to 29": [15, 16, *range(20, 30), 33, 46],
    "46 or more": [18, 20, 25, 30, 31, 46, 60, 63, 70, 70],
    "24 or less": [0, 7, 11, 24, 25, 33, 46, 70],
    "1,000 to 2,999": [1, 1000, 1500, 2200, 2999, 4000],
    "-5 to -1": [-9, -5, -4, -1, 0, 3],
}
DAYS = [dt.date(2019, 11, 5) + dt.timedelta(days=23 * row) for row in range(24)]
EACH = [(meaning, text) for meaning, texts in SPELLINGS.items() for text in texts]


def values_of(meaning: str) -> list[object]:
    return list(NUMBERS.get(meaning, DAYS))


def release_of(meaning: str, text: str) -> pl.DataFrame:
    """Write a single cell in a spelling, and the other values unchanged."""
    values = values_of(meaning)
    span = read_span(SPELLINGS[meaning][0], "number" if meaning in NUMBERS else "date")
    assert span is not None

    def inside(value: object) -> bool:
        return span.low <= (value if meaning in NUMBERS else f"{value}T00:00:00") <= span.high

    return raw_of(meaning).with_columns(
        age=pl.Series([text if inside(value) else str(value) for value in values])
    )


def raw_of(meaning: str) -> pl.DataFrame:
    values = values_of(meaning)
    return pl.DataFrame({"age": values, "ill": ["xy"[row % 2] for row in range(len(values))]})


@cache
def figures(meaning: str, text: str) -> dict[str, object]:
    """Measure losses, attacks and the people of a population whom each class could be."""
    raw, release = raw_of(meaning), release_of(meaning, text)
    schema = ic.Schema({"age": "number" if meaning in NUMBERS else "date"}, sensitive=["ill"])
    evaluation = ic.evaluate(raw, release, schema)
    attacks = ic.attack(raw, release, schema, secret="ill", attacks=40, seed=1)
    everybody = pl.concat([raw.select("age")] * 3)
    assessment = ic.assess(release, ic.Schema(["age"], unlisted="drop"), [ic.KMap(1)], population=everybody)
    return {
        "losses": {name: lost.value for name, lost in evaluation.utility.items()},
        "summarized": evaluation.summarized,
        "attacks": [attack.to_dict() for attack in attacks],
        "k-map": [each.value for each in assessment.results.asked],
    }


@pytest.mark.few(1)
@pytest.mark.parametrize("each", quick(EACH, *EACH[::5]))
def test_every_spelling_has_the_figures_of_the_first(each):
    meaning, text = each
    assert figures(meaning, text) == figures(meaning, SPELLINGS[meaning][0])


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["number", "category"])
def test_a_cell_that_is_left_out_is_a_star(kind):
    ages = [18, 20, 25, 30, 31, 33, 40, 45, 60, 63, 70, 70]
    raw = pl.DataFrame({"age": ages, "sex": ["f", "m"] * 6, "ill": ["x", "y", "y"] * 4})
    schema = ic.Schema({"age": kind, "sex": "category"}, sensitive=["ill"])
    starred = raw.with_columns(
        age=pl.Series(["18" if age == 18 else "*" if age < 46 else str(age) for age in ages]),
        sex=pl.Series([*"fmfm", *"****", *"fmfm"]),
    )
    left_out = starred.with_columns(pl.col("age", "sex").replace("*", None))
    one, other = (ic.evaluate(raw, release, schema) for release in (starred, left_out))
    assert (one.suppressed, one.classes) == (other.suppressed, other.classes) == (4, one.classes)
    assert {name: lost.to_dict() for name, lost in one.utility.items()} == {
        name: lost.to_dict() for name, lost in other.utility.items()
    }
    tries = [
        [each.to_dict() for each in ic.attack(raw, release, schema, secret="ill", attacks=40)]
        for release in (starred, left_out)
    ]
    assert tries[0] == tries[1]


def test_a_value_that_was_missing_before_is_no_star():
    raw = pl.DataFrame({"age": [18, 18, None, None], "sex": ["f", "f", "m", "m"], "ill": ["x", "y"] * 2})
    release = raw.with_columns(pl.col("age").cast(pl.String))
    evaluation = ic.evaluate(raw, release, ic.Schema({"age": "number", "sex": "category"}, sensitive=["ill"]))
    assert (evaluation.suppressed, evaluation.utility["loss"].value, evaluation.summarized["age"]) == (
        0,
        0.0,
        0,
    )


AGES = [18, 20, 25, 25, 31, 33, 40, 45, 60, 63, 70, 70] * 2
MARKS = {"": None, "NA": "NA", "suppressed": "suppressed"}


def by_stars_and_marks(mark: str) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Make a raw table, a release with stars, and the same with another mark for the stars."""
    raw = pl.DataFrame({"age": AGES, "sex": ["f", "m", "m"] * 8, "ill": ["x", "y", "y"] * 8})
    starred = raw.with_columns(
        age=pl.Series(["*" if 30 < age < 46 else str(age) for age in AGES]),
        sex=pl.Series(["*" if 40 < age < 70 else sex for age, sex in zip(AGES, raw["sex"], strict=True)]),
    )
    return raw, starred, starred.with_columns(pl.col("age", "sex").replace("*", MARKS[mark]))


@pytest.mark.few(1)
@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_of_suppression_is_a_star_everywhere(mark, tmp_path):
    raw, starred, marked = by_stars_and_marks(mark)
    schema = ic.Schema({"age": "number", "sex": "category"}, sensitive=["ill"])
    assessments = [
        ic.assess(table, schema, [ic.KAnonymity(2)], suppressed_as=marks).to_dict()
        for table, marks in ((starred, []), (marked, [mark]))
    ]
    assert assessments[0] == assessments[1]
    assert assessments[0]["suppressed"] == 2
    losses = [
        ic.evaluate(raw, table, schema, suppressed_as=marks).to_dict()
        for table, marks in ((starred, []), (marked, [mark]))
    ]
    assert losses[0] == losses[1]
    tries = [
        [each.to_dict() for each in ic.attack(raw, table, schema, attacks=40, suppressed_as=marks)]
        for table, marks in ((starred, []), (marked, [mark]))
    ]
    assert tries[0] == tries[1]
    (tmp_path / "policy.toml").write_text(
        "version = 1\nkeep_order = true\nmax_suppression = 1.0\nsuppressed = 'keep'\n"
        "[columns.age]\nrole = 'quasi'\nkind = 'number'\ngrid = 1\n[columns.sex]\nrole = 'quasi'\n"
        "[columns.ill]\nrole = 'sensitive'\n[[models]]\nmodel = 'k-anonymity'\nk = 2\n"
    )
    results = []
    for table, marks in ((starred, []), (marked, [mark])):
        raw.write_parquet(tmp_path / "raw.parquet")
        table.write_csv(tmp_path / "safe.csv")
        paths = [tmp_path / name for name in ("safe.csv", "policy.toml", "raw.parquet")]
        results.append(ic.verify(*paths[:2], against=paths[2], suppressed_as=marks).to_dict())
    assert results[0] == results[1]
    assert (results[0]["suppressed"], results[0]["problems"]) == (2, [])


@pytest.mark.slow
def test_a_mark_of_suppression_is_an_option_of_every_command_that_reads_a_release(tmp_path):
    raw, starred, marked = by_stars_and_marks("NA")
    for name, table in (("raw", raw), ("starred", starred), ("marked", marked)):
        table.write_csv(tmp_path / f"{name}.csv")
    arguments = ["--qi", "age,sex", "--sensitive", "ill", "--json"]
    for command, before in (("assess", []), ("risk", []), ("utility", ["raw"]), ("attack", ["raw"])):
        files = [str(tmp_path / f"{name}.csv") for name in before]
        outputs = [
            CliRunner().invoke(app, [command, *files, str(tmp_path / f"{name}.csv"), *arguments, *marks])
            for name, marks in (("starred", []), ("marked", ["--suppressed-as", "NA"]))
        ]
        assert outputs[0].output.replace("starred", "marked") == outputs[1].output, command
        assert outputs[1].exit_code == 0


def test_rows_that_stay_elsewhere_have_no_marks():
    with pytest.raises(ic.ParameterError, match="suppressed_as is for frames and files that are read whole"):
        ic.assess(pl.LazyFrame({"a": ["NA"]}), ic.Schema(["a"]), suppressed_as=["NA"])


def test_a_mask_is_read_alike_everywhere(tmp_path):
    raw = pl.DataFrame({"zip": ["02101", "02102", "02201", "12345"] * 2, "ill": ["a", "b"] * 4})
    masks = ["021**", "021**", "0**01", "*****"] * 2
    release = raw.with_columns(zip=pl.Series(masks))
    assessment = ic.assess(
        release, ic.Schema(["zip"], unlisted="drop"), [ic.KMap(1)], population=raw.select("zip")
    )
    # 021** are four of the population, and so are 0**01.
    assert [each.value for each in assessment.results.asked] == [4]
    (tmp_path / "policy.toml").write_text(
        "version = 1\nkeep_order = true\n[columns.zip]\nrole = 'quasi'\nkind = 'category'\n"
        "[columns.ill]\nrole = 'sensitive'\n[[models]]\nmodel = 'k-map'\nk = 4\n"
    )
    paths = [tmp_path / name for name in ("safe.csv", "policy.toml", "raw.csv")]
    raw.write_csv(paths[2])
    for masked, problems, people in ((masks, 0, 4), (["022**", *masks[1:]], 1, 2)):
        raw.with_columns(zip=pl.Series(masked)).write_csv(paths[0])
        result = ic.verify(*paths[:2], against=paths[2], population=paths[2])
        assert (len(result.problems), result.findings[0].reached) == (problems, people)


def test_a_mask_is_spread_over_the_values_that_it_fits_and_no_others():
    raw = pl.DataFrame({"zip": ["0101", "0201", "0202", "0301"], "ill": ["a", "b"] * 2})
    release = raw.with_columns(zip=pl.Series(["0*01", "0*01", "0202", "0*01"]))
    counts = ic.evaluate(raw, release, ic.Schema(["zip"], sensitive=["ill"])).table("zip")
    assert counts["after"].to_list() == [pytest.approx(1)] * 4


UNREAD = ["group 1", "46 bananas", "[20-29", "age 20-29", "young"]


@pytest.mark.parametrize("text", UNREAD)
@pytest.mark.parametrize("kind", ["number", "category"])
def test_a_cell_that_nobody_can_read_is_told_and_leaves_no_figure(text, kind):
    """Classes can be counted still, and columns that are read can be attacked."""
    ages = [18, 20, 25, 30, 31, 46]
    raw = pl.DataFrame({"age": ages, "sex": ["f", "m"] * 3, "ill": ["x", "y", "y"] * 2})
    release = raw.with_columns(age=pl.Series([text, text, *map(str, ages[2:])]))
    schema = ic.Schema({"age": kind, "sex": "category"}, sensitive=["ill"])
    evaluation = ic.evaluate(raw, release, schema)
    assert (evaluation.classes, evaluation.unread["age"].records, [*evaluation.unread]) == (6, 2, ["age"])
    assert not any(letter.isdigit() and letter != "9" for letter in "".join(evaluation.unread["age"].shapes))
    assert "loss" not in evaluation.utility
    assert evaluation.utility["discernibility"].value > 0
    for figure in (
        lambda: ic.fidelity(evaluation),
        lambda: evaluation.per_record("loss"),
        lambda: evaluation.table("age"),
        lambda: ic.learn(evaluation, raw, "ill"),
    ):
        with pytest.raises(ic.TableError, match="not measured: column 'age': the cells of 2 records"):
            figure()
    assert (
        evaluation.per_record("discernibility") is None or len(evaluation.per_record("discernibility")) == 6
    )
    tries = ic.attack(raw, release, schema, secret="ill", known=["sex"], aligned=True)
    assert {each.name for each in tries if each.attacks} == {"linkage"}
    for each in tries:
        assert each.attacks or each.remarks[0].startswith("not measured: column 'age'")


@pytest.mark.parametrize("text", ["[30-39]", "30 to 39", "[30, 40)"])
def test_a_range_beside_a_hierarchy_is_the_values_within_it(text):
    ages = [18, 20, 30, 35, 39, 46]
    tree = ic.Hierarchy.from_nested({"*": {"odd": ["35", "39"], "even": ["18", "20", "30", "46"]}})
    raw = pl.DataFrame({"age": ages, "ill": ["x", "y", "y"] * 2})
    release = raw.with_columns(age=pl.Series(["18", "20", text, text, text, "46"]))
    evaluation = ic.evaluate(raw, release, ic.Schema({"age": tree}, sensitive=["ill"]))
    assert (evaluation.unread, evaluation.summarized) == ({}, {"age": 0})


@pytest.mark.few(2)
@pytest.mark.parametrize("each", quick(EACH, *EACH[2::5]))
def test_every_spelling_is_verified_against_the_raw_table(each, tmp_path):
    meaning, text = each
    kind, grid = ("number", "1") if meaning in NUMBERS else ("date", "'day'")
    (tmp_path / "policy.toml").write_text(
        f"version = 1\nkeep_order = true\n[columns.age]\nrole = 'quasi'\nkind = '{kind}'\ngrid = {grid}\n"
        "[columns.ill]\nrole = 'sensitive'\n[[models]]\nmodel = 'k-anonymity'\nk = 1\n"
    )
    raw_of(meaning).write_csv(tmp_path / "raw.csv")

    release = release_of(meaning, text)

    def verified(table: pl.DataFrame) -> list[str]:
        table.write_csv(tmp_path / "safe.csv")
        paths = [tmp_path / name for name in ("safe.csv", "policy.toml", "raw.csv")]
        return list(ic.verify(*paths[:2], against=paths[2]).problems)

    assert not verified(release)
    # The cell of somebody whom it does not cover is found.
    outside = next(row for row, cell in enumerate(release["age"]) if cell != text)
    cells = [text if row == outside else cell for row, cell in enumerate(release["age"])]
    assert verified(release.with_columns(age=pl.Series(cells)))


@given(st.sampled_from(EACH), st.data())
def test_the_verifier_reads_every_spelling_alike(each, data):
    meaning, text = each
    kind = "number" if meaning in NUMBERS else "date"
    for _ in range(data.draw(st.integers(0, 2))):
        place = data.draw(st.integers(0, len(text) - 1))
        if text[place].isdigit():
            text = text[:place] + data.draw(st.sampled_from("0123456789")) + text[place + 1 :]
    mine, theirs = read_span(text, kind), bounds_of(text, kind)
    assert (mine is None) == (theirs is None)


def test_docs_list_every_spelling():
    page = (Path(__file__).parents[1] / "docs" / "values.md").read_text()
    for meaning, texts in SPELLINGS.items():
        assert f"\n- **{meaning}**: " in page
        for text in texts:
            assert f"`{text}`" in page, text
