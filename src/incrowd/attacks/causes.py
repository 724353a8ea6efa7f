"""Causes of singling out: columns that right guesses rest on, and changes that help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from incrowd.core.errors import listed
from incrowd.core.lazy import NDArray, np
from incrowd.core.recoding import SUPPRESSED
from incrowd_verify.gate import wording

if TYPE_CHECKING:
    from incrowd.attacks.setting import Setting

_NAMED = 3
"""Columns that remarks name, those that most guesses rest on."""
_LEAST = 0.1
"""Share of the right guesses below which a column is not named, unless it is the first."""


def needed(parts: Sequence[NDArray[np.bool_]], people: int) -> list[int]:
    """Return the positions of the parts of a predicate without which several people meet the predicate.

    If one person meets it without any of them, those parts are returned that this person meets alone.

    Parameters
    ----------
    parts
        bool[rows] each: who meets a part. One person meets all.
    people
        How many of the rows, from the first, are those of the raw table.
    """

    def number(conditions: Sequence[NDArray[np.bool_]]) -> int:
        return int(np.logical_and.reduce(conditions)[:people].sum()) if conditions else people

    positions = range(len(parts))
    necessary = [at for at in positions if number([*parts[:at], *parts[at + 1 :]]) > 1]
    return necessary or [at for at in positions if number([parts[at]]) == 1]


def shares(setting: Setting, guesses: Iterable[Sequence[int]]) -> dict[str, float]:
    """Return the share of right guesses that rest on each column, the largest first.

    Parameters
    ----------
    guesses
        Per right guess, the positions among the released columns that it rests on.
    """
    columns = [[setting.released[position] for position in guess] for guess in guesses]
    counts = Counter(name for names in columns for name in names)
    return {name: number / len(columns) for name, number in counts.most_common()}


def remarks(setting: Setting, columns: dict[str, float], success: float) -> tuple[str, ...]:
    """Return sentences on the columns that guesses rest on, the ways out, and the limits of the promise.

    Parameters
    ----------
    columns
        As `shares` returns them.
    success
        Share of the guesses that are right, 0..1.
    """
    if not columns:
        return ()
    first = islice(columns.items(), _NAMED)
    names = [name for number, (name, share) in enumerate(first) if not number or share >= _LEAST]
    exact = {name: " (exact)" if setting.columns[name].is_exact else "" for name in names}
    rest = listed(f"{name}{exact[name]} in {wording.percent(columns[name])}" for name in names)
    sentences = [f"The right guesses rest on {rest} of the cases."]
    for name in names:
        way_out = "Generalize it more, or leave it out."
        if name not in setting.quasi:
            way_out = wording.way_out_of_values(name, numbers=setting.columns[name].numeric)
        sentences.append(f"{name}: {way_out}")
    largest = _largest_risk(setting)
    if success > largest:
        knows = wording.who_knows(setting.quasi)
        sentences.append(
            f"{knows[0].upper()}{knows[1:]}, finds the right record with at most {wording.at_most(largest)}. "
            "This attacker knows every released column, so that is no promise against it."
        )
    return tuple(sentences)


def _largest_risk(setting: Setting) -> float:
    """Return the risk in the smallest class of the quasi-identifiers, without suppressed records."""
    from incrowd.core.kernels.grouping.grouping import group_codes

    columns = [setting.columns[name] for name in setting.quasi]
    stars = [np.array([label == SUPPRESSED for label in column.labels])[column.codes] for column in columns]
    released = ~np.logical_and.reduce(stars)
    if not released.any():
        return 1.0
    ids, _ = group_codes([column.codes[released].astype(np.int64) for column in columns], int(released.sum()))
    return 1 / int(np.bincount(ids).min())
