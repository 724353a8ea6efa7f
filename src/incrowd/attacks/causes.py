"""Why singling out succeeds: the columns that its guesses rest on, and the changes that remove them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from incrowd.errors import listed
from incrowd.gate import wording
from incrowd.lazy import NDArray, np
from incrowd.recoding import SUPPRESSED

if TYPE_CHECKING:
    from incrowd.attacks.setting import Setting

_NAMED = 3
"""Columns that remarks name, those that most guesses rest on."""
_LEAST = 0.1
"""Share of the right guesses below which a column is not named, unless it is the first."""


def needed(parts: Sequence[NDArray[np.bool_]], people: int) -> list[int]:
    """Return the places of those parts of a predicate without which several people meet it.

    If one person meets it without any of them, those parts are returned that this person meets alone.

    Parameters
    ----------
    parts
        bool[rows] each: who meets a part. One person meets all.
    people
        How many of the rows, from the first, are those of the raw table.
    """

    def number(some: Sequence[NDArray[np.bool_]]) -> int:
        return int(np.logical_and.reduce(some)[:people].sum()) if some else people

    places = range(len(parts))
    found = [place for place in places if number([*parts[:place], *parts[place + 1 :]]) > 1]
    return found or [place for place in places if number([parts[place]]) == 1]


def shares(setting: Setting, guesses: Iterable[Sequence[int]]) -> dict[str, float]:
    """Return the share of right guesses that rest on each column, the largest first.

    Parameters
    ----------
    guesses
        Per right guess, the places among the released columns that it rests on.
    """
    every = [[setting.released[place] for place in places] for places in guesses]
    counts = Counter(name for names in every for name in names)
    return {name: number / len(every) for name, number in counts.most_common()}


def remarks(setting: Setting, columns: dict[str, float], success: float) -> tuple[str, ...]:
    """Say which columns guesses rest on, how to remove that, and against whom another promise is made.

    Parameters
    ----------
    columns
        As `shares` returns them.
    success
        Share of the guesses that are right, 0..1.
    """
    if not columns:
        return ()
    told = [
        name
        for place, (name, share) in enumerate(islice(columns.items(), _NAMED))
        if not place or share >= _LEAST
    ]
    rest = listed(f"{_described(setting, name)} in {wording.percent(columns[name])}" for name in told)
    found = [f"The right guesses rest on {rest} of the cases."]
    found += [f"{name}: {_way_out(setting, name)}" for name in told]
    largest = _largest_risk(setting)
    if success > largest:
        knows = wording.who_knows(setting.quasi)
        found.append(
            f"{knows[0].upper()}{knows[1:]}, finds the right record with at most {wording.at_most(largest)}. "
            "This attacker knows every released column, so that is no promise against it."
        )
    return tuple(found)


def _described(setting: Setting, name: str) -> str:
    return f"{name} (exact)" if setting.columns[name].is_exact else name


def _way_out(setting: Setting, name: str) -> str:
    if name in setting.quasi:
        return "Generalize it more, or leave it out."
    return wording.way_out_of_values(name, numbers=setting.columns[name].numeric)


def _largest_risk(setting: Setting) -> float:
    """Return the risk in the smallest class of the quasi-identifiers; suppressed records are in none."""
    from incrowd.kernels.grouping.grouping import group_codes

    columns = [setting.columns[name] for name in setting.quasi]
    stars = [np.array([label == SUPPRESSED for label in each.labels])[each.codes] for each in columns]
    kept = ~np.logical_and.reduce(stars)
    if not kept.any():
        return 1.0
    ids, _ = group_codes([each.codes[kept].astype(np.int64) for each in columns], int(kept.sum()))
    return 1 / int(np.bincount(ids).min())
