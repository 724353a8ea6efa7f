"""Signs of people: definitions, the list, and the signs that occur in a column."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from ipaddress import ip_address
from typing import NamedTuple

from incrowd_gate.lazy import pl
from incrowd_gate.texts.memory import SHORT, remember
from incrowd_gate.texts.name import NAME
from incrowd_gate.texts.sign import DATES, FROM, MONTHS, TO, Sign, at, holding, passing, pieces, plain
from incrowd_gate.texts.telephone import TELEPHONE

_SURNAME = r"\p{Lu}[\pL'’]*\p{Ll}[\pL'’-]*"
_TITLES_ANYWHERE = (
    "Mr", "Mrs", "Ms", "Miss", "Mx", "Dr", "Doctor", "Prof", "Professor", "Rev", "Sir",
    "Frau", "Herr", "Herrn", "Fräulein", "Mme", "Mmes", "Mlle", "MM", "Monsieur", "Madame", "Mademoiselle",
    "Sra", "Srta", "Señor", "Señora", "Señorita", "Dra", "Doña", "Sig", "Sig\\.ra", "Signor", "Signora",
    "Signorina", "Dott", "Dott\\.ssa", "Dottor", "Senhor", "Senhora", "Dhr", "Mevr", "Mevrouw", "Meneer",
    "Pan", "Pani", "Fru", "Hr", "Fröken", "Господин", "Госпожа", "г-н", "г-жа",
)  # fmt: skip
_TITLE_NAMED = (
    rf"(?:^|[^\pL\pN_-])(?:{'|'.join(_TITLES_ANYWHERE)})\.? ?(?:(?:Dr|Prof|med|phil)\.? ?){{0,3}}(?:\b|^)"
    rf"(?:\p{{Lu}}\. ?)*(?:(?:von|van|de|der|den|du|la|le|di|da|zu) )*{_SURNAME}"
)
_TITLES_SMALL = (
    # "M. Dupont" is a name at the start or behind a small word, and not in "Edgar M. Poe".
    rf"(?:^|[.!?;:,] |\(|(?:^|[\s(])\p{{Ll}}+ )(?:M|Fr|Don)\. {_SURNAME}"
    # "Sr. Director" is a senior one.
    rf"|\b(?:[Ee]l|[Aa]l|[Dd]el|[Oo]|[Aa]o|[Dd]o|[Ee]stimado|[Cc]aro|[Pp]rezado) Sr\.? {_SURNAME}"
)
_TITLES_CAPITALS = r"\b(?:MRS|MME|MLLE|FRAU|HERRN?|SRTA|SIGNORA|MEVROUW)\.? \p{Lu}{2,}\b"
_TITLES_LOWER = r"\b(?:mrs|mme|mlle|srta)\.? \pL{3,}"
_TITLES_JAPANESE = r"[\p{Han}\p{Hiragana}\p{Katakana}](?:さん|さま|様|先生|氏)(?:$|[^\p{Han}])"
_TITLE_OTHERS = (
    r"\b(?:Dr\.? (?:Pepper|Martens|Oetker|Scholl\S*|Who|No|Congo)"
    r"|Mr\.? (?:Clean|Bean|Robot|Coffee)|Mrs\.? (?:Dash|Doubtfire)"
    r"|Miss (?:World|Universe|America|Piggy)|Herr der Ringe"
    r"|(?:Asst|Assistant|Assoc|Associate|Adjunct)\.? Prof(?:essor)?\.?|Pan (?:Am|American|Asian|European))"
)
"""Brands and works that look like persons."""

_TITLE_NEEDS = (
    rf"\b(?:{'|'.join((*_TITLES_ANYWHERE, 'M', 'Fr', 'Don', 'Sr'))})\b"
    r"|(?i:mrs|mme|mlle|srta|frau|herrn?|signora|mevrouw)|さん|さま|様|先生|氏"
)


def _title(likely: pl.Series, texts: int) -> pl.Series:
    """Find a title such as ``Mrs``, ``Frau``, ``Mme`` or ``Dr``, with a capitalized word behind.

    The languages are those that `docs/texts.md` lists.
    """
    persons = likely.str.replace_all(_TITLE_OTHERS, " ")
    return holding(persons, _TITLE_NAMED) | holding(
        persons, f"{_TITLES_SMALL}|{_TITLES_CAPITALS}|{_TITLES_LOWER}|{_TITLES_JAPANESE}"
    )


_DATE_BESIDE = (
    rf"(?i)\b(?:{MONTHS}|to|and|until|till?|through|from|before|after|since|between|or|later|earlier|over|under|up"
    r"|bis|und|von|vom|vor|nach|zwischen|seit|ab|oder|später|früher|à|au|du|de|des|et|avant|après|entre|depuis"
    r"|hasta|desde|y|antes|después|am|pm|a\.m|p\.m|uhr|o'clock|utc|gmt|[a-z]{1,4}t|z|t|h|min|none|null|na|nan"
    r"|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
    r"|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
    r"|lunes|martes|miércoles|jueves|viernes|sábado|domingo)\b"
)


def _date(likely: pl.Series, texts: int) -> pl.Series:
    """Find a date with a day beside a word of three letters that is of no date or range."""
    rows = holding(likely, DATES).arg_true()
    rest = likely.gather(rows).str.replace_all(DATES, " ").str.replace_all(_DATE_BESIDE, " ")
    return at(rows.filter(holding(rest, r"\pL{3,}|[\p{Han}\p{Hiragana}\p{Katakana}]{2,}")), likely)


_HOUSE_NUMBER = r"[1-9][0-9]{0,3} ?(?:[a-zA-Z]\b)?"
_STREET_WORDS = r"(?:[\pL'’.-]+ ){0,4}"
_HOUSE = rf"{_STREET_WORDS}\p{{Lu}}\pL+,? (?:n[º°.] ?)?{_HOUSE_NUMBER}"
_ADDRESS_FORMS = {
    "English": (
        r"\b[1-9][0-9]{0,4}[A-Za-z]?,? (?:[NSEW]{1,2}\.? |North |South |East |West )?"
        r"(?:(?:\p{Lu}[\pL'’.-]+|[0-9]{1,3}(?:st|nd|rd|th)) ){1,3}"
        r"(?:Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Way|Place|Pl|Terrace"
        r"|Crescent|Close|Gardens|Grove|Square|Sq|Parkway|Pkwy|Highway|Hwy|Circle|Cir|Trail|Mews)\b"
    ),
    "Broadway": r"\b[1-9][0-9]{0,4} (?:[NSEW]\.? )?(?:Broadway|Park Lane|Pall Mall|Strand|Piccadilly)\b",
    "German": (
        r"(?:\b\p{Lu}\p{Ll}{2,}|\p{Lu}[\pL-]+[ -])"
        r"(?i:straße|strasse|str\.|weg|platz|allee|gasse|damm|ufer|chaussee|promenade|stieg|steig)"
        rf" ?{_HOUSE_NUMBER}|\b\p{{Lu}}\p{{Ll}}{{2,}}str\.? ?[1-9]"
    ),
    "French": (
        r"(?i)\b[1-9][0-9]{0,3},? (?:(?:bis|ter),? )?(?:rue|avenue|av\.|boulevard|bd|place|chemin|impasse"
        r"|allées?|quai|route|cours|passage|square|ruelle) "
        r"(?:de |du |des |d'|d’|la |le |les |l'|l’|[A-ZÀ-Ý]\pL+ ?)"
    ),
    "Spanish": rf"\b(?:[Cc]alle|C/|[Aa]venida|[Aa]vda\.?|[Pp]laza|[Pp]aseo|[Cc]amino) {_HOUSE}",
    "Italian": rf"\b(?:[Vv]ia|[Vv]iale|[Pp]iazza|[Cc]orso|[Ll]argo|[Vv]icolo) {_HOUSE}",
    "Portuguese": rf"\b(?:[Rr]ua|[Tt]ravessa|[Pp]raça|[Aa]venida|[Aa]v\.) {_HOUSE}",
    "Dutch": rf"\b\p{{Lu}}\p{{Ll}}{{2,}}(?:straat|laan|plein|gracht|kade|dijk|singel) {_HOUSE_NUMBER}",
    "Nordic": rf"\b\p{{Lu}}\p{{Ll}}{{2,}}(?:gatan|vägen|gade|vej|veien|vegen|gata|katu|tie) {_HOUSE_NUMBER}",
    "Polish": rf"\b(?:ul|al|pl|os)\. {_STREET_WORDS}\p{{Lu}}\pL+ {_HOUSE_NUMBER}",
    "Russian": r"(?:ул\.|улица|проспект|пр-т|пер\.) ?[\pL -]+,? (?:д\. ?)?[1-9]",
    "Japanese": r"[0-9]+丁目[0-9]+|[市区町村][\p{Han}\p{Katakana}]+[0-9]+-[0-9]+",
    "boxes": (
        r"(?i)\bp\.? ?o\.? ?box:? ?[0-9]+|\bpostfach:? ?[0-9]|\bboîte postale ?[0-9]"
        r"|\bB\.?P\.? [0-9]{2,5}\b[ ,]+[0-9]{5}"
        r"|\bapartado (?:de correos |postal )?[0-9]|\bcasella postale ?[0-9]|\bpostbus ?[0-9]"
        r"|\bpostboks ?[0-9]"
        r"|\bcaixa postal ?[0-9]|\bskrytka pocztowa (?:nr )?[0-9]"
    ),
}
"""How addresses are written, by language."""

_ADDRESS_OTHERS = (
    r"(?i)\b(?:arbeits|sitz|stell|park|liege|schlaf|steh|pflege|kita|studien|ausbildungs|tabellen|start)platz"
    r"|\bbahnsteig|\b[0-9] (?:front|rear|all)?-? ?wheel drive|\banstieg|\babstieg|\baufstieg|\bausstieg"
)
"""Words that end like streets and are counted, and not lived in."""

_ADDRESS_SOME = r"(?:\pL\pL|[市区町村]|(?i:b\.p))"
"""Letters that every form has, so that codes such as A04 are not looked for in all of them."""


def _address(likely: pl.Series, texts: int) -> pl.Series:
    """Find a street with a number, or a post box, in the languages of `docs/texts.md`."""
    homes = likely.str.replace_all(_ADDRESS_OTHERS, " ")
    return holding(homes, "|".join(f"(?:{form})" for form in _ADDRESS_FORMS.values()))


_GERMAN_PLATE = r"[A-ZÄÖÜ]{1,3}-[A-Z]{1,2} [1-9][0-9]{0,3}[EH]?"
_BRITISH_PLATE = r"[A-HJ-PR-Y][A-HJ-PR-Z](?:0[1-9]|[1-7][0-9]) [A-HJ-PR-Z]{3}"
_PLATE_FORMS = {
    "DE": _GERMAN_PLATE,
    "GB": _BRITISH_PLATE,
    "FR, IT": r"[A-HJ-NP-TV-Z]{2}-[0-9]{3}-[A-HJ-NP-TV-Z]{2}",
    "ES": r"[0-9]{4} ?[BCDFGHJ-NPRSTV-Z]{3}",
    "NL": r"(?:[A-Z]{2}-[0-9]{2}-[0-9]{2}|[0-9]{2}-[A-Z]{2}-[0-9]{2}|[0-9]{2}-[A-Z]{2}-[A-Z]{2}"
    r"|[0-9]{2}-[A-Z]{3}-[0-9]|[A-Z]-[0-9]{3}-[A-Z]{2}|[A-Z]{2}-[0-9]{3}-[A-Z])",
}
"""How plates are written where the form is unlike that of most other codes."""

_PLATE_WORD = (
    r"(?i:licen[cs]e plates?|number plates?|registration|reg\.?|plates?|kennzeichen|kfz|immatriculation"
    r"|immatriculée?|plaque|matr[ií]cula|targa|targata|kenteken|tablica rejestracyjna)"
)
_PLATE_NAMED = (
    rf"\b{_PLATE_WORD}(?:[ .:#-]|\b(?i:no|nr|number|is|was|ist|del)\b){{1,6}}"
    r"[A-ZÄÖÜ0-9]{1,4}(?:[ -]?[A-Z0-9]{1,4}){1,3}\b"
)
_PLATE_DIGIT = rf"\b{_PLATE_WORD}\W.*[0-9]"
_PLATES_SHARE = 0.8
_PLATES_LEAST = 5


def _plate(likely: pl.Series, texts: int) -> pl.Series:
    """Find a plate's form behind a word for plates, a German or British plate in a sentence, or a column."""
    matches = holding(likely, _PLATE_NAMED) & holding(likely, _PLATE_DIGIT)
    sentence = holding(likely, r"\p{Ll}{3,}.*\s.*\p{Ll}{2,}")
    matches |= (
        holding(likely, rf"(?:^|[\s(])(?:{_GERMAN_PLATE}|{_BRITISH_PLATE})(?:$|[\s,.;:)!?])") & sentence
    )
    for form in _PLATE_FORMS.values():
        whole = holding(likely, rf"^\s*(?:{form})\s*$")
        if whole.sum() >= max(_PLATES_LEAST, _PLATES_SHARE * texts):
            matches |= whole
    return matches


