"""Composition over a ledger: the people whom all of its releases together expose."""

from __future__ import annotations

from incrowd.attacks.base import Attack, wilson
from incrowd.errors import TableError
from incrowd.jobs.ledger import Ledger
from incrowd.jobs.ledger.deduction import deduced
from incrowd.jobs.ledger.exposure import Shown, exposed_by_intersection
from incrowd.jobs.ledger.signatures import without_m_invariance
from incrowd.lazy import pl


def composition_of_ledger(ledger: Ledger) -> Attack:
    """Count the people who share all classes with fewer people, or values, than their releases ask for.

    So are those of whom too few sensitive values remain possible. Of two m-invariant releases the signatures
    are compared in place of the people.
    """
    entries = ledger.with_people(ledger.entries)
    if not entries:
        raise TableError(
            f"{ledger.folder}: the ledger has no release with classes; `anonymize` with a ledger records "
            "some, and `ledger verify` says whether lines are gone"
        )
    releases = [Shown.of(*each) for each in entries]
    parts = [deduced(releases)]
    for last, (entry, people) in enumerate(entries):
        others = releases[:last]
        if m := entry.get("m"):
            parts.append(without_m_invariance([*(each.people for each in others if each.series), people], m))
            others = [each for each in others if not each.series]
        parts.append(exposed_by_intersection([*others, releases[last]]))
    exposed = pl.concat(parts).n_unique()
    everybody = pl.concat([each.people["person"].drop_nulls() for each in releases]).n_unique()
    if not everybody:
        raise TableError(f"{ledger.folder}: the ledger has no release with people")
    figures: dict[str, float] = {"exposed": exposed, "people": everybody, "releases": len(releases)}
    rates = wilson(exposed, everybody), wilson(0, everybody)
    return Attack("composition-of-ledger", everybody, *rates, None, None, figures)
