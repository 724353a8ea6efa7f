"""Local recoding: figures of others, and second readings of every algorithm."""

from __future__ import annotations

import gzip
import io
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

import incrowd as ic
from incrowd.engines import engine_for
from incrowd.release.accounts.class_figures import class_table
from incrowd.search import Algorithm, SearchProblem, _points
from local_readings import (
    LEAVES,
    TREE,
    Quiet,
    Records,
    assigned,
    clustering,
    entropy,
    k_member,
    least_squares,
    mdav,
    oka,
    scattered,
    schema_of,
    tables,
    together,
)

# --- figures of others --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def assignment(shared_data):
    folder = shared_data / "adult-hw1"
    frame = pl.read_csv(folder / "adult-hw1.csv", infer_schema=False)
    quasi = [name for name in frame.columns if name != "income"]
    schema = ic.Schema(
        quasi={name: str(folder / "DGHs" / f"{name}.txt") for name in quasi}, sensitive=["income"]
    )
    return frame, schema, quasi


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("algorithm", "k", "seed", "distortion", "loss", "clusters", "keys", "least"),
    [
        (ic.Random(), 4, 1, 150480, 7612.922197, 2499, 397, 4),
        (ic.Random(), 4, 42, 150224, 7599.124949, 2499, 407, 4),
        (ic.Random(), 16, 1, 178845, 9379.063131, 624, 11, 16),
        (ic.Random(), 16, 42, 178717, 9362.621212, 624, 15, 16),
        (ic.Random(), 64, 2, 188509, 9865.181818, 156, 2, 1472),
        (ic.Clustering(), 4, 0, 50062, 1534.174490, 2499, 2461, 4),
        (ic.Clustering(), 16, 0, 105464, 4227.453398, 624, 566, 16),
        (ic.Clustering(), 64, 0, 149936, 7128.107783, 156, 95, 64),
    ],
    ids=str,
)
def test_the_assignment(assignment, algorithm, k, seed, distortion, loss, clusters, keys, least):
    """COMP 430/530 (Koc University, fall 2024), homework 1; an exact-arithmetic reference gave the figures."""
    frame, schema, quasi = assignment
    # With `*` in every cell a class counts as suppressed here; the assignment knows no such thing.
    release = ic.anonymize(
        frame, schema, [ic.KAnonymity(k)], algorithm, seed=seed, max_suppression=1.0, suppressed="keep"
    )
    assert release.utility["distortion"].value == distortion
    assert release.utility["loss"].value * len(frame) == pytest.approx(loss, abs=5e-7)
    assert release.recoding.count == clusters
    sizes = release.table.group_by(quasi).len()["len"]
    assert (len(sizes), sizes.min()) == (keys, least)
    if isinstance(algorithm, ic.Clustering) and k == 4:
        assert max(Counter(release.recoding.class_of_key.tolist()).values()) == 6


