"""Folders of count tables that hide just the cells that a test names, as no maker would."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

import incrowd as ic

__all__ = ["hide"]


def hide(
    place: Path,
    rows: pl.DataFrame,
    layouts: Sequence[ic.CountTable],
    hidden: Mapping[str, Collection[tuple[str, ...]]],
    trees: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    *,
    person: str | None = "who",
) -> Path:
    """Write tables with some hidden cells, a policy and the rows, and return the folder.

    - `hidden`: by table the codes of each hidden cell.
    - `trees`: by column the values below each code; without one, each value is a code.
    """
    trees = trees or {}
    names = list(dict.fromkeys(column for each in layouts for column, _ in each.dimensions))
    (place / "out").mkdir(parents=True)
    entries, files = [], {}
    for layout in layouts:
        dimensions = [_dimension(rows, column, trees.get(column, {})) for column, _ in layout.dimensions]
        lines = []
        for codes in product(*(each["codes"] for each in dimensions)):
            here = rows
            for each, code in zip(dimensions, codes, strict=True):
                if code != "Total":
                    here = here.filter(pl.col(each["column"]).is_in(each["below"].get(code, [code])))
            gone = codes in hidden.get(layout.name, ())
            lines.append((*codes, None if gone else _value(here, layout, person), "x" if gone else ""))
        quantity = layout.count if layout.sum is None else f"sum of {layout.sum}"
        columns = [each["column"] for each in dimensions]
        file = place / "out" / f"{layout.name}.csv"
        pl.DataFrame(lines, [*columns, quantity, "mark"], orient="row").write_csv(file)
        files[file.name] = {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
        entries.append(
            {
                **{name: value for name, value in layout.settings().items() if name != "cost"},
                "name": layout.name,
                "quantity": quantity,
                "dimensions": [{key: each[key] for key in each if key != "below"} for each in dimensions],
                "threshold": layout.threshold,
                "protect": "suppress",
                "zeros": layout.zeros,
                "width": layout.open_width,
            }
        )
        if layout.sum is None and layout.count == "people" and person is not None:
            for each in entries[-1]["dimensions"]:
                each["overlapping"] = _has_several(rows, person, each["column"])
    manifest: dict[str, Any] = {"format": "incrowd tables", "version": 1, "tables": entries, "files": files}
    (place / "out" / "tables.json").write_text(json.dumps(manifest))
    schema = ic.Schema(
        quasi={
            name: ic.Hierarchy.from_nested({"*": {**trees[name]}}) if name in trees else None
            for name in names
        },
        insensitive=[name for name in rows.columns if name not in (*names, person)],
        person=person or (),
        unlisted="drop",
    )
    ic.Policy(schema, tables=layouts).write(place / "policy.toml")
    rows.write_csv(place / "raw.csv")
    return place


def _dimension(rows: pl.DataFrame, column: str, below: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    codes, under = ["Total"], [-1]
    for value in below or sorted(rows[column].unique()):
        codes.append(value)
        under.append(0)
        for leaf in below.get(value, ()):
            codes.append(leaf)
            under.append(codes.index(value))
    return {"column": column, "codes": codes, "under": under, "overlapping": False, "below": below}


def _has_several(rows: pl.DataFrame, person: str, column: str) -> bool:
    """Say whether a person has several codes of a column."""
    codes = rows.drop_nulls(person).group_by(person).agg(pl.col(column).n_unique())
    return bool((codes[column] > 1).any())


def _value(rows: pl.DataFrame, layout: ic.CountTable, person: str | None) -> float:
    if layout.sum is not None:
        return float(rows[layout.sum].sum())
    return rows.height if layout.count == "records" or person is None else rows[person].n_unique()
