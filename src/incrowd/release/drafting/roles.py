"""Guesses of a column's role from name and values, with questions for unclear roles.

The guesses are on the safe side. A column that nobody can judge from outside is no quasi-identifier and not
insensitive: its role is ``?``, and no job runs until somebody has answered. Reasons have names and counts,
never values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from incrowd.core.hierarchy.builders import DATE_LEVELS
from incrowd.core.reading.spellings import Spelling
from incrowd.core.recoding.cells import is_nearly_unique
from incrowd.core.table.schema import OPEN_ROLE, UNRELEASED, Party, Role
from incrowd.release.drafting.profile import Answers, Profile
from incrowd.release.drafting.value_forms import example_of
from incrowd_gate.rules.identity import personal_word
from incrowd_gate.words import languages
from incrowd_gate.words.meanings import (
    find_word,
    is_of_several_people,
    named_after,
    names_homes,
    special_category,
    subject_of,
    tokens,
)

if TYPE_CHECKING:
    from incrowd.release.codebooks.base import Field

_UNIQUE = 0.9
"""Distinct values per row from which nearly every row has a value of its own."""
_REPEATED = 0.02
"""Distinct values per row from which ids may be those of people who have several rows."""
_MOSTLY = 0.3
_ALIKE = 0.99
"""Share of one value from which a column protects and tells hardly anything."""
FEW_ROWS = 20
_HOMES = 0.05
"""Households per row, of at most twenty people on average."""
_FEW_NUMBERS = 12
"""Different whole numbers up to which they are probably codes or grades."""
_ONE_VALUE = "columns of nearly one value"
_ID_WORDS = ("id", "ids", "ident", "identifier", "key", "rownames", "rowid")
"""Words that say an id alone, without a look at the values."""
_LONG = 5
_SIGNS = 4
"""Values up to which single letters, such as m and f, are taken for sexes."""
_AROUND_ONE = (0.5, 2.0)
"""Means of the weights of a sample that were scaled to its size."""
_OWN = (
    "nearly every row has its own value, which tells whose row it is: leave it out, or generalize it (quasi)"
)
_AS_ONE = ", and each list counts as one value"


@dataclass(frozen=True)
class Guess:
    """The probable role of a column.

    Attributes
    ----------
    name
        The column.
    role
        The guessed role, or ``?`` where only somebody who knows the table can say.
    reason
        Why, in words.
    hierarchy
        A recipe as a policy file holds it, where one suits.
    recipe
        Why this recipe, or why none.
    repeated
        Whether it is an id with several rows each.
    named
        Whether its name says that it is an id of people.
    ways
        How its numbers or dates are written, where not plainly; several where the texts do not tell.
    answers
        Whether it answers yes or no, in one spelling or in several.
    alike
        Of a question: the kind of columns that may be asked about together, in the plural.
    mark
        Of a question that is asked about several columns: ``?`` and the number of the group.
    group
        Of a question that is asked about several columns: the kind of them all, as in `alike`.
    special
        The special category of personal data that it may be of; else empty.
    treatment
        How its values are treated, as a policy file holds it; None where they are not.
    refused
        Roles that would let every row be told by its value, so that no answer gives them.
    parts
        The sign between the parts of its cells, if models look at the parts; else empty.
    by_way
        Of numbers of which nobody knows how they are written: the treatment that each of the `ways` needs.
    unanswered
        Whether it is left out because nobody was asked.
    label
        What the file says that the column is; else empty.
    shapes
        The shapes of its most frequent values.
    look_alikes
        Values that differ from another one only in how they are typed.
    bits
        Shannon entropy of its values, in bits: what is lost where it is left out.
    key_of
        Whom it names besides: a column of households where nobody says whose row it is.
    missing
        Texts that mean missing in it, as its file says.
    lists
        The sign between the items of its cells, where these hold lists and identify nobody; else empty.
    """

    name: str
    role: Role | Literal["?"]
    reason: str
    hierarchy: dict[str, object] | None = None
    recipe: str = ""
    repeated: bool = False
    named: bool = False
    ways: tuple[Spelling, ...] = ()
    answers: Answers = ""
    alike: str = ""
    mark: str = ""
    group: str = ""
    special: str = ""
    treatment: dict[str, object] | None = None
    refused: frozenset[Role] = field(default=frozenset())
    parts: str = ""
    by_way: tuple[dict[str, object], ...] = ()
    unanswered: bool = False
    label: str = ""
    shapes: tuple[str, ...] = ()
    look_alikes: int = 0
    bits: float = 0.0
    key_of: tuple[Party, ...] = ()
    missing: tuple[str, ...] = ()
    lists: str = ""


def guess_role(column: Profile) -> Guess:
    """Guess the role of a column."""
    for rule in _RULES:
        guess = rule(column)
        if guess is not None:
            break
    else:
        alike, meaning = _question(column)
        guess = Guess(column.name, OPEN_ROLE, f"{meaning}; {column.counted}", alike=alike)
    return _with_profile(guess, column)


def _with_profile(guess: Guess, column: Profile) -> Guess:
    """Add the findings of the profile, which hold for every role."""
    reason, lists = guess.reason, column.lists if guess.role != "identifying" else ""
    if lists:
        reason = f"{reason}; cells are lists, parted by {lists!r}{_AS_ONE}"
    if column.label and f"({column.label})" not in reason:
        reason = f"{reason}; label: {column.label}"
    if column.unit:
        reason = f"{reason}; its numbers have the unit {column.unit}"
    if column.told_by:
        reason = f"{reason}; {column.told_by} tells what its points mean"
    is_nearly_unique = column.kind == "category" and column.share > _UNIQUE and column.known > FEW_ROWS
    refused: tuple[Role, ...] = ("sensitive", "insensitive") if is_nearly_unique or column.formats else ()
    return replace(
        guess,
        reason=reason,
        ways=column.ways,
        answers=column.answers,
        label=column.label,
        shapes=column.shapes,
        look_alikes=column.look_alikes,
        bits=column.bits,
        by_way=tuple({} if each is None else each.settings() for each in column.roundings),
        refused=frozenset(refused),
        lists=lists,
    )


# --- rules, the first that knows an answer decides ---------------------------------------------------


def _unreadable(column: Profile) -> Guess | None:
    if column.kind is None:
        return Guess(column.name, "identifying", "its type is neither text, number nor date")
    return None


def _personal(column: Profile) -> Guess | None:
    """Recognize names, addresses and numbers of a single person."""
    word_and_place = _listed_word("personal", column)
    if word_and_place and column.distinct > 2:
        return Guess(column.name, "identifying", f"{word_and_place[1]}; {column.counted}")
    if column.kind != "category" or column.lists or not _listed_word("names", column):
        return None
    alone = any(len(tokens(title)) == 1 and find_word("names", title) for _, title in column.titles)
    if alone or column.share > _MOSTLY:
        return Guess(column.name, "identifying", f"seems to be names; {column.counted}")
    return None


def _day(column: Profile) -> Guess | None:
    if column.formats:
        examples = " and ".join(map(example_of, column.formats))
        reason = (
            f"days in {len(column.formats)} formats, such as {examples}: write them one way; {column.counted}"
        )
        return Guess(column.name, OPEN_ROLE, reason, alike="columns of days in several formats")
    if column.kind != "date":
        return None
    subject = _subject_word(column)
    meaning = subject[1] if subject else "a day: others may know what happened on it"
    return _quasi(column, f"{meaning}; {column.counted}")


def _weight(column: Profile) -> Guess | None:
    """Recognize sampling weights: positive numbers with decimals, around 1 or by a clear name."""
    if column.kind != "number" or column.least <= 0 or column.distinct < 2 or column.known < column.rows:
        return None
    sampling = _listed_word("sampling", column)
    word = sampling or _listed_word("weights", column)
    if not word or any(find_word("body", title) for _, title in column.titles):
        return None
    low, high = _AROUND_ONE
    if sampling or (not column.whole and low <= column.mean <= high):
        reason = f"a sampling weight: {word[1]}, and the numbers fit; {column.counted}"
        return Guess(column.name, "weight", reason)
    return None


def _household(column: Profile) -> Guess | None:
    """Recognize numbers of households by the name: small groups of rows with ids."""
    if column.kind == "number" and not column.whole:
        return None
    usual = column.distinct >= FEW_ROWS and _HOMES <= column.share < 1 and (column.whole or column.codes)
    title = next((title for _, title in column.titles if names_homes(title)), None) if usual else None
    if title is None or _is_no_id(column):
        return None
    return Guess(column.name, "household", f"the name says households: {title}; {column.counted}")


def _identifier(column: Profile) -> Guess | None:
    """Recognize ids by the name and the number of values."""
    return next(
        (guess for _, title in column.titles if (guess := _identifier_by(title, column)) is not None), None
    )


def _identifier_by(title: str, column: Profile) -> Guess | None:
    last = (tokens(title) or [""])[-1]
    ends = find_word("ids", last) is not None
    person = find_word("people", title if ends else last)
    own, number = column.share > _UNIQUE, column.kind == "number"
    least = FEW_ROWS if person else max(FEW_ROWS, _REPEATED * column.known)
    doubts = (
        title != column.name and not ends,  # a label that only mentions people: "Age of respondent"
        person and person.startswith("subject") and column.kind == "category" and not column.codes,  # a topic
        not (person or ends),  # neither a person nor an id
        number and not column.whole,
        number and is_of_several_people(title),  # a count of people
        _is_no_id(column),
        column.distinct < (3 if own and (ends or column.codes) else least),
        # "number" and the like are said of much else, so the values have to look like ids.
        not (person or last in _ID_WORDS or column.codes or column.width >= 3 or column.sequence),
        subject_of(title) and not person,  # a fact about people
    )
    if any(doubts):
        return None
    thing = named_after(title)
    if not own and not thing:
        return _repeats(column, "an id by its name", named=bool(person))
    about = f"an id of something else than people: the name says {thing!r}"
    reason = "an id: nearly every row has its own" if own else about
    return Guess(column.name, "identifying", f"{reason}; {column.counted}")


def is_id(column: Profile) -> bool:
    """Say whether a column has an id in nearly every row: codes, or whole numbers by name."""
    words = tokens(column.name)
    own = column.share > _UNIQUE and not named_after(column.name) and not _is_no_id(column)
    by_name = bool(words) and find_word("ids", words[-1]) is not None and column.whole
    return own and (column.codes or by_name)


def _is_no_id(column: Profile) -> bool:
    """Say whether the values have a form that excludes ids: lists, pairs of numbers, or days."""
    return bool(column.lists or column.pairs or column.formats)


def _texts(column: Profile) -> Guess | None:
    """Recognize texts that people typed, which may name anybody."""
    if column.contacts:
        reason = f"texts that hold {column.contacts}; {column.counted}"
        return Guess(column.name, "identifying", reason)
    word = _listed_word("prose", column)
    if word and column.kind == "category" and column.phrases and not column.lists:
        return Guess(
            column.name, "identifying", f"free text, which may name people: {word[1]}; {column.counted}"
        )
    return None


def _quasi_by_name(column: Profile) -> Guess | None:
    """Recognize a quasi-identifier by name: acquaintances of a person know such facts."""
    subject = _subject_word(column)
    if subject is None or column.prose:
        return None
    word, evidence = subject
    if column.kind == "category" and column.share > _UNIQUE and column.known > FEW_ROWS and not column.codes:
        return _of_own_values(column, evidence)
    what = word if subject_of(column.name) else evidence
    return _quasi(column, f"others may know it: {what}; {column.counted}")


def _sensitive_by_name(column: Profile) -> Guess | None:
    word = _listed_word("sensitive", column)
    if word is None or column.prose:
        return None
    special = _special_of(column)
    if column.top > _ALIKE:
        reason = f"{word[1]}, but nearly every row has the same value"
        alike = _alike_of(special[0]) if special else _ONE_VALUE
        return Guess(
            column.name,
            OPEN_ROLE,
            f"{reason}; {column.counted}",
            alike=alike,
            special=special[0] if special else "",
        )
    if column.known > FEW_ROWS:
        if column.kind == "category" and column.share > _UNIQUE and not column.ways:
            return _of_own_values(column, word[1])
        if column.rounding is not None and column.rounding.step is None:
            reason = f"{word[1]}, but too few rows share a number even if it is rounded"
            return Guess(
                column.name, OPEN_ROLE, f"{reason}; {column.counted}", alike="columns of rare numbers"
            )
    treatment, why = treatment_of(column)
    return Guess(column.name, "sensitive", f"{word[1]}; {column.counted}", recipe=why, treatment=treatment)


def _of_own_values(column: Profile, evidence: str) -> Guess:
    """Leave out a column with a value of its own in nearly every row, or ask about one of lists of items."""
    reason = f"{evidence}, but nearly every row has its own value; {column.counted}"
    if column.lists:
        return Guess(column.name, OPEN_ROLE, reason, alike="columns of lists")
    return Guess(column.name, "identifying", reason)


def _special(column: Profile) -> Guess | None:
    """Ask about a column that may be of a special category of personal data."""
    if column.prose or column.reaches or (column.distinct > FEW_ROWS and column.share > _UNIQUE):
        return None
    category_and_reason = _special_of(column)
    if category_and_reason is None:
        return None
    category, why = category_and_reason
    reason = f"may be data on {category}, which the law protects: {why}; {column.counted}"
    return Guess(column.name, OPEN_ROLE, reason, alike=_alike_of(category), special=category)


def _special_by_two_words(column: Profile) -> Guess | None:
    """Ask about ``foreign_born`` before "born" is taken for a date of birth."""
    categories = [special_category(title) for _, title in column.titles]
    return _special(column) if any(each is not None and each[2] for each in categories) else None


def _special_of(column: Profile) -> tuple[str, str] | None:
    """Return the special category of the name, label or values, and the evidence."""
    titles = [*column.titles, *([("label", column.label)] if column.label else [])]
    for what, title in titles:
        category = special_category(title)
        if category is not None:
            return category[0], f"the {what} says {category[1]!r}"
    if column.pairs:
        return "health", "two numbers with a slash, as a blood pressure is"
    if column.diagnoses:
        return "health", "the values look like codes of diagnoses (ICD)"
    return None


def _alike_of(category: str) -> str:
    return f"columns on {category}"


def _distinguishing(column: Profile) -> Guess | None:
    """Recognize columns that single out people, by the values alone."""
    if column.reaches:
        return Guess(column.name, "identifying", f"the values look like {column.reaches}; {column.counted}")
    if column.postal:
        return _quasi(column, f"the values look like postal codes; {column.counted}")
    if column.known <= FEW_ROWS:
        return None
    if column.prose:
        return Guess(column.name, "identifying", f"free text, which may name people; {column.counted}")
    own = column.share > _UNIQUE
    if column.mixed:
        return None
    if own and column.sequence:
        return Guess(column.name, "identifying", f"numbers the rows; {column.counted}")
    if own and ((column.kind == "category" and not column.lists) or (column.whole and column.width >= _LONG)):
        return Guess(column.name, "identifying", f"nearly every row has its own value; {column.counted}")
    code = (column.codes or (column.whole and column.width >= _LONG)) and not column.ways
    # Plain numbers that repeat may be amounts as well, such as the salaries of a pay scale.
    if code and column.codes and column.share > _MOSTLY and not own:
        return _repeats(column, "codes with few rows each")
    if code and column.distinct > 50 and column.share > _REPEATED:
        return Guess(
            column.name,
            OPEN_ROLE,
            f"ids of people who have several rows (person), or codes such as zips; {column.counted}",
            alike="columns of codes",
        )
    return None


def _quasi_by_values(column: Profile) -> Guess | None:
    """Recognize a quasi-identifier by values: acquaintances of a person know such facts."""
    if column.kind == "category" and _are_sexes(column.words):
        return _quasi(column, f"the values are sexes; {column.counted}")
    for language in languages():
        for what, words in language.values.items():
            least = 15 if what == "place" and language.name == "English" else 3
            both = column.words & (words | languages()[0].values.get(what, frozenset()))
            if len(column.words & words) >= least and len(both) >= 0.6 * len(column.words):
                return _quasi(column, f"the values look like {what}; {column.counted}")
    return None


def _are_sexes(words: frozenset[str]) -> bool:
    """Say whether a few values are the sexes in a language."""
    for language in languages():
        men, women = (words & sexes for sexes in language.sexes)
        signs = all(len(word) == 1 and word.isascii() for word in men | women)
        if men and women and 2 <= len(words) <= (_SIGNS if signs else 6):
            return True
    return False


def _listed_word(kind: str, column: Profile) -> tuple[str, str] | None:
    """Return the listed word of a name or a label, and a phrase on the place."""
    for what, title in column.titles:
        word = find_word(kind, title)
        if word:
            return word, f"the {what} says {word!r}"
    return None


def _subject_word(column: Profile) -> tuple[str, str] | None:
    """Return the subject of a name or a label that others may know, and a phrase on the place."""
    for what, title in column.titles:
        subject = subject_of(title)
        if subject:
            return subject, f"the {what} says {subject!r}"
    return None


def _repeats(column: Profile, why: str, *, named: bool = False) -> Guess:
    return Guess(
        column.name,
        "identifying",
        f"{why}, and it repeats: {column.counted}",
        repeated=True,
        named=named,
    )


def with_role(guess: Guess, column: Profile, role: Role, why: str) -> Guess:
    """Give a column another role with recipe or treatment, unless the role is refused."""
    if role in guess.refused:
        return replace(guess, reason=f"{_OWN}; {column.counted}")
    bare = replace(
        guess, role=role, hierarchy=None, recipe="", treatment=None, alike="", mark="", group="", special=""
    )
    new_guess = replace(bare, reason=f"{why}; {column.counted}", repeated=False, named=False)
    if role == "quasi":
        recipe, words = recipe_of(column)
        return replace(new_guess, hierarchy=recipe, recipe=words)
    if role in ("sensitive", "insensitive"):
        treatment, words = treatment_of(column)
        return replace(new_guess, treatment=treatment, recipe=words)
    return new_guess


def leave_out(guess: Guess, why: str) -> Guess:
    """Leave a column out of every release."""
    return replace(
        guess,
        role="identifying",
        reason=f"{why}: {guess.reason}",
        hierarchy=None,
        recipe="",
        treatment=None,
        mark="",
        group="",
        refused=frozenset(),
        parts="",
    )


def with_field(guess: Guess, column: Profile, field: Field, file: str) -> Guess:
    """Follow the proposal of a codebook where the proposal releases no more than the guess does.

    That a codebook is silent says nothing, so it never makes a column less protected: of a column that is
    left out already the words of the codebook are one more reason.
    """
    if not field.proposal:
        return guess
    says = f"{file} says: {field.evidence}"
    if guess.role in UNRELEASED or field.proposal == guess.role:
        return replace(guess, reason=f"{says}; {guess.reason}")
    if field.proposal == "quasi":
        # The models protect a sensitive column, and its values leave as they are only with these.
        return guess if guess.role == "sensitive" else with_role(guess, column, "quasi", says)
    return with_role(guess, column, field.proposal, says)


def with_parts(guess: Guess, separator: str) -> Guess:
    """Let models judge the parts of list cells instead of whole cells."""
    return replace(guess, parts=separator, reason=guess.reason.replace(_AS_ONE, ""))


def may_repeat(guess: Guess, column: Profile) -> bool:
    """Say whether a column may name people or homes with several rows each, without another explanation."""
    if guess.repeated or guess.role == "household":
        return True
    usable = column.kind == "category" or (column.kind == "number" and column.whole)
    by_word = guess.role == "identifying" and (column.reaches or personal_word(guess.name))
    most = _UNIQUE if by_word else 0.5
    repeats = column.distinct >= FEW_ROWS and _REPEATED <= column.share <= most and not column.prose
    fits = (guess.role == OPEN_ROLE and not guess.special) or by_word
    return usable and repeats and bool(fits) and not _is_no_id(column) and not named_after(column.name)


def _question(column: Profile) -> tuple[str, str]:
    """Return the kind of unexplained columns for a common question, and the possible meaning."""
    either = "may others know it, or must they not learn it"
    own = column.share > _UNIQUE and column.known > FEW_ROWS
    if column.distinct <= 1:
        return _ONE_VALUE, "tells rows nothing apart"
    if column.lists:
        return "columns of lists", either
    if column.answers == "one spelling":
        return "yes/no columns", f"yes or no: {either}"
    if column.kind == "number":
        low, high = column.spread
        if own:
            reason = "nearly every row has its own number, so who knows it finds the row"
            return "columns of numbers that nearly every row has for its own", reason
        if column.whole and 10 < high <= 110 and low >= 0 and column.distinct > 30:
            return "columns of whole numbers", "could be an age, a count or a score"
        reason = "a number that somebody may know, or must not learn"
        if column.whole and column.distinct <= _FEW_NUMBERS:
            return "columns of few numbers", reason
        return "columns of whole numbers" if column.whole else "columns of decimal numbers", reason
    if column.mixed:
        reason = "numbers but for a few texts: name those that mean missing in null_values"
        return "columns of numbers with texts among them", reason
    if column.share > _MOSTLY and column.known > FEW_ROWS:
        return "columns of rare texts", "many rare texts, which may tell who it is"
    return "columns of few words" if column.distinct <= MANY else "columns of many words", either


# --- guesses ------------------------------------------------------------------------------------------


def _quasi(column: Profile, reason: str) -> Guess:
    recipe, why = recipe_of(column)
    return Guess(column.name, "quasi", reason, recipe, why)


_RULES = (
    _unreadable, _day, _weight, _personal, _household, _special_by_two_words, _identifier, _texts,
    _quasi_by_name, _sensitive_by_name, _special, _distinguishing, _quasi_by_values,
)  # fmt: skip
"""The rules in their order: the first that knows an answer decides."""


__all__ = ["MANY", "recipe_of", "treatment_of"]

MANY = 20
"""Distinct values up to which a column has few."""
_POSTAL_DIGITS = 4


def recipe_of(column: Profile) -> tuple[dict[str, object] | None, str]:
    """Choose a suitable recipe of a hierarchy and the reason, or None."""
    if column.kind == "date":
        return {"dates": list(DATE_LEVELS)}, "a date climbs the calendar"
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
    """Choose the treatment that a released column needs and the reason, or None.

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
    """Say whether postal codes are masked, by form or by the name of a column of digits."""
    if column.postal:
        return True
    digits = (
        column.digits or column.codes or (column.whole and column.spread[1] >= 10 ** (_POSTAL_DIGITS - 1))
    )
    return column.is_postal_by_name and digits


def _widths(column: Profile) -> list[float]:
    """Return four widths that double, the first a fortieth to a twentieth of the usual range."""
    low, high = column.spread
    extent = high - low
    if extent <= 0 or (column.whole and extent < 4):
        return []
    rough = extent / 20
    power = 10.0 ** math.floor(math.log10(rough))
    width = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.75)
    if column.whole:
        width = max(width, 2.0)
    widths: list[float] = []
    while width < extent and len(widths) < 4:
        plain = float(f"{width:.6g}")
        widths.append(int(plain) if plain.is_integer() else plain)
        width *= 2
    return widths
