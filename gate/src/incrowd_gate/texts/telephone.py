"""Telephone numbers, validated by the numbering plans of `phonenumbers`.

The plans are patterns of whole numbers. They are put to all candidates of a column at once, so the result is
exact for columns of any length.
"""

from __future__ import annotations

import re
from functools import cache

from incrowd_gate.lazy import pl
from incrowd_gate.texts.sign import DATES, Sign, at, holding, pieces, share

REGIONS = (
    "US", "GB", "DE", "FR", "ES", "IT", "NL", "BE", "CH", "AT", "IE", "PT", "SE", "FI", "AU", "NZ", "JP",
    "KR", "IN", "ZA", "BR", "TW",
)  # fmt: skip
"""Whose local numbers are recognized; international numbers are those of every region."""

_OPEN = ("US", "ES", "IT", "PT")
"""Whose local numbers begin without a zero, and are recognized in columns of plain numbers."""

_SEVEN = r"[0-9](?:[^0-9]{0,4}[0-9]){6}"
_KINDS = (
    "fixed_line", "mobile", "toll_free", "premium_rate", "shared_cost", "personal_number", "voip", "pager",
    "uan", "voicemail",
)  # fmt: skip
_WORD = (
    r"(?i:\b(?:tel|telef|telefon|telefono|teléfono|telefone|téléphone|telephone|tlf|tél|phone|ph|fon|call|called"
    r"|mobile|mobil|mob|cell|handy|handynummer|fax|rufnummer|telefonnummer|rückruf|móvil|celular|celulare"
    r"|cellulare|portable|gsm|whatsapp|sms|тел|телефон|puh|puhelin)\b|[☎☏✆📞📱]|電話|携帯)"
)
_BETWEEN = (
    r"(?i:[\s.:#=-]|\b(?:nr|no|num|number|nummer|me|at|on|under|unter|is|us|him|her|them|back|au|al|en|à|the|home"
    r"|work|private|privat|my|new|neu|or|番号)\b){0,8}"
)
_NUMBER = r"\(?\+?[0-9](?:[ ()./-]{0,3}[0-9]){5,14}"
_WORLD = r"\+ ?[1-9](?:[ ()./-]{0,3}[0-9]){6,16}"
_ABROAD = r"(?:^|[^\w.,+-])00 ?[1-9][0-9]{0,2}[ ./-](?:[ ()./-]{0,3}[0-9]){6,14}"
_ZERO = (
    r"(?:^|[^\w.,/+-])(?:0[0-9]{1,4}[ ./-]|\(0[0-9]{1,5}\) ?|0[0-9]{1,4} ?/ ?)[0-9]{2,8}"
    r"(?:[ ./-]{1,2}[0-9]{2,6}){0,4}(?:$|[^\w/-])"
)
_AMERICAN = (
    r"(?:^|[^\w.,/+-])(?:1[ .-])?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[.-])"
    r"[2-9][0-9]{2}[ .-][0-9]{4}(?:$|[^\w.-]|\.$|\. )"
)
_BRAZILIAN = r"\([1-9]{2}\) ?9?[0-9]{4}-[0-9]{4}\b"
_NO_NUMBERS = (
    # A range of postal codes, a month of a year, and codes of medicines.
    r"^\D*(?:[0-9]{2}[ ./-]+[0-9]{2}|[0-9]{3}[ ./-]+[0-9]{3}|[0-9]{4}[ ./-]+[0-9]{4}"
    r"|[0-9]{5}[ ./-]+[0-9]{5})\D*$"
    r"|^\D*(?:0[0-9]{2,}\D*){2,}$|^\D*[0-9]{5}-[0-9]{4}\D*$|^\D*[0-9]{3}-[0-9]{2}-[0-9]{4}\D*$"
    r"|^\D*[0-9]{4,5}-[0-9]{3,4}-[0-9]{1,2}\D*$"
)
_MONTHS = r"\b(?:0?[1-9]|1[0-2])[-/.](?:19|20)[0-9]{2}\b|\b[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?"
_HALF = 0.5
_MOST = 0.9
_LEAST = 20
_SPREAD = 0.2
_FEW = 200
"""Numbers that are matched in Python."""


def _telephone(likely: pl.Series, texts: int) -> pl.Series:
    """Find an international number, a valid local number in usual form, or a number behind a telephone word.

    Local numbers that fill a cell count where at least half of the cells without letters are such numbers.
    Cells of digits alone count where nine of ten are valid in one region and they are spread as telephone
    numbers are, and not numbered through.
    """
    undated = likely.str.replace_all(DATES, ",").str.replace_all(_MONTHS, ",")
    without_letters = ~holding(undated, r"\pL")
    # Parts of a number may look like a date, and a date may follow a number.
    matches = _international(likely) | _international(undated)
    matches |= _behind_a_word(undated) | _local(undated.str.replace_all(_WORLD, ","), without_letters)
    return matches | _plain_numbers(undated, without_letters, texts)


def _behind_a_word(texts: pl.Series) -> pl.Series:
    return holding(texts, f"{_WORD}{_BETWEEN}{_NUMBER}") & holding(texts, _SEVEN)


