"""Addresses of databases and servers: told from files' paths, and kept out of messages."""

from __future__ import annotations

import errno
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from incrowd.errors import TableError

__all__ = [
    "DIALECTS",
    "SCHEMES",
    "Address",
    "file_path",
    "is_address",
    "looks_like_address",
    "read_bytes",
    "require_regular",
    "without_secrets",
]

DIALECTS = {
    "postgresql": "incrowd.engines.sql.dialects.postgresql.PostgreSQL",
    "sqlite": "incrowd.engines.sql.dialects.sqlite.SQLite",
    "duckdb": "incrowd.engines.sql.dialects.duckdb.DuckDB",
}
"""The databases that incrowd opens: the class of each scheme, imported when it is first used."""

SCHEMES = (*DIALECTS, "postgres")
"""How the address of a database begins; `postgres` is another word for `postgresql`."""

# A path has lost one of the two slashes; a letter alone is a drive. libpq also takes words and values.
_ADDRESS = re.compile(r"(?i)\s*(?:[a-z][a-z0-9+.-]+:)+/|.*://|.*:/\S*@|.*\bpassword\s*=", re.DOTALL)
_LOGIN = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+:/{1,2})[^\n]*@")
_SERVER = re.compile(
    r"(?P<scheme>postgres(?:ql)?)://(?:[^@/?#]*@)?(?P<host>[A-Za-z0-9._:,%\[\]-]*)(?P<path>/[^@/?#:]*)?(?:\?[^@]*)?"
)
"""An address of which the parts are clear; of others nothing is shown, since a password may be anywhere."""
_PASSWORD = re.compile(r"(?i)(\bpassword\s*=\s*)[^\s&]+")


def is_address(text: str) -> bool:
    """Say whether a text is the address of a database rather than the path of a file."""
    return text.partition("://")[0].lower() in SCHEMES and "://" in text


def looks_like_address(path: object) -> bool:
    """Say whether a text or path is an address of whatever scheme, and not the name of a file."""
    return _ADDRESS.match(str(path)) is not None


def file_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file or folder.

    Raises
    ------
    TableError
        When it is an address; the message does not name it, since it may have a password. Also when it holds
        a NUL character.
    """
    if looks_like_address(path):
        raise TableError("an address is no file; open a database with ic.Database(address).table(name)")
    if "\0" in os.fspath(path):
        raise TableError("a NUL character is no part of a file's name; look at what wrote the path")
    return Path(path)


def require_regular(path: Path) -> None:
    """Refuse what has no end that anybody knows beforehand, or none at all.

    Raises
    ------
    OSError
        For a pipe, a socket or a device, and where there is nothing.
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "a pipe, socket or device; save what it gives to a file first")


def read_bytes(path: Path) -> bytes:
    """Read a whole file.

    Raises
    ------
    OSError
        When it cannot be read, or is no regular file.
    """
    require_regular(path)
    return path.read_bytes()


def without_secrets(text: str) -> str:
    """Take users and passwords out of the addresses in a message."""
    return _PASSWORD.sub(r"\1...", _LOGIN.sub(r"\1...@", text))


@dataclass(frozen=True)
class Address:
    """Where a database is. Printed, it has neither user nor password nor options.

    Attributes
    ----------
    url
        ``postgresql://user@host/database``, ``sqlite:///path`` or ``duckdb:///path``.
    """

    url: str = field(repr=False)

    def __post_init__(self) -> None:
        if not is_address(self.url):
            raise TableError(
                "a database's address begins with postgresql://, sqlite:/// or duckdb:///, as "
                "postgresql://user@host/database or sqlite:///people.db"
            )

    @property
    def scheme(self) -> str:
        """``postgresql``, ``sqlite`` or ``duckdb``."""
        scheme = self.url.partition("://")[0].lower()
        return "postgresql" if scheme == "postgres" else scheme

    @property
    def path(self) -> Path:
        """The file of an SQLite or DuckDB address: relative after three slashes, absolute after four."""
        rest = self.url.partition("://")[2]
        if not rest.startswith("/") or len(rest) < 2:
            raise TableError(f"{self.scheme}: write {self.scheme}:///path/of/the/file")
        return Path(rest[1:])

    def __str__(self) -> str:
        if self.scheme != "postgresql":
            return f"{self.scheme}:///{self.path}"
        clear = _SERVER.fullmatch(self.url)
        return f"postgresql://{clear['host']}{clear['path'] or ''}" if clear else "postgresql://..."

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"
