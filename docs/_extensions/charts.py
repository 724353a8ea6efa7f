"""Pictures that the build draws: the code of a page makes a chart, and the page shows it as SVG."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata


def evaluate(code: str, scope: dict[str, Any], where: str) -> Any:
    """Run code in a scope, and return the value of its last line where that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, where, "exec"), scope)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), where, "eval"), scope)


def svg(chart: Any, described: str) -> str:
    """Return an Altair chart as SVG, with a text for those who do not see it."""
    from incrowd.release.report.charts import svg_for_pages

    drawn = svg_for_pages(chart)
    label = described.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return f'<div class="chart" role="img" aria-label="{label}">{drawn}</div>'


PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Chart(SphinxDirective):
    """``{chart} What it shows``: draw the chart that the code below makes.

    With ``:page:`` the code knows the names of the page's Python above it.
    """

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {"page": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Return the picture."""
        scope = self._of_page() if "page" in self.options else {}
        chart = evaluate("\n".join(self.content), scope, self.env.docname)
        if not hasattr(chart, "to_json"):
            raise self.error("the last line of a chart must be a chart")
        described = self.arguments[0]
        picture = nodes.raw("", svg(chart, described), format="html")
        return [picture, nodes.paragraph("", "", nodes.emphasis("", described))]

    def _of_page(self) -> dict[str, Any]:
        """Return the names of the page's Python down to here; each block runs once."""
        docname = self.env.docname
        lines = Path(self.env.doc2path(docname)).read_text(encoding="utf-8").splitlines(keepends=True)
        blocks = PYTHON.findall("".join(lines[: self.lineno]))
        scope, done = self.env.temp_data.setdefault("python of the page", ({}, []))
        for block in blocks[len(done) :]:
            # What the page writes is not kept.
            with (
                tempfile.TemporaryDirectory() as folder,
                contextlib.chdir(folder),
                contextlib.redirect_stdout(io.StringIO()),
            ):
                evaluate(block, scope, docname)
            done.append(block)
        return dict(scope)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("chart", Chart)
    return {"version": "1", "parallel_read_safe": False}
