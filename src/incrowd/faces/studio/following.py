"""The release follows the choices: the table is recoded after each change, and judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from nicegui import background_tasks

from incrowd.faces.studio import status
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.figures import Figures
from incrowd.faces.studio.refining import Refining
from incrowd.faces.studio.work import QUICK

T = TypeVar("T")


class Following:
    """The recoding of a window's table under the current choices, with a single run at a time."""

    def __init__(self, page: Any, figures: Figures, refining: Refining) -> None:
        self._page, self._figures, self._refining = page, figures, refining
        self._wish = self._granted = 0
        self._watched: Watched | None = None

    def begin(self) -> None:
        """Recode the table anew; a recoding under the choices before ends."""
        self._wish += 1
        if self._watched is not None:
            self._watched.cancel()
        if self._wish - self._granted == 1:
            background_tasks.create(self._follow())

    async def _follow(self) -> None:
        """Recode the table until the recoding is under the current choices."""
        with self._page.main:
            while self._granted != self._wish:
                wish = self._wish
                try:
                    choices = self._page.work.choices
                    if choices is not None and choices.having("quasi"):
                        await self._recode(wish)
                    else:
                        self._page.follow_up()
                except Exception as error:
                    self._page.failed(error)
                self._granted = wish if wish == self._wish else self._wish - 1

    async def _recode(self, wish: int) -> None:
        """Recode the table once, and judge the release if any."""
        page, work = self._page, self._page.work
        watched = self._watched = self._figures.watched = Watched()
        try:
            if work.sets:
                await self._recode_sets(watched)
                return
            if work.height > 2 * QUICK:
                await page.outcome(watched, lambda: work.recode(watched, quick=True))
                if self._wish != wish or page.work is not work:
                    return
                page.show_estimate()
            recoded = await self._do(watched, work.recode)
            if self._wish != wish or page.work is not work:
                return
            page.follow_up()
            if recoded is not None and work.follows and status.has_roles(work):
                await self._do(watched, work.judge)
                if self._wish == wish:
                    page.follow_up()
                    if work.release is not None:
                        background_tasks.create(self._refining.look())
        finally:
            self._watched = None

    async def _recode_sets(self, watched: Watched) -> None:
        """Make the release of a table with sets at once, if it is in memory and every column has a role."""
        page, work = self._page, self._page.work
        page.follow_up()
        if work.follows and status.has_roles(work):
            await self._do(watched, work.anonymize)
            page.follow_up()

    async def _do(self, watched: Watched, step: Callable[[Watched], T]) -> T | None:
        """Do a step, and show an error in place of a verdict; an end by a change is no error."""
        outcome = await self._page.outcome(watched, lambda: step(watched))
        self._figures.refuse("" if outcome.cancelled else outcome.problem)
        result: T | None = outcome.result
        return result