def test_the_shuffle_is_that_of_the_handout():
    """The handout shuffles an array of the rows themselves, which are objects."""
    rows = np.empty(1001, object)
    rows[:] = [{"row": row} for row in range(1001)]
    np.random.seed(42)  # noqa: NPY002
    np.random.shuffle(rows)  # noqa: NPY002
    expected = [-1] * 1001
    for place, record in enumerate(rows):
        expected[record["row"]] = min(place // 4, 249)
    table = pl.DataFrame({"n": range(1001), "s": ["x"] * 1001})
    assert assigned(ic.Random(), table, schema_of("n"), [ic.KAnonymity(4)], seed=42) == expected


ADULT = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("models", "partitions", "first", "last"),
    [
        (
            [ic.KAnonymity(3)],
            477,
            [(500, 17, 3, "<=50k", 3), (501, 17, 4, "<=50k", 5), (213, 17, 5, "<=50k", 36)],
            [(764, 90, 13.647059, "<=50k", 10)],
        ),
        (
            [ic.KAnonymity(3), ic.LDiversity(2)],
            304,
            [(0, 17.812087, 6.376771, "<=50k", 1058), (1, 17.812087, 6.376771, ">50k", 1)],
            [(594, 90, 13.647059, "<=50k", 10)],
        ),
        (
            [ic.KAnonymity(3), ic.TCloseness(0.2, distance="maximal-frequency-difference")],
            115,
            [(2, 23.000159, 11.040885, "<=50k", 6021), (3, 23.000159, 11.040885, ">50k", 265)],
            [(228, 90, 13.647059, "<=50k", 10)],
        ),
    ],
    ids=["k", "k and l", "k and p"],
)
def test_the_notebook(shared_data, models, partitions, first, last):
    """The teaching notebook "Privacy in Data Storage": partitions, and the printed rows with figures."""
    text = gzip.decompress((shared_data / "adult" / "adult.all.txt.gz").read_bytes()).decode()
    frame = pl.read_csv(
        io.StringIO(text.replace(", ", ",")), has_header=False, new_columns=ADULT, infer_schema_length=None
    )
    schema = ic.Schema(quasi=["age", "education-num"], sensitive=["income"], unlisted="drop")
    rules = ic.Mondrian(choose="span", median="below", categories="appearance")
    release = ic.anonymize(frame, schema, models, rules)
    assert release.recoding.count == partitions
    summary = class_table(release.frequency, release.recoding, None, numbered=True).with_row_index()
    summary = summary.sort("age", "education-num", "income").rows()

    def rounded(rows):
        return [
            (n, round(age, 6), round(education, 6), income, count)
            for n, age, education, income, count in rows
        ]

    assert rounded(summary[: len(first)]) == first
    assert rounded(summary[-2:-1]) == last
    assert sum(row[-1] for row in summary) == 48842


# --- second readings ----------------------------------------------------------------------------------


@pytest.mark.slow
@given(tables(), st.integers(1, 5), st.sampled_from([{}, {"n": 2, "c": 0.5}, {"t": 0}]))
def test_clustering_reads_as_the_assignment_does(table, k, weights):
    assume(k <= table.height)
    schema = schema_of("n", "t", "c", weights=weights)
    classes = assigned(ic.Clustering(), table, schema, [ic.KAnonymity(k)])
    assert classes == clustering(Records(table, schema), k)


@pytest.mark.slow
@given(
    tables(),
    st.integers(1, 5),
    st.integers(0, 5),
    st.sampled_from([{}, {"n": 2, "c": 0.5}]),
    st.sampled_from([(1, 40), (2, 40), (16, 2), (16, 40)]),
)
def test_k_member_reads_as_the_paper_does(table, k, seed, weights, asked):
    assume(k <= table.height)
    schema = schema_of("n", "t", "c", weights=weights)
    with pytest.MonkeyPatch.context() as patch:
        # The fewer records are asked at once, the more often others may be cheaper.
        patch.setattr(_points, "_ASKED", asked[0])
        patch.setattr(_points, "_ASKED_AT_MOST", asked[1])
        classes = assigned(ic.KMember(), table, schema, [ic.KAnonymity(k)], seed)
    assert classes == k_member(Records(table, schema), k, seed)


def test_records_are_asked_again_where_others_may_be_cheaper(monkeypatch):
    """Otherwise the test above would try nothing."""
    asked, work = [], _points.UnusedByCost.nearest
    monkeypatch.setattr(_points, "_ASKED", 1)
    monkeypatch.setattr(
        _points.UnusedByCost, "nearest", lambda self, want: asked.append(want) or work(self, want)
    )
    classes = assigned(ic.KMember(), scattered(40, 1), schema_of("n", "m"), [ic.KAnonymity(8)])
    assert len(asked) > len(set(classes)) == 5


@given(
    st.integers(4, 40), st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([{}, {"n": 2, "c": 0.5}])
)
def test_oka_reads_as_the_paper_does(rows, seed, k, weights):
    assume(k <= rows)
    table = scattered(rows, seed)
    schema = schema_of("n", "m", "t", "c", weights=weights)
    codes = engine_for(table).count(schema).frequency.by_record().codes
    order = sorted(range(rows), key=lambda row: tuple(int(column[row]) for column in codes))
    classes = assigned(ic.OKA(), table, schema, [ic.KAnonymity(k)], seed % 7)
    assert classes == oka(Records(table, schema), k, seed % 7, order)