_IBAN = r"(?i)\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"
_IBANS_SHARE = 0.5


def _bank_account(likely: pl.Series, texts: int) -> pl.Series:
    """Find an IBAN, also in groups of four, with length, form and check digits of the country."""
    return at(passing(pieces(likely, _IBAN), _is_iban, _IBANS_SHARE), likely)


def _is_iban(piece: str) -> bool:
    from stdnum import iban

    # A word behind the number may look like its last group.
    groups = piece.split()
    return any(iban.is_valid("".join(groups[:end])) for end in range(len(groups), 0, -1))


_CARD_ISSUER = r"(?:4[0-9]|5[0-9]|2[2-7]|3[0-9]|6[0-9])"
_CARD_GROUPS = (
    rf"{_CARD_ISSUER}[0-9]{{2}}[ -][0-9]{{4}}[ -][0-9]{{4}}[ -][0-9]{{4}}"
    r"|3[47][0-9]{2}[ -][0-9]{6}[ -][0-9]{5}"
)
_CARD_DIGITS = rf"{_CARD_ISSUER}[0-9]{{11,17}}"
_DIGITS_ALONE = r"^\s*[0-9]+\s*$"
_CARDS_SHARE = 0.5
_CARDS_MOST = 0.9
_CARDS_LEAST = 20


