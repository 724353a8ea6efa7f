"""Signs of people inside texts, and the form of a column of texts.

A sign is a telephone number, a title before a name, a date, and the like. `SIGNS` lists them.
"""

from __future__ import annotations

from incrowd_gate.texts.forms import is_free_text, separator_of
from incrowd_gate.texts.sign import CHECKED, Sign
from incrowd_gate.texts.signs import SIGNS, missing, signs_in

__all__ = ["CHECKED", "SIGNS", "Sign", "is_free_text", "missing", "separator_of", "signs_in"]
