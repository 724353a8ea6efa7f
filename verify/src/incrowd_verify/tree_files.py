"""Files of hierarchies, read a second time: tab-indented text, ARX CSV, nested JSON and YAML, ARGUS, Amnesia.

They are read as the rest of the package reads them:

- Blanks at the end of a tab-indented line are no part of the label.
- A row that comes again is passed over.
- A null of YAML is a text.
- A semicolon within quotes is no delimiter.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from incrowd_gate.errors import HierarchyError, read_as_labels, refuse_pipe
from incrowd_verify.recipes import Tree, TreeError, range_text, tree_of

_HEAD = re.compile(r"(distinct|range)\s*\nname\b")
"""Begins a hierarchy of Amnesia."""
_LARGEST = 1 << 28
_LARGEST_YAML = 1 << 24
"""Bytes of a file that is read; of YAML a second goes by for every quarter of a million."""
_DEEPEST = 400
"""Levels of YAML, whose parser takes longer for each level within brackets."""


def read_tree(source: Path | dict[str, Any], values: Sequence[str], column: str) -> Tree:
    """Read a hierarchy file, or follow a builder's spec.

    - `source`: a file (``.txt`` tab-indented, ``.csv``, ``.json``, ``.yaml``, ``.yml``) or a builder's spec.
    - `values`: the distinct texts of the column; every one must be a leaf.
    - Raises `HierarchyError`: the source is no tree or lacks a value of the column.
    """
    tree = tree_in(source) if isinstance(source, Path) else tree_of(source, values, column)
    unknown = [value for value in values if value not in tree.leaves]
    if unknown:
        name = f"the hierarchy file {source}" if isinstance(source, Path) else "the hierarchy of the policy"
        problem = f"column {column!r}: {len(unknown)} distinct value(s) are no leaf of {name}"
        raise HierarchyError(problem + read_as_labels(tree.leaves, unknown))
    return tree


def tree_in(path: Path) -> Tree:
    """Read a hierarchy file by the file's suffix.

    Raises `HierarchyError`: it cannot be read, or holds no tree.
    """
    readers: dict[str, Callable[[str, Path], Tree]] = {
        ".txt": lambda text, path: (_amnesia if _HEAD.match(text) else _indented)(text, path),
        ".hrc": _code_list,
        ".csv": _arx,
        ".json": _json,
        ".yaml": _yaml,
        ".yml": _yaml,
    }
    suffix = path.suffix.lower()
    reader = readers.get(suffix)
    if reader is None:
        raise HierarchyError(f"{path}: verify reads hierarchy files ending in {', '.join(readers)}")
    refuse_pipe(path, HierarchyError)
    largest = _LARGEST_YAML if reader is _yaml else _LARGEST
    try:
        with path.open("rb") as file:
            data = file.read(largest + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise HierarchyError(f"{path}: the hierarchy file cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise HierarchyError(f"{path}: the hierarchy file is not UTF-8") from None
    if len(data) > largest:
        raise HierarchyError(f"{path}: a hierarchy in {suffix} of more than {largest >> 20} MiB is not read")
    try:
        tree = reader(text, path)
    except RecursionError:
        raise HierarchyError(f"{path}: nested too deep") from None
    if len(tree.labels) < 2:
        raise HierarchyError(f"{path}: the hierarchy has no leaves")
    return tree


class _Pen:
    """Builder of a tree from a file, with the place of a node in errors."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tree = Tree()

    def add(self, label: str, parent: int, place: str) -> int:
        try:
            return self.tree.add(label, parent)
        except TreeError as error:
            raise HierarchyError(f"{self.path}, {place}: {error}") from None


def _indented(text: str, path: Path) -> Tree:
    pen = _Pen(path)
    above: list[int] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        depth = len(line) - len(line.lstrip("\t"))
        label = line[depth:].rstrip()
        if line[depth] == " ":
            raise HierarchyError(f"{path}, line {number}: indented with blanks; use one tab a level")
        if depth > len(above):
            raise HierarchyError(f"{path}, line {number}: indented too deep")
        above[depth:] = [pen.add(label, above[depth - 1] if depth else -1, f"line {number}")]
    return pen.tree


