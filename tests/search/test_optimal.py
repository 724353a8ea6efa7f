"""Optimal: the best node of the lattice, against a search of every node and against ARX."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import incrowd as ic
from crossed import quick
from examples import examples
from incrowd.core.recoding import FullDomain
from incrowd.engines import engine_for, with_population
from incrowd.faces.cli.tables import search_text
from incrowd.measures.utility import METRICS, STEERING
from incrowd.search import SearchProblem, optimal
from incrowd.search.lattice import Explorer
from lattice_reading import ADULT, by_rows, close, every_node, explorer, schema, tables
from test_published import read

MODELS = {
    "k": [ic.KAnonymity(3)],
    "k and distinct l": [ic.KAnonymity(2), ic.LDiversity(2)],
    "entropy l": [ic.LDiversity(1.7, "entropy", attribute="s")],
    "grassberger": [ic.LDiversity(1.7, "grassberger", attribute="s")],
    "k and t": [ic.KAnonymity(2), ic.TCloseness(0.4)],
    "t": [ic.TCloseness(0.3, attribute="s")],
    "frequency difference": [ic.TCloseness(0.3, "maximal-frequency-difference")],
    "joint": [ic.LDiversity(2, joint=True)],
    "normalized entropy": [ic.NormalizedEntropy(0.8)],
    "mean normalized entropy": [ic.NormalizedEntropy(0.7, "mean"), ic.KAnonymity(2)],
    "alpha and k": [ic.AlphaKAnonymity(0.7, 2)],
    "lkc": [ic.LKCPrivacy(2, 3, 0.8, attribute="s")],
    "beta": [ic.BetaLikeness(1.5, attribute="s")],
    "delta": [ic.DeltaDisclosure(1.5, attribute="r")],
    "average risk": [ic.AverageRisk(0.3)],
    "average risk and k": [ic.AverageRisk(0.3), ic.KAnonymity(2)],
    "records at risk": [ic.RecordsAtRisk(0.2, 0.4)],
    "p29": [ic.P29(0.4)],
    "profitability": [ic.Profitability("none", adversary_gain=10)],
    "profitability of the table": [ic.Profitability("none", "table", adversary_gain=10)],
}
LIKE_ANOTHER = (
    "k", "k and distinct l", "normalized entropy", "grassberger", "t", "frequency difference", "mean normalized entropy", "average risk and k",
    "profitability of the table",
)  # fmt: skip
"""Models of a kind that every run tries in another form."""


@pytest.mark.few(1)
@pytest.mark.parametrize("name", quick(MODELS, *(name for name in MODELS if name not in LIKE_ANOTHER)))
@examples(10)
@given(
    frame=tables(),
    limit=st.sampled_from([0.0, 0.1, 0.35, 1.0]),
    metric=st.sampled_from(STEERING),
    aggregate=st.sampled_from(["mean", "geometric-mean", "max"]),
    weights=st.tuples(*[st.sampled_from([0, 1, 2.5])] * 3).filter(any),
    threads=st.sampled_from(["1", "2"]),
)
def test_nothing_in_the_lattice_is_better(name, frame, limit, metric, aggregate, weights, threads):
    models = MODELS[name]
    roles = schema(**{name: {"weight": weight} for name, weight in zip("tuv", weights, strict=True)})
    expected = every_node(frame, roles, models, limit, metric, aggregate)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INCROWD_THREADS", threads)
        try:
            release = ic.anonymize(
                frame, roles, models, ic.Optimal(metric, aggregate), max_suppression=limit, suppressed="keep"
            )
        except ic.InfeasibleError:
            assert not expected
            return
        except ic.ParameterError:
            return  # more values were asked for than the column has
    space = release.lattice
    assert space.proved
    assert close(space.best.score, min(expected.values()))
    assert close(expected[space.best.levels], space.best.score)
    # What was said about every node that was looked at is true.
    for node in space.nodes:
        assert node.anonymous == (node.levels in expected)
        if node.anonymous:
            assert close(node.score, expected[node.levels])
    lost = release.utility[metric]
    if metric in ("loss", "precision", "ncp") and len(set(weights)) == 1 and aggregate == "mean":
        assert close(lost.value, space.best.score)
    assert release.privacy.suppressed == space.best.suppressed
    assert release.privacy.classes == space.best.classes
    assert release.privacy.smallest == space.best.smallest


LISTS = {
    "l": [ic.LDiversity(2)],
    "l of 3 and k": [ic.KAnonymity(2), ic.LDiversity(3, attribute="s")],
    "entropy l": [ic.LDiversity(1.7, "entropy")],
    "recursive l": [ic.LDiversity(2, "recursive", 3)],
    "t": [ic.TCloseness(0.3, attribute="s")],
    "alpha and k": [ic.AlphaKAnonymity(0.7, 2)],
    "beta": [ic.BetaLikeness(1.5, attribute="s")],
    "delta": [ic.DeltaDisclosure(1.5, attribute="r")],
    "joint": [ic.LDiversity(2, joint=True)],
}


@pytest.mark.few(5)
@pytest.mark.parametrize("name", LISTS)
@examples(8)
@given(frame=tables(), limit=st.sampled_from([0.0, 0.1, 0.35]))
def test_nothing_in_the_lattice_is_better_of_lists(name, frame, limit):
    """The judge of nodes reads lists by parts, too."""
    cells = {"p": "a", "q": "b; a", "z": "c;b", "k": "a;c", "m": "c"}
    frame = frame.with_columns(pl.col("s", "r").replace(cells))
    plain = schema()
    roles = ic.Schema.of_attributes(
        replace(each, parts=";" if each.role == "sensitive" else None) for each in plain.attributes
    )
    expected = every_node(frame, roles, LISTS[name], limit, "loss", "mean")
    try:
        # Left out, suppressed records would change the shares that the others are compared with.
        release = ic.anonymize(
            frame, roles, LISTS[name], ic.Optimal(), max_suppression=limit, suppressed="keep"
        )
    except ic.InfeasibleError:
        assert not expected
        return
    except ic.ParameterError:
        return  # more parts were asked for than the column has
    assert release.lattice.proved
    assert close(release.lattice.best.score, min(expected.values()))
    for node in release.lattice.nodes:
        assert node.anonymous == (node.levels in expected)


@given(frame=tables(gone=0), k=st.integers(1, 6), data=st.data())
def test_nodes_are_what_their_rows_say(frame, k, data):
    """A node's figures, from the rows and the nested texts of the trees, without anything of ours."""
    limit = data.draw(st.sampled_from([0.0, 0.2, 1.0]))
    lattice = explorer(frame, [ic.KAnonymity(k)], limit)
    picked = data.draw(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=6)
    )
    for node in lattice.look(*picked):
        suppressed, lost, classes = by_rows(frame, node.levels, k)
        assert node.anonymous == (suppressed <= limit * frame.height and classes > 0)
        if node.anonymous:
            assert (node.suppressed, node.classes) == (suppressed, classes)
            assert close(node.score, lost)
        assert node.suppressed <= suppressed


