"""Base classes of engines, which count and recode rows and write checked releases, and surveys of rows."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from incrowd.core.errors import ParameterError, SchemaError, TableError, named, setting
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.progress import Progress, Silent
from incrowd.core.reading.missing import null_values_of
from incrowd.core.table.survey import Households, Sampling, read_weights
from incrowd.engines.distinct import as_text

if TYPE_CHECKING:
    from incrowd.core.io.files import CsvFormat
    from incrowd.core.io.shuffle import RandomOrder
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Schema
    from incrowd.core.table.treated_columns import TreatedColumn
    from incrowd.engines.cells import CellPeople, CellQuestion


DRIVER_KEYS = 5_000_000
"""Default limit on combinations of values fetched to the driver."""

NOT_THE_SAME = "what was written does not read back the same; nothing is kept"
"""Message about a written file whose columns differ from the table's."""


@dataclass(frozen=True)
class EngineSettings:
    """Settings of an engine that the caller gives.

    Attributes
    ----------
    driver_keys
        How many combinations of values an engine may fetch that counts elsewhere.
    progress
        Told how far long work is, where the engine knows.
    starred
        Whether rows with ``*`` in every quasi-identifier are counted as a key of their own, as the suppressed
        records of a release are judged. Else they have no key.
    """

    driver_keys: int = DRIVER_KEYS
    progress: Progress = field(default_factory=Silent)
    starred: bool = False


class NotAtHandError(TableError):
    """An engine cannot look at single rows."""


def no_order(whose: str) -> ParameterError:
    """Say that the rows of a table have no order.

    Parameters
    ----------
    whose
        Where the rows are, as `Engine.whose`.
    """
    option = setting("keep_order", "--keep-order or keep_order = true")
    return ParameterError(f"rows of {whose} have no order that could be kept; leave {option} out")


