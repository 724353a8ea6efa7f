"""Tables of statistical offices with the change of each count by cell key, such as the 10-5 rule."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from incrowd.core.errors import ParameterError
from incrowd.core.lazy import NDArray, np, pl
from incrowd.release.tables.cell_key import true_counts

_ROWS = 750
_PERIOD = 250
"""Rows of a `KeyTable`, and how many of the last ones larger counts repeat."""


@dataclass(frozen=True, eq=False)
class KeyTable:
    """Changes of counts by count and key, in the form of statistical offices.

    The key of a cell is the sum of its people's keys modulo the number of keys. Counts above the last row
    repeat the last `period` rows: with 750 rows and period 250, count n has row ``(n - 1) % 250 + 501``.

    Attributes
    ----------
    changes
        int64[counts, keys]: the number added to each of the counts 0, 1, ...
    period
        How many rows repeat.
    """

    changes: NDArray[np.int64]
    period: int = _PERIOD

    @classmethod
    def read(cls, path: Path, owner: str) -> KeyTable:
        """Read a CSV or Parquet file with the columns of `from_frame`.

        - `owner`: what the messages begin with.

        Raises
        ------
        ParameterError
            The file cannot be read, or `from_frame` refuses its rows.
        """
        try:
            read = pl.read_parquet if path.suffix == ".parquet" else pl.read_csv
            return cls.from_frame(read(path))
        except (OSError, pl.exceptions.PolarsError):
            raise ParameterError(
                f"{owner}: the key table {path} cannot be read; give a CSV or Parquet file with the whole "
                "numbers pcv, ckey and pvalue"
            ) from None
        except ParameterError as error:
            raise ParameterError(f"{owner}: {path}: {error}") from None

    @property
    def deviation(self) -> int:
        """The most that a count is changed."""
        return int(np.abs(self.changes).max())

    @classmethod
    def from_frame(cls, frame: pl.DataFrame) -> KeyTable:
        """Read a table with the columns pcv (count), ckey (key) and pvalue (the change).

        Raises
        ------
        ParameterError
            A column is missing, not each count 1..750 has each key 0, 1, ... once, or a count falls below 0.
        """
        if missing := {"pcv", "ckey", "pvalue"} - set(frame.columns):
            raise ParameterError(f"the key table lacks {', '.join(sorted(missing))}; add the columns")
        sorted_rows = frame.select(pl.col("pcv", "ckey", "pvalue").cast(pl.Int64)).sort("pcv", "ckey")
        count, key, change = sorted_rows.to_numpy().T if len(frame) else np.zeros((3, 0), np.int64)
        keys = int(key.max(initial=0)) + 1
        whole = len(key) == _ROWS * keys and (key == np.tile(np.arange(keys), _ROWS)).all()
        if not whole or (count != np.repeat(np.arange(1, _ROWS + 1), keys)).any():
            raise ParameterError(
                f"the key table must have each pcv 1..{_ROWS} with each ckey 0, 1, ... once; add what lacks"
            )
        if (count + change < 0).any():
            raise ParameterError("the key table takes a count below 0; raise its pvalue")
        return cls(np.vstack([np.zeros((1, keys), np.int64), change.reshape(_ROWS, keys)]))

    def to_frame(self) -> pl.DataFrame:
        """Return the table with the columns pcv, ckey and pvalue, with a row per count from 1 and key."""
        if self.period != _PERIOD:
            raise ParameterError(f"readers of such tables repeat {_PERIOD} rows, this one {self.period}")
        rows, keys = self.changes[1:].shape
        return pl.DataFrame(
            {
                "pcv": np.repeat(np.arange(1, rows + 1), keys),
                "ckey": np.tile(np.arange(keys), rows),
                "pvalue": self.changes[1:].ravel(),
            }
        )

    def _row(self, counts: NDArray[np.integer]) -> NDArray[np.int64]:
        first = len(self.changes) - self.period
        later = (counts - first) % self.period + first
        return np.where(counts < len(self.changes), counts, later).astype(np.int64)

    def release(self, counts: NDArray[np.integer], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the released counts from true counts and `cell_keys` of the same shape.

        Examples
        --------
        >>> import numpy as np
        >>> counts = np.array([9, 10, 11, 13, 2062])
        >>> threshold_rounding(10, 5).release(counts, np.zeros(5, np.uint64))
        array([   0,   10,   10,   15, 2060])
        """
        key = (keys % np.uint64(self.changes.shape[1])).astype(np.int64)
        return counts.astype(np.int64) + self.changes[self._row(counts), key]

    @cached_property
    def _possible(self) -> tuple[int, NDArray[np.bool_]]:
        """The least change, and for each row which of the changes from the least upward occur."""
        low = int(self.changes.min())
        occurs = np.zeros((len(self.changes), int(self.changes.max()) - low + 1), np.bool_)
        occurs[np.arange(len(occurs))[:, None], self.changes - low] = True
        return low, occurs

    def bounds(self, released: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the least and the largest true count that can be released as each: int64, same shape.

        Examples
        --------
        >>> import numpy as np
        >>> threshold_rounding(10, 5).bounds(np.array([0, 10, 15]))
        (array([ 0, 10, 13]), array([ 9, 12, 17]))
        """
        low, occurs = self._possible
        return true_counts(released, occurs, low, self._row)


def threshold_rounding(threshold: int, base: int, keys: int = 256) -> KeyTable:
    """Return the rule "below the threshold 0, else the nearest multiple of the base" as a table.

    Halves go up. The 10-5 rule is ``threshold_rounding(10, 5)``. Other programs read the table only if the
    base divides 250.

    Raises
    ------
    ParameterError
        The threshold is not 0..500, the base not 1..250, or there is no key.
    """
    if not (0 <= threshold <= _ROWS - _PERIOD and 1 <= base <= _PERIOD and keys >= 1):
        raise ParameterError(
            f"threshold={threshold}, base={base}, keys={keys}: take a threshold of 0..{_ROWS - _PERIOD}, a "
            f"base of 1..{_PERIOD} and at least one key"
        )
    count = np.arange(_ROWS + 1)
    change = np.where(count < threshold, 0, (2 * count + base) // (2 * base) * base) - count
    return KeyTable(np.repeat(change[:, None], keys, axis=1), _PERIOD // base * base)
