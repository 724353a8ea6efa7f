"""What engines have in common that see counts of rows and never the rows themselves."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.engines.base import Engine, EngineSettings
from incrowd.engines.distinct import dictionary, require_countable
from incrowd.engines.keyed_cells import KeyedCells
from incrowd.engines.row_keys import RowKeys, place_of
from incrowd.engines.surveyed import Grouped, of_groups, of_survey
from incrowd.errors import SchemaError, TableError, named
from incrowd.io.columns import address, column_named, columns_named
from incrowd.table.missing import null_values_of

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from incrowd.table.domain import Domain
    from incrowd.table.frequency import FrequencyTable, People
    from incrowd.table.people import PersonRows
    from incrowd.table.schema import Attribute, Schema
    from incrowd.table.sensitive import JointCounts, SensitiveCounts

__all__ = [
    "CELL",
    "CHANGED",
    "KEY",
    "PERSON",
    "ROWS",
    "UNCOUNTED",
    "GroupedEngine",
    "PeopleAsked",
    "TooManyKeysError",
    "added_up",
    "smallest",
]

ROWS = "\0rows"
"""Column of a grouped frame: how many rows have a combination."""

PERSON = "\0person"
"""Column of a grouped frame: a number of the person."""

CELL = "\0cell {}"
"""Column that holds the released text of a quasi-identifier."""

UNCOUNTED = "this engine has counted nothing yet; call its count, then apply what was searched"
"""What is said when nothing is known of the keys."""

CHANGED = "the table was changed while it was counted; try again when nobody writes to it"
"""What is said when two groupings do not fit each other."""

KEY = "\0key"
"""Column that holds the number of a row's key."""

_FIRST = "\0first"
_CODE = "\0code {}"
_LOOKED_UP = 1_000
"""Distinct values up to which places are looked up in every batch of rows; above, they are joined."""


class PeopleAsked(NamedTuple):
    """What is asked of the people of a table.

    Attributes
    ----------
    own
        The sensitive attributes.
    lists
        The columns of each list of people whose rows are alike: one attribute, all of them, or none.
    names, key_of
        The quasi-identifiers, and the key of each combination of their codes.
    joint
        The combinations of all sensitive values, where somebody asked.
    """

    own: list[str]
    lists: list[list[str]]
    names: Sequence[str]
    key_of: pl.DataFrame
    schema: Schema
    joint: JointCounts | None


class TooManyKeysError(TableError):
    """There are more combinations of values than may be fetched.

    Attributes
    ----------
    found
        How many there are.
    """

    found: int = 0

    @classmethod
    def of(cls, found: int, limit: int, columns: Sequence[str]) -> TooManyKeysError:
        """Say how many there are of which columns, and what can be done."""
        error = cls(
            f"{found:,} distinct combinations of {named(columns)} are more than the "
            f"{limit:,} that may come to the driver (driver_keys); raise driver_keys where memory allows, "
            "name fewer quasi-identifiers or coarsen them first; strict Mondrian on Spark does without"
        )
        error.found = found
        return error


class _NumberedKeys(NamedTuple):
    """The keys of a table, in order.

    Attributes
    ----------
    domains, codes
        Per quasi-identifier its values, and their ranks: int[keys].
    weights
        int64[keys]: rows.
    suppressed
        Rows that came in suppressed, which have no key.
    key_of
        The key of each combination of values; -1 of a suppressed one.
    """

    domains: tuple[Domain, ...]
    codes: tuple[NDArray[np.unsignedinteger], ...]
    weights: NDArray[np.int64]
    suppressed: int
    key_of: pl.DataFrame


