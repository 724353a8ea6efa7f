"""Dataclasses of options: reading, columns, models, search, gate and ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from incrowd.core.errors import ParameterError, SchemaError, TableError, named
from incrowd.core.lazy import pl
from incrowd.core.treatments import TREATMENTS
from incrowd.core.treatments.base import treatment_of, treatment_texts
from incrowd.faces.cli.flattening import Without
from incrowd.faces.cli.linked import linked_content, refuse_linked
from incrowd.faces.cli.options import (
    Accept,
    AlgorithmName,
    Delimiter,
    Encoding,
    EndsName,
    FillMerged,
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
    Report,
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
from incrowd.faces.cli.parsing import builders_of_texts, levels_of, names_of
from incrowd.measures.privacy import MODELS, PrivacyModel
from incrowd_gate.errors import IN_A_POLICY
from incrowd_gate.points import UNANSWERED, Accepted

if TYPE_CHECKING:
    from incrowd.core.hierarchy import Builder
    from incrowd.core.io.files import CsvFormat
    from incrowd.core.io.targets import Outputs
    from incrowd.core.progress import Progress
    from incrowd.core.table.schema import Attribute, Schema
    from incrowd.core.table.settings import Wildcards
    from incrowd.engines.dialects.addresses import Address
    from incrowd.engines.sql.databases import Database
    from incrowd.release.policy.policy import Policy
    from incrowd_gate.points import Unanswered


_sessions: list[Database] = []


@dataclass(frozen=True)
class CsvOptions:
    """The format of a CSV file or workbook."""

    delimiter: Delimiter = None
    encoding: Encoding = "utf-8"
    names: Names = None
    sheet: Sheet = None
    header_row: HeaderRow = None
    fill_merged: FillMerged = False

    def check(self) -> None:
        """Raise for an unknown encoding or an invalid delimiter."""
        self.csv_format()

    def csv_format(self) -> CsvFormat:
        """Build the file format."""
        from incrowd.core.io.files import CsvFormat

        delimiter = None if self.delimiter is None else self.delimiter.replace("\\t", "\t")
        return CsvFormat(
            delimiter,
            self.encoding,
            tuple(names_of(self.names)),
            sheet=self.sheet,
            header_row=self.header_row,
            fill_merged=self.fill_merged,
        )

    def read(self, data: Path) -> tuple[pl.DataFrame, CsvFormat | None]:
        """Read a file into memory.

        Raises
        ------
        TableError
        """
        from incrowd.core.io.files import read_table

        return read_table(data, self.csv_format())

    @staticmethod
    def read_beside(path: Path, csv_format: CsvFormat | None) -> pl.DataFrame:
        """Read a companion of a table, which may have a header line even if the table has none.

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
    """Options for reading a table: in memory, as a stream, or from a database."""

    table: Table = None
    stream: Stream = False
    memory: Memory = None

    def open(
        self, data: Path | Address, progress: Progress | None = None
    ) -> tuple[Any, CsvFormat | None, list[str]]:
        """Open a table and return rows, file format (None for a database) and column names.

        Raises
        ------
        ParameterError, TableError
        """
        from incrowd.core.io.addresses import is_scan
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
            data, self.csv_format(), stream=self.stream, memory=self.memory, progress=progress
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
        rows = database.table(self.table)
        return rows, None, rows.columns


FileOptions = Annotated[TableOptions, Without("table")]
"""For commands that read no database."""


def close_sessions() -> None:
    """Close all open database sessions, whose snapshots would hold others up."""
    while _sessions:
        _sessions.pop().close()


