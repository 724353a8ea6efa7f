"""Messages: lists of hundreds of names are cut, and settings have the reader's names."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import polars as pl
import pytest

import incrowd as ic
from incrowd.core.recoding import FullDomain
from incrowd.release.verification import verify
from incrowd.search import ALGORITHMS
from package_sources import nodes, place, sources

NAMES = [f"column {number}" for number in range(120)]


@pytest.fixture(scope="module")
def wide() -> pl.DataFrame:
    """Eight records that differ in everything."""
    return pl.DataFrame({name: [str(row) for row in range(8)] for name in NAMES})


def secret_of_attack(table: pl.DataFrame, folder: Path) -> None:
    schema = ic.Schema(quasi=NAMES[:1], sensitive=NAMES[1:])
    ic.attack(table, table, schema, secret="other")


def parts_of_attack(table: pl.DataFrame, folder: Path) -> None:
    schema = ic.Schema(quasi=NAMES)
    ic.attack(table, table, schema, parts=(["other"], NAMES[:1]))


def levels_of_policy(table: pl.DataFrame, folder: Path) -> None:
    policy = ic.Policy(ic.Schema(quasi=NAMES), (ic.KAnonymity(2),), algorithm=ic.Datafly())
    policy.with_levels({"other": 1})


def levels_of_recoding(table: pl.DataFrame, folder: Path) -> None:
    release = ic.anonymize(table, ic.Schema(quasi=NAMES), [ic.KAnonymity(2)])
    FullDomain.build(release.frequency, {"other": 1})


def several_sensitive(table: pl.DataFrame, folder: Path) -> None:
    schema = ic.Schema(quasi=NAMES[:1], sensitive=NAMES[1:])
    ic.anonymize(table, schema, [ic.KAnonymity(2)]).class_table()


def no_such_sensitive(table: pl.DataFrame, folder: Path) -> None:
    schema = ic.Schema(quasi=NAMES[:1], sensitive=NAMES[1:])
    ic.anonymize(table, schema, [ic.KAnonymity(2)]).frequency.attribute("other")


def one_number(table: pl.DataFrame, folder: Path) -> None:
    ic.anonymize(table, ic.Schema(quasi=NAMES), [ic.KAnonymity(2)], ALGORITHMS.get("microaggregation")())


def infeasible(table: pl.DataFrame, folder: Path) -> None:
    schema = ic.Schema(quasi={name: ic.Attribute(name, "quasi", levels=(0, 0)) for name in NAMES})
    ic.anonymize(table, schema, [ic.KAnonymity(2)], ic.Datafly())


def another_recoding(table: pl.DataFrame, folder: Path) -> None:
    models = [ic.KAnonymity(2)]
    release = ic.anonymize(table, ic.Schema(quasi=NAMES), models)
    fewer = ic.Policy(ic.Schema(quasi=NAMES[1:], unlisted="drop"), models)
    ic.apply_recoding(release.recoding, table, fewer)


def not_in_the_file(table: pl.DataFrame, folder: Path) -> None:
    ic.Policy(ic.Schema(quasi=NAMES), (ic.KAnonymity(2),)).write(folder / "policy.toml")
    (folder / "release.csv").write_text("a,b\n1,2\n")
    verify(folder / "release.csv", folder / "policy.toml")


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        secret_of_attack,
        parts_of_attack,
        levels_of_policy,
        levels_of_recoding,
        several_sensitive,
        no_such_sensitive,
        one_number,
        infeasible,
        another_recoding,
        not_in_the_file,
    ],
)
def test_hundreds_of_columns_are_not_all_named(wide, tmp_path, call):
    with pytest.raises(ic.IncrowdError) as error:
        call(wide, tmp_path)
    words = str(error.value)
    assert re.search(r" and (99|10\d) ", words)
    assert "[...]" not in words
    assert len(words) < 900


SMALL = pl.DataFrame({"age": [1, 2, 3, 4] * 3, "s": ["a", "b", "c"] * 4})
SCHEMA = ic.Schema(quasi=["age"], sensitive=["s"])
MODELS = [ic.KAnonymity(2)]


def told_by(run, *arguments: str) -> str:
    result = run(*arguments)
    assert result.status != 0, result.out
    return result.err


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "what", ["write", "save", "report", "recoding", "policy", "lattice", "anatomy", "apply"]
)
def test_python_is_told_to_force_with_an_argument(tmp_path, what):
    release = ic.anonymize(SMALL, SCHEMA, MODELS, ic.Optimal())
    suffix = {"report": ".json", "policy": ".toml", "lattice": ".json"}.get(what, ".csv")
    folder = what in ("save", "recoding", "anatomy")
    target = tmp_path / ("out" if folder else f"out{suffix}")
    policy = ic.Policy(SCHEMA, tuple(MODELS))
    calls = {
        "write": release.write,
        "save": release.save,
        "report": release.report,
        "recoding": release.recoding.save,
        "policy": policy.write,
        "lattice": release.lattice.save,
        "anatomy": ic.anatomize(SMALL, SCHEMA, [ic.LDiversity(2)]).write,
        "apply": ic.apply_recoding(release.recoding, SMALL, policy).write,
    }
    calls[what](target)
    with pytest.raises(ic.TableError, match=r"exists already; choose another name or say force=True$"):
        calls[what](target)
    calls[what](target, force=True)


def test_the_command_line_is_told_to_force_with_an_option(run, tmp_path):
    data, out = tmp_path / "data.csv", tmp_path / "out.csv"
    SMALL.write_csv(data)
    arguments = ("anonymize", str(data), "--qi", "age", "--sensitive", "s", "-k", "2", "-o", str(out))
    assert run(*arguments).status == 0
    assert told_by(run, *arguments).endswith("exists already; choose another name or say --force\n")
    assert run(*arguments, "--force").status == 0


def test_advice_is_followed_as_it_is_given(run, tmp_path):
    """Each interface has own terms: arguments in Python, options on the command line."""
    few = SMALL.head(10)
    schema = ic.Schema(quasi={"age": ic.Attribute("age", "quasi", levels=(0, 0))}, sensitive=["s"])
    with pytest.raises(ic.InfeasibleError, match=r"there, max_suppression=0.4 would do; k=2 alone would do"):
        ic.anonymize(few, schema, [ic.KAnonymity(3)], ic.Optimal())
    data = tmp_path / "data.csv"
    few.write_csv(data)
    arguments = (
        "anonymize", str(data), "--qi", "age", "--sensitive", "s", "--levels", "age=0",
        "-o", str(tmp_path / "out.csv"),
    )  # fmt: skip
    assert "there, --max-suppression 0.4 would do; -k 2 alone would do" in told_by(run, *arguments, "-k", "3")
    assert run(*arguments, "-k", "3", "--max-suppression", "0.4").status == 0
    assert run(*arguments, "-k", "2", "--force").status == 0


def test_what_is_no_utf8_names_the_encoding_as_the_reader_gives_it(run, tmp_path):
    data = tmp_path / "data.csv"
    data.write_bytes(b"age\n\xe9\n\xe8\n")
    arguments = ("anonymize", str(data), "--qi", "age", "-k", "2", "-o", str(tmp_path / "out.csv"))
    for stream in ((), ("--stream",)):
        assert "name the encoding, e.g. with --encoding latin-1" in told_by(run, *arguments, *stream)
    for read in (lambda: ic.anonymize(str(data), SCHEMA, MODELS), lambda: ic.scan(data)):
        with pytest.raises(
            ic.TableError, match=r"e\.g\. with CsvFormat\(encoding='latin-1'\); Chinese .* big5 "
        ):
            read()


def test_what_is_a_missing_value_is_named_as_the_reader_gives_it(run, tmp_path):
    data, out = tmp_path / "data.csv", tmp_path / "out.csv"
    pl.DataFrame({"age": ["1", "?"] * 4}).write_csv(data)
    schema = ic.Schema(quasi={"age": ic.Attribute("age", "quasi", kind="number")})
    with pytest.raises(ic.SchemaError, match="missing with null_values, or declare the column a category"):
        ic.anonymize(pl.read_csv(data), schema, MODELS)
    policy = tmp_path / "policy.toml"
    ic.Policy(schema, tuple(MODELS)).write(policy)
    arguments = ("anonymize", str(data), "--policy", str(policy), "-o", str(out))
    text = told_by(run, *arguments)
    assert "missing with null_values in the policy file, or declare" in text
    policy.write_text('null_values = ["?"]\n' + policy.read_text())
    assert run(*arguments).status == 0


@pytest.mark.slow
def test_no_python_message_names_an_option():
    """Outside the command line's own room, a text with an option stands only where Python has another."""
    wrong, met = [], 0
    for path in sources():
        if {"cli", "cli.py", "__main__.py"} & {*place(path).parts}:
            continue
        excused = {id(node.value) for node in nodes(path) if isinstance(node, ast.Expr)}
        for node in nodes(path):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setting":
                excused |= {id(part) for part in ast.walk(node.args[1])}
                met += 1
        for node in nodes(path):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in excused:
                wrong += [f"{path.name}: {node.value}"] if re.search(r"--[a-z]", node.value) else []
    assert wrong == []
    assert met > 10
