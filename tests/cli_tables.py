"""A table in a file for the tests of the command line, and how a file is read back."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

__all__ = ["HOSPITAL", "rows"]


HOSPITAL = (
    "--qi", "age,sex,marital_status,admission_date", "--sensitive", "diagnosis,cost", "--identifying",
    "patient_id,name,birth_date", "--insensitive", "zip,admission_type,length_of_stay",
)  # fmt: skip


def rows(path: Path) -> list[dict[str, str]]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))
