"""Local recoding read a second time: lists of records, fractions and no kernels."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
from hypothesis import strategies as st

import incrowd as ic
from incrowd.engines import engine_for
from incrowd.search import SearchProblem

TREE = {"*": {"A": ["a1", "a2", "a3"], "B": [{"B1": ["b1", "b2"]}, "b3"], "C": ["c1"]}}
LEAVES = ("a1", "a2", "a3", "b1", "b2", "b3", "c1")


class Quiet:
    """Progress that checks each report."""

    def stage(self, name: str) -> None: ...

    def advance(self, done: int, total: int) -> None:
        assert 0 <= done <= total


@st.composite
def tables(draw, least: int = 4, most: int = 40):
    """Few values, so that there are ties, equal records and missing values."""
    rows = draw(st.integers(least, most))
    column = lambda values: st.lists(st.sampled_from(values), min_size=rows, max_size=rows)  # noqa: E731
    data = {
        "n": draw(column([*range(0, 40, 3), None])),
        "t": draw(column(LEAVES)),
        "c": draw(column("uvwx")),
        "s": draw(column(["flu", "cold", "gout"])),
    }
    return pl.DataFrame(data, schema={"n": pl.Int64, "t": pl.String, "c": pl.String, "s": pl.String})


def scattered(rows: int, seed: int) -> pl.DataFrame:
    """Random numbers, so that no two distances are the same by chance."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "n": rng.normal(size=rows).round(9),
            "m": rng.exponential(size=rows).round(9),
            "t": rng.choice(LEAVES, rows),
            "c": rng.choice(list("uvwx"), rows),
            "s": rng.choice(["flu", "cold", "gout"], rows),
        }
    )


def schema_of(*names: str, weights: dict[str, float] | None = None) -> ic.Schema:
    tree = ic.Hierarchy.from_nested(TREE)
    attributes = [
        ic.Attribute(
            name, "quasi", hierarchy=tree if name == "t" else None, weight=(weights or {}).get(name, 1)
        )
        for name in names
    ]
    return ic.Schema.of_attributes([*attributes, ic.Attribute("s", "sensitive")], unlisted="drop")


def assigned(algorithm, table: pl.DataFrame, schema: ic.Schema, models, seed: int = 0) -> list[int]:
    """The class of every row, by the algorithm."""
    frequency = engine_for(table).count(schema, target=algorithm.predicts).frequency
    if algorithm.by_record:
        frequency = frequency.by_record()
    problem = SearchProblem(frequency, models, schema.quasi, progress=Quiet(), seed=seed)
    recoding = algorithm.search(problem).recoding
    return recoding.class_of_key[frequency.row_keys].tolist()


class Records:
    """The values of records, with costs read from the docstrings."""

    def __init__(self, table: pl.DataFrame, schema: ic.Schema) -> None:
        self.names = [attribute.name for attribute in schema.quasi]
        self.weights = [Fraction(attribute.weight) for attribute in schema.quasi]
        self.rows = table.select(self.names).rows()
        domains = engine_for(table).count(schema).frequency.domains
        self.trees = {name: domain.tree for name, domain in zip(self.names, domains, strict=True)}
        self.leaves = dict(zip(self.names, (domain.size for domain in domains), strict=True))
        self.numbers = {
            name: [Fraction(value) for value in table[name] if value is not None]
            for name in self.names
            if table[name].dtype.is_numeric()
        }

    def path(self, name: str, value) -> list[int]:
        """Nodes of the column's tree from the root to the value."""
        tree = self.trees[name]
        values = [None if value is None else str(value)]
        rank = next(rank for rank in range(self.leaves[name]) if self.text(name, rank) == values[0])
        node = int(tree.leaves[rank])
        nodes = [node]
        while tree.parents[node] >= 0:
            node = int(tree.parents[node])
            nodes.append(node)
        return nodes[::-1]

    def text(self, name: str, rank: int):
        tree = self.trees[name]
        label = tree.labels[tree.leaves[rank]]
        return None if label == "\0missing" else label.removeprefix("\0=")

    def common(self, name: str, values) -> tuple[int, list[list[int]]]:
        """Depth of the lowest common ancestor, and the values' paths."""
        paths = [self.path(name, value) for value in values]
        depth = 0
        while all(len(path) > depth + 1 for path in paths) and len({path[depth + 1] for path in paths}) == 1:
            depth += 1
        return depth, paths

    def spread(self, j: int, values, *, heights: bool = False) -> Fraction:
        """LM of the cell that covers the values, without the attribute's weight."""
        name = self.names[j]
        if name in self.numbers:
            known = [Fraction(value) for value in values if value is not None]
            if len(known) < len(values):
                return Fraction(1 if known else 0)
            extent = max(self.numbers[name]) - min(self.numbers[name])
            return (max(known) - min(known)) / extent if extent else Fraction(0)
        if len(set(values)) == 1:
            return Fraction(0)
        tree = self.trees[name]
        depth, paths = self.common(name, values)
        node = paths[0][depth]
        if heights:
            return Fraction(int(tree.heights[node]), tree.height)
        return Fraction(int(tree.hi[node] - tree.lo[node]) - 1, self.leaves[name] - 1)

    def loss(self, rows, *, heights: bool = False) -> Fraction:
        """LM of a single class, averaged with the weights."""
        total = sum(self.weights) or Fraction(1)
        parts = [
            weight * self.spread(j, [self.rows[row][j] for row in rows], heights=heights)
            for j, weight in enumerate(self.weights)
        ]
        return sum(parts, Fraction(0)) / total

    def climbed(self, a: int, b: int) -> int:
        """Levels that two records climb to look alike, where a number climbs a single level."""
        steps = 0
        for j, name in enumerate(self.names):
            pair = [self.rows[a][j], self.rows[b][j]]
            if name in self.numbers:
                steps += 2 * (pair[0] != pair[1])
                continue
            depth, paths = self.common(name, pair)
            steps += sum(len(path) - 1 - depth for path in paths)
        return steps

    @property
    def height(self) -> int:
        return sum(self.trees[name].height for name in self.names)


