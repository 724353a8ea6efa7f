"""Addresses of network cards."""

from __future__ import annotations

from incrowd.core.lazy import pl
from incrowd.core.texts.sign import Sign, holding

_PAIR = "[0-9A-Fa-f]{2}"
_PATTERN = (
    rf"(?:^|[^\w:-])(?:(?:{_PAIR}:){{5}}|(?:{_PAIR}-){{5}}){_PAIR}(?:$|[^\w:-])"
    r"|\b(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}\b"
)
_LETTERS = r"(?:\b[0-9A-Fa-f]*[A-Fa-f][0-9A-Fa-f]*[:.-])|[:.-][0-9A-Fa-f]*[A-Fa-f]"


class Mac(Sign):
    """Six pairs of hexadecimal digits, or three groups of four, of which one text at least has letters."""

    name = "mac"
    text = "addresses of network cards (MAC)"
    needs = r"[0-9A-Fa-f]{2}[:.-][0-9A-Fa-f]{2}[0-9A-Fa-f:.-]{7}"

    def among(self, likely: pl.Series, texts: int) -> pl.Series:
        """Find texts with such an address."""
        found = holding(likely, _PATTERN)
        # Where no text has a letter, the digits are a time or a code.
        return found if holding(likely.filter(found), _LETTERS).any() else found & False
