"""FF1: format-preserving encryption of NIST SP 800-38G, algorithm 7, over AES."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log2
from typing import Any

from incrowd.core.errors import MissingExtraError

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
        left = [self._number(text[:u]) for text in texts]
        right = [self._number(text[u:]) for text in texts]
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

    def _number(self, numerals: Sequence[int]) -> int:
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
