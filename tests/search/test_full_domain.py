"""The other full-domain algorithms: promises of each, and published figures."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import incrowd as ic
from examples import examples
from incrowd.search import ALGORITHMS
from incrowd.search.lattice import Lattice, Node, least
from lattice_reading import close, every_node, explorer, schema, tables
from test_published import read

FULL_DOMAIN = [entry for entry in ALGORITHMS if entry.full_domain]
MODELS = [[ic.KAnonymity(2)], [ic.KAnonymity(2), ic.LDiversity(2, attribute="r")], [ic.MaximumRisk(0.4)]]


def minimal(anonymous: set[tuple[int, ...]]) -> set[tuple[int, ...]]:
    def beaten(node):
        return any(
            other != node and all(a <= b for a, b in zip(other, node, strict=True)) for other in anonymous
        )

    return {node for node in anonymous if not beaten(node)}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["incognito", "flash", "ola"])
@examples(20)
@given(frame=tables(), limit=st.sampled_from([0.0, 0.15, 0.4]), models=st.sampled_from(MODELS))
def test_every_minimal_node_is_found(name, frame, limit, models):
    expected = every_node(frame, schema(), models, limit, "loss", "mean")
    try:
        release = ic.anonymize(
            frame, schema(), models, ALGORITHMS.get(name)(), max_suppression=limit, suppressed="keep"
        )
    except (ic.InfeasibleError, ic.ParameterError):
        assert not expected or (models[-1].name == "l-diversity" and frame["r"].n_unique() < 2)
        return
    space = release.lattice
    # Nodes that hold and have none below that do were looked at, and the best of them was taken.
    lowest = minimal(set(expected))
    assert lowest <= {node.levels for node in space.nodes}
    assert space.best.levels in lowest
    assert close(space.best.score, min(expected[node] for node in lowest))
    assert space.proved == (int(limit * frame.height) <= (frame["t"] == "*").sum())
    if limit == 0:
        assert close(space.best.score, min(expected.values()))


@pytest.mark.parametrize("name", ["incognito", "flash", "ola"])
def test_tagging_is_refused_where_it_would_be_wrong(name):
    frame = pl.DataFrame(
        {
            "t": ["a11", "b1"] * 4,
            "u": ["x1"] * 8,
            "v": ["1"] * 8,
            "s": list("pqpqpqpq"),
            "r": list("kmkmkmmk"),
        }
    )
    algorithm = ALGORITHMS.get(name)()
    for models, limit in (([ic.NormalizedEntropy(0.5)], 0.0), ([ic.TCloseness(0.5)], 0.2)):
        with pytest.raises(ic.ParameterError, match=f"{name} needs models under which generalizing never"):
            ic.anonymize(frame, schema(), models, algorithm, max_suppression=limit, suppressed="keep")
    ic.anonymize(frame, schema(), [ic.TCloseness(0.5)], algorithm)


@given(frame=tables(), models=st.sampled_from(MODELS))
@examples(20)
def test_bottom_up_takes_the_lowest_level(frame, models):
    before = (frame["t"] == "*").sum() / frame.height
    expected = every_node(frame, schema(), models, before, "loss", "mean")
    try:
        release = ic.anonymize(frame, schema(), models, ic.BottomUp(), max_suppression=1.0, suppressed="keep")
    except (ic.InfeasibleError, ic.ParameterError):
        assert not expected or frame["r"].n_unique() < 2
        return
    height = min(map(sum, expected))
    candidates = [node for node in expected if sum(node) == height]
    assert release.privacy.suppressed == (frame["t"] == "*").sum()
    best = min(expected[node] for node in candidates)
    assert release.recoding.levels == min(node for node in candidates if close(expected[node], best))


@given(frame=tables(), limit=st.sampled_from([0.0, 0.3]), models=st.sampled_from(MODELS))
@examples(20)
def test_samarati_takes_the_least_height(frame, limit, models):
    expected = every_node(frame, schema(), models, limit, "loss", "mean")
    try:
        release = ic.anonymize(
            frame, schema(), models, ic.Samarati(), max_suppression=limit, suppressed="keep"
        )
    except (ic.InfeasibleError, ic.ParameterError):
        # Right below a top of `*` throughout, which counts as suppressed, a height may fail by itself.
        assert not expected or frame["r"].n_unique() < 2
        return
    height = min(map(sum, expected))
    assert sum(release.recoding.levels) == height
    best = min(score for node, score in expected.items() if sum(node) == height)
    assert close(release.lattice.best.score, best)


@given(frame=tables(), limit=st.sampled_from([0.0, 0.3]), k=st.integers(1, 4))
@examples(20)
def test_datafly_climbs_where_most_values_are(frame, limit, k):
    models = [ic.KAnonymity(k)]
    expected = every_node(frame, schema(), models, limit, "loss", "mean")
    lattice = explorer(frame, models)
    levels = (0, 0, 0)
    while levels not in expected and levels != (3, 2, 2):
        values = lattice.distinct_cells(levels)
        open_ = [j for j, top in enumerate((3, 2, 2)) if levels[j] < top]
        j = max(open_, key=lambda j: (values[j], -j))
        levels = tuple(level + (i == j) for i, level in enumerate(levels))
    try:
        release = ic.anonymize(
            frame, schema(), models, ic.Datafly(), max_suppression=limit, suppressed="keep"
        )
    except (ic.InfeasibleError, ic.ParameterError):
        assert levels not in expected
        return
    assert release.recoding.levels == levels


def test_datafly_suppresses_at_most_k():
    frame = pl.DataFrame({"q": ["a"] * 10 + ["b"] * 2 + ["c"] * 2})
    schema = ic.Schema(quasi={"q": ic.Hierarchy.from_nested({"*": {"x": ["a", "b"], "y": ["c", "d"]}})})
    models = [ic.KAnonymity(3)]
    loose = ic.anonymize(frame, schema, models, ic.Datafly(), max_suppression=0.5, suppressed="keep")
    strict = ic.anonymize(
        frame, schema, models, ic.Datafly(suppress_k=True), max_suppression=0.5, suppressed="keep"
    )
    assert (loose.recoding.levels, loose.privacy.suppressed) == ((0,), 4)
    assert (strict.recoding.levels, strict.privacy.suppressed) == ((1,), 2)


ANJANA = {
    "k10_s50": (10, 0.5),
    "k10_s10": (10, 0.1),
    "k5_s10": (5, 0.1),
    "k2_s5": (2, 0.05),
    "k10_s100": (10, 1.0),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("run", ANJANA)
def test_datafly_of_anjana(shared_data, run):
    """ANJANA 1.2.3 on Adult: the levels of the greedy climb, the records kept and the classes."""
    folder = shared_data / "anjana"
    lines = (folder / "anjana_results.jsonl").read_text().splitlines()
    expected = next(entry for entry in map(json.loads, lines) if entry["run"] == run)
    k, limit = ANJANA[run]
    frame = read(folder / "adult.csv")
    frame = frame.with_columns(pl.all().str.strip_chars()).filter(pl.col("age").is_not_null())
    files = {
        "age": "age", "education": "education", "marital-status": "marital", "occupation": "occupation",
        "sex": "sex", "native-country": "country",
    }  # fmt: skip
    schema = ic.Schema(
        quasi={
            name: ic.Hierarchy.read(folder / "hierarchies" / f"{file}.csv") for name, file in files.items()
        },
        unlisted="drop",
    )
    release = ic.anonymize(
        frame, schema, [ic.KAnonymity(k)], ic.Datafly(), max_suppression=limit, suppressed="keep"
    )
    assert list(release.recoding.levels) == expected["transf"]
    assert frame.height - release.privacy.suppressed == expected["rows"]
    assert (release.privacy.classes, release.privacy.smallest) == (expected["nEC"], expected["k"])


HOMEWORK = "age workclass education marital-status occupation relationship gender native-country".split()  # noqa: SIM905


@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "l", "levels", "md", "lm", "classes"),
    [
        (4, 1, (4, 2, 2, 1, 1, 1, 0, 3), 139_986, 6131.398379, 48),
        (16, 1, (4, 2, 2, 1, 1, 1, 0, 3), 139_986, 6131.398379, 48),
        (64, 1, (4, 2, 2, 2, 1, 1, 0, 3), 149_985, 6537.398379, None),
        (16, 6, (3, 2, 3, 1, 2, 1, 0, 3), 149_985, 7065.708333, None),
    ],
)
def test_bottom_up_of_the_course(shared_data, k, l, levels, md, lm, classes):  # noqa: E741
    """The bottom-up anonymizer of the course's handout on Adult, an exact reference's levels, MD and LM."""
    folder = shared_data / "adult-hw1"
    frame = read(folder / "adult-hw1.csv")
    [sensitive] = [name for name in frame.columns if name not in HOMEWORK]
    files = {name: next((folder / "DGHs").glob(f"{name}.*")) for name in HOMEWORK}
    schema = ic.Schema(
        quasi={name: ic.Hierarchy.read(path) for name, path in files.items()}, sensitive=[sensitive]
    )
    models = [ic.KAnonymity(k), *([ic.LDiversity(l)] if l > 1 else [])]
    release = ic.anonymize(frame, schema, models, ic.BottomUp())
    assert release.recoding.levels == levels
    assert sum(levels) == (14 if k < 64 and l == 1 else 15)
    assert release.utility["loss"].value * frame.height == pytest.approx(lm, abs=5e-7)
    climbed = sum(
        min(level, len(domain.tree.path(int(rank))) - 1) * int(n)
        for domain, codes, level in zip(release.recoding.domains, release.recoding.keys, levels, strict=True)
        for rank, n in zip(codes, weights_of(release, frame, schema), strict=True)
    )
    assert climbed == md
    if classes is not None:
        assert (release.privacy.classes, release.privacy.smallest) == (classes, 25)


def weights_of(release, frame, asked):
    from incrowd.engines import engine_for

    return engine_for(frame).count(asked).frequency.weights


# --- the lattice itself -------------------------------------------------------------------------------


@given(bounds=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=4))
def test_nodes_and_their_numbers(bounds):
    lows, highs = [low for low, _ in bounds], [low + more for low, more in bounds]
    lattice = Lattice([f"q{j}" for j in range(len(bounds))], lows, highs)
    everything = [lattice.levels(node) for node in range(lattice.size)]
    assert len(set(everything)) == lattice.size
    assert [lattice.node(levels) for levels in everything] == list(range(lattice.size))
    assert everything == [tuple(levels) for levels in lattice.all_levels().tolist()]
    assert (everything[0], everything[-1]) == (lattice.bottom, lattice.top)
    by_height = [levels for height in range(lattice.height + 1) for levels in lattice.at_height(height)]
    assert sorted(by_height) == everything
    for height in range(lattice.height + 1):
        at = list(lattice.at_height(height))
        assert at == sorted(at)
        for levels in at:
            assert all(sum(above) == sum(levels) + 1 for above in lattice.above(levels))
            assert all(levels in lattice.above(below) for below in lattice.below(levels))


@pytest.mark.few(1)
@pytest.mark.parametrize("algorithm", FULL_DOMAIN, ids=lambda entry: entry.name)
def test_the_solution_space_is_saved(algorithm, tmp_path):
    frame = pl.DataFrame(
        {
            "t": ["a11", "a12", "b1", "b2"] * 5,
            "u": ["x1", "y1"] * 10,
            "v": ["1", "5"] * 10,
            "s": list("pq") * 10,
            "r": list("kkmm") * 5,
        }
    )
    release = ic.anonymize(frame, schema(), [ic.KAnonymity(5)], algorithm())
    space = release.lattice
    assert (space.size, space.records) == (36, 20)
    table = space.to_polars()
    assert table.height == len(space.nodes)
    space.save(tmp_path / "space.parquet")
    assert pl.read_parquet(tmp_path / "space.parquet").equals(table)
    space.save(tmp_path / "space.json")
    document = json.loads((tmp_path / "space.json").read_text())
    assert document["levels"] == dict(zip("tuv", release.recoding.levels, strict=True))
    assert len(document["nodes"]) == document["looked_at"] == len(space.nodes)
    assert document["records"] == 20
    with pytest.raises(ic.TableError, match=r"\.parquet or \.json"):
        space.save(tmp_path / "space.txt")
    front = space.front()
    anonymous = [node for node in space.nodes if node.anonymous]
    assert front[0].score == min(node.score for node in anonymous)
    risks = [node.classes / (20 - node.suppressed) for node in front]
    assert risks == sorted(risks, reverse=True)
    assert risks[-1] == min(node.classes / (20 - node.suppressed) for node in anonymous)
    release.save(tmp_path / "out")
    assert (tmp_path / "out" / "internal" / "lattice.parquet").is_file()
    account = json.loads((tmp_path / "out" / "release.json").read_text())
    assert account["search"]["lattice"] == 36


def test_a_node_can_be_chosen():
    frame = pl.DataFrame(
        {
            "t": ["a11", "a12", "b1", "b2"] * 5,
            "u": ["x1", "y1"] * 10,
            "v": ["1", "5"] * 10,
            "s": list("pq") * 10,
            "r": list("kkmm") * 5,
        }
    )
    models = [ic.KAnonymity(5)]
    release = ic.anonymize(frame, schema(), models, levels={"t": 2, "u": 1, "v": 0})
    assert release.recoding.levels == (2, 1, 0)
    assert len(release.lattice.nodes) == 1
    # Columns that are not named are searched.
    part = ic.anonymize(frame, schema(), models, levels={"u": 2})
    assert part.recoding.levels[1] == 2
    assert part.lattice.size == 12
    with pytest.raises(ic.ParameterError, match="'w' is no quasi-identifier"):
        ic.anonymize(frame, schema(), models, levels={"w": 1})
    for levels in (7, (0, 7), (7, None)):
        settings = {"levels": {"t": 7}} if levels == 7 else {}
        with pytest.raises(
            ic.ParameterError, match=r"'t': level 7 is above its height; the levels are 0 \.\. 3"
        ):
            ic.anonymize(
                frame, schema(t={} if settings else {"levels": levels}), models, ic.Optimal(), **settings
            )
    with pytest.raises(ic.InfeasibleError, match="no full-domain recoding among 1 satisfies"):
        ic.anonymize(frame, schema(), [ic.KAnonymity(6)], levels={"t": 0, "u": 0, "v": 0})
    with pytest.raises(ic.ParameterError, match="'t' has levels, which mondrian does not know"):
        ic.anonymize(frame, schema(t={"levels": (0, 1)}), models)
    with pytest.raises(ic.ParameterError, match="'t' has a weight, which random does not know"):
        ic.anonymize(frame, schema(t={"weight": 2.0}), models, ic.Random())
    with pytest.raises(ic.ParameterError, match="weights of the quasi-identifiers are all 0"):
        ic.anonymize(frame, schema(**{name: {"weight": 0} for name in "tuv"}), models, ic.Optimal())


def test_an_infeasible_policy_says_what_would_help():
    """Eleven records alike and another apart: the top is `*` throughout, and below, the other is alone."""
    frame = pl.DataFrame({"q": ["a"] * 11 + ["b"], "p": ["c"] * 12})
    schema = ic.Schema(quasi={"q": ic.Hierarchy.flat(), "p": ic.Hierarchy.flat()})
    for models, expected in (
        ([ic.KAnonymity(3)], None),
        ([ic.KAnonymity(13)], "k=13 is more than the table's 12 records"),
    ):
        if expected is None:
            assert ic.anonymize(frame, schema, models, ic.Optimal()).recoding.levels == (1, 0)
        else:
            with pytest.raises(ic.ParameterError, match=expected):
                ic.anonymize(frame, schema, models, ic.Optimal())
    fixed = {"q": 0}
    with pytest.raises(ic.InfeasibleError) as error:
        ic.anonymize(frame, schema, [ic.KAnonymity(3)], levels=fixed)
    assert str(error.value) == (
        "no full-domain recoding among 2 satisfies the models with at most 0.00% suppressed; at q=0, p=1 "
        "k-anonymity reaches k=1 where 3 was asked; there, max_suppression=0.0834 would do; "
        "k=1 alone would do without"
    )
    release = ic.anonymize(
        frame, schema, [ic.KAnonymity(3)], levels=fixed, max_suppression=0.0834, suppressed="keep"
    )
    assert release.privacy.suppressed == 1
    with pytest.raises(ic.InfeasibleError, match=r"l-diversity for 's' reaches l=1 where 2 was asked"):
        ic.anonymize(
            frame.with_columns(s=pl.Series(["x"] * 11 + ["y"])),
            ic.Schema(quasi=["q", "p"], sensitive=["s"]),
            [ic.LDiversity(2)],
            levels=fixed,
        )


def test_losses_that_differ_by_rounding_are_equal():
    def node(score, *levels):
        return Node(levels, *[None] * (len(Node._fields) - 1))._replace(score=score)

    assert least([node(0.3, 2, 1), node(0.1 + 0.2, 1, 2)]).levels == (1, 2)
    assert least([node(0.3, 2, 1), node(0.31, 1, 2)]).levels == (2, 1)
    assert least([]) is None


RAGGED = ic.Hierarchy.from_paths([["a", "A", "*"], ["b", "*"], ["c", "*"]])


@pytest.mark.parametrize("algorithm", ["optimal", "datafly", "ola", "flash", "samarati", "bottom-up"])
def test_a_ragged_column_that_reaches_its_root_is_infeasible(algorithm):
    frame = pl.DataFrame({"q": ["b", "b", "b", "c"]})
    schema = ic.Schema(quasi={"q": RAGGED})
    with pytest.raises(ic.InfeasibleError, match=r"has \* in every quasi-identifier; at the top a root "):
        ic.anonymize(frame, schema, [ic.KAnonymity(2)], ALGORITHMS.get(algorithm)(), levels={"q": 1})


def test_rows_that_came_in_suppressed_are_named_as_the_reason():
    frame = pl.DataFrame({"q": ["*"] * 3 + ["a"] * 3})
    with pytest.raises(ic.InfeasibleError, match=r"3 of 6 records have \* in every quasi-identifier; there"):
        ic.anonymize(frame, ic.Schema(quasi=["q"]), [ic.KAnonymity(2)], ic.Optimal())


SEARCHES = [
    *(make() for make in FULL_DOMAIN),
    ic.Datafly(suppress_k=True),
    ic.Optimal(budget="2"),
]


@pytest.mark.slow
@examples(30)
@given(
    frame=tables(),
    limit=st.sampled_from([0.0, 0.2]),
    models=st.sampled_from([*MODELS, [ic.P29(0.9)], [ic.P29(0.2), ic.KAnonymity(2)]]),
    algorithm=st.sampled_from(SEARCHES),
    fixed=st.sampled_from([{}, {"t": 0}, {"t": 0, "u": 0}, {"t": 1, "u": 0, "v": 0}]),
    roots=st.sampled_from([("*", "all", "*"), ("*", "*", "*")]),
)
def test_advice_can_be_followed(frame, limit, models, algorithm, fixed, roots):
    """The advice of an infeasible search works, for every algorithm that gives advice."""
    roles = schema(roots=roots)

    def run(models, limit, algorithm=algorithm):
        return ic.anonymize(
            frame, roles, models, algorithm, levels=fixed, max_suppression=limit, suppressed="keep"
        )

    try:
        run(models, limit)
    except ic.ParameterError:
        reject()
    except ic.InfeasibleError as error:
        words = str(error)
        if match := re.search(r"max_suppression=([0-9.]+) would do", words):
            share = float(match[1])
            assert share > limit
            assert 0 < run(models, share).privacy.suppressed_share <= share
        if match := re.search(r"k=([0-9]+) alone would do", words):
            assert run([ic.KAnonymity(int(match[1]))], limit).privacy.suppressed_share <= limit
        if "use optimal" in words:
            assert run(models, limit, ic.Optimal()).privacy.holds


@pytest.mark.few(14)
@pytest.mark.parametrize("entry", FULL_DOMAIN, ids=lambda entry: entry.name)
@pytest.mark.parametrize("hierarchy", [None, ic.Hierarchy.flat()], ids=["plain", "flat"])
@pytest.mark.parametrize("levels", [(390, None), (2, None), (2, 2), (0, 2)])
def test_a_level_above_the_height_is_refused(entry, hierarchy, levels):
    column = ic.Attribute("q", "quasi", hierarchy=hierarchy, levels=levels)
    wrong = f"column 'q': level {max(filter(None, levels))} is above its height; the levels are 0 .. 1"
    with pytest.raises(ic.ParameterError, match=f"^{re.escape(wrong)}$"):
        ic.anonymize(
            pl.DataFrame({"q": ["a", "a", "b", "c"]}),
            ic.Schema.of_attributes([column]),
            [ic.KAnonymity(2)],
            entry(),
        )


def test_an_algorithm_that_misses_a_node_does_not_say_that_there_is_none():
    frame, people = pl.DataFrame({"q": ["c", "a"]}), pl.DataFrame({"q": ["c", "a", "b"]})
    tree = ic.Hierarchy.from_paths([["a", "A", "*"], ["b", "A", "*"], ["c", "C", "*"]])
    with pytest.raises(ic.InfeasibleError, match=r"^bottom-up found no .*; the one at q=1 does: fix these"):
        ic.anonymize(
            frame,
            ic.Schema(quasi={"q": tree}),
            [ic.DeltaPresence(0.55)],
            ic.BottomUp(),
            population=people,
            max_suppression=0.5,
            suppressed="keep",
        )
