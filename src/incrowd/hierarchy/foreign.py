"""Hierarchy files of other tools: code lists of tau- and mu-ARGUS (`.hrc`), and hierarchies of Amnesia."""

from __future__ import annotations

from incrowd.errors import HierarchyError
from incrowd.hierarchy.tree import Hierarchy, TreeBuilder

__all__ = ["is_amnesia", "read_amnesia", "read_hrc"]

_LEAD = "@"
_ROOT = "*"


def read_hrc(text: str, source: str) -> Hierarchy:
    """Read a hierarchical code list: a code a line, with an ``@`` for each level it lies deeper.

    The list does not name the total, which is the root: ``*`` here. A list with one code at the top has its
    root already.
    """
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    found = [
        (number, len(line) - len(line.lstrip(_LEAD)), line.lstrip(_LEAD).strip()) for number, line in lines
    ]
    builder = TreeBuilder(source)
    above = [builder.add(_ROOT, -1)] if sum(depth == 0 for _, depth, _ in found) > 1 else []
    top = len(above)
    for number, depth, label in found:
        if depth + top > len(above):
            raise builder.fail(f"the code is {depth} levels deep under one of {len(above) - 1 - top}", number)
        del above[depth + top :]
        above.append(builder.add(label, above[-1] if above else -1, number))
    return builder.finish()


def is_amnesia(text: str) -> bool:
    """Say whether a text file is one of Amnesia: it begins with ``distinct`` or ``range``, then its name."""
    lines = [line.rstrip() for line in text.split("\n", 2)[:2]]
    return len(lines) > 1 and lines[0] in ("distinct", "range") and lines[1].startswith("name")


def read_amnesia(text: str, source: str) -> Hierarchy:
    """Read a hierarchy of distinct values: lines such as ``Europe has France Italy``, below a short head."""
    builder = TreeBuilder(source)
    lines = [line.strip() for line in text.splitlines()]
    if lines[0] == "range":
        raise HierarchyError(
            f"{source}: a hierarchy of ranges of Amnesia; write its widths as intervals = [...] in the policy"
        )
    below: dict[str, list[tuple[str, int]]] = {}
    parents: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        parent, has, rest = line.partition(" has ")
        if not has:
            continue
        if parent in below:
            raise builder.fail(f"{parent!r} stands twice; write its children in one line", number)
        below[parent] = [(label, number) for label in rest.split()]
        for label, _ in below[parent]:
            if label in parents:
                raise builder.fail(f"{label!r} has two parents, {parents[label]!r} and {parent!r}", number)
            parents[label] = parent
    roots = [label for label in below if label not in parents]
    if len(roots) != 1:
        raise HierarchyError(f"{source}: {len(roots)} labels have no parent; a hierarchy has one root")
    waiting = [(roots[0], -1, 1)]
    while waiting:
        label, above, number = waiting.pop()
        node = builder.add(label, above, number)
        waiting += [(child, node, line) for child, line in reversed(below.get(label, []))]
    return builder.finish()
