"""Parsing of the texts of the command line."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.core.dialects.addresses import BEGINNINGS, Address, either, is_address
from incrowd.core.errors import ParameterError, quoted
from incrowd.search import ALGORITHMS, Algorithm

if TYPE_CHECKING:
    from incrowd.core.dialects.addresses import Address

_VARIABLE = "env:"


def file_or_address(text: str) -> Path | Address:
    """Tell the address of a database from the path of a file; ``env:NAME`` is an address in a variable.

    Raises
    ------
    ParameterError
        When the variable is not set or holds no address; the message does not show what it holds.
    """
    if not text.startswith(_VARIABLE):
        return Address(text) if is_address(text) else Path(text)
    name = text.removeprefix(_VARIABLE)
    found = os.environ.get(name)
    if found is None:
        raise ParameterError(
            f"{quoted(text)}: the environment variable {quoted(name)} is not set; for a file of this name "
            f"write ./{text}"
        )
    if not is_address(found):
        raise ParameterError(
            f"{quoted(text)}: the environment variable {quoted(name)} holds no address of a database; it "
            f"begins with {either(BEGINNINGS)}"
        )
    return Address(found)


def named(data: Path | Address) -> str:
    """Return the path or the address that a user named."""
    return str(data) if isinstance(data, Path) else data.url


def listed(text: str | None) -> list[str]:
    """Split a list of column names."""
    return [] if text is None else [name.strip() for name in text.split(",") if name.strip()]


def levels_of(text: str | None) -> dict[str, int]:
    """Read ``a=2,b=0``.

    Raises
    ------
    ParameterError
        When a level is no whole number of at least 0.
    """
    levels: dict[str, int] = {}
    for part in listed(text):
        name, equals, level = part.rpartition("=")
        if not equals or not re.fullmatch(r"\s*[0-9]{1,9}\s*", level):
            raise ParameterError(
                f"--levels: write column=level with whole numbers from 0, not {quoted(part)}"
            )
        levels[name.strip()] = int(level)
    return levels


def algorithms_of(text: str) -> list[Algorithm]:
    """Read algorithms with their parameters, ``a,b:x=1,y=2,c``, or ``all`` that need no parameter.

    Raises
    ------
    PolicyError, ParameterError
    """
    if text.strip() == "all":
        return [entry() for entry in ALGORITHMS if not entry.needed()]
    parts: list[str] = []
    for part in listed(text):
        # What names no algorithm is one more parameter of the one before.
        if parts and "=" in part and part.partition(":")[0] not in ALGORITHMS:
            parts[-1] += "," + part
        else:
            parts.append(part)
    return [ALGORITHMS.parse(part) for part in parts]


def numbers_of(text: str | None, option: str, kind: type[int] | type[float] = int) -> list[Any]:
    """Read ``4,8,16``.

    Raises
    ------
    ParameterError
        When one is no number.
    """
    try:
        return [kind(part) for part in listed(text)]
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise ParameterError(f"{option}: write {what} with commas between, not {quoted(text)}") from None
