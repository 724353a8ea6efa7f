"""Profiles of columns: the number of values, the distribution and the form.

A profile has counts and forms. It never leaves the process with a value in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from incrowd.core.errors import InputError
from incrowd.core.io.beginnings import MISSING_TEXTS
from incrowd.core.io.columns import nameless
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.reading.exact import NUMBER
from incrowd.core.reading.recognition import Recognized, recognize, recognize_digits, shape_of
from incrowd.core.reading.spellings import has_decimal_points, has_unclear_points
from incrowd.core.reading.texts import column_of
from incrowd.core.table.schema import Attribute
from incrowd.core.treatments.fold import look_alikes
from incrowd.release.drafting.rounding import Rounding, rounding_of
from incrowd.release.drafting.value_forms import (
    contacts_in,
    day_formats_of,
    diagnosis_codes,
    is_postal,
    pairs_of_numbers,
    personal_form,
    separator_of,
)
from incrowd_gate.words import languages
from incrowd_gate.words.meanings import find_word, tokens

if TYPE_CHECKING:
    from incrowd.core.reading.spellings import Spelling
    from incrowd.core.table.domain import Domain


Points = Literal["", "decimals", "thousands"]
_NUMBERS = ("99", "999", "9999", "99999", "-1", "-9", "-99", "-999", "-9999")
_DAYS = ("1900-01-01", "1899-12-30", "9999-12-31", "2999-12-31")
_SHARE = 0.01
"""Share of the records from which a filler is told."""


def probable_fillers(domain: Domain, totals: NDArray[np.integer]) -> list[tuple[str, float]]:
    """Return well-known fillers of a noticeable share of a column's records, with the share.

    A number is one only where it lies far from all others, as 999 does among ages. Nothing else is ever
    named, so no person's value is.

    Parameters
    ----------
    totals
        int64[size]: the records of each value of `domain`.
    """
    records = max(int(totals.sum()), 1)
    # Of all values, only a few can have so large a share, and of them alone the texts are needed.
    often = np.flatnonzero(totals >= _SHARE * records).tolist()
    rank = {domain.values[position]: position for position in often}
    candidates = {"category": MISSING_TEXTS, "number": _NUMBERS, "date": _DAYS}[domain.kind]
    fillers = []
    for text in candidates:
        position = rank.get(text)
        if position is not None and _stands_out(text, position, domain):
            fillers.append((text, int(totals[position]) / records))
    return fillers


def _stands_out(text: str, place: int, domain: Domain) -> bool:
    """Say whether a filler is far from the column's usual values."""
    if domain.kind == "category":
        others = [value for value in domain.values if value is not None and value != text]
        # Among codes of countries, NA is Namibia.
        return text != "NA" or not others or not all(len(value) == 2 and value.isupper() for value in others)
    if domain.kind == "date":
        return True
    rest = np.delete(domain.numbers, place)
    rest = rest[np.isfinite(rest)]
    if len(rest) < 2:
        return False
    value, low, high = domain.numbers[place], rest.min(), rest.max()
    if text.startswith("-"):
        return bool(low >= 0)
    return bool(value - high > max(high - low, 1))


_SAMPLE = 2_000
"""Distinct texts whose form is looked at."""
_CODE = re.compile(r"(?=[^\s]*[0-9])[A-Za-z0-9_./:#-]{2,40}")
_WORDY = 5
"""Words from which a text is a sentence."""
_LONG_TEXT = 40
_PHRASE = 3
"""Words from which a text may be one that somebody typed."""
_SHORT_LABEL = 6
"""Words up to which a label says what a column is, as a name does; a longer one is a question of a survey."""
_SHAPES = 3
_PERIODS = 60
"""Different days or numbers up to which they may be the periods of a panel."""
_CHECKED = 9
"""Digits from which whole numbers may have check digits."""


