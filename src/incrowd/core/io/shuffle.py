"""A random order of rows: of all rows at once, or of more rows than fit into memory.

Rows of logs are in the order of time. If row N of a release is row N of the table, the rows around a row tell
more about it than its cells do. So rows leave in another order. It has no seed, since a receiver could repeat
it, and two releases of one table would share it.

Random numbers of rows (`Draws`) follow from the row's position and a secret key that is not stored.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from incrowd.core.io.columns import columns_named, nameless, passing
from incrowd.core.io.scratch import PrivateFolder
from incrowd.core.lazy import NDArray, np, pl

_BLOCK = 4
"""Numbers that the generator makes per counter value."""


class Draws:
    """Random 64-bit numbers by row, the same whether rows come all at once or in pieces.

    Examples
    --------
    >>> draws = Draws()
    >>> bool((draws.numbers(0, 9)[5:] == draws.numbers(5, 9)).all())
    True
    """

    def __init__(self) -> None:
        self._key = secrets.randbits(128)
        self._base: tuple[Draws, NDArray[np.int64]] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def renewed(self, places: NDArray[np.int64] | None) -> Draws:
        """Return draws with new numbers for the rows at some positions, in order, or for all rows."""
        draws = Draws()
        draws._base = None if places is None else (self, places)
        return draws

    def numbers(self, start: int, stop: int) -> NDArray[np.uint64]:
        """Return the random numbers of the rows from `start` to before `stop`: uint64[stop - start]."""
        first = start // _BLOCK
        raw = np.random.Philox(key=self._key, counter=first).random_raw(stop - first * _BLOCK)
        fresh: NDArray[np.uint64] = np.asarray(raw, np.uint64)[start - first * _BLOCK :]
        if self._base is None:
            return fresh
        before, places = self._base
        indices = places[slice(*np.searchsorted(places, (start, stop)))] - start
        numbers = before.numbers(start, stop)
        numbers[indices] = fresh[indices]
        return numbers


_NUMBER = "\0number"
_SHARE = 0.25
"""Share of the memory for rows during sorting."""
_PLACE = 24
"""Bytes to compute the position of a row: a random number, and twice a rank."""
_MADE = 1 << 18
"""Rows finished at once, at most."""
_MADE_SHARE = 0.05
"""Share of the memory for rows finished at once."""
_VIEW = 16
"""Bytes of a text's index entry, which includes short texts."""
_SHORT = 12
"""Largest number of bytes of a short text."""
_LOOKED_AT = 10_000
"""Rows sampled for the size of a row."""
_LEAST = 1_000
"""Rows sorted together however large the rows are."""