class GroupedEngine(Engine):
    """Counts keys from grouped rows: one grouping for the keys, and one more per sensitive attribute.

    What is kept is as long as there are distinct keys. Records that look alike cannot be parted, since
    nobody knows which row is which.

    Keys stand in the order of their first row, where rows have an order, and else in that of their codes:
    greedy searches settle ties by it, so every database gives the same release.
    """

    def __init__(self, table: Any, settings: EngineSettings | None = None) -> None:
        super().__init__(table, settings)
        self._types: dict[str, pl.DataType] = {}
        self._values: dict[tuple[str, tuple[str, ...]], pl.Series] = {}
        # The distinct keys by the codes of their values, and which key of the frequency table each is.
        self._keys: tuple[pl.DataFrame, NDArray[np.integer]] | None = None
        self._row_keys: RowKeys | None = None

    @abstractmethod
    def _look(self, names: Sequence[str], null_values: tuple[str, ...]) -> None:
        """Find the distinct values of some columns, unless they are known or will be by grouping."""

    @abstractmethod
    def _grouped(self, names: Sequence[str], null_values: tuple[str, ...]) -> pl.DataFrame:
        """Count the combinations of some columns: per column the place among its values, and `ROWS`.

        They stand in the order of their first row, where rows have an order.
        """

    def count(self, schema: Schema, *, joint: bool = False, target: str | None = None) -> FrequencyTable:
        """Count the rows; see `Engine.count`."""
        from incrowd.table.frequency import FrequencyTable

        self._check(schema)
        names = [attribute.name for attribute in schema.quasi]
        numbered = self._numbered(schema, names)
        key_of, keys = numbered.key_of, len(numbered.weights)
        wanted = None if target is None else schema.target(target, self.columns)
        sensitive = tuple(
            self._counted(attribute, names, key_of, keys, schema) for attribute in schema.sensitive
        )
        frequency = FrequencyTable(
            domains=numbered.domains,
            codes=numbered.codes,
            weights=numbered.weights,
            sensitive=sensitive,
            suppressed=numbered.suppressed,
            row_keys=None,
            joint=self._combined(schema, names, key_of, sensitive, keys) if joint and sensitive else None,
            target=None if wanted is None else self._counted(wanted, names, key_of, keys, schema),
            in_order=self.in_order,
        )
        if schema.person:
            frequency = self._with_people(frequency, schema, names, key_of)
        return of_groups(frequency, schema, self._distinct, self._keyed_by(names, key_of, schema))

    def _check(self, schema: Schema) -> None:
        """Refuse a schema that this table cannot be counted by, and look at its columns."""
        schema.check_columns(self.columns)
        odd = [name for name in self.columns if "\0" in name]
        if odd:
            # Columns of our own have it in their names.
            raise SchemaError(f"column {odd[0]!r} has the character NUL in its name; rename it first")
        if not schema.quasi:
            raise SchemaError("the schema names no quasi-identifier; name at least one")
        looked_at = [
            *(attribute.name for attribute in (*schema.quasi, *schema.sensitive)),
            *schema.person,
            *of_survey(schema),
        ]
        for name in looked_at:
            if name in self._types:
                require_countable(name, self._types[name])
        self._look(looked_at, schema.null_values)

    def _numbered(self, schema: Schema, names: Sequence[str]) -> _NumberedKeys:
        """Group the rows by the quasi-identifiers, and number their keys."""
        import numpy as np
        import polars as pl

        from incrowd.kernels.grouping import group_columns
        from incrowd.table.domain import Domain
        from incrowd.table.frequency import smallest_codes

        grouped = self._grouped(names, schema.null_values)
        if not len(grouped):
            raise TableError("the table has no rows")
        gone = self._suppressed(grouped, names, schema.null_values)
        written = grouped.filter(~pl.Series(gone))
        domains, codes = [], []
        for attribute in schema.quasi:
            met, place = np.unique(written[attribute.name].to_numpy(), return_inverse=True)
            values = self._distinct(attribute.name, schema.null_values).gather(met)
            found, places = dictionary(values, attribute.name, ())
            domain, ranks = Domain.build(attribute, found, schema.null_values)
            domains.append(domain)
            codes.append(smallest_codes(ranks[places][place], max(domain.size, 1)))
        # A value may be written in several ways, as 1 and 1.0.
        ids, first = group_columns(codes, [domain.size for domain in domains], len(written))
        if not self.in_order:
            ids, first = _in_order_of_codes(ids, first, codes)
        numbers = np.full(len(grouped), -1, np.int32)
        numbers[~gone] = ids
        self._keys, self._row_keys = (written.select(columns_named(names)), ids), None
        return _NumberedKeys(
            domains=tuple(domains),
            codes=tuple(column[first] for column in codes),
            weights=np.bincount(ids, written[ROWS].to_numpy(), len(first)).astype(np.int64),
            suppressed=int(grouped[ROWS].to_numpy()[gone].sum()),
            key_of=grouped.select(columns_named(names)).with_columns(pl.Series(_FIRST, numbers)),
        )

    # --- what the groupings are made of --------------------------------------------------------------

    def _keyed_by(
        self, names: Sequence[str], key_of: pl.DataFrame, schema: Schema
    ) -> Callable[[Sequence[str]], Grouped]:
        """Return what groups the rows by some columns and their key; see `_keyed`."""
        import numpy as np

        def grouped(columns: Sequence[str]) -> Grouped:
            groups, key = self._keyed(columns, names, key_of, schema.null_values)
            return groups, key, groups[ROWS].to_numpy().astype(np.int64)

        return grouped

    def _cleaned(self, name: str, null_values: tuple[str, ...]) -> pl.Expr:
        """Make what is the same value the same for grouping."""
        import polars as pl

        kind = self._types[name]
        column = column_named(name)
        if isinstance(kind, pl.Categorical | pl.Enum) or kind in (pl.Null, pl.Boolean):
            column, kind = column.cast(pl.String), pl.String()
        if kind.is_float():
            column = pl.when(column == 0).then(pl.lit(0.0, dtype=kind)).otherwise(column.fill_nan(None))
        return null_values_of(null_values).cleaned(column, kind)

    def _distinct(self, name: str, null_values: tuple[str, ...]) -> pl.Series:
        """Return the distinct values of a column, missing among them."""
        self._look([name], null_values)
        return self._values[name, null_values]

    def _coded(
        self,
        frame: pl.LazyFrame,
        names: Sequence[str],
        null_values: tuple[str, ...],
        form: str = "{}",
        *,
        ordered: bool = False,
    ) -> pl.LazyFrame:
        """Add each column's places among its distinct values, which take less memory than the values."""
        import polars as pl

        for name in names:
            distinct = self._distinct(name, null_values)
            kind = smallest(len(distinct))
            places = pl.Series(range(len(distinct)), dtype=kind)
            cleaned = self._cleaned(name, null_values)
            known = distinct.is_not_null()
            code = place_of(cleaned, distinct, kind)
            if code is None and len(distinct) <= _LOOKED_UP and known.any():
                code = cleaned.replace_strict(
                    distinct.filter(known), places.filter(known), default=None, return_dtype=kind
                )
                missing = places.filter(~known)
                if len(missing):
                    code = pl.when(cleaned.is_null()).then(pl.lit(missing[0], dtype=kind)).otherwise(code)
            if code is not None:
                frame = frame.with_columns(code.alias(form.format(name)))
            else:
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

    def _keyed_rows(
        self,
        frame: pl.LazyFrame,
        names: Sequence[str],
        null_values: tuple[str, ...],
        *,
        ordered: bool = False,
    ) -> pl.LazyFrame:
        """Add the number of each row's key (`KEY`); it is missing where the row came in suppressed."""
        if self._keys is None:
            raise TableError(UNCOUNTED)
        written, ids = self._keys
        coded = self._coded(frame, names, null_values, _CODE, ordered=ordered)
        codes = [_CODE.format(name) for name in names]
        if self._row_keys is None:
            # Made once for all files: their table is large.
            self._row_keys = RowKeys(written, ids, [len(self._distinct(each, null_values)) for each in names])
        return self._row_keys.added(coded, codes, KEY).drop(map(address, codes))

    def _with_cells(
        self, frame: pl.LazyFrame, schema: Schema, cells: KeyedCells, *, ordered: bool = False
    ) -> pl.LazyFrame:
        """Add the released text of every quasi-identifier (`CELL`); what has no key came in suppressed."""
        names = [attribute.name for attribute in schema.quasi]
        keyed = self._keyed_rows(frame, names, schema.null_values, ordered=ordered)
        return keyed.with_columns(cells.streamed(name, KEY).alias(CELL.format(name)) for name in names)

    def _suppressed(
        self, grouped: pl.DataFrame, names: Sequence[str], null_values: tuple[str, ...]
    ) -> NDArray[np.bool_]:
        """Say which combinations are ``*`` in every quasi-identifier."""
        import numpy as np
        import polars as pl

        from incrowd.recoding import SUPPRESSED

        gone = np.ones(len(grouped), np.bool_)
        for name in names:
            distinct = self._distinct(name, null_values)
            if distinct.dtype != pl.String:
                return np.zeros(len(grouped), np.bool_)
            star = (distinct == SUPPRESSED).fill_null(value=False).to_numpy()
            gone &= star[grouped[name].to_numpy()]
        return gone

    def _keyed(
        self, columns: Sequence[str], names: Sequence[str], key_of: pl.DataFrame, null_values: tuple[str, ...]
    ) -> tuple[pl.DataFrame, NDArray[np.integer]]:
        """Count columns together with the quasi-identifiers, and number each row's key (-1: suppressed)."""
        own = [name for name in columns if name not in names]
        grouped = self._grouped([*names, *own], null_values)
        return grouped, self._keys_of(grouped, names, key_of)

    def _keys_of(
        self, grouped: pl.DataFrame, names: Sequence[str], key_of: pl.DataFrame
    ) -> NDArray[np.integer]:
        """Return the key of each line of codes; -1 for a suppressed one."""
        places = [_CODE.format(place) for place in range(len(names))]
        table = key_of.rename(dict(zip(names, places, strict=True)))
        keys = grouped.select(
            column.alias(place) for column, place in zip(columns_named(names), places, strict=True)
        ).join(table, on=places, how="left", nulls_equal=True, maintain_order="left")
        return keys[_FIRST].to_numpy()

    def _counted(
        self, attribute: Attribute, names: Sequence[str], key_of: pl.DataFrame, keys: int, schema: Schema
    ) -> SensitiveCounts:
        import numpy as np

        from incrowd.kernels.counting import counts_per_key
        from incrowd.table.domain import Domain
        from incrowd.table.sensitive import SensitiveCounts

        grouped, key = self._keyed([attribute.name], names, key_of, schema.null_values)
        values = self._distinct(attribute.name, schema.null_values)
        found, places = dictionary(values, attribute.name, ())
        domain, ranks = Domain.build(attribute, found, schema.null_values)
        codes = ranks[places].astype(np.int32)[grouped[attribute.name].to_numpy()]
        rows = grouped[ROWS].to_numpy().astype(np.int64, copy=False)
        totals = np.bincount(codes, rows, domain.size).astype(np.int64)
        return SensitiveCounts(domain, counts_per_key(key, codes, rows, keys, domain.size), totals, None)

    def _with_people(
        self, frequency: FrequencyTable, schema: Schema, names: Sequence[str], key_of: pl.DataFrame
    ) -> FrequencyTable:
        """Count the people, too; those with more than one kind of row are listed, if the engine can tell."""
        own = [counts.name for counts in frequency.sensitive]
        lists = [[name] for name in own] or [[]]
        if frequency.joint is not None:
            lists.append(own)
        found = self._listed(PeopleAsked(own, lists, names, key_of, schema, frequency.joint))
        if found is None:
            return self._with_everybody(frequency, schema, names, key_of)
        return frequency.with_listed(*found)

    def _listed(self, asked: PeopleAsked) -> tuple[People, PersonRows, list[PersonRows]] | None:
        """List the people with unlike rows, and count the others; None where every row has to be read.

        Returns
        -------
        As `incrowd.table.people_counts.count_people` takes them.
        """
        return None

    def _person_rows(
        self, asked: PeopleAsked, grouped: pl.DataFrame, key: NDArray[np.integer], own: Sequence[str]
    ) -> PersonRows:
        """Return lines of codes in some sensitive attributes with the key of each.

        Parameters
        ----------
        grouped
            It has `PERSON`, or `ROWS` says how many people without a number each line stands for.
        """
        import numpy as np

        from incrowd.table.people import PersonRows

        ranks = tuple(self._ranks_of(asked.schema[name], grouped, asked.schema) for name in own)
        joint = asked.joint if list(own) == asked.own else None
        combination = None if joint is None else joint.numbers(ranks)
        if PERSON in grouped.columns:
            _, person = np.unique(grouped[PERSON].to_numpy(), return_inverse=True)
            return PersonRows(key, person.astype(np.int32), ranks, combination)
        amount = grouped[ROWS].to_numpy().astype(np.int64)
        return PersonRows(key, np.full(len(key), -1, np.int32), ranks, combination, amount)

    def _with_everybody(
        self, frequency: FrequencyTable, schema: Schema, names: Sequence[str], key_of: pl.DataFrame
    ) -> FrequencyTable:
        """Count the people by listing all of them: rows are grouped once more by what names a person."""
        import numpy as np

        from incrowd.kernels.grouping import group_columns
        from incrowd.table.people import PersonRows

        own = [counts.name for counts in frequency.sensitive]
        grouped, key = self._keyed([*own, *schema.person], names, key_of, schema.null_values)
        missing = np.ones(len(grouped), np.bool_)
        codes, sizes = [], []
        for name in schema.person:
            distinct = self._distinct(name, schema.null_values)
            codes.append(grouped[name].to_numpy())
            sizes.append(len(distinct))
            missing &= distinct.is_null().to_numpy()[codes[-1]]
        person = np.full(len(grouped), -1, np.int32)
        known = np.flatnonzero(~missing)
        person[known], _ = group_columns([column[known] for column in codes], sizes, len(known))
        ranks = tuple(self._ranks_of(schema[name], grouped, schema) for name in own)
        combination = None
        if frequency.joint is not None:
            combination = frequency.joint.numbers(ranks)
        rows = grouped[ROWS].to_numpy().astype(np.int64)
        return frequency.with_person_rows(PersonRows(key, person, ranks, combination, rows), schema.person)

    def _ranks_of(self, attribute: Attribute, grouped: pl.DataFrame, schema: Schema) -> NDArray[np.integer]:
        """Rank a sensitive attribute's value of each combination."""
        from incrowd.table.domain import Domain

        found, places = dictionary(self._distinct(attribute.name, schema.null_values), attribute.name, ())
        _, ranks = Domain.build(attribute, found, schema.null_values)
        ranked: NDArray[np.integer] = ranks[places][grouped[attribute.name].to_numpy()]
        return ranked

    def _combined(
        self,
        schema: Schema,
        names: Sequence[str],
        key_of: pl.DataFrame,
        sensitive: Sequence[SensitiveCounts],
        keys: int,
    ) -> Any:
        """Count the combinations of the sensitive attributes' values per key, numbered by their first row."""
        import numpy as np

        from incrowd.kernels.counting import counts_per_key
        from incrowd.kernels.grouping import group_columns
        from incrowd.table.sensitive import JointCounts

        columns = [counts.name for counts in sensitive]
        grouped, key = self._keyed(columns, names, key_of, schema.null_values)
        ranked = [self._ranks_of(schema[counts.name], grouped, schema) for counts in sensitive]
        sizes = [counts.domain.size for counts in sensitive]
        combination, place = group_columns(ranked, sizes, len(grouped))
        rows = grouped[ROWS].to_numpy().astype(np.int64)
        return JointCounts(
            tuple(ranks[place].astype(np.int32) for ranks in ranked),
            counts_per_key(key, combination, rows, keys, len(place)),
        )


def added_up(found: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Group combinations that were counted by some of their columns: these and `ROWS`."""
    columns = columns_named(names)
    return found.group_by(columns).agg(column_named(ROWS).sum()).select(*columns, ROWS)


def smallest(size: int) -> type[pl.DataType]:
    """Return the smallest type of codes below `size`."""
    import polars as pl

    return pl.UInt8 if size <= 2**8 else pl.UInt16 if size <= 2**16 else pl.UInt32


def _in_order_of_codes(
    ids: NDArray[np.int32], first: NDArray[np.int64], codes: Sequence[NDArray[np.integer]]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Sort groups by the codes of their first member, the first column before the others."""
    import numpy as np

    order = np.lexsort([column[first] for column in reversed(codes)])
    numbers = np.empty(len(order), ids.dtype)
    numbers[order] = np.arange(len(order), dtype=ids.dtype)
    return numbers[ids], first[order]
