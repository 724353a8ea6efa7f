"""Points of time with a zone: the clock there shows the day, for the release and for the verifier."""

from __future__ import annotations

import datetime as dt
import random

import polars as pl
import pytest

import incrowd as ic
from incrowd.release.verification import verify

ZONES = ("Europe/Rome", "America/New_York", "Asia/Kolkata", "Pacific/Chatham", "America/St_Johns", "UTC")
CHANGES = (
    dt.datetime(2025, 3, 30, 1),
    dt.datetime(2025, 10, 26, 1),
    dt.datetime(2025, 3, 9, 7),
    dt.datetime(2025, 6, 30, 22),
)
"""Near clocks that go forward or back, and near midnight, in UTC."""


def table(zone: str, seed: int) -> pl.DataFrame:
    draw = random.Random(seed)
    times = [draw.choice(CHANGES) + dt.timedelta(minutes=15 * draw.randrange(-40, 40)) for _ in range(120)]
    seen = pl.Series(times, dtype=pl.Datetime("us")).dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    return pl.DataFrame(
        {"seen": seen, "age": [30 + n % 3 for n in range(120)], "ill": [f"i{n % 4}" for n in range(120)]}
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("recipe", [["month", "year"], ["quarter", "year"]])
@pytest.mark.parametrize("zone", ZONES)
def test_a_release_of_local_days_is_right_by_local_days(tmp_path, zone, recipe):
    raw = table(zone, len(zone))
    raw.write_parquet(tmp_path / "raw.parquet")
    seen = ic.Attribute("seen", "quasi", hierarchy=ic.Hierarchy.dates(*recipe))
    schema = ic.Schema.of_attributes([seen, ic.Attribute("age", "quasi"), ic.Attribute("ill", "insensitive")])
    release = ic.anonymize(
        tmp_path / "raw.parquet", ic.Policy(schema, [ic.KAnonymity(4)]), unanswered="write"
    )
    release.save(tmp_path / "out")
    safe = next(path for path in (tmp_path / "out").glob("release.*") if path.suffix != ".json")
    beside = {"against": tmp_path / "raw.parquet", "row_map": tmp_path / "out" / "internal" / "rows.parquet"}
    verification = verify(safe, tmp_path / "out" / "policy.toml", **beside)
    assert verification.problems == ()
    assert verification.verdict == release.verdict


def test_a_cell_of_the_day_in_utc_is_not_true(tmp_path):
    """Half past midnight in Rome is the evening before in UTC."""
    late = pl.Series([dt.datetime(2025, 6, 30, 22, 30)] * 8).dt.replace_time_zone("UTC")
    raw = pl.DataFrame({"seen": late.dt.convert_time_zone("Europe/Rome")})
    raw.write_parquet(tmp_path / "raw.parquet")
    (tmp_path / "policy.toml").write_text(
        'version = 1\nkeep_order = true\n[columns.seen]\nrole = "quasi"\nhierarchy = { dates = ["month"] }\n'
        '[[models]]\nmodel = "k-anonymity"\nk = 2\n'
    )
    for month, wrong in (("2025-07", 0), ("2025-06", 1)):
        pl.DataFrame({"seen": [month] * 8}).write_csv(tmp_path / "safe.csv")
        verification = verify(
            tmp_path / "safe.csv", tmp_path / "policy.toml", against=tmp_path / "raw.parquet"
        )
        assert len(verification.problems) == wrong
