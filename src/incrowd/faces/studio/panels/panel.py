"""The common part of the panels beside the table."""

from __future__ import annotations

from typing import Any

from incrowd.faces.studio.parts import tell


class Panel:
    """A panel of the page, drawn anew at each opening.

    One that `follows` is drawn anew when the table was recoded; one `of_release` can be gone to once there
    is a release.
    """

    name: str
    follows = False
    of_release = False

    def __init__(self, page: Any) -> None:
        self.page = page
        self.panel: Any = None
        self._problems: Any = None

    @property
    def work(self) -> Any:
        """The work of the window, which may continue the work of another window."""
        return self.page.work

    def ready(self) -> bool:
        """Say whether the panel can be opened, as the table, or the release, exists."""
        return (self.work.release if self.of_release else self.work.choices) is not None

    def follow(self) -> bool:
        """Show changes without drawing the panel anew; return whether possible."""
        return False

    def _wrong(self, text: str) -> None:
        """Show an error in the panel's place for errors."""
        tell(self._problems, text)
