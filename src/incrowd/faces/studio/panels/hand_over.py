"""The panel of the downloads, which is shut until the verdict holds."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nicegui import ui

from incrowd.faces.studio import export
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.fields import button, text_field
from incrowd.faces.studio.gate import show_verdict
from incrowd.faces.studio.job import Job, download
from incrowd.faces.studio.panels.panel import Panel
from incrowd.faces.studio.parts import box, heading, marked, note, words
from incrowd.faces.studio.places import Project, keep
from incrowd.faces.studio.sets import lacking
from incrowd.faces.studio.work import Work

_ABOUT = {"owner": "Data set and owner", "recipient": "For whom", "purpose": "Why"}


class HandOver(Panel):
    """Download the release, the report, and the means to repeat the release without the page."""

    name = "Hand over"
    of_release = True
    follows = True

    def ready(self) -> bool:
        """Say whether the release can be taken, as the verdict holds."""
        release = self.work.release
        return release is not None and release.verdict.holds

    def draw(self) -> None:
        """Show the downloads, once the verdict holds."""
        if self.ready():
            show_verdict(self.work.release.verdict)
            self._all()
        else:
            note("Nothing can be taken until the verdict holds.")

    def _all(self) -> None:
        work = self.work
        heading("Take it with you")
        note("Save what may be published, and what makes the same release again without this page.")
        with ui.element("div").classes("halves"):
            with box("To publish"):
                note("What is written is read back and measured once more. The archive is for checking it.")
                download(self.page, "Release", "get-release", export.release_file)
                note("The report has one page to sign. It names the data set, those who get it, and why.")
                for field, label in _ABOUT.items():
                    about = text_field(label, field).classes("w-full").bind_value(work.about, field)
                    about.on_value_change(self._tell_ways)
                if not work.attacks:
                    note("Nobody tried an attack. Without one, a release for everybody is advised against.")
                    attack = Job(self.page, "Attack it", "attack", Work.attack, self._redraw, icon="search")
                    attack.draw()
                for title, mark, suffix in (("HTML", "get-report", ".html"), ("PDF", "get-pdf", ".pdf")):
                    make = partial(export.report_file, suffix=suffix)
                    download(self.page, f"Report ({title})", mark, make)
                download(self.page, "Archive to check", "get-archive", export.published_file)
            with box("For you"):
                note(
                    "What makes it again without this page. Hierarchies may hold raw values: keep the policy."
                )
                download(
                    self.page,
                    "Policy",
                    "get-policy",
                    lambda work, _: export.policy_file(work, work.release.policy),
                )
                download(self.page, "Python script", "get-script", lambda work, _: export.script_file(work))
                if work.source.sample:
                    sample = work.source.path, "people.csv"
                    download(self.page, "The sample itself (CSV)", "get-sample", lambda *_: sample)
        if text := lacking(work.chosen.columns, "Projects and their next batch"):
            note(text)
        elif work.follows:
            self._keep()
        heading("The same by a command", 3)
        note(
            "Put the policy into the folder where you run it, unpacked if it is an archive. Write the path "
            "of your table where it differs."
        )
        self._command = marked(words("pre", ""), "command")
        heading("Check the release", 3)
        note("Unpack release.zip, the archive. A second implementation checks what is in it:")
        marked(words("pre", export.check(work)), "check")
        heading("The same by a script", 3)
        self._script = marked(words("pre", ""), "script")
        self._tell_ways()
        if not work.release.policy.keep_order:
            note(
                "Rows come in a random order, which has no seed, so that their places tell nothing. The same "
                "rows come out each time, in another order."
            )

    def _redraw(self, _: Any) -> None:
        self.page.redraw(self)

    def _tell_ways(self) -> None:
        """Show the command and the script that make the same release and report without the page."""
        self._command.set_text(export.command(self.work))
        self._script.set_text(export.script(self.work))

    def _keep(self) -> None:
        """Show the fields and the button that make a project of the release."""
        work, folder = self.work, self.page.folder
        with box("Keep as a project"):
            note(
                f"A folder in {folder} gets the policy, the release, a ledger that records it, the recoding "
                "for the next batch, and a copy of the table. Keep it private."
            )
            with ui.element("div").classes("fields"):
                name = text_field("Name of the project", "project", Path(work.source.name).name.split(".")[0])
                whom = text_field("For whom", "project-recipient").bind_value(work.about, "recipient")
                whom.on_value_change(self._tell_ways)

            def make(work: Any, _: Watched) -> Any:
                return keep(work, folder, name.value or "", work.about["recipient"])

            def done(project: Project) -> None:
                address = f"/project/{quote(project.folder.name)}"
                marked(words("p", f"Kept in {project.folder}"), "kept").props("role=status")
                button("Go to the project", "go-project", lambda: ui.navigate.to(address))

            Job(self.page, "Keep as a project", "keep", make, done, icon="create_new_folder").draw()
