"""Key tables of offices, read a second time: the changes that each count may have by a cell key.

Example: a table says that a count of 3 changes by -1, 0 or 2. So a published 3 may be a true 3, and it may
be a 4 or a 1 if the rows of these have -1 or 2.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from incrowd_gate.errors import PolicyError, refuse_pipe
from incrowd_gate.lazy import duckdb
from incrowd_gate.scratch import PrivateFolder
from incrowd_verify.source import connect

_ROWS = 750
_PERIOD = 250
"""Counts that a key table has rows for, and how many of the last ones repeat for larger counts."""
_COLUMNS = ("pcv", "ckey", "pvalue")


@dataclass(frozen=True)
class KeyTable:
    """The changes that a key table makes.

    - `digest`: SHA-256 of the file.
    - `changes`: the changes of the counts 1, 2, ..., 750; a count of 0 stays.
    """

    digest: str
    changes: tuple[frozenset[int], ...]

    @classmethod
    def read(cls, path: Path) -> KeyTable:
        """Read a CSV or Parquet file with the columns pcv, ckey and pvalue.

        Raises `PolicyError`: it cannot be read, or has not each count 1..750 with each key once.
        """
        refuse_pipe(path, PolicyError)
        try:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            with PrivateFolder() as scratch, connect(scratch, [path]) as session:
                is_parquet = path.suffix == ".parquet"
                frame = session.read_parquet(str(path)) if is_parquet else session.read_csv(str(path))
                places = [frame.columns.index(name) for name in _COLUMNS]
                lines = [tuple(int(row[place]) for place in places) for row in frame.fetchall()]
        except OSError as error:
            raise PolicyError(f"tables: the key table {path} cannot be read ({error.strerror})") from None
        except (duckdb.Error, ValueError, TypeError):
            raise PolicyError(
                f"tables: the key table {path} must have the whole numbers {', '.join(_COLUMNS)}"
            ) from None
        keys = {key for _, key, _ in lines}
        pairs = {(count, key) for count, key, _ in lines}
        if len(pairs) != len(lines) or pairs != {
            (count, key) for count in range(1, _ROWS + 1) for key in keys
        }:
            raise PolicyError(f"tables: the key table {path} has not each pcv 1..{_ROWS} with each ckey once")
        changes: list[set[int]] = [set() for _ in range(_ROWS)]
        for count, _, change in lines:
            changes[count - 1].add(change)
        return cls(digest, tuple(map(frozenset, changes)))

    @cached_property
    def deviation(self) -> int:
        """The most that a count is changed."""
        return max(abs(change) for each in self.changes for change in each)

    def suits(self, value: float, true: float) -> bool:
        """Say whether a count may be published as a value."""
        return value == true if true == 0 else value - true in self._of(int(true))

    def before(self, value: float) -> tuple[float, float]:
        """Return the least and the largest count that may be published as a value; 0 and -1 for none."""
        shown, far = int(value), self.deviation
        near = range(max(shown - far, 0), shown + far + 1)
        fitting = [count for count in near if self.suits(value, count)]
        return (float(min(fitting)), float(max(fitting))) if fitting else (0.0, -1.0)

    def _of(self, count: int) -> frozenset[int]:
        first = _ROWS - _PERIOD + 1
        return self.changes[(count if count <= _ROWS else (count - first) % _PERIOD + first) - 1]


def of_setting(key_table: Any) -> KeyTable | None:
    """Read the file that a policy names as ``file:PATH``; None for a rule or nothing."""
    if isinstance(key_table, str) and key_table.startswith("file:"):
        return KeyTable.read(Path(key_table.removeprefix("file:")))
    return None
