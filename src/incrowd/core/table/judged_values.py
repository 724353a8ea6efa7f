"""The values of a perturbed column that models judge."""

from __future__ import annotations

from typing import Literal

from incrowd.core.parameters import Parameter

Judge = Literal["released", "original"]
JUDGES: tuple[Judge, ...] = ("released", "original")
JUDGE = Parameter(
    str, "whether perturbed values are judged as released, too, or only before (original)", choices=JUDGES
)