class RandomOrder(Draws):
    """A random order of any number of rows, computable piece by piece.

    Every row has a random number of 64 bits that follows from its place and a secret key. Rows stand in the
    order of these numbers.

    Examples
    --------
    >>> order = RandomOrder()
    >>> sorted(order.rows(5).tolist())
    [0, 1, 2, 3, 4]
    """

    def rows(self, count: int) -> NDArray[np.int64]:
        """Return the row at each position: int64[count], a permutation of 0 .. count - 1."""
        return _in_order(self.numbers(0, count))

    def pieces(self, count: int, size: int) -> Iterator[NDArray[np.int64]]:
        """Yield `rows` piece by piece, with about `size` numbers in memory at a time."""
        for low, high in _ranges(-(-count // max(size, 1))):
            rows, numbers = [], []
            for start in range(0, count, size):
                chunk = self.numbers(start, min(start + size, count))
                inside = np.flatnonzero((chunk >= low) & (chunk <= high))
                rows.append(inside + start)
                numbers.append(chunk[inside])
            yield np.concatenate(rows)[_in_order(np.concatenate(numbers))]


def _in_order(numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the positions of numbers in ascending order with ties in order, computed on all cores."""
    from incrowd.core.kernels.jit import PARALLEL_FROM, each_on_a_core, thread_count

    bits = np.uint64(len(numbers).bit_length())

    def sorted_between(ends: tuple[np.uint64, np.uint64]) -> NDArray[np.int64]:
        inside = np.flatnonzero((numbers >= ends[0]) & (numbers <= ends[1]))
        # A word of upper bits and place is sorted many times as fast as the numbers' places.
        words = numbers[inside] >> bits << bits
        words |= inside.view(np.uint64)
        # Polars sorts words several times as fast as NumPy.
        words = pl.Series(words).sort().to_numpy()
        position = (words & ((np.uint64(1) << bits) - np.uint64(1))).view(np.int64)
        words = words >> bits
        equal = words[1:] == words[:-1]
        close = np.flatnonzero(np.append(equal, False) | np.insert(equal, 0, False))
        tied = position[close]
        position[close] = tied[np.argsort(numbers[tied], kind="stable")]
        return position

    parts = thread_count() if len(numbers) >= PARALLEL_FROM else 1
    return np.concatenate(each_on_a_core(sorted_between, list(_ranges(parts))))


def _ranges(parts: int) -> Iterator[tuple[np.uint64, np.uint64]]:
    """Split the range of 64-bit numbers into equal ranges, as the first and last number of each."""
    for part in range(max(parts, 1)):
        low, high = (2**64 * edge // max(parts, 1) for edge in (part, part + 1))
        yield np.uint64(low), np.uint64(high - 1)


@dataclass(frozen=True)
class ShuffledRows:
    """The rows of a lazy frame in a random order, which spill to a private folder.

    Attributes
    ----------
    frame
        The rows as they come. They must come in the same order whenever they are asked for.
    order
        Where each goes.
    memory
        Bytes that counting may take, about; a part of them is used here.
    finish
        What becomes of rows when they are in order, where they are shorter before; each row by itself.
    """

    frame: pl.LazyFrame = field(repr=False)
    order: RandomOrder
    memory: int
    finish: Callable[[pl.DataFrame], pl.DataFrame] | None = field(default=None, repr=False)

    def lazy(self) -> pl.LazyFrame:
        """Return a lazy frame of the rows in random order."""
        from polars.io.plugins import register_io_source

        schema = self.frame.collect_schema()

        def source(
            names: Sequence[str] | None, condition: pl.Expr | None, most: int | None, _: int | None
        ) -> Iterator[pl.DataFrame]:
            with self.opened() as (_count, batches):
                for batch in batches:
                    rows = batch if names is None else batch.select(columns_named(names))
                    rows = rows if most is None else rows.head(most)
                    most = None if most is None else most - len(rows)
                    yield rows if condition is None else rows.filter(condition)
                    if most == 0:
                        return

        return register_io_source(source, schema=self._finish(pl.DataFrame(schema=schema)).schema)

    @contextmanager
    def opened(self) -> Iterator[tuple[int, Iterator[pl.DataFrame]]]:
        """Put the rows in order, and yield the number of rows with an iterator of one or more frames."""
        with PrivateFolder() as folder:
            rows, count = spilled(self.frame, folder / "rows.parquet")
            sample = rows.head(_LOOKED_AT).collect()
            at_once = self._at_once(_SHARE, _width(sample) + _PLACE)
            batch_rows = min(self._at_once(_MADE_SHARE, _width(self._finish(sample))), _MADE)
            if count <= at_once:
                yield count, self._in_pieces(rows.collect(), self.order.rows(count), batch_rows)
            else:
                # A run is there twice while it is sorted, and so is what belongs side by side.
                merged = self._merged(folder, rows, count, max(at_once // 2, _LEAST))
                yield (
                    count,
                    (
                        piece
                        for part, position in merged
                        for piece in self._in_pieces(part, position, batch_rows)
                    ),
                )

    def _at_once(self, share: float, width: float) -> int:
        """Return how many rows of some width fit into a share of the memory."""
        return max(int(self.memory * share / width), _LEAST)

    def _in_pieces(self, rows: pl.DataFrame, place: NDArray[np.int64], size: int) -> Iterator[pl.DataFrame]:
        """Yield the rows at some positions, in this order, as one or more frames."""
        rows = rows.rechunk()
        for start in range(0, max(len(place), 1), size):
            yield self._finish(gathered(rows, place[start : start + size]))

    def before(self, start: int, count: int) -> pl.DataFrame:
        """Return some rows by position before the shuffle."""
        return self._finish(self.frame.slice(start, count).collect(engine="streaming"))

    def _finish(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows if self.finish is None else self.finish(rows)

    def _merged(
        self, folder: Path, rows: pl.LazyFrame, count: int, at_once: int
    ) -> Iterator[tuple[pl.DataFrame, NDArray[np.int64]]]:
        """Sort runs of rows that fit into memory, and then merge the runs range by range.

        Yields rows with their places, as `_in_pieces` takes them. Random numbers divide every sorted run at
        the same edges, so a range of all runs is a finished part of the result::

            numbers   0 ...... edge ...... 2^64
            run 0     [range 0][ range 1 ]        one file each, sorted by number
            run 1     [range 0][ range 1 ]
            yielded   1st      2nd                a range of all runs, sorted again
        """
        names = rows.collect_schema().names()
        ranges = list(_ranges(-(-count // at_once)))
        runs = []
        for start in range(0, count, at_once):
            stop = min(start + at_once, count)
            numbers = self.order.numbers(start, stop)
            position = _in_order(numbers)
            run = gathered(rows.slice(start, stop - start).collect(), position)
            path = folder / f"{start:020}.parquet"
            # A range is read without its neighbours.
            run.with_columns(pl.Series(_NUMBER, numbers[position])).write_parquet(
                path, compression="lz4", row_group_size=max(at_once // len(ranges), 1)
            )
            edges = np.searchsorted(numbers[position], np.array([low for low, _ in ranges], np.uint64))
            runs.append((path, [*edges.tolist(), stop - start]))
        for number in range(len(ranges)):
            parts = [
                pl.scan_parquet(path, glob=False, hive_partitioning=False)
                .slice(edges[number], edges[number + 1] - edges[number])
                .collect()
                for path, edges in runs
            ]
            numbers = np.concatenate([part[_NUMBER].to_numpy() for part in parts])
            merged = pl.concat(parts).select(columns_named(names))
            yield merged, _in_order(numbers)


def spilled(frame: pl.LazyFrame, path: Path) -> tuple[pl.LazyFrame, int]:
    """Write rows in order into a temporary file, and return the rows with the number of rows."""
    passing(frame).sink_parquet(path, maintain_order=True, compression="lz4")
    rows = pl.scan_parquet(path, glob=False, hive_partitioning=False)
    count: int = rows.select(pl.len()).collect().item()
    return rows, count


def gathered(rows: pl.DataFrame, place: NDArray[np.integer]) -> pl.DataFrame:
    """Return the rows at some positions, in this order."""
    if not rows.width:
        return rows
    # Texts in many pieces take ten times as long.
    rows = rows.rechunk()
    return rows.select(pl.all().gather(pl.Series(place.astype(row_index(), copy=False))))


def row_index() -> type[np.unsignedinteger]:
    """Return the integer type that Polars indexes rows by, which saves a conversion per column."""
    return np.uint32 if pl.get_index_type() == pl.UInt32 else np.uint64


def _width(rows: pl.DataFrame) -> float:
    """Return the approximate bytes of memory per row, including the index of texts."""
    size = 0
    for column in rows.get_columns():
        if column.dtype == pl.String:
            lengths = nameless(column).str.len_bytes()
            size += _VIEW * len(column) + int(lengths.filter(lengths > _SHORT).sum())
        else:
            size += int(column.estimated_size())
    return max(size / max(len(rows), 1), 1.0)