@examples(20)
@given(frame=tables(), limit=st.sampled_from([0.0, 0.2]), k=st.integers(2, 4), data=st.data())
def test_levels_are_kept_within_bounds(frame, limit, k, data):
    bounds = {
        name: {"levels": data.draw(st.sampled_from([(0, None), (0, 1), (1, 2), (1, 1), (0, 0)]), label=name)}
        for name in "tuv"
    }
    roles = schema(**bounds)
    expected = every_node(frame, roles, [ic.KAnonymity(k)], limit, "loss", "mean")
    try:
        release = ic.anonymize(
            frame, roles, [ic.KAnonymity(k)], ic.Optimal(), max_suppression=limit, suppressed="keep"
        )
    except ic.InfeasibleError:
        assert not expected
        return
    assert close(release.lattice.best.score, min(expected.values()))
    for level, bound in zip(release.recoding.levels, bounds.values(), strict=True):
        low, high = bound["levels"]
        assert low <= level <= (3 if high is None else high)


@pytest.mark.slow
@examples(20)
@given(frame=tables(), k=st.integers(1, 4))
def test_a_large_lattice_is_searched_from_its_top(frame, k):
    """Without an end by counting or by proof, going down from the top finds the same optimum."""
    models = [ic.KAnonymity(k)]
    expected = every_node(frame, schema(), models, 0.1, "loss", "mean")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimal, "_ENUMERATED", 1)
        patch.setattr("incrowd.search.lattice.proof.Proof.of_explorer", lambda *_: None)
        try:
            space = ic.anonymize(
                frame, schema(), models, ic.Optimal(), max_suppression=0.1, suppressed="keep"
            ).lattice
        except ic.InfeasibleError:
            assert not expected
            return
    assert space.proved
    assert close(space.best.score, min(expected.values()))


