"""National numbers of persons: of tax, health and social insurance, and of registers."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import NamedTuple

from incrowd_verify.lazy import pl
from incrowd_verify.texts.sign import FROM, TO, Sign, at, holding, passing, pieces


class Scheme(NamedTuple):
    """The numbers of a country.

    Attributes
    ----------
    module
        The module of `stdnum` that knows its length, its dates and its check digits.
    form
        How it is written with its separators or letters, in Rust's syntax; empty if it has none.
    digits
        How many digits it has; zero if it is never written as digits alone, or has no check digit.
    """

    module: str
    form: str = ""
    digits: int = 0


SCHEMES = (
    Scheme("ar.cuit", r"\b[0-9]{2}-[0-9]{8}-[0-9]\b"),
    Scheme("at.vnr", r"\b[0-9]{4} [0-3][0-9][01][0-9]{3}\b", 10),
    Scheme("au.tfn", r"\b[0-9]{3} [0-9]{3} [0-9]{3}\b", 9),
    Scheme("be.nn", r"\b[0-9]{2}\.[0-9]{2}\.[0-9]{2}-[0-9]{3}[.-][0-9]{2}\b", 11),
    Scheme("bg.egn", "", 10),
    Scheme("br.cpf", r"\b[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}\b", 11),
    Scheme("ca.sin", r"\b[1-79][0-9]{2}[ -][0-9]{3}[ -][0-9]{3}\b", 9),
    Scheme("ch.ssn", r"\b756\.[0-9]{4}\.[0-9]{4}\.[0-9]{2}\b", 13),
    Scheme("cl.rut", r"\b[1-9][0-9]?\.[0-9]{3}\.[0-9]{3}-[0-9Kk]\b|\b[1-9][0-9]{6,7}-[0-9Kk]\b"),
    Scheme("cn.ric", r"\b[1-8][0-9]{16}[Xx]\b", 18),
    Scheme("cz.rc", r"\b[0-9]{2}[0-8][0-9][0-3][0-9]/[0-9]{3,4}\b"),
    Scheme("de.idnr", r"\b[1-9][0-9] [0-9]{3} [0-9]{3} [0-9]{3}\b", 11),
    Scheme("dk.cpr", r"\b[0-3][0-9][01][0-9]{3}-[0-9]{4}\b"),
    Scheme("ee.ik", "", 11),
    Scheme("es.dni", r"\b[0-9]{8}[ -]?[A-HJ-NP-TV-Z]\b"),
    Scheme("es.nie", r"\b[XYZ][ -]?[0-9]{7}[ -]?[A-HJ-NP-TV-Z]\b"),
    Scheme("fi.hetu", r"\b[0-3][0-9][01][0-9]{3}[-+A-FU-Y][0-9]{3}[0-9A-FHJ-NPR-Y]\b"),
    Scheme("fr.nir", r"\b[12] [0-9]{2} [0-9]{2} [0-9][0-9AB] [0-9]{3} [0-9]{3} ?[0-9]{2}\b", 15),
    Scheme("gb.nhs", r"\b[0-9]{3}[ -][0-9]{3}[ -][0-9]{4}\b", 10),
    Scheme("gr.amka", "", 11),
    Scheme("hr.oib", "", 11),
    Scheme("ie.pps", r"\b[0-9]{7}[A-W][A-IW]?\b"),
    Scheme("il.idnr", r"\b[0-9]{8}-[0-9]\b", 9),
    Scheme("in_.aadhaar", r"\b[2-9][0-9]{3}[ -][0-9]{4}[ -][0-9]{4}\b", 12),
    Scheme("is_.kennitala", r"\b[0-7][0-9][01][0-9]{3}-[0-9]{4}\b", 10),
    Scheme(
        "it.codicefiscale",
        r"(?i:\b[A-Z]{6}[0-9LMNPQRSTUV]{2}[A-EHLMPRST][0-9LMNPQRSTUV]{2}[A-Z][0-9LMNPQRSTUV]{3}[A-Z]\b)",
    ),
    Scheme("jp.in_", r"\b[0-9]{4}[ -][0-9]{4}[ -][0-9]{4}\b", 12),
    Scheme("kr.rrn", r"\b[0-9]{2}[01][0-9][0-3][0-9]-[0-9]{7}\b", 13),
    Scheme("mx.curp", r"\b[A-Z]{4}[0-9]{6}[HMX][A-Z]{5}[0-9A-Z][0-9]\b"),
    Scheme("my.nric", r"\b[0-9]{2}[01][0-9][0-3][0-9]-[0-9]{2}-[0-9]{4}\b"),
    Scheme("nl.bsn", r"\b[0-9]{4}\.[0-9]{2}\.[0-9]{3}\b", 9),
    Scheme("no.fodselsnummer", r"\b[0-7][0-9][0-9]{4} [0-9]{5}\b", 11),
    Scheme("pl.pesel", "", 11),
    Scheme("pt.cc", r"\b[0-9]{8} ?[0-9] ?[A-Z]{2}[0-9]\b"),
    Scheme("ro.cnp", "", 13),
    Scheme("se.personnummer", r"\b(?:[12][0-9])?[0-9]{2}[01][0-9][0-3][0-9][-+][0-9]{4}\b", 12),
    Scheme("si.emso", "", 13),
    Scheme("th.pin", r"\b[1-8]-[0-9]{4}-[0-9]{5}-[0-9]{2}-[0-9]\b", 13),
    Scheme("tr.tckimlik", "", 11),
    Scheme("ua.rntrc", "", 10),
    # It has no check digit: its form alone, without numbers that are never given out.
    Scheme("us.ssn", r"\b[0-9]{3}-[0-9]{2}-[0-9]{4}\b"),
    Scheme("za.idnr", r"\b[0-9]{6} [0-9]{4} [0-9]{3}\b", 13),
)  # fmt: skip
"""Numbers of persons; all but the American one and those with a birth date have a check digit."""

_WORD = (
    # Some are words of daily life in small letters.
    r"\b(?:SIN|RUN|RUT|NIE|CF|C\.F\.|RČ)\b|(?i:\b(?:ssn"
    r"|social security|soc\.? sec|nhs|national insurance|bsn|burgerservicenummer|pesel|cpf"
    r"|dni|nif|nir|insee|s[ée]curit[ée] sociale|n[°º] ?s[ée]cu|codice fiscale|cod\.? fisc"
    r"|steuer-?id|idnr|steueridentifikationsnummer|steuernummer|sozialversicherungsnummer|sv-?nr|svnr|ahv|tfn"
    r"|aadhaar|personnummer|personnr|pnr|cpr|f[øo]dselsnummer|hetu|henkil[öo]tunnus|kennitala|egn|amka|oib|cnp|emso"
    r"|rodn[ée] [čc][íi]slo|isikukood|asmens kodas|pps|ppsn|curp|cuit|cuil|tc kimlik|rijksregister"
    r"|rijksregisternummer|niss|national id|id number|identity (?:card|number)|personal (?:id|number|code)"
    r"|tax (?:id|number|file)|insurance (?:no|number)|nric)\b|マイナンバー|身份证|주민등록번호)"
)
_GAP = r"[^0-9]{0,24}"
_MAY = r"[0-9](?:[^0-9]{0,3}[0-9]){5}|(?i:\b[A-Z]{6}[0-9LMNPQRSTUV]{2}[A-Z])"
_INSURANCE = r"\b[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]\b"
"""The British number of national insurance has no check digit, but a form that little else has."""

_ALONE = rf"{FROM}[0-9]{{9,18}}{TO}"
_AROUND = " \t\r\n,;:()[]{}<>|=\"'.#/"
_SHARE = 0.5
_MOST = 0.9
_LEAST = 20


class NationalNumber(Sign):
    """A number of a person that passes the check of its country; `CHECKED` of each are looked at.

    A check is passed by chance, often by one in ten numbers. So of the numbers of one form in a column half
    have to pass, and nine of ten of digits alone, unless a word such as ``SSN`` stands before.
    """

    name = "national-number"
    text = "national numbers of persons"
    needs = _MAY

    def among(self, likely: pl.Series, texts: int) -> pl.Series:
        """Find texts with such a number."""
        matches = _behind_a_word(likely)
        matches |= at(passing(pieces(likely, _INSURANCE), lambda piece: True, _SHARE), likely)
        return matches | _in_a_form(likely) | _of_digits_alone(likely)


def _in_a_form(texts: pl.Series) -> pl.Series:
    # One pass for all forms is faster than one for each, as most texts have none.
    rows = holding(texts, "|".join(scheme.form for scheme in SCHEMES if scheme.form)).arg_true()
    here = texts.gather(rows)
    matches = at(rows.clear(), here)
    for scheme in SCHEMES:
        if scheme.form and len(rows):
            matches |= at(passing(pieces(here, f"{FROM}(?:{scheme.form}){TO}"), _check(scheme), _SHARE), here)
    return at(rows.filter(matches), texts)


def _of_digits_alone(texts: pl.Series) -> pl.Series:
    candidates = pieces(texts, _ALONE).with_columns(pl.col("piece").str.strip_chars(_AROUND))
    lengths = candidates["piece"].str.len_chars()
    rows = [
        passing(candidates.filter(fits), _check(scheme), _MOST, _LEAST)
        for scheme in SCHEMES
        if scheme.digits and (fits := lengths == scheme.digits).any()
    ]
    return at(pl.concat([candidates["row"].clear(), *rows]), texts)


def _behind_a_word(texts: pl.Series) -> pl.Series:
    candidates = pieces(texts, rf"(?:{_WORD}){_GAP}[0-9A-Z].*")
    return at(passing(candidates, _begins_with_one, 0.0), texts)


def _begins_with_one(piece: str) -> bool:
    return any(any(_check(scheme)(number) for number in _numbers(piece, scheme)) for scheme in SCHEMES)


def _numbers(piece: str, scheme: Scheme) -> list[str]:
    return [match[0] for match in _compiled(scheme).finditer(piece)]


@cache
def _compiled(scheme: Scheme) -> re.Pattern[str]:
    alone = rf"\b[0-9]{{{scheme.digits}}}\b" if scheme.digits else ""
    return re.compile("|".join(filter(None, (alone, scheme.form))), re.IGNORECASE)


@cache
def _check(scheme: Scheme) -> Callable[[str], bool]:
    is_valid = import_module(f"stdnum.{scheme.module}").is_valid

    def holds(piece: str) -> bool:
        text = piece.strip(_AROUND)
        return len(set(filter(str.isdigit, text))) > 1 and bool(is_valid(text))

    return holds
