"""Keys of people and compared values in a normal form."""

from __future__ import annotations

from decimal import Decimal

from incrowd.core.lazy import pl

ANY_KEY = ("id", "no", "nr", "key", "number")
"""Names of keys, which say nothing of the table."""
_NUMBER = r"^[+-]?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,4})?$"
_WHOLE = r"^(?:0|-?[1-9][0-9]*)$"
_MIDNIGHT = r"^([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]00:00:00(?:\.0*)?$"
_LONGEST = 400
"""Digits of a number that is written without an exponent."""


def plain_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """Return cells as stripped texts in Unicode form NFC, in which NaN is missing."""
    number = pl.selectors.float().fill_nan(None)
    return frame.with_columns(number).select(pl.all().cast(pl.String).str.strip_chars().str.normalize("NFC"))


def key_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """Return cells as texts that are equal for equal meanings.

    Numbers are written by value, so 1, 1.0 and 1e0 are one key. That holds for columns of numbers, and for
    columns of texts that are all plain numbers. A number with a zero in front is none: where one value of a
    column is ``007``, all of them stay as they are. A point of time at midnight is its day.

    Examples
    --------
    >>> import polars as pl
    >>> key_texts(pl.DataFrame({"id": [1.0, 2.5], "code": ["007", "1.0"]})).rows()
    [('1', '007'), ('2.5', '1.0')]
    """
    numeric = [dtype.is_numeric() for dtype in frame.dtypes]
    texts = plain_texts(frame).get_columns()
    # Series look themselves up by their name, which may be a pattern of names.
    columns = zip(texts, numeric, strict=True)
    return pl.DataFrame([_normal(text.alias(""), number=flag).alias(text.name) for text, flag in columns])


def _normal(text: pl.Series, *, number: bool) -> pl.Series:
    filled = text.filter(text != "")
    if not number and not (len(filled) and filled.str.contains(_NUMBER).all()):
        return text.str.replace(_MIDNIGHT, "$1")
    # Most are whole already, or so but for a zero behind the point.
    short = text.str.replace(r"^(-?[1-9][0-9]*)\.0*$", "$1")
    others = short.filter(~short.str.contains(_WHOLE) & short.str.contains(_NUMBER)).unique()
    return short.replace(others, pl.Series(list(map(_by_value, others)), dtype=pl.String))


def _by_value(text: str) -> str:
    """Write a number without exponent and without redundant zeros."""
    sign, digits, exponent = Decimal(text).as_tuple()
    written = "".join(map(str, digits)).lstrip("0")
    significant = written.rstrip("0")
    if not significant:
        return "0"
    point = int(exponent) + len(written)
    if abs(point) > _LONGEST:
        number = f"{significant}e{point}"
    elif point <= 0:
        number = f"0.{'0' * -point}{significant}"
    elif len(significant) <= point:
        number = significant + "0" * (point - len(significant))
    else:
        number = f"{significant[:point]}.{significant[point:]}"
    return "-" * sign + number
