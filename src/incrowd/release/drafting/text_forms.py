"""Forms of texts that show the kind of a column: lists, pairs of numbers, days, free text.

Each function looks at distinct texts of a column, and tells forms and never a text.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence

from incrowd.core.reading.recognition import day_formats

__all__ = [
    "contacts_in",
    "day_formats_of",
    "diagnosis_codes",
    "example_of",
    "pairs_of_numbers",
    "separator_of",
]

_SEPARATORS = (";", "|", ",", "/", "+")
_MOSTLY = 0.8
_FEW = 5
"""Distinct texts that a form needs to tell anything."""
_ITEMS = 200
_LONGEST_ITEM = 30
_NUMBER = re.compile(r"[+-]?[0-9]+([.:][0-9]+)?")
_PAIR = re.compile(r"([0-9]{2,3}) ?/ ?([0-9]{2,3})")
_DIAGNOSIS = re.compile(r"[A-TV-Z][0-9][0-9AB](\.[0-9A-Z]{1,4})?")
_MAIL = re.compile(r"[^\s@]+@[^\s@]+\.[A-Za-z]{2,}")
_PHONE = re.compile(r"(?<![\w.,])\+?\(?[0-9][0-9()]*(?:[ /.-]?[0-9()]+){1,6}(?![\w.,]?[0-9])")
_PHONE_DIGITS = range(7, 16)
_WORD = re.compile(r"[^\W\d_]{2,}")
_EXAMPLE = dt.datetime(2023, 5, 7, 16, 45)


def separator_of(texts: Sequence[str]) -> str:
    """Return the sign between the items of lists, such as ``;`` in ``F32;E11``, or "".

    Cells are lists where a sign parts many of them into items that come back in others.

    Examples
    --------
    >>> separator_of(["tv;radio", "radio;web", "tv;web", "tv", "radio;tv;web"])
    ';'
    >>> separator_of(["red", "blue", "red/blue", "green", "black"])
    ''
    """
    if len(texts) < _FEW:
        return ""
    for sign in _SEPARATORS:
        cells = [[item.strip() for item in text.split(sign)] for text in texts]
        several = [cell for cell in cells if len(cell) > 1]
        items = {item for cell in cells for item in cell}
        if len(several) < len(texts) / 2 or not all(0 < len(item) <= _LONGEST_ITEM for item in items):
            continue
        if any(len(set(cell)) < len(cell) for cell in several) or all(map(_NUMBER.fullmatch, items)):
            continue
        # The same words at several places of lists of several lengths: not a name before a first name.
        later = {item for cell in several for item in cell[1:]} & {cell[0] for cell in cells}
        lengths = {len(cell) for cell in cells}
        if len(items) <= min(_ITEMS, len(texts)) and len(lengths) > 1 and len(later) * 4 >= len(items):
            return sign
    return ""


def pairs_of_numbers(texts: Sequence[str]) -> bool:
    """Say whether most texts are two numbers with a slash, as a blood pressure of 120/80 is.

    Examples
    --------
    >>> pairs_of_numbers(["120/80", "135/90", "110/70", "128/85", "141/92"])
    True
    >>> pairs_of_numbers(["12/2020", "11/2021", "10/2022", "09/2020", "08/2020"])
    False
    """
    matches = [match for text in texts if (match := _PAIR.fullmatch(text.strip()))]
    above = sum(int(match[1]) > int(match[2]) for match in matches)
    return len(texts) >= _FEW and len(matches) > 0.95 * len(texts) and above > 0.9 * len(matches)


def diagnosis_codes(texts: Sequence[str]) -> bool:
    """Say whether most texts, or most items of lists, have the form of the ICD's codes of diagnoses.

    Examples
    --------
    >>> diagnosis_codes(["F32.1", "E11.9", "I10", "J45.0", "C50"])
    True
    >>> diagnosis_codes(["A1", "B2", "C3", "D4", "E5"])
    False
    """
    items = {item.strip() for text in texts for item in re.split("[;|,+]", text)}
    fitting = sum(_DIAGNOSIS.fullmatch(item) is not None for item in items)
    return len(items) >= _FEW and fitting >= _MOSTLY * len(items)


def contacts_in(texts: Sequence[str]) -> str:
    """Name the contacts among other words of texts: addresses of mail or numbers of phones.

    Examples
    --------
    >>> contacts_in(["call 030-1234567 please", "fine", "call 030 7654321", "all good", "tel. 0171/5551234"])
    'numbers of phones'
    >>> contacts_in(["in 2019 and 2020", "10 of 20", "fine"])
    ''
    """
    mails = phones = 0
    for text in texts:
        words = _WORD.findall(_MAIL.sub(" ", text))
        mails += bool(words) and _MAIL.search(text) is not None
        phones += bool(words) and any(_is_phone(match[0]) for match in _PHONE.finditer(text))
    # One text in a hundred that reaches somebody is one too many; in few texts each of them is.
    least = max(1, len(texts) // 100)
    kinds = [("addresses of mail", mails >= least), ("numbers of phones", phones >= max(2, least))]
    return " and ".join(what for what, is_there in kinds if is_there)


def _is_phone(text: str) -> bool:
    digits = re.sub(r"\D", "", text)
    parted = text.startswith(("+", "(", "0")) or text.count("-") == 2
    day = re.fullmatch(r"[0-9]{1,4}([./-])[0-9]{1,2}\1[0-9]{1,4}", text)
    return len(digits) in _PHONE_DIGITS and parted and day is None


def day_formats_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the two or three formats of days in a column, or none.

    Examples
    --------
    >>> day_formats_of(["2023-01-31", "17/05/2021", "2020-02-03", "28/02/2020", "2020-02-04"])
    ('%Y-%m-%d', '%d/%m/%Y')
    >>> day_formats_of(["2023-01-31", "unknown", "17/05/2021"])
    ()
    """
    formats = day_formats(texts)
    return formats if len(texts) >= _FEW and len(formats) > 1 else ()


def example_of(pattern: str) -> str:
    """Write an invented day in a format.

    Examples
    --------
    >>> example_of("%d/%m/%Y")
    '07/05/2023'
    """
    return _EXAMPLE.strftime(pattern)
