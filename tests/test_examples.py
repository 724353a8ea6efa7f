"""The examples run: in DuckDB, in a scheduler, in dbt, with small stand-ins for missing tools."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import duckdb
import jinja2
import polars as pl
import pytest
import yaml

import incrowd as ic
from incrowd_verify.verification import ALL_HOLD

EXAMPLES = Path(__file__).parents[1] / "examples"
QUASI = ["age", "sex"]


@pytest.fixture
def clinic(tmp_path):
    """A table in a file and in DuckDB, and the policy."""
    table = ic.samples.hospital(300, 2)
    schema = ic.Schema(QUASI, ["diagnosis"], unlisted="drop")
    ic.Policy(schema, (ic.KAnonymity(4), ic.LDiversity(2))).write(tmp_path / "policy.toml")
    table.write_csv(tmp_path / "people.csv")
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as con:
        con.register("frame", table.to_arrow())
        con.execute("CREATE TABLE people AS FROM frame")
    return tmp_path


def module(name, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.delitem(sys.modules, name, raising=False)
    spec = importlib.util.spec_from_file_location(name, next(EXAMPLES.rglob(f"{name}.py")))
    result = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(result)
    return result


@pytest.mark.slow
def test_a_release_inside_duckdb(clinic, monkeypatch):
    recipe = module("duckdb_recipe", monkeypatch)
    told = recipe.main(clinic / "clinic.duckdb", "people", "people_safe", clinic / "policy.toml")
    assert told == ALL_HOLD
    with duckdb.connect(str(clinic / "clinic.duckdb")) as con:
        assert con.execute(
            "SELECT min(n) >= 4 FROM (SELECT count(*) n FROM people_safe GROUP BY age, sex)"
        ).fetchone()[0]


def strict(policy):
    """Return an unsatisfiable policy: the columns may not be generalized."""
    levels = policy.replace('role = "quasi"', 'role = "quasi"\nlevels = [0, 0]').replace("mondrian", "flash")
    return re.sub(r"\n(mode|choose|median|categories) = .*", "", levels)


@pytest.mark.slow
def test_the_nightly_job_ends_with_the_status_of_the_step_that_failed(clinic):
    def job(policy):
        names = [str(clinic / name) for name in ("people.csv", policy, "safe.csv")]
        return subprocess.run(
            [sys.executable, str(EXAMPLES / "nightly_job.py"), *names],
            capture_output=True,
            text=True,
            check=False,
        )

    process = job("policy.toml")
    assert process.returncode == 0, process.stderr
    assert '"event": "end"' in process.stderr
    (clinic / "strict.toml").write_text(strict((clinic / "policy.toml").read_text()))
    assert job("strict.toml").returncode == 1
    left = ic.Policy.read(clinic / "policy.toml")
    ic.Policy(left.schema, left.models[:1]).write(clinic / "open.toml")
    process = job("open.toml")
    assert process.returncode == 1
    assert "OPEN: 1 point waits for an answer (unprotected-sensitive: diagnosis)" in process.stderr
    assert job("none.toml").returncode == 2


class Chain:
    """A task of the stand-in for Airflow: `a >> b` keeps the order."""

    order: list[str] = []  # noqa: RUF012

    def __init__(self, work, name):
        self.work, self.name = work, name
        Chain.order.append(name)

    def __rshift__(self, other):
        assert Chain.order.index(self.name) < Chain.order.index(other.name)
        return other


def airflow(monkeypatch):
    """Stand in for Airflow: a task becomes a link of a chain, a call runs a DAG."""
    sdk, errors = types.ModuleType("airflow.sdk"), types.ModuleType("airflow.sdk.exceptions")

    def task(**_):
        def decorated(work):
            def override(*, task_id):
                assert task_id
                return lambda name: Chain(lambda: work(name), name)

            return types.SimpleNamespace(override=override)

        return decorated

    sdk.task = task
    sdk.dag = lambda **_: lambda made: made
    errors.AirflowFailException = type("AirflowFailException", (Exception,), {})
    for each in (types.ModuleType("airflow"), sdk, errors):
        monkeypatch.setitem(sys.modules, each.__name__, each)
    return errors.AirflowFailException


def test_the_dag_fails_at_once_where_another_try_would_not_help(monkeypatch):
    fail = airflow(monkeypatch)
    monkeypatch.setattr(Chain, "order", [])
    job = module("nightly_job", monkeypatch)
    monkeypatch.setitem(sys.modules, "nightly_job", job)
    module("airflow_dag", monkeypatch)
    assert Chain.order == ["plan", "release", "verify"]
    dag = module("airflow_dag", monkeypatch)
    for status, error in ((0, None), (1, fail), (2, RuntimeError)):
        monkeypatch.setattr(
            job.subprocess, "run", lambda *_, s=status, **__: types.SimpleNamespace(returncode=s)
        )
        work = dag.step.override(task_id="release")("release").work
        if error is None:
            work()
        else:
            with pytest.raises(error):
                work()


def dagster(monkeypatch):
    """Stand in for Dagster: assets and checks stay functions."""
    dg = types.ModuleType("dagster")
    dg.asset = dg.asset_check = lambda **_: lambda made: made
    dg.RetryPolicy = dg.Definitions = dg.MaterializeResult = dg.AssetCheckResult = types.SimpleNamespace
    dg.MetadataValue = types.SimpleNamespace(path=str)
    dg.Failure = type(
        "Failure", (Exception,), {"__init__": lambda self, text, **more: Exception.__init__(self, text)}
    )
    monkeypatch.setitem(sys.modules, "dagster", dg)
    return dg


def test_the_asset_and_its_check_take_the_status_of_the_commands(monkeypatch):
    dg = dagster(monkeypatch)
    job = module("nightly_job", monkeypatch)
    monkeypatch.setitem(sys.modules, "nightly_job", job)
    assets = module("dagster_assets", monkeypatch)
    calls = []

    def run(command, status, **_):
        calls.append(command[3])
        return types.SimpleNamespace(returncode=status)

    monkeypatch.setattr(job.subprocess, "run", lambda command, **_: run(command, 0))
    assert assets.people_safe().metadata == {"release": "safe.csv"}
    assert assets.policy_holds().passed
    assert calls == ["anonymize", "anonymize", "verify"]
    monkeypatch.setattr(job.subprocess, "run", lambda command, **_: run(command, 1))
    assert not assets.policy_holds().passed
    with pytest.raises(dg.Failure, match="plan: the policy is not satisfied"):
        assets.people_safe()


ITSELF = """
import dagster as dg
from dagster_assets import people_safe, policy_holds
result = dg.materialize([people_safe, policy_holds], raise_on_error=False)
told = [each.event_specific_data for each in result.all_events if each.event_type_value == "ASSET_CHECK_EVALUATION"]
print(result.success, [each.passed for each in told])
"""


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("dagster") is None, reason="dagster is not installed")
@pytest.mark.parametrize(("change", "told"), [(str, "True [True]"), (strict, "False []")])
def test_dagster_itself_makes_the_asset_and_checks_it(clinic, change, told):
    """A policy that cannot be satisfied fails at once, and is not tried again."""
    (clinic / "policy.toml").write_text(change((clinic / "policy.toml").read_text()))
    result = scheduled(clinic, [sys.executable, "-c", ITSELF], DAGSTER_HOME=str(clinic))
    assert result.stdout.strip().splitlines()[-1] == told, result.stderr


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("airflow") is None, reason="Airflow is not installed")
def test_airflow_itself_runs_the_dag(clinic):
    settings = {"AIRFLOW_HOME": str(clinic / "airflow"), "AIRFLOW__CORE__DAGS_FOLDER": str(EXAMPLES),
                "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}  # fmt: skip
    airflow = [sys.executable, "-m", "airflow"]
    assert scheduled(clinic, [*airflow, "db", "migrate"], **settings).returncode == 0
    process = scheduled(clinic, [*airflow, "dags", "test", "release_people"], **settings)
    assert process.returncode == 0, process.stderr
    assert (clinic / "safe.csv").exists()


def scheduled(clinic, command, **settings):
    """Run a scheduler beside the examples, with the table, the policy and the release of a clinic."""
    names = {"TABLE": "people.csv", "POLICY": "policy.toml", "RELEASE": "safe.csv"}
    files = {f"CLINIC_{name}": str(clinic / file) for name, file in names.items()}
    paths = os.pathsep.join(filter(None, (str(EXAMPLES), os.environ.get("PYTHONPATH"))))
    return subprocess.run(
        command, capture_output=True, text=True, check=False,
        env=os.environ | files | settings | {"PYTHONPATH": paths},
    )  # fmt: skip


def macros():
    """The tests of the dbt project as macros of plain Jinja."""
    text = (EXAMPLES / "dbt" / "macros" / "incrowd.sql").read_text()
    text = re.sub(r"{% test (\w+)", r"{% macro \1", text).replace("{% endtest %}", "{% endmacro %}")
    return jinja2.Environment().from_string(text).module


@pytest.mark.slow
@pytest.mark.parametrize("k", [4, 200])
def test_the_tests_of_dbt_say_what_assess_says(clinic, k):
    people = pl.read_csv(clinic / "people.csv", infer_schema=False)
    release = ic.anonymize(people, ic.Policy.read(clinic / "policy.toml")).table
    alone = release.head(1).with_columns(age=pl.lit("21"))
    starred = release.head(3).with_columns(age=pl.lit("*"), sex=pl.lit("*"))
    sql = macros()
    for table in (release, pl.concat([release, alone]), pl.concat([release, starred])):
        assessment = ic.assess(table, ic.Schema(QUASI, ["diagnosis"]), [ic.KAnonymity(k), ic.LDiversity(2)])
        holds = {each.model: each.holds for each in assessment.privacy if each.limit is not None}
        asked = {
            "k-anonymity": sql.k_anonymous("released", QUASI, k),
            "l-diversity": sql.l_diverse("released", QUASI, "diagnosis", 2),
        }
        with duckdb.connect() as con:
            con.register("released", table.to_arrow())
            for model, query in asked.items():
                assert (con.execute(query).fetchall() == []) == holds[model], model
            for share in (0.0, 0.5):
                few = con.execute(sql.few_suppressed("released", QUASI, share)).fetchall() == []
                assert few == (assessment.suppressed_share <= share)


def test_the_model_of_dbt_is_a_release(clinic, monkeypatch):
    model = module("people_safe", monkeypatch).model
    with duckdb.connect(str(clinic / "clinic.duckdb")) as con:
        config = types.SimpleNamespace(get=lambda _: clinic / "policy.toml")
        result = model(
            types.SimpleNamespace(config=Config(config), source=lambda *_: con.table("people")), con
        )
        con.register("made", result)
        assert con.execute(str(macros().k_anonymous("made", QUASI, 4))).fetchall() == []


class Config:
    """dbt's object for a model: called to set, asked to get."""

    def __init__(self, given):
        self.get = given.get

    def __call__(self, **_):
        return None


def test_the_project_names_tests_that_exist_with_their_arguments():
    project = yaml.safe_load((EXAMPLES / "dbt" / "models" / "schema.yml").read_text())
    known = macros()
    for test in project["models"][0]["data_tests"]:
        for name, entry in test.items():
            assert set(entry["arguments"]) <= set(getattr(known, name).arguments)
