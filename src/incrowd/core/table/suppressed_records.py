"""Whether suppressed records leave: those with ``*`` in every quasi-identifier."""

from __future__ import annotations

from typing import Literal

from incrowd.core.parameters import Parameter

SuppressedRecords = Literal["judged", "drop", "keep"]
SUPPRESSED_RECORDS: tuple[SuppressedRecords, ...] = ("judged", "drop", "keep")
SUPPRESSED_SETTING = Parameter(
    str,
    "whether suppressed records leave: if they satisfy the models as a class of their own (judged), never "
    "(drop), or always (keep)",
    choices=SUPPRESSED_RECORDS,
)
