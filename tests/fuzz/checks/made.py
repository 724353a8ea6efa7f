"""A release, and the raw table as in the oracle's reading."""

from __future__ import annotations

import re
import traceback
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

import incrowd as ic
from fuzz import oracle
from fuzz.crowds import rows_of_people
from fuzz.draw import LISTED, Case, needs_population, spelling_of
from fuzz.oracle import STAR, Classes, Column, Spec
from fuzz.oracle.values import number_in
from fuzz.sources import Placed, Services, as_texts, fetched, frame_of, held
from incrowd.core.hierarchy import Hierarchy, builder_from_spec
from incrowd.core.table.schema import Attribute, Schema
from incrowd.core.treatments import TREATMENTS
from incrowd.measures.privacy import MODELS
from incrowd.release.policy.policy import Policy
from incrowd.search import ALGORITHMS


@dataclass(frozen=True)
class Finding:
    """A deviation from the expected.

    Attributes
    ----------
    check
        Which check found it; a crash names the error and the place.
    detail
        What was seen.
    """

    check: str
    detail: str


@dataclass
class Outcome:
    """The outcome of a case: ``released``, ``infeasible`` or ``refused``, the reason, findings, events."""

    status: str
    reason: str = ""
    findings: list[Finding] = field(default_factory=list)
    met: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


@dataclass
class Made:
    """A release with the raw table as in the oracle's reading.

    Attributes
    ----------
    out
        The released rows.
    origin
        The raw row of each released one.
    quasi, sensitive
        The raw columns; rows in the raw order.
    cells
        Per quasi-identifier the released cells in the raw order.
    before
        Rows that came in suppressed.
    classes
        The released classes; rows in the raw order. Sensitive values are those before they were perturbed.
    read
        The same classes with the sensitive values that were released.
    """

    case: Case
    policy: Policy
    release: Any
    place: Placed
    out: pl.DataFrame
    origin: list[int]
    quasi: dict[str, Column]
    sensitive: dict[str, Column]
    cells: dict[str, list[str | None]]
    before: list[bool]
    classes: Classes
    read: Classes

    @property
    def perturbed(self) -> list[str]:
        return [column["name"] for column in self.case["columns"] if "treat" in column]

    @property
    def live(self) -> list[bool]:
        return [not gone for gone in self.before]

    @property
    def kind(self) -> str:
        return str(self.release.recoding.kind)


def policy_of(case: Case) -> Policy:
    attributes = []
    for column in case["columns"]:
        if column["role"] == "other":
            continue
        hierarchy: Any = None
        if column.get("paths"):
            hierarchy = Hierarchy.from_paths(column["paths"])
        elif column.get("recipe"):
            hierarchy = builder_from_spec(column["recipe"])
        levels = column.get("levels")
        attributes.append(
            Attribute(
                column["name"], column["role"], column.get("kind", "auto"), hierarchy, column.get("output"),
                column.get("weight", 1.0), None if levels is None else (levels[0], levels[1]),
                column.get("format"), column.get("decimal"), column.get("thousands"),
                TREATMENTS.parse(column["treat"]) if "treat" in column else None, grid=column.get("grid"),
                missing=tuple(column.get("missing", ())),
            )
        )  # fmt: skip
    algorithm = dict(case["algorithm"])
    attackers = [
        ic.Attacker(attacker["name"], attacker["knows"], [_model_of(model) for model in attacker["models"]])
        for attacker in case.get("attackers", [])
    ]
    return Policy(
        Schema.of_attributes(attributes, null_values=case["null_values"], unlisted=case["others"]),
        (*map(_model_of, case["models"]), *attackers),
        ALGORITHMS.get(algorithm.pop("name")).from_settings(algorithm),
        case["max_suppression"], case["output"], case["keep_order"], case["seed"],
        case.get("set_limit", LISTED), case.get("wildcards", "value"), judge=case.get("judge", "released"),
        # Every row is there to be compared; `suppressed.judged` looks at what is left out.
        ends=case.get("ends", "exact"), suppressed="keep",
    )  # fmt: skip


def _model_of(model: dict[str, Any]) -> Any:
    settings = {name: value for name, value in model.items() if name != "model"}
    return MODELS.get(model["model"]).from_settings(settings)


def spec_of(case: Case, column: dict[str, Any]) -> Spec:
    output = column.get("output") or case["output"]
    if case["algorithm"]["name"] == "cell-suppression" and output == "auto":
        output = "suppress"
    return Spec(
        column["name"], column["role"], column.get("kind", "auto"), column.get("recipe"),
        tuple(map(tuple, column["paths"])) if column.get("paths") else None,
        output if column["role"] == "quasi" else "auto", spelling_of(column),
        "outward" if "grid" in column else case.get("ends", "exact"), column.get("grid"),
        tuple(column.get("missing", ())),
    )  # fmt: skip


def anonymized(case: Case, policy: Policy, place: Placed) -> Any:
    release = ic.anonymize(
        place.table,
        policy,
        population=people_of(case, place),
        force=True,
        unanswered="write",
        **place.options,
    )
    # A release that no answer could let leave counts as none.
    release.verdict.refuse(only_broken=True)
    return release


