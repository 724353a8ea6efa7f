"""Columns of codes with labels: the text of a cell, and the code, label and type of a released cell.

A labelled value is a category, and its cell is the label. A number without a label is a number. So a cell is
the text that a person reads, and a released text finds its code again, or gets a new one:

- A text that a code has keeps it.
- In a column of numbers ``*`` gets a missing code of its own with the label ``*``.
- In a column of categories every other text gets a new code with the text as its label.
- Any other column becomes one of texts. A code for a range of numbers would look like one of the numbers,
  and old programs would go on to compute with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from incrowd.core.lazy import pl

Code = float | str
SUPPRESSED = "*"
_WHOLE = 2_147_483_620
"""Largest integer of Stata's widest integer type, above which numbers are doubles."""


@dataclass(frozen=True)
class Column:
    """The labels and formats that a file has of a column.

    Attributes
    ----------
    kind
        What its values are.
    label, format, measure
        As the file has them.
    labels
        Labels by code. A letter is a missing code of Stata or SAS.
    missing
        Codes that mean missing, from and to.
    letters
        Missing codes that are letters, of those that its cells have.
    codes
        All missing codes that its cells have.
    categories
        Whether all its values have labels, apart from missing codes.
    """

    kind: Literal["number", "text", "date", "time"]
    label: str | None = None
    format: str | None = None
    measure: str | None = None
    labels: Mapping[Code, str] = field(default_factory=dict)
    missing: Sequence[tuple[Any, Any]] = ()
    letters: frozenset[str] = frozenset()
    codes: frozenset[Code] = frozenset()
    categories: bool = False

    def is_missing(self, code: Any) -> bool:
        """Say whether a code means missing."""
        if self.kind != "text" and isinstance(code, str):
            return True
        return any(type(code) is type(least) and least <= code <= most for least, most in self.missing)

    def missing_texts(self) -> list[str]:
        """Return the cells of missing codes: labels, or else the numbers or letters.

        Examples
        --------
        >>> Column("number", labels={9.0: "refused"}, codes=frozenset([8.0, 9.0])).missing_texts()
        ['8', 'refused']
        """
        texts = self.texts()
        return sorted(texts.get(code) or _unlabelled(code, self) for code in self.codes)

    def texts(self) -> dict[Code, str]:
        """Return the text of each labelled code, with the code added to ambiguous texts."""
        labels = {code: label.strip() for code, label in self.labels.items() if label.strip()}
        often = Counter(labels.values())
        return {
            code: text if often[text] == 1 and not _is_other(text, code) else f"{text} ({plain(code)})"
            for code, text in labels.items()
        }


def _unlabelled(code: Any, column: Column) -> str:
    """Write a code without a label, with a point before a letter that means missing."""
    return f".{code}" if isinstance(code, str) and column.kind != "text" else plain(code)


def _is_other(text: str, code: Code) -> bool:
    """Say whether a label is the text of another number."""
    try:
        return isinstance(code, float) and plain(float(text)) == text != plain(code)
    except ValueError:
        return False


def plain(code: Any) -> str:
    """Write a code as a cell without a label.

    Examples
    --------
    >>> plain(3.0), plain(0.5), plain("a")
    ('3', '0.5', 'a')
    """
    if isinstance(code, float):
        text = repr(code)
        return text[:-2] if text.endswith(".0") else text
    return str(code.isoformat() if hasattr(code, "isoformat") else code)


def shown(values: Sequence[Any], column: Column) -> pl.Series:
    """Return the cells of a column: numbers, days or times where none has a label, else texts."""
    texts: dict[Any, str | None] = {**column.texts(), None: None}
    if column.kind == "text":
        return pl.Series([texts.get(value, value) if value else None for value in values], dtype=pl.String)
    if not any(value in texts or isinstance(value, str) for value in values if value is not None):
        if column.kind != "number":
            return pl.Series(values)
        numbers = pl.Series(values, dtype=pl.Float64, strict=False)
        integral = (numbers == numbers.round(0)).all() and (numbers.abs() < 2**53).all()
        return numbers.cast(pl.Int64) if integral else numbers
    for value in set(values).difference(texts):
        texts[value] = _unlabelled(value, column)
    return pl.Series([texts[value] for value in values], dtype=pl.String)


@dataclass(frozen=True)
class Limits:
    """The labels and formats that a kind of file can have of a column.

    Attributes
    ----------
    labels
        Bytes that a label may have; 0 where there are no labels.
    letters
        The letters for a suppressed cell, tried in this order; none where missing codes are numbers.
    missing
        Missing codes that are numbers, at most.
    """

    labels: int
    letters: str = ""
    missing: int = 0


@dataclass(frozen=True)
class Written:
    """How a column is written.

    Attributes
    ----------
    values
        A number, a text, a letter or None for each row.
    kind
        As in `Column`.
    labels
        Labels by code, of codes that rows have.
    missing
        Missing codes that are numbers or texts, of those that rows have.
    """

    values: pl.Series
    kind: str
    labels: Mapping[Code, str] = field(default_factory=dict)
    missing: Sequence[Code] = ()
    letters: frozenset[str] = frozenset()