@given(
    st.integers(4, 40), st.integers(0, 10**6), st.integers(2, 5), st.sampled_from([{}, {"n": 2, "c": 0.5}])
)
def test_mdav_reads_as_the_paper_does(rows, seed, k, weights):
    assume(k <= rows)
    table = scattered(rows, seed)
    schema = schema_of("n", "m", "t", "c", weights=weights)
    classes = assigned(ic.MDAV(), table, schema, [ic.KAnonymity(k)])
    assert classes == mdav(Records(table, schema), k)


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=25), st.integers(1, 6))
def test_microaggregation_is_optimal(values, k):
    assume(k <= len(values))
    table = pl.DataFrame({"n": values, "s": ["x"] * len(values)})
    classes = assigned(ic.Microaggregation(), table, schema_of("n"), [ic.KAnonymity(k)])
    error = Fraction(0)
    for rows in together(classes):
        held = [Fraction(values[row]) for row in rows]
        assert k <= len(held) < 2 * k
        error += sum((value - sum(held) / len(held)) ** 2 for value in held)
    assert error == least_squares([Fraction(value) for value in values], k)


def test_microaggregation_of_means():
    """Hansen and Mukherjee's point: fixed groups of k would part 5 from 4."""
    table = pl.DataFrame({"n": [1.0, 2, 4, 5, 6, 100, 101, 102.5], "s": ["x"] * 8})
    release = ic.anonymize(
        table, schema_of("n"), [ic.KAnonymity(2)], ic.Microaggregation(), output="mean", ends="exact"
    )
    assert release.table["n"].to_list() == [
        1.5,
        1.5,
        5,
        5,
        5,
        101.166667,
        101.166667,
        101.166667,
    ]
    one = pl.DataFrame({"n": [3, None, 1, None, 2], "s": ["x"] * 5})
    release = ic.anonymize(one, schema_of("n"), [ic.KAnonymity(2)], ic.Microaggregation(), ends="exact")
    assert release.table["n"].to_list() == ["[1-3]", None, "[1-3]", None, "[1-3]"]
    with pytest.raises(
        ic.ParameterError, match=r"works on one number or date without hierarchy, not on 'n', 't'"
    ):
        ic.anonymize(scattered(9, 1), schema_of("n", "t"), [ic.KAnonymity(2)], ic.Microaggregation())


# --- classification -----------------------------------------------------------------------------------


def cells_of(release: ic.Release, names: list[str]) -> list[tuple]:
    return release.table.select(names).rows()


def recoded(algorithm: Algorithm, table: pl.DataFrame, schema: ic.Schema, models) -> list[tuple]:
    """The cells of every row, also where all are ``*``."""
    frequency = engine_for(table).count(schema, target=algorithm.predicts).frequency
    recoding = algorithm.search(SearchProblem(frequency, models, schema.quasi, progress=Quiet())).recoding
    columns = [[cells.labels[code] for code in cells.codes[frequency.row_keys]] for cells in recoding.cells]
    return list(zip(*columns, strict=True))


@given(tables(least=8), st.integers(1, 6))
def test_specialization_stops_where_it_says(table, k):
    """No single further step of the hierarchy keeps the models, where the target still differs."""
    assume(k <= table.height)
    schema = schema_of("t", "c")
    cells = recoded(ic.TopDownSpecialization("s"), table, schema, [ic.KAnonymity(k)])
    originals = table.select("t", "c").rows()
    target = table["s"].to_list()
    assert min(Counter(cells).values()) >= k
    tree = ic.Hierarchy.from_nested(TREE)

    def finer(name: str, cell: str, value: str) -> str:
        if name == "c":
            return value if cell == "*" else cell
        path = list(tree.path(tree.rank(value)))
        return path[path.index(cell) - 1] if cell != value else cell

    for j, name in enumerate(("t", "c")):
        for general in {cell[j] for cell in cells}:
            here = [row for row, cell in enumerate(cells) if cell[j] == general]
            if len({target[row] for row in here}) < 2:
                continue
            step = list(cells)
            for row in here:
                changed = list(step[row])
                changed[j] = finer(name, general, originals[row][j])
                step[row] = tuple(changed)
            if step != cells and not (name == "t" and general == "B" and len(here) == 0):
                lone = {cell[j] for cell in step} - {cell[j] for cell in cells}
                # A node whose records are all below one child is parted without parting anybody.
                assert min(Counter(step).values()) < k or len(lone) == 1


