"""Format-preserving encryption: digits stay digits (FF1)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import ceil, log2
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.errors import MissingExtraError, ParameterError, require_extra
from incrowd.core.lazy import pl
from incrowd.core.parameters import parameter
from incrowd.core.treatments.base import TELLS_NOTHING, Batch, Distinct, Treatment
from incrowd.core.treatments.keys import KEY_MEANING

if TYPE_CHECKING:
    from incrowd.core.treatments.keys import Secret

_ROUNDS = 10
_BLOCK = 16


class FF1:
    """Encrypts numerals 0 .. radix - 1 to as many numerals.

    Parameters
    ----------
    key
        An AES key of 16, 24 or 32 bytes.
    radix
        How many numerals there are.
    tweak
        What else the result depends on.
    """

    def __init__(self, key: bytes, radix: int, tweak: bytes = b"") -> None:
        self._aes = _aes(key)
        self.radix = radix
        self.tweak = tweak

    def __repr__(self) -> str:
        return f"FF1(radix={self.radix})"

    def encrypt(self, numerals: Sequence[int]) -> list[int]:
        """Encrypt a single text; see `encrypt_all`."""
        return self.encrypt_all([numerals])[0]

    def encrypt_all(self, texts: Sequence[Sequence[int]]) -> list[list[int]]:
        """Encrypt many texts, where texts of equal length share the calls of each round."""
        encrypted: list[list[int]] = [[] for _ in texts]
        of_length: dict[int, list[int]] = {}
        for number, text in enumerate(texts):
            of_length.setdefault(len(text), []).append(number)
        for length, numbers in of_length.items():
            results = self._run_rounds([texts[number] for number in numbers], length)
            for number, numerals in zip(numbers, results, strict=True):
                encrypted[number] = numerals
        return encrypted

    def _run_rounds(self, texts: Sequence[Sequence[int]], n: int) -> list[list[int]]:
        """Run the ten rounds on texts of n numerals, with the variable names of the standard."""
        radix, t = self.radix, len(self.tweak)
        u, v = n // 2, n - n // 2
        b = ceil(ceil(v * log2(radix)) / 8)
        d = 4 * ceil(b / 4) + 4
        moduli = radix**u, radix**v
        head = (
            bytes([1, 2, 1]) + radix.to_bytes(3, "big") + bytes([_ROUNDS, u % 256])
            + n.to_bytes(4, "big") + t.to_bytes(4, "big")
        )  # fmt: skip
        first = self._aes(head)
        filled = self.tweak + bytes((-t - b - 1) % _BLOCK)
        left = [self._number_of_numerals(text[:u]) for text in texts]
        right = [self._number_of_numerals(text[u:]) for text in texts]
        for i in range(_ROUNDS):
            tail = [filled + bytes([i]) + number.to_bytes(b, "big") for number in right]
            modulus = moduli[i % 2]
            drawn = self._stretch(first, tail, d)
            left, right = right, [
                (a + y) % modulus for a, y in zip(left, drawn, strict=True)
            ]  # fmt: skip
        return [[*self._numerals(a, u), *self._numerals(z, v)] for a, z in zip(left, right, strict=True)]

    def _stretch(self, first: bytes, tails: Sequence[bytes], d: int) -> list[int]:
        """Return d pseudorandom bytes for each tail, as a number."""
        chain = [first] * len(tails)
        for start in range(0, len(tails[0]), _BLOCK):
            mixed = b"".join(
                _xor(before, tail[start : start + _BLOCK]) for before, tail in zip(chain, tails, strict=True)
            )
            chain = _blocks(self._aes(mixed))
        parts = [chain]
        for j in range(1, ceil(d / _BLOCK)):
            number = j.to_bytes(_BLOCK, "big")
            parts.append(_blocks(self._aes(b"".join(_xor(block, number) for block in chain))))
        return [int.from_bytes(b"".join(blocks)[:d], "big") for blocks in zip(*parts, strict=True)]

    def _number_of_numerals(self, numerals: Sequence[int]) -> int:
        number = 0
        for numeral in numerals:
            number = number * self.radix + numeral
        return number

    def _numerals(self, number: int, count: int) -> list[int]:
        numerals = []
        for _ in range(count):
            number, numeral = divmod(number, self.radix)
            numerals.append(numeral)
        return numerals[::-1]


def _xor(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).to_bytes(_BLOCK, "big")


def _blocks(text: bytes) -> list[bytes]:
    return [text[start : start + _BLOCK] for start in range(0, len(text), _BLOCK)]


def _aes(key: bytes) -> Any:
    """Return a function that encrypts blocks independently."""
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        raise MissingExtraError("cryptography", "fpe", "format-preserving encryption") from None
    # Blocks are chained here: each round encrypts those of many texts at once.
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update


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
