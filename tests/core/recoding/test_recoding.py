"""Recoding: the cells of each class or level, in every style, and saved files of the cells."""

from __future__ import annotations

import datetime as dt
import json
import os
import stat
import statistics
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.core.recoding import SUPPRESSED, effective_style
from incrowd.core.table.frequency import FrequencyTable
from incrowd.engines import engine_for

TREE = ic.Hierarchy.from_nested({"Any": {"A": ["a1", "a2"], "B": [{"B1": ["b1", "b2"]}, "b3"], "c": ["c"]}})


def count(values: list, spec: object = None, **schema) -> FrequencyTable:
    return (
        engine_for(pl.DataFrame({"q": values}, strict=False))
        .count(ic.Schema(quasi={"q": spec}, **schema))
        .frequency
    )


def local(
    values: list, style: str, spec: object = None, classes: list[int] | None = None
) -> list[str | None]:
    """Cells of the rows, all in a single class by default, where -1 suppresses."""
    frequency = count(values, spec)
    of_key = np.zeros(frequency.keys, np.int32)
    if classes is not None:
        of_key[frequency.row_keys] = classes
    recoding = ic.Local.build(frequency, of_key, int(of_key.max(initial=-1)) + 1, [style], "by hand")
    return rows_of(frequency, recoding)


def rows_of(frequency: FrequencyTable, recoding: ic.Recoding) -> list[str | None]:
    [cells] = recoding.cells
    return [cells.labels[code] for code in cells.codes[frequency.row_keys]]


# --- styles by hand -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "style", "cell"),
    [
        (["20", "29", "25"], "range", "[20-29]"),
        (["20", "20"], "range", "20"),
        (["-10", "-6"], "range", "[-10--6]"),
        (["0.5", "2"], "range", "[0.5-2]"),
        (["9", "10"], "range", "[9-10]"),
        (["20.0", "24.00", "21"], "range", "[20-24]"),
        (["20.0", "24.0", "21.5"], "range", "[20.0-24.0]"),
        (["-0.0", "-3.0"], "range", "[-3-0]"),
        (["20.0", "20.0"], "range", "20.0"),
        (["2020-03-01", "2019-12-31"], "range", "[2019-12-31 to 2020-03-01]"),
        (["20", None], "range", "*"),
        (["b", "a", "b"], "range", "{a, b}"),
        (["b", "a", "b"], "ancestor", "{a, b}"),
        (["20", "29"], "ancestor", "[20-29]"),
        (["b", "a", "b"], "set", "{a, b}"),
        (["b", "b"], "set", "b"),
        (["10", "9", "10"], "set", "{9, 10}"),
        (["b", None], "set", "{b, <missing>}"),
        (["a, b", "{c}", "d\\e"], "set", "{a\\, b, d\\\\e, \\{c\\}}"),
        (["1", "2", "2"], "mean", "1.666667"),
        (["1", "3"], "mean", "2"),
        (["-0.0000001", "0"], "mean", "0"),
        (["100", "200"], "mean", "150"),
        (["1", "4", None], "mean", "2.5"),
        (["2020-01-01", "2020-01-05", "2020-01-03"], "mean", "2020-01-03"),
        (["2020-01-01", "2020-01-03", None], "mean", "2020-01-02"),
        (["1960-01-01", "1960-01-03"], "mean", "1960-01-02"),
        (["b", "a", "b"], "mean", "b"),
        (["b", "a"], "mean", "a"),
        (["b", "a", "a", "b", "c"], "mean", "a"),
        (["b", None, None], "mean", None),
        (["b", None], "mean", "b"),
        ([None, None], "mean", None),
        ([None, None], "range", None),
        ([None, None], "set", None),
    ],
)  # fmt: skip
def test_styles_without_hierarchy(values, style, cell):
    assert set(local(values, style)) == {cell}


@pytest.mark.parametrize(
    ("values", "style", "cell"),
    [
        (["a1", "a2"], "ancestor", "A"),
        (["a1", "a1"], "ancestor", "a1"),
        (["b1", "b2"], "ancestor", "B1"),
        (["b1", "b3"], "ancestor", "B"),
        (["a2", "b1"], "ancestor", "Any"),
        (["c"], "ancestor", "c"),
        (["a1", "a2", None], "ancestor", "Any"),
        ([None, None], "ancestor", None),
        (["a1", "a2"], "auto", "A"),
        (["a1", "a2"], "range", "A"),
        (["b1", "a2"], "set", "{a2, b1}"),
        (["b1", "a2", "b1"], "mean", "b1"),
        (["b1", "a2"], "mean", "a2"),
    ],
)
def test_styles_with_a_hierarchy(values, style, cell):
    assert set(local(values, style, TREE)) == {cell}


