"""The people of a table in blocks: of the whole table, of each block and of each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from incrowd.core.errors import ParameterError, TableError
from incrowd.core.kernels.grouping.counting import counts_per_key
from incrowd.core.lazy import NDArray, np, pl, sf
from incrowd.core.table.frequency import FrequencyTable, People
from incrowd.core.table.people import ListedPeople, PersonRows
from incrowd.core.table.sensitive import SensitiveCounts
from incrowd.engines.fold import PERSON, ROWS
from incrowd.engines.plan import PeoplePlan
from incrowd.engines.spark import to_polars
from incrowd.engines.spark.fetching import HASHED, as_arrow, ask, cache_rows, fetched_within, person_of
from incrowd.release.jobs.make.distributed.cuts import BLOCK

_AMOUNT = "a0"


@dataclass(frozen=True, eq=False)
class WholePeople:
    """The people of the whole table, to compare with every class.

    Attributes
    ----------
    columns
        The columns that name a person.
    people, unnamed
        Number of people, and of rows without one; see `incrowd.core.table.frequency.People`.
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
    def of_rows(cls, encoded: Any, columns: tuple[str, ...], sizes: Sequence[int]) -> WholePeople:
        """Count the people of ranked rows, also of rows that were already suppressed."""
        plan = _plan_of(columns)
        people, rows, unnamed = to_polars(ask(plan.totals(), rows=encoded)).row(0)
        totals = []
        for j, size in enumerate(sizes):
            counts = to_polars(ask(plan.counted([f"s{j}"]), rows=encoded))
            ranks, amount = counts[f"s{j}"].to_numpy(), counts[_AMOUNT].to_numpy()
            totals.append(np.bincount(ranks, amount, size).astype(np.int64))
        return cls(columns, people, unnamed, rows > people, tuple(totals))

    def counted(self, table: FrequencyTable, rows: PersonRows) -> FrequencyTable:
        """Count the people of a part of the table, to compare with the whole table."""
        # Whoever has several rows may have one in this part.
        return self.compared(table.with_person_rows(rows, self.columns, several=self.several))

    def compared(self, counted: FrequencyTable) -> FrequencyTable:
        """Return a part with totals of the whole table's people."""
        people = counted.people
        if people.table is None:
            return counted
        return replace(counted, people=replace(people, table=self._whole(people.table)))

    def _whole(self, people: FrequencyTable) -> FrequencyTable:
        sensitive = tuple(
            replace(counts, totals=totals, people=self.people)
            for counts, totals in zip(people.sensitive, self.totals, strict=True)
        )
        return replace(people, sensitive=sensitive)

    def alone(
        self, table: FrequencyTable, weights: NDArray[np.int64], values: Sequence[Any]
    ) -> FrequencyTable:
        """Return keys with people counted per key, so that counts of two keys must not be added."""
        none = np.zeros(0, np.int64)
        sizes = [counts.domain.size for counts in table.sensitive]
        people = replace(
            table,
            weights=weights,
            sensitive=tuple(
                SensitiveCounts(counts.domain, keys, counts.totals)
                for counts, keys in zip(table.sensitive, values, strict=True)
            ),
            people=People(
                listed=ListedPeople.of_entries(table.keys, none, none, [none] * len(sizes), sizes, None)
            ),
        )
        return replace(table, people=People(table=self._whole(people)))


def person_columns(
    frame: Any, places: Sequence[str], names: Sequence[str], null_values: tuple[str, ...]
) -> list[Any]:
    """Return the columns that name a person as ``w0``, ..., with null for nobody.

    Raises
    ------
    ParameterError
        When Spark cannot tell what means nobody.
    """
    expressions = []
    for j, (place, name) in enumerate(zip(places, names, strict=True)):
        empty = as_arrow(frame.select(place))
        person = None if empty is None else person_of(frame, place, empty.dtypes[0], null_values)
        if person is None:
            raise ParameterError(
                f"blocks: column {name!r} has points of time, and null values that may be among them; turn "
                "it into text"
            )
        expressions.append(sf.expr(person).alias(f"w{j}"))
    return expressions


def _plan_of(columns: Sequence[str], own: Sequence[str] = ()) -> PeoplePlan:
    """Plan the queries about people of ranked rows, by block and some sensitive attributes."""
    return PeoplePlan("{rows}", [BLOCK], own, [f"w{j}" for j in range(len(columns))], hashed=HASHED)


def people_of_blocks(live: Any, table: FrequencyTable, whole: WholePeople) -> FrequencyTable:
    """Count the people of each block on the executors (sums over blocks are invalid)."""
    plan = _plan_of(whole.columns)
    counts_of_people = to_polars(ask(plan.counted([BLOCK]), rows=live))
    weights = np.bincount(
        counts_of_people[BLOCK].to_numpy(), counts_of_people[_AMOUNT].to_numpy(), table.keys
    ).astype(np.int64)
    values = []
    for j, counts in enumerate(table.sensitive):
        counts_of_people = to_polars(ask(plan.counted([BLOCK, f"s{j}"]), rows=live))
        key, codes, amount = (counts_of_people[name].to_numpy() for name in (BLOCK, f"s{j}", _AMOUNT))
        values.append(counts_per_key(key, codes, amount.astype(np.int64), table.keys, counts.domain.size))
    return whole.alone(table, weights, values)


def listed_people(live: Any, table: FrequencyTable, whole: WholePeople, driver_keys: int) -> FrequencyTable:
    """Count the people of each block, and list people in several blocks.

    Raises
    ------
    TableError
        When they are more than may come to the driver.
    """
    forms = [f"s{j}" for j in range(len(table.sensitive))]
    plan = _plan_of(whole.columns, forms)
    kinds = cache_rows(ask(plan.kinds(), rows=live))

    def limit_error(number: int) -> TableError:
        return TableError(
            f"blocks have to be joined, and {number:,} pairs of a person and a block are more than "
            f"the {driver_keys:,} that may come to the driver (driver_keys); raise it, or ask for "
            "fewer blocks"
        )

    def fetch(query: str, asked: Sequence[str], counts: Sequence[str]) -> pl.DataFrame:
        result = ask(query, kinds=kinds)
        frame = fetched_within(result, driver_keys, limit_error) if PERSON in counts else to_polars(result)
        frame.columns = [BLOCK, *asked, *counts]
        return frame

    try:
        listed, alike, _ = plan.reduced(forms, [[form] for form in forms] or [[]], "{kinds}", fetch)
    finally:
        kinds.unpersist()
    listed = listed.sort(BLOCK, *forms, PERSON)
    rows = PersonRows(
        listed[BLOCK].to_numpy(),
        listed[PERSON].to_numpy().astype(np.int32),
        tuple(listed[form].to_numpy() for form in forms),
    )
    people_of_all = People(whole.columns, whole.people, whole.unnamed)
    others = []
    # They count as a record would, with one sensitive attribute.
    for unlisted, form in zip(alike, forms or [""], strict=True):
        ranks = (unlisted[form].to_numpy(),) if form else ()
        nobody, amount = np.full(len(unlisted), -1, np.int32), unlisted[ROWS].to_numpy().astype(np.int64)
        others.append(PersonRows(unlisted[BLOCK].to_numpy(), nobody, ranks, rows=amount))
    return whole.compared(table.with_listed(people_of_all, rows, others, several=whole.several))
