"""The diagnoses of the hospital sample: ICD-10-like codes in blocks and chapters, and how each behaves.

They stand in ``diagnoses.csv``, a line each.

Codes and ranges follow the public outline of ICD-10 (three characters); the short titles are our own
words and every figure is invented: plausible enough for skew and correlation, of no medical use.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import NamedTuple

__all__ = ["Block", "Chapter", "Diagnosis", "chapters", "diagnoses"]


class Diagnosis(NamedTuple):
    """A diagnosis code.

    Attributes
    ----------
    code, title
        Three characters, and what they mean.
    weight
        How often the code occurs, about per ten thousand discharges.
    ages, season, admission
        Names of profiles in ``_profiles``: `AGES`, `SEASONS`, `ADMISSIONS`.
    stay
        Median length of stay in days, for a person of 40 admitted as urgent.
    cost
        What the treatment costs on top of the days, in currency units.
    women
        Share of women, 0 to 1; at 0 or 1 the code occurs in that sex only.
    """

    code: str
    title: str
    weight: float
    ages: str
    stay: float
    cost: float
    women: float = 0.5
    season: str = "flat"
    admission: str = "acute"


class Block(NamedTuple):
    """A range of related codes."""

    label: str
    title: str
    diagnoses: tuple[Diagnosis, ...]


class Chapter(NamedTuple):
    """A range of blocks: an organ system or a kind of cause."""

    label: str
    title: str
    blocks: tuple[Block, ...]


@cache
def chapters() -> tuple[Chapter, ...]:
    """Read all chapters, with their blocks and diagnoses, in order."""
    text = files("incrowd.works.samples").joinpath("diagnoses.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    return tuple(
        Chapter(label, title, tuple(_blocks(list(members))))
        for (label, title), members in groupby(rows, lambda row: (row["chapter"], row["chapter title"]))
    )


def _blocks(rows: list[dict[str, str]]) -> list[Block]:
    return [
        Block(label, title, tuple(map(_diagnosis, members)))
        for (label, title), members in groupby(rows, lambda row: (row["block"], row["block title"]))
    ]


def _diagnosis(row: dict[str, str]) -> Diagnosis:
    numbers = ("weight", "stay", "cost", "women")
    fields = {name: float(row[name]) if name in numbers else row[name] for name in Diagnosis._fields}
    return Diagnosis(**fields)  # type: ignore[arg-type]


@cache
def diagnoses() -> tuple[Diagnosis, ...]:
    """Return the diagnoses of all chapters, in order."""
    return tuple(entry for chapter in chapters() for block in chapter.blocks for entry in block.diagnoses)
