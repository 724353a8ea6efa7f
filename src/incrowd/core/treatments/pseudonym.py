"""Keyed pseudonyms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.parameters import parameter
from incrowd.core.treatments._text_cache import KEPT, Kept, Words
from incrowd.core.treatments.base import TELLS_NOTHING, Batch, Distinct, Treatment
from incrowd.core.treatments.keys import KEY_MEANING

if TYPE_CHECKING:
    from incrowd.core.treatments.keys import Secret

_LONGEST = {"hex": 64, "base32": 52, "digits": 77}
"""Characters that 256 bits have in each form."""
_LETTERS = {"hex": b"0123456789abcdef", "base32": b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"}
"""What stands for four bits, or for five (RFC 4648)."""


@dataclass(frozen=True)
class Pseudonym(Treatment):
    """Replace every value by a token computed from the value and a key (HMAC-SHA-256).

    The same value has the same token in every table, batch and engine that has the key. The token of a value
    is the digest of its UTF-8 text; a whole number has no ``.0``, a day is written as ``2020-03-05``.

    Without the key nobody can compute tokens. With it anybody can: keep it apart from the data, and destroy
    it when nobody needs to add rows any more.

    Two values with the same token are refused: make the tokens longer.

    Parameters
    ----------
    method
        ``hmac``.
    key
        Where the key is: ``env:NAME``, ``file:PATH`` (which nobody else may read) or ``prompt``. The key has
        at least 32 characters. It is never written, printed or part of a policy.
    length
        Characters of a token. With n values, the chance of two equal tokens is about n squared over twice
        the number of tokens: 16 ** length in hex.
    form
        ``hex``, ``base32`` (letters A-Z and digits 2-7) or ``digits``.

    Examples
    --------
    >>> import incrowd as ic
    >>> ic.Pseudonym(key="env:CLINIC_KEY", length=12).spec()
    {'pseudonym': 'hmac', 'key': 'env:CLINIC_KEY', 'length': 12}

    References
    ----------
    Krawczyk, Bellare and Canetti, HMAC: keyed-hashing for message authentication, RFC 2104, 1997;
    Nystrom, Identifiers and test vectors for HMAC-SHA-256, RFC 4231, 2005;
    ENISA, Pseudonymisation techniques and best practices, 2019, section 5.
    """

    method: str = parameter("how tokens are made", kind=str, choices=("hmac",), default="hmac")
    key: str = parameter(KEY_MEANING, kind=str, default="prompt")
    length: int = parameter("characters of a token", kind=int, low=6, high=77, default=16)
    form: str = parameter(
        "how a token is written", kind=str, choices=("hex", "base32", "digits"), default="hex"
    )

    name: ClassVar[str] = "pseudonym"
    summary: ClassVar[str] = "replaces every value by a token that follows from it and a key (HMAC-SHA-256)"
    paper: ClassVar[str] = "RFC 2104; RFC 4231"
    no_promise: ClassVar[str] = (
        "The column is pseudonymous, not anonymous: anybody can join the rows of one value, and whoever has "
        "the key can find whose they are."
    )
    for_person: ClassVar[bool] = True
    unlinked: ClassVar[str] = TELLS_NOTHING

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.length > _LONGEST[self.form]:
            raise ParameterError(
                f"{self.name}: length must be at most {_LONGEST[self.form]}, which is all that a token has "
                f"in {self.form}; got {self.length}"
            )

    @property
    def promise(self) -> str:
        """Say how long tokens are, and in which form."""
        return f"is replaced by keyed pseudonyms of {self.length} characters ({self.form})"

    def learn(self, found: Distinct, secret: Secret | None) -> dict[str, Any]:
        """Raise for values that share a token."""
        assert secret is not None
        results = tokens(found.values, secret, self.form, self.length)
        secret.known = _Tokens(found.values, results, secret.shared.setdefault(Words, Words()))
        if results.n_unique() < len(found.values):
            raise ParameterError(
                f"column {found.column!r}: two values have the same pseudonym of {self.length} characters; "
                "give a larger length"
            )
        return {}

    def check_batch(self, found: Distinct, decided: Mapping[str, Any], secret: Secret | None) -> None:
        """Raise for the same values as in the first table."""
        self.learn(found, secret)

    def treat(self, batch: Batch) -> pl.Series:
        """Replace the rows."""
        secret = batch.secret
        assert secret is not None
        rows = batch.coded()
        cache: _Tokens | None = secret.known
        if cache is not None and (len(cache.values) <= KEPT or len(batch.values) >= len(cache.values)):
            # `learn` has computed all of them.
            results = rows.each(cache.of)
            if results.null_count() == batch.values.null_count():
                return results
        return rows.each(lambda values: tokens(values, secret, self.form, self.length))


class _Tokens:
    """A cache of values and tokens."""

    def __init__(self, values: pl.Series, tokens: pl.Series, words: Words) -> None:
        self.values = values
        self._words = words
        self._tokens = tokens
        self._numbers: Kept | None = None

    def of(self, values: pl.Series) -> pl.Series:
        """Return the tokens of distinct values, or missing for a value that is not cached."""
        if len(values) >= len(self.values):
            if values.equals(self.values):
                return self._tokens
            return values.replace_strict(
                self.values, self._tokens, default=None, return_dtype=self._tokens.dtype
            )
        # One of several batches: the values are numbered once for all of them.
        numbers_of = self._numbers
        if numbers_of is None:
            numbers_of = Kept(self._words)
            numbers_of.of(self.values, lambda new: np.arange(len(new)))
            self._numbers = numbers_of
        numbers = numbers_of.of(values, lambda new: np.full(len(new), -1))
        results = self._tokens.gather(np.maximum(numbers, 0))
        return results.set(pl.Series(numbers < 0), None) if (numbers < 0).any() else results


def tokens(values: pl.Series, secret: Secret, form: str, length: int) -> pl.Series:
    """Return the token of each text: the first characters of the digest in a form."""
    if not len(values):
        return pl.Series([], dtype=pl.String)
    digests = secret.digests(values)
    if form == "digits":
        # A remainder by a power of ten: of 256 bits, no token is noticeably more likely than another.
        numbers = [f"{int.from_bytes(digest) % 10**length:0{length}}" for digest in map(bytes, digests)]
        return pl.Series(numbers, dtype=pl.String)
    letters = _letters(digests, _LETTERS[form], length)
    return pl.Series(np.ascontiguousarray(letters).view(f"S{length}").ravel()).cast(pl.String)


def _letters(digests: NDArray[np.uint8], letters: bytes, length: int) -> NDArray[np.uint8]:
    """Write the first bits of digests in groups of bits per letter: uint8[digests, length]."""
    bits = len(letters).bit_length() - 1
    columns = np.zeros((length * bits // 8 + 2, len(digests)), np.uint16)
    read = digests[:, : len(columns)].T
    columns[: len(read)] = read
    written = np.empty((length, len(digests)), np.uint8)
    for position in range(length):
        byte, bit = divmod(position * bits, 8)
        both = (columns[byte] << 8) | columns[byte + 1]
        written[position] = np.frombuffer(letters, np.uint8)[(both >> (16 - bits - bit)) & (len(letters) - 1)]
    return written.T