@dataclass(frozen=True)
class ColumnOptions:
    """Roles of a table's columns, from a policy file or from single options.

    Raises
    ------
    ParameterError
        For options beside a policy file, which the file would override.
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
        names = [
            option.name.replace("_", "-")
            for option in fields(self)
            if option.name != "policy" and getattr(self, option.name) not in (None, [], False)
        ]
        if names:
            options = ", ".join(f"--{name}" for name in names)
            there = " and ".join(dict.fromkeys(IN_A_POLICY[name] for name in names))
            raise ParameterError(f"{options}: the policy file says what the columns are; write {there} there")

    def check(self) -> None:
        """Raise for settings that are wrong for every table.

        Raises
        ------
        HierarchyError, ParameterError, PolicyError, SchemaError
        """
        from incrowd.core.hierarchy import find_files
        from incrowd.core.table.schema import Schema

        if self.policy is not None and linked_content(self.policy) is None:
            _ = self._policy_of_file
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
    def _policy_of_file(self) -> Policy:
        from incrowd.release.policy.policy import Policy

        assert self.policy is not None
        refuse_linked(self.policy)
        return Policy.read(self.policy)

    def policy_for(self, columns: Sequence[str], *, lenient: bool = False) -> Policy:
        """Read the policy file, or build a policy from the options.

        Parameters
        ----------
        columns
            The table's columns.
        lenient
            Whether columns without a role are kept, as for commands that release nothing.

        Raises
        ------
        HierarchyError, PolicyError, SchemaError
        """
        from incrowd.release.policy.policy import Policy

        if self.policy is not None:
            return self._policy_of_file
        return Policy(self._schema(columns, "keep" if lenient and self.unlisted is None else self.unlisted))

    def _schema(self, columns: Sequence[str], unlisted: str | None) -> Schema:
        from incrowd.core.hierarchy import find_files
        from incrowd.core.table.schema import Schema, require_columns

        recipes = builders_of_texts(self.hierarchy or ())
        require_columns(recipes, columns, "--hierarchy: ")
        hierarchies: dict[str, Path | Builder] = {}
        if self.hierarchies is not None:
            hierarchies |= find_files(self.hierarchies, columns)
        hierarchies |= recipes
        roles = {
            "identifying": names_of(self.identifying),
            "person": names_of(self.person),
            "household": names_of(self.household),
            "weight": [] if self.weights is None else [self.weights],
            "quasi": names_of(self.qi),
            "sensitive": names_of(self.sensitive),
            "insensitive": names_of(self.insensitive),
        }
        if self.qi is None:
            others = {name for names in roles.values() for name in names}
            roles["quasi"] = [name for name in columns if name in hierarchies and name not in others]
        if not roles["quasi"]:
            raise SchemaError(
                "no quasi-identifier: name them with --qi a,b,c, or give --policy or --hierarchies"
            )
        if unused := [name for name in recipes if name not in (*roles["quasi"], *roles["sensitive"])]:
            raise SchemaError(
                f"--hierarchy: column {named(unused)} is neither a quasi-identifier nor sensitive, and other "
                "columns have no hierarchy; name it with --qi or --sensitive"
            )
        return Schema.of_attributes(
            [_attribute(name, role, hierarchies) for role, names in roles.items() for name in names],
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


def _attribute(name: str, role: str, hierarchies: dict[str, Path | Builder]) -> Attribute:
    from incrowd.core.hierarchy import Hierarchy
    from incrowd.core.table.schema import Attribute, Role

    source = hierarchies.get(name) if role in ("quasi", "sensitive") else None
    tree = Hierarchy.read(source) if isinstance(source, Path) else source
    return Attribute(name, cast(Role, role), hierarchy=tree)


def _empty_policy() -> Policy:
    """Return a policy without columns, for checking settings."""
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
        """Raise for an unknown model or invalid parameters."""
        self.applied_to(_empty_policy())

    def applied_to(self, policy: Policy) -> Policy:
        """Override the models and the wildcard meaning of a policy.

        Raises
        ------
        ParameterError, PolicyError
        """
        policy = policy.with_models(self.models())
        return (
            policy if self.wildcards is None else replace(policy, wildcards=cast("Wildcards", self.wildcards))
        )

    def models(self) -> list[PrivacyModel]:
        """Build the models named by -k, -l, -t and --model.

        Raises
        ------
        ParameterError, PolicyError
        """
        short = {"k": self.k, "l": self.l, "t": self.t}
        models: list[PrivacyModel] = [
            model.from_settings({model.limit_name: short[model.shorthand]})
            for model in MODELS
            if model.shorthand and short[model.shorthand] is not None
        ]
        return models + [MODELS.parse(text) for text in self.model or ()]


@dataclass(frozen=True)
class SearchOptions:
    """Options of the search for a recoding."""

    algorithm: AlgorithmName = None
    levels: Levels = None
    max_suppression: Suppression = None
    suppressed: SuppressedName = None
    style: StyleName = None
    ends: EndsName = None
    set_limit: SetLimit = None
    judge: JudgeName = None

    def check(self) -> None:
        """Raise for invalid search settings."""
        self.fixed_levels()
        self.override(_empty_policy())

    def fixed_levels(self) -> dict[str, int]:
        """Return the fixed levels by column.

        Raises
        ------
        ParameterError
        """
        return levels_of(self.levels)

    def override(self, policy: Policy) -> Policy:
        """Override the search settings of a policy.

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
    """Answers to open points, and the treatment of a release with open points."""

    accept: Accept = None
    unanswered: UnansweredName = "refuse"

    def check(self) -> None:
        """Raise for an answer to an unknown point, or an invalid choice."""
        self.answers()
        UNANSWERED.check(self.unanswered, "--unanswered", "")

    @property
    def choice(self) -> Unanswered:
        """Whether a release with open points is refused or written."""
        return cast("Unanswered", self.unanswered)

    def answers(self) -> tuple[Accepted, ...]:
        """Return the parsed answers.

        Raises
        ------
        PolicyError
        """
        return tuple(map(Accepted.read, self.accept or ()))

    def applied_to(self, policy: Policy) -> Policy:
        """Add the answers to a policy."""
        return replace(policy, accepted=(*policy.accepted, *self.answers()))


