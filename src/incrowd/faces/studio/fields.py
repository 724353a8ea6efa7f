"""Buttons and fields of the page; tests find each by a name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from incrowd.core.errors import InputError
from incrowd.faces.studio.parts import marked


class RangeInput(ui.element):
    """A slider of the browser itself, whose name and role are on the part that takes the focus.

    `span` is its low and high end and its step. `on_slide` is called with each place. No answer of the server
    moves it back meanwhile: the page has its first place as an attribute alone.
    """

    def __init__(self, span: tuple[float, float, float], value: float, title: str, on_slide: Any) -> None:
        super().__init__("input")
        self.props("type=range min={} max={} step={}".format(*span)).props["aria-label"] = title
        self.props["^value"] = self._value = value

        def slid(event: Any) -> None:
            self._value = float(event.args)
            on_slide(self._value)

        self.on("input", slid, js_handler="e => emit(e.target.value)")

    def set_value(self, value: float) -> None:
        """Move the slider to a place."""
        if value != self._value:
            self._value = value
            self.client.run_javascript(f"getHtmlElement({self.id}).value = {value}")


def button(text: str, mark: str, on_click: Any = None, kind: str = "outline", **given: Any) -> Any:
    """Show a button of a kind, a word of Quasar, or without a kind as the main button of a panel."""
    return marked(ui.button(text, on_click=on_click, **given), mark).props(f"no-caps {kind}")


def text_field(label: str, field: str, value: Any = "", hint: str = "", **given: Any) -> Any:
    """Show a field for a text, which tests find by the name of the field."""
    field_input = ui.input(label, value=value, **given).props(f"outlined dense data-field={field}")
    return hinted(field_input, hint) if hint else field_input


def choice_field(options: Any, label: str, field: str, value: Any = None, **given: Any) -> Any:
    """Show a list to choose from, which tests find by the name of the field."""
    select = ui.select(options, label=label, value=value, **given)
    return select.props(f"outlined dense options-dense data-field={field}")


def path_field(label: str, field: str, value: str, hint: str, take: Callable[[str], None]) -> Any:
    """Show a field for a path, with a call of `take` for a written path, and errors below."""
    area = text_field(label, field, value, hint)

    def written() -> None:
        try:
            take((area.value or "").strip())
        except InputError as error:
            area.error = str(error)
        else:
            area.error = None

    return area.on("change", written)


def several_of(options: list[str], label: str, field: str, value: list[str], on_change: Any) -> None:
    """Show a list for at least a single choice."""
    select = choice_field(options, label, field, value, multiple=True, on_change=on_change)
    select.validation = lambda chosen: None if chosen else "choose at least one"


def hinted(element: Any, hint: str) -> Any:
    """Give a field a line below, as plain text and not through `props`, as the text is no markup."""
    element.props["hint"] = hint
    return element


def dropping(
    mark: str, uploaded: Any, text: str = "Drop a file here, or click", *, several: bool = False
) -> None:
    """Show where a file can be dropped, and a button for the keyboard. A file may come again.

    `uploaded` is called with the event that has the file, or the files if `several` may come together. The
    text in the zone is no text of a table.
    """
    handler: dict[str, Any] = {"on_multi_upload" if several else "on_upload": uploaded}
    upload = ui.upload(multiple=several, auto_upload=True, **handler).classes("w-full")
    # Of files of one name the server would take the last alone.
    upload.props[":field-name"] = "file => [file.name, file.size, file.lastModified].join('/')"
    marked(upload, mark).props("flat bordered").add_slot(
        "header",
        '<label class="drop"><q-spinner v-if="props.isUploading"></q-spinner>'
        f'<q-icon v-else name="upload_file"></q-icon><span>{text}</span>'
        "<q-uploader-add-trigger></q-uploader-add-trigger></label>",
    )
    # It refuses a file that it has, so it keeps none. The button stands in place of their list.
    upload.on("finish", upload.reset, args=[])
    with upload.add_slot("list"):
        button("Choose a file", f"pick-{mark}", lambda: upload.run_method("pickFiles"))