def _code_list(text: str, path: Path) -> Tree:
    """Read a code list of ARGUS: each ``@`` is a level; the total above several codes is called ``*``."""
    pen = _Pen(path)
    codes = [each for each in map(str.strip, text.splitlines()) if each]
    several = sum(not each.startswith("@") for each in codes) > 1
    above = [pen.add("*", -1, "the total")] if several else []
    for number, each in enumerate(codes, start=1):
        code = each.lstrip("@")
        depth = len(each) - len(code) + several
        if depth > len(above):
            raise HierarchyError(f"{path}, code {number}: too deep")
        above[depth:] = [pen.add(code.strip(), above[depth - 1] if depth else -1, f"code {number}")]
    return pen.tree


def _amnesia(text: str, path: Path) -> Tree:
    """Read lines ``parent has child child``, where the label that is nobody's child is the root."""
    pen = _Pen(path)
    split = [line.split() for line in text.splitlines()]
    families = {words[0]: words[2:] for words in split if words[1:2] == ["has"]}
    children = [child for each in families.values() for child in each]
    roots = families.keys() - set(children)
    if len(roots) != 1 or len(set(children)) < len(children):
        raise HierarchyError(f"{path}: no tree: each label but one needs one parent")
    labels = _of_ranges(split, families, roots, path) if split[0] == ["range"] else {}
    nodes = {root: pen.add(labels.get(root, [root])[0], -1, "the root") for root in roots}
    open_ = list(nodes)
    for parent in open_:
        for child in families.get(parent, ()):
            label, *numbers = labels.get(child, [child])
            nodes[child] = pen.add(label, nodes[parent], f"below {parent!r}")
            for number in numbers:
                pen.add(number, nodes[child], f"below {parent!r}")
            open_.append(child)
    return pen.tree


def _of_ranges(
    split: list[list[str]], families: dict[str, list[str]], roots: set[str], path: Path
) -> dict[str, list[str]]:
    """Return the label of each range, and the whole numbers of a range without ranges below.

    A range ends before the next one of its family begins; the last ends with its parent.
    """
    kinds = [words[1] for words in split if words[:1] == ["type"] and len(words) > 1]
    try:
        ends = {root: int(float(root.split(",")[1])) for root in roots}
        open_ = list(roots)
        for parent in open_:
            family = families.get(parent)
            if family is None:
                continue
            starts = [int(float(child.split(",")[0])) for child in family]
            ends |= dict(zip(family, [*(start - 1 for start in starts[1:]), ends[parent]], strict=True))
            open_ += family
        if kinds not in (["int"], ["integer"]):
            raise ValueError
        spans = {name: (int(float(name.split(",")[0])), end) for name, end in ends.items()}
    except (ValueError, IndexError):
        raise HierarchyError(f"{path}: no ranges of whole numbers") from None
    return {
        name: [range_text(low, high), *([] if name in families else map(str, range(low, high + 1)))]
        for name, (low, high) in spans.items()
    }


# --- ARX: a row is a leaf and all that is above it ------------------------------------------------------


def _arx(text: str, path: Path) -> Tree:
    """Read rows under the delimiter that suits: all rows have parents, a single root, and no stray quotes."""
    readings = {mark: _rows_of_csv(text, mark) for mark in ";,"}
    readable = {mark: rows for mark, rows in readings.items() if isinstance(rows, list) and rows}
    if not readable:
        problem = next((rows for rows in readings.values() if isinstance(rows, str)), "the file is empty")
        raise HierarchyError(f"{path}{problem if problem.startswith(',') else ': ' + problem}")

    def oddness(mark: str) -> tuple[bool, bool, int]:
        rows = [row for _, row in readable[mark]]
        roots = {row[-1] for row in rows}
        stray = sum(label.count('"') for row in rows for label in row)
        return min(map(len, rows)) == 1, len(roots) > 1, stray

    best = min(readable, key=oddness)
    broken = next((rows for rows in readings.values() if isinstance(rows, str)), None)
    if broken and oddness(best)[0]:
        raise HierarchyError(f"{path}{broken}")
    return _grown(readable[best], path)


