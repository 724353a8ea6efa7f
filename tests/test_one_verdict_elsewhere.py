"""A planted point is said in the same words wherever the rows are, and however the job is called."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import incrowd as ic
from crossed import crossed
from database_tables import mysql_url
from fuzz.sources import Services, placed
from incrowd_gate.points import KINDS
from test_one_verdict import LEAVING, PLANTS, POLICY, ROWS, TABLE, USUAL, Plant, plain

pytestmark = pytest.mark.gated

HIERARCHY = "".join(
    f"{age};[{age // 10 * 10}-{age // 10 * 10 + (9 if age < 50 else 8)}];Any\n" for age in range(20, 60)
)
"""Those of 59 stand under 50 to 58."""
ALL: dict[str, Plant] = PLANTS | {"untrue-label": Plant(settings={"age": '"ages.csv"'})}
CASES = [*LEAVING, "untrue-label"]
PLACES = (
    "polars-lazy", "pyarrow", "pandas", "csv", "parquet", "folder-csv", "folder-parquet", "relation", "sqlite",
    "duckdb",
)  # fmt: skip
SERVERS = ("postgresql", "mysql", "spark")
UNREAD = {
    "lists": pl.Series([[0.5, 1.5]] * ROWS),
    "bytes": pl.Series([b"ab"] * ROWS),
    "clock": pl.Series(["07:45:00"] * ROWS).str.to_time(),
}
"""Values of which no text is searched."""


def policy_in(folder: Any, settings: dict[str, str]) -> ic.Policy:
    (folder / "ages.csv").write_text(HIERARCHY)
    (folder / "policy.toml").write_text(POLICY.format(**USUAL | settings))
    return ic.Policy.read(folder / "policy.toml")


def table_with(columns: dict[str, Any]) -> pl.DataFrame:
    return TABLE.with_columns(**{name: pl.Series(name, list(values)) for name, values in columns.items()})


def points_of(table: Any, policy: ic.Policy, **settings: Any) -> list[tuple[Any, ...]]:
    points = ic.anonymize(table, policy, unanswered="write", **settings).verdict.points
    return [(point.name, point.columns, point.share, point.text) for point in points]


def assert_same_points(place: str, kind: str, tmp_path: Any, services: Services) -> None:
    table, policy = table_with(ALL[kind].columns), policy_in(tmp_path, ALL[kind].settings)
    expected = points_of(table, policy)
    assert kind in {name for name, *_ in expected}
    with placed(place, table, services) as elsewhere:
        assert points_of(elsewhere.table, policy, **elsewhere.options) == expected


@pytest.mark.few(5)
@pytest.mark.parametrize(("kind", "place"), crossed(CASES, PLACES))
def test_a_point_is_the_same_wherever_the_rows_are(kind, place, tmp_path):
    assert_same_points(place, kind, tmp_path, Services(tmp_path))


@pytest.mark.slow
def test_a_point_is_the_same_in_postgresql(tmp_path, postgres):
    for kind in CASES:
        assert_same_points("postgresql", kind, tmp_path, Services(tmp_path, {"postgresql": postgres}))


@pytest.mark.slow
def test_a_point_is_the_same_in_mariadb(tmp_path):
    for kind in CASES:
        assert_same_points("mysql", kind, tmp_path, Services(tmp_path, {"mysql": mysql_url()}))


@pytest.mark.slow
def test_a_point_is_the_same_on_spark(tmp_path, spark):
    for kind in CASES:
        assert_same_points("spark", kind, tmp_path, Services(tmp_path, spark=spark))


@pytest.mark.slow
def test_a_point_is_the_same_in_blocks(tmp_path, spark):
    """Blocks know a single algorithm, and nobody counts the people of classes by a left-out column."""
    services = Services(tmp_path, spark=spark)
    for kind in CASES:
        plant = ALL[kind]
        if plant.settings.get("algorithm", "mondrian") != "mondrian":
            continue
        policy = policy_in(tmp_path, plant.settings)
        with placed("spark", table_with(plant.columns), services) as elsewhere:
            here = points_of(elsewhere.table, policy)
            blocks = points_of(elsewhere.table, policy, blocks=2)
        of_people = " If so, "
        assert [each[3].partition(of_people)[0] for each in blocks] == [
            each[3].partition(of_people)[0] for each in here
        ]


@pytest.mark.parametrize(
    ("name", "place"), crossed(UNREAD, ["polars-lazy", "parquet", "folder-parquet", "duckdb"])
)
def test_what_nobody_reads_is_said_by_the_verifier_too(name, place, tmp_path):
    table, policy = TABLE.with_columns(UNREAD[name].alias(name)), policy_in(tmp_path, plain(name))
    expected = points_of(table, policy)
    assert [(each[0], each[1]) for each in expected] == [("unread-column", (name,))]
    with placed(place, table, Services(tmp_path)) as elsewhere:
        assert points_of(elsewhere.table, policy) == expected
    release = ic.anonymize(table, policy, unanswered="write")
    release.table.write_parquet(tmp_path / "safe.parquet")
    points = ic.verify(tmp_path / "safe.parquet", tmp_path / "policy.toml").points
    assert [(each.name, each.columns, each.share, each.text) for each in points] == expected


def test_every_kind_has_its_case():
    """A new kind is planted here, too, or the other list gives the reason against a plant."""
    told = {*CASES, *(kind for kind in PLANTS if kind not in LEAVING), "unread-column"}
    assert set(KINDS) - told == {"cell", "linked-columns", "linked-tables", "ledger"}
