"""Recipes that become a hierarchy when they meet the distinct values of a column."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

from incrowd.errors import (
    HierarchyError,
    ParameterError,
    did_you_mean,
    null_values_setting,
    quoted,
    read_as_labels,
    setting,
)
from incrowd.hierarchy.tree import Hierarchy
from incrowd.parameters import check_fields, parameter, text_parts

ROOT = "*"
_PREFIXES = 500_000_000
"""Characters of all groups of prefixes up to which they are made; some gigabytes at most."""

DATE_LEVELS = ("month", "quarter", "year", "decade")

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].+)?")
_ISO_DAY = len("2020-02-29")


class Builder(ABC):
    """A recipe for the hierarchy of a column, independent of its values.

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
        """Make the hierarchy of the distinct values of a column; their order does not matter.

        Raises
        ------
        HierarchyError
            When the recipe does not suit the values; the message counts them and does not repeat them.
        """

    def taken(self, known: Sequence[str], texts: Sequence[str]) -> list[str]:
        """Return the texts that can join known values, which keep their groups.

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
        """Return the recipe as a policy file holds it, e.g. ``{"intervals": [5, 10]}``."""
        return {self.name: True}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Builder:
        """Read the result of `spec`; a recipe without settings is ``true``."""
        _extra(spec, (cls.name,))
        if spec[cls.name] is not True:
            raise ParameterError(f"hierarchy {cls.name}: write {cls.name} = true")
        return cls()


def _group(label: str) -> str:
    """Keep a spreadsheet from running a label that we make as a formula."""
    if label[:1] in "=+-@\t\r" and not _NUMBER.fullmatch(label):
        return "'" + label
    return label


def _unsuitable(column: str, wrong: int, total: int, what: str) -> HierarchyError:
    return HierarchyError(
        f"column {column!r}: {wrong} of {total} distinct values are no {what}; name those that mean missing "
        f"with {null_values_setting()}, or use another hierarchy"
    )


def _tree(paths: Iterable[Sequence[str]], column: str, recipe: str) -> Hierarchy:
    """Make the tree of a recipe; errors do not quote the values of the column."""
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


def _extra(spec: Mapping[str, Any], allowed: Sequence[str]) -> None:
    unknown = [key for key in spec if key not in allowed]
    if unknown:
        raise ParameterError(
            f"hierarchy: unknown setting {unknown[0]!r}; {allowed[0]} takes {list(allowed)}"
            + did_you_mean(unknown[0], allowed)
        )


def _number(value: object, what: str) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"hierarchy {what} must be a number, got {quoted(value)}")
    try:
        # The shortest decimal of a float is what the user wrote: 0.1 is a tenth.
        return Fraction(str(value))
    except ValueError:
        raise ParameterError(f"hierarchy {what} must be finite, got {quoted(value)}") from None


def _decimal(value: Fraction) -> str:
    # Exact, as two bins must not share a label: everything here is a sum of decimals.
    places = 0
    while 10**places % value.denominator:
        places += 1
    digits = str(abs(value.numerator) * (10**places // value.denominator)).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return "-" + text if value < 0 else text


def _is_number(text: str) -> bool:
    # Exact arithmetic on 1e999999999 would never end; no table holds such a number.
    match = _NUMBER.fullmatch(text)
    return match is not None and len(text) <= 400 and (match[2] is None or abs(int(match[2][1:])) <= 400)


def _bin(start: Fraction, end: Fraction, *, whole: bool) -> str:
    """Label the numbers from start up to, and without, end."""
    if not whole:
        return f"[{_decimal(start)}, {_decimal(end)})"
    return f"[{start}-{end - 1}]" if end - start > 1 else f"[{start}]"


class _Numbers(Builder):
    """A recipe for numbers: the bins of a number hang on it, and on whether all numbers are whole."""

    ordered: ClassVar[bool] = True

    @abstractmethod
    def _settings(self) -> list[Fraction]:
        """Return the numbers of the recipe; bins are labelled by whole numbers only if these are whole."""

    @abstractmethod
    def _bins(self, number: Fraction, *, whole: bool) -> list[str]:
        """Return the labels of the bins of a number, from the narrowest to the widest."""

    def build(self, values: Sequence[str], column: str) -> Hierarchy:
        """Put every number into its bins."""
        wrong = sum(1 for value in values if not _is_number(value))
        if wrong:
            raise _unsuitable(column, wrong, len(values), "numbers")
        numbers = sorted((Fraction(value), value) for value in values)
        whole = self._whole(number for number, _ in numbers)
        paths = [[value, *self._bins(number, whole=whole), ROOT] for number, value in numbers]
        return _tree(paths, column, self.name)

    def _whole(self, numbers: Iterable[Fraction]) -> bool:
        """Say whether bins are labelled by whole numbers."""
        return all(number.denominator == 1 for number in (*self._settings(), *numbers))

    def taken(self, known: Sequence[str], texts: Sequence[str]) -> list[str]:
        """Return the numbers; where bins such as ``[20-24]`` are whole, only whole numbers."""
        whole = self._whole(map(Fraction, known))
        return [text for text in texts if _is_number(text) and not (whole and Fraction(text).denominator > 1)]


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
        _number(self.origin, "intervals: origin")
        previous: Fraction | None = None
        for width in self.widths:
            exact = _number(width, "intervals: a width")
            if exact <= 0:
                raise ParameterError(f"hierarchy intervals: widths must be above 0, got {width!r}")
            if previous is not None and ((exact / previous).denominator != 1 or exact == previous):
                raise ParameterError(
                    f"hierarchy intervals: width {width!r} is no multiple of the one before; bins must nest"
                )
            previous = exact

    def _settings(self) -> list[Fraction]:
        widths = [_number(width, "intervals: a width") for width in self.widths]
        return [*widths, _number(self.origin, "intervals: origin")]

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
        _extra(spec, ("intervals", "origin"))
        widths = spec["intervals"]
        if not isinstance(widths, list | tuple):
            raise ParameterError("hierarchy intervals: give a list of widths, e.g. [5, 10, 20]")
        return cls(tuple(widths), spec.get("origin", 0))


@dataclass(frozen=True)
class Bands(_Numbers):
    """Bands of numbers between given cuts, each of its own width, then ``*``.

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
        return [_number(cut, "bands: a cut") for cut in self.cuts]

    def _bins(self, number: Fraction, *, whole: bool) -> list[str]:
        cuts = self._settings()
        place = bisect_right(cuts, number)
        if place == 0:
            return [f"<{_decimal(cuts[0])}"]
        if place == len(cuts):
            return [f">={_decimal(cuts[-1])}"]
        return [_bin(cuts[place - 1], cuts[place], whole=whole)]

    def spec(self) -> dict[str, Any]:
        """Return ``{"bands": [...]}``."""
        return {"bands": list(self.cuts)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Bands:
        """Read the result of `spec`."""
        _extra(spec, ("bands",))
        cuts = spec["bands"]
        if not isinstance(cuts, list | tuple):
            raise ParameterError("hierarchy bands: give a list of cuts, e.g. [18, 30, 45, 65]")
        return cls(tuple(cuts))


@dataclass(frozen=True)
class Prefix(Builder):
    """Mask texts from the right, one character a level: ``47677``, ``4767*``, ``476**``, ... ``*``.

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
        labels, parents = _masked(texts, longest)
        if len(set(labels)) == len(labels) > 1 and "" not in labels:
            return Hierarchy(labels, parents)
        # Something is wrong with the values, or a value is there twice.
        paths = []
        for value in texts:
            masked = (_mask(value, kept, longest) for kept in range(longest - 1, 0, -1))
            paths.append([value, *masked, ROOT])
        return _tree(paths, column, self.name)

    def taken(self, known: Sequence[str], texts: Sequence[str]) -> list[str]:
        """Return the texts that are no longer than the longest known one, and hold no ``*``."""
        longest = max(map(len, known))
        return [text for text in texts if 0 < len(text) <= longest and ROOT not in text]


def _mask(value: str, kept: int, longest: int) -> str:
    return _group(value[:kept] + "*" * (longest - kept))


def _masked(texts: Sequence[str], longest: int) -> tuple[list[str], list[int]]:
    """Make the nodes of sorted texts and their masks in depth-first order: labels and parents.

    What a text has in common with the one before is there already. Most of a long text is, so not all masks
    of all texts are made.
    """
    labels, parents = [ROOT], [-1]
    # The nodes from the root down to the text before.
    way = [0] * (longest + 1)
    before: str | None = None
    for text in texts:
        kept = 0
        while before is not None and kept < longest - 1 and before[kept : kept + 1] == text[kept : kept + 1]:
            kept += 1
        for depth in range(kept + 1, longest + 1):
            parents.append(way[depth - 1])
            way[depth] = len(labels)
            labels.append(text if depth == longest else _mask(text, depth, longest))
        before = text
    return labels, parents


def _day(text: str) -> dt.date | None:
    """Read the day of a date with or without a time; None where the text is none."""
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
        known = [level for level in DATE_LEVELS if level in self.levels]
        if not self.levels or tuple(known) != tuple(self.levels):
            raise ParameterError(
                f"hierarchy dates: levels must be some of {', '.join(DATE_LEVELS)}, in this order"
            )

    def build(self, values: Sequence[str], column: str) -> Hierarchy:
        """Put every date into its month, quarter, year and decade."""
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
        """Return the dates; those with a time of day only where a known one has a time, too."""
        longest = max(map(len, known))
        return [text for text in texts if _day(text) and (len(text) <= _ISO_DAY or longest > _ISO_DAY)]

    def spec(self) -> dict[str, Any]:
        """Return ``{"dates": [...]}``."""
        return {"dates": list(self.levels)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Dates:
        """Read the result of `spec`; ``{"dates": true}`` means all levels."""
        _extra(spec, ("dates",))
        levels = spec["dates"]
        if levels is True:
            return cls()
        if not isinstance(levels, list | tuple):
            raise ParameterError(f"hierarchy dates: give a list of {', '.join(DATE_LEVELS)}")
        return cls(tuple(levels))


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
        """Group the given order; values of the column that are not in it are refused."""
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
        _extra(spec, ("order", "fanout"))
        values = spec["order"]
        if not isinstance(values, list | tuple):
            raise ParameterError("hierarchy order: give the values as a list of texts")
        return cls(tuple(values), spec.get("fanout", 2))


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
    named = [name for name in BUILDERS if name in spec]
    if len(named) != 1:
        near = "".join(did_you_mean(name, BUILDERS) for name in list(spec)[:1] if not named)
        raise ParameterError(f"hierarchy: name one of {', '.join(BUILDERS)}, got {sorted(spec)}{near}")
    return BUILDERS[named[0]].from_spec(spec)


def builders_of_texts(texts: Iterable[str]) -> dict[str, Builder]:
    """Read ``COLUMN=RECIPE:SETTINGS`` as the command line has it, by column; see `builder_from_spec`.

    Raises
    ------
    ParameterError
        When one is not written so, or a column has two.

    Examples
    --------
    >>> builders_of_texts(["zip=prefix", "age=intervals:5,10,origin=18"])
    {'zip': Prefix(), 'age': Intervals(widths=(5, 10), origin=18)}
    """
    found: dict[str, Builder] = {}
    where = setting("hierarchies", "--hierarchy")
    for text in texts:
        column, equals, recipe = text.partition("=")
        name, _, rest = recipe.partition(":")
        if not (equals and column and name):
            raise ParameterError(
                f"{where} {quoted(text)}: write COLUMN=RECIPE, as zip=prefix or age=intervals:5,10,20"
            )
        if column in found:
            raise ParameterError(f"{where}: column {column!r} has two recipes; give it one")
        listed: list[Any] = []
        settings: dict[str, Any] = {}
        try:
            for key, value in text_parts(rest, f"hierarchy {name}") if rest else ():
                # Only values that are listed in an order are texts whatever they look like.
                read = value if key is None and name == Order.name else _plain(value)
                listed.append(read) if key is None else settings.update({key: read})
            found[column] = builder_from_spec({name: listed or True} | settings)
        except ParameterError as error:
            raise ParameterError(f"column {column!r}: {error}") from None
    return found


def _plain(text: str) -> int | float | str:
    """Read a number; another text stays a text, which the recipe refuses or takes."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text