def clustering(records: Records, k: int) -> list[int]:
    """Algorithm 3 of the assignment, line by line."""
    total = len(records.rows)

    def distance(a: int, b: int) -> Fraction:
        return records.loss([a, b]) + Fraction(records.climbed(a, b), 2 * records.height)

    unused = list(range(total))
    centroids: list[int] = []
    cluster = [-1] * total
    current = 0
    while len(unused) >= k:
        others = sorted(
            (row for row in unused if row != current), key=lambda row: (distance(row, current), row)
        )
        for row in [current, *others[: k - 1]]:
            cluster[row] = len(centroids)
            unused.remove(row)
        centroids.append(current)
        if unused:
            current = min(unused, key=lambda row: (-sum(distance(row, c) for c in centroids), row))
    for row in unused:
        cluster[row] = min(range(len(centroids)), key=lambda c: (distance(row, centroids[c]), c))
    return cluster


def k_member(records: Records, k: int, seed: int) -> list[int]:
    total = len(records.rows)
    random = np.random.default_rng(seed)

    def loss(rows) -> Fraction:
        return records.loss(rows, heights=True)

    unused = list(range(total))
    last = int(random.integers(total))
    clusters: list[list[int]] = []
    while len(unused) >= k:
        last = min(unused, key=lambda row: (-loss([row, last]), row))
        unused.remove(last)
        clusters.append([last])
        while len(clusters[-1]) < k:
            last = min(unused, key=lambda row: (loss([*clusters[-1], row]), row))
            unused.remove(last)
            clusters[-1].append(last)
    for row in random.permutation(np.array(unused, np.int64)).tolist():
        grown = [(len(held) + 1) * loss([*held, row]) - len(held) * loss(held) for held in clusters]
        clusters[grown.index(min(grown))].append(row)
    return [next(c for c, held in enumerate(clusters) if row in held) for row in range(total)]


