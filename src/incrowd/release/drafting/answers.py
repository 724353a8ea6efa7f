"""Texts that answer yes or no, in the languages of `drafting.languages` and in several spellings."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from incrowd.release.drafting.languages import languages

Answers = Literal["", "one spelling", "several spellings"]
_MOST = 16
"""Texts that answers may have in several spellings."""


def answers_in(texts: Collection[str]) -> Answers:
    """Say whether all texts answer yes or no, and whether each answer has one spelling.

    Examples
    --------
    >>> answers_in({"yes", "no"})
    'one spelling'
    >>> answers_in({"yes", "no", "1", "0"}), answers_in({"Yes", "yes", "no"})
    ('several spellings', 'several spellings')
    >>> answers_in({"yes", "no", "perhaps"}), answers_in({"yes"})
    ('', '')
    """
    said = {text.strip().lower() for text in texts}
    if len(texts) < 2 or len(said) > _MOST:
        return ""
    pairs = {language.name: language.answers for language in languages()}
    if len(texts) == 2 and any(said == set(pair) for of in pairs.values() for pair in of):
        return "one spelling"
    english, *others = ({word for pair in of for word in pair} for of in pairs.values())
    known = any(said <= english | words for words in (set(), *others))
    return "several spellings" if known else ""