def people_of(case: Case, place: Placed) -> pl.DataFrame | None:
    if not any(needs_population(model) for model in case["models"]):
        return None
    quasi = [column for column in case["columns"] if column["role"] == "quasi"]
    frame = frame_of(quasi, "people")
    if place.source == "sqlite":
        return held(frame)
    texts = all(dtype == pl.String for dtype in place.seen.dtypes)
    return as_texts(frame) if texts else frame


def applied_to(case: Case, classes: Classes) -> Iterator[tuple[str, dict[str, Any], Classes]]:
    """Every requested model: name, settings, and judged groups."""
    quasi = [column["name"] for column in case["columns"] if column["role"] == "quasi"]
    wildcards = case.get("wildcards", "value")
    asked = [(case["models"], classes.seen(wildcards))]
    for attacker in case.get("attackers", []):
        known = [quasi.index(name) for name in attacker["knows"]]
        asked.append((attacker["models"], classes.known_by(known).seen(wildcards)))
    for models, groups in asked:
        for model in models:
            yield model["model"], {name: value for name, value in model.items() if name != "model"}, groups


def crash(where: str, error: BaseException) -> Finding:
    places = traceback.extract_tb(error.__traceback__)
    inside = [place for place in places if "incrowd" in place.filename and "tests" not in place.filename]
    last = (inside or places)[-1]
    name = Path(last.filename).stem
    trace = "".join(traceback.format_exception(error)[-6:])
    return Finding(f"crash {type(error).__name__} in {name}.{last.name} ({where})", trace[-3000:])


def is_left_out(made: Made, table: pl.DataFrame, message: str) -> bool:
    """Say whether verify refuses a table for a good reason: no record has the value that a model protects."""
    named = [
        name for name in made.sensitive if f"column {name!r} has no value that is written as the" in message
    ]
    protected = {
        str(model["value"])
        for model in made.case["models"]
        if "value" in model and model.get("attribute") in (None, *named)
    }
    for name in named:
        cells = set(as_texts(table)[name].drop_nulls())
        if table[name].dtype.is_numeric():  # a number is one value however it is written
            cells = {value for value in protected for cell in cells if number_in(value) == number_in(cell)}
        if protected & cells:
            return False
    return bool(named)


def skeleton(message: str) -> str:
    """A message without names and figures, so that equal reasons count once."""
    short = re.sub(r"'[^']*'|\"[^\"]*\"", "_", message)
    return re.sub(r"[0-9][0-9.,%]*", "N", short)[:110]


def met_in(case: Case) -> list[tuple[str, str]]:
    met = [("source", case["source"]), ("algorithm", case["algorithm"]["name"])]
    met += [("model", model["model"]) for model in case["models"]]
    quasi = [column for column in case["columns"] if column["role"] == "quasi"]
    met += [("style", style) for style in {column.get("output") or case["output"] for column in quasi}]
    kinds = {column["type"] for column in case["columns"] if column["role"] in ("quasi", "sensitive")}
    if case["null_values"] or any("missing" in column for column in case["columns"]):
        met += [("null", column["type"]) for column in case["columns"] if _has_null(case, column)]
    if any(spelling_of(column) is not None for column in case["columns"]):
        met.append(("spelled", case["source"]))
    if max(rows_of_people(case).values(), default=0) > 1:
        met.append(("person", case["source"]))
    if any(column["role"] == "quasi" for column in case["columns"]):
        met.append(("ends", case.get("ends", "exact")))
    met.append(("wildcards", case.get("wildcards", "value")))
    met += [("power", str(model["power"])) for model in case["models"] if "power" in model]
    met += [
        ("attacker", model["model"]) for attacker in case.get("attackers", []) for model in attacker["models"]
    ]
    met += [
        ("perturbed", column["treat"].partition(":")[0]) for column in case["columns"] if "treat" in column
    ]
    met += [("stored", f"{case['source']} {each['stored']}") for each in case["columns"] if "stored" in each]
    return met + [("type", kind) for kind in kinds]


def _has_null(case: Case, column: dict[str, Any]) -> bool:
    if column["role"] not in ("quasi", "sensitive"):
        return False
    raws = frame_of([column]).to_series(0).to_list()
    nulls = [*case["null_values"], *column.get("missing", [])]
    return any(raw is not None and oracle.is_missing(raw, nulls) for raw in raws)


def raw_columns(case: Case, seen: pl.DataFrame) -> tuple[dict[str, Column], dict[str, Column], list[bool]]:
    columns = {column["name"]: column for column in case["columns"]}
    raws = {name: seen.get_column(name).to_list() for name in columns if name in seen.columns}
    quasi = [name for name, column in columns.items() if column["role"] == "quasi"]
    before = [
        all(cell == STAR and isinstance(cell, str) for cell in row)
        for row in zip(*(raws[n] for n in quasi), strict=True)
    ]
    live = [not gone for gone in before]
    everywhere = [True] * len(live)
    nulls = case["null_values"]
    return (
        {name: oracle.read_column(spec_of(case, columns[name]), raws[name], nulls, live) for name in quasi},
        {
            name: oracle.read_column(spec_of(case, column), raws[name], nulls, everywhere)
            for name, column in columns.items()
            if column["role"] == "sensitive"
        },
        before,
    )