@dataclass(frozen=True)
class LedgerOptions:
    """The ledger for recording a release."""

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
        """Require ledger and recipient together, and a readable ledger."""
        about = self.ledger_keys or self.ledger_new_people
        if (self.ledger is None) != (self.recipient is None) or (about and self.ledger is None):
            raise ParameterError("give --ledger, where a release is recorded, and --recipient, who gets it")
        if self.ledger is not None:
            from incrowd.core.table.schema import require_different
            from incrowd.release.jobs.later.ledger import Ledger

            if self.ledger_keys is not None and not names_of(self.ledger_keys):
                raise ParameterError("--ledger-keys names no column; name those that say whose row it is")
            require_different(names_of(self.ledger_keys))
            Ledger.open(self.ledger).read()

    def record(
        self,
        outputs: Outputs,
        release: Any,
        table: Any,
        epsilon: Any = None,
        /,
        *,
        into: Callable[[], object] | None = None,
        **files: Any,
    ) -> None:
        """Schedule the ledger entry, written just before the outputs are published.

        `into` makes a table of a database, before the outputs get their names.
        """
        if self.ledger is not None:
            from incrowd.release.jobs.later.ledger import Ledger

            settings = {"recipient": self.recipient, "keys": names_of(self.ledger_keys), "epsilon": epsilon}
            add: Callable[..., None] = partial(
                Ledger.open(self.ledger).add, new_people=self.ledger_new_people, **settings
            )
            source = files.get("input")
            if not isinstance(source, Path) or not source.is_file():
                # Of a folder, a pattern or an address the entry has the digest of the rows.
                files["input"] = None

            outputs.through = partial(add, release, table, files=files)
            if into is not None:
                outputs.through = lambda publish: add(
                    release, table, partial(_in_turn, into, publish), files=files
                )
        elif into is not None:
            into()


def _in_turn(*steps: Callable[[], object]) -> None:
    for step in steps:
        step()


@dataclass(frozen=True)
class ReportOptions(LedgerOptions):
    """The ledger, and the report with those who get the release."""

    recipient: Annotated[
        str | None, typer.Option(help="Who gets the release, for --ledger and the report.")
    ] = None
    report: Report = None
    purpose: Annotated[str | None, typer.Option(help="Why the release is made, for the report.")] = None
    owner: Annotated[str | None, typer.Option(help="The data set and its owner, for the report.")] = None
    internal: Annotated[
        bool,
        typer.Option(
            "--internal",
            help="Let the report name raw values, and which cells of count tables are small; not to publish.",
        ),
    ] = False

    def check(self) -> None:
        """Require a ledger or a report for options about them."""
        if self.report is None:
            for name in ("purpose", "owner"):
                if getattr(self, name) is not None:
                    raise ParameterError(f"--{name} is for the report; add --report FILE")
            if self.recipient is not None and self.ledger is None:
                raise ParameterError(
                    "--recipient is for the report and the ledger; add --report FILE, or give --ledger, "
                    "where a release is recorded"
                )
        ledger = self if self.ledger is not None or self.report is None else replace(self, recipient=None)
        super(ReportOptions, ledger).check()
