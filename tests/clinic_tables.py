"""Two tables about the same people, made up for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

PEOPLE = 64
SECRET = "kZ8vq2Lw9xTn4Rb7Yc1Hd6Gj3Fs5Pm0a"
"""A secret for pseudonyms, for tests alone."""


def write_clinic(folder: Path, **columns: Any) -> None:
    """Write patients and their visits, of which groups of eight are alike."""
    ids = [f"P{number:03}" for number in range(PEOPLE)]
    sexes = ["f" if number // 8 % 2 else "m" for number in range(PEOPLE)]
    folder.mkdir(exist_ok=True)
    pl.DataFrame({"patient_id": ids, "sex": sexes, **columns}).write_csv(folder / "patients.csv")
    wards = [f"W{number // 16}" for number in range(PEOPLE)]
    visits = {"visit_id": [f"V{number:03}" for number in range(PEOPLE)], "patient_id": ids, "ward": wards}
    pl.DataFrame(visits).write_csv(folder / "visits.csv")
