"""What attackers gain who know more than the release: a distribution, a list of people, or some records.

Run with ``python benchmarks/knowledge.py --help``. It prints the tables that stand on the page "What a
release still tells". Name an attack to run it alone:

- *downcoding* knows the distribution of the table and the algorithm, and no person. It undoes a part of the
  generalization, since cells are no wider than the people in them (Cohen 2022).
- *list* knows the name, age, zip and sex of everybody, or of half of them with mistakes.
- *insider* knows the rows of some people of a class, or what somebody cannot have.
- *ends* looks for people at the ends of ranges. It needs ``--adult``.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import inf, log
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import incrowd as ic
from downcoding import ALGORITHMS, K, Known, Seen, Tables, adult_table, downcoding, ends_of, percent, released

# --- a list of people -------------------------------------------------------------------------------------

QUASI = ("age", "zip", "sex")


def stays(chosen: argparse.Namespace) -> pl.DataFrame:
    """Make records of a hospital."""
    table = ic.samples.hospital(chosen.rows, chosen.seed)
    return table.select(*QUASI, "diagnosis", "length_of_stay", chapter=pl.col("diagnosis").str.slice(0, 1))


def stays_known(table: pl.DataFrame) -> dict[str, Known]:
    """Return the quasi-identifiers of stays as everybody knows them."""

    def prefixes(zip_code: str) -> list[str]:
        cut = range(len(zip_code) - 1, 0, -1)
        return [*(zip_code[:size] + "*" * (len(zip_code) - size) for size in cut), "*"]

    return {name: Known(table[name], prefixes if name == "zip" else lambda value: ["*"]) for name in QUASI}


def schema_of_stays(secret: str, *plain: str) -> ic.Schema:
    """Return the roles of stays."""
    return ic.Schema(
        {"age": None, "zip": ic.Hierarchy.prefix(), "sex": None}, [secret], insensitive=plain, unlisted="drop"
    )


def fits(known: Mapping[str, Known], people: pl.DataFrame, classes: Sequence[tuple[str, ...]]) -> np.ndarray:
    """Say which people fit the cells of which classes: bool[people, classes]."""
    codes = [each.codes(people[name]) for name, each in known.items()]
    return np.column_stack([
        np.logical_and.reduce([
            each.cell(cell)[0][code] for each, cell, code in zip(known.values(), cells, codes, strict=True)
        ])
        for cells in classes
    ])  # fmt: skip


def possible(fit: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Say which people can be in which classes if everybody has a place.

    A person fits another class only if those whose place that takes find places in turn, and so on in a
    circle. The result does not depend on who is where, which is only a way to compute it.

    Parameters
    ----------
    fit
        bool[people, classes]: whether a person fits a class.
    own
        int[people]: a class of each, such as the true one.
    """
    people, classes = fit.shape
    who, where = np.nonzero(fit)
    ends = np.concatenate((who, people + own)), np.concatenate((people + where, np.arange(people)))
    graph = coo_array((np.ones(len(ends[0]), bool), ends), shape=(people + classes,) * 2)
    circle = connected_components(graph.tocsr(), connection="strong")[1]
    return fit & (circle[:people, None] == circle[None, people:])


def learnt(fit: np.ndarray, rows: Sequence[Sequence[int]], secret: pl.Series, truth: pl.Series) -> list[str]:
    """Say of how many people one row is left, one value, and one above 1/2, and how often a guess is right.

    Parameters
    ----------
    fit
        bool[people, groups]: in which groups of rows each may be.
    rows
        The raw rows of each group, of which nobody knows which is which.
    """
    values = sorted(set(secret))
    held = [Counter(secret.gather(each)) for each in rows]
    counts = fit @ np.array([[each[value] for value in values] for each in held])
    total = counts.sum(axis=1)
    most = counts.max(axis=1)
    right = np.array([values[place] for place in counts.argmax(axis=1)]) == truth.to_numpy()
    some = total > 0
    figures = total == 1, some & (most == total), some & (2 * most > total), some & right
    return [percent(each.sum(), len(total)) for each in figures]


