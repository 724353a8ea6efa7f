"""What a release has to be, read from the definitions: plain dictionaries, fractions and decimals.

Nothing of incrowd is imported here, and a test keeps it so. What docs/definitions.md and docs/policy.md say
is written down a second time, slowly.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any

STAR = "*"
PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
WRITTEN_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
MOMENT = rf"{DAY}(?:[T ][0-9:.]+)?"

Raw = None | bool | int | float | Decimal | dt.date | str
Key = None | str | Fraction


@dataclass(frozen=True)
class Spec:
    """What a policy says of a column."""

    name: str
    role: str
    kind: str = "auto"
    recipe: dict[str, Any] | None = None
    paths: tuple[tuple[str, ...], ...] | None = None
    output: str = "auto"


@dataclass
class Column:
    """A column of the raw table as the definitions read it.

    `keys` are the values, equal where the definitions call them equal; None is the missing value.
    `by_number` is for people, to whom a cell means the same number however that is written.
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
    by_number: bool = False

    @property
    def ordered(self) -> bool:
        return self.kind != "category" and self.paths is None

    @property
    def style(self) -> str:
        asked = self.spec.output
        if asked in ("set", "mean", "suppress"):
            return asked
        if asked == "range" and self.ordered:
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
    """One meaning in every type: the text of a null value, or the number, day or point of time that it writes."""
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
        found = moment_in(raw.isoformat())
    elif isinstance(raw, str):
        found = moment_in(raw) if kind == "date" else number_in(raw)
    else:
        found = Fraction(raw)  # type: ignore[arg-type]
    assert found is not None, "the policy should have been refused"
    return found


def read_column(spec: Spec, raws: Sequence[Raw], null_values: Sequence[str], live: Sequence[bool]) -> Column:
    """Read a column; rows that are not live do not shape it."""
    present = [
        raw for raw, alive in zip(raws, live, strict=True) if alive and not is_missing(raw, null_values)
    ]
    kind = _kind(spec, present)
    hierarchy = spec.recipe is not None or spec.paths is not None
    if hierarchy and spec.role == "quasi" and spec.output in ("range", "mean"):
        by_numbers = spec.recipe is not None and ("intervals" in spec.recipe or "dates" in spec.recipe)
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
    if hierarchy:
        shaping = {key for key, alive in zip(keys, live, strict=True) if alive and key is not None}
        column.paths, column.leaves = _paths(spec, {str(key) for key in shaping})
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


# --- hierarchies ------------------------------------------------------------------------------------


def _paths(spec: Spec, texts: set[str]) -> tuple[dict[Key, tuple[str, ...]], list[tuple[str, ...]]]:
    if spec.paths is not None:
        return {path[0]: path for path in spec.paths}, list(spec.paths)
    assert spec.recipe is not None
    recipe = spec.recipe
    if "intervals" in recipe:
        made = _intervals(texts, recipe["intervals"], recipe.get("origin", 0))
    elif "prefix" in recipe:
        longest = max(map(len, texts), default=0)
        made = {
            text: (
                text,
                *(_guarded(text[:n] + STAR * (longest - n)) for n in range(longest - 1, 0, -1)),
                STAR,
            )
            for text in texts
        }
    elif "dates" in recipe:
        made = _calendar(texts, recipe["dates"])
    elif "order" in recipe:
        made = _neighbours(recipe["order"], recipe.get("fanout", 2))
    else:
        made = {text: (text, STAR) for text in texts}
    return dict(made), list(made.values())


