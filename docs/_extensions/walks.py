"""Notebooks on the site: cells are run by the build, and what they print or draw stands below them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from pathlib import Path
from typing import Any

from charts import evaluate, svg
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata


class Walk(SphinxDirective):
    """``{walk} PATH``: the notebook, run."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return its cells and what they show."""
        _, path = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(path)
        scope: dict[str, Any] = {}
        text: list[str] = []
        for number, cell in enumerate(json.loads(Path(path).read_text(encoding="utf-8"))["cells"], 1):
            source = "".join(cell["source"])
            if cell["cell_type"] == "code":
                text += [f"```python\n{source}\n```", *_shown(source, scope, f"{path}, cell {number}")]
            else:
                text.append(self._moved(source, Path(path).parent))
        return self.parse_text_to_nodes("\n\n".join(text), allow_section_headings=True)

    def _moved(self, text: str, folder: Path) -> str:
        """Links of the notebook, as they are from the page."""
        page = Path(self.env.doc2path(self.env.docname)).parent
        back = Path(os.path.relpath(folder, page)).as_posix()
        return re.sub(r"\]\((?!#|\w+:)", f"]({back}/", text)


def _shown(source: str, scope: dict[str, Any], where: str) -> list[str]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        value = evaluate(source, scope, where)
    found: list[str] = []
    if hasattr(value, "to_json"):
        found.append(f"```{{raw}} html\n{svg(value, 'Chart of the code above')}\n```")
    elif value is not None:
        printed.write(f"{value}\n")
    if printed.getvalue():
        found.insert(0, f"```text\n{printed.getvalue().rstrip()}\n```")
    return found


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("walk", Walk)
    return {"version": "1", "parallel_read_safe": False}