def oka(records: Records, k: int, seed: int, order: list[int]) -> list[int]:
    total = len(records.rows)
    random = np.random.default_rng(seed)
    weights = [weight / sum(records.weights) for weight in records.weights]

    def distance(row: int, held: list[int]) -> float:
        parts = []
        for j, name in enumerate(records.names):
            values = [records.rows[other][j] for other in held]
            if name in records.numbers:
                numbers = records.numbers[name]
                gap = abs(Fraction(records.rows[row][j]) - sum(map(Fraction, values)) / len(values))
                parts.append(weights[j] * gap / (max(numbers) - min(numbers)))
            else:
                parts.append(weights[j] * records.spread(j, [*values, records.rows[row][j]]))
        return sum(parts)

    count = max(total // k, 1)
    clusters = [[int(row)] for row in np.sort(random.permutation(total)[:count])]
    for row in order:
        if all(row not in held for held in clusters):
            nearest = min(range(count), key=lambda c: (distance(row, clusters[c]), c))
            clusters[nearest].append(row)
    given: list[int] = []
    members = []
    for held in clusters:
        inside_out = sorted(held, key=lambda row: (distance(row, held), row))
        members.append(inside_out[:k])
        given += inside_out[k:]
    for row in random.permutation(np.sort(np.array(given, np.int64))).tolist():
        small = [c for c in range(count) if len(members[c]) < k] or list(range(count))
        members[min(small, key=lambda c: (distance(row, members[c]), c))].append(row)
    return [next(c for c, held in enumerate(members) if row in held) for row in range(total)]


def mdav(records: Records, k: int) -> list[int]:
    total = len(records.rows)
    places = {}
    for j, name in enumerate(records.names):
        if name in records.numbers:
            values = np.array([row[j] for row in records.rows], float)
            places[j] = (values - values.mean()) / (values.std() or 1.0)

    def squared(row: int, centre) -> float:
        result = 0.0
        for j, weight in enumerate(records.weights):
            gap = (places[j][row] - centre[j]) ** 2 if j in places else records.rows[row][j] != centre[j]
            result += float(weight) * float(gap)
        # Two records are equally far from their mean; what floats make of that does not count.
        return round(result, 9)

    def at(row: int) -> list:
        return [places[j][row] if j in places else value for j, value in enumerate(records.rows[row])]

    def average(rows: list[int]) -> list:
        centre = []
        for j, name in enumerate(records.names):
            if j in places:
                centre.append(places[j][rows].mean())
            else:
                counts = Counter(records.rows[row][j] for row in rows)
                ranked = [records.text(name, rank) for rank in range(records.leaves[name])]
                centre.append(max(ranked, key=lambda value: (counts[value], -ranked.index(value))))
        return centre

    left = list(range(total))
    cluster = [-1] * total
    count = 0

    def gather(centre_row: int) -> None:
        nonlocal count
        centre = at(centre_row)
        others = sorted(
            (row for row in left if row != centre_row), key=lambda row: (squared(row, centre), row)
        )
        for row in [centre_row, *others[: k - 1]]:
            cluster[row] = count
            left.remove(row)
        count += 1

    def outermost(centre) -> int:
        return min(left, key=lambda row: (-squared(row, centre), row))

    while len(left) >= 3 * k:
        first = outermost(average(left))
        gather(first)
        gather(outermost(at(first)))
    if len(left) >= 2 * k:
        gather(outermost(average(left)))
    for row in left:
        cluster[row] = count
    return cluster


def least_squares(values: list[Fraction], k: int) -> Fraction:
    """Least squared error over all groupings of sorted values into runs of at least k."""
    values = sorted(values)

    def error(run: list[Fraction]) -> Fraction:
        mean = sum(run) / len(run)
        return sum(((value - mean) ** 2 for value in run), Fraction(0))

    best: dict[int, Fraction] = {0: Fraction(0)}
    for stop in range(1, len(values) + 1):
        options = [best[start] + error(values[start:stop]) for start in best if stop - start >= k]
        if options:
            best[stop] = min(options)
    return best[len(values)]


def notebook(table: pl.DataFrame, names: list[str], valid) -> list[list[int]]:
    """Mondrian in the teaching notebook's form, on row numbers."""
    finished, waiting = [], [list(range(table.height))]
    columns = {name: table[name].to_list() for name in names}

    def span(name: str, part: list[int]):
        values = [columns[name][row] for row in part]
        return max(values) - min(values) if table[name].dtype.is_numeric() else len(set(values))

    def split(name: str, part: list[int]) -> tuple[list[int], list[int]]:
        values = [columns[name][row] for row in part]
        if table[name].dtype.is_numeric():
            median = np.median(values)
            return [r for r in part if columns[name][r] < median], [
                r for r in part if columns[name][r] >= median
            ]
        unique = list(dict.fromkeys(values))
        left = set(unique[: len(unique) // 2])
        return [r for r in part if columns[name][r] in left], [
            r for r in part if columns[name][r] not in left
        ]

    while waiting:
        part = waiting.pop(0)
        for name in sorted(names, key=lambda name: -span(name, part)):
            left, right = split(name, part)
            if valid(left) and valid(right):
                waiting += [left, right]
                break
        else:
            finished.append(part)
    return finished


def entropy(values) -> float:
    counts = Counter(values)
    total = sum(counts.values())
    return sum(-n / total * math.log2(n / total) for n in counts.values())


def together(classes: list[int]) -> set[frozenset[int]]:
    result: dict[int, set[int]] = {}
    for row, number in enumerate(classes):
        result.setdefault(number, set()).add(row)
    return {frozenset(rows) for rows in result.values()}
