"""Linked tables by their definitions, in plain Python: views of people, and how many share them."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import incrowd as ic


class Drawn(NamedTuple):
    """Random linked tables with their policy."""

    tables: dict[str, pl.DataFrame]
    policy: ic.LinkedPolicy


SHAPES = (
    {"visit": ("person", "all"), "drug": ("visit", "all")},
    {"visit": ("person", 1), "drug": ("visit", 2)},
    {"visit": ("person", 2), "drug": ("person", "all")},
    {"visit": ("person", "all"), "drug": ("visit", 2)},
    {"visit": ("person", 2), "drug": ("visit", "all")},
    {"visit": ("person", 3), "drug": ("visit", 1), "note": ("visit", "all")},
)
"""The table above each, and how many rows of a person are known."""


def draw(seed: int, k: int = 2, people: int = 8, **settings: Any) -> Drawn:
    """Draw tables of few values, a joining tree and a policy."""
    rng = random.Random(seed)
    shape = SHAPES[seed % len(SHAPES)]
    # Some tables are nearly alike throughout, so that several people share each view.
    values, children = rng.choice(("AAAAAAAAAB", "AB")), rng.choice(((1,), (1, 1, 1, 2), (0, 1, 1, 2), (2,)))
    sexes = rng.choice(("f", "ffffffm", "fm"))
    tables = {"person": pl.DataFrame({"id": [f"p{n}" for n in range(people)]})}
    tables["person"] = tables["person"].with_columns(sex=pl.Series(rng.choices(sexes, k=people)))
    linked = [ic.LinkedTable("person")]
    quasi, keys = ["person.sex"], ["person.id"]
    for name, (above, known) in shape.items():
        upper = tables[above]["id"].to_list()
        of = [up for up in upper for _ in range(rng.choice(children))] or [upper[0]]
        cells = rng.choices(values, k=len(of))
        tables[name] = pl.DataFrame({"id": [f"{name}{n}" for n in range(len(of))], "of": of, "kind": cells})
        linked.append(ic.LinkedTable(name, join={"of": f"{above}.id"}, known=known))
        quasi.append(f"{name}.kind")
        keys.append(f"{name}.id")
    schema = ic.Schema(quasi=quasi, insensitive=keys)
    terms = ic.Policy(schema, [ic.KAnonymity(k)], **settings)
    return Drawn(tables, ic.LinkedPolicy(linked, terms))


def saved(folder: Path, tables: Mapping[str, pl.DataFrame], policy: ic.LinkedPolicy) -> Path:
    """Write tables as they stand with their policies, as if they were released."""
    folder.mkdir()
    for name, frame in tables.items():
        frame.write_csv(folder / f"{name}.csv")
        alone = folder / "policies" / name
        alone.mkdir(parents=True)
        policy.policy_of(name).write(alone / "policy.toml")
    policy.write(folder / "policy.toml")
    return folder


def views(tables: Mapping[str, pl.DataFrame], policy: ic.LinkedPolicy) -> dict[Any, set[str]]:
    """Return the people with each view that an attacker may have."""
    rows: dict[str, list[dict[str, Any]]] = {name: frame.to_dicts() for name, frame in tables.items()}
    quasi = {name: [each.name for each in policy.policy_of(name).schema.quasi] for name in tables}
    key = policy.keys_of("person")
    owner: dict[tuple[str, int], int] = {}
    up: dict[tuple[str, int], int] = {}
    for name in policy.order:
        for place, row in enumerate(rows[name]):
            table = policy[name]
            if table.above is None:
                owner[name, place] = place
                continue
            for other, above in enumerate(rows[table.above]):
                if all(row[own] == above[target.split(".")[1]] for own, target in table.join.items()):
                    up[name, place] = other
                    owner[name, place] = owner[table.above, other]
    people: dict[Any, set[str]] = defaultdict(set)
    for person, row in enumerate(rows["person"]):
        own = {name: [p for p in range(len(rows[name])) if owner[name, p] == person] for name in policy.order}
        for chosen in known_rows(policy, own):
            nodes = {("person", person)}
            for node in chosen:
                at = node
                while at in up:
                    nodes.add(at)
                    at = (policy[at[0]].above or "", up[at])

            def form(node: tuple[str, int], nodes: set[tuple[str, int]] = nodes) -> Any:
                name, place = node
                below = [
                    form(other) for other in nodes if policy[other[0]].above == name and up[other] == place
                ]
                return (name, tuple(rows[name][place][c] for c in quasi[name]), tuple(sorted(below)))

            people[form(("person", person))].add(str([row[column] for column in key]))
    return people


def known_rows(policy: ic.LinkedPolicy, own: Mapping[str, list[int]]) -> Iterator[list[tuple[str, int]]]:
    """Yield the rows that an attacker knows of a person, in each way."""
    ways = []
    for name in policy.order[1:]:
        known = policy[name].known
        size = len(own[name]) if known == "all" else min(int(known), len(own[name]))
        ways.append([[(name, place) for place in some] for some in combinations(own[name], size)])
    for way in product(*ways):
        yield [node for part in way for node in part]


def fewest(tables: Mapping[str, pl.DataFrame], policy: ic.LinkedPolicy) -> int:
    """Return the fewest people who share a view."""
    return min(map(len, views(tables, policy).values()))
