"""Addresses of databases, distinguished from paths of files and kept out of messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from incrowd.core.errors import TableError
from incrowd.engines.dialects import DIALECTS

if TYPE_CHECKING:
    from incrowd.engines.dialects.base import Dialect

_BY_SCHEME = {scheme: each for each in DIALECTS for scheme in (each.scheme, *each.other_schemes)}


EXAMPLES = tuple(each.example for each in DIALECTS)
"""An address of each database."""

BEGINNINGS = tuple(f"{each.scheme}:{'//' if each.server else '///'}" for each in DIALECTS)
"""How an address of each begins."""

_HOST = r"(?:[A-Za-z0-9._%-]*|\[[A-Fa-f0-9:.%]+\])(?::[0-9]+)?"
_SERVER = re.compile(rf"(?:([^@/?#]*)@)?({_HOST}(?:,{_HOST})*)(/[^@/?#:]*)?(?:\?([^@#]*))?")
"""Address whose parts are clear. Any other address is hidden, since a password may be anywhere."""
_SECRET = re.compile(r"(?i)pass(?!file)|pwd|secret|token|scram")
"""Part of the name of an option that is, or holds, a password."""


def either(texts: Sequence[str]) -> str:
    """List texts, with an ``or`` before the last."""
    return f"{', '.join(texts[:-1])} or {texts[-1]}"


def is_address(text: str) -> bool:
    """Say whether a text is the address of a database rather than the path of a file."""
    return text.partition("://")[0].lower() in _BY_SCHEME and "://" in text


@dataclass(frozen=True)
class Address:
    """Address of a database, printed without user, password and options.

    Attributes
    ----------
    url
        As ``postgresql://user@host/database`` or ``sqlite:///path``.
    """

    url: str = field(repr=False)

    def __post_init__(self) -> None:
        if not is_address(self.url):
            raise TableError(
                f"a database's address begins with {either(BEGINNINGS)}, as "
                "postgresql://user@host/database or sqlite:///people.db"
            )

    @property
    def dialect(self) -> type[Dialect]:
        """The class of the database."""
        return _BY_SCHEME[self.url.partition("://")[0].lower()]

    @property
    def scheme(self) -> str:
        """Canonical scheme, such as ``postgresql`` or ``sqlite``, with aliases mapped to the same name."""
        return self.dialect.scheme

    @property
    def path(self) -> Path:
        """The file of an address without a server: relative after three slashes, absolute after four."""
        rest = self.url.partition("://")[2]
        if not rest.startswith("/") or len(rest) < 2:
            raise TableError(f"{self.scheme}: write {self.scheme}:///path/of/the/file")
        if "\0" in rest:
            raise TableError(f"{self.scheme}: a NUL character is no part of a file's name")
        return Path(rest[1:])

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of a database's file and of the files kept beside; none of a server."""
        if self.dialect.server:
            return ()
        return tuple(f"{self.path}{ending}" for ending in ("", *self.dialect.sides))

    def _parts(self) -> tuple[str, str, str]:
        """Return the user, the public part and the options, as far as clear."""
        rest = self.url.partition("://")[2]
        if not self.dialect.server:
            # All of it is a path; who writes options behind it takes them for such.
            return "", rest if rest.startswith("/") else "...", rest.partition("?")[2]
        clear = _SERVER.fullmatch(rest)
        if clear is None:
            return "", "...", ""
        user, hosts, database, options = (part or "" for part in clear.groups())
        return user, hosts + database, options

    @property
    def has_secret(self) -> bool:
        """Whether the address holds a password, or is unclear, so that a password may be anywhere."""
        user, public, options = self._parts()
        names = (each.partition("=")[0] for each in re.split(r"[&;?\s+]", unquote(options)) if "=" in each)
        return public == "..." or ":" in unquote(user) or any(map(_SECRET.search, names))

    def __str__(self) -> str:
        return f"{self.scheme}://{self._parts()[1]}"

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"
