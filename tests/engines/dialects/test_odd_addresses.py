"""Addresses that cannot be parsed get a single sentence, which shows no password."""

from __future__ import annotations

import itertools
import os
import socket

import duckdb
import pytest

import incrowd as ic
from incrowd.core.errors import TableError
from incrowd.engines.dialects.mysql import MySQL
from incrowd.engines.dialects.snowflake import Snowflake

PASSWORD = "S3CRET"
LOGINS = [
    "",
    "u@",
    f"u:{PASSWORD}@",
    f"u:{PASSWORD}[@",
    f"u:{PASSWORD}]@",
    f"u:{PASSWORD}/x@",
    f"u:{PASSWORD}#@",
]
HOSTS = ["", "h", "[::1]", "[::1", "::1]", "[", "]", "[]", "[::zz]", "[v1.x]", "h:x", "h:-1", "h:99999999",
         "h:", "[::1]:x", "ä", "\u2100", "h h", "%zz", "h:\u0663"]  # fmt: skip
ENDS = ["", "/", "/db", "/db?x=[", "?", "/[db"]


@pytest.mark.parametrize("dialect", [MySQL, Snowflake])
def test_an_odd_address_is_taken_apart_or_refused(dialect):
    refused = {}
    for parts in itertools.product(LOGINS, HOSTS, ENDS):
        address = f"{dialect.scheme}://{''.join(parts)}"
        try:
            result = dialect.parts_of(address)
            assert result.port is None or result.port >= 0
        except TableError as error:
            refused[parts[1]] = str(error)
    assert {"[::1", "[", "h:x", "h:99999999", "[::zz]"} <= refused.keys()
    [said] = {*refused.values()}
    assert dialect.example in said
    assert PASSWORD not in said
    assert "\n" not in said


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes and devices among its files")
@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
def test_what_is_no_file_of_a_database_is_refused_in_a_sentence(tmp_path, monkeypatch, scheme):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    os.mkdir("folder")
    os.symlink("loop", "loop")
    for path in ("pipe", "folder", "loop", "/dev/zero", "/dev/tty", "none/none", "n" * 5_000, "a\0b"):
        with pytest.raises(TableError, match=r"there is no such file|NUL character"):
            ic.Database(f"{scheme}:///{path}")
    assert sorted(os.listdir()) == ["folder", "loop", "pipe"]


def test_the_name_of_a_table_of_duckdb_reads_no_file_and_asks_no_server(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    duckdb.connect("people.duckdb").execute("CREATE TABLE people AS SELECT 1 AS age").close()
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        at = f"http://127.0.0.1:{server.getsockname()[1]}/x.csv"
        names = ("other.csv", str(tmp_path / "other.csv"), "*.csv", "/etc/passwd", at, "glob('/*')")
        for name in names:
            with ic.Database("duckdb:///people.duckdb") as database:
                with pytest.raises(TableError, match="there is no table"):
                    database.table(f'"{name}"')
                # What was asked for wrongly can be asked for again.
                assert database.table("people").columns == ["age"]
        with pytest.raises(TimeoutError):
            server.accept()


def test_the_command_line_says_how_to_write_it(tmp_path, monkeypatch, capsys):
    from incrowd.faces.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("incrowd.engines.dialects.mysql.MySQL.imported", lambda *_: None)
    (tmp_path / "policy.toml").write_text("")
    for host in ("[::1", "h:x", "[::zz]"):
        address = f"mysql://u:{PASSWORD}@{host}/db"
        call = ["incrowd", "assess", address, "--table", "t", "--qi", "age"]
        monkeypatch.setattr("sys.argv", call)
        with pytest.raises(SystemExit) as stop:
            main()
        said = capsys.readouterr().err
        assert stop.value.code == 2
        assert said.startswith("incrowd: MySQL: the address cannot be read; write it as mysql://")
        assert said.count("\n") == 1
        assert PASSWORD not in said
