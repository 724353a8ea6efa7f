"""The table in the middle of the page: a head and the cells of each column, before and after recoding."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median_high
from typing import TYPE_CHECKING, Any

from nicegui import ui

from incrowd.core.documents import loss_in_words
from incrowd.core.errors import InputError, visible
from incrowd.core.io.columns import columns_named
from incrowd.core.lazy import np, pl
from incrowd.core.table.schema import OPEN_ROLE
from incrowd.faces.studio import parts
from incrowd.faces.studio.panels.column_forms import ROLES
from incrowd.faces.studio.values import MISSING, OTHERS, most_frequent

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.faces.studio.work import Work

SCRIPT = Path(__file__).with_name("rows.js").read_text(encoding="utf-8")
VIEWS = {"before": "Before", "after": "After", "difference": "Difference"}
"""The views of the rows, and their words."""
_BLOCK = 100
"""Rows that the page asks for at a time."""
_BARS = 12
"""Bars of the small histogram of a head."""
_LINES = {"before": 26, "after": 26, "difference": 38}
"""Heights of a row, in pixels, by view: a difference has two lines."""
_NARROW, _USUAL, _WIDE = 56, 60, 100
"""Widths of a column, in pixels: the least, and those between which a long one gives way to others.

Of the usual width 16 columns fit a page of 1,440 beside the panel.
"""
_MARKS = {
    OPEN_ROLE: "?", "quasi": "QI", "sensitive": "S", "insensitive": "–", "identifying": "ID", "person": "P",
    "household": "H", "weight": "W",
}  # fmt: skip
"""Short marks of roles."""


class Rows:
    """The rows of a window's table, under heads that show role, records, loss and points of each column.

    Attributes
    ----------
    view
        The view: one of `VIEWS`.
    names
        The names of the columns, in the order of the table; the page speaks of them by their places.
    """

    def __init__(self, page: Any) -> None:
        self._page = page
        self.view = "difference"
        self.names: list[str] = []
        self._shapes: dict[str, list[int]] = {}
        self._sought: list[str] = []
        self._widths: dict[str, int] = {}

    def draw(self) -> None:
        """Show the grid without columns, which `show` fills."""
        self._grid = ui.aggrid(
            {
                "columnDefs": [], "rowModelType": "infinite", "cacheBlockSize": _BLOCK,
                "maxBlocksInCache": 20, ":datasource": "incrowd.rows", "rowHeight": _LINES[self.view],
                "headerHeight": 112,
                "suppressMovableColumns": True, "enableCellTextSelection": True,
                "tabIndex": -1, "suppressHeaderFocus": True, ":onGridReady": "incrowd.takeTab",
                "suppressFieldDotNotation": True, "animateRows": False,
                "defaultColDef": {
                    "sortable": False, "resizable": True,
                    "suppressHeaderMenuButton": True, ":headerComponent": "incrowd.Head",
                    ":cellRenderer": "incrowd.drawCell",
                },
            },
            theme="balham",
        ).classes("rows")  # fmt: skip
        parts.marked(self._grid, "rows").props["aria-label"] = "The rows of the table"
        ui.on("rows", lambda event: self._give(event.args))

    def show(self) -> None:
        """Show the columns and rows of a table that was opened."""
        work = self._page.work
        named = work.chosen.columns
        self.names = [each.name for each in work.columns if each.name in named]
        self._sought = list(self.names)
        self._shapes, self._widths = {}, {}
        self.show_heads()
        self._grid.run_grid_method("purgeInfiniteCache")

    def choose_view(self, view: str) -> None:
        """Show the rows before, after, or both."""
        self.view = view
        self._grid.run_grid_method("setGridOption", "rowHeight", _LINES[view])
        self._grid.run_grid_method("purgeInfiniteCache")

    def seek(self, names: Sequence[str]) -> None:
        """Show some of the columns alone."""
        self._sought = list(names)
        self.show_heads()

    def measure(self, work: Work) -> dict[str, list[int]]:
        """Count the records of each column for a small histogram, in a thread."""
        frame = work.rows(0, 20_000)
        columns = work.chosen.columns
        shapes = dict[str, list[int]]()
        for name in self.names:
            # A column that cannot be read so has no bars; its panel says why.
            with suppress(InputError):
                bars = most_frequent(frame[name], columns[name])
                shapes[name] = [records for label, records in bars if label not in (OTHERS, MISSING)]
        return shapes

    def take_shapes(self, shapes: dict[str, list[int]]) -> None:
        """Show the small histograms of the raw columns."""
        self._shapes = shapes
        self.show_heads()

    def show_heads(self) -> None:
        """Show the current role, records, loss and points of each column."""
        heads = self._heads()
        columns = [
            {"colId": f"c{place}", "field": f"c{place}", "headerName": visible(name),
             "headerComponentParams": {"of": heads[name]}, "flex": self._widths.get(name, _USUAL),
             "minWidth": min(self._widths.get(name, _USUAL), _USUAL)}
            for place, name in enumerate(self.names) if name in self._sought
        ]  # fmt: skip
        self._grid.run_grid_method("setGridOption", "columnDefs", columns)

    def _heads(self) -> dict[str, dict[str, Any]]:
        work = self._page.work
        chosen, pressed = work.chosen.columns, self._page.column
        pairs, lost = _recodings(work)
        raw: dict[str, list[list[float | None]]]
        raw = {name: [[count, None] for count in counts] for name, counts in self._shapes.items()}
        points = points_by_column(work)
        roles = [[value, word] for value, word in ROLES.items()]
        heads = {}
        for place, name in enumerate(self.names):
            role = chosen[name]["role"]
            state, told = points.get(name, ("", ""))
            heads[name] = {
                "place": place, "name": visible(name), "role": role, "roles": roles, "mark": _MARKS[role],
                "pairs": pairs.get(name) or raw.get(name, []),
                "lost": loss_in_words(lost[name]) if name in lost else "",
                "state": state, "points": visible(told), "pressed": name == pressed,
            }  # fmt: skip
        return heads

    def refresh(self) -> None:
        """Ask for the rows in sight anew, at the same place."""
        self._grid.run_grid_method("refreshInfiniteCache")

    async def _give(self, args: dict[str, int]) -> None:
        """Answer the page's question for some rows."""
        question, first = int(args["question"]), max(int(args["first"]), 0)
        rows = await self._page.doing(self._page.wrong, None, self._cells, first, _BLOCK)
        cells = "null" if rows is None else json.dumps(rows[0])
        height = -1 if rows is None else rows[1]
        if rows and rows[0] and not first:
            widths = {name: width_of([x[f"c{i}"] for x in rows[0]]) for i, name in enumerate(self.names)}
            if widths != self._widths:
                self._widths = widths
                self.show_heads()
        self._page.run_script(f"incrowd.give({question}, {cells}, {height})")

    def _cells(self, first: int, count: int) -> tuple[list[dict[str, Any]], int]:
        """Return the cells of some rows, each under the key of the column, and the number of rows."""
        work: Work = self._page.work
        keys = [f"c{place}" for place in range(len(self.names))]
        if not self.names:
            return [], 0
        if self.view == "before" or not work.is_recoded:
            before = work.rows(first, count).select(columns_named(self.names))
            rows: Iterator[Any] = ([parts.cell_text(cell) for cell in row] for row in before.iter_rows())
            height = work.height
        else:
            before, after, height = work.pairs(first, count)
            before = before.select(columns_named(self.names))
            # A column without a role is in no release yet.
            open_names = [x for x in work.chosen.having(OPEN_ROLE) if x not in after.columns]
            after = after.hstack(before.select(columns_named(open_names)))
            rows = changed_cells(before, after) if self.view == "difference" else _after(before, after)
        return [dict(zip(keys, row, strict=True)) for row in rows], height


