"""Addresses that cannot be taken apart get one sentence, which shows no password."""

from __future__ import annotations

import itertools

import pytest

from incrowd.dialects.mysql import MySQL
from incrowd.dialects.snowflake import Snowflake
from incrowd.errors import TableError

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
            found = dialect.parts_of(address)
            assert found.port is None or found.port >= 0
        except TableError as error:
            refused[parts[1]] = str(error)
    assert {"[::1", "[", "h:x", "h:99999999", "[::zz]"} <= refused.keys()
    [said] = {*refused.values()}
    assert dialect.example in said
    assert PASSWORD not in said
    assert "\n" not in said


def test_the_command_line_says_how_to_write_it(tmp_path, monkeypatch, capsys):
    from incrowd.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("incrowd.dialects.mysql.MySQL.imported", lambda *_: None)
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
