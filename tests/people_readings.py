"""People as sets: a slow second reading of every figure by people."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import polars as pl

__all__ = ["Reading", "counted_people", "crowd", "people_table", "told_of_people"]


def people_table(seed: int, people: int = 40, *, missing: bool = True) -> pl.DataFrame:
    """Make people of one to six rows each, with two quasi-identifiers and two sensitive attributes."""
    draw = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        age, town = int(draw.integers(20, 50)), str(draw.choice(list("abcd")))
        ill = str(draw.choice(["flu", "hiv", "gout"]))
        for visit in range(int(draw.integers(1, 7))):
            moved = draw.random() < 0.3
            rows.append(
                {
                    "person": None if missing and draw.random() < 0.03 else f"p{person}",
                    "age": age + int(draw.integers(0, 3)) * (visit > 0),
                    "town": str(draw.choice(list("abcd"))) if moved else town,
                    "ill": str(draw.choice(["flu", "hiv", "gout"])) if draw.random() < 0.4 else ill,
                    "cost": int(draw.integers(1, 6)),
                }
            )
    order = draw.permutation(len(rows))
    return pl.DataFrame([rows[i] for i in order])


class Reading:
    """A table's classes as sets of people.

    Parameters
    ----------
    people
        The person of each row; None is somebody of their own.
    cells
        Per quasi-identifier the cell of each row.
    sensitive
        Per sensitive attribute the value of each row.
    """

    def __init__(self, people, cells, sensitive):
        everybody = [("row", row) if person is None else person for row, person in enumerate(people)]
        self.everybody = set(everybody)
        self.classes = defaultdict(set)
        self.values = {name: defaultdict(lambda: defaultdict(set)) for name in sensitive}
        self.joint = {name: defaultdict(lambda: defaultdict(lambda: defaultdict(set))) for name in sensitive}
        self.totals = {name: defaultdict(set) for name in sensitive}
        for row, person in enumerate(everybody):
            cell = tuple(column[row] for column in cells)
            for name, column in sensitive.items():
                self.totals[name][column[row]].add(person)
            if set(cell) == {"*"}:
                continue
            self.classes[cell].add(person)
            for name, column in sensitive.items():
                self.values[name][cell][column[row]].add(person)
                others = tuple(other[row] for key, other in sensitive.items() if key != name)
                self.joint[name][cell][others][column[row]].add(person)

    def k(self) -> int:
        return min(map(len, self.classes.values()))

    def present(self) -> set:
        return set().union(*self.classes.values())

    def worst(self, value):
        """Return the largest value of a person's classes, for everybody."""
        result = {}
        for cell, people in self.classes.items():
            for person in people:
                result[person] = max(result.get(person, 0), value(cell))
        return result

    def average_risk(self) -> float:
        each = self.worst(lambda cell: Fraction(1, len(self.classes[cell])))
        return float(sum(each.values()) / len(each))

    def at_risk(self, threshold: float) -> float:
        each = self.worst(lambda cell: 1 / len(self.classes[cell]))
        return sum(risk > threshold for risk in each.values()) / len(each)

    def counts(self, name: str, cell) -> dict:
        return {value: len(people) for value, people in self.values[name][cell].items()}

    def distinct(self, name: str) -> int:
        return min(len(self.counts(name, cell)) for cell in self.classes)

    def entropy(self, name: str) -> float:
        return min(_effective(self.counts(name, cell)) for cell in self.classes)

    def normalized(self, name: str) -> float:
        result = []
        for cell in self.classes:
            counts = self.counts(name, cell)
            result.append(math.log(_effective(counts)) / math.log(len(counts)) if len(counts) > 1 else 0.0)
        return min(result)

    def recursive(self, name: str, c: float) -> int:
        result = []
        for cell in self.classes:
            counts = sorted(self.counts(name, cell).values(), reverse=True)
            result.append(
                max((at + 1 for at in range(len(counts)) if counts[0] < c * sum(counts[at:])), default=0)
            )
        return min(result)

    def joint_distinct(self, name: str) -> int:
        return min(len(values) for parts in self.joint[name].values() for values in parts.values())

    def alpha(self, name: str) -> float:
        return max(
            max(self.counts(name, cell).values()) / len(people) for cell, people in self.classes.items()
        )

    def joint_alpha(self, name: str) -> float:
        result = 0.0
        for parts in self.joint[name].values():
            for values in parts.values():
                people = set().union(*values.values())
                result = max(result, max(map(len, values.values())) / len(people))
        return result

    def _shares(self, name: str):
        total = {value: len(people) for value, people in self.totals[name].items()}
        whole = sum(total.values())
        for cell in self.classes:
            counts = self.counts(name, cell)
            size = sum(counts.values())
            yield {
                value: (Fraction(counts.get(value, 0), size), Fraction(total[value], whole))
                for value in total
            }

    def equal_distance(self, name: str) -> float:
        return float(max(sum(abs(a - b) for a, b in both.values()) / 2 for both in self._shares(name)))

    def ordered_distance(self, name: str) -> float:
        result = []
        for both in self._shares(name):
            moved = carried = Fraction(0)
            ordered = [both[value] for value in sorted(both)]
            for a, b in ordered[:-1]:
                carried += a - b
                moved += abs(carried)
            result.append(moved / (len(ordered) - 1))
        return float(max(result))

    def gain(self, name: str) -> float:
        most = 0.0
        for cell, people in self.classes.items():
            for value, count in self.counts(name, cell).items():
                before = Fraction(len(self.totals[name][value]), len(self.everybody))
                most = max(most, float(Fraction(count, len(people)) / before - 1))
        return most

    def log_ratio(self, name: str) -> float:
        most = 0.0
        for cell, people in self.classes.items():
            for value, held in self.totals[name].items():
                count = self.counts(name, cell).get(value, 0)
                ratio = Fraction(count, len(people)) / Fraction(len(held), len(self.everybody))
                most = max(most, abs(math.log(ratio)) if count else math.inf)
        return most

    def confidence(self, name: str) -> dict[str, float]:
        sure = self.worst(lambda cell: max(self.counts(name, cell).values()) / len(self.classes[cell]))
        one = self.worst(lambda cell: max(self.counts(name, cell).values()) == len(self.classes[cell]))
        return {
            "max": max(sure.values()),
            "mean": sum(sure.values()) / len(sure),
            "homogeneous": sum(one.values()) / len(one),
            "baseline": max(map(len, self.totals[name].values())) / len(self.everybody),
        }

    def km(self, power: int, k: int = 0) -> tuple[int, set]:
        """Return the fewest people with all cells that an attacker knows, and the classes below k."""
        from itertools import combinations

        classes = defaultdict(set)
        for cell, people in self.classes.items():
            for person in people:
                classes[person].add(cell)
        least, weak = math.inf, set()
        for mine in classes.values():
            size = min(power, len(mine)) if power else len(mine)
            for known in combinations(sorted(mine, key=repr), size):
                shared = len(set.intersection(*(self.classes[cell] for cell in known)))
                least = min(least, shared)
                if shared < k:
                    weak |= set(known)
        return least, weak

    def lkc(self, name: str, known: int, width: int) -> tuple[int, float]:
        """Return the least K and the largest share over attackers with a given number of columns."""
        from itertools import combinations

        least, most = math.inf, 0.0
        for subset in combinations(range(width), known):
            people, values = defaultdict(set), defaultdict(lambda: defaultdict(set))
            for cell in self.classes:
                part = tuple(cell[j] for j in subset)
                people[part] |= self.classes[cell]
                for value, those in self.values[name][cell].items():
                    values[part][value] |= those
            least = min(least, *map(len, people.values()))
            most = max(
                most, *(len(those) / len(people[part]) for part in people for those in values[part].values())
            )
        return least, most


