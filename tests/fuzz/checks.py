"""One case: make the release, and hold everything that is said of it against the oracle."""

from __future__ import annotations

import math
import re
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import incrowd as ic
from fuzz import oracle
from fuzz.draw import IN_MEMORY, Case, needs_population
from fuzz.oracle import STAR, Classes, Column, Spec
from fuzz.sources import Placed, Services, as_texts, csv_bytes, fetched, frame_of, held, placed, read_csv
from incrowd.algorithms import ALGORITHMS
from incrowd.hierarchy import Hierarchy, builder_from_spec
from incrowd.policy import Policy
from incrowd.privacy import MODELS
from incrowd.recoding import Recoding
from incrowd.schema import Attribute, Schema

QUICK = (
    "columns", "rows", "order", "others", "truth", "nul", "narrow", "levels", "suppression", "model", "account",
    "measured", "utility", "leak", "needless",
)  # fmt: skip
"""Beginnings of the findings that need no second release."""


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be.

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
    """What became of a case: ``released``, ``infeasible`` or ``refused``, the reason, findings, what was met."""

    status: str
    reason: str = ""
    findings: list[Finding] = field(default_factory=list)
    met: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


@dataclass
class Made:
    """A release with the raw table as the oracle reads it.

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
        The released classes; rows in the raw order.
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
            )
        )  # fmt: skip
    algorithm = dict(case["algorithm"])
    models = [dict(model) for model in case["models"]]
    return Policy(
        Schema.of(attributes, null_values=case["null_values"], others=case["others"]),
        tuple(MODELS.get(model.pop("model")).from_settings(model) for model in models),
        ALGORITHMS.get(algorithm.pop("name")).from_settings(algorithm),
        case["max_suppression"], case["output"], case["shuffle"], case["seed"],
    )  # fmt: skip


def spec_of(case: Case, column: dict[str, Any]) -> Spec:
    output = column.get("output") or case["output"]
    if case["algorithm"]["name"] == "cell-suppression" and output == "auto":
        output = "suppress"
    return Spec(
        column["name"], column["role"], column.get("kind", "auto"), column.get("recipe"),
        tuple(map(tuple, column["paths"])) if column.get("paths") else None,
        output if column["role"] == "quasi" else "auto",
    )  # fmt: skip


# --- a case -------------------------------------------------------------------------------------------


def run(case: Case, services: Services, *, thorough: bool = True) -> Outcome:
    """Try a case.

    Parameters
    ----------
    thorough
        Whether to write, read back, verify, apply and compare engines, too.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with placed(case["source"], frame_of(case["columns"]), services) as place:
                return _run(case, place, services, thorough)
        except Exception as error:
            return Outcome("released", findings=[_crash("harness", error)])


def _run(case: Case, place: Placed, services: Services, thorough: bool) -> Outcome:
    try:
        policy = policy_of(case)
        release = _anonymize(case, policy, place)
    except ic.InfeasibleError as error:
        findings = [*_leaks(case, place, str(error)), *_needless(case, place, str(error))]
        return Outcome("infeasible", _skeleton(str(error)), findings)
    except ic.IncrowdError as error:
        return Outcome("refused", _skeleton(str(error)), _leaks(case, place, str(error)))
    except Exception as error:
        return Outcome("refused", "crash", [_crash("anonymize", error)])
    outcome = Outcome("released", met=_met(case))
    made, problems = _made(case, policy, release, place, services)
    outcome.findings += problems
    if made is None:
        return outcome
    checks = [_columns, _truth, _narrow, _levels, _suppression, _models, _account, _loss]
    if thorough:
        checks += [_policy_back, _recoding_back, _engines, _written, _applied]
    for check in checks:
        try:
            outcome.findings += list(check(made, services, outcome))
        except Exception as error:
            outcome.findings.append(_crash(check.__name__.strip("_"), error))
    return outcome


def _anonymize(case: Case, policy: Policy, place: Placed) -> Any:
    return ic.anonymize(place.table, policy, population=_people(case, place), **place.options)


