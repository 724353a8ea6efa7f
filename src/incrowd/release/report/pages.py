"""A report as JSON, as a page and as a PDF."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from incrowd.core.documents import to_json
from incrowd.core.errors import MissingExtraError, ParameterError, visible
from incrowd.core.io.addresses import file_path
from incrowd.core.io.scratch import PrivateFolder
from incrowd.release.report import charts, heat
from incrowd.release.report.content import Block, contents_of

__all__ = ["SUFFIXES", "to_html", "to_json", "write_report"]

SUFFIXES = (".html", ".pdf", ".json")
_LONGEST_WORD = 24
"""Characters of a word in a table that is never broken, as a figure is not."""
_SENTENCE = 60
"""Characters of a cell from which on it is given room, also on a narrow screen."""


def write_report(document: Mapping[str, Any], path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a report as ``.html``, ``.pdf`` or ``.json``, all or nothing.

    Raises
    ------
    ParameterError
        For another suffix.
    TableError
        When the file exists (unless `force`) or cannot be written.
    MissingExtraError
        For a page or a PDF without the extra `report`.
    """
    from incrowd.core.io.targets import writing

    suffix = file_path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ParameterError(f"{Path(path)}: a report is written as {', '.join(SUFFIXES)}")
    with writing(path, force=force) as temporary:
        if suffix == ".pdf":
            _write_pdf(document, temporary)
        else:
            text = to_json(document) + "\n" if suffix == ".json" else to_html(document)
            temporary.write_text(text, encoding="utf-8", newline="\n")


# --- HTML ---------------------------------------------------------------------------------------------


def to_html(document: Mapping[str, Any]) -> str:
    """Return the report as a self-contained page."""
    contents = contents_of(document)
    title, notice = html.escape(contents["title"]), html.escape(contents["notice"])
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    if any(block["kind"] == "heat" for block in contents["front"]):
        style += heat.STYLE
    front = "\n".join(_html_block(block, "h2") for block in contents["front"])
    appendix = "\n".join(_html_block(block, "h3") for block in contents["appendix"])
    return visible(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
        + (f'<p class="internal">{notice}</p>\n' if notice else "")
        + f'<h1>{title}</h1>\n<div class="front">\n{front}\n</div>\n'
        + (f'<h2 class="appendix">Appendix</h2>\n{appendix}\n' if appendix else "")
        + f"<footer>{html.escape(contents['made'])}</footer>\n</main>\n</body>\n</html>\n"
    )


def _html_block(block: Block, heading: str) -> str:
    kind = block["kind"]
    title = f"<{heading}>{html.escape(block['title'])}</{heading}>" if "title" in block else ""
    if kind == "verdict":
        names = f"verdict {block['state']}".strip()
        return f'<p class="{names}">{html.escape(block["text"])}</p>'
    if kind == "table" and block["folded"]:
        return f"<details><summary>{html.escape(block['title'])}</summary>{_html_table(block)}</details>"
    if block.get("state"):
        kind = f"points {block['state']}"
    return f'<section class="{kind}">{title}{_HTML[block["kind"]](block)}</section>'


def _html_cards(block: Block) -> str:
    return "".join(
        f"<div><p>{html.escape(label)}</p><p><strong>{html.escape(figure)}</strong></p>"
        f"<p>{html.escape(note)}</p></div>"
        for label, figure, note in block["cards"]
    )


def _html_facts(block: Block) -> str:
    rows = (f"<dt>{html.escape(term)}</dt><dd>{html.escape(text)}</dd>" for term, text in block["rows"])
    return f"<dl>{''.join(rows)}</dl>"


def _html_list(block: Block) -> str:
    return f"<ul>{''.join(f'<li>{html.escape(line)}</li>' for line in block['lines'])}</ul>"


def _html_pictures(block: Block) -> str:
    keys = ' tabindex="0"' if block["wide"] else ""
    figures = (
        f'<figure role="img"{keys} aria-label="{html.escape(alt, quote=True)}">'
        f"{charts.svg_for_pages(draw())}</figure>"
        for alt, draw in block["pictures"]
    )
    return f'<div class="{"wide" if block["wide"] else "grid"}">{"".join(figures)}</div>'


def _html_sign(block: Block) -> str:
    return "".join(f"<p>{html.escape(field)}</p>" for field in block["fields"])


def _html_table(block: Block) -> str:
    """Write a table, with colour for failed models but not for models that hold. Long names may break."""

    def cell(text: str) -> str:
        kind = text if text in ("holds", "fails") else ""
        if max(map(len, text.split()), default=0) > _LONGEST_WORD:
            kind = "long"
        elif len(text) > _SENTENCE:
            kind = "words"
        names = f' class="{kind}"' if kind else ""
        return f"<td{names}>{html.escape(text)}</td>"

    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in block["header"])
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in block["rows"])
    # What is wider than the screen scrolls, by keys, too.
    title = html.escape(block["title"], quote=True)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{title}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


_HTML: dict[str, Callable[[Block], str]] = {
    "cards": _html_cards,
    "facts": _html_facts,
    "heat": lambda block: heat.to_html(block["heat"]),
    "list": _html_list,
    "pictures": _html_pictures,
    "sign": _html_sign,
    "table": _html_table,
}


# --- PDF ----------------------------------------------------------------------------------------------


def _write_pdf(document: Mapping[str, Any], target: Path) -> None:
    check_typesetter()
    contents = contents_of(document)
    with PrivateFolder() as folder:
        numbers = count()

        def drawn(alt: str, draw: Callable[[], charts.Spec]) -> dict[str, str]:
            file = f"chart{next(numbers)}.pdf"
            charts.save(draw(), folder / file)
            return {"file": file, "alt": alt}

        for block in (*contents["front"], *contents["appendix"]):
            if block["kind"] == "pictures":
                block["pictures"] = [drawn(*picture) for picture in block["pictures"]]
        typeset("page.typ", contents, folder, target)


def check_typesetter() -> Any:
    """Return the typesetting module, or raise with the way to install the module.

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
    """Write a PDF from a template of this package, which reads the document as ``doc.json``.

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
    """Return the page count of `typeset`, which the template has to report under the label ``<pages>``."""
    typst = check_typesetter()
    page = _laid_out(template, document, folder)
    pages = typst.query(page, "<pages>", field="value", one=True, root=folder, ignore_system_fonts=True)
    return int(pages)


def _laid_out(template: str, document: Mapping[str, Any], folder: Path) -> Path:
    """Write the input of the typesetter, and return the main file."""
    (folder / "doc.json").write_text(json.dumps(document), encoding="utf-8", newline="\n")
    text = Path(__file__).with_name(template).read_text(encoding="utf-8")
    page = folder / "page.typ"
    page.write_text(text, encoding="utf-8", newline="\n")
    return page
