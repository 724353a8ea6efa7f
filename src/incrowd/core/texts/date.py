"""Dates with a day inside longer texts."""

from __future__ import annotations

from incrowd.core.lazy import pl
from incrowd.core.texts.sign import Sign, at, holding

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

_BESIDE = (
    rf"(?i)\b(?:{MONTHS}|to|and|until|till?|through|from|before|after|since|between|or|later|earlier|over|under|up"
    r"|bis|und|von|vom|vor|nach|zwischen|seit|ab|oder|später|früher|à|au|du|de|des|et|avant|après|entre|depuis"
    r"|hasta|desde|y|antes|después|am|pm|a\.m|p\.m|uhr|o'clock|utc|gmt|[a-z]{1,4}t|z|t|h|min|none|null|na|nan"
    r"|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
    r"|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
    r"|lunes|martes|miércoles|jueves|viernes|sábado|domingo)\b"
)


class Date(Sign):
    """A date with a day that stands beside other words; a column of dates or ranges of dates has none."""

    name = "date"
    text = "dates in longer texts"
    needs = r"[0-9].*\pL{3}|\pL{3}.*[0-9]|[0-9]日"

    def among(self, likely: pl.Series, texts: int) -> pl.Series:
        """Find texts with such a date and at least one word of three letters that is of no date or range."""
        rows = holding(likely, DATES).arg_true()
        rest = likely.gather(rows).str.replace_all(DATES, " ").str.replace_all(_BESIDE, " ")
        return at(rows.filter(holding(rest, r"\pL{3,}|[\p{Han}\p{Hiragana}\p{Katakana}]{2,}")), likely)
