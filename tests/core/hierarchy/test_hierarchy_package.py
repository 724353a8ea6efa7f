"""Trees, recipes and files."""

from __future__ import annotations

import random
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.errors import HierarchyError, ParameterError
from incrowd.core.hierarchy import BUILDERS, Hierarchy, builder_from_spec, find_files
from incrowd.core.reading.cells import Span, read_span

NESTED = {"Any": {"Europe": ["France", "Italy"], "Peru": [], "Asia": [{"East": ["Japan"]}, "Iran"]}}


@st.composite
def trees(draw):
    """Random trees of 2 to 40 nodes, unbalanced too, with labels that files find hard."""
    nodes = draw(st.integers(2, 40))
    parents = [-1] + [draw(st.integers(0, node - 1)) for node in range(1, nodes)]
    marks = st.sampled_from(["", ";x", ',"y"', " z", "NO", "é", ": #", "'", "{a}", "\\"])
    labels = [f"n{node}{draw(marks)}" for node in range(nodes)]
    # Depth-first order is what the type promises; make it so by way of nested data.
    children: dict[int, list[int]] = {node: [] for node in range(nodes)}
    for node in range(1, nodes):
        children[parents[node]].append(node)

    def nest(node: int) -> object:
        return [{labels[c]: nest(c)} if children[c] else labels[c] for c in children[node]]

    return Hierarchy.from_nested({labels[0]: nest(0)})


@given(trees())
def test_every_node_is_an_interval_of_leaf_ranks(tree):
    below = {node: set() for node in range(tree.n_nodes)}
    for rank, leaf in enumerate(tree.leaves):
        node = int(leaf)
        while node >= 0:
            below[node].add(rank)
            node = int(tree.parents[node])
    for node, ranks in below.items():
        assert ranks == set(range(tree.lo[node], tree.hi[node]))
        assert tree.find(tree.labels[node]) == node
    assert [tree.rank(value) for value in tree.values] == list(range(tree.n_leaves))
    assert tree.height == max(len(tree.path(rank)) for rank in range(tree.n_leaves)) - 1
    for node in range(tree.n_nodes):
        deepest = max(tree.depths[tree.leaves[rank]] for rank in below[node])
        assert tree.heights[node] == deepest - tree.depths[node]


@given(trees(), st.data())
def test_lowest_common_ancestor(tree, data):
    lo = data.draw(st.integers(0, tree.n_leaves - 1))
    hi = data.draw(st.integers(lo, tree.n_leaves - 1))
    paths = [tree.path(rank)[::-1] for rank in range(lo, hi + 1)]
    common = 0
    while all(len(path) > common and path[common] == paths[0][common] for path in paths):
        common += 1
    assert tree.labels[tree.lca(lo, hi)] == paths[0][common - 1]


@given(trees(), st.integers(0, 12))
def test_climbing_stops_at_the_root(tree, levels):
    nodes = tree.climb(levels)
    for rank in range(tree.n_leaves):
        path = tree.path(rank)
        assert tree.labels[nodes[rank]] == path[min(levels, len(path) - 1)]


@given(trees(), st.sampled_from([".txt", ".csv", ".json", ".yaml", ".yml"]))
def test_files_come_back_the_same(tmp_path_factory, tree, suffix):
    path = tmp_path_factory.mktemp("tree") / f"tree{suffix}"
    tree.write(path)
    assert Hierarchy.read(path) == tree


def test_one_more_leaf_under_the_root():
    tree = Hierarchy.from_nested(NESTED)
    more = tree.with_leaf("unknown")
    assert more.values == (*tree.values, "unknown")
    assert more.path(more.n_leaves - 1) == ("unknown", "Any")
    with pytest.raises(HierarchyError, match="already"):
        more.with_leaf("unknown")


def test_drawing():
    assert Hierarchy.from_nested(NESTED).draw().splitlines() == [
        "Any  (5)",
        "├── Europe  (2)",
        "│   ├── France",
        "│   └── Italy",
        "├── Peru",
        "└── Asia  (2)",
        "    ├── East  (1)",
        "    │   └── Japan",
        "    └── Iran",
    ]
    assert Hierarchy.from_nested(NESTED).draw(3).splitlines()[-1] == "... 6 more nodes"


@pytest.mark.slow
def test_many_leaves_are_no_matter():
    paths = [[f"{i}", f"a{i // 10}", f"b{i // 100}", f"c{i // 1000}", "*"] for i in range(100_000)]
    random.Random(0).shuffle(paths)
    tree = Hierarchy.from_paths(paths)
    assert (tree.n_leaves, tree.height, tree.n_nodes) == (100_000, 4, 111_101)