class Engine(ABC):
    """A table, wherever the rows live.

    Attributes
    ----------
    in_order
        Whether the rows have an order, which a release may keep.
    divisible
        Whether the rows can be recoded block by block where they are.
    file_name
        What a release is called in a folder, unless the caller names it.
    whose
        Where the rows are, in words.
    treated_columns
        The columns that are treated here, where rows are treated some at a time.
    """

    in_order: ClassVar[bool] = False
    divisible: ClassVar[bool] = False
    file_name: ClassVar[str] = "release.csv"
    whose: ClassVar[str] = "a table"

    def __init__(
        self, table: Any, settings: EngineSettings | None = None, treated: Sequence[TreatedColumn] = ()
    ) -> None:
        self.settings = EngineSettings() if settings is None else settings
        self.treated_columns = tuple(treated)

    @classmethod
    @abstractmethod
    def takes(cls, table: Any) -> bool:
        """Say whether this engine works on such a table."""

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """Names of the columns, in order."""

    @property
    def sources(self) -> Sequence[object]:
        """Files or the database that the rows come from, if known, so that no output replaces a source."""
        return ()

    def interrupt(self) -> None:  # noqa: B027
        """Cancel the running work from another thread (by default: nothing to cancel)."""

    @abstractmethod
    def count(self, schema: Schema, *, joint: bool = False, target: str | None = None) -> Counted:
        """Count the rows.

        Parameters
        ----------
        joint
            Whether to count the sensitive attributes' combinations, too.
        target
            A column that the release is to predict, counted besides; any but an identifying one.

        Raises
        ------
        TableError
            When the table has no rows.
        SchemaError, HierarchyError
            When schema and table do not fit.
        """

    def values_of(self, columns: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Return the combinations of values of some columns, and how many rows have each."""
        raise self._no_treatments()

    def treated(self, columns: Sequence[TreatedColumn]) -> Engine:
        """Return an engine of the same rows with treated columns, each computed from the untreated values."""
        raise self._no_treatments()

    @property
    def native(self) -> Any:
        """The table itself with treated columns, for rows in memory and on Spark."""
        raise self._no_treatments()

    def _no_treatments(self) -> TableError:
        return TableError(
            f"columns of {self.whose} cannot be treated yet; fetch the rows into a frame or a file, or leave "
            + setting("treatments", "--treat")
            + " out"
        )

    def head(self, column: str, rows: int) -> pl.Series | None:
        """Return the first `rows` values of a column, or None where no value is at hand."""
        return None

    def leaving_values(self, column: str) -> tuple[pl.Series, NDArray[np.int64]]:
        """Return the values of a column as released, and the number of rows with each value.

        Raises
        ------
        IncrowdError
            When they cannot be listed.
        """
        values, counts = self.values_of([column])
        return values.to_series(), counts

    def some_rows(self, columns: Sequence[str], share: float) -> pl.DataFrame:
        """Return some columns of a share of the rows: spread evenly, or at random where rows have no order.

        Elsewhere than in memory and files, columns that cannot be counted, or are treated, are left out.

        Raises
        ------
        NotAtHandError
            When no single row can be looked at.
        """
        raise self._not_at_hand()

    def lone_rows(self, columns: Sequence[str]) -> int:
        """Count the rows that are unique in some columns.

        Raises
        ------
        NotAtHandError
            When no single row can be looked at.
        """
        raise self._not_at_hand()

    def _not_at_hand(self) -> NotAtHandError:
        return NotAtHandError(f"the rows of {self.whose} are not at hand")

    def numbered(self, columns: Sequence[str]) -> tuple[NDArray[np.int64], int]:
        """Give rows of the same values in some columns the same number, from 0 without gaps.

        A row in which all of them are missing has a number of its own.

        Returns
        -------
        numbers
            int64[rows]
        missing
            How many rows have a number of their own for that.

        Raises
        ------
        TableError
            When the rows are not in memory.
        """
        raise TableError(
            f"{named(columns)}: rows of {self.whose} are not in memory; fetch them, or give a frame or one "
            "file"
        )

    def people_of_cells(self, count: Counted, question: CellQuestion) -> CellPeople:
        """Count the people of cells of counted rows (see `Counted.people_of_cells`)."""
        raise NotImplementedError

    def type_of(self, column: str) -> pl.DataType | None:
        """Return the Polars type that the released column may be cast to, or None where texts stay texts."""
        return None

    def typed(self, released: Any, types: Mapping[str, pl.DataType]) -> Any:
        """Give columns of texts of a release a type: a table of the same kind, another object.

        Parameters
        ----------
        types
            The columns with their types, as `incrowd.core.io.frames.type_of_means` has them.
        """
        raise NotImplementedError

    def writes_folder(self, target: Path) -> bool:
        """Say whether `write` makes a folder and not a file."""
        return False

    @abstractmethod
    def write(self, path: Path, target: Path, csv_format: CsvFormat) -> Any:
        """Write the table to `path`, in the format of the name of `target`, and open the written file.

        Raises
        ------
        TableError
            When the table cannot be written in that format.
        """

    def place(self, folder: Path, name: str) -> str | Path:
        """Return the target for `write_checked` of a file in a folder of this machine."""
        return folder / name

    def write_checked(
        self,
        path: str | os.PathLike[str],
        csv_format: CsvFormat | None,
        check: Callable[[Any], object],
        *,
        force: bool,
        sources: Sequence[object] | None = None,
    ) -> None:
        """Write the table beside the target, read the copy again, and rename the copy if a check passes.

        Parameters
        ----------
        check
            Called with what was read again; what it raises ends the writing.
        force
            Whether a target that is there already is replaced.
        sources
            What the table was read from, see `Outputs`. By default what the engine knows.

        Raises
        ------
        TableError
            When the target exists (unless `force`), cannot be written, or does not read back the same.
        """
        from incrowd.core.io.addresses import file_path
        from incrowd.core.io.files import CsvFormat
        from incrowd.core.io.targets import writing

        target = file_path(path)
        folder = self.writes_folder(target)
        read_from = self.sources if sources is None else sources
        with writing(path, force=force, folder=folder, sources=[*read_from]) as temporary:
            # What is written has a header line, also where what was read has none.
            written = self.write(temporary, target, replace(csv_format or CsvFormat(), names=()))
            if list(written.columns) != self.columns:
                raise TableError(f"{target}: {NOT_THE_SAME}")
            check(written)

    def into(self, name: str, *, force: bool = False) -> AbstractContextManager[Any]:
        """Write the rows into a new table of the same database, kept only if the block ends without an error.

        Raises
        ------
        TableError
            When the rows are not in a database, there is such a table (unless `force`) or it cannot be made.
        """
        raise TableError("the rows are not in a database; write them to a file")


@dataclass(frozen=True, eq=False)
class Counted(ABC):
    """Counted rows of a table: the keys, and the way from a row to the key of the row.

    Attributes
    ----------
    rows
        The engine of the rows that leave: those that were counted, or the same with more treated columns.
    schema
        How they were counted.
    frequency
        The keys with their counts.
    """

    rows: Engine = field(repr=False)
    schema: Schema
    frequency: FrequencyTable = field(repr=False)

    @abstractmethod
    def apply(self, schema: Schema, recoding: Recoding) -> Released:
        """Recode the rows: a table of the same kind, rows in the same order, with new contents only.

        Where a recoding leaves suppressed records out (`Recoding.left_out`), their rows are not in it.
        Columns that may not leave are left out; the quasi-identifiers hold the released cells as text. Rows
        of a database have no order. They come in a random one.

        Parameters
        ----------
        schema
            The columns that leave; quasi-identifiers as they were counted.
        """

    @property
    def values_by_key(self) -> pl.DataFrame | None:
        """The values of the quasi-identifiers as fetched, then each combination's key; None in memory."""
        return None

    def over(self, rows: Engine, *, apart: bool = False) -> Self:
        """Return the same count over the rows of another engine.

        Parameters
        ----------
        rows
            What `Engine.treated` gave. Of the columns that were counted, it has the same quasi-identifiers.
        apart
            Whether rows of other keys are told apart when they are drawn, so that `places_of` knows them.
        """
        return replace(self, rows=rows)

    def places_of(self, keys: NDArray[np.bool_]) -> NDArray[np.int64] | None:
        """Return the positions of the rows that have some keys, in order; None if rows have no positions."""
        return None

    def people_of_cells(self, question: CellQuestion) -> CellPeople:
        """Count the people of the cells of a table, and each person's part of a sum, where the rows are."""
        return self.rows.people_of_cells(self, question)

    def columns_in_order(self, schema: Schema) -> list[str]:
        """Return the columns that the row order reveals, among the columns not released unchanged.

        Raises
        ------
        ParameterError
            When the rows have no order.
        """
        if not self.rows.in_order:
            raise no_order(self.rows.whose)
        return []


@dataclass(frozen=True, eq=False)
class Released:
    """Recoded rows.

    Attributes
    ----------
    table
        A table of the kind that came in.
    """

    table: Any = field(repr=False)
    _in_order: Callable[[RandomOrder], Any] = field(repr=False)
    _places: Callable[[], NDArray[np.int64] | None] | None = field(default=None, repr=False)

    def reordered(self, order: RandomOrder) -> Any:
        """Put the rows in a random order: a table of the same kind."""
        return self._in_order(order)

    def places(self) -> NDArray[np.int64] | None:
        """Return the positions of the released rows in order; None if all leave or rows have no positions."""
        return None if self._places is None else self._places()


class Unwritten(Counted):
    """An unwritten release, counted by the recoded keys and not recodable again."""

    def apply(self, schema: Schema, recoding: Recoding) -> Released:
        """Refuse (see `Counted.apply`)."""
        raise TableError("a release that is not written yet cannot be recoded again; write it first")

    def people_of_cells(self, question: CellQuestion) -> CellPeople:
        """Refuse (see `Counted.people_of_cells`)."""
        raise TableError("people of a release that is not written yet are not counted; write it first")


def survey_columns(schema: Schema) -> tuple[str, ...]:
    """Return the weight and household columns of a schema."""
    return (*schema.household, *(() if schema.weights is None else (schema.weights,)))


def with_survey_of_rows(
    frequency: FrequencyTable,
    schema: Schema,
    weights: pl.Series | None,
    home: NDArray[np.integer] | None,
    member: NDArray[np.integer] | None,
) -> FrequencyTable:
    """Add weights and households to a frequency table of rows in memory.

    Parameters
    ----------
    weights
        The column of weights, where there is one.
    home, member
        int[rows]: numbers of each row's household and person, -1 where they are missing; None where no column
        says so.

    Raises
    ------
    SchemaError
        When the weights are none.
    """
    key = frequency.key_of_row("counting households")
    if schema.weights is not None and weights is not None:
        refuse_several_rows(frequency, schema.weights)
        values = as_text(weights)
        if schema.null_values:
            values = null_values_of(schema.null_values).without(values)
        numbers = read_weights(values, schema[schema.weights])
        frequency = frequency.with_sampling(Sampling.of_weights(schema.weights, key, numbers, frequency.keys))
    if home is not None:
        ones = np.ones(len(key), np.int64)
        households = Households.of_rows(schema.household, key, home, ones, member)
        frequency = replace(frequency, survey=frequency.survey._replace(households=households))
    return frequency


def refuse_several_rows(frequency: FrequencyTable, column: str) -> None:
    """Raise for weights of rows where a person has several rows."""
    if frequency.people.table is not None:
        raise SchemaError(
            f"column {column!r} has the role weight, and some people have several rows, so adding up the "
            "weights of rows would count them more than once; keep one row for each person, or give the "
            "column another role"
        )