@dataclass(frozen=True)
class Profile:
    """A profile of a column's values.

    Attributes
    ----------
    name
    rows
        Rows of the table.
    known
        Rows with a value.
    distinct
        Different values, the missing one left out.
    kind
        ``number``, ``date``, ``category``, or None for what is neither text, number nor date.
    whole
        Whether all numbers are whole.
    codes
        Whether the texts have the form of codes: digits in all of them, no blanks, two lengths at most.
    digits
        Whether the texts are digits (and dashes) alone.
    reaches
        What most texts look like that reaches or names a person, such as addresses of mail; else empty.
    postal
        Whether the texts have a form that postal codes alone have.
    prose
        Whether the texts are long or of several words, and mostly distinct.
    phrases
        Whether some of the texts are of several words.
    contacts
        The contacts that stand among other words in the texts, such as numbers of phones; else empty.
    lists
        The sign between the items where cells are lists, such as ``;``; else empty.
    pairs
        Whether the texts are two numbers with a slash, as a blood pressure is.
    diagnoses
        Whether the texts, or the items of lists, have the form of codes of diagnoses.
    formats
        The formats of days, where the texts have two or three of them; else none.
    sequence
        Whether the numbers are 1, 2, 3, ... without a gap, each once.
    spread
        For numbers: the values below which 1 % and 99 % of the records lie.
    width
        Digits of whole numbers if nearly all have as many, as those of codes have; else 0.
    mixed
        Whether nearly all of the texts, but not all, are numbers.
    words
        The distinct texts in small letters, where there are few; for comparisons only.
    answers
        Whether the values answer yes or no, in one spelling or in several; see `answers_in`.
    top
        Share of the most frequent value among the rows that have one.
    bits
        Shannon entropy of the values, in bits: what a value tells of its record on average.
    fillers
        Probable fillers with their share.
    ways
        How its numbers or dates are written, where not plainly; several where the texts do not tell.
    label
        What the file says that the column is, as files of SPSS and Stata do; else empty.
    shapes
        The shapes of the most frequent values, such as ``AA-999``; see `shape_of`.
    points
        What stands behind the points in the texts of numbers, where these tell it.
    look_alikes
        Values that differ from another one only in how they are typed; see `ic.Fold`.
    told_by
        The column of the same file that tells what the points mean; else empty.
    unit
        The sign beside all its numbers, such as ``€`` or ``%``.
    mean, least
        Of numbers; 0 where there are none.
    rounding
        The rounding that numbers need, so that hardly any record is told by its own; None where there is no
        need.
    roundings
        Of numbers that may be written in several ways: the rounding of each way.
    """

    name: str
    rows: int
    known: int
    distinct: int
    kind: str | None
    whole: bool = False
    codes: bool = False
    digits: bool = False
    reaches: str = ""
    postal: bool = False
    prose: bool = False
    phrases: bool = False
    contacts: str = ""
    lists: str = ""
    pairs: bool = False
    diagnoses: bool = False
    formats: tuple[str, ...] = ()
    sequence: bool = False
    spread: tuple[float, float] = (0.0, 0.0)
    width: int = 0
    mixed: bool = False
    words: frozenset[str] = frozenset()
    answers: Answers = ""
    top: float = 0.0
    bits: float = 0.0
    fillers: tuple[tuple[str, float], ...] = ()
    ways: tuple[Spelling, ...] = ()
    label: str = ""
    shapes: tuple[str, ...] = ()
    points: Points = ""
    look_alikes: int = 0
    told_by: str = ""
    unit: str = ""
    mean: float = 0.0
    least: float = 0.0
    rounding: Rounding | None = None
    roundings: tuple[Rounding | None, ...] = ()

    @property
    def titles(self) -> tuple[tuple[str, str], ...]:
        """The name and the short label of the column, each with the word "name" or "label"."""
        label = self.label if len(tokens(self.label)) <= _SHORT_LABEL else ""
        return (("name", self.name), *([("label", label)] if label else []))

    @property
    def is_postal_by_name(self) -> bool:
        """Whether the name or the label announces postal codes."""
        return any(find_word("postal", title) for _, title in self.titles)

    @property
    def share(self) -> float:
        """Distinct values per row with a value."""
        return self.distinct / max(self.known, 1)

    @property
    def counted(self) -> str:
        """Distinct values, rows and entropy as a phrase."""
        values = "value" if self.distinct == 1 else "distinct values"
        entropy = f", entropy {self.bits:.1f} bits" if self.distinct > 1 and self.bits else ""
        return f"{self.distinct:,} {values} in {self.rows:,} rows{entropy}"


