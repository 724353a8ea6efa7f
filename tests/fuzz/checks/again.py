"""Reading back, other engines, files."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import incrowd as ic
from fuzz import oracle
from fuzz.checks.made import (
    Finding,
    Made,
    Outcome,
    anonymized,
    in_rid_order,
    is_left_out,
    people_of,
    read_release,
    rid_of,
    skeleton,
)
from fuzz.checks.scripted import scripted
from fuzz.draw import CHARS, IN_MEMORY
from fuzz.sources import Placed, Services, csv_bytes, fetched, read_csv
from incrowd.core.recoding import Recoding
from incrowd.engines import engine_for
from incrowd.release.policy.policy import Policy

SHOWN = (
    "unique-column", "unique-together", "outlying-value", "personal-text", "named-identifier", "free-text",
    "unread-column", "list-cells", "unprotected-sensitive",
)  # fmt: skip
"""Points that the released file shows, whatever the raw table is."""
BESIDE = ("derived-column", "blanked-column", "much-suppressed", "few-matches")
"""Points that the raw table shows beside it; with the row map also how many people an id names."""


def policy_back(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """A policy that is written and read decides the same release."""
    folder = services.fresh()
    made.policy.write(folder / "policy.toml")
    again = Policy.read(folder / "policy.toml")
    if again.models != made.policy.models or again.algorithm != made.policy.algorithm:
        yield Finding(
            "policy", f"{again.models} {again.algorithm} was {made.policy.models} {made.policy.algorithm}"
        )
    for name in ("max_suppression", "output", "keep_order", "seed", "set_limit"):
        if getattr(again, name) != getattr(made.policy, name):
            yield Finding("policy", f"{name} is {getattr(again, name)}")
    for one, other in zip(again.schema.attributes, made.policy.schema.attributes, strict=True):
        same = ("name", "role", "kind", "output", "weight", "levels", "spelling")
        if any(getattr(one, name) != getattr(other, name) for name in same):
            yield Finding("policy", f"{one} was {other}")
    if (again.schema.null_values, again.schema.unlisted) != (
        made.policy.schema.null_values,
        made.policy.schema.unlisted,
    ):
        yield Finding("policy", "null values or others differ")
    if made.case["source"] in IN_MEMORY and "budget" not in made.case["algorithm"]:
        table = fetched(anonymized(made.case, again, made.place).texts, services.folder)
        rid = rid_of(made.case)
        if not in_rid_order(table, rid).equals(in_rid_order(made.out, rid)):
            yield Finding("policy", "the policy that was read back makes another release")


def recoding_back(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
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


def engines(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """The same rows give the same release on every engine.

    A database has no first row: its keys stand in the order of their values' codes. A greedy search settles
    ties by the order of keys, so Polars is given the rows in that order.
    """
    case = made.case
    if case["source"] == "polars" or "budget" in case["algorithm"]:
        return
    plain = case | {"source": "polars"}
    order = list(range(made.place.seen.height)) if made.place.ordered else _by_codes(made)
    seen = made.place.seen[order]
    here = Placed(seen, seen, source=case["source"])
    try:
        other = anonymized(plain, made.policy, here)
    except ic.IncrowdError as error:
        yield Finding("engines", f"{case['source']} releases what Polars refuses: {skeleton(str(error))}")
        return
    twin, problems = read_release(plain, made.policy, other, here, services)
    yield from problems
    if twin is None:
        return
    for name, cells in made.cells.items():
        for place, row in enumerate(order):
            if cells[row] != twin.cells[name][place]:
                yield Finding(
                    "engines",
                    f"{case['source']}: {name!r} row {row} is {cells[row]!r}, {twin.cells[name][place]!r} in Polars",
                )
                return


def _by_codes(made: Made) -> list[int]:
    """Rows in the order of the quasi-identifiers' codes, as `fold` does for rows without order."""
    frequency = engine_for(made.place.seen).count(made.policy.schema).frequency
    if not frequency.keys:
        return list(range(made.place.seen.height))
    codes = np.stack([codes[frequency.row_keys] for codes in frequency.codes])
    return [int(row) for row in np.lexsort(codes[::-1])]


