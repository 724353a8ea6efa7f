"""Guessing the role of a column from its name and its values; unclear roles stay a question.

The guesses are on the safe side. A column that nobody can judge from outside is no quasi-identifier and not
insensitive: its role is ``?``, and no job runs until somebody has answered. Reasons have names and counts,
never values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from incrowd.drafting.answers import Answers
from incrowd.drafting.profile import Profile
from incrowd.drafting.words import (
    IDS,
    NAMES,
    PEOPLE,
    PERSONAL,
    POSTAL,
    SENSITIVE,
    THINGS,
    about,
    says,
    tokens,
    words_of,
)
from incrowd.reading.spellings import Spelling
from incrowd.recoding.labels import is_nearly_unique
from incrowd.table.schema import OPEN_ROLE, Role

_UNIQUE = 0.9
"""Distinct values per row from which nearly every row has a value of its own."""
_REPEATED = 0.02
"""Distinct values per row from which ids may be those of people who have several rows."""
_MOSTLY = 0.3
_ALIKE = 0.99
"""Share of one value from which a column protects and tells hardly anything."""
_FEW_ROWS = 20
_FEW_NUMBERS = 12
"""Different whole numbers up to which they are probably codes or grades."""
_ONE_VALUE = "columns of nearly one value"
_MANY = 20
_POSTAL_DIGITS = 4
_LONG = 5

_SEXES = (
    frozenset(words_of("m male man men mann männlich maennlich h homme hombre masculino maschio masculin 1")),
    frozenset(
        words_of("f female woman women w frau weiblich femme mujer femenino feminino femmina féminin 2")
    ),
)
_VALUES = {
    "marital status": frozenset(
        words_of(
            """
            single married divorced widowed separated ledig verheiratet geschieden verwitwet célibataire marié
            mariée divorcé divorcée veuf veuve soltero soltera casado casada divorciado divorciada viudo viuda
            celibe nubile coniugato coniugata vedovo vedova solteiro solteira
            """
        )
    ),
    "education": frozenset(
        words_of(
            """
            bachelors bachelor masters master doctorate phd hs-grad some-college assoc-acdm assoc-voc
            prof-school preschool abitur hauptschule realschule diplom baccalaureat baccalauréat licence
            bachillerato licenciatura laurea diploma
            """
        )
    ),
    "country": frozenset(
        words_of(
            """
            germany deutschland france frankreich italy italien italia spain spanien españa portugal austria
            österreich switzerland schweiz suisse usa us united-states uk gb england ireland netherlands
            belgium poland sweden norway denmark finland greece turkey türkei russia ukraine china japan india
            canada mexico méxico brazil brasil argentina australia de fr it es pt at ch nl be pl se dk fi
            """
        )
    ),
    "origin": frozenset(
        words_of(
            """
            white black asian hispanic latino caucasian african-american africanamerican asian-pac-islander
            """
        )
    ),
    "place": frozenset(
        words_of(
            """
            al ak az ar ca co ct de fl ga hi id il in ia ks ky la me md ma mi mn ms mo mt ne nv nh nj nm ny nc
            nd oh ok or pa ri sc sd tn tx ut vt va wa wv wi wy dc pr
            """
        )
    ),
}
"""Values that say what a column is about; for places the states of the USA."""


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


def guess_role(column: Profile) -> Guess:
    """Guess the role of a column."""
    for rule in (_unreadable, _day, _personal, _identifier, _known, _protected, _telling, _known_by_values):
        guess = rule(column)
        if guess is not None:
            break
    else:
        alike, asked = _question(column)
        guess = Guess(column.name, OPEN_ROLE, f"{asked}; {column.counted}", alike=alike)
    return replace(guess, ways=column.ways, answers=column.answers)


# --- rules, the first that knows an answer decides ---------------------------------------------------


def _unreadable(column: Profile) -> Guess | None:
    if column.kind is None:
        return Guess(column.name, "identifying", "its type is neither text, number nor date")
    return None


def _personal(column: Profile) -> Guess | None:
    """Names, addresses and numbers that stand for one person."""
    word = says(PERSONAL, column.name)
    if word and column.distinct > 2:
        return Guess(column.name, "identifying", f"the name says {word!r}; {column.counted}")
    if not set(tokens(column.name)) & set(NAMES) or column.kind != "category":
        return None
    if column.share > _MOSTLY or tokens(column.name) in (["name"], ["nombre"], ["nom"], ["nome"]):
        return Guess(column.name, "identifying", f"seems to be names; {column.counted}")
    return None


def _day(column: Profile) -> Guess | None:
    if column.kind != "date":
        return None
    word = about(column.name)
    what = f"the name says {word!r}" if word else "a day: others may know what happened on it"
    return _quasi(column, f"{what}; {column.counted}")


def _identifier(column: Profile) -> Guess | None:
    """Codes that the name calls an id, if the values are as many as ids are."""
    words = tokens(column.name)
    ends = bool(words) and words[-1] in IDS
    person = says(PEOPLE, column.name) if ends else says(PEOPLE, words[-1] if words else "")
    if person and person.startswith("subject") and column.kind == "category" and not column.codes:
        return None  # of a course or a message
    if not (person or ends) or (column.kind == "number" and not column.whole):
        return None
    thing = _named_after_thing(words)
    strong = bool(person) or words[-1] in ("id", "ids", "ident", "identifier", "key", "rownames", "rowid")
    own = column.share > _UNIQUE
    least = (
        3
        if own and (ends or column.codes)
        else _FEW_ROWS
        if person
        else max(_FEW_ROWS, _REPEATED * column.known)
    )
    if column.distinct < least:
        return None
    if not strong and not (column.codes or column.width >= 3 or column.sequence):
        return None
    if about(column.name) and not person:
        return None
    if own:
        return Guess(column.name, "identifying", f"an id: nearly every row has its own; {column.counted}")
    if thing:
        reason = f"an id of something else than people: the name says {thing!r}; {column.counted}"
        return Guess(column.name, "identifying", reason)
    return _repeats(column, "an id by its name", named=bool(person))


def is_id(column: Profile) -> bool:
    """Say whether a column holds ids, nearly one a row: codes, or whole numbers that the name calls an id."""
    words = tokens(column.name)
    own = column.share > _UNIQUE and not _named_after_thing(words)
    by_name = bool(words) and words[-1] in IDS and column.whole
    return own and (column.codes or by_name)


def _named_after_thing(words: Sequence[str]) -> str:
    """Return the word for a thing that ends a name, ids and numbers aside: ``ad`` of ``job_ad_id``."""
    kept = list(words)
    while kept and kept[-1] in IDS:
        kept.pop()
    return kept[-1] if kept and says(THINGS, kept[-1]) else ""


def _known(column: Profile) -> Guess | None:
    """Recognize a quasi-identifier by its name: acquaintances of a person know such facts."""
    word = about(column.name)
    if word is None or column.prose:
        return None
    if column.kind == "category" and column.share > _UNIQUE and column.known > _FEW_ROWS and not column.codes:
        reason = f"the name says {word!r}, but nearly every row has its own value"
        return Guess(column.name, "identifying", f"{reason}; {column.counted}")
    return _quasi(column, f"others may know it: {word}; {column.counted}")


def _protected(column: Profile) -> Guess | None:
    word = says(SENSITIVE, column.name)
    if word is None or column.prose:
        return None
    if column.top > _ALIKE:
        reason = f"the name says {word!r}, but nearly every row has the same value"
        return Guess(column.name, OPEN_ROLE, f"{reason}; {column.counted}", alike=_ONE_VALUE)
    return Guess(column.name, "sensitive", f"the name says {word!r}; {column.counted}")


def _telling(column: Profile) -> Guess | None:
    """Recognize columns that distinguish people by their values alone."""
    if column.reaches:
        return Guess(column.name, "identifying", f"the values look like {column.reaches}; {column.counted}")
    if column.postal:
        return _quasi(column, f"the values look like postal codes; {column.counted}")
    if column.known <= _FEW_ROWS:
        return None
    if column.prose:
        return Guess(column.name, "identifying", f"free text, which may name people; {column.counted}")
    own = column.share > _UNIQUE
    if column.mixed:
        return None
    if own and column.sequence:
        return Guess(column.name, "identifying", f"numbers the rows; {column.counted}")
    if own and (column.kind == "category" or (column.whole and column.width >= _LONG)):
        return Guess(column.name, "identifying", f"nearly every row has its own value; {column.counted}")
    code = column.codes or (column.whole and column.width >= _LONG)
    if code and column.share > _MOSTLY and not own:
        return _repeats(column, "codes with few rows each")
    if code and column.distinct > 50 and column.share > _REPEATED:
        return Guess(
            column.name,
            OPEN_ROLE,
            f"ids of people who have several rows (person), or codes such as zips; {column.counted}",
            alike="columns of codes",
        )
    return None


def _known_by_values(column: Profile) -> Guess | None:
    """Recognize a quasi-identifier by its values: acquaintances of a person know such facts."""
    words = column.words
    if column.kind == "category" and 2 <= len(words) <= 6 and all(words & sex for sex in _SEXES):
        return _quasi(column, f"the values are sexes; {column.counted}")
    for what, known in _VALUES.items():
        least = 15 if what == "place" else 3
        if len(words & known) >= least and len(words & known) >= 0.6 * len(words):
            return _quasi(column, f"the values look like {what}; {column.counted}")
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
    """Give a column another role, and a recipe where it needs one."""
    made = Guess(guess.name, role, f"{why}; {column.counted}", ways=guess.ways, answers=guess.answers)
    if role != "quasi":
        return made
    recipe, words = _recipe(column)
    return replace(made, hierarchy=recipe, recipe=words)


def may_name_people(guess: Guess, column: Profile) -> bool:
    """Say whether a column may be an id of people: it repeats, and has no other explanation."""
    usable = column.kind == "category" or (column.kind == "number" and column.whole)
    repeats = column.distinct >= _FEW_ROWS and _REPEATED <= column.share <= 0.5 and not column.prose
    open_ = guess.role == OPEN_ROLE or guess.repeated
    return usable and repeats and open_ and not _named_after_thing(tokens(column.name))


def with_person(guesses: Sequence[Guess]) -> tuple[Guess, ...]:
    """Let the id that repeats say whose row it is; ask where there are several such ids.

    An id that its name calls one of people comes before others.
    """
    ids = [guess for guess in guesses if guess.repeated]
    chosen = [guess for guess in ids if guess.named] or ids
    if len(chosen) == 1:
        reason = f"whose row it is: {chosen[0].reason}; people are counted, not rows"
        person = replace(chosen[0], role="person", reason=reason)
        return tuple(person if guess is chosen[0] else guess for guess in guesses)
    asked = "an id that repeats: whose row it is (person), or of something else (identifying)"
    return tuple(
        replace(guess, role=OPEN_ROLE, reason=f"{asked}; {guess.reason.partition(': ')[2]}")
        if guess in chosen
        else guess
        for guess in guesses
    )


def _question(column: Profile) -> tuple[str, str]:
    """Say which unexplained columns are alike, and the possible meaning of this one."""
    either = "may others know it, or must they not learn it"
    own = column.share > _UNIQUE and column.known > _FEW_ROWS
    if column.distinct <= 1:
        return _ONE_VALUE, "tells rows nothing apart"
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
            return "columns of few values", reason
        return "columns of whole numbers" if column.whole else "columns of decimal numbers", reason
    if column.mixed:
        reason = "numbers but for a few texts: name those that mean missing in null_values"
        return "columns of numbers with texts among them", reason
    if column.share > _MOSTLY and column.known > _FEW_ROWS:
        return "columns of rare texts", "many rare texts, which may tell who it is"
    return "columns of few values" if column.distinct <= _MANY else "columns of many words", either


# --- recipes ------------------------------------------------------------------------------------------


def _quasi(column: Profile, reason: str) -> Guess:
    recipe, why = _recipe(column)
    return Guess(column.name, "quasi", reason, recipe, why)


def _recipe(column: Profile) -> tuple[dict[str, object] | None, str]:
    """Choose a recipe that suits the values, with the reason."""
    if column.kind == "date":
        return {"dates": ["month", "quarter", "year", "decade"]}, "a date climbs the calendar"
    if column.width >= _POSTAL_DIGITS and says(POSTAL, column.name):
        return {"prefix": True}, "postal codes are masked from the right, one digit a level"
    if column.kind == "number":
        widths = _widths(column)
        if len(column.ways) > 1:
            return {"flat": True}, "until it is known how its numbers are written"
        if not widths:
            return {"flat": True}, "too few different numbers for intervals: the value or nothing"
        return {"intervals": widths}, "numbers go into nested intervals of these widths"
    if column.distinct > _MANY and (column.digits or column.codes or column.postal):
        return {"prefix": True}, "codes are masked from the right, one character a level"
    if is_nearly_unique(column.distinct, column.known):
        return {"flat": True}, "too rare to be listed: the value where enough share it, or *"
    if column.distinct > _MANY:
        return None, (
            f"no recipe suits {column.distinct:,} words; without a hierarchy file cells become sets, or * in "
            "a full-domain recoding"
        )
    return None, ""


def _widths(column: Profile) -> list[float]:
    """Return four widths that double, the first about a fortieth to a twentieth of the usual range."""
    low, high = column.spread
    extent = high - low
    if extent <= 0 or (column.whole and extent < 4):
        return []
    rough = extent / 20
    power = 10.0 ** math.floor(math.log10(rough))
    width = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.75)
    if column.whole:
        width = max(width, 2.0)
    found: list[float] = []
    while width < extent and len(found) < 4:
        plain = float(f"{width:.6g}")
        found.append(int(plain) if plain.is_integer() else plain)
        width *= 2
    return found
