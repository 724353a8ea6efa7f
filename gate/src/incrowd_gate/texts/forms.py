"""The form of a column of texts: lists, such as ``asthma;diabetes``, or texts that people write freely."""

from __future__ import annotations

from incrowd_gate.lazy import pl
from incrowd_gate.texts.memory import remember
from incrowd_gate.texts.sign import holding, plain, share, spaced
from incrowd_gate.texts.signs import SIGNS

SEPARATORS = (";", "|", "\n", ",", "/")
"""What may stand between the parts of a list, the surest first."""

_LOOKED = 20_000
_LEAST = 3
_SHARE = 0.2
_REPEATS = 0.5
_PLACES = 0.3
_NUMBERS = 0.9
_LETTERS = 0.9
_LONGEST = 40
_WORDS = 3.0
_GENERALIZED = r"^\s*(?:\{.*\}|[\[(].*[\])])\s*$"
_NUMBER = r"^\s*[-+]?(?:[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+,[0-9]+)\s*$"


@remember
def separator_of(texts: pl.Series) -> str | None:
    """Find the separator of the parts, if the cells of a column are lists.

    At least one cell in five has several parts, the parts are short, they are far fewer than the cells
    use, and many occur at several places of a list. Surnames before first names, towns before countries
    and dates do not: their parts keep their places. Sets and ranges of a release are no lists.

    Parameters
    ----------
    texts
        The distinct texts of the column.

    Returns
    -------
    One of `SEPARATORS`, or None.

    Examples
    --------
    >>> separator_of(pl.Series(["tv|radio", "tv", "radio|web", "tv|radio|web", "web"]))
    '|'
    >>> separator_of(pl.Series(["Müller, Anna", "Koch, Ben", "Wolf, Anna"]))
    """
    usual = texts.cast(pl.String).drop_nulls()
    usual = usual.filter(holding(usual, r"\S"))
    usual = usual.filter(~holding(usual, _GENERALIZED))
    looked = spaced(usual, _LOOKED)
    return next((separator for separator in SEPARATORS if _separates(separator, looked)), None)


def _separates(separator: str, cells: pl.Series) -> bool:
    several = cells.str.contains(separator, literal=True)
    if several.sum() < max(_LEAST, _SHARE * len(cells)):
        return False
    joined = cells.filter(several)
    if separator == "," and share(holding(joined, _NUMBER)) > _NUMBERS:
        return False
    parts = _parts(cells, separator)
    of_several = parts.filter(pl.col("of") > 1)
    if of_several["cell"].n_unique() < max(_LEAST, _SHARE * len(cells)):
        return False
    texts = of_several["part"]
    if separator == "/" and share(holding(texts, r"\pL")) < _LETTERS:
        return False
    if (texts.str.len_chars() > _LONGEST).any() or share(texts.str.count_matches(r"\S+")) > _WORDS:
        return False
    places = parts.group_by("part").agg(pl.len(), pl.col("place").n_unique())
    again = places.filter(pl.col("len") > 1)["place"]
    return texts.n_unique() <= _REPEATS * len(texts) and share(again > 1) >= _PLACES


def _parts(cells: pl.Series, separator: str) -> pl.DataFrame:
    """Return the cell, the place and the text of each part, and how many parts the cell has."""
    return (
        pl.DataFrame({"cell": pl.int_range(len(cells), eager=True), "part": cells.str.split(separator)})
        .explode("part", empty_as_null=False)
        .with_columns(pl.col("part").str.strip_chars())
        .filter(pl.col("part") != "")
        .with_columns(place=pl.int_range(pl.len()).over("cell"), of=pl.len().over("cell"))
    )


_LEAST_TEXTS = 10
_SENTENCE = 5
_DISTINCT_SHARE = 0.2
"""Sentences: so many words on average, and at least so many distinct texts per row."""

_LONG = 12
_DISTINCT = 50
_FEW = 0.02
"""Long texts, also in a column that is mostly empty."""

_HALF = 0.5
_PROSE = 0.4
_CHARACTERS = 20
_SMALL = r"(?:^|[\s(„“\"'])\p{Ll}{2,}"
_NO_CASE = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Arabic}\p{Hebrew}\p{Devanagari}]"
_BESIDE = 0.3
_REMARK = r"(?:^|[\s,;(])\p{Ll}{3,}(?:$|[\s.,;!?)])"


@remember
def is_free_text(texts: pl.Series, rows: int) -> bool:
    """Say whether the texts of a column are written freely, and may say anything about anybody.

    They are so in two cases. Most are sentences and many are distinct. Or people are named or reached inside
    remarks, however short, as in ``ask my GP Dr Patel``.

    Parameters
    ----------
    texts
        The distinct texts of the column.
    rows
        The rows of the table.

    Examples
    --------
    >>> remarks = [f"Patient complains of pain in the left knee since week {week}" for week in range(40)]
    >>> is_free_text(pl.Series(remarks), 60), is_free_text(pl.Series(remarks), 3000)
    (True, False)
    >>> is_free_text(pl.Series(["fine", "ask my GP Dr Patel"]), 3000)
    True
    """
    usual = plain(texts).drop_nulls()
    usual = usual.filter(holding(usual, r"\S"))
    looked = spaced(usual, _LOOKED)
    return _is_prose(looked, len(usual), rows) or _names_inside_remarks(looked)


def _is_prose(looked: pl.Series, distinct: int, rows: int) -> bool:
    if distinct < _LEAST_TEXTS:
        return False
    if share(holding(looked, _NO_CASE)) > _HALF:
        # Without spaces and capitals, length has to tell.
        words = share(looked.str.len_chars()) * _SENTENCE / _CHARACTERS
        prose = 1.0
    else:
        counts = looked.str.count_matches(r"\S+")
        words = share(counts)
        prose = share(looked.str.count_matches(_SMALL)) / max(words, 1)
        if not holding(looked, r"\p{Ll}").any():
            # All is written in capitals.
            words, prose = words - 2, 1.0
    if prose < _PROSE:
        return False
    many = words >= _SENTENCE and distinct >= _DISTINCT_SHARE * rows
    return bool(many or (words >= _LONG and distinct >= max(_DISTINCT, _FEW * rows)))


def _names_inside_remarks(looked: pl.Series) -> bool:
    if not holding(looked, _REMARK).any():
        return False
    for sign in (each for each in SIGNS if each.name in ("title", "mail", "telephone")):
        remarks = holding(looked.filter(sign.matches_of_plain(looked)), _REMARK)
        if remarks.any() and remarks.sum() >= _BESIDE * len(remarks):
            return True
    return False
