"""The second reading of linked tables joins the released files itself."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import random

import duckdb
import polars as pl
import pytest

import incrowd as ic
from crossed import quick
from database_tables import HOLDERS, STORES, fill_duckdb, mysql_statement, statement
from emitted_sql import checks, verdict
from incrowd.core.errors import InfeasibleError, ParameterError, PolicyError, SchemaError, TableError
from incrowd.engines.dialects.addresses import Address
from incrowd.faces.cli import main
from incrowd.release.linked.databases import DOCUMENTS
from incrowd_verify.cli import main as verifier
from incrowd_verify.linked import is_linked, linked_checks_as_sql, verify_linked
from linked_readings import SHAPES, draw, fewest, saved

pytestmark = pytest.mark.gated


@pytest.mark.parametrize("seed", quick(range(2 * len(SHAPES)), 0, 3))
def test_views_are_those_of_the_definition(tmp_path, seed):
    tables, terms = draw(seed)
    result = verify_linked(saved(tmp_path / "out", tables, terms))
    assert result.smallest == fewest(tables, terms) == ic.assess_linked(tables, terms).smallest
    assert ("limit" in {point.name for point in result.verdict.points}) == (result.smallest < 2)


@pytest.mark.parametrize("seed", quick(range(3), 0))
def test_a_release_passes_and_a_changed_one_fails(tmp_path, seed):
    tables, terms = draw(seed, k=3, people=60, max_suppression=0.9)
    release = ic.anonymize_linked(tables, terms, unanswered="write")
    out = tmp_path / "out"
    release.save(out)
    for name, frame in tables.items():
        frame.write_csv(tmp_path / f"{name}.csv")
    result = verify_linked(out, against=tmp_path)
    assert (result.people, result.smallest) == (release.view.people, release.view.smallest)
    assert not result.verdict.broken
    people = pl.read_csv(out / "person.csv")
    # Somebody is suppressed in one table and stays in another.
    people[1:].write_csv(out / "person.csv")
    kinds = {point.name for point in verify_linked(out).verdict.broken}
    assert "conformity" in kinds or people["id"][0] not in {*pl.read_csv(out / "visit.csv")["of"]}
    lone = people.with_columns(
        sex=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("x")).otherwise(pl.col("sex"))
    )
    lone.write_csv(out / "person.csv")
    assert "limit" in {point.name for point in verify_linked(out).verdict.broken}


@pytest.mark.slow
def test_diversity_is_read_a_second_time(tmp_path):
    people = pl.DataFrame({"id": list("abcd"), "sex": ["f"] * 4})
    visits = pl.DataFrame({"of": list("abcd"), "ward": ["A"] * 4, "code": list("uuvv")})
    for known in ("all", 1):
        linked = [ic.LinkedTable("person"), ic.LinkedTable("visit", join={"of": "person.id"}, known=known)]
        schema = ic.Schema(["person.sex", "visit.ward"], ["visit.code"], insensitive=["person.id"])
        for least, broken in ((2, False), (3, True)):
            models = [ic.KAnonymity(4), ic.LDiversity(least)]
            terms = ic.LinkedPolicy(linked, ic.Policy(schema, models))
            if broken:
                continue
            out = saved(tmp_path / f"{known}{least}", {"person": people, "visit": visits}, terms)
            assert not verify_linked(out).verdict.broken
            text = (out / "policy.toml").read_text().replace("l = 2", "l = 3")
            (out / "policy.toml").write_text(text)
            assert [point.columns for point in verify_linked(out).verdict.broken] == [("visit.code",)]


def _ill(seed, known):
    """Return random people and visits in few views, with a sensitive number, and their tables as they stand."""
    rng = random.Random(seed)
    people = pl.DataFrame({"id": [f"p{n}" for n in range(12)], "sex": ["f"] * 6 + ["m"] * 6})
    of = (
        [person for person in people["id"] for _ in range(rng.choice((1, 1, 2)))]
        if known != "all"
        else people["id"]
    )
    visits = pl.DataFrame({"of": of, "ward": rng.choices("AAAB", k=len(of))})
    visits = visits.with_columns(cost=pl.Series(rng.choices(range(4), k=len(of))))
    linked = [ic.LinkedTable("person"), ic.LinkedTable("visit", join={"of": "person.id"}, known=known)]
    schema = ic.Schema(["person.sex", "visit.ward"], ["visit.cost"], insensitive=["person.id"])
    return {"person": people, "visit": visits}, linked, schema


@pytest.mark.parametrize(
    "seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    ("model", "known"),
    [
        (ic.LDiversity(1), 1),
        pytest.param(ic.LDiversity(1, "entropy"), 1, marks=pytest.mark.slow),
        pytest.param(ic.LDiversity(1, "entropy"), "all", marks=pytest.mark.slow),
        pytest.param(ic.LDiversity(1, "grassberger"), 2, marks=pytest.mark.slow),
        pytest.param(ic.LDiversity(1, "recursive", 2), 2, marks=pytest.mark.slow),
        pytest.param(ic.LDiversity(1, "recursive", 2), "all", marks=pytest.mark.slow),
        (ic.TCloseness(1), "all"),
        pytest.param(ic.TCloseness(1, distance="equal"), "all", marks=pytest.mark.slow),
    ],
)
def test_each_model_reaches_what_incrowd_says(tmp_path, model, known, seed):
    tables, linked, schema = _ill(seed, known)
    policy = ic.LinkedPolicy(linked, ic.Policy(schema, [ic.KAnonymity(1), model]))
    [reached] = [each.value for each in ic.assess_linked(tables, policy).results if each.model == model.name]
    name = model.limit_name
    worse = -0.01 if name == "t" else 0.01
    for step in (0, worse):
        limit = max(reached + step, 0.0 if name == "t" else 1.0)
        if name == "l" and model.kind in ("distinct", "recursive"):
            limit = max(int(reached) + (step > 0), 1)
        asked = dataclasses.replace(model, **{name: limit})
        out = tmp_path / str(step)
        saved(out, tables, ic.LinkedPolicy(linked, ic.Policy(schema, [ic.KAnonymity(1), asked])))
        holds = limit <= reached + 1e-9 if name == "l" else limit >= reached - 1e-9
        points = [each for each in verify_linked(out).verdict.points if each.name in ("limit", "not-checked")]
        assert {each.columns for each in points} == (set() if holds else {("visit.cost",)})
        assert verdict(linked_checks_as_sql(out)) == holds


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=[pytest.mark.slow] * (seed != 5)) for seed in range(len(SHAPES))],
)
def test_a_script_holds_where_the_views_do_and_notices_a_change(tmp_path, seed):
    tables, terms = draw(seed, people=20)
    least = fewest(tables, terms)
    out = saved(tmp_path / "out", tables, terms)
    text = (out / "policy.toml").read_text()
    for k in (least, least + 1):
        (out / "policy.toml").write_text(text.replace("k = 2", f"k = {k}"))
        script = linked_checks_as_sql(out)
        assert verdict(script) == (k == least)
    (out / "policy.toml").write_text(text.replace("k = 2", "k = 1"))
    script = linked_checks_as_sql(out)
    assert verdict(script)
    # Somebody is gone from the people, and has rows in another table.
    owner = tables["visit"]["of"][0]
    tables["person"].filter(pl.col("id") != owner).write_csv(out / "person.csv")
    assert not verdict(script)
    assert "rows of table visit that belong to nobody" in [
        what for what, holds in checks(script) if not holds
    ]


@pytest.mark.slow
def test_the_commands_write_the_script(tmp_path, monkeypatch, capsys):
    tables, terms = draw(0)
    out = saved(tmp_path / "out", tables, terms)
    for number, entry in enumerate((main, verifier)):
        place = tmp_path / f"{number}.sql"
        words = ["verify"] if entry is main else []
        for force, code in (([], (0, 1)), ([], (2,)), (["--force"], (0, 1))):
            monkeypatch.setattr("sys.argv", ["x", *words, str(out), "--emit-sql", str(place), *force])
            with pytest.raises(SystemExit) as ended:
                entry()
            assert (ended.value.code or 0) in code
        assert place.read_text() == linked_checks_as_sql(out)
        assert f"written: {place}" in capsys.readouterr().out


def test_what_no_script_can_check_is_refused(tmp_path):
    tables, linked, schema = _ill(0, 1)
    terms = ic.LinkedPolicy(linked, ic.Policy(schema, [ic.KAnonymity(1)]))
    out = saved(tmp_path / "out", tables, terms)
    with (out / "policy.toml").open("a") as file:
        file.write('\n[[models]]\nmodel = "t-closeness"\nt = 0.5\n')
    with pytest.raises(ParameterError, match=r"no script can check 't-closeness of visit\.cost"):
        linked_checks_as_sql(out)
    assert "not-checked" in {point.name for point in verify_linked(out).verdict.open}


def test_what_cannot_be_read_is_refused(tmp_path):
    tables, terms = draw(0)
    out = saved(tmp_path / "out", tables, terms)
    assert is_linked(out)
    assert not is_linked(tmp_path)
    whole = (out / "policy.toml").read_text()
    (out / "policy.toml").write_text(
        whole.replace('visit.kind"]\nrole = "quasi"', 'visit.kind"]\nrole = "insensitive"')
    )
    texts = [point.text for point in verify_linked(out).verdict.broken]
    assert "The policy of table visit alone has other quasi columns." in texts
    (out / "policy.toml").write_text(whole)
    (out / "policies" / "visit" / "policy.toml").unlink()
    assert "not-checked" in {point.name for point in verify_linked(out).verdict.open}
    text = (out / "policy.toml").read_text()
    (out / "policy.toml").write_text(text.replace('name = "drug"', 'name = "drug"\nother = 1'))
    with pytest.raises(PolicyError, match="names tables by"):
        verify_linked(out)
    (out / "policy.toml").write_text(text.replace("visit.id", "nothing.id"))
    with pytest.raises(PolicyError, match="no tree"):
        verify_linked(out)
    (out / "policy.toml").write_text(text)
    tables["visit"].drop("of").write_csv(out / "visit.csv")
    with pytest.raises(SchemaError, match="no column 'of'"):
        verify_linked(out)


def test_the_commands_release_and_verify_a_folder(tmp_path, monkeypatch, capsys):
    tables, terms = draw(8, k=2, people=30, max_suppression=0.9)
    raw = tmp_path / "raw"
    raw.mkdir()
    for name, frame in tables.items():
        frame.write_csv(raw / f"{name}.csv")
    terms.write(tmp_path / "policy.toml")

    def call(*words):
        monkeypatch.setattr("sys.argv", ["incrowd", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, capsys.readouterr()

    policy = ("--policy", tmp_path / "policy.toml")
    code, said = call("assess", raw, *policy)
    assert (code, "whoever joins the tables" in said.out) == (1, True)
    code, said = call("anonymize", raw, *policy, "-o", tmp_path / "out", "--unanswered", "write", "--json")
    assert code == 0, said.err
    assert json.loads(said.out)["smallest"] >= 2
    code, said = call("verify", tmp_path / "out", "--against", raw)
    assert "share a view" in said.out
    assert "BROKEN" not in said.out
    code, said = call("anonymize", raw, *policy, "-o", tmp_path / "new", "-k", "3")
    assert (code, "write it into the policy" in said.err) == (2, True)
    code, said = call("suggest", raw / "person.csv", *policy)
    assert (code, "about linked tables" in said.err) == (2, True)
    with pytest.raises(InfeasibleError):
        ic.anonymize_linked(*draw(0, k=7))


# --- databases -------------------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize("where", quick(STORES, "sqlite", "duckdb"))
def test_a_schema_of_a_database_is_read(where, tmp_path, request):
    url = request.getfixturevalue("postgres") if where == "postgresql" else None
    tables, terms = draw(0, k=2, people=20, max_suppression=0.9)
    release = ic.anonymize_linked(tables, terms, unanswered="write")
    address = HOLDERS[where](tables["person"], tmp_path, "person_raw", url)
    for run in {"postgresql": [statement], "mysql": [mysql_statement]}.get(where, []):
        for name in (*tables, DOCUMENTS):
            run(address, f"DROP TABLE IF EXISTS {name}")
    release.into(Address(address))
    release.save(tmp_path / "out")
    tables["person"].write_csv(tmp_path / "person.csv")
    whole = verify_linked(tmp_path / "out", against=tmp_path)
    found = verify_linked(address, against=address, against_table="person_raw")
    assert found.to_dict() == whole.to_dict()
    people = release.tables["person"].with_row_index("n")
    lone = people.select("id", sex=pl.when(pl.col("n") == 0).then(pl.lit("x")).otherwise("sex"))
    HOLDERS[where](lone, tmp_path, "person", url)
    assert verify_linked(address).smallest == 1


def test_what_stands_beside_the_tables_cannot_leave_its_folder(tmp_path):
    for number, path in enumerate(
        ("../policy.toml", "/policy.toml", "a/../../x", "C:policy.toml", "a\\..\\b", "")
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        address = HOLDERS["sqlite"](pl.DataFrame({"path": [path], "content": ["x"]}), folder, DOCUMENTS, None)
        with pytest.raises(TableError, match="a file outside of the release"):
            verify_linked(address)
    plain = HOLDERS["sqlite"](pl.DataFrame({"path": ["a"]}), tmp_path, DOCUMENTS, None)
    with pytest.raises(SchemaError, match="no columns path and content"):
        verify_linked(plain)
    with pytest.raises(ParameterError, match="a script reads linked tables from a folder"):
        linked_checks_as_sql(plain)


@pytest.mark.slow
def test_the_commands_verify_a_database(tmp_path, monkeypatch, capsys):
    tables, terms = draw(0, k=2, people=20, max_suppression=0.9)
    (tmp_path / "clinic.db").unlink(missing_ok=True)
    with contextlib.closing(duckdb.connect(str(tmp_path / "clinic.db"))) as connection:
        connection.execute("CREATE SCHEMA safe")
        for name, frame in tables.items():
            fill_duckdb(connection, frame, name)
    address = f"duckdb:///{tmp_path}/clinic.db"
    ic.anonymize_linked(tables, terms, unanswered="write").into(Address(address), "safe")
    for run, words, said in (
        (
            main,
            ("incrowd", "verify", address, "--table", f"safe.{DOCUMENTS}", "--against", address),
            "share a view",
        ),
        (
            main,
            ("incrowd", "verify", address),
            f"cannot be read; where a schema has it, say --table SCHEMA.{DOCUMENTS}",
        ),
        (
            verifier,
            ("incrowd-verify", address, "--table", f"no.{DOCUMENTS}"),
            f"no.{DOCUMENTS} cannot be read",
        ),
    ):
        monkeypatch.setattr("sys.argv", [*words])
        with pytest.raises(SystemExit) as ended:
            run()
        shown = capsys.readouterr()
        assert said in shown.out + shown.err
        assert ended.value.code == (1 if "share" in said else 2), shown
