"""The hierarchy of a column: a file, or a recipe followed over the column's values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from incrowd.errors import HierarchyError, read_as_labels
from incrowd.verification.recipes import tree_of
from incrowd.verification.tree_files import tree_in
from incrowd.verification.trees import Tree


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
    tree = tree_in(source) if isinstance(source, Path) else tree_of(source, values, column)
    unknown = [value for value in values if value not in tree.leaves]
    if unknown:
        name = f"the hierarchy file {source}" if isinstance(source, Path) else "the hierarchy of the policy"
        told = f"column {column!r}: {len(unknown)} distinct value(s) are no leaf of {name}"
        raise HierarchyError(told + read_as_labels(tree.leaves, unknown))
    return tree
