"""Parsers for values of command line options."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import ParameterError, quoted, setting
from incrowd.core.parameters import text_parts
from incrowd.engines.dialects.addresses import BEGINNINGS, Address, either, is_address
from incrowd.search import ALGORITHMS, Algorithm

if TYPE_CHECKING:
    from incrowd.core.hierarchy import Builder

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


def builders_of_texts(texts: Iterable[str]) -> dict[str, Builder]:
    """Read command-line recipes ``COLUMN=RECIPE:SETTINGS`` by column; see `builder_from_spec`.

    Raises
    ------
    ParameterError
        When one is not written so, or a column has two.

    Examples
    --------
    >>> builders_of_texts(["zip=prefix", "age=intervals:5,10,origin=18"])
    {'zip': Prefix(), 'age': Intervals(widths=(5, 10), origin=18)}
    """
    from incrowd.core.hierarchy.builders import Order, builder_from_spec

    builders: dict[str, Builder] = {}
    where = setting("hierarchies", "--hierarchy")
    for text in texts:
        column, equals, recipe = text.partition("=")
        name, _, rest = recipe.partition(":")
        if not (equals and column and name):
            raise ParameterError(
                f"{where} {quoted(text)}: write COLUMN=RECIPE, as zip=prefix or age=intervals:5,10,20"
            )
        if column in builders:
            raise ParameterError(f"{where}: column {column!r} has two recipes; give it one")
        listed: list[Any] = []
        settings: dict[str, Any] = {}
        try:
            for key, value in text_parts(rest, f"hierarchy {name}") if rest else ():
                # Only values that are listed in an order are texts whatever they look like.
                read = value if key is None and name == Order.name else _number_or_text(value)
                listed.append(read) if key is None else settings.update({key: read})
            builders[column] = builder_from_spec({name: listed or True} | settings)
        except ParameterError as error:
            raise ParameterError(f"column {column!r}: {error}") from None
    return builders


def _number_or_text(text: str) -> int | float | str:
    """Read a number, or return another text as is."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text
