"""Lazy Polars frames: source files are never replaced, and possible source files neither."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import polars as pl
import pyarrow.dataset
import pytest
from polars.io.plugins import register_io_source

import incrowd as ic

FRAME = pl.DataFrame({"age": [20, 20, 30, 30], "ill": ["flu", "cold", "flu", "cold"]})
SCHEMA = ic.Schema(["age"], ["ill"])


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the same table in many files and formats."""
    monkeypatch.chdir(tmp_path)
    for name in (
        "in.parquet",
        "a, b.parquet",
        "c].parquet",
        "[d].parquet",
        "SCAN [e].parquet",
        "ü%41.parquet",
    ):
        FRAME.write_parquet(name)
    FRAME.write_csv("in.csv")
    FRAME.write_ipc("in.ipc")
    FRAME.write_ndjson("in.ndjson")
    (tmp_path / "many").mkdir()
    for number in range(9):
        FRAME.write_parquet(f"many/{number}.parquet")
    (tmp_path / "link.parquet").symlink_to("in.parquet")
    (tmp_path / "same.parquet").hardlink_to("in.parquet")
    (tmp_path / "other.parquet").write_text("of another release")
    return tmp_path


MANY = [f"many/{number}.parquet" for number in range(9)]
SCANNED = {
    "parquet": (lambda: pl.scan_parquet("in.parquet"), "in.parquet"),
    "path": (lambda: pl.scan_parquet(Path("in.parquet").resolve()), "in.parquet"),
    "address": (lambda: pl.scan_parquet(Path("in.parquet").resolve().as_uri()), "in.parquet"),
    "link read": (lambda: pl.scan_parquet("link.parquet"), "in.parquet"),
    "link written": (lambda: pl.scan_parquet("in.parquet"), "same.parquet"),
    "comma": (lambda: pl.scan_parquet("a, b.parquet"), "a, b.parquet"),
    "bracket": (lambda: pl.scan_parquet("c].parquet"), "c].parquet"),
    "brackets": (lambda: pl.scan_parquet("[d].parquet", glob=False), "[d].parquet"),
    "word": (lambda: pl.scan_parquet("SCAN [e].parquet", glob=False), "SCAN [e].parquet"),
    "percent": (lambda: pl.scan_parquet("ü%41.parquet"), "ü%41.parquet"),
    "csv": (lambda: pl.scan_csv("in.csv"), "in.csv"),
    "many": (lambda: pl.scan_parquet(MANY), "many/8.parquet"),
    "pattern": (lambda: pl.scan_parquet("many/*.parquet"), "many/5.parquet"),
    "folder": (lambda: pl.scan_parquet("many/"), "many/7.parquet"),
    "one below the other": (lambda: pl.concat([pl.scan_parquet("in.parquet"), pl.scan_parquet(MANY)]), "many/8.parquet"),
    "concat": (lambda: pl.concat([pl.scan_csv("in.csv"), pl.scan_parquet(MANY)]), "many/4.parquet"),
    "join": (lambda: pl.scan_csv("in.csv").join(pl.scan_parquet("in.parquet").select("age"), on="age"), "in.parquet"),
    "computed": (
        lambda: pl.scan_parquet("in.parquet").filter(pl.col("age") > 0).with_columns(pl.col("age") + 1).sort("ill"),
        "in.parquet",
    ),
    "python": (lambda: pl.scan_parquet("in.parquet").map_batches(lambda part: part), "in.parquet"),
    "literal": (lambda: pl.scan_parquet("in.parquet").filter(pl.lit("a\nParquet SCAN [x]\nb") != ""), "in.parquet"),
}  # fmt: skip
OPENED = contextlib.ExitStack()
HIDDEN = {
    "opened": lambda: pl.scan_parquet(OPENED.enter_context(Path("in.parquet").open("rb"))),  # noqa: SIM115
    "dataset": lambda: pl.scan_pyarrow_dataset(pyarrow.dataset.dataset("in.parquet")),
    "plugin": lambda: register_io_source(
        lambda *_: iter([pl.read_parquet("in.parquet")]), schema=FRAME.schema
    ),
    "beside others": lambda: pl.concat([pl.scan_csv("in.csv"), HIDDEN["dataset"]()]),
}
MADE = {
    "frame": FRAME.lazy,
    "bytes": lambda: pl.scan_csv(io.BytesIO(Path("in.csv").read_bytes())),
    "formats": lambda: pl.concat([pl.scan_ipc("in.ipc"), pl.scan_ndjson("in.ndjson")]),
    "many": lambda: pl.concat([pl.scan_parquet(MANY), pl.scan_parquet("in.parquet")]),
}