def _card(likely: pl.Series, texts: int) -> pl.Series:
    """Find a number with the first digits of an issuer and a check digit by Luhn.

    One in ten numbers passes Luhn by chance. So in a column of plain numbers nearly all have to pass.
    """
    alone = holding(likely, _DIGITS_ALONE)
    inside = passing(
        pieces(likely, f"{FROM}(?:{_CARD_GROUPS}|{_CARD_DIGITS}){TO}", ~alone), _is_card, _CARDS_SHARE
    )
    whole = passing(pieces(likely, rf"^\s*{_CARD_DIGITS}\s*$", alone), _is_card, _CARDS_MOST, _CARDS_LEAST)
    return at(inside, likely) | at(whole, likely)


def _is_card(piece: str) -> bool:
    from stdnum import luhn

    digits = "".join(filter(str.isdigit, piece))
    return len(set(digits)) > 1 and luhn.is_valid(digits)


_HEX_PAIR = "[0-9A-Fa-f]{2}"
_MAC = (
    rf"(?:^|[^\w:-])(?:(?:{_HEX_PAIR}:){{5}}|(?:{_HEX_PAIR}-){{5}}){_HEX_PAIR}(?:$|[^\w:-])"
    r"|\b(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}\b"
)
_MAC_NEEDS = r"[0-9A-Fa-f]{2}[:.-][0-9A-Fa-f]{2}[0-9A-Fa-f:.-]{7}"
_HEX_LETTERS = r"(?:\b[0-9A-Fa-f]*[A-Fa-f][0-9A-Fa-f]*[:.-])|[:.-][0-9A-Fa-f]*[A-Fa-f]"


