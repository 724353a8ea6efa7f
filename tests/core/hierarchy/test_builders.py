"""Recipes: unsuitable values, and exact bins."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.errors import HierarchyError
from incrowd.core.hierarchy import Hierarchy


@pytest.mark.parametrize(
    ("recipe", "values"),
    [
        (Hierarchy.prefix(), ["4*", "4", "412"]),
        (Hierarchy.order(["a", "b", "[a - b]", "d", "e"]), ["a"]),
        (Hierarchy.flat(), ["a", "*"]),
        (Hierarchy.flat(), ["!", "*"]),
        (Hierarchy.prefix(), ["ab", "*"]),
        (Hierarchy.flat(), ["a", ""]),
        (Hierarchy.prefix(), ["a", ""]),
        (Hierarchy.order(["*", "b"]), ["b"]),
    ],
)
def test_values_like_groups_are_not_shown(recipe, values):
    with pytest.raises(HierarchyError) as error:
        recipe.build(values, "phone")
    assert str(error.value) == (
        "column 'phone': a value is empty, '*' or the same text as a group that the recipe "
        f"{recipe.name!r} makes; name those that mean missing with null_values, or use another hierarchy"
    )


@given(st.lists(st.text(st.sampled_from("01*-+' "), min_size=1, max_size=4), min_size=1, unique=True))
def test_prefix_masks_or_refuses_without_showing_a_value(values):
    refusal = ""
    try:
        tree = Hierarchy.prefix().build(values, "c")
    except HierarchyError as error:
        refusal = str(error)
    if refusal:
        assert refusal.startswith("column 'c': a value is empty, '*' or")
        return
    assert set(tree.values) == set(values)
    longest = max(map(len, values))
    assert {len(tree.path(rank)) for rank in range(tree.n_leaves)} == {longest + 1}


@given(st.lists(st.text(st.sampled_from("01*' \0"), min_size=1, max_size=5), min_size=1, unique=True))
def test_the_tree_of_prefixes_is_that_of_all_masks_of_all_values(values):
    longest = max(map(len, values))
    paths = [
        [value, *(value[:length] + "*" * (longest - length) for length in range(longest - 1, 0, -1)), "*"]
        for value in sorted(values, key=lambda text: text.ljust(longest, "\0"))
    ]
    try:
        expected = Hierarchy.from_paths(paths)
    except HierarchyError:
        expected = None
    if expected is None or "*" in values:
        with pytest.raises(HierarchyError):
            Hierarchy.prefix().build(values, "c")
    else:
        assert Hierarchy.prefix().build(values, "c") == expected


@pytest.mark.parametrize(
    "value", ["2020-W01-1", "2020-W01", "2020-03-01x10:00", "20200301", "2020-3-1", "2020-02-30"]
)
def test_dates_are_written_year_month_day(value):
    with pytest.raises(HierarchyError, match="1 of 2 distinct values are no dates") as error:
        Hierarchy.dates().build(["2020-03-01", value], "c")
    assert value not in str(error.value)


def test_years_of_four_digits_from_the_first_on():
    """Systems write 0001-01-01 for "no date"; the year 199 is not of the 1990s."""
    tree = Hierarchy.dates().build(["0001-01-01", "0199-05-05", "1991-01-01"], "c")
    assert tree.path(0) == ("0001-01-01", "0001-01", "0001-Q1", "0001", "0000s", "*")
    assert tree.path(1)[-2] == "0190s"
    assert tree.path(2)[-2] == "1990s"


def test_a_day_with_and_without_time():
    tree = Hierarchy.dates("year").build(["2020-03-01T10:00:00.5Z", "2020-03-01 10:00:00", "2020-03-01"], "c")
    assert {tree.path(rank)[1:] for rank in range(3)} == {("2020-03-01", "2020", "*")}


@pytest.mark.parametrize(
    "value", ["1e999999999", "0e999999999", "1e-999999999", "9" * 5000, "0." + "1" * 5000]
)
def test_numbers_beyond_all_reason_do_not_stop_the_machine(value):
    with pytest.raises(HierarchyError, match="column 'c': 1 of 2 distinct values are no numbers"):
        Hierarchy.intervals(5).build(["1", value], "c")


@given(
    st.lists(st.decimals(-(10**17), 10**17, places=3).map(str), min_size=1, max_size=20, unique=True),
    st.sampled_from([(0.1, 0.5), (0.25, 1.0, 10.0), (1e-3, 1.0), (0.1, 1e15)]),
    st.sampled_from([0, 0.05, -7.5]),
)
def test_bins_are_exact_however_large_the_numbers(values, widths, origin):
    tree = Hierarchy.intervals(*widths, origin=origin).build(
        [*values, "0.5"] if "0.500" not in values else values, "c"
    )
    for rank, value in enumerate(tree.values):
        path = tree.path(rank)
        assert len(path) == len(widths) + 2
        for width, label in zip(widths, path[1:-1], strict=True):
            low, high = map(Fraction, label.strip("[)").split(", "))
            assert low <= Fraction(value) < high
            assert high - low == Fraction(str(width))
            assert ((low - Fraction(str(origin))) / Fraction(str(width))).denominator == 1