def written(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """A file equals the release, and so does the verification.

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
        nul = any(
            "\0" in text
            for column in made.out.get_columns()
            if column.dtype == pl.String
            for text in column
            if text
        )
        if "cannot be written in" not in str(error) and not (nul and "the character NUL" in str(error)):
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
    others: dict[str, Any] = {}
    several = len(set(made.classes.whose)) < len(made.classes.whose)
    people = people_of(made.case, made.place)
    if people is not None:
        others["population"] = _beside(people, folder / "people", delimiter, encoding)
    if made.place.ordered:
        others["against"] = _beside(made.place.seen, folder / "raw", delimiter, encoding)
        if made.place.seen.height % 2 or several:
            made.release.write_row_map(folder / "rows.parquet")
            others["row_map"] = folder / "rows.parquet"
    try:
        verified = ic.verify(path, folder / "policy.toml", **others, **options)
    except ic.IncrowdError as error:
        if is_left_out(made, made.out, str(error)):
            return
        yield Finding("verify refuses", str(error).replace(str(folder), "")[:300])
        return
    # Whose the rows of a database are cannot be told: there some limits are open, and none fails.
    doubtful = made.classes.whose and not made.place.ordered and verified.is_unchecked and verified.unchecked
    unjudged = made.perturbed and made.case["judge"] == "original" and verified.is_unchecked
    if not verified.keeps_limits and not doubtful and not unjudged:
        failed = [finding for finding in verified.findings if not finding.holds]
        yield Finding("verify", f"{failed} {verified.problems} {verified.unchecked}")
    kinds = (
        *SHOWN,
        *(BESIDE if "against" in others else ()),
        *(["repeated-id"] if "row_map" in others else []),
    )
    yield from _points_of(made, verified, kinds, outcome)
    if verified.people is not None:
        result = verified.people
        counted = (result.people, result.unnamed, result.suppressed, result.smallest)
        of = made.classes
        expected = (of.everyone, of.unnamed, of.everyone - of.left, min(of.crowds, default=0))
        if counted != expected:
            yield Finding("verify", f"counts {counted} people and not {expected}")
    elif made.classes.whose and made.place.ordered:
        yield Finding("verify", f"does not count people: {verified.unchecked}")
    if (verified.records, verified.suppressed, verified.classes) != (
        made.classes.total, made.classes.suppressed, len(made.classes.rows),
    ):  # fmt: skip
        yield Finding("verify", f"counts {verified.records} {verified.suppressed} {verified.classes}")
    if unjudged:
        return
    if verified.people is not None or not made.classes.whose:
        yield from _figures_of(made, verified)
    given = {"path": path, "policy_path": folder / "policy.toml", **others, **options}
    yield from scripted(
        made,
        given,
        verified.keeps_limits,
        lambda frame: _beside(frame, folder / "changed", delimiter, encoding),
        outcome,
    )


def into(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """A new table in the database, or a folder of Spark, equals the release.

    It ends the snapshot, so it comes last.
    """
    if made.case["source"] == "spark":
        folder = services.fresh() / "safe"
        made.release.write(folder)
        rows = pl.read_parquet(folder / "*.parquet").rows(named=True)
    elif made.place.back is not None:
        made.release.into("safe", force=True)
        rows = made.place.back()
    else:
        return
    rid = rid_of(made.case)
    rows = sorted(rows, key=lambda row: str(row[rid]))
    expected = in_rid_order(made.out, rid).rows(named=True)
    if len(rows) != len(expected) or any(list(row) != made.out.columns for row in rows):
        yield Finding("into", f"the table has {len(rows)} rows of {list(rows[0])}, and not {len(expected)}")
        return
    for row, other in zip(rows, expected, strict=True):
        for name, value in other.items():
            if not _same(row[name], value):
                yield Finding("into", f"{name!r} is {row[name]!r} there, and {value!r} in the release")
                return


def _same(there: Any, here: Any) -> bool:
    """Say whether two programs read the same value, where `char(n)` has blanks and clocks may have a zone."""
    if isinstance(there, dt.datetime) and there.tzinfo is not None:
        there = there.astimezone(dt.UTC).replace(tzinfo=None)
    if isinstance(there, Decimal) or isinstance(here, Decimal):
        return there is not None and here is not None and Decimal(there) == Decimal(here)
    if isinstance(here, float) and math.isnan(here):
        return there is None or math.isnan(there)
    if isinstance(here, str) and isinstance(there, str):
        return there == here or (there.rstrip(" ") == here and len(there) == CHARS)
    return bool(there == here)


def _figures_of(made: Made, verified: ic.Verification) -> Iterator[Finding]:
    """Figures of models outside the oracle equal those of verify, which reads every model."""
    result = {(each.model, each.quantity, each.attribute): each.reached for each in verified.findings}
    for each in made.release.privacy.privacy:
        if each.model in oracle.LIMITS or each.limit is None or each.value is None:
            continue
        reached = result[each.model, each.quantity, each.attribute]
        if reached is None or not math.isclose(each.value, reached, rel_tol=1e-9, abs_tol=1e-9):
            yield Finding(f"measured {each.model}", f"{each.quantity} is {each.value}, to verify {reached}")


def _points_of(
    made: Made, verified: ic.Verification, kinds: tuple[str, ...], outcome: Outcome
) -> Iterator[Finding]:
    """The points of the tables are those of the release, in the same words.

    Values that are drawn may be drawn anew for a file. A CSV tells -0.0 from 0.0, and a column does not.
    """
    here, there = (
        sorted(point.sentence() for point in verdict.points if point.name in kinds)
        for verdict in (made.release.verdict, verified.verdict)
    )
    outcome.met += [("point", point.name) for point in made.release.verdict.points]
    if here != there and not made.perturbed and not _has_negative_zero(made.out):
        one, other = next(pair for pair in zip_longest(here, there) if pair[0] != pair[1])
        yield Finding("verify points", f"the release says {one}, and verify says {other}")


def _has_negative_zero(frame: pl.DataFrame) -> bool:
    floats = frame.select(pl.selectors.float())
    return any((column == 0).any() and (1 / column == -math.inf).any() for column in floats.get_columns())


def _beside(frame: pl.DataFrame, path: Path, delimiter: str, encoding: str) -> Path:
    """Write a table that verify reads beside a release.

    A CSV of one column holds no empty text: there it is a missing value (docs/architecture.md).
    """
    texts = all(dtype == pl.String for dtype in frame.dtypes)
    if texts and not (frame.width == 1 and (frame.to_series() == "").any()):
        path = path.with_suffix(".csv")
        path.write_bytes(csv_bytes(frame, delimiter, encoding))
    else:
        path = path.with_suffix(".parquet")
        frame.write_parquet(path)
    return path


def _sorted(rows: Sequence[Sequence[str | None]]) -> list[list[str]]:
    return sorted([repr(cell) for cell in row] for row in rows)
