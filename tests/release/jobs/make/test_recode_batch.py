"""Unseen values: each gets the cell from the recipe of the hierarchy, or none."""

from __future__ import annotations

import datetime as dt
import json
import math
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from examples import examples

ALLOWED = {"max_suppression": 1.0, "force": True}


def bins(value: str, known: list[str], widths: tuple[int, ...]) -> list[str] | None:
    """Read the recipe of intervals a second time: the value and the groups above, or None outside."""
    whole = all(Fraction(text).denominator == 1 for text in known)
    if whole and Fraction(value).denominator > 1:
        return None
    path = [value]
    for width in widths:
        low = math.floor(Fraction(value) / width) * width
        path.append(f"[{low}-{low + width - 1}]" if whole else f"[{low}, {low + width})")
    return [*path, "*"]


def bands(value: str, known: list[str]) -> list[str] | None:
    """Read the recipe of bands a second time: the cuts 10, 15 and 30 over whole numbers."""
    if "." in value:
        return None
    number = int(value)
    band = "<10" if number < 10 else "[10-14]" if number < 15 else "[15-29]" if number < 30 else ">=30"
    return [value, band, "*"]


def masks(value: str, known: list[str]) -> list[str] | None:
    """Read the recipe of prefixes a second time."""
    longest = max(map(len, known))
    if len(value) > longest:
        return None
    return [value, *(value[:length] + "*" * (longest - length) for length in range(longest - 1, 0, -1)), "*"]


def days(value: str, known: list[str]) -> list[str]:
    """Read the recipe of dates a second time."""
    day = dt.date.fromisoformat(value)
    return [value, f"{day:%Y-%m}", f"{day.year}", "*"]