# --- files that are wrong ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("t.txt", "", "no values below its root"),
        ("t.txt", "Any\n", "no values below its root"),
        ("t.txt", "Any\n\tA\n\t\tAny\n", "line 3: 'Any' is its own ancestor, which is a cycle"),
        ("t.txt", "Any\n\tA\n\t\tx\n\tB\n\t\tx\n", "line 5: 'x' has two parents, 'A' and 'B'"),
        ("t.txt", "Any\n\tA\n\tA\n", "line 3: 'A' stands twice under its parent"),
        ("t.txt", "Any\n\tA\nOther\n", "line 3: 'Other' is a second root beside 'Any'"),
        ("t.txt", "Any\n\t\tA\n", "line 2: the line is 2 levels deep under one of 0"),
        ("t.txt", "Any\n  A\n", "line 2: a line is indented with blanks"),
        ("t.csv", "", "is empty"),
        ("t.csv", "a;A;*\nb;B;*\na;B;*\n", "line 3: 'a' has two parents, 'A' and 'B'"),
        ("t.csv", "a;A;*\nb;A;B;*\n", "'A' has two parents"),
        ("t.csv", "a;A;*\nb;A;Any\n", "'Any' is a second root beside '*'"),
        ("t.csv", "a;A;b;A;*\n", "is its own ancestor, which is a cycle"),
        ("t.csv", "a;A;*\nA;*;*\n", "'A' is a value and a group of others"),
        ("t.csv", "a;;*\n", "a label is empty"),
        ("t.csv", 'a;"A;*\n', "not a readable CSV"),
        ("t.json", '{"Any": ["a", "a"]}', "'a' stands twice"),
        ("t.json", '{"Any": {"A": ["a"], "A": ["b"]}}', "'A' stands twice"),
        ("t.json", '{"Any": ["a"', "line 1: not readable as JSON"),
        ("t.json", '{"Any": ["a"], "All": ["b"]}', "needs one key, the root"),
        ("t.json", '{"Any": [["a"]]}', "a list right inside a list"),
        ("t.yaml", "Any: &x\n  A: *x\n", "two parents or a cycle"),
        ("t.yaml", "Any:\n  A: &x [a]\n  B: *x\n", "two parents or a cycle"),
        ("t.yaml", "Any:\n  A: [a]\n  A: [b]\n", "line 3: 'A' stands twice"),
        ("t.yaml", "Any: [a\n", "not readable as YAML"),
        ("t.dgh", "Any\n", "no hierarchy format has this suffix"),
    ],
)
def test_wrong_files_name_file_and_line(tmp_path, name, text, problem):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(HierarchyError) as error:
        Hierarchy.read(path)
    assert problem in str(error.value)
    assert name in str(error.value)


def test_unreadable_files(tmp_path):
    with pytest.raises(HierarchyError, match="cannot be read"):
        Hierarchy.read(tmp_path / "none.txt")
    (tmp_path / "l.txt").write_bytes("Any\n\tZoë\n".encode("latin-1"))
    with pytest.raises(HierarchyError, match="byte 7 is not utf-8"):
        Hierarchy.read(tmp_path / "l.txt")
    assert Hierarchy.read(tmp_path / "l.txt", encoding="latin-1").values == ("Zoë",)
    with pytest.raises(HierarchyError, match="cannot hold the label"):
        Hierarchy.from_nested({"Any": ["a\tb\n"]}).write(tmp_path / "x.txt")


def test_what_real_files_have_is_read(tmp_path):
    (tmp_path / "a.csv").write_text(
        "\ufeffWhite;White;*\r\nBlack;Other;*\r\nBlack;Other;*\r\nOther;Other;*\r\n", newline=""
    )
    tree = Hierarchy.read(tmp_path / "a.csv")
    assert tree.values == ("White", "Black", "Other")
    assert tree.path(2) == ("Other", "Other", "*")
    (tmp_path / "b.csv").write_text('17,"[15, 20[",*\n18,"[15, 20[",*\n')
    assert Hierarchy.read(tmp_path / "b.csv").path(0) == ("17", "[15, 20[", "*")
    (tmp_path / "c.txt").write_bytes(b"Any\r\n\tA  \r\n\r\n\t\t1\r\n\tB\r\n")
    assert Hierarchy.read(tmp_path / "c.txt").values == ("1", "B")
    (tmp_path / "d.yaml").write_text("Any:\n  codes: [NO, 1.0, 0o7, ~]\n")
    assert Hierarchy.read(tmp_path / "d.yaml").values == ("NO", "1.0", "0o7", "~")


