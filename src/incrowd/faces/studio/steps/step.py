"""The common part of the steps of the page."""

from __future__ import annotations

from typing import Any

from incrowd.faces.studio.parts import tell


class Step:
    """A step of the page, which is drawn anew into its panel each time that it is opened.

    A step that is `optional` may be left out; one `of_release` can be gone to once there is a release.
    """

    name: str
    optional = False
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
        """Say whether the step can be gone to: whether its table, or its release, is there."""
        return (self.work.release if self.of_release else self.work.choices) is not None

    def _wrong(self, text: str) -> None:
        """Show an error in the step's place for them."""
        tell(self._problems, text)
