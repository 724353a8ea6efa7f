"""Value generalization hierarchies: the tree, recipes for trees, and file formats."""

from __future__ import annotations

from incrowd.core.hierarchy.builders import BUILDERS, Builder, builder_from_spec
from incrowd.core.hierarchy.formats import find_files
from incrowd.core.hierarchy.tree import Hierarchy

__all__ = ["BUILDERS", "Builder", "Hierarchy", "builder_from_spec", "find_files"]