@given(tables(least=8), st.integers(1, 6))
def test_bottom_up_reads_as_the_paper_does(table, k):
    assume(k <= table.height)
    schema = schema_of("t", "c")
    assert recoded(ic.BottomUpGeneralization("s"), table, schema, [ic.KAnonymity(k)]) == bottom_up(table, k)


def bottom_up(table: pl.DataFrame, k: int) -> list[tuple]:
    trees = {
        "t": ic.Hierarchy.from_nested(TREE),
        "c": ic.Hierarchy.from_nested({"*": sorted(set(table["c"]))}) if table["c"].n_unique() else None,
    }
    children = {
        name: {
            node: [child for child, parent in enumerate(tree.parents.tolist()) if parent == node]
            for node in range(tree.n_nodes)
        }
        for name, tree in trees.items()
    }
    target = table["s"].to_list()
    names = ("t", "c")
    cells = [
        tuple(
            int(trees[name].leaves[trees[name].rank(value)]) for name, value in zip(names, row, strict=True)
        )
        for row in table.select(names).rows()
    ]
    standing = {name: set(trees[name].leaves.tolist()) for name in names}
    while min(Counter(cells).values()) < k:
        smallest = min(Counter(cells).values())
        steps = []
        for j, name in enumerate(names):
            for node, below in children[name].items():
                if not below or not standing[name].issuperset(below):
                    continue
                here = [row for row, cell in enumerate(cells) if cell[j] in below]
                after = list(cells)
                for row in here:
                    changed = list(after[row])
                    changed[j] = node
                    after[row] = tuple(changed)
                lost = len(here) * entropy([target[row] for row in here]) - sum(
                    len(part) * entropy([target[row] for row in part])
                    for part in ([row for row in here if cells[row][j] == child] for child in below)
                    if part
                )
                gained = min(Counter(after).values()) - smallest
                cost = lost / len(cells) / gained if gained > 0 else lost / len(cells)
                steps.append((gained <= 0, round(cost, 9), j, int(trees[name].lo[node]), node, after))
        _, _, j, _, node, cells = min(steps, key=lambda step: step[:5])
        standing[names[j]] -= set(children[names[j]][node])
        standing[names[j]].add(node)
    return [tuple(trees[name].labels[node] for name, node in zip(names, cell, strict=True)) for cell in cells]


def test_classification_by_hand():
    """The target depends on t's first level alone: c, which tells nothing, becomes or stays `*`."""
    table = pl.DataFrame({"t": [*LEAVES] * 8, "c": [*"uvwx"] * 14, "s": [leaf[0] for leaf in LEAVES] * 8})
    for algorithm, met in (
        (ic.TopDownSpecialization("s"), {"A", "B", "c1"}),
        (ic.BottomUpGeneralization("s"), set(LEAVES)),
    ):
        release = ic.anonymize(table, schema_of("t", "c"), [ic.KAnonymity(8)], algorithm)
        assert set(release.table["t"]) == met
        assert set(release.table["c"]) == {"*"}


def test_specialization_cuts_numbers_where_it_tells():
    table = pl.DataFrame({"n": range(40), "s": ["x"] * 13 + ["y"] * 27})
    release = ic.anonymize(
        table, schema_of("n"), [ic.KAnonymity(5)], ic.TopDownSpecialization("s"), ends="exact"
    )
    assert release.recoding.decisions()["cells"] == {"n": 2}
    assert set(release.table["n"]) == {"[0-12]", "[13-39]"}
    saved = release.recoding
    assert isinstance(saved, ic.SingleDimensional)


# --- cell suppression ---------------------------------------------------------------------------------


