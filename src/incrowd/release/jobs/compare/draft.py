"""Drafts of policies: guessed roles of a table's columns, each with a reason, and questions.

A role that the table does not show is a question (`role = "?"`), and no job runs until it is answered. The
draft shows names and counts, never values.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import TableError, setting
from incrowd.core.io.beginnings import MISSING_TEXTS, refuse_double_header
from incrowd.core.io.files import was_read
from incrowd.core.lazy import nw, pl
from incrowd.core.reading.recognition import UNCLEAR_POINTS
from incrowd.core.reading.spellings import Spelling
from incrowd.core.recoding.cells import is_nearly_unique
from incrowd.core.table.schema import OPEN_ROLE, UNRELEASED
from incrowd.release.accounts.value_warnings import alternatives
from incrowd.release.drafting.people import with_people
from incrowd.release.drafting.profile import Profile, profile_of, settle_points
from incrowd.release.drafting.questions import Question, joined_questions, questions_of
from incrowd.release.drafting.roles import (
    Guess,
    guess_role,
    leave_out,
    with_field,
    with_role,
)
from incrowd.release.jobs.compare.draft_trial import Trial, try_draft
from incrowd.release.policy.settings import SETTINGS, setting_sentence
from incrowd.release.policy.toml_lines import toml_key, toml_settings, toml_value
from incrowd_gate.rules.dependencies import determined_pairs
from incrowd_gate.words.meanings import is_usual

if TYPE_CHECKING:
    from incrowd.core.table.schema import Role

_PARTS = (
    ("identifying", "Left out of every release."),
    ("person", "Whose row it is: models count people in place of rows. Left out of every release."),
    ("household", "Who lives together. Left out of every release."),
    ("weight", "Sampling weights: how many people a row stands for. Left out of every release."),
    ("quasi", "Quasi-identifiers: who knows a person may know these. They are generalized."),
    ("sensitive", "Sensitive: released as they are, protected by the models."),
    ("insensitive", "Insensitive: released as they are."),
    (OPEN_ROLE, "QUESTIONS. Nothing runs until each of them has a role."),
)
_SHOWN = ("max_suppression", "output", "seed", "ends", "suppressed")
"""Settings that a draft shows although they have their defaults."""
_PAIRS = 12
_SOME = 1000
"""Values of a column beside which its name is looked at."""


@dataclass(frozen=True)
class Draft:
    """A drafted policy, with the findings.

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
        Pairs of columns that are released of which the first tells the second; see `determined_pairs`.
    trial
        What came of trying the draft on the table; None while there are questions.
    kept_open
        Whether questions stay although nobody is to be asked, since no quasi-identifier is known.
    undescribed
        The columns that the codebook does not describe; none without a codebook.
    """

    guesses: tuple[Guess, ...]
    rows: int
    null_values: tuple[str, ...]
    fillers: tuple[tuple[str, str, float], ...]
    text: str
    telling: tuple[tuple[str, str], ...] = ()
    trial: Trial | None = None
    kept_open: bool = False
    undescribed: tuple[str, ...] = ()

    @property
    def questions(self) -> list[Question]:
        """The questions, first on several columns, then on single columns."""
        return questions_of(self.guesses)

    def having(self, role: str) -> list[str]:
        """Return the names of the columns with a role, ``?`` for questions."""
        return [guess.name for guess in self.guesses if guess.role == role]

    @property
    def unanswered(self) -> list[str]:
        """Columns that are left out because nobody answered, the most telling column first."""
        left_out = [guess for guess in self.guesses if guess.unanswered]
        return [guess.name for guess in sorted(left_out, key=lambda guess: -guess.bits)]

    @property
    def look_alikes(self) -> list[tuple[str, int]]:
        """Released columns with values that differ only in spelling, and the number of such values."""
        left = (guess for guess in self.guesses if guess.look_alikes and guess.role not in UNRELEASED)
        return [(guess.name, guess.look_alikes) for guess in left]

    @property
    def rounded(self) -> list[str]:
        """Columns of numbers that are released rounded because few rows share a number."""
        return [guess.name for guess in self.guesses if guess.treatment is not None]

    @property
    def spelled(self) -> list[str]:
        """Released columns with numbers or dates in another notation."""
        return [guess.name for guess in self.guesses if len(guess.ways) == 1 and guess.role not in UNRELEASED]

    @property
    def unread(self) -> list[str]:
        """Released columns with an ambiguous notation of numbers or dates."""
        return [guess.name for guess in self.guesses if len(guess.ways) > 1 and guess.role not in UNRELEASED]

    @property
    def answered_variously(self) -> list[str]:
        """Released columns with several spellings of yes or no."""
        return [
            guess.name
            for guess in self.guesses
            if guess.answers == "several spellings" and guess.role not in UNRELEASED
        ]

    @property
    def repeated(self) -> list[str]:
        """Ids with several rows each that do not have the role person."""
        return [guess.name for guess in self.guesses if guess.repeated and guess.role != "person"]


def draft_policy(  # noqa: PLR0913
    table: Any,
    source: str = "",
    null_values: tuple[str, ...] = (),
    *,
    ask: bool = True,
    answered: Callable[[list[Question]], Mapping[str, Role]] | None = None,
    labels: Mapping[str, str] | None = None,
    missing_codes: Mapping[str, Sequence[str]] | None = None,
    codebook: str | os.PathLike[str] | None = None,
    counted: Collection[str] = (),
) -> Draft:
    """Draft a policy file with comments, and try the draft unless there are questions.

    Parameters
    ----------
    table
        A frame, or the path of a file.
    source
        Name of the table's file, for the head line; by default that of the path.
    null_values
        Texts that mean missing.
    ask
        Whether what cannot be known is a question. If not, such a column is left out of every release; where
        no column is known to be a quasi-identifier, the questions stay, since a policy needs one.
    answered
        What asks somebody the questions, and returns the roles of columns that were answered.
    labels
        What a file says of its columns, by name, as files of SPSS and Stata do. They are read as names are.
    missing_codes
        Texts that mean missing in single columns, by name, as such files declare them.
    codebook
        The file of a codebook: a data dictionary of REDCap, a DDI Codebook, or Croissant. Its labels and
        missing codes are used where the table's file has none. Roles that it speaks for are proposals.
    counted
        Columns that a count table shows: without an answer they stay as quasi-identifiers, or as sensitive
        where they may be of a special category.

    Raises
    ------
    TableError
        When the names of a file's columns look like values, since a draft would repeat the first person's
        row, or when there are two rows of names; or when the codebook cannot be read, or describes no
        column of the table.
    """
    table, source = _read_table(table, source)
    # Of a table whose names do not come from a line none can be a row.
    if was_read(table) and (number := _row_for_header(table)):
        raise TableError(
            f"{source}: the first line looks like a row and not like a header ({number} of {table.width} "
            f"names look like values of their columns); name the columns with "
            f"{setting('CsvFormat(names=...)', '--names')}, or rename these columns"
        )
    refuse_double_header(table, source)
    file, fields = "", {}
    if codebook is not None:
        from incrowd.release.codebooks import read_codebook

        book = read_codebook(codebook)
        file, fields = book.file, book.of(table.columns)
        if not fields:
            raise TableError(f"{file}: describes no column of {source}; is it the codebook of another table?")
    label_of = {name: field.label for name, field in fields.items()} | dict(labels or {})
    codes_of = {name: field.missing for name, field in fields.items() if field.missing}
    codes_of |= {name: tuple(texts) for name, texts in (missing_codes or {}).items()}
    profiles, missing, fillers = _profiles(table, null_values, codes_of, label_of)
    proposals = [
        with_field(guess, column, fields[guess.name], file) if guess.name in fields else guess
        for guess, column in zip(map(guess_role, profiles), profiles, strict=True)
    ]
    joint_guesses = tuple(
        replace(guess, missing=codes_of.get(guess.name, ()))
        for guess in joined_questions(with_people(table, proposals, profiles, missing))
    )
    roles = {} if answered is None else answered(questions_of(joint_guesses))
    answers = _with_roles(joint_guesses, profiles, roles, "answered")
    defaults: dict[str, Role] = {
        guess.name: "sensitive" if guess.special else "quasi"
        for guess in answers
        if not ask and guess.name in counted and guess.role == OPEN_ROLE
    }
    guesses = _with_roles(answers, profiles, defaults, "a count table shows it")
    without_questions = tuple(map(_without_question, guesses))
    has_open = any(map(_is_open, guesses)) and (ask or not _has_quasi(guesses, profiles))
    pairs = determined_pairs(table, _released_names(guesses if has_open else without_questions))

    def write(guesses: Sequence[Guess], settings: Mapping[str, Any]) -> str:
        return _policy_text(guesses, source, missing, fillers, _released_pairs(pairs, guesses), settings)

    final, text, trial = try_draft(table, without_questions, write)
    if has_open:
        # It runs once the questions are answered. What is known already is rounded as far as a run shows.
        final = tuple(
            guess if _is_open(guess) else replace(guess, treatment=one.treatment, recipe=one.recipe)
            for guess, one in zip(guesses, final, strict=True)
        )
        text = write(final, {})
    telling = tuple(_released_pairs(pairs, final))
    undescribed = tuple(name for name in table.columns if fields and name not in fields)
    return Draft(
        final,
        table.height,
        missing,
        fillers,
        text,
        telling,
        trial=None if has_open else trial,
        kept_open=has_open and not ask,
        undescribed=undescribed,
    )


def _profiles(
    table: pl.DataFrame,
    null_values: tuple[str, ...],
    codes: Mapping[str, tuple[str, ...]],
    labels: Mapping[str, str],
) -> tuple[list[Profile], tuple[str, ...], tuple[tuple[str, str, float], ...]]:
    """Describe the columns of a table, read without the fillers that surely mean missing.

    Returns the profiles, the texts that mean missing in all columns, and the fillers of each column.
    """

    def profile(name: str, texts: tuple[str, ...]) -> Profile:
        return profile_of(table[name], name, (*texts, *codes.get(name, ())), labels.get(name, ""))

    raw = [profile(name, null_values) for name in table.columns]
    # Of numbers the draft only tells: 99 may be an age in another column.
    sure = {text for column in raw for text, _ in column.fillers if text in MISSING_TEXTS}
    missing = tuple(dict.fromkeys([*null_values, *sorted(sure)]))
    # Without its fillers a column may turn out to hold numbers or dates.
    profiles = [
        column if sure.isdisjoint(dict(column.fillers)) else profile(column.name, missing) for column in raw
    ]
    fillers = dict.fromkeys((column.name, text, share) for column in raw for text, share in column.fillers)
    fillers |= dict.fromkeys(
        (column.name, text, share)
        for column in profiles
        for text, share in column.fillers
        if text not in sure
    )
    nulls = {name: (*missing, *codes.get(name, ())) for name in table.columns}
    return settle_points(table, profiles, nulls.__getitem__), missing, tuple(fillers)


def _with_roles(
    guesses: Sequence[Guess], profiles: Sequence[Profile], roles: Mapping[str, Role], why: str
) -> tuple[Guess, ...]:
    """Give some columns other roles, by name, for the same reason."""
    return tuple(
        with_role(guess, column, roles[guess.name], why) if guess.name in roles else guess
        for guess, column in zip(guesses, profiles, strict=True)
    )


def _read_table(table: Any, source: str) -> tuple[pl.DataFrame, str]:
    """Return a table in memory, and the table's name."""
    from incrowd.engines import loaded

    if isinstance(table, str | os.PathLike):
        source = source or os.path.basename(table)
    return nw.from_native(loaded(table), eager_only=True).to_polars(), source or "the table"


