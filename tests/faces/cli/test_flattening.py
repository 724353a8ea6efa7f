"""Groups of options: a dataclass, flattened into the options of a command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from incrowd.core.errors import ParameterError
from incrowd.faces.cli.flattening import Commands, Without
from incrowd.faces.cli.option_groups import ColumnOptions, CsvOptions, TableOptions


@dataclass(frozen=True)
class Wanted:
    """A group with an option that is required."""

    limit: Annotated[int, typer.Option("--limit")]
    label: Annotated[str, typer.Option("--label")] = "none"
    path: Annotated[Path | None, typer.Option("--path")] = None


def _run(*arguments: str):
    app = Commands()
    seen = {}

    @app.command("first")
    def first(own: Annotated[str, typer.Argument()], group: Wanted) -> None:
        seen["first"] = own, group

    @app.command("second")
    def second(group: Annotated[Wanted, Without("label", "path")]) -> None:
        seen["second"] = group

    result = CliRunner().invoke(app, list(arguments))
    return result, seen


def test_a_group_is_made_of_its_options():
    result, seen = _run("first", "x", "--limit", "3", "--label", "b")
    assert result.exit_code == 0
    assert seen == {"first": ("x", Wanted(3, "b"))}


def test_an_option_without_a_default_is_required():
    result, seen = _run("first", "x")
    assert result.exit_code == 2
    assert "--limit" in result.output
    assert not seen


def test_what_a_command_leaves_out_keeps_its_default_and_is_no_option():
    result, seen = _run("second", "--limit", "3")
    assert result.exit_code == 0
    assert seen == {"second": Wanted(3)}
    assert _run("second", "--limit", "3", "--label", "b")[0].exit_code == 2


def test_paths_in_groups_are_files():
    result, seen = _run("first", "x", "--limit", "3", "--path", "postgresql://anna:secret@host/people")
    assert isinstance(result.exception, ParameterError)
    assert "an address stands where a file belongs" in str(result.exception)
    assert "secret" not in str(result.exception)
    assert not seen


def test_options_beside_a_policy_are_refused_by_name():
    with pytest.raises(ParameterError, match=r"^--qi, --null-value: the policy file says"):
        ColumnOptions(policy=Path("p.toml"), qi="age", null_value=["?"])
    ColumnOptions(policy=Path("p.toml"), null_value=[])


def test_options_of_a_database_are_refused_for_files(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(ParameterError, match="--table is for databases"):
        TableOptions(table="people").open(file)
    with pytest.raises(ParameterError, match="--memory is for rows that stream"):
        TableOptions(memory="1GiB").open(file)


def test_a_delimiter_may_be_written_as_an_escape(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("1\t2\n3\t4\n")
    table, csv_format = CsvOptions(delimiter="\\t", names="a, b").read(file)
    assert table.columns == ["a", "b"]
    assert table.rows() == [("1", "2"), ("3", "4")]
    assert csv_format.delimiter == "\t"