def _effective(counts: dict) -> float:
    whole = sum(counts.values())
    return math.exp(-sum(count / whole * math.log(count / whole) for count in counts.values()))


def crowd(seed: int, people: int = 30) -> pl.DataFrame:
    """Make people whom two columns name, where much is missing, written in two ways, or suppressed before.

    `NA` and -9 mean missing. An age is a number, however it is written.
    """
    draw = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        clinic, nr = f"clinic {person % 4}", person // 4
        age, town, ill = (
            int(draw.integers(20, 30)),
            str(draw.choice(list("abc"))),
            str(draw.choice(list("xyz"))),
        )
        changes = draw.random() < 0.5
        for _ in range(int(draw.integers(1, 7))):
            gone = draw.random() < 0.05
            own = age + int(draw.integers(0, 2)) * changes
            rows.append(
                {
                    "clinic": draw.choice([None, "NA", clinic], p=[0.1, 0.1, 0.8]),
                    "nr": draw.choice([None, -9, nr], p=[0.1, 0.1, 0.8]),
                    "age": "*" if gone else str(draw.choice([f"{own}", f"{own}.0"])),
                    "town": "*" if gone else draw.choice([None, "NA", "*", town], p=[0.05, 0.05, 0.1, 0.8]),
                    "ill": str(draw.choice(list("xyz"))) if changes and draw.random() < 0.5 else ill,
                    "cost": draw.choice([None, -9, 1, 2], p=[0.1, 0.1, 0.4, 0.4]),
                }
            )
    order = draw.permutation(len(rows))
    types = {"clinic": pl.String, "nr": pl.Int64, "town": pl.String, "cost": pl.Int64}
    return pl.DataFrame([rows[i] for i in order], schema_overrides=types)


