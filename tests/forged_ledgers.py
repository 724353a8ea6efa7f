"""Ledgers that somebody forged: bytes that were changed, and lines that fit the chain and say something else."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from incrowd.core.io.chain import _digested

WRONG = [
    None, True, -1, 0.5, float("nan"), float("inf"), -float("inf"), 2**63, 10**400, "", "x", "../key", "\x00",
    "0" * 64, "f" * 64 + "\n", [], [1], {}, {"a": None}, {"a": -1}, {"name": "../key", "sha256": "0" * 64},
    {"name": [], "sha256": 1}, [[[[[]]]]], "2020-99-99", "\ud800",
]  # fmt: skip
"""Values in the place of a field."""
TEXTS = [
    b"", b"{}", b"{", b"[]", b"null", b"1", b'"x"', b"\xff\xfe", b'{"number":2}', b"{" * 100_000, b"[" * 100_000,
    b'{"number":2,"previous":"","record":' + b"9" * 5000 + b"}", b'{"number":NaN,"previous":1,"record":1}',
    b'{"number":2,"previous":null,"record":{}}', b'{"number":[],"previous":{},"record":[]}', b"\x00" * 99,
]  # fmt: skip
"""Texts in the place of a line."""


def records_of(folder: Path) -> list[dict[str, Any]]:
    """Return the contents of a ledger's lines, including the first."""
    lines = (folder / "ledger.jsonl").read_bytes().splitlines()
    return [json.loads(line)["record"] for line in lines]


def rewrite(folder: Path, records: Sequence[Any]) -> None:
    """Write other lines into a ledger, with a correct chain, where bytes are the text of a line."""
    digest, lines = "", []
    for number, record in enumerate(records, 1):
        entry = {"number": number, "previous": digest, "record": record}
        text = record if isinstance(record, bytes) else json.dumps(entry, sort_keys=True).encode()
        digest, line = _digested(text)
        lines.append(line + b"\n")
    (folder / "ledger.jsonl").write_bytes(b"".join(lines))
    (folder / "ledger.head").write_text(f"{len(lines)} {digest}\n")


def change_bytes(draw: random.Random, folder: Path, witness: Path) -> str:
    """Change a file of a ledger by hand, and return a description.

    Parameters
    ----------
    witness
        A file elsewhere, to which a link may lead.
    """
    names = ["ledger.jsonl", "ledger.jsonl", "ledger.head", "key", "ledger.lock", "ledger.new"]
    names += [f"people/{path.name}" for path in (folder / "people").iterdir()]
    path = folder / draw.choice(sorted(names))
    whole = path.read_bytes() if path.exists() else b""
    lines = whole.splitlines(keepends=True)
    how = draw.choice(["flip", "insert", "delete", "cut", "empty", "gone", "recode", "lines", "link", "other kind", "other bytes"])  # fmt: skip
    at = draw.randrange(len(whole) + 1)
    content: bytes | None = None
    match how:
        case "flip" if at < len(whole):
            content = whole[:at] + bytes([whole[at] ^ (1 << draw.randrange(8))]) + whole[at + 1 :]
        case "insert":
            content = whole[:at] + draw.randbytes(draw.choice([1, 9, 6000])) + whole[at:]
        case "delete":
            content = whole[:at] + whole[at + draw.choice([1, 2, 100]) :]
        case "cut":
            content = whole[:at]
        case "other bytes":
            content = draw.randbytes(len(whole))
        case "recode":
            how = draw.choice(["utf-16", "utf-8-sig", "crlf", "cr", "no end", "upper"])
            content = {
                "crlf": lambda: whole.replace(b"\n", b"\r\n"), "cr": lambda: whole.replace(b"\n", b"\r"),
                "no end": lambda: whole.rstrip(b"\n"), "upper": whole.upper,
            }.get(how, lambda: whole.decode("latin-1").encode(how))()  # fmt: skip
        case "lines" if lines:
            how = draw.choice(["line lost", "line doubled", "lines swapped"])
            one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
            if how == "lines swapped":
                lines[one], lines[other] = lines[other], lines[one]
            else:
                lines[one : one + 1] = [] if how == "line lost" else [lines[one]] * 2
            content = b"".join(lines)
        case _:
            content = b""
    if path.exists():
        path.unlink()
    if how == "link":
        copy = folder.parent / "copy"
        copy.write_bytes(whole)
        path.symlink_to(
            draw.choice([copy, witness, path, folder, "/dev/null", "/dev/zero", folder.parent / "nowhere"])
        )
    elif how == "other kind":
        draw.choice([path.mkdir, lambda: os.mkfifo(path)])()
    elif how != "gone":
        path.write_bytes(content)
    return f"{how}: {path.name if path.parent == folder else 'people'}"


def change_lines(draw: random.Random, folder: Path) -> str:
    """Forge lines that fit the chain, and files that fit the lines, and return a description."""
    records: list[Any] = records_of(folder)
    # The first line has no release.
    number = draw.randrange(len(records) > 1 and draw.random() < 0.9, len(records))
    record = dict(records[number])
    how = draw.choice(["field", "field", "field", "lost field", "text", "line lost", "line doubled", "lines swapped", "people", "people"])  # fmt: skip
    name = draw.choice(sorted(record))
    if how == "people" and record.get("file"):
        return _change_people(draw, folder, records, number)
    match how:
        case "lost field":
            del record[name]
            records[number] = record
        case "text":
            records[number] = draw.choice(TEXTS)
        case "line lost" if number:
            del records[number]
        case "line doubled":
            records.insert(number, record)
        case "lines swapped":
            other = draw.randrange(len(records))
            records[number], records[other] = records[other], records[number]
        case _:
            how = f"field {name}" if number else "field of line 1"
            large = [2**62, 1, 0, 3, 1e18, {"f" * 32: 2**62}, *WRONG]
            records[number] = record | {name: draw.choice(large)}
    rewrite(folder, records)
    return f"rewritten: {how}"


def _change_people(draw: random.Random, folder: Path, records: list[Any], number: int) -> str:
    from incrowd.core.io.seals import digest_of

    path = folder / "people" / records[number]["file"]["name"]
    people = pl.read_parquet(path)
    column = draw.choice(people.columns)
    how = draw.choice(["type", "lost", "empty", "nulls", "twice", "other name", "more"])
    match how:
        case "type":
            values = draw.choice([
                pl.lit("x"), pl.lit(1.5), pl.lit(None), pl.lit(float("nan")), pl.lit([1]), pl.lit(-1), pl.lit(2**62),
                pl.struct(pl.all()), pl.lit(True), pl.lit(b""),
            ])  # fmt: skip
            people = people.with_columns(values.alias(column))
        case "lost":
            people = people.drop(column)
        case "empty":
            people = people.clear()
        case "nulls":
            people = people.with_columns(pl.lit(None, people.schema[column]).alias(column))
        case "twice":
            people = pl.concat([people, people])
        case "other name":
            people = people.rename({column: draw.choice(["x", "group", "size", "^.*$", "f" * 32])})
        case "more":
            people = people.with_columns(pl.lit(b"x").alias(draw.choice(["size", "part", "*", "value"])))
    people.write_parquet(path)
    file = {"name": path.name, "sha256": digest_of(path)}
    rewrite(folder, [*records[:number], records[number] | {"file": file}, *records[number + 1 :]])
    return f"rewritten: people, {how}"


def copy_of(folder: Path, place: Path) -> Path:
    """Put a copy of a folder in a place, over any earlier copy."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder, place, symlinks=True)
    return place
