"""Options that several commands share: one by one, and in groups that a command takes whole."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from incrowd.algorithms import ALGORITHMS
from incrowd.cli import completing
from incrowd.cli.flattening import Without
from incrowd.cli.parsing import file_or_address, levels_of, listed
from incrowd.dialects.addresses import EXAMPLES
from incrowd.errors import IN_A_POLICY, ParameterError, SchemaError, TableError, named
from incrowd.io.kinds.files import suffixes
from incrowd.lazy import pl
from incrowd.privacy import MODELS, PrivacyModel
from incrowd.table.judged_values import JUDGES
from incrowd.table.wildcards import WILDCARDS
from incrowd.treatments import TREATMENTS
from incrowd.treatments.base import treatment_of, treatment_texts

if TYPE_CHECKING:
    from incrowd.dialects.addresses import Address
    from incrowd.engines.sql.databases import Database
    from incrowd.hierarchy import Builder
    from incrowd.io.files import CsvFormat
    from incrowd.policy.policy import Policy
    from incrowd.progress import Progress
    from incrowd.table.grids import Ends
    from incrowd.table.judged_values import Judge
    from incrowd.table.schema import Attribute, Schema, Style
    from incrowd.table.wildcards import Wildcards


_sessions: list[Database] = []


# What a table's file may be.
KINDS = f"CSV (.csv, .csv.gz), .parquet, {suffixes()}"
Data = Annotated[Path, typer.Argument(metavar="DATA", help=f"The file of a table: {KINDS}.")]
Written = Annotated[Path, typer.Option("-o", "--output", help=f"File to write: {KINDS}.")]
PolicyFile = Annotated[
    Path | None, typer.Option("--policy", help="A policy file (TOML); `incrowd init DATA` drafts one.")
]
Quasi = Annotated[
    str | None,
    typer.Option(
        "--qi", metavar="A,B,...", help="Quasi-identifiers; by default the columns with a hierarchy."
    ),
]
Sensitive = Annotated[
    str | None, typer.Option("--sensitive", metavar="A,B,...", help="Sensitive attributes.")
]
Identifying = Annotated[
    str | None, typer.Option("--identifying", metavar="A,B,...", help="Columns that are never released.")
]
Person = Annotated[
    str | None,
    typer.Option(
        "--person", metavar="A,B,...", help="Column that says whose row it is; people are counted, not rows."
    ),
]
Household = Annotated[
    str | None,
    typer.Option(
        "--household",
        metavar="A,B,...",
        help="Column that says which household a row belongs to; whoever finds one member has found all.",
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        "--weights", metavar="COLUMN", help="Column of sampling weights: how many people each row stands for."
    ),
]
Insensitive = Annotated[
    str | None,
    typer.Option("--insensitive", metavar="A,B,...", help="Columns that are released as they are."),
]
Unlisted = Annotated[
    str | None,
    typer.Option(
        "--unlisted",
        "--others",
        metavar="drop|keep",
        help="What becomes of columns without a role; refused by default.",
    ),
]
Linked = Annotated[
    bool,
    typer.Option(
        "--linked", help="Rows of a person can be joined: limits hold for all rows of a person together."
    ),
]
Hierarchies = Annotated[
    Path | None,
    typer.Option("--hierarchies", metavar="DIR", help="Folder of hierarchy files named after the columns."),
]
Recipes = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        metavar="COLUMN=RECIPE",
        help="The hierarchy of a column by a recipe: zip=prefix, age=intervals:5,10,20, "
        "day=dates:month,year, grade=order:low,mid,high or job=flat; again for more. It goes before a file "
        "of --hierarchies.",
    ),
]
NullValues = Annotated[
    list[str] | None,
    typer.Option("--null-value", help="A text that means missing, e.g. '?'; again for more."),
]
Treats = Annotated[
    list[str] | None,
    typer.Option(
        "--treat",
        metavar="COLUMN=NAME:PARAMETERS",
        help="What becomes of a column besides recoding, e.g. salary=round:500,top=0.99; again for more. "
        "A value with a comma stands in double quotes. "
        "Known: " + ", ".join(TREATMENTS.names()) + "; `incrowd list treatments` tells their parameters.",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", help="Delimiter of a CSV; found out by default. ', ' trims blanks."),
]
Encoding = Annotated[str, typer.Option("--encoding", help="Encoding of a CSV.")]
Names = Annotated[
    str | None,
    typer.Option("--names", metavar="A,B,...", help="Column names of a CSV that has no header line."),
]
Sheet = Annotated[
    str | None, typer.Option("--sheet", help="The sheet of an Excel workbook, where it has several.")
]
FileOrAddress = Annotated[
    Any,
    typer.Argument(
        metavar="DATA",
        parser=file_or_address,
        help=f"A file, a folder or a pattern, or a database: {', '.join(EXAMPLES)}, or env:NAME for an "
        "address in an environment variable.",
    ),
]
Released = Annotated[
    Any,
    typer.Argument(
        metavar="OUT",
        parser=file_or_address,
        help=f"The release: a file, a folder or a pattern, or a database: {', '.join(EXAMPLES)}, env:NAME.",
    ),
]
Table = Annotated[
    str | None,
    typer.Option("--table", metavar="TABLE", help="The table or view of a database, e.g. schema.people."),
]
People = Annotated[
    Path | None,
    typer.Option(
        "--population",
        metavar="FILE",
        help="A file of the people of whom the table may hold some, for k-map and delta-presence.",
    ),
]
K = Annotated[int | None, typer.Option("-k", help="k-anonymity: smallest class size allowed.")]
L = Annotated[int | None, typer.Option("-l", help="l-diversity: least number of distinct sensitive values.")]
T = Annotated[float | None, typer.Option("-t", help="t-closeness: largest distance to the whole table.")]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="NAME:PARAMETERS",
        help="A privacy model, e.g. k-anonymity:5 or t-closeness:t=0.3,distance=equal; again for more. "
        "Known: " + ", ".join(MODELS.names()) + "; `incrowd list models` tells their parameters.",
        autocompletion=completing.names(MODELS.names()),
    ),
]
AlgorithmName = Annotated[
    str | None,
    typer.Option(
        "--algorithm",
        metavar="NAME[:PARAMETERS]",
        help="Search algorithm, e.g. optimal:metric=discernibility,budget=30s. Known: "
        + ", ".join(ALGORITHMS.names())
        + "; `incrowd list algorithms` tells their parameters.",
        autocompletion=completing.names(ALGORITHMS.names()),
    ),
]
Suppression = Annotated[
    float | None,
    typer.Option("--max-suppression", help="Largest share of records that may be suppressed, 0..1."),
]
Levels = Annotated[
    str | None,
    typer.Option(
        "--levels",
        metavar="A=2,B=0,...",
        help="Take these levels of full-domain recoding; columns not named are searched.",
    ),
]
StyleName = Annotated[
    str | None,
    typer.Option("--style", metavar="STYLE", help="Cells as auto, range, ancestor, set, mean or suppress."),
]
EndsName = Annotated[
    str | None,
    typer.Option(
        "--ends", metavar="ENDS", help="Ends of ranges as outward (rounded, open at the tails) or exact."
    ),
]
SetLimit = Annotated[
    int | None,
    typer.Option(
        "--set-limit", min=1, help="Most values that a cell may list, as {a, b} does; 8 by default."
    ),
]
WildcardName = Annotated[
    str | None,
    typer.Option(
        "--wildcards",
        metavar="MEANING",
        help="What a * or a missing cell matches: value (itself), matches-any or conservative (nothing).",
        autocompletion=completing.names(WILDCARDS),
    ),
]
JudgeName = Annotated[
    str | None,
    typer.Option(
        "--judge",
        metavar="VALUES",
        help="Perturbed values that models judge: before and as released (released), or before (original).",
        autocompletion=completing.names(JUDGES),
    ),
]
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, help="Seed of random choices; that of the policy, or 0.")
]
RowMap = Annotated[
    Path | None,
    typer.Option(
        "--row-map", metavar="FILE", help="Which raw row each released row is (internal/rows.parquet)."
    ),
]
KeepOrder = Annotated[
    bool, typer.Option("--keep-order", help="Row N stays row N; by default rows come in a random order.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Stream = Annotated[
    bool,
    typer.Option(
        "--stream", help="Count and recode a file without reading it whole; folders and patterns always do."
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="With rows that stream: what counting may take, as 2GiB; by default half of the machine's.",
    ),
]
Report = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="Also write a report: .html, .pdf or .json."),
]
Escape = Annotated[
    bool,
    typer.Option(
        "--escape-formulas",
        help="In a CSV, put ' before texts that a spreadsheet would run as formulas; see docs/limits.md.",
    ),
]
Full = Annotated[bool, typer.Option("--full", help="Also show every figure that was measured, in tables.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an output that exists.")]


@dataclass(frozen=True)
class CsvOptions:
    """How a file is written."""

    delimiter: Delimiter = None
    encoding: Encoding = "utf-8"
    names: Names = None
    sheet: Sheet = None

    def check(self) -> None:
        """Refuse an encoding or a delimiter that there is not."""
        self.csv_format()

    def csv_format(self) -> CsvFormat:
        """Put them together."""
        from incrowd.io.files import CsvFormat

        delimiter = None if self.delimiter is None else self.delimiter.replace("\\t", "\t")
        return CsvFormat(delimiter, self.encoding, tuple(listed(self.names)), sheet=self.sheet)

    def read(self, data: Path) -> tuple[pl.DataFrame, CsvFormat | None]:
        """Read a file whole.

        Raises
        ------
        TableError
        """
        from incrowd.io.files import read_table

        return read_table(data, self.csv_format())

    @staticmethod
    def read_beside(path: Path, csv_format: CsvFormat | None) -> pl.DataFrame:
        """Read a table that belongs to one that was read. A release has a header line, whatever that has.

        Raises
        ------
        TableError
        """
        from incrowd.io.files import read_table

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
        from incrowd.engines import open_table
        from incrowd.io.streams import is_scan

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
        from incrowd.hierarchy import builders_of_texts, find_files
        from incrowd.table.schema import Schema

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
        from incrowd.policy.policy import Policy

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
        from incrowd.policy.policy import Policy

        if self.policy is not None:
            return self._read
        return Policy(self._schema(columns, "keep" if lenient and self.unlisted is None else self.unlisted))

    def _schema(self, columns: Sequence[str], unlisted: str | None) -> Schema:
        from incrowd.hierarchy import builders_of_texts, find_files
        from incrowd.table.schema import Schema, require_columns

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
    from incrowd.hierarchy import Hierarchy
    from incrowd.table.schema import Attribute, Role

    found = known.get(name) if role in ("quasi", "sensitive") else None
    tree = Hierarchy.read(found) if isinstance(found, Path) else found
    return Attribute(name, cast(Role, role), hierarchy=tree)


def _nothing() -> Policy:
    """Return a policy of no column, to try settings on."""
    from incrowd.policy.policy import Policy
    from incrowd.table.schema import Schema

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
        if self.algorithm is not None:
            policy = replace(policy, algorithm=ALGORITHMS.parse(self.algorithm))
        if self.max_suppression is not None:
            policy = replace(policy, max_suppression=self.max_suppression)
        if self.style is not None:
            policy = replace(policy, output=cast("Style", self.style))
        if self.ends is not None:
            policy = replace(policy, ends=cast("Ends", self.ends))
        if self.set_limit is not None:
            policy = replace(policy, set_limit=self.set_limit)
        if self.judge is not None:
            policy = replace(policy, judge=cast("Judge", self.judge))
        return policy
