"""File formats of hierarchies, and the file of each column in a folder."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from incrowd.core.errors import HierarchyError, TableError, named, quoted
from incrowd.core.hierarchy.foreign import is_amnesia, read_amnesia, read_hrc
from incrowd.core.hierarchy.tree import Hierarchy, TreeBuilder
from incrowd.core.io.addresses import file_path, require_regular
from incrowd.core.lazy import np

_LARGEST_FILE = 1 << 28
_NESTED = 200
"""Levels of a tree that is written nested. How deep Python reads hangs on its version and on the caller."""


class Format(NamedTuple):
    """A format of hierarchy files: its name, reader and writer, and the most bytes where it is slow to read.

    Slow is a second for every quarter of a million. A format without a writer is only read.
    """

    title: str
    read: Callable[[str, str], Hierarchy]
    write: Callable[[Hierarchy, Path], str] | None = None
    largest: int | None = None


def read(path: Path, encoding: str = "utf-8") -> Hierarchy:
    """Read a hierarchy file in the format of the suffix; see `Hierarchy.read`."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise HierarchyError(f"{path}: no hierarchy format has this suffix; use {', '.join(FORMATS)}")
    largest = FORMATS[suffix].largest or _LARGEST_FILE
    try:
        require_regular(path)
        with path.open("rb") as file:
            data = file.read(largest + 1)
        _refuse_large(path, len(data))
        text = data.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except OSError as error:
        raise HierarchyError(f"{path}: cannot be read ({error.strerror})") from None
    except LookupError:
        raise HierarchyError(
            f"{path}: {quoted(encoding)} is no known encoding; try utf-8 or latin-1"
        ) from None
    except UnicodeDecodeError as error:
        raise HierarchyError(
            f"{path}: byte {error.start} is not {encoding}; save the file as UTF-8"
        ) from None
    try:
        return FORMATS[suffix].read(text, str(path))
    except RecursionError:
        raise HierarchyError(f"{path}: nested too deep, or in itself; write it as .csv or .txt") from None


def _refuse_large(path: Path, size: float) -> None:
    slow = FORMATS[path.suffix.lower()].largest
    if size > (slow or _LARGEST_FILE):
        other = "write it as .csv or .txt" if slow else "use .txt, or fewer levels"
        raise HierarchyError(
            f"{path}: more than {(slow or _LARGEST_FILE) >> 20} MiB, which is too large for a hierarchy in "
            f"{path.suffix}; {other}"
        )


def kept_as(hierarchy: Hierarchy) -> str:
    """Return the suffix of a file that holds a tree beside a policy: JSON nests, and not to any depth."""
    return ".json" if hierarchy.height <= _NESTED else ".csv"


def write(hierarchy: Hierarchy, target: str | os.PathLike[str]) -> None:
    """Write a hierarchy file in the format of the suffix; see `Hierarchy.write`."""
    from incrowd.core.io.targets import writing

    path = file_path(target)
    form = FORMATS.get(path.suffix.lower())
    if form is None or form.write is None:
        raise HierarchyError(f"{path}: no hierarchy format has this suffix; use .txt, .csv, .json or .yaml")
    try:
        text = form.write(hierarchy, path)
    except RecursionError:
        raise HierarchyError(f"{path}: the tree is too deep for this format; use .csv or .txt") from None
    if text.startswith("\ufeff"):
        text = "\ufeff" + text  # a reader takes the first for a byte order mark
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise HierarchyError(f"{path}: a label is no valid Unicode (half of a surrogate pair)") from None
    # What is written can be read again.
    _refuse_large(path, len(data))
    try:
        with writing(target, force=True) as temporary:
            temporary.write_bytes(data)
    except TableError as error:
        raise HierarchyError(str(error)) from None


def _read_text(text: str, source: str) -> Hierarchy:
    if is_amnesia(text):
        return read_amnesia(text, source)
    builder = TreeBuilder(source)
    above: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        label = line.lstrip("\t")
        depth = len(line) - len(label)
        if label[:1] == " ":
            raise builder.fail("a line is indented with blanks; use one tab a level", number)
        if depth > len(above):
            raise builder.fail(f"the line is {depth} levels deep under one of {len(above) - 1}", number)
        del above[depth:]
        above.append(builder.add(label.rstrip(), above[-1] if above else -1, number))
    return builder.finish()