def listed(chosen: argparse.Namespace) -> Tables:
    """Look up everybody of a list in releases, and half of them with mistakes."""
    table = stays(chosen)
    random = np.random.default_rng(chosen.seed)
    half = table[np.sort(random.permutation(table.height)[: table.height // 2]).tolist()]
    older, moved = (pl.Series(random.random(half.height) < 0.1) for _ in range(2))
    stale = half.with_columns(
        age=pl.col("age") + older.cast(pl.Int64),
        zip=half["zip"].shuffle(seed=chosen.seed).zip_with(moved, half["zip"]),
    )
    known = stays_known(pl.concat([table, stale]))
    secret, stay = table["diagnosis"], table["length_of_stay"]
    everybody, mistaken, column = [], [], []
    for algorithm in ALGORITHMS:
        schema = schema_of_stays("diagnosis", "length_of_stay")
        seen = released(table, schema, algorithm, [ic.LDiversity(2)])
        name = f"`{algorithm}`"
        if seen is None:
            for lines in (everybody, mistaken, column):
                lines.append([name, "refused"])
            continue
        cells, rows = list(seen.rows), list(seen.rows.values())
        fit = fits(known, table, cells)
        left = within(fit, rows, seen)
        one_class = [one_class_of(each) for each in (fit, left)]
        everybody.append([name, *one_class, *learnt(left, rows, secret, secret)[1:]])

        fit_stale = fits(known, stale, cells)
        nowhere = ~fit_stale.any(axis=1)
        figures = learnt(fit_stale, rows, secret, stale["diagnosis"])
        mistaken.append([
            name, percent(nowhere.sum(), len(nowhere)), one_class_of(fit_stale),
            *figures[1:], learnt(fits(known, half, cells), rows, secret, half["diagnosis"])[-1],
        ])  # fmt: skip

        parts = [
            (number, days) for number, each in enumerate(rows) for days in sorted(set(stay.gather(each)))
        ]
        own = [[row for row in rows[number] if stay[row] == days] for number, days in parts]
        same = stay.to_numpy()[:, None] == np.array([days for _, days in parts])[None, :]
        both = within(fit[:, [number for number, _ in parts]] & same, own, seen)
        column.append([name, *learnt(both, own, secret, secret)])
    secrets = ["one diagnosis", "one above 1/2", "guess right"]
    yield (
        "everybody is on the list",
        ["algorithm", "one class by the cells", "one class", *secrets],
        everybody,
    )
    head = ["algorithm", "no class", "one class", *secrets, "right without mistakes"]
    yield "half are on the list, with mistakes", head, mistaken
    yield "the list has the length of stay, too", ["algorithm", "one row", *secrets], column


def one_class_of(fit: np.ndarray) -> str:
    """Say of how many people one class is left."""
    return percent((fit.sum(axis=1) == 1).sum(), len(fit))


def within(fit: np.ndarray, rows: Sequence[Sequence[int]], seen: Seen) -> np.ndarray:
    """Say which groups are possible for whom. Who is left out has a place, too: the number is published."""
    own = np.full(len(fit), len(rows))
    for number, each in enumerate(rows):
        own[each] = number
    out = np.full((len(fit), 1), bool(seen.left_out))
    return possible(np.hstack((fit, out)), own)[:, :-1]


# --- an insider -------------------------------------------------------------------------------------------

MODELS: dict[str, tuple[list[ic.PrivacyModel], str]] = {
    "k = 5 alone": ([], "1"),
    "distinct l = 3": ([ic.LDiversity(3)], "below 1"),
    "entropy l = 3": ([ic.LDiversity(3, kind="entropy")], "entropy"),
    "recursive c = 2, l = 3": ([ic.LDiversity(3, kind="recursive", c=2)], "2/3"),
    "t = 0.4": ([ic.TCloseness(0.4, "equal")], "t"),
    "alpha = 0.5": ([ic.AlphaKAnonymity(0.5, K)], "1/2"),
}
"""Models, and the largest probability of a value that each promises whoever knows no record."""


def insider(counts: Counter) -> dict[str, float]:
    """Return the largest probability of a value in a class, by what is known.

    Parameters
    ----------
    counts
        How often a class has each value.

    Returns
    -------
    dict
        For who knows nothing, one record, one record and a value that somebody does not have, and k - 1
        records.
    """
    size = counts.total()
    most = max(counts.values())
    alone = (counts - Counter([own]) for own in counts)
    pairs = [
        (left, excluded) for left in alone for excluded in (*left, None) if left.total() > left[excluded]
    ]
    rest = size - (K - 1)
    return {
        "nothing": most / size,
        "one record": max(max(left.values()) / left.total() for left, excluded in pairs if excluded is None),
        "and what one cannot have": max(
            max(count for value, count in left.items() if value != excluded) / (left.total() - left[excluded])
            for left, excluded in pairs
        ),
        "four records": min(most, rest) / rest,
    }


def certain(counts: Counter) -> tuple[int, int]:
    """Count the people whose value is certain for one other of the class, and with a value excluded."""
    found = [0, 0]
    for value, people in counts.items():
        others = [count for other, count in counts.items() if other != value]
        left = len(others) - (1 in others)
        for excluded in (0, 1):
            found[excluded] += people * (left <= excluded)
    return found[0], found[1]


def insiders(chosen: argparse.Namespace) -> Tables:
    """Let people of a class look at their own class."""
    table = stays(chosen)
    shares = table["chapter"].value_counts()["count"] / table.height
    others = len(shares) - 1

    def spread(most: float) -> float:
        return -most * log(most) - (1 - most) * log((1 - most) / others) - log(3)

    bounds = {"entropy": f"{brentq(spread, 0.34, 0.999):.2f}", "t": f"{shares.max() + 0.4:.2f}"}
    largest, people = [], {algorithm: [f"`{algorithm}`"] for algorithm in ALGORITHMS}
    for name, (models, bound) in MODELS.items():
        most: dict[str, float] = defaultdict(float)
        for algorithm in ALGORITHMS:
            seen = released(table, schema_of_stays("chapter"), algorithm, models)
            if seen is None:
                people[algorithm].append("refused")
                continue
            classes = [Counter(table["chapter"].gather(rows)) for rows in seen.rows.values()]
            for counts in classes:
                for what, figure in insider(counts).items():
                    most[what] = max(most[what], figure)
            told = np.sum([certain(counts) for counts in classes], axis=0)
            total = sum(counts.total() for counts in classes)
            people[algorithm].append(f"{percent(told[0], total)}, {percent(told[1], total)}")
        largest.append([name, bounds.get(bound, bound), *(f"{figure:.2f}" for figure in most.values())])
    head = ["model", "promised", "nothing", "one record", "and what one cannot have", "four records"]
    yield "largest probability of a value, by what is known", head, largest
    yield "people who are certain", ["algorithm", *MODELS], list(people.values())


# --- ends of ranges ---------------------------------------------------------------------------------------


def isolated(ages: Sequence[int], cell: str, lowest: int, highest: int) -> tuple[list[bool], float]:
    """Say of each end of a range whether one person of the class has it, and of how many ages between."""
    low, high = ends_of(cell)
    counts = Counter(ages)
    between = [counts[age] == 1 for age in range(int(max(low, lowest - 1)) + 1, int(min(high, highest + 1)))]
    return [counts[end] == 1 for end in (low, high) if abs(end) < inf], float(np.mean(between or [False]))


GRIDS: dict[str, dict[str, Any]] = {
    "exact": {"ends": "exact"},
    "default": {},
    "grid of 1": {"grid": 1},
    "grid of 5": {"grid": 5},
}


def ends(chosen: argparse.Namespace) -> Tables:
    """Look for people at the ends of ranges of age."""
    if not chosen.adult:
        return
    table = adult_table(chosen.adult)[:30_000].drop("salary-class")
    ages, lines = table["age"], []
    names = sorted(table.columns, key=lambda name: name != "age")
    for title, settings in GRIDS.items():
        roles = [ic.Attribute(name, "quasi", **(settings if name == "age" else {})) for name in names]
        seen = released(table, ic.Schema.of_attributes(roles), "mondrian", set_limit=50)
        looked = [
            isolated(ages.gather(rows).to_list(), cells[0], ages.min(), ages.max())
            for cells, rows in seen.rows.items()
            if not re.fullmatch(r"\d+|\*", cells[0])
        ]
        shares = (
            np.mean([alone for each, _ in looked for alone in each]),
            np.mean([any(each) for each, _ in looked]),
            np.mean([share for _, share in looked]),
        )
        lines.append([title, f"{len(looked):,}", *(percent(share, 1) for share in shares)])
    head = ["ends of age", "classes with a range", "at an end", "at one of its ends", "at an age between"]
    yield "one person of the class", head, lines


# --- the page ---------------------------------------------------------------------------------------------

ATTACKS = {"downcoding": downcoding, "list": listed, "insider": insiders, "ends": ends}


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Lay out a table as it stands on the page."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    whole = [head, rule, *([*line, *[""] * (len(head) - len(line))] for line in lines)]
    return "\n".join(f"| {' | '.join(line)} |".replace("  ", " ") for line in whole)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("attacks", nargs="*", metavar="attack", help=f"{', '.join(ATTACKS)}; all by default")
    parser.add_argument("--adult", type=Path, metavar="DIR", help="folder with ARX's Adult")
    parser.add_argument("--rows", type=int, default=2000, help="records of the hospital")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    start = perf_counter()
    for name in chosen.attacks or ATTACKS:
        for title, head, lines in ATTACKS[name](chosen):
            print(f"**{name}: {title}**\n\n{markdown(head, lines)}\n", flush=True)
    print(f"seed {chosen.seed}, {perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
