"""Commands with groups of options, flattened for the command line, and their help under headings."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any, NamedTuple, TypeVar, cast, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from incrowd.core.errors import ParameterError
from incrowd.core.io.addresses import looks_like_address
from incrowd.faces.cli.commands import ELSEWHERE, PURPOSES
from incrowd.faces.cli.logs import HIDDEN_OPTIONS
from incrowd_gate.errors import options_taken

HEADINGS = {
    "Most used": ("--output", "--policy", "--qi", "--sensitive", "--hierarchy", "-k", "--algorithms"),
    "Roles of columns": (
        "--identifying", "--person", "--household", "--weights", "--linked", "--insensitive", "--unlisted",
        "--hierarchies", "--null-value", "--treat",
    ),
    "Privacy": (
        "-l", "-t", "--model", "--max-suppression", "--suppressed", "--wildcards", "--judge", "--ends",
        "--population",
    ),
    "Search": (
        "--algorithm", "--levels", "--style", "--set-limit", "--goal", "--shuffle", "--seed", "--seeds",
    ),
    "Reading": (
        "--table", "--sheet", "--header-row", "--fill-merged", "--delimiter", "--encoding", "--names",
        "--stream", "--memory",
    ),
    "Verdict": ("--accept", "--unanswered"),
    "Ledger": ("--ledger", "--recipient", "--ledger-keys", "--ledger-new-people"),
    "Writing": (
        "--into", "--keep-order", "--row-map", "--by", "--aligned", "--recoding", "--save-policy", "--report",
        "--purpose", "--owner", "--attack-results", "--internal", "--rows", "--escape-formulas", "--force",
        "--full", "--one-page", "--at-k", "--csv", "--json",
    ),
}  # fmt: skip
"""Headings of the options that several commands share."""
_OWN = "Of this command"
_HEADING = {name: heading for heading, names in HEADINGS.items() for name in names}
_VALUES = {
    "path": "FILE", "int": "N", "int range": "N", "float": "X", "str": "TEXT", "list[str]": "TEXT",
}  # fmt: skip
"""Placeholder of an option's value, by the type's name in click."""
_FEW = 16
"""Largest number of options that a command's help explains in full."""
_SHORT = ("Arguments", "Most used", _OWN)
"""Headings explained even for a command with more options; of other options the names are shown."""
_ALL = "incrowd.help.all"
_TYPE = re.compile(r"<([^<>]*)>$")
_ORDER = {name: index for index, name in enumerate(_HEADING)}


def with_all_options(context: Any) -> Any:
    """Make the help of a command explain every option."""
    context.meta[_ALL] = True
    return context


def _help_all(context: typer.Context, value: bool) -> None:
    if value:
        typer.echo(with_all_options(context).get_help())
        raise typer.Exit


HELP_ALL = Annotated[
    bool, typer.Option("--help-all", is_eager=True, callback=_help_all, help="Show every option and exit.")
]