@pytest.mark.slow
@given(tables(least=6), st.integers(2, 5), st.sampled_from([0.0, 0.2, 1.0]))
def test_cell_suppression_leaves_what_it_does_not_blank(table, k, limit):
    assume(k <= table.height)
    schema = schema_of("n", "t", "c")
    try:
        release = ic.anonymize(
            table, schema, [ic.KAnonymity(k)], ic.CellSuppression(), max_suppression=limit, suppressed="keep"
        )
    except ic.InfeasibleError:
        reject()
    before = [tuple(None if v is None else str(v) for v in row) for row in table.select("n", "t", "c").rows()]
    after = cells_of(release, ["n", "t", "c"])
    classes = Counter(after)
    counts = Counter(before)
    for old, new in zip(before, after, strict=True):
        assert all(cell in ("*", value) for value, cell in zip(old, new, strict=True))
        assert classes[new] >= k or set(new) == {"*"}
    # Nobody who is in a class already is blanked, unless to take somebody in.
    assert sum(cell == "*" for row in after for cell in row) <= 3 * sum(
        n for n in counts.values() if n < k
    ) + (0 if limit == 1 else 3 * table.height)


def test_importance_decides_what_is_blanked():
    table = pl.DataFrame({"n": [1, 2, 1, 2], "c": [*"uuvv"], "s": ["x"] * 4})
    for heavy, blank in (("n", "c"), ("c", "n")):
        schema = schema_of("n", "c", weights={heavy: 5})
        release = ic.anonymize(table, schema, [ic.KAnonymity(2)], ic.CellSuppression())
        assert set(release.table[blank]) == {"*"}
        assert "*" not in set(release.table[heavy])


def test_the_last_records_are_suppressed_only_where_that_is_allowed():
    table = pl.DataFrame({"n": [1] * 5 + [2] * 5 + [3], "c": ["u"] * 5 + ["v"] * 5 + ["v"], "s": ["x"] * 11})
    schema = schema_of("n", "c")
    release = ic.anonymize(
        table, schema, [ic.KAnonymity(2)], ic.CellSuppression(), max_suppression=0.1, suppressed="keep"
    )
    assert release.table.select("n", "c").rows()[-1] == ("*", "*")
    assert release.privacy.suppressed == 1
    joined = ic.anonymize(table, schema, [ic.KAnonymity(2)], ic.CellSuppression())
    assert joined.table.select("n", "c").rows()[5:] == [("*", "v")] * 6


def test_an_output_style_of_its_own_wins():
    table = pl.DataFrame({"n": [1, 2, 1, 2], "c": [*"uuvv"], "s": ["x"] * 4})
    schema = ic.Schema.of_attributes(
        [ic.Attribute("n", "quasi", output="range"), ic.Attribute("c", "quasi", weight=9)], unlisted="drop"
    )
    release = ic.anonymize(table, schema, [ic.KAnonymity(2)], ic.CellSuppression(), ends="exact")
    assert set(release.table["n"]) == {"[1-2]"}


# --- local recoding in rounds -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [ic.Optimal, ic.Flash, ic.Datafly], ids=lambda entry: entry.name)
@given(table=tables(least=12), k=st.integers(2, 4))
def test_rounds_release_more_and_lose_less(algorithm, table, k):
    schema = schema_of("t", "c")
    models = [ic.KAnonymity(k)]
    try:
        once = ic.anonymize(table, schema, models, algorithm(), max_suppression=0.5, suppressed="keep")
    except ic.InfeasibleError:
        reject()
    again = ic.anonymize(
        table,
        schema,
        models,
        algorithm(recode_suppressed=True, rounds="search"),
        max_suppression=0.5,
        suppressed="keep",
    )
    assert again.privacy.suppressed <= once.privacy.suppressed
    assert again.utility["loss"].value <= once.utility["loss"].value + 1e-12
    assert again.lattice is not None
    first = once.table.select("t", "c").rows()
    for old, new in zip(first, again.table.select("t", "c").rows(), strict=True):
        assert old == new or set(old) == {"*"}
    if once.privacy.suppressed:
        assert isinstance(again.recoding, ic.SingleDimensional)
        assert (again.recoding.round_of_key < 0).sum() <= again.privacy.suppressed


