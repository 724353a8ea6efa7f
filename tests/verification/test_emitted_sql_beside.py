"""Scripts that look beside the release: people, populations, raw tables, folders, databases and spelled columns."""

from __future__ import annotations

import contextlib
import gzip
import random

import duckdb
import polars as pl
import pytest

import incrowd as ic
from crossed import crossed
from emitted_sql import by_kind_and_wildcards, failed, told, verdict
from incrowd.release.verification import checks_as_sql, verify
from model_readings import at_limit, limits, variants
from people_readings import people_table
from policy_texts import K2, entry, policy_text

TOWNS = {"*": {"ab": ["a", "b"], "cd": ["c", "d"]}}


def write_tables(folder, rows):
    """Write the raw table and the release, with rows in the same order."""
    raw = pl.DataFrame(rows, schema=["person", "q", "s"], orient="row")
    raw.write_csv(folder / "raw.csv")
    raw.select(pl.col("q").replace({"a": "ab", "b": "ab", "c": "cd", "d": "cd"}), "s").write_csv(
        folder / "t.csv"
    )


def people_rows(number, values):
    """Rows of people with several rows, and a row without a name."""
    chance = random.Random(number)
    named = [f"p{chance.randrange(number)}" for _ in range(3 * number)]
    return [
        (name if place else None, chance.choice("abcd"), str(chance.randrange(values)))
        for place, name in enumerate(named)
    ]


def findings_of(result):
    return [(each.model, each.quantity, each.reached) for each in result.findings]


def at_what_is_reached(models, given, write):
    """Give every model the limit that the table reaches, a limit for each quantity."""
    write(models)
    result = []
    places = iter(findings_of(verify(**given)))
    for model in models:
        for _ in limits(model) or [""]:
            _, quantity, reached = next(places)
            if quantity not in limits(model) or reached is None:
                result.append(model)
                continue
            whole = model.parameters()[quantity].kind is int
            with contextlib.suppress(ic.ParameterError):
                result.append(at_limit(model, quantity, int(reached) if whole else reached))
    return result


def holding(checks):
    known = set(ic.MODELS.names())
    by_model = [(check.split()[0], holds) for check, holds in checks]
    return sorted((model, holds) for model, holds in by_model if model in known)


