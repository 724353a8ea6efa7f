"""Options that several commands share, and what they make together."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

import typer
from typer.main import get_command

from incrowd.algorithms import ALGORITHMS, Algorithm
from incrowd.errors import MissingExtraError, ParameterError, SchemaError, quoted
from incrowd.io.addresses import is_address, looks_like_address
from incrowd.privacy import MODELS, PrivacyModel

if TYPE_CHECKING:
    from incrowd.engines.sql.databases import Address, Database
    from incrowd.io.files import CsvFormat
    from incrowd.io.targets import Outputs, Target
    from incrowd.jobs.policy import Policy
    from incrowd.progress import Progress
    from incrowd.table.schema import Attribute, Schema


_sessions: list[Database] = []


def _models_help() -> str:
    entries = (f"{model.name}:{','.join(f'{name}=...' for name in model.parameters())}" for model in MODELS)
    return (
        "A privacy model with its parameters, e.g. k-anonymity:5 or t-closeness:t=0.3,distance=equal; "
        "again for more. Known: " + "; ".join(entries)
    )


_Command = TypeVar("_Command", bound=Callable[..., Any])


class Commands(typer.Typer):
    """Commands that take no address where a file belongs, whatever their options are called."""

    def command(self, name: str | None = None, **kwargs: Any) -> Callable[[_Command], _Command]:
        """Register a command whose paths are checked before it begins."""
        register = super().command(name, **kwargs)
        return lambda function: register(_files_only(function))

    @functools.cached_property
    def described(self) -> Any:
        """All commands with their options, made once: that takes longer than most refused calls."""
        return get_command(self)


def _files_only(function: _Command) -> _Command:
    @functools.wraps(function)
    def checked(*args: Any, **given: Any) -> Any:
        for name, value in given.items():
            for path in value if isinstance(value, list | tuple) else (value,):
                if isinstance(path, Path) and looks_like_address(path):
                    # The address itself may have a password.
                    raise ParameterError(
                        f"{name.replace('_', ' ')}: an address stands where a file belongs; a database is "
                        "taken by assess, anonymize, lattice and verify alone, as DATA (postgresql://, "
                        "sqlite:///, duckdb:///)"
                    )
        return function(*args, **given)

    return cast("_Command", checked)


def file_or_address(text: str) -> Path | Address:
    """Tell the address of a database from the path of a file."""
    from incrowd.engines.sql.databases import Address

    return Address(text) if is_address(text) else Path(text)


def named(data: Path | Address) -> str:
    """Return what a user named: a path or an address."""
    return str(data) if isinstance(data, Path) else data.url


Data = Annotated[Path, typer.Argument(metavar="DATA", help="A CSV (.csv, .csv.gz) or Parquet file.")]
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
Insensitive = Annotated[
    str | None,
    typer.Option("--insensitive", metavar="A,B,...", help="Columns that are released as they are."),
]
Others = Annotated[
    str | None,
    typer.Option(
        "--others", metavar="drop|keep", help="What becomes of columns without a role; refused by default."
    ),
]
Hierarchies = Annotated[
    Path | None,
    typer.Option("--hierarchies", metavar="DIR", help="Folder of hierarchy files named after the columns."),
]
NullValues = Annotated[
    list[str] | None,
    typer.Option("--null-value", help="A text that means missing, e.g. '?'; again for more."),
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
FileOrAddress = Annotated[
    Any,
    typer.Argument(
        metavar="DATA",
        parser=file_or_address,
        help="A file, a folder or a pattern, or a database: postgresql://user@host/db, sqlite:///path, "
        "duckdb:///path.",
    ),
]
Released = Annotated[
    Any,
    typer.Argument(
        metavar="OUT",
        parser=file_or_address,
        help="The release: a file, a folder or a pattern, or a database: postgresql://user@host/db, "
        "sqlite:///path, duckdb:///path.",
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
        help="The people of whom the table may hold some (CSV or Parquet), for k-map and delta-presence.",
    ),
]
K = Annotated[int | None, typer.Option("-k", help="k-anonymity: smallest class size allowed.")]
L = Annotated[int | None, typer.Option("-l", help="l-diversity: least number of distinct sensitive values.")]
T = Annotated[float | None, typer.Option("-t", help="t-closeness: largest distance to the whole table.")]
Models = Annotated[list[str] | None, typer.Option("--model", metavar="MODEL:PARAMETERS", help=_models_help())]
AlgorithmName = Annotated[
    str | None,
    typer.Option(
        "--algorithm",
        metavar="NAME[:PARAMETERS]",
        help="Search algorithm, e.g. optimal:metric=discernibility,budget=30s. Known: "
        + ", ".join(ALGORITHMS.names())
        + ".",
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
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, help="Seed of random choices; that of the policy, or 0.")
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
Force = Annotated[bool, typer.Option("--force", help="Replace an output that exists.")]


def opened(
    data: Path | Address,
    asked: CsvFormat,
    *,
    stream: bool,
    memory: str | None = None,
    shown: Progress | None = None,
    table: str | None = None,
) -> tuple[Any, CsvFormat | None, list[str]]:
    """Read a table, or open it where its rows are to stream; return it with its format and columns.

    Raises
    ------
    TableError
    """
    from incrowd.engines import open_table
    from incrowd.io.streams import is_scan

    if not isinstance(data, Path):
        return _opened_database(data, table, stream=stream or memory is not None)
    if table is not None:
        raise ParameterError("--table is for databases; leave it out")
    if memory is not None and not (stream or is_scan(data)):
        raise ParameterError("--memory is for rows that stream; say --stream, or name a folder or a pattern")
    rows, csv_format = open_table(data, asked, stream=stream, memory=memory, progress=shown)
    return rows, csv_format, rows.columns


def _opened_database(
    address: Address, table: str | None, *, stream: bool
) -> tuple[Any, CsvFormat | None, list[str]]:
    from incrowd.engines.sql.databases import Database

    if table is None:
        raise ParameterError("name a table of the database with --table")
    if stream:
        raise ParameterError("--stream and --memory are for files; rows of a database always stream")
    database = Database(address)
    _sessions.append(database)
    found = database.table(table)
    return found, None, found.columns


def close_sessions() -> None:
    """End the sessions of databases that were opened; until then their snapshots hold others up."""
    while _sessions:
        _sessions.pop().close()


def outputs_of(
    *inputs: object, policy: Path | None = None, recoding: Path | None = None, force: bool
) -> Outputs:
    """Take note of all that a call reads, before the first of its outputs.

    Parameters
    ----------
    inputs
        Files, folders, patterns, addresses; None where there is none.
    policy
        A policy file, which may name hierarchy files.
    recoding
        The folder of a recoding.
    """
    from incrowd.io.targets import Outputs
    from incrowd.jobs.policy import hierarchy_files

    named = [] if policy is None else [policy, *hierarchy_files(policy)]
    return Outputs(*inputs, named, recoding, force=force)


def released_file(outputs: Outputs, output: Path, data: Path | Address, *, stream: bool) -> Target:
    """Take note of the released file, or folder where many files are read.

    Raises
    ------
    TableError
        When it overlaps with what is read, exists or cannot be written.
    """
    from incrowd.io.streams import is_scan
    from incrowd.io.targets import is_folder

    many = isinstance(data, Path) and (stream or is_scan(data))
    return outputs.add(output, folder=many and is_folder(output))


def added(
    outputs: Outputs, path: Path | None, *, folder: bool = False, private: bool = False
) -> Target | None:
    """Take note of an output that may be left out.

    Raises
    ------
    TableError
    """
    return None if path is None else outputs.add(path, folder=folder, private=private, parents=private)


def added_report(outputs: Outputs, report: Path | None) -> Target | None:
    """Take note of a report, and refuse one that could not be made, before there is anything to report.

    Raises
    ------
    ParameterError, TableError, MissingExtraError
    """
    if report is None:
        return None
    from importlib.util import find_spec

    from incrowd.report.pages import SUFFIXES

    suffix = report.suffix.lower()
    if suffix not in SUFFIXES:
        raise ParameterError(f"--report {report}: a report is written as {', '.join(SUFFIXES)}")
    target = added(outputs, report)
    wanted = {".html": ("altair", "vl_convert"), ".pdf": ("altair", "vl_convert", "typst")}.get(suffix, ())
    missing = [name for name in wanted if find_spec(name) is None]
    if missing:
        raise MissingExtraError(", ".join(missing), "report", f"a report as {suffix}")
    return target


def listed(text: str | None) -> list[str]:
    """Split a list of column names."""
    return [] if text is None else [name.strip() for name in text.split(",") if name.strip()]


def csv_format(delimiter: str | None, encoding: str, names: str | None) -> CsvFormat:
    """Put the options about a CSV together."""
    from incrowd.io.files import CsvFormat

    if delimiter is not None:
        delimiter = delimiter.replace("\\t", "\t")
    return CsvFormat(delimiter, encoding, tuple(listed(names)))


def schema_of(
    columns: Sequence[str],
    quasi: str | None,
    sensitive: str | None,
    identifying: str | None,
    insensitive: str | None,
    others: str | None,
    hierarchies: Path | None,
    null_values: list[str] | None,
    *,
    lenient: bool = False,
) -> Schema:
    """Make a schema from options.

    Parameters
    ----------
    columns
        The table's columns.
    lenient
        Whether columns without a role do no harm, as where nothing is released.
    """
    from incrowd.hierarchy import Hierarchy, find_files
    from incrowd.table.schema import Attribute, Role, Schema

    files = {} if hierarchies is None else find_files(hierarchies, columns)
    roles: dict[str, list[str]] = {
        "identifying": listed(identifying),
        "quasi": listed(quasi),
        "sensitive": listed(sensitive),
        "insensitive": listed(insensitive),
    }
    if quasi is None:
        taken = {name for names in roles.values() for name in names}
        roles["quasi"] = [name for name in columns if name in files and name not in taken]
    if not roles["quasi"]:
        raise SchemaError("no quasi-identifier: name them with --qi a,b,c, or give --policy or --hierarchies")
    if lenient and others is None:
        others = "keep"
    attributes: list[Attribute] = [
        Attribute(
            name,
            cast(Role, role),
            hierarchy=Hierarchy.read(files[name])
            if name in files and role in ("quasi", "sensitive")
            else None,
        )
        for role, names in roles.items()
        for name in names
    ]
    return Schema.of(
        attributes,
        null_values=null_values or (),
        others=cast("Literal['drop', 'keep'] | None", others),
    )


def levels_of(text: str | None) -> dict[str, int] | None:
    """Read ``a=2,b=0``.

    Raises
    ------
    ParameterError
        When a level is no whole number of at least 0.
    """
    if text is None:
        return None
    levels = {}
    for part in listed(text):
        name, equals, level = part.rpartition("=")
        if not equals or not re.fullmatch(r"\s*[0-9]{1,9}\s*", level):
            raise ParameterError(
                f"--levels: write column=level with whole numbers from 0, not {quoted(part)}"
            )
        levels[name.strip()] = int(level)
    return levels


def refuse_beside_policy(policy: Path | None, **given: object) -> None:
    """Refuse options about columns beside a policy file, if there is one: they would be passed over.

    Raises
    ------
    ParameterError
    """
    if policy is None:
        return
    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None]
    if named:
        raise ParameterError(
            f"{', '.join(named)}: the policy file says what the columns are; change it there"
        )


def algorithms_of(text: str) -> list[Algorithm]:
    """Read algorithms with their parameters, ``a,b:x=1,y=2,c``, or ``all`` that need no parameter.

    Raises
    ------
    PolicyError, ParameterError
    """
    if text.strip() == "all":
        return [entry() for entry in ALGORITHMS if not entry.needed()]
    parts: list[str] = []
    for part in listed(text):
        # What names no algorithm is one more parameter of the one before.
        if parts and "=" in part and part.partition(":")[0] not in ALGORITHMS:
            parts[-1] += "," + part
        else:
            parts.append(part)
    return [ALGORITHMS.parse(part) for part in parts]


def numbers_of(text: str | None, option: str, kind: type[int] | type[float] = int) -> list[Any]:
    """Read ``4,8,16``.

    Raises
    ------
    ParameterError
        When one is no number.
    """
    try:
        return [kind(part) for part in listed(text)]
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise ParameterError(f"{option}: write {what} with commas between, not {quoted(text)}") from None


def models_of(k: int | None, l: int | None, t: float | None, models: list[str] | None) -> list[PrivacyModel]:  # noqa: E741
    """Put the options about privacy models together."""
    short = {"k": k, "l": l, "t": t}
    made: list[PrivacyModel] = [
        model.from_settings({model.limit_name: short[model.shorthand]})
        for model in MODELS
        if model.shorthand and short[model.shorthand] is not None
    ]
    return made + [MODELS.parse(text) for text in models or ()]


def override(
    policy: Policy,
    models: list[PrivacyModel],
    algorithm: str | None,
    suppression: float | None,
    output: str | None,
) -> Policy:
    """Let options of the command line win over a policy file's settings.

    A model on the command line replaces those of the same name in the policy.
    """
    from incrowd.table.schema import Style

    changes: dict[str, object] = {}
    if algorithm is not None:
        changes["algorithm"] = ALGORITHMS.parse(algorithm)
    if suppression is not None:
        changes["max_suppression"] = suppression
    if output is not None:
        changes["output"] = cast(Style, output)
    return replace(policy.with_models(models), **changes)  # type: ignore[arg-type]


def policy_or_columns(
    path: Path | None,
    columns: list[str],
    qi: str | None,
    sensitive: str | None,
    hierarchies: Path | None,
    null_value: list[str] | None,
) -> Policy:
    """Read the policy, or make one of the options about columns where nothing is released."""
    from incrowd.jobs.policy import Policy

    if path is not None:
        return read_policy(path)
    return Policy(schema_of(columns, qi, sensitive, None, None, None, hierarchies, null_value, lenient=True))


def read_policy(path: Path) -> Policy:
    """Read a policy file."""
    from incrowd.jobs.policy import Policy

    return Policy.read(path)