def _people(case: Case, place: Placed) -> pl.DataFrame | None:
    if not any(needs_population(model) for model in case["models"]):
        return None
    quasi = [column for column in case["columns"] if column["role"] == "quasi"]
    frame = frame_of(quasi, "people")
    if place.source == "sqlite":
        return held(frame)
    texts = all(dtype == pl.String for dtype in place.seen.dtypes)
    return as_texts(frame) if texts else frame


def _crash(where: str, error: BaseException) -> Finding:
    places = traceback.extract_tb(error.__traceback__)
    inside = [place for place in places if "incrowd" in place.filename and "tests" not in place.filename]
    last = (inside or places)[-1]
    name = Path(last.filename).stem
    trace = "".join(traceback.format_exception(error)[-6:])
    return Finding(f"crash {type(error).__name__} in {name}.{last.name} ({where})", trace[-3000:])


def _skeleton(message: str) -> str:
    """A message without names and figures, so that equal reasons count as one."""
    short = re.sub(r"'[^']*'|\"[^\"]*\"", "_", message)
    return re.sub(r"[0-9][0-9.,%]*", "N", short)[:110]


def _met(case: Case) -> list[tuple[str, str]]:
    met = [("source", case["source"]), ("algorithm", case["algorithm"]["name"])]
    met += [("model", model["model"]) for model in case["models"]]
    quasi = [column for column in case["columns"] if column["role"] == "quasi"]
    met += [("style", style) for style in {column.get("output") or case["output"] for column in quasi}]
    kinds = {column["type"] for column in case["columns"] if column["role"] in ("quasi", "sensitive")}
    if case["null_values"]:
        met += [("null", column["type"]) for column in case["columns"] if _has_null(case, column)]
    return met + [("type", kind) for kind in kinds]


def _has_null(case: Case, column: dict[str, Any]) -> bool:
    if column["role"] not in ("quasi", "sensitive"):
        return False
    raws = frame_of([column]).to_series(0).to_list()
    return any(raw is not None and oracle.is_missing(raw, case["null_values"]) for raw in raws)


# --- reading what was made ----------------------------------------------------------------------------


def _raw(case: Case, seen: pl.DataFrame) -> tuple[dict[str, Column], dict[str, Column], list[bool]]:
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


def _rid(case: Case) -> str:
    return str(next(column["name"] for column in case["columns"] if column.get("rid")))


def _made(
    case: Case, policy: Policy, release: Any, place: Placed, services: Services
) -> tuple[Made | None, list[Finding]]:
    try:
        out = fetched(release.table, services.folder)
    except Exception as error:
        return None, [_crash("fetch", error)]
    rid = _rid(case)
    number = {name: row for row, name in enumerate(place.seen.get_column(rid).to_list())}
    if rid not in out.columns:
        return None, [Finding("columns", f"{rid!r} is not released: {out.columns}")]
    names = out.get_column(rid).to_list()
    if sorted(names) != sorted(number):
        return None, [Finding("rows", f"{len(names)} rows for {len(number)}, or other ones")]
    origin = [number[name] for name in names]
    if place.ordered and not case["shuffle"] and origin != sorted(origin):
        return None, [Finding("order", f"row N of the release is not row N of the table: {origin}")]
    quasi, sensitive, before = _raw(case, place.seen)
    lacking = [name for name in quasi if name not in out.columns]
    if lacking:
        return None, [Finding("columns", f"quasi-identifiers are not released: {lacking}")]
    row_of = {row: place for place, row in enumerate(origin)}
    cells = {}
    for name in quasi:
        released = out.get_column(name)
        if released.dtype not in (pl.String, pl.Null):
            return None, [Finding("columns", f"{name!r} is released as {released.dtype}")]
        listed = released.to_list()
        cells[name] = [listed[row_of[row]] for row in range(len(listed))]
    classes = oracle.group(list(cells.values()), sensitive)
    people = _people(case, place)
    if people is not None:
        specs = {column["name"]: spec_of(case, column) for column in case["columns"]}
        read = [
            oracle.read_column(
                replace(specs[name], output="auto"),
                people.get_column(name).to_list(),
                case["null_values"],
                [True] * people.height,
            )
            for name in quasi
        ]
        for column in read:
            column.by_number = True
        oracle.with_people(classes, read, read)
    return Made(case, policy, release, place, out, origin, quasi, sensitive, cells, before, classes), []