def is_of_periods(series: pl.Series, column: Profile) -> bool:
    """Say whether a column has few days or consecutive numbers, as the waves of a panel."""
    if not 2 <= column.distinct <= _PERIODS:
        return False
    if column.kind == "date":
        return True
    if column.kind != "number" or not column.whole:
        return False
    numbers = nameless(series).drop_nulls().cast(pl.Float64, strict=False)
    smallest, largest = numbers.min(), numbers.max()
    return (
        isinstance(smallest, float)
        and isinstance(largest, float)
        and largest - smallest == column.distinct - 1
    )


def profile_of(
    series: pl.Series,
    name: str,
    null_values: tuple[str, ...],
    label: str = "",
    points: Points = "",
) -> Profile:
    """Compute the profile of a column.

    `points` says what stands behind the points of numbers, where other columns tell it.
    """
    from incrowd.core.table.domain import Domain
    from incrowd.engines.distinct import dictionary

    rows = len(series)
    try:
        distinct_values, places = dictionary(series, name, null_values)
        textual = distinct_values.kind is None
        domain, ranks = Domain.build(Attribute(name, "quasi").with_points(), distinct_values)
        totals = np.bincount(ranks[places], minlength=domain.size)
        fillers = dict(probable_fillers(domain, totals))
        shapes = _shapes_of(domain, totals, set(fillers))
        recognized = _recognized(domain, textual=textual)
        ways: tuple[Spelling, ...] = ()
        if recognized is not None and points:
            told = "." if points == "decimals" else ","
            likely = tuple(way for way in recognized.ways if way.point == told)
            recognized = replace(recognized, ways=likely or recognized.ways)
        if recognized is not None:
            # Among numbers and dates a filler is one however few records have it.
            rank = {value: place for place, value in enumerate(domain.values)}
            fillers |= {text: int(totals[rank[text]]) / rows for text in recognized.fillers}
            ways = recognized.ways
            if len(ways) == 1 and not recognized.fillers:
                way = ways[0]
                attribute = Attribute(
                    name, "quasi", format=way.format, decimal=way.decimal, thousands=way.thousands
                )
                domain, ranks = Domain.build(attribute, distinct_values, null_values)
                totals = np.bincount(ranks[places], minlength=domain.size)
    except InputError:
        return Profile(name, rows, rows - series.null_count(), _distinct_of(series), None, label=label)
    has_value = np.array([value is not None for value in domain.values], np.bool_)
    records, distinct = int(totals[has_value].sum()), int(has_value.sum())
    kind: str = domain.kind
    form: dict[str, Any]
    if len(ways) > 1 and recognized is not None:
        kind = recognized.kind
        form = {"roundings": _roundings(series, name, ways, (*null_values, *recognized.fillers))}
    elif kind == "category":
        form = _form_of_texts(domain, records, set(fillers))
    elif kind == "number":
        form = _form_of_numbers(domain, totals, set(fillers))
    else:
        form = {}
    top = float(totals[has_value].max(initial=0)) / max(records, 1)
    return Profile(
        name,
        rows,
        records,
        distinct,
        kind,
        top=top,
        bits=_entropy(totals[has_value]),
        fillers=tuple(fillers.items()),
        ways=ways,
        label=label,
        shapes=shapes,
        points=_points_of(domain, ways) if textual and kind == "number" else "",
        look_alikes=look_alikes(column_of([value for value in domain.values if value is not None]))
        if kind == "category"
        else 0,
        unit="" if recognized is None else recognized.unit,
        **form,
    )


def settle_points(
    table: pl.DataFrame, profiles: Sequence[Profile], nulls: Callable[[str], tuple[str, ...]]
) -> list[Profile]:
    """Read numbers with ambiguous points in the notation of the other columns of the file.

    >>> table = pl.DataFrame({"pay": ["27.500", "31.250"], "cost": ["1.204,50", "88,10"]})
    >>> profiles = [profile_of(table[name], name, ()) for name in table.columns]
    >>> pay, _ = settle_points(table, profiles, lambda name: ())
    >>> pay.told_by, pay.spread
    ('cost', (27500.0, 31250.0))
    """
    tell: dict[Points, str] = {}
    for column in profiles:
        if column.points:
            tell.setdefault(column.points, column.name)
    if len(tell) != 1:
        return list(profiles)
    [(points, teller)] = tell.items()

    def settled(column: Profile) -> Profile:
        if len({way.point for way in column.ways}) < 2:
            return column
        again = profile_of(table[column.name], column.name, nulls(column.name), column.label, points)
        return replace(again, told_by=teller)

    return [settled(column) for column in profiles]


