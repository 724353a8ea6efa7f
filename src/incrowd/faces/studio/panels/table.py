"""The panel of the table: the choice of a table, and the ways of reading files."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from incrowd.core.errors import EncodingError, TableError
from incrowd.core.io.files import CsvFormat
from incrowd.core.io.kinds.files import suffixes
from incrowd.engines.dialects.addresses import EXAMPLES, either
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.fields import button, choice_field, dropping, text_field
from incrowd.faces.studio.figures import LOOKS
from incrowd.faces.studio.job import in_words
from incrowd.faces.studio.panels.linked import LinkedPanel
from incrowd.faces.studio.panels.new_batch import NewBatch
from incrowd.faces.studio.panels.panel import Panel
from incrowd.faces.studio.parts import box, cut, fold, frame, grid, heading, marked, note, words
from incrowd.faces.studio.places import Project, projects
from incrowd.faces.studio.tables import ENCODINGS, Source, guessed, in_database, path_of

_SAMPLED, _SAMPLE_COLUMNS = 4, ["name", "birth_date", "sex", "zip", "diagnosis"]
_USUAL = {"delimiter": "", "encoding": "utf-8", "names": "", "sheet": ""}


class Table(Panel):
    """Choose a table, and look at the contents."""

    name = "Table"

    def __init__(self, page: Any) -> None:
        super().__init__(page)
        self._last: Any = None
        self._settings = dict(_USUAL)
        self._used = dict(_USUAL)
        self.project = ""
        self._batch: NewBatch | None = None
        self._linked: LinkedPanel | None = None

    def ready(self) -> bool:
        """Say whether the panel can be gone to: always."""
        return True

    def draw(self) -> None:
        """Show the projects, the ways to choose a table, and the chosen table."""
        work = self.work
        if work.batch is not None and not self.project:
            if self._batch is None or self._batch.batch is not work.batch:
                self._batch = NewBatch(self, work.batch)
            self._batch.draw()
        elif work.linked is not None:
            if self._linked is None or self._linked.work is not work.linked:
                self._linked = LinkedPanel(self, work.linked)
            self._linked.draw()
        else:
            self._draw_ways()

    def _draw_ways(self) -> None:
        work = self.work
        if work.table is None:
            place = ui.column().classes("w-full")
            ui.timer(0, lambda: self._show_projects(place), once=True)
        if not self.project:
            heading("Choose a table about people")
        with ui.column().classes("first w-full"):
            what = "the new batch" if self.project else "a table, or several that are linked,"
            dropping("upload", self._uploaded, f"Drop {what} here, or choose", several=not self.project)
        note(
            f"CSV (also .csv.gz), Parquet, {suffixes()}. Everything stays on this machine. A copy is kept in "
            "a private folder, for half an hour after this window is closed."
        )
        self._messages = ui.column().classes("w-full")
        self._problems = ui.column().classes("w-full")
        with ui.row().classes("items-center w-full"):
            path = text_field("Or the path of a file or folder", "path").classes("grow")

            async def read() -> None:
                text = (path.value or "").strip()
                place = await self.page.doing(self._wrong, None, path_of, text)
                if not text:
                    self._wrong("Write the path of a file, as /home/me/people.csv.")
                elif place is not None:
                    await self.open(Source(place.absolute(), str(place.absolute())))

            path.on("keydown.enter", read)
            button("Open", "open", read, "")
        if not self.project:
            with ui.element("div").classes("halves") as self._beginnings, box("No table at hand?"):
                note("A made-up hospital: 2,000 stays with names, dates and diagnoses. Nobody is real.")
                button("Try the built-in sample", "sample", lambda: self._open_found(work.sample))
                if work.table is None:
                    ui.timer(0, self._show_sample, once=True)
            with fold("A table of a database"):
                self._database()
            with fold("Begin from a policy"):
                note("Drop policy.toml (or policy.zip, with hierarchies) above, or write its path above.")
                note("It gives the roles and limits of a table that has its columns.")
        self._reading = fold("If a file is read wrongly")
        with self._reading:
            self._formats()
        if work.policy_name is not None:
            origin = f"from {work.policy_name}" if work.choices is None else work.choices.origin
            marked(words("p", f"Roles and limits: {origin}."), "policy")
        if work.table is not None:
            self._show_table()

    async def _show_sample(self) -> None:
        """Show some rows of the built-in sample."""
        from incrowd.samples import hospital

        rows = await self.page.doing(self._wrong, None, hospital, _SAMPLED)
        if rows is not None:
            frame("Some rows of the sample", rows.select(_SAMPLE_COLUMNS))

    async def _show_projects(self, place: Any) -> None:
        """Show the projects of the folder, or the project of the new batch."""
        found = await self.page.doing(self._wrong, None, self._find_projects) or []
        if place.is_deleted:
            return
        if not found:
            if not self.project:
                with self._beginnings, box("Projects"):
                    note(f"There is none in {self.page.folder}. Keep as a project, in Hand over, makes one.")
            return
        with place:
            heading(f"New batch of {self.project}" if self.project else "Projects")
            if self.project:
                note("It is released as last time. Nothing is recorded before you have seen what differs.")
            with ui.element("div").classes("charts"):
                for project in found:
                    self._show_project(project)

    def _find_projects(self) -> list[Project]:
        found = projects(self.page.folder)
        if self.project:
            found = [each for each in found if each.folder.name == self.project][:1]
            if not found:
                raise TableError(f"{self.project}: there is no such project in {self.page.folder}")
        for each in found:
            _ = each.state, each.table  # Files are read here, and not while the page waits.
        return found

    def _show_project(self, project: Project) -> None:
        """Show a project in a box without values of a table: table, last release, and verdict."""
        name, last, file = project.folder.name, project.last, project.table or project.release

        async def open_table() -> None:
            policy = project.policy, str(project.policy)
            if await self.page.doing(self._wrong, None, self.work.begin_from, *policy):
                self.project = ""
                self._update() if project.table is None else await self.open(Source(project.table, str(file)))

        with marked(box(name), "project"):
            words("p", f"Table: {'not in the folder' if file is None else file.name}")
            if last:
                many = f"{len(project.entries):,} release{'s' * (len(project.entries) > 1)}"
                words("p", f"{many}, the last on {last['date'][:10]} for {last['recipient']}")
            state, text = project.state
            words("div", text.capitalize(), LOOKS[state])
            with ui.row():
                button("Open", "open-project", open_table, icon="folder_open")
                if not self.project:
                    button("New batch", "new-batch", lambda: self.page.go_to_project(name), icon="add")

    def _database(self) -> None:
        hint = f"{either([each.replace(':///', ':////') for each in EXAMPLES])}; no password"
        address = text_field("Address of the database", "address", hint=hint).classes("w-full")
        table = text_field("Name of the table", "table").classes("w-full")

        async def read() -> None:
            named = (address.value or "").strip(), (table.value or "").strip(), self.work.place("")
            await self._open_found(in_database, *named)

        button("Open the table", "open-table", read)
        note("Its rows are copied into the private folder to be looked at. The search asks the database.")

    def _formats(self) -> None:
        with ui.element("div").classes("fields"):
            self._field("delimiter", "Delimiter", "found out if empty; \\t is a tab")
            choice_field(ENCODINGS, "Encoding", "encoding").bind_value(self._settings, "encoding")
            self._field("names", "Names of the columns", "of a file without a header; commas between")
            self._field("sheet", "Sheet", "of a workbook that has several")
        again = button("Read again", "read-again", lambda: self.open(self._last))
        again.bind_enabled_from(self, "_last", bool)

    def _field(self, name: str, label: str, hint: str) -> None:
        text_field(label, name, hint=hint).bind_value(self._settings, name)

    def _show_table(self) -> None:
        work = self.work
        heading(f"{work.height:,} rows, {len(work.columns):,} columns", 3)
        heading("The columns", 3)
        distinct = "distinct values, about" if work.streams else "distinct values"
        rows = [(c.name, c.type, f"{c.distinct:,}", f"{c.missing:,}") for c in work.columns]
        grid("Columns", ("column", "type", distinct, "missing values"), rows, numbers=(2, 3))

    async def _open_found(self, find: Any, *given: Any) -> None:
        source = await self.page.doing(self._wrong, None, find, *given)
        if source is not None:
            await self.open(source)

    async def _uploaded(self, event: Any) -> None:
        files = [event.file] if self.project else event.files
        # A policy gives the roles of the tables that come with it.
        files.sort(key=lambda file: not file.name.lower().endswith((".toml", ".zip")))
        while files and (len(files) == 1 or files[0].name.lower().endswith((".toml", ".zip"))):
            file = files.pop(0)
            source = self.work.upload(file.name)
            await file.save(source.path)
            await self.open(source)
        if files:
            names = [file.name for file in files]
            if (found := await self.page.doing(self._wrong, None, self.work.upload_several, names)) is None:
                return
            source, places = found
            for file, place in zip(files, places, strict=True):
                await file.save(place)
            await self.open(source)

    async def open(self, source: Source) -> None:
        """Read a table, or a policy; show the result or the error."""
        if source.path.suffix.lower() in (".toml", ".zip"):
            if await self.page.doing(self._wrong, None, self.work.begin_from, source.path, source.name):
                self._update()
            return
        # Settings are for the file for which they were made.
        if self._last is not None and self._last.name != source.name and self._settings == self._used:
            self._settings.update(_USUAL)
        self._last, self._used = None if source.database else source, dict(self._settings)
        watched = Watched()
        with self._messages, ui.row().classes("items-center") as waiting:
            ui.spinner(size="lg")
            told = words("span", f"Opening {cut(source.name)}").props("role=status")
            bar = ui.linear_progress(value=0, show_value=False, size="8px").style("width: 160px")
            bar.props["aria-label"] = "How far the file is read"
            bar.set_visibility(False)
            button("Cancel", "cancel-open", watched.cancel, icon="stop")

            def look() -> None:
                stage, seconds, share = watched.state()
                bar.set_visibility(share is not None)
                if share is not None:
                    bar.set_value(share)
                    told.set_text(f"Opening {cut(source.name)}: {in_words(stage, seconds, share)}")

            ui.timer(0.3, look)
        table = await self.page.doing(self._wrong, watched, self._read_table, source, watched)
        if not waiting.is_deleted:
            waiting.delete()
        if table is True:
            self._update()
        elif table:
            self._ask(source, *table)
        else:
            self._reading.set_value(source.path.exists())

    def _update(self) -> None:
        if self.work.table is None:
            self.page.redraw(self)
            self.page.note_place()
        else:
            self.page.opened()

    def _read_table(self, source: Source, watched: Watched) -> Any:
        """Open a table; return the probable encoding if another than given."""
        mark, encoding, names, sheet = self._used.values()
        listed = tuple(name.strip() for name in names.split(",") if name.strip())
        csv_format = CsvFormat(mark.replace("\\t", "\t") or None, encoding, listed, sheet=sheet or None)
        try:
            if self.project:
                self.work.begin_batch(self._find_projects()[0], source, csv_format, watched)
                self.project = ""
            elif not self.work.open_linked(source):
                self.work.open(source, csv_format, watched)
        except EncodingError:
            if not source.path.is_file() or (guess := guessed(source.path, encoding)) is None:
                raise
            return guess
        return True

    def _ask(self, source: Source, encoding: str, lines: list[str]) -> None:
        """Ask whether a file is in an encoding, and show some lines in that encoding."""

        async def read() -> None:
            self._settings["encoding"] = encoding
            await self.open(source)

        with self._problems, ui.column().classes("box"):
            used = ENCODINGS[self._used["encoding"]]
            text = f"{source.name} is not {used}. Read it as {ENCODINGS[encoding]}?"
            marked(words("p", text, "text-bold").props("role=alert"), "question")
            marked(words("pre", "\n".join(map(cut, lines))), "lines")
            with ui.row():
                button("Yes", "yes", read, "autofocus")
                button("Another encoding", "another", lambda: self._reading.set_value(True))
