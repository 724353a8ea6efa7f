"""Dialect: the base class that each SQL database fills in."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, final
from urllib.parse import SplitResult, urlsplit

from incrowd.core.errors import IncrowdError, MissingExtraError, TableError
from incrowd.core.lazy import pl

Name = tuple[str, ...]
"""The parts of a table's name, as schema and table, without quotes."""

UNITS = "incrowd units"
"""Name of a temporary table of rows that were grouped."""

BATCH = 100_000
"""Rows that are fetched at a time where rows stream."""


@dataclass(frozen=True)
class Column:
    """SQL and types for reading a column.

    Attributes
    ----------
    type
        The column's type in words, for errors.
    key
        SQL: the column normalized, so that equal values are those that are equal in memory; None where it is
        neither text, number nor date.
    dtype
        The Polars type that fetched keys are turned into; None where they come as they are to be.
    wire
        SQL: the type of `key` when it is sent back.
    stand_in
        SQL: a value of that type, in place of NULL where NULL cannot be joined.
    wrong
        SQL: a condition that holds for values that are refused, as an infinite date; `key` gives NULL.
    why
        What such values are, and the way out.
    plain
        SQL: the column as it is released into a file, of a type that Arrow and Polars know.
    plain_dtype
        The Polars type that it is then turned into, or None.
    stays
        SQL: the column as it is released into a table of the same database.
    """

    type: str
    key: str | None
    dtype: pl.DataType | None = None
    wire: str = ""
    stand_in: str = ""
    wrong: str | None = None
    plain: str = ""
    plain_dtype: pl.DataType | None = None
    stays: str = ""
    why: str = "infinite values; replace them, or turn it into text"


class Upload(NamedTuple):
    """A frame to be uploaded as a temporary table, and the SQL type of each column."""

    frame: pl.DataFrame
    types: dict[str, str]