def _recodings(work: Work) -> tuple[dict[str, list[list[float]]], dict[str, float]]:
    """Return the records of each quasi-identifier before and after, and the mean loss of cells."""
    current = work.recoding
    if current is None or work.loss is None:
        return {}, {}
    frequency, recoding = current
    pairs = {
        domain.name: pairs_of(position, frequency, recoding)
        for position, domain in enumerate(frequency.domains)
        if domain.name not in work.sets
    }
    return pairs, dict(work.loss.per_attribute or {})


def pairs_of(position: int, frequency: FrequencyTable, recoding: Recoding) -> list[list[float]]:
    """Count the records of a quasi-identifier in bins, before and after.

    The records of a cell are spread evenly over the values that it stands for. So a column that lost much is
    flat:

        ages 0..9   before  # #  ##      after, all [0-9]   --------
    """
    domain, cells = frequency.domains[position], recoding.cells[position]
    numbers = domain.numbers
    width = min(domain.size, _BARS)
    if domain.size <= _BARS:
        bins = np.arange(domain.size)
    elif domain.ordered and np.isfinite(numbers).any():
        low, high = np.nanmin(numbers), np.nanmax(numbers)
        share = np.nan_to_num((numbers - low) / max(high - low, 1e-12), nan=1.0)
        bins = np.minimum((share * width).astype(np.int64), width - 1)
    else:
        bins = np.arange(domain.size) * width // domain.size
    weights = np.where(recoding.suppressed, 0, frequency.weights)
    records = np.bincount(cells.codes, weights, len(cells.labels))
    even = records / (cells.hi - cells.lo + 1)
    edges = np.bincount(cells.lo, even, domain.size + 1) - np.bincount(cells.hi + 1, even, domain.size + 1)
    before = np.bincount(bins, frequency.totals(position), width)
    after = np.bincount(bins, np.maximum(np.cumsum(edges)[: domain.size], 0), width)
    return [[round(float(raw), 2), round(float(out), 2)] for raw, out in zip(before, after, strict=True)]


