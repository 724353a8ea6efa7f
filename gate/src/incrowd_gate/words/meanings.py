"""Meanings of the names of columns, in the languages of `incrowd_gate.words`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from incrowd_gate.words import LISTS, languages

_LETTERS = str.maketrans(
    {
        "ß": "ss",
        "ı": "i",
        "ł": "l",
        "Ł": "L",
        "ø": "o",
        "Ø": "O",
        "đ": "d",
        "æ": "ae",
        "œ": "oe",
        "ё": "е",
        "Ё": "Е",
    }
)
"""Letters that have no accent to take away, and the ones that are written in their place."""
_ACCENTED = re.compile("[A-\u024f\u0370-\u03ff\u0590-\u06ff\u0900-\u097f\u1e00-\u1fff]")
"""Letters whose accents and vowel signs are taken away: Latin, Greek, Hebrew, Arabic and Devanagari."""
_UNDIVIDED = re.compile("[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
"""Signs of scripts that put no blanks between words: Chinese, Japanese and Korean."""
_NO_LETTERS = re.compile(r"[\W\d_]+")
_ARTICLE = "ال"
_SHORT = 2
"""Letters up to which a word stands for a subject only where it begins a name: ``il`` is a province in
Turkish, and an instalment loan in ``bal_il``."""
_TOGETHER = 5
"""Letters that two words of a name have together, so that they may be one listed word."""


def tokens(column: str) -> list[str]:
    """Return the words of a column's name in lower case, without accents.

    Where a script puts no blanks between words, listed words are found within the name.

    Examples
    --------
    >>> tokens("preOp_Größe2"), tokens("USUBJID")
    (['pre', 'op', 'grosse'], ['usubjid'])
    >>> tokens("患者ID番号"), tokens("Дата рождения")
    (['患者', 'id', '番号'], ['дата', 'рождения'])
    """
    words = []
    for run in re.findall(r"[^\W\d_]+", _without_accents(column)):
        shape = "".join(_case(letter) for letter in run)
        for part in re.finditer("A?a+|A+(?!a)|o+|u+", shape):
            word = run[part.start() : part.end()].lower()
            words += _split_unspaced(word) if shape[part.start()] == "u" else [_without_article(word)]
    return words


def find_word(kind: str, column: str) -> str | None:
    """Return the first listed word of a name, single or joined, or None.

    Parameters
    ----------
    kind
        A list of words: one of `LISTS`.

    Examples
    --------
    >>> [find_word("personal", name) for name in ("LastName", "Telefonnummer", "flow")]
    ['lastname', 'telefonnummer', None]
    """
    parts = tokens(column)
    return _lists()[kind].first([*parts, *_together(parts)])


def subject_of(column: str) -> str | None:
    """Return the subject of a name that others may know, decided by the last words.

    Examples
    --------
    >>> [subject_of(name) for name in ("date_of_birth", "education-num", "job_req_any", "age_at_visit")]
    ['birth', 'education', None, 'age']
    >>> subject_of("年齢"), subject_of("возраст"), subject_of("Geslacht")
    ('age', 'age', 'sex')
    """
    parts, lists = tokens(column), _lists()
    whole = _concept("".join(parts))
    for place, part in enumerate(parts):
        if not whole and place and lists["before"].has(part):
            early = _concept(parts[place - 1])
            if early:
                return early
    remaining = [] if whole else list(parts)
    while remaining:
        last = remaining[-1]
        is_short = len(last) <= _SHORT and last.lower() != last.upper()
        alone = not (remaining[1:] and is_short)
        concept = (_concept(remaining[-1]) if alone else None) or (
            _concept(remaining[-2] + remaining[-1]) if remaining[1:] else None
        )
        if concept or not (lists["neutral"].has(remaining[-1]) or lists["people"].has(remaining[-1])):
            return concept
        remaining.pop()
    return whole


def special_category(column: str) -> tuple[str, str, bool] | None:
    """Return the special category of personal data of a name, or None.

    Returns
    -------
    The category, the listed word, and whether that is several words of the name together.

    Examples
    --------
    >>> special_category("has_asthma"), special_category("in_union"), special_category("colour")
    (('health', 'asthma', False), ('union membership', 'union', False), None)
    """
    parts = tokens(column)
    for joined in (False, True):
        for category, words in _special().items():
            # Short words come together by chance: T1B is no tuberculosis.
            several = [each for each in _together(parts) if len(each) >= _TOGETHER]
            word = words.first(several if joined else parts)
            if word:
                return category, word, joined
    return None


def named_after(column: str) -> str:
    """Return the word for a thing at the end of a name, ids and numbers aside, or "".

    Examples
    --------
    >>> named_after("job_ad_id"), named_after("patient_id")
    ('ad', '')
    """
    words = tokens(column)
    while words and _lists()["ids"].has(words[-1]):
        words.pop()
    return words[-1] if words and _lists()["things"].has(words[-1]) else ""


def is_of_several_people(column: str) -> bool:
    """Say whether a name ends with a plural of people, as columns that count people do.

    Examples
    --------
    >>> [is_of_several_people(name) for name in ("cls_students", "student", "users_id")]
    [True, False, False]
    """
    last = next(iter(tokens(column)[-1:]), "")
    people = _lists()["people"]
    return last.endswith("s") and people.has(last) and people.has(last[:-1])


def names_a_person(column: str) -> bool:
    """Say whether a name calls a column the key of a person.

    Examples
    --------
    >>> names_a_person("person_id"), names_a_person("provider_id"), names_a_person("患者番号")
    (True, False, True)
    """
    words = tokens(column)
    ends = bool(words) and find_word("ids", words[-1]) is not None
    return find_word("people", column if ends else words[-1] if words else "") is not None


def names_homes(column: str) -> bool:
    """Say whether a name calls a column the number of a household, as ``hhid`` does.

    Examples
    --------
    >>> names_homes("household_id"), names_homes("HHID"), names_homes("household_size")
    (True, True, False)
    """
    parts, lists = tokens(column), _lists()
    if "".join(parts) in lists["homes"].whole:
        return True
    called = [part for part in parts if lists["homes"].has(part)]
    return bool(called) and all(part in called or lists["ids"].has(part) for part in parts)


def names_ids(column: str) -> bool:
    """Say whether a name ends with a word for ids or for a person.

    Examples
    --------
    >>> names_ids("id"), names_ids("patient"), names_ids("futime"), names_ids("cls_students")
    (True, True, False, False)
    """
    last = next(iter(tokens(column)[-1:]), "")
    listed = _lists()["ids"].has(last) or _lists()["people"].has(last)
    return listed and not is_of_several_people(column)


def marks_of_people(columns: Iterable[str]) -> list[str]:
    """Return the columns of facts that never change: birth and sex, or else the origin.

    Examples
    --------
    >>> marks_of_people(["age", "birth_yr", "race", "sex"]), marks_of_people(["age", "race"])
    (['birth_yr', 'sex'], ['race'])
    """
    names = list(columns)
    birth, sex, origin = (
        [name for name in names if subject_of(name) == concept] for concept in ("birth", "sex", "origin")
    )
    return birth + sex or origin


def is_usual(column: str) -> bool:
    """Say whether a name is usual for a column, and hardly a value of a person."""
    kinds = ("personal", "names", "people", "sensitive")
    return subject_of(column) is not None or any(find_word(kind, column) for kind in kinds)


# --- lists --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Words:
    """A list of words, some of which begin or end longer words."""

    whole: frozenset[str]
    begin: tuple[str, ...]
    end: tuple[str, ...]

    @classmethod
    def of_notation(cls, words: Iterable[str]) -> _Words:
        """Build a list from words in file notation."""
        listed = [(word, _plain_word(word)) for word in words]
        return cls(
            frozenset(plain for _, plain in listed),
            tuple(plain for word, plain in listed if word.endswith("*")),
            tuple(plain for word, plain in listed if word.startswith("*")),
        )

    def has(self, part: str) -> bool:
        return part in self.whole or part.startswith(self.begin) or part.endswith(self.end)

    def first(self, parts: Iterable[str]) -> str | None:
        return next((part for part in parts if self.has(part)), None)


@cache
def _lists() -> dict[str, _Words]:
    return {
        name: _Words.of_notation(word for language in languages() for word in language.lists[name])
        for name in LISTS
    }


@cache
def _subjects() -> dict[str, _Words]:
    postal = [word for language in languages() for word in language.lists["postal"]]
    return {
        name: _Words.of_notation(
            [word for language in languages() for word in language.about.get(name, ())]
            + (postal if name == "place" else [])
        )
        for name in languages()[0].about
    }


@cache
def _special() -> dict[str, _Words]:
    return {
        name: _Words.of_notation(word for language in languages() for word in language.special.get(name, ()))
        for name in languages()[0].special
    }


@cache
def _unspaced_words() -> tuple[str, ...]:
    """Return the listed words of scripts without blanks, the longest first."""
    every = [*_lists().values(), *_subjects().values(), *_special().values()]
    words = {word for lists in every for word in lists.whole if len(word) > 1 and _UNDIVIDED.match(word)}
    return tuple(sorted(words, key=lambda word: (-len(word), word)))


@cache
def _concept(word: str) -> str | None:
    return next((concept for concept, words in _subjects().items() if words.has(word)), None)


def _together(parts: list[str]) -> list[str]:
    """Return the joined pairs of neighbours, and all words joined."""
    pairs = [first + second for first, second in pairwise(parts)]
    return [*pairs, "".join(parts)] if len(parts) > 1 else []


# --- letters ------------------------------------------------------------------------------------------


def _plain_word(word: str) -> str:
    """Return a listed word in the form of `tokens`."""
    return _without_article(_NO_LETTERS.sub("", _without_accents(word)).lower())


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    signs: list[str] = []
    letter = ""
    for sign in unicodedata.normalize("NFKD", text.translate(_LETTERS)):
        if unicodedata.combining(sign):
            signs += [] if _ACCENTED.match(letter) else [sign]
        elif not unicodedata.category(sign).startswith("M"):  # else a vowel sign with a place of its own
            letter = sign
            signs.append(sign)
    return unicodedata.normalize("NFC", "".join(signs))


def _without_article(word: str) -> str:
    return word.removeprefix(_ARTICLE) if len(word) > len(_ARTICLE) + 1 else word


def _case(letter: str) -> str:
    """Return a letter's class: upper case, lower case, unspaced script, or other."""
    if _UNDIVIDED.match(letter):
        return "u"
    return "A" if letter.isupper() else "a" if letter.islower() else "o"


def _split_unspaced(run: str) -> list[str]:
    """Split a text without blanks into listed words, the longest first, and the rest between."""
    words: list[str] = []
    between = place = 0
    while place < len(run):
        word = next((word for word in _unspaced_words() if run.startswith(word, place)), None)
        if word is None:
            place += 1
            continue
        words += [run[between:place]] if between < place else []
        words.append(word)
        place = between = place + len(word)
    return words + ([run[between:]] if between < len(run) else [])