def _guarded(label: str) -> str:
    return (
        "'" + label
        if label[:1] in "=+-@\t\r" and not re.fullmatch(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", label)
        else label
    )


def _intervals(texts: Iterable[str], widths: Sequence[float], origin: float) -> dict[str, tuple[str, ...]]:
    exact = [Fraction(str(width)) for width in widths]
    start = Fraction(str(origin))
    numbers = {text: Fraction(text) for text in texts}
    whole = all(x.denominator == 1 for x in (*exact, start, *numbers.values()))
    made = {}
    for text, number in numbers.items():
        path = [text]
        for width in exact:
            low = start + math.floor((number - start) / width) * width
            if whole:
                path.append(f"[{low}-{low + width - 1}]" if width > 1 else f"[{low}]")
            else:
                path.append(f"[{_decimal(low)}, {_decimal(low + width)})")
        made[text] = (*path, STAR)
    return made


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
    made = {}
    for text in texts:
        year, month = text[:4], int(text[5:7])
        labels = {
            "month": text[:7], "quarter": f"{year}-Q{(month - 1) // 3 + 1}", "year": year, "decade": f"{year[:3]}0s",
        }  # fmt: skip
        made[text] = (text, *([text[:10]] if timed else []), *(labels[level] for level in levels), STAR)
    return made


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


# --- reading cells ----------------------------------------------------------------------------------


def parts_of_set(cell: str) -> list[str] | None:
    """Split ``{a, b}`` at its commas; a backslash keeps the mark behind it."""
    if not (cell.startswith("{") and cell.endswith("}")):
        return None
    parts, inside = [""], cell[1:-1]
    place = 0
    while place < len(inside):
        mark = inside[place]
        if mark == "\\":
            parts[-1] += inside[place + 1 : place + 2]
            place += 2
        elif inside[place : place + 2] == ", ":
            parts.append("")
            place += 2
        else:
            parts[-1] += mark
            place += 1
    return parts


def ends_of_range(cell: str, kind: str) -> tuple[Fraction, Fraction] | None:
    """Ends of ``[a-b]`` or ``[day to day]``, both included."""
    one = MOMENT if kind == "date" else WRITTEN_NUMBER
    found = re.fullmatch(rf"\[({one}){' to ' if kind == 'date' else '-'}({one})\]", cell)
    if found is None:
        return None
    low, high = (moment_in(end) if kind == "date" else number_in(end) for end in found.groups())
    return None if low is None or high is None else (low, high)


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
    if key in column.numbers and (column.paths is None or column.kind == "date"):
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
    """Say whether a released cell is true of a value: the value, a label above it, a range, a set or ``*``."""
    if cell == STAR:
        return True
    if key is None:
        if cell is None:
            return True
        root = column.leaves[0][-1] if column.leaves else None
        return cell == root if column.paths is not None and cell == root else "" in (parts_of_set(cell) or ())
    if cell is None:
        return False
    if same_value(column, key, cell):
        return True
    if column.paths is not None:
        if cell in column.paths.get(key, ()):
            return True
        if column.style != "set" and not column.by_number:
            return False
    parts = parts_of_set(cell)
    if parts is not None and any(same_value(column, key, part) for part in parts):
        return True
    if (column.ordered or column.by_number) and key in column.numbers:
        ends = ends_of_range(cell, column.kind)
        if ends is not None:
            low, high = ends
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
        ends = None if cell is None else ends_of_range(cell, column.kind)
        if ends is None:
            return "not a range"
        low = min(distinct, key=lambda key: column.numbers[key])
        high = max(distinct, key=lambda key: column.numbers[key])
        tight = _about(ends[0], low, column) and _about(ends[1], high, column)
        return None if tight else "the range is not that of the values"
    assert column.paths is not None
    label = lowest_common(column, distinct)
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
        shown = any(
            cell is None if key is None else cell is not None and same_value(column, key, cell)
            for key in fits
        )
        return None if shown else "not a most frequent value"
    known = [column.numbers[key] for key in keys if key is not None]
    if not known:
        return None if cell is None else "a mean of nothing"
    mean = sum(known, Fraction(0)) / len(known)
    if cell is None:
        return "no mean"
    written = moment_in(cell) if column.kind == "date" else number_in(cell)
    if written is None:
        return "not a mean"
    largest = max(map(abs, known))
    slack = Fraction(501, 1000) if column.kind == "date" else Fraction(6, 10**7) + largest / 10**12
    return None if abs(written - mean) <= slack else "not the mean"


# --- classes ----------------------------------------------------------------------------------------


@dataclass
class Classes:
    """Equivalence classes: the rows of each, the values of sensitive columns, the whole table's counts."""

    rows: list[list[int]]
    cells: list[tuple[Any, ...]]
    sensitive: dict[str, Column]
    total: int
    suppressed: int
    people: list[int] | None = None
    outside: int = 0
    everybody: int = 0

    @property
    def sizes(self) -> list[int]:
        return [len(rows) for rows in self.rows]

    def counts(self, attribute: str, joint: bool = False) -> list[tuple[int, Counter[Key]]]:
        """Per class, or per part of one, its class's number and how often each value occurs."""
        keys = self.sensitive[attribute].keys
        others = (
            [column.keys for name, column in self.sensitive.items() if name != attribute] if joint else []
        )
        made = []
        for number, rows in enumerate(self.rows):
            parts: dict[tuple[Key, ...], Counter[Key]] = defaultdict(Counter)
            for row in rows:
                parts[tuple(other[row] for other in others)][keys[row]] += 1
            made += [(number, counter) for counter in parts.values()]
        return made

    def whole(self, attribute: str) -> Counter[Key]:
        return Counter(self.sensitive[attribute].keys)


def group(cells: Sequence[Sequence[Any]], sensitive: dict[str, Column]) -> Classes:
    """Group rows, given per column, by their cells; rows of ``*`` alone are suppressed."""
    found: dict[tuple[Any, ...], list[int]] = {}
    suppressed = 0
    rows = list(zip(*cells, strict=True))
    for row, key in enumerate(rows):
        if all(cell == STAR for cell in key):
            suppressed += 1
        else:
            found.setdefault(key, []).append(row)
    return Classes(list(found.values()), list(found), sensitive, len(rows), suppressed)


def with_people(classes: Classes, columns: Sequence[Column], people: Sequence[Column]) -> Classes:
    """Count whom of a population the cells of each class cover."""
    everybody = len(people[0].keys)
    seen = [False] * everybody
    counted = []
    for cells in classes.cells:
        covered = 0
        for person in range(everybody):
            if all(
                covers(column, column.keys[person], cell) for column, cell in zip(people, cells, strict=True)
            ):
                covered += 1
                seen[person] = True
        counted.append(covered)
    classes.people, classes.everybody, classes.outside = counted, everybody, seen.count(False)
    return classes


# --- models -----------------------------------------------------------------------------------------

MORE_IS_SAFER = {
    ("k-anonymity", "k"), ("k-map", "k"), ("l-diversity", "l"), ("normalized-entropy", "h"), ("alpha-k-anonymity", "k"),
    ("lkc-privacy", "K"), ("delta-presence", "delta_min"), ("p29", "score"), ("profitability", "payoff"),
}  # fmt: skip
BY_ATTRIBUTE = {
    "l-diversity", "normalized-entropy", "t-closeness", "alpha-k-anonymity", "beta-likeness", "delta-disclosure",
    "lkc-privacy",
}  # fmt: skip
LIMITS = {
    "k-anonymity": ("k",), "k-map": ("k",), "l-diversity": ("l",), "normalized-entropy": ("h",), "t-closeness": ("t",),
    "alpha-k-anonymity": ("alpha", "k"), "lkc-privacy": ("C", "K"), "beta-likeness": ("beta",),
    "delta-disclosure": ("delta",), "delta-presence": ("delta_max", "delta_min"), "p29": ("score",),
    "maximum-risk": ("risk",), "average-risk": ("risk",), "records-at-risk": ("share",), "profitability": ("payoff",),
}  # fmt: skip
Figure = float | Fraction | int | None


def attributes_of(model: str, settings: dict[str, Any], quantity: str, classes: Classes) -> list[str | None]:
    if model not in BY_ATTRIBUTE or (model, quantity) in (("alpha-k-anonymity", "k"), ("lkc-privacy", "K")):
        return [None]
    return [settings["attribute"]] if settings.get("attribute") else list(classes.sensitive)


def measure(
    model: str, quantity: str, settings: dict[str, Any], attribute: str | None, classes: Classes
) -> Figure:
    """What a table reaches under a model: of its classes the worst, or the figure of the whole table."""
    sizes = classes.sizes
    safer = (model, quantity) in MORE_IS_SAFER
    worst = min if safer else max
    if model == "p29":
        return _score(settings, classes)
    if model == "lkc-privacy":
        return _lkc(quantity, settings, attribute, classes)
    if model in ("k-map", "delta-presence"):
        assert classes.people is not None
        if quantity == "k":
            return min(classes.people)
        if quantity == "delta_min" and classes.outside:
            return 0
        shares = [Fraction(n, m) if m else math.inf for n, m in zip(sizes, classes.people, strict=True)]
        return worst(shares)
    if model == "k-anonymity" or quantity == "k":
        return min(sizes)
    if model == "maximum-risk":
        return Fraction(1, min(sizes))
    if model == "average-risk":
        return Fraction(len(sizes), sum(sizes))
    if model == "records-at-risk":
        at_risk = sum(n for n in sizes if Fraction(1, n) > _exact(settings["threshold"]))
        return Fraction(at_risk, sum(sizes))
    if model == "profitability":
        return _payoff(settings, classes)
    assert attribute is not None
    column = classes.sensitive[attribute]
    whole = classes.whole(attribute)
    counted = classes.counts(attribute, joint=bool(settings.get("joint")))
    values = [_class_value(model, settings, column, whole, counter) for _, counter in counted]
    if model == "normalized-entropy" and settings.get("over") == "mean":
        of_class: dict[int, list[float]] = defaultdict(list)
        for (number, _), value in zip(counted, values, strict=True):
            of_class[number].append(float(value))  # type: ignore[arg-type]
        return sum(min(parts) for parts in of_class.values()) / len(of_class)
    return worst(values)


def _exact(limit: float) -> Fraction:
    return Fraction(limit)


def holds(model: str, settings: dict[str, Any], classes: Classes) -> list[str]:
    """Say which limits of a model a table does not meet; meeting one exactly counts."""
    if not classes.rows:
        return [f"{model}: no class"]
    problems = []
    for quantity in LIMITS[model]:
        limit = 0 if model == "profitability" else settings.get(quantity, 0)
        for attribute in attributes_of(model, settings, quantity, classes):
            value = measure(model, quantity, settings, attribute, classes)
            if not meets(model, quantity, settings, value, limit):
                problems.append(f"{model} {quantity}={limit} of {attribute!r} is {value}")
    return problems


def meets(model: str, quantity: str, settings: dict[str, Any], value: Figure, limit: float) -> bool:
    if value is None:
        return False
    slack = 1e-9 * max(1.0, abs(limit)) if isinstance(value, float) else 2e-12 * max(1.0, abs(limit))
    if model == "profitability":
        zero = settings.get("attack") == "none" and (
            settings.get("definition") == "table" or not settings.get("adversary_gain", 300.0)
        )
        return value >= -1e-9 if zero else value > -1e-9
    return value >= limit - slack if (model, quantity) in MORE_IS_SAFER else value <= limit + slack


def _class_value(
    model: str, settings: dict[str, Any], column: Column, whole: Counter[Key], counter: Counter[Key]
) -> Figure:
    size, total = sum(counter.values()), sum(whole.values())
    shares = {key: Fraction(n, size) for key, n in counter.items()}
    table = {key: Fraction(n, total) for key, n in whole.items()}
    match model:
        case "l-diversity":
            return _diversity(settings, counter)
        case "normalized-entropy":
            return _entropy(counter) / math.log(len(counter)) if len(counter) > 1 else 0.0
        case "alpha-k-anonymity":
            value = settings.get("value")
            if value is None:
                return max(shares.values())
            return sum((share for key, share in shares.items() if _named(column, key, value)), Fraction(0))
        case "beta-likeness":
            gains = [((share - table[key]) / table[key], table[key]) for key, share in shares.items()]
            if settings.get("kind") == "enhanced" and any(
                g > -math.log(q) + 1e-12 for g, q in gains if g > 0
            ):
                return math.inf
            return max(Fraction(0), *(gain for gain, _ in gains))
        case "delta-disclosure":
            if settings.get("absent", "infinite") == "infinite" and len(shares) < len(table):
                return math.inf
            return max(abs(math.log(share / table[key])) for key, share in shares.items())
        case "t-closeness":
            return _closeness(settings, column, shares, table)
    raise AssertionError(f"no reading of {model}")


def _named(column: Column, key: Key, value: str) -> bool:
    return key is not None and same_value(column, key, value)


def _entropy(counter: Counter[Key]) -> float:
    size = sum(counter.values())
    return -sum(n / size * math.log(n / size) for n in counter.values())


def _diversity(settings: dict[str, Any], counter: Counter[Key]) -> Figure:
    kind = settings.get("kind", "distinct")
    if kind == "distinct":
        return len(counter)
    if kind == "entropy":
        return math.exp(_entropy(counter))
    size = sum(counter.values())
    if kind == "grassberger":
        estimate = math.log(size) - sum(n * _grassberger(n) for n in counter.values()) / size
        return min(math.exp(estimate), float(len(counter)))
    ordered = sorted(counter.values(), reverse=True)
    c = Fraction(settings["c"] if settings.get("c") is not None else 3)
    return max((n for n in range(1, len(ordered) + 1) if ordered[0] < c * sum(ordered[n - 1 :])), default=0)


def _grassberger(n: int) -> float:
    """G(1) = -gamma - ln 2, G(2) = 2 - gamma - ln 2, G(2m + 1) = G(2m), G(2m + 2) = G(2m) + 2 / (2m + 1)."""
    value = -0.57721566490153286 - math.log(2)
    even = n - n % 2
    if even:
        value += 2 + sum(2 / (m + 1) for m in range(2, even, 2))
    return value


def _closeness(
    settings: dict[str, Any], column: Column, shares: dict[Key, Fraction], table: dict[Key, Fraction]
) -> Fraction:
    gap = {key: shares.get(key, Fraction(0)) - share for key, share in table.items()}
    named = settings.get("distance", "auto")
    if named == "maximal-frequency-difference":
        return max(abs(gap[key]) for key in shares)
    if named == "auto":
        named = (
            "hierarchical"
            if column.paths is not None
            else "equal"
            if column.kind == "category"
            else "ordered"
        )
    if named == "equal":
        return sum(map(abs, gap.values()), Fraction(0)) / 2
    if named == "ordered":
        order = sorted((key for key in gap if key is not None), key=lambda key: column.numbers[key])
        order += [None] if None in gap else []
        if len(order) < 2:
            return Fraction(0)
        moved, work = Fraction(0), Fraction(0)
        for key in order[:-1]:
            moved += gap[key]
            work += abs(moved)
        return work / (len(order) - 1)
    return _hierarchical(column, gap)


def _hierarchical(column: Column, gap: dict[Key, Fraction]) -> Fraction:
    """Mass is moved within the lowest nodes first; moving it at a node costs its height over the root's."""
    assert column.paths is not None
    root = column.leaves[0][-1] if column.leaves else STAR
    chains: dict[tuple[str, ...], Fraction] = {path[::-1]: Fraction(0) for path in column.leaves}
    for key, mass in gap.items():
        chain = column.paths[key][::-1] if key is not None else (root, "\0missing")
        chains[chain] = chains.get(chain, Fraction(0)) + mass
    nodes = {chain[:n] for chain in chains for n in range(1, len(chain) + 1)}
    children: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    for node in nodes:
        if len(node) > 1:
            children[node[:-1]].append(node)

    def height(node: tuple[str, ...]) -> int:
        return 1 + max(height(child) for child in children[node]) if children[node] else 0

    tall = height((root,))
    work = Fraction(0)

    def mass(node: tuple[str, ...]) -> Fraction:
        nonlocal work
        if not children[node]:
            return chains[node]
        parts = [mass(child) for child in children[node]]
        plus = sum((part for part in parts if part > 0), Fraction(0))
        minus = sum((-part for part in parts if part < 0), Fraction(0))
        work += min(plus, minus) * height(node)
        return plus - minus

    mass((root,))
    return work / tall if tall else Fraction(0)


def _lkc(quantity: str, settings: dict[str, Any], attribute: str | None, classes: Classes) -> Figure:
    width = len(classes.cells[0])
    known = min(settings["L"], width)
    least, most = math.inf, Fraction(0)
    for subset in combinations(range(width), known):
        groups: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for cells, rows in zip(classes.cells, classes.rows, strict=True):
            groups[tuple(cells[j] for j in subset)] += rows
        for rows in groups.values():
            least = min(least, len(rows))
            if attribute is None:
                continue
            column = classes.sensitive[attribute]
            counter = Counter(column.keys[row] for row in rows)
            value = settings.get("value")
            n = max(counter.values()) if value is None else sum(
                n for key, n in counter.items() if _named(column, key, value)
            )  # fmt: skip
            most = max(most, Fraction(n, len(rows)))
    return int(least) if quantity == "K" else most


def _payoff(settings: dict[str, Any], classes: Classes) -> Fraction:
    get = {
        "adversary_cost": 4.0, "adversary_gain": 300.0, "publisher_loss": 300.0, "publisher_benefit": 1200.0,
        "attack": "allowed", "definition": "record", "attacker": "prosecutor",
    } | settings  # fmt: skip
    cost, gain = Fraction(get["adversary_cost"]), Fraction(get["adversary_gain"])
    loss, benefit = Fraction(get["publisher_loss"]), Fraction(get["publisher_benefit"])
    sizes = classes.sizes
    if get["definition"] == "table":
        if get["attack"] == "allowed":
            return sum((benefit * n - loss / n for n in sizes), Fraction(0))
        return sum((cost * n - gain for n in sizes), Fraction(0))
    if get["attacker"] == "journalist":
        assert classes.people is not None
        sizes = [max(n, 1) for n in classes.people]
    worst = []
    for n in sizes:
        margin = cost - gain / n
        worst.append(margin if get["attack"] == "none" else benefit - (loss / n if margin < 0 else 0))
    return min(worst)


def _score(settings: dict[str, Any], classes: Classes) -> Figure:
    weights = {"w_k": 0.5, "w_l": 0.25, "w_t": 0.25, "strict": False} | settings
    evennesses, distances = [], []
    offends = min(classes.sizes) < 2
    undefined = False
    for attribute in classes.sensitive:
        whole = classes.whole(attribute)
        table = {key: Fraction(n, sum(whole.values())) for key, n in whole.items()}
        even, gaps = [], []
        for _, counter in classes.counts(attribute):
            size = sum(counter.values())
            even.append(_entropy(counter) / math.log(len(counter)) if len(counter) > 1 else 0.0)
            gaps.append(
                sum((abs(Fraction(counter[key], size) - q) for key, q in table.items()), Fraction(0)) / 2
            )
            offends |= len(counter) == 1 or gaps[-1] > Fraction(1, 2)
        extent = max(gaps) - min(gaps)
        undefined |= not extent and bool(weights["strict"])
        distances.append(
            sum((gap - min(gaps)) / extent for gap in gaps) / len(gaps) if extent else Fraction(0)
        )
        evennesses.append(sum(even) / len(even))
    if undefined:
        return None
    if offends:
        return 0
    return (
        weights["w_k"] * (1 - 1 / min(classes.sizes))
        + weights["w_l"] * sum(evennesses) / len(evennesses)
        + weights["w_t"] * (1 - float(sum(distances)) / len(distances))
    )


# --- loss -------------------------------------------------------------------------------------------


def width_of(column: Column, live: Sequence[bool]) -> int:
    """Number of leaves, or of distinct values, the missing one included."""
    shaping = {key for key, alive in zip(column.keys, live, strict=True) if alive}
    if column.paths is None:
        return len(shaping)
    return len(column.leaves) + (None in shaping)


def spread(column: Column, keys: Iterable[Key], live: Sequence[bool]) -> Fraction:
    """LM of a class that gets the narrowest cell."""
    distinct = set(keys)
    if len(distinct) == 1:
        return Fraction(0)
    if column.style == "suppress":
        return Fraction(1)
    size = width_of(column, live)
    if column.paths is not None:
        return Fraction(leaves_under(column, distinct, live) - 1, size - 1)
    if not column.ordered:
        return Fraction(len(distinct) - 1, size - 1)
    if None in distinct:
        return Fraction(1)
    known = [
        column.numbers[key] for key, alive in zip(column.keys, live, strict=True) if alive and key is not None
    ]
    inside = [column.numbers[key] for key in distinct]
    return (max(inside) - min(inside)) / (max(known) - min(known))


def leaves_under(column: Column, keys: Iterable[Key], live: Sequence[bool]) -> int:
    """Leaves under the lowest common ancestor."""
    assert column.paths is not None
    keys = list(keys)
    if None in keys:
        return width_of(column, live) if len(set(keys)) > 1 else 1
    chains = [column.paths[key][::-1] for key in keys]
    depth = 0
    while all(len(chain) > depth for chain in chains) and len({chain[: depth + 1] for chain in chains}) == 1:
        depth += 1
    stem = chains[0][:depth]
    under = sum(1 for path in column.leaves if path[::-1][:depth] == stem)
    missing = depth == 1 and None in [key for key, alive in zip(column.keys, live, strict=True) if alive]
    return under + missing
