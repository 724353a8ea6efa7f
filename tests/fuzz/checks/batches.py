"""Two batches of later rows: each file alone, beside the earlier file, and rows that wait."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

import incrowd as ic
from fuzz import oracle
from fuzz.checks.errors import leaks
from fuzz.checks.made import (
    Finding,
    Made,
    Outcome,
    applied_to,
    is_left_out,
    is_summarized,
    pointed,
    raw_columns,
    rid_of,
    skeleton,
    whose,
)
from fuzz.draw import Case, needs_population
from fuzz.sources import Services, as_texts, fetched, frame_of, held

Cells = dict[str, list[Any]]


@dataclass
class Left:
    """Released rows: a table, with each row's raw row and cells."""

    table: pl.DataFrame
    raw: pl.DataFrame
    cells: Cells

    def given(self, case: Case) -> dict[str, Any]:
        """Name the batches as an earlier release."""
        given: dict[str, Any] = {"previous_release": self.table}
        if any(column["role"] == "person" for column in case["columns"]):
            row_map = pl.DataFrame({"row": range(1, self.raw.height + 1)})
            given |= {"previous_table": self.raw, "previous_row_map": row_map}
        return given


@dataclass
class Batches:
    """The state of the batches so far.

    Attributes
    ----------
    before
        What left last; None if batches do not stand beside anything.
    waiting
        Raw rows that wait, and where they were written.
    """

    before: Left | None
    waiting: pl.DataFrame | None = None
    file: Any = None
    problems: list[Finding] = field(default_factory=list)