def _released_names(guesses: Iterable[Guess]) -> list[str]:
    return [guess.name for guess in guesses if guess.role not in UNRELEASED]


def _released_pairs(pairs: Iterable[tuple[str, str]], guesses: Iterable[Guess]) -> list[tuple[str, str]]:
    """Return the pairs of columns of which both are released."""
    released = set(_released_names(guesses))
    return [pair for pair in pairs if released.issuperset(pair)]


def _is_open(guess: Guess) -> bool:
    return guess.role == OPEN_ROLE or (len(guess.ways) > 1 and guess.role not in UNRELEASED)


def _has_quasi(guesses: Sequence[Guess], profiles: Sequence[Profile]) -> bool:
    """Say whether a quasi-identifier has several values that records share."""
    return any(
        guess.role == "quasi"
        and len(guess.ways) < 2
        and column.distinct > 1
        and not (column.kind == "category" and is_nearly_unique(column.distinct, column.known))
        for guess, column in zip(guesses, profiles, strict=True)
    )


def _without_question(guess: Guess) -> Guess:
    """Leave a column out if there is a question about the column."""
    if not _is_open(guess):
        return guess
    spelled = guess.role != OPEN_ROLE
    why = "nobody knows how it writes numbers or dates" if spelled else "nobody was asked"
    return replace(leave_out(guess, why), unanswered=True)


