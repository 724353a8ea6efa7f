"""Notebooks on the site: cells are run by the build, and what they print or draw stands below them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from charts import evaluate, svg
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from incrowd.course import NotYetError
from incrowd.course.lessons import Cell

_BOX = re.compile(r'<div class="alert alert-block alert-(\w+)">\n(.*?)\n</div>', re.DOTALL)
_LOOKS = {
    "success": ("Exercise", "exercise"),
    "warning": ("To discuss", "discuss"),
    "info": ("To read", "read"),
}


class Walk(SphinxDirective):
    """``{walk} PATH``: the notebook, run. An exercise fails, and its hidden answer is run in its place."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return its cells and what they show."""
        _, path = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(path)
        scope: dict[str, Any] = {}
        text: list[str] = []
        stored = json.loads(Path(path).read_text(encoding="utf-8"))["cells"]
        # Files that the cells write are not kept.
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            for number, cell in enumerate(map(Cell.of_notebook, stored), 1):
                where = f"{path}, cell {number}"
                if cell.role == "notes":
                    continue
                if not cell.is_code:
                    text.append(self._moved(cell.text, Path(path).parent))
                    _shown(cell.code, scope, where)
                    continue
                text.append(f"```python\n{cell.text}\n```")
                if cell.role == "exercise":
                    text.append(self._refused(cell.text, scope, where))
                else:
                    text += _shown(cell.text, scope, where)
        return self.parse_text_to_nodes("\n\n".join(text), allow_section_headings=True)

    def _refused(self, code: str, scope: dict[str, Any], where: str) -> str:
        """Return what an exercise says that was not solved yet."""
        try:
            _shown(code, dict(scope), where)
        except NotYetError as error:
            return f"```text\n{error.line}\n```"
        raise self.error(f"{where}: the exercise passes without an answer")

    def _moved(self, text: str, folder: Path) -> str:
        """Links of the notebook, as they are from the page; those to notebooks go to their pages."""
        page = Path(self.env.doc2path(self.env.docname)).parent
        back = Path(os.path.relpath(folder, page)).as_posix()
        text = _BOX.sub(_admonition, text)
        text = re.sub(r"\]\(([\w-]+)\.ipynb\)", r"](\1.md)", text)
        return re.sub(r"\]\((?!#|\w+:|[\w-]+\.md\))", f"]({back}/", text)


def _admonition(box: re.Match[str]) -> str:
    """Return a box of a notebook as the site has it, whose title stands for the word that opens the box."""
    title, style = _LOOKS[box[1]]
    body = re.sub(r"^\*\*(Exercise|Read)\.\*\*\s*", "", box[2].strip())
    return f":::{{admonition}} {title}\n:class: {style}\n\n{body}\n\n:::"


def _shown(source: str, scope: dict[str, Any], where: str) -> list[str]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        value = evaluate(source, scope, where)
    found: list[str] = []
    if hasattr(value, "to_json") and not hasattr(value, "iloc"):
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