def test_a_class_of_its_own_cells_and_a_star_for_the_suppressed():
    values = ["1", "2", "7", "9", "30"]
    for style in ("range", "set", "mean"):
        cells = local(values, style, None, [0, 0, 1, 1, -1])
        assert cells[0] == cells[1] != cells[2] == cells[3]
        assert cells[4] == SUPPRESSED
    assert local(values, "range", None, [-1] * 5) == [SUPPRESSED] * 5


def test_which_style_a_column_gets():
    for spec, values, expected in (
        ("number", ["1"], {"auto": "range", "range": "range", "ancestor": "range", "set": "set", "mean": "mean"}),
        ("category", ["1"], {"auto": "set", "range": "set", "ancestor": "set", "set": "set", "mean": "mean"}),
        (TREE, ["a1"], {"auto": "ancestor", "range": "ancestor", "ancestor": "ancestor", "set": "set", "mean": "mean"}),
    ):  # fmt: skip
        [domain] = count(values, spec).domains
        assert {style: effective_style(style, domain) for style in expected} == expected


# --- styles against plain Python ------------------------------------------------------------------------------


@st.composite
def grouped(draw, values):
    rows = draw(st.lists(values, min_size=1, max_size=25))
    # One class per key, not per row: equal values stay together.
    class_of = {value: draw(st.integers(-1, 2)) for value in dict.fromkeys(rows)}
    used = sorted({number for number in class_of.values() if number >= 0})
    numbers = {old: new for new, old in enumerate(used)} | {-1: -1}
    return rows, [numbers[class_of[value]] for value in rows]


@given(grouped(st.none() | st.integers(-40, 40).map(str)))
def test_ranges_and_means_of_numbers(made):
    rows, classes = made
    if all(row is None for row in rows):
        return
    ranges, means = (local(rows, style, "number", classes) for style in ("range", "mean"))
    for number, cell, mean in zip(classes, ranges, means, strict=True):
        if number < 0:
            assert (cell, mean) == ("*", "*")
            continue
        members = [row for row, c in zip(rows, classes, strict=True) if c == number]
        known = sorted(int(row) for row in members if row is not None)
        if not known:
            assert (cell, mean) == (None, None)
        else:
            single = str(known[0]) if known[0] == known[-1] else f"[{known[0]}-{known[-1]}]"
            assert cell == ("*" if len(known) < len(members) else single)
            assert float(mean) == pytest.approx(statistics.fmean(known), abs=5e-7)


@given(grouped(st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)).map(dt.date.isoformat)))
def test_means_of_dates_are_days_between(made):
    rows, classes = made
    for number, mean in zip(classes, local(rows, "mean", "date", classes), strict=True):
        if number >= 0:
            days = [
                dt.date.fromisoformat(row).toordinal()
                for row, c in zip(rows, classes, strict=True)
                if c == number
            ]
            assert abs(dt.date.fromisoformat(mean).toordinal() - statistics.fmean(days)) <= 0.5


@given(grouped(st.none() | st.sampled_from(["x", "y", "{x", "x, y", "\\", ", ", "", "<missing>"])))
def test_sets_and_modes_of_categories(made):
    rows, classes = made
    sets, modes = (local(rows, style, "category", classes) for style in ("set", "mean"))
    of_label: dict[str | None, set] = {}
    for number, cell, mode in zip(classes, sets, modes, strict=True):
        if number < 0:
            continue
        members = Counter(row for row, c in zip(rows, classes, strict=True) if c == number)
        best = max(members.values())
        tied = [value for value, n in members.items() if n == best]
        # Ties go to the lowest rank: texts in order, the missing value last.
        assert mode == min(tied, key=lambda value: (value is None, value or ""))
        if len(members) == 1:
            assert cell == next(iter(members))
        else:
            assert cell[0] == "{"
            assert cell[-1] == "}"
            assert read_set(cell) == sorted(v for v in members if v is not None) + [None] * (None in members)
            assert of_label.setdefault(cell, set(members)) == set(members)


def read_set(cell: str) -> list[str | None]:
    """Read a set's label back, as a reader of the release would."""
    values, text, i, start = [], "", 1, 1
    while i < len(cell) - 1:
        if cell[i] == "\\":
            text += cell[i + 1]
            i += 2
        elif cell[i : i + 2] == ", ":
            values.append(None if cell[start:i] == "<missing>" else text)
            text = ""
            i = start = i + 2
        else:
            text += cell[i]
            i += 1
    return [*values, None if cell[start:-1] == "<missing>" else text]


