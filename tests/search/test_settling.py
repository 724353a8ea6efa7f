"""A single node settles others: fewer looks, and never a wrong verdict."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from examples import examples
from incrowd.core.kernels.lattice.lattice import below_several
from incrowd.core.recoding import FullDomain
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.engines import engine_for
from incrowd.measures.utility import METRICS
from incrowd.search import SearchProblem
from incrowd.search.lattice import Explorer
from incrowd.search.lattice import explorer as explorers
from lattice_reading import ADULT, LEAVES, TREES, explorer, path_of, schema, tables
from test_published import read


@given(frame=tables(gone=0), k=st.integers(2, 6), data=st.data())
def test_a_class_too_small_is_found_at_every_node_at_once(frame, k, data):
    lattice = explorer(frame, [ic.KAnonymity(k)])
    levels = data.draw(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)))
    paths = {name: path_of(TREES[name]) for name in LEAVES}

    def classes(at):
        columns = []
        for name, level in zip(LEAVES, at, strict=True):
            path = paths[name]
            columns.append([path[value][min(level, len(path[value]) - 1)] for value in frame[name]])
        return list(zip(*columns, strict=True))

    [node] = lattice.look(levels)
    dead = np.zeros(lattice.lattice.size, np.bool_)
    lattice.mark_failing(levels, dead, ~dead)
    sizes = Counter(classes(levels))
    if min(sizes.values()) >= k:
        assert not dead.any()
        return
    assert not node.anonymous
    marked = {lattice.lattice.levels(number) for number in np.flatnonzero(dead)}
    rows = [row for row, name in enumerate(classes(levels)) if sizes[name] == min(sizes.values())]
    # The smallest class is not the only one of its size; whichever was taken, the nodes are just those.
    expected = [
        {at for at in np.ndindex(4, 3, 3) if Counter(names := classes(at))[names[row]] < k} for row in rows
    ]
    assert marked in expected


@pytest.mark.slow
@examples(150)
@given(
    frame=tables(gone=0),
    k=st.integers(1, 3),
    model=st.sampled_from(
        [
            ic.TCloseness(0.3, "equal", attribute="s"),
            ic.TCloseness(0.25),
            ic.TCloseness(0.2, "maximal-frequency-difference", attribute="s"),
            ic.LDiversity(2, attribute="s"),
            ic.LDiversity(1.8, "entropy"),
            ic.BetaLikeness(0.8, attribute="s"),
            ic.AlphaKAnonymity(0.6, 2),
            ic.DeltaDisclosure(0.7, attribute="r"),
        ]
    ),
    data=st.data(),
)
def test_a_class_that_fails_is_found_at_every_node_at_once(frame, k, model, data):
    """The class of a key is judged at each node by the classes of a release at the levels."""
    lattice = explorer(frame, [ic.KAnonymity(k), model])
    levels = data.draw(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)))
    [node] = lattice.look(levels)
    key = lattice._memory.failing.get(levels)
    size = lattice.class_sizes(levels).min()
    assert (key is not None) == (not node.anonymous and size >= max(k, model.least_size))
    dead = np.zeros(lattice.lattice.size, np.bool_)
    asked = np.random.default_rng(k).random(len(dead)) < 0.8
    lattice.mark_failing(levels, dead, asked)
    if key is None:
        return
    failing = np.zeros(len(dead), np.bool_)
    for number, at in enumerate(np.ndindex(4, 3, 3)):
        classes = FullDomain.build(lattice.problem.frequency, at).classes(lattice.problem.frequency)
        of_member = np.repeat(np.arange(len(classes)), np.diff(classes.indptr))
        [place] = of_member[classes.members == key]
        failing[number] = classes.sizes[place] < k or not model.holds(classes)[place]
    assert failing[lattice.lattice.node(levels)]
    assert dead.tolist() == (failing & asked).tolist()


@pytest.mark.slow
@examples(60)
@given(frame=tables(gone=0), k=st.integers(1, 5), most=st.integers(1, 4))
def test_the_classes_of_the_rarest_keys_are_followed_before_any_look(frame, k, most):
    """Rare is the key with the smallest product of the cells' shares at all levels below the top."""
    lattice = explorer(frame, [ic.KAnonymity(k)])
    frequency, rarity = lattice.problem.frequency, []
    columns = []
    for name in LEAVES:
        paths = path_of(TREES[name])
        height = max(map(len, paths.values())) - 1
        cells = {v: [path[min(level, len(path) - 1)] for level in range(height)] for v, path in paths.items()}
        counts = [Counter(cells[value][level] for value in frame[name]) for level in range(height)]
        columns.append(
            {v: -sum(np.log(counts[n][c]) for n, c in enumerate(cells[v])) for v in set(frame[name])}
        )
    for key in range(frequency.keys):
        values = [
            domain.values[codes[key]]
            for domain, codes in zip(frequency.domains, frequency.codes, strict=True)
        ]
        rarity.append(sum(column[value] for column, value in zip(columns, values, strict=True)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explorers, "_OUTLIERS", most)
        dead = np.zeros(lattice.lattice.size, np.bool_)
        lattice.mark_outliers(dead)
    chosen = lattice._rollup.outliers(lattice.lattice, most)
    assert len(chosen) == min(most, frequency.keys)
    least = sorted(rarity)[-len(chosen)]
    assert all(rarity[key] >= least - 1e-9 for key in chosen)
    for number, at in enumerate(np.ndindex(4, 3, 3)):
        classes = FullDomain.build(frequency, at).classes(frequency)
        of_member = np.repeat(classes.sizes, np.diff(classes.indptr))
        assert dead[number] == any(of_member[classes.members == key].min() < k for key in chosen)


@pytest.mark.parametrize(("distance", "most"), [("equal", 12), ("hierarchical", 17)])
def test_a_class_too_far_away_settles_most_nodes(shared_data, distance, most):
    """Otherwise the search looks at 37 and 33 nodes."""
    folder = shared_data / "arx-adult"
    trees = {name: ic.Hierarchy.read(folder / f"adult_hierarchy_{name}.csv") for name in ADULT}
    tree = trees.pop("occupation")
    schema = ic.Schema(quasi=trees, sensitive={"occupation": tree})
    models = [ic.KAnonymity(5), ic.TCloseness(0.2, distance)]
    table = read(folder / "adult.csv", separator=";")
    space = ic.anonymize(table, schema, models, ic.Optimal("loss", "geometric-mean")).lattice
    assert space.proved
    assert len(space.nodes) <= most


def test_nothing_is_marked_where_records_may_be_suppressed():
    frame = pl.DataFrame(
        {"t": ["a11", "b1"], "u": ["x1", "y1"], "v": ["1", "5"], "s": ["p", "q"], "r": ["k", "m"]}
    )
    lattice = explorer(frame, [ic.KAnonymity(3)], 0.5)
    dead = np.zeros(lattice.lattice.size, np.bool_)
    lattice.look((0, 0, 0))
    lattice.mark_failing((0, 0, 0), dead, ~dead)
    lattice.mark_outliers(dead)
    assert not dead.any()


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("metric", "most"),
    [("loss", 40), ("precision", 40), ("non-uniform-entropy", 40), ("average-class-size", 80)],
)
def test_few_nodes_are_looked_at_where_nothing_may_be_suppressed(shared_data, metric, most):
    """Of 12,960 nodes, walks that halve chains look at 63 to 217."""
    folder = shared_data / "arx-adult"
    schema = ic.Schema(
        quasi={name: ic.Hierarchy.read(folder / f"adult_hierarchy_{name}.csv") for name in ADULT}
    )
    table = read(folder / "adult.csv", separator=";")
    space = ic.anonymize(table, schema, [ic.KAnonymity(5)], ic.Optimal(metric)).lattice
    assert space.proved
    assert len(space.nodes) <= most


