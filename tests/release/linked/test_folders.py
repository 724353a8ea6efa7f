"""Plain names for files that come in together."""

from __future__ import annotations

import pytest

from incrowd.release.linked.folders import plain_files


@pytest.mark.parametrize(
    ("names", "places"),
    [
        (["../../etc/visits.csv", "visits.CSV"], ["visits.csv", "visits-2.csv"]),
        (["<img src=x>.csv", "..csv", ".csv"], ["img-src-x.csv", "table.csv", "table-2.csv"]),
        ([r"C:\x\a b.parquet", "n" * 300 + ".tsv"], ["a-b.parquet", "n" * 60 + ".tsv"]),
        (["\u202evsc.csv", "a\0b.csv.gz"], ["vsc.csv", "a-b.csv.gz"]),
    ],
)
def test_uploaded_tables_get_plain_names(names, places):
    assert plain_files(names) == places
