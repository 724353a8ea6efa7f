"""Each connection of DuckDB that is opened here reaches the named files, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import polars as pl
import pytest

import incrowd as ic
from incrowd.core.errors import TableError
from incrowd.engines import spilling
from incrowd.engines.dialects.duckdb import DuckDB
from incrowd.release.verification import checks_as_sql, verify
from incrowd_verify import source as reading
from package_sources import sources

POLICY = (
    "version = 1\n[columns.age]\nrole = 'quasi'\nkind = 'number'\n[[models]]\nmodel = 'k-anonymity'\nk = 2\n"
)


@pytest.fixture
def folder(tmp_path) -> Path:
    """A release with a policy, and files that nobody names."""
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "safe.csv").write_text("age\n" + "[1-5]\n" * 4)
    pl.DataFrame({"age": [1, 1, 2, 2] * 20}).write_parquet(tmp_path / "people.parquet")
    (tmp_path / "other.csv").write_text("age\n7\n7\n")
    with duckdb.connect(tmp_path / "people.duckdb") as con:
        con.execute("CREATE TABLE people AS SELECT range % 2 AS age FROM range(8)")
        con.execute("CREATE VIEW seen AS SELECT * FROM people")
        other = str(tmp_path / "other.csv")
        con.execute(f"CREATE VIEW reaching AS SELECT * FROM read_csv('{other}', header = true)")
    return tmp_path


def escapes(folder: Path) -> list[str]:
    """Statements that reach elsewhere, fetch or load something, or change a setting."""
    other, new = folder / "other.csv", folder / "new"
    return [
        *(f"SELECT * FROM {reader}('{other}')" for reader in ("read_csv", "read_text", "read_blob", "sniff_csv")),
        f"SELECT * FROM '{other}'",
        f"SELECT * FROM glob('{folder}/*')",
        f"SELECT * FROM read_text('{folder}/sub/../other.csv')",
        "SELECT content FROM read_text('/etc/hostname')",
        "SELECT * FROM read_csv('https://example.org/a.csv')",
        *(f"COPY (SELECT 1 AS a) TO '{new}.{kind}' (FORMAT {kind})" for kind in ("csv", "parquet", "json")),
        f"EXPORT DATABASE '{new}'",
        f"ATTACH '{new}.duckdb' AS elsewhere",
        "INSTALL httpfs",
        "LOAD httpfs",
        "FORCE INSTALL spatial FROM community",
        f"LOAD '{new}.duckdb_extension'",
        *(f"SET {setting}" for setting in ("enable_external_access = true", "lock_configuration = false", "allowed_paths = ['/']",
           "allowed_directories = ['/']", "temp_directory = '/tmp'", "autoload_known_extensions = true", "threads = 1",
           "python_enable_replacements = true", "allow_unsigned_extensions = true")),
        "CREATE SECRET (TYPE s3)",
        "SELECT * FROM unnamed",
    ]  # fmt: skip


def of_verifier(folder: Path, monkeypatch, probe):
    caught(monkeypatch, reading, probe)
    verify(folder / "safe.csv", folder / "policy.toml")


def of_script(folder: Path, monkeypatch, probe):
    caught(monkeypatch, reading, probe)
    checks_as_sql(folder / "safe.csv", folder / "policy.toml")


def of_spilling(folder: Path, monkeypatch, probe):
    caught(monkeypatch, spilling, probe)
    ic.anonymize(f"{folder}/peo*.parquet", ic.Schema(quasi=["age"]), "k-anonymity:2")


def of_dialect(folder: Path, monkeypatch, probe):
    session = DuckDB(folder / "people.duckdb")
    session.described(("seen",))
    probe(session._connection)


def caught(monkeypatch, module, probe):
    """Look at each connection directly after the lock."""
    locking = module.lock

    def lock(connection, *words):
        locking(connection, *words)
        probe(connection)

    monkeypatch.setattr(module, "lock", lock)


@pytest.mark.few(1)
@pytest.mark.parametrize("opened", [of_verifier, of_script, of_spilling, of_dialect])
def test_nothing_else_is_reached(opened, folder, monkeypatch):
    unnamed = pl.DataFrame({"a": [1]})
    assert len(unnamed)
    probed = []

    def probe(con) -> None:
        before = {path.name for path in folder.rglob("*")}
        assert con.execute("SELECT current_setting('lock_configuration')").fetchone() == (True,)
        for statement in escapes(folder):
            with pytest.raises(duckdb.Error):
                con.execute(statement).fetchall()
            probed.append(statement)
        assert {path.name for path in folder.rglob("*")} == before

    opened(folder, monkeypatch, probe)
    assert set(probed) == set(escapes(folder))


def test_a_view_of_other_files_is_refused_and_one_of_tables_is_read(folder):
    schema = ic.Schema(quasi=["age"])
    with ic.Database(f"duckdb:///{folder}/people.duckdb") as database:
        assert ic.assess(database.table("seen"), schema).records == 8
        with pytest.raises(TableError, match="a view of other files is refused"):
            ic.assess(database.table("reaching"), schema)
    with pytest.raises(TableError, match="cannot be read"):
        verify(f"duckdb:///{folder}/people.duckdb", folder / "policy.toml", table="reaching")
    assert verify(f"duckdb:///{folder}/people.duckdb", folder / "policy.toml", table="seen").records == 8


def test_a_locked_database_is_connected_to_again(folder):
    address, schema = f"duckdb:///{folder}/people.duckdb", ic.Schema(quasi=["age"])
    unnamed = pl.DataFrame({"a": [1]})
    assert len(unnamed)
    with (
        duckdb.connect(folder / "people.duckdb"),
        ic.Database(address) as database,
    ):  # the first keeps the lock
        assert ic.assess(database.table("seen"), schema).records == 8
        with ic.Database(address) as again:
            assert ic.assess(again.table("people"), schema).records == 8
        with pytest.raises(duckdb.CatalogException):
            DuckDB(folder / "people.duckdb")._connection.execute("SELECT * FROM unnamed")


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["a[1]*?.csv", "it's.csv", "ü b.csv", "plain.csv"])
def test_named_files_are_read_whatever_they_are_called(name, folder, monkeypatch):
    (folder / "deep").mkdir()
    (folder / "deep" / name).write_bytes((folder / "safe.csv").read_bytes())
    monkeypatch.chdir(folder)
    for path in (folder / "deep" / name, Path("deep") / name, Path("deep") / ".." / "deep" / name):
        assert verify(path, "policy.toml").records == 4
    (folder / "link").symlink_to(folder / "deep")
    assert verify(folder / "link" / name, "policy.toml").records == 4
    assert verify(folder / "deep", "policy.toml").records == 4
    assert verify(f"{folder}/de*/*.csv", "policy.toml").records == 4


def test_every_connection_of_the_package_is_one_of_these():
    names = [
        path.name for path in sources() for _ in re.findall(r"\bduckdb\.connect\(", path.read_text("utf-8"))
    ]
    # The last is the example of `lock`.
    assert sorted(names) == ["duckdb.py", "duckdb.py", "source.py", "spilling.py"]
