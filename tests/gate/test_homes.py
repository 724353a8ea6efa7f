"""Keys of homes and of people among the quasi-identifiers, and keys of doctors, which are no people of the table."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import incrowd as ic

RNG = np.random.default_rng(3)
HOMES = np.repeat(np.arange(300), RNG.integers(1, 8, 300))
N = len(HOMES)


def table(**columns: object) -> pl.DataFrame:
    facts = {"age": RNG.integers(0, 90, N), "region": [f"r{home % 4}" for home in HOMES]}
    return pl.DataFrame({**columns, **facts, "ill": RNG.choice(["flu", "cold", "gout"], N)})


def both(rows: pl.DataFrame, schema: ic.Schema, tmp_path) -> tuple[list[str], ic.Release]:
    """Return the points of a release, after a comparison with those of the verifier."""
    policy = ic.Policy(schema, [ic.KAnonymity(5)])
    rows.write_parquet(tmp_path / "raw.parquet")
    release = ic.anonymize(tmp_path / "raw.parquet", policy, unanswered="write")
    release.write(tmp_path / "safe.parquet")
    release.write_row_map(tmp_path / "rows.parquet")
    policy.write(tmp_path / "policy.toml")
    verification = ic.verify(
        tmp_path / "safe.parquet", tmp_path / "policy.toml",
        against=tmp_path / "raw.parquet", row_map=tmp_path / "rows.parquet",
    )  # fmt: skip
    points = [str(point.sentence()) for point in release.verdict.points]
    assert [str(point.sentence()) for point in verification.verdict.points] == points
    return points, release


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name", ["household_id", "HHID", "id_menage", "Haushaltsnummer", "世帯番号", "家庭编号"]
)
def test_a_home_among_the_quasi_identifiers_is_counted(name, tmp_path):
    rows = table(**{name: [f"H{home:04}" for home in HOMES]})
    schema = ic.Schema(quasi={name: ic.Hierarchy.prefix(), "age": None, "region": None}, sensitive=["ill"])
    points, release = both(rows, schema, tmp_path)
    [told] = [point for point in points if point.startswith("repeated-id")]
    cells = release.table.with_columns(home=rows[name][release.row_map()["row"].to_numpy() - 1])
    homes = cells.group_by(name, "age", "region").agg(pl.col("home").n_unique())["home"]
    assert f"{int((homes < 5).sum())} of {len(homes)} classes hold fewer than 5 households" in told
    assert f"the least {homes.min()}" in told


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["zip", "postcode", "household_size", "job_id", "region_code"])
def test_codes_that_many_share_are_no_homes(name, tmp_path):
    rows = table(**{name: [f"{10000 + home % 120 * 37}" for home in HOMES]})
    schema = ic.Schema(quasi={name: ic.Hierarchy.prefix(), "age": None}, sensitive=["ill"], unlisted="drop")
    points, _ = both(rows, schema, tmp_path)
    assert not [point for point in points if point.startswith("repeated-id")]


@pytest.mark.few(1)
@pytest.mark.parametrize("role", ["identifying", "insensitive"])
@pytest.mark.parametrize("name", ["provider_id", "physician_no", "case_worker_id"])
def test_the_key_of_a_doctor_of_many_people_is_no_person(name, role, tmp_path):
    rows = table(**{name: [f"{900 + home % 40}" for home in HOMES]}, born=RNG.integers(1930, 2000, N))
    rows = rows.with_columns(sex=pl.Series(RNG.choice(["f", "m"], N)))
    schema = ic.Schema(quasi=["born", "sex"], sensitive=["ill"], **{role: [name]}, unlisted="drop")
    points, _ = both(rows, schema, tmp_path)
    assert not [point for point in points if point.startswith("repeated-id")]
