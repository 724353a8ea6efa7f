"""Databases, read in a single snapshot and written in a single transaction."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from incrowd.core.errors import IncrowdError, TableError, exists_already
from incrowd.core.lazy import pl
from incrowd.engines.dialects.addresses import Address, is_address
from incrowd.engines.dialects.base import UNITS, cast_all, while_fetching

if TYPE_CHECKING:
    from incrowd.engines.dialects.base import Column, Dialect, Name, Upload

__all__ = ["Address", "Database", "DatabaseTable", "is_address"]

T = TypeVar("T")


class Database:
    """A connection to a database that reads all tables from a single snapshot.

    Everything is read from one snapshot, from the first question on. What others write meanwhile does not
    matter. The snapshot ends with `refresh`, with `Release.into`, and when the session is closed.

    Parameters
    ----------
    address
        As ``postgresql://user@host/database`` or ``sqlite:///path``. A path is relative to
        the working folder after three slashes, and absolute after four. Put a PostgreSQL password into
        ``PGPASSWORD`` or the password file rather than into the address. It is never printed.

    Raises
    ------
    TableError
        When there is no such database, or it does not let us in.
    MissingExtraError
        When the database's driver is not installed.
    """

    def __init__(self, address: str | Address) -> None:
        self.address = address if isinstance(address, Address) else Address(address)
        self._dialect: Dialect | None = None
        self._snapshot = 0
        self._reading = False
        self._dialect = self._open()

    def _open(self) -> Dialect:
        dialect = self.address.dialect
        try:
            return dialect(self.address.url if dialect.server else self.address.path)
        except IncrowdError:
            raise
        except Exception as error:
            translated = dialect.translate(error)
            if translated is None:
                raise
        raise translated

    def __repr__(self) -> str:
        return f"Database({str(self.address)!r})"

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the session and undo changes that were not committed."""
        dialect, self._dialect = self._dialect, None
        self._reading = False
        if dialect is not None:
            with contextlib.suppress(Exception):
                dialect.close()

    def __del__(self) -> None:
        # A session that nobody can use any more ends, as one that was made within an expression.
        if getattr(self, "_dialect", None) is not None:
            self.close()

    def refresh(self) -> None:
        """End the snapshot: the next query sees later changes, and earlier releases cannot be written."""
        if self._reading:
            self._end()

    def table(self, name: str) -> DatabaseTable:
        """Return a table or view.

        Parameters
        ----------
        name
            ``people`` or ``schema.people``, exactly as it is written in the database, capitals included. Put
            a part in quotes if it has a dot or a quote in it: ``'"odd.name"'``. Double a quote within quotes.

        Raises
        ------
        TableError
            When there is no such table.
        """
        table = DatabaseTable(self, parts(name))
        if not table.columns:
            raise TableError(f"{self.address}: there is no table {table.title}")
        return table

    def interrupt(self) -> None:
        """Stop the query that another thread waits for, if any."""
        dialect = self._dialect
        if dialect is not None:
            dialect.interrupt()

    # --- for the engine ------------------------------------------------------------------------------

    @property
    def dialect(self) -> Dialect:
        """The open session.

        Raises
        ------
        TableError
            When it was closed.
        """
        if self._dialect is None:
            raise TableError(f"{self.address}: the session was closed; open the database again")
        return self._dialect

    def reading(self) -> int:
        """Return the number of the current snapshot, beginning a snapshot if there is none."""
        if not self._reading:
            self._run(self.dialect.begin)
            self._snapshot += 1
            self._reading = True
        return self._snapshot

    def ask(self, question: Callable[[Dialect], T]) -> T:
        """Run a query within the snapshot, which a driver error ends, and translate the error.

        Raises
        ------
        TableError
        """
        self.reading()
        return self._run(lambda: question(self.dialect))

    def batches(self, sql: str) -> Generator[pl.DataFrame]:
        """Stream the rows of a query (see `ask`)."""
        rows = self.ask(lambda dialect: dialect.batches(sql))
        try:
            while (batch := self._run(lambda: next(rows, None))) is not None:
                yield batch
        finally:
            # What is not fetched to its end is given up, and the session is free again.
            if isinstance(rows, Generator):
                rows.close()

    @contextlib.contextmanager
    def writing(self) -> Iterator[Dialect]:
        """Write in the reading transaction, with commit at the end and rollback on any error."""
        self.reading()
        try:
            yield self.dialect
            self._run(self.dialect.commit)
            self._reading = False
        finally:
            if self._reading:
                self._end()

    def _run(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except IncrowdError:
            raise
        except Exception as error:
            translated = self.dialect.translate(error) or while_fetching(type(self.dialect), error)
            if translated is None:
                raise
        except BaseException:
            # A signal: what was asked is given up, and the session is free for another question.
            self._end()
            raise
        # Outside of the handler, so that the driver's message is no part of what is raised.
        self._end()
        raise translated

    def _end(self) -> None:
        self._reading = False
        if self._dialect is not None:
            with contextlib.suppress(Exception):
                self._dialect.rollback()


class DatabaseTable:
    """A table or view of a database, opened by `Database.table`."""

    def __init__(self, database: Database, name: Name) -> None:
        self.database = database
        self.name = name
        self.place = name
        """Where it is read; a new table may get its name at the end alone."""

    @property
    def title(self) -> str:
        """The name in words."""
        return ".".join(part if re.fullmatch(r"\w+", part) else _quoted(part) for part in self.name)

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return self.database.ask(lambda dialect: dialect.names(self.place))

    def __repr__(self) -> str:
        return f"DatabaseTable({str(self.database.address)!r}, {self.title!r})"

    # --- for the engine ------------------------------------------------------------------------------

    @property
    def dialect(self) -> Dialect:
        """The dialect that the SQL is written in."""
        return self.database.dialect

    @property
    def source(self) -> str:
        """SQL of the table behind FROM, with ``t`` as the alias."""
        return self.dialect.source(self.place)

    def reading(self) -> int:
        """Return the number of the snapshot."""
        return self.database.reading()

    def interrupt(self) -> None:
        """Give up the query that another thread waits for."""
        self.database.interrupt()

    def read(self, names: Sequence[str]) -> dict[str, Column]:
        """Say how some columns are read."""
        return self.database.ask(lambda dialect: dialect.read(self.place, names))

    def fetch(self, sql: str) -> pl.DataFrame:
        """Run a query and fetch all rows."""
        return self.database.ask(lambda dialect: dialect.fetch(sql))

    def batches(self, sql: str) -> Generator[pl.DataFrame]:
        """Run a query and fetch some rows at a time."""
        return self.database.batches(sql)

    @contextlib.contextmanager
    def kept(self, uploads: Mapping[str, Upload], query: str) -> Iterator[str]:
        """Keep the result of a query of uploaded tables for a block, and yield the SQL of the name."""
        yield self.database.ask(lambda dialect: dialect.keep(uploads, query))
        # Where something failed, the snapshot ended, and the table with it.
        self.database.ask(lambda dialect: dialect.drop_uploaded(UNITS))

    def rows(self) -> Iterator[pl.DataFrame]:
        """Fetch all rows in batches, with unchanged values."""
        names = self.columns
        columns = self.read(names)
        listed = ", ".join(f"{columns[name].plain} AS c{position}" for position, name in enumerate(names))
        kinds = [columns[name].plain_dtype for name in names]
        with contextlib.closing(self.batches(f"SELECT {listed} FROM {self.source}")) as batches:
            for batch in batches:
                yield cast_all(batch, names, kinds)

    def place_for(self, target: str, *, force: bool) -> tuple[Name, str | None]:
        """Return the full name for a new table, and the kind of object of that name, if any.

        Raises
        ------
        TableError
            When no table of that name can be made, or what has it may not be replaced.
        """
        database, name = self.database, parts(target)
        database.ask(lambda dialect: dialect.check_name(name))
        name = database.ask(lambda dialect: dialect.target(name))
        database.ask(lambda dialect: dialect.check_name(name))
        title, kind = DatabaseTable(database, name).title, database.ask(lambda dialect: dialect.kind(name))
        if kind is None:
            return name, None
        if database.ask(lambda dialect: dialect.related(self.name, name)):
            raise TableError(f"{title}: is the table that is released, or a part of it; choose another name")
        if kind != "table":
            raise TableError(f"{title}: is a {kind}; choose another name")
        if not force:
            raise TableError(f"{title}: {exists_already()}")
        if not self.dialect.view_guards and database.ask(lambda d: d.kind(self.name)) != "table":
            raise TableError(
                f"{title}: exists already, and {self.title} is a view, which may read it; choose another name"
            )
        return name, kind


def parts(name: str) -> Name:
    """Split the name of a table, as ``schema.people`` or ``"odd.name"``.

    Raises
    ------
    TableError
        When a part is empty or a quote is not closed.
    """
    match = re.fullmatch(r'(?:"(?:[^"]|"")+"|[^".]+)(?:\.(?:"(?:[^"]|"")+"|[^".]+))*', name, re.DOTALL)
    if match is None:
        raise TableError(
            f"{name!r} is no name of a table; write people, schema.people, or quotes around a part "
            "with dots or quotes"
        )
    split = re.findall(r'"((?:[^"]|"")+)"|([^".]+)', name)
    return tuple(quoted.replace('""', '"') if quoted else plain for quoted, plain in split)


def _quoted(part: str) -> str:
    return '"' + part.replace('"', '""') + '"'