@pytest.mark.parametrize(
    ("metric", "most"),
    [
        pytest.param("average-class-size", 2500, marks=pytest.mark.slow),
        ("discernibility", 800),
    ],
)
def test_what_classes_fall_into_settles_nodes_below(shared_data, metric, most):
    """Otherwise the search looks at 3,783 and 1,388 nodes."""
    folder = shared_data / "arx-adult"
    schema = ic.Schema(
        quasi={name: ic.Hierarchy.read(folder / f"adult_hierarchy_{name}.csv") for name in ADULT}
    )
    table = read(folder / "adult.csv", separator=";")
    space = ic.anonymize(
        table, schema, [ic.KAnonymity(5)], ic.Optimal(metric), max_suppression=0.05, suppressed="keep"
    ).lattice
    assert space.proved
    assert len(space.nodes) <= most


LOSING = [
    ic.TCloseness(0.2, attribute="s"),
    ic.TCloseness(0.25, "equal", attribute="s"),
    ic.TCloseness(0.25, "ordered", attribute="n"),
    ic.TCloseness(0.3, "hierarchical", attribute="h"),
    ic.TCloseness(0.3, joint=True),
    ic.BetaLikeness(0.5, attribute="s"),
    ic.BetaLikeness(0.8, "enhanced", attribute="s"),
    ic.BetaLikeness(0.5),
    ic.AlphaKAnonymity(0.5, 1, attribute="s"),
    ic.AlphaKAnonymity(0.4, 1),
    ic.AlphaKAnonymity(0.3, 1, "p", attribute="s"),
    ic.BetaLikeness(0.2, attribute="n"),
    ic.DeltaDisclosure(0.5, attribute="h"),
    ic.DeltaDisclosure(1, attribute="s"),
    ic.LDiversity(2, attribute="s"),
    ic.LDiversity(3, attribute="n"),
    ic.LDiversity(2, "entropy", attribute="s"),
    ic.LDiversity(2.5, "entropy", attribute="n"),
    ic.LDiversity(3, "entropy", attribute="h"),
    ic.LDiversity(2, "recursive", c=1.5, attribute="s"),
    ic.LDiversity(1, "recursive", c=0.7, attribute="n"),
    ic.LDiversity(3, "recursive", c=2, attribute="n"),
]


