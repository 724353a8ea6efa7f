"""What an attacker gains who runs the algorithm again: 100 random tables, released and attacked.

Run with ``python benchmarks/attacks.py --help``. Half of the tables are samples of hospital stays, half are
tables of 6 to 16 people whose sensitive values hang on a quasi-identifier. Each has a policy that is drawn,
and is released by six algorithms.

The attacker knows the policy with its algorithm and seed, the rows in their raw order, and everything but

- the sensitive values of one class (*minimality*), or
- one quasi-identifier of one person (*re-running*).

He tries what these may be, anonymizes each table that results, and keeps what leads to the published
release. Then he keeps only what leads to the published account, too. What the cells alone tell is the
baseline: any value of the class, and any value of the column that the cell covers.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import permutations
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

import incrowd as ic
from incrowd.attacks.setting import Setting

ALGORITHMS = ("mondrian", "optimal", "datafly", "cell-suppression", "agglomerative", "clustering")
MODELS: dict[str, list[ic.PrivacyModel]] = {
    "k": [],
    "k, l": [ic.LDiversity(2)],
    "k, entropy l": [ic.LDiversity(1.6, kind="entropy")],
    "k, t": [ic.TCloseness(0.4, "equal")],
}
"""What is asked beside k-anonymity."""
WAYS = 60
"""Assignments of a class up to which it is attacked."""
ORDERS = 3
"""Orders and seeds that an attacker draws who does not know those of the release."""


@dataclass
class Rate:
    """Guesses: how often each was right, and the 95 % interval of its mean."""

    right: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        found = ic.attacks.wilson(sum(self.right), len(self.right))
        return f"{np.mean(self.right):.0%} ({found.low:.0%}-{found.high:.0%})"


@dataclass(frozen=True)
class Published:
    """What is seen of a release: its rows in no order, and its account part by part.

    Attributes
    ----------
    people
        Which people are in one class: the number of the class of each row. It is not published.
    """

    rows: tuple[tuple[str, ...], ...]
    account: dict[str, str]
    people: tuple[int, ...]
    loss: float

    @classmethod
    def of(cls, release: ic.Release) -> Published:
        """See a release that keeps the order of its rows."""
        texts = release.texts.cast(pl.String)
        quasi = texts.select([each.name for each in release.policy.schema.quasi]).rows()
        number = {cells: len(quasi) - place for place, cells in enumerate(reversed(quasi))}
        people = tuple(number[cells] for cells in quasi)
        rows = tuple(sorted(tuple(map(str, row)) for row in texts.rows()))
        return cls(rows, _account(release), people, release.utility["loss"].value)

    def is_like(self, other: Published, parts: tuple[str, ...] = ()) -> bool:
        """Say whether nothing that is published differs, of the account by some parts."""
        return self.rows == other.rows and all(self.account[part] == other.account[part] for part in parts)


PARTS = ("of the release", "losses", "before", "bins", "front", "all", "exact losses")
"""Parts of an account: figures of the released table, losses, figures of the raw table, its values in bins
of at least k records, and the recodings that the search looked at. Losses are also tried with all digits."""


def _account(release: ic.Release) -> dict[str, str]:
    """Return the account as it is published, by its parts, and its losses as they were measured."""
    document = release.document()
    risk, classes = document["risk"], document["classes"]
    after = [document[each] for each in ("records", "suppressed", "models", "measured", "recoding")]
    parts = {
        "of the release": [*after, risk["after"], classes["after"]],
        "losses": document["loss"],
        "before": [risk["before"], classes["before"]],
        "bins": document["attributes"],
        "front": document["front"],
        "all": document,
        "exact losses": release.to_dict()["utility"],
    }
    return {name: json.dumps(part, default=str) for name, part in parts.items()}


# --- tables and policies ----------------------------------------------------------------------------------


def drawn(number: int, seed: int, rows: int | None) -> tuple[pl.DataFrame, ic.Schema, str, dict[str, Any]]:
    """Draw a table, its roles, what is asked beside k-anonymity, and other settings.

    Parameters
    ----------
    rows
        How many stays each table has; by default half of the tables have 24 to 40, and half are no stays.
    """
    random = np.random.default_rng([seed, number])
    stays = rows is not None or number % 2
    table, schema = hospital_like(random, rows) if stays else hanging(random)
    while table["secret"].n_unique() == 1:
        table, schema = hanging(random)
    asked = list(MODELS)[number // 2 % len(MODELS)]
    k = int(random.choice([2, 3, 4]))
    settings = {
        "models": [ic.KAnonymity(k), *MODELS[asked]],
        "max_suppression": float(random.choice([0.0, 0.1])),
    }
    return table, schema, asked, settings


def hospital_like(random: np.random.Generator, rows: int | None) -> tuple[pl.DataFrame, ic.Schema]:
    """Draw some stays in hospital; how somebody was admitted is the secret."""
    stays = ic.samples.hospital(rows or int(random.integers(24, 41)), int(random.integers(10**6)))
    table = stays.select("age", "zip", "sex", secret="admission_type")
    return table, ic.Schema({"age": None, "zip": ic.Hierarchy.prefix(), "sex": None}, ["secret"])


def hanging(random: np.random.Generator) -> tuple[pl.DataFrame, ic.Schema]:
    """Draw a few people whose secret hangs on where they live."""
    rows = int(random.integers(6, 17))
    place = random.integers(int(random.integers(2, 6)), size=rows)
    usual = random.integers(3, size=place.max() + 1)[place]
    secret = np.where(random.random(rows) < 0.7, usual, random.integers(3, size=rows))
    table = pl.DataFrame(
        {
            "age": random.integers(20, 40, rows),
            "place": [f"place {each}" for each in place],
            "secret": [("HIV", "flu", "cold")[each] for each in secret],
        }
    )
    age = ic.Hierarchy.intervals(5, 10) if random.random() < 0.5 else None
    return table, ic.Schema({"age": age, "place": None}, ["secret"])


# --- attacks ----------------------------------------------------------------------------------------------


@dataclass
class World:
    """A table with its policy and its release, and how to release other tables so."""

    table: pl.DataFrame
    policy: ic.Policy
    runs: int = 0

    def __post_init__(self) -> None:
        release = ic.anonymize(self.table, self.policy, force=True, unanswered="write")
        self.seen = Published.of(release)
        self.quasi = [each.name for each in self.policy.schema.quasi]
        self.cells: list[tuple[str, ...]] = release.texts.select(self.quasi).cast(pl.String).rows()
        self.setting = Setting(self.table, release.texts, self.policy.schema, None, 0)
        self.own = self.setting.columns

    def made_of(self, table: pl.DataFrame, seed: int | None = None) -> Published | None:
        """Release another table; None where that is refused."""
        self.runs += 1
        policy = self.policy if seed is None else replace(self.policy, seed=seed)
        try:
            return Published.of(ic.anonymize(table, policy, force=True, unanswered="write"))
        except ic.InfeasibleError:
            return None

    def with_values(self, name: str, rows: list[int], values: list[Any]) -> pl.DataFrame:
        """Change some values of a column."""
        column = self.table[name].to_list()
        for row, value in zip(rows, values, strict=True):
            column[row] = value
        return self.table.with_columns(pl.Series(name, column, self.table.schema[name]))


def minimality(world: World, random: np.random.Generator, tries: int) -> Iterator[dict[str, float]]:
    """Deal out the secrets of one class after the other, and say for each person what is learnt."""
    classes: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for row, cells in enumerate(world.cells):
        classes[cells].append(row)
    each = list(classes.values())
    for number in random.permutation(len(each)).tolist():
        rows = each[number]
        truth = [world.table["secret"][row] for row in rows]
        if len(rows) > 7 or len(set(truth)) == 1:
            continue
        dealt = sorted(set(permutations(truth)))
        if len(dealt) > min(WAYS, tries):
            continue
        tries -= len(dealt)
        made = [world.made_of(world.with_values("secret", rows, list(ways))) for ways in dealt]
        both = list(zip(dealt, made, strict=True))
        kept = [one for one, seen in both if seen and seen.is_like(world.seen)]
        told = [one for one, seen in both if seen and seen.is_like(world.seen, ("all",))]
        for place, value in enumerate(truth):
            by_cells, by_rerun, by_account = (
                _best_guess([one[place] for one in some], value) for some in (dealt, kept, told)
            )
            left = {one[place] for one in kept}
            yield {
                "cells": by_cells[0],
                "right": by_rerun[0],
                "raised": by_rerun[1] > by_cells[1] + 1e-9,
                "certain": len(left) == 1,
                "with account": by_account[0],
                "certain with account": len({one[place] for one in told}) == 1,
                "above": by_rerun[1] > 0.5 + 1e-9,
                "above by cells": by_cells[1] > 0.5 + 1e-9,
            }


def _best_guess(values: list[Any], truth: Any) -> tuple[float, float]:
    """Return how often guessing the most likely value is right, and how likely that value is."""
    counts = {value: values.count(value) for value in values}
    most = max(counts.values())
    best = [value for value, count in counts.items() if count == most]
    return (truth in best) / len(best), most / len(values)


def rerunning(
    world: World, random: np.random.Generator, tries: int, most: int, *, hangs: bool
) -> Iterator[dict[str, float]]:
    """Try other values of one cell after the other, and say for each what is learnt.

    Parameters
    ----------
    most
        Other values of a cell up to which it is attacked.
    hangs
        Whether the release changes with the order of the rows or with the seed.
    """
    for place in random.permutation(world.table.height * len(world.quasi)).tolist():
        row, name = place // len(world.quasi), world.quasi[place % len(world.quasi)]
        column, truth = world.table[name], world.table[name][row]
        first = {value: number for number, value in reversed(list(enumerate(column.to_list())))}
        covered = [value for value, number in first.items() if world.own[name].covers(number)[row]]
        if len(covered) < 2 or truth not in covered:
            continue
        if len(covered) - 1 > most:
            continue
        if len(covered) - 1 > tries:
            return
        tries -= len(covered) - 1
        tables = {value: world.with_values(name, [row], [value]) for value in covered}
        made = {value: world.made_of(tables[value]) for value in covered if value != truth}
        made[truth] = world.seen
        kept = [value for value, seen in made.items() if seen and seen.rows == world.seen.rows]
        out = [seen for value, seen in made.items() if value not in kept]
        others = [seen for seen in out if seen is not None and seen.people != world.seen.people]
        learnt = {
            "cells": 1 / len(covered),
            "right": 1 / len(kept),
            "narrowed": len(kept) < len(covered),
            "pinned": len(kept) == 1,
            "excluded": len(out),
            "cell": sum(seen is not None and seen.people == world.seen.people for seen in out),
            "as good": sum(_equal(seen.loss, world.seen.loss) for seen in others),
            "without order": _without_order(world, tables, truth) if hangs else 1 / len(kept),
        }
        for part in PARTS:
            told = [value for value in kept if made[value].is_like(world.seen, (part,))]
            learnt[part] = 1 / len(told)
        yield learnt


def _equal(one: float, other: float) -> bool:
    return abs(one - other) < 1e-6


def _without_order(world: World, tables: dict[Any, pl.DataFrame], truth: Any) -> float:
    """Return the chance of the right value for an attacker who draws the order of the rows and the seed."""
    weight: dict[Any, int] = {}
    for value, table in tables.items():
        orders = (np.random.default_rng([9, each]).permutation(table.height) for each in range(ORDERS))
        made = (world.made_of(table[order.tolist()], 1000 + each) for each, order in enumerate(orders))
        weight[value] = sum(seen is not None and seen.rows == world.seen.rows for seen in made)
    total = sum(weight.values())
    return weight[truth] / total if total else 1 / len(tables)


def sensitive_to(world: World, random: np.random.Generator) -> dict[str, float]:
    """Say whether the release changes with the order of the rows, and with the seed."""
    shuffled = world.made_of(world.table[random.permutation(world.table.height).tolist()])
    seeded = world.made_of(world.table, 1)
    found: dict[str, float] = {
        "order": shuffled is None or shuffled.rows != world.seen.rows,
        "seed": seeded is None or seeded.rows != world.seen.rows,
    }
    if shuffled is not None and not found["order"]:
        found["account"] = shuffled.account["all"] != world.seen.account["all"]
    return found


# --- figures ----------------------------------------------------------------------------------------------


def measure(chosen: argparse.Namespace) -> dict[str, Any]:
    """Attack all tables; each figure is a list of what was found."""
    seed, tries = chosen.seed, chosen.tries
    found: dict[str, Any] = defaultdict(lambda: defaultdict(list))
    for number in range(chosen.tables):
        table, schema, asked, settings = drawn(number, seed, chosen.rows)
        for algorithm in chosen.algorithms.split(","):
            random = np.random.default_rng([seed, number, ALGORITHMS.index(algorithm)])
            # Released rows are compared with raw ones by their places. Ends are values, as the page says.
            policy = ic.Policy(
                schema, algorithm=algorithm, keep_order=True, ends="exact", suppressed="keep", **settings
            )
            try:
                world = World(table, policy)
            except ic.InfeasibleError:
                found["refused"][algorithm].append(number)
                continue
            found["released"][algorithm].append(number)
            changes = sensitive_to(world, random)
            found["sensitive"][algorithm].append(changes)
            learnt = list(minimality(world, random, tries))
            found["minimality"][algorithm if asked != "k" else "k alone"] += learnt
            found["by models"][asked] += learnt
            hangs = bool(changes["order"] or changes["seed"])
            found["re-running"][algorithm] += rerunning(world, random, tries, chosen.most, hangs=hangs)
    return found


def _rate(found: list[dict[str, float]], name: str) -> Rate:
    return Rate([each[name] for each in found])


def _share(found: list[dict[str, float]], name: str, of: str | None = None) -> str:
    total = len(found) if of is None else sum(each[of] for each in found)
    return f"{sum(each[name] for each in found) / total:.0%}" if total else "-"


def tables_of(found: dict[str, Any]) -> Iterator[Table]:
    """Lay out what was found."""
    for title, groups in (
        ("a secret, by minimality", found["minimality"]),
        ("the same, by models", found["by models"]),
    ):
        shown = Table("", "people", "right by cells", "right", "more likely", "certain", "with account",
                      "certain with account", title=title)  # fmt: skip
        for name, learnt in groups.items():
            if learnt:
                shown.add_row(
                    name, str(len(learnt)), str(_rate(learnt, "cells")), str(_rate(learnt, "right")),
                    _share(learnt, "raised"), _share(learnt, "certain"), str(_rate(learnt, "with account")),
                    _share(learnt, "certain with account"),
                )  # fmt: skip
        yield shown
    shown = Table("", "values", "right by cells", "right", "narrowed", "pinned", "without order", "excluded",
                  "by the cell", "as good", title="a quasi-identifier, by re-running")  # fmt: skip
    for name, learnt in found["re-running"].items():
        if learnt:
            shown.add_row(
                name, str(len(learnt)), str(_rate(learnt, "cells")), str(_rate(learnt, "right")),
                _share(learnt, "narrowed"), _share(learnt, "pinned"), str(_rate(learnt, "without order")),
                str(sum(each["excluded"] for each in learnt)), _share(learnt, "cell", "excluded"),
                _share(learnt, "as good", "excluded"),
            )  # fmt: skip
    yield shown
    shown = Table("", "values", "right", *PARTS, title="the same, with a part of the account, or with all")
    for name, learnt in found["re-running"].items():
        if learnt:
            shown.add_row(
                name,
                str(len(learnt)),
                str(_rate(learnt, "right")),
                *(str(_rate(learnt, part)) for part in PARTS),
            )
    yield shown
    shown = Table("", "released", "refused", "changes with the order", "changes with the seed",
                  "only the account changes with the order", title="what a release hangs on")  # fmt: skip
    for name, each in found["sensitive"].items():
        same = [one for one in each if "account" in one]
        shown.add_row(
            name, str(len(found["released"][name])), str(len(found["refused"][name])), _share(each, "order"),
            _share(each, "seed"), _share(same, "account"),
        )  # fmt: skip
    yield shown


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--rows", type=int, help="rows of each table, all of them stays in hospital")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--tries", type=int, default=24, help="tables that are anonymized again for each attack"
    )
    parser.add_argument("--most", type=int, default=1000, help="values of a cell up to which they are tried")
    parser.add_argument("--algorithms", default=",".join(ALGORITHMS))
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    start = perf_counter()
    found = measure(chosen)
    if chosen.json:
        print(json.dumps(found, indent=1, default=float))
        return
    console = Console(width=200)
    for shown in tables_of(found):
        console.print(shown)
    console.print(f"{chosen.tables} tables in {perf_counter() - start:.0f} s; seed {chosen.seed}")


if __name__ == "__main__":
    main()
