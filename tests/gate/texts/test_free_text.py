"""Columns that are written freely, and others."""

from __future__ import annotations

import random

import polars as pl
import pytest

from incrowd_gate.texts import is_free_text

CHANCE = random.Random(3)
WORDS = [
    "patient",
    "complains",
    "of",
    "severe",
    "pain",
    "in",
    "the",
    "left",
    "knee",
    "since",
    "last",
    "week",
    "and",
    "cannot",
    "walk",
    "without",
    "help",
]
GERMAN = [
    "Patient",
    "klagt",
    "seit",
    "gestern",
    "über",
    "starke",
    "Schmerzen",
    "im",
    "linken",
    "Knie",
    "und",
    "kann",
    "ohne",
    "Hilfe",
    "nicht",
    "gehen",
]


def sentences(words: list[str], count: int, length: int) -> list[str]:
    return [" ".join(CHANCE.choices(words, k=length)) for _ in range(count)]


NOTES = [
    "fine",
    "all good",
    "ask jane@x.org",
    "Mrs Schroeder called",
    "ok",
    *(f"Tel. 030-{step:07d}" for step in range(480)),
]
REMARKS = [
    "Patient klagt über Kopfschmerz; Kontrolle in 2 Wochen", "keine Besonderheiten", "Frau Koch wünscht Überweisung",
    *(f"Tel. 030-{step:07d}, Rückruf erbeten" for step in range(480)), "E-Mail anna@web.de",
]  # fmt: skip

FREE = {
    "notes": (NOTES, 3_000),
    "remarks": (REMARKS, 3_000),
    "answers": (["fine", "I work at Tesco in Leeds", "ask my GP Dr Patel"], 2_500),
    "sentences": (sentences(WORDS, 400, 9), 1_000),
    "German sentences": (sentences(GERMAN, 400, 9), 1_000),
    "long remarks in a mostly empty column": (sentences(WORDS, 200, 20), 8_000),
    "capitals": ([text.upper() for text in sentences(WORDS, 400, 12)], 1_000),
    "Japanese": (
        [f"昨日から{step}回ほど左の膝に強い痛みがあり助けなしでは歩けないと訴える。" for step in range(300)],
        500,
    ),
}
OTHER = {
    "a few short remarks": (sentences(WORDS, 40, 3), 3_000),
    "job titles": ([f"{a} {b} {c}" for a in ("Senior", "Junior", "Lead") for b in ("Data", "Sales") for c in ("Analyst", "Manager", "Sr. Director")], 3_000),
    "product names": ([f"Acme {color} Running Shoe Pro Model {number} XL" for color in ("Red", "Blue") for number in range(500)], 1_000),
    "towns": ([f"{10_000 + step} Bad Homburg vor der Höhe" for step in range(50)], 1_000),
    "descriptions of codes that repeat": ([f"Type {step} diabetes mellitus with unspecified complications" for step in range(60)], 3_000),
    "ages": ([f"{step} - {step + 5}" for step in range(18, 90)], 200),
    "ranges of dates": ([f"[{year}-01-01 - {year}-12-31]" for year in range(1900, 2020)], 200),
    "sets": ([f"{{asthma, diabetes, cancer {step}}}" for step in range(100)], 200),
    "codes": ([f"F{step % 100};E{step % 90};I{step % 80}" for step in range(500)], 500),
    "names": ([f"Müller-{step}, Anna" for step in range(500)], 500),
    "doctors": ([f"Dr Patel{chr(97 + step)}" for step in range(20)], 500),
    "mail": ([f"jane{step}@example.org" for step in range(500)], 500),
    "telephone": ([f"+49 30 {step:07d}" for step in range(500)], 500),
    "numbers": (list(map(str, range(1_000))), 1_000),
    "nothing": ([], 1_000),
    "blanks": (["", " ", None], 1_000),
}  # fmt: skip


@pytest.mark.parametrize("column", FREE)
def test_texts_that_are_written_freely(column):
    texts, rows = FREE[column]
    assert is_free_text(pl.Series(texts).unique(maintain_order=True), rows)


@pytest.mark.parametrize("column", OTHER)
def test_other_texts(column):
    texts, rows = OTHER[column]
    assert not is_free_text(pl.Series(texts, dtype=pl.String).unique(maintain_order=True), rows)
