"""Meanings of text forms: numbers with check digits, network addresses, places, postal codes.

A number passes the check digits of a scheme by chance once in ten or so. So a column of which most values
pass holds such numbers, whatever it is called.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence

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