def points_by_column(work: Work) -> dict[str, tuple[str, str]]:
    """Return the state and the sentences of the points of each column: broken before open.

    A column beside which another one has to change, the first of a point, has the state ``beside``.
    """
    if work.release is None:
        return {}
    verdict = work.release.verdict
    by_column: dict[str, tuple[str, str]] = {}
    for state, points in (("open", verdict.open), ("broken", verdict.broken)):
        for point in points:
            for name in point.columns:
                weight, before = by_column.get(name, ("beside", ""))
                weight = state if name == point.columns[0] else weight
                by_column[name] = (weight, f"{before} {point.text}".strip())
    return by_column


def width_of(cells: Sequence[str | dict[str, str]]) -> int:
    """Return the width of a column, in pixels, in which the longer text of its median cell is whole."""
    texts = ((x, "") if isinstance(x, str) else (x["now"], x["was"]) for x in cells)
    longest = median_high(max(len(now), 0.85 * len(was)) for now, was in texts)
    return max(_NARROW, min(_WIDE, round(6.4 * longest + 8)))


def changed_cells(before: pl.DataFrame, after: pl.DataFrame) -> Iterator[list[str | dict[str, str]]]:
    """Yield the cells of each row: a text where it stayed, else both texts."""
    for old, new in zip(before.iter_rows(named=True), after.iter_rows(named=True), strict=True):
        row: list[str | dict[str, str]] = []
        for name, cell in old.items():
            was, now = parts.cell_text(cell), parts.cell_text(new[name]) if name in new else "left out"
            row.append(was if was == now else {"was": was, "now": now})
        yield row


def _after(before: pl.DataFrame, after: pl.DataFrame) -> Iterator[list[str]]:
    """Yield the released cells of each row, empty for columns that are left out."""
    released: Collection[str] = set(after.columns)
    for row in after.iter_rows(named=True):
        yield [parts.cell_text(row[name]) if name in released else "" for name in before.columns]
