"""The base of signs, and the steps that signs share: candidates by a pattern, then a closer check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from incrowd_gate.lazy import pl

CHECKED = 20_000
"""Candidates that a check in Python looks at, per kind of number; of more, this many evenly spaced ones."""

SAMPLE = 1_000
"""Candidates of which the share that passes is measured."""

FEW = 5
"""Fewer candidates than these tell no share, so each is judged alone."""

FROM = r"(?:^|[^\w.,+-])"
TO = r"(?:$|[^\w.,-]|[.,](?:$|[^0-9]))"
"""The ends of a number that is no part of a longer one, and no decimal places."""

_DAY = r"(?:0?[1-9]|[12][0-9]|3[01])"
_MONTH = r"(?:0?[1-9]|1[0-2])"
_YEAR = r"(?:(?:1[89]|20)[0-9]{2})"
MONTHS = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec|january|february|march|april|june|july|august"
    r"|september|october|november|december|januar|februar|märz|mrz|mai|juni|juli|oktober|okt|dezember|dez"
    r"|janvier|février|fevrier|févr?|mars|avril|avr|juin|juillet|juil|août|aout|septembre|octobre|novembre"
    r"|décembre|decembre|déc|enero|ene|febrero|marzo|abril|abr|mayo|junio|julio|agosto|ago|septiembre"
    r"|octubre|noviembre|diciembre|dic|gennaio|gen|febbraio|aprile|maggio|mag|giugno|giu|luglio|lug"
    r"|settembre|set|ottobre|ott|dicembre|janeiro|fevereiro|março|maio|junho|julho|setembro|outubro"
    r"|novembro|dezembro|januari|februari|maart|mei|augustus|stycznia|lutego|marca|kwietnia|maja|czerwca"
    r"|lipca|sierpnia|września|października|listopada|grudnia|января|февраля|марта|апреля|мая|июня|июля"
    r"|августа|сентября|октября|ноября|декабря)"
)
DATES = (
    rf"(?i)(?:\b{_YEAR}([-/.]){_MONTH}[-/.]{_DAY}(?:\b|T)"
    rf"|\b{_DAY}[-/.] ?{_MONTH}[-/.] ?(?:{_YEAR}|[0-9]{{2}})\b"
    rf"|\b{_MONTH}[-/.]{_DAY}[-/.](?:{_YEAR}|[0-9]{{2}})\b"
    rf"|\b{_DAY}(?:st|nd|rd|th|er|º|ª|\.)?[ -]?(?:of |de |di |do )?{MONTHS}\b\.?"
    rf"|\b{MONTHS}\.? {_DAY}(?:st|nd|rd|th)?\b"
    rf"|{_YEAR}年{_MONTH}月{_DAY}日|\b{_MONTH}月{_DAY}日)"
).replace("([-/.])", "[-/.]")
"""A date with a day, in digits or with the name of a month, in Rust's syntax."""


@dataclass(frozen=True)
class Sign:
    """A kind of text by which a person is named, reached or found.

    Attributes
    ----------
    name
        Its name in policies and accounts, as ``telephone``.
    text
        What it is, as messages say it: ``telephone numbers``.
    needs
        A cheap pattern, in Rust's syntax, without which no text contains it.
    among
        Finds the texts with it, given those with its `needs` as `plain` returns them, none null, and how many
        texts of the column are not null.
    install
        The line that installs its library; empty where it needs none that may be absent.
    available
        Whether all that it needs is installed.
    """

    name: str
    text: str
    needs: str
    among: Callable[[pl.Series, int], pl.Series]
    install: str = ""
    available: Callable[[], bool] = lambda: True

    def matches(self, texts: pl.Series) -> pl.Series:
        """Find the texts that contain the sign: a truth value per text, false for null.

        A check digit is passed by chance, so the distinct texts of a column are judged together. Checks in
        Python look at `CHECKED` candidates at most, so the number of texts found is then a lower bound.

        Examples
        --------
        >>> from incrowd_gate.texts import SIGNS
        >>> SIGNS[0].matches(pl.Series(["ask jane@example.org", "fine", None])).to_list()
        [True, False, False]
        """
        return self.matches_of_plain(plain(texts))

    def matches_of_plain(self, texts: pl.Series) -> pl.Series:
        """Find the texts that contain the sign, among texts that `plain` returned."""
        rows = holding(texts, self.needs).arg_true()
        if not len(rows):
            return at(rows, texts)
        return at(rows.filter(self.among(texts.gather(rows), len(texts) - texts.null_count())), texts)


