"""The people of a table that is cut into blocks: told of the whole table, of each block and of each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd.engines.spark import as_arrow, to_polars
from incrowd.engines.spark.fetching import fetched_within
from incrowd.engines.spark.people import SparkPeople, named_person
from incrowd.errors import ParameterError, TableError
from incrowd.jobs.distributed.cuts import BLOCK
from incrowd.kernels.counting import counts_per_key
from incrowd.table.frequency import FrequencyTable, SensitiveCounts
from incrowd.table.people import Alike, PersonGroups, PersonRows, Spread

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "WholePeople",
    "distinct_people",
    "listed_people",
    "nobody",
    "people_of_blocks",
    "person_columns",
]

_AMOUNT = "n"


@dataclass(frozen=True, eq=False)
class WholePeople:
    """The people of the whole table, with whom every class is compared.

    Attributes
    ----------
    columns
        The columns that name a person.
    people, unnamed
        As in `incrowd.table.people.Persons`.
    several
        Whether somebody has several rows.
    totals
        Per sensitive attribute int64[size]: people who have each value.
    """

    columns: tuple[str, ...]
    people: int
    unnamed: int
    several: bool
    totals: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, encoded: Any, columns: tuple[str, ...], sizes: Sequence[int]) -> WholePeople:
        """Count the people of ranked rows, those who came in suppressed included."""
        from pyspark.sql import functions as sf

        names = _names(columns)
        missing = nobody(names)
        rows = encoded.filter(~missing).groupBy(*names).agg(sf.count(sf.lit(1)).alias(_AMOUNT))
        people, named = rows.agg(sf.count(sf.lit(1)), sf.coalesce(sf.sum(_AMOUNT), sf.lit(0))).first()
        unnamed = encoded.filter(missing).count()
        totals = []
        for j, size in enumerate(sizes):
            found = to_polars(distinct_people(encoded, [f"s{j}"], names))
            ranks, amount = found[f"s{j}"].to_numpy(), found[_AMOUNT].to_numpy()
            totals.append(np.bincount(ranks, amount, size).astype(np.int64))
        return cls(columns, people + unnamed, unnamed, named > people, tuple(totals))

    def counted(self, table: FrequencyTable, found: PersonRows | PersonGroups) -> FrequencyTable:
        """Count the people of a part of the table, to be compared with the whole."""
        groups = PersonGroups.of(found) if isinstance(found, PersonRows) else found
        # Whoever has several rows may have one in this part.
        counted = table.with_person_rows(groups._replace(several=self.several), self.columns)
        return counted if counted.people is None else replace(counted, people=self._whole(counted.people))

    def _whole(self, people: FrequencyTable) -> FrequencyTable:
        sensitive = tuple(
            replace(counts, totals=totals, people=self.people)
            for counts, totals in zip(people.sensitive, self.totals, strict=True)
        )
        return replace(people, sensitive=sensitive)

    def alone(
        self, table: FrequencyTable, weights: NDArray[np.int64], values: Sequence[Any]
    ) -> FrequencyTable:
        """Give keys their people, who are counted for each key alone: two keys must not be added up."""
        none = np.zeros(0, np.int64)
        sizes = [counts.domain.size for counts in table.sensitive]
        people = replace(
            table,
            weights=weights,
            sensitive=tuple(
                SensitiveCounts(counts.domain, keys, counts.totals)
                for counts, keys in zip(table.sensitive, values, strict=True)
            ),
            spread=Spread.of(table.keys, none, none, [none] * len(sizes), sizes, None),
        )
        return replace(table, people=self._whole(people))


def person_columns(
    frame: Any, places: Sequence[str], names: Sequence[str], null_values: tuple[str, ...]
) -> list[Any]:
    """Return what names a person as columns ``w0``, ..., null where it means nobody.

    Raises
    ------
    ParameterError
        When Spark cannot tell what means nobody.
    """
    from pyspark.sql import functions as sf

    found = []
    for j, (place, name) in enumerate(zip(places, names, strict=True)):
        empty = as_arrow(frame.select(place))
        person = None if empty is None else named_person(sf.col(place), empty.dtypes[0], null_values)
        if person is None:
            raise ParameterError(
                f"blocks: column {name!r} has points of time, and null values that may be among them; turn "
                "it into text"
            )
        found.append(person.alias(f"w{j}"))
    return found


def _names(columns: Sequence[str]) -> list[str]:
    return [f"w{j}" for j in range(len(columns))]


def nobody(names: Sequence[str]) -> Any:
    """Say of a row whether it names nobody."""
    from pyspark.sql import functions as sf

    missing = sf.lit(True)
    for name in names:
        missing = missing & sf.col(name).isNull()
    return missing


def distinct_people(frame: Any, columns: Sequence[str], person: Sequence[str]) -> Any:
    """Count the people of each combination of some columns, as ``n``; who has no name is one of their own."""
    from pyspark.sql import functions as sf

    one = sf.lit(1).cast("long").alias(_AMOUNT)
    named = frame.filter(~nobody(person)).select(*columns, *person).distinct().select(*columns, one)
    unnamed = frame.filter(nobody(person)).select(*columns, one)
    return named.union(unnamed).groupBy(*columns).agg(sf.sum(_AMOUNT).alias(_AMOUNT))


def people_of_blocks(live: Any, table: FrequencyTable, whole: WholePeople) -> FrequencyTable:
    """Count the people of each block on the executors; two blocks must not be added up."""
    names = _names(whole.columns)
    found = to_polars(distinct_people(live, [BLOCK], names))
    weights = np.bincount(found[BLOCK].to_numpy(), found[_AMOUNT].to_numpy(), table.keys).astype(np.int64)
    values = []
    for j, counts in enumerate(table.sensitive):
        found = to_polars(distinct_people(live, [BLOCK, f"s{j}"], names))
        key, codes, amount = (found[name].to_numpy() for name in (BLOCK, f"s{j}", _AMOUNT))
        values.append(counts_per_key(key, codes, amount.astype(np.int64), table.keys, counts.domain.size))
    return whole.alone(table, weights, values)


def listed_people(live: Any, table: FrequencyTable, whole: WholePeople, driver_keys: int) -> FrequencyTable:
    """Count the people of each block, and list who is in several, so that blocks can be joined.

    Raises
    ------
    TableError
        When they are more than may come to the driver.
    """
    from pyspark.sql import functions as sf

    forms = [f"s{j}" for j in range(len(table.sensitive))]
    names = _names(whole.columns)
    grouped = live.groupBy(BLOCK, *forms, *names).agg(sf.count(sf.lit(1)).alias("rows of it"))
    people = SparkPeople(grouped, [BLOCK, *forms], [sf.col(name) for name in names], "rows of it")
    with people.held():
        lists = [to_polars(people.alike([BLOCK, *own])) for own in ([form] for form in forms)]
        lists = lists or [to_polars(people.alike([BLOCK]))]

        def refused(found: int) -> TableError:
            return TableError(
                f"blocks have to be joined, and {found:,} pairs of a person and a block are more than "
                f"the {driver_keys:,} that may come to the driver (driver_keys); raise it, or ask for "
                "fewer blocks"
            )

        listed = fetched_within(people.listed(), driver_keys, refused)
    order = listed.select("name", "number").unique().sort("name", "number").with_row_index("person")
    listed = listed.join(order, on=["name", "number"]).sort(BLOCK, *forms, "person")
    groups = PersonGroups(
        PersonRows(
            listed[BLOCK].to_numpy(),
            listed["person"].to_numpy().astype(np.int32),
            tuple(listed[form].to_numpy() for form in forms),
        ),
        tuple(_alike(found, form) for found, form in zip(lists, forms or [""], strict=True)),
        whole.people,
        whole.unnamed,
        whole.several,
    )
    return whole.counted(table, groups)


def _alike(found: pl.DataFrame, form: str) -> Alike:
    codes = found[form].to_numpy() if form else np.zeros(len(found), np.int32)
    return Alike(found[BLOCK].to_numpy(), codes, found["alike"].to_numpy().astype(np.int64))
