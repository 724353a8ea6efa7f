"""Tables that are hard to count, and the equality of two engines' counts."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
from hypothesis import strategies as st

from incrowd.core.kernels.grouping.counting import Counts
from incrowd.core.table.frequency import FrequencyTable

__all__ = ["ENGINE_OF", "MAKERS", "VALUES", "frames", "in_order_of_codes", "is_in_order_of_codes", "same"]

DAY = dt.date(2000, 2, 28)
VALUES = {
    pl.String: ["", "a", "*", "1", "1.0", "01", "NA", "Ä", "a b", "'x'", "{a, b}", None],
    pl.Float64: [0.0, -0.0, float("nan"), 1.5, -2.0, 1e100, None],
    pl.Int64: [0, -1, 2**62, 7, None],
    pl.UInt8: [0, 255, None],
    pl.Boolean: [True, False, None],
    pl.Date: [DAY, DAY + dt.timedelta(days=1), None],
    pl.Datetime("us", "UTC"): [dt.datetime(2000, 1, 1, 5, tzinfo=dt.UTC), dt.datetime(2000, 1, 2, tzinfo=dt.UTC), None],
    pl.Decimal(10, 2): [Decimal("1.10"), Decimal("-3.00"), None],
    pl.Categorical: ["u", "v", None],
}  # fmt: skip


@st.composite
def frames(draw):
    rows = draw(st.integers(1, 25))
    kinds = draw(st.lists(st.sampled_from(list(VALUES)), min_size=4, max_size=4))
    columns = {}
    for name, kind in zip(("p", "Q 'x'", "s", "t"), kinds, strict=True):
        cells = draw(st.lists(st.sampled_from(VALUES[kind]), min_size=rows, max_size=rows))
        columns[name] = pl.Series(name, cells, dtype=kind, strict=False)
    return pl.DataFrame(columns).with_columns(other=pl.Series(range(rows)))


def is_in_order_of_codes(table: FrequencyTable) -> bool:
    """Say whether the keys stand in the order of the codes, the first column before the others."""
    keys = list(zip(*(codes.tolist() for codes in table.codes), strict=True))
    return keys == sorted(keys)


def in_order_of_codes(table: FrequencyTable) -> FrequencyTable:
    """The same keys in the order of codes, which engines with unordered rows give at once."""
    order = np.lexsort([codes.astype(np.int64) for codes in reversed(table.codes)])
    kept = table.only(np.ones(table.keys, np.bool_))
    if table.joint is not None:
        # Combinations are numbered by their first row, too: name them by what they are.
        combinations = list(zip(*(codes.tolist() for codes in table.joint.codes), strict=True))
        place = {combination: number for number, combination in enumerate(sorted(combinations))}
        renumbered = np.array([place[combination] for combination in combinations], np.int32)
    parts = [counts.keys for counts in kept.sensitive]
    parts += [] if kept.joint is None else [kept.joint.keys]
    parts += [] if kept.target is None else [kept.target.keys]
    for number, counts in enumerate(parts):
        codes = counts.codes
        if kept.joint is not None and number == len(kept.sensitive):
            codes = renumbered[codes]
        lists = [
            sorted(zip(codes[start:stop].tolist(), counts.counts[start:stop].tolist(), strict=True))
            for start, stop in zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
        ]
        lists = [lists[key] for key in order]
        parts[number] = Counts(
            np.cumsum([0, *map(len, lists)], dtype=np.int64),
            np.array([code for pairs in lists for code, _ in pairs], np.int32),
            np.array([count for pairs in lists for _, count in pairs], np.int64),
        )
    sensitive = tuple(replace(counts, keys=parts[number]) for number, counts in enumerate(kept.sensitive))
    joint = kept.joint
    if joint is not None:
        back = np.argsort(renumbered)
        joint = replace(joint, codes=tuple(codes[back] for codes in joint.codes), keys=parts[len(sensitive)])
    target = None if kept.target is None else replace(kept.target, keys=parts[-1])
    return replace(
        kept,
        codes=tuple(codes[order] for codes in table.codes),
        weights=table.weights[order],
        sensitive=sensitive,
        joint=joint,
        target=target,
        suppressed=table.suppressed,
    )


def same_counts(one, other):
    assert one.indptr.tolist() == other.indptr.tolist()
    assert one.codes.tolist() == other.codes.tolist()
    assert one.counts.tolist() == other.counts.tolist()


def same(one, other):
    """Two frequency tables with keys in the same order, but for the rows."""
    for a, b in zip(one.domains, other.domains, strict=True):
        assert (a.name, a.kind, a.ordered, list(a.values)) == (b.name, b.kind, b.ordered, list(b.values))
        assert np.array_equal(a.numbers, b.numbers, equal_nan=True)
    for a, b in zip(one.codes, other.codes, strict=True):
        assert a.dtype == b.dtype
        assert a.tolist() == b.tolist()
    assert one.weights.tolist() == other.weights.tolist()
    assert one.suppressed == other.suppressed
    for a, b in zip(one.sensitive, other.sensitive, strict=True):
        assert list(a.domain.values) == list(b.domain.values)
        assert a.totals.tolist() == b.totals.tolist()
        same_counts(a.keys, b.keys)
    assert (one.joint is None) == (other.joint is None)
    if one.joint is not None:
        for a, b in zip(one.joint.codes, other.joint.codes, strict=True):
            assert a.tolist() == b.tolist()
        same_counts(one.joint.keys, other.joint.keys)


def _files(frame: pl.DataFrame, folder: Path):
    from incrowd.core.io.streams import scan

    for old in folder.iterdir():
        old.unlink()
    frame.write_parquet(folder / "rows.parquet")
    return scan(folder)


def _relation(frame: pl.DataFrame, folder: Path):
    import duckdb

    return duckdb.connect().from_arrow(frame.to_arrow())


def _recoded(frame: pl.DataFrame, folder: Path):
    from incrowd.engines import RecodedTable, SqlEngine

    return RecodedTable(SqlEngine(_relation(frame, folder)).rows, [], frame.columns, None)


def _spark(frame: pl.DataFrame, folder: Path):
    from spark_session import local_session, require_spark

    require_spark()
    return local_session().createDataFrame(frame.to_arrow())


MAKERS = {
    "MemoryEngine": lambda frame, folder: frame,
    "ScanEngine": lambda frame, folder: frame.lazy(),
    "FilesEngine": _files,
    "SqlEngine": _relation,
    "RecodedTable": _recoded,
    "SparkEngine": _spark,
}
"""Per engine how it gets a frame's rows, and a release of the SQL engine; the folder is the test's own."""

ENGINE_OF = {"RecodedTable": "SqlEngine"}
"""The engine of tables that are not called after theirs."""