RECIPES = {
    "intervals": (
        ic.Hierarchy.intervals(5, 10),
        st.sampled_from([str(number) for number in range(40)]),
        st.sampled_from([*(str(number) for number in range(60)), "7.5"]),
        lambda value, known: bins(value, known, (5, 10)),
    ),
    "halves": (
        ic.Hierarchy.intervals(5, 10),
        st.sampled_from(["0.5", "3", "7.5", "12", "18"]),
        st.sampled_from(["1.5", "6", "22", "31.25"]),
        lambda value, known: bins(value, known, (5, 10)),
    ),
    "bands": (
        ic.Hierarchy.bands(10, 15, 30),
        st.sampled_from([str(number) for number in range(40)]),
        st.sampled_from([*(str(number) for number in range(60)), "7.5"]),
        bands,
    ),
    "prefix": (
        ic.Hierarchy.prefix(),
        st.text("ab", min_size=1, max_size=3),
        st.text("abc", min_size=1, max_size=4),
        masks,
    ),
    "dates": (
        ic.Hierarchy.dates("month", "year"),
        st.dates(dt.date(2023, 11, 1), dt.date(2024, 3, 1)).map(str),
        st.dates(dt.date(2023, 6, 1), dt.date(2024, 12, 1)).map(str),
        days,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
@examples(60)
@given(data=st.data(), level=st.integers(0, 3))
def test_a_level_covers_unseen_values_by_its_recipe(name, data, level):
    recipe, known, fresh, path = RECIPES[name]
    first = data.draw(st.lists(known, min_size=1, max_size=8))
    batch = data.draw(st.lists(fresh, min_size=1, max_size=8))
    recipe_height = recipe.build(sorted(set(first)), "q").height
    level = min(level, recipe_height)
    schema = ic.Schema.of_attributes([ic.Attribute("q", "quasi", kind="category" if name == "prefix" else "auto",
                                        hierarchy=recipe, levels=(level, level)),
                           ic.Attribute("all", "quasi")])  # fmt: skip
    policy = ic.Policy(schema, (ic.KAnonymity(1),), ic.Optimal(), keep_order=True)
    release = ic.anonymize(table(first), policy, force=True)
    expected = []
    for value in batch:
        steps = path(value, first)
        expected.append("*" if steps is None else steps[level])
    try:
        applied = ic.apply_recoding(release.recoding, table(batch), policy, **ALLOWED)
    except ic.InfeasibleError:
        assert set(expected) == {"*"}
        return
    assert applied.table["q"].cast(pl.String).to_list() == expected
    assert applied.outside == (0 if level == recipe_height else expected.count("*"))


def table(values: list[str]) -> pl.DataFrame:
    return pl.DataFrame({"q": values}).with_columns(all=pl.lit("a"))


@pytest.mark.few(1)
@pytest.mark.parametrize("algorithm", [ic.Mondrian(), ic.TopDownSpecialization(target="s")])
@pytest.mark.parametrize("name", RECIPES)
@examples(60)
@given(data=st.data())
def test_a_cell_covers_unseen_values_below_its_group(algorithm, name, data):
    recipe, known, fresh, path = RECIPES[name]
    kind = "category" if name == "prefix" else "auto"
    first = data.draw(st.lists(known, min_size=3, max_size=9))
    batch = data.draw(st.lists(fresh, min_size=1, max_size=8))
    classes = data.draw(st.lists(st.sampled_from("xy"), min_size=len(first), max_size=len(first)))
    frame = table(first).with_columns(s=pl.Series(classes))
    schema = ic.Schema.of_attributes([ic.Attribute("q", "quasi", kind=kind, hierarchy=recipe),
                           ic.Attribute("all", "quasi"), ic.Attribute("s", "insensitive")])  # fmt: skip
    policy = ic.Policy(schema, (ic.KAnonymity(3),), algorithm, keep_order=True)
    release = ic.anonymize(frame, policy, force=True)
    cells = set(release.table["q"].cast(pl.String))
    loose = ic.Policy(schema, (ic.KAnonymity(1),), algorithm, keep_order=True)
    rows = table(batch).with_columns(s=pl.lit("x"))
    above = [path(value, first) or [] for value in batch]
    covered = [[label for label in labels if label in cells] for labels in above]
    covered = [labels or (["*"] if "*" in cells else []) for labels in covered]
    # A value of the first table keeps its cell: a cut between two leaves may have left it beside its group.
    before = dict(zip(first, release.table["q"].cast(pl.String), strict=True))
    covered = [
        [before[value]] if value in before else labels for value, labels in zip(batch, covered, strict=True)
    ]
    try:
        applied = ic.apply_recoding(release.recoding, rows, loose, **ALLOWED)
    except ic.InfeasibleError:
        assert all(labels in ([], ["*"]) for labels in covered)
        return
    for cell, labels in zip(applied.table["q"].cast(pl.String).to_list(), covered, strict=True):
        # Of several classes that cover a value, it gets the cell that loses least: the lowest group.
        assert cell == (labels[0] if labels else "*")


def test_the_recipe_is_saved_with_the_recoding(tmp_path):
    schema = ic.Schema(
        quasi={"age": ic.Hierarchy.intervals(5, 10), "day": ic.Hierarchy.dates("month", "year")}
    )
    days = ["2024-01-03", "2024-01-09", "2024-01-20", "2024-01-30"]
    first = pl.DataFrame({"age": ["21", "22", "31", None], "day": days})
    policy = ic.Policy(schema, (ic.KAnonymity(2),), ic.Optimal(), max_suppression=0.5, keep_order=True)
    release = ic.anonymize(first, policy, force=True)
    release.recoding.save(tmp_path / "recoding")
    document = json.loads((tmp_path / "recoding" / "recoding.json").read_text())
    assert [entry["recipe"] for entry in document["attributes"]] == [
        {"intervals": [5, 10], "origin": 0},
        {"dates": ["month", "year"]},
    ]
    batch = pl.DataFrame({"age": ["24", "20", "33", "33"], "day": ["2024-01-31", "2024-01-01"] * 2})
    there = ic.apply_recoding(release.recoding, batch, policy, **ALLOWED)
    saved = ic.apply_recoding(tmp_path / "recoding", batch, policy, **ALLOWED)
    assert there.table.equals(saved.table)
    assert (saved.outside, saved.suppressed) == (0, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"intervals": [5, 20], "origin": 0},
        {"intervals": [5, 10], "origin": 1},
        {"intervals": "wide"},
        {"dates": True},
        {"prefix": True},
        {},
        {"something": 1},
    ],
)
def test_a_recipe_that_is_not_that_of_the_hierarchy_is_refused(tmp_path, change):
    schema = ic.Schema(quasi={"age": ic.Hierarchy.intervals(5, 10)})
    release = ic.anonymize(
        pl.DataFrame({"age": ["21", "22", "23"]}), schema, [ic.KAnonymity(3)], ic.Optimal()
    )
    release.recoding.save(tmp_path / "recoding")
    file = tmp_path / "recoding" / "recoding.json"
    document = json.loads(file.read_text())
    document["attributes"][0]["recipe"] = change
    file.write_text(json.dumps(document))
    with pytest.raises(ic.TableError, match="damaged or was changed"):
        ic.Recoding.load(tmp_path / "recoding")