class CommandHelp(TyperCommand):
    """A command with options under headings, the most used first."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options, and for a placeholder used as an option suggest the right option.

        Example: for `verify --raw`, the error suggests `--against RAW`.
        """
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            word = str(getattr(error, "option_name", "")).lstrip("-")
            options = [each.opts[0] for each in self.params if each.metavar == word.upper() != ""]
            if len(options) == 1 and hasattr(error, "possibilities"):
                error.possibilities = options
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options by heading, shortened if there are many."""
        rows: dict[str, list[tuple[str, str]]] = {}
        for parameter in sorted(self.get_params(ctx), key=_order):
            row = parameter.get_help_record(ctx)
            if row is None or parameter.name == "help_all":
                continue
            row = (_TYPE.sub(lambda match: _VALUES.get(match[1], ""), row[0]).strip(), row[1])
            if parameter.param_type_name == "argument":
                heading = "Arguments"
                row = (parameter.metavar or str(parameter.name), row[1])
            elif parameter.name == "help":
                heading = "Writing"
            else:
                heading = next((_HEADING[name] for name in parameter.opts if name in _HEADING), _OWN)
            rows.setdefault(heading, []).append(row)
        is_short = _ALL not in ctx.meta and sum(map(len, rows.values())) > _FEW
        for heading in ("Arguments", "Most used", _OWN, *list(HEADINGS)[1:]):
            if heading in rows and not (is_short and heading not in _SHORT):
                with formatter.section(heading):
                    formatter.write_dl(rows[heading])
        if is_short:
            with formatter.section("More options (--help-all explains them)"):
                for heading in HEADINGS:
                    if heading in rows and heading not in _SHORT:
                        formatter.write(_names(heading, rows[heading], formatter.width))


def _names(heading: str, rows: list[tuple[str, str]], width: int) -> str:
    """List the option names of a heading, wrapped to `width`."""
    names = (name.replace(",", " ").split() for name, _ in rows)
    # Of `-o, --output FILE` the long name, of `-l N` the short one.
    options = [next((word for word in words if word.startswith("--")), words[0]) for words in names]
    text = ", ".join(name for name in options if name != "--help")
    return fill(f"  {heading}: {text}", width, subsequent_indent="    ", break_on_hyphens=False) + "\n"


def _order(parameter: Any) -> int:
    """Rank of an option in `HEADINGS`, with unlisted options last."""
    return next((_ORDER[name] for name in parameter.opts if name in _ORDER), len(_ORDER))


class GroupHelp(TyperGroup):
    """A group of commands, listed by purpose."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command, or suggest the command for a related word."""
        word = args[0].lower() if args else ""
        if self.get_command(ctx, word) is None and (
            instead := ELSEWHERE.get(word) or ELSEWHERE.get(word + "s")
        ):
            ctx.fail(f"There is no command {args[0]!r}; {instead}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under headings by purpose."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        width = max(map(len, commands), default=0)
        room = formatter.width - 6 - width
        for purpose, names in PURPOSES.items():
            rows = [
                (name.ljust(width), command.get_short_help_str(room))
                for name in names
                if (command := commands.pop(name, None)) is not None and not command.hidden
            ]
            if rows:
                with formatter.section(purpose):
                    formatter.write_dl(rows)
        rest = [(name, command.get_short_help_str(room)) for name, command in commands.items() if command]
        if rest:
            with formatter.section("Commands"):
                formatter.write_dl(rest)


_EVERYWHERE = {**HIDDEN_OPTIONS, "help_all": (HELP_ALL, False)}
"""Options of every command, which act through their callbacks alone."""
_Command = TypeVar("_Command", bound=Callable[..., Any])


class Without:
    """Names of a group's options that a command lacks, so that the defaults apply.

    Examples
    --------
    >>> Annotated[Columns, Without("hierarchies")]  # doctest: +SKIP
    """

    def __init__(self, *names: str) -> None:
        self.names = names


class _Group(NamedTuple):
    """A parameter made of several options: the dataclass, and the fields offered as options."""

    make: Callable[..., Any]
    options: tuple[str, ...]


class Commands(typer.Typer):
    """Commands that take groups of options, and no address where a file belongs."""

    def command(self, name: str | None = None, **kwargs: Any) -> Callable[[_Command], _Command]:
        """Register a command with flattened groups of options and checked paths."""
        register = super().command(name, **kwargs)
        return lambda function: register(_flat(function))

    @functools.cached_property
    def described(self) -> Any:
        """The click command of the program, built once."""
        return get_command(self)


def _flat(function: _Command) -> _Command:
    """Wrap a command, replacing each group by the options of the group's fields."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, _Group] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        cls, left_out = _group_of(hints[name])
        if cls is None:
            parameters.append(_option(name, hints[name], parameter.default))
            continue
        options = [each for each in fields(cls) if each.name not in left_out]
        groups[name] = _Group(cls, tuple(each.name for each in options))
        for each in options:
            default = inspect.Parameter.empty if each.default is MISSING else each.default
            parameters.append(_option(each.name, _hints(cls)[each.name], default))

    parameters += [_option(name, hint, default) for name, (hint, default) in _EVERYWHERE.items()]

    @functools.wraps(function)
    def run(**values: Any) -> Any:
        for name in _EVERYWHERE:
            del values[name]
        _refuse_addresses(values)
        tied_to_policy = [group.options for group in groups.values() if "policy" in group.options]
        has_policy = values.get("policy") is not None
        options_taken(
            name for name in values if not (has_policy and any(name in each for each in tied_to_policy))
        )
        groups_of_call = {
            name: group.make(**{option: values.pop(option) for option in group.options})
            for name, group in groups.items()
        }
        for group in groups_of_call.values():
            # A mistake is reported before the table is read.
            getattr(group, "check", lambda: None)()
        return function(**values, **groups_of_call)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return cast("_Command", run)


def _group_of(hint: Any) -> tuple[Any, tuple[str, ...]]:
    """Return a group's dataclass and omitted options, or None for a single option."""
    cls: Any
    cls, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if not (isinstance(cls, type) and is_dataclass(cls)):
        return None, ()
    return cls, tuple(name for note in notes if isinstance(note, Without) for name in note.names)


def _option(name: str, hint: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


@functools.cache
def _hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls, include_extras=True)


def _refuse_addresses(values: dict[str, Any]) -> None:
    """Raise for the address of a database in any parameter that takes a file."""
    for name, value in values.items():
        for path in value if isinstance(value, list | tuple) else (value,):
            if isinstance(path, Path) and looks_like_address(path):
                from incrowd.engines.dialects.addresses import BEGINNINGS

                # The address itself may have a password.
                raise ParameterError(
                    f"{name.replace('_', ' ')}: an address stands where a file belongs; a database is "
                    f"taken by assess, anonymize, lattice and verify alone, as DATA ({', '.join(BEGINNINGS)})"
                )
