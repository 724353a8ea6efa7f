"""The common part of the panels beside the table."""

from __future__ import annotations

from typing import Any

from incrowd.faces.studio.parts import tell


class Panel:
    """A panel of the page, which is drawn anew into its place each time that it is opened.

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
        """The work of the window, which may continue that of another one."""
        return self.page.work

    def ready(self) -> bool:
        """Say whether the panel can be gone to: whether its table, or its release, is there."""
        return (self.work.release if self.of_release else self.work.choices) is not None

    def follow(self) -> bool:
        """Show what changed without drawing the panel anew; return whether that was possible."""
        return False

    def _wrong(self, text: str) -> None:
        """Show an error in the panel's place for them."""
        tell(self._problems, text)
