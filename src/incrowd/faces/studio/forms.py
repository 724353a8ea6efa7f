"""Forms made of declared parameters: range, choices and meaning come from the declaration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING
from typing import TYPE_CHECKING, Any

from nicegui import ui

from incrowd.core.errors import ParameterError
from incrowd.faces.studio.declared import parameters_of
from incrowd.faces.studio.fields import RangeInput, choice_field, hinted, text_field
from incrowd.faces.studio.parts import fold, marked

if TYPE_CHECKING:
    from incrowd.core.parameters import Parameter
    from incrowd.faces.studio.declared import Parameters
    from incrowd.faces.studio.meaning import Slider

_UNSET = ""
"""What a list of choices has for no value."""


def entry_form(
    entry: type[Any],
    settings: dict[str, Any],
    changed: Callable[[], None],
    choices: Mapping[str, Sequence[str]] | None = None,
    known: Parameters | None = None,
) -> dict[str, Any]:
    """Show a field for parameters of a registered entry or of the policy; typed text goes into the settings.

    Return the fields by the names of their parameters.

    Parameters
    ----------
    settings
        The entry's settings, as a policy file holds them.
    changed
        Called after each change.
    choices
        What a text may be, by parameter, where the table says it: names of columns.
    known
        The parameters that get a field; by default all that the entry has.
    """
    if known is None:
        known = {name: each for part in parameters_of(entry) for name, each in part.items()}
    form_fields = {}
    for name, (parameter, default) in known.items():

        def change(value: Any, name: str = name) -> None:
            if value is None:
                settings.pop(name, None)
            else:
                settings[name] = value
            changed()

        needed = default is MISSING
        value = settings.get(name, None if needed else default)
        of = (choices or {}).get(name)
        owner = getattr(entry, "name", "policy")
        form_fields[name] = _field(owner, name, parameter, value, change, of, needed=needed)
    return form_fields


def _field(
    owner: str, name: str, parameter: Parameter, value: Any, change: Any, choices: Any, *, needed: bool
) -> Any:
    """Show the field of a parameter; `change` gets every valid value, and None for an empty field."""
    if parameter.kind is bool:
        label = f"{name}: {parameter.meaning}"
        toggle = ui.switch(label, value=bool(value), on_change=lambda e: change(e.value))
        return toggle.props(f"data-field={name}")
    options = parameter.choices or choices
    if options:
        return _choice(name, parameter, list(options), value, change)

    def read(text: str) -> Any:
        return parameter.parse(text.strip(), owner, name) if text.strip() else None

    def wrong(text: str | None) -> str | None:
        try:
            number = read(text or "")
        except ParameterError as error:
            return str(error)
        return f"give {parameter.describe()}" if number is None and needed else None

    def typed(event: Any) -> None:
        if wrong(event.value) is None:
            change(read(event.value or ""))

    shown = "" if value is None else str(value)
    hint = f"{parameter.meaning}; {parameter.describe()}"
    field = text_field(name, name, shown, hint, on_change=typed, validation=wrong)
    return field if parameter.kind is str else field.props("inputmode=decimal")


def slider(field: Any, settings: dict[str, Any], name: str, span: Slider, title: str) -> None:
    """Show a number of some settings also as a slider, coupled with the number's field."""
    low, high, step = span

    def slid(place: float) -> None:
        field.set_value(str(int(place) if step == 1 else round(place, 2)))

    def written(_: Any) -> None:
        if low <= (now := settings.get(name, low)) <= high:
            handle.set_value(now)

    handle = RangeInput(span, settings.get(name, low), title, slid)
    handle.classes("sliding").props(f"data-slider={name}")
    field.on_value_change(written)


def advanced(mark: str, settings: Mapping[str, Any], known: Parameters) -> Any:
    """Return a place for rarely used parameters, closed while all have the defaults."""
    opened = any(settings.get(name, default) != default for name, (_, default) in known.items())
    return marked(fold("Advanced", opened=opened), mark)


def _choice(name: str, parameter: Parameter, options: list[str], value: Any, change: Any) -> Any:
    labels = {option: option for option in options}
    if parameter.optional:
        labels = {_UNSET: "(not set)", **labels}
    chosen = value if value in labels else (_UNSET if parameter.optional else None)
    select = choice_field(labels, name, name, chosen, on_change=lambda e: change(e.value or None))
    return hinted(select, parameter.meaning)
