"""The ledger of releases: the recipient of each, and refusal of a release that exposes people."""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import math
import os
import re
import secrets
from collections.abc import Callable, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from incrowd.core.errors import ParameterError, SchemaError, TableError, setting
from incrowd.core.io.addresses import file_path
from incrowd.core.io.chain import Chain, Content, read_chained, write_private
from incrowd.core.io.placing import Publication
from incrowd.core.io.publishing import publishing
from incrowd.core.io.seals import digest_of
from incrowd.core.lazy import nw, pl
from incrowd.core.table.schema import require_different
from incrowd.engines import engine_for
from incrowd.release.jobs.later.apply import AppliedBatch
from incrowd.release.jobs.later.ledger.deduction import deduced_people, signatures_of, without_m_invariance
from incrowd.release.jobs.later.ledger.exposure import (
    RECORDS,
    ReleasePeople,
    exposed_by_intersection,
    exposed_together,
    strictest,
)
from incrowd.release.jobs.later.ledger.joins import Keys, joins_of
from incrowd.release.jobs.later.ledger.people import account_of, column_digest, key_digest, macs
from incrowd.release.jobs.later.ledger.refusal import entry_name, refuse
from incrowd.release.jobs.later.ledger.tables import Counted, Shown, refuse_beside
from incrowd.release.jobs.make.randomize import RandomizedTable
from incrowd.release.jobs.make.release import Release
from incrowd.release.jobs.make.tabulate import TableRelease

FILE_NAME = re.compile(r"[0-9a-f]{16}\.parquet")
TABLE_NAME = re.compile(r"[0-9a-f]{16}\.json")
_LARGEST = 2**63


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _LARGEST


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < _LARGEST


def _is_text(value: Any) -> bool:
    # Half of a pair of surrogates is no text that can be shown.
    return isinstance(value, str) and value.encode("utf-8", "ignore").decode() == value


def _is_truth(value: Any) -> bool:
    return type(value) is bool


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def is_column_digest(value: Any) -> bool:
    """Say whether a value is a name that `people.column_digest` returns."""
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{32}", value) is not None


def _is_date(value: Any) -> bool:
    try:
        return datetime.fromisoformat(value) is not None
    except (TypeError, ValueError):
        return False


def _is_file(value: Any, form: re.Pattern[str] = FILE_NAME) -> bool:
    has_name = isinstance(value, dict) and isinstance(value.get("name"), str)
    return has_name and form.fullmatch(value["name"]) is not None and _is_digest(value.get("sha256"))


def _are_limits(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_count, value.values()))


def _are_joins(value: Any) -> bool:
    entries = [*value.values()] if isinstance(value, dict) and all(map(is_column_digest, value)) else [None]
    return all(
        isinstance(each, dict) and _is_text(each.get("column")) and _is_truth(each.get("long"))
        for each in entries
    )


