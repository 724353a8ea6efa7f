"""Domain: the values of a column, the order of values, and the width of an interval."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.core.kernels.jit import PARALLEL_FROM
from incrowd.core.reading.spellings import has_unclear_points
from incrowd.core.table.domain import Dictionary, Domain
from incrowd.engines.distinct import dictionary

TREE = ic.Hierarchy.from_nested({"*": {"A": ["a1", "a2"], "B": ["b1", "b2", "b3"], "C": ["c1"]}})


def build(texts, missing=False, **attribute) -> tuple[Domain, list[int]]:
    domain, ranks = Domain.build(ic.Attribute("c", "quasi", **attribute), Dictionary(texts, missing))
    assert ranks.shape == (len(texts) + 1,)
    return domain, ranks.tolist()


# --- kinds ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1", "20", "-3", "0", "0.50"], "number"),
        (["1", "02139"], "category"),
        (["1", "+2"], "category"),
        (["1", "1e3"], "category"),
        (["1", ".5"], "category"),
        (["1", "5."], "category"),
        (["1", ""], "category"),
        (["1", " 2"], "category"),
        (["1", "2\n"], "category"),
        (["1", "nan"], "category"),
        (["1", "٣"], "category"),
        (["2020-02-29", "1999-12-31"], "date"),
        (["2020-02-30"], "category"),
        (["2020-2-3"], "category"),
        (["2020-01-01", "None"], "category"),
        (["2020-01-01T00:00:00"], "category"),
        (["None", "NA", "?"], "category"),
        ([], "category"),
    ],
)
def test_the_values_decide_the_kind(texts, kind):
    assert build(texts)[0].kind == kind
    assert build(texts, kind="category")[0].kind == "category"


@pytest.mark.parametrize(
    ("kind", "what"), [("number", "plain numbers"), ("date", "dates written YYYY-MM-DD")]
)
def test_what_was_declared_is_held_to(kind, what):
    with pytest.raises(ic.SchemaError) as caught:
        build(["5", "2020-01-01", "Bob"], kind=kind)
    assert f"column 'c': 2 of 3 distinct values are no {what}" in str(caught.value)
    assert "Bob" not in str(caught.value)


def test_a_column_that_is_all_missing():
    for attribute in ({}, {"kind": "number"}, {"kind": "date"}, {"hierarchy": ic.Hierarchy.prefix()}, {"hierarchy": TREE}):  # fmt: skip
        domain, ranks = build([], missing=True, **attribute)
        assert domain.values[-1] is None
        assert ranks == [domain.missing] == [domain.size - 1]
        rank = np.array(ranks)
        assert domain.span(rank, rank).tolist() == [0.0]


# --- order ------------------------------------------------------------------------------------------------


# Whole thousandths, so that no two texts are one number.
number_texts = st.integers(-(10**9), 10**9).map(lambda n: f"{Decimal(n) / 1000:f}")


@given(st.lists(number_texts, min_size=1, unique=True), st.booleans())
def test_numbers_are_ranked_by_value(texts, missing):
    assume(not has_unclear_points(pl.Series(texts)))
    domain, ranks = build(texts, missing)
    assert domain.kind == "number"
    assert domain.ordered
    known = domain.values[: len(texts)]
    assert [Decimal(text) for text in known] == sorted(Decimal(text) for text in texts)
    assert [domain.values[rank] for rank in ranks[:-1]] == texts
    assert (ranks[-1], domain.missing) == ((len(texts), len(texts)) if missing else (-1, -1))
    assert domain.numbers[: len(texts)].tolist() == [float(text) for text in known]
    assert np.isnan(domain.numbers[len(texts) :]).all()


def test_texts_of_one_number_are_one_value_whatever_its_size():
    texts = ["1.0", "1", "9007199254740993", "9007199254740992.0", "9007199254740992", "-0", "0"]
    domain, ranks = build(texts)
    assert domain.values == ("0", "1", "9007199254740992", "9007199254740993")
    assert ranks[:-1] == [1, 1, 3, 2, 2, 0, 0]


def test_long_decimals_are_told_apart():
    texts = ["0.10000000000000000001", "0.1", "0.10000000000000000000"]
    domain, ranks = build(texts)
    assert domain.values == ("0.1", "0.10000000000000000001")
    assert ranks[:-1] == [1, 0, 0]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["0.1000000000000000000001", "0.1000000000000000000002"], [1.0]),
        (["9007199254740992", "9007199254740993"], [1.0]),
        (["9007199254740992", "9007199254740993", "9007199254740996"], [0.25, 0.75]),
        (["0.1", "0.1000000000000000000001", "0.1000000000000000000002", "1"], [1e-22 / 0.9, 1e-22 / 0.9, 1.0]),
        (["0", "9007199254740992", "9007199254740993"], [1.0, 0.0]),
        (["1" + "0" * 400, "2" + "0" * 400, "3" + "0" * 400], [0.5, 0.5]),
    ],
)  # fmt: skip
def test_values_that_differ_lose_something_though_doubles_are_one(texts, expected):
    domain, _ = build(texts)
    lo = np.arange(domain.size - 1)
    lost = domain.span(lo, lo + 1)
    assert (lost > 0).all()
    assert lost == pytest.approx(expected, abs=1e-12)
    assert domain.span(lo[:1], lo[-1:] + 1).tolist() == [1.0]


@given(st.lists(st.dates(), min_size=1, unique=True))
def test_dates_are_ranked_by_day(days):
    texts = [day.isoformat() for day in days]
    domain, ranks = build(texts)
    assert domain.kind == "date"
    assert list(domain.values) == sorted(texts)
    assert [domain.values[rank] for rank in ranks[:-1]] == texts
    assert domain.numbers.tolist() == [day.toordinal() - 719163 for day in sorted(days)]


@pytest.mark.slow
@given(st.lists(st.text(min_size=1), min_size=1, unique=True), st.booleans(), st.randoms())
def test_categories_are_ranked_by_text_whatever_order_they_came_in(texts, missing, random):
    domain, ranks = build(texts, missing, kind="category")
    assert list(domain.values[: len(texts)]) == sorted(texts)
    assert [domain.values[rank] for rank in ranks[:-1]] == texts
    shuffled = random.sample(texts, len(texts))
    assert build(shuffled, missing, kind="category")[0].values == domain.values


def test_a_hierarchy_gives_its_leaf_order_and_values_that_do_not_occur():
    domain, ranks = build(["b1", "a2"], hierarchy=TREE)
    assert domain.values == TREE.values
    assert ranks == [2, 1, -1]
    assert not domain.ordered
    assert domain.hierarchy is TREE


def test_the_missing_value_is_a_leaf_under_the_root():
    domain, ranks = build(["b1"], missing=True, hierarchy=TREE)
    tree = domain.hierarchy
    assert ranks == [2, 6]
    assert domain.values == (*TREE.values, None)
    assert tree.n_leaves == 7
    assert tree.parents[tree.leaves[6]] == 0
    assert domain.ancestors([2, 2], [4, 6]).tolist() == [tree.find("B"), 0]
    assert TREE.n_leaves == 6


@pytest.mark.parametrize(
    ("leaves", "values", "told"),
    [
        (["1", "2"], ["male", "female"], True),
        (["-1", "1.5", "2"], ["2", "refused"], True),
        (["1", "2"], ["3", "male"], False),
        (["1", "F"], ["male"], False),
    ],
)
def test_codes_in_place_of_their_labels_are_told(leaves, values, told):
    for hierarchy in (ic.Hierarchy.from_paths([leaf, "*"] for leaf in leaves), ic.Hierarchy.order(leaves)):
        with pytest.raises(ic.HierarchyError) as caught:
            build(values, hierarchy=hierarchy)
        assert ("a code is read as its label, so list the labels" in str(caught.value)) == told
        assert "male" not in str(caught.value)


def test_unknown_values_are_counted_and_not_shown():
    with pytest.raises(ic.HierarchyError) as caught:
        build(["a1", "Bob", "Eve"], hierarchy=TREE)
    assert "column 'c': 2 of 3 distinct values are not leaves" in str(caught.value)
    assert "Bob" not in str(caught.value)
    # An inner node is no leaf either.
    with pytest.raises(ic.HierarchyError, match="1 of 1 distinct values"):
        build(["A"], hierarchy=TREE)
    with pytest.raises(ic.HierarchyError, match="the empty text has no place"):
        build(["", "ab"], hierarchy=ic.Hierarchy.prefix())


# --- width ------------------------------------------------------------------------------------------------


def intervals(size: int) -> tuple[np.ndarray, np.ndarray]:
    pairs = [(lo, hi) for lo in range(size) for hi in range(lo, size)]
    return np.array([lo for lo, _ in pairs]), np.array([hi for _, hi in pairs])


@pytest.mark.parametrize("missing", [False, True])
def test_the_width_of_numbers(missing):
    domain, _ = build(["1", "2", "10", "51"], missing)
    for lo, hi, width in zip(*intervals(domain.size), domain.span(*intervals(domain.size)), strict=True):
        if lo == hi:
            assert width == 0
        elif hi == domain.missing:
            assert width == 1
        else:
            assert width == (float(domain.values[hi]) - float(domain.values[lo])) / 50


@pytest.mark.parametrize("missing", [False, True])
def test_the_width_of_categories(missing):
    domain, _ = build(["x", "y", "z"], missing)
    lo, hi = intervals(domain.size)
    assert domain.span(lo, hi).tolist() == ((hi - lo) / (domain.size - 1)).tolist()


@pytest.mark.parametrize("missing", [False, True])
def test_the_width_under_a_hierarchy(missing):
    domain, _ = build(["a1"], missing, hierarchy=TREE)
    tree = domain.hierarchy
    leaves = domain.size
    for lo, hi, width, node in zip(*intervals(leaves), domain.span(*intervals(leaves)), domain.ancestors(*intervals(leaves)), strict=True):  # fmt: skip
        covering = [n for n in range(tree.n_nodes) if tree.lo[n] <= lo and hi < tree.hi[n]]
        lowest = max(covering, key=lambda n: tree.depths[n])
        assert node == lowest
        assert width == (tree.hi[lowest] - tree.lo[lowest] - 1) / (leaves - 1)


@given(st.lists(st.integers(-50, 50), min_size=1, unique=True), st.booleans(), st.data())
def test_wider_intervals_never_lose_less(numbers, missing, data):
    domain, _ = build([str(number) for number in numbers], missing)
    lo = data.draw(st.integers(0, domain.size - 1))
    hi = data.draw(st.integers(lo, domain.size - 1))
    outer = domain.span(np.array([data.draw(st.integers(0, lo))]), np.array([data.draw(st.integers(hi, domain.size - 1))]))  # fmt: skip
    inner = domain.span(np.array([lo]), np.array([hi]))
    assert 0 <= inner[0] <= outer[0] <= 1


def test_a_column_without_hierarchy_has_two_levels():
    domain, _ = build(["*", "x"], missing=True)
    tree = domain.tree
    assert (tree.n_leaves, tree.height) == (3, 1)
    assert tree.climb(1).tolist() == [0, 0, 0]
    assert domain.hierarchy is None


# --- what an engine finds ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "series",
    [
        pl.Series([3, 1, None, 3], dtype=pl.Int8),
        pl.Series([3, 1, None, 3], dtype=pl.UInt64),
        pl.Series([3, 1, None, 3], dtype=pl.Int128),
        pl.Series([3, 1, None, 3]).cast(pl.Decimal(10, 0)),
        pl.Series([3.0, 1.0, float("nan"), 3.0]),
        pl.Series([3.0, 1.0, None, 3.0], dtype=pl.Float32),
        pl.Series(["3", "1", None, "3"]),
        pl.Series(["3", "1", None, "3"], dtype=pl.Categorical),
        pl.Series(["3", "1", None, "3"], dtype=pl.Enum(["0", "1", "2", "3"])),
        pl.Series(["3", "1", "?", "3"]),
    ],
    ids=lambda series: str(series.dtype),
)
def test_one_column_in_every_type(series):
    result, codes = dictionary(series, "c", ("?",))
    assert list(result.texts) == ["1", "3"]
    assert result.has_missing
    assert codes.tolist() == [1, 0, 2, 1]
    domain, ranks = Domain.build(ic.Attribute("c", "quasi"), result)
    assert domain.kind == "number"
    assert [domain.values[rank] for rank in ranks[codes]] == ["3", "1", None, "3"]


def test_null_values_are_exact_texts():
    result, codes = dictionary(pl.Series(["NA", "na", "", "?", None]), "c", ("NA", ""))
    assert list(result.texts) == ["?", "na"]
    assert codes.tolist() == [2, 1, 2, 0, 2]
    result, _ = dictionary(pl.Series(["NA", "None", "?", ""]), "c", ())
    assert list(result.texts) == ["", "?", "NA", "None"]
    assert not result.has_missing


@pytest.mark.parametrize("way", ["by hash", "by hash, all alike", "by value"])
@pytest.mark.parametrize("missing", [None, ""])
def test_many_texts_are_placed_in_order_however_they_are_found(monkeypatch, way, missing):
    rows = PARALLEL_FROM if way != "by value" else 900
    if way == "by hash, all alike":
        monkeypatch.setattr(
            pl.DataFrame, "hash_rows", lambda frame: pl.Series(np.zeros(len(frame), np.uint64))
        )
    texts = [missing, *(f"text {row * 7919 % 700}" for row in range(rows - 1))]
    result, codes = dictionary(pl.Series("^c$", texts), "c", ())
    distinct = sorted({text for text in texts if text is not None})
    place = {text: number for number, text in enumerate([*distinct, None])}
    assert list(result.texts) == distinct
    assert result.has_missing is (missing is None)
    assert codes.tolist() == [place[text] for text in texts]
