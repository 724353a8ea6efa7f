"""Columns of texts that people write freely."""

from __future__ import annotations

from incrowd_verify.lazy import pl
from incrowd_verify.texts.sign import holding, plain, share, spaced
from incrowd_verify.texts.signs import Mail, Title
from incrowd_verify.texts.telephone import Telephone

_LOOKED = 20_000
_LEAST = 10
_WORDS = 5
_SHARE = 0.2
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


def is_free_text(texts: pl.Series, rows: int) -> bool:
    """Say whether the texts of a column are written freely, so that they may say anything about anybody.

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
    looked = usual.gather(spaced(pl.int_range(len(usual), eager=True), _LOOKED))
    return _is_prose(looked, len(usual), rows) or _names_inside_remarks(looked)


def _is_prose(looked: pl.Series, distinct: int, rows: int) -> bool:
    if distinct < _LEAST:
        return False
    if share(holding(looked, _NO_CASE)) > _HALF:
        # Without spaces and capitals, length has to tell.
        words = share(looked.str.len_chars()) * _WORDS / _CHARACTERS
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
    many = words >= _WORDS and distinct >= _SHARE * rows
    return bool(many or (words >= _LONG and distinct >= max(_DISTINCT, _FEW * rows)))


def _names_inside_remarks(looked: pl.Series) -> bool:
    if not holding(looked, _REMARK).any():
        return False
    for sign in (Title(), Mail(), Telephone()):
        remarks = holding(looked.filter(sign.matches_of_plain(looked)), _REMARK)
        if remarks.any() and remarks.sum() >= _BESIDE * len(remarks):
            return True
    return False
