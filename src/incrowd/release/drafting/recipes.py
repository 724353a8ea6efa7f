"""Recipes of hierarchies, and treatments, that suit the values of a column."""

from __future__ import annotations

import math

from incrowd.core.recoding.labels import is_nearly_unique
from incrowd.release.drafting.profile import Profile

__all__ = ["MANY", "recipe_of", "treatment_of"]

MANY = 20
"""Distinct values up to which a column has few."""
_POSTAL_DIGITS = 4


def recipe_of(column: Profile) -> tuple[dict[str, object] | None, str]:
    """Choose the recipe of a hierarchy that suits the values, with the reason; None where none does."""
    if column.kind == "date":
        return {"dates": ["month", "quarter", "year", "decade"]}, "a date climbs the calendar"
    if _is_postal(column):
        return {"prefix": True}, "postal codes are masked from the right, one digit a level"
    if column.kind == "number":
        widths = _widths(column)
        if len(column.ways) > 1:
            return {"flat": True}, "until it is known how its numbers are written"
        if not widths:
            return {"flat": True}, "too few different numbers for intervals: the value or nothing"
        return {"intervals": widths}, "numbers go into nested intervals of these widths"
    if column.distinct > MANY and (column.digits or column.codes or column.postal):
        return {"prefix": True}, "codes are masked from the right, one character a level"
    if is_nearly_unique(column.distinct, column.known):
        return {"flat": True}, "too rare to be listed: the value where enough share it, or *"
    if column.distinct > MANY:
        return None, (
            f"no recipe suits {column.distinct:,} words; without a hierarchy file cells become sets, or * in "
            "a full-domain recoding"
        )
    return None, ""


def treatment_of(column: Profile) -> tuple[dict[str, object] | None, str]:
    """Choose the treatment that a column needs where it is released, with the reason; None where it is fine.

    A number that nearly every record has for its own tells who it is, so it is rounded.
    """
    rounding = column.rounding
    if rounding is None or rounding.step is None:
        return None, ""
    reason = (
        f"rounded, since the exact number may tell whose row it is: {rounding.share:.1%} of the records then "
        "share their value with 4 others or more"
    )
    return rounding.settings(), reason


def _is_postal(column: Profile) -> bool:
    """Say whether postal codes are masked: by their form, or by the name where they are of digits."""
    if column.postal:
        return True
    digits = (
        column.digits or column.codes or (column.whole and column.spread[1] >= 10 ** (_POSTAL_DIGITS - 1))
    )
    return column.is_postal_by_name and digits


def _widths(column: Profile) -> list[float]:
    """Return four widths that double, the first about a fortieth to a twentieth of the usual range."""
    low, high = column.spread
    extent = high - low
    if extent <= 0 or (column.whole and extent < 4):
        return []
    rough = extent / 20
    power = 10.0 ** math.floor(math.log10(rough))
    width = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.75)
    if column.whole:
        width = max(width, 2.0)
    found: list[float] = []
    while width < extent and len(found) < 4:
        plain = float(f"{width:.6g}")
        found.append(int(plain) if plain.is_integer() else plain)
        width *= 2
    return found
