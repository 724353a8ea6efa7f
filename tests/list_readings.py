"""Lists in cells read a second time: slowly, by trying all choices of parts, and in fractions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations

import incrowd as ic
from incrowd.measures.privacy import P29, PrivacyModel


def parts(cell: str | None, separator: str = ";") -> set[str]:
    """Read the parts of a cell; ``(none)`` is that of a cell without any."""
    result = set()
    for piece in (cell or "").split(separator):
        if piece.strip():
            result.add(piece.strip())
    return result or {"(none)"}


def fewest(cells: Iterable[str | None], separator: str = ";") -> int:
    """Return the fewest parts that hit every cell, by all choices, the small choices first."""
    lists = [parts(cell, separator) for cell in cells]
    every = sorted(set().union(*lists))
    return next(
        many
        for many in range(len(every) + 1)
        if any(all(each & set(chosen) for each in lists) for chosen in combinations(every, many))
    )


def shares(lists: Sequence[str], row: Sequence[int]) -> dict[str, Fraction]:
    """Return the share of a class for each part, given the frequency of each list."""
    every = set().union(*(parts(cell) for cell in lists[: len(row)]))
    return {
        part: Fraction(sum(n for cell, n in zip(lists, row, strict=False) if part in parts(cell)), sum(row))
        for part in every
    }


def judges_lists(model: PrivacyModel) -> bool:
    return not isinstance(model, ic.NormalizedEntropy | P29)


def value_by_parts(
    model: PrivacyModel,
    quantity: str,
    by_text: float | Fraction,
    lists: Sequence[str],
    table: list[list[int]],
    row: list[int],
) -> float | Fraction:
    """Return the worse of the value by whole texts and of that by parts, from the definition."""
    whole = [sum(column) for column in zip(*table, strict=True)]
    p = {part: share for part, share in shares(lists, row).items() if share}
    q = {part: share for part, share in shares(lists, whole).items() if share}
    if quantity in ("k", "K"):
        return by_text
    match model:
        case ic.LDiversity(kind="distinct"):
            return min(by_text, fewest(cell for cell, n in zip(lists, row, strict=False) if n))
        case ic.LDiversity(kind="recursive"):
            return min(by_text, 1 // max(p.values()))
        case ic.LDiversity():
            return min(by_text, 1 / max(p.values()))
        case ic.TCloseness(distance="maximal-frequency-difference"):
            return max(by_text, *(abs(p[part] - q[part]) for part in p))
        case ic.TCloseness():
            return max(by_text, *(abs(p.get(part, 0) - q[part]) for part in q))
        case ic.AlphaKAnonymity() | ic.LKCPrivacy():
            return max(by_text, *p.values())
        case ic.BetaLikeness():
            gains = {part: (p[part] - q[part]) / q[part] for part in p}
            if model.kind == "enhanced":
                broken = any(gain > 0 and gain > 1e-12 - math.log(q[part]) for part, gain in gains.items())
                return math.inf if broken else max(by_text, *gains.values())
            return max(by_text, *gains.values())
        case ic.DeltaDisclosure():
            if model.absent == "infinite" and len(p) < len(q):
                return math.inf
            return max(by_text, *(abs(math.log(p[part] / q[part])) for part in p))
    return by_text
