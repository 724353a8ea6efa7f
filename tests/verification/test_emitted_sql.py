"""One script of SQL for an auditor: DuckDB alone gives verify's verdict, also on changed files."""

from __future__ import annotations

import contextlib
import gzip
import random
import subprocess
import sys

import polars as pl
import pytest

import incrowd as ic
from emitted_sql import by_kind_and_wildcards, failed, told, verdict
from incrowd.release.verification import checks_as_sql, verify
from incrowd_verify.verification import ALL_HOLD
from model_readings import KINDS, at_limit, limits, overall, rows_of, variants
from policy_texts import K2, entry, policy_text

TABLES = [
    [[2, 1, 0], [1, 1, 3], [0, 2, 2]],
    [[3, 0], [1, 1]],
    [[1, 2, 3, 0, 1], [4, 0, 1, 1, 1], [1, 1, 1, 1, 1]],
]
ALONE = [
    name
    for name in ic.MODELS.names()
    if name not in ("k-map", "delta-presence", "km-anonymity")  # of a population, or of people
]


def asked(kind, table):
    """Every model in every variant, each with the limit that the table reaches, if allowed."""
    result = []
    for model in variants(kind):
        if model.name not in ALONE or getattr(model, "attacker", "") == "journalist":
            continue
        for quantity in limits(model):
            reached = overall(model, quantity, kind, table)
            whole = model.parameters()[quantity].kind is int or (quantity == "l" and reached == int(reached))
            with contextlib.suppress(ic.ParameterError):
                result.append(at_limit(model, quantity, int(reached) if whole else float(reached)))
    assert len(result) > 5
    return result


def written(folder, rows, values, kind, models, **settings):
    names = [str(value) for value in range(values)]
    tree = ic.Hierarchy.from_nested({"*": {"low": names[:2], "high": names[2:] or ["other"]}})
    sensitive = {"number": "number", "category": "category", "tree": tree}[kind]
    pl.DataFrame(rows, schema=["q", "s"], orient="row").write_csv(folder / "t.csv")
    policy = ic.Policy(ic.Schema(["q"], {"s": sensitive}), tuple(models), **settings)
    policy.write(folder / "policy.toml", force=True)
    return folder / "t.csv", folder / "policy.toml"


def changed(rows, how):
    """Return the rows after a change, each time at another place."""
    chance, rows = random.Random(how), list(rows)
    place, other = chance.sample(range(len(rows)), 2)
    if how % 4 == 0:
        rows[place] = (rows[other][0], rows[place][1])
    elif how % 4 == 1:
        rows[place], rows[other] = (rows[place][0], rows[other][1]), (rows[other][0], rows[place][1])
    elif how % 4 == 2:
        rows.append(rows[place])
    else:
        rows.pop(place)
    return rows


def defined(models, wildcards):
    """The models that mean something where cells match others."""
    result = []
    for model in models:
        with contextlib.suppress(ic.ParameterError):
            model.check_wildcards(wildcards)
            result.append(model)
    assert result
    return result


def holding(checks):
    """The checks of each model's limits, between the checks of the file and of the cells."""
    by_model = [(check.split()[0], holds) for check, holds in checks]
    return sorted((model, holds) for model, holds in by_model if model in ALONE)


