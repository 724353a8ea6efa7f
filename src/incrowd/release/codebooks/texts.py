"""The text of a codebook's file."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from incrowd.core.errors import TableError

_MOST_BYTES = 64 << 20
_ENCODINGS = ("utf-8", "utf-16", "us-ascii", "iso-8859-1", "iso-8859-15", "windows-1252")
"""Encodings that an XML file may declare."""
_DECLARED = re.compile(rb"""^\s*<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")


def text_of(place: Path) -> str:
    """Read a file in the encoding that the first bytes declare, UTF-8 by default.

    Raises
    ------
    TableError
        When the file cannot be read, is too large, or is in another encoding.
    """
    try:
        # A pipe would be waited for, and a device has no end.
        if not place.is_file():
            raise TableError(f"{place.name}: is no file; name the file of a codebook")
        if place.stat().st_size > _MOST_BYTES:
            raise TableError(f"{place.name}: has more than {_MOST_BYTES >> 20} MiB, so it is no codebook")
        content = place.read_bytes()
    except OSError as error:
        raise TableError(f"{place.name}: cannot be read ({error.strerror})") from None
    declared = _DECLARED.match(content)
    encoding = "utf-8-sig" if declared is None else declared[1].decode().lower()
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif encoding == "utf-8":
        encoding = "utf-8-sig"
    if encoding not in (*_ENCODINGS, "utf-8-sig"):
        raise TableError(f"{place.name}: is in the encoding {encoding}; save it as UTF-8")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        raise TableError(f"{place.name}: is not written in {encoding}; save it as UTF-8") from None
