"""The oracle of releases, read from the definitions: plain dictionaries, fractions and decimals.

Nothing of incrowd is imported here, and a test keeps it so. What docs/definitions.md and docs/policy.md say
is written down a second time, slowly.
"""

from fuzz.oracle.cells import (
    covers,
    ends_of_range,
    narrowest,
    on_grid,
    parts_of_set,
    pointed,
    range_of,
    same_value,
)
from fuzz.oracle.classes import Classes, group, read_people, with_people
from fuzz.oracle.loss import leaves_under, spread, width_of
from fuzz.oracle.models import LIMITS, MORE_IS_SAFER, holds, measure
from fuzz.oracle.values import (
    STAR,
    Column,
    Key,
    Spec,
    Spelling,
    is_missing,
    paths_with,
    read_column,
    read_population,
)

__all__ = [
    "LIMITS", "MORE_IS_SAFER", "STAR", "Classes", "Column", "Key", "Spec", "Spelling", "covers", "ends_of_range", "group", "holds",
    "is_missing", "leaves_under", "measure", "narrowest", "on_grid", "parts_of_set", "paths_with", "pointed", "range_of", "read_column", "read_people", "read_population", "same_value", "spread", "width_of",
    "with_people",
]  # fmt: skip
