"""Addresses of web pages."""

from __future__ import annotations

from incrowd.core.lazy import pl
from incrowd.core.texts.sign import Sign, holding

_PATTERN = (
    r"(?i)\b(?:https?|ftp)://[^\s/$.?#][^\s]*"
    r"|\bwww\.[\pL\pN-]+\.[\pL]{2,}"
    r"|\b(?:facebook|linkedin|instagram|twitter|x|tiktok|github|youtube|vk|xing)\.com/[\w@.-]{2,}"
    r"|\b(?:t|wa)\.me/[\w+]{3,}"
)


class Url(Sign):
    """An address that begins with ``http://``, ``www.`` or the place of a social network."""

    name = "url"
    text = "addresses of web pages"
    needs = r"[./]"

    def among(self, likely: pl.Series, texts: int) -> pl.Series:
        """Find texts with such an address."""
        return holding(likely, _PATTERN)
