"""Some rows of a table, with released cells, where rows are not in memory or have no order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.core.errors import TableError
from incrowd.core.io.columns import column_named, nameless, passing
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.recoding import SUPPRESSED
from incrowd.engines import engine_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.release.jobs.make.release import Release

_PLACE = "\0place"
_SPARE = 1.1
"""How many more rows are drawn than are wanted, since each is drawn by itself."""


def sampled(rows: pl.LazyFrame, height: int, most: int) -> pl.DataFrame:
    """Draw some of so many (`height`) rows at random, in a random order, and never hold many more.

    All are drawn where there are no more than `most`.
    """
    names = rows.collect_schema().names()
    drawn = passing(rows)
    if height > most:
        limit = int(min(most * _SPARE / height, 1.0) * (2**64 - 1))
        chosen = column_named(_PLACE).hash(seed=0) <= pl.lit(limit, dtype=pl.UInt64)
        drawn = drawn.with_row_index(_PLACE).filter(chosen).drop(_PLACE)
    sample = drawn.collect(engine="streaming")
    return sample.sample(min(most, len(sample)), shuffle=True, seed=0).select(map(column_named, names))


def recoded_rows(release: Release, rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of a table in the released form, in the given order.

    Rows are found by their quasi-identifiers. A row whose combination was not there when the rows were
    counted is shown as suppressed. Where an algorithm parts records that look alike, each has the cells of
    one of them.

    Raises
    ------
    TableError
        When columns were treated, which may be by chance.
    """
    schema = release.policy.schema
    if schema.treated:
        raise TableError(
            "columns of this release are treated, so no row of the table can be found in it again; attack "
            "the files with incrowd attack"
        )
    if rows.is_empty():
        return rows.select(map(column_named, schema.released(rows.columns)))
    frequency = engine_for(rows).count(release.policy.counting).frequency
    names = [attribute.name for attribute in schema.quasi]
    places = [f"q{j}" for j in range(len(names))]
    cells = [f"c{j}" for j in range(len(names))]
    released = {}
    for cell, each in zip(cells, release.recoding.cells, strict=True):
        positions, labels = each.released
        released[cell] = pl.Series(cell, labels, dtype=pl.String).gather(positions[each.codes])
    leaving = _texts_of_keys(release.frequency, places).with_columns(**released, known=pl.lit(value=True))
    keys = _texts_of_keys(frequency, places).join(
        leaving.unique(places, keep="first", maintain_order=True),
        on=places, how="left", nulls_equal=True, maintain_order="left",
    )  # fmt: skip
    # A row that came in suppressed has no key.
    key = pl.Series(frequency.key_of_row("showing rows"))
    key = key.set(key < 0, None)
    there = keys["known"].gather(key).fill_null(value=False)
    columns = []
    for name in schema.released(rows.columns):
        series = nameless(rows[name])
        if name in names:
            texts = keys[cells[names.index(name)]].gather(key)
            series = texts.zip_with(there, pl.Series([SUPPRESSED]))
        columns.append(nameless(series).alias(name))
    return pl.DataFrame(columns)


def leaving(release: Release, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the given rows of a table that are in the release, and the released form; see `recoded_rows`."""
    if release.left_out:
        rows = rows[places_of(release, rows)]
    return rows, recoded_rows(release, rows)


def places_of(release: Release, rows: pl.DataFrame) -> NDArray[np.int64]:
    """Return the places of the given rows that are in the release; see `recoded_rows`."""
    starred = (column_named(each.name).eq_missing(SUPPRESSED) for each in release.policy.schema.quasi)
    there = recoded_rows(release, rows).select(~pl.all_horizontal(starred)).to_series()
    return np.flatnonzero(there.to_numpy())


def _texts_of_keys(frequency: FrequencyTable, places: Sequence[str]) -> pl.DataFrame:
    """Return the texts of each key, a column for each quasi-identifier."""
    return pl.DataFrame(
        {
            place: pl.Series(place, domain.values, dtype=pl.String).gather(codes)
            for place, domain, codes in zip(places, frequency.domains, frequency.codes, strict=True)
        }
    )


def sliced(batches: Iterator[pl.DataFrame], start: int, count: int) -> pl.DataFrame:
    """Return some of the rows that come in batches."""
    parts = []
    for batch in batches:
        part = batch.slice(min(start, batch.height), count)
        start, count = max(start - batch.height, 0), count - part.height
        parts.append(part)
        if not count:
            break
    return pl.concat(parts)
