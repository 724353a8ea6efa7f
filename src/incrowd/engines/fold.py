"""Fold grouped rows into a frequency table, for all tables that are counted elsewhere.

Example: ages 30 and 41 and sexes F and M have the codes 0 and 1, and `fold` numbers the distinct keys::

    rows        grouped by code         keys
    30  M       age  sex  rows
    30  M   ->    0    1     2     ->   key 0, weight 2
    41  F         1    0     1          key 1, weight 1
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from incrowd.core.errors import SchemaError, TableError, named
from incrowd.core.io.columns import address, column_named, columns_named
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.reading.missing import null_values_of
from incrowd.core.table.survey import Households, Sampling, read_weights
from incrowd.engines.base import refuse_several_rows, survey_columns
from incrowd.engines.distinct import as_text, dictionary, refuse_objects, require_countable
from incrowd.engines.key_lookup import RowKeys, place_of

if TYPE_CHECKING:
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.people import PersonRows
    from incrowd.core.table.schema import Attribute, Schema
    from incrowd.core.table.sensitive import JointCounts, SensitiveCounts

ROWS = "\0rows"
"""Column of a grouped frame: the number of rows of a combination."""

PERSON = "\0person"
"""Column of a grouped frame: a number of the person."""

CELL = "\0cell {}"
"""Column that holds the released text of a quasi-identifier."""

CHANGED = "the table was changed while it was counted; try again when nobody writes to it"
"""Message about two groupings of a table that contradict each other."""

KEY = "\0key"
"""Column that holds the number of a row's key."""

Grouped = tuple["pl.DataFrame", NDArray[np.integer], NDArray[np.int64]]
"""Rows grouped by some columns and the key: codes of values, keys, and the rows of each group."""

_FIRST = "\0first"
_CODE = "\0code {}"


class Values:
    """Distinct values of columns, with positions as the codes that rows are grouped by.

    Attributes
    ----------
    types
        The type of each column.
    null_values
        The texts that mean missing.
    """

    def __init__(self, types: dict[str, pl.DataType], null_values: tuple[str, ...]) -> None:
        self.types, self.null_values = types, null_values
        self._distinct: dict[str, pl.Series] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._distinct

    def __getitem__(self, name: str) -> pl.Series:
        """Return the distinct values of a column in order, missing included."""
        return self._distinct[name]

    def learn(self, name: str, distinct: pl.Series) -> pl.Series:
        """Record the distinct values of a column if new, and return the values recorded first."""
        return self._distinct.setdefault(name, distinct)

    def cleaned(self, name: str) -> pl.Expr:
        """Make equal values the same for grouping."""
        kind = self.types[name]
        column = column_named(name)
        if isinstance(kind, pl.Categorical | pl.Enum) or kind in (pl.Null, pl.Boolean):
            column, kind = column.cast(pl.String), pl.String()
        if kind.is_float():
            column = pl.when(column == 0).then(pl.lit(0.0, dtype=kind)).otherwise(column.fill_nan(None))
        return null_values_of(self.null_values).cleaned(column, kind)

    def coded(
        self, frame: pl.LazyFrame, names: Sequence[str], form: str = "{}", *, ordered: bool = False
    ) -> pl.LazyFrame:
        """Add a code for each value of some columns: the position among the distinct values."""
        for name in names:
            distinct = self[name]
            kind = smallest(len(distinct))
            cleaned = self.cleaned(name)
            code = place_of(cleaned, distinct, kind)
            if code is not None:
                frame = frame.with_columns(code.alias(form.format(name)))
            else:
                places = pl.Series(range(len(distinct)), dtype=kind)
                table = pl.DataFrame({_FIRST + name: distinct, form.format(name): places})
                frame = frame.with_columns(cleaned.alias(_FIRST + name))
                if form == "{}":
                    frame = frame.drop(address(name))
                frame = frame.join(
                    table.lazy(),
                    on=_FIRST + name,
                    how="left",
                    nulls_equal=True,
                    maintain_order="left" if ordered else "none",
                ).drop(_FIRST + name)
        return frame


