"""Recipes that build a hierarchy from the distinct values of a column."""

from __future__ import annotations

import datetime as dt
import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

from incrowd.core.documents import range_text
from incrowd.core.errors import (
    HierarchyError,
    ParameterError,
    did_you_mean,
    null_values_setting,
    quoted,
    read_as_labels,
)
from incrowd.core.hierarchy.tree import Hierarchy
from incrowd.core.parameters import check_fields, parameter

ROOT = "*"
_PREFIXES = 500_000_000
"""Characters of all groups of prefixes up to which they are made; some gigabytes at most."""

DATE_LEVELS = ("month", "quarter", "year", "decade")

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].+)?")
_ISO_DAY = len("2020-02-29")


class Builder(ABC):
    """A recipe for the hierarchy of a column, whatever the values are.

    Attributes
    ----------
    name
        Its name in a policy file.
    ordered
        Whether it is for numbers or dates.
    names_values
        Whether the recipe itself lists values of the column.
    """

    name: ClassVar[str]
    ordered: ClassVar[bool] = False
    names_values: ClassVar[bool] = False

    @abstractmethod
    def build(self, values: Sequence[str], column: str) -> Hierarchy:
        """Build the hierarchy of a column's distinct values, in any order.

        Raises
        ------
        HierarchyError
            When the recipe does not suit the values; the message counts them and does not repeat them.
        """

    def taken(self, known: Sequence[str], texts: Sequence[str]) -> list[str]:
        """Return the texts that can join known values without changing the groups.

        Parameters
        ----------
        known
            Values of which the recipe makes a hierarchy.
        texts
            Further texts, none of them known.
        """
        del known, texts
        return []

    def spec(self) -> dict[str, Any]:
        """Return the recipe as written in a policy file, such as ``{"intervals": [5, 10]}``."""
        return {self.name: True}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Builder:
        """Read the result of `spec`, which is ``true`` for a recipe without settings."""
        _check_settings(spec, (cls.name,))
        if spec[cls.name] is not True:
            raise ParameterError(f"hierarchy {cls.name}: write {cls.name} = true")
        return cls()


def _escape_formula(label: str) -> str:
    """Keep a spreadsheet from running a generated label as a formula."""
    return "'" + label if label[:1] in "=+-@\t\r" and not _NUMBER.fullmatch(label) else label


def _unsuitable(column: str, wrong: int, total: int, what: str) -> HierarchyError:
    return HierarchyError(
        f"column {column!r}: {wrong} of {total} distinct values are no {what}; name those that mean missing "
        f"with {null_values_setting()}, or use another hierarchy"
    )


def _tree(paths: Iterable[Sequence[str]], column: str, recipe: str) -> Hierarchy:
    """Build the tree of a recipe, with errors that do not quote values of the column."""
    listed = list(paths)
    try:
        if any(path[0] == ROOT for path in listed):
            raise HierarchyError("the root is no value")
        return Hierarchy.from_paths(listed)
    except HierarchyError:
        raise HierarchyError(
            f"column {column!r}: a value is empty, '*' or the same text as a group that the recipe "
            f"{recipe!r} makes; name those that mean missing with "
            f"{null_values_setting()}, or use another hierarchy"
        ) from None


def _check_settings(spec: Mapping[str, Any], allowed: Sequence[str]) -> None:
    unknown = [key for key in spec if key not in allowed]
    if unknown:
        raise ParameterError(
            f"hierarchy: unknown setting {unknown[0]!r}; {allowed[0]} takes {list(allowed)}"
            + did_you_mean(unknown[0], allowed)
        )


def _list_setting(spec: Mapping[str, Any], allowed: Sequence[str], request: str) -> tuple[Any, ...]:
    """Return the first setting, which must be a list, or raise with a request."""
    _check_settings(spec, allowed)
    entries = spec[allowed[0]]
    if not isinstance(entries, list | tuple):
        raise ParameterError(f"hierarchy {allowed[0]}: give {request}")
    return tuple(entries)


