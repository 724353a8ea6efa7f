"""A release that loses less: searched while nobody changes anything, and offered beside the table."""

from __future__ import annotations

import asyncio
import json
from copy import deepcopy
from typing import Any

from nicegui import ui

from incrowd.core.documents import loss_in_words
from incrowd.core.errors import InfeasibleError, InputError
from incrowd.core.progress import Progress, Within
from incrowd.faces.studio.cancelling import Watched
from incrowd.faces.studio.exploring import Try, keep, title_of, try_of
from incrowd.faces.studio.fields import button
from incrowd.faces.studio.figures import LOOKS
from incrowd.faces.studio.parts import emptied, marked, words

SLOWER = {"mondrian": ("agglomerative", "optimal"), "datafly": ("optimal",)}
"""Fast algorithms, each with slower ones that may lose less."""
_QUIET = 2.0
"""Seconds without a change after which a slower algorithm runs."""
_LONGEST = 30.0
"""Seconds after which the search of a better release is given up."""


def less_lost(work: Any, progress: Progress) -> Try | None:
    """Return the release of a slower algorithm with the least loss, if the loss is lower in words, too.

    It holds the same limits, and its verdict is no worse. A setting that was tried before is not run again.
    """
    document = deepcopy(work.chosen.document)
    now = best = try_of(work.release, document)
    for name in SLOWER.get(document["algorithm"]["name"], ()):
        slower = {**document, "algorithm": {"name": name}}
        new = next((each for each in work.tries if each.document == slower), None)
        if new is None:
            try:
                new = try_of(work.trial(work.policy(slower), Within(progress, title_of(slower))), slower)
            except (InfeasibleError, InputError):
                continue
        if new.loss < best.loss and [*LOOKS].index(new.state) <= [*LOOKS].index(now.state):
            best = new
    return best if loss_in_words(best.loss) != loss_in_words(now.loss) else None


class Refining:
    """The search of a release of less loss under a window's choices, and the line that offers the release."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self._watched = Watched()

    def draw(self) -> None:
        """Show the place of the offer below the table, where nothing clickable moves."""
        self._place = marked(ui.element("div").classes("offer").props("role=status"), "offer")

    def stop(self) -> None:
        """End the search, and take the offer back: the choices change."""
        self._watched.cancel()
        self._watched = Watched()
        self._place.clear()

    async def look(self) -> None:
        """Search in a quiet moment, once for the same choices, and offer the result."""
        self.stop()
        work, watched = self._page.work, self._watched
        choices = json.dumps([work.chosen.document, work.population], default=str)
        if choices not in work.refined:
            await asyncio.sleep(_QUIET)
            if watched.cancelled:
                return
            end = asyncio.get_running_loop().call_later(_LONGEST, watched.cancel)
            better = await self._page.doing(lambda _: None, watched, less_lost, work, watched)
            end.cancel()
            if self._watched is watched:
                work.refined[choices] = better
        if self._watched is watched and (better := work.refined[choices]) is not None:
            self._offer(better)

    def _offer(self, better: Try) -> None:
        work = self._page.work
        if better not in work.tries:
            keep(work.tries, better)
            self._page.show_try()
        method = better.document["algorithm"]
        title = title_of({"algorithm": method})

        def use() -> None:
            self._page.take({**work.chosen.document, "algorithm": method})

        with emptied(self._place):
            figures = f"{loss_in_words(better.loss)} in place of {loss_in_words(work.loss.value)}"
            words("span", f"Less is lost with {title}: {figures}.")
            button("Use it", "use-offer", use, "flat dense").props["aria-label"] = f"Use {title}"