def _or_none(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


_FIELDS: Mapping[str, Callable[[Any], bool]] = {
    "number": _is_count, "date": _is_date, "command": _is_text, "recipient": _is_text, "records": _is_count,
    "people": _or_none(_is_count), "matched_by": _or_none(_is_text), "k": _or_none(_is_count),
    "l": _are_limits, "m": _or_none(_is_count), "epsilon": _is_number, "epsilon_limit": _or_none(_is_number),
    "models": lambda value: isinstance(value, dict), "file": _or_none(_is_file),
    "input": _is_digest, "policy": _or_none(_is_digest), "release": _is_digest,
    "linked": _is_truth, "sets": _or_none(is_column_digest), "columns": _or_none(is_column_digest),
    "key": is_column_digest, "tables": _or_none(lambda value: _is_file(value, TABLE_NAME)),
    "cells": _or_none(_is_file), "keys": _or_none(_is_file), "joins": _are_joins,
}  # fmt: skip
"""What each field is."""
_MISSING = object()


def require_entries(records: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Refuse records that are not entries of a ledger.

    Raises
    ------
    TableError
        Which names the first entry and its field.
    """
    for number, record in enumerate(records, 1):
        wrong = [name for name, fits in _FIELDS.items() if not fits(record.get(name, _MISSING))]
        if not wrong and record["number"] != number:
            wrong = ["number"]
        if not wrong and (record["people"] is None, record["k"] is None) != (record["file"] is None,) * 2:
            wrong = ["file"]
        if wrong:
            raise TableError(
                f"{folder}: {wrong[0]!r} of entry {number:,} is not what incrowd writes; put all files of "
                "the ledger back from a copy"
            )


__all__ = ["Ledger"]

Entry = dict[str, Any]
_CHAIN, _KEY, _PEOPLE = "ledger.jsonl", "key", "people"
_KEY_SIZE = 32
_ENDINGS = {"file": ".parquet", "cells": ".parquet", "keys": ".parquet", "tables": ".json"}
"""The files of an entry, by the field that names each."""
_ALIKE = 2
"""How many times as many people a table of a similar size has at most."""
_AGAIN = 0.25
"""Share of the people of such a table who are found again, unless they are others."""
_WAY_OUT = (
    "Recode the new people alone as before (incrowd apply), take a coarser recoding, or leave these people "
    "out."
)
_OTHER_KEY = (
    "Give the column a pseudonym with another key, leave it out, or release both as linked tables, which are "
    "judged together."
)


@runtime_checkable
class LinkedTables(Protocol):
    """A release of linked tables, which knows its people itself."""

    def for_ledger(self, key: bytes) -> tuple[dict[str, Any], pl.DataFrame, pl.DataFrame | None]:
        """Return figures for an entry, and keyed digests of people and of keys, as `people.account_of`."""
        ...


@dataclass(frozen=True)
class Ledger:
    """A record of releases, which refuses a release that exposes people together with earlier releases.

    The folder is private. It has a line for each release, chained to the line before, and
    for each a file with keyed digests of people, classes and sensitive values. No value of a table is in it.

    Examples
    --------
    >>> import tempfile
    >>> import incrowd as ic
    >>> table = ic.samples.hospital(300)
    >>> schema = ic.Schema(quasi=["age"], unlisted="drop")
    >>> ledger = ic.Ledger.init(tempfile.mkdtemp() + "/ledger")
    >>> release = ic.anonymize(table, schema, "k-anonymity:5")
    >>> ledger.add(release, table, recipient="hospital A")
    >>> ledger.show()["recipient"].to_list(), ledger.verify()
    (['hospital A'], None)
    """

    folder: Path

    @classmethod
    def init(cls, folder: str | os.PathLike[str]) -> Ledger:
        """Create a ledger in a new folder, or raise `TableError` for a folder with content."""
        from incrowd.core.io.targets import writing

        with writing(folder, folder=True, private=True) as place:
            write_private(place / _KEY, secrets.token_bytes(_KEY_SIZE))
            (place / _PEOPLE).mkdir(0o700)
            Chain.create(place / _CHAIN)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Ledger:
        """Open a ledger, or raise `TableError` if the folder has none."""
        folder = file_path(folder)
        if not os.path.isfile(folder / _CHAIN):
            was_one = os.path.isfile(folder / _KEY)
            way_out = "put it back from a copy" if was_one else "incrowd ledger init makes one"
            raise TableError(f"{folder}: is no ledger, {_CHAIN} is missing; {way_out}")
        return cls(folder)

    def read(self) -> Content:
        """Read and check all lines, or raise `TableError` for a changed, lost, moved or forged line."""
        content = Chain(self.folder / _CHAIN).read()
        require_entries(content.records, self.folder)
        return content

    @property
    def entries(self) -> list[Entry]:
        """The entries, the oldest first, checked as `read` does."""
        return self.read().records

    @property
    def digest(self) -> str:
        """The digest of the last line, of which a copy elsewhere shows a rewritten ledger."""
        return self.read().digest

    def verify(self) -> str | None:
        """Return a sentence on the first changed, lost or moved line or file, or None."""
        try:
            entries = self.entries
            self._key(entries)
            list(map(self.people, entries))
            list(map(self._shown, entries))
            list(map(self._keys, entries))
        except TableError as error:
            return str(error)
        return None

    def show(self) -> pl.DataFrame:
        """Return a Polars frame with a row for each entry."""
        columns = ("number", "date", "command", "recipient", "records", "people", "epsilon")
        return pl.DataFrame(
            [[entry[name] for name in columns] for entry in self.entries], columns, orient="row"
        )

    def people(self, entry: Entry) -> pl.DataFrame | None:
        """Return the digests of the people of an entry, or None for an entry without people."""
        return self._digests("people", entry, "file", _is_people)

    def _digests(
        self, kind: str, entry: Entry, file: str, fits: Callable[[pl.DataFrame, Entry], bool]
    ) -> pl.DataFrame | None:
        if entry[file] is None:
            return None
        content = read_chained(self.folder / _PEOPLE / entry[file]["name"])
        if _sha256(content) == entry[file]["sha256"]:
            with suppress(Exception, pl.exceptions.PanicException):
                digests = pl.read_parquet(io.BytesIO(content))
                if fits(digests, entry):
                    return digests
        raise self._changed(kind, entry)

    def _shown(self, entry: Entry) -> Shown:
        """Return the tables or rows of an entry, for comparison with others."""
        shown = Shown(entry, self._digests("cells", entry, "cells", _is_cells), self.tables(entry))
        if not shown.is_whole(self._key(())):
            raise self._changed("cells", entry)
        return shown

    def _keys(self, entry: Entry) -> Keys | None:
        """Return the keys by which a release may join others, or None where it shows none."""
        rows = self._digests("keys", entry, "keys", _are_keys)
        return None if rows is None else Keys(entry, rows)

    def tables(self, entry: Entry) -> list[dict[str, Any]]:
        """Return the count tables of an entry, as `TableRelease.documents`; none for an entry of rows."""
        if entry["tables"] is None:
            return []
        content = read_chained(self.folder / _PEOPLE / entry["tables"]["name"])
        if _sha256(content) == entry["tables"]["sha256"]:
            return list(json.loads(content))
        raise self._changed("tables", entry)

    def _changed(self, kind: str, entry: Entry) -> TableError:
        return TableError(
            f"{self.folder}: the {kind} of entry {entry['number']} were changed; put all files of the ledger "
            "back from a copy"
        )

    def tables_of(self, table: Any, file: str | os.PathLike[str] | None = None) -> list[dict[str, Any]]:
        """Return the count tables of earlier entries that were made of some data, as `tables`.

        Data is what a table counts: the columns of each earlier table are counted anew. So the same records
        in another order, or in a file of another kind, are the same data.

        Parameters
        ----------
        table
            The raw table.
        file
            The file that it was read from; None for a frame.
        """
        known = None
        if file is not None or _is_in_memory(table):
            known = self.input_digest(_digest_of(table) if file is None else digest_of(file_path(file)))
        counted = Counted(table, self.input_digest)
        return [
            each
            for entry in self.entries
            for each in self.tables(entry)
            if entry["input"] == known or counted.content(each) == each["content"]
        ]

    def with_people(self, entries: Sequence[Entry]) -> list[tuple[Entry, pl.DataFrame]]:
        """Return the entries that have people, with the digests of the people of each."""
        return [(each, digests) for each in entries if (digests := self.people(each)) is not None]

    def signatures(
        self, people: pl.DataFrame, attribute: str, values: pl.Series
    ) -> dict[int, tuple[int, ...]]:
        """Return the signature of each person in an m-invariant release.

        Parameters
        ----------
        people
            Texts that name a person, a row for each; see `add`.
        attribute
            The sensitive attribute.
        values
            Texts of values that a signature may have.

        Returns
        -------
        Places in `values`, in order, by the number of the row.

        Raises
        ------
        SchemaError
            When an earlier release is about another attribute.
        TableError
            When a signature has another value than `values`.
        """
        entries, by_row = self.entries, {}
        key = self._key(entries)
        column = column_digest(key, attribute)
        place = {digest: number for number, digest in enumerate(macs(key, "value", values.to_frame()))}
        persons = macs(key, "person", people).to_frame("person").with_row_index("row")
        for entry, digests in self.with_people(entries):
            if not entry["m"]:
                continue
            if column not in digests.columns:
                raise SchemaError(
                    f"{entry_name(entry)} is about another sensitive attribute than {attribute!r}"
                )
            matches = persons.join(signatures_of(digests).unique("person"), on="person")
            for row, signature in matches.select("row", "signature").iter_rows():
                if not place.keys() >= set(signature):
                    option = setting("earlier=", "--earlier-release")
                    raise TableError(
                        f"{entry_name(entry)} has sensitive values that no row of the table has, and "
                        f"counterfeit records need them: give that release, too ({option})"
                    )
                by_row[row] = tuple(sorted(place[each] for each in signature))
        return by_row

    def add(
        self,
        release: Release | AppliedBatch | RandomizedTable | TableRelease | LinkedTables,
        table: Any,
        publish: Callable[[], object] = bool,
        *,
        recipient: str,
        keys: Sequence[str] = (),
        files: Mapping[str, Any] | None = None,
        epsilon: float | None = None,
        new_people: bool = False,
    ) -> None:
        """Record and publish a release.

        The entry is on the disk before, and is taken back if that fails before all files have their names.
        From there Ctrl-C and SIGTERM wait. If the process is killed, the ledger may have a release too many,
        and never one too few.

        Parameters
        ----------
        release
            What is handed out, as `anonymize`, `next_release`, `apply_recoding`, `randomize`, `tabulate` or
            `anonymize_linked` return.
        table
            The raw table that it was made of: a frame, a lazy frame, opened files, or a database's table. Of
            linked tables it is not looked at.
        publish
            Called to publish it, e.g. ``lambda: release.save("out")``, or ``release.into("safe")`` in its
            place.
        recipient
            Who gets it.
        keys
            Raw columns that name a person, in place of the policy's; without either, the quasi-identifiers.
        files
            The files of ``input``, ``policy`` and ``release``, for their digests.
        epsilon
            What all releases may spend together, for a table with noise; else the policy says it.
        new_people
            Whether hardly anybody was in an earlier release of a table with these columns and a similar size.
            Without it such a release is refused, since the ids may only be written in another way.

        Raises
        ------
        VerdictError
            When the release breaks its policy together with earlier ones.
        TableError
            When people cannot be found, or are not found again.
        """
        entry, people, shown, joined = self._entry(release, table, keys, epsilon)
        entry |= {"date": datetime.now(UTC).isoformat(timespec="seconds"), "recipient": recipient}
        paths = {name: getattr(path, "temporary", path) for name, path in (files or {}).items() if path}
        entry |= {"policy": None, **{name: digest_of(path) for name, path in paths.items()}}
        documents = json.dumps(shown.documents).encode() if shown.documents else b""
        if "input" not in entry:
            # Nobody has read all rows of a table of a database: what it counts stands for it.
            stands = documents and not _is_in_memory(table)
            entry["input"] = _sha256(documents) if stands else _digest_of(table)
        if "release" not in entry:
            made = None if isinstance(release, TableRelease | LinkedTables) else release.table
            entry["release"] = _sha256(documents) if made is None else _digest_of(made)
        # A plain digest of the input would confirm a guess of its rows.
        entry["input"] = self.input_digest(entry["input"])
        contents: dict[str, bytes] = {}
        for name, frame in (("file", people), ("cells", shown.people), ("keys", joined)):
            if frame is not None:
                file = io.BytesIO()
                frame.write_parquet(file)
                contents[name] = file.getvalue()
        if documents:
            contents["tables"] = documents
        places = {name: f"{secrets.token_hex(8)}{_ENDINGS[name]}" for name in contents}
        with publishing():
            try:
                with Chain(self.folder / _CHAIN).adding() as (before, append):
                    require_entries(before.records, self.folder)
                    self._key(before.records)
                    entry["number"] = before.lines
                    self._remove_unrecorded(before.records)
                    self._refuse_joined(entry, joined, before.records)
                    self._refuse(entry, people, before.records, new_people)
                    self._refuse_beside(shown, before.records)
                    for name, content in contents.items():
                        write_private(self.folder / _PEOPLE / places[name], content)
                        entry[name] = {"name": places[name], "sha256": _sha256(content)}
                    if isinstance(publish, Publication):
                        entry["mark"] = publish.recorded(self.folder / _CHAIN)
                    append(entry)
                    publish()
            except BaseException:
                # After the line that names it, which stays where it cannot be taken back.
                with suppress(TableError, OSError):
                    for name in {*places.values()} - _files(self.entries):
                        (self.folder / _PEOPLE / name).unlink(missing_ok=True)
                raise

    def judge(
        self,
        release: Release | AppliedBatch | RandomizedTable | LinkedTables,
        table: Any,
        *,
        keys: Sequence[str] = (),
        new_people: bool = False,
    ) -> None:
        """Refuse a release as `add` does, with the same parameters and errors, and record nothing."""
        entries = self.entries
        self._key(entries)
        entry, people, shown, joined = self._entry(release, table, keys, None)
        self._refuse_joined(entry, joined, entries)
        self._refuse(entry, people, entries, new_people)
        self._refuse_beside(shown, entries)

    def input_digest(self, digest: str) -> str:
        """Return the ``input`` of an entry, given the SHA-256 of the raw file."""
        return hmac.new(self._key(()), digest.encode(), "sha256").hexdigest()

    def _entry(
        self,
        release: Release | AppliedBatch | RandomizedTable | TableRelease | LinkedTables,
        table: Any,
        keys: Sequence[str],
        epsilon: float | None,
    ) -> tuple[Entry, pl.DataFrame | None, Shown, pl.DataFrame | None]:
        """Return figures, limits and promises of a release, the people, the tables or rows, and the keys."""
        require_different(keys)
        key, people, joined = self._key(()), None, None
        entry: Entry = {"models": {}, "people": None, "matched_by": None, "k": None, "l": {}, "file": None}
        entry |= {"m": None, "key": key_digest(key), "tables": None, "cells": None}
        entry |= {"linked": False, "sets": None, "columns": None, "keys": None, "joins": {}}
        shown = Shown(entry, None)
        if isinstance(release, TableRelease):
            entry |= {"command": "tabulate", "epsilon": 0.0, "epsilon_limit": None}
            counted = Counted(table, self.input_digest)
            documents = [each | {"content": counted.content(each)} for each in release.documents()]
            entry["records"] = max(each["people"] for each in documents)
            shown = counted.shown(key, entry, release.schema, documents, keys)
        elif isinstance(release, RandomizedTable):
            entry |= {"command": "randomize", "epsilon": release.epsilon, "epsilon_limit": epsilon}
            entry["records"] = len(nw.from_native(release.table, eager_only=True))
        elif isinstance(release, LinkedTables):
            if keys:
                raise ParameterError(
                    f"{setting('keys=', '--ledger-keys')}: linked tables have keys by their joins"
                )
            account, people, joined = release.for_ledger(key)
            entry |= account
        else:
            account, people, cells, joined = account_of(key, release, getattr(release, "came", table), keys)
            entry |= account | {"columns": column_digest(key, *sorted(engine_for(table).columns))}
            shown = Shown(entry, cells)
        return entry, people, shown, joined

    def _remove_unrecorded(self, entries: Sequence[Entry]) -> None:
        """Remove the files of people without a recorded release."""
        recorded = _files(entries)
        for path in (self.folder / _PEOPLE).iterdir():
            is_ours = FILE_NAME.fullmatch(path.name) or TABLE_NAME.fullmatch(path.name)
            if path.name not in recorded and is_ours:
                path.unlink(missing_ok=True)

    def _refuse_beside(self, shown: Shown, before: Sequence[Entry]) -> None:
        """Refuse tables beside earlier tables or rows, and rows beside tables, that tell of few people."""
        others = ("tables", "cells") if shown.documents else ("tables",)
        earlier = [self._shown(each) for each in before if any(each[name] for name in others)]
        refuse_beside(self._key(()), shown, earlier)

    def _refuse_joined(self, entry: Entry, joined: pl.DataFrame | None, before: Sequence[Entry]) -> None:
        """Refuse a release that exposes people beside another one that carries the same keys."""
        if joined is None:
            return
        earlier = [keys for each in before if (keys := self._keys(each)) is not None]
        for join in joins_of(Keys(entry, joined), earlier):
            people = "1 person" if join.least == 1 else f"{join.least:,} people"
            found_by = (
                f"(joined by {join.column}, whose values are in {', '.join(join.others)} there, too; the "
                f"smallest joint class has {people})"
            )
            _refuse_together(before, join.earlier, join.latest, found_by, _OTHER_KEY)

    def _refuse(self, entry: Entry, people: pl.DataFrame | None, before: Sequence[Entry], new: bool) -> None:
        """Refuse a release that exposes people together with earlier releases, or spends too much."""
        every = [*before, entry]
        limit = min((e["epsilon_limit"] for e in every if e["epsilon_limit"] is not None), default=math.inf)
        spent = math.fsum(each["epsilon"] for each in every)
        if entry["epsilon"] and spent > limit * (1 + 1e-12):
            earlier_spending = "".join(f" with {entry_name(each)}" for each in before if each["epsilon"])
            refuse(
                f"The release{earlier_spending} would bring epsilon of the ledger to {spent:g}, and "
                f"{limit:g} is allowed.",
                "Lower epsilon, or leave columns out.",
            )
        earlier = {each["number"]: digests for each, digests in self.with_people(before)}
        if people is None:
            return
        for each in (before[number - 1] for number in earlier):
            if each["matched_by"] != entry["matched_by"]:
                differ = f"by {each['matched_by']}, and this one by {entry['matched_by']}"
                columns = setting("keys=", "--ledger-keys")
                raise SchemaError(
                    f"{entry_name(each)} finds people {differ}; name the same columns ({columns})"
                )
        if not new:
            _refuse_unmatched(
                entry, people, [(before[number - 1], digests) for number, digests in earlier.items()]
            )
        if entry["m"]:
            series = [digests for number, digests in earlier.items() if before[number - 1]["m"]]
            if others := len(without_m_invariance([*series, people], entry["m"])):
                refuse(
                    f"The classes of {others:,} people have fewer than {entry['m']} sensitive values, or "
                    "others than in an earlier release of the ledger.",
                    "Make the release with incrowd next.",
                )
        released = {
            number: ReleasePeople.of_entry(before[number - 1], digests) for number, digests in earlier.items()
        }
        found_by = f"(found again by {entry['matched_by']})"
        _refuse_together(before, released, ReleasePeople.of_entry(entry, people), found_by)

    def _key(self, entries: Sequence[Entry]) -> bytes:
        """Return the key, or raise `TableError` if an entry has another key."""
        key = read_chained(self.folder / _KEY)
        if len(key) != _KEY_SIZE or {each["key"] for each in entries} - {key_digest(key)}:
            raise TableError(f"{self.folder / _KEY}: was changed, and finds nobody; put it back from a copy")
        return key


def _files(entries: Sequence[Entry]) -> set[str]:
    """Return the names of the files of people in entries."""
    return {each[name]["name"] for each in entries for name in _ENDINGS if each[name]}


def _are_keys(frame: pl.DataFrame, entry: Entry) -> bool:
    return {"class", *entry["joins"]} <= {*frame.columns} and _is_cells(frame, entry)


def _is_cells(frame: pl.DataFrame, entry: Entry) -> bool:
    """Say whether a frame has digests of the cells of people or of classes, and nothing else."""
    digests = frame.drop("person", "row", "class", RECORDS, strict=False)
    return (
        len({"person", "row", "class"} & {*frame.columns}) == 1
        and set(frame.drop(RECORDS).dtypes) == {pl.Binary}
        and all(map(is_column_digest, digests.columns))
        and frame[RECORDS].dtype.is_integer()
        and bool((frame[RECORDS] > 0).all())
    )


def _is_people(frame: pl.DataFrame, entry: Entry) -> bool:
    """Say whether a frame has the digests of the people of an entry, and nothing else."""
    records = frame[RECORDS] if RECORDS in frame.columns else pl.Series([1])
    digests = frame.drop("person", "class", RECORDS, strict=False).columns
    return (
        {frame[name].dtype for name in ("person", "class", *digests)} == {pl.Binary}
        and all(map(is_column_digest, digests))
        and (not entry["m"] or len(digests) == 1)
        and entry["people"] == frame["person"].drop_nulls().n_unique()
        and records.dtype.is_integer()
        and not records.has_nulls()
        and bool((records > 0).all())
    )


def _refuse_together(
    before: Sequence[Entry],
    released: Mapping[int, ReleasePeople],
    latest: ReleasePeople,
    found_by: str,
    way_out: str = _WAY_OUT,
) -> None:
    """Refuse a release that exposes people beside other releases of the ledger."""
    # Two of a series are compared by their signatures alone.
    others = {number: each for number, each in released.items() if not (latest.series and each.series)}
    if not others:
        return
    counts = {number: len(exposed_together(each, latest)) for number, each in others.items()}
    worst = max(counts, key=counts.__getitem__)
    exposed, source, involved = counts[worst], entry_name(before[worst - 1]), [others[worst]]
    if not exposed:
        involved = list(others.values())
        exposed, source = len(exposed_by_intersection([*involved, latest])), _several(involved)
    if exposed:
        k, least = strictest([*involved, latest])
        values = f" or {max(least.values())} sensitive values" if least else ""
        refuse(
            f"Together with {source} the release exposes {exposed:,} people {found_by}. Fewer than {k} "
            f"people{values} share all their classes, or are left of a class without those of the other "
            "release.",
            way_out,
        )
    if exposed := len(deduced_people([*released.values(), latest], latest=True)):
        least = strictest([*released.values(), latest])[1]
        refuse(
            f"Together with {_several(released)} the release exposes {exposed:,} people {found_by}. Whoever "
            f"compares the values of all classes can rule values out: fewer than "
            f"{max(least.values(), default=2)} are left for a person, or no more could be shown to be.",
            way_out,
        )


def _refuse_unmatched(
    entry: Entry, people: pl.DataFrame, earlier: Sequence[tuple[Entry, pl.DataFrame]]
) -> None:
    """Refuse a similar table with few known people, as the ids may have another notation.

    The ids may only be written in another way.

    Raises
    ------
    TableError
    """
    persons = people["person"].drop_nulls().unique()
    shares = {}
    for each, digests in earlier:
        small, large = sorted((entry["people"], each["people"]))
        if each["columns"] == entry["columns"] and small * _ALIKE >= large:
            overlap = persons.is_in(digests["person"].unique().implode()).sum()
            shares[each["number"]] = overlap / max(small, 1)
    if shares and max(shares.values()) < _AGAIN:
        similar = next(each for each, _ in earlier if each["number"] == max(shares, key=shares.__getitem__))
        option = setting("new_people=True", "--ledger-new-people")
        raise TableError(
            f"the ledger finds {max(shares.values()):.0%} of the people of {entry_name(similar)} again, "
            f"which has the same columns and a similar size; if they are the same people, write "
            f"{entry['matched_by']} as it was written then; if they are others, say so ({option})"
        )


def _several(releases: Sized) -> str:
    return f"{len(releases)} earlier release{'s' * (len(releases) != 1)} of the ledger"


def _is_in_memory(table: Any) -> bool:
    return isinstance(nw.from_native(table, eager_only=True, pass_through=True), nw.DataFrame)


def _digest_of(table: Any) -> str:
    return _sha256(nw.from_native(table, eager_only=True).to_polars().write_csv().encode())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
