"""Matches of `*` and missing cells, row by row: a slow second reading."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import polars as pl

__all__ = ["Rows", "made_up"]


class Rows:
    """A table row by row: whom each row could be, as a set of people.

    Parameters
    ----------
    wildcards
        What ``*`` and missing cells match.
    known
        The quasi-identifiers that are compared.
    """

    def __init__(self, table: pl.DataFrame, quasi: list[str], wildcards: str, known: list[str] | None = None):
        known = known or quasi
        rows = table.to_dicts()
        for number, row in enumerate(rows):
            row["who"] = ("row", number) if row.get("person") is None else row["person"]
        self.everybody = {row["who"] for row in rows}
        self.rows = [row for row in rows if {row[name] for name in quasi} != {"*"}]
        hidden = {name: [row[name] in (None, "*") for row in self.rows] for name in quasi}
        telling = [name for name in known if not all(hidden[name])]
        self.whole = rows
        self.found = []
        for at, row in enumerate(self.rows):
            if wildcards == "conservative" and any(hidden[name][at] for name in telling):
                self.found.append([row])
                continue
            self.found.append(
                [
                    other
                    for there, other in enumerate(self.rows)
                    if all(
                        row[name] == other[name]
                        or (wildcards == "matches-any" and (hidden[name][at] or hidden[name][there]))
                        for name in known
                    )
                    and not (wildcards == "conservative" and any(hidden[name][there] for name in telling))
                ]
            )

    def sizes(self) -> list[int]:
        return [len({row["who"] for row in group}) for group in self.found]

    def average_risk(self) -> float:
        worst = defaultdict(float)
        for row, size in zip(self.rows, self.sizes(), strict=True):
            worst[row["who"]] = max(worst[row["who"]], 1 / size)
        return sum(worst.values()) / len(worst)

    def at_risk(self, threshold: float) -> float:
        beyond = {
            row["who"] for row, size in zip(self.rows, self.sizes(), strict=True) if 1 / size > threshold
        }
        return len(beyond) / len({row["who"] for row in self.rows})

    @staticmethod
    def counts(rows: list[dict], name: str) -> dict[str, int]:
        groups = defaultdict(set)
        for row in rows:
            groups[row[name]].add(row["who"])
        return {value: len(people) for value, people in groups.items()}

    def distinct(self, name: str) -> int:
        return min(len(self.counts(group, name)) for group in self.found)

    def joint_distinct(self, name: str, other: str) -> int:
        return min(
            len({row[name] for row in group if row[other] == context})
            for group in self.found
            for context in {row[other] for row in group}
        )

    def effective(self, name: str) -> float:
        each = []
        for group in self.found:
            counts = self.counts(group, name).values()
            shares = [count / sum(counts) for count in counts]
            each.append(math.exp(-sum(share * math.log(share) for share in shares)))
        return min(each)

    def alpha(self, name: str) -> float:
        return max(
            max(self.counts(group, name).values()) / len({row["who"] for row in group})
            for group in self.found
        )

    def distance(self, name: str) -> float:
        whole = self.counts(self.whole, name)
        each = []
        for group in self.found:
            counts = self.counts(group, name)
            each.append(
                sum(
                    abs(counts.get(value, 0) / sum(counts.values()) - many / sum(whole.values()))
                    for value, many in whole.items()
                )
                / 2
            )
        return max(each)

    def beta(self, name: str) -> float:
        whole = self.counts(self.whole, name)
        return max(
            (count / len({row["who"] for row in group})) / (whole[value] / len(self.everybody)) - 1
            for group in self.found
            for value, count in self.counts(group, name).items()
        )


def made_up(seed: int, *, people: bool) -> pl.DataFrame:
    """Make rows of three quasi-identifiers with wildcards of both kinds, and two sensitive attributes."""
    draw = np.random.default_rng(seed)
    many = int(draw.integers(4, 30))
    share = draw.uniform(0, 0.5)

    def cell(values: str):
        if draw.random() < share:
            return None if draw.random() < 0.5 else "*"
        return str(draw.choice(list(values)))

    rows = [{"a": cell("xy"), "b": cell("uvw"), "c": cell("pq")} for _ in range(many)]
    if draw.random() < 0.3:
        rows = [row | {"b": "*"} for row in rows]
    for row in rows:
        row["ill"], row["cost"] = str(draw.choice(["flu", "hiv", "gout"])), str(draw.choice(["1", "2"]))
        if people:
            row["person"] = None if draw.random() < 0.1 else f"p{draw.integers(0, many)}"
    rows.append(
        {"a": "x", "b": "u", "c": "p", "ill": "flu", "cost": "1"} | ({"person": "q"} if people else {})
    )
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys("abc", pl.String))
