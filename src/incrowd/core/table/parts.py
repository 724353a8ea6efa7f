"""Cells that hold lists: the parts of each value of a sensitive attribute.

Example: with the separator ``;`` the cell ``F32; E11`` has the parts ``E11`` and ``F32``. So has
``E11;F32;F32;``: parts are stripped, empty ones are left out, and order and repetition do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import ParameterError, SchemaError
from incrowd.core.lazy import NDArray, np

if TYPE_CHECKING:
    from incrowd.core.kernels.grouping.counting import Counts


def parts_of(cell: str | None, separator: str) -> frozenset[str | None]:
    """Return the parts of a cell, or the missing part None for a cell without parts.

    Examples
    --------
    >>> sorted(parts_of("F32; E11;F32;", ";"))
    ['E11', 'F32']
    >>> parts_of(" ; ", ";")
    frozenset({None})
    """
    stripped = (part.strip() for part in (cell or "").split(separator))
    return frozenset(part for part in stripped if part) or frozenset([None])


def check_parts(name: str, role: str, kind: str, separator: object, others: Sequence[str]) -> None:
    """Raise for an invalid separator, or for a column that cannot hold lists.

    Parameters
    ----------
    others
        What else is declared of the column that a list cannot have, in words.

    Raises
    ------
    SchemaError
    """
    where = f"column {name!r}: parts"
    if not isinstance(separator, str) or not separator:
        raise SchemaError(f"{where} must be the text between the parts of a cell, e.g. ';'")
    if role != "sensitive":
        way = "say kind = 'set', too" if role == "quasi" else "leave parts out"
        raise SchemaError(
            f"{where} are judged in a sensitive column, and this one has the role {role}; {way}"
        )
    if kind in ("number", "date"):
        raise SchemaError(f"{where} are texts, and the kind {kind} reads cells whole; leave one of them out")
    if others:
        raise SchemaError(
            f"{where} go with no {' and no '.join(others)}, which see cells whole; leave it out"
        )


_MOST_KNOWN = 5
_OF_CELLS = {
    "grid": None, "levels": None, "treatment": None, "format": None, "decimal": None, "thousands": None,
    "key_of": (),
}  # fmt: skip
"""Settings of cells with a single value, each with its default."""


def check_set(attribute: Any) -> None:
    """Raise for a column of sets that is no quasi-identifier, or has settings of single values.

    Raises
    ------
    SchemaError
    """
    where, known, parts = f"column {attribute.name!r}", attribute.known, attribute.parts
    if attribute.kind != "set":
        raise SchemaError(f"{where}: known says how many items of a set are known; say kind = 'set', too")
    if attribute.role != "quasi":
        raise SchemaError(
            f"{where}: the kind set is for quasi-identifiers, and this column is {attribute.role}; leave "
            "kind out (parts = ';' says what parts the values of a sensitive one)"
        )
    if type(known) is not int or not 1 <= known <= _MOST_KNOWN:
        raise SchemaError(
            f"{where}: say how many items of a set an attacker knows at most, as known = 2; it must be 1 .. "
            f"{_MOST_KNOWN}"
        )
    if parts is not None and (not isinstance(parts, str) or not parts.strip() or "*" in parts):
        raise SchemaError(f"{where}: parts must be the text between the items of a cell, e.g. ';'")
    if given := [name for name, empty in _OF_CELLS.items() if getattr(attribute, name) != empty]:
        raise SchemaError(f"{where}: {given[0]} sees a cell as one value, and it holds sets; leave that out")


def refuse_sets(attributes: Iterable[Any]) -> None:
    """Raise for a column of sets, in a job that is not defined for such.

    Raises
    ------
    ParameterError
    """
    for attribute in attributes:
        if attribute.kind == "set":
            raise ParameterError(
                f"column {attribute.name!r} holds sets, which only anonymize, attack and verify know; leave "
                "the column out here (identifying), or leave out that its kind is set"
            )


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of the values of a domain, as compressed sparse rows.

    Attributes
    ----------
    names
        The text of each part, ascending; None, the missing part, is the last where a value has no other.
    indptr, codes
        int64[values + 1] and int32[...]: value v has the parts ``codes[indptr[v]:indptr[v + 1]]``, ascending.
    """

    names: tuple[str | None, ...]
    indptr: NDArray[np.int64]
    codes: NDArray[np.int32]

    def __repr__(self) -> str:
        return f"Parts({len(self.names):,} parts of {len(self.indptr) - 1:,} values)"

    @classmethod
    def of_values(cls, values: Sequence[str | None], separator: str) -> Parts:
        """Split values, where None is the missing value."""
        each = [parts_of(value, separator) for value in values]
        distinct = frozenset[str | None]().union(*each)
        names = (
            *sorted(name for name in distinct if name is not None),
            *([None] if None in distinct else []),
        )
        code_of = {name: code for code, name in enumerate(names)}
        codes = [sorted(code_of[name] for name in parts) for parts in each]
        return cls(
            names,
            np.concatenate(([0], np.cumsum([len(row) for row in codes]))).astype(np.int64),
            np.array([code for row in codes for code in row], np.int32),
        )

    @cached_property
    def distinct(self) -> tuple[list[frozenset[int]], NDArray[np.int64]]:
        """The distinct sets of parts, and the number of each value's set: int64[values]."""
        number_of: dict[frozenset[int], int] = {}
        bounds, codes = self.indptr.tolist(), self.codes.tolist()
        of_value = [
            number_of.setdefault(frozenset(codes[start:stop]), len(number_of))
            for start, stop in zip(bounds[:-1], bounds[1:], strict=True)
        ]
        return list(number_of), np.array(of_value, np.int64)

    def spread(self, codes: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Replace values by the parts of the values.

        Parameters
        ----------
        codes
            int[n]: a value each.

        Returns
        -------
        entry, parts
            int64[...] and int32[...]: the place in `codes` that each part comes from, and the part.
        """
        lengths = np.diff(self.indptr)[codes]
        entry = np.repeat(np.arange(len(codes), dtype=np.int64), lengths)
        first = np.repeat(self.indptr[codes] - np.cumsum(lengths) + lengths, lengths)
        return entry, self.codes[first + np.arange(len(entry))]

    def spread_counts(self, counts: Counts) -> Counts:
        """Replace counted values by the parts, where a part may repeat in a row."""
        entry, codes = self.spread(counts.codes)
        ends = np.concatenate(([0], np.cumsum(np.diff(self.indptr)[counts.codes]))).astype(np.int64)
        return type(counts)(ends[counts.indptr], codes, counts.counts[entry])

    def totals(self, totals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add up totals of values, int64[values], by part, each record once per part: int64[parts]."""
        sums = np.zeros(len(self.names), np.int64)
        np.add.at(sums, self.codes, np.repeat(totals, np.diff(self.indptr)))
        return sums
