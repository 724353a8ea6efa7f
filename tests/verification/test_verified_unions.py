"""Hidden cells of count tables that are known together, or to the sole contributors of others."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from handmade_tables import hide
from incrowd_verify.count_tables import RawTable, verify_tables
from incrowd_verify.count_tables.unions import Line, unions

UNSAFE = "unsafe by its rules and can be computed"
CLOSE = "can be computed too closely from all tables."
MAKER = "can be computed too closely by somebody who alone makes another hidden cell."


def people(*cells):
    """Make rows of tuples: a code or several, a person and a number."""
    columns = {
        name: [str(cell[place]) for cell in cells] for place, name in enumerate("gh"[: len(cells[0]) - 2])
    }
    return pl.DataFrame(
        columns | {"who": [cell[-2] for cell in cells], "n": [float(cell[-1]) for cell in cells]}
    )


def crowd(*codes, first=100, many=10, each=50):
    return [(*codes, first + number, each) for number in range(many)]


def told(place, *, raw=True):
    policy = place / "policy.toml" if raw else None
    checked = verify_tables(place / "out", policy, raw=RawTable(str(place / "raw.csv")) if raw else None)
    return [point.text for point in checked.verdict.points]


def sums(**settings):
    return ic.CountTable("t", rows=["g"], **{"sum": "n", "threshold": 2} | settings)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("settings", "parts", "other", "holds"),
    [
        # By p %, 60 and 39 of 100 ask for 12 less what the third has: 11 further above, and so below.
        ({"p_percent": 20}, [60, 39, 1], 5, False),
        ({"p_percent": 20}, [60, 39, 1], 10, False),
        ({"p_percent": 20}, [60, 39, 1], 12, True),
        # The two largest have 99, which is 9 tenths of 110.
        ({"dominance": (2, 0.9)}, [60, 39, 1], 9, False),
        ({"dominance": (2, 0.9)}, [60, 39, 1], 10, True),
        # A cell of few people is open by a tenth.
        ({"threshold": 3}, [60, 40], 9, False),
        ({"threshold": 3}, [60, 40], 10, True),
    ],
)
def test_an_unsafe_sum_is_open_as_far_as_its_rule_asks(tmp_path, settings, parts, other, holds):
    """Of a + b = 100 + other, a is at most that."""
    rows = people(
        *(("a", number, part) for number, part in enumerate(parts)),
        *crowd("b", each=other / 10),
        *crowd("c"),
    )
    place = hide(tmp_path, rows, [sums(**settings)], {"t": [("a",), ("b",)]})
    said = told(place)
    assert (f"Table t: 1 cell {CLOSE}" in said) is not holds
    assert bool(said) is not holds
    assert told(place, raw=False) == []


def test_an_unsafe_sum_is_open_below_as_well(tmp_path):
    """Two rows by two columns: a + b is at most 104 in the row, and a + c 190 in the column, so a is 96..104."""
    rows = people(
        ("a", "x", 1, 100), *crowd("a", "y", each=0.4), *crowd("b", "x", each=0.4), *crowd("b", "y", each=0.4),
        *crowd("c", "x"), *crowd("c", "y"),
    )  # fmt: skip
    table = ic.CountTable("t", rows=["g"], columns=["h"], sum="n", threshold=2)
    place = hide(tmp_path, rows, [table], {"t": [*product("ab", "xy")]})
    assert f"Table t: 1 cell {CLOSE}" in told(place)


def test_somebody_who_is_alone_in_two_cells_is_told_by_what_they_are_together(tmp_path):
    rows = people(("a", 1, 100), ("b", 1, 60), *crowd("c"), *crowd("d", each=70))
    place = hide(tmp_path, rows, [sums(p_percent=20)], {"t": [("a",), ("b",)]})
    assert f"Table t: 1 sum of hidden cells is {UNSAFE}: the hidden cells of g = Total." in told(place)
    assert told(hide(tmp_path / "c", rows, [sums(p_percent=20)], {"t": [(code,) for code in "abcd"]})) == []


def test_people_of_records_are_counted_once_in_what_is_known_together(tmp_path):
    rows = people(*[("a", 1, 0)] * 9, *[("b", 1, 0)] * 9, ("b", 2, 0), *crowd("c"), *crowd("d"))
    table = ic.CountTable("t", rows=["g"], count="records", threshold=3)
    place = hide(tmp_path, rows, [table], {"t": [("a",), ("b",)]})
    assert f"Table t: 1 sum of hidden cells is {UNSAFE}: the hidden cells of g = Total." in told(place)
    rows = people(*rows.select("g", "who", "n").rows(), ("b", 3, 0))
    assert not any(
        UNSAFE in text for text in told(hide(tmp_path / "b", rows, [table], {"t": [("a",), ("b",)]}))
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize(("count", "threshold", "holds"), [("people", 5, False), ("people", 4, True)])
def test_few_people_together_are_told_from_the_files_alone(tmp_path, raw, count, threshold, holds):
    rows = people(("a", 1, 0), ("b", 2, 0), ("b", 3, 0), ("b", 4, 0), *crowd("c"), *crowd("d", first=200))
    table = ic.CountTable("t", rows=["g"], count=count, threshold=threshold, width=1)
    said = told(hide(tmp_path, rows, [table], {"t": [("a",), ("b",)]}), raw=raw)
    text = f"Table t: 1 sum of hidden cells is {UNSAFE}: the hidden cells of g = Total."
    assert said == ([] if holds else [text])


@pytest.mark.parametrize("zeros", ["show", "hide"])
def test_nobody_together_is_an_empty_cell(tmp_path, zeros):
    rows = people(*crowd("a", "x"), *crowd("b", "x"), *crowd("b", "y"), *crowd("c", "y"), *crowd("c", "z"))
    table = ic.CountTable("t", rows=["g"], columns=["h"], sum="n", threshold=2, zeros=zeros)
    place = hide(tmp_path, rows, [table], {"t": [("a", "y"), ("a", "z")]})
    assert any(UNSAFE in text for text in told(place)) is (zeros == "hide")


def test_a_difference_of_lines_is_known_as_well(tmp_path):
    """The codes of north are all hidden, and so is north: the rest of the total is south."""
    trees = {"g": {"north": ["a", "b"], "south": ["c", "d"]}}
    rows = people(*crowd("a", many=2), *crowd("b", many=9), ("c", 1, 70), ("d", 1, 80))
    hidden = [("north",), ("a",), ("south",), ("c",), ("d",)]
    said = told(hide(tmp_path, rows, [sums(threshold=3)], {"t": hidden}, trees))
    place = hide(tmp_path / "b", rows, [sums(threshold=3)], {"t": [("c",), ("d",)]}, trees)
    assert f"Table t: 1 sum of hidden cells is {UNSAFE}: the hidden cells of g = south." in told(place)
    assert not any("g = south." in text and UNSAFE in text for text in said)
    # South hidden with north: north less b is a and nobody knows it; south and a are, by Total less b.
    few = people(("a", 1, 50), *crowd("b", many=9), ("c", 1, 70), ("d", 1, 80))
    said = told(
        hide(tmp_path / "c", few, [sums(threshold=3)], {"t": [*hidden[:2], ("south",), ("d",)]}, trees)
    )
    assert any("g = a with g = south" in text for text in said)


@pytest.mark.parametrize("seed", range(20))
def test_every_combination_is_known_or_made_of_such_that_are(seed):
    """All sums and differences of up to three random lines are tried, as in the definition."""
    draw = np.random.default_rng(seed)
    names = [frozenset([("g", f"{n}")]) for n in range(6)]
    lines = []
    for _ in range(7):
        signs = dict.fromkeys(draw.permutation(6)[: draw.integers(2, 5)].tolist(), 1)
        if draw.random() < 0.5:
            # The total of a line is hidden, too.
            signs[next(iter(signs))] = -1
        own = {names[number]: sign for number, sign in signs.items()}
        lines.append(Line(frozenset(), own, 0.0, frozenset(["t"])))
    known = set()
    for size in (1, 2, 3):
        for chosen, signs in product(combinations(lines, size), product((1, -1), repeat=size)):
            come = {cell: sum(sign * line.signs.get(cell, 0) for line, sign in zip(chosen, signs, strict=True))
                    for cell in names}  # fmt: skip
            if {*come.values()} <= {0, 1} and any(come.values()):
                known.add(frozenset(cell for cell, count in come.items() if count))
    told = {union.cells for union in unions(lines)}
    assert told <= known
    pieces = told | {cells for cells in known if len(cells) == 1}

    def is_made(cells):
        return not cells or any(piece <= cells and is_made(cells - piece) for piece in pieces)

    assert all(map(is_made, known))


def test_many_lines_are_looked_at_up_to_a_bound():
    names = [frozenset([("g", f"{n}")]) for n in range(300)]
    lines = [
        Line(frozenset(), dict.fromkeys(names[n : n + 20], 1), float(n), frozenset(["t"])) for n in range(280)
    ]
    assert len([*unions(lines)]) >= 280


def test_whoever_alone_makes_a_cell_knows_it(tmp_path):
    """Whoever makes a knows b + c = 63, so b is at most 63 of 60; and whoever makes b knows as much of a."""
    rows = people(("a", 1, 100), ("b", 2, 60), *crowd("c", each=0.3), *crowd("d"))
    place = hide(tmp_path, rows, [sums()], {"t": [("a",), ("b",), ("c",)]})
    assert told(place) == [f"Table t: 2 cells {MAKER}"]
    rows = people(("a", 1, 100), ("b", 2, 60), *crowd("c", each=3), *crowd("d"))
    assert told(hide(tmp_path / "c", rows, [sums()], {"t": [("a",), ("b",), ("c",)]})) == []


@pytest.mark.parametrize(("person", "holds"), [("who", False), (None, True)])
def test_whoever_alone_makes_records_knows_them(tmp_path, person, holds):
    """With a known, b and c are 1..6, which is open by 5 and not by 6; b alone is unsafe."""
    rows = people(*[("a", 1, 0)] * 9, *[("b", 2, 0)] * 3, *(("c", n, 0) for n in (3, 4, 5, 6)), *crowd("d"))
    table = ic.CountTable("t", rows=["g"], count="records", threshold=3, width=6)
    place = hide(tmp_path, rows, [table], {"t": [("a",), ("b",), ("c",)]}, person=person)
    said = told(place)
    assert said == ([] if holds else [f"Table t: 1 cell {MAKER}"])


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("parts", "holds"), [([10, 10, 0], True), ([10, 0, 0], False), ([0, 0, 0], False), ([], True)]
)
def test_whoever_has_0_of_a_sum_is_none_of_those_who_make_it(tmp_path, parts, holds):
    rows = people(*(("a", number, part) for number, part in enumerate(parts)), *crowd("b"), *crowd("c"))
    rows = rows.with_columns(h=pl.lit("x")).vstack(people(*crowd("a")).with_columns(h=pl.lit("y")))
    table = ic.CountTable("t", rows=["g"], columns=["h"], sum="n", threshold=2)
    said = told(hide(tmp_path, rows, [table], {}))
    assert said == ([] if holds else ["Table t: 1 cell is unsafe by its rules and shown: g = a and h = x."])


@pytest.mark.few(1)
@pytest.mark.parametrize(("others", "holds"), [(2, False), (3, True), (0, True)])
def test_few_people_of_a_total_without_a_code_are_told_where_people_have_several(tmp_path, others, holds):
    """Of those with a code, 10 have a, and some of these have b as well; the others have b alone."""
    rows = people(*crowd("a"), *crowd("b", many=5), *crowd("b", first=200, many=others))
    said = told(hide(tmp_path, rows, [ic.CountTable("t", rows=["g"], threshold=3)], {}))
    few = "Table t: 1 cell tells how few people of a total lack its code: g = a."
    assert said == ([] if holds else [few])


def test_nobody_knows_to_be_alone_in_a_count_of_records_where_nobody_has_two(tmp_path):
    """The count is of people then: b is 0..7, and with a known, b would be 0..6."""
    rows = people(
        ("a", 1, 0), *(("b", n, 0) for n in (2, 3)), *(("c", n, 0) for n in (4, 5, 6, 7)), *crowd("d")
    )
    table = ic.CountTable("t", rows=["g"], count="records", threshold=3, width=7, zeros="hide")
    place = hide(tmp_path, rows, [table], {"t": [("a",), ("b",), ("c",)]})
    assert told(place) == []
    several = people(*rows.select("g", "who", "n").rows(), ("d", 100, 0))
    assert told(hide(tmp_path / "b", several, [table], {"t": [("a",), ("b",), ("c",)]})) != []


@pytest.mark.few(1)
@pytest.mark.parametrize("raw", [True, False])
def test_records_tell_people_where_their_totals_are_the_same(tmp_path, raw):
    rows = people(("a", 1, 0), ("b", 2, 0), ("b", 3, 0), *crowd("c"))
    tables = [ic.CountTable("t", rows=["g"], count="people"), ic.CountTable("u", rows=["g"], count="records")]
    hidden = [("a",), ("c",)]
    assert told(hide(tmp_path, rows, tables, {"t": hidden}), raw=raw) != []


@pytest.mark.parametrize(("raw", "holds"), [(True, False), (False, True)])
def test_towns_tell_the_area_that_they_are_in(tmp_path, raw, holds):
    """Area n is a and b, which are shown; only the rows say so."""
    rows = people(*crowd("a"), *crowd("b", first=200), *crowd("c", first=300), *crowd("d", first=400, many=9))
    rows = rows.with_columns(area=pl.col("g").replace_strict({"a": "n", "b": "n", "c": "s", "d": "s"}))
    tables = [ic.CountTable("t", rows=["g"]), ic.CountTable("u", rows=["area"])]
    place = hide(tmp_path, rows, tables, {"u": [("n",), ("s",)]})
    close = "Table u: 2 cells can be computed too closely from all tables."
    assert told(place, raw=raw) == ([] if holds else [close])


def test_columns_of_one_table_say_themselves_what_they_have_to_do_with_each_other(tmp_path):
    """All have y, so y is the sum of x and z, and a reader of the table does not know that."""
    rows = people(*crowd("x", "y"), *crowd("z", "y", first=200))
    table = ic.CountTable("t", rows=["g"], columns=["h"], zeros="hide")
    hidden = [("Total", "y"), ("x", "y"), ("z", "y"), ("Total", "w"), ("x", "w"), ("z", "w")]
    place = hide(tmp_path, rows, [table], {"t": hidden}, {"h": {"y": [], "w": []}})
    assert told(place) == []


@pytest.mark.parametrize(("town", "area", "holds"), [(2, 5, True), (5, 2, False)])
def test_few_people_of_an_area_beside_a_town_are_asked_the_rules_of_the_town(tmp_path, town, area, holds):
    """Of 13 people in the north 10 are in a."""
    towns = [*crowd("a"), *crowd("b", first=107, many=6), *crowd("c", first=110, many=30)]
    areas = pl.col("g").replace_strict({"a": "n", "b": "n", "c": "s"})
    rows = people(*towns).with_columns(area=areas)
    tables = [
        ic.CountTable("t", rows=["g"], threshold=town),
        ic.CountTable("u", rows=["area"], threshold=area),
    ]
    said = told(hide(tmp_path, rows, tables, {}))
    few = "Table t: 1 cell tells how few people of a total lack its code: g = a."
    assert said == ([] if holds else [few])


@pytest.mark.parametrize(("other", "holds"), [("show", True), ("hide", False)])
def test_an_empty_cell_that_one_table_shows_cannot_be_hidden_by_another(tmp_path, other, holds):
    rows = people(*crowd("a", "x"), *crowd("b", "x"), *crowd("b", "y"))
    tables = [
        ic.CountTable("t", rows=["g"], columns=["h"], zeros="hide"),
        ic.CountTable("u", rows=["h"], columns=["g"], zeros=other),
    ]
    assert (told(hide(tmp_path, rows, tables, {})) == []) is holds