def _policy_text(
    guesses: Sequence[Guess],
    source: str,
    null_values: tuple[str, ...],
    fillers: Sequence[tuple[str, str, float]],
    telling: Sequence[tuple[str, str]],
    settings: Mapping[str, Any],
) -> str:
    lines = [
        f"# A draft for {source!r}: read every line, the roles are guesses.".replace("\n", " "),
        "version = 1",
        "",
        *_setting_lines(settings),
        "# Texts that mean missing in every column; an empty field without quotes does anyway.",
        *_filler_lines(fillers, null_values),
        f"null_values = {toml_value(list(null_values))}",
    ]
    for role, title in _PARTS:
        chosen = [guess for guess in guesses if guess.role == role]
        if not chosen:
            continue
        lines += ["", f"# --- {title}"]
        if role == OPEN_ROLE:
            lines += _how_to_answer()
        # Of what nobody was asked about, that comes first by whose loss most is lost.
        chosen.sort(key=lambda guess: -guess.bits if guess.unanswered else 0.0)
        by_name = {guess.name: guess for guess in chosen}
        for question in questions_of(chosen) if role == OPEN_ROLE else ():
            if len(question.names) > 1:
                mark = "" if question.mark == OPEN_ROLE else f" {question.mark}"
                lines += ["", f"# QUESTION{mark}: {_comment_text(question.text)}"]
            for name in question.names:
                lines += ["", *_column(by_name.pop(name))]
        for guess in by_name.values():
            lines += ["", *_column(guess)]
    lines += _pair_lines(telling)
    lines += _models(guesses)
    lines += ["", "[algorithm]", 'name = "mondrian"']
    return "\n".join(lines) + "\n"


