"""A file of JSON lines to which lines are only added, each chained by SHA-256 to the line before.

The digest of a line is of all bytes behind it, which name the digest of the line before. So a line that was
changed, lost or moved is found. A second file, the head, has the number of lines and the last digest, so
that lines that were cut off are found.

A process may be killed at any time: the next line takes the place of one without an end, and one whole line
that the head does not know yet counts. All else is refused, and the message names the line.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from filelock import lock_descriptor

from incrowd.core.errors import TableError
from incrowd.core.io.addresses import read_bytes
from incrowd.core.io.publishing import publishing
from incrowd.core.io.seals import reason

Record = dict[str, Any]
_FORMAT = {"format": "incrowd-chain", "version": 1}
_START = b'{"digest":"'
_TEXT = len(_START) + 64 + 2
"""The place in a line behind the digest."""


class Content(NamedTuple):
    """Records of a chain, with the number of lines, the last digest and the size in bytes."""

    records: list[Record]
    lines: int
    digest: str
    size: int


@dataclass(frozen=True)
class Chain:
    """A chained file, with a head and a lock file beside.

    The lock file is never removed. Else one who waits for it would lock a file that has no name any more.
    """

    path: Path

    @classmethod
    def create(cls, path: Path) -> Chain:
        """Make a new file with a first line, which has a random number."""
        cls(path)._put(Content([], 0, "", 0), _FORMAT | {"id": secrets.token_hex(16)})
        return cls(path)

    def read(self) -> Content:
        """Read and check all lines, and raise `TableError` for a changed, lost or moved line."""
        with self.adding() as (content, _):
            return content

    @contextmanager
    def adding(self) -> Iterator[tuple[Content, Callable[[Record], None]]]:
        """Lock the file, and yield the content and a function that adds a record, undone on an error."""
        with file_errors(self.path):
            lock = open(self.path.with_suffix(".lock"), "ab", opener=_private)  # noqa: SIM115
        with lock:
            with file_errors(self.path):
                lock_descriptor(lock.fileno())
                content = self._read_lines()
            try:
                yield content, lambda record: self._put(content, record)
            except BaseException:
                with publishing() as block:
                    block.hold()
                    # The record of what is published stays.
                    if not block.placed:
                        with file_errors(self.path):
                            self._cut(content.lines, content.digest, content.size)
                raise

    def take_back(self, mark: str) -> None:
        """Remove the last record if marked with `mark`, because the record's files were never published."""
        with self.adding() as (content, _):
            if content.records and content.records[-1].get("mark") == mark:
                last = self.path.read_bytes()[: content.size].splitlines(keepends=True)[-1]
                self._cut(
                    content.lines - 1, json.loads(b"{" + last[_TEXT:])["previous"], content.size - len(last)
                )

    def _cut(self, lines: int, digest: str, size: int) -> None:
        # The head goes first: one line too many is safe, one too few is not. A full disk kept it.
        if read_chained(self.path.with_suffix(".head")) != _head(lines, digest):
            self._put_head(lines, digest)
        os.truncate(self.path, size)

    def _read_lines(self) -> Content:
        content, head = map(read_chained, (self.path, self.path.with_suffix(".head")))
        *lines, torn = content.split(b"\n")
        digests, records = [""], []
        for number, line in enumerate(lines, 1):
            text = b"{" + line[_TEXT:]
            digest, expected = _digested(text)
            if line != expected:
                raise self._broken(number, "was changed")
            try:
                entry = json.loads(text)
                position, record = (entry["number"], entry["previous"]), entry["record"]
            except (ValueError, TypeError, LookupError, RecursionError):
                raise self._broken(number, "is not what incrowd writes") from None
            if position != (number, digests[-1]):
                raise self._broken(number, "does not follow the line before: lines were moved, added or lost")
            if not isinstance(record, dict):
                raise self._broken(number, "has no record")
            digests.append(digest)
            records.append(record)
        match = re.fullmatch(rb"(\d{1,18}) ([0-9a-f]{64})\n", head)
        last = int(match[1]) if match else 0
        if len(lines) < last:
            raise self._broken(len(lines) + 1, f"is lost, with all up to line {last:,}")
        # One line more: a process was killed before it wrote the head.
        if match is None or len(lines) > last + 1 or digests[last] != match[2].decode():
            raise self._broken(len(lines), f"does not end the chain as {self.path.stem}.head says")
        if not _FORMAT.items() <= records[0].items():
            raise self._broken(1, "is not that of a chain that this version reads")
        return Content(records[1:], len(lines), digests[-1], len(content) - len(torn))

    def _broken(self, number: int, problem: str) -> TableError:
        return TableError(f"{self.path}: line {number:,} {problem}; put all files of it back from a copy")

    def _put(self, content: Content, record: Record) -> None:
        """Write a line after the last line, and then the head."""
        entry = {"number": content.lines + 1, "previous": content.digest, "record": record}
        digest, line = _digested(json.dumps(entry, sort_keys=True, separators=(",", ":")).encode())
        write_private(self.path, line + b"\n", content.size)
        self._put_head(content.lines + 1, digest)

    def _put_head(self, lines: int, digest: str) -> None:
        new = self.path.with_suffix(".new")
        with file_errors(new):
            new.unlink(missing_ok=True)  # it may be a link to elsewhere
        write_private(new, _head(lines, digest))
        with file_errors(self.path):
            os.replace(new, self.path.with_suffix(".head"))


def _private(path: str, flags: int) -> int:
    # A pipe would wait for somebody who reads it.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o600)


def write_private(path: Path, content: bytes, behind: int = 0) -> None:
    """Keep the first `behind` bytes of a private file, append the content, and sync the file to disk."""
    with file_errors(path), open(path, "ab", opener=_private) as file:
        file.truncate(behind)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def read_chained(path: Path) -> bytes:
    """Read a file of a chain, or raise `TableError`."""
    with file_errors(path):
        return read_bytes(path)


def _head(lines: int, digest: str) -> bytes:
    return f"{lines} {digest}\n".encode()


def _digested(text: bytes) -> tuple[str, bytes]:
    """Return the digest of a line's text, and the line that starts with the digest."""
    digest = hashlib.sha256(text).hexdigest()
    return digest, _START + digest.encode() + b'",' + text[1:]


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turn an error of the system into a `TableError` that names a file, and the way out."""
    try:
        yield
    except OSError as error:
        way_out = "look at your rights and the free space there; if it is lost, put it back from a copy"
        raise TableError(f"{path}: cannot be read or written ({reason(error)}); {way_out}") from None
