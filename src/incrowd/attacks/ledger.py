"""Composition over a ledger: the people whom all of its releases together expose."""

from __future__ import annotations

from incrowd.attacks.base import Attack, wilson
from incrowd.errors import TableError
from incrowd.jobs.ledger import Ledger
from incrowd.jobs.ledger.exposure import exposed_by_intersection
from incrowd.jobs.ledger.signatures import without_m_invariance
from incrowd.lazy import pl


def composition_of_ledger(ledger: Ledger) -> Attack:
    """Count the people who share all classes with fewer people, or values, than the last release asks for.

    Of two m-invariant releases the signatures are compared in place of the people.
    """
    found = ledger.with_people(ledger.entries)
    if not found:
        raise TableError(f"{ledger.folder}: the ledger has no release with classes")
    limits = found[-1][0]["k"], found[-1][0]["l"]
    releases = [people.drop_nulls("person").unique() for _, people in found]
    parts = []
    for last, (entry, people) in enumerate(found):
        others = [*range(last)]
        if m := entry.get("m"):
            series = [each for before, each in found[:last] if before.get("m")]
            parts.append(without_m_invariance([*series, people], m))
            others = [number for number in others if not found[number][0].get("m")]
        parts.append(exposed_by_intersection([releases[each] for each in (*others, last)], limits))
    exposed = pl.concat(parts).n_unique()
    everybody = pl.concat([each["person"] for each in releases]).n_unique()
    figures: dict[str, float] = {"exposed": exposed, "people": everybody, "releases": len(releases)}
    rates = wilson(exposed, everybody), wilson(0, everybody)
    return Attack("composition-of-ledger", everybody, *rates, None, None, figures)
