"""A report as JSON, as a page and as a PDF."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from incrowd.core.errors import MissingExtraError, ParameterError, visible
from incrowd.core.io.addresses import file_path
from incrowd.core.io.scratch import PrivateFolder
from incrowd.core.presentation.documents import to_json
from incrowd.core.report import charts
from incrowd.core.report.details import Row, number, tables_of
from incrowd.core.report.document import ComparisonRun

__all__ = ["SUFFIXES", "to_html", "to_json", "write_report"]

SUFFIXES = (".html", ".pdf", ".json")


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


# --- what a page shows, whatever it is written in -----------------------------------------------------


def _requirement_rows(document: Mapping[str, Any]) -> list[Row]:
    """Return a row per requested model: name, value, limit, verdict and weakest class."""
    rows = []
    for each in document.get("models", ()):
        weakest = each["weakest"]
        example = "–"
        if weakest:
            cells = ", ".join(
                f"{name} {'(missing)' if cell is None else cell}" for name, cell in weakest["cells"].items()
            )
            people = f" of {weakest['people']:,} people" if "people" in weakest else ""
            example = f"{cells} ({weakest['records']:,} records{people})"
        about = f" of {each['attribute']}" if each["attribute"] else ""
        rows.append(
            [
                f"{each['model']}{about}",
                f"{each['quantity']} {number(each['reached'])}",
                f"{each['sign']} {number(each['asked'])}",
                "holds" if each["holds"] else "fails",
                example,
            ]
        )
    return rows


_POINTS = "Points of the verdict"
_COLOURS = {"holds": "#00664f", "open": "#8a5a00", "broken": "#a53400", "": "#5a5a5a"}


def _points(document: Mapping[str, Any]) -> list[str]:
    """Return a line for each broken, open or accepted point, with the remedy or the reason."""
    order = ("broken", "open", "holds")
    points = sorted(document["verdict"].get("points", ()), key=lambda each: order.index(each["state"]))
    return [
        f"{each['point']}: {each['text']} "
        + (each["way_out"] if each["accepted"] is None else f"Accepted: {each['accepted']}")
        for each in points
    ]


_ASKED = ["model", "reached", "asked", "", "weakest class"]


def _pictures(document: Mapping[str, Any]) -> list[tuple[str, Callable[[], Any]]]:
    """Return every chart as an alternative text and a function that draws the chart."""
    if document["kind"] == "comparison":
        return []
    pictures: list[tuple[str, Callable[[], Any]]] = []
    if any(sizes["distribution"] for sizes in document["classes"].values()):
        pictures.append(
            ("Records by the size of their class", lambda: charts.class_sizes(document["classes"]))
        )
    pictures.append(("Figures of the risk models", lambda: charts.risks(document["risk"])))
    pictures += [
        (_in_words(attribute), partial(charts.distribution, attribute))
        for attribute in document["attributes"]
        if attribute["bins"]
    ]
    if document["front"] and len(document["front"]) > 1:
        pictures.append(
            (
                "Loss against mean risk of the recodings that none beats in both",
                lambda: charts.front(document["front"]),
            )
        )
    return pictures


def _in_words(attribute: Mapping[str, Any]) -> str:
    bins = (
        f"{each['label']} {each['before']:,.0f} before, {each['after']:,.0f} after"
        for each in attribute["bins"]
    )
    return f"Distribution of {attribute['name']}: {'; '.join(bins)}"


def _notice(document: Mapping[str, Any]) -> str:
    if document["internal"]:
        return "INTERNAL: this report names values of the table before recoding. Do not publish it."
    return ""


# --- HTML ---------------------------------------------------------------------------------------------


def to_html(document: Mapping[str, Any]) -> str:
    """Return the report as a self-contained page."""
    verdict = document["verdict"]
    state = verdict["state"]
    notice = _notice(document)
    parts = [
        f'<p class="internal">{html.escape(notice)}</p>' if notice else "",
        f"<h1>{html.escape(document['title'])}</h1>",
        f'<p class="{f"verdict {state}".strip()}">{html.escape(verdict["text"])}</p>',
        _html_points(document),
        f"<ul>{''.join(f'<li>{html.escape(line)}</li>' for line in document['sentences'])}</ul>",
    ]
    requirements = _requirement_rows(document)
    if requirements:
        parts += ["<h2>What was asked for</h2>", _html_table("", _ASKED, requirements)]
    pictures = _pictures(document)
    if document["kind"] == "comparison":
        pictures = _comparison_pictures(document)
    if pictures:
        figures = (
            f'<figure role="img" aria-label="{html.escape(alt, quote=True)}">'
            f"{charts.svg_for_pages(draw())}</figure>"
            for alt, draw in pictures
        )
        parts += ["<h2>In pictures</h2>", f'<div class="charts">{"".join(figures)}</div>']
    parts.append("<h2>In full</h2>")
    for title, header, rows in tables_of(document):
        parts.append(
            f"<details{' open' if document['kind'] == 'comparison' else ''}>"
            f"<summary>{html.escape(title)}</summary>{_html_table(title, header, rows)}</details>"
        )
    versions = ", ".join(f"{name} {value}" for name, value in document["reproduce"].items())
    title = html.escape(document["title"])
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    return visible(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in parts if part)
        + f"\n<footer>Made with {html.escape(versions)}.</footer>\n</main>\n</body>\n</html>\n"
    )


def _html_points(document: Mapping[str, Any]) -> str:
    points = _points(document)
    if not points:
        return ""
    lines = "".join(f"<li>{html.escape(line)}</li>" for line in points)
    return f'<div class="points {document["verdict"]["state"]}"><h2>{_POINTS}</h2><ul>{lines}</ul></div>'


def _html_table(caption: str, header: Row, rows: Sequence[Row]) -> str:
    """Write a table, with colour for failed models but not for models that hold."""

    def cell(text: str) -> str:
        kind = f' class="{text}"' if text in ("holds", "fails") else ""
        return f"<td{kind}>{html.escape(text)}</td>"

    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in header)
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    words = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="scroll"><table>{words}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _comparison_pictures(document: Mapping[str, Any]) -> list[tuple[str, Callable[[], Any]]]:
    """Return the small multiples of a comparison, a chart for each varying limit."""
    runs = [
        ComparisonRun(
            run["algorithm"], run.get("k"), run.get("l"), run.get("t"), None,
            seconds=run.get("seconds", float("nan")), utility=run.get("utility"), spread=run.get("spread"),
        )
        for run in document["runs"]
    ]  # fmt: skip
    names = list(dict.fromkeys(run.algorithm for run in runs))
    if len(names) > len(charts.COLOURS) or not any(run.utility for run in runs):
        return []
    measures = charts.measures(document["records"])
    return [
        (
            f"Seconds, LM and MD (sums over records) against {limit}; the table has the figures",
            partial(charts.panels, runs, limit, measures, names, (225, 160)),
        )
        for limit in document["limits"]
    ]


# --- PDF ----------------------------------------------------------------------------------------------


def _write_pdf(document: Mapping[str, Any], target: Path) -> None:
    check_typesetter()
    verdict = document["verdict"]
    comparison = document["kind"] == "comparison"
    pictures = _comparison_pictures(document) if comparison else _pictures(document)
    with PrivateFolder() as folder:
        figures = []
        for position, (alt, draw) in enumerate(pictures):
            charts.save(draw(), folder / f"chart{position}.pdf")
            figures.append({"file": f"chart{position}.pdf", "alt": alt})
        page = {
            "title": document["title"],
            "notice": _notice(document),
            "verdict": verdict["text"],
            "colour": _COLOURS[verdict["state"]],
            "points": {"title": _POINTS, "lines": _points(document)},
            "sentences": document["sentences"],
            "asked": {"header": _ASKED, "rows": _requirement_rows(document)},
            "charts": figures,
            "across": 1 if comparison else 2,
            "tables": [
                {"title": title, "header": header, "rows": rows}
                for title, header, rows in tables_of(document)
                if rows
            ],
            "made": "Made with "
            + ", ".join(f"{name} {value}" for name, value in document["reproduce"].items())
            + ".",
        }
        typeset("page.typ", page, folder, target)


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
