"""Licence plates of vehicles."""

from __future__ import annotations

from incrowd.gate.texts.sign import Sign, at, holding
from incrowd.lazy import pl

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
_NAMED = rf"\b{_WORD}(?:[ .:#-]|\b(?i:no|nr|number|is|was|ist|del)\b){{1,6}}[A-ZÄÖÜ0-9]{{1,4}}(?:[ -]?[A-Z0-9]{{1,4}}){{1,3}}\b"
_DIGIT = rf"\b{_WORD}\W.*[0-9]"
_SHARE = 0.8
_LEAST = 5


class Plate(Sign):
    """A plate's form behind a word for it, a German or British plate in a sentence, or a column of plates."""

    name = "plate"
    text = "licence plates"

    def matches_of_plain(self, texts: pl.Series) -> pl.Series:
        """Find texts with such a plate; whole cells count where most of the column have one country's form."""
        found = holding(texts, _NAMED) & holding(texts, _DIGIT)
        sentence = holding(texts, r"\p{Ll}{3,}.*\s.*\p{Ll}{2,}")
        found |= holding(texts, rf"(?:^|[\s(])(?:{_GERMAN}|{_BRITISH})(?:$|[\s,.;:)!?])") & sentence
        looked = texts.len() - texts.null_count()
        for form in _FORMS.values():
            whole = holding(texts, rf"^\s*(?:{form})\s*$")
            if whole.sum() >= max(_LEAST, _SHARE * looked):
                found |= at(whole.arg_true(), texts)
        return found
