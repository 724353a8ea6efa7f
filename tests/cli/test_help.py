"""What --help shows: commands by purpose, and options under headings, each once."""

from __future__ import annotations

import re

import pytest
import typer

from incrowd.cli import app
from incrowd.cli.commands import PURPOSES, commands
from incrowd.cli.flattening import Commands
from incrowd.cli.helping import HEADINGS
from incrowd.cli.logs import UNSHOWN

ROOT = typer.main.get_command(app)


def shown(name: str) -> str:
    command = ROOT.commands[name] if name else ROOT
    return command.get_help(command.context_class(command, info_name=f"incrowd {name}", terminal_width=80))


@pytest.mark.parametrize("name", [name for name, command in commands() if not isinstance(command, Commands)])
def test_every_option_stands_once_under_a_heading(name):
    lines = shown(name).splitlines()
    lines = lines[
        next(n for n, line in enumerate(lines) if line.endswith(":") and not line.startswith(" ")) :
    ]
    for parameter in ROOT.commands[name].params:
        if parameter.name in UNSHOWN:
            assert f"  {', '.join(parameter.opts)}" in shown("")
        elif parameter.param_type_name == "option":
            start = re.compile(rf"  {re.escape(', '.join(parameter.opts))}(?![A-Za-z-])")
            assert sum(start.match(line) is not None for line in lines) == 1, parameter.opts
    headings = [line[:-1] for line in lines if re.fullmatch(r"[A-Z][a-z ]+:", line)]
    assert len(set(headings)) == len(headings)
    known = {"Arguments", "Of this command", *HEADINGS}
    assert set(headings) <= known


def test_what_most_people_need_comes_first():
    text = shown("anonymize")
    places = [text.index(f"\n  {option}") for option in ("-o,", "--policy", "--qi", "--sensitive", "-k ")]
    assert max(places) < text.index("\nRoles of columns:")


def test_every_command_has_a_purpose():
    named = [name for names in PURPOSES.values() for name in names]
    assert sorted(named) == sorted(ROOT.commands)
    text = shown("")
    for purpose, names in PURPOSES.items():
        part = text[text.index(f"\n{purpose}:\n") :]
        assert part.index(f"\n  {names[0]}") > 0


def test_what_a_command_does_fits_a_line_of_the_terminal():
    assert "..." not in shown("").partition("Options:")[2]
