"""The help of the command line: commands by purpose, and options under headings."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand, TyperGroup

from incrowd.cli.commands import PURPOSES

__all__ = ["CommandHelp", "GroupHelp"]

HEADINGS = {
    "Most used": ("--output", "--policy", "--qi", "--sensitive", "-k", "--algorithms"),
    "Roles of columns": (
        "--identifying", "--person", "--household", "--weights", "--linked", "--insensitive", "--unlisted",
        "--hierarchies", "--null-value",
    ),
    "Privacy": ("-l", "-t", "--model", "--max-suppression", "--wildcards", "--judge", "--population"),
    "Search": ("--algorithm", "--levels", "--style", "--set-limit", "--shuffle", "--seed", "--seeds"),
    "Reading": ("--table", "--delimiter", "--encoding", "--names", "--stream", "--memory"),
    "Writing": (
        "--into", "--keep-order", "--recoding", "--save-policy", "--report", "--internal", "--rows",
        "--escape-formulas", "--force", "--full", "--one-page", "--at-k", "--csv", "--json",
    ),
}  # fmt: skip
"""Options that several commands have. What one command has alone stands under a heading of its own."""
_OWN = "Of this command"
_HEADING = {name: heading for heading, names in HEADINGS.items() for name in names}
_VALUES = {
    "path": "FILE", "int": "N", "int range": "N", "float": "X", "str": "TEXT", "list[str]": "TEXT",
}  # fmt: skip
"""What stands for the value of an option, by its type."""
_TYPE = re.compile(r"<([^<>]*)>$")
_PLACE = {name: place for place, name in enumerate(_HEADING)}


class CommandHelp(TyperCommand):
    """A command whose options stand under headings, those first that most people need."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options by heading."""
        rows: dict[str, list[tuple[str, str]]] = {}
        for parameter in sorted(self.get_params(ctx), key=_place):
            row = parameter.get_help_record(ctx)
            if row is None:
                continue
            row = (_TYPE.sub(lambda found: _VALUES.get(found[1], ""), row[0]).strip(), row[1])
            if parameter.param_type_name == "argument":
                heading = "Arguments"
                row = (parameter.metavar or str(parameter.name), row[1])
            elif parameter.name == "help":
                heading = "Writing"
            else:
                heading = next((_HEADING[name] for name in parameter.opts if name in _HEADING), _OWN)
            rows.setdefault(heading, []).append(row)
        for heading in ("Arguments", "Most used", _OWN, *list(HEADINGS)[1:]):
            if heading in rows:
                with formatter.section(heading):
                    formatter.write_dl(rows[heading])


def _place(parameter: Any) -> int:
    """Return where an option stands under its heading; what has none keeps its order."""
    return next((_PLACE[name] for name in parameter.opts if name in _PLACE), len(_PLACE))


class GroupHelp(TyperGroup):
    """A group whose commands are listed by purpose."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under what they are for."""
        known = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        width = max(map(len, known), default=0)
        room = formatter.width - 6 - width
        for purpose, names in PURPOSES.items():
            rows = [
                (name.ljust(width), command.get_short_help_str(room))
                for name in names
                if (command := known.pop(name, None)) is not None and not command.hidden
            ]
            if rows:
                with formatter.section(purpose):
                    formatter.write_dl(rows)
        rest = [(name, command.get_short_help_str(room)) for name, command in known.items() if command]
        if rest:
            with formatter.section("Commands"):
                formatter.write_dl(rest)
