"""How the site is built: `make site`. Everything it needs lies in the built folder, so it reads offline."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx

import incrowd

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "incrowd"
author = "The incrowd authors"
project_copyright = author
release = version = incrowd.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "myst_parser",
    "charts",
    "gallery",
    "offline",
    "public_names",
    "walks",
]
exclude_patterns = ["_extensions", "*.ipynb"]
source_suffix = {".md": "markdown"}
nitpicky = True
# Types of other packages have no page here, and a type of incrowd is found by its public name.
nitpick_ignore_regex = [("py:.*", ".*")]

myst_enable_extensions = ["colon_fence", "deflist"]
# Every heading down to the fourth level can be linked, as on the pages where Markdown is shown as it is.
myst_heading_anchors = 4

# One backtick in a docstring is code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False
napoleon_use_ivar = True
napoleon_attr_annotations = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = "incrowd"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
copybutton_exclude = ".linenos, .gp, .go"


def setup(app: Sphinx) -> None:
    """Name the language of the pages that are not in English, for fonts and for readers aloud."""

    def name_language(app: Sphinx, page: str, template: str, context: dict[str, object], _: object) -> None:
        if page.startswith("zh-TW/"):
            context["language"] = "zh-TW"

    app.connect("html-page-context", name_language)