def test_a_recoding_in_rounds_can_be_saved(tmp_path):
    table = scattered(60, 3)
    schema = schema_of("t", "c")
    release = ic.anonymize(
        table,
        schema,
        [ic.KAnonymity(4)],
        ic.Optimal(recode_suppressed=True),
        max_suppression=0.6,
        suppressed="keep",
    )
    recoding = release.recoding
    assert isinstance(recoding, ic.SingleDimensional)
    recoding.save(tmp_path / "r")
    loaded = ic.Recoding.load(tmp_path / "r")
    assert repr(loaded) == repr(recoding)
    assert loaded.round_of_key.tolist() == recoding.round_of_key.tolist()
    counted = engine_for(table).count(schema)
    assert counted.apply(schema, loaded).table.equals(release.table)


# --- joining and refusing -----------------------------------------------------------------------------


def test_a_class_that_fails_joins_the_nearest():
    """k=2 gives three pairs, and the pair without a second value joins the near pair, not the far pair."""
    table = pl.DataFrame({"n": [0, 1, 10, 11, 50, 51], "s": ["x", "y", "x", "x", "x", "y"]})
    release = ic.anonymize(
        table, schema_of("n"), [ic.KAnonymity(2), ic.LDiversity(2)], ic.Clustering(), ends="exact"
    )
    assert release.table["n"].to_list() == ["[0-11]"] * 4 + ["[50-51]"] * 2


LOCAL: list[type[Algorithm]] = [ic.Clustering, ic.KMember, ic.OKA, ic.MDAV, ic.Random]


@pytest.mark.parametrize("algorithm", LOCAL, ids=lambda entry: entry.name)
def test_people_are_not_counted_where_records_are_parted(algorithm):
    table = scattered(12, 1)
    with pytest.raises(ic.ParameterError, match=f"{algorithm.name} parts records that look alike, so k-map"):
        ic.anonymize(table, schema_of("n", "t"), [ic.KMap(2)], algorithm(), population=table)


@pytest.mark.few(2)
@pytest.mark.parametrize("algorithm", LOCAL, ids=lambda entry: entry.name)
def test_seeds_matter_to_those_that_say_so(algorithm):
    table = scattered(60, 5)
    classes = {
        tuple(assigned(algorithm(), table, schema_of("n", "m", "t"), [ic.KAnonymity(4)], seed))
        for seed in range(8)
    }
    assert (len(classes) > 1) == algorithm.seeded


@pytest.mark.parametrize("algorithm", LOCAL, ids=lambda entry: entry.name)
def test_long_tables_of_equal_records(algorithm):
    """Distances are all 0, and the records of a single class are left over."""
    table = pl.DataFrame({"n": [4] * 203, "c": ["u"] * 203, "s": ["x"] * 203})
    release = ic.anonymize(table, schema_of("n", "c"), [ic.KAnonymity(4)], algorithm())
    assert set(release.table["n"]) == {"4"}
    sizes = Counter(release.recoding.class_of_key.tolist())
    assert min(sizes.values()) >= 4
    assert sum(sizes.values()) == 203


def test_costs_are_rounded_where_they_do_not_fit():
    """Decimal places without end: no common unit fits 63 bits, and the nearest are still found."""
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"n": rng.random(50), "m": rng.random(50) * 1e-9, "s": ["x"] * 50})
    release = ic.anonymize(table, schema_of("n", "m"), [ic.KAnonymity(3)], ic.Clustering())
    assert release.privacy.smallest >= 3
    worse = ic.anonymize(table, schema_of("n", "m"), [ic.KAnonymity(3)], ic.Random())
    assert release.utility["loss"].value < worse.utility["loss"].value / 2


@pytest.mark.slow
def test_progress_is_told():
    told: list[tuple[int, int]] = []

    class Told(Quiet):
        def advance(self, done: int, total: int) -> None:
            super().advance(done, total)
            told.append((done, total))

    for algorithm in (ic.Clustering(), ic.KMember(), ic.MDAV(), ic.OKA()):
        told.clear()
        ic.anonymize(scattered(900, 1), schema_of("n", "t"), [ic.KAnonymity(3)], algorithm, progress=Told())
        assert told, algorithm.name
        assert told == sorted(told)
