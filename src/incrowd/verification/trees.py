"""Hierarchies as the verifier needs them: leaves, parents and heights, for the hierarchical distance alone.

The tree is built from paths (leaf first, root last), whatever the source: a tab-indented text file, an ARX
CSV file, nested JSON or YAML, or one of the builders' specs of a policy.
"""

from __future__ import annotations

import csv
import datetime
import io
import itertools
import json
import math
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from incrowd.errors import HierarchyError, PolicyError

__all__ = ["Tree", "read_tree"]

_ROOT = "*"
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})([T ][0-9]{2}:[0-9]{2}.*)?", re.DOTALL)


@dataclass
class Tree:
    """A tree whose node 0 is the root and whose nodes come after their parents.

    Attributes
    ----------
    parents
        Parent of each node; -1 for the root.
    leaves
        Node of each leaf's label.
    """

    parents: list[int] = field(default_factory=lambda: [-1])
    leaves: dict[str, int] = field(default_factory=dict)

    def heights(self) -> list[int]:
        """Return per node the length of the longest path down to a leaf below it."""
        heights = [0] * len(self.parents)
        for node in range(len(self.parents) - 1, 0, -1):
            above = self.parents[node]
            heights[above] = max(heights[above], heights[node] + 1)
        return heights

    def way_up(self, leaf: str) -> Iterator[int]:
        """Yield the nodes from a leaf up to the last one below the root."""
        node = self.leaves[leaf]
        while node != 0:
            yield node
            node = self.parents[node]


def read_tree(source: Path | dict[str, Any], values: Sequence[str], column: str) -> Tree:
    """Read a hierarchy file, or follow a builder's spec.

    Parameters
    ----------
    source
        A file (``.txt`` tab-indented, ``.csv``, ``.json``, ``.yaml``, ``.yml``) or a builder's spec.
    values
        The distinct texts of the column; every one must be a leaf.
    column
        The column's name, for errors.

    Raises
    ------
    HierarchyError
        The source is no tree or lacks a value of the column.
    PolicyError
        The spec names no builder that verify knows.
    """
    tree = _from_file(source) if isinstance(source, Path) else _from_spec(source, values, column)
    unknown = sum(value not in tree.leaves for value in values)
    if unknown:
        name = f"the hierarchy file {source}" if isinstance(source, Path) else "the hierarchy of the policy"
        raise HierarchyError(f"column {column!r}: {unknown} distinct value(s) are no leaf of {name}")
    return tree


# --- files --------------------------------------------------------------------------------------------