class Keys:
    """The keys of a table, by the values that rows have.

    Attributes
    ----------
    values
        The distinct values of the quasi-identifiers.
    lines
        Every combination of the quasi-identifiers that rows have, by the places of its values.
    numbers
        int32[lines]: the key of each; -1 where rows came in suppressed.
    """

    def __init__(self, values: Values, lines: pl.DataFrame, numbers: NDArray[np.int32]) -> None:
        self.values, self.lines, self.numbers = values, lines, numbers

    @property
    def names(self) -> list[str]:
        """The quasi-identifiers."""
        return self.lines.columns

    @cached_property
    def _row_keys(self) -> RowKeys:
        """Lookup from codes to keys, built once for all files because the table is large."""
        live = self.numbers >= 0
        sizes = [len(self.values[name]) for name in self.names]
        return RowKeys(self.lines.filter(pl.Series(live)), self.numbers[live], sizes)

    def of(self, grouped: pl.DataFrame) -> NDArray[np.integer]:
        """Return the key of each combination of codes (suppressed: -1)."""
        places = [_CODE.format(position) for position in range(len(self.names))]
        table = self.lines.rename(dict(zip(self.names, places, strict=True)))
        matches = grouped.select(
            column.alias(position) for column, position in zip(columns_named(self.names), places, strict=True)
        ).join(
            table.with_columns(pl.Series(KEY, self.numbers)),
            on=places,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        return matches[KEY].to_numpy()

    def added(self, frame: pl.LazyFrame, *, ordered: bool = False) -> pl.LazyFrame:
        """Add the number of each row's key (`KEY`, missing where the row came in suppressed)."""
        coded = self.values.coded(frame, self.names, _CODE, ordered=ordered)
        codes = [_CODE.format(name) for name in self.names]
        return self._row_keys.added(coded, codes, KEY).drop(map(address, codes))


Lines = tuple["pl.DataFrame", "NDArray[np.integer]"]
"""A frame of codes in sensitive attributes, and the key of each line."""

CodedPeople = tuple[Lines, list[Lines], tuple[int, int]]
"""Result of `GroupedRows.people`."""


class TooManyKeysError(TableError):
    """There are more combinations of values than may be fetched.

    Attributes
    ----------
    found
        How many there are.
    """

    found: int = 0

    @classmethod
    def of_columns(cls, count: int, limit: int, columns: Sequence[str]) -> TooManyKeysError:
        """Say how many combinations of which columns there are, and how to have fewer."""
        error = cls(
            f"{count:,} distinct combinations of {named(columns)} are more than the "
            f"{limit:,} that may come to the driver (driver_keys); raise driver_keys where memory allows, "
            "name fewer quasi-identifiers or coarsen them first; strict Mondrian on Spark does without"
        )
        error.found = count
        return error


class GroupedRows(ABC):
    """Rows that are grouped where the rows live: the interface that `fold` needs.

    Attributes
    ----------
    in_order
        Whether the rows have an order.
    values
        The distinct values of the columns, as far as they are known.
    """

    in_order: ClassVar[bool]
    values: Values

    def look(self, names: Sequence[str]) -> None:  # noqa: B027
        """Find the distinct values of some columns, which groupings bring by default."""

    @abstractmethod
    def grouped(self, names: Sequence[str]) -> pl.DataFrame:
        """Count the combinations of some columns, as a code for each column and `ROWS`.

        They stand in the order of their first row, where rows have an order.
        """

    def keyed(self, columns: Sequence[str], keys: Keys) -> tuple[pl.DataFrame, NDArray[np.integer]]:
        """Count columns together with the quasi-identifiers, and number each row's key (-1: suppressed)."""
        further = [name for name in columns if name not in keys.names]
        grouped = self.grouped([*keys.names, *further])
        return grouped, keys.of(grouped)

    def people(
        self, sensitive: list[str], lists: list[list[str]], keys: Keys, schema: Schema
    ) -> CodedPeople | None:
        """List the people with unlike rows, and count the others.

        Parameters
        ----------
        sensitive
            The sensitive attributes.
        lists
            The columns of each list of people whose rows are alike: one attribute, all of them, or none.
        keys
            The keys of the rows.

        Returns
        -------
        listed
            A line for each `PERSON` and kind of row, in the order of the first row where rows have an order.
            Whoever has rows that are not alike is listed with all of them.
        alike
            The others, those without a name included: per list that was asked `ROWS` says how many they are.
        people, unnamed
            All people, each row without a name being one; these rows.

        None where every row has to be read.
        """
        return None


def fold(
    rows: GroupedRows,
    schema: Schema,
    columns: Sequence[str],
    *,
    joint: bool,
    target: str | None,
    starred: bool = False,
) -> tuple[FrequencyTable, Keys]:
    """Count grouped rows, with a grouping for the keys and another for each sensitive attribute.

    What is kept is as long as there are distinct keys. Records that look alike cannot be parted, since
    nobody knows which row is which.

    Keys stand in the order of their first row, where rows have an order, and else in that of their codes:
    greedy searches settle ties by it, so every database gives the same release.

    Parameters
    ----------
    columns
        All columns of the table.
    joint, target
        As in `Engine.count`.
    starred
        As in `EngineSettings`.
    """
    from incrowd.core.table.frequency import FrequencyTable

    refuse_uncountable(schema, columns)
    names = [attribute.name for attribute in (*schema.quasi, *schema.sensitive)]
    names += [*schema.person, *survey_columns(schema)]
    refuse_objects(rows.values.types, schema)
    for name in names:
        if name in rows.values.types:
            require_countable(name, rows.values.types[name])
    rows.look(names)
    target_attribute = None if target is None else schema.target(target, columns)
    grouped = rows.grouped([attribute.name for attribute in schema.quasi])
    if not len(grouped):
        raise TableError("the table has no rows")
    domains, codes, weights, keys = _number_keys(rows, grouped, schema, starred=starred)
    counts = _Counts(rows, schema, keys, len(weights))
    sensitive = tuple(map(counts.of, schema.sensitive))
    frequency = FrequencyTable(
        domains=domains,
        codes=codes,
        weights=weights,
        sensitive=sensitive,
        suppressed=int(grouped[ROWS].to_numpy()[keys.numbers < 0].sum()),
        row_keys=None,
        joint=counts.joint(sensitive) if joint and sensitive else None,
        target=None if target_attribute is None else counts.of(target_attribute),
        in_order=rows.in_order,
    )
    if schema.person:
        frequency = counts.with_people(frequency)
    return _with_survey(frequency, schema, counts.distinct, counts.grouped), keys


def _with_survey(
    frequency: FrequencyTable,
    schema: Schema,
    distinct: Callable[[str], pl.Series],
    grouped: Callable[[Sequence[str]], Grouped],
) -> FrequencyTable:
    """Add weights and households to a frequency table.

    Parameters
    ----------
    distinct
        The values of a column, missing among them.
    grouped
        The groups of rows by some columns.

    Raises
    ------
    SchemaError
        When the weights are none.
    """
    if schema.weights is not None:
        refuse_several_rows(frequency, schema.weights)
        groups, key, rows = grouped([schema.weights])
        codes = groups[schema.weights].to_numpy()
        values = as_text(distinct(schema.weights))
        counts = np.bincount(codes, rows, len(values)).astype(np.int64)
        numbers = read_weights(values, schema[schema.weights], counts)[codes]
        sampling = Sampling.of_weights(schema.weights, key, numbers, frequency.keys, rows=rows)
        frequency = frequency.with_sampling(sampling)
    if schema.household:
        groups, key, rows = grouped(list(dict.fromkeys((*schema.household, *schema.person))))
        home, member = (
            number_groups(groups, names, [distinct(name) for name in names]) if names else None
            for names in (schema.household, schema.person)
        )
        assert home is not None
        households = Households.of_rows(schema.household, key, home, rows, member)
        frequency = replace(frequency, survey=frequency.survey._replace(households=households))
    return frequency


def number_groups(
    groups: pl.DataFrame, names: Sequence[str], distinct: Sequence[pl.Series]
) -> NDArray[np.int64]:
    """Give the combinations of some columns numbers, -1 where all are missing.

    Parameters
    ----------
    distinct
        The values that the columns have the places of.
    """
    from incrowd.core.kernels.grouping.grouping import group_columns

    codes = [groups[name].to_numpy() for name in names]
    missing = np.ones(len(groups), np.bool_)
    for column, values in zip(codes, distinct, strict=True):
        missing &= values.is_null().to_numpy()[column]
    rows = np.flatnonzero(~missing)
    numbers = np.full(len(groups), -1, np.int64)
    sizes = [len(values) for values in distinct]
    numbers[rows], _ = group_columns([column[rows] for column in codes], sizes, len(rows))
    return numbers


def refuse_uncountable(schema: Schema, columns: Sequence[str]) -> None:
    """Refuse a schema that a table with some columns cannot be counted by.

    Raises
    ------
    SchemaError
    """
    schema.check_columns(columns)
    odd = [name for name in columns if "\0" in name]
    if odd:
        # Columns of our own have it in their names.
        raise SchemaError(f"column {odd[0]!r} has the character NUL in its name; rename it first")
    if not schema.quasi:
        raise SchemaError("the schema names no quasi-identifier; name at least one")


def _number_keys(
    rows: GroupedRows, grouped: pl.DataFrame, schema: Schema, *, starred: bool
) -> tuple[tuple[Domain, ...], tuple[NDArray[np.unsignedinteger], ...], NDArray[np.int64], Keys]:
    """Give each combination of quasi-identifiers the number of the key.

    Returns
    -------
    domains, codes
        Per quasi-identifier its values, and their ranks: int[keys].
    weights
        int64[keys]: rows.
    keys
        The key of each combination of values.
    """
    from incrowd.core.kernels.grouping.grouping import group_columns
    from incrowd.core.table.domain import Domain
    from incrowd.core.table.frequency import smallest_codes

    names = [attribute.name for attribute in schema.quasi]
    none = np.zeros(len(grouped), np.bool_)
    suppressed = none if starred else _suppressed(grouped, names, rows.values)
    live = grouped.filter(~pl.Series(suppressed))
    domains, codes = [], []
    for attribute in schema.quasi:
        distinct, inverse = np.unique(live[attribute.name].to_numpy(), return_inverse=True)
        values = rows.values[attribute.name].gather(distinct)
        entries, places = dictionary(values, attribute.name, ())
        domain, rank_of = Domain.build(attribute, entries, schema.null_values)
        domains.append(domain)
        codes.append(smallest_codes(rank_of[places][inverse], max(domain.size, 1)))
    # A value may be written in several ways, as 1 and 1.0.
    ids, first = group_columns(codes, [domain.size for domain in domains], len(live))
    if not rows.in_order:
        order = np.lexsort([column[first] for column in reversed(codes)])
        ranks = np.empty(len(order), ids.dtype)
        ranks[order] = np.arange(len(order), dtype=ids.dtype)
        ids, first = ranks[ids], first[order]
    numbers = np.full(len(grouped), -1, np.int32)
    numbers[~suppressed] = ids
    weights = np.bincount(ids, live[ROWS].to_numpy(), len(first)).astype(np.int64)
    keys = Keys(rows.values, grouped.select(columns_named(names)), numbers)
    return tuple(domains), tuple(column[first] for column in codes), weights, keys


def _suppressed(grouped: pl.DataFrame, names: Sequence[str], values: Values) -> NDArray[np.bool_]:
    """Say which combinations are ``*`` in every quasi-identifier."""
    from incrowd.core.recoding import SUPPRESSED

    suppressed = np.ones(len(grouped), np.bool_)
    for name in names:
        distinct = values[name]
        if distinct.dtype != pl.String:
            return np.zeros(len(grouped), np.bool_)
        star = (distinct == SUPPRESSED).fill_null(value=False).to_numpy()
        suppressed &= star[grouped[name].to_numpy()]
    return suppressed


class _Counts(NamedTuple):
    """Counts of sensitive attributes and people per key, for `size` keys."""

    rows: GroupedRows
    schema: Schema
    keys: Keys
    size: int

    def distinct(self, name: str) -> pl.Series:
        """Return the distinct values of a column, missing included."""
        self.rows.look([name])
        return self.rows.values[name]

    def grouped(self, columns: Sequence[str]) -> Grouped:
        """Group the rows by some columns and the key."""
        groups, key = self.rows.keyed(columns, self.keys)
        return groups, key, groups[ROWS].to_numpy().astype(np.int64)

    def of(self, attribute: Attribute) -> SensitiveCounts:
        """Count the values of an attribute per key."""
        from incrowd.core.kernels.grouping.counting import counts_per_key
        from incrowd.core.table.sensitive import SensitiveCounts

        groups, key, rows = self.grouped([attribute.name])
        domain, ranks = self._rank(attribute)
        codes = ranks.astype(np.int32)[groups[attribute.name].to_numpy()]
        totals = np.bincount(codes, rows, domain.size).astype(np.int64)
        return SensitiveCounts(domain, counts_per_key(key, codes, rows, self.size, domain.size), totals, None)

    def joint(self, sensitive: Sequence[SensitiveCounts]) -> Any:
        """Count the joint sensitive values per key, numbered by the first row."""
        from incrowd.core.kernels.grouping.counting import counts_per_key
        from incrowd.core.kernels.grouping.grouping import group_columns
        from incrowd.core.table.sensitive import JointCounts

        names = [counts.name for counts in sensitive]
        groups, key, rows = self.grouped(names)
        ranked = self._ranks_of(names, groups)
        combination, first = group_columns(ranked, [counts.domain.size for counts in sensitive], len(groups))
        return JointCounts(
            tuple(ranks[first].astype(np.int32) for ranks in ranked),
            counts_per_key(key, combination, rows, self.size, len(first)),
        )

    def _rank(self, attribute: Attribute) -> tuple[Domain, NDArray[np.integer]]:
        """Return the domain of an attribute, and the rank of each distinct value."""
        from incrowd.core.table.domain import Domain

        entries, places = dictionary(self.distinct(attribute.name), attribute.name, ())
        domain, ranks = Domain.build(attribute, entries, self.schema.null_values)
        return domain, ranks[places]

    def _ranks_of(self, names: Sequence[str], grouped: pl.DataFrame) -> tuple[NDArray[np.integer], ...]:
        """Rank the sensitive values of each combination."""
        return tuple(self._rank(self.schema[name])[1][grouped[name].to_numpy()] for name in names)

    def with_people(self, frequency: FrequencyTable) -> FrequencyTable:
        """Count the people, and list people with several kinds of rows if the engine can."""
        from incrowd.core.table.frequency import People
        from incrowd.core.table.people import PersonRows

        sensitive = [counts.name for counts in frequency.sensitive]
        lists = [[name] for name in sensitive] or [[]]
        if frequency.joint is not None:
            lists.append(sensitive)
        coded_people = self.rows.people(sensitive, lists, self.keys, self.schema)
        if coded_people is None:
            # Everybody is listed: rows are grouped once more by the columns that name a person.
            names = self.schema.person
            grouped, key, rows = self.grouped([*sensitive, *names])
            person = number_groups(grouped, names, [self.distinct(name) for name in names]).astype(np.int32)
            ranks = self._ranks_of(sensitive, grouped)
            combination = None if frequency.joint is None else frequency.joint.numbers(ranks)
            return frequency.with_person_rows(PersonRows(key, person, ranks, combination, rows), names)
        listed, alike, (people, unnamed) = coded_people
        joint = [frequency.joint if names == sensitive else None for names in lists]
        return frequency.with_listed(
            People(self.schema.person, people, unnamed),
            self._person_rows(listed, sensitive, frequency.joint),
            [self._person_rows(*each) for each in zip(alike, lists, joint, strict=True)],
        )

    def _person_rows(self, lines: Lines, names: Sequence[str], joint: JointCounts | None) -> PersonRows:
        """Return lines of codes in some sensitive attributes as the rows of people.

        They have `PERSON`, or `ROWS` says how many people without a number each stands for.
        """
        from incrowd.core.table.people import PersonRows

        grouped, key = lines
        ranks = self._ranks_of(names, grouped)
        combination = None if joint is None else joint.numbers(ranks)
        if PERSON in grouped.columns:
            _, person = np.unique(grouped[PERSON].to_numpy(), return_inverse=True)
            return PersonRows(key, person.astype(np.int32), ranks, combination)
        amount = grouped[ROWS].to_numpy().astype(np.int64)
        return PersonRows(key, np.full(len(key), -1, np.int32), ranks, combination, amount)


def added_up(combinations: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Add up counted combinations by some of the columns."""
    columns = columns_named(names)
    return combinations.group_by(columns).agg(column_named(ROWS).sum()).select(*columns, ROWS)


def smallest(size: int) -> type[pl.DataType]:
    """Return the smallest type of codes below `size`."""
    return pl.UInt8 if size <= 2**8 else pl.UInt16 if size <= 2**16 else pl.UInt32