def plain(texts: pl.Series) -> pl.Series:
    """Write digits, letters of full width, spaces and dashes the usual way; a null stays null.

    Examples
    --------
    >>> plain(pl.Series(["０９０‑1234", "a\u00a0b"])).to_list()
    ['090-1234', 'a b']
    """
    texts = texts.cast(pl.String)
    unusual = holding(texts, r"[^\x00-\x7f]")
    if not unusual.any():
        return texts
    usual = texts.filter(unusual).str.normalize("NFKC").str.replace_all(r"[\u2010-\u2015\u2212]", "-")
    return texts.scatter(unusual.arg_true(), usual) if len(usual) else texts


def holding(texts: pl.Series, pattern: str) -> pl.Series:
    """Find the texts in which a pattern of Rust's syntax occurs; false for null."""
    # A long pattern takes longer to compile than to be looked for in a few texts.
    if not len(texts):
        return pl.Series([], dtype=pl.Boolean)
    masks = texts.str.contains(pattern)
    return masks.fill_null(False) if masks.null_count() else masks


def share(numbers: pl.Series) -> float:
    """Return the mean of numbers, or the share of true values; 0 if there are none."""
    return float(numbers.sum() or 0) / max(len(numbers), 1)


def at(rows: pl.Series, texts: pl.Series) -> pl.Series:
    """Turn the positions of texts into a truth value per text."""
    mask = pl.Series(texts.name, [False]).new_from_index(0, len(texts))
    return mask.scatter(rows.unique(), True) if len(rows) else mask


def spaced(rows: pl.Series, most: int = CHECKED) -> pl.Series:
    """Choose at most so many rows, evenly spaced, so that each call chooses the same."""
    if len(rows) <= most:
        return rows
    steps = pl.int_range(most, eager=True)
    return rows.gather(steps * len(rows) // most)


def pieces(texts: pl.Series, pattern: str, among: pl.Series | None = None) -> pl.DataFrame:
    """Take out every occurrence of a pattern.

    - `texts`: texts as `plain` returns them.
    - `pattern`: a pattern in Rust's syntax.
    - `among`: one truth value per text: where to look. All texts if None.

    Returns
    -------
    Columns ``row``, the position of the text, and ``piece``.
    """
    if among is None:
        rows = holding(texts, pattern).arg_true()
    else:
        rows = among.arg_true()
        rows = rows.filter(holding(texts.gather(rows), pattern))
    if not len(rows):
        return pl.DataFrame(schema={"row": pl.UInt32, "piece": pl.String})
    matches = texts.gather(rows).alias("piece").str.extract_all(pattern)
    return pl.DataFrame({"row": rows, "piece": matches}).explode("piece", empty_as_null=False)


def passing(
    candidates: pl.DataFrame, valid: Callable[[str], bool], least_share: float, least: int = 1
) -> pl.Series:
    """Find the rows of which a piece passes a check, where chance does not explain that so many pass.

    - `candidates`: rows and pieces, see `pieces`.
    - `valid`: the check of one piece.
    - `least_share`: which share of the rows has to pass, if there are at least `FEW`.
    - `least`: how many rows there have to be.

    Returns
    -------
    Positions of texts. At most `CHECKED` rows are looked at.
    """
    if candidates.height < max(least, 1):
        return candidates["row"].clear()
    rows = candidates["row"].unique(maintain_order=True)
    if len(rows) < least:
        return rows.clear()
    first = _valid(candidates, spaced(rows, SAMPLE), valid)
    looked = min(len(rows), SAMPLE)
    if looked >= FEW and len(first) < least_share * looked:
        return rows.clear()
    return first if looked == len(rows) else _valid(candidates, spaced(rows), valid)


def _valid(candidates: pl.DataFrame, rows: pl.Series, valid: Callable[[str], bool]) -> pl.Series:
    looked = candidates.filter(candidates["row"].is_in(rows.implode()))
    passed = [valid(piece) for piece in looked["piece"]]
    return looked["row"].filter(pl.Series(passed, dtype=pl.Boolean)).unique(maintain_order=True)
