"""Values of a raw column, and the labels above in a hierarchy."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

STAR = "*"
PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
WRITTEN_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
MOMENT = rf"{DAY}(?:[T ][0-9:.]+)?"

Raw = None | bool | int | float | Decimal | dt.date | str
Key = None | str | Fraction


def _power_below(number: Fraction) -> Fraction:
    """The power of ten at or below a number above 0, such as 100 for 250."""
    power = Fraction(1)
    while power * 10 <= number:
        power *= 10
    while power > number:
        power /= 10
    return power


@dataclass(frozen=True)
class Spelling:
    """How a column writes dates (`format`) or numbers."""

    format: str | None = None
    decimal: str | None = None
    thousands: str | None = None

    def plain(self, text: str) -> str | None:
        """A text in the released form, or None without a meaning."""
        if self.format is not None:
            return _day_written(text.strip(), self.format)
        point = "," if self.thousands == "." else "."
        return _number_written(text.strip(), self.decimal or point, self.thousands)


@dataclass(frozen=True)
class Spec:
    """A policy's settings of a column."""

    name: str
    role: str
    kind: str = "auto"
    recipe: dict[str, Any] | None = None
    paths: tuple[tuple[str, ...], ...] | None = None
    output: str = "auto"
    spelling: Spelling | None = None
    ends: str = "exact"
    grid: float | str | None = None
    missing: tuple[str, ...] = ()


@dataclass
class Column:
    """A column of the raw table in the reading of the definitions.

    `keys` are the values, equal where the definitions call them equal; None is the missing value.
    `of_people` is for a population, whose column has no cells of its own: it reads cells of every style. Equal
    numbers are one value there if `by_number` says so, else letters decide.
    `paths` has the labels above each key of a column with a hierarchy, the leaf first and the root last.
    """

    spec: Spec
    kind: str
    keys: list[Key]
    texts: list[str | None]
    numbers: dict[Key, Fraction]
    paths: dict[Key, tuple[str, ...]] | None
    leaves: list[tuple[str, ...]] = field(default_factory=list)
    floats: bool = False
    of_people: bool = False
    by_number: bool = False
    extremes: tuple[Fraction, Fraction] | None = None

    @property
    def grid(self) -> float | str | None:
        """Where ends of ranges and means lie: a width, ``digits``, ``fives``, or a part of the calendar; None for anywhere."""
        if (
            self.spec.ends == "exact"
            or not self.ordered
            or self.style not in ("range", "mean")
            or not self.extremes
        ):
            return None
        if self.spec.grid is not None:
            return self.spec.grid
        if self.kind == "date":
            return "month"
        years = self.extremes[0] >= 1800 and self.extremes[1] <= 2199
        wide = self.extremes[1] - self.extremes[0] >= 20
        if years and all(number.denominator == 1 for number in self.numbers.values()):
            return 5 if wide else 1
        spread = self.extremes[1] - self.extremes[0]
        if not years and 0 < spread < 2 * _power_below(max(map(abs, self.extremes))) / 10:
            # The leading digits of all values are the same, so the digits of their spread count.
            step = _power_below(spread) / 10
            return float(max(step, Fraction(5)) if wide else step)
        return "fives" if wide else "digits"

    @property
    def ordered(self) -> bool:
        return self.kind != "category" and self.paths is None

    @property
    def lists_few(self) -> bool:
        """Whether a class below the root alone may list the values, because some values are in groups."""
        if self.style != "ancestor" or self.spec.output != "auto" or self.kind != "category":
            return False
        return len({len(path) > 2 for path in self.leaves}) == 2

    @property
    def style(self) -> str:
        output = self.spec.output
        if output in ("set", "mean", "suppress"):
            return output
        if output == "range" and self.ordered:
            return "range"
        if self.paths is not None:
            return "ancestor"
        return "range" if self.ordered else "set"


# --- reading values ---------------------------------------------------------------------------------


def text_of(raw: Raw) -> str | None:
    """Write a value as releases do; a float is compared as a number only."""
    match raw:
        case None:
            return None
        case bool():
            return "true" if raw else "false"
        case float():
            if math.isnan(raw):
                return None
            if math.isinf(raw):
                return repr(raw)
            if raw == int(raw) and abs(raw) < 1e16:
                return str(int(raw))
            return re.sub(r"e-0+", "e-", repr(raw))
        case dt.datetime():
            return raw.isoformat()
        case dt.date():
            return raw.isoformat()
    return str(raw)


def number_in(text: str) -> Fraction | None:
    return Fraction(text) if re.fullmatch(WRITTEN_NUMBER, text) else None


