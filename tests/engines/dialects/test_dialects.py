"""Every database of the list: each class's statements hold everywhere, and releases equal those of memory."""

from __future__ import annotations

import datetime as dt
import tomllib
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

import incrowd as ic
from crossed import crossed
from database_tables import HOLDERS, as_held, holding
from incrowd.engines.dialects import DIALECTS
from incrowd.engines.dialects.addresses import BEGINNINGS, EXAMPLES, Address, is_address
from incrowd.release.verification import verify

ROOT = Path(__file__).parents[3]
SERVERLESS = {"snowflake": "tests/engines/dialects/test_snowflake.py"}
"""Databases that no server is there for, and the test that holds their SQL against a text."""

SCHEMES = [each.scheme for each in DIALECTS]
PEOPLE = pl.DataFrame(
    {
        "age": [30, 31, 32, 33, 40, 41, None, 43],
        "weight": [1.5, 2.5, None, 0.1, -0.0, 0.0, float("nan"), 9.0],
        "town": ["a", "a ", "A", "Ä", None, "*", "'x'", "\\"],
        "day": [dt.date(2020, 1, 1 + n) for n in range(8)],
        "cost": [Decimal(f"{n}.10") for n in range(8)],
        "name": ["p", "p", "q", "r", "s", "t", None, "u"],
        "disease": list("xyxyxyxy"),
    }
)
QUASI = ["age", "weight", "town", "day", "cost"]


@pytest.mark.parametrize("dialect", DIALECTS, ids=SCHEMES)
def test_what_a_class_states_is_everywhere(dialect):
    assert dialect.scheme == dialect.scheme.lower()
    assert dialect.example.startswith(dialect.scheme + (":///" if not dialect.server else "://"))
    assert dialect.example in EXAMPLES
    assert Address(dialect.example).dialect is dialect
    for scheme in (dialect.scheme, *dialect.other_schemes):
        assert is_address(f"{scheme.upper()}:///x")
    assert str(Address(f"{dialect.scheme}://me:SECRET@host/x?y=SECRET")).count("SECRET") == 0
    assert f"{dialect.scheme}:" in "".join(BEGINNINGS)
    helped = (ROOT / "docs" / "cli.md").read_text()
    assert dialect.example in "".join(helped.split()), "run make docs"


@pytest.mark.parametrize("dialect", DIALECTS, ids=SCHEMES)
def test_the_pages_and_the_extras_have_it(dialect):
    page = (ROOT / "docs" / "databases.md").read_text()
    assert dialect.title in page, "say in docs/databases.md what it needs and how its values are read"
    if dialect.driver is not None:
        package, extra = dialect.driver
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        assert any(each.startswith(package) for each in extras[extra]), "list the driver in pyproject.toml"
        assert f"'.[{extra}]'" in page, "say in docs/databases.md which extra it needs"
        assert f"'.[{extra}]'" in (ROOT / "docs" / "how-to" / "install.md").read_text()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_there_is_a_way_to_try_it(scheme):
    text = "say in HOLDERS of tests/database_tables.py how a frame gets into it"
    assert (scheme in HOLDERS) != (scheme in SERVERLESS), text
    assert all((ROOT / path).is_file() for path in SERVERLESS.values())


@pytest.mark.parametrize(("where", "persons"), crossed(HOLDERS, [False, True]))
def test_a_release_is_that_of_memory(where, persons, request, tmp_path):
    url = request.getfixturevalue("postgres") if where == "postgresql" else None
    frame = as_held(where, PEOPLE)
    name = ic.Attribute("name", "person" if persons else "identifying")
    schema = ic.Schema.of_attributes(
        [*(ic.Attribute(each, "quasi") for each in QUASI), name, ic.Attribute("disease", "sensitive")]
    )
    expected = ic.anonymize(frame, schema, [ic.KAnonymity(2)])
    expected.policy.write(tmp_path / "policy.toml")
    with holding(where, frame, url) as table:
        release = ic.anonymize(table, schema, [ic.KAnonymity(2)])
        assert ordered(release.table.fetch()) == ordered(expected.table)
        assert release.privacy.privacy == expected.privacy.privacy
        release.into("safe", force=True)
        address = table.database.address.url
        assert ordered(pl.concat(table.database.table("safe").rows())) == ordered(expected.table)
        if not persons:
            # DuckDB opens a file once.
            table.database.close()
            policy = tmp_path / "policy.toml"
            verification = verify(address, policy, table="safe", against=address, against_table="people")
            assert (verification.ok, verification.problems, verification.unchecked) == (True, (), ())


def ordered(frame):
    return sorted(map(str, frame.rows()))
