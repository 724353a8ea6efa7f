"""Single-dimensional recoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from incrowd.core.lazy import NDArray, np
from incrowd.core.recoding.base import Recoding
from incrowd.core.recoding.cells import SUPPRESSED, look_up, starred

if TYPE_CHECKING:
    from incrowd.core.recoding.cells import ValueCells
    from incrowd.core.table.frequency import FrequencyTable


@dataclass(frozen=True, eq=False, repr=False)
class SingleDimensional(Recoding):
    """Single-dimensional recoding, in which a column's value has the same cell in all records.

    Where it comes in rounds, it has one cell per round, and every record belongs to one round.

    Attributes
    ----------
    round_of_key
        int32[keys]: round of each key from 0, -1 for a suppressed one.
    count
        Number of rounds.
    algorithm
        What made it.
    """

    round_of_key: NDArray[np.int32]
    count: int
    algorithm: str
    kind: ClassVar[str] = "single-dimensional"

    @classmethod
    def build(
        cls,
        frequency: FrequencyTable,
        rounds: Sequence[Sequence[ValueCells]],
        round_of_key: NDArray[np.int32],
        algorithm: str,
    ) -> SingleDimensional:
        """Give every key the cells of the key's round.

        Parameters
        ----------
        rounds
            Per round and quasi-identifier the cells of its values; see `level_cells`, `interval_cells`.
        round_of_key
            int32[keys], -1 for a suppressed key.
        """
        cells = tuple(
            look_up(codes, round_of_key, [cells[j] for cells in rounds], domain)
            for j, (domain, codes) in enumerate(zip(frequency.domains, frequency.codes, strict=True))
        )
        suppressed = (round_of_key < 0) | starred(cells)
        return cls(
            frequency.domains, frequency.codes, cells, suppressed, round_of_key, len(rounds), algorithm
        )

    def decisions(self) -> dict[str, Any]:
        """Return the algorithm, the number of rounds, and of cells per quasi-identifier."""
        names = (domain.name for domain in self.domains)
        cells = {
            name: len(set(cells.labels) - {SUPPRESSED}) or 1
            for name, cells in zip(names, self.cells, strict=True)
        }
        return {"algorithm": self.algorithm, "rounds": self.count, "cells": cells}

    def without(self, gone: NDArray[np.bool_]) -> Self:
        """Return the recoding with further keys suppressed (see `Recoding.without`)."""
        round_of_key = np.where(gone, -1, self.round_of_key).astype(np.int32)
        return replace(super().without(gone), round_of_key=round_of_key)

    def only(self, kept: NDArray[np.bool_]) -> Self:
        """Return the recoding of some of the keys (see `Recoding.only`)."""
        return replace(super().only(kept), round_of_key=self.round_of_key[kept])

    def _key_columns(self) -> dict[str, NDArray[np.generic]]:
        return {"round": self.round_of_key}
