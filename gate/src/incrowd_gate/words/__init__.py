"""Words of columns' names and of values, a file per language, such as ``de.toml``.

A language is one file of this room and one code in `LANGUAGES`. Words stand in a text, divided by blanks, and
are written as people write them: case and accents are taken away where they are read. Two words that stand
together in a name are one word here: ``etatcivil``. A word with a star at its end also begins longer words.
One with a star at its beginning also ends them: ``*diagnose`` is in ``Hauptdiagnose``. The lists are:

- ``personal``: what names or reaches one person; ``names``: names of people, and of everything else, too;
- ``homes``: households, as their numbers are called;
- ``people``: people; ``ids``: what ends the name of an identifier; ``things``: what has ids of its own;
- ``postal``: postal codes; ``coordinates``: latitudes and longitudes;
- ``sampling``: sampling weights; ``weights``: weights, of a sample or of a body;
- ``body``: what stands at the weight of a body or a thing;
- ``sensitive``: what people do not want known; ``prose``: free text;
- ``neutral``: words after which a name still says what it said before; ``before``: words that begin a detail;
- ``answers``: pairs of words for yes and no;
- ``[about]``: what somebody who knows a person plausibly knows; ``[special]``: the special categories of data
  of the GDPR (articles 9 and 10), and what is close to them;
- ``[sexes]`` and ``[values]``: values that say what a column is about.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

__all__ = ["LANGUAGES", "LISTS", "Language", "languages"]

LANGUAGES = (
    "en", "de", "fr", "es", "pt", "it", "nl", "sv", "pl", "cs", "tr", "ru", "uk", "ar", "he", "zh", "ja",
    "ko", "el", "hi", "id",
)  # fmt: skip
"""The languages by their codes of ISO 639; each is the file of its code in this folder."""
LISTS = (
    "personal", "names", "people", "ids", "things", "postal", "coordinates", "sensitive", "neutral", "before",
    "sampling", "weights", "body", "prose", "homes",
)  # fmt: skip
"""The lists of words that every language has."""


@dataclass(frozen=True)
class Language:
    """The words of a language.

    Attributes
    ----------
    name
        Its English name.
    lists
        The words of each list of `LISTS`, as the file has them.
    about, special
        The words of each subject.
    sexes
        Values for men, and values for women.
    values
        Values by their subject.
    answers
        Pairs of words for yes and no.
    """

    name: str
    lists: dict[str, tuple[str, ...]]
    about: dict[str, tuple[str, ...]]
    special: dict[str, tuple[str, ...]]
    sexes: tuple[frozenset[str], frozenset[str]]
    values: dict[str, frozenset[str]]
    answers: tuple[tuple[str, str], ...]


@cache
def languages() -> tuple[Language, ...]:
    """Return the words of all languages, from a cache.

    Examples
    --------
    >>> [language.name for language in languages()][:3]
    ['English', 'German', 'French']
    """
    return tuple(_read_language(code) for code in LANGUAGES)


def _read_language(code: str) -> Language:
    document = tomllib.loads((files(__name__) / f"{code}.toml").read_text(encoding="utf-8"))
    pairs = [text.split() for text in document["answers"]]
    return Language(
        document["name"],
        {name: tuple(document[name].split()) for name in LISTS},
        {name: tuple(text.split()) for name, text in document["about"].items()},
        {name: tuple(text.split()) for name, text in document["special"].items()},
        (frozenset(document["sexes"]["male"].split()), frozenset(document["sexes"]["female"].split())),
        {name: frozenset(text.split()) for name, text in document["values"].items()},
        tuple((yes, no) for yes, no in pairs),
    )
