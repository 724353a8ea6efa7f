"""Saved recodings that were damaged or changed: each is refused, and none is half believed."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import incrowd as ic
from incrowd.core.hierarchy.builders import Intervals, Prefix

SECRET = "Zaphod"
ALGORITHMS = {
    "local": ic.Mondrian(),
    "full-domain": ic.Optimal(),
    "single-dimensional": ic.TopDownSpecialization(target="disease"),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> dict[str, Path]:
    """A saved recoding of each kind."""
    frame = pl.DataFrame(
        {
            "age": [str(20 + i % 12) for i in range(36)],
            "town": [f"{SECRET}{'abcd'[i % 4]}" for i in range(36)],
            "disease": ["flu" if i % 12 < 6 else "cold" for i in range(36)],
        }
    )
    tree = Intervals((5, 10))
    schema = ic.Schema.of_attributes(
        [
            ic.Attribute("age", "quasi", hierarchy=tree),
            ic.Attribute("town", "quasi", hierarchy=Prefix()),
            ic.Attribute("disease", "insensitive"),
        ]
    )
    folders = {}
    for kind, algorithm in ALGORITHMS.items():
        folders[kind] = tmp_path_factory.mktemp("recoding") / kind
        release = ic.anonymize(frame, schema, [ic.KAnonymity(3)], algorithm)
        assert release.recoding.kind == kind
        release.recoding.save(folders[kind])
        assert ic.Recoding.load(folders[kind]).decisions() == release.recoding.decisions()
    return folders


def put(*path: Any) -> Callable[[Any], None]:
    """Set a place of the document to the last value."""

    def change(document: Any) -> None:
        for step in path[:-2]:
            document = document[step]
        document[path[-2]] = path[-1]

    return change


def drop(*path: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for step in path[:-1]:
            document = document[step]
        del document[path[-1]]

    return change


WRONG = [None, -7, 10**30, 1.5, "x", [], {}, [1], True]
FIELDS = ("name", "kind", "values", "numbers", "missing", "hierarchy", "labels", "lo", "hi", "loss", "depth")
CHANGES = [drop(key) for key in ("format", "version", "kind", "decisions", "attributes")]
CHANGES += [put(key, value) for key in ("format", "version", "kind", "attributes") for value in WRONG]
CHANGES += [drop("attributes", 0, field) for field in FIELDS]
CHANGES += [
    put("attributes", 0, field, value) for field in FIELDS for value in (-7, 10**30, [], {}, [None], ["x"])
]
CHANGES += [
    put("attributes", 0, "hierarchy", {"labels": ["*", "20"], "parents": [-1, parent]})
    for parent in (7, -1, "x")
]
CHANGES += [
    put("attributes", 0, "hierarchy", "parents", 3, 99),
]
CHANGES += [
    put("attributes", 0, place, 0, value) for place in ("lo", "hi") for value in (-1, 10**6, None, "x")
]
CHANGES += [put("attributes", 0, "labels", 0, value) for value in ("tampered", "[0-99]", "{0, 99}", "", 7)]
CHANGES += [put("attributes", 0, "loss", 0, value) for value in (-1, 2, None, "x")]
CHANGES += [put("attributes", 0, "values", 0, value) for value in (None, "99", 7)]
CHANGES += [lambda document: document["attributes"].append(document["attributes"][0])]
CHANGES += [lambda document: document["attributes"].reverse()]
CHANGES += [lambda document: document["attributes"][0]["labels"].reverse()]
OWN = {
    "local": [put("decisions", "classes", value) for value in (None, -1, 0, 1.5, "x", 10**30)],
    "single-dimensional": [put("decisions", "rounds", value) for value in (None, -1, 0, 1.5, "x", 10**30)],
    "full-domain": [
        *(put("decisions", "levels", "age", value) for value in (99, -1, "x", None, 1.5, 1)),
        put("decisions", "levels", "height", 1),
        drop("decisions", "levels", "age"),
    ],
}


def saved(kept: Path, folder: Path, document: Any = None, keys: pl.DataFrame | None = None) -> Path:
    text = (kept / "recoding.json").read_text() if document is None else json.dumps(document)
    (folder / "recoding.json").write_text(text)
    if keys is None:
        (folder / "keys.parquet").write_bytes((kept / "keys.parquet").read_bytes())
    else:
        keys.write_parquet(folder / "keys.parquet")
    return folder


def refused(folder: Path) -> str:
    with pytest.raises(ic.TableError) as error:
        ic.Recoding.load(folder)
    assert SECRET not in str(error.value)
    assert len(str(error.value)) < 1000
    return str(error.value)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ALGORITHMS)
def test_changed_documents(kept, tmp_path, kind):
    document = json.loads((kept[kind] / "recoding.json").read_text())
    for change in [*CHANGES, *OWN[kind]]:
        changed = copy.deepcopy(document)
        change(changed)
        assert json.dumps(changed) != json.dumps(document)
        refused(saved(kept[kind], tmp_path, changed))


@pytest.mark.parametrize("kind", ALGORITHMS)
def test_changed_keys(kept, tmp_path, kind):
    keys = pl.read_parquet(kept[kind] / "keys.parquet")
    for name in keys.columns:
        whole = pl.Int64 if name != "suppressed" else pl.Boolean
        plain = keys.with_columns(pl.col(name).cast(whole))
        first = pl.int_range(pl.len()) == 0
        worse = [
            keys.drop(name),
            keys.rename({name: "other"}),
            plain.with_columns(pl.col(name).cast(pl.String)),
        ]
        worse += [plain.with_columns(pl.when(~first).then(name))]
        if name != "suppressed":
            values = (-2, 10**6, 2**40)
            worse += [
                plain.with_columns(pl.when(first).then(value).otherwise(name).alias(name)) for value in values
            ]
        for table in worse:
            refused(saved(kept[kind], tmp_path, keys=table))
    refused(saved(kept[kind], tmp_path, keys=keys.head(0)))
    refused(saved(kept[kind], tmp_path, keys=keys.with_columns(x=1)))
    # Each key gets the cell of another one.
    refused(saved(kept[kind], tmp_path, keys=keys.with_columns(pl.col("cell0").reverse())))


@pytest.mark.parametrize("name", ["recoding.json", "keys.parquet"])
def test_files_that_are_gone_or_something_else(kept, tmp_path, name):
    def texts() -> list[bytes]:
        deep = b"[" * 100_000
        long = b'{"version": ' + b"9" * 5000 + b"}"
        return [
            b"",
            b"{",
            b"[]",
            b"3",
            b"null",
            b'"x"',
            b"NaN",
            deep,
            long,
            os.urandom(500),
            b"PAR1",
            b"\xff",
        ]

    for text in texts():
        folder = saved(kept["local"], tmp_path)
        (folder / name).write_bytes(text)
        refused(folder)
    (folder / name).unlink()
    assert "no readable recoding.json and keys.parquet" in refused(folder)
    (folder / name).symlink_to(name)
    refused(folder)
    (folder / name).unlink()
    (folder / name).mkdir()
    refused(folder)


def test_two_recodings_mixed_up(kept, tmp_path):
    saved(kept["local"], tmp_path)
    (tmp_path / "keys.parquet").write_bytes((kept["full-domain"] / "keys.parquet").read_bytes())
    assert "keys.parquet has the columns" in refused(tmp_path)