def pointed(case: Case, name: str, released: pl.Series) -> list[str | None]:
    """Read released cells, with decimal points where the column's spelling has a comma."""
    [column] = (each for each in case["columns"] if each["name"] == name)
    named = column.get("paths") or "order" in column.get("recipe", {})
    points = column.get("decimal") != "," and column.get("thousands") != "."
    if points or column.get("kind") == "category" or named:
        return released.to_list()
    return [oracle.pointed(cell) for cell in released.to_list()]


def whose(case: Case, seen: pl.DataFrame) -> list[Hashable]:
    """Return the person of each row, or nothing without a person column."""
    columns = [column["name"] for column in case["columns"] if column["role"] == "person"]
    if not columns:
        return []
    return oracle.read_people([seen.get_column(name).to_list() for name in columns], case["null_values"])


def rid_of(case: Case) -> str:
    """Name the column that tells which row each is."""
    return str(next(column["name"] for column in case["columns"] if column.get("rid")))


def in_rid_order(frame: pl.DataFrame, rid: str) -> pl.DataFrame:
    """Put rows in the order of the column that tells which row each is."""
    names = frame.get_column(rid).to_list()
    return frame[sorted(range(len(names)), key=names.__getitem__)]


def read_release(
    case: Case, policy: Policy, release: Any, place: Placed, services: Services
) -> tuple[Made | None, list[Finding]]:
    try:
        out = fetched(release.texts, services.folder)
    except Exception as error:
        return None, [crash("fetch", error)]
    rid = rid_of(case)
    number = {name: row for row, name in enumerate(place.seen.get_column(rid).to_list())}
    if rid not in out.columns:
        return None, [Finding("columns", f"{rid!r} is not released: {out.columns}")]
    names = out.get_column(rid).to_list()
    if sorted(names) != sorted(number):
        return None, [Finding("rows", f"{len(names)} rows for {len(number)}, or other ones")]
    origin = [number[name] for name in names]
    if case["keep_order"] and origin != sorted(origin):
        return None, [Finding("order", f"row N of the release is not row N of the table: {origin}")]
    if place.ordered and [row - 1 for row in release.row_map()["row"]] != origin:
        return None, [Finding("order", f"the row map does not tell which row each is: {origin}")]
    quasi, sensitive, before = raw_columns(case, place.seen)
    lacking = [name for name in quasi if name not in out.columns]
    if lacking:
        return None, [Finding("columns", f"quasi-identifiers are not released: {lacking}")]
    row_of = {row: place for place, row in enumerate(origin)}
    cells = {}
    for name in quasi:
        released = out.get_column(name)
        if released.dtype not in (pl.String, pl.Null):
            return None, [Finding("columns", f"{name!r} is released as {released.dtype}")]
        listed = pointed(case, name, released)
        cells[name] = [listed[row_of[row]] for row in range(len(listed))]
    long = _longest_list(case, place, cells)
    if long > case.get("set_limit", LISTED):
        return None, [Finding("sets", f"a cell lists {long} values")]
    classes = oracle.group(list(cells.values()), sensitive, whose(case, place.seen))
    order = [row_of[row] for row in range(len(origin))]
    drawn = [out.get_column(column["name"])[order] for column in case["columns"] if "treat" in column]
    left = raw_columns(case, place.seen.with_columns(drawn))[1] if drawn else sensitive
    seen = oracle.group(list(cells.values()), left, whose(case, place.seen))
    people = people_of(case, place)
    if people is not None:
        specs = {column["name"]: spec_of(case, column) for column in case["columns"]}
        everywhere = [True] * people.height
        read = [
            oracle.read_population(
                specs[name], people.get_column(name).to_list(), case["null_values"], everywhere
            )
            for name in quasi
        ]
        oracle.with_people(classes, read, read)
    return Made(case, policy, release, place, out, origin, quasi, sensitive, cells, before, classes, seen), []


def _longest_list(case: Case, place: Placed, cells: dict[str, list[str | None]]) -> int:
    """Return how many values the longest list of a column without hierarchy has; a raw value is no list."""
    longest = 0
    for column in case["columns"]:
        if column["role"] != "quasi" or column.get("paths") or column.get("recipe"):
            continue
        raw = set(place.seen.get_column(column["name"]).cast(pl.String).to_list())
        result = (
            oracle.parts_of_set(cell)
            for cell in cells[column["name"]]
            if cell is not None and cell not in raw
        )
        longest = max([longest, *(len(parts) for parts in result if parts is not None)])
    return longest


def is_summarized(made: Made, column: Column) -> bool:
    """Say whether cells are means or most frequent values, which need not cover the rows."""
    return made.kind == "local" and column.style == "mean"