def _mac(likely: pl.Series, texts: int) -> pl.Series:
    """Find six pairs of hexadecimal digits, or three groups of four, if any of the texts has letters."""
    matches = holding(likely, _MAC)
    # Where no text has a letter, the digits are a time or a code.
    return matches if holding(likely.filter(matches), _HEX_LETTERS).any() else matches & False


_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_FOUR = rf"(?:^|[^\w.])(?:{_OCTET}\.){{3}}{_OCTET}(?:$|[^\w./*-]|[.-](?:$|\D))"
_DOTTED = r"(?:^|[^\w.])(?:[0-9]+\.){3}[0-9]+"
_HEX = "[0-9a-f]{1,4}"
_HEX_GROUPS = rf"{_HEX}(?::{_HEX})*"
_SIX = rf"(?i)(?:^|[^\w:.])(?:(?:{_HEX}:){{7}}{_HEX}|(?:{_HEX_GROUPS})?::{_HEX_GROUPS})(?:$|[^\w:./*])"
_VERSION = r"(?i)(?:\bv|version|release|build|section|chapter|clause|§) ?[0-9.]+"
_VERSIONS_SHARE = 0.5
_IP_NEEDS = r"[0-9]\.[0-9]+\.[0-9]|[0-9A-Fa-f]:[0-9A-Fa-f:]*:|::[0-9A-Fa-f]"


