"""Numbers of bank accounts."""

from __future__ import annotations

from incrowd.core.lazy import pl
from incrowd.core.texts.sign import Sign, at, passing, pieces

_PATTERN = r"(?i)\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"
_SHARE = 0.5


class BankAccount(Sign):
    """An IBAN whose length, form and check digits are those of its country; `CHECKED` are looked at."""

    name = "iban"
    text = "numbers of bank accounts (IBAN)"
    needs = r"[A-Za-z]{2}[0-9]{2}"

    def among(self, likely: pl.Series, texts: int) -> pl.Series:
        """Find texts with such a number; it may be written in groups of four."""
        return at(passing(pieces(likely, _PATTERN), _valid, _SHARE), likely)


def _valid(piece: str) -> bool:
    from stdnum import iban

    # A word behind the number may look like its last group.
    groups = piece.split()
    return any(iban.is_valid("".join(groups[:end])) for end in range(len(groups), 0, -1))
