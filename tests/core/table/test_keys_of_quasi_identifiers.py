"""People and households that are named by several columns, some of which are quasi-identifiers, too."""

from __future__ import annotations

import contextlib
import random

import polars as pl
import pytest

import incrowd as ic
from database_tables import PLACES, holding
from incrowd.core.errors import PolicyError, SchemaError
from incrowd.engines import engine_for
from incrowd.release.policy.policy import Policy
from incrowd.release.verification import verify
from incrowd_verify.policy import read_policy

MODELS = [ic.KAnonymity(5), ic.LDiversity(2)]


def schema_of(party, key):
    return ic.Schema(quasi=["region", "age"], sensitive=["ill"], unlisted="drop", **{party: key})


@pytest.fixture(scope="module")
def homes():
    """Numbers of homes begin anew in each region, and `home` names each by a single column."""
    draw = random.Random(3)
    rows = [
        (f"{region}{number}", region, number, draw.randint(20, 60), draw.choice(("flu", "gout", "cold")))
        for region in ("north", "south", "east", "west")
        for number in range(1, 41)
        for _ in range(draw.choice((1, 2, 3)))
    ]
    return pl.DataFrame(rows, ["home", "region", "number", "age", "ill"], orient="row")


@contextlib.contextmanager
def stored(frame, kind, folder, request):
    if kind in PLACES:
        url = request.getfixturevalue("postgres") if kind == "postgresql" else None
        with holding(kind, frame, url) as table:
            yield table
        return
    if kind == "spark":
        yield request.getfixturevalue("spark").createDataFrame(frame.to_arrow())
        return
    if kind in ("csv", "parquet"):
        getattr(frame, f"write_{kind}")(folder / f"t.{kind}")
        yield ic.scan(folder / f"t.{kind}", memory="64MiB")
        return
    yield frame.lazy() if kind == "lazy" else frame


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "kind", ["frame", "lazy", "csv", "parquet", *PLACES, pytest.param("spark", marks=pytest.mark.slow)]
)
def test_every_engine_counts_by_the_raw_values(homes, tmp_path, kind, request):
    with stored(homes, kind, tmp_path, request) as table:
        people, lived = (
            [ic.assess(table, schema_of(party, key), MODELS) for key in (["region", "number"], "home")]
            for party in ("person", "household")
        )
        both = ic.Schema(quasi=["region", "age"], household=["region", "number"],
                         person=["region", "number", "age"], unlisted="drop")  # fmt: skip
        members = engine_for(table).count(both).frequency
        assert members.people.number == homes.select("home", "age").n_unique()
        assert members.survey.households.home.max() + 1 == 160
    for found in (people, lived):
        assert dict(found[0].risk) == dict(found[1].risk)
        assert [each.value for each in found[0].privacy] == [each.value for each in found[1].privacy]
    merged = ic.assess(homes, schema_of("household", "number"))
    assert lived[0].risk["household"] != merged.risk["household"]


@pytest.mark.few(1)
@pytest.mark.parametrize("algorithm", ["mondrian", "optimal"])
def test_a_release_and_its_verification(homes, tmp_path, algorithm):
    policies = [
        Policy(schema_of("person", key), MODELS, algorithm=algorithm, max_suppression=0.5)
        for key in (["region", "number"], "home")
    ]
    release, other = (ic.anonymize(homes, policy) for policy in policies)
    assert release.table.columns == ["region", "age", "ill"]
    assert dict(release.risk["prosecutor"]) == dict(other.risk["prosecutor"])
    release.save(tmp_path / "out")
    homes.write_csv(tmp_path / "raw.csv")
    schema = Policy.read(tmp_path / "out" / "policy.toml").schema
    assert (schema.person, schema["region"].role) == (("number", "region"), "quasi")
    assert {each.name for each in read_policy(tmp_path / "out" / "policy.toml").person} == {
        "number",
        "region",
    }
    released = tmp_path / "out" / "release.csv"
    rows = tmp_path / "out" / "internal" / "rows.parquet"
    verification = verify(
        released, tmp_path / "out" / "policy.toml", against=tmp_path / "raw.csv", row_map=rows
    )
    assert verification.people.people == 160
    assert verification.ok
    alone = verify(released, tmp_path / "out" / "policy.toml")
    assert not alone.ok
    assert any("does not say whose" in each for each in alone.unchecked)


def test_the_next_batch_counts_who_comes_again(homes, tmp_path):
    schema = schema_of("person", ["region", "number"])
    policy = Policy(schema, [ic.KAnonymity(5)], algorithm="optimal")
    release = ic.anonymize(homes, policy)
    release.save(tmp_path / "out")
    # The people of one region come again in all rows, and those of the others do not.
    batch = homes.filter(pl.col("region") == "north")
    applied = ic.apply_recoding(
        tmp_path / "out" / "internal" / "recoding",
        batch,
        policy,
        previous_release=release.table,
        previous_table=homes,
        previous_row_map=tmp_path / "out" / "internal" / "rows.parquet",
    )
    by_home = Policy(schema_of("person", "home"), [ic.KAnonymity(5)], algorithm="optimal")
    once = ic.anonymize(homes, by_home)
    once.save(tmp_path / "once")
    same = ic.apply_recoding(
        tmp_path / "once" / "internal" / "recoding",
        batch,
        by_home,
        previous_release=once.table,
        previous_table=homes,
        previous_row_map=tmp_path / "once" / "internal" / "rows.parquet",
    )
    assert dict(applied.together.risk) == dict(same.together.risk)
    assert applied.together.people.people == 160


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ('role = "quasi"\nkey_of = ["person"]\ntreat = "round:5"', "treatment"),
        ('role = "sensitive"\nkey_of = ["person"]', "key_of"),
        ('role = "person"\nkey_of = ["person"]', "key_of"),
        ('role = "quasi"\nkey_of = ["family"]', "key_of"),
    ],
)
def test_keys_that_cannot_be(tmp_path, column, message):
    path = tmp_path / "policy.toml"
    path.write_text(
        f'version = 1\n[columns.a]\n{column}\n[columns.q]\nrole = "quasi"\n'
        '[[models]]\nmodel = "k-anonymity"\nk = 2\n',
        encoding="utf-8",
    )
    with pytest.raises((PolicyError, SchemaError), match=message):
        Policy.read(path)
    with pytest.raises(PolicyError, match=message):
        read_policy(path)


def test_people_cannot_be_counted_beside_perturbed_values():
    with pytest.raises(SchemaError, match=r"'region' names people.*'ill' is perturbed"):
        ic.Schema(
            quasi=["region"], sensitive=["ill"], person=["region", "number"],
            treatments={"ill": "pram:0.1"},
        )  # fmt: skip


@pytest.mark.parametrize("role", ["identifying", "sensitive", "insensitive"])
def test_other_pairs_of_roles_are_refused(role):
    with pytest.raises(SchemaError, match="give it one role"):
        ic.Schema(quasi=["age"], person=["region", "number"], **{role: ["region"]})


@pytest.mark.parametrize("party", ["person", "household"])
def test_a_quasi_identifier_alone_names_nobody(party):
    with pytest.raises(SchemaError, match=f"both {party} and quasi"):
        ic.Schema(quasi=["region"], **{party: "region"})


def test_a_pseudonym_of_a_part_of_the_name_is_refused():
    with pytest.raises(SchemaError, match=r"'region' names people.*'number'"):
        ic.Schema(
            quasi=["region"], person=["region", "number"], linked=True,
            treatments={"number": ic.Pseudonym("hmac", key="env:KEY")},
        )  # fmt: skip
