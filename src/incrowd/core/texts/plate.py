"""Licence plates of vehicles."""

from __future__ import annotations

from incrowd.core.lazy import pl
from incrowd.core.texts.sign import Sign, holding

_GERMAN = r"[A-ZÄÖÜ]{1,3}-[A-Z]{1,2} [1-9][0-9]{0,3}[EH]?"
_BRITISH = r"[A-HJ-PR-Y][A-HJ-PR-Z](?:0[1-9]|[1-7][0-9]) [A-HJ-PR-Z]{3}"
_FORMS = {
    "DE": _GERMAN,
    "GB": _BRITISH,
    "FR, IT": r"[A-HJ-NP-TV-Z]{2}-[0-9]{3}-[A-HJ-NP-TV-Z]{2}",
    "ES": r"[0-9]{4} ?[BCDFGHJ-NPRSTV-Z]{3}",
    "NL": r"(?:[A-Z]{2}-[0-9]{2}-[0-9]{2}|[0-9]{2}-[A-Z]{2}-[0-9]{2}|[0-9]{2}-[A-Z]{2}-[A-Z]{2}"
    r"|[0-9]{2}-[A-Z]{3}-[0-9]|[A-Z]-[0-9]{3}-[A-Z]{2}|[A-Z]{2}-[0-9]{3}-[A-Z])",
}
"""How plates are written where the form is unlike that of most other codes."""

_WORD = (
    r"(?i:licen[cs]e plates?|number plates?|registration|reg\.?|plates?|kennzeichen|kfz|immatriculation"
    r"|immatriculée?|plaque|matr[ií]cula|targa|targata|kenteken|tablica rejestracyjna)"
)
_NAMED = (
    rf"\b{_WORD}(?:[ .:#-]|\b(?i:no|nr|number|is|was|ist|del)\b){{1,6}}"
    r"[A-ZÄÖÜ0-9]{1,4}(?:[ -]?[A-Z0-9]{1,4}){1,3}\b"
)
_DIGIT = rf"\b{_WORD}\W.*[0-9]"
_SHARE = 0.8
_LEAST = 5


class Plate(Sign):
    """A plate's form behind a word for it, a German or British plate in a sentence, or a column of plates."""

    name = "plate"
    text = "licence plates"
    needs = r"[0-9].*\p{Lu}|\p{Lu}.*[0-9]"

    def among(self, likely: pl.Series, texts: int) -> pl.Series:
        """Find texts with such a plate; cells count if most have the form of a country."""
        found = holding(likely, _NAMED) & holding(likely, _DIGIT)
        sentence = holding(likely, r"\p{Ll}{3,}.*\s.*\p{Ll}{2,}")
        found |= holding(likely, rf"(?:^|[\s(])(?:{_GERMAN}|{_BRITISH})(?:$|[\s,.;:)!?])") & sentence
        for form in _FORMS.values():
            whole = holding(likely, rf"^\s*(?:{form})\s*$")
            if whole.sum() >= max(_LEAST, _SHARE * texts):
                found |= whole
        return found
