"""Streets with a number, and post boxes."""

from __future__ import annotations

from incrowd.core.lazy import pl
from incrowd.core.texts.sign import Sign, holding

_NUMBER = r"[1-9][0-9]{0,3} ?(?:[a-zA-Z]\b)?"
_WORDS = r"(?:[\pL'’.-]+ ){0,4}"
_HOUSE = rf"{_WORDS}\p{{Lu}}\pL+,? (?:n[º°.] ?)?{_NUMBER}"
_FORMS = {
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
        rf" ?{_NUMBER}|\b\p{{Lu}}\p{{Ll}}{{2,}}str\.? ?[1-9]"
    ),
    "French": (
        r"(?i)\b[1-9][0-9]{0,3},? (?:(?:bis|ter),? )?(?:rue|avenue|av\.|boulevard|bd|place|chemin|impasse"
        r"|allées?|quai|route|cours|passage|square|ruelle) "
        r"(?:de |du |des |d'|d’|la |le |les |l'|l’|[A-ZÀ-Ý]\pL+ ?)"
    ),
    "Spanish": rf"\b(?:[Cc]alle|C/|[Aa]venida|[Aa]vda\.?|[Pp]laza|[Pp]aseo|[Cc]amino) {_HOUSE}",
    "Italian": rf"\b(?:[Vv]ia|[Vv]iale|[Pp]iazza|[Cc]orso|[Ll]argo|[Vv]icolo) {_HOUSE}",
    "Portuguese": rf"\b(?:[Rr]ua|[Tt]ravessa|[Pp]raça|[Aa]venida|[Aa]v\.) {_HOUSE}",
    "Dutch": rf"\b\p{{Lu}}\p{{Ll}}{{2,}}(?:straat|laan|plein|gracht|kade|dijk|singel) {_NUMBER}",
    "Nordic": rf"\b\p{{Lu}}\p{{Ll}}{{2,}}(?:gatan|vägen|gade|vej|veien|vegen|gata|katu|tie) {_NUMBER}",
    "Polish": rf"\b(?:ul|al|pl|os)\. {_WORDS}\p{{Lu}}\pL+ {_NUMBER}",
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

_OTHERS = (
    r"(?i)\b(?:arbeits|sitz|stell|park|liege|schlaf|steh|pflege|kita|studien|ausbildungs|tabellen|start)platz"
    r"|\bbahnsteig|\b[0-9] (?:front|rear|all)?-? ?wheel drive|\banstieg|\babstieg|\baufstieg|\bausstieg"
)
"""Words that end like streets and are counted, and not lived in."""


_SOME = r"(?:\pL\pL|[市区町村]|(?i:b\.p))"
"""Letters that every form has, so that codes such as A04 are not looked for in all of them."""


class Address(Sign):
    """A street with a number, or a post box, as the languages of `docs/texts.md` write them."""

    name = "address"
    text = "postal addresses"
    needs = rf"[0-9].*{_SOME}|{_SOME}.*[0-9]"

    def among(self, likely: pl.Series, texts: int) -> pl.Series:
        """Find texts with such an address; a town or a postal code alone is none."""
        homes = likely.str.replace_all(_OTHERS, " ")
        return holding(homes, "|".join(f"(?:{form})" for form in _FORMS.values()))
