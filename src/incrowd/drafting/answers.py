"""Texts that answer yes or no, in several languages and spellings."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

Answers = Literal["", "one spelling", "several spellings"]

_PAIRS = (
    ("yes", "no"),
    ("y", "n"),
    ("true", "false"),
    ("t", "f"),
    ("1", "0"),
    ("ja", "nein"),
    ("j", "n"),
    ("oui", "non"),
    ("si", "no"),
    ("sí", "no"),
    ("sim", "não"),
    ("sim", "nao"),
    ("evet", "hayır"),
    ("evet", "hayir"),
)


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
    if len(texts) < 2 or not said <= {word for pair in _PAIRS for word in pair}:
        return ""
    if len(texts) == 2 and any(said == set(pair) for pair in _PAIRS):
        return "one spelling"
    return "several spellings"
