"""Files without a header line: outputs have a header line, and every command reads both."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

NAMES = ("--names", "zip,age,s")
QUASI = ("--qi", "zip,age", "--sensitive", "s")
ROWS = [("a", "1", "x"), ("a", "1", "y"), ("b", "2", "x"), ("b", "2", "y")] * 2


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Write a file and a folder of two such files."""
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "raw.csv", tmp_path / "folder/1.csv", tmp_path / "folder/2.csv"):
        path.write_text("".join(",".join(row) + "\n" for row in ROWS))
    return tmp_path / "raw.csv"


def read(path: Path) -> list[tuple[str, ...]]:
    files = sorted(path.glob("*.csv")) if path.is_dir() else [path]
    reads = pl.read_parquet if path.suffix == ".parquet" else pl.read_csv
    table = pl.concat(reads(file) for file in files)
    assert table.columns == ["zip", "age", "s"]
    return sorted(table.cast(pl.String).rows())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "output"),
    [
        (["raw.csv"], "out.csv"), (["raw.csv", "--stream"], "out.csv"), (["raw.csv", "--stream"], "out.csv.gz"),
        (["raw.csv", "--stream"], "out.parquet"), (["folder"], "out.csv"), (["folder"], "out"),
        (["folder/*.csv"], "out"),
    ],
)  # fmt: skip
def test_what_is_written_has_a_header_line(run, raw, given, output):
    here = raw.parent
    table = [str(here / given[0]), *given[1:]]
    out, rows = here / output, ROWS * (2 if given[0] != "raw.csv" else 1)
    result = run(
        "anonymize", *table, *NAMES, *QUASI, "-k", "2", "-o", str(out),
        "--recoding", str(here / "r.json"), "--save-policy", str(here / "p.toml"),
    )  # fmt: skip
    assert result.status == 0, result.err
    assert read(out) == sorted(rows)
    again = run(
        "apply", str(here / "r.json"), *table, *NAMES, "--policy", str(here / "p.toml"),
        "-o", str(here / f"again{out.name.removeprefix('out')}"),
    )  # fmt: skip
    assert again.status == 0, again.err
    assert read(here / f"again{out.name.removeprefix('out')}") == sorted(rows)


@pytest.mark.parametrize("header", ["zip,age,s\n", ""], ids=["header", "none"])
def test_commands_that_compare_read_a_release_with_and_without_header(run, raw, header):
    release = raw.parent / "release.csv"
    release.write_text(header + "".join(",".join(row) + "\n" for row in ROWS))
    for command in (["utility"], ["attack", "--control", str(release)], ["perturbation"]):
        roles = ["--columns", "age"] if command == ["perturbation"] else QUASI
        result = run(command[0], str(raw), str(release), *NAMES, *roles, *command[1:], "--json")
        assert result.status == 0, result.err
