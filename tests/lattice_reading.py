"""Full-domain recoding read a second time: every node alone, in plain Python over rows."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import product
from math import prod

import numpy as np
import polars as pl
from hypothesis import strategies as st

import incrowd as ic
from incrowd.core.recoding import FullDomain
from incrowd.core.table.classes import EquivalenceClasses
from incrowd.engines import engine_for
from incrowd.measures.utility import METRICS
from incrowd.search import SearchProblem
from incrowd.search.lattice import Explorer

TREES = {
    # Unbalanced, with a leaf right under the root, and a root that is no star.
    "t": {"*": {"A": {"a1": ["a11", "a12"], "a2": ["a21"]}, "B": ["b1", "b2"]}},
    "u": {"all": {"x": ["x1", "x2"], "y": ["y1", "y2", "y3"]}},
    "v": {"*": {"low": ["1", "2"], "high": ["3", "4", "5"]}},
}
LEAVES = {
    "t": ["a11", "a12", "a21", "b1", "b2"],
    "u": ["x1", "x2", "y1", "y2", "y3"],
    "v": ["1", "2", "3", "4", "5"],
}

# The nine columns of Adult that ARX's examples read.
ADULT = "sex age race marital-status education native-country workclass occupation salary-class".split()  # noqa: SIM905


def schema(*, roots: tuple[str, ...] = ("*", "all", "*"), **attributes) -> ic.Schema:
    quasi = {}
    for (name, tree), root in zip(TREES.items(), roots, strict=True):
        [inner] = tree.values()
        quasi[name] = ic.Attribute(
            name, "quasi", hierarchy=ic.Hierarchy.from_nested({root: inner}), **attributes.get(name, {})
        )
    return ic.Schema(quasi=quasi, sensitive={"s": None, "r": None})


@st.composite
def tables(draw, most: int = 40, gone: int = 3) -> pl.DataFrame:
    """Skewed tables, of which some records were suppressed before."""
    rows = draw(st.integers(4 + gone, most))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    skew = draw(st.floats(0.3, 3))
    columns = {}
    lost = draw(st.integers(0, gone))
    for name, leaves in LEAVES.items():
        shares = rng.dirichlet([skew] * len(leaves))
        columns[name] = rng.choice(leaves, rows, p=shares)
        columns[name] = [*columns[name].tolist()[: rows - lost], *["*"] * lost]
    columns["s"] = rng.choice(["p", "q", "z"], rows)
    columns["r"] = rng.choice(["k", "m"], rows)
    return pl.DataFrame(columns)


def every_node(
    frame: pl.DataFrame, asked: ic.Schema, models, max_suppression: float, metric: str, aggregate: str
) -> dict[tuple[int, ...], float]:
    """Score of every anonymous node, by grouping rows and measuring with the library's own models."""
    frequency = engine_for(frame).count(asked, joint=True).frequency
    bounds = []
    for attribute, domain in zip(asked.quasi, frequency.domains, strict=True):
        low, high = attribute.levels or (0, None)
        bounds.append(range(low, (domain.tree.height if high is None else high) + 1))
    weights = [attribute.weight for attribute in asked.quasi]
    scores = {}
    for levels in product(*bounds):
        failing = suppressed_keys(frequency, levels, models, max_suppression)
        if failing is None:
            continue
        recoding = FullDomain.build(frequency, levels, failing)
        lost = METRICS.get(metric)().measure(frequency, recoding)
        scores[levels] = lost.value if lost.per_attribute is None else combine(
            list(lost.per_attribute.values()), weights, aggregate
        )  # fmt: skip
    return scores


def combine(losses: list[float], weights: list[float], aggregate: str) -> float:
    if aggregate == "max":
        return max(w * x for w, x in zip(weights, losses, strict=True)) / max(weights)
    if aggregate == "geometric-mean":
        return prod((1 + x) ** (w / sum(weights)) for w, x in zip(weights, losses, strict=True)) - 1
    return sum(w * x for w, x in zip(weights, losses, strict=True)) / sum(weights)


def suppressed_keys(frequency, levels, models, max_suppression):
    """Which keys are suppressed at a node; None where the node does not count."""
    cells = FullDomain.build(frequency, levels).cells
    labels = list(zip(*([cell.labels[code] for code in cell.codes] for cell in cells), strict=True))
    groups: dict[tuple, list[int]] = defaultdict(list)
    for key, label in enumerate(labels):
        groups[label].append(key)
    names = list(groups)
    gone = {label for label in names if set(label) == {"*"}}
    while True:
        kept = [label for label in names if label not in gone]
        place = {label: number for number, label in enumerate(kept)}
        of_key = np.array([place.get(label, -1) for label in labels], np.int32)
        rows = frequency.rows
        lost = sum(int(frequency.weights[key]) for label in gone for key in groups[label])
        if (lost + frequency.suppressed) / rows > max_suppression or not kept:
            return None
        classes = EquivalenceClasses.from_assignment(frequency, of_key, len(kept))
        positions = []
        sizes = []
        for j in range(len(frequency.domains)):
            distinct = sorted({str(label[j]) for label in kept})
            positions.append(np.array([distinct.index(str(label[j])) for label in kept], np.uint16))
            sizes.append(len(distinct))
        classes.set_codes(positions, sizes)
        verdict = np.ones(len(kept), np.bool_)
        for model in models:
            if not model.of_table:
                verdict &= model.holds(classes)
        if verdict.all():
            break
        gone |= {label for label, good in zip(kept, verdict, strict=True) if not good}
    for model in models:
        if model.needs_table and not all(result.holds for result in model.measure(classes)):
            return None
    return of_key < 0


def by_rows(frame: pl.DataFrame, levels: tuple[int, ...], k: int) -> tuple[int, float, int]:
    """Suppressed records, mean LM and classes of a node under k-anonymity, from the trees as nested texts."""
    recoded, losses = [], []
    for name, level in zip(TREES, levels, strict=True):
        paths = path_of(TREES[name])
        every = len(LEAVES[name])
        cells, costs = [], []
        for value in frame[name].to_list():
            path = paths[value]
            cell = path[min(level, len(path) - 1)]
            under = sum(cell in other for other in paths.values())
            cells.append(cell)
            costs.append((under - 1) / (every - 1))
        recoded.append(cells)
        losses.append(costs)
    rows = list(zip(*recoded, strict=True))
    sizes = Counter(rows)
    gone = [sizes[row] < k or set(row) == {"*"} for row in rows]
    lost = sum(
        1.0 if gone[i] else column[i] for column in losses for i in range(len(rows))
    ) / (len(rows) * len(losses))  # fmt: skip
    return sum(gone), lost, len({row for row, out in zip(rows, gone, strict=True) if not out})


def path_of(tree: dict) -> dict[str, list[str]]:
    """Labels from each leaf to the root."""
    result = {}

    def walk(node, above):
        if isinstance(node, dict):
            for label, inner in node.items():
                walk(inner, [label, *above])
        else:
            for leaf in node:
                result[leaf] = [leaf, *above]

    walk(tree, [])
    return result


def explorer(frame: pl.DataFrame, models, max_suppression: float = 0.0, metric: str = "loss", **attributes):
    roles = schema(**attributes)
    problem = SearchProblem(engine_for(frame).count(roles).frequency, models, roles.quasi, max_suppression)
    return Explorer(problem, METRICS.get(metric)())


def close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-11, abs_tol=1e-11)