def release_of(table) -> ic.Release:
    return ic.anonymize(table, SCHEMA, [ic.KAnonymity(2)])


@pytest.mark.few(1)
@pytest.mark.parametrize("name", SCANNED)
def test_a_file_that_is_scanned_is_not_replaced(work, name):
    scan, target = SCANNED[name]
    release = release_of(scan())
    before = {path: path.read_bytes() for path in work.rglob("*") if path.is_file()}
    for path in (Path(target), Path(target).absolute()):
        with pytest.raises(ic.TableError, match="would replace an input file"):
            release.write(path, force=True)
    with pytest.raises(ic.TableError, match=r"would replace (the input's folder|an input)"):
        release.save(work, force=True)
    assert {path: path.read_bytes() for path in work.rglob("*") if path.is_file()} == before
    if name == "literal":
        return  # it says that another file is scanned, which cannot be found
    release.write("other.parquet", force=True)
    assert set(pl.read_parquet("other.parquet").columns) == {"age", "ill"}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", HIDDEN)
def test_what_a_frame_may_read_is_not_replaced(work, name):
    with OPENED:
        release = release_of(HIDDEN[name]())
        for target in ("in.parquet", "other.parquet"):
            before = Path(target).read_bytes()
            with pytest.raises(ic.TableError, match="exists already, and the lazy frame does not tell which"):
                release.write(target, force=True)
            assert Path(target).read_bytes() == before
        release.write("new.csv")
        with pytest.raises(ic.TableError, match="exists already; choose another name or say"):
            release.write("new.csv")


@pytest.mark.few(3)
@pytest.mark.parametrize("name", MADE)
def test_other_files_are_replaced(work, name):
    release_of(MADE[name]()).write("other.parquet", force=True)
    assert pl.read_parquet("other.parquet")["age"].dtype == pl.String


@pytest.mark.slow
def test_a_saved_release_that_is_scanned_is_not_replaced(work):
    release_of(FRAME).save("saved", name="release.parquet")
    for table in (pl.scan_parquet("saved/release.parquet"), ic.scan("saved/release.parquet")):
        again = release_of(table)
        with pytest.raises(ic.TableError, match="would replace the input's folder"):
            again.save("saved", force=True)
    release_of(FRAME).save("saved", name="release.parquet", force=True)


def test_a_population_that_is_scanned_is_not_replaced(work):
    people = pl.scan_csv("in.csv")
    release = ic.anonymize(FRAME, SCHEMA, [ic.KMap(2)], population=people)
    with pytest.raises(ic.TableError, match="would replace an input file"):
        release.write("in.csv", force=True)


def test_a_batch_that_is_scanned_is_not_replaced(work):
    release = release_of(FRAME)
    batch = ic.apply_recoding(release.recoding, pl.scan_parquet("in.parquet"), release.policy)
    with pytest.raises(ic.TableError, match="would replace an input file"):
        batch.write("in.parquet", force=True)


def test_the_working_folder_may_have_changed(work, monkeypatch):
    table = pl.scan_parquet(Path("in.parquet").resolve())
    release = release_of(table)
    (work / "else").mkdir()
    monkeypatch.chdir(work / "else")
    with pytest.raises(ic.TableError, match="would replace an input file"):
        release.write("../in.parquet", force=True)
