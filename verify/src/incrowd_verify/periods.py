"""Cells about time and age, read in SQL: cells that tell too much, and cells that nobody can judge.

What is not recognized as harmless is doubtful. Patterns are those of RE2, for cells in small letters with
plain dashes; see `plainly`.
"""

from __future__ import annotations

from collections.abc import Sequence

from incrowd_gate.texts.sign import MONTHS
from incrowd_verify.source import literal, number

_SEPARATOR = r"[-/._ ]"
_YEAR = r"(?:1[6-9]|20|21)\d\d"
_MONTH = r"(?:0?[1-9]|1[0-2])"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_FROM, _TO = r"(?:^|[^\pL\d])", r"(?:$|[^\pL])"
_LONG_MONTHS = "|".join(name for name in MONTHS[3:-1].split("|") if len(name) > 4)
_WEEKS = (
    r"(?:quarters?|quartale?|trimestres?|trimester|kwartaal|kwartał|semesters?|semestres?|halbjahr|half|weeks?"
    r"|wochen?|kw|wk|semaines?|semanas?|settimana|vecka|uke|uge|tydzień|viikko)"
)
_DAYS = (
    r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|(?:mon|diens|donners|frei|sams|sonn)tag|"
    r"mittwoch|sonnabend|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|jueves|"
    r"viernes|sábado|domingo|maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag"
)
FINER = "|".join(
    (
        rf"(?:^|\D){_YEAR}[-/_ ]{_MONTH}(?:$|\D)",
        rf"(?:^|\D){_YEAR}\.{_MONTH}\.",
        rf"(?:^|[^\d.]){_MONTH}[-/_. ]{_YEAR}(?:$|[^\d.]|\.$)",
        rf"(?:^|[^\d.])\d{{1,2}}{_SEPARATOR} ?\d{{1,2}}{_SEPARATOR} ?(?:\d{{4}}|\d\d)(?:$|[^\d.]|\.(?:$|\D))",
        rf"\d{{8}}t\d|{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]) ?\d{{4}}",
        rf"\d[^\pL\d]{{0,3}}(?:(?:st|nd|rd|th|er|of|de|di|do|d['’])[^\pL\d]{{0,2}})*{MONTHS}{_TO}",
        rf"(?:^|[^\pL]){MONTHS}[^\pL\d]{{0,3}}(?:(?:of|de|di|do) )?\d",
        rf"{_FROM}(?:q[1-4]|[ht][12]|t[34])[^\pL\d]{{0,3}}\d\d",
        r"\d\d[^\pL\d]{0,3}(?:q[1-4]|[ht][12]|t[34]|kw ?\d\d?|w\d\d?)(?:$|[^\pL\d])",
        rf"{_WEEKS}\D.*{_YEAR}|{_YEAR}.*{_WEEKS}",
        r"\d ?(?:年|月|년|월) ?\d{1,2} ?(?:月|日|월|일)|\d ?(?:月|월)",
    )
)
"""Cells that have a month, a quarter, a week or a day."""
_DOUBTFUL = "|".join(
    (
        rf"^[^\pL\d]*(?:(?:{MONTHS}|{_DAYS})[^\pL\d]*)+$",
        rf"{_FROM}(?:{_LONG_MONTHS}){_TO}",
        rf"{_WEEKS}\W*\d|\d\W*{_WEEKS}|(?:^|[^\pL])(?:day|tag|jour|día|giorno|dag)\W*\d",
        r"(?:^|\D)(?:[01]?\d|2[0-3]):[0-5]\d",
        r"^\d{1,2}(?:st|nd|rd|th|\.)$",
        rf"(?:^|\D){_YEAR}-?[0-3]\d\d(?:$|\D)",
        r"\pL.*[^\pL\d.](?:0\d|[12]\d|3[01])[-/.](?:0\d|1[0-2])(?:$|[^\pL\d.])",
        # Days as numbers, from 2020-01-05 as 20200105 to seconds since 1970.
        rf"^\W*(?:{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|(?:{_DAY}{_MONTH}|{_MONTH}{_DAY}){_YEAR})\W*$",
        r"^\W*(?:[3-9]\d{8}|1\d{9}|[3-9]\d{11}|1\d{12}|1\d{15}|1\d{18}|\d{12}|\d{14})(?:\.\d+)?\W*$",
        r"^\W*0\d{3}\W*$",
    )
)
_LETTER = r"[[:alpha:]]|[^\x00-\x7f]"
_NUMBER = r"[-+<>≤≥=~]{0,2} ?[$€£¥]? ?\d+(?:[.,' ]\d{3})*(?:[.,]\d+)?(?:e[-+]?\d+)? ?[%€]?"
_NUMBERS = (
    rf"{_NUMBER}|[\[({{]{_NUMBER}(?: ?(?:,|;|-|to|\.\.) ?{_NUMBER})*[\])}}]|{_YEAR} ?- ?{_YEAR}"
    rf"|{_NUMBER} ?-[-+$€£ ]*\d{{3,}}(?:[.,]\d+)?"
)
_PAIR = r"\d{1,4}[-/.]\d{1,4}\.?"
_AS_DAY = rf"{_DAY}[-/.]{_MONTH}\.?|{_MONTH}[-/.](?:{_DAY}|\d\d)\.?|\d\d[-/.]{_MONTH}|{_YEAR}\.\d{{1,3}}"
_SIX = (
    rf"{_YEAR}(?:0[1-9]|1[0-2])|\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
    r"|(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])\d\d|(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d\d"
    rf"|\d(?:0[1-9]|1[0-2]){_YEAR}|\d[0-3]\d{_YEAR}"
)
_BESIDE_YEAR = r"(?:c|ca|circa|about|around|before|after|since|until|vor|nach|seit|bis|ab)\.?|[<>≤≥=~'’]{1,2}"
_ALONE = rf"(?:^|\D){_YEAR}(?:$|\D)"
_ONE_YEAR = rf"(?:(?:{_BESIDE_YEAR}) ?)?{_YEAR}s?"
_YEARS = (
    rf"[\[({{]?{_ONE_YEAR}(?: ?(?:-|,|to|bis|à|/|\.\.) ?{_ONE_YEAR})*[\])}}]?"
    rf"|{_YEAR} or (?:later|earlier|more|less)|{_YEAR} ?[+-]|{_YEAR} ?(?:年|년)"
    r"|\d{1,2}(?:st|nd|rd|th) century"
)
_WHOLE_YEARS = (
    (r"(\d{4})-01-01( ?(?:to|-|,) ?)(\d{4})-12-31", r"\1\2\3"),
    (r"(\d{4})-01-01, (\d{4})-01-01\)", r"\1, \2)"),
    (r"(\d{4})-(?:01-01 or later|12-31 or earlier)", r"\1 or later"),
)
"""Ranges of dates that begin and end with a year, and what is read in their place."""
DAYS_ARE_CALLED = (
    "date", "day", "month", "week", "quarter", "dob", "birth", "birthdate", "birthday", "born", "admission",
    "admitted", "admit", "discharge", "discharged", "visit", "seen", "timestamp", "datetime", "death", "died",
    "dod", "datum", "tag", "monat", "woche", "geburt", "geburtsdatum", "aufnahme", "entlassung", "fecha",
    "mes", "semana", "nacimiento", "jour", "mois", "semaine", "naissance", "nascita", "nascimento",
    "生年月日", "日付", "日", "月",
)  # fmt: skip
"""How columns of days, weeks and months are called: there a number is no number."""


