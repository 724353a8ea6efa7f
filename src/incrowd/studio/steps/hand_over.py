"""Step 8: the downloads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from nicegui import ui

from incrowd.accounts.findings import unanswered
from incrowd.studio import export
from incrowd.studio.cancelling import Watched
from incrowd.studio.gate import Gate, show_findings
from incrowd.studio.job import Job
from incrowd.studio.parts import heading, marked, note, words


class HandOver:
    """Download the release, its report, and the means to make it again without the page."""

    name = "Hand over"

    def __init__(self, page: Any) -> None:
        self.page = page
        self.panel: Any = None

    def ready(self) -> bool:
        """Say whether there is a release."""
        return self.page.work.release is not None

    def draw(self) -> None:
        """Show the downloads, once every finding is accepted."""
        self._place = ui.column().classes("w-full")
        self._show()

    def _show(self) -> None:
        self._place.clear()
        with self._place:
            findings = self.page.work.release.findings
            if unanswered(findings):
                Gate(self.page.work, self._show).draw()
            else:
                show_findings(findings)
                self._all()

    def _all(self) -> None:
        work = self.page.work
        heading("Take it with you")
        note("Save what may be published, and what makes the same release again without this page.")
        with ui.element("div").classes("halves"):
            with ui.column().classes("box"):
                words("div", "To publish", "name")
                note("What is written is read back and measured once more. The archive is for checking it.")
                self._button("Release", "get-release", lambda watched: export.release_file(work, watched))
                self._button("Report (HTML)", "get-report", lambda _: export.report_file(work, ".html"))
                self._button("Report (PDF)", "get-pdf", lambda _: export.report_file(work, ".pdf"))
                self._button("Archive to check", "get-archive", lambda w: export.published_file(work, w))
            with ui.column().classes("box"):
                words("div", "For you", "name")
                note(
                    "What makes it again without this page. Hierarchies may hold raw values: keep the policy."
                )
                self._button("Policy", "get-policy", lambda _: export.policy_file(work))
                self._button("Python script", "get-script", lambda _: export.script_file(work))
                if work.source.sample:
                    self._button(
                        "The sample itself (CSV)", "get-sample", lambda _: (work.source.path, "people.csv")
                    )
        heading("The same by a command", 3)
        note(
            "Put the policy into the folder where you run it, unpacked if it is an archive. Write the path "
            "of your table where it differs."
        )
        marked(words("pre", export.command(work)), "command")
        heading("Check the release", 3)
        note("Unpack release.zip, the archive. A second implementation checks what is in it:")
        marked(words("pre", export.check(work)), "check")
        heading("The same by a script", 3)
        marked(words("pre", export.script(work)), "script")
        if not work.release.policy.keep_order:
            note(
                "Rows come in a random order, which has no seed, so that their places tell nothing. The same "
                "rows come out each time, in another order."
            )

    def _button(self, title: str, mark: str, make: Callable[[Watched], tuple[Path, str]]) -> None:
        """Show a button that writes a file and gives it to the browser; a large one takes its time."""
        Job(self.page, title, mark, make, lambda made: ui.download.file(*made), icon="download").draw()
