"""Singling out: predicates that exactly one person meets.

Causes are columns that right guesses rest on, and changes that help.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest

from incrowd.attacks.base import Attack, risk_of, wilson
from incrowd.attacks.kind import AttackKind
from incrowd.attacks.setting import Column, Part, Setting
from incrowd.core.errors import listed
from incrowd.core.lazy import NDArray, np
from incrowd.core.progress import check
from incrowd.core.recoding import SUPPRESSED
from incrowd_gate import wording
from incrowd_gate.rules.values import least_base

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
            column = setting.columns[name]
            base = None
            if column.numeric:
                base = least_base(*np.unique(column.values[: setting.people], return_counts=True))
            way_out = wording.way_out_of_values(name, base)
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


_TRIES = 300
_TRIES_IN_CROWDS = 10
"""Predicates tried for every one that is guessed."""
_NOTHING_TO_GUESS = "no guess was made: no released cell is a value, a range or a set of values that is known"
_BYTES_KEPT = 1 << 27
"""Memory for the records that meet the parts of predicates."""


def singling_out(setting: Setting, width: int, attacks: int, kind: str) -> Attack:
    """Guess predicates of some released columns, of any role, that exactly one person meets.

    - A predicate of one column is "has this rare cell", "is at most the smallest number" or "is at least the
      largest number".
    - A predicate of several columns is made of a released record. A number becomes "at least" above the
      median and "at most" below it. Any other cell becomes "is one of its values".
    - The predicates are guessed that exactly one released record meets. If there are none, those are guessed
      that the fewest records meet.
    - A control may have fewer people than the raw table. Success with it is scaled to as many people. For
      that, the counts of people are taken for negative binomial.
    """
    from incrowd.core.kernels.grouping.grouping import group_codes

    random = np.random.default_rng([setting.seed, 2, width])
    columns = [setting.columns[name] for name in setting.released]
    codes = [column.codes.astype(np.int64) for column in columns]
    ids, first = group_codes(codes, setting.records)
    records = np.bincount(ids)
    covered = _Covered([column.of_records(first) for column in columns], records)
    # If every record has an equal, no predicate is met by a single record, so few are tried.
    tries = attacks * (_TRIES if records.min() == 1 else _TRIES_IN_CROWDS)
    candidates = (
        _univariate(columns, random) if width == 1 else _multivariate(columns, setting.records, width, random)
    )
    guesses = _guesses(islice(candidates, tries), covered, attacks)

    rests_on = []

    def people(predicate: dict[int, Part]) -> tuple[int, int]:
        check()
        parts = [columns[j].meets(part, of_release=False) for j, part in predicate.items()]
        meeting = np.logical_and.reduce(parts)
        in_table = int(meeting[: setting.people].sum())
        if in_table == 1:
            rests_on.append([list(predicate)[position] for position in needed(parts, setting.people)])
        return in_table, int(meeting[setting.people :].sum())

    meeting = [people(guess) for guess in guesses]
    number = len(guesses)
    won, of_control = (sum(counts[part] == 1 for counts in meeting) for part in (0, 1))
    lucky = _lucky_guesses(columns, setting.people, width, number, random)
    main, baseline = wilson(won, number), wilson(lucky, number)
    others = setting.rows - setting.people
    columns_of_guesses = shares(setting, rests_on)
    sentences = remarks(setting, columns_of_guesses, won / number) if number else (_NOTHING_TO_GUESS,)
    if not others:
        return Attack(kind, number, main, baseline, None, None, columns=columns_of_guesses, remarks=sentences)
    # Among fewer people a predicate meets exactly one more or less often.
    factor = size_factor([other for _, other in meeting], setting.people / others)
    control = wilson(min(round(of_control * factor), number), number)
    risk = risk_of(main, control)
    return Attack(kind, number, main, baseline, control, risk, columns=columns_of_guesses, remarks=sentences)


def _guesses(candidates: Iterator[dict[int, Part]], covered: _Covered, attacks: int) -> list[dict[int, Part]]:
    """Choose the predicates met by exactly one released record, or else those met by the fewest."""
    entries: list[tuple[int, int, dict[int, Part]]] = []
    names: set[str] = set()
    unique = 0
    for number, predicate in enumerate(candidates):
        check()
        if unique == attacks:
            break
        name = repr(predicate)
        if name in names:
            continue
        names.add(name)
        holders = covered.by(predicate)
        if not holders:
            continue
        unique += holders == 1
        entries.append((holders, number, predicate))
    # Guesses met by a single released record are the best. A k-anonymous release has none, so the predicates
    # met by the fewest records are guessed.
    best = sorted(entries, key=lambda entry: entry[:2])[:attacks]
    return [guess for holders, _, guess in best if holders == 1] or [guess for _, _, guess in best]


def _lucky_guesses(
    columns: Sequence[Column], people: int, width: int, guesses: int, random: np.random.Generator
) -> int:
    """Count random predicates, made without the release, that exactly one person meets."""
    lucky = 0
    for _ in range(guesses):
        check()
        chosen = sorted(random.permutation(len(columns))[:width].tolist())
        rows = np.logical_and.reduce([columns[j].random_predicate(random) for j in chosen])
        lucky += int(rows[:people].sum()) == 1
    return lucky


class _Covered:
    """Counts of the released records that meet a predicate, with the matches of parts cached as bits."""

    def __init__(self, columns: Sequence[Column], records: NDArray[np.int64]) -> None:
        self._columns = columns
        self._records = records
        self._bits: dict[tuple[int, str], NDArray[np.uint8]] = {}
        self._most = max(_BYTES_KEPT * 8 // len(records), len(columns))

    def by(self, predicate: dict[int, Part]) -> int:
        covered = np.bitwise_and.reduce([self._meets(j, part) for j, part in predicate.items()])
        if not covered.any():
            return 0
        return int(self._records[np.flatnonzero(np.unpackbits(covered, count=len(self._records)))].sum())

    def _meets(self, j: int, part: Part) -> NDArray[np.uint8]:
        key = (j, repr(part))
        if key not in self._bits:
            if len(self._bits) >= self._most:
                self._bits.clear()
            self._bits[key] = np.packbits(self._columns[j].meets(part, of_release=True))
        return self._bits[key]


def _univariate(columns: Sequence[Column], random: np.random.Generator) -> Iterator[dict[int, Part]]:
    """Yield predicates of a single column, in turn from every column, rare cells first."""
    by_column = [[(j, part) for part in column.cells(random)] for j, column in enumerate(columns)]
    for parts in zip_longest(*by_column):
        yield from ({j: part} for j, part in filter(None, parts))


def _multivariate(
    columns: Sequence[Column], records: int, width: int, random: np.random.Generator
) -> Iterator[dict[int, Part]]:
    """Yield predicates of several columns, each made of a released record."""
    while True:
        record = int(random.integers(records))
        chosen = sorted(random.permutation(len(columns))[:width].tolist())
        yield {j: columns[j].part(int(columns[j].codes[record]), corner=True) for j in chosen}


def size_factor(counts: Sequence[int], scale: float) -> float:
    """Return the ratio of unique matches of a predicate among `scale` times as many people.

    The numbers of people who meet a predicate are taken for negative binomial. Shape and mean are those that
    fit the shares of the counts 0 and 1. With more people the shape stays and the mean is scaled.
    """
    none, one = (sum(number == count for number in counts) / len(counts) for count in (0, 1))
    if scale <= 1 or not one or not none:
        return 1.0
    # Share of 0: (1 + x)^-shape, of 1: shape x / (1 + x) times that; so their ratio fixes x.
    ratio = one / none / -math.log(none)
    low, high = -20.0, 40.0
    for _ in range(100):
        middle = (low + high) / 2
        x = math.exp(middle)
        low, high = (middle, high) if x / (1 + x) / math.log1p(x) > ratio else (low, middle)
    x = math.exp(low)
    shape = -math.log(none) / math.log1p(x)

    def exactly_one(x: float) -> float:
        return shape * x / (1 + x) * math.exp(-shape * math.log1p(x))

    return exactly_one(scale * x) / exactly_one(x)


UNIVARIATE = AttackKind(
    "singling-out-univariate",
    "a released column",
    lambda call: True,
    lambda call: singling_out(call.setting, 1, call.attacks, "singling-out-univariate"),
    columns=lambda call: call.setting.protected,
)

MULTIVARIATE = AttackKind(
    "singling-out-multivariate",
    "two released columns",
    lambda call: len(call.setting.released) > 1,
    lambda call: singling_out(
        call.setting, min(call.columns, len(call.setting.released)), call.attacks, "singling-out-multivariate"
    ),
    columns=lambda call: call.setting.protected,
)
