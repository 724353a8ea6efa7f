"""The disclosure of a sensitive column of lists by the parts of the lists.

A column of lists is judged by its parts, too: with the separator ``;`` the cell ``F32; E11`` has the parts
E11 and F32, stripped, in no order, once each. A cell without a part has the part "missing", None here. The
tables of `attribute` are made once more for it, with the ending ``_part``; a record counts for each part.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from incrowd_gate.errors import ParameterError, PolicyError, named
from incrowd_verify.attribute import Attribute, split_by_others
from incrowd_verify.limits import Demand
from incrowd_verify.policy import Column
from incrowd_verify.quantities import of_model

MOST = 10
"""Parts that are counted at most, beside those that somebody has alone; more where a limit asks for more."""

_UNKNOWN = ("normalized-entropy", "p29")
"""Models of sensitive values that are not defined for lists."""


def by_parts(attribute: Attribute, counts: str, model: str, settings: Mapping[str, Any]) -> str:
    """Write the query of the disclosure by parts.

    `counts`: how often each part of a class has each part of the lists.
    """
    if model == "t-closeness":
        return _distance(attribute, counts, absent=settings["distance"] != "maximal-frequency-difference")
    if model != "l-diversity":
        return of_model(attribute, counts, model, settings)
    least = "size::DOUBLE / max(n)::DOUBLE"
    if settings["kind"] == "recursive":
        least = f"floor({least})"
    return f"SELECT part, home, {least} AS value FROM {counts} GROUP BY part, home, size"


def _distance(attribute: Attribute, counts: str, *, absent: bool) -> str:
    """Largest difference of a part's shares; a part that is absent has the share 0."""
    everybody, whole = attribute.everybody(), f"whole_{attribute.coded()}"
    apart = f"abs(coalesce(c.n, 0) * {everybody} - w.n * h.size)::DOUBLE"
    return (
        f"SELECT h.part, h.home, max({apart} / ({everybody}::HUGEINT * h.size)::DOUBLE) AS value "
        f"FROM (SELECT DISTINCT part, home, size FROM {counts}) AS h CROSS JOIN {whole} AS w "
        f"{'LEFT ' if absent else ''}JOIN {counts} AS c ON c.part = h.part AND c.v = w.v "
        "GROUP BY h.part, h.home"
    )


def fewest_parts(attribute: Attribute, counts: str, least: int) -> str:
    """Write the query of the fewest parts of lists that reach each record of a part of a class.

    `counts`: how often each part of a class has each whole text.
    """
    con, text, part = attribute.con, attribute.coded(), attribute.parted().coded()
    of_value: dict[int, set[int]] = {}
    pairs = con.execute(
        f"SELECT t.v, p.v FROM texts_{text} AS t JOIN texts_{part} AS p "
        "ON t.value IS NOT DISTINCT FROM p.value"
    ).fetchall()
    for value, code in pairs:
        of_value.setdefault(value, set()).add(code)
    rows = con.execute(f"SELECT part, home, list(v) FROM {counts} GROUP BY part, home").fetchall()
    known: dict[frozenset[frozenset[int]], int] = {}
    fewest_parts = []
    for place, home, values in rows:
        lists = frozenset(frozenset(of_value[value]) for value in values)
        if lists not in known:
            known[lists] = _fewest(lists, least)
        fewest_parts.append((int(place), int(home), known[lists]))
    con.execute("DROP TABLE IF EXISTS fewest")
    con.fill("fewest", "part BIGINT, home BIGINT, value BIGINT", fewest_parts)
    return "SELECT part, home, value FROM fewest"


def _fewest(lists: Collection[frozenset[int]], least: int) -> int:
    """Return how many parts meet all lists (see `MOST`)."""
    sure = {part for each in lists if len(each) == 1 for part in each}
    others = [each for each in lists if sure.isdisjoint(each)]
    most = max(MOST, least - len(sure))
    return len(sure) + next((many for many in range(most) if _suffice(others, many)), most)


def _suffice(lists: Collection[frozenset[int]], many: int) -> bool:
    """Say whether so many parts can meet all lists."""
    if not lists:
        return True
    apart: list[frozenset[int]] = []
    for each in sorted(lists, key=len):
        if all(each.isdisjoint(other) for other in apart):
            apart.append(each)
        if len(apart) > many:
            return False
    # Somebody's list has to be met by one of its own parts.
    return any(_suffice([each for each in lists if part not in each], many - 1) for part in sorted(apart[0]))


def counts_of(attributes: Collection[Attribute], attribute: Attribute, *, joint: bool) -> str:
    """Make the counts of a column, in classes split by the values of the others where that is asked."""
    if not joint:
        return f"counts_{attribute.coded()}"
    others = [attribute if each.place == attribute.place else each for each in attributes]
    return split_by_others(others, attribute)


def refuse_lists(demand: Demand, attributes: Mapping[str, Attribute]) -> None:
    """Refuse a model that is not defined for lists."""
    lists = [name for name, each in attributes.items() if each.column.parts is not None]
    if demand.model in _UNKNOWN and lists and (demand.attribute is None or demand.attribute in lists):
        raise PolicyError(
            f"{demand.model} is not defined for lists, and the policy declares parts of column "
            f"{named([demand.attribute] if demand.attribute else lists)}"
        )


def refuse_in_script(sensitive: Collection[Column]) -> None:
    """Refuse a script of a policy with columns of lists."""
    lists = [column.name for column in sensitive if column.parts is not None]
    if lists:
        raise ParameterError(
            f"no SQL script can judge column {named(lists)} by the parts of its cells; use verify"
        )