@pytest.mark.few(4)
@pytest.mark.parametrize("model", LOSING, ids=str)
@examples(15)
@given(data=st.data())
def test_what_a_class_must_lose_is_lost_in_every_part_that_satisfies_the_model(model, data):
    """Every subset of a class is tried: the rest after the fewest leave is as small as said, or smaller."""
    many = data.draw(st.integers(1, 7), label="records of the class")
    rows = many + data.draw(st.integers(1, 6), label="records of others")
    values = st.sampled_from("pqz")
    frame = pl.DataFrame(
        {
            "id": [f"{row}" for row in range(rows)],
            # One model names a value, which therefore occurs.
            "s": [data.draw(values) for _ in range(rows - 1)] + ["p"],
            "n": [data.draw(st.integers(1, 4)) for _ in range(rows)],
            "h": [data.draw(st.sampled_from(["x1", "x2", "y1"])) for _ in range(rows)],
        }
    )
    tree = ic.Hierarchy.from_nested({"*": {"x": ["x1", "x2"], "y": ["y1"]}})
    schema = ic.Schema(quasi=["id"], sensitive={"s": None, "n": None, "h": tree})
    frequency = engine_for(frame).count(schema, joint=True).frequency
    row_of_key = [int(frequency.domains[0].values[code]) for code in frequency.codes[0]]
    inside = np.array([row < many for row in row_of_key])
    whole = EquivalenceClasses.from_assignment(frequency, np.where(inside, 0, 1).astype(np.int32), 2)
    lost = int(model.certain_losses(whole)[0])
    assert (lost == 0) == bool(model.holds(whole)[0])
    for subset in range(1, 2**many):
        part = np.array([bool(subset >> row & 1) if row < many else False for row in row_of_key])
        place = np.where(part, 0, np.where(inside, 1, 2)).astype(np.int32)
        if subset == 2**many - 1:
            place = np.where(inside, 0, 1).astype(np.int32)
        classes = EquivalenceClasses.from_assignment(frequency, place, int(place.max()) + 1)
        if model.holds(classes)[0]:
            assert many - subset.bit_count() >= lost


def parts_of(records):
    """Go through all ways to suppress some records and to divide the others."""
    if not records:
        yield []
        return
    *rest, last = records
    for parts in parts_of(rest):
        yield parts
        yield [*parts, [last]]
        for at, part in enumerate(parts):
            yield [*parts[:at], [*part, last], *parts[at + 1 :]]


