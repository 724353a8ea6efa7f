"""Forms made of declared parameters: range, choices and meaning come from the declaration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nicegui import ui

from incrowd.errors import ParameterError
from incrowd.studio.parts import hinted

if TYPE_CHECKING:
    from incrowd.parameters import Configured, Parameter

_UNSET = ""
"""What a list of choices has for no value."""


def entry_form(
    entry: type[Configured],
    settings: dict[str, Any],
    changed: Callable[[], None],
    choices: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """Show a field for every parameter of a registered entry; typed text goes into its settings.

    Return the fields by the names of their parameters.

    Parameters
    ----------
    settings
        The entry's settings, as a policy file holds them.
    changed
        Called after each change.
    choices
        What a text may be, by parameter, where the table says it: names of columns.
    """
    defaults = {name: field.default for name, field in entry.__dataclass_fields__.items()}
    needed = entry.needed()
    found = {}
    for name, parameter in entry.parameters().items():
        default = None if name in needed else defaults[name]

        def change(value: Any, name: str = name) -> None:
            if value is None:
                settings.pop(name, None)
            else:
                settings[name] = value
            changed()

        value = settings.get(name, default)
        of = (choices or {}).get(name)
        found[name] = field_of(entry.name, name, parameter, value, change, of, needed=name in needed)
    return found


def field_of(
    owner: str,
    name: str,
    parameter: Parameter,
    value: Any,
    change: Callable[[Any], None],
    choices: Sequence[str] | None = None,
    *,
    needed: bool = False,
) -> Any:
    """Show the field of one parameter.

    Parameters
    ----------
    owner
        Whose parameter it is, for errors.
    change
        Called with every right value, None where the field is empty. A wrong one is told below the field,
        and the value before stays.
    choices
        What a text may be, where the declaration does not say it.
    needed
        Whether it may not be left empty, since it has no default.
    """
    if parameter.kind is bool:
        toggle = ui.switch(
            f"{name}: {parameter.meaning}", value=bool(value), on_change=lambda e: change(e.value)
        )
        return toggle.props(f"data-field={name}")
    options = parameter.choices or choices
    if options:
        return _choice(name, parameter, list(options), value, change)

    def read(text: str) -> Any:
        return parameter.parse(text.strip(), owner, name) if text.strip() else None

    def wrong(text: str | None) -> str | None:
        try:
            given = read(text or "")
        except ParameterError as error:
            return str(error)
        return f"give {parameter.describe()}" if given is None and needed else None

    def typed(event: Any) -> None:
        if wrong(event.value) is None:
            change(read(event.value or ""))

    shown = "" if value is None else str(value)
    found = ui.input(name, value=shown, on_change=typed, validation=wrong)
    found.props(
        f"outlined dense data-field={name}" + (" inputmode=decimal" if parameter.kind is not str else "")
    )
    return hinted(found, f"{parameter.meaning}; {parameter.describe()}")


def _choice(
    name: str, parameter: Parameter, options: list[str], value: Any, change: Callable[[Any], None]
) -> Any:
    shown = {option: option for option in options}
    if parameter.optional:
        shown = {_UNSET: "(not set)", **shown}
    chosen = value if value in shown else (_UNSET if parameter.optional else None)
    found = ui.select(shown, label=name, value=chosen, on_change=lambda e: change(e.value or None))
    found.props(f"outlined dense options-dense data-field={name}")
    return hinted(found, parameter.meaning)
