"""Settings of a table's judgement: what a `*` matches, which values are judged, which records leave.

A table tells nothing about a `*` or a missing cell. So what it matches is a matter of definition.
"""

from __future__ import annotations

from typing import Literal

from incrowd.core.parameters import Parameter

Wildcards = Literal["value", "matches-any", "conservative"]

WILDCARDS: tuple[Wildcards, ...] = ("value", "matches-any", "conservative")
"""Values that a `*` or a missing cell matches: only itself, any, or none."""

WILDCARD = Parameter(
    str,
    "what a * or a missing cell matches: value (itself), matches-any or conservative (nothing)",
    choices=WILDCARDS,
)

Judge = Literal["released", "original"]
JUDGES: tuple[Judge, ...] = ("released", "original")
JUDGE = Parameter(
    str,
    "perturbed values that models judge: before and as released (released), or before (original)",
    choices=JUDGES,
)

SuppressedRecords = Literal["judged", "drop", "keep"]
SUPPRESSED_RECORDS: tuple[SuppressedRecords, ...] = ("judged", "drop", "keep")
SUPPRESSED_SETTING = Parameter(
    str,
    "whether suppressed records leave: if they satisfy the models as a class (judged), never (drop), or "
    "always (keep)",
    choices=SUPPRESSED_RECORDS,
)
