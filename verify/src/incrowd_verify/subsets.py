"""Sets of quasi-identifiers that somebody may know, and the classes that merge for this attacker."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from incrowd_verify.attribute import Attribute
from incrowd_verify.errors import PolicyError

OF_SUBSETS = ("lkc-privacy", "subset-k-anonymity")
"""Models against somebody who knows any few of the quasi-identifiers."""
_MOST = 10_000


def subsets(quasi: int, known: int) -> Sequence[tuple[int, ...]]:
    """List the sets of so many quasi-identifiers.

    Raises
    ------
    PolicyError
        There are too many.
    """
    known = min(known, quasi)
    if math.comb(quasi, known) > _MOST:
        raise PolicyError(
            f"{' and '.join(OF_SUBSETS)}: {math.comb(quasi, known):,} sets of {known} "
            f"quasi-identifiers are more than the {_MOST:,} that are looked at"
        )
    return list(combinations(range(quasi), known))


def merged(attribute: Attribute, group: str) -> str:
    """Write the query of how often each value occurs where classes merge by some of their cells."""
    part = f"dense_rank() OVER (ORDER BY {group}) AS part"
    ending = attribute.coded()
    if not attribute.by_person:
        return (
            f"(WITH merged AS (SELECT class, classes.size, {part} FROM classes), "
            "sizes AS (SELECT part, sum(size)::HUGEINT AS size FROM merged GROUP BY part), "
            f"summed AS (SELECT m.part, v, sum(n)::HUGEINT AS n FROM counts_{ending} AS c "
            "JOIN merged AS m ON c.part = m.class GROUP BY m.part, v) "
            "SELECT part, part AS home, size, v, n FROM summed JOIN sizes USING (part))"
        )
    # Somebody may be in several of the classes that merge: people are united, not added.
    people = "count(DISTINCT person)::HUGEINT"
    return (
        f"(WITH joined AS (SELECT {part}, v, person FROM held_{ending} AS h "
        "JOIN classes ON h.class = classes.class), "
        f"sizes AS (SELECT part, {people} AS size FROM joined GROUP BY part) "
        f"SELECT part, part AS home, size, v, {people} AS n FROM joined JOIN sizes USING (part) "
        "GROUP BY part, size, v)"
    )


def alike(merge: str | None, *, by_person: bool) -> str:
    """Write how many there are at least in a class, or agree in some columns by which classes merge."""
    if merge is None:
        return "SELECT min(size) FROM classes"
    amount, rows = "sum(size)", "classes"
    if by_person:
        amount, rows = "count(DISTINCT person)", "crowd JOIN classes USING (class)"
    return f"SELECT min(n) AS n FROM (SELECT {amount} AS n FROM {rows} GROUP BY {merge})"
