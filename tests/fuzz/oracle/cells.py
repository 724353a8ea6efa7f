"""The truth of a released cell, and the narrowest cell."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from fuzz.oracle.values import (
    MOMENT,
    PLAIN_NUMBER,
    STAR,
    WRITTEN_NUMBER,
    Column,
    Key,
    moment_in,
    number_in,
)  # fmt: skip


def parts_of_set(cell: str) -> list[str | None] | None:
    """Split ``{a, b}`` at commas, where a backslash keeps the next mark and ``<missing>`` is missing."""
    if not (cell.startswith("{") and cell.endswith("}")):
        return None
    parts, raw, inside = [""], [""], cell[1:-1]
    place = 0
    while place < len(inside):
        mark = inside[place]
        if mark == "\\":
            parts[-1] += inside[place + 1 : place + 2]
            raw[-1] += inside[place : place + 2]
            place += 2
        elif inside[place : place + 2] == ", ":
            parts.append("")
            raw.append("")
            place += 2
        else:
            parts[-1] += mark
            raw[-1] += mark
            place += 1
    return [None if written == "<missing>" else part for part, written in zip(parts, raw, strict=True)]


def pointed(cell: str | None) -> str | None:
    """Read a cell of numbers that has decimal commas: ``[1,5; 2)`` is ``[1.5, 2)``."""
    return cell and re.sub(r"(?<=[0-9]),(?=[0-9*])", ".", cell).replace("; ", ", ")


NOWHERE = Fraction(10**400)
"""Beyond all numbers and days: where an open range ends."""


def ends_of_range(cell: str, kind: str) -> tuple[Fraction, Fraction] | None:
    """Ends of ``[a-b]`` or ``[day to day]``, both included, or of a half-open range."""
    read = moment_in if kind == "date" else number_in
    one = MOMENT if kind == "date" else WRITTEN_NUMBER
    match = re.fullmatch(rf"\[({one}){' to ' if kind == 'date' else '-'}({one})\]", cell)
    if match is not None:
        low, high = read(match[1]), read(match[2])
        return None if low is None or high is None else (low, high)
    below, above = ("earlier", "later") if kind == "date" else ("less", "more")
    if match := re.fullmatch(rf"({one}) or ({below}|{above})", cell):
        end = read(match[1])
        return None if end is None else (end, NOWHERE) if match[2] == above else (-NOWHERE, end)
    return None


def on_grid(grid: float | str, number: Fraction, way: str) -> Fraction:
    """Round a number or a day to a grid: ``down``, ``up`` or ``near`` (to the nearest)."""
    if grid in ("day", "month", "year"):
        return _on_calendar(str(grid), number, way)
    if grid == "fives" and abs(number) <= 100:
        step = Fraction(5)
    elif grid in ("digits", "fives"):
        if not number:
            return number
        step = Fraction(10) ** (len(str(int(abs(number)))) - 2)
        while abs(number) < 10 * step:
            step /= 10
    else:
        step = Fraction(str(grid))
    steps = number / step
    return step * {"down": math.floor, "up": math.ceil, "near": round}[way](steps)


def _on_calendar(unit: str, number: Fraction, way: str) -> Fraction:
    day = dt.date.fromordinal(math.floor(number))
    first, last, one = day, day, dt.timedelta(days=1)
    if unit != "day":
        while first.day > 1 or (unit == "year" and first.month > 1):
            first -= one
        while last != dt.date.max and _part(last + one, unit) == _part(day, unit):
            last += one
    if way == "near":
        return Fraction(
            first.toordinal() if day - first <= last - day or last == dt.date.max else last.toordinal() + 1
        )
    return Fraction((first if way == "down" else last).toordinal())


def _part(day: dt.date, unit: str) -> tuple[int, int]:
    return day.year, day.month if unit == "month" else 0


def range_of(column: Column, numbers: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """Ends of the released range of several values, on the grid of the column."""
    assert column.grid is not None
    assert column.extremes is not None
    low, high = min(numbers), max(numbers)

    def end(number: Fraction, way: str) -> Fraction:
        # A double is written as 0.1, not as the binary number right above it.
        written = Fraction(repr(float(number))) if column.floats else number
        return on_grid(column.grid, written, way)

    return (
        -NOWHERE if low == column.extremes[0] else end(low, "down"),
        NOWHERE if high == column.extremes[1] else end(high, "up"),
    )


def same_value(column: Column, key: Key, cell: str) -> bool:
    """Say whether a cell is this very value."""
    if key is None:
        return False
    if isinstance(key, str) and cell == key:
        return True
    if (
        column.by_number
        and isinstance(key, str)
        and PLAIN_NUMBER.fullmatch(key)
        and PLAIN_NUMBER.fullmatch(cell)
    ):
        return Fraction(key) == Fraction(cell)
    by_letters = column.of_people and not column.by_number and column.kind != "date"
    if key in column.numbers and (column.paths is None or column.kind == "date") and not by_letters:
        written = moment_in(cell) if column.kind == "date" else number_in(cell)
        return written is not None and _about(written, key, column)
    return False


def _about(written: Fraction, key: Key, column: Column) -> bool:
    """A double is what reads back as the same double; everything else is compared exactly."""
    number = column.numbers[key]
    if written == number:
        return True
    try:
        return column.floats and float(written) == float(number)
    except OverflowError:
        return False


def covers(column: Column, key: Key, cell: str | None) -> bool:
    """Say whether a released cell is true of a value: the value, a label above, a range, a set or ``*``."""
    if cell == STAR:
        return True
    if key is None:
        if cell is None:
            return True
        root = column.leaves[0][-1] if column.leaves else None
        return (
            cell == root if column.paths is not None and cell == root else None in (parts_of_set(cell) or ())
        )
    if cell is None:
        return False
    if same_value(column, key, cell):
        return True
    if column.paths is not None:
        if cell in column.paths.get(key, ()):
            return True
        if any(cell in path[1:] for path in column.leaves):
            # What a hierarchy's label looks like, say ``[0-9]``, is of no matter: it means what is below it.
            return False
        if column.style != "set" and not column.of_people and not column.lists_few:
            return False
    if column.of_people and cell in column.texts:
        # A value that looks like a set or a range is itself alone.
        return False
    parts = parts_of_set(cell)
    if parts is not None and any(part is not None and same_value(column, key, part) for part in parts):
        return True
    if (column.ordered or column.of_people) and key in column.numbers:
        ends = ends_of_range(cell, column.kind)
        if ends is not None:
            low, high = ends
            if column.kind == "date" and low != high and high.denominator == 1 and not cell.endswith(":00]"):
                high += Fraction(86_399_999_999, 86_400_000_000)  # to the end of the day
            return low <= column.numbers[key] <= high or _about(low, key, column) or _about(high, key, column)
    return False


def narrowest(column: Column, keys: Sequence[Key], cell: str | None) -> str | None:
    """Say what is wrong with the cell of a class whose algorithm gives the narrowest one; None if nothing."""
    distinct = set(keys)
    style = column.style
    if len(distinct) == 1:
        key = next(iter(distinct))
        fits = cell is None if key is None else cell is not None and same_value(column, key, cell)
        return None if fits else "a class of one value does not show it"
    if style == "suppress":
        return None if cell == STAR else "several values and no *"
    if style == "mean":
        return _summary(column, keys, cell)
    if style == "set":
        parts = None if cell is None else parts_of_set(cell)
        if parts is None or len(parts) != len(distinct):
            return "not the set of the values"
        return None if all(covers(column, key, cell) for key in distinct) else "not the values of the set"
    if style == "range":
        if None in distinct:
            return None if cell == STAR else "joined with the missing value, a range is *"
        if column.grid is not None and cell == STAR:
            whole = range_of(column, [column.numbers[key] for key in distinct]) == (-NOWHERE, NOWHERE)
            return None if whole else "no range"
        ends = None if cell is None else ends_of_range(cell, column.kind)
        if ends is None:
            return "not a range"
        if column.grid is not None:
            meant = range_of(column, [column.numbers[key] for key in distinct])
            return None if ends == meant else f"the range should be {meant}"
        low = min(distinct, key=lambda key: column.numbers[key])
        high = max(distinct, key=lambda key: column.numbers[key])
        tight = _about(ends[0], low, column) and _about(ends[1], high, column)
        return None if tight else "the range is not that of the values"
    assert column.paths is not None
    label = lowest_common(column, distinct)
    if column.lists_few and label == column.leaves[0][-1] and (parts := parts_of_set(cell or "")) is not None:
        true = len(parts) == len(distinct) and all(covers(column, key, cell) for key in distinct)
        return None if true else "not the values of the class"
    return None if cell == label else "not the lowest common ancestor"


def lowest_common(column: Column, keys: Iterable[Key]) -> str:
    """Label of the lowest common ancestor; the missing value hangs under the root."""
    assert column.paths is not None
    root = column.leaves[0][-1] if column.leaves else STAR
    chains = [column.paths[key][::-1] if key is not None else (root, "\0") for key in keys]
    label = root
    for depth in range(min(map(len, chains))):
        here = {chain[: depth + 1] for chain in chains}
        if len(here) > 1:
            break
        label = chains[0][depth]
    return label


def _summary(column: Column, keys: Sequence[Key], cell: str | None) -> str | None:
    counted = Counter(keys)
    if column.kind == "category":
        most = max(counted.values())
        fits = [key for key, n in counted.items() if n == most]
        is_of_a_row = any(
            cell is None if key is None else cell is not None and same_value(column, key, cell)
            for key in fits
        )
        return None if is_of_a_row else "not a most frequent value"
    known = [column.numbers[key] for key in keys if key is not None]
    if not known:
        return None if cell is None else "a mean of nothing"
    mean = sum(known, Fraction(0)) / len(known)
    if cell is None:
        return "no mean"
    if column.grid is not None and cell == STAR:
        return None  # of two known values; classes that are released as one may have more
    written = moment_in(cell) if column.kind == "date" else number_in(cell)
    if written is None:
        return "not a mean"
    largest = max(map(abs, known))
    slack = Fraction(501, 1000) if column.kind == "date" else Fraction(6, 10**7) + largest / 10**12
    if column.grid is not None:
        # Classes whose means are rounded to one number are released as one.
        slack += _half_step(column, written)
        if written not in known and on_grid(column.grid, written, "near") != written:
            return "not on the grid"
    return None if abs(written - mean) <= slack else "not the mean"


def _half_step(column: Column, written: Fraction) -> Fraction:
    """The largest distance of a mean from the rounded mean."""
    if column.grid in ("day", "month", "year"):
        last = dt.date(9999, 12, 1) if column.grid == "month" else dt.date(9999, 1, 1)
        # No month and no year begins after the last one.
        steps = 2 if column.grid != "day" and written == last.toordinal() else 1
        return steps * Fraction({"day": 1, "month": 17, "year": 184}[str(column.grid)])
    if column.grid == "fives" and abs(written) <= 100:
        return Fraction(5, 2)
    if column.grid in ("digits", "fives"):
        size = abs(written)
        return (on_grid("digits", size * Fraction(1001, 1000), "up") - on_grid("digits", size, "down")) / 2
    return Fraction(str(column.grid)) / 2