def plainly(cell: str) -> str:
    """Write the SQL of a cell in small letters with plain dashes and without blanks around."""
    dashes = literal("[\\x{2010}-\\x{2015}\\x{2212}\\x{FE58}\\x{FE63}\\x{FF0D}]")
    return f"trim(regexp_replace(lower({cell}), {dashes}, '-', 'g'))"


def strange(cell: str) -> str:
    """Write the SQL of whether a cell has signs that nobody sees, or digits of other scripts."""
    return f"regexp_matches(regexp_replace({cell}, '[0-9]', '', 'g'), '[\\p{{N}}\\p{{Cf}}\\p{{Co}}]')"


def finer_than_years(columns: Sequence[tuple[str, bool]]) -> str:
    """Write a query of columns: how many records tell more than a year, and of how many nobody can say.

    `columns`: SQL of a table of texts v, and whether the column is called as those of days are. The query has
    their places.
    """
    plain = plainly("v")
    for pattern, year in _WHOLE_YEARS:
        plain = f"regexp_replace({plain}, {literal(pattern)}, {literal(year)}, 'g')"

    def like(pattern: str) -> str:
        return f"regexp_full_match(u, {literal(pattern)})"

    def has(pattern: str) -> str:
        return f"regexp_matches(u, {literal(pattern)})"

    cells = " UNION ALL ".join(
        f"SELECT {place:d} AS place, {str(of_days).lower()} AS of_days, v, count(*) AS n "
        f"FROM {table} GROUP BY v"
        for place, (table, of_days) in enumerate(columns)
    )
    groups = "length(regexp_replace(regexp_replace(u, '[0-9]+', '#', 'g'), '[^#]', '', 'g'))"
    # A year and a number beside words, as months of any language; or several numbers of no known form.
    beside = f"letters AND {has(_ALONE)} AND NOT {like(_YEARS)}"
    unclear = f"groups > 1 AND (({beside}) OR NOT (letters OR pair OR {like(_NUMBERS)}))"
    named = f"of_days AND digits AND NOT {like(_YEARS)}"
    # Some shapes are those of numbers, too: the whole column tells.
    by_column = "(pair AND all_days) OR (five AND all_five) OR (as_six AND 2 * sixes > all_sixes)"
    alike = "OVER (PARTITION BY place)"
    return (
        "SELECT place, coalesce(sum(n) FILTER (finer), 0) AS finer, coalesce(sum(n) FILTER (NOT finer AND "
        f"({strange('v')} OR {has(_DOUBTFUL)} OR ({unclear}) OR ({named}) OR {by_column})), 0) AS doubtful "
        f"FROM (SELECT *, bool_and(as_day) FILTER (pair) {alike} AS all_days, "
        f"bool_and(five) FILTER (digits) {alike} AS all_five, "
        f"count(*) FILTER (as_six) {alike} AS sixes, count(*) FILTER (six) {alike} AS all_sixes "
        f"FROM (SELECT *, {has(FINER)} AS finer, {has('[0-9]')} AS digits, {has(_LETTER)} AS letters, "
        f"{groups} AS groups, {like(_PAIR)} AS pair, {like(_AS_DAY)} AS as_day, "
        "coalesce(TRY_CAST(u AS DOUBLE) BETWEEN 20000 AND 60000, false) AS five, "
        f"{like('[0-9]{6,7}')} AS six, {like(_SIX)} AS as_six "
        f"FROM (SELECT *, {plain} AS u FROM ({cells})))) GROUP BY place"
    )