def moment_in(text: str) -> Fraction | None:
    """Days since the year 0, of a date with or without a time."""
    if not re.fullmatch(MOMENT, text):
        return None
    try:
        day = Fraction(dt.date.fromisoformat(text[:10]).toordinal())
    except ValueError:
        return None
    if len(text) == 10:
        return day
    parts = text[11:].split(":")
    try:
        hours, minutes, seconds = Fraction(parts[0]), Fraction(parts[1]), Fraction(parts[2])
    except (IndexError, ValueError):
        return None
    return day + (hours * 3600 + minutes * 60 + seconds) / 86400


def is_missing(raw: Raw, null_values: Sequence[str]) -> bool:
    """The same meaning in every type: the text of a null value, or the written number, day or time."""
    if raw is None or (isinstance(raw, float) and math.isnan(raw)):
        return True
    text = repr(raw) if isinstance(raw, float) else text_of(raw)
    assert text is not None
    if text in null_values:
        return True
    number, moment = _null_number(text), moment_in(text)
    if isinstance(raw, bool):
        return False
    return any(
        (number is not None and number == _null_number(value))
        or (moment is not None and moment == moment_in(value))
        for value in null_values
    )


def _null_number(text: str) -> Fraction | None:
    plain = re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?", text)
    return Fraction(text) if plain else None


def _kind(spec: Spec, raws: Sequence[Raw]) -> str:
    if spec.kind != "auto":
        return spec.kind
    if not raws:
        return "category"
    if all(isinstance(raw, str) for raw in raws):
        if all(PLAIN_NUMBER.fullmatch(raw) for raw in raws):
            return "number"
        days = all(re.fullmatch(DAY, raw) and moment_in(raw) is not None for raw in raws)
        return "date" if days else "category"
    if all(isinstance(raw, bool) for raw in raws):
        return "category"
    return "date" if isinstance(raws[0], dt.date) else "number"


def _number(raw: Raw, kind: str) -> Fraction:
    if isinstance(raw, dt.date):
        result = moment_in(raw.isoformat())
    elif isinstance(raw, str):
        result = moment_in(raw) if kind == "date" else number_in(raw)
    else:
        result = Fraction(raw)  # type: ignore[arg-type]
    assert result is not None, "the policy should have been refused"
    return result


def read_column(spec: Spec, raws: Sequence[Raw], null_values: Sequence[str], live: Sequence[bool]) -> Column:
    """Read a column, where rows that are not live do not matter."""
    null_values = [*null_values, *spec.missing]
    if spec.spelling is not None:
        spec, raws = _plainly(spec, raws, null_values, live)
    present = [
        raw for raw, alive in zip(raws, live, strict=True) if alive and not is_missing(raw, null_values)
    ]
    kind = _kind(spec, present)
    hierarchy = spec.recipe is not None or spec.paths is not None
    if hierarchy and spec.role == "quasi" and spec.output in ("range", "mean"):
        by_numbers = spec.recipe is not None and bool({"intervals", "bands", "dates"} & spec.recipe.keys())
        if spec.kind in ("number", "date") or (by_numbers and kind != "category"):
            hierarchy = False
        else:
            kind = "category"
    keys: list[Key] = []
    numbers: dict[Key, Fraction] = {}
    raws = _days(raws, null_values)
    for raw in raws:
        if is_missing(raw, null_values):
            keys.append(None)
            continue
        if kind == "category":
            key: Key = text_of(raw)
        else:
            try:
                number = _number(raw, kind)
            except (AssertionError, ValueError, OverflowError):
                key = text_of(raw)
            else:
                key = text_of(raw) if hierarchy or (isinstance(raw, str) and kind == "date") else number
                numbers[key] = number
        keys.append(key)
    floats = any(isinstance(raw, float) for raw in raws)
    column = Column(spec, kind, keys, [text_of(raw) for raw in raws], numbers, None, floats=floats)
    shaped = [numbers[key] for key, alive in zip(keys, live, strict=True) if alive and key in numbers]
    column.extremes = (min(shaped), max(shaped)) if shaped else None
    if hierarchy:
        shaping = {key for key, alive in zip(keys, live, strict=True) if alive and key is not None}
        column.paths, column.leaves = _paths(spec, {str(key) for key in shaping})
    return column


def read_population(
    spec: Spec, raws: Sequence[Raw], null_values: Sequence[str], everywhere: Sequence[bool]
) -> Column:
    """Read a column of a population under the hierarchy, for any style of cells.

    Its values say whether it is a column of numbers, unless it follows a hierarchy or is declared a category.
    Ranges of numbers are true of numbers in any column that is not declared a category.
    """
    population_spec = replace(spec, output="auto", kind="category" if spec.kind == "category" else "auto")
    column = read_column(population_spec, raws, null_values, everywhere)
    column.of_people = True
    bare = read_column(replace(population_spec, recipe=None, paths=None), raws, null_values, everywhere)
    ranged = spec.recipe is not None and bool({"intervals", "bands", "dates"} & spec.recipe.keys())
    ranged = spec.output in ("range", "mean") and (ranged or spec.kind in ("number", "date"))
    follows = (spec.recipe is not None or spec.paths is not None) and not ranged
    column.by_number = bare.kind == "number" and not follows
    if column.kind == "category" and spec.kind != "category":
        texts = {key for key in column.keys if isinstance(key, str) and PLAIN_NUMBER.fullmatch(key)}
        column.numbers = {text: Fraction(text) for text in texts}
    return column