POPULATION = {
    "k-map": [ic.KMap(4)],
    "delta-presence": [ic.DeltaPresence(0.6)],
    "both bounds": [ic.DeltaPresence(0.8, 0.1)],
    "with k": [ic.KMap(3), ic.KAnonymity(2)],
}


@pytest.mark.slow
@pytest.mark.parametrize("models", POPULATION.values(), ids=POPULATION)
@examples(4)
@given(frame=tables(most=16, gone=0), people=tables(most=40, gone=0), limit=st.sampled_from([0.0, 0.3]))
def test_populations_are_recoded_like_the_table(models, frame, people, limit):
    """Every node is applied to the rows and measured as a release; k-map alone may suppress."""
    everybody = pl.concat([frame, people])
    # Above, short branches of the first tree reach its root, whose `*` covers the others' values, too.
    roles = schema(t={"levels": (0, 1)})
    limit = limit if models[0].name == "k-map" else 0.0
    counted = engine_for(frame).count(roles)
    frequency = with_population(counted.frequency, roles, everybody)
    expected = {}
    for levels in np.ndindex(2, 3, 3):
        explored = Explorer(SearchProblem(frequency, models, roles.quasi, limit), METRICS.get("loss")())
        recoding = FullDomain.build(frequency, levels, explored.suppressed_keys(levels))
        released = counted.apply(roles, recoding).table
        assessment = ic.assess(released, roles, models, population=everybody)
        [node] = explored.look(levels)
        good = assessment.holds and assessment.suppressed_share <= limit
        assert node.anonymous == good, levels
        if good:
            expected[levels] = node.score
    try:
        release = ic.anonymize(
            frame, roles, models, ic.Optimal(), max_suppression=limit, suppressed="keep", population=everybody
        )
    except ic.InfeasibleError:
        assert not expected
        return
    assert close(release.lattice.best.score, min(expected.values()))


def test_a_budget_is_kept_and_said():
    frame = pl.DataFrame({f"c{j}": [f"{(i * (j + 3)) % 7}" for i in range(60)] for j in range(6)})
    schema = ic.Schema(quasi={name: ic.Hierarchy.flat() for name in frame.columns})
    whole = ic.anonymize(
        frame, schema, [ic.KAnonymity(3)], ic.Optimal(), max_suppression=0.1, suppressed="keep"
    ).lattice
    assert whole.proved
    spent = ic.anonymize(
        frame, schema, [ic.KAnonymity(3)], ic.Optimal(budget="4"), max_suppression=0.1, suppressed="keep"
    ).lattice
    assert not spent.proved
    assert len(spent.nodes) <= 5
    assert spent.best.score >= whole.best.score
    timed = ic.anonymize(
        frame, schema, [ic.KAnonymity(3)], ic.Optimal(budget="1m"), max_suppression=0.1, suppressed="keep"
    )
    assert timed.lattice.proved
    for wrong in ("soon", "0", "-3s", "1.5s", ""):
        with pytest.raises(ic.ParameterError, match="budget must be"):
            ic.Optimal(budget=wrong)


def test_more_than_64_bits_of_cells():
    """Ten columns of hundreds of values do not fit a single word, so the grouping goes in passes."""
    frame = pl.DataFrame(
        {f"c{j}": [f"{(i * i * (j + 1)) % (293 + j)}" for i in range(400)] for j in range(10)}
    )
    doubled = pl.concat([frame, frame])
    schema = ic.Schema(quasi={name: ic.Hierarchy.flat() for name in frame.columns})
    release = ic.anonymize(doubled, schema, [ic.KAnonymity(2)], ic.Optimal())
    assert release.recoding.levels == (0,) * 10
    assert release.privacy.classes == frame.unique().height
    with pytest.raises(ic.InfeasibleError):
        ic.anonymize(frame.head(7), schema, [ic.KAnonymity(7)], ic.Optimal())