def _exact_number(value: object, what: str) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"hierarchy {what} must be a number, got {quoted(value)}")
    try:
        # The shortest decimal of a float is what the user wrote: 0.1 is a tenth.
        return Fraction(str(value))
    except ValueError:
        raise ParameterError(f"hierarchy {what} must be finite, got {quoted(value)}") from None


def _decimal(value: Fraction) -> str:
    # Exact, as two bins must not share a label: everything here is a sum of decimals.
    decimals = 0
    while 10**decimals % value.denominator:
        decimals += 1
    digits = str(abs(value.numerator) * (10**decimals // value.denominator)).rjust(decimals + 1, "0")
    text = f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits
    return "-" + text if value < 0 else text


def _is_number(text: str) -> bool:
    # Exact arithmetic on 1e999999999 would never end; no table holds such a number.
    match = _NUMBER.fullmatch(text)
    return match is not None and len(text) <= 400 and (match[2] is None or abs(int(match[2][1:])) <= 400)


def _bin(start: Fraction, end: Fraction, *, whole: bool) -> str:
    """Label the numbers from start up to, and without, end."""
    if not whole:
        return f"[{_decimal(start)}, {_decimal(end)})"
    return range_text(start, end - 1) if end - start > 1 else f"[{start}]"


class _Numbers(Builder):
    """Base of recipes for numbers, with bins that also depend on whether all numbers are whole."""

    ordered: ClassVar[bool] = True

    @abstractmethod
    def _settings(self) -> list[Fraction]:
        """Return the numbers of the recipe, which must be whole for bins of whole numbers."""

    @abstractmethod
    def _bins(self, number: Fraction, *, whole: bool) -> list[str]:
        """Return the labels of the bins of a number, from the narrowest to the widest."""

    def build(self, values: Sequence[str], column: str) -> Hierarchy:
        """Put every number into bins."""
        wrong = sum(1 for value in values if not _is_number(value))
        if wrong:
            raise _unsuitable(column, wrong, len(values), "numbers")
        numbers = sorted((Fraction(value), value) for value in values)
        integral = self._whole(number for number, _ in numbers)
        paths = [[value, *self._bins(number, whole=integral), ROOT] for number, value in numbers]
        return _tree(paths, column, self.name)

    def _whole(self, numbers: Iterable[Fraction]) -> bool:
        """Return whether bins are labelled by whole numbers."""
        return all(number.denominator == 1 for number in (*self._settings(), *numbers))

    def taken(self, known: Sequence[str], texts: Sequence[str]) -> list[str]:
        """Return the numbers, or only whole numbers if bins are whole, such as ``[20-24]``."""
        integral = self._whole(map(Fraction, known))
        numbers = [text for text in texts if _is_number(text)]
        return [text for text in numbers if not integral or Fraction(text).denominator == 1]


@dataclass(frozen=True)
class Intervals(_Numbers):
    """Nested bins for numbers.

    Example: the widths 5 and 10 put the value 23 into ``[20-24]``, then into ``[20-29]``, then into ``*``.

    Level i has the bins ``[origin + j w, origin + (j + 1) w)`` of width ``w = widths[i - 1]``. Above the
    widest bins comes ``*``. Bins are labelled ``[20-24]`` if all values, all widths and the origin are whole.
    Otherwise they are labelled ``[20, 22.5)``. Bins without values are left out.

    Parameters
    ----------
    widths
        Each a multiple of the one before, > 0.
    origin
        Where a bin begins.

    Raises
    ------
    ParameterError
        When the widths do not nest.
    """

    widths: tuple[float, ...]
    origin: float = 0
    name: ClassVar[str] = "intervals"

    def __post_init__(self) -> None:
        if not self.widths:
            raise ParameterError("hierarchy intervals: give at least one width")
        _exact_number(self.origin, "intervals: origin")
        previous: Fraction | None = None
        for width in self.widths:
            exact = _exact_number(width, "intervals: a width")
            if exact <= 0:
                raise ParameterError(f"hierarchy intervals: widths must be above 0, got {width!r}")
            if previous is not None and ((exact / previous).denominator != 1 or exact == previous):
                raise ParameterError(
                    f"hierarchy intervals: width {width!r} is no multiple of the one before; bins must nest"
                )
            previous = exact

    def _settings(self) -> list[Fraction]:
        widths = [_exact_number(width, "intervals: a width") for width in self.widths]
        return [*widths, _exact_number(self.origin, "intervals: origin")]

    def _bins(self, number: Fraction, *, whole: bool) -> list[str]:
        *widths, origin = self._settings()
        starts = ((origin + (number - origin) // width * width, width) for width in widths)
        return [_bin(start, start + width, whole=whole) for start, width in starts]

    def spec(self) -> dict[str, Any]:
        """Return ``{"intervals": [...], "origin": ...}``."""
        return {"intervals": list(self.widths), "origin": self.origin}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Intervals:
        """Read the result of `spec`."""
        widths = _list_setting(spec, ("intervals", "origin"), "a list of widths, e.g. [5, 10, 20]")
        return cls(widths, spec.get("origin", 0))


@dataclass(frozen=True)
class Bands(_Numbers):
    """Bands of numbers between cuts of any distance, then ``*``.

    Example: the cuts 18, 30, 45 and 65 make ``<18``, ``[18-29]``, ``[30-44]``, ``[45-64]`` and ``>=65``.

    A cut belongs to the band above it. Bands are labelled ``[18-29]`` if all values and all cuts are whole,
    otherwise ``[18, 30)``. Bands without values are left out.

    Parameters
    ----------
    cuts
        Where bands begin, in ascending order.

    Raises
    ------
    ParameterError
        When the cuts do not ascend.
    """

    cuts: tuple[float, ...]
    name: ClassVar[str] = "bands"

    def __post_init__(self) -> None:
        cuts = self._settings()
        if not cuts:
            raise ParameterError("hierarchy bands: give at least one cut")
        if any(low >= high for low, high in pairwise(cuts)):
            raise ParameterError("hierarchy bands: write the cuts in ascending order, each of them once")

    def _settings(self) -> list[Fraction]:
        return [_exact_number(cut, "bands: a cut") for cut in self.cuts]

    def _bins(self, number: Fraction, *, whole: bool) -> list[str]:
        cuts = self._settings()
        rank = bisect_right(cuts, number)
        if rank == 0:
            return [f"<{_decimal(cuts[0])}"]
        if rank == len(cuts):
            return [f">={_decimal(cuts[-1])}"]
        return [_bin(cuts[rank - 1], cuts[rank], whole=whole)]

    def spec(self) -> dict[str, Any]:
        """Return ``{"bands": [...]}``."""
        return {"bands": list(self.cuts)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Bands:
        """Read the result of `spec`."""
        return cls(_list_setting(spec, ("bands",), "a list of cuts, e.g. [18, 30, 45, 65]"))


@dataclass(frozen=True)
class Prefix(Builder):
    """Mask texts from the right, a character per level: ``47677``, ``4767*``, ``476**``, ... ``*``.

    Values shorter than the longest count as padded on the right with blanks that are not shown.
    """

    name: ClassVar[str] = "prefix"

    def build(self, values: Sequence[str], column: str) -> Hierarchy:
        """Mask every value."""
        longest = max((len(value) for value in values), default=0)
        # Every value has a group per character, each as long as the longest value.
        if len(values) * longest**2 > _PREFIXES:
            raise HierarchyError(
                f"column {column!r}: the texts are up to {longest:,} characters long, and the prefixes of "
                f"{len(values):,} distinct ones are too many; shorten the texts, or use another hierarchy"
            )
        # Compare as padded with what sorts before every other character.
        texts = sorted(values, key=lambda text: text.ljust(longest, "\0"))
        labels, parents = _masked_nodes(texts, longest)
        if len(set(labels)) == len(labels) > 1 and "" not in labels:
            return Hierarchy(labels, parents)
        # Something is wrong with the values, or a value is there twice.
        paths = []
        for value in texts:
            masked = (_mask(value, length, longest) for length in range(longest - 1, 0, -1))
            paths.append([value, *masked, ROOT])
        return _tree(paths, column, self.name)

    def taken(self, known: Sequence[str], texts: Sequence[str]) -> list[str]:
        """Return the texts without ``*`` that are no longer than the longest known text."""
        longest = max(map(len, known))
        return [text for text in texts if 0 < len(text) <= longest and ROOT not in text]


def _mask(value: str, length: int, longest: int) -> str:
    return _escape_formula(value[:length] + "*" * (longest - length))


def _masked_nodes(texts: Sequence[str], longest: int) -> tuple[list[str], list[int]]:
    """Return the labels and parents of sorted texts and of the masks, in depth-first order.

    Masks that a text shares with the text before are there already: after 47677, the text 47602 adds only
    4760* and itself.
    """
    labels, parents = [ROOT], [-1]
    # The nodes from the root down to the text before.
    way = [0] * (longest + 1)
    before: str | None = None
    for text in texts:
        common = 0
        while (
            before is not None
            and common < longest - 1
            and before[common : common + 1] == text[common : common + 1]
        ):
            common += 1
        for depth in range(common + 1, longest + 1):
            parents.append(way[depth - 1])
            way[depth] = len(labels)
            labels.append(text if depth == longest else _mask(text, depth, longest))
        before = text
    return labels, parents


def _day(text: str) -> dt.date | None:
    """Return the day of a date with or without a time, or None for another text."""
    try:
        day = dt.date.fromisoformat(text[:_ISO_DAY])
        if text[_ISO_DAY:]:
            dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return day if _DATE.fullmatch(text) else None


@dataclass(frozen=True)
class Dates(Builder):
    """Calendar levels for dates written ``YYYY-MM-DD``, with or without a time of day.

    The levels are the day (where any value has a time), ``2020-03``, ``2020-Q1``, ``2020``, ``2020s``
    and ``*``.

    Parameters
    ----------
    levels
        Some of ``month``, ``quarter``, ``year``, ``decade``, in this order.
    """

    levels: tuple[str, ...] = DATE_LEVELS
    name: ClassVar[str] = "dates"
    ordered: ClassVar[bool] = True

    def __post_init__(self) -> None:
        ordered = [level for level in DATE_LEVELS if level in self.levels]
        if not self.levels or tuple(ordered) != tuple(self.levels):
            raise ParameterError(
                f"hierarchy dates: levels must be some of {', '.join(DATE_LEVELS)}, in this order"
            )

    def build(self, values: Sequence[str], column: str) -> Hierarchy:
        """Put every date under a month, quarter, year and decade."""
        read = [(day, value) for value in values if (day := _day(value)) is not None]
        if len(read) < len(values):
            raise _unsuitable(column, len(values) - len(read), len(values), "dates written YYYY-MM-DD")
        timed = any(len(value) > _ISO_DAY for value in values)
        paths = []
        for day, value in sorted(read):
            iso = day.isoformat()  # four digits for the year, which %Y does not promise
            labels = {
                "month": iso[:7],
                "quarter": f"{iso[:4]}-Q{(day.month + 2) // 3}",
                "year": iso[:4],
                "decade": f"{iso[:3]}0s",
            }
            days = [iso] if timed else []
            paths.append([value, *days, *(labels[level] for level in self.levels), ROOT])
        return _tree(paths, column, self.name)

    def taken(self, known: Sequence[str], texts: Sequence[str]) -> list[str]:
        """Return the dates, including dates with a time of day if a known date has a time."""
        longest = max(map(len, known))
        return [text for text in texts if _day(text) and (len(text) <= _ISO_DAY or longest > _ISO_DAY)]

    def spec(self) -> dict[str, Any]:
        """Return ``{"dates": [...]}``."""
        return {"dates": list(self.levels)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Builder:
        """Read the result of `spec`, where ``{"dates": true}`` means all levels."""
        if spec["dates"] is True:
            return super().from_spec(spec)
        return cls(_list_setting(spec, ("dates",), f"a list of {', '.join(DATE_LEVELS)}"))


@dataclass(frozen=True)
class Order(Builder):
    """Groups of `fanout` neighbours in a given order, then groups of groups, up to ``*``.

    A group is labelled ``[first - last]``. A group with a single member is not made.

    Parameters
    ----------
    values
        The values in order; a column may have fewer.
    fanout
        How many go together, >= 2.
    """

    values: tuple[str, ...]
    fanout: int = parameter("how many neighbours go together", kind=int, default=2, low=2)
    name: ClassVar[str] = "order"
    names_values = True

    def __repr__(self) -> str:
        return f"Order({len(self.values):,} values, fanout={self.fanout})"

    def __post_init__(self) -> None:
        check_fields(self, "hierarchy order")
        if not self.values or not all(isinstance(value, str) for value in self.values):
            raise ParameterError("hierarchy order: give the values as a list of texts")
        if len(set(self.values)) < len(self.values):
            raise ParameterError("hierarchy order: a value is listed twice")

    def build(self, values: Sequence[str], column: str) -> Hierarchy:
        """Group the values in the given order, and raise for values of the column outside the order."""
        unknown = set(values).difference(self.values)
        if unknown:
            raise HierarchyError(
                f"column {column!r}: {len(unknown)} of {len(values)} distinct values are not in the given "
                "order; add them to it" + read_as_labels(self.values, unknown)
            )
        paths = [[value] for value in self.values]
        groups = [(i, i + 1) for i in range(len(paths))]
        while len(groups) > self.fanout:
            merged = []
            for start in range(0, len(groups), self.fanout):
                together = groups[start : start + self.fanout]
                first, last = together[0][0], together[-1][1]
                merged.append((first, last))
                if len(together) > 1:
                    label = f"[{self.values[first]} - {self.values[last - 1]}]"
                    for i in range(first, last):
                        paths[i].append(label)
            groups = merged
        return _tree(([*path, ROOT] for path in paths), column, self.name)

    def spec(self) -> dict[str, Any]:
        """Return ``{"order": [...], "fanout": ...}``."""
        return {"order": list(self.values), "fanout": self.fanout}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Order:
        """Read the result of `spec`."""
        values = _list_setting(spec, ("order", "fanout"), "the values as a list of texts")
        return cls(values, spec.get("fanout", 2))


@dataclass(frozen=True)
class Flat(Builder):
    """The value or ``*``."""

    name: ClassVar[str] = "flat"

    def build(self, values: Sequence[str], column: str) -> Hierarchy:
        """Put every value right under the root."""
        return _tree(([value, ROOT] for value in sorted(values)), column, self.name)

    def taken(self, known: Sequence[str], texts: Sequence[str]) -> list[str]:
        """Return all texts but ``*`` and none at all."""
        del known
        return [text for text in texts if text not in ("", ROOT)]


BUILDERS: dict[str, type[Builder]] = {
    builder.name: builder for builder in (Intervals, Bands, Prefix, Dates, Order, Flat)
}
"""Every recipe by its name in a policy file."""


def builder_from_spec(spec: Mapping[str, Any]) -> Builder:
    """Read a recipe from a policy file's table, e.g. ``{"intervals": [5, 10]}``.

    Raises
    ------
    ParameterError
        When it names no recipe, several, or a wrong setting.
    """
    names = [name for name in BUILDERS if name in spec]
    if len(names) != 1:
        near = "".join(did_you_mean(name, BUILDERS) for name in list(spec)[:1] if not names)
        raise ParameterError(f"hierarchy: name one of {', '.join(BUILDERS)}, got {sorted(spec)}{near}")
    return BUILDERS[names[0]].from_spec(spec)
