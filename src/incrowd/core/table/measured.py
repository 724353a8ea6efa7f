"""Figures of a table, each computed on first access."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from incrowd.core.parameters import Configured

E = TypeVar("E", bound=Configured)
S = TypeVar("S")
R = TypeVar("R")


class Measured(Mapping[str, R], Generic[E, S, R]):
    """Results by the name of the entry, in the order of the entries.

    None is found before it is read. Then the source is let go when nothing is left to measure. A copy, or a
    pickle, has all results and no source, because that is the table in short.

    Parameters
    ----------
    entries
        What is measured, as metrics or risk models.
    source
        What it is measured of; it may not change any more.
    """

    def __init__(self, entries: Iterable[E], source: S) -> None:
        self._entries = {entry.name: entry for entry in entries}
        self._source: S | None = source
        self._found: dict[str, R] = {}

    @abstractmethod
    def _measure(self, entry: E, source: S) -> R:
        """Compute the result of an entry."""

    def __getitem__(self, name: str) -> R:
        # Before it is asked what was found: another thread may find the last result meanwhile.
        source = self._source
        entry = self._entries[name]
        if name not in self._found:
            assert source is not None, "the source is kept until all is measured"
            self._found[name] = self._measure(entry, source)
            if len(self._found) == len(self._entries):
                self._source = None
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __getstate__(self) -> dict[str, Any]:
        return {"_entries": self._entries, "_source": None, "_found": dict(self)}
