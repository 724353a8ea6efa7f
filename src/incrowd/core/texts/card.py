"""Numbers of payment cards."""

from __future__ import annotations

from incrowd.core.lazy import pl
from incrowd.core.texts.sign import FROM, TO, Sign, at, holding, passing, pieces

_ISSUER = r"(?:4[0-9]|5[0-9]|2[2-7]|3[0-9]|6[0-9])"
_GROUPS = (
    rf"{_ISSUER}[0-9]{{2}}[ -][0-9]{{4}}[ -][0-9]{{4}}[ -][0-9]{{4}}"
    r"|3[47][0-9]{2}[ -][0-9]{6}[ -][0-9]{5}"
)
_PLAIN = rf"{_ISSUER}[0-9]{{11,17}}"
_ALONE = r"^\s*[0-9]+\s*$"
_SHARE = 0.5
_MOST = 0.9
_LEAST = 20


class Card(Sign):
    """A number with the first digits of an issuer and a check digit by Luhn; `CHECKED` are looked at."""

    name = "card"
    text = "numbers of payment cards"
    needs = r"[0-9](?:[ -]?[0-9]){12}"

    def among(self, likely: pl.Series, texts: int) -> pl.Series:
        """Find texts with such a number.

        One in ten numbers passes Luhn by chance. So in a column of plain numbers nearly all have to pass.
        """
        alone = holding(likely, _ALONE)
        inside = passing(pieces(likely, f"{FROM}(?:{_GROUPS}|{_PLAIN}){TO}", ~alone), _valid, _SHARE)
        whole = passing(pieces(likely, rf"^\s*{_PLAIN}\s*$", alone), _valid, _MOST, _LEAST)
        return at(inside, likely) | at(whole, likely)


def _valid(piece: str) -> bool:
    from stdnum import luhn

    digits = "".join(filter(str.isdigit, piece))
    return len(set(digits)) > 1 and luhn.is_valid(digits)