def _rows_of_csv(text: str, mark: str) -> list[tuple[int, list[str]]] | str:
    """Return the rows with line numbers, or a text that says where reading fails."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    rows: list[tuple[int, list[str]]] = []
    before = 0
    try:
        for row in reader:
            if row:
                rows.append((before + 1, row))
            before = reader.line_num
    except csv.Error as error:
        return f", line {before + 1}: not readable as CSV ({error})"
    return rows


def _grown(rows: list[tuple[int, list[str]]], path: Path) -> Tree:
    pen = _Pen(path)
    ends: set[int] = set()
    inner: set[int] = set()
    roots_alone: list[tuple[int, str]] = []
    for line, labels in rows:
        # The row of a missing value, which hangs under the root wherever the row has it.
        way = labels[::-1] if labels[0] or not all(labels[1:]) or len(labels) < 2 else labels[-1:]
        while len(way) > 1 and way[0] == way[1]:  # rows padded with the root to one length
            del way[0]
        if len(way) == 1:
            roots_alone.append((line, way[0]))
            continue
        node = -1
        for step, label in enumerate(way):
            if node in ends:
                raise HierarchyError(f"{path}, line {line}: {way[step - 1]!r} is a leaf and has values below")
            inner.add(node)
            known = pen.tree.child(label, node)
            node = pen.add(label, node, f"line {line}") if known is None else known
        if node in inner:
            raise HierarchyError(f"{path}, line {line}: {way[-1]!r} is a leaf and has values below")
        ends.add(node)
    for line, label in roots_alone:
        # A row of nothing but the root, as ARX writes for a suppressed value.
        if not pen.tree.labels or label != pen.tree.labels[0]:
            raise HierarchyError(f"{path}, line {line}: a row needs a value and the root above it")
    return pen.tree


# --- nested: JSON and YAML ------------------------------------------------------------------------------


class _Pairs(tuple[tuple[str, Any], ...]):
    """The entries of a mapping, in order and with repeats."""

    __slots__ = ()


def _json(text: str, path: Path) -> Tree:
    # Pairs, not a dict: a key that comes twice must be seen. Numbers stay the text they were written as.
    try:
        data = json.loads(text, object_pairs_hook=_Pairs, parse_int=str, parse_float=str, parse_constant=str)
    except json.JSONDecodeError as error:
        raise HierarchyError(f"{path}, line {error.lineno}: {error.msg}") from None
    return _nested(data, path)


def _yaml(text: str, path: Path) -> Tree:
    import yaml

    try:
        # An alias gives a part two parents, so no tree has one; and a few lines of them stand for millions.
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise HierarchyError(f"{path}: nested too deep")
            if isinstance(event, yaml.AliasEvent):
                mark = event.start_mark
                line = mark.line + 1 if mark else 1
                raise HierarchyError(
                    f"{path}, line {line}: an alias (*{event.anchor}) gives a part two parents; write it out"
                )
        data = _data_of_yaml(yaml.compose(text, Loader=yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        raise HierarchyError(f"{path}{place}: no readable YAML") from None
    return _nested(data, path)


def _data_of_yaml(node: Any) -> Any:
    """Turn a YAML node into pairs, lists and texts as written (so `no` and `~` are texts)."""
    kind = getattr(node, "id", None)
    if kind == "mapping":
        return _Pairs((_data_of_yaml(key), _data_of_yaml(value)) for key, value in node.value)
    if kind == "sequence":
        return [_data_of_yaml(item) for item in node.value]
    return None if node is None or node.value == "" else str(node.value)


def _nested(data: Any, path: Path) -> Tree:
    if not isinstance(data, _Pairs) or len(data) != 1:
        raise HierarchyError(f"{path}: needs one mapping with one key, the root")
    pen = _Pen(path)

    def walk(item: Any, parent: int) -> None:
        place = "at the root" if parent < 0 else f"below {pen.tree.labels[parent]!r}"
        if isinstance(item, _Pairs):
            for key, child in item:
                if not isinstance(key, str):
                    raise HierarchyError(f"{path}, {place}: a label that is no text")
                walk(child, pen.add(key, parent, place))
        elif isinstance(item, list):
            for child in item:
                if not isinstance(child, (str, _Pairs)):
                    raise HierarchyError(f"{path}, {place}: needs a mapping or a text within a list")
                walk(child, parent)
        elif isinstance(item, str):
            pen.add(item, parent, place)
        elif item is not None:
            raise HierarchyError(f"{path}, {place}: needs a mapping, a list or a text")

    walk(data, -1)
    return pen.tree