@given(grouped(st.none() | st.sampled_from(TREE.values)))
def test_the_ancestor_is_the_lowest_that_covers(made):
    rows, classes = made
    for number, cell in zip(classes, local(rows, "ancestor", TREE, classes), strict=True):
        if number < 0:
            continue
        members = {row for row, c in zip(rows, classes, strict=True) if c == number}
        if len(members) == 1:
            assert cell == next(iter(members))
        elif None in members:
            assert cell == "Any"
        else:
            paths = [TREE.path(TREE.rank(member))[::-1] for member in members]
            shared = [labels[0] for labels in zip(*paths, strict=False) if len(set(labels)) == 1]
            assert cell == shared[-1]


# --- loss ----------------------------------------------------------------------------------------------------


@given(grouped(st.none() | st.integers(0, 30).map(str)), st.sampled_from(["range", "set", "mean"]))
def test_the_loss_of_numbers_is_their_width(made, style):
    rows, classes = made
    known = [int(row) for row in rows if row is not None]
    if not known:
        return
    frequency = count(rows, "number")
    of_key = np.zeros(frequency.keys, np.int32)
    of_key[frequency.row_keys] = classes
    recoding = ic.Local.build(frequency, of_key, max(classes) + 1, [style], "by hand")
    losses = recoding.cells[0].loss[recoding.cells[0].codes[frequency.row_keys]]
    for number, loss in zip(classes, losses.tolist(), strict=True):
        members = [row for row, c in zip(rows, classes, strict=True) if c == number]
        inside = [int(row) for row in members if row is not None]
        if number < 0 or (None in members and inside):
            assert loss == 1
        elif not inside or max(inside) == min(inside):
            assert loss == 0
        else:
            assert loss == pytest.approx((max(inside) - min(inside)) / (max(known) - min(known)), abs=1e-15)


@given(grouped(st.sampled_from(["a", "b", "c", "d", None])), st.sampled_from(["set", "mean"]))
def test_the_loss_of_categories_counts_what_is_there(made, style):
    """The distinct values of the class, not the ranks between the first and the last."""
    rows, classes = made
    frequency = count(rows, "category")
    of_key = np.zeros(frequency.keys, np.int32)
    of_key[frequency.row_keys] = classes
    recoding = ic.Local.build(frequency, of_key, max(classes) + 1, [style], "by hand")
    losses = recoding.cells[0].loss[recoding.cells[0].codes[frequency.row_keys]]
    distinct = len(set(rows))
    for number, loss in zip(classes, losses.tolist(), strict=True):
        members = {row for row, c in zip(rows, classes, strict=True) if c == number}
        assert loss == (1 if number < 0 else (len(members) - 1) / max(distinct - 1, 1))


# --- full domain ---------------------------------------------------------------------------------------------


@given(st.lists(st.none() | st.sampled_from(TREE.values), min_size=1, max_size=20), st.integers(0, 3))
def test_every_value_climbs_as_many_levels(rows, level):
    frequency = count(rows, TREE)
    cells = rows_of(frequency, ic.FullDomain.build(frequency, [level]))
    for value, cell in zip(rows, cells, strict=True):
        if value is None:
            assert cell == (None if level == 0 else "Any")
        else:
            path = TREE.path(TREE.rank(value))
            assert cell == path[min(level, len(path) - 1)]


def test_levels_of_a_column_without_hierarchy():
    frequency = count(["3", "1", None])
    assert rows_of(frequency, ic.FullDomain.build(frequency, [0])) == ["3", "1", None]
    assert rows_of(frequency, ic.FullDomain.build(frequency, [1])) == ["*"] * 3


def test_levels_by_name_and_what_was_decided():
    frame = pl.DataFrame({"a": ["a1", "b1"], "n": ["1", "2"]})
    frequency = engine_for(frame).count(ic.Schema(quasi={"a": TREE, "n": None})).frequency
    recoding = ic.FullDomain.build(frequency, {"a": 2})
    assert recoding.levels == (2, 0)
    assert recoding.decisions() == {"levels": {"a": 2, "n": 0}}
    assert repr(recoding) == "FullDomain(levels={'a': 2, 'n': 0})"
    assert recoding.classes(frequency).sizes.tolist() == [1, 1]
    assert ic.FullDomain.build(frequency, [3, 1]).classes(frequency).sizes.tolist() == [2]
    for levels in ([-1, 0], [4, 0], [0, 2]):
        with pytest.raises(ic.ParameterError, match=r"level -?\d is outside 0 \.\."):
            ic.FullDomain.build(frequency, levels)


def test_suppressed_keys_are_stars_in_every_column():
    frame = pl.DataFrame({"a": ["a1", "a1", "b1"], "n": ["1", "1", "2"]})
    schema = ic.Schema(quasi={"a": TREE, "n": None})
    counted = engine_for(frame).count(schema)
    frequency = counted.frequency
    recoding = ic.FullDomain.build(frequency, [1, 0], np.array([False, True]))
    assert counted.apply(schema, recoding).table.rows() == [
        ("A", "1"), ("A", "1"), ("*", "*"),
    ]  # fmt: skip
    classes = recoding.classes(frequency)
    assert (classes.sizes.tolist(), classes.suppressed) == ([2], 1)


