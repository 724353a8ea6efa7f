"""Recodings that decide for whole columns: by level, or by value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from incrowd.core.errors import ParameterError, those_are
from incrowd.core.lazy import NDArray, np
from incrowd.core.recoding.base import Recoding
from incrowd.core.recoding.cells import (
    SUPPRESSED,
    ValueCells,
    level_cells,
    starred,
    starred_nodes,
    with_suppressed,
)
from incrowd.core.table.frequency import FrequencyTable

if TYPE_CHECKING:
    from incrowd.core.recoding.cells import Cells
    from incrowd.core.table.domain import Domain


@dataclass(frozen=True, eq=False, repr=False)
class FullDomain(Recoding):
    """Full-domain recoding: all values of a column climb the same number of levels.

    Attributes
    ----------
    levels
        Steps climbed per quasi-identifier; 0 leaves the values as they are. A column without hierarchy
        has the levels 0 (value) and 1 (``*``).
    """

    levels: tuple[int, ...]
    kind: ClassVar[str] = "full-domain"

    @classmethod
    def build(
        cls,
        frequency: FrequencyTable,
        levels: Mapping[str, int] | Sequence[int],
        suppressed: NDArray[np.bool_] | None = None,
    ) -> FullDomain:
        """Recode every quasi-identifier to a level of a hierarchy.

        Parameters
        ----------
        levels
            Level per quasi-identifier, by name or in order; 0 .. height.
        suppressed
            bool[keys]: keys whose records are suppressed.

        Raises
        ------
        ParameterError
            When a level is missing, unknown or too high.
        """
        names = [domain.name for domain in frequency.domains]
        if isinstance(levels, Mapping):
            for name in levels:
                if name not in names:
                    raise ParameterError(f"levels: {name!r} is no quasi-identifier; {those_are(names, name)}")
            levels = [levels.get(name, 0) for name in names]
        if len(levels) != len(names):
            raise ParameterError(f"levels: {len(levels)} given for {len(names)} quasi-identifiers")
        if suppressed is None:
            suppressed = np.zeros(frequency.keys, np.bool_)
        of_key = list(frequency.codes)
        if suppressed.any():
            of_key = [np.where(suppressed, -1, codes.astype(np.int64)) for codes in frequency.codes]
        cells = tuple(
            with_suppressed(codes, level_cells(domain, level), domain.size)
            for domain, codes, level in zip(frequency.domains, of_key, levels, strict=True)
        )
        return cls(frequency.domains, frequency.codes, cells, suppressed, tuple(levels))

    @property
    def in_no_class(self) -> NDArray[np.bool_]:
        """Suppressed keys that the levels alone would not give ``*`` throughout (see `Recoding`)."""
        starred = np.ones(len(self.suppressed), np.bool_)
        for domain, codes, level in zip(self.domains, self.keys, self.levels, strict=True):
            starred &= starred_nodes(domain)[domain.tree.climb(level)][codes]
        return self.suppressed & ~starred

    def decisions(self) -> dict[str, Any]:
        """Return the level of each quasi-identifier."""
        names = (domain.name for domain in self.domains)
        return {"levels": dict(zip(names, self.levels, strict=True))}


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
            _look_up(codes, round_of_key, [cells[j] for cells in rounds], domain)
            for j, (domain, codes) in enumerate(zip(frequency.domains, frequency.codes, strict=True))
        )
        suppressed = (round_of_key < 0) | starred(cells)
        return cls(
            frequency.domains, frequency.codes, cells, suppressed, round_of_key, len(rounds), algorithm
        )

    @property
    def in_no_class(self) -> NDArray[np.bool_]:
        """Keys of no round (see `Recoding.in_no_class`)."""
        return self.round_of_key < 0

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


def _look_up(
    codes: NDArray[np.unsignedinteger],
    round_of_key: NDArray[np.integer],
    rounds: Sequence[ValueCells],
    domain: Domain,
) -> Cells:
    """Return the cell of each key's rank in the key's round, which is negative for a suppressed key."""
    first = np.cumsum([0, *(len(cells.labels) for cells in rounds)])[:-1]
    entry = np.stack([start + cells.entry for start, cells in zip(first, rounds, strict=True)])
    of_key = np.where(round_of_key < 0, -1, entry[np.maximum(round_of_key, 0), codes])
    labels = [label for cells in rounds for label in cells.labels]
    lo, hi, loss, depth = (np.concatenate(arrays) for arrays in list(zip(*rounds, strict=True))[2:])
    cells = ValueCells(np.arange(len(labels)), labels, lo, hi, loss, depth)
    return with_suppressed(of_key, cells, domain.size)
