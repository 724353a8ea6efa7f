"""Points of losses: sensitive values without a model, blanked columns, suppressed records."""

from __future__ import annotations

from collections.abc import Iterator

from incrowd_gate import wording
from incrowd_gate.points import Point
from incrowd_gate.rules.columns import Release

BLANKED_ABOVE = 0.5
"""Share of the records above which a column counts as blanked."""
_MANY = 0.2
"""Share of suppressed records from which there is a point: a fifth."""


def points_of_models(release: Release) -> Iterator[Point]:
    """Look for sensitive columns that no model protects."""
    lists = {column.name for column in release.columns if column.is_list}
    for name, share in release.unprotected():
        yield wording.unprotected(name, share, lists=name in lists)


def points_of_losses(release: Release) -> Iterator[Point]:
    """Look at cells that stand for every value, and at suppressed records."""
    losses = release.losses()
    for name, share in losses.blanked.items():
        if share > BLANKED_ABOVE:
            yield wording.blanked(name, share, local=release.is_local, has_level=release.has_level(name))
    if losses.suppressed > _MANY:
        yield wording.much_suppressed(losses.suppressed)
    if losses.exposed:
        yield wording.suppressed_records(losses.exposed, losses.exposed_share, losses.failing)
    if losses.tells_nothing:
        yield wording.nothing_left()
    if losses.few:
        yield wording.few_matches(losses.few, losses.few_share, losses.least)