# --- recipes ----------------------------------------------------------------------------------------


RECIPES = {
    "intervals": (Hierarchy.intervals(5, 10, 20), ["3", "20", "22", "-4", "41"]),
    "bands": (Hierarchy.bands(-5, 18, 19, 65), ["-6", "-5", "18", "64", "65", "90"]),
    "prefix": (Hierarchy.prefix(), ["02139", "021", "94107"]),
    "dates": (Hierarchy.dates(), ["2020-03-01", "2020-07-15", "2019-12-31"]),
    "order": (Hierarchy.order(["low", "middle", "high"]), ["high", "low"]),
    "flat": (Hierarchy.flat(), ["b", "a"]),
}


@pytest.mark.parametrize("name", BUILDERS)
def test_recipes_do_not_hang_on_the_order_of_values(name):
    recipe, values = RECIPES[name]
    assert builder_from_spec(recipe.spec()) == recipe
    tree = recipe.build(values, "c")
    assert set(values) <= set(tree.values)
    assert tree.labels[0] == "*"
    for seed in range(5):
        shuffled = random.Random(seed).sample(values, len(values))
        assert recipe.build(shuffled, "c") == tree


@pytest.mark.parametrize(
    ("name", "value", "path"),
    [
        ("intervals", "22", ("22", "[20-24]", "[20-29]", "[20-39]", "*")),
        ("intervals", "-4", ("-4", "[-5--1]", "[-10--1]", "[-20--1]", "*")),
        ("bands", "-6", ("-6", "<-5", "*")),
        ("bands", "-5", ("-5", "[-5-17]", "*")),
        ("bands", "18", ("18", "[18]", "*")),
        ("bands", "64", ("64", "[19-64]", "*")),
        ("bands", "65", ("65", ">=65", "*")),
        ("prefix", "02139", ("02139", "0213*", "021**", "02***", "0****", "*")),
        ("prefix", "021", ("021", "021*", "021**", "02***", "0****", "*")),
        ("dates", "2020-07-15", ("2020-07-15", "2020-07", "2020-Q3", "2020", "2020s", "*")),
        ("order", "middle", ("middle", "[low - middle]", "*")),
        ("order", "high", ("high", "*")),
        ("flat", "a", ("a", "*")),
    ],
)
def test_levels_of_the_recipes(name, value, path):
    recipe, values = RECIPES[name]
    tree = recipe.build(values, "c")
    assert tree.path(tree.rank(value)) == path


@given(st.lists(st.integers(-500, 500), min_size=1, max_size=40, unique=True))
def test_bins_of_tenths_are_exact(tenths):
    values = [f"{'-' if n < 0 else ''}{abs(n) // 10}.{abs(n) % 10}" for n in tenths if n]
    if not values:
        return
    tree = Hierarchy.intervals(0.1, 0.5).build(values, "c")
    for value in values:
        for step in (1, 2):
            label = tree.path(tree.rank(value))[step]
            low, high = (round(float(end) * 10) for end in label.strip("[)").split(", "))
            assert low <= round(float(value) * 10) < high
            assert high - low == (1, 5)[step - 1]
            assert low % (1, 5)[step - 1] == 0


