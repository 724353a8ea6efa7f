"""Files of other programs, one and more of each kind: read, released, and read by other readers again."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow.feather as pf
import pyreadstat
import pytest

import incrowd as ic
from incrowd.core.io.files import CsvFormat, read_table, write_table
from incrowd.core.io.kinds import KINDS
from incrowd_verify.other_kinds import as_parquet

FILES = Path(__file__).parents[2] / "real_files"
SHAPES = {
    "equipment.xlsx": (1036, 14),
    "iris.sav": (150, 5),
    "iris.dta": (150, 5),
    "rows.xpt": (2, 3),
    "flights.arrow": (200_000, 3),
    "newline.jsonl": (3, 6),
}
QUASI = {
    "equipment.xlsx": ["county", "quantity", "federal_supply_category", "ship_date"],
    "iris.sav": ["Sepal.Length", "Petal.Width", "Species"],
    "iris.dta": ["sepallength", "petalwidth", "species"],
    "rows.xpt": ["irow", "frow"],
    "flights.arrow": ["delay", "distance"],
    "newline.jsonl": ["number", "boolean"],
}
by_file = pytest.mark.parametrize("name", SHAPES)


@pytest.fixture
def file(name, tmp_path):
    """A copy of a file, unpacked."""
    path = tmp_path / name
    packed = FILES / f"{name}.gz"
    if packed.exists():
        path.write_bytes(gzip.decompress(packed.read_bytes()))
    else:
        shutil.copy(FILES / name, path)
    return path


def of_a_workbook(path):
    """Read by the second reader, which knows nothing but archives and XML."""
    return pl.read_parquet(as_parquet(path, path.parent)).to_dict(as_series=False)


def of_pandas(read):
    return lambda path: read(path).astype(object).to_dict("list")


def of_lines(path):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {name: [row[name] for row in rows] for name in rows[0]}


READERS = {
    ".xlsx": of_a_workbook,
    ".sav": of_pandas(lambda path: pyreadstat.read_sav(path, apply_value_formats=True)[0]),
    ".dta": of_pandas(pd.read_stata),
    ".xpt": of_pandas(lambda path: pd.read_sas(path, encoding="utf-8")),
    ".arrow": lambda path: pf.read_table(path).to_pydict(),
    ".jsonl": of_lines,
}


def read_by_another(path):
    return READERS[path.suffix](path)


def test_every_kind_has_a_file_and_every_file_a_source():
    assert {next(each.name for each in KINDS if Path(name).suffix in each.suffixes) for name in SHAPES} == {
        each.name for each in KINDS
    }
    page = (FILES / "README.md").read_text()
    assert [each.name for each in FILES.iterdir() if f"`{each.name}`" not in page] == ["README.md"]


@by_file
def test_it_is_read_as_another_reader_reads_it(file, name):
    table = read_table(file)[0]
    assert table.shape == SHAPES[name]
    assert table.to_dict(as_series=False) == read_by_another(file)


@pytest.mark.few(2)
@by_file
def test_what_is_written_again_is_read_alike_by_another_reader(file, name, tmp_path):
    before = read_by_another(file)
    table, csv_format = read_table(file)
    write_table(table, tmp_path / f"again-{name}", tmp_path / f"again-{name}", csv_format)
    assert read_by_another(tmp_path / f"again-{name}") == before


BY_SIZE = [pytest.param(name, marks=[pytest.mark.slow] * (name == "flights.arrow")) for name in QUASI]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", BY_SIZE)
def test_a_release_is_verified_against_it(file, name, tmp_path):
    policy = ic.Policy(
        ic.Schema(QUASI[name], unlisted="drop"),
        [ic.KAnonymity(2)],
        max_suppression=0.1,
        suppressed="keep",
        keep_order=True,
        ends="exact",
    )
    policy.write(tmp_path / "policy.toml")
    out = tmp_path / f"safe-{name}"
    ic.anonymize(file, policy, force=True).write(out)
    assert ic.verify(out, tmp_path / "policy.toml", against=file).ok
    assert sorted(read_by_another(out)) == sorted(QUASI[name])


def test_a_workbook_for_people_to_look_at_is_refused_with_the_cell():
    path = FILES / "deaths.xlsx"
    with pytest.raises(ic.TableError, match="has several sheets, 'arts', 'other'; choose one with"):
        read_table(path)
    with pytest.raises(ic.TableError, match="sheet 'arts': the cells B4:E4 are merged; split them"):
        read_table(path, CsvFormat(sheet="arts"))
