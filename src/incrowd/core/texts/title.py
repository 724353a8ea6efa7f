"""Titles and forms of address before a name."""

from __future__ import annotations

from incrowd.core.lazy import pl
from incrowd.core.texts.sign import Sign, holding

_SURNAME = r"\p{Lu}[\pL'’]*\p{Ll}[\pL'’-]*"
_ANYWHERE = (
    "Mr", "Mrs", "Ms", "Miss", "Mx", "Dr", "Doctor", "Prof", "Professor", "Rev", "Sir",
    "Frau", "Herr", "Herrn", "Fräulein", "Mme", "Mmes", "Mlle", "MM", "Monsieur", "Madame", "Mademoiselle",
    "Sra", "Srta", "Señor", "Señora", "Señorita", "Dra", "Doña", "Sig", "Sig\\.ra", "Signor", "Signora",
    "Signorina", "Dott", "Dott\\.ssa", "Dottor", "Senhor", "Senhora", "Dhr", "Mevr", "Mevrouw", "Meneer",
    "Pan", "Pani", "Fru", "Hr", "Fröken", "Господин", "Госпожа", "г-н", "г-жа",
)  # fmt: skip
_NAMED = (
    rf"(?:^|[^\pL\pN_-])(?:{'|'.join(_ANYWHERE)})\.? ?(?:(?:Dr|Prof|med|phil)\.? ?){{0,3}}(?:\b|^)"
    rf"(?:\p{{Lu}}\. ?)*(?:(?:von|van|de|der|den|du|la|le|di|da|zu) )*{_SURNAME}"
)
_AFTER_SMALL = (
    # "M. Dupont" is a name at the start or behind a small word, and not in "Edgar M. Poe".
    rf"(?:^|[.!?;:,] |\(|(?:^|[\s(])\p{{Ll}}+ )(?:M|Fr|Don)\. {_SURNAME}"
    # "Sr. Director" is a senior one.
    rf"|\b(?:[Ee]l|[Aa]l|[Dd]el|[Oo]|[Aa]o|[Dd]o|[Ee]stimado|[Cc]aro|[Pp]rezado) Sr\.? {_SURNAME}"
)
_CAPITALS = r"\b(?:MRS|MME|MLLE|FRAU|HERRN?|SRTA|SIGNORA|MEVROUW)\.? \p{Lu}{2,}\b"
_SMALL = r"\b(?:mrs|mme|mlle|srta)\.? \pL{3,}"
_JAPANESE = r"[\p{Han}\p{Hiragana}\p{Katakana}](?:さん|さま|様|先生|氏)(?:$|[^\p{Han}])"
_OTHERS = (
    r"\b(?:Dr\.? (?:Pepper|Martens|Oetker|Scholl\S*|Who|No|Congo)"
    r"|Mr\.? (?:Clean|Bean|Robot|Coffee)|Mrs\.? (?:Dash|Doubtfire)"
    r"|Miss (?:World|Universe|America|Piggy)|Herr der Ringe"
    r"|(?:Asst|Assistant|Assoc|Associate|Adjunct)\.? Prof(?:essor)?\.?|Pan (?:Am|American|Asian|European))"
)
"""Brands and works that look like persons."""

_WORDS = rf"\b(?:{'|'.join((*_ANYWHERE, 'M', 'Fr', 'Don', 'Sr'))})\b"


class Title(Sign):
    """A title such as ``Mrs``, ``Frau``, ``Mme`` or ``Dr``, and a capitalized word behind it."""

    name = "title"
    text = "names behind a title"
    needs = f"{_WORDS}|(?i:mrs|mme|mlle|srta|frau|herrn?|signora|mevrouw)|さん|さま|様|先生|氏"

    def among(self, likely: pl.Series, texts: int) -> pl.Series:
        """Find texts with such a title in one of the languages that `docs/texts.md` lists."""
        persons = likely.str.replace_all(_OTHERS, " ")
        return holding(persons, _NAMED) | holding(persons, f"{_AFTER_SMALL}|{_CAPITALS}|{_SMALL}|{_JAPANESE}")