@examples(12)
@given(data=st.data(), t=st.sampled_from([0.0, 0.2, 0.35, 0.5, 0.7]))
def test_what_a_class_of_people_must_lose_is_lost_however_it_is_divided(data, t):
    many = data.draw(st.integers(1, 6), label="records of the class")
    rows = many + data.draw(st.integers(1, 6), label="records of others")
    people = [f"p{data.draw(st.integers(0, 3))}" for _ in range(rows)]
    values = [data.draw(st.sampled_from("qxyz")) for _ in range(rows)]
    frame = pl.DataFrame({"id": [f"{row}" for row in range(rows)], "s": values, "who": people})
    frequency = engine_for(frame).count(ic.Schema(quasi=["id"], sensitive=["s"], person="who")).frequency
    if frequency.people.table is None:
        return
    place = np.array([int(int(frequency.domains[0].values[code]) >= many) for code in frequency.codes[0]])
    classes = EquivalenceClasses.from_assignment(frequency, place.astype(np.int32), 2)
    model = ic.TCloseness(t, "equal")
    assert model.bounds_people(frequency.counted)
    lost = int(model.certain_losses(classes)[0])
    told = list(zip(people, values, strict=True))
    whole = Counter(value for _, value in set(told))

    def near(part):
        counts = Counter(value for _, value in {told[row] for row in part})
        away = (Fraction(counts[v], counts.total()) - Fraction(whole[v], whole.total()) for v in whole)
        return sum(abs(each) for each in away) / 2 <= Fraction(t) + Fraction(1, 10**12)

    known = {}
    for parts in parts_of(range(many)):
        number = sum(map(len, parts))
        if many - number < lost:
            assert not all(known.setdefault(tuple(part), near(part)) for part in parts)


def test_a_class_of_people_with_what_is_rare_loses_all_of_it():
    visits = [("Ann", "flu"), ("Ann", "gout"), ("Bob", "gout"), ("Bob", "gout")] + [
        (f"o{n}", "flu") for n in range(96)
    ]
    frame = pl.DataFrame(
        {"q": ["a"] * 4 + ["b"] * 96, "who": [who for who, _ in visits], "s": [ill for _, ill in visits]}
    )
    frequency = engine_for(frame).count(ic.Schema(quasi=["q"], sensitive=["s"], person="who")).frequency
    place = np.array([int(frequency.domains[0].values[code] == "b") for code in frequency.codes[0]], np.int32)
    classes = EquivalenceClasses.from_assignment(frequency, place, 2)
    # Of 99 pairs 2 are gout, so its share may be 0.32: beside one record of flu no pair of gout can stay.
    assert ic.TCloseness(0.3, "equal").certain_losses(classes).tolist() == [3, 0]
    # A share of 0.52 lets one pair of gout stay beside one of flu, so one of the two loses a record.
    assert ic.TCloseness(0.5, "equal").certain_losses(classes).tolist() == [1, 0]


def test_a_class_far_from_the_table_must_lose_many():
    frame = pl.DataFrame({"q": ["a"] * 10 + ["b"] * 10, "s": ["p"] * 10 + ["p", "z"] * 5})
    frequency = engine_for(frame).count(ic.Schema(quasi=["q"], sensitive=["s"])).frequency
    place = np.array([int(frequency.domains[0].values[code] == "b") for code in frequency.codes[0]], np.int32)
    classes = EquivalenceClasses.from_assignment(frequency, place, 2)
    # The table has 3/4 p; class a is 1/4 away, b as well. Of a, which has no z, nobody can stay. Of b five p can
    # stay beside two z: three z would be a share of 3/8.
    assert ic.TCloseness(0.05).certain_losses(classes).tolist() == [10, 3]
    # p may have a share of 0.825, so of ten p nobody may stay but as many z came; all leave.
    assert ic.BetaLikeness(0.1).certain_losses(classes).tolist() == [10, 4]


@pytest.mark.few(1)
@pytest.mark.parametrize(("limit", "most"), [(0.02, 150), (0.05, 250)])
def test_nodes_that_are_far_from_t_settle_those_below(shared_data, limit, most):
    """With suppression the search had to look at 1,525 and 2,299 nodes."""
    folder = shared_data / "arx-adult"
    trees = {name: ic.Hierarchy.read(folder / f"adult_hierarchy_{name}.csv") for name in ADULT}
    schema = ic.Schema(
        quasi={name: trees[name] for name in ADULT if name != "occupation"},
        sensitive={"occupation": trees["occupation"]},
    )
    table = read(folder / "adult.csv", separator=";")
    algorithm = ic.Optimal(aggregate="geometric-mean")
    models = [ic.KAnonymity(5), ic.TCloseness(0.2)]
    space = ic.anonymize(table, schema, models, algorithm, max_suppression=limit, suppressed="keep").lattice
    assert space.proved
    assert len(space.nodes) <= most


def bases_of(nodes, heights, lot):
    levels = np.array(nodes)
    bases, above = np.empty_like(levels), np.empty(len(levels), np.int64)
    result = below_several(levels, np.array(heights), 3, lot, bases, above)
    return sorted(zip(map(tuple, bases[:result].tolist()), above[:result].tolist(), strict=True))


