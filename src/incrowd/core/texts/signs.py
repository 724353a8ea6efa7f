"""The list of signs, and which of them occur in a column."""

from __future__ import annotations

from incrowd.core.lazy import pl
from incrowd.core.texts.address import Address
from incrowd.core.texts.bank_account import BankAccount
from incrowd.core.texts.card import Card
from incrowd.core.texts.date import Date
from incrowd.core.texts.ip import Ip
from incrowd.core.texts.mac import Mac
from incrowd.core.texts.mail import Mail
from incrowd.core.texts.name import Name
from incrowd.core.texts.national_number import NationalNumber
from incrowd.core.texts.plate import Plate
from incrowd.core.texts.sign import Sign, holding, plain
from incrowd.core.texts.telephone import Telephone
from incrowd.core.texts.title import Title
from incrowd.core.texts.url import Url

SIGNS: tuple[Sign, ...] = (
    Mail(),
    Telephone(),
    BankAccount(),
    Card(),
    NationalNumber(),
    Ip(),
    Mac(),
    Url(),
    Plate(),
    Address(),
    Date(),
    Title(),
    Name(),
)
"""Every sign, one line each, in the order in which they are looked for and listed."""

_SHORT = 1_000
_ANY = "|".join(f"(?:{sign.needs})" for sign in SIGNS)
"""What any sign needs. One look is faster than one for each sign where few texts have it."""


def signs_in(texts: pl.Series) -> dict[str, pl.Series]:
    """Find which available signs occur in the texts of a column.

    Parameters
    ----------
    texts
        Distinct texts of one column.

    Returns
    -------
    By the name of each sign that at least one text contains: one truth value per text.

    Examples
    --------
    >>> found = signs_in(pl.Series(["Mrs Schroeder called", "ask jane@example.org", "fine"]))
    >>> {name: mask.to_list() for name, mask in found.items() if name in ("mail", "title")}
    {'mail': [False, True, False], 'title': [True, False, False]}
    """
    usual = plain(texts)
    if len(texts) <= _SHORT and not holding(usual, _ANY).any():
        return {}
    masks = {sign.name: sign.matches_of_plain(usual) for sign in SIGNS if sign.available()}
    return {name: mask for name, mask in masks.items() if mask.any()}


def missing() -> tuple[tuple[str, str], ...]:
    """List the signs whose library is absent, each with the line that installs it."""
    return tuple((sign.name, sign.install) for sign in SIGNS if not sign.available())
