"""Single options that several commands share, besides the sets of options in `option_groups`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from incrowd.core.io.kinds.files import suffixes
from incrowd.core.treatments import TREATMENTS
from incrowd.engines.dialects.addresses import EXAMPLES
from incrowd.faces.cli import completing
from incrowd.faces.cli.parsing import file_or_address
from incrowd.measures.privacy import MODELS
from incrowd.release.policy.settings import SETTINGS
from incrowd.search import ALGORITHMS
from incrowd_gate.points import ANSWERABLE, UNANSWERED


def _setting(name: str, option: str | None = None, *, metavar: str | None = None) -> Any:
    """Build the option of a policy setting from the setting's declaration."""
    field = SETTINGS[name]
    declared = field.metadata["parameter"]
    is_flag = declared.kind is bool
    default = f"{field.default:g}" if declared.kind is float else field.default
    words = (
        declared.meaning.removeprefix("whether ") if is_flag else f"{declared.meaning}; by default {default}"
    )
    return typer.Option(
        option or f"--{name.replace('_', '-')}",
        metavar=metavar,
        min=declared.low if declared.kind is int else None,
        help=f"{words[0].upper()}{words[1:]}.",
        autocompletion=completing.names(declared.choices) if declared.choices else None,
    )


# File formats of a table, for help texts.
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
        "age=bands:18,30,65, day=dates:month,year, grade=order:low,mid,high or job=flat; again for more. "
        "It goes before a file of --hierarchies.",
    ),
]
NullValues = Annotated[
    list[str] | None,
    typer.Option("--null-value", help="A text that means missing, e.g. '?'; again for more."),
]
SuppressedAs = Annotated[
    list[str] | None,
    typer.Option(
        "--suppressed-as",
        metavar="TEXT",
        help="What stands in suppressed cells of another tool beside *, e.g. NA; '' is an empty "
        "cell; again for more.",
    ),
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
HeaderRow = Annotated[
    int | None,
    typer.Option(
        "--header-row",
        metavar="N",
        min=1,
        help="The line of a CSV, or the row of a workbook, that names the columns; found out by default.",
    ),
]
FillMerged = Annotated[
    bool,
    typer.Option(
        "--fill-merged",
        help="Cells of a workbook that are merged down a column all have the value of the first.",
    ),
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
Suppression = Annotated[float | None, _setting("max_suppression")]
Levels = Annotated[
    str | None,
    typer.Option(
        "--levels",
        metavar="A=2,B=0,...",
        help="Take these levels of full-domain recoding; columns not named are searched.",
    ),
]
StyleName = Annotated[str | None, _setting("output", "--style", metavar="STYLE")]
EndsName = Annotated[str | None, _setting("ends", metavar="ENDS")]
SetLimit = Annotated[int | None, _setting("set_limit")]
WildcardName = Annotated[str | None, _setting("wildcards", metavar="MEANING")]
SuppressedName = Annotated[str | None, _setting("suppressed", metavar="WHAT")]
JudgeName = Annotated[str | None, _setting("judge", metavar="VALUES")]
Accept = Annotated[
    list[str] | None,
    typer.Option(
        "--accept",
        metavar="POINT:COLUMN=WHY",
        help="Accept an open point of the verdict, with the reason; repeatable.",
        autocompletion=completing.names(ANSWERABLE),
    ),
]
UnansweredName = Annotated[
    str,
    typer.Option(
        "--unanswered",
        metavar="refuse|write",
        help="What becomes of a release with open points: none is written (refuse), or it is (write).",
        autocompletion=completing.names(UNANSWERED.choices or ()),
    ),
]
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, help="Seed of random choices; that of the policy, or 0.")
]
Goal = Annotated[
    str | None,
    typer.Option(
        "--goal",
        metavar="analysis:NAME",
        help="Choose the setting that keeps an analysis of the policy best, under all its limits.",
    ),
]
RowMap = Annotated[
    Path | None,
    typer.Option(
        "--row-map", metavar="FILE", help="Which raw row each released row is (internal/rows.parquet)."
    ),
]
ByKey = Annotated[
    str | None,
    typer.Option("--by", metavar="COLUMN", help="A column of keys in both tables, in place of --row-map."),
]
Aligned = Annotated[bool, typer.Option("--aligned", help="Row N of both files is one person.")]
KeepOrder = Annotated[bool, _setting("keep_order")]
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