def _ip(likely: pl.Series, texts: int) -> pl.Series:
    """Find an address of version 4 or 6 in full, unless most numbers of this form cannot be addresses.

    A network such as ``10.0.0.0/8`` and a version are none.
    """
    without = likely.str.replace_all(_VERSION, " ")
    four = pieces(without, _FOUR)["row"].unique()
    if len(four) < _VERSIONS_SHARE * pieces(without, _DOTTED)["row"].n_unique():
        four = four.clear()
    six = passing(pieces(without, _SIX), _is_six, _VERSIONS_SHARE)
    return at(four, likely) | at(six, likely)


def _is_six(piece: str) -> bool:
    text = piece.strip(" \t\r\n,;()[]{}<>\"'=|")
    try:
        return ip_address(text).version == 6 and any(map(str.isdigit, text))
    except ValueError:
        return False


# An address that begins with ``http://``, ``www.`` or the place of a social network.
_URL = (
    r"(?i)\b(?:https?|ftp)://[^\s/$.?#][^\s]*"
    r"|\bwww\.[\pL\pN-]+\.[\pL]{2,}"
    r"|\b(?:facebook|linkedin|instagram|twitter|x|tiktok|github|youtube|vk|xing)\.com/[\w@.-]{2,}"
    r"|\b(?:t|wa)\.me/[\w+]{3,}"
)


# An address with ``@`` or ``(at)``, and a domain that ends with letters.
_AT = r"(?:@|\s?[(\[](?:at|AT|ät)[)\]]\s?)"
_DOT = r"(?:\.|\s?[(\[](?:dot|DOT|punkt)[)\]]\s?)"
_MAIL = rf"[\pL\pN_+%-]{_AT}[\pL\pN-]+(?:{_DOT}[\pL\pN-]+)*{_DOT}\pL{{2,}}"


