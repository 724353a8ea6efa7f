"""The reasons why records are suppressed: for each record the first reason that applies.

`reasons_of` gives the reasons of a search. `released_rows` adds those of the rows that are left, and of
perturbed values. `later.batch.fate_of` gives those of a batch, and `later.apply` says which rows wait.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Self

from incrowd.core.lazy import NDArray, np, pl

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable

SUPPRESSED_ROWS = "suppressed.csv"
"""The file of `reason_table` in the folder of what is not to publish."""


class Reason(IntEnum):
    """Why a record is suppressed, in the order in which the reasons are tried.

    In arrays of reasons, 0 is a record that keeps its cells.

    Attributes
    ----------
    sentence
        The reason in words.

    Examples
    --------
    >>> from incrowd.release.jobs.make.reasons import Reason
    >>> Reason.INPUT.name.lower(), Reason.INPUT.sentence
    ('input', 'The record came in with `*` in every quasi-identifier.')
    """

    sentence: str

    def __new__(cls, number: int, sentence: str) -> Self:
        """Return a number with a sentence."""
        reason = int.__new__(cls, number)
        reason._value_, reason.sentence = number, sentence
        return reason

    INPUT = 1, "The record came in with `*` in every quasi-identifier."
    OUTSIDE = 2, "No cell of the earlier recoding covers the record, which is of a later batch."
    STARS = 3, "The recoding writes `*` into each cell: by its levels, by a wide class, or cell by cell."
    CLASS = 4, "No class in which the models hold takes the record, or they fail for classes of its person."
    REST = 5, "The class of the record fails once other suppressed records are left out."
    VALUES = 6, "The models do not hold of the perturbed values in the class of the record."
    WAITING = 7, "The record waits for the next batch: it is neither suppressed nor released."


def reasons_of(recoding: Recoding) -> NDArray[np.int8]:
    """Return the reason of each key after a search: int8[keys]."""
    reasons = np.select([recoding.in_no_class, recoding.starred], [Reason.CLASS, Reason.STARS], 0)
    return reasons.astype(np.int8)


def count_reasons(frequency: FrequencyTable, reasons: NDArray[np.int8]) -> dict[str, int]:
    """Count the suppressed records by reason, in the order of `Reason`.

    Parameters
    ----------
    frequency
        The keys. Records that came in suppressed have none.
    reasons
        int8[keys]
    """
    records = np.bincount(reasons, frequency.weights, len(Reason) + 1).astype(np.int64)
    records[Reason.INPUT] += frequency.suppressed
    return {reason.name.lower(): int(records[reason]) for reason in Reason if records[reason]}


def reasons_of_rows(frequency: FrequencyTable, reasons: NDArray[np.int8]) -> NDArray[np.int8] | None:
    """Return int8[rows] for int8[keys], or None where the rows are not in memory."""
    # Rows without a key have number -1, which picks the entry that is appended here.
    return (
        None if frequency.row_keys is None else np.append(reasons, np.int8(Reason.INPUT))[frequency.row_keys]
    )


def reason_table(reasons: NDArray[np.int8]) -> pl.DataFrame:
    """List the rows that have a reason: a Polars frame with ``row``, from 1, and ``reason``."""
    rows = np.flatnonzero(reasons)
    names = ["", *(reason.name.lower() for reason in Reason)]
    named = [names[number] for number in reasons[rows].tolist()]
    return pl.DataFrame({"row": rows + 1, "reason": pl.Series(named, dtype=pl.String)})
