"""FHIR as flat tables: NDJSON files and bundles, by a mapping that the page on FHIR documents.

References
----------
HL7, FHIR R4 (https://hl7.org/fhir/R4) and R5: Patient, Encounter, Condition, MedicationRequest.
"""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

from incrowd.core.errors import TableError
from incrowd.core.lazy import pl
from incrowd.release.jobs.compare.draft_linked import DATES, Join, LinkedDraft, draft_text

_LINES = (".ndjson", ".jsonl", ".ndjson.gz", ".jsonl.gz")
_WHOLE = (".json", ".json.gz")
_HEAD = 65_536
"""Bytes of a file in which a resource says that it is one."""


class Column(NamedTuple):
    """A column of a flat table: the elements that may hold it, the part taken, and the lines of a draft.

    The first element that is there counts, and of a list the first entry.
    """

    elements: tuple[str, ...]
    kind: Literal["text", "code", "day", "year", "reference"] = "text"
    role: str = "quasi"
    lines: str = ""


_KEY = Column(("id",), role="insensitive")
_PATIENT = Column(("subject",), "reference", "identifying")
_ENCOUNTER = Column(("encounter",), "reference", "identifying")
MAPPING: Mapping[str, Mapping[str, Column]] = {
    "Patient": {
        "id": _KEY,
        "gender": Column(("gender",)),
        "birth_year": Column(("birthDate",), "year", lines="hierarchy = { intervals = [5, 10, 20] }"),
        "postal_code": Column(("address.postalCode",), lines="hierarchy = { prefix = true }"),
        "marital_status": Column(("maritalStatus",), "code"),
        "death_date": Column(("deceasedDateTime",), "day", lines=DATES),
    },
    "Encounter": {
        "id": _KEY,
        "patient": _PATIENT,
        "class": Column(("class",), "code"),
        "start": Column(("period.start", "actualPeriod.start"), "day", lines=DATES),
    },
    "Condition": {
        "patient": _PATIENT,
        "encounter": _ENCOUNTER,
        "code": Column(("code",), "code"),
        "onset": Column(("onsetDateTime",), "day", lines=DATES),
    },
    "MedicationRequest": {
        "patient": _PATIENT,
        "encounter": _ENCOUNTER,
        "medication": Column(("medicationCodeableConcept", "medication.concept"), "code"),
        "authored": Column(("authoredOn",), "day", lines=DATES),
    },
}
"""The columns of each resource that becomes a table; all other elements are left out."""


@dataclass
class FhirTables:
    """The flat tables of a folder, and the elements that are left out.

    Attributes
    ----------
    tables
        The tables by resource, without columns that nobody has.
    files
        The files that were read.
    others, elements
        Resources of other types, and elements of mapped resources, that no table holds.
    no_dates
        How many values of each column are no whole date. They are missing in the table.
    """

    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    others: set[str] = field(default_factory=set)
    elements: dict[str, set[str]] = field(default_factory=dict)
    no_dates: Counter[str] = field(default_factory=Counter)


def is_fhir(folder: Path) -> bool:
    """Say whether a folder has a file with resources of FHIR."""
    for path in fhir_files(folder):
        # Whoever reads the file says that it is damaged.
        with (
            suppress(OSError, EOFError),
            gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file,
        ):
            if b'"resourceType"' in file.read(_HEAD):
                return True
    return False


def read_fhir(folder: str | os.PathLike[str]) -> FhirTables:
    """Read the NDJSON files and bundles of a folder as flat tables.

    Raises
    ------
    TableError
        When a file has no resources, or two resources of one id differ; the message names file and line.
    """
    result = FhirTables(files=fhir_files(folder))
    rows: dict[str, list[dict[str, Any]]] = {kind: [] for kind in MAPPING}
    seen: dict[tuple[str, str], bytes] = {}
    # A bundle calls its resources by addresses of its own.
    ids: dict[str, str] = {}
    for path in result.files:
        for place, address, resource in _resources(path):
            kind = resource["resourceType"]
            if kind not in MAPPING:
                result.others.add(kind)
                continue
            name = resource.get("id") or _id_of(address, kind, {})
            if not isinstance(name, str):
                raise TableError(f"{place}: this {kind} has no id, by which others name it")
            if address is not None:
                ids[address] = name
            content = sha256(json.dumps(resource, sort_keys=True).encode()).digest()
            if (before := seen.setdefault((kind, name), content)) != content:
                raise TableError(
                    f"{place}: this {kind} has an id that stands before with other content; keep one version"
                )
            if before is not content:
                continue
            row = {
                column: _value(resource, column, how, place, result) for column, how in MAPPING[kind].items()
            }
            rows[kind].append(row | ({"id": name} if "id" in MAPPING[kind] else {}))
            used = {each.partition(".")[0] for how in MAPPING[kind].values() for each in how.elements}
            result.elements.setdefault(kind, set()).update({*resource} - used - {"resourceType", "id"})
    for kind, entries in rows.items():
        for row in entries:
            row |= {name: _id_of(row[name], name, ids) for name in ("patient", "encounter") if name in row}
        frame = pl.DataFrame(entries, dict.fromkeys(MAPPING[kind], pl.String))
        if entries:
            result.tables[kind] = frame.select(each for each in frame if each.null_count() < len(entries))
    return result