def _days(raws: Sequence[Raw], null_values: Sequence[str]) -> list[Raw]:
    """Times that are all midnight are days."""
    times = [raw for raw in raws if isinstance(raw, dt.datetime) and not is_missing(raw, null_values)]
    if not times or any(raw.time() != dt.time() for raw in times):
        return list(raws)
    return [
        raw.date() if isinstance(raw, dt.datetime) and not is_missing(raw, null_values) else raw
        for raw in raws
    ]


# --- spellings ----------------------------------------------------------------------------------------

UNITS = ("$", "€", "£", "¥", "₹", "EUR", "USD", "GBP", "CHF", "TL", "%", "‰")
BLANKS = " \u00a0\u202f"
TIMED = set("HIMSfp")


def _day_written(text: str, pattern: str) -> str | None:
    try:
        read = dt.datetime.strptime(text, pattern)
    except ValueError:
        return None
    timed = any(mark == "%" and letter in TIMED for mark, letter in zip(pattern, pattern[1:], strict=False))
    if not timed:
        return read.date().isoformat()
    whole = read.replace(microsecond=0).isoformat()
    return whole + (f".{read.microsecond:06d}".rstrip("0") if read.microsecond else "")


def _number_written(text: str, point: str, mark: str | None) -> str | None:
    """Take sign, unit and marks away in turn, until only digits may remain."""
    minus = text[:1] in ("-", "\u2212")
    rest = text[1:] if minus or text[:1] == "+" else text
    for unit in UNITS:
        if rest.startswith(unit):
            rest = _without_blank(rest[len(unit) :], 0)
            break
        if rest.endswith(unit):
            rest = _without_blank(rest[: -len(unit)], -1)
            break
    whole, sign, part = rest.partition(point)
    if sign and not _digits(part):
        return None
    marks = {None: "", " ": BLANKS, "'": "'\u2019"}.get(mark, mark or "")
    groups = [""]
    for letter in whole:
        if letter in marks:
            groups.append("")
        else:
            groups[-1] += letter
    if not all(map(_digits, groups)):
        return None
    if len(groups) > 1 and (len(groups[0]) > 3 or any(len(group) != 3 for group in groups[1:])):
        return None
    value = Fraction("".join(groups)) + (Fraction(int(part), 10 ** len(part)) if part else 0)
    result = str(value.numerator) if value.denominator == 1 else _decimal(value)
    return f"-{result}" if minus and value else result


def _digits(text: str) -> bool:
    return text != "" and all(letter in "0123456789" for letter in text)


def _without_blank(text: str, place: int) -> str:
    if text and text[place] in BLANKS:
        return text[1:] if place == 0 else text[:-1]
    return text


def _plainly(
    spec: Spec, raws: Sequence[Raw], null_values: Sequence[str], live: Sequence[bool]
) -> tuple[Spec, list[Raw]]:
    """Write the values of a spelled column plainly, but leave null values unchanged."""
    spelling = spec.spelling
    assert spelling is not None
    # Beside a missing value, pandas has whole numbers as floats.
    whole = all(raw is None or isinstance(raw, int | float) for raw in raws)
    if not (all(raw is None or isinstance(raw, str) for raw in raws) or (whole and spelling.format)):
        return spec, list(raws)
    result: list[Raw] = []
    for raw in raws:
        plain = None if is_missing(raw, null_values) else spelling.plain(text_of(raw) or "")
        result.append(raw if plain is None else plain)
    read = [
        value
        for value, raw, alive in zip(result, raws, live, strict=True)
        if alive and not is_missing(raw, null_values)
    ]
    if read and all(isinstance(value, str) and value.endswith("T00:00:00") for value in read):
        result = [
            value[:10] if isinstance(value, str) and value[10:] == "T00:00:00" else value for value in result
        ]
    kind = spec.kind if spec.kind != "auto" else "date" if spelling.format else "number"
    return replace(spec, kind=kind, spelling=None), result


# --- hierarchies ------------------------------------------------------------------------------------


