"""Step 1: which table."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from incrowd.dialects.addresses import EXAMPLES, either
from incrowd.errors import InputError
from incrowd.io.files import CsvFormat
from incrowd.io.kinds.files import suffixes
from incrowd.studio.cancelling import Watched
from incrowd.studio.parts import dropping, frame, grid, heading, hinted, marked, note, tell, words
from incrowd.studio.tables import Source, in_database, path_of

_ROWS = 10
_COLUMNS = 40
"""Columns of the first rows that are shown; the list below has all."""


class Table:
    """Choose a table, and look at its contents."""

    name = "Table"

    def __init__(self, page: Any) -> None:
        self.page = page
        self.panel: Any = None
        self._delimiter = ""
        self._encoding = "utf-8"
        self._sheet = ""

    def ready(self) -> bool:
        """Say whether the step can be gone to."""
        return True

    def draw(self) -> None:
        """Show the ways to choose a table, and the one that was chosen."""
        heading("Choose a table about people")
        note(
            "Open a table whose rows are about people; everything stays on this machine. A CSV (also "
            f".csv.gz) or Parquet file, or a folder of such; also {suffixes()}."
        )
        with ui.element("div").classes("halves"):
            with ui.column().classes("box"):
                self._path = ui.input("Path of a file or folder on this machine").props(
                    "outlined dense data-field=path"
                )
                self._path.classes("w-full").on("keydown.enter", self._open_path)
                with ui.row().classes("items-center"):
                    marked(ui.button("Open", on_click=self._open_path), "open").props("no-caps")
                    sample = ui.button("Try the built-in sample", on_click=self._open_sample)
                    marked(sample, "sample").props("no-caps outline")
                with ui.expansion("A table of a database").props("dense").classes("w-full"):
                    self._database()
                with ui.expansion("If a file is read wrongly").props("dense").classes("w-full"):
                    self._formats()
            with ui.column().classes("box"):
                dropping("upload", self._uploaded)
                note("A copy is kept in a private folder until this window is closed.")
        self._problems = ui.column().classes("w-full")
        self._messages = ui.column().classes("w-full")
        if self.page.work.table is not None:
            self._show_table()

    def _database(self) -> None:
        address = ui.input("Address of the database").classes("w-full")
        hint = f"{either([each.replace(':///', ':////') for each in EXAMPLES])}; no password"
        hinted(address.props("outlined dense data-field=address"), hint)
        table = ui.input("Name of the table").classes("w-full")
        table.props("outlined dense data-field=table")

        async def read() -> None:
            try:
                place = self.page.work.place("")
                source = in_database((address.value or "").strip(), (table.value or "").strip(), place)
            except InputError as error:
                self._tell(str(error))
                return
            await self.open(source)

        marked(ui.button("Open the table", on_click=read), "open-table").props("no-caps outline")
        note("Its rows are copied into the private folder to be looked at. The search asks the database.")

    def _formats(self) -> None:
        def delimiter(event: Any) -> None:
            self._delimiter = event.value or ""

        def encoding(event: Any) -> None:
            self._encoding = event.value or "utf-8"

        def sheet(event: Any) -> None:
            self._sheet = event.value or ""

        with ui.element("div").classes("fields"):
            sign = ui.input("Delimiter", value=self._delimiter, on_change=delimiter)
            hinted(sign.props("outlined dense data-field=delimiter"), "found out if empty; \\t is a tab")
            coding = ui.input("Encoding", value=self._encoding, on_change=encoding)
            hinted(coding.props("outlined dense data-field=encoding"), "utf-8, latin-1, cp1252, ...")
            page = ui.input("Sheet", value=self._sheet, on_change=sheet)
            hinted(page.props("outlined dense data-field=sheet"), "of a workbook that has several")

    def _show_table(self) -> None:
        work = self.page.work
        heading(f"{work.height:,} rows, {len(work.columns):,} columns", 3)
        names = [column.name for column in work.columns]
        grid(
            "Columns",
            (
                "column",
                "type",
                "distinct values, about" if work.streams else "distinct values",
                "missing values",
            ),
            [(c.name, c.type, f"{c.distinct:,}", f"{c.missing:,}") for c in work.columns],
            numbers=(2, 3),
        )
        heading("The first rows", 3)
        if len(names) > _COLUMNS:
            note(f"The first {_COLUMNS} of {len(names):,} columns.")
        frame("The first rows", work.rows(0, _ROWS)[:, :_COLUMNS])

    async def _open_path(self) -> None:
        text = (self._path.value or "").strip()
        if not text:
            self._tell("Write the path of a file, as /home/me/people.csv.")
            return
        try:
            path = path_of(text)
        except InputError as error:
            self._tell(str(error))
            return
        await self.open(Source(path.absolute(), str(path.absolute())))

    async def _open_sample(self) -> None:
        source = await self.page.doing(self._tell, None, self.page.work.sample)
        if source is not None:
            await self.open(source)

    async def _uploaded(self, event: Any) -> None:
        source = self.page.work.upload(event.file.name)
        await event.file.save(source.path)
        await self.open(source)

    def _tell(self, text: str) -> None:
        tell(self._problems, text)

    async def open(self, source: Source) -> None:
        """Read a table, and show it or what is wrong with it."""
        try:
            delimiter = self._delimiter.replace("\\t", "\t") or None
            csv_format = CsvFormat(delimiter, self._encoding, sheet=self._sheet or None)
        except InputError as error:
            self._tell(str(error))
            return
        watched = Watched()
        with self._messages, ui.row().classes("items-center") as waiting:
            ui.spinner(size="lg")
            words("span", f"Opening {source.name}").props("role=status")
            marked(ui.button("Cancel", icon="stop", on_click=watched.cancel), "cancel-open").props(
                "no-caps outline"
            )
        await self.page.doing(self._tell, watched, self.page.work.open, source, csv_format, watched)
        if not waiting.is_deleted:
            waiting.delete()
        if self.page.work.source is source:
            self.page.enable()
            self.page.redraw(self)
