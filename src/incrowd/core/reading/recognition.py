"""Recognition of numbers or dates in the texts of a column, and the shapes of texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from incrowd.core.io.beginnings import MISSING_TEXTS
from incrowd.core.lazy import pl
from incrowd.core.reading.exact import MOMENT, NUMBER
from incrowd.core.reading.spellings import Spelling, has_unclear_points

_MONTH = "(?P<month>[A-Za-z]{3,9})"
_SHAPES = (
    re.compile(r"(?P<a>[0-9]{1,4})(?P<s>[./-])(?P<b>[0-9]{1,2})(?P=s)(?P<c>[0-9]{1,4})(?P<rest>\D.*)?"),
    re.compile(
        rf"(?P<a>[0-9]{{1,2}})(?P<s>[ ./-]?){_MONTH}(?P=s)(?P<c>[0-9]{{4}}|[0-9]{{2}})(?P<rest>\D.*)?"
    ),
    re.compile(rf"{_MONTH}(?P<s> )(?P<a>[0-9]{{1,2}})(?P<t>,? )(?P<c>[0-9]{{4}})(?P<rest>\D.*)?"),
    re.compile(rf"{_MONTH}(?P<s>[ /-])(?P<c>[0-9]{{4}})(?P<rest>$)"),
    re.compile(r"(?P<a>[0-9]{1,2})(?P<s>[/.-])(?P<c>[0-9]{4})(?P<rest>$)"),
    re.compile(r"(?P<c>[0-9]{4})(?P<s>[/.-])(?P<a>[0-9]{2})(?P<rest>$)"),
)
_SIGNED = re.compile(
    r"[0-9]{4}(?P<year>[年년])(?P<s> ?)[0-9]{1,2}(?P<month>[月월])(?P=s)[0-9]{1,2}(?P<day>[日일])"
    r"(?P<rest>\D.*)?"
)
"""Days of Chinese, Japanese and Korean: ``2020年3月5日``."""
_WEEK = re.compile(r"[0-9]{4}(?P<s>-?)W[0-9]{2}(?P<day>-?[1-7])?")
_TIME = re.compile(
    r"(?P<sep>T|,? )(?P<hour>[0-9]{1,2}):[0-9]{2}(?P<second>:[0-9]{2})?(?P<part>\.[0-9]{1,6})?"
    r"(?P<blank> ?)(?P<noon>[AaPp][Mm])?(?P<zone>Z)?"
)
_NUMBERS = (
    Spelling(decimal="."),
    Spelling(decimal=","),
    Spelling(decimal=".", thousands=","),
    Spelling(decimal=",", thousands="."),
    Spelling(thousands="."),
    Spelling(decimal=",", thousands=" "),
    Spelling(decimal=".", thousands=" "),
    Spelling(decimal=".", thousands="'"),
    Spelling(decimal=",", thousands="'"),
)
UNCLEAR_POINTS: tuple[Spelling, ...] = (Spelling(thousands="."), Spelling(decimal="."))
"""The two spellings of numbers with three digits behind every point."""


@dataclass(frozen=True)
class Recognized:
    """The form of texts.

    Attributes
    ----------
    kind
        ``date`` or ``number``.
    ways
        The spellings under which all of them can be read, one or several; none where they are written
        plainly and only fillers stand beside them.
    fillers
        Well-known fillers among the texts, which were passed over.
    unit
        The sign beside all numbers, such as ``€`` or ``%``.
    """

    kind: str
    ways: tuple[Spelling, ...]
    fillers: tuple[str, ...] = ()
    unit: str = ""


def recognize(texts: Sequence[str]) -> Recognized | None:
    """Return the form of texts that look like numbers or dates, or None.

    Examples
    --------
    >>> days = recognize(["05.03.2020", "17.03.2020", "?"])
    >>> days.ways, days.fillers
    ((Spelling(format='%d.%m.%Y', decimal=None, thousands=None),), ('?',))
    >>> len(recognize(["03/05/2020"]).ways)
    2
    """
    fillers = tuple(text for text in texts if text in MISSING_TEXTS)
    rest = [text for text in texts if text not in MISSING_TEXTS and text != "*"]
    if not rest:
        return None
    if all(re.fullmatch(NUMBER, text) for text in rest):
        ways = UNCLEAR_POINTS if has_unclear_points(pl.Series(rest, dtype=pl.String)) else UNCLEAR_POINTS[:0]
        return Recognized("number", ways, fillers) if fillers or ways else None
    if all(re.fullmatch(MOMENT, text) and len(text) == 10 for text in rest):
        return Recognized("date", (), fillers) if fillers else None
    for kind, candidates in (("date", _patterns(rest[0])), ("number", _decimals(rest))):
        ways = tuple(way for way in candidates if _reads(way, rest))
        if ways:
            # Of the ways that read everything alike, only the first counts.
            distinct: dict[tuple[str | None, ...], Spelling] = {}
            for way in ways:
                distinct.setdefault(tuple(map(way.read, rest)), way)
            unit = ways[0].number(rest[0])[1] if kind == "number" else ""
            return Recognized(kind, tuple(distinct.values()), fillers, unit)
    return None


def recognize_digits(texts: Iterable[str]) -> Spelling | None:
    """Return the spelling of days written ``20200305`` if whole numbers are such days, or None."""
    way = Spelling(format="%Y%m%d")
    listed = list(texts)
    days = len(listed) > 4 and all(re.fullmatch("(19|20)[0-9]{6}", text) for text in listed)
    return way if days and _reads(way, listed) else None


def day_formats(texts: Sequence[str], most: int = 3) -> tuple[str, ...]:
    """Return formats of days such that each text follows some format, or nothing.

    Well-known fillers are passed over. The day comes before the month where no text tells the order.

    Examples
    --------
    >>> day_formats(["2023-01-31", "05.03.2020", "Mar 07, 2020"])
    ('%Y-%m-%d', '%d.%m.%Y', '%b %d, %Y')
    """
    rest = [text for text in texts if text not in MISSING_TEXTS and text != "*"]
    formats: list[str] = []
    while rest and len(formats) < most:
        unread = {way.format: [text for text in rest if way.read(text) is None] for way in _patterns(rest[0])}
        if not unread:
            return ()
        best = min(unread, key=lambda pattern: len(unread[pattern]))
        formats.append(str(best))
        if len(unread[best]) == len(rest):
            return ()
        rest = unread[best]
    return () if rest else tuple(formats)


def _reads(way: Spelling, texts: Sequence[str]) -> bool:
    """Return whether a spelling reads all texts, with the same unit if the texts are numbers."""
    if way.format is not None:
        return all(way.read(text) is not None for text in texts)
    units = set()
    for text in texts:
        number, unit = way.number(text)
        units.add(unit)
        if number is None or len(units) > 1:
            return False
    return True


def _patterns(text: str) -> list[Spelling]:
    """Return the date spellings that a text may follow."""
    week = _WEEK.fullmatch(text.strip())
    if week is not None:
        day = "" if week["day"] is None else f"{week['day'][:-1]}%u"
        return [Spelling(format=f"%G{week['s']}W%V{day}")]
    signed = _SIGNED.fullmatch(text.strip())
    if signed is not None:
        time = _time(signed["rest"] or "")
        day = signed["s"].join((f"%Y{signed['year']}", f"%m{signed['month']}", f"%d{signed['day']}"))
        return [] if time is None else [Spelling(format=day + time)]
    for shape in _SHAPES:
        match = shape.fullmatch(text.strip())
        if match is None:
            continue
        time = _time(match["rest"] or "")
        return [] if time is None else [Spelling(format=day + time) for day in _days(match.groupdict())]
    return []


def _days(parts: dict[str, str | None]) -> list[str]:
    """Return the possible orders of day, month and year in a text."""
    sign, year = parts["s"] or "", "%Y" if len(parts["c"] or "") == 4 else "%y"
    month = parts.get("month")
    if month is not None:
        if "t" in parts:
            return [f"{name} %d{parts['t']}%Y" for name in ("%B", "%b")]
        if parts.get("a") is None:
            return [f"{name}{sign}{year}" for name in ("%B", "%b")]
        return [sign.join(("%d", name, year)) for name in ("%B", "%b")]
    first = parts.get("a")
    if "b" not in parts:
        leads = next(iter(parts)) == "c"
        return [f"%Y{sign}%m" if parts["c"] is not None and leads else f"%m{sign}%Y"]
    if first is not None and len(first) == 4:
        return [f"%Y{sign}%m{sign}%d"]
    orders = [("%d", "%m", year), ("%m", "%d", year)]
    if year == "%y":
        orders.append(("%y", "%m", "%d"))
    return [sign.join(order) for order in orders]


def _time(rest: str) -> str | None:
    """Return the pattern of a time behind a day, or None for another text."""
    if not rest:
        return ""
    match = _TIME.fullmatch(rest)
    if match is None:
        return None
    hour = "%I" if match["noon"] else "%H"
    text = f"{match['sep']}{hour}:%M"
    text += ":%S" if match["second"] else ""
    text += ".%f" if match["part"] else ""
    return text + (match["blank"] + "%p" if match["noon"] else "") + ("Z" if match["zone"] else "")


def _decimals(texts: Sequence[str]) -> list[Spelling]:
    """Return the number spellings that texts may follow, by the signs in the texts."""
    if not re.search("[0-9]", texts[0]) or re.search("[A-Za-z]{4}", texts[0]):
        return []
    signs = set("".join(texts))
    if not signs & set("0123456789") or any(re.match(r"\D{0,2}0[0-9]", text) for text in texts):
        return []  # no digits, or leading zeros, which codes have
    unit = next((sign for sign in "$€£¥₹" if sign in signs), None)
    spellings = []
    for way in _NUMBERS:
        grouped = way.thousands is not None
        blank = way.thousands == " " and bool(signs & {" ", "\u00a0", "\u202f"})
        if grouped and not (blank or way.thousands in signs):
            continue
        if way.decimal == "," and "," not in signs:
            continue  # of whole numbers, Spelling(thousands=".") says it all
        # Three decimals throughout are no amounts of money.
        bare = way == Spelling(decimal=",") and unit
        if not (bare and all(re.search(r",[0-9]{3}\b", text) for text in texts if "," in text)):
            spellings.append(way)
    return spellings


_SHAPE = 24
"""Signs that a shape shows."""
_KEPT = frozenset(" -./:,;()[]{}@_#")
"""Signs that a shape keeps; every other one may be what a value says."""


def shape_of(text: str) -> str:
    """Return the shape of a text: ``A`` and ``a`` for letters, ``9`` for digits, or "" without either.

    Examples
    --------
    >>> shape_of("KX-204"), shape_of("2021-07-30"), shape_of("Ann Lee"), shape_of("+")
    ('AA-999', '9999-99-99', 'Aaa Aaa', '')
    """
    if not any(sign.isalnum() for sign in text):
        return ""
    shape = "".join(
        "9" if sign.isdigit()
        else ("A" if sign.isupper() else "a") if sign.isalnum()
        else sign if sign in _KEPT
        else "." for sign in text[: _SHAPE + 1]
    )  # fmt: skip
    return shape if len(shape) <= _SHAPE else shape[: _SHAPE - 3] + "..."