_UNITS = r" ?(?:years?(?: old)?|yrs?|y\.?o\.?|jahre?(?: alt)?|ans|años|anni|anos|jaar)$"
_AGE = r"\d{1,3}(?:\.\d+)?"
_TURN = r" ?(?:-|,|to|bis|à|a|\.\.) ?"


def _open(number: str) -> tuple[str, str]:
    """Return the patterns of ranges that are open above and below."""
    return (
        rf"[\[(]?(?:>=?|≥|over|above|more than|older than|from|since|after|über|ab|plus de) ?{number}[\])]?"
        rf"|[\[(]?{number} ?(?:\+|plus|(?:or|and) (?:more|older|over|above|later)|und (?:älter|mehr)"
        r"|et plus|y más|-|(?:-|to|,) ?(?:\*|inf|∞))[\])]?",
        r"[\[(]?(?:<=?|≤|under|below|less than|younger than|before|until|up to|unter|bis|moins de)"
        rf" ?{number}[\])]?"
        rf"|[\[(]?{number} ?(?:(?:or|and) (?:less|younger|under|below|earlier)|und jünger)[\])]?",
    )


_ABOVE, _BELOW = _open(_AGE)
_AGES = rf"{_AGE}|[\[({{]?{_AGE}(?:{_TURN}{_AGE})*[\])}}]?"
_LATER, _EARLIER = _open(r"\d{4}")
_BIRTHS = r"\d{4}(?:-\d\d){0,2}|[\[({]?\d{4}(?:(?: ?(?:-|,|to|bis|à|\.\.) ?)\d{4})*[\])}]?|\d{3}0s"
_LONGEST = 115
"""Years that nobody outlives, so that a range up to them has no end above."""


def in_one_group(cells: str, oldest: int, year: int | None) -> str:
    """Write the query of records with an age above a limit outside a single group, and of doubtful records.

    - `cells`: SQL of a table of texts v.
    - `oldest`: the last age that may be told.
    - `year`: the year of the release, where the cells are years of birth; None where they are ages.
    """
    digits = r"\d{4}" if year else r"\d+(?:\.\d+)?"
    ends = f"regexp_extract_all(u, {literal(digits)})::DOUBLE[]"
    first, last = f"list_min({ends})", f"list_max({ends})"
    if year:
        # Those born up to this year are older; the group of all of them is open below.
        bound = number(year - oldest - 1)
        known, opened = f"{_BIRTHS}|{_LATER}", _EARLIER
        strict = "regexp_matches(u, '^[\\[(]?(?:<[^=]|before|under|below|less|younger)')::BIGINT"
        old, whole = f"{first} <= {bound}", f"{last} - {strict} >= {bound}"
        closed = f"{first} <= {number(year - _LONGEST)} AND {last} >= {bound} AND {first} < {last}"
    else:
        bound = number(oldest)
        known, opened = f"{_AGES}|{_BELOW}", _ABOVE
        strict = "regexp_matches(u, '^[\\[(]?(?:>[^=]|over|above|more|older|über|plus)')::BIGINT"
        old, whole = f"{last} > {bound}", f"{first} + {strict} <= {bound} + 1"
        closed = f"{last} >= {number(_LONGEST)} AND {first} <= {bound} + 1 AND {first} < {last}"
    state = (
        f"CASE WHEN regexp_full_match(u, {literal(opened)}) "
        f"THEN CASE WHEN {whole} THEN 'group' ELSE 'old' END "
        f"WHEN NOT regexp_full_match(u, {literal(known)}) OR {strange('v')} THEN 'doubtful' "
        f"WHEN NOT ({old}) THEN 'fine' WHEN {closed} THEN 'group' ELSE 'old' END"
    )
    return (
        "SELECT coalesce(sum(n) FILTER (state = 'old' OR (state = 'group' AND groups > 1)), 0) AS old, "
        "coalesce(sum(n) FILTER (state = 'doubtful'), 0) AS doubtful "
        f"FROM (SELECT *, count(DISTINCT v) FILTER (state = 'group') OVER () AS groups "
        f"FROM (SELECT v, n, {state} AS state FROM (SELECT v, n, "
        f"regexp_replace({plainly('v')}, {literal(_UNITS)}, '') AS u "
        f"FROM (SELECT v, count(*) AS n FROM {cells} GROUP BY v))))"
    )