@given(
    cuts=st.lists(st.integers(-40, 40), min_size=1, max_size=5, unique=True).map(sorted),
    numbers=st.lists(st.integers(-50, 50), min_size=1, unique=True),
    scale=st.sampled_from([1, 10]),
)
def test_a_band_is_read_back_as_the_numbers_between_its_cuts(cuts, numbers, scale):
    """Bands are whole numbers and tenths, and a cut belongs to the band above."""
    values = [str(Decimal(number) / scale) for number in numbers]
    tree = Hierarchy.bands(*(cut / scale for cut in cuts)).build(values, "c")
    bands = [Decimal("-Infinity"), *(Decimal(cut) / scale for cut in cuts), Decimal("Infinity")]
    for value in values:
        label = tree.path(tree.rank(value))[1]
        span = read_span(label, "number")
        if span is None:  # a band of one whole number
            span = Span(Decimal(label.strip("[]")), Decimal(label.strip("[]")))
        low, high = next(pair for pair in pairwise(bands) if pair[0] <= Decimal(value) < pair[1])
        for number in (*values, *map(str, range(-60, 60))):
            if "." in "".join(values) or "." not in number:
                inside = span.low <= Decimal(number) and (
                    Decimal(number) < span.high if span.below else Decimal(number) <= span.high
                )
                assert inside == (low <= Decimal(number) < high), (label, number)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"intervals": [5, 12]}, "no multiple"),
        ({"intervals": [5, 5]}, "no multiple"),
        ({"intervals": [0]}, "above 0"),
        ({"intervals": []}, "at least one width"),
        ({"intervals": ["5"]}, "must be a number"),
        ({"intervals": 5}, "give a list"),
        ({"intervals": [5], "start": 1}, "unknown setting 'start'"),
        ({"bands": []}, "at least one cut"),
        ({"bands": [18, 18]}, "ascending order"),
        ({"bands": [65, 18]}, "ascending order"),
        ({"bands": ["18"]}, "a cut must be a number"),
        ({"bands": 18}, "give a list"),
        ({"bands": [18], "origin": 1}, "unknown setting 'origin'"),
        ({"dates": ["year", "month"]}, "in this order"),
        ({"dates": ["week"]}, "some of month, quarter, year, decade"),
        ({"order": ["a", "a"]}, "listed twice"),
        ({"order": ["a"], "fanout": 1}, "fanout must be a whole number of at least 2"),
        ({"flat": False}, "write flat = true"),
        ({"bins": [1]}, "name one of intervals, bands, prefix, dates, order, flat"),
        ({"flat": True, "prefix": True}, "name one of"),
    ],
)
def test_wrong_recipes(spec, problem):
    with pytest.raises(ParameterError, match=problem):
        builder_from_spec(spec)


@pytest.mark.parametrize("name", ["intervals", "bands", "dates", "order"])
def test_unsuitable_values_are_counted_and_not_shown(name):
    recipe, values = RECIPES[name]
    with pytest.raises(HierarchyError, match=f"column 'c': 1 of {len(values) + 1} distinct values") as error:
        recipe.build([*values, "Zaphod"], "c")
    assert "Zaphod" not in str(error.value)


def test_made_labels_are_no_formulas():
    tree = Hierarchy.prefix().build(["+4930", "=1+1a", "-1234"], "phone")
    inner = set(tree.labels) - set(tree.values)
    assert all(label[0] not in "=+-@" for label in inner)
    assert "'+49**" in inner


# --- files that people have ---------------------------------------------------------------------------


def test_the_assignments_hierarchies(shared_data):
    folder = shared_data / "adult-hw1" / "DGHs"
    heights = {path.stem: Hierarchy.read(path).height for path in folder.glob("*.txt")}
    assert heights == {
        "age": 4, "workclass": 2, "education": 3, "marital-status": 3, "occupation": 2, "relationship": 1,
        "gender": 1, "native-country": 3,
    }  # fmt: skip


def test_the_hierarchies_of_arx(shared_data):
    columns = [
        "sex",
        "age",
        "race",
        "marital-status",
        "education",
        "native-country",
        "workclass",
        "occupation",
        "salary-class",
    ]
    files = find_files(shared_data / "arx-adult", columns)
    levels = [Hierarchy.read(files[column]).height + 1 for column in columns]
    assert levels == [2, 5, 2, 3, 4, 3, 3, 3, 2]
    assert np.prod(levels) == 12960


def test_a_label_for_a_value_and_another_group_is_refused(shared_data):
    """ARX reads this file; but a released 50 could then be the value 50 or everything from 40 to 59."""
    path = shared_data / "petworks" / "adult" / "adult_hierarchy" / "adult_hierarchy_age.csv"
    with pytest.raises(HierarchyError, match="cycle"):
        Hierarchy.read(path)


def test_finding_files(tmp_path: Path):
    for name in ("age.txt", "adult_hierarchy_zip.csv", "notes.md", "other.csv"):
        (tmp_path / name).touch()
    result = find_files(tmp_path, ["age", "zip", "sex", "Age"])
    assert {column: path.name for column, path in result.items()} == {
        "age": "age.txt",
        "zip": "adult_hierarchy_zip.csv",
    }
    (tmp_path / "b_zip.json").touch()
    with pytest.raises(
        HierarchyError, match=r"'zip' has several hierarchies, adult_hierarchy_zip.csv and b_zip.json"
    ):
        find_files(tmp_path, ["zip"])
    with pytest.raises(HierarchyError, match="cannot read the folder"):
        find_files(tmp_path / "none", ["zip"])
