"""Addresses of mail."""

from __future__ import annotations

from incrowd.core.lazy import pl
from incrowd.core.texts.sign import Sign, holding

_AT = r"(?:@|\s?[(\[](?:at|AT|ät)[)\]]\s?)"
_DOT = r"(?:\.|\s?[(\[](?:dot|DOT|punkt)[)\]]\s?)"
_PATTERN = rf"[\pL\pN_+%-]{_AT}[\pL\pN-]+(?:{_DOT}[\pL\pN-]+)*{_DOT}\pL{{2,}}"


class Mail(Sign):
    """An address with ``@`` or ``(at)``, and a domain that ends with letters."""

    name = "mail"
    text = "mail addresses"
    needs = r"@|[(\[](?:at|AT|ät)[)\]]"

    def among(self, likely: pl.Series, texts: int) -> pl.Series:
        """Find texts with such an address."""
        return holding(likely, _PATTERN)