def _from_file(path: Path) -> Tree:
    readers: dict[str, Callable[[str, Path], Iterable[tuple[str, Sequence[str]]]]] = {
        ".txt": _indented,
        ".csv": _arx,
        ".json": _json,
        ".yaml": _yaml,
        ".yml": _yaml,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise HierarchyError(f"{path}: verify reads hierarchy files ending in {', '.join(readers)}")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise HierarchyError(f"{path}: the hierarchy file cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise HierarchyError(f"{path}: the hierarchy file is not UTF-8") from None
    return _from_labels(reader(text, path), path)


def _from_labels(rows: Iterable[tuple[str, Sequence[str]]], path: Path) -> Tree:
    """Assemble labelled paths, each with the place it was read from."""
    tree = Tree()
    children: dict[tuple[int, str], int] = {}
    labels: list[str] = []
    nodes: dict[str, int] = {}  # the lowest node of each label so far
    for place, labelled in rows:
        row = list(labelled)
        if "" in row:
            raise HierarchyError(f"{path}, {place}: an empty label")
        while len(row) > 1 and row[-1] == row[-2]:
            row.pop()
        if not labels:
            labels.append(row[-1])
            nodes[row[-1]] = 0
        if row[-1] != labels[0]:
            raise HierarchyError(f"{path}, {place}: several roots, {labels[0]!r} and {row[-1]!r}")
        node = 0
        for label in reversed(row[:-1]):
            child = children.get((node, label))
            if child is None:
                # A node may repeat the label of its own parent, and no other.
                if label in nodes and label != labels[node]:
                    raise HierarchyError(f"{path}, {place}: {label!r} stands at two places of the tree")
                child = len(labels)
                children[node, label] = child
                labels.append(label)
                tree.parents.append(node)
                nodes[label] = child
            node = child
        if node == 0:
            continue  # a row of nothing but the root, as ARX writes for a suppressed value
        if row[0] in tree.leaves:
            raise HierarchyError(f"{path}, {place}: the leaf {row[0]!r} comes twice")
        tree.leaves[row[0]] = node
    inner = set(tree.parents)
    for label, node in tree.leaves.items():
        if node in inner:
            raise HierarchyError(f"{path}: {label!r} is a leaf and has values below it as well")
    if not tree.leaves:
        raise HierarchyError(f"{path}: the hierarchy has no leaves")
    return tree


def _indented(text: str, path: Path) -> Iterator[tuple[str, Sequence[str]]]:
    above: list[str] = []
    last = 0
    for number, ended in enumerate(text.split("\n"), start=1):
        line = ended.removesuffix("\r")
        if not line.strip():
            continue
        label = line.lstrip("\t")
        depth = len(line) - len(label)
        if depth > len(above) or (depth == 0 and above):
            wrong = "indented too deep" if depth else "several roots"
            raise HierarchyError(f"{path}, line {number}: {wrong}")
        if above and depth < len(above):  # the line before had no child: a leaf
            yield f"line {last}", above[::-1]
        above[depth:] = [label]
        last = number
    if above:
        yield f"line {last}", above[::-1]


def _arx(text: str, path: Path) -> Iterator[tuple[str, Sequence[str]]]:
    delimiter = ";" if ";" in text.partition("\n")[0] else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if row:
                yield f"line {reader.line_num}", row
    except csv.Error as error:
        raise HierarchyError(f"{path}, line {reader.line_num}: {error}") from None


def _json(text: str, path: Path) -> Iterator[tuple[str, Sequence[str]]]:
    # Pairs, not a dict: a key that comes twice must be seen. Numbers stay the text they were written as.
    try:
        data = json.loads(text, object_pairs_hook=_Pairs, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        raise HierarchyError(f"{path}, line {error.lineno}: {error.msg}") from None
    except RecursionError:
        raise HierarchyError(f"{path}: nested too deep") from None
    return _nested(data, path)


class _Pairs(tuple[tuple[str, Any], ...]):
    """The entries of a mapping, in order and with repeats."""

    __slots__ = ()


def _yaml(text: str, path: Path) -> Iterator[tuple[str, Sequence[str]]]:
    import yaml

    try:
        data = _plain(yaml.compose(text, Loader=yaml.SafeLoader), path)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        raise HierarchyError(f"{path}{place}: no readable YAML") from None
    except RecursionError:
        raise HierarchyError(f"{path}: nested too deep, or an alias of itself") from None
    return _nested(data, path)


def _plain(node: Any, path: Path) -> Any:
    """Turn a YAML node into pairs, lists and the texts as they were written (so `no` is no truth value)."""
    kind = getattr(node, "id", None)
    if kind == "mapping":
        return _Pairs((_plain(key, path), _plain(value, path)) for key, value in node.value)
    if kind == "sequence":
        return [_plain(item, path) for item in node.value]
    if node is None or node.tag == "tag:yaml.org,2002:null":
        return None
    return str(node.value)


def _nested(data: Any, path: Path) -> Iterator[tuple[str, Sequence[str]]]:
    if not isinstance(data, _Pairs) or len(data) != 1:
        raise HierarchyError(f"{path}: needs one mapping with one key, the root")

    def walk(item: Any, above: tuple[str, ...]) -> Iterator[tuple[str, Sequence[str]]]:
        place = f"below {above[0]!r}" if above else "at the root"
        if isinstance(item, str):
            yield place, (item, *above)
        elif isinstance(item, list) and item:
            for child in item:
                yield from walk(child, above)
        elif isinstance(item, _Pairs) and item:
            for key, child in item:
                if not isinstance(key, str):
                    raise HierarchyError(f"{path}, {place}: a label that is no text")
                if child is None or child in ([], ()):
                    yield place, (key, *above)
                else:
                    yield from walk(child, (key, *above))
        else:
            raise HierarchyError(f"{path}, {place}: needs a mapping, a list or a text")

    return walk(data, ())


# --- builders' specs ----------------------------------------------------------------------------------


def _from_spec(spec: dict[str, Any], values: Sequence[str], column: str) -> Tree:
    builders: dict[str, tuple[frozenset[str], Callable[[dict[str, Any], Sequence[str], str], _Paths]]] = {
        "flat": (frozenset(), _flat),
        "order": (frozenset({"fanout"}), _order),
        "intervals": (frozenset({"origin"}), _intervals),
        "prefix": (frozenset(), _prefix),
        "dates": (frozenset(), _dates),
    }
    names = [name for name in builders if name in spec]
    if len(names) != 1:
        raise PolicyError(f"column {column!r}: the hierarchy must name one builder of {', '.join(builders)}")
    options, build = builders[names[0]]
    unknown = sorted(set(spec) - options - {names[0]})
    if unknown:
        raise PolicyError(
            f"column {column!r}: verify does not know {', '.join(map(repr, unknown))} of {names[0]!r}"
        )
    tree = Tree()
    children: dict[tuple[int, Hashable], int] = {}
    for value, ancestors in build(spec, values, column):
        node = 0
        for key in (*reversed(ancestors), ("leaf", value)):
            child = children.get((node, key))
            if child is None:
                child = len(tree.parents)
                children[node, key] = child
                tree.parents.append(node)
            node = child
        tree.leaves[value] = node
    return tree


_Paths = Iterator[tuple[str, Sequence[Hashable]]]  # a leaf and the nodes above it, the root left out


def _flat(spec: dict[str, Any], values: Sequence[str], column: str) -> _Paths:
    if spec["flat"] is not True:
        raise PolicyError(f"column {column!r}: the builder must be written flat = true")
    for value in values:
        yield value, ()


def _order(spec: dict[str, Any], values: Sequence[str], column: str) -> _Paths:
    listed, fanout = spec["order"], spec.get("fanout", 2)
    if not isinstance(listed, list) or not listed or not all(_is_plain(item) for item in listed):
        raise PolicyError(f"column {column!r}: order must be a list of texts")
    if not isinstance(fanout, int) or isinstance(fanout, bool) or fanout < 2:
        raise PolicyError(f"column {column!r}: fanout must be a whole number from 2")
    texts = [str(item) for item in listed]
    if len(set(texts)) != len(texts):
        raise PolicyError(f"column {column!r}: order lists a value twice")
    for place, text in enumerate(texts):
        # Group sizes below the one that holds all; a group of one on the way changes no height that counts.
        sizes = []
        size = fanout
        while size < len(texts):
            sizes.append(size)
            size *= fanout
        yield text, [(size, place // size) for size in sizes]


def _intervals(spec: dict[str, Any], values: Sequence[str], column: str) -> _Paths:
    listed = spec["intervals"]
    if not isinstance(listed, list) or not listed:
        raise PolicyError(f"column {column!r}: intervals must be a list of widths")
    widths = [_exact(width, column) for width in listed]
    origin = _exact(spec.get("origin", 0), column)
    if any(width <= 0 for width in widths) or any(
        (wide / narrow).denominator != 1 for narrow, wide in itertools.pairwise(widths)
    ):
        raise PolicyError(f"column {column!r}: each width must be above 0 and a multiple of the one before")
    wrong = sum(_NUMBER.fullmatch(value) is None for value in values)
    if wrong:
        raise HierarchyError(f"column {column!r}: {wrong} distinct value(s) are no numbers for intervals")
    for value in values:
        above = Fraction(value) - origin
        yield value, [(width, above // width) for width in widths]


def _prefix(spec: dict[str, Any], values: Sequence[str], column: str) -> _Paths:
    if spec["prefix"] is not True:
        raise PolicyError(f"column {column!r}: the builder must be written prefix = true")
    longest = max(map(len, values), default=0)
    for value in values:
        padded = value.ljust(longest)
        yield value, [padded[:kept] for kept in range(longest - 1, 0, -1)]


def _dates(spec: dict[str, Any], values: Sequence[str], column: str) -> _Paths:
    parts: dict[str, Callable[[datetime.date], Hashable]] = {
        "month": lambda day: (day.year, day.month),
        "quarter": lambda day: (day.year, "Q", (day.month - 1) // 3),
        "year": lambda day: day.year,
        "decade": lambda day: (day.year // 10, "s"),
    }
    levels = list(parts) if spec["dates"] in (True, []) else spec["dates"]
    if not isinstance(levels, list) or levels != [level for level in parts if level in levels]:
        raise PolicyError(f"column {column!r}: dates must list some of {', '.join(parts)}, in this order")
    days = {value: _day(value) for value in values}
    wrong = sum(day is None for day in days.values())
    if wrong:
        raise HierarchyError(f"column {column!r}: {wrong} distinct value(s) are no dates such as 2020-03-31")
    timed = any(len(value) > 10 for value in values)
    for value, day in days.items():
        if day is not None:
            yield value, [*([day] if timed else []), *(parts[level](day) for level in levels)]


def _day(text: str) -> datetime.date | None:
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    try:
        return datetime.date(*(int(match[part]) for part in (1, 2, 3)))
    except ValueError:
        return None


def _is_plain(item: object) -> bool:
    return isinstance(item, (str, int, float)) and not isinstance(item, bool)


def _exact(number: object, column: str) -> Fraction:
    """Read a number of a policy as it was written: 0.1 is a tenth."""
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
        raise PolicyError(f"column {column!r}: widths and origin must be numbers")
    return Fraction(str(number))
