"""Parsers for values of command line options."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import ParameterError, quoted
from incrowd.engines.dialects.addresses import BEGINNINGS, Address, either, is_address
from incrowd.search import ALGORITHMS, Algorithm

if TYPE_CHECKING:
    from incrowd.engines.dialects.addresses import Address

_VARIABLE = "env:"


def file_or_address(text: str) -> Path | Address:
    """Parse a file path, a database address, or ``env:NAME`` for an address in a variable.

    Raises
    ------
    ParameterError
        When the variable is not set or holds no address; the message does not show what it holds.
    """
    if not text.startswith(_VARIABLE):
        return Address(text) if is_address(text) else Path(text)
    name = text.removeprefix(_VARIABLE)
    address = os.environ.get(name)
    if address is None:
        raise ParameterError(
            f"{quoted(text)}: the environment variable {quoted(name)} is not set; for a file of this name "
            f"write ./{text}"
        )
    if not is_address(address):
        raise ParameterError(
            f"{quoted(text)}: the environment variable {quoted(name)} holds no address of a database; it "
            f"begins with {either(BEGINNINGS)}"
        )
    return Address(address)


def data_name(data: Path | Address) -> str:
    """Return a path or an address as text."""
    return str(data) if isinstance(data, Path) else data.url


def names_of(text: str | None) -> list[str]:
    """Split a comma-separated list of names."""
    return [] if text is None else [name.strip() for name in text.split(",") if name.strip()]


def levels_of(text: str | None) -> dict[str, int]:
    """Parse levels by column, such as ``a=2,b=0``.

    Raises
    ------
    ParameterError
        When a level is no whole number of at least 0.
    """
    levels: dict[str, int] = {}
    for part in names_of(text):
        name, equals, level = part.rpartition("=")
        if not equals or not re.fullmatch(r"\s*[0-9]{1,9}\s*", level):
            raise ParameterError(
                f"--levels: write column=level with whole numbers from 0, not {quoted(part)}"
            )
        levels[name.strip()] = int(level)
    return levels


def algorithms_of(text: str) -> list[Algorithm]:
    """Parse algorithms such as ``a,b:x=1,y=2,c``, or ``all`` for all without required parameters.

    Raises
    ------
    PolicyError, ParameterError
    """
    if text.strip() == "all":
        return [entry() for entry in ALGORITHMS if not entry.needed()]
    parts: list[str] = []
    for part in names_of(text):
        # A part that names no algorithm is a parameter of the algorithm before.
        if parts and "=" in part and part.partition(":")[0] not in ALGORITHMS:
            parts[-1] += "," + part
        else:
            parts.append(part)
    return [ALGORITHMS.parse(part) for part in parts]


def numbers_of(text: str | None, option: str, kind: type[int] | type[float] = int) -> list[Any]:
    """Parse numbers such as ``4,8,16``.

    Raises
    ------
    ParameterError
        When a part is no number.
    """
    try:
        return [kind(part) for part in names_of(text)]
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise ParameterError(f"{option}: write {what} with commas between, not {quoted(text)}") from None