@pytest.mark.slow
@by_kind_and_wildcards
def test_every_limit_holds_where_verify_says_so(tmp_path, kind, wildcards):
    """All models at the limits that the table reaches, so that a change is felt."""
    table = TABLES[KINDS.index(kind)]
    rows, values = rows_of(table), len(table[0])
    models = defined(asked(kind, table), wildcards)
    release, policy = written(tmp_path, rows, values, kind, models, wildcards=wildcards)
    script = checks_as_sql(release, policy)
    seen = set()
    for how in range(4):
        result = verify(release, policy)
        expected = sorted((finding.model, bool(finding.holds)) for finding in result.findings)
        satisfied, checks = told(script)
        assert holding(checks) == expected, how
        assert satisfied == result.keeps_limits
        seen |= {(finding.model, finding.holds) for finding in result.findings}
        pl.DataFrame(changed(rows, how), schema=["q", "s"], orient="row").write_csv(release)
    assert {model.name for model in models} == {name for name, _ in seen}
    assert len({name for name, holds in seen if not holds}) > 2


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A release with hierarchies, a treatment, an attacker and suppressed records, a policy and a script."""
    folder = tmp_path_factory.mktemp("released")
    table = ic.samples.hospital(600, 4)
    schema = ic.Schema(
        quasi={
            "age": ic.Hierarchy.intervals(5, 10, 20),
            "sex": ic.Hierarchy.flat(),
            "zip": ic.Hierarchy.prefix(),
            "admission_date": ic.Hierarchy.dates("month", "year"),
        },
        sensitive=["diagnosis", "length_of_stay"],
        identifying=["name", "birth_date"],
        insensitive=["cost", "patient_id"],
        treatments={"cost": ic.Round(500), "patient_id": ic.Mask("[0-9]")},
        unlisted="drop",
    )
    models = [
        ic.KAnonymity(4),
        ic.LDiversity(2, attribute="diagnosis"),
        ic.TCloseness(0.6, attribute="length_of_stay"),
        ic.Attacker("neighbour", ["age", "sex"], [ic.KAnonymity(8)]),
    ]
    release = ic.anonymize(
        table, ic.Policy(schema, tuple(models), ic.Optimal(), max_suppression=0.05), unanswered="write"
    )
    release.policy.write(folder / "policy.toml")
    release.write(folder / "safe.csv")
    script = checks_as_sql(folder / "safe.csv", folder / "policy.toml")
    return folder, pl.read_csv(folder / "safe.csv", infer_schema=False), script


CHANGES = {
    "nothing": lambda t: t,
    "one row less of a class": lambda t: t.filter(pl.struct("age", "sex", "zip").is_unique().not_()).slice(1),
    "a cell that nobody else has": lambda t: set_cell(t, "age", "21"),
    "a cell of the hierarchy of others": lambda t: set_cell(t, "age", "[3-4]"),
    "rows that are doubled": lambda t: pl.concat([t, t]),
    "a column that names people": lambda t: t.with_columns(name=pl.lit("Ann")),
    "a column that the policy does not know": lambda t: t.with_columns(note=pl.lit("x")),
    "a column less": lambda t: t.drop("sex"),
    "an insensitive column less": lambda t: t.drop("cost"),
    "no rows": lambda t: t.head(0),
    "everything suppressed": lambda t: t.with_columns(pl.lit("*").alias(n) for n in t.columns[:4]),
    "one value for all": lambda t: t.with_columns(diagnosis=pl.lit("J45")),
    "a sum that is not rounded": lambda t: set_cell(t, "cost", "1234"),
    "a token without its mask": lambda t: set_cell(t, "patient_id", "17"),
    "texts among the numbers": lambda t: set_cell(t, "length_of_stay", "long"),
    "half of the rows": lambda t: t.gather_every(2),
    "columns in another order": lambda t: t.select(sorted(t.columns)),
}


def set_cell(table, column, text):
    return table.with_columns(pl.Series(column, [text, *table[column][1:]]))


KEPT = ("nothing", "rows that are doubled", "columns in another order")


QUICK = ("nothing", "a cell that nobody else has", "a sum that is not rounded")


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in CHANGES]
)
def test_a_release_that_was_changed_gets_the_verdict_of_verify(released, tmp_path, change):
    folder, table, script = released
    policy, other = folder / "policy.toml", tmp_path / "other.csv"
    CHANGES[change](table).write_csv(other)
    try:
        expected = verify(other, policy).keeps_limits
    except ic.IncrowdError:
        expected = False
    assert expected == (change in KEPT)
    assert verdict(script, other) == expected
    # So does a script that was written for the changed file, where one can be written.
    try:
        own = checks_as_sql(other, policy)
    except ic.IncrowdError:
        assert not expected
    else:
        assert verdict(own) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", ["safe.csv.gz", "safe.parquet", "it's; safe -- 1.csv"])
def test_it_reads_the_files_that_are_released(released, tmp_path, name):
    folder, table, _ = released
    path = tmp_path / name
    match path.suffix:
        case ".gz":
            path.write_bytes(gzip.compress(table.write_csv().encode()))
        case ".parquet":
            table.write_parquet(path)
        case _:
            table.write_csv(path, separator=";")
    script = checks_as_sql(path, folder / "policy.toml")
    assert verdict(script)
    set_cell(table, "age", "21").write_csv(tmp_path / "changed.csv")
    assert not verdict(script, tmp_path / "changed.csv")


def test_the_checks_that_fail_are_named(released, tmp_path):
    _, table, script = released
    assert failed(script) == []
    set_cell(table, "age", "21").with_columns(name=pl.lit("Ann")).write_csv(tmp_path / "t.csv")
    result = failed(script, tmp_path / "t.csv")
    assert result[0] == "columns too many"
    assert "k-anonymity k" in result
    assert "k-anonymity k against 'neighbour', who knows age, sex" in result
    assert "cells that do not suit the policy: age" in result


def test_it_needs_duckdb_and_nothing_of_ours(released, tmp_path):
    """In a process that cannot import incrowd."""
    script = released[2]
    (tmp_path / "checks.sql").write_text(script)
    code = (
        "import sys; sys.modules['incrowd'] = None; import duckdb; "
        "print(duckdb.connect().execute(open('checks.sql').read()).fetchone()[0])"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert process.stdout == f"{ALL_HOLD}\n", process.stderr


def test_it_holds_no_raw_value(released):
    _, table, script = released
    raw = ic.samples.hospital(600, 4)
    left = {value for column in table.columns for value in table[column]}
    for column in ("zip", "admission_date", "birth_date", "name"):
        hidden = [value for value in raw[column].cast(str) if value not in left]
        assert hidden
        assert not [value for value in hidden if f"'{value}'" in script], column


def test_names_and_values_are_quoted(tmp_path):
    name = 'it\'s "q"\n; DROP TABLE checks; --'
    table = pl.DataFrame({name: ["a'b", "a'b", "\n--"] * 2, "x": ["u", "v", "w"] * 2})
    table.write_csv(tmp_path / "t.csv")
    columns = [entry(name, "quasi"), entry("x", "sensitive")]
    secret = 'model = "alpha-k-anonymity"\nalpha = 0.5\nk = 2\nvalue = "u"'
    (tmp_path / "p.toml").write_text(policy_text(columns, [K2, secret]))
    script = checks_as_sql(tmp_path / "t.csv", tmp_path / "p.toml")
    assert verdict(script) == verify(tmp_path / "t.csv", tmp_path / "p.toml").keeps_limits
    assert "DROP TABLE checks" in script


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "values"), [("number", "1e3 +1000 -0e9"), ("date", "2020-01-02T10:00 2020-01-03")]
)
def test_declared_numbers_and_dates_may_be_written_freely(tmp_path, kind, values):
    rows = [f"a,{value}" for value in values.split()]
    (tmp_path / "t.csv").write_text("\n".join(["q,s", *rows, "a,"]) + "\n")
    columns = [entry("q", "quasi"), entry("s", "sensitive", f"kind = '{kind}'")]
    (tmp_path / "p.toml").write_text(policy_text(columns, ['model = "l-diversity"\nl = 2']))
    script = checks_as_sql(tmp_path / "t.csv", tmp_path / "p.toml")
    assert verify(tmp_path / "t.csv", tmp_path / "p.toml").keeps_limits
    assert verdict(script)
    (tmp_path / "t.csv").write_text("\n".join(["q,s", *rows, "a,text"]) + "\n")
    assert failed(script) == [f"the values are {kind}s"]