def _international(texts: pl.Series) -> pl.Series:
    candidates = pieces(texts, _WORLD)
    return at(candidates["row"].filter(_valid_abroad(candidates["piece"])), texts)


def _valid_abroad(numbers: pl.Series) -> pl.Series:
    # The zero of "+49 (0)30" is not dialled.
    digits = numbers.str.replace(r"\(0\)", "").str.replace_all(r"[^0-9]", "").str.replace("^00", "")
    return _valid_international(digits)


def _local(texts: pl.Series, whole: pl.Series) -> pl.Series:
    rows = [
        candidates["row"].filter(_valid_somewhere(candidates["piece"], regions))
        for pattern, regions in ((_ZERO, _with_zero()), (_AMERICAN, ("US",)), (_BRAZILIAN, ("BR",)))
        for candidates in [pieces(texts, pattern).filter(~pl.col("piece").str.contains(_NO_NUMBERS))]
    ]
    abroad = pieces(texts, _ABROAD)
    rows.append(abroad["row"].filter(_valid_abroad(abroad["piece"])))
    matches = at(pl.concat(rows), texts)
    cells = matches & whole
    if share(cells) < _HALF * share(whole):
        matches &= ~whole
    return matches


def _plain_numbers(texts: pl.Series, whole: pl.Series, looked: int) -> pl.Series:
    digits = texts.str.replace_all(r"[ ./-]", "")
    cells = whole & holding(digits, r"^[0-9]{9,11}$")
    rows = cells.arg_true()
    if len(rows) < max(_LEAST, _MOST * looked):
        return at(rows.clear(), texts)
    numbers = digits.gather(rows)
    if numbers.str.head(-4).n_unique() < _SPREAD * len(numbers):
        return at(rows.clear(), texts)
    for region in (*_with_zero(), *_OPEN):
        valid = _having(numbers, _plan(region))
        if region not in _OPEN:
            valid &= holding(numbers, "^0[1-9]")
        if valid.sum() >= max(_LEAST, _MOST * looked):
            return at(rows.filter(valid), texts)
    return at(rows.clear(), texts)


def _valid_somewhere(numbers: pl.Series, regions: tuple[str, ...]) -> pl.Series:
    digits = numbers.str.replace_all(r"[^0-9]", "")
    valid = pl.repeat(False, len(digits), dtype=pl.Boolean, eager=True)
    for region in regions:
        valid |= _having(digits, _plan(region))
    return valid & (digits.str.len_chars() >= 9).fill_null(False)


def _valid_international(digits: pl.Series) -> pl.Series:
    valid = pl.repeat(False, len(digits), dtype=pl.Boolean, eager=True)
    codes = digits.str.extract(_calling_codes())
    for code in codes.drop_nulls().unique(maintain_order=True):
        valid |= (codes == code).fill_null(False) & _having(digits, _world_plan(code))
    return valid


def _having(digits: pl.Series, plan: str) -> pl.Series:
    """Find the numbers of digits alone that a plan has; false for null.

    Polars compiles a plan in each call once more than 32 patterns take turns, which takes 100 times longer
    than to match a few numbers. Plans are patterns of digits, which mean the same in Python.
    """
    if len(digits) > _FEW:
        return holding(digits, plan)
    has = _compiled(plan).search
    return pl.Series([number is not None and has(number) is not None for number in digits], dtype=pl.Boolean)


@cache
def _compiled(plan: str) -> re.Pattern[str]:
    return re.compile(plan)


@cache
def _with_zero() -> tuple[str, ...]:
    from phonenumbers import PhoneMetadata

    plans = ((region, PhoneMetadata.metadata_for_region(region)) for region in REGIONS)
    return tuple(
        region
        for region, plan in plans
        if plan is not None and (plan.national_prefix == "0" or region == "IT")
    )


@cache
def _calling_codes() -> str:
    from phonenumbers import COUNTRY_CODE_TO_REGION_CODE

    return f"^({'|'.join(map(str, COUNTRY_CODE_TO_REGION_CODE))})"


@cache
def _plan(region: str) -> str:
    """Return the pattern of a whole local number of a region, with or without the first 0 or 1."""
    from phonenumbers import PhoneMetadata

    plan = PhoneMetadata.metadata_for_region(region)
    prefix = re.escape(plan.national_prefix or "") if plan is not None else ""
    return f"^(?:{prefix})?(?:{_patterns(plan)})$"


@cache
def _world_plan(code: str) -> str:
    """Return the pattern of a whole international number with a calling code."""
    from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, PhoneMetadata

    plans = [
        PhoneMetadata.metadata_for_region_or_calling_code(int(code), region)
        for region in COUNTRY_CODE_TO_REGION_CODE[int(code)]
    ]
    return f"^{code}(?:{'|'.join(filter(None, map(_patterns, plans)))})$"


def _patterns(plan: object) -> str:
    kinds = (getattr(plan, kind, None) for kind in _KINDS)
    texts = (getattr(kind, "national_number_pattern", None) for kind in kinds)
    return "|".join(f"(?:{text})" for text in texts if text and text != "NA")


TELEPHONE = Sign("telephone", "telephone numbers", _SEVEN, _telephone)