def _setting_lines(changed: Mapping[str, Any]) -> list[str]:
    """Write settings of the whole policy: settings that a draft shows, and settings after the trial."""
    lines = []
    for name, declared in SETTINGS.items():
        if name in _SHOWN or name in changed:
            tried = " The draft was tried: less does not do." if name in changed else ""
            value = toml_value(changed.get(name, declared.default))
            lines += [f"# {setting_sentence(name)}{tried}", f"{name} = {value}"]
    return lines


def _how_to_answer() -> list[str]:
    return [
        "# May somebody who knows a person know it?     quasi",
        "# Must nobody learn it about a person?         sensitive",
        "# Neither, so it may leave as it is?           insensitive",
        "# Does it say whose row it is?                 person (left out; people are counted, not rows)",
        "# Is it not needed, or does it name people?    identifying (left out)",
        '# Where columns look alike, replace "?1" by a role everywhere to answer for all of these.',
        "# The command init asks one question after the other, with its option ask.",
        '# To leave all of them out, delete these tables and write unlisted = "drop" above.',
    ]


def _column(guess: Guess) -> list[str]:
    lines = [
        f"[columns.{toml_key(guess.name)}]",
        f"role = {toml_value(guess.mark or guess.role)}  # {_comment_text(guess.reason)}",
    ]
    if guess.unanswered:
        kept = "sensitive" if guess.special else "quasi"
        lines.append(f'# To keep it, write role = "{kept}"{" and its spelling" if guess.ways[1:] else ""}.')
    if guess.missing and guess.role not in UNRELEASED:
        codes = toml_value(list(guess.missing))
        lines.append(f"missing = {codes}  # its file says so; without this line they are values")
    if guess.treatment is not None:
        return [*lines, f"treat = {toml_value(guess.treatment)}  # {guess.recipe}", *_spelling(guess.ways)]
    if guess.hierarchy is not None:
        lines.append(f"hierarchy = {toml_value(guess.hierarchy)}  # {guess.recipe}")
    elif guess.recipe:
        lines.append(f"# {guess.recipe}")
    if guess.lists and guess.role != "sensitive":
        lines.append("# To generalize single items, where others may know two of a list (role = quasi), add:")
        lines += [f"# {each}" for each in toml_settings({"kind": "set", "parts": guess.lists, "known": 2})]
        lines.append("# hierarchy = { prefix = true }  # for codes such as those of ICD and ATC")
    if guess.role in UNRELEASED:
        return [*lines, *([f"key_of = {toml_value(list(guess.key_of))}"] if guess.key_of else [])]
    if guess.look_alikes:
        lines.append(
            f"# {guess.look_alikes} of its values differ only in case, blanks or the form of letters; "
            "treat = { fold = true } joins them."
        )
    if guess.parts:
        lines.append(f"parts = {toml_value(guess.parts)}  # models look at each part of a list")
    if guess.answers == "several spellings":
        lines.append(
            "# Yes and no have several spellings here; each counts as a value, so write them one way."
        )
    return lines + _spelling(guess.ways) + _by_way(guess)


