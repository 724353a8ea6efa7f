"""The settings at the top of a policy file, with values, meaning and default."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from incrowd.core.parameters import SEED, Parameter
from incrowd.core.table.schema import STYLE
from incrowd.core.table.settings import DEFAULT_ENDS, ENDS, JUDGE, SUPPRESSED_SETTING, WILDCARD

SETTINGS: dict[str, Any] = {
    "max_suppression": Parameter(
        float, "largest share of records that may be suppressed, 0 to 1", low=0, high=1
    ).field(0.0),
    "output": replace(
        STYLE, meaning="how cells are written: auto, range, ancestor, set, mean or suppress"
    ).field("auto"),
    "keep_order": Parameter(bool, "whether row N stays row N; else rows come in a random order").field(False),
    "seed": replace(SEED, meaning="seed of what is random in the search").field(0),
    "set_limit": Parameter(int, "most values that a cell may list, as {a, b} does", low=1).field(8),
    "wildcards": WILDCARD.field("value"),
    "judge": JUDGE.field("released"),
    "ends": ENDS.field(DEFAULT_ENDS),
    "suppressed": SUPPRESSED_SETTING.field("judged"),
}
"""The dataclass field of each setting of `Policy`, in the order in which a file is written."""


def setting_sentence(name: str) -> str:
    """Return the declared meaning of a setting as a sentence.

    >>> setting_sentence("set_limit")
    'Most values that a cell may list, as {a, b} does.'
    """
    meaning = SETTINGS[name].metadata["parameter"].meaning
    return f"{meaning[0].upper()}{meaning[1:]}."
