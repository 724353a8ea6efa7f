"""Typst templates to PDF files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from incrowd.core.errors import MissingExtraError


def check_typesetter() -> Any:
    """Return the module that typesets, or say how to get it.

    Raises
    ------
    MissingExtraError
    """
    try:
        import typst
    except ModuleNotFoundError:
        raise MissingExtraError("typst", "report", "writing a PDF") from None
    return typst


def typeset(template: str, document: Mapping[str, Any], folder: Path, target: Path) -> None:
    """Write a PDF of a template of this package, which reads the document as ``doc.json``.

    Parameters
    ----------
    template
        Name of the template's file.
    folder
        Where the template finds its pictures; it gets two files more.
    target
        The file, which is written in place.
    """
    typst = check_typesetter()
    page = _laid_out(template, document, folder)
    # No fonts of the machine and no time, so that the same document has the same bytes.
    typst.compile(page, output=target, format="pdf", root=folder, ignore_system_fonts=True, timestamp=0)


def count_pages(template: str, document: Mapping[str, Any], folder: Path) -> int:
    """Return how many pages `typeset` would make; the template has to tell under the label ``<pages>``."""
    typst = check_typesetter()
    page = _laid_out(template, document, folder)
    pages = typst.query(page, "<pages>", field="value", one=True, root=folder, ignore_system_fonts=True)
    return int(pages)


def _laid_out(template: str, document: Mapping[str, Any], folder: Path) -> Path:
    """Write the input of the typesetter, and return the file that it begins with."""
    (folder / "doc.json").write_text(json.dumps(document), encoding="utf-8", newline="\n")
    text = Path(__file__).with_name(template).read_text(encoding="utf-8")
    page = folder / "page.typ"
    page.write_text(text, encoding="utf-8", newline="\n")
    return page
