"""The raw and the released rows of a release, side by side, in memory or elsewhere."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from incrowd.core.errors import ParameterError, TableError, setting
from incrowd.core.io.columns import columns_named
from incrowd.core.lazy import nw, pl
from incrowd.core.recoding import SUPPRESSED
from incrowd.core.table.schema import require_columns
from incrowd.engines import engine_for
from incrowd.engines.fold import ROWS
from incrowd.engines.memory import MemoryEngine
from incrowd.engines.scan import ScanEngine
from incrowd.engines.sql.recoded import RecodedTable
from incrowd.release.jobs.later.apply import AppliedBatch
from incrowd.release.jobs.later.ledger.joins import key_columns
from incrowd.release.jobs.make.leaving_rows import LeavingRows
from incrowd.release.jobs.make.release import Release


@dataclass(frozen=True)
class Rows:
    """Raw rows beside the released rows.

    Attributes
    ----------
    raw
        Columns of the raw table.
    released
        The released row of each raw row.
    times
        How often each pair occurs; None where every row stands for itself.
    sums
        Digests that stand for the tables where these are not in memory, by the field of the entry.
    """

    raw: pl.DataFrame
    released: pl.DataFrame
    times: pl.Series | None = None
    sums: Mapping[str, str] = field(default_factory=dict)


def rows_of(release: Release | AppliedBatch, raw: Any, names: Sequence[str]) -> Rows:
    """Return some raw columns and the released rows of a release.

    Rows in memory and rows that stream come one by one, in the order of the release. A database groups its
    rows, so that each combination is fetched once::

        name  age | age      times
        Ann   34  | [30-39]  1
        Bob   35  | [30-39]  2

    Raises
    ------
    ParameterError
        When the rows are where nobody can tell which released row is whose.
    TableError
        When the raw table is not the one that the release was made of.
    """
    option = setting("a ledger", "--ledger")
    require_columns(names, engine_for(raw).columns, f"{option}: ")
    if isinstance(release.texts, RecodedTable):
        return _grouped(release.texts, raw, names, key_columns(release), option)
    quasi = [each.name for each in release.policy.schema.quasi]
    engines = engine_for(raw), engine_for(release.texts)
    if all(isinstance(each, MemoryEngine) for each in engines):
        raw_rows, released = (nw.from_native(e.native, eager_only=True).to_polars() for e in engines)
        return Rows(*_paired(release, raw_rows, released, option))
    if not all(isinstance(each, ScanEngine) for each in engines):
        raise ParameterError(
            f"{option}: which released row is whose is known of frames, files, and tables of a database by "
            "their address; fetch the rows of Spark or of a relation into one of these"
        )
    sensitive = [each.name for each in release.policy.schema.sensitive]
    others = [name for name in (*sensitive, *key_columns(release)) if name in engines[1].columns]
    raw_rows, released = (
        each.frame.select(columns_named(list(dict.fromkeys(chosen)))).collect(engine="streaming")
        for each, chosen in zip(engines, (names, [*quasi, *others]), strict=True)
        if isinstance(each, ScanEngine)
    )
    pair = _paired(release, raw_rows, released, option)
    return Rows(*pair, None, _sums(*pair, None))


def _paired(
    rows: LeavingRows, raw: pl.DataFrame, released: pl.DataFrame, option: str
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Put the raw rows into the order of the released rows."""
    if rows.places is not None:
        raw = raw[rows.places] if len(raw) == len(released) + rows.left_out else raw
    if len(raw) != len(released):
        raise TableError(f"{option}: the raw table has {len(raw):,} rows and the release {len(released):,}")
    if rows.order is not None:
        raw = raw[rows.order.rows(len(raw))]
    return raw, released


def _grouped(
    released: RecodedTable, raw: Any, names: Sequence[str], keys: Sequence[str], option: str
) -> Rows:
    if raw is not released.table:
        raise TableError(f"{option}: give the table of the database that the release was made of")
    quasi = released.quasi
    others = [name for name in released.columns if name not in quasi]
    rows, values = released.beside(list(dict.fromkeys([*names, *released.keyed])), others)
    # Pseudonyms are made when rows leave.
    treated = [each for each in released.leaving.by_value if each.name in {*keys} & {*others}]
    values = values.with_columns(each.of(values) for each in treated)
    cells = released.recoded(rows.select(columns_named(released.keyed)), quasi)
    pairs = pl.concat([cells, values], how="horizontal")
    if released.left_out:
        starred = cells.select(pl.all_horizontal(pl.all().eq_missing(SUPPRESSED))).to_series()
        rows, pairs = rows.filter(~starred), pairs.filter(~starred)
    rows, times = rows.select(columns_named(names)), pairs[ROWS]
    shown = pairs.drop(ROWS)
    return Rows(rows, shown, times, _sums(rows, shown, times))


def _sums(raw: pl.DataFrame, released: pl.DataFrame, times: pl.Series | None) -> dict[str, str]:
    """Return digests of the rows, the same for every order of rows."""
    return {name: _sum(frame, times) for name, frame in (("input", raw), ("release", released))}


def digest_of_rows(*frames: pl.DataFrame) -> str:
    """Return a digest of some tables in turn, the same for every order of the rows of each."""
    return hashlib.sha256("".join(_sum(frame, None) for frame in frames).encode()).hexdigest()


def _sum(frame: pl.DataFrame, times: pl.Series | None) -> str:
    counts = pl.Series([1] * len(frame), dtype=pl.Int64) if times is None else times
    # A name of its own would be one that a table has.
    texts = frame.select(pl.struct(pl.all()).struct.json_encode().alias("row")).with_columns(n=counts)
    lines = texts.group_by("row").agg(pl.col("n").sum()).sort("row")
    return hashlib.sha256(lines.write_csv().encode()).hexdigest()
