"""Columns with lists in cells, and others."""

from __future__ import annotations

import random
from itertools import combinations

import polars as pl
import pytest

from incrowd_gate.texts import separator_of

CHANCE = random.Random(5)
MEDIA = ("print", "radio", "social", "tv", "web")


def lists(parts: tuple[str, ...], separator: str, sizes: tuple[int, ...]) -> list[str]:
    return [separator.join(each) for size in sizes for each in combinations(parts, size)]


LISTS = {
    "media": (lists(MEDIA, ";", (1, 2, 3, 4)), ";"),
    "bars": (["tv|radio", "tv", "radio|web", "tv|radio|web", "web"], "|"),
    "commas": (lists(("a", "b", "c", "d"), ", ", (1, 2, 3)), ","),
    "codes": (
        [";".join(CHANCE.sample(["F32", "E11", "I10", "J45", "C50", "M54"], 3)) for _ in range(50)],
        ";",
    ),
    "always two": (lists(MEDIA, ";", (2,)), ";"),
    "numbers": (lists(("1", "3", "5", "7"), ",", (1, 2, 3, 4)), ","),
    "slashes": (lists(MEDIA, "/", (1, 2, 3)), "/"),
    "lines": (lists(MEDIA, "\n", (1, 2, 3)), "\n"),
    "an empty last part": ([f"{text};" for text in lists(MEDIA, ";", (1, 2, 3))], ";"),
}
OTHER = {
    "sets of generalization": ["{" + text + "}" for text in lists(MEDIA, ", ", (2, 3))],
    "ranges": [f"[{low}, {low + 5})" for low in range(0, 90, 5)],
    "ranges with dashes": [f"{low} - {low + 5}" for low in range(0, 90, 5)],
    "decimal commas": [f"{number},{number % 10}" for number in range(40, 140)],
    "thousands": [f"{number},{number % 7}00" for number in range(40, 140)],
    "dates": [f"{day:02d}/{month:02d}/2020" for day in range(1, 28) for month in range(1, 12)],
    "written dates": [f"May {day}, {year}" for day in range(1, 28) for year in range(2010, 2020)],
    "names": [f"{last}, {first}" for last in ("Müller", "Koch", "Wolf", "Klein") for first in ("Anna", "Ben", "Carla", "Elif")],
    "unlike names": [f"Name{step}, First{step}" for step in range(100)],
    "places": [f"{town}, {land}" for land in ("France", "Spain") for town in (f"{land} town {step}" for step in range(20))],
    "blood pressure": [f"{high}/{low}" for high in range(110, 140) for low in range(70, 90)],
    "coordinates": [f"{43 + step / 1_000:.5f}, {step / 3_000:.5f}" for step in range(200)],
    "sentences": [f"on day {step} the patient came, waited, and left again after {step} minutes" for step in range(60)],
    "words": ["flu", "asthma", "n/a"],
    "pairs": ["m/f"],
    "nothing": [],
    "blanks": ["", " ", None],
}  # fmt: skip


@pytest.mark.parametrize("column", LISTS)
def test_lists_have_a_separator(column):
    texts, separator = LISTS[column]
    assert separator_of(pl.Series(texts).unique(maintain_order=True)) == separator


@pytest.mark.parametrize("column", OTHER)
def test_other_cells_have_none(column):
    assert separator_of(pl.Series(OTHER[column], dtype=pl.String).unique(maintain_order=True)) is None
