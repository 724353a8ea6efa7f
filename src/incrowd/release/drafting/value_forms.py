"""Forms of values: lists, pairs, days, free text, check digits, network addresses, places, postal codes.

A number passes the check digits of a scheme by chance once in ten or so. So a column of which most values
pass holds such numbers, whatever it is called.

Each function looks at distinct texts of a column, and tells forms and never a text.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
from collections.abc import Callable, Sequence

from incrowd.core.reading.recognition import day_formats

_MOSTLY = 0.8
_LEAST = 5
"""Distinct values that a check needs to tell anything."""


def personal_form(texts: Sequence[str]) -> str:
    """Name the kind of most texts that identify or reach a person, or return "".

    Examples
    --------
    >>> ibans = ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432", "FR1420041010050500013M02606"]
    >>> personal_form(ibans * 2)
    'numbers of bank accounts (IBAN)'
    >>> personal_form(["1", "2", "3", "4", "5"])
    ''
    """
    if len(texts) < _LEAST:
        return ""
    return next((what for what, fits in _REACHING if _mostly(texts, fits)), "")


def is_postal(texts: Sequence[str]) -> bool:
    """Say whether most texts have a form of postal codes alone, as ``SW1A 1AA`` or ``1234-567``.

    Examples
    --------
    >>> is_postal(["SW1A 1AA", "EC1A 1BB", "W1A 0AX", "M1 1AE", "B33 8TH"])
    True
    """
    return len(texts) >= _LEAST and any(_mostly(texts, fits) for fits in _POSTAL)


def _mostly(texts: Sequence[str], fits: Callable[[str], bool]) -> bool:
    allowed = len(texts) - int(_MOSTLY * len(texts))
    failed = 0
    for text in texts:
        failed += not fits(text)
        if failed > allowed:
            return False
    return True


# --- check digits -------------------------------------------------------------------------------------


def _digits(text: str, length: int) -> list[int] | None:
    plain = re.sub(r"[ .\-/]", "", text)
    return (
        [int(each) for each in plain]
        if len(plain) == length and plain.isascii() and plain.isdigit()
        else None
    )


def _weighted_sum(numbers: Sequence[int], weights: Sequence[int]) -> int:
    return sum(number * weight for number, weight in zip(numbers, weights, strict=True))


def _iban(text: str) -> bool:
    plain = text.replace(" ", "").upper()
    if not re.fullmatch(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}", plain):
        return False
    return int("".join(str(int(each, 36)) for each in plain[4:] + plain[:4])) % 97 == 1


def _luhn(numbers: Sequence[int]) -> bool:
    doubled = [
        number if at % 2 == 0 else sum(divmod(2 * number, 10)) for at, number in enumerate(numbers[::-1])
    ]
    return sum(doubled) % 10 == 0


def _card(text: str) -> bool:
    return any(
        (digits := _digits(text, length)) and _luhn(digits) and digits[0] in (3, 4, 5, 6)
        for length in (15, 16)
    )


def _turkish(text: str) -> bool:
    digits = _digits(text, 11)
    if not digits or not digits[0]:
        return False
    odd, even = sum(digits[0:9:2]), sum(digits[1:8:2])
    return (7 * odd - even) % 10 == digits[9] and sum(digits[:10]) % 10 == digits[10]


def _german(text: str) -> bool:
    """Check a tax number by ISO 7064, MOD 11,10."""
    digits = _digits(text, 11)
    if not digits or not digits[0]:
        return False
    product = 10
    for number in digits[:10]:
        total = (number + product) % 10 or 10
        product = 2 * total % 11
    return (11 - product) % 10 == digits[10]


def _french(text: str) -> bool:
    plain = re.sub(r"[ .]", "", text).upper()
    if not re.fullmatch(r"[12][0-9]{2}[0-9]{2}[0-9][0-9AB][0-9]{8}", plain):
        return False
    number = plain[:13].replace("2A", "19").replace("2B", "18")
    return 97 - int(number) % 97 == int(plain[13:])


def _spanish(text: str) -> bool:
    plain = re.sub(r"[ .\-]", "", text).upper()
    if not re.fullmatch(r"[0-9XYZ][0-9]{7}[A-Z]", plain):
        return False
    number = int(plain[:8].translate(str.maketrans("XYZ", "012")))
    return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == plain[8]


_ODD = dict(zip("0123456789", (1, 0, 5, 7, 9, 13, 15, 17, 19, 21), strict=True)) | dict(
    zip(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23),
        strict=True,
    )
)


def _italian(text: str) -> bool:
    plain = text.strip().upper()
    if not re.fullmatch(
        r"[A-Z]{6}[0-9LMNPQRSTUV]{2}[A-Z][0-9LMNPQRSTUV]{2}[A-Z][0-9LMNPQRSTUV]{3}[A-Z]", plain
    ):
        return False
    even = sum(int(each) if each.isdigit() else ord(each) - ord("A") for each in plain[1:15:2])
    return (sum(_ODD[each] for each in plain[0:15:2]) + even) % 26 == ord(plain[15]) - ord("A")


def _brazilian(text: str) -> bool:
    digits = _digits(text, 11)
    if not digits or len(set(digits)) == 1:
        return False
    first = _weighted_sum(digits[:9], range(10, 1, -1)) * 10 % 11 % 10
    second = _weighted_sum(digits[:10], range(11, 1, -1)) * 10 % 11 % 10
    return [first, second] == digits[9:]


def _polish(text: str) -> bool:
    digits = _digits(text, 11)
    return bool(digits) and _weighted_sum(digits or [], (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def _swiss(text: str) -> bool:
    digits = _digits(text, 13)
    return (
        bool(digits and digits[:3] == [7, 5, 6]) and _weighted_sum(digits or [], (1, 3) * 6 + (1,)) % 10 == 0
    )


def _dutch(text: str) -> bool:
    digits = _digits(text, 9)
    return (
        bool(digits and any(digits)) and _weighted_sum(digits or [], (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0
    )


def _swedish(text: str) -> bool:
    plain = re.sub(r"[-+]", "", text)
    if not re.fullmatch(r"([0-9]{2})?[0-9]{2}(0[1-9]|1[0-2])[0-9]{6}", plain):
        return False
    return _luhn([int(each) for each in plain[-10:]])


# --- forms --------------------------------------------------------------------------------------------


def _computer(text: str) -> bool:
    if not any(mark in text for mark in ".:"):
        return False
    try:
        ipaddress.ip_address(text.strip())
    except ValueError:
        return False
    return True


def _like(pattern: str) -> Callable[[str], bool]:
    form = re.compile(pattern)
    return lambda text: form.fullmatch(text.strip()) is not None


def _place(text: str) -> bool:
    match = re.fullmatch(r"\(?(-?[0-9]{1,2}\.[0-9]{2,})[,; ] ?(-?[0-9]{1,3}\.[0-9]{2,})\)?", text.strip())
    return match is not None and abs(float(match[1])) <= 90 and abs(float(match[2])) <= 180


_REACHING: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("addresses of mail", _like(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}")),
    ("addresses of the web", _like(r"(https?://|www\.)\S+")),
    ("addresses of computers", _computer),
    ("numbers of bank accounts (IBAN)", _iban),
    ("numbers of payment cards", _card),
    ("places by latitude and longitude", _place),
    ("identity numbers of Turkey", _turkish),
    ("tax numbers of Germany", _german),
    ("social security numbers of France", _french),
    ("identity numbers of Spain", _spanish),
    ("tax codes of Italy", _italian),
    ("tax numbers of Brazil", _brazilian),
    ("identity numbers of Poland", _polish),
    ("social security numbers of Switzerland", _swiss),
    ("identity numbers of Sweden", _swedish),
    ("citizen numbers of the Netherlands", _dutch),
    ("social security numbers", _like(r"[0-9]{3}-[0-9]{2}-[0-9]{4}")),
    ("numbers of phones", _like(r"(?=.*[ ()+])\+?[(0-9][0-9 ()/.-]{6,18}[0-9]")),
    ("numbers of accounts", _like(r"[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{2,4}){3,8}")),
)
"""What names or reaches one person, those with check digits before those of a loose form."""

_POSTAL = (
    _like(r"(?i)[A-Z]{1,2}[0-9][A-Z0-9]? ?[0-9][A-Z]{2}"),
    _like(r"(?i)[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]"),
    _like(r"(?i)[1-9][0-9]{3} ?[A-Z]{2}"),
    _like(r"[0-9]{4}-[0-9]{3}"),
    _like(r"[0-9]{5}-[0-9]{3}"),
    _like(r"[0-9]{2}-[0-9]{3}"),
    _like(r"[0-9]{3} [0-9]{2}"),
    _like(r"[0-9]{3}-[0-9]{4}"),
    _like(r"[0-9]{5}-[0-9]{4}"),
)
"""The United Kingdom, Canada, the Netherlands, Portugal, Brazil, Poland, Sweden, Japan, the USA."""


_SEPARATORS = (";", "|", ",", "/", "+")
_OF_CODES = (";", "|")
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
        # Codes are many, and no prose is parted by such signs.
        most = len(texts) if sign in _OF_CODES else min(_ITEMS, len(texts))
        if len(items) <= most and len(lengths) > 1 and len(later) * 4 >= len(items):
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
