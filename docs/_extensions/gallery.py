"""The gallery: one of every report, made by the build into a folder of the site."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

FOLDER = "gallery"
MAKER = Path(__file__).parents[2] / "examples" / "gallery.py"


class Shown(SphinxDirective):
    """``{shown} FILE``: a report of the gallery, in a frame and as a link."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Return a frame for a page, and links to it and to what has its name and another ending."""
        stem = self.arguments[0]
        made = sorted(path.name for path in Path(self.env.app.outdir, FOLDER).glob(f"{stem}.*"))
        if not made:
            raise self.error(f"the gallery has no {stem}")
        links = ", ".join(f'<a href="{FOLDER}/{name}">{name}</a>' for name in made)
        frame = f'<iframe class="shown" src="{FOLDER}/{stem}.html" title="{stem}" loading="lazy"></iframe>'
        text = (frame if f"{stem}.html" in made else "") + f"<p>Open it: {links}</p>"
        return [nodes.raw("", text, format="html")]


def make(app: Sphinx) -> None:
    """Write the reports before the pages are read."""
    if app.builder.name == "html":
        runpy.run_path(str(MAKER))["main"](Path(app.outdir, FOLDER))


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive, and make the reports first."""
    app.add_directive("shown", Shown)
    app.connect("builder-inited", make)
    return {"version": "1", "parallel_read_safe": False}
