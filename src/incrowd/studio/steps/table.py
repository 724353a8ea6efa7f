"""Step 1: which table."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from incrowd.dialects.addresses import EXAMPLES, either
from incrowd.errors import EncodingError
from incrowd.io.files import CsvFormat
from incrowd.io.kinds.files import suffixes
from incrowd.studio.cancelling import Watched
from incrowd.studio.parts import cut, dropping, frame, grid, heading, hinted, marked, note, tell, words
from incrowd.studio.tables import ENCODINGS, Source, guessed, in_database, path_of

_ROWS = 10
_COLUMNS = 40
"""Columns of the first rows that are shown; the list below has all."""
_USUAL = {"delimiter": "", "encoding": "utf-8", "names": "", "sheet": ""}


class Table:
    """Choose a table, and look at its contents."""

    name = "Table"

    def __init__(self, page: Any) -> None:
        self.page = page
        self.panel: Any = None
        self._last: Any = None
        self._settings = dict(_USUAL)
        self._used = dict(_USUAL)

    def ready(self) -> bool:
        """Say whether the step can be gone to."""
        return True

    def draw(self) -> None:
        """Show the ways to choose a table, and the one that was chosen."""
        work = self.page.work
        heading("Choose a table about people")
        with ui.column().classes("first w-full"):
            dropping("upload", self._uploaded, "Drop a table here, or choose a file")
        note(
            f"CSV (also .csv.gz), Parquet, {suffixes()}. Everything stays on this machine. A copy is kept in "
            "a private folder until this window is closed."
        )
        self._messages = ui.column().classes("w-full")
        self._problems = ui.column().classes("w-full")
        with ui.row().classes("items-center w-full"):
            path = ui.input("Or the path of a file or folder").classes("grow")

            async def read() -> None:
                text = (path.value or "").strip()
                place = await self.page.doing(self._tell, None, path_of, text)
                if not text:
                    self._tell("Write the path of a file, as /home/me/people.csv.")
                elif place is not None:
                    await self.open(Source(place.absolute(), str(place.absolute())))

            path.props("outlined dense data-field=path").on("keydown.enter", read)
            marked(ui.button("Open", on_click=read), "open").props("no-caps")
            sample = ui.button("Try the built-in sample", on_click=lambda: self._open_found(work.sample))
            marked(sample, "sample").props("no-caps outline")
        with ui.expansion("A table of a database").props("dense").classes("w-full"):
            self._database()
        with ui.expansion("Begin from a policy").props("dense").classes("w-full"):
            note("Drop policy.toml (or policy.zip, with hierarchies) above, or write its path in the field.")
            note("It gives the roles and limits of a table that has its columns.")
        self._reading = ui.expansion("If a file is read wrongly").props("dense").classes("w-full")
        with self._reading:
            self._formats()
        if work.policy_name is not None:
            origin = f"from {work.policy_name}" if work.choices is None else work.choices.origin
            marked(words("p", f"Roles and limits: {origin}."), "policy")
        if work.table is not None:
            self._show_table()

    def _database(self) -> None:
        address = ui.input("Address of the database").classes("w-full")
        hint = f"{either([each.replace(':///', ':////') for each in EXAMPLES])}; no password"
        hinted(address.props("outlined dense data-field=address"), hint)
        table = ui.input("Name of the table").classes("w-full")
        table.props("outlined dense data-field=table")

        async def read() -> None:
            named = (address.value or "").strip(), (table.value or "").strip(), self.page.work.place("")
            await self._open_found(in_database, *named)

        marked(ui.button("Open the table", on_click=read), "open-table").props("no-caps outline")
        note("Its rows are copied into the private folder to be looked at. The search asks the database.")

    def _formats(self) -> None:
        with ui.element("div").classes("fields"):
            self._field("delimiter", "Delimiter", "found out if empty; \\t is a tab")
            coding = ui.select(ENCODINGS, label="Encoding").props("outlined dense data-field=encoding")
            coding.bind_value(self._settings, "encoding")
            self._field("names", "Names of the columns", "of a file without a header; commas between")
            self._field("sheet", "Sheet", "of a workbook that has several")
        again = marked(ui.button("Read again", on_click=lambda: self.open(self._last)), "read-again")
        again.props("no-caps outline").bind_enabled_from(self, "_last", bool)

    def _field(self, name: str, label: str, hint: str) -> None:
        field = ui.input(label).props(f"outlined dense data-field={name}")
        hinted(field.bind_value(self._settings, name), hint)

    def _show_table(self) -> None:
        work = self.page.work
        heading(f"{work.height:,} rows, {len(work.columns):,} columns", 3)
        heading("The first rows", 3)
        if len(work.columns) > _COLUMNS:
            note(f"The first {_COLUMNS} of {len(work.columns):,} columns.")
        frame("The first rows", work.rows(0, _ROWS)[:, :_COLUMNS])
        heading("The columns", 3)
        distinct = "distinct values, about" if work.streams else "distinct values"
        rows = [(c.name, c.type, f"{c.distinct:,}", f"{c.missing:,}") for c in work.columns]
        grid("Columns", ("column", "type", distinct, "missing values"), rows, numbers=(2, 3))

    async def _open_found(self, find: Any, *given: Any) -> None:
        source = await self.page.doing(self._tell, None, find, *given)
        if source is not None:
            await self.open(source)

    async def _uploaded(self, event: Any) -> None:
        source = self.page.work.upload(event.file.name)
        await event.file.save(source.path)
        await self.open(source)

    def _tell(self, text: str) -> None:
        tell(self._problems, text)

    async def open(self, source: Source) -> None:
        """Read a table, or a policy; show it or what is wrong with it."""
        if source.path.suffix.lower() in (".toml", ".zip"):
            if await self.page.doing(self._tell, None, self.page.work.begin_from, source.path, source.name):
                self._show()
            return
        # Settings are for the file for which they were made.
        if self._last is not None and self._last.name != source.name and self._settings == self._used:
            self._settings.update(_USUAL)
        self._last, self._used = None if source.database else source, dict(self._settings)
        watched = Watched()
        with self._messages, ui.row().classes("items-center") as waiting:
            ui.spinner(size="lg")
            words("span", f"Opening {source.name}").props("role=status")
            marked(ui.button("Cancel", icon="stop", on_click=watched.cancel), "cancel-open").props(
                "no-caps outline"
            )
        found = await self.page.doing(self._tell, watched, self._read, source, watched)
        if not waiting.is_deleted:
            waiting.delete()
        if found is True:
            self._show()
        elif found:
            self._ask(source, *found)
        else:
            self._reading.set_value(source.path.exists())

    def _show(self) -> None:
        self.page.enable()
        self.page.redraw(self)

    def _read(self, source: Source, watched: Watched) -> Any:
        """Open a table; return the encoding in which it probably is where it is in another one."""
        mark, encoding, names, sheet = self._used.values()
        listed = tuple(name.strip() for name in names.split(",") if name.strip())
        csv_format = CsvFormat(mark.replace("\\t", "\t") or None, encoding, listed, sheet=sheet or None)
        try:
            self.page.work.open(source, csv_format, watched)
        except EncodingError:
            if not source.path.is_file() or (guess := guessed(source.path, encoding)) is None:
                raise
            return guess
        return True

    def _ask(self, source: Source, encoding: str, lines: list[str]) -> None:
        """Ask whether a file is in an encoding, and show some lines as it reads them."""

        async def read() -> None:
            self._settings["encoding"] = encoding
            await self.open(source)

        with self._problems, ui.column().classes("box"):
            used = ENCODINGS[self._used["encoding"]]
            text = f"{source.name} is not {used}. Read it as {ENCODINGS[encoding]}?"
            marked(words("p", text, "text-bold").props("role=alert"), "question")
            marked(words("pre", "\n".join(map(cut, lines))), "lines")
            with ui.row():
                marked(ui.button("Yes", on_click=read), "yes").props("no-caps autofocus")
                another = ui.button("Another encoding", on_click=lambda: self._reading.set_value(True))
                marked(another, "another").props("no-caps outline")
