"""Commands with groups of options: dataclasses, flattened for the command line."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, cast, get_args, get_origin, get_type_hints

import typer
from typer.main import get_command

from incrowd.core.dialects.addresses import BEGINNINGS
from incrowd.core.errors import ParameterError
from incrowd.core.io.addresses import looks_like_address
from incrowd.faces.cli.helping import HELP_ALL
from incrowd.faces.cli.logs import HIDDEN_OPTIONS
from incrowd_verify.errors import options_taken

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
                # The address itself may have a password.
                raise ParameterError(
                    f"{name.replace('_', ' ')}: an address stands where a file belongs; a database is "
                    f"taken by assess, anonymize, lattice and verify alone, as DATA ({', '.join(BEGINNINGS)})"
                )