ARX = [
    ([ic.KAnonymity(5)], 0, None, (0, 4, 1, 1, 3, 2, 2, 1, 0), 0, 0.5731509655590044),
    ([ic.KAnonymity(5)], 0.02, None, (0, 3, 0, 2, 2, 1, 1, 2, 0), 506, 0.3137130352819242),
    ([ic.KAnonymity(5)], 0.05, None, (0, 3, 0, 0, 2, 1, 1, 2, 0), 1346, 0.2419323650662908),
    ([ic.KAnonymity(10)], 0.02, None, (0, 4, 0, 1, 2, 1, 1, 2, 0), 592, 0.34233670356549895),
    ([ic.KAnonymity(5), ic.LDiversity(3)], 0.02, "occupation", (0, 3, 0, 2, 2, 1, 1, 0), None, 0.24691173978907632),
    ([ic.KAnonymity(5), ic.TCloseness(0.2)], 0, "occupation", (0, 4, 1, 1, 3, 2, 2, 1), 0, 0.7591763053456835),
    ([ic.KAnonymity(5), ic.TCloseness(0.2)], 0.05, "occupation", (1, 4, 0, 0, 3, 1, 2, 1), None, 0.6128064960163953),
]  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize(("models", "limit", "sensitive", "levels", "suppressed", "score"), ARX)
def test_optima_of_arx(shared_data, models, limit, sensitive, levels, suppressed, score):
    """ARX 3.9 on Adult (30,162 rows, nine hierarchies), loss by geometric mean; scores confirmed to 1e-9."""
    folder = shared_data / "arx-adult"
    trees = {name: ic.Hierarchy.read(folder / f"adult_hierarchy_{name}.csv") for name in ADULT}
    schema = ic.Schema(
        quasi={name: trees[name] for name in ADULT if name != sensitive},
        sensitive={} if sensitive is None else {sensitive: trees[sensitive]},
    )
    release = ic.anonymize(
        read(folder / "adult.csv", separator=";"),
        schema,
        models,
        ic.Optimal(aggregate="geometric-mean"),
        max_suppression=limit,
        suppressed="keep",
    )
    space = release.lattice
    assert space.proved
    assert space.size == (12_960 if sensitive is None else 4_320)
    assert space.best.score == pytest.approx(score, abs=1e-9)
    assert release.recoding.levels == levels
    if suppressed is not None:
        assert space.best.suppressed == release.privacy.suppressed == suppressed


@examples(20)
@given(frame=tables(), budget=st.integers(1, 12), limit=st.sampled_from([0.1, 0.35]))
def test_a_search_that_was_stopped_says_how_far_it_may_be_from_the_optimum(frame, budget, limit):
    roles, models = schema(), [ic.KAnonymity(2)]
    scores = every_node(frame, roles, models, limit, "loss", "mean").values()
    try:
        space = ic.anonymize(
            frame, roles, models, ic.Optimal(budget=str(budget)), max_suppression=limit, suppressed="keep"
        ).lattice
    except ic.InfeasibleError:
        reject()
    assert space.bound <= min(scores) + 1e-9
    assert space.best.score * (1 - space.gap) <= min(scores) + 1e-9
    assert space.summary()["gap"] == space.gap
    if space.proved:
        assert space.gap == 0
        assert space.bound == space.best.score
    else:
        assert space.gap >= 0
        text = f"no node is more than {space.gap:.2%} better"
        assert (text in search_text(space)) == (space.bound > 0 and space.gap > 0)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.1]))
def test_of_nodes_that_are_equally_good_the_first_by_its_levels_is_taken(seed, limit):
    draw = np.random.default_rng(seed)
    names = ["a", "b", "c"]
    table = pl.DataFrame({name: draw.choice(["p1", "p2", "q1", "q2"], 40) for name in names})
    schema = ic.Schema(quasi={name: ic.Hierarchy.prefix() for name in names})
    policy = ic.Policy(
        schema, [ic.KAnonymity(3)], ic.Optimal(metric="precision"), max_suppression=limit, suppressed="keep"
    )
    space = ic.explore(table, policy)
    frequency = engine_for(table).count(schema).frequency
    problem = SearchProblem(frequency, policy.models, schema.quasi, max_suppression=limit)
    all_nodes = Explorer(problem, METRICS.get("precision")(), "mean")
    nodes = all_nodes.look(*(all_nodes.lattice.levels(node) for node in range(all_nodes.lattice.size)))
    good = [node for node in nodes if node.anonymous]
    least = min(node.score for node in good)
    assert space.best.levels == min(node.levels for node in good if node.score <= least + 1e-12)
