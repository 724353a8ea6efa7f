"""Mends: the changes that remove a point, a clause that is not met, or a refusal; each is a button."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.faces.studio import declared
from incrowd.release.drafting.rounding import rounding_base
from incrowd.search import ALGORITHMS

if TYPE_CHECKING:
    import polars as pl

    from incrowd.faces.studio.work import Work
    from incrowd_gate.points import Point
    from incrowd_gate.profiles import Clause

_OF_VALUES = ("round", "quasi", "identifying")
_OF_CODES = ("coarser", "leave-out", "leave-table-out")
MENDS: dict[str, tuple[str, ...]] = {
    "limit": ("judged", "suppress", "Limits"),
    "conformity": ("anew",),
    "clause": ("identifying", "Limits"),
    "unanswered-clause": ("harmless", "Limits"),
    "cell": ("hide",),
    "linked-tables": _OF_CODES,
    "linked-columns": _OF_CODES,
    "nothing-left": ("local", "suppress", "Limits"),
    "not-checked": ("identifying", "Limits"),
    "unique-column": _OF_VALUES,
    "unique-together": _OF_VALUES,
    "outlying-value": ("limit", "quasi", "identifying"),
    **dict.fromkeys(
        ("personal-text", "named-identifier", "free-text", "unread-column", "list-cells"), ("identifying",)
    ),
    "unprotected-sensitive": ("protect", "identifying"),
    "derived-column": ("quasi", "identifying"),
    "untrue-label": ("no-tree", "identifying"),
    "repeated-id": ("person", "identifying"),
    "suppressed-records": ("judged", "drop"),
    "few-matches": ("wildcards",),
    "blanked-column": ("local", "suppress", "identifying"),
    "much-suppressed": ("local", "Limits"),
    "clause: absent": ("identifying",),
    "clause: years": ("years", "identifying"),
    "clause: oldest": ("oldest", "identifying"),
    "clause: zip3": ("prefix", "identifying"),
    "clause: unique": ("identifying",),
    "clause: risk": ("least", "Limits"),
    "clause: context": ("least", "Limits"),
    "clause: counts": ("others", "identifying"),
    "clause: shares": ("protect", "identifying"),
    "clause: fraction": ("Limits",),
    "clause: ends": ("limit", "identifying"),
    "clause: attack": ("larger", "Limits"),
    "ledger": ("anew", "new-people", "another-file"),
    "suppressed batch": ("anew", "any-share", "another-file"),
}
"""The mends of each kind of point, of each check of a clause, and of refusals of a ledger and a batch.

