"""Small parts of the page. Texts that come from a table are shown as texts, whatever they look like."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

if TYPE_CHECKING:
    import polars as pl

__all__ = ["STYLE", "frame", "grid", "heading", "hinted", "marked", "note", "problem", "words"]

STYLE = """
body { font-size: 15px; }
.q-header h1 { line-height: 1.3; }
.body--dark { color-scheme: dark; }
.q-loading-bar { display: none; }
.body--dark .studio .q-btn--flat .q-btn__content, .body--dark .studio .q-btn--outline .q-btn__content
  { color: #8ec2ff; }
.body--dark .studio .q-btn--outline::before { border-color: #8ec2ff; }
.studio { max-width: 1180px; margin: 0 auto; padding: 0 16px 64px; width: 100%; }
.studio h2 { font-size: 1.35rem; font-weight: 600; margin: 12px 0 2px; line-height: 1.3; }
.studio h3 { font-size: 1.05rem; font-weight: 600; margin: 20px 0 4px; line-height: 1.3; }
.studio p, .studio li { line-height: 1.5; margin: 2px 0; max-width: 75ch; overflow-wrap: anywhere; }
.studio ul { list-style: disc; padding-left: 1.3em; margin: 4px 0; }
.studio pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: 10px 12px; border-radius: 6px;
  background: #eef1f5; font-size: 13px; margin: 4px 0; width: 100%; }
.body--dark .studio pre { background: #1d2733; }
.studio .muted { color: #4a5563; }
.body--dark .studio .muted { color: #b6c2cf; }
.studio .box { border: 1px solid #c3ccd6; border-radius: 8px; padding: 12px 14px; width: 100%; gap: 6px; }
.body--dark .studio .box { border-color: #47535f; }
.studio .problem, .studio .good { padding: 8px 12px; border-radius: 4px; width: 100%; }
.studio .problem { border-left: 4px solid #b3261e; background: #fdecea; color: #5f1410; }
.body--dark .studio .problem { background: #3b1815; color: #ffd9d4; border-left-color: #ff897d; }
.studio .good { border-left: 4px solid #1b7a3d; background: #e6f4ea; color: #0d3d1e; }
.body--dark .studio .good { background: #12301c; color: #c8f0d4; border-left-color: #6fd08c; }
.studio .wide-table { overflow-x: auto; width: 100%; }
.studio .wide-table .q-table__container { overflow: visible; width: max-content; min-width: 100%; }
.studio .wide-table .q-table__middle { overflow: visible; }
.studio .q-table th { font-weight: 600; font-size: 13px; }
.studio .q-table td { max-width: 260px; overflow: hidden; text-overflow: ellipsis; }
.studio .q-tab-panel { padding: 8px 0; }
.studio .row-of-column { display: grid; grid-template-columns: 36px minmax(120px, 1fr) 190px minmax(0, 2fr);
  gap: 4px 12px; align-items: center; width: 100%; padding: 8px 0; border-top: 1px solid #d5dbe2; }
.body--dark .studio .row-of-column { border-color: #3a444e; }
.studio .name { font-weight: 600; overflow-wrap: anywhere; }
.studio .fields { display: flex; flex-wrap: wrap; gap: 10px 16px; width: 100%; align-items: flex-start; }
.studio .fields > * { width: 260px; max-width: 100%; }
.studio .halves { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 16px;
  width: 100%; }
.studio .fields > .q-btn { width: auto; align-self: flex-start; margin-top: 4px; }
.studio .q-field--with-bottom { padding-bottom: 0; }
.studio .q-field__bottom, .studio .q-field__bottom--animated { position: static; transform: none;
  line-height: 1.25; min-height: 20px; padding-top: 4px; }
.studio .drop { position: relative; display: block; padding: 10px 12px; }
.studio .q-uploader { width: 100%; }
.studio .q-uploader__header { background: none; color: inherit; }
.studio .q-uploader__list { min-height: 24px; padding: 4px; }
.studio .asked { box-shadow: inset 4px 0 0 #b3261e; padding-left: 8px; }
.studio .q-field__messages, .studio .q-field__label { color: #4a5563; }
.body--dark .studio .q-field__messages, .body--dark .studio .q-field__label { color: #b6c2cf; }
.studio .q-field--error .q-field__messages { color: #b3261e; }
.body--dark .studio .q-field--error .q-field__messages { color: #ff897d; }
.q-btn:focus-visible, .q-tab:focus-visible, .wide-table:focus-visible, .q-checkbox:focus-visible,
.q-toggle:focus-visible { outline: 3px solid #e08600; outline-offset: 2px; }
.studio .front { position: relative; height: 260px; width: 100%; max-width: 640px; margin: 4px 0 22px 0;
  border-left: 2px solid #6b7683; border-bottom: 2px solid #6b7683; }
.studio .front .q-btn { position: absolute; transform: translate(-50%, 50%); min-height: 28px;
  min-width: 28px; }
@media (max-width: 720px) {
  .studio { padding: 0 10px 48px; }
  .studio .row-of-column { grid-template-columns: 36px minmax(0, 1fr); }
  .studio .row-of-column > .wide { grid-column: 1 / -1; }
  .studio .halves { grid-template-columns: minmax(0, 1fr); }
  .studio .fields > * { width: 100%; }
}
"""


class _Words(TextElement):
    """An element of HTML that holds a text and nothing else."""

    def __init__(self, tag: str, text: str) -> None:
        super().__init__(tag=tag, text=text)


def words(tag: str, text: str, classes: str = "") -> Any:
    """Show a text in an element of HTML."""
    return _Words(tag, text).classes(classes)


def heading(text: str, level: int = 2) -> Any:
    """Show a heading."""
    return words(f"h{level}", text)


def note(text: str) -> Any:
    """Show a text that explains."""
    return words("p", text, "muted")


def problem(text: str) -> Any:
    """Show what went wrong, and let a screen reader say it."""
    return marked(words("div", text, "problem"), "problem").props("role=alert")


def marked(element: Any, mark: str) -> Any:
    """Give an element a name by which tests find it."""
    return element.props(f"data-mark={mark}")


def hinted(element: Any, hint: str) -> Any:
    """Give a field a line below it. The text is no markup, so it does not go through `props`."""
    element.props["hint"] = hint
    return element


def grid(title: str, names: Sequence[str], rows: Iterable[Sequence[Any]], numbers: Sequence[int] = ()) -> Any:
    """Show a table.

    Columns get keys of their own: a name could look like an instruction to the library below.

    Parameters
    ----------
    title
        What it shows, for who cannot see it.
    numbers
        Places of the columns that stand on the right.
    """
    columns = [
        {"name": f"c{i}", "label": name, "field": f"c{i}", "align": "right" if i in numbers else "left"}
        for i, name in enumerate(names)
    ]
    cells = [
        {"id": number, **{f"c{i}": cell for i, cell in enumerate(row)}} for number, row in enumerate(rows)
    ]
    # Where it is wider than the page it can be scrolled, by the keyboard, too.
    place = ui.element("div").classes("wide-table").props("tabindex=0 role=region")
    place.props["aria-label"] = title
    with place:
        table = ui.table(columns=columns, rows=cells, row_key="id", pagination=0)
        table.props("flat bordered dense hide-pagination")
    return place


def frame(title: str, table: pl.DataFrame) -> Any:
    """Show rows of a table: every cell as a text, cut where it is very long."""
    names = table.columns
    rows = [["(missing)" if cell is None else _cut(str(cell)) for cell in row] for row in table.iter_rows()]
    return grid(title, names, rows)


def _cut(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}..."