def _roundings(
    series: pl.Series, name: str, ways: tuple[Spelling, ...], null_values: tuple[str, ...]
) -> tuple[Rounding | None, ...]:
    """Return the rounding that numbers need under each possible notation."""
    from incrowd.core.table.domain import Domain
    from incrowd.engines.distinct import dictionary

    if any(way.format is not None for way in ways):
        return ()
    distinct_values, places = dictionary(series, name, null_values)
    roundings = []
    for way in ways:
        attribute = Attribute(name, "quasi", decimal=way.decimal, thousands=way.thousands)
        domain, ranks = Domain.build(attribute, distinct_values, null_values)
        totals = np.bincount(ranks[places], minlength=domain.size)
        has_value = np.array([value is not None for value in domain.values], np.bool_)
        roundings.append(rounding_of(domain.numbers[has_value], totals[has_value]))
    return tuple(roundings)


def _distinct_of(series: pl.Series) -> int:
    """Count the distinct cells of another type than text, number or date, or return 0."""
    try:
        return series.n_unique()
    except pl.exceptions.PolarsError:
        return 0


def _shapes_of(domain: Domain, totals: NDArray[np.integer], fillers: set[str]) -> tuple[str, ...]:
    """Return the distinct shapes of the most frequent values."""
    shapes: dict[str, None] = {}
    for place in np.argsort(-totals, kind="stable")[:_SAMPLE].tolist():
        value = domain.values[place]
        shape = "" if value is None or value in fillers else shape_of(str(value))
        if shape:
            shapes.setdefault(shape)
        if len(shapes) == _SHAPES:
            break
    return tuple(shapes)


def _entropy(totals: NDArray[np.integer]) -> float:
    """Return the Shannon entropy of counts, in bits."""
    counts = totals[totals > 0].astype(np.float64)
    records = counts.sum()
    return float(max(np.log2(records) - counts @ np.log2(counts) / records, 0.0)) if records else 0.0


def _points_of(domain: Domain, ways: tuple[Spelling, ...]) -> Points:
    """Say whether decimals or thousands stand behind the points of a column of numbers, if decidable."""
    if len(ways) == 1 and (ways[0].point == "," or ways[0].thousands):
        return "thousands" if ways[0].point == "," else "decimals"
    is_plain = len(ways) < 2 and has_decimal_points(column_of([text for text in domain.values if text]))
    return "decimals" if is_plain else ""


def _recognized(domain: Domain, *, textual: bool) -> Recognized | None:
    """Recognize numbers or dates in another notation, in texts or in eight-digit numbers."""
    texts = [value for value in domain.values if value is not None]
    is_number = domain.kind == "number"
    if domain.kind == "category" or (is_number and textual and has_unclear_points(column_of(texts))):
        return recognize(texts)
    digits = recognize_digits(texts) if domain.kind == "number" else None
    return None if digits is None else Recognized("date", (digits,))


