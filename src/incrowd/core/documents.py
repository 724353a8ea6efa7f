"""Plain documents: the envelope, the spelling of infinity and of ranges, and the way to write a figure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

INFINITY = "infinity"
"""What stands for infinity, which JSON does not have."""

_PUBLISHED = 2
"""Significant digits of what is measured on raw values, where it is published."""
_ASKED = ("limit", "settings")
"""Figures that somebody asked for, which stay as they are."""
_WHOLE = 10**15
"""Numbers up to which a whole one is written with all of its digits."""


def envelope(kind: str, version: int = 1) -> dict[str, Any]:
    """Return the beginning of every document: the format and the format's version.

    Examples
    --------
    >>> envelope("release") | {"records": 5}
    {'format': 'incrowd release', 'version': 1, 'records': 5}
    """
    return {"format": f"incrowd {kind}", "version": version}


def range_text(low: object, high: object, *, dated: bool = False) -> str:
    """Spell a released range: ``[20-29]``, or of dates ``[2026-01-01 to 2026-01-31]``."""
    return f"[{low} to {high}]" if dated else f"[{low}-{high}]"


def plain(value: float | None) -> float | str | None:
    """Return a figure for JSON; None for NaN and infinity.

    Examples
    --------
    >>> plain(0.5), plain(float("inf")), plain(None)
    (0.5, 'infinity', None)
    """
    if value is None or math.isnan(value):
        return None
    if math.isinf(value):
        return INFINITY if value > 0 else f"-{INFINITY}"
    return value


def to_json(document: Mapping[str, Any] | list[Any], *, escaped: bool = False) -> str:
    """Write a document as JSON text; figures that are not finite are `plain`.

    Parameters
    ----------
    escaped
        Whether characters beyond ASCII are written as escapes.

    Examples
    --------
    >>> print(to_json([1.5, float("-inf"), float("nan")]))
    [
     1.5,
     "-infinity",
     null
    ]
    """
    return json.dumps(_finite(document), ensure_ascii=escaped, indent=1, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return plain(value) if isinstance(value, float) else value


def rounded(part: Any) -> Any:
    """Round the figures of a part of a document to two significant digits; whole numbers stay.

    More digits of what is measured on raw values tell these: an attacker who knows all rows but one tries
    its values until the figures come out.

    Examples
    --------
    >>> rounded({"loss": 0.15301, "records": 1234, "limit": 0.123})
    {'loss': 0.15, 'records': 1234, 'limit': 0.123}
    """
    if isinstance(part, Mapping):
        return {name: each if name in _ASKED else rounded(each) for name, each in part.items()}
    if isinstance(part, list | tuple):
        return [rounded(each) for each in part]
    return float(f"{part:.{_PUBLISHED}g}") if isinstance(part, float) else part


def loss_in_words(share: float) -> str:
    """Write a loss in percent with the two significant digits that are published, as everywhere.

    Examples
    --------
    >>> [loss_in_words(share) for share in (0.2149, 0.21, 0.0533, 0.996, 0)]
    ['21%', '21%', '5.3%', '100%', '0%']
    """
    return f"{100 * rounded(float(share)):.3g}%"


def figure(value: float | None, digits: int = 4) -> str:
    """Write a figure for people: whole and large figures without decimals, others with some digits.

    Examples
    --------
    >>> figure(12345), figure(1234.5), figure(0.123456), figure(0.123456, 6)
    ('12,345', '1,234', '0.1235', '0.123456')
    """
    if value is None or math.isnan(value):
        return "nothing"
    if math.isinf(value):
        return str(plain(value))
    if abs(value) < _WHOLE and (float(value).is_integer() or abs(value) >= 10 ** (digits - 1)):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"