def test_values_that_look_alike_after_recoding_are_one_class():
    """A leaf and a parent may share a label, and only the released text counts."""
    tree = ic.Hierarchy.from_nested({"Any": {"white": ["white", "grey"]}})
    frequency = count(["white", "grey"], tree)
    assert rows_of(frequency, ic.FullDomain.build(frequency, [1])) == ["white", "white"]
    both = ic.Local.build(frequency, np.array([0, 1], np.int32), 2, ["ancestor"], "by hand")
    assert both.classes(frequency).sizes.tolist() == [1, 1]
    means = count(["1", "3", "2"])
    recoding = ic.Local.build(means, np.array([0, 0, 1], np.int32), 2, ["mean"], "by hand")
    assert rows_of(means, recoding) == ["2", "2", "2"]
    assert recoding.classes(means).sizes.tolist() == [3]


# --- keeping it ------------------------------------------------------------------------------------------------


@given(grouped(st.none() | st.integers(0, 9).map(str)), st.sampled_from(["range", "set", "mean"]))
def test_a_recoding_comes_back(tmp_path_factory, made, style):
    rows, classes = made
    frequency = count(rows)
    of_key = np.zeros(frequency.keys, np.int32)
    of_key[frequency.row_keys] = classes
    height = frequency.domains[0].tree.height
    for recoding in (
        ic.Local.build(frequency, of_key, max(classes) + 1, [style], "by hand"),
        ic.FullDomain.build(frequency, [height], of_key < 0),
    ):
        folder = tmp_path_factory.mktemp("recoding") / "r"
        recoding.save(folder)
        loaded = ic.Recoding.load(folder)
        assert type(loaded) is type(recoding)
        assert loaded.decisions() == recoding.decisions()
        assert rows_of(frequency, loaded) == rows_of(frequency, recoding)
        assert loaded.suppressed.tolist() == recoding.suppressed.tolist()
        for mine, theirs in zip(recoding.cells, loaded.cells, strict=True):
            assert theirs.codes.dtype == mine.codes.dtype
            for name in ("codes", "lo", "hi", "loss"):
                assert getattr(theirs, name).tolist() == getattr(mine, name).tolist()
        [mine], [theirs] = recoding.domains, loaded.domains
        assert (theirs.name, theirs.kind, theirs.values, theirs.missing) == (mine.name, mine.kind, mine.values, mine.missing)  # fmt: skip
        assert np.array_equal(theirs.numbers, mine.numbers, equal_nan=True)
        # The same thing saved again gives the same bytes.
        again = tmp_path_factory.mktemp("recoding") / "r"
        loaded.save(again)
        for name in ("recoding.json", "keys.parquet"):
            assert (again / name).read_bytes() == (folder / name).read_bytes()


def test_a_hierarchy_comes_back_with_its_recoding(tmp_path):
    frequency = count(["a1", "b1", None], TREE)
    ic.FullDomain.build(frequency, [1]).save(tmp_path / "r")
    [domain] = ic.Recoding.load(tmp_path / "r").domains
    assert domain.hierarchy == frequency.domains[0].hierarchy


@pytest.mark.skipif(os.name == "nt", reason="file modes are POSIX's")
def test_saved_values_are_for_the_owner_alone(tmp_path):
    recoding = ic.FullDomain.build(count(["1", "2"]), [1])
    recoding.save(tmp_path / "r")
    for file in (tmp_path / "r").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    # Saving over an earlier one that others could read closes it again.
    (tmp_path / "r" / "recoding.json").chmod(0o644)
    with pytest.raises(ic.TableError, match="exists already"):
        recoding.save(tmp_path / "r")
    recoding.save(tmp_path / "r", force=True)
    assert stat.S_IMODE((tmp_path / "r").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "r" / "recoding.json").stat().st_mode) == 0o600


def test_what_is_no_recoding_is_said(tmp_path):
    ic.FullDomain.build(count(["1", "2"]), [1]).save(tmp_path / "r")
    document = json.loads((tmp_path / "r" / "recoding.json").read_text())
    (tmp_path / "r" / "recoding.json").write_text(json.dumps(document | {"version": 2}))
    with pytest.raises(ic.TableError, match="recoding of version 2, not 1"):
        ic.Recoding.load(tmp_path / "r")
    (tmp_path / "r" / "recoding.json").write_text("{")
    with pytest.raises(ic.TableError, match="no readable"):
        ic.Recoding.load(tmp_path / "r")
    with pytest.raises(ic.TableError, match="no readable"):
        ic.Recoding.load(tmp_path / "nowhere")
