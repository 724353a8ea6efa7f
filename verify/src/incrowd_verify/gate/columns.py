"""The points of the texts of one released column."""

from __future__ import annotations

from collections.abc import Iterator

from incrowd_verify.gate import wording
from incrowd_verify.gate.points import Point
from incrowd_verify.lazy import NDArray, np, pl

_NUMBER = r"^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$"
_DECIMAL = r"[.eE]|(?i)nan|inf"
_MOMENT = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?$"
_GENERALIZED = r"^[\[\](){<>]|\*| or (less|more|earlier|later)$"
"""Cells that a generalization wrote: ranges, sets, masks and open ends."""


def texts_of(values: pl.Series, counts: NDArray[np.int64]) -> tuple[pl.Series, NDArray[np.int64]] | None:
    """Return the distinct texts of a column with counts, or None if the values are not texts.

    Numbers with decimals and moments are left out, also where a file of texts holds them: they neither name
    nor reach a person. The texts are in order, so that whoever reads the column looks at the same ones.

    - `values`: the distinct values.
    - `counts`: int64[values]: how many records have each.
    """
    if values.dtype.is_float() or values.dtype.is_decimal() or values.dtype.is_temporal():
        return None
    if values.dtype in (pl.Boolean, pl.Null):
        return None
    has_value = values.is_not_null()
    texts, counts = values.filter(has_value).cast(pl.String), counts[has_value.to_numpy()]
    are_decimals = _are_numbers(texts) and texts.str.contains(_DECIMAL).any()
    if len(texts) and (are_decimals or texts.str.contains(_MOMENT).all()):
        return None
    order = texts.arg_sort()
    return texts.gather(order), counts[order.to_numpy()]


def _are_numbers(texts: pl.Series) -> bool:
    numbers = texts.str.contains(_NUMBER) | texts.str.contains(r"(?i)^[+-]?(nan|inf)$")
    return bool(numbers.all())


def are_numbers(values: pl.Series) -> bool:
    """Say whether all known values are numbers, or texts of plain numbers."""
    if values.dtype.is_numeric():
        return True
    return values.dtype == pl.String and _are_numbers(values.drop_nulls())


def ungeneralized(texts: pl.Series, counts: NDArray[np.int64]) -> tuple[pl.Series, NDArray[np.int64]]:
    """Leave out the cells written by a generalization."""
    plain = ~texts.str.contains(_GENERALIZED)
    return texts.filter(plain), counts[plain.to_numpy()]


def points_of_texts(
    name: str, texts: pl.Series, counts: NDArray[np.int64], rows: int, *, quasi: bool, compared: bool
) -> Iterator[Point]:
    """Return the points of the texts of a column.

    - `texts`, `counts`: its distinct texts, and how many of the records have each.
    - `rows`: all records.
    - `quasi`: whether it is a quasi-identifier, so that cells of a generalization are among its texts.
    - `compared`: whether models compare its cells, as those of a sensitive column.
    """
    from incrowd_verify.texts import SIGNS, is_free_text, separator_of, signs_in

    if quasi:
        texts, counts = ungeneralized(texts, counts)
    if not len(texts):
        return
    masks = {sign: mask.to_numpy() for sign, mask in signs_in(texts).items()}
    if masks:
        phrases = {sign.name: sign.text for sign in SIGNS}
        records = {phrases[sign]: int(counts[mask].sum()) for sign, mask in masks.items()}
        personal_records = int(counts[np.logical_or.reduce(list(masks.values()))].sum())
        shares = {sign: (number, number / rows) for sign, number in records.items()}
        yield wording.personal_text(name, shares, personal_records / rows)
    if is_free_text(texts, rows):
        yield wording.free_text(name, int(counts.sum()) / rows)
    separator = separator_of(texts) if compared else None
    if separator is not None:
        several = texts.str.contains(separator, literal=True).to_numpy()
        yield wording.list_cells(name, int(counts[several].sum()) / rows)
