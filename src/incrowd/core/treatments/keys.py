"""Keys of pseudonyms and shifts, read from a source and never written, printed or passed on."""

from __future__ import annotations

import hashlib
import hmac
import math
import os
import stat
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from incrowd.core.errors import ParameterError, quoted
from incrowd.core.lazy import NDArray, np, pl

KEY_MEANING = "where the key is: env:NAME, file:PATH or prompt"
"""The meaning of the parameter that names a key."""

_SHORTEST = 32
_BITS = 96
_LARGEST = 1 << 16
_BLOCK = 64
"""Bytes that SHA-256 takes at a time."""
_PADS = (0x36, 0x5C)
"""What the key is mixed with for the inner and for the outer hash."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_MAKE = "make one with: openssl rand -hex 32"


class Secret:
    """A key that neither a text nor a traceback with variables reveals.

    Examples
    --------
    >>> Secret(b"Jefe")
    Secret()
    >>> Secret(b"Jefe").digest(b"what do ya want for nothing?").hex()[:16]
    '5bdcc146bf60754e'
    """

    __slots__ = ("_key", "known", "origin", "shared")

    def __init__(self, key: bytes, copied: Secret | None = None) -> None:
        self._key = key
        self.origin: object = object() if copied is None else copied.origin
        """The same for all copies of one key."""
        self.shared: dict[Any, Any] = {} if copied is None else copied.shared
        """What columns with this key keep for the next rows."""
        self.known: Any = None
        """What a treatment has computed already and wants to use again."""

    def __repr__(self) -> str:
        return "Secret()"

    def __reduce__(self) -> str:
        raise TypeError("a key is not pickled")

    def copy(self) -> Secret:
        """Return the same key, without the cache of a column but with the cache that columns share."""
        return Secret(self._key, self)

    def digest(self, message: bytes) -> bytes:
        """Return the HMAC-SHA-256 of a message (RFC 2104, FIPS 180-4): 32 bytes."""
        return hmac.digest(self._key, message, hashlib.sha256)

    def digests(self, texts: pl.Series) -> NDArray[np.uint8]:
        """Return `digest` of the UTF-8 of many texts, none missing: uint8[texts, 32]."""
        # The first block of both hashes is the key. To hash it once takes half of the time.
        block = self._key if len(self._key) <= _BLOCK else hashlib.sha256(self._key).digest()
        inner, outer = (
            hashlib.sha256(bytes(byte ^ pad for byte in block.ljust(_BLOCK, b"\0"))) for pad in _PADS
        )
        digests = []
        for message in texts.cast(pl.Binary).to_list():
            first, second = inner.copy(), outer.copy()
            first.update(message)
            second.update(first.digest())
            digests.append(second.digest())
        return np.frombuffer(b"".join(digests), np.uint8).reshape(-1, outer.digest_size)

    def for_purpose(self, purpose: str) -> Secret:
        """Derive a key for a purpose, so that no use reveals anything of another."""
        return Secret(self.digest(b"incrowd purpose\0" + purpose.encode()))


def check_source(source: str, owner: str) -> None:
    """Raise for a text that names no source of a key, without repeating the text.

    Raises
    ------
    ParameterError
    """
    kind, colon, rest = source.partition(":")
    if source == "prompt" or (kind in ("env", "file") and colon and rest and "\0" not in rest):
        return
    raise ParameterError(
        f"{owner}: key must say where the key is, and never be it: env:NAME for an environment variable, "
        "file:PATH for a file, or prompt"
    )


def read_key(source: str, owner: str) -> Secret:
    """Read a key from an environment variable, from a file that nobody else may read, or from a prompt.

    Parameters
    ----------
    source
        ``env:NAME``, ``file:PATH`` or ``prompt``.
    owner
        What the messages begin with.

    Raises
    ------
    ParameterError
        When there is none, others may read it, or it is weak: shorter than 32 characters, or so regular that
        it has less than 96 bits of entropy by the frequencies of its characters. The key is not in the
        message.
    """
    check_source(source, owner)
    kind, _, rest = source.partition(":")
    if kind == "env":
        key = os.fsencode(os.environ.get(rest, ""))
        if not key:
            raise ParameterError(f"{owner}: the environment variable {quoted(rest)} is not set; {_MAKE}")
    elif kind == "file":
        key = _read_file(Path(rest), owner)
    else:
        key = _prompt(owner)
    key = key.rstrip(b"\r\n")
    if len(key) < _SHORTEST:
        raise ParameterError(
            f"{owner}: the key of {_shown(source)} is too short; it needs {_SHORTEST} characters, {_MAKE}"
        )
    # Bits of the key by the frequencies of its characters.
    frequencies = Counter(key).values()
    if -math.fsum(count * math.log2(count / len(key)) for count in frequencies) < _BITS:
        raise ParameterError(f"{owner}: the key of {_shown(source)} is too regular to be secret; {_MAKE}")
    return Secret(key)


def _shown(source: str) -> str:
    return "the prompt" if source == "prompt" else quoted(source)


def _read_file(path: Path, owner: str) -> bytes:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise ParameterError(f"{owner}: {path} is no regular file, so it holds no key")
            if os.name == "posix" and mode & _OTHERS:
                raise ParameterError(
                    f"{owner}: others may read {path} (mode {mode & 0o777:o}); run chmod 600 on it, and "
                    "make a new key if they did"
                )
            key = file.read(_LARGEST + 1)
    except OSError as error:
        raise ParameterError(f"{owner}: the key file {path} cannot be read ({error.strerror})") from None
    if len(key) > _LARGEST:
        raise ParameterError(f"{owner}: {path} is too long to be a key")
    return key


def _prompt(owner: str) -> bytes:
    from getpass import getpass

    if not sys.stdin.isatty():
        raise ParameterError(f"{owner}: nobody is there to be asked for the key; give env:NAME or file:PATH")
    return getpass(f"Key for {owner}: ").encode()