A name that begins with a capital is that of the panel where an answer is given.
"""
TITLES = {
    "unique-column": "Nearly unique", "unique-together": "Together nearly unique",
    "personal-text": "Texts that name or reach people", "unprotected-sensitive": "Sensitive without a limit",
    "unread-column": "Not searched for people", "list-cells": "Cells of several values",
    "derived-column": "Follows from a generalized column", "repeated-id": "Looks like the id of people",
    "few-matches": "Fits too few records", "blanked-column": "Little is left", "not-checked": "Not checked",
    "much-suppressed": "Much is suppressed", "untrue-label": "Labels that are not true",
}  # fmt: skip
"""Titles of points whose code name says less; it is shown on hover."""
_ROLES = {
    "quasi": "Make {} a quasi-identifier",
    "person": "Say that {} names a person",
    "identifying": "Leave {} out",
}
_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2)
_ROWS = 50_000
"""Rows by which a rounding is chosen."""


class Change(NamedTuple):
    """A change of the choices.

    Attributes
    ----------
    name
        Its kind, one of those in `MENDS`.
    text
        What it does, for a button.
    make
        Makes it; None for one that is made in a panel.
    """

    name: str
    text: str
    make: Callable[[], Any] | None = None


def head_of(work: Work) -> Callable[[], pl.DataFrame]:
    """Return a function that reads the first rows of the table once, when they are needed."""
    return cache(lambda: work.rows(0, _ROWS))


def changes_of(
    point: Point,
    work: Any,
    head: Callable[[], Any],
    only: Collection[str] = (),
) -> Iterator[Change]:
    """Return the changes that remove a point, as far as there are any that need no further answer.

    Parameters
    ----------
    work
        The `Work` of the window, or the `LinkedTables`.
    head
        The first rows of the table, by which a rounding is chosen.
    only
        The changes that are defined, where not all are.
    """
    clause = _clause_of(point, work)
    columns = point.columns if "clause" in point.name else point.columns[:1]
    names = [each for each in MENDS[point.name] if not only or each in only]
    if clause is not None:
        if point.name == "clause":
            names = [*MENDS[f"clause: {clause.check}"]]
        elif clause.question is not None:
            names = []
    for name in names:
        if name[0].isupper():
            yield Change(name, f"Go to {name}")
        elif name == "harmless":
            if clause is not None and columns:
                text = f"{', '.join(columns)}: no such thing, I looked"
                yield Change(name, text, partial(_clear, work, clause.id, columns))
        elif name in _OF_POLICY:
            yield from _OF_POLICY[name](work, point, clause)
        else:
            for column in columns:
                yield from _of_column(name, column, point, work, clause, head)


def _clause_of(point: Point, work: Work) -> Clause | None:
    """Return the clause of the profile that a point is about."""
    release = work.release
    if "clause" not in point.name or release is None or release.policy.profile is None:
        return None
    return next((x for x in release.policy.profile.profile.clauses if x.id == point.subject), None)


# --- changes of a column ------------------------------------------------------------------------------


def _of_column(
    kind: str, column: str, point: Point, work: Work, clause: Clause | None, head: Callable[[], pl.DataFrame]
) -> Iterator[Change]:
    treat = partial(_treat, work, column)
    if kind in _ROLES:
        yield Change(kind, _ROLES[kind].format(column), partial(_give, work, column, kind))
    elif kind == "protect":
        protect = partial(declared.protect, work.chosen, [column])
        yield Change(kind, f"Protect {column} with l-diversity (l = 2)", protect)
    elif kind == "no-tree":
        yield Change(kind, f"Drop the hierarchy of {column}", partial(_drop_tree, work, column))
    elif kind == "limit":
        word, quantile = point.limit or ("top", 0.99)
        if (point.limit is not None or clause is not None) and _takes_limits(work, column):
            what = f"Cut off values of {column} beyond the quantile {quantile:g}"
            yield Change(kind, what, partial(_limit, work, column, word, quantile))
    elif kind == "round":
        others = [head()[other] for other in point.columns[1:]]
        if base := rounding_base(head()[column], others):
            yield Change(kind, f"Round {column} to {base:,}", partial(treat, "round", base=base))
    elif clause is not None and (change := _of_clause(kind, column, work, clause)):
        text, treatment, settings = change
        yield Change(kind, text, partial(treat, treatment, **settings))


def _of_clause(kind: str, column: str, work: Work, clause: Clause) -> tuple[str, str, dict[str, Any]] | None:
    """Return the treatment that a clause asks for: in words, by name, and with its settings."""
    limits = clause.settings
    if kind == "prefix":
        return f"Keep the first three digits of {column}", "keep-first", {"characters": 3}
    if kind == "others":
        what = f"Put values of {column} together that fewer than {limits['least']} records have"
        return what, "other", {"least": limits["least"]}
    # The cells of a quasi-identifier may still tell a day, or a range around the last age.
    if work.chosen.columns.get(column, {}).get("role") == "quasi":
        return None
    if kind == "years":
        return f"Give out only the years of {column}", "truncate-dates", {"to": "year"}
    top = limits["oldest"] + 1
    return f"Give out {column} from {top} on as {top}", "top", {"top": top}


def _settings(work: Work, column: str) -> dict[str, Any]:
    """Return the settings of a column; a given policy need not name every column."""
    return work.chosen.columns.setdefault(column, {"role": "insensitive"})


def _give(work: Work, column: str, role: str) -> None:
    declared.give_role(_settings(work, column), column, role)


def _drop_tree(work: Work, column: str) -> None:
    _settings(work, column).pop("hierarchy", None)


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


def _treat(work: Work, column: str, treatment: str, **settings: Any) -> None:
    _settings(work, column)["treat"] = declared.write_treatment(treatment, settings)[0]


# --- changes of the policy ----------------------------------------------------------------------------


def _clear(work: Work, clause: str, columns: Sequence[str]) -> None:
    """Record that columns hold another kind of data than a clause names."""
    cleared = work.chosen.document["profile"].setdefault("cleared", {})
    cleared[clause] = sorted({*cleared.get(clause, ()), *columns})


def _set(work: Work, **settings: Any) -> None:
    work.chosen.document.update(settings)


def _anew(_: Work, *__: Any) -> Iterator[Change]:
    yield Change("anew", "Make the release anew", lambda: None)


def _judged(work: Work, *_: Any) -> Iterator[Change]:
    if work.chosen.document.get("suppressed") == "keep":
        what = "Leave suppressed records out where they fail"
        yield Change("judged", what, partial(_set, work, suppressed="judged"))


def _drop(work: Work, *_: Any) -> Iterator[Change]:
    yield Change("drop", "Leave all suppressed records out", partial(_set, work, suppressed="drop"))


def _wildcards(work: Work, *_: Any) -> Iterator[Change]:
    yield Change("wildcards", "Let * count as a value", partial(_set, work, wildcards="value"))


def _suppress(work: Work, *_: Any) -> Iterator[Change]:
    now = work.chosen.document.get("max_suppression", 0.0)
    if share := next((each for each in _SHARES if each > now), None):
        what = f"Let up to {share:.0%} of the records be suppressed"
        yield Change("suppress", what, partial(_set, work, max_suppression=share))


def _local(work: Work, *_: Any) -> Iterator[Change]:
    if ALGORITHMS.get(work.chosen.algorithm.get("name", "mondrian")).full_domain:
        yield Change("local", "Recode each class alone (mondrian)", partial(_search_locally, work))


def _search_locally(work: Work) -> None:
    for settings in work.chosen.columns.values():
        settings.pop("levels", None)
    _set(work, algorithm={"name": "mondrian"})


def _least(work: Work, point: Point, _: Clause | None) -> Iterator[Change]:
    if point.limit is not None:
        least = int(point.limit[1])
        yield Change("least", f"Ask for classes of {least:,} records", partial(_ask_size, work, least))


def _larger(work: Work, *_: Any) -> Iterator[Change]:
    least = 2 * max((each.get("k", 1) for each in work.chosen.models), default=1)
    yield Change("larger", f"Ask for classes of {least:,} records", partial(_ask_size, work, least))


def _ask_size(work: Work, least: int) -> None:
    models = work.chosen.models
    models[:] = [each for each in models if each["model"] != "k-anonymity"]
    models.insert(0, {"model": "k-anonymity", "k": least})


_OF_POLICY: dict[str, Callable[[Any, Any, Any], Iterator[Change]]] = {
    "anew": _anew, "judged": _judged, "drop": _drop, "wildcards": _wildcards, "suppress": _suppress,
    "local": _local, "least": _least, "larger": _larger,
}  # fmt: skip