def test_what_lies_below_several_nodes_is_found():
    assert bases_of([(2, 0), (2, 1), (3, 1)], (4, 2), 8) == [((2, 0), 3)]
    far = [(3, 0), (3, 1), (2, 1), (0, 5), (1, 5), (0, 4), (1, 4)]
    assert bases_of(far, (4, 6), 8) == [((0, 0), 7)]
    assert bases_of(far, (4, 6), 4) == [((0, 4), 4), ((2, 0), 3)]
    assert bases_of([(1, 1), (2, 2)], (3, 3), 4) == []
    assert bases_of([(1, 1)] * 6, (3, 3), 4) == [((1, 1), 6)]


@examples(60)
@given(
    nodes=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 6)), min_size=1, max_size=70
    ),
    lot=st.integers(3, 9),
)
def test_a_node_below_several_is_the_highest_one(nodes, lot):
    """Each node counts for one of them at most, and lots are not larger where nodes differ."""
    result = bases_of(nodes, (4, 2, 7), lot)
    assert sum(many for _, many in result) <= len(nodes)
    for base, many in result:
        above = [node for node in nodes if all(np.array(node) >= np.array(base))]
        assert len(above) >= many >= 3
        assert many <= lot or nodes.count(base) >= many


@pytest.mark.parametrize("model", [None, ic.TCloseness(0.3)], ids=str)
def test_nodes_are_made_of_one_below_them_and_are_the_same(shared_data, model):
    folder = shared_data / "arx-adult"
    trees = {name: ic.Hierarchy.read(folder / f"adult_hierarchy_{name}.csv") for name in ADULT}
    sensitive = ADULT[-2:] if model else []
    schema = ic.Schema(
        quasi={name: trees[name] for name in ADULT[:7]}, sensitive={name: trees[name] for name in sensitive}
    )
    frequency = engine_for(read(folder / "adult.csv", separator=";")).count(schema).frequency
    models = [ic.KAnonymity(5), *([model] if model else [])]
    nodes = [(0, 3, 0, 1, 1, 1, 1), (0, 3, 1, 0, 1, 1, 1), (0, 2, 1, 1, 2, 1, 1), (0, 2, 1, 1, 1, 2, 1)]
    plain, prepared = (
        Explorer(SearchProblem(frequency, models, schema.quasi, 0.3), METRICS.get("loss")()) for _ in range(2)
    )
    prepared.prepare(nodes)
    rolled = []
    if model:
        work = prepared._rollup.roll
        prepared._rollup.roll = lambda levels, below: rolled.append(len(below.keys)) or work(levels, below)
    else:
        work = prepared._sizes._below
        prepared._sizes._below = lambda levels: (
            rolled.append(np.diff(work(levels)[1], prepend=0).max()) or work(levels)
        )
    assert prepared.look(*nodes) == plain.look(*nodes)
    assert max(rolled) < 0.8 * frequency.keys


@pytest.mark.slow
def test_classes_are_counted_at_every_node_without_a_sensitive_attribute():
    """Profitability judges each class by the class's records, and the average risk fails for all together."""
    random = np.random.default_rng(3)
    searches = 0
    for _ in range(60):
        rows = int(random.integers(4, 40))
        frame = pl.DataFrame({name: random.choice(leaves, rows) for name, leaves in LEAVES.items()})
        roles = ic.Schema(quasi={attribute.name: attribute for attribute in schema().quasi})
        models = [ic.AverageRisk(0.3), ic.Profitability()]
        problem = SearchProblem(engine_for(frame).count(roles).frequency, models, roles.quasi, 0.0)
        lattice = Explorer(problem, METRICS.get("loss")())
        nodes = np.arange(lattice.lattice.size)
        key = int(problem.frequency.key_of_row("counting")[0])
        classes = lattice._rollup.class_at(key, lattice.lattice, nodes)
        for number, size in zip(nodes, classes.sizes, strict=True):
            levels = lattice.lattice.levels(int(number))
            paths = {name: path_of(TREES[name]) for name in LEAVES}
            cells = [
                [path[value][min(level, len(path[value]) - 1)] for value in frame[name]]
                for (name, path), level in zip(paths.items(), levels, strict=True)
            ]
            rows_alike = Counter(zip(*cells, strict=True))
            assert size == rows_alike[tuple(column[0] for column in cells)]
            searches += 1
    assert searches > 1000