class Scheme(NamedTuple):
    """The numbers of a country.

    - `module`: the module of `stdnum` that knows its length, its dates and its check digits.
    - `form`: how it is written with its separators or letters, in Rust's syntax; empty if it has none.
    - `digits`: how many digits it has; zero if it is never written as digits alone, or has no check digit.
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

_NUMBER_WORD = (
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
_NUMBER_GAP = r"[^0-9]{0,24}"
_NUMBER_MAY = r"[0-9](?:[^0-9]{0,3}[0-9]){5}|(?i:\b[A-Z]{6}[0-9LMNPQRSTUV]{2}[A-Z])"
_INSURANCE = r"\b[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]\b"
"""The British number of national insurance has no check digit, but a form that little else has."""

_ALONE = rf"{FROM}[0-9]{{9,18}}{TO}"
_NUMBER_ENDS = " \t\r\n,;:()[]{}<>|=\"'.#/"
_NUMBERS_SHARE = 0.5
_NUMBERS_MOST = 0.9
_NUMBERS_LEAST = 20


def _national_number(likely: pl.Series, texts: int) -> pl.Series:
    """Find a number of a person that passes the check of the country.

    A check is passed by chance, often by one in ten numbers. So of the numbers of one form in a column half
    have to pass, and nine of ten of digits alone, unless a word such as ``SSN`` stands before.
    """
    matches = _behind_a_word(likely)
    matches |= at(passing(pieces(likely, _INSURANCE), lambda piece: True, _NUMBERS_SHARE), likely)
    return matches | _in_a_form(likely) | _of_digits_alone(likely)


def _in_a_form(texts: pl.Series) -> pl.Series:
    # One pass for all forms is faster than one for each, as most texts have none.
    rows = holding(texts, "|".join(scheme.form for scheme in SCHEMES if scheme.form)).arg_true()
    here = texts.gather(rows)
    matches = at(rows.clear(), here)
    for scheme in SCHEMES:
        if scheme.form and len(rows):
            candidates = pieces(here, f"{FROM}(?:{scheme.form}){TO}")
            if candidates.height:
                matches |= at(passing(candidates, _check(scheme), _NUMBERS_SHARE), here)
    return at(rows.filter(matches), texts)


def _of_digits_alone(texts: pl.Series) -> pl.Series:
    candidates = pieces(texts, _ALONE).with_columns(pl.col("piece").str.strip_chars(_NUMBER_ENDS))
    lengths = candidates["piece"].str.len_chars()
    rows = [
        passing(candidates.filter(fits), _check(scheme), _NUMBERS_MOST, _NUMBERS_LEAST)
        for scheme in SCHEMES
        if scheme.digits and (fits := lengths == scheme.digits).any()
    ]
    return at(pl.concat([candidates["row"].clear(), *rows]), texts)


def _behind_a_word(texts: pl.Series) -> pl.Series:
    candidates = pieces(texts, rf"(?:{_NUMBER_WORD}){_NUMBER_GAP}[0-9A-Z].*")
    return at(passing(candidates, _begins_with_one, 0.0), texts)


def _begins_with_one(piece: str) -> bool:
    return any(_check(each)(match[0]) for each in SCHEMES for match in _compiled(each).finditer(piece))


@cache
def _compiled(scheme: Scheme) -> re.Pattern[str]:
    alone = rf"\b[0-9]{{{scheme.digits}}}\b" if scheme.digits else ""
    return re.compile("|".join(filter(None, (alone, scheme.form))), re.IGNORECASE)


@cache
def _check(scheme: Scheme) -> Callable[[str], bool]:
    is_valid = import_module(f"stdnum.{scheme.module}").is_valid

    def holds(piece: str) -> bool:
        text = piece.strip(_NUMBER_ENDS)
        return len(set(filter(str.isdigit, text))) > 1 and bool(is_valid(text))

    return holds


def _of(pattern: str) -> Callable[[pl.Series, int], pl.Series]:
    return lambda likely, texts: holding(likely, pattern)


SIGNS = (
    Sign("mail", "mail addresses", r"@|[(\[](?:at|AT|ät)[)\]]", _of(_MAIL)),
    TELEPHONE,
    Sign("iban", "numbers of bank accounts (IBAN)", r"[A-Za-z]{2}[0-9]{2}", _bank_account),
    Sign("card", "numbers of payment cards", r"[0-9](?:[ -]?[0-9]){12}", _card),
    Sign("national-number", "national numbers of persons", _NUMBER_MAY, _national_number),
    Sign("ip", "addresses of computers (IP)", _IP_NEEDS, _ip),
    Sign("mac", "addresses of network cards (MAC)", _MAC_NEEDS, _mac),
    Sign("url", "addresses of web pages", r"[./]", _of(_URL)),
    Sign("plate", "licence plates", r"[0-9].*\p{Lu}|\p{Lu}.*[0-9]", _plate),
    Sign("address", "postal addresses", rf"[0-9].*{_ADDRESS_SOME}|{_ADDRESS_SOME}.*[0-9]", _address),
    Sign("date", "dates in longer texts", r"[0-9].*\pL{3}|\pL{3}.*[0-9]|[0-9]日", _date),
    Sign("title", "names behind a title", _TITLE_NEEDS, _title),
    NAME,
)
"""Every sign, one line each, in the order in which they are looked for and listed."""

_ANY = "|".join(f"(?:{sign.needs})" for sign in SIGNS)
"""What any sign needs. One look is faster than one for each sign where few texts have it."""


def signs_in(texts: pl.Series) -> dict[str, pl.Series]:
    """Find which available signs occur in the texts of a column.

    Parameters
    ----------
    texts
        Distinct texts of one column.

    Returns
    -------
    By the name of each sign that at least one text contains: one truth value per text.

    Examples
    --------
    >>> signs = signs_in(pl.Series(["Mrs Schroeder called", "ask jane@example.org", "fine"]))
    >>> {name: mask.to_list() for name, mask in signs.items() if name in ("mail", "title")}
    {'mail': [False, True, False], 'title': [True, False, False]}
    """
    return dict(_among(texts, tuple(sign.name for sign in SIGNS if sign.available())))


@remember
def _among(texts: pl.Series, names: tuple[str, ...]) -> dict[str, pl.Series]:
    usual = plain(texts)
    if len(usual) <= SHORT and not holding(usual, _ANY).any():
        return {}
    masks = {sign.name: sign.matches_of_plain(usual) for sign in SIGNS if sign.name in names}
    return {name: mask for name, mask in masks.items() if mask.any()}


def missing() -> tuple[tuple[str, str], ...]:
    """List the signs with an absent library, each with the line that installs the library."""
    return tuple((sign.name, sign.install) for sign in SIGNS if not sign.available())
