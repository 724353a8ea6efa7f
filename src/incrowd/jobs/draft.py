"""Drafting a policy: guessed roles of a table's columns, each with its reason, and questions.

What cannot be known from outside is a question (`role = "?"`), and no job runs until it is answered. The
draft shows names and counts, never values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from incrowd.errors import TableError, setting
from incrowd.io.missing_texts import MISSING_TEXTS
from incrowd.io.second_names import refuse_second_names
from incrowd.jobs.determined import determined
from incrowd.jobs.doubts import alternatives
from incrowd.jobs.policy import POLICY_VERSION, toml_key, toml_settings, toml_value
from incrowd.jobs.profile import Profile, profile_of
from incrowd.jobs.roles import Guess, guess_role, with_person
from incrowd.jobs.words import is_usual
from incrowd.table.schema import OPEN_ROLE, UNRELEASED
from incrowd.table.spellings import Spelling

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Draft", "draft_policy"]

_PARTS = (
    ("identifying", "Left out of every release."),
    ("person", "Whose row it is: models count people in place of rows. Left out of every release."),
    ("quasi", "Quasi-identifiers: who knows a person may know these. They are generalized."),
    ("sensitive", "Sensitive: released as they are, protected by the models."),
    (OPEN_ROLE, "QUESTIONS. Nothing runs until each of them has a role."),
)
_PAIRS = 12
_SURE = frozenset(MISSING_TEXTS)
"""Fillers that the draft takes for missing. Of numbers it only tells: 99 may be an age in another column."""


@dataclass(frozen=True)
class Draft:
    """A drafted policy, with what was found.

    Attributes
    ----------
    guesses
        One per column.
    rows
        Rows of the table.
    null_values
        Texts that the draft takes for missing.
    fillers
        Columns, fillers in them and their share, as they were before.
    text
        The policy file.
    telling
        Pairs of columns that are released of which the first tells the second; see `determined`.
    """

    guesses: tuple[Guess, ...]
    rows: int
    null_values: tuple[str, ...]
    fillers: tuple[tuple[str, str, float], ...]
    text: str
    telling: tuple[tuple[str, str], ...] = ()

    def having(self, role: str) -> list[str]:
        """Name the columns of a role, ``?`` for questions."""
        return [guess.name for guess in self.guesses if guess.role == role]

    @property
    def spelled(self) -> list[str]:
        """Columns that write numbers or dates in another way, and are not left out."""
        return [guess.name for guess in self.guesses if len(guess.ways) == 1 and guess.role not in UNRELEASED]

    @property
    def unread(self) -> list[str]:
        """Columns whose texts do not tell how they write numbers or dates."""
        return [guess.name for guess in self.guesses if len(guess.ways) > 1 and guess.role not in UNRELEASED]

    @property
    def answered_variously(self) -> list[str]:
        """Columns that write yes or no in several ways, and are not left out."""
        return [
            guess.name
            for guess in self.guesses
            if guess.answers == "several spellings" and guess.role not in UNRELEASED
        ]

    @property
    def repeated(self) -> list[str]:
        """Ids that have several rows each, and do not say whose row it is in the draft."""
        return [guess.name for guess in self.guesses if guess.repeated and guess.role != "person"]


def draft_policy(
    table: pl.DataFrame, source: str, null_values: tuple[str, ...] = (), *, ask: bool = True
) -> Draft:
    """Draft a policy file with comments.

    Parameters
    ----------
    table
        The table as read.
    source
        Name of the table's file, for the head line.
    null_values
        Texts that mean missing.
    ask
        Whether what cannot be known is a question. If not, such a column is left out of every release.

    Raises
    ------
    TableError
        When a column's name looks like a value, since a draft would repeat the first person's row, or when
        there are two rows of names.
    """
    if place := _row_for_header(table):
        raise TableError(
            f"{source}: the first line looks like a row and not like a header (column {place} of "
            f"{table.width}); name the columns with "
            f"{setting('CsvFormat(names=...)', '--names')}, or rename that column"
        )
    refuse_second_names(table, source)
    profiles = [profile_of(table[name], name, null_values) for name in table.columns]
    fillers = [(column.name, text, share) for column in profiles for text, share in column.fillers]
    sure = {text for _, text, _ in fillers if text in _SURE}
    missing = tuple(dict.fromkeys([*null_values, *sorted(sure)]))
    if missing != null_values:
        # Without its fillers a column may turn out to hold numbers or dates.
        again = {name for name, text, _ in fillers if text in sure}
        profiles = [
            profile_of(table[column.name], column.name, missing) if column.name in again else column
            for column in profiles
        ]
        fillers += [
            (column.name, text, share)
            for column in profiles
            if column.name in again
            for text, share in column.fillers
            if text not in sure
        ]
    guesses = with_person([guess_role(column) for column in profiles])
    if not ask:
        guesses = tuple(map(_unasked, guesses))
    fillers = list(dict.fromkeys(fillers))
    released = [guess.name for guess in guesses if guess.role not in UNRELEASED]
    telling = determined(table, released)
    text = _written(guesses, profiles, source, missing, fillers, telling)
    return Draft(guesses, table.height, missing, tuple(fillers), text, tuple(telling))


def _unasked(guess: Guess) -> Guess:
    """Leave a column out where there is a question about it."""
    spelled = len(guess.ways) > 1 and guess.role not in UNRELEASED
    if guess.role != OPEN_ROLE and not spelled:
        return guess
    why = "nobody knows how it writes numbers or dates" if spelled else "nobody was asked"
    return replace(guess, role="identifying", hierarchy=None, recipe="", reason=f"{why}: {guess.reason}")


def _written(
    guesses: Sequence[Guess],
    profiles: Sequence[Profile],
    source: str,
    null_values: tuple[str, ...],
    fillers: Sequence[tuple[str, str, float]],
    telling: Sequence[tuple[str, str]],
) -> str:
    lines = [
        f"# A draft for {source!r}: read every line, the roles are guesses.".replace("\n", " "),
        f"version = {POLICY_VERSION}",
        "",
        "# The largest share of records that may be suppressed, 0 to 1.",
        "max_suppression = 0.0",
        "# Released cells: auto, range, ancestor, set or mean.",
        'output = "auto"',
        "seed = 0",
        "# Texts that mean missing in every column; an empty field without quotes does anyway.",
        *_told_fillers(fillers, null_values),
        f"null_values = {toml_value(list(null_values))}",
    ]
    for role, about in _PARTS:
        chosen = [guess for guess in guesses if guess.role == role]
        if not chosen:
            continue
        lines += ["", f"# --- {about}"]
        if role == OPEN_ROLE:
            lines += _how_to_answer()
        for guess in chosen:
            lines += ["", *_column(guess)]
    lines += _told_pairs(telling)
    lines += _models(guesses)
    lines += ["", "[algorithm]", 'name = "mondrian"']
    return "\n".join(lines) + "\n"


def _how_to_answer() -> list[str]:
    return [
        "# May somebody who knows a person know it?     quasi",
        "# Must nobody learn it about a person?         sensitive",
        "# Neither, so it may leave as it is?           insensitive",
        "# Does it say whose row it is?                 person (left out; people are counted, not rows)",
        "# Is it not needed, or does it name people?    identifying (left out)",
        '# To leave all of them out, delete these tables and write unlisted = "drop" above.',
    ]


def _column(guess: Guess) -> list[str]:
    lines = [f"[columns.{toml_key(guess.name)}]", f"role = {toml_value(guess.role)}  # {guess.reason}"]
    if guess.hierarchy is not None:
        lines.append(f"hierarchy = {toml_value(guess.hierarchy)}  # {guess.recipe}")
    elif guess.recipe:
        lines.append(f"# {guess.recipe}")
    if guess.role in UNRELEASED:
        return lines
    if guess.answers == "several spellings":
        lines.append(
            "# Yes and no have several spellings here; each counts as a value, so write them one way."
        )
    return lines + _spelling(guess.ways)


def _spelling(ways: Sequence[Spelling]) -> list[str]:
    """Write how numbers or dates are written, or ask where the texts do not tell."""
    if not ways:
        return []
    if len(ways) == 1:
        years = "  # two digits: 69 to 99 are 1969 to 1999, the others are after 2000"
        told = years if "%y" in (ways[0].format or "") else ""
        return [line + told for line in toml_settings(ways[0].settings())]
    told = alternatives(ways)
    if ways[0].format is not None:
        return [f'format = "?"  # QUESTION, the order of day and month: {told}']
    return [f'decimal = "?"  # QUESTION, what the signs in its numbers mean: {told}']


def _models(guesses: Iterable[Guess]) -> list[str]:
    roles = [guess.role for guess in guesses]
    people = [guess.name for guess in guesses if guess.role == "person"]
    repeated = [guess.name for guess in guesses if guess.repeated]
    rows = [f"# k counts people: each {people[0]!r} once in a class."] if people else []
    if repeated and not people:
        named_ids = ", ".join(map(repr, repeated))
        rows = [f"# k counts rows: a person of {named_ids} with many rows counts many times."]
    diversity = [
        "# Every class has at least l distinct values of every sensitive attribute.",
        "[[models]]",
        'model = "l-diversity"',
        "l = 2",
    ]
    if "sensitive" not in roles:
        diversity = [f"# {line}" for line in diversity]
    return [
        "",
        "# Every class of records that look alike has at least k of them.",
        *rows,
        "[[models]]",
        'model = "k-anonymity"',
        "k = 5",
        "",
        *diversity,
    ]


def _told_pairs(telling: Sequence[tuple[str, str]]) -> list[str]:
    """Say which columns tell others."""
    if not telling:
        return []
    lines = [
        "",
        "# Columns that tell others: what hides one of them has to hide the other, too.",
        '# Where one is treated, link the other with it: treat = { keep-first = 3, linked = ["town"] }',
    ]
    for one, other in telling[:_PAIRS]:
        lines.append(f"# {toml_value(one)} tells {toml_value(other)}.".replace("\n", " "))
    if len(telling) > _PAIRS:
        lines.append(f"# And {len(telling) - _PAIRS:,} more pairs.")
    return lines


def _told_fillers(fillers: Sequence[tuple[str, str, float]], null_values: tuple[str, ...]) -> list[str]:
    """Say which well-known fillers were met, and whether they are taken for missing below."""
    lines = []
    for text in dict.fromkeys(text for _, text, _ in fillers):
        columns = [(column, share) for column, found, share in fillers if found == text]
        first, share = max(columns, key=lambda each: each[1])
        where = f"{share:.0%} of {first!r}" + (f" and {len(columns) - 1} more columns" if columns[1:] else "")
        meant = "so it is named here" if text in null_values else "add it here if it does"
        told = f"# {toml_value(text)} fills {where} and probably means missing; {meant}."
        lines.append(told.replace("\n", " "))
    return lines


def _row_for_header(table: pl.DataFrame) -> int:
    """Return the place, from 1, of a column whose name looks like a value of it; 0 where none does.

    Such is a number, a date, an address of mail, or a text that stands in the column, too. A single such
    text does no harm (a flag may be set to its own name) where another column has a name that columns have.
    """
    met = []
    for place, name in enumerate(table.columns, 1):
        text = name.strip()
        if not text or re.fullmatch(r"[-+]?[0-9][0-9.,:/T +-]*|[^@ ]+@[^@ ]+", text):
            return place
        if bool((table[name].cast(str, strict=False) == name).any()):
            met.append(place)
    if len(met) == 1 and any(
        is_usual(name) for place, name in enumerate(table.columns, 1) if place != met[0]
    ):
        return 0
    return met[0] if met else 0