def written(cells: pl.Series, column: Column | None, limits: Limits) -> Written:
    """Return the released column as the file will hold the values (see the module).

    Parameters
    ----------
    column
        What the file that it comes from said of it, if it comes from such a file.
    """
    if cells.dtype != pl.String:
        return _typed(cells, column)
    if column is None:
        return Written(cells.fill_null(""), "text")
    if (
        column.kind == "date"
        and (days := cells.str.to_date("%Y-%m-%d", strict=False)).count() == cells.count()
    ):
        return Written(days, "date")
    distinct = cells.drop_nulls().unique().sort().to_list()
    codes = _codes(distinct, column, limits)
    if codes is None:
        return Written(cells.fill_null(""), "text")
    return _coded(cells, codes, column)


def _typed(cells: pl.Series, column: Column | None) -> Written:
    if cells.dtype.is_temporal():
        return Written(cells, "date" if cells.dtype == pl.Date else "time")
    if cells.dtype == pl.Null:
        return Written(cells.cast(pl.String).fill_null(""), "text")
    missing: list[Code] = []
    if column is not None and column.missing:
        distinct = cells.drop_nulls().unique().sort().cast(pl.Float64)
        missing = [code for code in distinct if column.is_missing(code)]
    return Written(_narrow(cells), "number", missing=missing)


def _narrow(numbers: pl.Series) -> pl.Series:
    """Return integers as 32-bit integers if all fit, else as doubles."""
    if numbers.dtype.is_integer() and (numbers.cast(pl.Float64).abs() <= _WHOLE).all():
        return numbers.cast(pl.Int32)
    return numbers.cast(pl.Float64)


def _codes(distinct: Sequence[str], column: Column, limits: Limits) -> dict[str, Code] | None:
    """Return the code of each text, or None where the column has to become text."""
    code_of = {text: code for code, text in column.texts().items()}
    code_of |= {f".{letter}": letter for letter in column.letters if letter not in column.labels}
    codes = {text: code_of[text] for text in distinct if text in code_of}
    rest = [text for text in distinct if text not in code_of]
    if column.kind == "text":
        return {**codes, **{text: text for text in rest}}
    if column.kind != "number":
        return None
    for text in rest:
        number = _number_of_text(text)
        if number is not None and number not in column.labels:
            codes[text] = number
    rest = [text for text in rest if text not in codes]
    if rest and (not limits.labels or any(len(text.encode()) > limits.labels for text in rest)):
        return None
    if any(text != SUPPRESSED for text in rest) and not column.categories:
        return None
    return _with_new(codes, rest, column, limits)


def _with_new(
    codes: dict[str, Code], rest: Sequence[str], column: Column, limits: Limits
) -> dict[str, Code] | None:
    """Add a missing code for ``*``, and new codes above the existing codes for other texts."""
    numbers = [code for code in [*codes.values(), *column.labels] if isinstance(code, float)]
    above = 10.0 ** len(str(int(max((abs(number) for number in numbers), default=1))))
    new = [text for text in rest if text != SUPPRESSED]
    further = {text: above + position for position, text in enumerate(new, 1)}
    if SUPPRESSED in rest:
        if limits.letters:
            free = [letter for letter in limits.letters if letter not in {*column.letters, *column.labels}]
            if not free:
                return None
            further[SUPPRESSED] = free[0]  # type: ignore[assignment]
        elif sum(column.is_missing(code) for code in codes.values()) >= limits.missing:
            return None
        else:
            further[SUPPRESSED] = 1 - above
    return {**codes, **further}


def _number_of_text(text: str) -> float | None:
    """Return the number with this plain text, if any."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if plain(number) == text and abs(number) != float("inf") else None


def _coded(cells: pl.Series, codes: Mapping[str, Code], column: Column) -> Written:
    texts = column.texts()
    labels = {
        code: text
        for text, code in codes.items()
        if code in texts or (column.kind == "number" and _number_of_text(text) != code and text != f".{code}")
    }
    if column.kind == "text":
        values: list[Any] = [codes.get(text, "") for text in cells]
        missing = [code for code in codes.values() if column.is_missing(code)]
        return Written(pl.Series(values, dtype=pl.String), "text", labels, missing)
    letters = frozenset(code for code in codes.values() if isinstance(code, str))
    values = [None if text is None else codes[text] for text in cells]
    suppressed = codes.get(SUPPRESSED)
    missing = [
        code
        for code in codes.values()
        if isinstance(code, float)
        and (column.is_missing(code) or (code == suppressed and code not in column.labels))
    ]
    if letters:
        return Written(pl.Series(values, dtype=pl.Object), "number", labels, missing, letters)
    numbers = pl.Series(values, dtype=pl.Float64)
    integral = (numbers == numbers.round(0)).all() and (numbers.abs() <= _WHOLE).all()
    return Written(numbers.cast(pl.Int32) if integral else numbers, "number", labels, missing)
