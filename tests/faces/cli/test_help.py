"""The text of --help: commands by purpose, and options under headings, each once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from incrowd.faces.cli import app
from incrowd.faces.cli.commands import PURPOSES, commands
from incrowd.faces.cli.flattening import HEADINGS, Commands, with_all_options
from incrowd.faces.cli.logs import HIDDEN_OPTIONS

ROOT = typer.main.get_command(app)


NAMES = [name for name, command in commands() if not isinstance(command, Commands)]


def shown(name: str, *, whole: bool = True) -> str:
    command = ROOT.commands[name] if name else ROOT
    context = command.context_class(command, info_name=f"incrowd {name}", terminal_width=80)
    return command.get_help(with_all_options(context) if whole else context)


@pytest.mark.parametrize("name", NAMES)
def test_every_option_stands_once_under_a_heading(name):
    lines = shown(name).splitlines()
    lines = lines[
        next(n for n, line in enumerate(lines) if line.endswith(":") and not line.startswith(" ")) :
    ]
    for parameter in ROOT.commands[name].params:
        if parameter.name in HIDDEN_OPTIONS:
            assert f"  {', '.join(parameter.opts)}" in shown("")
        elif parameter.param_type_name == "option" and parameter.name != "help_all":
            start = re.compile(rf"  {re.escape(', '.join(parameter.opts))}(?![A-Za-z-])")
            assert sum(start.match(line) is not None for line in lines) == 1, parameter.opts
    headings = [line[:-1] for line in lines if re.fullmatch(r"[A-Z][a-z ]+:", line)]
    assert len(set(headings)) == len(headings)
    known = {"Arguments", "Of this command", *HEADINGS}
    assert set(headings) <= known


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_a_command_fits_a_screen_or_two_and_names_every_option(run, name):
    brief = shown(name, whole=False)
    assert len(brief.splitlines()) < 48
    assert max(map(len, brief.splitlines())) <= 80
    for parameter in ROOT.commands[name].params:
        if parameter.param_type_name == "option" and parameter.name not in {*HIDDEN_OPTIONS, "help_all"}:
            assert re.search(rf"(?<![\w-]){parameter.opts[-1]}\b", brief)
    if brief != shown(name):
        assert "\nMore options (--help-all explains them):\n" in brief
    # The bare command adds -h, and where lines break depends on it.
    asked, whole = (
        "".join(text.replace("-h, ", "").split()) for text in (run(name, "--help-all").out, shown(name))
    )
    assert asked == whole


def test_the_help_and_the_page_tell_of_the_same_exit_statuses():
    told = " ".join(shown("").partition("Exit status: ")[2].partition("\n\n")[0].split())
    page = Path(__file__).parents[3] / "docs" / "how-to" / "schedulers.md"
    listed = re.findall(r"^- \*\*(\d+)\*\*:", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(re.findall(r"\b\d+\b", told)) == sorted(listed)


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
