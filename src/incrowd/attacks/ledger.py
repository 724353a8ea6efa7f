"""Composition over a ledger: the people whom all of its releases together expose."""

from __future__ import annotations

from incrowd.attacks.base import Attack, wilson
from incrowd.errors import TableError
from incrowd.jobs.ledger import Ledger
from incrowd.jobs.ledger.exposure import exposed_by_intersection
from incrowd.lazy import pl


def composition_of_ledger(ledger: Ledger) -> Attack:
    """Count the people who share all classes with fewer people, or values, than the last release asks for."""
    found = [(each, people) for each in ledger.entries if (people := ledger.people(each)) is not None]
    if not found:
        raise TableError(f"{ledger.folder}: the ledger has no release with classes")
    releases = [people for _, people in found]
    limits = found[-1][0]["k"], found[-1][0]["l"]
    parts = [exposed_by_intersection(releases[:n], limits) for n in range(1, len(releases) + 1)]
    exposed = pl.concat(parts).n_unique()
    everybody = pl.concat([each["person"] for each in releases]).n_unique()
    figures: dict[str, float] = {"exposed": exposed, "people": everybody, "releases": len(releases)}
    rates = wilson(exposed, everybody), wilson(0, everybody)
    return Attack("composition-of-ledger", everybody, *rates, None, None, figures)