def draft_fhir(folder: str | os.PathLike[str]) -> LinkedDraft:
    """Draft the policy of the flat tables of a folder; see `MAPPING`.

    Raises
    ------
    TableError
        When the folder has no patients.
    """
    read = read_fhir(folder)
    tables = read.tables
    if "Patient" not in tables:
        raise TableError(
            f"{folder}: no file has a Patient of FHIR; give a folder with NDJSON files or bundles"
        )
    chosen = {kind: join for kind in tables if (join := _join(kind, tables)) is not None}
    linked = {kind: frame for kind, frame in tables.items() if kind == "Patient" or kind in chosen}

    def section(table: str, column: str) -> list[str]:
        how = MAPPING[table][column]
        return [f'role = "{how.role}"', *([how.lines] if how.lines else [])]

    text = draft_text(Path(folder).name, linked, {kind: f"{kind}.csv" for kind in linked}, chosen, section)
    notes = [f"FHIR: {', '.join(linked)}; the release has a CSV file of each"]
    notes += [
        f"left out, as it names no patient or nothing more: {kind}" for kind in tables if kind not in linked
    ]
    notes += [f"left out, as it is not mapped: {kind}" for kind in sorted(read.others)]
    notes += [
        f"left out of {kind}, as they are not mapped: {', '.join(sorted(names))}"
        for kind, names in read.elements.items()
        if names
    ]
    notes += [
        f"left out of {column}, as they are no whole dates: {n:,}" for column, n in read.no_dates.items()
    ]
    return LinkedDraft(text, tuple(chosen.values()), notes=tuple(notes))


def fhir_files(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the files of a folder that may have resources, in order of their names."""
    there = (each for each in Path(folder).iterdir() if each.is_file())
    return sorted(each for each in there if each.name.lower().endswith((*_LINES, *_WHOLE)))


def _resources(path: Path) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    """Yield where each resource of a file stands, its address in a bundle, and the resource."""
    name = path.name.lower()
    try:
        content = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
        text = content.decode("utf-8-sig")
    except (OSError, EOFError, ValueError):
        raise TableError(f"{path}: cannot be read as UTF-8; export it again") from None
    for number, line in enumerate(text.split("\n") if name.endswith(_LINES) else [text], 1):
        place = f"{path}, line {number:,}" if name.endswith(_LINES) else str(path)
        if not line.strip():
            continue
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            raise TableError(f"{place}: this is no JSON that can be read; FHIR has an object here") from None
        yield from _unpacked(document, None, place)


def _unpacked(document: Any, address: Any, place: str) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    """Yield a resource, or those of a bundle."""
    if not isinstance(document, dict) or not isinstance(document.get("resourceType"), str):
        raise TableError(f"{place}: this is no resource of FHIR; resourceType is missing")
    if document["resourceType"] != "Bundle":
        yield place, address if isinstance(address, str) else None, document
        return
    entries = document.get("entry", [])
    for number, entry in enumerate(entries if isinstance(entries, list) else [None], 1):
        if not isinstance(entry, dict) or "resource" not in entry:
            raise TableError(f"{place}, entry {number:,}: a bundle has an entry without a resource")
        yield from _unpacked(entry["resource"], entry.get("fullUrl"), f"{place}, entry {number:,}")


def _value(resource: Mapping[str, Any], column: str, how: Column, place: str, read: FhirTables) -> str | None:
    """Return the text of a cell, None where the resource has none."""
    for element in how.elements:
        # A Coding has the code itself, as the class of an encounter in R4.
        inner = {"code": (".coding.code", ".code"), "reference": (".reference",)}.get(how.kind, ("",))
        for way in (f"{element}{each}" for each in inner):
            value: Any = resource
            for key in way.split("."):
                value = value[0] if isinstance(value, list) and value else value
                value = value.get(key) if isinstance(value, dict) else None
            if value is None:
                continue
            if not isinstance(value, str) or not value.strip():
                raise TableError(f"{place}: {way} of this {resource['resourceType']} is no text")
            if how.kind not in ("day", "year"):
                return value
            try:
                text = value[:10] if how.kind == "day" else f"{value[:4]}-01-01"
                return date.fromisoformat(text).isoformat()[: 10 if how.kind == "day" else 4]
            except ValueError:
                read.no_dates[f"{resource['resourceType']}.{column}"] += 1
                return None
    return None


def _id_of(reference: str | None, column: str, ids: Mapping[str, str]) -> str | None:
    """Return the id that a reference names: ``Patient/7``, an address, or one of a bundle."""
    if reference is None or reference in ids:
        return None if reference is None else ids[reference]
    kind, slash, name = reference.partition("/_history/")[0].rpartition("/")
    is_other = slash and kind.rpartition("/")[2].lower() != column.lower()
    return None if is_other else name.rpartition(":")[2]


def _join(kind: str, tables: Mapping[str, pl.DataFrame]) -> Join | None:
    """Return the join of a table: to the encounter where each row has one, and else to the patient."""
    frame = tables[kind]
    if not any(MAPPING[kind][column].role == "quasi" for column in frame.columns):
        return None
    for above, column, least in (("Encounter", "encounter", 1.0), ("Patient", "patient", 0.0)):
        if column in frame.columns and above in tables and above != kind:
            share = float(frame[column].is_in(tables[above]["id"].implode()).sum()) / frame.height
            if share >= least and share:
                return Join(kind, column, above, "id", share)
    return None