def _form_of_texts(domain: Domain, records: int, fillers: set[str]) -> dict[str, Any]:
    texts = [value for value in domain.values if value is not None]
    step = max(len(texts) // _SAMPLE, 1)
    sample = texts[::step]
    if not sample:
        return {}
    lengths = np.array([len(text) for text in sample])
    words = np.array([len(text.split()) for text in sample])
    of_two_lengths = np.isin(lengths, np.argsort(-np.bincount(lengths))[:2]).mean()
    decimal = np.mean([re.fullmatch(r"[+-]?[0-9]*[.,][0-9]+", text) is not None for text in sample])
    number = np.mean([re.fullmatch(NUMBER, text) is not None for text in sample])
    matching = np.mean([_CODE.fullmatch(text) is not None for text in sample]) * (decimal < 0.5)
    no_fillers = [text for text in sample if text not in fillers]
    lists, pairs, formats = separator_of(no_fillers), pairs_of_numbers(no_fillers), day_formats_of(no_fillers)
    sentences = np.mean((words >= _WORDY) | (lengths > _LONG_TEXT))
    plain = not (lists or pairs or formats)
    return {
        "lists": lists,
        "pairs": pairs,
        "formats": formats,
        "diagnoses": diagnosis_codes(no_fillers),
        "contacts": contacts_in(no_fillers),
        "phrases": bool((words >= _PHRASE).any()),
        "codes": bool(plain and matching > 0.97 and (of_two_lengths > 0.9 or lengths.mean() > 6)),
        "reaches": personal_form(sample),
        "postal": is_postal(sample),
        "digits": all(re.fullmatch(r"[0-9-]+", text) for text in sample) and len(set(lengths.tolist())) <= 2,
        "mixed": bool(0.9 < number < 1 and not any(re.fullmatch(r"0[0-9]+", text) for text in sample)),
        "answers": answers_in(texts),
        "prose": bool(plain and sentences >= 0.5 and len(texts) > 0.3 * max(records, 1)),
        "words": frozenset(text.strip().lower() for text in texts) if len(texts) <= 80 else frozenset(),
    }


def _form_of_numbers(domain: Domain, totals: NDArray[np.integer], odd: set[str]) -> dict[str, Any]:
    usable = np.array([value is not None and value not in odd for value in domain.values], np.bool_)
    numbers, records = domain.numbers[usable], totals[usable]
    if not len(numbers) or not np.isfinite(numbers).all():
        return {}
    whole = bool((numbers == np.rint(numbers)).all())
    cumulated = np.cumsum(records)
    low, high = (numbers[np.searchsorted(cumulated, share * cumulated[-1])] for share in (0.01, 0.99))
    once = int(cumulated[-1]) == len(numbers)
    gapless = bool(whole and numbers[0] in (0, 1) and numbers[-1] == numbers[0] + len(numbers) - 1)
    digits = np.floor(np.log10(np.maximum(np.abs(numbers), 1))).astype(np.int64) + 1
    usual = int(np.median(digits))
    steady = usual if whole and (digits == usual).mean() > 0.99 else 0
    sample = _some_texts(domain, usable) if steady >= _CHECKED else []
    return {
        "reaches": personal_form(sample),
        "answers": answers_in([f"{number:g}" for number in numbers[:3]]),
        "whole": whole,
        "sequence": once and gapless and len(numbers) > 5,
        "spread": (float(low), float(high)),
        # Of halves and shares, since the sum of enormous numbers is none.
        "mean": 2 * float((numbers / 2) @ (records / cumulated[-1])),
        "least": float(numbers[0]),
        "rounding": rounding_of(numbers, records),
        "width": steady,
    }


def _some_texts(domain: Domain, usable: NDArray[np.bool_]) -> list[str]:
    """Return a sample of a domain's texts at even distances."""
    places = np.flatnonzero(usable)
    return [str(domain.values[place]) for place in places[:: max(len(places) // _SAMPLE, 1)].tolist()]


Answers = Literal["", "one spelling", "several spellings"]
_MOST = 16
"""Texts that answers may have in several spellings."""


def answers_in(texts: Collection[str]) -> Answers:
    """Say whether all texts answer yes or no, in a single spelling or in several.

    Examples
    --------
    >>> answers_in({"yes", "no"})
    'one spelling'
    >>> answers_in({"yes", "no", "1", "0"}), answers_in({"Yes", "yes", "no"})
    ('several spellings', 'several spellings')
    >>> answers_in({"yes", "no", "perhaps"}), answers_in({"yes"})
    ('', '')
    """
    answers = {text.strip().lower() for text in texts}
    if len(texts) < 2 or len(answers) > _MOST:
        return ""
    pairs = {language.name: language.answers for language in languages()}
    if len(texts) == 2 and any(answers == set(pair) for of in pairs.values() for pair in of):
        return "one spelling"
    english, *others = ({word for pair in of for word in pair} for of in pairs.values())
    is_one_language = any(answers <= english | words for words in (set(), *others))
    return "several spellings" if is_one_language else ""