def test_a_star_covers_every_value_and_a_set_only_what_it_names():
    schema = ic.Schema(quasi=["town", "sex"], sensitive=["ill"])
    first = pl.DataFrame(
        {"town": ["a", "b", "c", "d"], "sex": ["f", "f", "m", "m"], "ill": ["x", "y", "x", "y"]}
    )
    policy = ic.Policy(schema, (ic.KAnonymity(2),), ic.Mondrian(), output="suppress")
    release = ic.anonymize(first, policy)
    assert set(release.table["town"]) == {"*"}
    batch = pl.DataFrame({"town": ["new", "newer", "a"], "sex": ["f", "f", "new"], "ill": ["x", "y", "x"]})
    applied = ic.apply_recoding(release.recoding, batch, policy, **ALLOWED)
    assert (applied.outside, applied.unknown) == (1, {"sex": 1})
    sets = ic.Policy(schema, (ic.KAnonymity(2),), ic.Mondrian())
    release = ic.anonymize(first, sets)
    batch = pl.DataFrame({"town": ["a", "b", "new", "new"], "sex": ["f"] * 4, "ill": ["x", "y", "x", "y"]})
    applied = ic.apply_recoding(release.recoding, batch, sets, **ALLOWED)
    assert (applied.outside, applied.unknown) == (2, {"town": 2})


def test_a_batch_of_which_no_row_fits_is_refused_in_whole_sentences():
    schema = ic.Schema(quasi={"day": ic.Hierarchy.dates("month")})
    policy = ic.Policy(schema, (ic.KAnonymity(2),), ic.Mondrian())
    days = ["2024-01-03", "2024-01-09", "2024-01-20", "2024-01-30"]
    release = ic.anonymize(pl.DataFrame({"day": days}), policy)
    said = (
        r"every row would be suppressed \(2 are covered by no cell, 0 in classes that fail\); "
        r"the recoding does not fit the batch; anonymize both tables together$"
    )
    with pytest.raises(ic.InfeasibleError, match=said):
        ic.apply_recoding(release.recoding, pl.DataFrame({"day": ["2024-02-03", "2024-02-04"]}), policy)
    mixed = pl.DataFrame({"day": ["2024-01-03", "2024-02-03", "2024-02-04"]})
    said = (
        r"\(2 are covered by no cell, 1 in classes that fail\); the recoding does not fit the batch; let rows of classes that "
        r"fail wait \(hold=True\), or anonymize both tables together$"
    )
    with pytest.raises(ic.InfeasibleError, match=said):
        ic.apply_recoding(release.recoding, mixed, policy)


def test_more_than_a_fifth_is_allowed_by_name_alone():
    schema = ic.Schema(quasi=["town"])
    policy = ic.Policy(schema, (ic.KAnonymity(2),), ic.Mondrian(), max_suppression=1.0)
    release = ic.anonymize(pl.DataFrame({"town": ["a", "a", "b", "b"]}), policy)
    fits = pl.DataFrame({"town": ["a"] * 4 + ["new"]})
    assert ic.apply_recoding(release.recoding, fits, policy).suppressed == 1
    other = pl.DataFrame({"town": ["a"] * 3 + ["new"]})
    said = r"1 of 4 rows would be suppressed \(1 are covered by no cell.* know: .town. in 1 row; the recoding does not fit"
    with pytest.raises(ic.InfeasibleError, match=said):
        ic.apply_recoding(release.recoding, other, policy)
    assert ic.apply_recoding(release.recoding, other, policy, max_suppression=0.25).suppressed == 1
    strict = ic.Policy(schema, (ic.KAnonymity(2),), ic.Mondrian(), max_suppression=0.1)
    with pytest.raises(ic.InfeasibleError, match=r"1 of 5 rows would be suppressed"):
        ic.apply_recoding(release.recoding, fits, strict)
