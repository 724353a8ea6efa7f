"""Addresses of computers."""

from __future__ import annotations

from ipaddress import ip_address

from incrowd.core.lazy import pl
from incrowd.core.texts.sign import Sign, at, passing, pieces

_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_FOUR = rf"(?:^|[^\w.])(?:{_OCTET}\.){{3}}{_OCTET}(?:$|[^\w./*-]|[.-](?:$|\D))"
_DOTTED = r"(?:^|[^\w.])(?:[0-9]+\.){3}[0-9]+"
_HEX = "[0-9a-f]{1,4}"
_GROUPS = rf"{_HEX}(?::{_HEX})*"
_SIX = rf"(?i)(?:^|[^\w:.])(?:(?:{_HEX}:){{7}}{_HEX}|(?:{_GROUPS})?::{_GROUPS})(?:$|[^\w:./*])"
_VERSION = r"(?i)(?:\bv|version|release|build|section|chapter|clause|§) ?[0-9.]+"
_SHARE = 0.5


class Ip(Sign):
    """An address of version 4 or 6 in full; a network such as ``10.0.0.0/8`` and a version are none."""

    name = "ip"
    text = "addresses of computers (IP)"
    needs = r"[0-9]\.[0-9]+\.[0-9]|[0-9A-Fa-f]:[0-9A-Fa-f:]*:|::[0-9A-Fa-f]"

    def among(self, likely: pl.Series, texts: int) -> pl.Series:
        """Find texts with such an address, unless most numbers of this form cannot be one."""
        without = likely.str.replace_all(_VERSION, " ")
        four = pieces(without, _FOUR)["row"].unique()
        if len(four) < _SHARE * pieces(without, _DOTTED)["row"].n_unique():
            four = four.clear()
        six = passing(pieces(without, _SIX), _is_six, _SHARE)
        return at(four, likely) | at(six, likely)


def _is_six(piece: str) -> bool:
    text = piece.strip(" \t\r\n,;()[]{}<>\"'=|")
    try:
        return ip_address(text).version == 6 and any(map(str.isdigit, text))
    except ValueError:
        return False