def _paths(spec: Spec, texts: set[str]) -> tuple[dict[Key, tuple[str, ...]], list[tuple[str, ...]]]:
    if spec.paths is not None:
        return {path[0]: path for path in spec.paths}, list(spec.paths)
    assert spec.recipe is not None
    recipe = spec.recipe
    if "intervals" in recipe:
        paths = _intervals(texts, recipe["intervals"], recipe.get("origin", 0))
    elif "bands" in recipe:
        paths = _bands(texts, recipe["bands"])
    elif "prefix" in recipe:
        longest = max(map(len, texts), default=0)
        paths = {
            text: (
                text,
                *(_guarded(text[:n] + STAR * (longest - n)) for n in range(longest - 1, 0, -1)),
                STAR,
            )
            for text in texts
        }
    elif "dates" in recipe:
        paths = _calendar(texts, recipe["dates"])
    elif "order" in recipe:
        paths = _neighbours(recipe["order"], recipe.get("fanout", 2))
    else:
        paths = {text: (text, STAR) for text in texts}
    return dict(paths), list(paths.values())


def paths_with(known: Column, keys: Iterable[Key]) -> dict[Key, tuple[str, ...]]:
    """The labels above known values, and above other values if the recipe keeps the known labels."""
    assert known.paths is not None
    result = dict(known.paths)
    if known.spec.recipe is None or "order" in known.spec.recipe:
        return result
    texts = {str(key) for key in known.paths}
    for key in keys:
        if key is None or key in result or not texts:
            continue
        try:
            paths, _ = _paths(known.spec, {*texts, str(key)})
        except ValueError:
            continue
        if all(paths[text] == known.paths[text] for text in texts):
            result[key] = paths[key]
    return result


def _guarded(label: str) -> str:
    return (
        "'" + label
        if label[:1] in "=+-@\t\r" and not re.fullmatch(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", label)
        else label
    )


def _bands(texts: Iterable[str], cuts: Sequence[float]) -> dict[str, tuple[str, ...]]:
    exact = [Fraction(str(cut)) for cut in cuts]
    numbers = {text: Fraction(text) for text in texts}
    whole = all(x.denominator == 1 for x in (*exact, *numbers.values()))
    paths = {}
    for text, number in numbers.items():
        below, above = [cut for cut in exact if cut <= number], [cut for cut in exact if cut > number]
        if not below:
            label = f"<{_decimal(above[0])}"
        elif not above:
            label = f">={_decimal(below[-1])}"
        elif whole:
            low, high = below[-1], above[0] - 1
            label = f"[{low}-{high}]" if low < high else f"[{low}]"
        else:
            label = f"[{_decimal(below[-1])}, {_decimal(above[0])})"
        paths[text] = (text, label, STAR)
    return paths


def _intervals(texts: Iterable[str], widths: Sequence[float], origin: float) -> dict[str, tuple[str, ...]]:
    exact = [Fraction(str(width)) for width in widths]
    start = Fraction(str(origin))
    numbers = {text: Fraction(text) for text in texts}
    whole = all(x.denominator == 1 for x in (*exact, start, *numbers.values()))
    paths = {}
    for text, number in numbers.items():
        path = [text]
        for width in exact:
            low = start + math.floor((number - start) / width) * width
            if whole:
                path.append(f"[{low}-{low + width - 1}]" if width > 1 else f"[{low}]")
            else:
                path.append(f"[{_decimal(low)}, {_decimal(low + width)})")
        paths[text] = (*path, STAR)
    return paths


def _decimal(value: Fraction) -> str:
    digits = 0
    while (value * 10**digits).denominator > 1:
        digits += 1
    whole = abs(value.numerator) * 10**digits // value.denominator
    text = str(whole).rjust(digits + 1, "0")
    text = f"{text[:-digits]}.{text[-digits:]}" if digits else text
    return "-" + text if value < 0 else text


def _calendar(texts: Iterable[str], levels: Sequence[str]) -> dict[str, tuple[str, ...]]:
    timed = any(len(text) > 10 for text in texts)
    paths = {}
    for text in texts:
        year, month = text[:4], int(text[5:7])
        labels = {
            "month": text[:7], "quarter": f"{year}-Q{(month - 1) // 3 + 1}", "year": year, "decade": f"{year[:3]}0s",
        }  # fmt: skip
        paths[text] = (text, *([text[:10]] if timed else []), *(labels[level] for level in levels), STAR)
    return paths


def _neighbours(values: Sequence[str], fanout: int) -> dict[str, tuple[str, ...]]:
    paths = {value: [value] for value in values}
    groups = [[value] for value in values]
    while len(groups) > fanout:
        merged = []
        for start in range(0, len(groups), fanout):
            together = groups[start : start + fanout]
            group = [value for part in together for value in part]
            if len(together) > 1:
                for value in group:
                    paths[value].append(f"[{group[0]} - {group[-1]}]")
            merged.append(group)
        groups = merged
    return {value: (*path, STAR) for value, path in paths.items()}