# --- what is released ---------------------------------------------------------------------------------


def _columns(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """Identifying columns are gone, and others are as they were."""
    roles = {column["name"]: column["role"] for column in made.case["columns"]}
    kept = [
        name
        for name in made.place.seen.columns
        if roles[name] != "identifying" and (roles[name] != "other" or made.case["others"] == "keep")
    ]
    if made.out.columns != kept:
        yield Finding("columns", f"released {made.out.columns} and not {kept}")
        return
    for name in kept:
        if name in made.quasi:
            continue
        raw = [_bare(value) for value in made.place.seen.get_column(name).to_list()]
        now = [_bare(value) for value in made.out.get_column(name).to_list()]
        wrong = [row for place, row in enumerate(made.origin) if now[place] != raw[row]]
        if wrong:
            yield Finding(
                "others", f"{name!r} changed in rows {wrong[:5]}: {[raw[row] for row in wrong[:3]]}"
            )


def _bare(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def _truth(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """Every cell covers the value that it stands for; means and most frequent values are looked at apart."""
    for name, column in made.quasi.items():
        for row, cell in enumerate(made.cells[name]):
            if cell is not None and "\0" in cell and "\0" not in "".join(filter(None, column.texts)):
                yield Finding("nul", f"{name!r} has a NUL in row {row}: {cell!r}")
                return
            if made.before[row]:
                if cell != STAR:
                    yield Finding("truth", f"{name!r} of a row that came in suppressed: {cell!r}")
                    return
                continue
            if _summarized(made, column):
                continue
            if not oracle.covers(column, column.keys[row], cell):
                yield Finding(
                    "truth", f"{name!r} row {row}: {cell!r} for {column.keys[row]!r} ({column.style})"
                )
                return


def _summarized(made: Made, column: Column) -> bool:
    return made.kind == "local" and column.style == "mean"


def _narrow(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """Local recoding gives a class the narrowest cells, and means are the means."""
    if made.kind != "local":
        return
    for cells, rows in zip(made.classes.cells, made.classes.rows, strict=True):
        for (name, column), cell in zip(made.quasi.items(), cells, strict=True):
            problem = oracle.narrowest(column, [column.keys[row] for row in rows], cell)
            if problem is not None:
                values = sorted({repr(column.keys[row]) for row in rows})
                yield Finding("narrow", f"{name!r} {cell!r} ({column.style}): {problem}: {values[:6]}")
                return


def _levels(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """In full-domain recoding every value of a column is on the column's level."""
    if made.kind != "full-domain":
        return
    levels = made.release.recoding.decisions()["levels"]
    attributes = {column["name"]: column.get("levels") for column in made.case["columns"]}
    for name, column in made.quasi.items():
        level, bounds = levels[name], attributes[name]
        if bounds is not None and (level < bounds[0] or (bounds[1] is not None and level > bounds[1])):
            yield Finding("levels", f"{name!r} is on level {level}, outside {bounds}")
        for row, cell in enumerate(made.cells[name]):
            if all(cells[row] == STAR for cells in made.cells.values()):
                continue
            key = column.keys[row]
            if not _on_level(column, key, level, cell):
                yield Finding("levels", f"{name!r} row {row}: {cell!r} for {key!r} on level {level}")
                return


def _on_level(column: Column, key: Any, level: int, cell: str | None) -> bool:
    if level == 0:
        return cell is None if key is None else cell is not None and oracle.same_value(column, key, cell)
    if column.paths is None:
        return cell == STAR
    root = column.leaves[0][-1] if column.leaves else STAR
    path = (None, root) if key is None else column.paths[key]
    return cell == path[min(level, len(path) - 1)]


def _suppression(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    classes = made.classes
    if Fraction(classes.suppressed, classes.total) > Fraction(made.case["max_suppression"]) + Fraction(
        1, 10**12
    ):
        yield Finding(
            "suppression", f"{classes.suppressed} of {classes.total}, {made.case['max_suppression']} may be"
        )


def _models(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """Every model holds in the table that leaves."""
    for model in made.case["models"]:
        settings = {name: value for name, value in model.items() if name != "model"}
        for problem in oracle.holds(model["model"], settings, made.classes):
            yield Finding(f"model {model['model']}", problem)


# --- the account --------------------------------------------------------------------------------------


def _account(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    account = made.release.to_dict()
    keys = [[column.keys[row] for row in range(made.classes.total)] for column in made.quasi.values()]
    cells = [
        [STAR if gone else ("key", key) for key, gone in zip(column, made.before, strict=True)]
        for column in keys
    ]
    yield from _figures("after", account["after"], made.classes)
    yield from _figures("before", account["before"], oracle.group(cells, made.sensitive))
    for measured in account["after"]["privacy"]:
        yield from _measured(made, measured)
    risk = account["after"]["risk"].get("prosecutor")
    if risk is not None and made.classes.rows:
        sizes = made.classes.sizes
        for name, value in (
            ("largest", 1 / min(sizes)),
            ("highest", 1 / min(sizes)),
            ("average", len(sizes) / sum(sizes)),
        ):
            if name in risk and not math.isclose(risk[name], value, abs_tol=1e-12):
                yield Finding("account", f"prosecutor {name} is {risk[name]} and not {value}")


def _figures(when: str, told: dict[str, Any], classes: Classes) -> Iterator[Finding]:
    sizes = classes.sizes
    expected = {
        "records": classes.total, "suppressed": classes.suppressed, "unique": sizes.count(1),
        "count": len(sizes), "smallest": min(sizes, default=0), "largest": max(sizes, default=0),
    }  # fmt: skip
    told = told | told["classes"]
    for name, value in expected.items():
        if told[name] != value:
            yield Finding("account", f"{when}: {name} is {told[name]} and not {value}")
    if sizes and not math.isclose(told["mean"], sum(sizes) / len(sizes)):
        yield Finding("account", f"{when}: mean is {told['mean']}")
    for part in told["distribution"]:
        inside = [size for size in sizes if part["least"] <= size <= part["most"]]
        if (part["classes"], part["records"]) != (len(inside), sum(inside)):
            yield Finding("account", f"{when}: distribution {part}")
    if sum(part["records"] for part in told["distribution"]) != sum(sizes):
        yield Finding("account", f"{when}: distribution lacks records")


def _measured(made: Made, measured: dict[str, Any]) -> Iterator[Finding]:
    settings = dict(measured.get("settings", {}))
    for model in made.case["models"]:
        if model["model"] == measured["model"] and "limit" in measured:
            settings = {name: value for name, value in model.items() if name != "model"} | settings
    if measured["model"] == "l-diversity" and settings.get("kind") == "recursive":
        settings.setdefault("c", 3)
    value = oracle.measure(
        measured["model"], measured["quantity"], settings, measured.get("attribute"), made.classes
    )
    told = math.inf if measured["value"] == "infinity" else measured["value"]
    same = told is None if value is None else told is not None and (
        told == value or math.isclose(told, float(value), rel_tol=1e-9, abs_tol=1e-9)
    )  # fmt: skip
    if not same:
        where = measured.get("attribute")
        yield Finding(
            f"measured {measured['model']}",
            f"{measured['quantity']} of {where!r} is {told} and not {value}; {settings}",
        )


def _loss(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    told = {entry["metric"]: entry for entry in made.release.to_dict()["utility"]}
    sizes, total = made.classes.sizes, made.classes.total
    squares = sum(size * size for size in sizes)
    expected: dict[str, float] = {
        "discernibility": squares + made.classes.suppressed * total,
        "discernibility-star": squares + made.classes.suppressed**2,
        "suppression": made.classes.suppressed / total,
    }
    if sizes:
        expected["average-class-size"] = sum(sizes) / len(sizes)
    loss = _lm(made)
    if loss is not None:
        expected["loss"] = loss
    for name, value in expected.items():
        if name in told and not math.isclose(told[name]["value"], value, rel_tol=1e-9, abs_tol=1e-9):
            yield Finding(f"utility {name}", f"{told[name]['value']} and not {value}")


def _lm(made: Made) -> float | None:
    """LM of the release where cells alone tell it."""
    columns = made.quasi.values()
    plain = all(
        oracle.width_of(column, made.live) > 1 and STAR not in column.texts and not _summarized(made, column)
        and (column.paths is None or all(len(set(path)) == len(path) for path in column.leaves))
        for column in columns
    )  # fmt: skip
    if not plain or made.kind not in ("local", "full-domain"):
        return None
    total = Fraction(0)
    levels = made.release.recoding.decisions().get("levels", {})
    for name, column in made.quasi.items():
        lost = Fraction(made.classes.suppressed)
        for rows in made.classes.rows:
            keys = {column.keys[row] for row in rows}
            if made.kind == "local":
                lost += len(rows) * oracle.spread(column, keys, made.live)
            elif column.paths is None:
                lost += len(rows) * levels[name]
            else:
                lost += len(rows) * _node_loss(made, column, levels[name], keys)
        total += lost / made.classes.total
    return float(total / len(made.quasi))


def _node_loss(made: Made, column: Column, level: int, keys: set[Any]) -> Fraction:
    assert column.paths is not None
    if level == 0:
        return Fraction(0)
    size = oracle.width_of(column, made.live)
    if None in keys:
        return Fraction(1)
    path = column.paths[next(iter(keys))]
    place = min(level, len(path) - 1)
    stem = path[place:]
    if len(stem) == 1:
        return Fraction(1)
    under = sum(1 for leaf in column.leaves if leaf[-len(stem) :] == stem)
    return Fraction(under - 1, size - 1)


# --- reading back, other engines, later rows -----------------------------------------------------------


def _policy_back(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """A policy that is written and read decides the same release."""
    folder = services.fresh()
    made.policy.write(folder / "policy.toml")
    again = Policy.read(folder / "policy.toml")
    if again.models != made.policy.models or again.algorithm != made.policy.algorithm:
        yield Finding(
            "policy", f"{again.models} {again.algorithm} was {made.policy.models} {made.policy.algorithm}"
        )
    for name in ("max_suppression", "output", "shuffle", "seed"):
        if getattr(again, name) != getattr(made.policy, name):
            yield Finding("policy", f"{name} is {getattr(again, name)}")
    for one, other in zip(again.schema.attributes, made.policy.schema.attributes, strict=True):
        same = ("name", "role", "kind", "output", "weight", "levels")
        if any(getattr(one, name) != getattr(other, name) for name in same):
            yield Finding("policy", f"{one} was {other}")
    if (again.schema.null_values, again.schema.others) != (
        made.policy.schema.null_values,
        made.policy.schema.others,
    ):
        yield Finding("policy", "null values or others differ")
    if made.case["source"] in IN_MEMORY and "budget" not in made.case["algorithm"]:
        table = fetched(_anonymize(made.case, again, made.place).table, services.folder)
        if not table.equals(made.out):
            yield Finding("policy", "the policy that was read back makes another release")


def _recoding_back(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    folder = services.fresh() / "recoding"
    recoding = made.release.recoding
    recoding.save(folder)
    again = Recoding.load(folder)
    same = (
        again.kind == recoding.kind
        and again.decisions() == recoding.decisions()
        and np.array_equal(again.suppressed, recoding.suppressed)
        and all(np.array_equal(a, b) for a, b in zip(again.keys, recoding.keys, strict=True))
        and all(
            a.labels == b.labels
            and all(
                np.array_equal(getattr(a, n), getattr(b, n)) for n in ("codes", "lo", "hi", "loss", "depth")
            )
            for a, b in zip(again.cells, recoding.cells, strict=True)
        )
        and all(
            a.values == b.values and a.kind == b.kind and np.array_equal(a.numbers, b.numbers, equal_nan=True)
            for a, b in zip(again.domains, recoding.domains, strict=True)
        )
    )
    if not same:
        yield Finding("recoding", "what was saved is not what is loaded")


def _engines(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """The same rows give the same release wherever they are."""
    case = made.case
    if case["source"] == "polars" or "budget" in case["algorithm"] or case["shuffle"]:
        return
    plain = case | {"source": "polars"}
    here = Placed(made.place.seen, made.place.seen, source=case["source"])
    try:
        other = _anonymize(plain, made.policy, here)
    except ic.IncrowdError as error:
        yield Finding("engines", f"{case['source']} releases what Polars refuses: {_skeleton(str(error))}")
        return
    twin, problems = _made(plain, made.policy, other, here, services)
    yield from problems
    if twin is not None and twin.cells != made.cells:
        name = next(name for name in made.cells if twin.cells[name] != made.cells[name])
        row = next(row for row, cell in enumerate(made.cells[name]) if twin.cells[name][row] != cell)
        yield Finding(
            "engines",
            f"{case['source']}: {name!r} row {row} is {made.cells[name][row]!r}, {twin.cells[name][row]!r} in Polars",
        )


def _written(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """A file has what the release has, and verify says so.

    Rows of a database have no order, those of files have: only rows in order are held against the raw table.
    """
    if made.case["source"] == "spark":
        return
    texts = all(dtype == pl.String for dtype in made.out.dtypes)
    folder = services.fresh()
    path = folder / ("release.csv" if texts else "release.parquet")
    try:
        made.release.write(path)
    except ic.IncrowdError as error:
        if "cannot be written in" not in str(error):
            yield Finding("write", str(error)[:300])
        return
    encoding = made.place.options["csv_format"].encoding if made.place.options else "utf-8"
    delimiter = (made.place.options["csv_format"].delimiter if made.place.options else None) or ","
    if texts:
        rows = read_csv(path.read_bytes().decode(encoding), delimiter)
        expected = [made.out.columns, *map(list, made.out.rows())]
        if (made.place.ordered and rows != expected) or (
            not made.place.ordered and _sorted(rows) != _sorted(expected)
        ):
            wrong = next(
                (pair for pair in zip(rows, expected, strict=False) if pair[0] != pair[1]),
                (len(rows), len(expected)),
            )
            yield Finding("write", f"the file has {wrong[0]} and the release {wrong[1]}")
    if "\0" in "".join(map(str, made.out.columns)):
        return
    made.policy.write(folder / "policy.toml")
    options: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding} if texts else {}
    others = {}
    people = _people(made.case, made.place)
    if people is not None:
        others["population"] = _beside(people, folder / "people", delimiter, encoding)
    if made.place.ordered:
        others["against"] = _beside(made.place.seen, folder / "raw", delimiter, encoding)
    try:
        verified = ic.verify(path, folder / "policy.toml", **others, **options)
    except ic.IncrowdError as error:
        yield Finding("verify refuses", str(error).replace(str(folder), "")[:300])
        return
    if not verified.ok:
        failed = [finding for finding in verified.findings if not finding.holds]
        yield Finding("verify", f"{failed} {verified.problems}")
    if (verified.records, verified.suppressed, verified.classes) != (
        made.classes.total, made.classes.suppressed, len(made.classes.rows),
    ):  # fmt: skip
        yield Finding("verify", f"counts {verified.records} {verified.suppressed} {verified.classes}")


def _beside(frame: pl.DataFrame, path: Path, delimiter: str, encoding: str) -> Path:
    """Write a table that verify reads beside a release."""
    if all(dtype == pl.String for dtype in frame.dtypes):
        path = path.with_suffix(".csv")
        path.write_bytes(csv_bytes(frame, delimiter, encoding))
    else:
        path = path.with_suffix(".parquet")
        frame.write_parquet(path)
    return path


def _sorted(rows: Sequence[Sequence[str | None]]) -> list[list[str]]:
    return sorted([repr(cell) for cell in row] for row in rows)


def _applied(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """Later rows get true cells, in classes that hold."""
    case = made.case
    if case["source"] == "spark" or any(needs_population(model) for model in case["models"]):
        return
    order = _batch_order(case)
    batch = {
        column["name"]: column.get("batch") or [column["cells"][row] for row in order]
        for column in case["columns"]
    }
    columns = [column | {"cells": batch[column["name"]]} for column in case["columns"]]
    frame = frame_of(columns)
    if all(dtype == pl.String for dtype in made.place.seen.dtypes):
        frame = as_texts(frame)
    elif case["source"] == "sqlite":
        frame = held(frame)
    policy = replace(made.policy, max_suppression=1.0, shuffle=False)
    try:
        applied = ic.apply_recoding(made.release.recoding, frame, policy)
    except ic.InfeasibleError as error:
        yield from _leaks(case | {"columns": columns}, made.place, str(error))
        return
    except ic.IncrowdError as error:
        outcome.skipped.append("apply: " + _skeleton(str(error)))
        yield from _leaks(case | {"columns": columns}, made.place, str(error))
        return
    out = fetched(applied.table, services.folder)
    quasi, sensitive, before = _raw(case | {"columns": columns}, frame)
    cells = {name: out.get_column(name).to_list() for name in quasi}
    for name, column in quasi.items():
        known = made.quasi[name]
        if known.paths is not None:
            column.paths, column.leaves = known.paths, known.leaves
        if _summarized(made, known) or known.kind != column.kind:
            continue
        for row, cell in enumerate(cells[name]):
            if not before[row] and not oracle.covers(column, column.keys[row], cell):
                yield Finding(
                    "apply truth",
                    f"{name!r} row {row}: {cell!r} for {column.keys[row]!r} ({column.style}, {made.kind})",
                )
                return
            if cell is not None and "\0" in cell and "\0" not in "".join(filter(None, column.texts)):
                yield Finding("apply nul", f"{name!r} row {row}: {cell!r}")
                return
    classes = oracle.group(list(cells.values()), sensitive)
    if classes.suppressed != applied.suppressed:
        yield Finding("apply account", f"{applied.suppressed} suppressed and not {classes.suppressed}")
    for model in case["models"]:
        settings = {name: value for name, value in model.items() if name != "model"}
        if settings.get("value") is not None or model["model"] == "p29":
            continue
        for problem in oracle.holds(model["model"], settings, classes):
            yield Finding(f"apply model {model['model']}", problem)


def _batch_order(case: Case) -> list[int]:
    rows = len(case["columns"][0]["cells"])
    return (
        [row * 7 % rows for row in range(max(rows // 2, 1))] if rows % 7 else list(range(max(rows // 2, 1)))
    )


# --- errors -------------------------------------------------------------------------------------------


def _leaks(case: Case, place: Placed, message: str) -> list[Finding]:
    """No cell of the table is in a message; what the policy itself says may be."""
    said = repr(
        [case["null_values"], case["models"], case["algorithm"]]
        + [
            {key: value for key, value in column.items() if key not in ("cells", "people", "batch")}
            for column in case["columns"]
        ]
    )
    bare = re.sub(r"'[^']*'", "", message) if "several columns" in message else message
    for column in case["columns"]:
        for cell in {*column["cells"], *column.get("batch", ())}:
            # A common word may stand in a message by itself.
            if cell is None or len(cell) < 5 or cell in said or (cell.isascii() and cell.isalpha()):
                continue
            if cell in bare:
                return [Finding("leak", f"{cell!r} of {column['name']!r} is in: {message[:200]}")]
    return []


def _needless(case: Case, place: Placed, message: str) -> list[Finding]:
    """Where a message says that one class of all rows fails, it does."""
    if "fails even when all" not in message:
        return []
    quasi, sensitive, before = _raw(case, place.seen)
    rows = [row for row, gone in enumerate(before) if not gone]
    classes = Classes([rows], [tuple("?" for _ in quasi)], sensitive, len(before), sum(before))
    for model in case["models"]:
        settings = {name: value for name, value in model.items() if name != "model"}
        if model["model"] in ("k-map", "delta-presence", "lkc-privacy", "p29") or needs_population(model):
            return []
        if oracle.holds(model["model"], settings, classes):
            return []
    return [Finding("needless", message[:300])]
