"""Composition over a ledger: people exposed by all releases together."""

from __future__ import annotations

from incrowd.attacks.base import Attack, wilson
from incrowd.core.errors import TableError
from incrowd.core.lazy import pl
from incrowd.release.jobs.later.ledger import Ledger
from incrowd.release.jobs.later.ledger.deduction import deduced_people, without_m_invariance
from incrowd.release.jobs.later.ledger.exposure import ReleasePeople, exposed_by_intersection


def composition_of_ledger(ledger: Ledger) -> Attack:
    """Count the people exposed by all releases of a ledger together.

    A person is exposed who shares all classes with fewer people, or values, than the releases ask for, or of
    whom too few sensitive values remain possible. Of two m-invariant releases the signatures are compared in
    place of the people.
    """
    entries = ledger.with_people(ledger.entries)
    if not entries:
        raise TableError(
            f"{ledger.folder}: the ledger has no release with classes; `anonymize` with a ledger records "
            "some, and `ledger verify` says whether lines are gone"
        )
    releases = [ReleasePeople.of_entry(entry, people) for entry, people in entries]
    parts = [deduced_people(releases)]
    for last, (entry, people) in enumerate(entries):
        others = releases[:last]
        if m := entry["m"]:
            parts.append(
                without_m_invariance([*(other.people for other in others if other.series), people], m)
            )
            others = [other for other in others if not other.series]
        parts.append(exposed_by_intersection([*others, releases[last]]))
    exposed = pl.concat(parts).n_unique()
    everybody = pl.concat([release.people["person"].drop_nulls() for release in releases]).n_unique()
    if not everybody:
        raise TableError(f"{ledger.folder}: the ledger has no release with people")
    figures: dict[str, float] = {"exposed": exposed, "people": everybody, "releases": len(releases)}
    rates = wilson(exposed, everybody), wilson(0, everybody)
    return Attack("composition-of-ledger", everybody, *rates, None, None, figures)