@pytest.mark.slow
@by_kind_and_wildcards
def test_limits_about_people_hold_where_verify_says_so(tmp_path, kind, wildcards):
    """All models, also of populations and histories, at the limits that are reached."""
    rows = people_rows(7, 3)
    tree = ic.Hierarchy.from_nested({"*": {"low": ["0", "1"], "high": ["2"]}})
    sensitive = {"number": "number", "category": "category", "tree": tree}[kind]
    everybody = [(f"p{number}", "abcd"[number % 4]) for number in range(40)]
    pl.DataFrame(everybody, schema=["person", "q"], orient="row").write_csv(tmp_path / "people.csv")
    settings = {
        "path": tmp_path / "t.csv",
        "policy_path": tmp_path / "policy.toml",
        "against": tmp_path / "raw.csv",
        "population": tmp_path / "people.csv",
    }

    def write(models):
        schema = ic.Schema({"q": ic.Hierarchy.from_nested(TOWNS)}, {"s": sensitive}, person="person")
        policy = ic.Policy(schema, tuple(models), wildcards=wildcards, keep_order=True)
        policy.write(tmp_path / "policy.toml", force=True)

    write_tables(tmp_path, rows)
    models = []
    for model in variants(kind):
        with contextlib.suppress(ic.ParameterError):
            model.check_wildcards(wildcards)
            models.append(model)
    assert models
    models = at_what_is_reached(models, settings, write)
    write(models)
    seen = set()
    for how in range(3):
        result = verify(**settings)
        expected = sorted((each.model, bool(each.holds)) for each in result.findings)
        satisfied, checks = told(checks_as_sql(**settings))
        assert holding(checks) == expected, how
        assert satisfied == result.keeps_limits
        seen |= set(expected)
        place = random.Random(how).randrange(len(rows))
        rows[place] = (rows[place - 1][0], *rows[place][1:])
        rows.pop(place - 3)
        write_tables(tmp_path, rows)
    assert {"km-anonymity", "k-map", "k-anonymity"} & {
        name for name, holds in seen if holds
    } or wildcards != "value"
    assert len({name for name, holds in seen if not holds}) > 2


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A saved release of people with a row map and attackers."""
    folder = tmp_path_factory.mktemp("saved")
    people_table(3, 60).write_csv(folder / "raw.csv")
    schema = ic.Schema(
        quasi={"age": ic.Hierarchy.intervals(2, 4, 8, 16), "town": ic.Hierarchy.from_nested(TOWNS)},
        sensitive={"ill": "category", "cost": "number"},
        person="person",
        unlisted="drop",
    )
    models = [ic.KAnonymity(2), ic.LDiversity(2, attribute="ill"), ic.KMAnonymity(2, power=2)]
    models.append(ic.Attacker("neighbour", ["age"], [ic.KAnonymity(4)]))
    release = ic.anonymize(
        folder / "raw.csv", schema, models, "optimal", max_suppression=0.3, unanswered="write"
    )
    release.save(folder / "out")
    return {
        "path": folder / "out/release.csv",
        "policy_path": folder / "out/internal/policy.toml",
        "against": folder / "raw.csv",
        "row_map": folder / "out/internal/rows.parquet",
    }


@pytest.mark.slow
def test_a_release_of_people_is_compared_with_its_raw_table(saved):
    assert verify(**saved).keeps_limits
    script = checks_as_sql(**saved)
    assert failed(script) == []
    assert "CONFIDENTIAL" in script


CHANGES = {
    "a cell that is true of others": ("age", "cells that are not true of their records: age"),
    "a sensitive value": ("ill", "records that differ from the raw table: ill"),
}


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_what_somebody_changed_is_found_beside_the_raw_table(saved, tmp_path, change):
    column, what = CHANGES[change]
    table = pl.read_csv(saved["path"], infer_schema=False)
    rows = table.with_row_index().filter(pl.col("age") != "*")
    first, other = (
        rows.row(0, named=True),
        rows.filter(pl.col(column) != rows[column][0]).row(0, named=True),
    )
    cells = table[column].to_list()
    cells[first["index"]] = other[column]
    table.with_columns(pl.Series(column, cells)).write_csv(tmp_path / "t.csv")
    assert not verify(**saved | {"path": tmp_path / "t.csv"}).keeps_limits
    assert not verdict(checks_as_sql(**saved), tmp_path / "t.csv")
    assert what in failed(checks_as_sql(**saved | {"path": tmp_path / "t.csv"}))


@pytest.mark.slow
def test_a_row_map_of_another_release_fails(saved, tmp_path):
    rows = pl.read_parquet(saved["row_map"])
    rows.with_columns(pl.col("row").reverse()).write_parquet(tmp_path / "rows.parquet")
    settings = saved | {"row_map": tmp_path / "rows.parquet"}
    assert not verify(**settings).keeps_limits
    assert not verdict(checks_as_sql(**settings))


@pytest.mark.slow
def test_means_are_compared_with_those_of_their_classes(tmp_path):
    """Two classes: a mean is true if equal to that of the records, and a cell of another class is not."""
    (tmp_path / "raw.csv").write_text("q,r\n1,a\n3,a\n10,b\n20,b\n")
    columns = [entry("q", "quasi", "kind = 'number'\noutput = 'mean'"), entry("r", "quasi")]
    (tmp_path / "p.toml").write_text(policy_text(columns, [K2], "keep_order = true"))
    settings = {
        "path": tmp_path / "t.csv",
        "policy_path": tmp_path / "p.toml",
        "against": tmp_path / "raw.csv",
    }
    for first, holds in (("2", True), ("15", False)):
        (tmp_path / "t.csv").write_text(f"q,r\n{first},a\n{first},a\n15,b\n15,b\n")
        assert verify(**settings).keeps_limits is holds
        assert verdict(checks_as_sql(**settings)) is holds


def test_a_population_needs_no_raw_table(tmp_path):
    (tmp_path / "t.csv").write_text("q\nab\nab\n*\n")
    (tmp_path / "people.csv").write_text("q\n" + "a\n" * 3 + "b\n")
    columns = [entry("q", "quasi", "hierarchy = 'q.txt'")]
    (tmp_path / "q.txt").write_text("ab\n\ta\n\tb\n")
    settings = {
        "path": tmp_path / "t.csv",
        "policy_path": tmp_path / "p.toml",
        "population": tmp_path / "people.csv",
    }
    for k, holds in ((4, True), (5, False)):
        (tmp_path / "p.toml").write_text(
            policy_text(columns, [f'model = "k-map"\nk = {k}'], "max_suppression = 0.5")
        )
        assert verify(**settings).keeps_limits is holds
        assert verdict(checks_as_sql(**settings)) is holds


@pytest.mark.slow
def test_weights_of_the_raw_table_stand_for_a_population(tmp_path):
    (tmp_path / "t.csv").write_text("q\na\na\nb\n")
    (tmp_path / "raw.csv").write_text("q,w\na,1.5\na,2\nb,4.25\n")
    columns = [entry("q", "quasi"), entry("w", "weight")]
    settings = {
        "path": tmp_path / "t.csv",
        "policy_path": tmp_path / "p.toml",
        "against": tmp_path / "raw.csv",
    }
    for k, holds in ((3, True), (4, False)):
        (tmp_path / "p.toml").write_text(
            policy_text(columns, [f'model = "k-map"\nk = {k}'], "keep_order = true")
        )
        assert verify(**settings).keeps_limits is holds
        assert verdict(checks_as_sql(**settings)) is holds


SPELLED = {
    "numbers": ("decimal = ','\nthousands = '.'", ["1.000,5", "1000,50", "2,0", "-3"]),
    "days": ("format = '%d.%m.%Y'", ["05.03.2020", "5.3.2020", "01.01.1999", "02.02.2002"]),
}


@pytest.mark.slow
@pytest.mark.parametrize(("spelling", "extra"), [("numbers", "t"), ("days", "l")])
def test_sensitive_columns_may_be_spelled_locally(tmp_path, spelling, extra):
    """Texts of the same number are the same value, and distances are those of numbers."""
    declared, values = SPELLED[spelling]
    models = [{"t": 'model = "t-closeness"\nt = 0.15', "l": 'model = "l-diversity"\nl = 3'}[extra]]
    (tmp_path / "p.toml").write_text(
        policy_text([entry("q", "quasi"), entry("s", "sensitive", declared)], models)
    )
    verdicts = set()
    for rows in (values, [*values, values[0]], values[:3], [values[0]] * 4, []):
        lines = [f'{q},"{value}"' for q, some in (("a", values), ("b", rows)) for value in some]
        (tmp_path / "t.csv").write_text("\n".join(["q,s", *lines]) + "\n")
        expected = verify(tmp_path / "t.csv", tmp_path / "p.toml").keeps_limits
        script = checks_as_sql(tmp_path / "t.csv", tmp_path / "p.toml")
        assert verdict(script) == expected
        verdicts.add(expected)
    assert verdicts == {True, False}
    (tmp_path / "t.csv").write_text("q,s\na,unknown\n")
    assert "values that were not there when this was written: s" in failed(script)


@pytest.mark.few(1)
@pytest.mark.parametrize(("form", "named"), crossed(["csv", "csv.gz", "parquet"], ["folder", "pattern"]))
def test_folders_and_patterns_are_read_by_duckdb(tmp_path, form, named):
    """A folder tells a column, and a later file is checked, too."""
    for year in ("2024", "2025"):
        folder = tmp_path / "out" / f"year={year}"
        folder.mkdir(parents=True)
        table = pl.DataFrame({"q": ["a", "a", "b", "b"], "s": ["007", "1", "1", "2"]})
        if form == "parquet":
            table.write_parquet(folder / "one.parquet")
        else:
            content = table.write_csv().encode()
            (folder / f"one.{form}").write_bytes(gzip.compress(content) if form == "csv.gz" else content)
    columns = [entry("year", "quasi"), entry("q", "quasi"), entry("s", "sensitive")]
    (tmp_path / "p.toml").write_text(policy_text(columns, [K2, 'model = "l-diversity"\nl = 2']))
    path = tmp_path / "out" if named == "folder" else f"{tmp_path}/out/*/*.{form}"
    assert verify(path, tmp_path / "p.toml").keeps_limits
    script = checks_as_sql(path, tmp_path / "p.toml")
    assert verdict(script)
    (tmp_path / f"out/year=2025/two.{form}").write_bytes(
        next((tmp_path / "out").rglob(f"one.{form}")).read_bytes()
    )
    assert verdict(script)
    pl.DataFrame({"q": ["c"], "s": ["1"]}).write_csv(tmp_path / "out/year=2025/three.csv")
    if form == "csv":
        assert not verify(path, tmp_path / "p.toml").keeps_limits
        assert not verdict(script)


def test_hidden_files_of_a_folder_are_no_part_of_the_release(tmp_path):
    (tmp_path / "out").mkdir()
    for name in ("b.csv", "a.csv", ".old.csv"):
        (tmp_path / "out" / name).write_text("q\na\na\n")
    (tmp_path / "out/.old.csv").write_text("q\nb\n")
    (tmp_path / "p.toml").write_text(policy_text([entry("q", "quasi")], [K2]))
    assert verdict(checks_as_sql(tmp_path / "out", tmp_path / "p.toml"))


def test_a_table_of_duckdb_is_read_where_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("t.duckdb") as con:
        con.execute(
            "CREATE TABLE safe AS SELECT unnest(['a', 'a', 'b', 'b']) AS q, unnest([1, 2, 1, 2]) AS s"
        )
    (tmp_path / "p.toml").write_text(
        policy_text([entry("q", "quasi"), entry("s", "sensitive")], [K2, 'model = "l-diversity"\nl = 2'])
    )
    settings = {"path": "duckdb:///t.duckdb", "table": "safe", "policy_path": tmp_path / "p.toml"}
    assert verify(**settings).keeps_limits
    script = checks_as_sql(**settings)
    assert verdict(script)
    with duckdb.connect("t.duckdb") as con:
        con.execute("DELETE FROM safe WHERE s = 2")
    assert not verify(**settings).keeps_limits
    assert not verdict(script)


def refused(tmp_path, columns, models, head="", **given):
    (tmp_path / "t.csv").write_text("q,s\na,1\na,2\n")
    (tmp_path / "p.toml").write_text(policy_text(columns, models, head))
    with pytest.raises(ic.IncrowdError) as caught:
        checks_as_sql(**{"path": tmp_path / "t.csv", "policy_path": tmp_path / "p.toml"} | given)
    return f"{caught.value}"


def test_what_is_not_told_is_refused(tmp_path):
    quasi, person = entry("q", "quasi"), entry("p", "person")
    (tmp_path / "raw.csv").write_text("q,s,p\na,1,x\na,2,x\n")
    raw = {"against": tmp_path / "raw.csv"}
    assert "does not say whose its records are" in refused(tmp_path, [quasi, person], [K2])
    assert "name the row map" in refused(tmp_path, [quasi, person], [K2], **raw)
    kmap = 'model = "k-map"\nk = 2'
    assert "k-map compares the release with a population" in refused(tmp_path, [quasi], [kmap])
    assert "is for the raw table" in refused(tmp_path, [quasi], [K2], row_map=tmp_path / "t.csv")


def test_what_people_do_not_change_needs_none(tmp_path):
    """Distinct values of a class are those of the people, so no check needs to know the people."""
    columns = [entry("q", "quasi"), entry("s", "sensitive"), entry("p", "person")]
    (tmp_path / "p.toml").write_text(
        policy_text(columns, ['model = "l-diversity"\nl = 2\nkind = "distinct"'])
    )
    settings = {"path": tmp_path / "t.csv", "policy_path": tmp_path / "p.toml"}
    for values, holds in (("12", True), ("11", False)):
        (tmp_path / "t.csv").write_text("q,s\n" + "".join(f"a,{value}\n" for value in values))
        assert verify(**settings).keeps_limits is holds
        assert verdict(checks_as_sql(**settings)) is holds


def test_a_treated_column_that_is_missing_fails(tmp_path):
    (tmp_path / "t.csv").write_text("q\na\na\n")
    columns = [entry("q", "quasi"), entry("phone", "insensitive", "treat = { keep-last = 2 }")]
    (tmp_path / "p.toml").write_text(policy_text(columns, [K2]))
    settings = {"path": tmp_path / "t.csv", "policy_path": tmp_path / "p.toml"}
    assert not verify(**settings).keeps_limits
    script = checks_as_sql(**settings)
    assert failed(script) == ["the treated column 'phone' was in the file, when this was written"]
    (tmp_path / "t.csv").write_text("q,phone\na,55512\na,55512\n")
    assert not verdict(script)


def test_a_raw_table_without_a_quasi_identifier_fails(tmp_path):
    (tmp_path / "t.csv").write_text("q,s\na,1\na,2\n")
    (tmp_path / "raw.csv").write_text("s\n1\n2\n")
    (tmp_path / "p.toml").write_text(policy_text([entry("q", "quasi")], [K2]))
    settings = {
        "path": tmp_path / "t.csv",
        "policy_path": tmp_path / "p.toml",
        "against": tmp_path / "raw.csv",
    }
    assert not verify(**settings).keeps_limits
    assert "the raw table had the column(s) 'q', when this was written" in failed(checks_as_sql(**settings))


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("none.csv", "cannot be read"),
        ("folder", "no Parquet or CSV file"),
        ("sqlite:///x.db", "with an extension alone"),
        ("postgresql://localhost/base", "with an extension alone"),
        ("t.feather", "DuckDB does not read this kind"),
        ("two", "written in several ways"),
    ],
)
def test_tables_that_duckdb_alone_does_not_read_are_refused(tmp_path, named, why):
    (tmp_path / "folder").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "two/a.csv").write_text("q,r\na,b\n")
    (tmp_path / "two/b.csv").write_text("q;r\na;b\n")
    pl.DataFrame({"q": ["a"]}).write_ipc(tmp_path / "t.feather")
    settings = {"path": named if "://" in named else tmp_path / named}
    assert why in refused(tmp_path, [entry("q", "quasi")], [K2], **settings)
