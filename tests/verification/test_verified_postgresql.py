"""Tables of a real PostgreSQL server: typed columns, and releases that were tampered with."""

from __future__ import annotations

import pytest

import incrowd as ic
from crossed import quick
from database_tables import statement
from incrowd.release.verification import verify

# name: type and value of row g, of 12.
TYPED = {
    "small": ("int2", "g"),
    "large": ("int8", "9007199254740993 + g"),
    "number": ("numeric", "CASE WHEN g < 4 THEN 'NaN' ELSE g / 4.0 END"),
    "money": ("numeric(8,2)", "CASE WHEN g < 4 THEN 'NaN' ELSE g * 1.1 END"),
    "single": ("float4", "g / 3.0"),
    "double": ("float8", "CASE WHEN g < 4 THEN 'NaN' ELSE g / 3.0 END"),
    "truth": ("bool", "g % 2 = 0"),
    "day": ("date", "date '2024-01-01' + g"),
    "at": ("timestamp", "timestamp '2024-01-01 10:00' + g * interval '1 hour 1 second 250 ms'"),
    "midnight": ("timestamp", "timestamp '2024-01-01' + g * interval '1 day'"),
    "zoned": ("timestamptz", "timestamptz '2024-01-01 10:00+02' + g * interval '1 hour'"),
    "word": ("text", "CASE WHEN g % 3 = 0 THEN NULL ELSE 'w ' || g % 4 END"),
    "padded": ("char(5)", "'c' || g % 3"),
    "quoted": ("varchar(9)", "'{' || g % 3 || ', \"\\'"),
    "mood": ("v_mood", "(ARRAY['sad', 'ok', 'happy'])[1 + g % 3]::v_mood"),
    "domain": ("v_cents", "g * 1.10"),
}
SENSITIVE = ("small", "number", "money", "double", "truth", "day", "at", "zoned", "word", "domain")
QUICK = ("number", "double", "truth", "day", "word")
"""Types that every run tries as sensitive ones; it tries the others as quasi-identifiers."""
ALIKE = ("single", "midnight", "padded", "small", "money")
"""Types like another one, which every run tries."""


@pytest.fixture(scope="module")
def server(postgres):
    """A table of all types, where sessions write days, times and numbers in rare forms."""
    columns = ", ".join(f"({value})::{kind} AS {name}" for name, (kind, value) in TYPED.items())
    name = "(SELECT current_database())"
    settings = {"datestyle": "SQL, DMY", "timezone": "Asia/Tokyo", "extra_float_digits": "-3"}
    statement(
        postgres,
        "DROP TABLE IF EXISTS v_people, v_safe", "DROP DOMAIN IF EXISTS v_cents, v_plain", "DROP TYPE IF EXISTS v_mood",
        "CREATE TYPE v_mood AS ENUM ('sad', 'ok', 'happy')",
        "CREATE DOMAIN v_plain AS numeric(10,3)", "CREATE DOMAIN v_cents AS v_plain",
        f"CREATE TABLE v_people AS SELECT {columns}, 'p' || g AS name, g % 4 AS ward FROM generate_series(1, 12) AS g",
        *(f"DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET {key} = ''{value}''', {name}); END $$"
          for key, value in settings.items()),
    )  # fmt: skip
    yield postgres
    statement(postgres, f"DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET ALL', {name}); END $$")


def released(server, policy, path):
    """Release into the table v_safe and into a file, and return the measures."""
    with ic.Database(server) as database:
        release = ic.anonymize(database.table("v_people"), policy, unanswered="write")
        release.write(path)
        release.into("v_safe", force=True)
    return release


def beside(server, policy, release, table=None):
    return verify(release, policy, table=table, against=server, against_table="v_people")


@pytest.mark.slow
@pytest.mark.parametrize("name", quick(TYPED, *(name for name in TYPED if name not in (*QUICK, *ALIKE))))
def test_releases_of_typed_columns_hold_and_tampered_ones_do_not(server, tmp_path, name):
    others = [ic.Attribute(other, "insensitive") for other in TYPED if other != name]
    schema = ic.Schema.of_attributes([ic.Attribute(name, "quasi"), *others], unlisted="drop")
    # Of rounded ends, those of one class may cover the other.
    policy = ic.Policy(schema, (ic.KAnonymity(3),), ends="exact")
    policy.write(tmp_path / "policy.toml")
    release = released(server, policy, tmp_path / "safe.parquet")
    assert release.privacy.classes > 1
    for place, table in ((server, "v_safe"), (tmp_path / "safe.parquet", None)):
        result = beside(server, tmp_path / "policy.toml", place, table)
        assert (result.keeps_limits, result.problems, result.unchecked, result.classes) == (
            True,
            (),
            (),
            release.privacy.classes,
        )
    # A class gets the cell of another: the model holds, the cells are untrue.
    statement(server, f"UPDATE v_safe SET {name} = (SELECT max({name}) FROM v_safe) "
              f"WHERE {name} IS NULL OR {name} = (SELECT min({name}) FROM v_safe)")  # fmt: skip
    assert verify(server, tmp_path / "policy.toml", table="v_safe").keeps_limits
    result = beside(server, tmp_path / "policy.toml", server, "v_safe")
    assert "records have cells that are true of too few records" in " ".join(result.problems)


@pytest.mark.slow
@pytest.mark.parametrize("name", quick(SENSITIVE, *QUICK))
def test_figures_of_typed_sensitive_columns(server, tmp_path, name):
    models = (ic.KAnonymity(2), ic.LDiversity(1), ic.TCloseness(1.0))
    policy = ic.Policy(
        ic.Schema.of_attributes(
            [ic.Attribute("ward", "quasi"), ic.Attribute(name, "sensitive")], unlisted="drop"
        ),
        models,
    )
    policy.write(tmp_path / "policy.toml")
    release = released(server, policy, tmp_path / "safe.parquet")
    expected = {each.model: each.value for each in release.privacy.privacy if each.limit is not None}
    for place, table in ((server, "v_safe"), (tmp_path / "safe.parquet", None)):
        verification = beside(server, tmp_path / "policy.toml", place, table)
        assert (verification.keeps_limits, verification.problems) == (True, ())
        for finding in verification.findings:
            assert finding.reached == pytest.approx(expected[finding.model], abs=1e-12), finding.model
    statement(server, f"UPDATE v_safe SET {name} = (SELECT max({name}::text) FROM v_safe)::{TYPED[name][0]}")
    verification = beside(server, tmp_path / "policy.toml", server, "v_safe")
    assert f"the column(s) '{name}' differ from the raw table" in " ".join(verification.problems)
