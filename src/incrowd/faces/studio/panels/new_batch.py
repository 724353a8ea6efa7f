"""The new batch of a project: the release, the differences from last time, and the ways out."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Any

from nicegui import background_tasks, ui

from incrowd.faces.studio.bars import bars
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.fields import button, text_field
from incrowd.faces.studio.gate import Gate, show_verdict
from incrowd.faces.studio.job import Job
from incrowd.faces.studio.mends import Change
from incrowd.faces.studio.parts import box, bullets, fold, grid, heading, marked, note, words
from incrowd.faces.studio.places import Batch
from incrowd_gate.wording import percent


class NewBatch:
    """The page of a new batch, in the panel of the table."""

    def __init__(self, panel: Any, batch: Batch) -> None:
        self.batch, self._panel, self._page = batch, panel, panel.page
        self._tried = False
        job = partial(Job, self._page, done=self._draw_again)
        self._apply = job("Release it as last time", "apply", lambda _, watched: batch.make(watched))
        self._anew = job(
            "Search anew", "anew", lambda _, watched: batch.make(watched, anew=True), icon="search"
        )
        self._record = job("Hand over, and record it", "record", self._write)

    def _write(self, work: Any, _: Watched) -> Any:
        return self.batch.record(work.about["recipient"])

    async def _suppress(self) -> None:
        """Release it as last time, and let the verdict ask why so many rows are suppressed."""
        self.batch.any_share = True
        await self._apply.run()

    def _draw_again(self, _: Any = None) -> None:
        self._page.redraw(self._panel)
        # What became of it stands at the top, and the button that was clicked may not.
        self._page.run_script("scrollTo(0, 0)")

    def draw(self) -> None:
        """Show the current state of the batch."""
        batch, entries = self.batch, len(self.batch.project.entries)
        heading(f"New batch of {batch.project.folder.name}")
        note(f"{batch.source.title}, {batch.table.height:,} rows")
        if (path := batch.written) is not None:
            recorded = marked(
                words("p", f"Recorded in the ledger as release {entries + 1}: {path}"), "recorded"
            )
            recorded.props("role=status")
            with ui.row():
                button("Download the release", "get-batch", lambda: ui.download.file(path), icon="download")
                button("All projects", "all-projects", lambda: ui.navigate.to("/"))
        if batch.release is not None:
            show_verdict(batch.release.verdict)
            note(f"Together with earlier releases of the ledger ({entries:,}) it exposes nobody.")
            self._draw_differences()
        if batch.written is not None:
            return
        if batch.release is not None and batch.release.verdict.holds:
            field = text_field("For whom", "recipient", hint="the ledger keeps it")
            field.bind_value(self._page.work.about, "recipient")
            self._record.draw()
        elif batch.release is not None:
            anew = Change("anew", "Search anew", lambda: background_tasks.create(self._anew.run()))
            Gate(self._page, batch, self._draw_again, lambda _: [anew], lambda: None).draw()
        with nullcontext() if batch.release is None else fold("Release it in another way"):
            self._draw_ways()
        if batch.release is None and not self._tried:
            self._tried = True
            ui.timer(0, self._apply.run, once=True)

    def _draw_differences(self) -> None:
        found = self.batch.differences
        assert found is not None
        heading("What differs from last time", 3)
        grid("What differs", ("", "last time", "now"), found.figures, numbers=(1, 2))
        bullets(found.sentences)
        with ui.element("div").classes("charts"):
            for name, cells in found.cells.items():
                with box(name):
                    bars(f"Rows by {name}", cells, percent, ("before", "now"))

    def _draw_ways(self) -> None:
        self._apply.draw()
        self._anew.draw()
        switch = ui.switch("Other people than in the releases before").bind_value(self.batch, "new_people")
        marked(switch, "new-people").props("dense")
        button("Suppress as many rows as it takes", "any-share", self._suppress, icon="remove")
        note(
            "Where it is refused, nothing is recorded. Then choose a file of the new people alone, or search "
            "anew; or open the project and choose a coarser recoding."
        )
        name = self.batch.project.folder.name
        button("Choose another file", "another-file", lambda: self._page.go_to_project(name), icon="undo")