def told_of_people(table: pl.DataFrame, person: list[str], sensitive: list[str]) -> dict:
    """Read `crowd` as sets: the right counts of people, for keys of age and town."""

    def plain(value):
        return None if value in ("NA", -9) else value

    stories, rows = defaultdict(set), Counter()
    for number, row in enumerate(table.iter_rows(named=True)):
        name = tuple(plain(row[column]) for column in person)
        who = ("row", number) if set(name) == {None} else name
        cells = row["age"], plain(row["town"])
        key = None if set(cells) == {"*"} else (float(cells[0]), cells[1])
        stories[who].add((key, tuple(plain(row[column]) for column in sensitive)))
        rows[who] += 1
    weights, values, joint, spread = Counter(), Counter(), Counter(), Counter()
    totals = Counter()
    for mine in stories.values():
        totals.update({(j, told[j]) for _, told in mine for j in range(len(sensitive))})
        live = {story for story in mine if story[0] is not None}
        if len(live) > 1:
            spread[frozenset(live)] += 1
        for key, told in live if len(live) == 1 else ():
            weights[key] += 1
            joint[key, told] += 1
            values.update((key, j, told[j]) for j in range(len(sensitive)))
    return {
        "people": len(stories),
        "unnamed": sum(who[0] == "row" for who in stories),
        "several": any(many > 1 for many in rows.values()),
        "weights": weights,
        "values": values,
        "joint": joint,
        "spread": spread,
        "totals": totals,
    }


def counted_people(frequency) -> dict:
    """Return the counts of a `FrequencyTable` of age and town in the same words."""
    people = frequency.people.table
    result = {
        "people": frequency.people.number,
        "unnamed": frequency.people.unnamed,
        "several": people is not None,
    }
    if people is None:
        return result
    ages, towns = (
        [domain.values[code] for code in codes]
        for domain, codes in zip(people.domains, people.codes, strict=True)
    )
    keys = [(float(age), town) for age, town in zip(ages, towns, strict=True)]
    texts = [counts.domain.values for counts in people.sensitive]

    def value(j: int, rank: int):
        text = texts[j][rank]
        return text if text is None or not text.isdigit() else int(text)

    values, joint, lives = Counter(), Counter(), defaultdict(set)
    for j, counts in enumerate(people.sensitive):
        for number, key in enumerate(keys):
            for place in range(counts.keys.indptr[number], counts.keys.indptr[number + 1]):
                values[key, j, value(j, counts.keys.codes[place])] += int(counts.keys.counts[place])
    listed = people.people.listed
    for number, key in enumerate(keys):
        if people.joint is not None:
            own = people.joint.keys
            for place in range(own.indptr[number], own.indptr[number + 1]):
                told = tuple(value(j, c[own.codes[place]]) for j, c in enumerate(people.joint.codes))
                joint[key, told] += int(own.counts[place])
        for place in listed.entry[listed.indptr[number] : listed.indptr[number + 1]]:
            told = tuple(value(j, ranks[place]) for j, ranks in enumerate(listed.values))
            if listed.combination is not None:
                which = listed.combination[place]
                assert told == tuple(value(j, c[which]) for j, c in enumerate(people.joint.codes))
            lives[listed.person[place]].add((key, told))
    assert listed.people == len(lives)
    return result | {
        "weights": Counter({key: int(n) for key, n in zip(keys, people.weights, strict=True) if n}),
        "values": values,
        "joint": joint,
        "spread": Counter(frozenset(mine) for mine in lives.values()),
        "totals": Counter(
            {
                (j, value(j, rank)): int(many)
                for j, counts in enumerate(people.sensitive)
                for rank, many in enumerate(counts.totals)
                if many
            }
        ),
    }
