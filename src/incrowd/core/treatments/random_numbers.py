"""Random numbers in place of names, by a table that is kept."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import pl
from incrowd.core.parameters import parameter
from incrowd.core.treatments.base import TELLS_NOTHING, Batch, Distinct, Treatment

if TYPE_CHECKING:
    from incrowd.core.treatments.keys import Secret


@dataclass(frozen=True)
class RandomNumbers(Treatment):
    """Replace every value by a random number, and keep the list of values and numbers.

    The table of values and numbers is part of the recoding, in ``internal/``: it is as confidential as the
    data. The next batch gets the same numbers from it. A batch with values that are not in it is refused.
    Without the table nobody can tell whose number it is, and there is no key that could be lost.

    Parameters
    ----------
    length
        Digits of a number; as many numbers as the table has values are drawn from all that have so many.

    Examples
    --------
    >>> import incrowd as ic
    >>> ic.RandomNumbers(6).spec()
    {'random-numbers': 6}

    References
    ----------
    ENISA, Pseudonymisation techniques and best practices, 2019, section 5.1.2 (random number generator).
    """

    length: int = parameter("digits of a number", kind=int, low=3, high=18, default=8)

    name: ClassVar[str] = "random-numbers"
    summary: ClassVar[str] = "replaces every value by a random number, and keeps a confidential table"
    paper: ClassVar[str] = "ENISA 2019"
    no_promise: ClassVar[str] = (
        "The column is pseudonymous, not anonymous: anybody can join the rows of one value, and whoever has "
        "the table in internal/ knows whose they are."
    )
    for_person: ClassVar[bool] = True
    unlinked: ClassVar[str] = TELLS_NOTHING

    @property
    def promise(self) -> str:
        """Say how many digits the numbers have."""
        return f"is replaced by random numbers of {self.length} digits"

    def learn(self, found: Distinct, secret: Secret | None) -> dict[str, Any]:
        """Draw a number for every value."""
        count = len(found.values)
        if count * 2 > 10**self.length:
            raise ParameterError(
                f"column {found.column!r}: {self.name} has {10**self.length:,} numbers of {self.length} "
                f"digits for {count:,} values; give a larger length"
            )
        drawn: dict[int, None] = {}
        while len(drawn) < count:
            drawn[secrets.randbelow(10**self.length)] = None
        numbers = [f"{number:0{self.length}}" for number in drawn]
        return {"numbers": dict(zip(found.values.to_list(), numbers, strict=True))}

    def check_batch(self, found: Distinct, decided: Mapping[str, Any], secret: Secret | None) -> None:
        """Refuse values that have no number."""
        unknown = sum(value not in decided["numbers"] for value in found.values)
        if unknown:
            raise ParameterError(
                f"column {found.column!r}: the saved table of {self.name} has no number for {unknown:,} "
                "values; anonymize both tables together, or use a keyed pseudonym"
            )

    def treat(self, batch: Batch) -> pl.Series:
        """Replace the rows."""
        numbers = batch.decided["numbers"]
        values = pl.Series(list(numbers), dtype=pl.String)
        drawn = pl.Series(list(numbers.values()), dtype=pl.String)
        return batch.values.replace_strict(values, drawn, default=None, return_dtype=pl.String)
