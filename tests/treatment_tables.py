"""A table of people for the tests of treatments, with values that no release may hold, and a key."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

import incrowd as ic
from incrowd.core.treatments import Batch, Distinct
from incrowd.core.treatments.keys import Secret

__all__ = ["KEY", "MARK", "distinct", "given", "people", "treated", "written"]

KEY = "7d1f0c5be26a49838d1fb2a4c6e80937"
MARK = "planted"


def people(rows: int = 400, each: int = 1) -> pl.DataFrame:
    """So many rows `each` person; texts that must not leave begin with `MARK` or ``+49``."""
    rng = np.random.default_rng(7)
    return pl.DataFrame(
        {
            "pid": [f"{MARK}-{n // each:05}" for n in range(rows)],
            "age": rng.integers(20, 70, rows),
            "salary": (rng.lognormal(10, 0.7, rows) // 1 + 7).astype(int) * 10 + 3,
            "phone": [f"+49 {n:08}" for n in rng.integers(10**7, 10**8, rows)],
            "mail": [f"{MARK}{n}@{'clinic.org' if n % 4 else f'{MARK}{n}.name'}" for n in range(rows)],
            "note": [None if n % 5 == 0 else f"{MARK} note {n}" for n in range(rows)],
            "dx": rng.choice(["flu", "cold", "ulcer", "gastritis"], rows),
        }
    )


def treated(**treatments: object) -> ic.Schema:
    """The schema of `people`."""
    usual = {
        "pid": {"pseudonym": "hmac", "key": "env:CLINIC_KEY", "length": 14},
        "salary": {"round": 500, "top": 0.98},
        "phone": "keep-last:2",
        "mail": "email-domain",
        "note": "redact",
    }
    return ic.Schema(
        quasi=["age"],
        sensitive=["dx", "salary"],
        insensitive=["phone", "mail", "note"],
        person="pid",
        treatments=usual | treatments,
    )


def written(path: Path, frame: pl.DataFrame) -> Path:
    frame.write_csv(path)
    return path


def distinct(values: list, reads: str = "text") -> Distinct:
    """The distinct values of a column in the form for a treatment."""
    kind = {"text": pl.String, "number": pl.Float64, "date": pl.Int64}[reads]
    series = pl.Series(values, dtype=kind).drop_nulls()
    counted = series.value_counts().sort(series.name)
    return Distinct("c", counted[:, 0], counted["count"].cast(pl.Int64).to_numpy())


def given(treatment, values: list, key: str | None = None, draws=None, **beside: list) -> list:
    """The treated values."""
    secret = None if key is None else Secret(key.encode())
    kind = {"text": pl.String, "number": pl.Float64, "date": pl.Int64}[treatment.reads]
    decided = treatment.learn(distinct(values, treatment.reads), secret)
    kinds = {"text": pl.String, "number": pl.Float64, "date": pl.Int64}
    columns = {name: pl.Series(each, dtype=kinds[treatment.reads_of(name)]) for name, each in beside.items()}
    batch = Batch(pl.Series(values, dtype=kind), columns, decided, secret, draws)
    result = treatment.treat(batch)
    assert len(result) == len(values)
    return result.to_list()