class Dialect(ABC):
    """A session of a database, and the SQL of the database.

    Methods let the driver's errors through; `Database` has them translated, since a driver's message may
    quote cells or the address with its password.
    """

    # --- What a database is --------------------------------------------------------------------------

    title: ClassVar[str]
    """The database in words."""
    scheme: ClassVar[str]
    """Scheme of the addresses."""

    other_schemes: ClassVar[Sequence[str]] = ()
    """Other words for the scheme."""
    example: ClassVar[str]
    """An address, for `--help`."""
    server: ClassVar[bool] = False
    """Whether an address names a server rather than a file."""

    secret: ClassVar[str] = "a file"
    """Where a password belongs that shall not be in an address."""
    sides: ClassVar[Sequence[str]] = ()
    """Endings of the files that the database keeps beside a file."""
    driver: ClassVar[tuple[str, str] | None] = None
    """Package of the driver, and the extra that installs the driver, if needed."""

    random: ClassVar[str] = "random()"
    """SQL: another random number for every row."""
    chance: ClassVar[str] = "random()"
    """SQL: another number from 0 to 1 for every row."""
    whole: ClassVar[str] = "BIGINT"
    """SQL: the type that sums of counts are cast to."""
    view_guards: ClassVar[bool] = False
    """Whether a table that a view reads cannot be dropped."""
    temporary: ClassVar[re.Pattern[str]] = re.compile("temp", re.IGNORECASE)
    """Schemas whose tables end with the session."""
    uploaded: ClassVar[str] = ""
    """SQL: separate schema of uploaded tables, with a dot, if any."""
    _connection: Any

    # --- Its session ---------------------------------------------------------------------------------

    @abstractmethod
    def __init__(self, where: Any) -> None:
        """Open a session by an address that names a server, or else by the path of a file."""

    @classmethod
    @final
    def parts_of(cls, where: str) -> SplitResult:
        """Split an address into parts.

        Raises
        ------
        TableError
            When it cannot be; the message does not name it, since it may have a password.
        """
        try:
            parts = urlsplit(where)
            parts.port  # noqa: B018 - fails where it is no number
        except ValueError:
            raise TableError(
                f"{cls.title}: the address cannot be read; write it as {cls.example}, with a port as a "
                "number, a host in IPv6 as [::1], and brackets and slashes of a password as %5B, %5D and %2F"
            ) from None
        return parts

    @classmethod
    def imported(cls, *modules: str) -> Any:
        """Import the modules of the driver, and return the first.

        Raises
        ------
        MissingExtraError
            When one is not installed.
        """
        try:
            first, *_ = [import_module(name) for name in modules]
        except ImportError:
            library, extra = cls.driver or (modules[0], "")
            raise MissingExtraError(library, extra, f"reading {cls.title}") from None
        return first

    @classmethod
    @abstractmethod
    def connect(cls, where: Any) -> Any:
        """Return a connection by DB-API 2.0, which the verifier reads whole tables with."""

    @abstractmethod
    def begin(self) -> None:
        """Begin a transaction in which all reads see the same snapshot."""

    def commit(self) -> None:
        """End the transaction and keep the changes."""
        self.execute("COMMIT")

    def rollback(self) -> None:
        """End the transaction and undo the changes."""
        self.execute("ROLLBACK")

    def interrupt(self) -> None:  # noqa: B027
        """Cancel the query of another thread, which then gets an error of the driver.

        A driver that cannot lets the query go on.
        """

    def close(self) -> None:
        """End the session."""
        self._connection.close()

    @classmethod
    @abstractmethod
    def translate(cls, error: Exception) -> IncrowdError | None:
        """Return our error for an error of the driver, or None for other errors."""

    @classmethod
    @final
    def failure(cls, problem: str | None, code: str = "") -> TableError:
        """Return the error for a problem in words, or else for a statement that was refused with a code."""
        known = f" ({code})" if code else ""
        problem = problem or f"the database refused a statement{known}; nothing was kept"
        return TableError(f"{cls.title}: {problem}")

    # --- Its SQL -------------------------------------------------------------------------------------

    @classmethod
    @final
    def quote(cls, name: str) -> str:
        """Quote an identifier of any characters."""
        if "\0" in name:
            raise TableError(f"{cls.title}: a name cannot have the character NUL")
        return '"' + name.replace('"', '""') + '"'

    @final
    def qualified(self, name: Name) -> str:
        """Quote the name of a table."""
        return ".".join(map(self.quote, name))

    def source(self, table: Name) -> str:
        """Write a table as a FROM item with the alias ``t``."""
        return f"{self.qualified(table)} AS t"

    @classmethod
    def same(cls, column: Column, left: str, right: str) -> str:
        """Return an SQL condition: two keys of a column are equal or both missing."""
        return f"{left} IS NOT DISTINCT FROM {right}"

    @classmethod
    def text(cls, text: str) -> str:
        """Write a text without NUL as a literal."""
        return "'" + text.replace("'", "''") + "'"

    @classmethod
    def as_text(cls, expression: str) -> str:
        """Write a value as a text for ORDER BY."""
        return f"CAST({expression} AS TEXT)"

    @classmethod
    def value(cls, text: str, wire: str) -> str:
        """Write a non-text value as a literal of the type `wire`."""
        return f"CAST({cls.text(text)} AS {wire})"

    @classmethod
    @abstractmethod
    def matches(cls, key: str, pattern: str) -> str:
        """Return an SQL condition: a key of texts matches a pattern that is anchored at both ends."""

    # --- Its catalog ---------------------------------------------------------------------------------

    def described(self, table: Name) -> Mapping[str, tuple[Any, ...]]:
        """Return each column of a table with the description in the catalog, in order.

        There are none where there is no such table.
        """
        raise NotImplementedError

    def column(self, c: str, *described: Any) -> Column:
        """Return the reading of a column by the catalog's description, where `c` is the column in SQL."""
        raise NotImplementedError

    def names(self, table: Name) -> list[str]:
        """Return the names of a table's columns, in order (no such table: none)."""
        return list(self.described(table))

    def read(self, table: Name, names: Sequence[str]) -> dict[str, Column]:
        """Return the readings of some columns of a table."""
        described = self.described(table)
        return {name: self.column(f"t.{self.quote(name)}", *described[name]) for name in names}

    def target(self, table: Name) -> Name:
        """Return the full name of a new table."""
        return table

    @abstractmethod
    def kind(self, table: Name) -> str | None:
        """Return the kind of object with a name, such as ``table`` or ``view``, or None."""

    def related(self, one: Name, other: Name) -> bool:
        """Say whether two names mean the same table, or tables of common rows."""
        return one[-1].casefold() == other[-1].casefold()

    def check_name(self, name: Name) -> None:
        """Raise for a name that a new table cannot have, such as a name in a temporary schema.

        Raises
        ------
        TableError
        """
        schema = next((part for part in name[:-1] if self.temporary.fullmatch(part)), None)
        if schema is not None:
            raise TableError(
                f"{self.title}: tables of {schema} are temporary and would be gone with the session; name "
                "another schema"
            )

    # --- Rows in and out -----------------------------------------------------------------------------

    @abstractmethod
    def execute(self, sql: str) -> None:
        """Run a statement without a result."""

    def fetch(self, sql: str) -> pl.DataFrame:
        """Run a query and fetch all rows."""
        return pl.concat(list(self.batches(sql)), how="vertical_relaxed")

    @abstractmethod
    def batches(self, sql: str) -> Iterator[pl.DataFrame]:
        """Run a query and fetch about `BATCH` rows at a time (no rows: an empty batch)."""

    @abstractmethod
    def upload(self, name: str, frame: pl.DataFrame, types: Mapping[str, str]) -> None:
        """Create a temporary table from a frame, with SQL types, and statistics for the planner."""

    def keep(self, uploads: Mapping[str, Upload], query: str) -> str:
        """Create the temporary table `UNITS` from a query of uploaded tables, and return the table's SQL."""
        for uploaded, upload in uploads.items():
            self.upload(uploaded, upload.frame, upload.types)
        self.joining()
        self.drop_uploaded(UNITS)
        name = f"{self.uploaded}{self.quote(UNITS)}"
        self.execute(f"CREATE TEMPORARY TABLE {name} AS {query}")
        for uploaded in uploads:
            self.drop_uploaded(uploaded)
        return name

    def joining(self) -> None:  # noqa: B027 - few have something to prepare
        """Prepare the transaction for a join with an uploaded table."""

    def drop_uploaded(self, name: str) -> None:
        """Drop an uploaded table."""
        self.execute(f"DROP TABLE IF EXISTS {self.uploaded}{self.quote(name)}")

    def make(
        self, name: Name, uploads: Mapping[str, Upload], query: str, columns: Sequence[str], *, replace: bool
    ) -> Name:
        """Create a table from a query that joins uploaded tables, permanent once committed.

        Parameters
        ----------
        uploads
            The tables that the query reads, by name; they are there for the time being.
        columns
            The names of its columns, for servers that change names in a query.
        replace
            Whether it stands in the place of a table.

        Returns
        -------
        Where the rows can be read until then.
        """
        for uploaded, upload in uploads.items():
            self.upload(uploaded, upload.frame, upload.types)
        self.joining()
        if replace:
            self.execute(f"DROP TABLE {self.qualified(name)}")
        self.execute(f"CREATE TABLE {self.qualified(name)} AS {query}")
        for uploaded in uploads:
            self.drop_uploaded(uploaded)
        return name


def while_fetching(dialect: type[Dialect], error: Exception) -> IncrowdError | None:
    """Translate an error of Polars or PyArrow with a message that may be the driver's."""
    if type(error).__module__.partition(".")[0] not in ("pyarrow", "polars"):
        return None
    return TableError(f"{dialect.title}: a query failed while its rows were fetched; nothing was kept")


def cast_all(frame: pl.DataFrame, names: Sequence[str], dtypes: Sequence[Any]) -> pl.DataFrame:
    """Name the columns of a result, and cast the columns with a given type."""
    columns = {}
    for series, name, dtype in zip(frame.get_columns(), names, dtypes, strict=True):
        columns[name] = series if dtype is None else series.cast(dtype)
    return pl.DataFrame(columns)
