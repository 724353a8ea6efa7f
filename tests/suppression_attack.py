"""The attack on suppressed records, by an attacker with all quasi-identifiers and the released texts."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import polars as pl

import incrowd as ic

__all__ = ["Trial", "fewest", "trials"]

STAR = "*"
_SITES = {"n": ["n1", "n2", "n3"], "s": ["s1", "s2"], "w": ["w1", "w2", "w3"]}
_LEAVES = [leaf for leaves in _SITES.values() for leaf in leaves]


def covers(cell: str, value: str) -> bool:
    """Say whether a released text may stand for a value."""
    if cell in (STAR, value):
        return True
    if cell.startswith("{"):
        return value in cell[1:-1].split(", ")
    if match := re.fullmatch(r"\[(\d+)-(\d+)\]", cell):
        return int(match[1]) <= int(value) <= int(match[2])
    if match := re.fullmatch(r"(\d+) or (less|more)", cell):
        return int(value) <= int(match[1]) if match[2] == "less" else int(value) >= int(match[1])
    return cell in _SITES and value in _SITES[cell]


@dataclass(frozen=True)
class Trial:
    """A table, and the policy of the release."""

    table: pl.DataFrame = field(repr=False)
    policy: ic.Policy
    people: int
    values: int
    knows: Sequence[str]
    """The columns that the attacker knows to whom so many people and values are promised."""


def trials(seed: int, algorithms: Sequence[str], **settings: object) -> Iterator[Trial]:
    """Make small random tables, by records and by people, with and without an attacker."""
    draw = random.Random(seed)
    while True:
        rows, several = draw.randint(8, 40), draw.random() < 0.3
        ill = draw.choice([["a", "b", "HIV"], ["a", "a", "a", "b", "HIV"], ["a", "b", "c", "d"]])
        table = pl.DataFrame(
            {
                "who": [draw.randrange(max(rows // 2, 4)) if several else row for row in range(rows)],
                "age": [min(int(draw.expovariate(0.1)) + 20, 90) for _ in range(rows)],
                "site": [draw.choice(_LEAVES) for _ in range(rows)],
                "sex": [draw.choice("mmfff") for _ in range(rows)],
                "ill": [draw.choice(ill) for _ in range(rows)],
            }
        )
        quasi = draw.choice([["age", "site"], ["age", "site", "sex"], ["site", "sex"]])
        tree = ic.Hierarchy.from_nested({STAR: _SITES}) if draw.random() < 0.7 else None
        schema = ic.Schema(
            {name: tree if name == "site" else None for name in quasi},
            ["ill"],
            person="who" if several else (),
            identifying=() if several else ["who"],
            unlisted="drop",
        )
        people, values = draw.randint(2, 4), draw.randint(1, 3)
        models = [ic.KAnonymity(people), ic.LDiversity(values)]
        knows = quasi
        if draw.random() < 0.3:
            knows = [quasi[0]]
            models = [ic.KAnonymity(2), ic.Attacker("neighbour", knows, models)]
        policy = ic.Policy(
            schema,
            models,
            ic.ALGORITHMS.parse(draw.choice(algorithms)),
            max_suppression=draw.choice([0.1, 0.3, 0.6]),
            ends=draw.choice(["exact", "outward"]),
            seed=draw.randrange(100),
            **settings,
        )
        yield Trial(table, policy, people, values, knows)


def fewest(trial: Trial, release: ic.Release) -> tuple[int, int]:
    """Return the fewest people, and the fewest illnesses, among the released rows that fit a person.

    These are the rows whose cells cover the person's values. Where there are none, they are the suppressed ones.
    Whose a released row is, the row map tells: not the attacker, but the test that counts people.
    """
    texts = release.texts
    whose = trial.table["who"][(release.row_map()["row"] - 1).to_list()].to_list()
    quasi = [each.name for each in trial.policy.schema.quasi]
    cells = texts.select(trial.knows).rows()
    starred = [all(cell == STAR for cell in row) for row in texts.select(quasi).rows()]
    people = illnesses = 10**9
    for person in trial.table.select(trial.knows).cast(pl.String).rows():
        fitting = [
            row
            for row, shown in enumerate(cells)
            if not starred[row] and all(covers(*pair) for pair in zip(shown, person, strict=True))
        ]
        fitting = fitting or [row for row, gone in enumerate(starred) if gone]
        if fitting:
            people = min(people, len({whose[row] for row in fitting}))
            illnesses = min(illnesses, len({texts["ill"][row] for row in fitting}))
    return people, illnesses