def applied(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """Later rows get true cells, in classes that hold; none is lost, and none leaves twice."""
    case = made.case
    if case["source"] == "spark" or any(needs_population(model) for model in case["models"]):
        return
    asked = case.get("batches", {})
    names = list(made.quasi)
    before = Left(
        made.out,
        made.place.seen[made.origin],
        {name: pointed(case, name, made.out.get_column(name)) for name in names},
    )
    state = Batches(before if asked.get("beside") else None)
    for what in ("batch", "later"):
        columns = _columns(case, what)
        if columns is None:
            return
        yield from _one(made, services, outcome, case | {"columns": columns}, state)


def _columns(case: Case, what: str) -> list[dict[str, Any]] | None:
    """The columns with the cells of a batch; cases of old have none of a second, or of any."""
    if what == "later" and not all(what in column for column in case["columns"]):
        return None
    order = _batch_order(case)
    return [
        column | {"cells": column.get(what) or [column["cells"][row] for row in order]}
        for column in case["columns"]
    ]


def _one(made: Made, services: Services, outcome: Outcome, case: Case, state: Batches) -> Iterator[Finding]:
    """Apply the recoding to a batch, and hold released and waiting rows against the oracle."""
    asked, rid = case.get("batches", {}), rid_of(case)
    frame = frame_of(case["columns"])
    if all(dtype == pl.String for dtype in made.place.seen.dtypes):
        frame = as_texts(frame)
    elif case["source"] == "sqlite":
        frame = held(frame)
    policy = replace(made.policy, max_suppression=1.0)
    settings: dict[str, Any] = {} if state.before is None else state.before.given(case)
    if state.before is not None and asked.get("as_one"):
        settings["published_as_one"] = True
    if state.waiting is not None:
        settings["held"] = state.file or state.waiting
    whole = frame if state.waiting is None else _below(frame, state.waiting)
    try:
        batch = ic.apply_recoding(
            made.release.recoding,
            frame,
            policy,
            force=True,
            hold=bool(asked.get("hold")),
            max_suppression=1.0,
            **settings,
            unanswered="write",
        )
    except ic.InfeasibleError as error:
        yield from leaks(case, made.place, str(error))
        return
    except ic.IncrowdError as error:
        outcome.skipped.append("apply: " + skeleton(str(error)))
        yield from leaks(case, made.place, str(error))
        return
    came = whole.get_column(rid).to_list()
    out = None if batch.table is None else fetched(batch.texts, services.folder)
    left = [] if out is None else out.get_column(rid).to_list()
    waits = [] if batch.waiting is None else batch.waiting.get_column(rid).to_list()
    if sorted([*left, *waits]) != sorted(came):
        yield Finding("apply rows", f"{len(came)} rows came, {len(left)} left and {len(waits)} wait")
        return
    if (batch.records, batch.held) != (len(came), len(waits)):
        yield Finding(
            "apply account", f"{batch.records} records, {batch.held} held: {len(came)}, {len(waits)}"
        )
    if policy.keep_order and left != [row for row in came if row in set(left)]:
        yield Finding("apply order", f"{left} of {came}")
    if asked.get("hold"):
        rows = _by_rid(whole, rid, waits)
        if repr(batch.waiting.rows()) != repr(rows.rows()):
            yield Finding("apply rows", "the rows that wait are not as they came")
        state.waiting, state.file = batch.waiting, None
    if out is None:
        outcome.met.append(("batch", "all wait"))
        return
    raw = _by_rid(whole, rid, left)
    yield from _checked(made, case, batch, out, raw, state)
    yield from _written(made, services, batch, state)
    if state.before is not None:
        state.before = Left(
            out, raw, {name: pointed(case, name, out.get_column(name)) for name in made.quasi}
        )
    kind = (
        "as one"
        if settings.get("published_as_one")
        else "beside"
        if settings.get("previous_release") is not None
        else "alone"
    )
    outcome.met += [("batch", kind), *([("batch", "some wait")] if waits else [])]
    outcome.met += [("batch", "held before")] if batch.held_before else []


def _below(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Put the rows of a table below those of another, where names of columns may look like patterns."""
    columns = {}
    for name in one.columns:
        sides = [pl.DataFrame({"": side.get_column(name)}) for side in (one, other)]
        columns[name] = pl.concat(sides, how="vertical_relaxed").to_series()
    return pl.DataFrame(columns)


def _by_rid(frame: pl.DataFrame, rid: str, names: list[str]) -> pl.DataFrame:
    place = {name: row for row, name in enumerate(frame.get_column(rid).to_list())}
    return frame[[place[name] for name in names]]


def _checked(
    made: Made, case: Case, batch: Any, out: pl.DataFrame, raw: pl.DataFrame, state: Batches
) -> Iterator[Finding]:
    """Hold the cells and the classes of the released rows against the oracle."""
    quasi, sensitive, before = raw_columns(case, raw)
    cells = {name: pointed(case, name, out.get_column(name)) for name in quasi}
    for name, column in quasi.items():
        known = made.quasi[name]
        if known.paths is not None:
            column.paths, column.leaves = oracle.paths_with(known, column.keys), known.leaves
        if is_summarized(made, known) or known.kind != column.kind:
            continue
        for row, cell in enumerate(cells[name]):
            if not before[row] and not oracle.covers(column, column.keys[row], cell):
                yield Finding(
                    "apply truth",
                    f"{name!r} row {row}: {cell!r} for {column.keys[row]!r} ({column.style}, {made.kind})",
                )
                return
            texts = filter(None, (*known.texts, *column.texts))
            if cell is not None and "\0" in cell and "\0" not in "".join(texts):
                yield Finding("apply nul", f"{name!r} row {row}: {cell!r}")
                return
    alone = oracle.group(list(cells.values()), sensitive, whose(case, raw))
    if alone.suppressed != batch.suppressed:
        yield Finding("apply account", f"{batch.suppressed} suppressed and not {alone.suppressed}")
    if batch.held and batch.too_small:
        yield Finding("apply account", f"{batch.too_small} rows of classes that fail do not wait")
    if not batch.published_as_one:
        yield from _models(case, alone, "apply")
    if state.before is not None:
        both = _below(state.before.raw, raw)
        _, together, _ = raw_columns(case, both)
        joined = [state.before.cells[name] + cells[name] for name in cells]
        yield from _models(case, oracle.group(joined, together, whose(case, both)), "apply beside")


def _models(case: Case, classes: oracle.Classes, check: str) -> Iterator[Finding]:
    for name, settings, groups in applied_to(case, classes):
        if settings.get("value") is not None or name == "p29":
            continue
        for problem in oracle.holds(name, settings, groups):
            yield Finding(f"{check} model {name}", problem)


def _written(made: Made, services: Services, batch: Any, state: Batches) -> Iterator[Finding]:
    """Write released and waiting rows together, and compare verify's verdict on both files with apply's."""
    folder = services.fresh()
    path, waiting = folder / "batch.parquet", folder / "waiting.parquet"
    if any("\0" in name for name in batch.texts.columns):
        return
    try:
        batch.write(path, hold=None if batch.waiting is None else waiting)
    except ic.IncrowdError as error:
        yield Finding("apply write", str(error).replace(str(folder), "")[:300])
        return
    if batch.waiting is not None:
        if repr(pl.read_parquet(waiting).rows()) != repr(batch.waiting.rows()):
            yield Finding("apply rows", "the file of waiting rows has others")
        state.file = waiting
    if any(column["role"] == "person" for column in made.case["columns"]):
        return
    replace(made.policy, max_suppression=1.0).write(folder / "policy.toml")
    settings: dict[str, Any] = {}
    if state.before is not None:
        state.before.table.write_parquet(folder / "before.parquet")
        settings = {"previous_release": folder / "before.parquet", "published_as_one": batch.published_as_one}
    try:
        verification = ic.verify(path, folder / "policy.toml", **settings)
    except ic.IncrowdError as error:
        if is_left_out(made, batch.table, str(error)):
            return
        yield Finding("apply verify refuses", str(error).replace(str(folder), "")[:300])
        return
    for part in (verification, verification.earlier, verification.together):
        failed = [] if part is None else [each for each in part.findings if each.holds is False]
        if failed:
            yield Finding("apply verify", f"{failed}")


def _batch_order(case: Case) -> list[int]:
    rows = len(case["columns"][0]["cells"])
    return (
        [row * 7 % rows for row in range(max(rows // 2, 1))] if rows % 7 else list(range(max(rows // 2, 1)))
    )
