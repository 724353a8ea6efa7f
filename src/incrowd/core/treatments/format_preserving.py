"""Format-preserving encryption: digits stay digits (FF1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.errors import ParameterError, require_extra
from incrowd.core.lazy import pl
from incrowd.core.parameters import parameter
from incrowd.core.treatments._ff1 import FF1
from incrowd.core.treatments.base import TELLS_NOTHING, Batch, Distinct, Treatment
from incrowd.core.treatments.keys import KEY_MEANING

if TYPE_CHECKING:
    from incrowd.core.treatments.keys import Secret

_DIGITS = "0123456789"
_ALPHABETS = {
    "digits": _DIGITS,
    "alphanumeric": _DIGITS + "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
}
_SIGNS = " -./+()_:#"
_DOMAIN = 1_000_000
"""Texts that there have to be of a length, as the second draft of the standard asks."""


@dataclass(frozen=True)
class FormatPreserving(Treatment):
    """Encrypt digits to as many digits, or letters and digits to as many: FF1 with AES-256.

    Signs between them stay where they are: ``0151-234567`` becomes another number of that form. Two values
    never become one. Whoever has the key can decrypt.

    The AES key is derived from the key, so that it tells nothing of pseudonyms made with the same. Needs
    the extra ``fpe``.

    Parameters
    ----------
    alphabet
        ``digits``, or ``alphanumeric`` for digits and the letters A-Z and a-z.
    key
        Where the key is, as for `Pseudonym`.

    Examples
    --------
    >>> import incrowd as ic
    >>> ic.FormatPreserving("digits", key="env:CLINIC_KEY").spec()
    {'format-preserving': 'digits', 'key': 'env:CLINIC_KEY'}

    References
    ----------
    Dworkin, Recommendation for block cipher modes of operation: methods for format-preserving encryption,
    NIST SP 800-38G, 2016, algorithm 7 (FF1).
    """

    alphabet: str = parameter(
        "what is encrypted", kind=str, choices=("digits", "alphanumeric"), default="digits"
    )
    key: str = parameter(KEY_MEANING, kind=str, default="prompt")

    name: ClassVar[str] = "format-preserving"
    summary: ClassVar[str] = "encrypts digits to as many digits, or letters and digits to as many (FF1)"
    paper: ClassVar[str] = "NIST SP 800-38G"
    no_promise: ClassVar[str] = (
        "The column is pseudonymous, not anonymous: anybody can join the rows of one value, and whoever has "
        "the key can decrypt it. Lengths and signs stay visible."
    )
    for_person: ClassVar[bool] = True
    unlinked: ClassVar[str] = TELLS_NOTHING

    @property
    def promise(self) -> str:
        """Say which characters are encrypted."""
        return f"has its {self.alphabet} encrypted to as many others (FF1)"

    def learn(self, found: Distinct, secret: Secret | None) -> dict[str, Any]:
        """Raise for values that are too short or have characters outside the alphabet."""
        require_extra(["cryptography"], "fpe", "format-preserving encryption")
        letters = re.escape(_ALPHABETS[self.alphabet])
        least = next(n for n in count(1) if len(_ALPHABETS[self.alphabet]) ** n >= _DOMAIN)
        core = found.values.str.replace_all(f"[{re.escape(_SIGNS)}]", "")
        odd = int((~core.str.contains(f"^[{letters}]*$")).sum())
        if odd:
            raise ParameterError(
                f"column {found.column!r}: {self.name} of {self.alphabet} would leave other characters of "
                f"{odd:,} distinct values as they are; take another alphabet, or a pseudonym"
            )
        short = int((core.str.len_chars() < least).sum())
        if short:
            raise ParameterError(
                f"column {found.column!r}: {self.name} needs {least} {self.alphabet} at least, since shorter "
                f"texts can be tried out, and {short:,} distinct values have fewer; use a pseudonym"
            )
        return {}

    def check_batch(self, found: Distinct, decided: Mapping[str, Any], secret: Secret | None) -> None:
        """Raise for the same values as in the first table."""
        self.learn(found, secret)

    def treat(self, batch: Batch) -> pl.Series:
        """Encrypt the rows."""
        assert batch.secret is not None
        cipher = FF1(batch.secret.for_purpose(self.name).digest(b"AES-256"), len(_ALPHABETS[self.alphabet]))
        return batch.coded().each(lambda texts: self._encrypted(texts, cipher))

    def _encrypted(self, texts: pl.Series, cipher: FF1) -> pl.Series:
        alphabet = _ALPHABETS[self.alphabet]
        numeral_of = {letter: number for number, letter in enumerate(alphabet)}
        numerals = [[numeral_of[letter] for letter in text if letter in numeral_of] for text in texts]
        encrypted = []
        for text, numbers in zip(texts, cipher.encrypt_all(numerals), strict=True):
            letters = (alphabet[number] for number in numbers)
            encrypted.append("".join(next(letters) if letter in numeral_of else letter for letter in text))
        return pl.Series(encrypted, dtype=pl.String)