def _indented(hierarchy: Hierarchy, path: Path) -> str:
    for label in hierarchy.labels:
        if label != label.strip() or len(label.splitlines()) != 1:
            raise HierarchyError(
                f"{path}: this format cannot hold the label {label!r} (blanks at its ends or a line break); "
                "use .csv, .json or .yaml"
            )
    lines = (
        "\t" * int(depth) + label for label, depth in zip(hierarchy.labels, hierarchy.depths, strict=True)
    )
    return "\n".join(lines) + "\n"


def _read_arx(text: str, source: str) -> Hierarchy:
    if not text.strip():
        raise HierarchyError(f"{source}: the file is empty")
    readings: list[dict[int, list[str]]] = []
    problems: list[HierarchyError] = []
    for delimiter in ";,":
        try:
            readings.append(_rows_by_line(text, source, delimiter))
        except HierarchyError as problem:
            problems.append(problem)
    rows = min(readings, key=_oddness, default={})
    if problems and (not rows or _oddness(rows)[0]):
        raise problems[0]
    # The empty value is the missing one, which is generalized to the root at once.
    missing = {line: row for line, row in rows.items() if len(row) > 1 and not row[0] and all(row[1:])}
    paths = [row[-1:] if line in missing else row for line, row in rows.items()]
    tree = Hierarchy.from_paths(paths, source, list(rows))
    for line, row in missing.items():
        if between := [label for label in row[1:-1] if label != row[-1]]:
            warnings.warn(
                f"{source}, line {line}: a missing value is generalized to the root {row[-1]!r} at once; "
                f"{named(between)} is passed over",
                stacklevel=2,
            )
    return tree


