"""A second, slow reading of every answer of the course: loops over the rows, without pandas or incrowd."""

from __future__ import annotations

import csv
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import incrowd.course

DATA = Path(incrowd.course.__file__).parent / "data"
TOWN, WARD, CENSUS, COUNTRIES = (
    list(csv.DictReader((DATA / name).read_text(encoding="utf-8").splitlines()))
    for name in ("town.csv", "ward.csv", "census.csv", "countries.csv")
)
Row = dict[str, Any]


def classes(rows: list[Row], *columns: str) -> dict[tuple, list[Row]]:
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(row[column] for column in columns)].append(row)
    return groups


def alone() -> int:
    return sum(len(rows) == 1 for rows in classes(TOWN, "age", "sex", "zip").values())


def runners_found() -> dict[str, str]:
    of = classes(TOWN, "age", "sex", "zip")
    return {
        row["name"]: row["illness"]
        for row in TOWN
        if row["runner"] == "1" and len(of[row["age"], row["sex"], row["zip"]]) == 1
    }


def undo_a_hash() -> str:
    [mary] = [row for row in TOWN if row["name"] == "Mary Harper"]
    wanted = hashlib.sha256(mary["card"].encode()).hexdigest()[:12]
    [card] = [
        card
        for card in map("".join, product("0123456789", repeat=5))
        if hashlib.sha256(card.encode()).hexdigest()[:12] == wanted
    ]
    return card


def by_tens() -> dict[tuple, list[Row]]:
    return classes(
        [row | {"age": int(row["age"]) // 10, "zip": row["zip"][:2]} for row in WARD], "age", "zip"
    )


def aged(low: int) -> list[Row]:
    return [row for row in WARD if low <= int(row["age"]) < low + 10]


def share(rows: list[Row], *illnesses: str) -> Fraction:
    return Fraction(sum(row["illness"] in illnesses for row in rows), len(rows))


def distance(part: list[Row], whole: list[Row]) -> Fraction:
    gains = [share(part, each) - share(whole, each) for each in {row["illness"] for row in whole}]
    return sum(gain for gain in gains if gain > 0)


def open_the_mean() -> int:
    return int(WARD[3]["pay"])


def is_asked(row: Row) -> bool:
    return int(row["age"]) < 35 and row["zip"][:2] == "42"


def people_asked(rows: list[Row]) -> int:
    return len([*filter(is_asked, rows)])


def asthma_by_group(values: list[Row]) -> dict[int, Fraction]:
    size, cases = Counter(), Counter()
    for each in values:
        size[each["group"]] += each["count"]
        cases[each["group"]] += each["count"] * (each["illness"] == "asthma")
    return {group: Fraction(cases[group], size[group]) for group in size}


def anatomy_count(rows: list[Row], values: list[Row]) -> Fraction:
    """Count expected cases from the two tables of Anatomy."""
    total = Fraction(0)
    for row in filter(is_asked, rows):
        group = [each for each in values if each["group"] == row["group"]]
        cases = sum(each["count"] for each in group if each["illness"] == "asthma")
        total += Fraction(cases, sum(each["count"] for each in group))
    return total


def suppressed_share(raw: list[Row], released: list[Row]) -> Fraction:
    hidden = [
        after["age"] == "*"
        for before, after in zip(raw, released, strict=True)
        if before["language"] == "island"
    ]
    return Fraction(sum(hidden), len(hidden))


def range_count(rows: list[Row]) -> Fraction:
    """Count people below 35 by going through the ages of each range."""
    total = Fraction(0)
    for row in rows:
        ends = [int(end) for end in re.findall(r"\d+", row["age"])]
        ages = range(ends[0], ends[-1] + 1)
        total += Fraction(sum(age < 35 for age in ages), len(ages))
    return total


def income_gap() -> Fraction:
    men, women = (
        Fraction(
            sum(int(row["people"]) for row in CENSUS if row["sex"] == sex and row["income"] == ">50k"),
            sum(int(row["people"]) for row in CENSUS if row["sex"] == sex),
        )
        for sex in ("Male", "Female")
    )
    return men / women


def weighted_share() -> Fraction:
    shares = {}
    for column in ("people", "weight"):
        total = sum(int(row[column]) for row in COUNTRIES)
        [mexico] = [int(row[column]) for row in COUNTRIES if row["country"] == "Mexico"]
        shares[column] = Fraction(mexico, total)
    return shares["weight"] / shares["people"]


def suppressed_by_race(raw: list[Row], released: list[Row]) -> dict[str, float]:
    of, hidden = Counter(row["race"] for row in raw), Counter()
    for before, after in zip(raw, released, strict=True):
        hidden[before["race"]] += after["sex"] == "*"
    return {race: hidden[race] / count for race, count in of.items()}


def released_table(parts: list[list[Row]]) -> list[Row]:
    rows = []
    for part in parts:
        texts = {}
        for column in ("age", "pay"):
            numbers = sorted(row[column] for row in part)
            texts[column] = f"{numbers[0]}-{numbers[-1]}"
        texts["zip"] = ", ".join(sorted({row["zip"] for row in part}))
        for illness, count in Counter(row["illness"] for row in part).items():
            rows.append(texts | {"illness": illness, "count": count})
    return rows


def group_gain(released: list[Row]) -> Fraction:
    shown = [row for row in released if row["age"] != "*"]
    there = [row for row in shown if row["zip"] == "420*"]
    shares = [Fraction(sum(row["illness"] == "asthma" for row in rows), len(rows)) for rows in (there, shown)]
    return shares[0] / shares[1]


def covers(cell: str, value: str) -> bool:
    """Say whether a cell may hide a value, by a regular expression or by the ends of a range."""
    if ends := re.fullmatch(r"\[(\d+)-(\d+)\]", cell):
        return int(value) in range(int(ends[1]), int(ends[2]) + 1)
    return re.fullmatch(cell.replace("*", ".") if cell != "*" else ".*", value) is not None


def possible(person: Row, released: list[Row]) -> set[str]:
    return {
        row["illness"]
        for row in released
        if all(covers(str(row[each]), str(person[each])) for each in ("age", "sex", "zip"))
    }


def halves(part: list[tuple[Any, float]]) -> tuple[set, set]:
    """Cut labelled numbers at the median, the mean of the middle two for an even count."""
    numbers = sorted(number for _, number in part)
    n = len(numbers)
    median = Fraction(numbers[(n - 1) // 2]) / 2 + Fraction(numbers[n // 2]) / 2
    low = {label for label, number in part if number < median}
    return low, {label for label, _ in part} - low


FIGURES: dict[str, Callable[[], Any]] = {
    "alone": alone,
    "runners-found": runners_found,
    "undo-a-hash": undo_a_hash,
    "k-of-a-table": lambda: min(map(len, by_tens().values())),
    "l-of-a-table": lambda: min(len({row["illness"] for row in rows}) for rows in by_tens().values()),
    "skewness-attack": lambda: share(aged(40), "asthma") / share(WARD, "asthma"),
    "similarity-attack": lambda: (
        share(aged(20), "flu", "cold", "asthma") - share(WARD, "flu", "cold", "asthma")
    ),
    "t-of-a-class": lambda: distance(aged(40), WARD),
    "income-gap": income_gap,
    "weighted-share": weighted_share,
    "open-the-mean": open_the_mean,
}
"""The answers that need the tables alone."""
