"""Small parts of the page, which show texts of a table as texts, of whatever look."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from incrowd.core.errors import visible
from incrowd.core.lazy import pl

STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")


class _Words(TextElement):
    """An element of HTML that holds a text and nothing else."""

    def __init__(self, tag: str, text: str) -> None:
        super().__init__(tag=tag, text=visible(text))

    def set_text(self, text: str) -> Any:
        """Show another text."""
        return super().set_text(visible(text))


def words(tag: str, text: str, classes: str = "") -> Any:
    """Show a text in an element of HTML."""
    return _Words(tag, text).classes(classes)


def heading(text: str, level: int = 2) -> Any:
    """Show a heading. That of a panel takes the focus when the panel is opened."""
    return words(f"h{level}", text).props("tabindex=-1" if level == 2 else "")


def note(text: str) -> Any:
    """Show a text that explains."""
    return words("p", text, "muted")


def problem(text: str) -> Any:
    """Show an error, also to a screen reader."""
    return marked(words("div", text, "problem"), "problem").props("role=alert")


def tell(place: Any, text: str) -> None:
    """Show an error in a place for errors alone; an empty text clears the place."""
    place.clear()
    if text:
        with place:
            problem(text)


def marked(element: Any, mark: str) -> Any:
    """Give an element a name for tests."""
    return element.props(f"data-mark={mark}")


def bullets(sentences: Iterable[str]) -> Any:
    """Show sentences as a list."""
    with words("ul", "") as found:
        for sentence in sentences:
            words("li", sentence)
    return found


def fold(title: str, *, opened: bool = False) -> Any:
    """Show a line that opens to a content."""
    return ui.expansion(title, value=opened).props("dense").classes("w-full")


def box(title: str, hover: str = "") -> Any:
    """Show a box with a name, to put more into it; `hover` is shown over the name."""
    with ui.column().classes("box") as place:
        words("div", title, "name").props["title"] = hover
    return place


def emptied(place: Any) -> Any:
    """Take everything out of a place, for new contents."""
    place.clear()
    return place


def grid(title: str, names: Sequence[str], rows: Iterable[Sequence[Any]], numbers: Sequence[int] = ()) -> Any:
    """Show a table, with a title for screen readers, and the columns `numbers` on the right.

    Columns get keys of their own: a name could look like an instruction to the library below.
    """
    columns = []
    for i, name in enumerate(names):
        side = "right" if i in numbers else "left"
        columns.append({"name": f"c{i}", "label": visible(name), "field": f"c{i}", "align": side})
    cells = []
    for number, row in enumerate(rows):
        texts = {f"c{i}": visible(cell) if isinstance(cell, str) else cell for i, cell in enumerate(row)}
        cells.append({"id": number, **texts})
    # Where it is wider than the page it can be scrolled, by the keyboard, too.
    place = ui.element("div").classes("wide-table").props("tabindex=0 role=region")
    place.props["aria-label"] = title
    with place:
        table = ui.table(columns=columns, rows=cells, row_key="id", pagination=0)
        table.props("flat bordered dense hide-pagination")
    return place


def frame(title: str, table: pl.DataFrame) -> Any:
    """Show rows of a table: every cell as a text, cut where very long."""
    return grid(title, table.columns, [[*map(cell_text, row)] for row in table.iter_rows()])


def cell_text(cell: Any) -> str:
    """Return a cell of a table as a text that can be shown."""
    text = str(cell).lower() if isinstance(cell, bool) else str(cell)
    if isinstance(cell, datetime):
        text = text.removesuffix(" 00:00:00")  # A release has such a day without a time, too.
    return "(missing)" if cell is None else visible(cut(text))


def cut(text: str) -> str:
    """Leave the end of a very long text out."""
    return text if len(text) <= 200 else f"{text[:200]}..."