def _rows_by_line(text: str, source: str, delimiter: str) -> dict[int, list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows, ended = {}, 0
    try:
        for row in reader:
            if row:
                rows[ended + 1] = row
            ended = reader.line_num
    except csv.Error as error:
        raise HierarchyError(f"{source}, line {ended + 1}: not a readable CSV ({error})") from None
    return rows


def _oddness(rows: Mapping[int, list[str]]) -> tuple[bool, bool, int]:
    """Count oddities of rows under a delimiter: a line without a parent, several roots, stray quotes.

    A label may hold the other delimiter, and under that one of these is there.
    """
    quotes = sum(label.count('"') for row in rows.values() for label in row)
    return min(map(len, rows.values())) < 2, len({row[-1] for row in rows.values()}) > 1, quotes


def _arx(hierarchy: Hierarchy, path: Path) -> str:
    below = np.flatnonzero(hierarchy.parents == 0)
    if any(hierarchy.labels[node] == hierarchy.labels[0] for node in below):
        raise HierarchyError(
            f"{path}: this format cannot hold a node right under the root with the root's label "
            f"{hierarchy.labels[0]!r}, which stands for the root itself; use .txt, .json or .yaml"
        )
    # Every leaf has a line of all labels above it, filled up with the root's.
    letters = [len(label) + 1 for label in hierarchy.labels]
    way = letters.copy()
    for node, parent in enumerate(hierarchy.parents.tolist()[1:], 1):
        way[node] += way[parent]
    missing = int((hierarchy.height - hierarchy.depths[hierarchy.leaves]).sum(dtype=np.int64))
    _refuse_large(path, missing * letters[0] + math.fsum(way[node] for node in hierarchy.leaves.tolist()))
    # The csv module leaves a lone carriage return unquoted before Python 3.13.
    odd = any("\r" in label for label in hierarchy.labels)
    buffer = io.StringIO(newline="")
    writer = csv.writer(
        buffer, delimiter=";", lineterminator="\n", quoting=csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL
    )
    for rank in range(hierarchy.n_leaves):
        labels = hierarchy.path(rank)
        writer.writerow([*labels, *[labels[-1]] * (hierarchy.height + 1 - len(labels))])
    return buffer.getvalue()


def _nested(hierarchy: Hierarchy) -> dict[str, object]:
    if hierarchy.height > _NESTED:
        raise RecursionError
    return hierarchy.to_nested()


def _json(hierarchy: Hierarchy, path: Path) -> str:
    return json.dumps(_nested(hierarchy), ensure_ascii=False, indent=1) + "\n"


def _yaml(hierarchy: Hierarchy, path: Path) -> str:
    import yaml

    # PyYAML folds the line breaks of Unicode inside a label unless it escapes them.
    odd = any(mark in label for label in hierarchy.labels for mark in "\x85\u2028\u2029")
    return str(yaml.safe_dump(_nested(hierarchy), allow_unicode=not odd, sort_keys=False))


def _read_json(text: str, source: str) -> Hierarchy:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(items)
        if len(mapping) < len(items):
            twice = Counter(label for label, _ in items).most_common(1)[0][0]
            raise HierarchyError(f"{source}: {twice!r} stands twice under its parent; remove one")
        return mapping

    try:
        data = json.loads(text, object_pairs_hook=pairs, parse_int=str, parse_float=str, parse_constant=str)
    except json.JSONDecodeError as error:
        raise HierarchyError(f"{source}, line {error.lineno}: not readable as JSON ({error.msg})") from None
    return Hierarchy.from_nested(data, source)


def _read_yaml(text: str, source: str) -> Hierarchy:
    import yaml

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        position = source if mark is None else f"{source}, line {mark.line + 1}"
        raise HierarchyError(f"{position}: not readable as YAML") from None
    if not isinstance(root, yaml.MappingNode) or len(root.value) != 1:
        raise HierarchyError(f"{source}: the outermost mapping needs one key, the root")
    reader = _YamlReader(source)
    reader.add(root, -1)
    return reader.builder.finish()


class _YamlReader:
    """YAML nodes as written, where a plain NO or 1.0 stays a text and aliases are detected."""

    def __init__(self, source: str) -> None:
        self.builder = TreeBuilder(source)
        self._visited: set[int] = set()

    def add(self, node: Any, parent: int) -> None:
        """Add the subtree below a node of the tree."""
        self._visited.add(id(node))
        for key, below in self._items(node):
            if key.id != "scalar":
                raise self.builder.fail("a label must be a text", _line(key))
            child = self.builder.add(key.value, parent, _line(key))
            if below is None:
                continue
            if id(below) in self._visited and below.id != "scalar":
                raise self.builder.fail(
                    f"{key.value!r} refers to a part that stands elsewhere, which gives it two parents "
                    "or a cycle; write it out",
                    _line(key),
                )
            self.add(below, child)

    def _items(self, node: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the labels right below a node, each with the subtree."""
        if node.id == "mapping":
            yield from node.value
        elif node.id == "sequence":
            for child in node.value:
                if child.id == "sequence":
                    raise self.builder.fail("a list right inside a list has no label", _line(child))
                if child.id == "mapping":
                    yield from child.value
                else:
                    yield child, None
        elif node.value:
            yield node, None


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


FORMATS = {
    ".txt": Format("text, depth by tabs", _read_text, _indented),
    ".csv": Format("CSV of ARX, leaf first", _read_arx, _arx),
    ".json": Format("JSON, nested", _read_json, _json),
    ".yaml": Format("YAML, nested", _read_yaml, _yaml, 1 << 24),
    ".yml": Format("YAML, nested", _read_yaml, _yaml, 1 << 24),
    ".hrc": Format("code list of ARGUS", read_hrc),
}
"""The formats of hierarchy files, by suffix."""


def find_files(folder: str | os.PathLike[str], columns: Iterable[str]) -> dict[str, Path]:
    """Return the hierarchy file of each column that has such a file.

    A file belongs to a column if its name without suffix is the column's name, or ends with ``_`` and the
    column's name. Example: ``adult_hierarchy_age.csv`` belongs to ``age``. If the name ends with the names of
    several columns, the longest one counts: ``adult_marital_status.csv`` belongs to ``marital_status``, not
    to ``status``. Other files are passed over.

    Raises
    ------
    HierarchyError
        When the folder cannot be read or a column has two files.
    """
    path = file_path(folder)
    try:
        files = sorted(child for child in path.iterdir() if child.suffix.lower() in FORMATS)
    except OSError as error:
        raise HierarchyError(f"{path}: cannot read the folder of hierarchies ({error.strerror})") from None
    names_of_columns = list(columns)
    owner: dict[Path, str] = {}
    for file in files:
        ends = [column for column in names_of_columns if f"_{file.stem}".endswith(f"_{column}")]
        if ends:
            owner[file] = max(ends, key=len)
    matches: dict[str, Path] = {}
    for column in names_of_columns:
        candidates = [file for file, name in owner.items() if name == column]
        matching = [file for file in candidates if file.stem == column] or candidates
        if len(matching) > 1:
            names = " and ".join(file.name for file in matching)
            raise HierarchyError(f"{path}: column {column!r} has several hierarchies, {names}; keep one")
        if matching:
            matches[column] = matching[0]
    return matches
