"""Groups of options that commands take whole: how a table is read, its columns, models and search."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from incrowd.core.errors import IN_A_POLICY, ParameterError, SchemaError, TableError, named
from incrowd.core.lazy import pl
from incrowd.core.treatments import TREATMENTS
from incrowd.core.treatments.base import treatment_of, treatment_texts
from incrowd.faces.cli.flattening import Without
from incrowd.faces.cli.options import (
    Accept,
    AlgorithmName,
    Delimiter,
    Encoding,
    EndsName,
    HeaderRow,
    Hierarchies,
    Household,
    Identifying,
    Insensitive,
    JudgeName,
    K,
    L,
    Levels,
    Linked,
    Memory,
    Models,
    Names,
    NullValues,
    Person,
    PolicyFile,
    Quasi,
    Recipes,
    Sensitive,
    SetLimit,
    Sheet,
    Stream,
    StyleName,
    SuppressedName,
    Suppression,
    T,
    Table,
    Treats,
    UnansweredName,
    Unlisted,
    Weights,
    WildcardName,
)
from incrowd.faces.cli.parsing import levels_of, listed
from incrowd.measures.privacy import MODELS, PrivacyModel
from incrowd_verify.gate.accepted import Accepted
from incrowd_verify.gate.kinds import UNANSWERED

if TYPE_CHECKING:
    from incrowd.core.dialects.addresses import Address
    from incrowd.core.hierarchy import Builder
    from incrowd.core.io.files import CsvFormat
    from incrowd.core.io.targets import Outputs
    from incrowd.core.progress import Progress
    from incrowd.core.table.schema import Attribute, Schema
    from incrowd.core.table.settings import Wildcards
    from incrowd.engines.sql.databases import Database
    from incrowd.release.policy.policy import Policy
    from incrowd_verify.gate.kinds import Unanswered


_sessions: list[Database] = []


@dataclass(frozen=True)
class CsvOptions:
    """How a file is written."""

    delimiter: Delimiter = None
    encoding: Encoding = "utf-8"
    names: Names = None
    sheet: Sheet = None
    header_row: HeaderRow = None

    def check(self) -> None:
        """Refuse an encoding or a delimiter that there is not."""
        self.csv_format()

    def csv_format(self) -> CsvFormat:
        """Put them together."""
        from incrowd.core.io.files import CsvFormat

        delimiter = None if self.delimiter is None else self.delimiter.replace("\\t", "\t")
        return CsvFormat(
            delimiter, self.encoding, tuple(listed(self.names)), sheet=self.sheet, header_row=self.header_row
        )

    def read(self, data: Path) -> tuple[pl.DataFrame, CsvFormat | None]:
        """Read a file whole.

        Raises
        ------
        TableError
        """
        from incrowd.core.io.files import read_table

        return read_table(data, self.csv_format())

    @staticmethod
    def read_beside(path: Path, csv_format: CsvFormat | None) -> pl.DataFrame:
        """Read a table that belongs to one that was read. A release has a header line, whatever that has.

        Raises
        ------
        TableError
        """
        from incrowd.core.io.files import read_table

        if csv_format is not None and csv_format.names:
            with suppress(TableError):
                table, _ = read_table(path, replace(csv_format, names=()))
                if set(table.columns) <= set(csv_format.names):
                    return table
        return read_table(path, csv_format)[0]


@dataclass(frozen=True)
class TableOptions(CsvOptions):
    """How a table is read: whole, as a stream, or from a database."""

    table: Table = None
    stream: Stream = False
    memory: Memory = None

    def open(
        self, data: Path | Address, shown: Progress | None = None
    ) -> tuple[Any, CsvFormat | None, list[str]]:
        """Read a table, or open it where its rows are to stream; return it with its format and columns.

        Raises
        ------
        ParameterError, TableError
        """
        from incrowd.core.io.streams import is_scan
        from incrowd.engines import open_table

        if not isinstance(data, Path):
            return self._open_database(data)
        if self.table is not None:
            raise ParameterError("--table is for databases; leave it out")
        if self.memory is not None and not (self.stream or is_scan(data)):
            raise ParameterError(
                "--memory is for rows that stream; say --stream, or name a folder or a pattern"
            )
        rows, csv_format = open_table(
            data, self.csv_format(), stream=self.stream, memory=self.memory, progress=shown
        )
        return rows, csv_format, rows.columns

    def _open_database(self, address: Address) -> tuple[Any, None, list[str]]:
        from incrowd.engines.sql.databases import Database

        if self.table is None:
            raise ParameterError("name a table of the database with --table")
        if self.stream or self.memory is not None:
            raise ParameterError("--stream and --memory are for files; rows of a database always stream")
        database = Database(address)
        _sessions.append(database)
        found = database.table(self.table)
        return found, None, found.columns


FileOptions = Annotated[TableOptions, Without("table")]
"""For commands that read no database."""


def close_sessions() -> None:
    """End the sessions of databases that were opened; until then their snapshots hold others up."""
    while _sessions:
        _sessions.pop().close()


@dataclass(frozen=True)
class ColumnOptions:
    """The roles of a table's columns: by a policy file, or one by one.

    Raises
    ------
    ParameterError
        For both: options beside a policy file would be passed over.
    """

    policy: PolicyFile = None
    qi: Quasi = None
    sensitive: Sensitive = None
    identifying: Identifying = None
    person: Person = None
    household: Household = None
    weights: Weights = None
    insensitive: Insensitive = None
    unlisted: Unlisted = None
    linked: Linked = False
    hierarchies: Hierarchies = None
    hierarchy: Recipes = None
    null_value: NullValues = None
    treat: Treats = None

    def __post_init__(self) -> None:
        if self.policy is None:
            return
        given = [
            option.name.replace("_", "-")
            for option in fields(self)
            if option.name != "policy" and getattr(self, option.name) not in (None, [], False)
        ]
        if given:
            options = ", ".join(f"--{name}" for name in given)
            there = " and ".join(dict.fromkeys(IN_A_POLICY[name] for name in given))
            raise ParameterError(f"{options}: the policy file says what the columns are; write {there} there")

    def check(self) -> None:
        """Refuse settings that are wrong for every table.

        Raises
        ------
        HierarchyError, ParameterError, PolicyError, SchemaError
        """
        from incrowd.core.hierarchy import builders_of_texts, find_files
        from incrowd.core.table.schema import Schema

        if self.policy is not None:
            _ = self._read
            return
        builders_of_texts(self.hierarchy or ())
        for name, text in treatment_texts(self.treat or ()).items():
            treatment_of(text, name, TREATMENTS)
        if self.hierarchies is not None:
            find_files(self.hierarchies, ())
        Schema(
            null_values=self.null_value or (), unlisted=cast("Literal['drop', 'keep'] | None", self.unlisted)
        )

    @cached_property
    def _read(self) -> Policy:
        from incrowd.release.policy.policy import Policy

        assert self.policy is not None
        return Policy.read(self.policy)

    def policy_for(self, columns: Sequence[str], *, lenient: bool = False) -> Policy:
        """Read the policy file, or make a policy of the columns' roles alone.

        Parameters
        ----------
        columns
            The table's columns.
        lenient
            Whether columns without a role do no harm, as where nothing is released.

        Raises
        ------
        HierarchyError, PolicyError, SchemaError
        """
        from incrowd.release.policy.policy import Policy

        if self.policy is not None:
            return self._read
        return Policy(self._schema(columns, "keep" if lenient and self.unlisted is None else self.unlisted))

    def _schema(self, columns: Sequence[str], unlisted: str | None) -> Schema:
        from incrowd.core.hierarchy import builders_of_texts, find_files
        from incrowd.core.table.schema import Schema, require_columns

        recipes = builders_of_texts(self.hierarchy or ())
        require_columns(recipes, columns, "--hierarchy: ")
        known: dict[str, Path | Builder] = {}
        if self.hierarchies is not None:
            known |= find_files(self.hierarchies, columns)
        known |= recipes
        roles = {
            "identifying": listed(self.identifying),
            "person": listed(self.person),
            "household": listed(self.household),
            "weight": [] if self.weights is None else [self.weights],
            "quasi": listed(self.qi),
            "sensitive": listed(self.sensitive),
            "insensitive": listed(self.insensitive),
        }
        if self.qi is None:
            taken = {name for names in roles.values() for name in names}
            roles["quasi"] = [name for name in columns if name in known and name not in taken]
        if not roles["quasi"]:
            raise SchemaError(
                "no quasi-identifier: name them with --qi a,b,c, or give --policy or --hierarchies"
            )
        if unused := [name for name in recipes if name not in (*roles["quasi"], *roles["sensitive"])]:
            raise SchemaError(
                f"--hierarchy: column {named(unused)} is neither a quasi-identifier nor sensitive, and other "
                "columns have no hierarchy; name it with --qi or --sensitive"
            )
        return Schema.of(
            [_attribute(name, role, known) for role, names in roles.items() for name in names],
            null_values=self.null_value or (),
            unlisted=cast("Literal['drop', 'keep'] | None", unlisted),
            linked=self.linked,
            treatments=treatment_texts(self.treat or ()),
        )


MeasuredColumns = Annotated[ColumnOptions, Without("identifying", "insensitive", "unlisted", "treat")]
"""For commands that release nothing."""
TreatedColumns = Annotated[ColumnOptions, Without("hierarchies", "hierarchy")]
UnrecodedColumns = Annotated[ColumnOptions, Without("hierarchies", "hierarchy", "treat")]
"""For commands that recode nothing."""


def _attribute(name: str, role: str, known: dict[str, Path | Builder]) -> Attribute:
    from incrowd.core.hierarchy import Hierarchy
    from incrowd.core.table.schema import Attribute, Role

    found = known.get(name) if role in ("quasi", "sensitive") else None
    tree = Hierarchy.read(found) if isinstance(found, Path) else found
    return Attribute(name, cast(Role, role), hierarchy=tree)


def _nothing() -> Policy:
    """Return a policy of no column, to try settings on."""
    from incrowd.core.table.schema import Schema
    from incrowd.release.policy.policy import Policy

    return Policy(Schema())


@dataclass(frozen=True)
class ModelOptions:
    """The privacy models."""

    k: K = None
    l: L = None  # noqa: E741
    t: T = None
    model: Models = None
    wildcards: WildcardName = None

    def check(self) -> None:
        """Refuse models that there are not, or not so."""
        self.applied_to(_nothing())

    def applied_to(self, policy: Policy) -> Policy:
        """Let the models and the meaning of `*` win over the settings of a policy file.

        Raises
        ------
        ParameterError, PolicyError
        """
        policy = policy.with_models(self.models())
        return (
            policy if self.wildcards is None else replace(policy, wildcards=cast("Wildcards", self.wildcards))
        )

    def models(self) -> list[PrivacyModel]:
        """Put them together.

        Raises
        ------
        ParameterError, PolicyError
        """
        short = {"k": self.k, "l": self.l, "t": self.t}
        made: list[PrivacyModel] = [
            model.from_settings({model.limit_name: short[model.shorthand]})
            for model in MODELS
            if model.shorthand and short[model.shorthand] is not None
        ]
        return made + [MODELS.parse(text) for text in self.model or ()]


@dataclass(frozen=True)
class SearchOptions:
    """How a recoding is searched."""

    algorithm: AlgorithmName = None
    levels: Levels = None
    max_suppression: Suppression = None
    suppressed: SuppressedName = None
    style: StyleName = None
    ends: EndsName = None
    set_limit: SetLimit = None
    judge: JudgeName = None

    def check(self) -> None:
        """Refuse settings that no search takes."""
        self.fixed_levels()
        self.override(_nothing())

    def fixed_levels(self) -> dict[str, int]:
        """Return the levels that are not searched, by column.

        Raises
        ------
        ParameterError
        """
        return levels_of(self.levels)

    def override(self, policy: Policy) -> Policy:
        """Let these win over the settings of a policy file.

        Raises
        ------
        ParameterError, PolicyError
        """
        settings = {
            "output" if option.name == "style" else option.name: value
            for option in fields(self)
            if option.name != "levels" and (value := getattr(self, option.name)) is not None
        }
        return replace(policy, **settings)


@dataclass(frozen=True)
class GateOptions:
    """The answers to open points, and whether a release that has some is refused or written."""

    accept: Accept = None
    unanswered: UnansweredName = "refuse"

    def check(self) -> None:
        """Refuse an answer to a point that there is not, and another word than refuse or write."""
        self.answers()
        UNANSWERED.check(self.unanswered, "--unanswered", "")

    @property
    def choice(self) -> Unanswered:
        """Whether a release with open points is refused or written."""
        return cast("Unanswered", self.unanswered)

    def answers(self) -> tuple[Accepted, ...]:
        """Return the answers.

        Raises
        ------
        PolicyError
        """
        return tuple(map(Accepted.read, self.accept or ()))

    def applied_to(self, policy: Policy) -> Policy:
        """Return a policy that has the answers, too."""
        return replace(policy, accepted=(*policy.accepted, *self.answers()))


@dataclass(frozen=True)
class LedgerOptions:
    """The ledger that a release is recorded in."""

    ledger: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Record it; refuse a release that exposes people beside others."),
    ] = None
    recipient: Annotated[str | None, typer.Option(help="Who gets the release, for --ledger.")] = None
    ledger_keys: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Columns that say whose row it is, for --ledger.")
    ] = None
    ledger_new_people: Annotated[
        bool,
        typer.Option("--ledger-new-people", help="Hardly anybody was in an earlier release of --ledger."),
    ] = False

    def check(self) -> None:
        """Refuse a ledger without a recipient, and a recipient without a ledger; open the ledger."""
        about = self.ledger_keys or self.ledger_new_people
        if (self.ledger is None) != (self.recipient is None) or (about and self.ledger is None):
            raise ParameterError("give --ledger, where a release is recorded, and --recipient, who gets it")
        if self.ledger is not None:
            from incrowd.core.table.schema import require_different
            from incrowd.release.jobs.ledger import Ledger

            if self.ledger_keys is not None and not listed(self.ledger_keys):
                raise ParameterError("--ledger-keys names no column; name those that say whose row it is")
            require_different(listed(self.ledger_keys))
            Ledger.open(self.ledger).read()

    def record(
        self, outputs: Outputs, release: Any, table: Any, epsilon: Any = None, /, **files: Any
    ) -> None:
        """Let a release be recorded before its outputs get their names."""
        if self.ledger is not None:
            from incrowd.release.jobs.ledger import Ledger

            settings = {"recipient": self.recipient, "keys": listed(self.ledger_keys), "epsilon": epsilon}
            add = partial(Ledger.open(self.ledger).add, new_people=self.ledger_new_people, **settings)
            outputs.through = partial(add, release, table, files=files)
