"""The verifier and the scripts read cells with decimal commas, and report wrong cells."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from emitted_sql import failed, verdict
from incrowd.release.verification import checks_as_sql

ROWS = 90
RATE = np.random.default_rng(5).integers(0, 60, ROWS) / 10
RAW = pl.DataFrame(
    {"rate": [f"{rate:.1f}".replace(".", ",") for rate in RATE], "ill": ["yes", "no", "no"] * (ROWS // 3)}
)
STYLES = {
    "range": ({"output": "range"}, "[0,1-0,2]"),
    "outward": ({"output": "range", "ends": "outward"}, "[0,11-0,12]"),
    "mean": ({"output": "mean"}, "7,25"),
    "set": ({"output": "set", "set_limit": 99}, "{0,1; 77,5}"),
    "bins": ({"algorithm": "optimal", "tree": ic.Hierarchy.intervals(0.5, 1)}, "[99,5; 100)"),
}


@pytest.fixture(params=STYLES)
def made(request, tmp_path):
    settings, wrong = STYLES[request.param]
    tree = settings.get("tree")
    schema = ic.Schema.of_attributes(
        [ic.Attribute("rate", "quasi", decimal=",", hierarchy=tree), ic.Attribute("ill", "sensitive")]
    )
    settings = {name: value for name, value in settings.items() if name != "tree"}
    RAW.write_csv(tmp_path / "raw.csv")
    release = ic.anonymize(
        tmp_path / "raw.csv", ic.Policy(schema, ["k-anonymity:3"], **settings), unanswered="write"
    )
    release.save(tmp_path / "out")
    return tmp_path, wrong


def names_of(folder) -> dict[str, object]:
    return {"against": folder / "raw.csv", "row_map": folder / "out/internal/rows.parquet"}


@pytest.mark.slow
def test_the_script_says_what_verify_says(made):
    folder, wrong = made
    release, path = folder / "out/release.csv", folder / "out/policy.toml"
    assert "," in pl.read_csv(release, infer_schema=False)["rate"].str.join("")[0]
    assert ic.verify(release, path, **names_of(folder)).keeps_limits
    for tables in ({}, names_of(folder)):
        script = checks_as_sql(release, path, **tables)
        assert verdict(script), failed(script)
    table = pl.read_csv(release, infer_schema=False)
    table = table.with_columns(rate=pl.lit(wrong))
    table.write_csv(folder / "wrong.csv")
    checked = ic.verify(folder / "wrong.csv", path, **names_of(folder))
    assert not checked.keeps_limits
    assert any("'rate'" in problem for problem in checked.problems)
    assert not verdict(checks_as_sql(folder / "wrong.csv", path, **names_of(folder)))


def test_ends_beside_the_grid_are_told_without_the_raw_table(tmp_path):
    schema = ic.Schema.of_attributes([ic.Attribute("rate", "quasi", decimal=",", grid=0.5)], unlisted="drop")
    ic.anonymize(RAW, ic.Policy(schema, ["k-anonymity:3"]), unanswered="write").save(tmp_path / "out")
    path = tmp_path / "out/policy.toml"
    table = pl.read_csv(tmp_path / "out/release.csv", infer_schema=False)
    assert ic.verify(tmp_path / "out/release.csv", path).keeps_limits
    table.with_columns(rate=pl.lit("[1,5-2,4]")).write_csv(tmp_path / "wrong.csv")
    assert not ic.verify(tmp_path / "wrong.csv", path).keeps_limits


@pytest.mark.few(1)
def test_a_release_with_points_still_verifies(made):
    folder, _ = made
    table = pl.read_csv(folder / "out/release.csv", infer_schema=False)
    rate = pl.col("rate").str.replace_all(",", ".", literal=True).str.replace_all(";", ",", literal=True)
    table.with_columns(rate).write_csv(folder / "plain.csv")
    assert ic.verify(folder / "plain.csv", folder / "out/policy.toml", **names_of(folder)).keeps_limits


@pytest.mark.slow
def test_two_releases_are_read_together(made):
    folder, _ = made
    release = folder / "out/release.csv"
    checked = ic.verify(release, folder / "out/policy.toml", previous_release=release)
    assert checked.keeps_limits, checked