def _by_way(guess: Guess) -> list[str]:
    """Return comments with the rounding for each possible notation of numbers."""
    if guess.role not in ("sensitive", "insensitive"):
        return []
    return [
        f"# Few rows share a number. Where {' and '.join(toml_settings(way.settings()))}, "
        f"add: treat = {toml_value(treatment)}"
        for way, treatment in zip(guess.ways, guess.by_way, strict=False)
        if treatment
    ]


def _comment_text(text: str) -> str:
    """Return a text on a single line without control characters, for a comment."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _spelling(ways: Sequence[Spelling]) -> list[str]:
    """Return the settings of notation, or a question if the notation is ambiguous."""
    if not ways:
        return []
    if len(ways) == 1:
        years = "  # two digits: 69 to 99 are 1969 to 1999, the others are after 2000"
        comment = years if "%y" in (ways[0].format or "") else ""
        return [line + comment for line in toml_settings(ways[0].settings())]
    comment = alternatives(ways)
    if ways == UNCLEAR_POINTS:
        return [f'thousands = "?"  # QUESTION, what the points in its numbers mean: {comment}']
    if ways[0].format is not None:
        return [f'format = "?"  # QUESTION, the order of day and month: {comment}']
    return [f'decimal = "?"  # QUESTION, what the signs in its numbers mean: {comment}']


def _models(guesses: Iterable[Guess]) -> list[str]:
    roles = [guess.role for guess in guesses]
    people = [guess.name for guess in guesses if guess.role == "person"]
    repeated = [guess.name for guess in guesses if guess.repeated]
    rows = [f"# k counts people: each {people[0]!r} once in a class."] if people else []
    if repeated and not people:
        named_ids = ", ".join(map(repr, repeated))
        rows = [f"# k counts rows: a person of {named_ids} with many rows counts many times."]
    has_questions = OPEN_ROLE in roles and "sensitive" not in roles
    diversity = [
        "# Every class has at least l distinct values of every sensitive attribute.",
        "[[models]]",
        'model = "l-diversity"',
        "l = 2",
    ]
    if has_questions:
        diversity.insert(1, "# Delete this model if the answers say that no column is sensitive.")
    elif "sensitive" not in roles:
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


def _pair_lines(telling: Sequence[tuple[str, str]]) -> list[str]:
    """Return comments on columns that determine others."""
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


def _filler_lines(fillers: Sequence[tuple[str, str, float]], null_values: tuple[str, ...]) -> list[str]:
    """Return comments on well-known fillers, and whether the draft counts fillers as missing."""
    lines = []
    for text in dict.fromkeys(text for _, text, _ in fillers):
        columns = [(column, share) for column, filler, share in fillers if filler == text]
        first, share = max(columns, key=lambda each: each[1])
        where = f"{share:.0%} of {first!r}" + (f" and {len(columns) - 1} more columns" if columns[1:] else "")
        quoted = toml_value(text)
        elsewhere = (
            "add it here if it does" if columns[1:] else f"if it does, write missing = [{quoted}] below"
        )
        meant = "so it is named here" if text in null_values else elsewhere
        line = f"# {quoted} fills {where} and probably means missing; {meant}."
        lines.append(line.replace("\n", " "))
    return lines


def _row_for_header(table: pl.DataFrame) -> int:
    """Count the column names that look like values, or return 0 for a true header.

    One name that its column has as a value does no harm: a flag may be set to its own name. So at least half
    of the names have to look like values, and none of the others may be a name that columns usually have.
    """
    likely = [_is_like_values(name, table[name]) for name in table.columns]
    others = [name for name, is_likely in zip(table.columns, likely, strict=True) if not is_likely]
    if 2 * sum(likely) < len(likely) or any(is_usual(name) for name in others):
        return 0
    return sum(likely)


def _is_like_values(name: str, cells: pl.Series) -> bool:
    """Say whether a name is a number, date or mail address, or resembles the column's values.

    ``K00017`` is made like ``K00018``: letters where it has letters, and digits where it has digits.
    """
    text = name.strip()
    if not text or re.fullmatch(r"[-+]?[0-9][0-9.,:/T +-]*|[^@ ]+@[^@ ]+", text):
        return True
    if cells.dtype != pl.String:
        return False
    if bool((cells == name).any()):
        return True
    if not any(sign.isdigit() for sign in text):
        return False
    sample = cells.drop_nulls().head(_SOME)
    shapes = sample.str.replace_all(r"\pL+", "a").str.replace_all(r"\pN+", "0")
    shape = pl.Series([text]).str.replace_all(r"\pL+", "a").str.replace_all(r"\pN+", "0")[0]
    return 2 * int((shapes == shape).sum()) > len(sample)
