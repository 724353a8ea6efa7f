"""Points of columns that tell a person by name or values: surnames, passports, devices, handles, places."""

from __future__ import annotations

from collections.abc import Iterator

from incrowd_gate import wording
from incrowd_gate.lazy import pl
from incrowd_gate.points import Point
from incrowd_gate.rules.columns import Release, as_texts
from incrowd_gate.rules.texts import texts_that_leave
from incrowd_gate.words.meanings import find_word, tokens

_FEW = 20
"""Distinct values from which numbers are no category."""
_HANDLE = r"^@[\w.]{2,30}$"
_PLACE = r"^\(?-?[0-9]{1,2}\.[0-9]{3,}[,; ] ?-?[0-9]{1,3}\.[0-9]{3,}\)?$"
_FORMS = (("handles of people", _HANDLE), ("places by latitude and longitude", _PLACE))
_OF_TEXTS = ("text", "txt", "value", "raw", "str")
"""Words at the end of a name that say nothing of what the values are."""
_MOSTLY = 0.8
_LEAST = 5
_DIGITS = 4
"""Digits of numbers that name a person; fewer are counts."""
_SHORT = 3
"""Characters of words that name a person; shorter ones in Latin letters are codes."""


def points_of_identifiers(release: Release) -> Iterator[Point]:
    """Look at every column that leaves unchanged, and at the cells of quasi-identifiers."""
    for column, values in texts_that_leave(release):
        if column.treatment:
            continue
        distinct = None if values.texts is None else values.texts.distinct
        if distinct is None and (texts := as_texts(values.values)) is not None:
            distinct = texts.drop_nulls().unique()
        if distinct is not None and (reason := name_of_people(column.name, distinct)) is not None:
            yield wording.named_identifier(column.name, reason)
        # A place of a quasi-identifier is one that enough people share.
        elif column.role != "quasi" and _are_coordinates(column.name, values.values):
            yield wording.named_identifier(column.name, "its numbers are a latitude or a longitude")


def name_of_people(name: str, distinct: pl.Series) -> str | None:
    """Return why texts name or reach a person each: by the form, or by the name and a fitting form."""
    if len(distinct) >= _LEAST:
        forms = [pl.first().str.contains(pattern).sum().alias(what) for what, pattern in _FORMS]
        for what, number in distinct.to_frame().select(forms).row(0, named=True).items():
            if number >= _MOSTLY * len(distinct):
                return f"its values look like {what}"
    word = personal_word(name)
    return f"its name says {word!r}" if word and may_name(distinct) else None


def personal_word(name: str) -> str | None:
    """Return the word of a column's name that announces names, addresses or numbers of people, or None.

    The word ends the name, but for words such as "number". A word for names stands alone, or beside one for
    people.

    Examples
    --------
    >>> [personal_word(name) for name in ("LastName", "passport_no", "patient_name", "email_opt_in", "name")]
    ['lastname', 'passport', 'name', None, 'name']
    >>> personal_word("drug_name"), personal_word("imię"), personal_word("성명")
    (None, 'imie', '성명')
    """
    parts = tokens(name)
    short = list(parts)
    while len(short) > 1 and (find_word("ids", short[-1]) or short[-1] in _OF_TEXTS):
        short.pop()
    for words in (parts, short):
        ends = ["".join(words[place:]) for place in range(len(words))]
        if word := next((end for end in reversed(ends) if find_word("personal", end) == end), None):
            return word
    names = [part for part in short if find_word("names", part)]
    others = [part for part in short if part not in names]
    return names[0] if names and all(find_word("people", part) for part in others) else None


def may_name(distinct: pl.Series) -> bool:
    """Say whether texts can be names, addresses or numbers of people, and no counts, codes or answers."""
    if len(distinct) <= 2:
        return False
    lengths = distinct.str.len_chars()
    if distinct.str.contains(r"^[+-]?[0-9]+$").all():
        return len(distinct) >= _FEW and float(lengths.sum()) >= _DIGITS * len(distinct)
    if distinct.str.contains(r"^[+-]?[0-9]*[.,][0-9]+$").all():
        return False
    is_latin = distinct.str.contains(r"^[\x00-\x7f]*$").all()
    return not is_latin or float(lengths.sum()) >= _SHORT * len(distinct)


def _are_coordinates(name: str, values: pl.Series) -> bool:
    """Say whether a column has a latitude or a longitude that tells a house: three decimals or more."""
    if not any(find_word("coordinates", part) for part in tokens(name)):
        return False
    numbers = values.drop_nulls().cast(pl.Float64, strict=False).drop_nulls().unique()
    if len(numbers) < _FEW or not (numbers.abs() <= 180).all():
        return False
    return float(((numbers * 100).round() != numbers * 100).sum()) >= _MOSTLY * len(numbers)
