"""Changes of the choices that remove a point of the verdict; the page has a button for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.faces.studio import declared
from incrowd.release.accounts.clearance import rounding_base

if TYPE_CHECKING:
    import polars as pl

    from incrowd.faces.studio.work import Work
    from incrowd.release.gate.points import Point

_LEFT_OUT = ("personal-text", "free-text", "unread-column", "list-cells", "blanked-column")
CHANGES = {
    **dict.fromkeys(("unique-column", "unique-together"), ("round", "quasi", "identifying")),
    "outlying-value": ("limit", "quasi", "identifying"),
    **dict.fromkeys(_LEFT_OUT, ("identifying",)),
    "unprotected-sensitive": ("protect", "identifying"),
    "derived-column": ("quasi", "identifying"),
    "repeated-id": ("person", "identifying"),
}
"""The changes that remove a point of some kind: a role of its first column, a treatment, or a model."""
_ROLES = {
    "quasi": "Make {} a quasi-identifier",
    "person": "Say that {} names a person",
    "identifying": "Leave {} out",
}
_ROWS = 50_000
"""Rows by which a rounding is chosen."""


class Change(NamedTuple):
    """A change of the choices.

    Attributes
    ----------
    name
        Its kind, one of those in `CHANGES`.
    text
        What it does, for a button.
    make
        Makes it.
    """

    name: str
    text: str
    make: Callable[[], None]


def head_of(work: Work) -> Callable[[], pl.DataFrame]:
    """Return a function that reads the first rows of the table once, when they are needed."""
    return cache(lambda: work.rows(0, _ROWS))


def changes_of(point: Point, work: Work, head: Callable[[], pl.DataFrame]) -> Iterator[Change]:
    """Return the changes that remove a point, as far as there are any that need no further answer.

    Parameters
    ----------
    head
        The first rows of the table, by which a rounding is chosen.
    """
    for kind in CHANGES.get(point.name, ()):
        column, *others = point.columns
        if kind == "protect":
            protect = partial(declared.protect, work.chosen, [column])
            yield Change(kind, f"Protect {column} with l-diversity (l = 2)", protect)
        elif kind == "limit":
            if point.limit is not None and _takes_limits(work, column):
                word, quantile = point.limit
                what = f"Cut off values of {column} beyond the quantile {quantile:g}"
                yield Change(kind, what, partial(_limit, work, column, word, quantile))
        elif kind != "round":
            yield Change(kind, _ROLES[kind].format(column), partial(_give, work, column, kind))
        elif base := rounding_base(head()[column], [head()[other] for other in others]):
            yield Change(kind, f"Round {column} to {base:,}", partial(_round, work, column, base))


def _settings(work: Work, column: str) -> dict[str, Any]:
    """Return the settings of a column, which are remembered before they change."""
    columns = work.chosen.columns
    # A policy that was given need not name every column.
    columns.setdefault(column, {"role": "insensitive"})
    work.remember(column)
    return columns[column]


def _give(work: Work, column: str, role: str) -> None:
    declared.give_role(_settings(work, column), column, role)


def _takes_limits(work: Work, column: str) -> bool:
    """Say whether a column has no treatment, or one with which its numbers are cut off, too."""
    treat = work.chosen.columns.get(column, {}).get("treat")
    return treat is None or declared.read_treatment(treat, column)[0] in ("round", "top", "bottom")


def _limit(work: Work, column: str, word: str, quantile: float) -> None:
    """Cut off the numbers of a column beyond a quantile, and keep the limit and the rounding that it has."""
    settings = _settings(work, column)
    _, kept = declared.read_treatment(settings["treat"], column) if "treat" in settings else ("", {})
    limits = {**kept, word: quantile}
    name = next(name for name in ("base", "top", "bottom") if name in limits)
    settings["treat"] = declared.write_treatment("round" if name == "base" else name, limits)[0]


def _round(work: Work, column: str, base: float) -> None:
    _settings(work, column)["treat"] = declared.write_treatment("round", {"base": base})[0]
