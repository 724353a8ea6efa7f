"""Codebooks of the Data Documentation Initiative (DDI Codebook 2.x): XML with a ``var`` for each column.

Source: DDI Alliance, DDI Codebook 2.5, element ``dataDscr/var`` with ``labl``, ``catgry`` and ``invalrng``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from incrowd.core.errors import TableError
from incrowd.release.codebooks.base import Description, Field, Kind

_SPACE = "ddi:codebook:2_5"


class Ddi(Kind):
    """A DDI Codebook."""

    name = "a DDI Codebook"
    suffix = ".xml"

    def recognizes(self, text: str) -> bool:
        """Say whether the text is XML, of which `fields` refuses all but a codebook."""
        return text.lstrip().startswith("<")

    def fields(self, text: str, file: str) -> Iterator[Field]:
        """Yield a field of each ``var``: label, weight, and missing codes."""
        # Entities can name files and other machines, and grow without end.
        if "<!ENTITY" in text:
            raise TableError(f"{file}: declares entities, which are not read; save it without them")
        try:
            root = ET.fromstring(text)
        except (ET.ParseError, ValueError, RecursionError):
            raise TableError(f"{file}: is no XML that can be read") from None
        if _tag(root) != "codeBook":
            raise TableError(
                f"{file}: is no DDI Codebook (its first element is {_tag(root)!r}); export version 2.5 of DDI"
            )
        for data in (each for each in root if _tag(each) == "dataDscr"):
            for variable in (each for each in data if _tag(each) == "var"):
                name = variable.get("name", "").strip()
                if not name:
                    raise TableError(f"{file}: has a variable without a name")
                is_weight = variable.get("wgt") == "wgt"
                yield Field(
                    name,
                    next((_words(each) for each in variable if _tag(each) == "labl"), ""),
                    "weight" if is_weight else "",
                    "wgt = wgt" if is_weight else "",
                    tuple(dict.fromkeys(_missing(variable))),
                )

    def text(self, description: Description) -> str:
        """Return a codebook of version 2.5."""
        root = ET.Element("codeBook", {"xmlns": _SPACE, "version": "2.5"})
        study = ET.SubElement(ET.SubElement(root, "stdyDscr"), "citation")
        ET.SubElement(ET.SubElement(study, "titlStmt"), "titl").text = description.file or "release"
        whole = ET.SubElement(ET.SubElement(root, "fileDscr", {"ID": "F1"}), "fileTxt")
        if description.file:
            ET.SubElement(whole, "fileName").text = description.file
        ET.SubElement(whole, "fileCont").text = description.sentence
        sizes = ET.SubElement(whole, "dimensns")
        ET.SubElement(sizes, "caseQnty").text = str(description.records)
        ET.SubElement(sizes, "varQnty").text = str(len(description.columns))
        if description.digest:
            ET.SubElement(whole, "notes", {"type": "sha256"}).text = description.digest
        data = ET.SubElement(root, "dataDscr")
        for number, column in enumerate(description.columns, 1):
            variable = ET.SubElement(
                data, "var", {"ID": f"V{number}", "name": _clean(column.name), "files": "F1"}
            )
            ET.SubElement(variable, "labl").text = column.name
            ET.SubElement(variable, "txt").text = column.words
            for value in column.values:
                category = ET.SubElement(variable, "catgry")
                ET.SubElement(category, "catValu").text = value
            ET.SubElement(variable, "varFormat", {"type": "numeric" if column.is_number else "character"})
        for each in root.iter():
            each.text = None if each.text is None else _clean(each.text)
        ET.indent(root)
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


DDI = Ddi()


def _tag(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _words(element: ET.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def _missing(variable: ET.Element) -> Iterator[str]:
    for each in variable:
        if _tag(each) == "catgry" and each.get("missing") == "Y":
            yield from filter(None, (_words(value) for value in each if _tag(value) == "catValu"))
        elif _tag(each) == "invalrng":
            items = (item.get("VALUE") for item in each if _tag(item) == "item")
            yield from filter(None, items)


def _clean(text: str) -> str:
    """Return a text without the characters that XML cannot hold."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
