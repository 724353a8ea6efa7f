"""Data dictionaries of REDCap: a CSV with a line for each field.

Source: REDCap, help and FAQ, "Data Dictionary": eighteen columns, of which ``Identifier?`` is ``y`` for a
field that identifies a person. A field of the type ``checkbox`` is exported as a column for each of its
choices, called ``field___code``.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping

from incrowd.core.errors import TableError
from incrowd.release.codebooks.base import Description, Field, Kind

_COLUMNS = {
    "Variable / Field Name": "field_name",
    "Form Name": "form_name",
    "Section Header": "section_header",
    "Field Type": "field_type",
    "Field Label": "field_label",
    "Choices, Calculations, OR Slider Labels": "select_choices_or_calculations",
    "Field Note": "field_note",
    "Text Validation Type OR Show Slider Number": "text_validation_type_or_show_slider_number",
    "Text Validation Min": "text_validation_min",
    "Text Validation Max": "text_validation_max",
    "Identifier?": "identifier",
    "Branching Logic (Show field only if...)": "branching_logic",
    "Required Field?": "required_field",
    "Custom Alignment": "custom_alignment",
    "Question Number (surveys only)": "question_number",
    "Matrix Group Name": "matrix_group_name",
    "Matrix Ranking?": "matrix_ranking",
    "Field Annotation": "field_annotation",
}
"""The headings of a dictionary, and the names of the same columns in an export by a program."""
_NEEDED = ("field_name", "field_type", "field_label", "identifier")
_TEXTS = ("email", "phone")
"""Validations of fields that hold a way to reach a person."""
_TAG = re.compile(r"<[^<>]*>")


class RedCap(Kind):
    """A data dictionary of REDCap."""

    name = "a data dictionary of REDCap"
    suffix = ".csv"

    def recognizes(self, text: str) -> bool:
        """Say whether the first line has the headings of a dictionary."""
        first = next(csv.reader(io.StringIO(text[:10_000])), [])
        return set(_NEEDED) <= {_COLUMNS.get(each.strip(), each.strip()) for each in first}

    def fields(self, text: str, file: str) -> Iterator[Field]:
        """Yield a field of each line, and a field for each choice of a checkbox."""
        lines = csv.reader(io.StringIO(text))
        try:
            names = [_COLUMNS.get(each.strip(), each.strip()) for each in next(lines)]
            for cells in lines:
                if any(cells):
                    if len(cells) != len(names):
                        where = f"{file}: line {lines.line_num:,}"
                        raise TableError(f"{where} has {len(cells)} cells, not {len(names)}")
                    yield from _fields_of(dict(zip(names, map(str.strip, cells), strict=True)))
        except csv.Error:
            raise TableError(f"{file}: is no CSV that can be read") from None

    def text(self, description: Description) -> str:
        """Return a dictionary with a line for each released column.

        All fields are texts: cells such as ``[20-39]`` are none of REDCap's codes.
        """
        written = io.StringIO()
        lines = csv.DictWriter(written, list(_COLUMNS), restval="", lineterminator="\n")
        lines.writeheader()
        for column in description.columns:
            kind = "number" if column.is_number else ""
            lines.writerow(
                {
                    "Variable / Field Name": column.name,
                    "Form Name": "release",
                    "Field Type": "text",
                    "Field Label": column.name,
                    "Field Note": column.words,
                    "Text Validation Type OR Show Slider Number": kind,
                }
            )
        return written.getvalue()


REDCAP = RedCap()


def _fields_of(line: Mapping[str, str]) -> Iterator[Field]:
    name, label = line["field_name"], " ".join(_TAG.sub(" ", line["field_label"]).split())
    validation = line.get("text_validation_type_or_show_slider_number", "").lower()
    field = Field(name, label)
    if line["identifier"].lower() in ("y", "yes", "1", "true"):
        field = Field(name, label, "identifying", f"identifier = {line['identifier']}")
    elif validation in _TEXTS:
        field = Field(name, label, "identifying", f"validation = {validation}")
    elif line["field_type"].lower() in ("file", "signature"):
        field = Field(name, label, "identifying", f"type = {line['field_type']}")
    elif validation.startswith("zipcode"):
        field = Field(name, label, "quasi", f"validation = {validation}")
    if line["field_type"].lower() != "checkbox":
        yield field
        return
    for choice in line.get("select_choices_or_calculations", "").split("|"):
        code, _, words = choice.partition(",")
        # A minus would be no part of a column's name.
        suffix = code.strip().lower().replace("-", "_")
        if suffix:
            of_choice = f"{label}: {words.strip()}" if words.strip() else label
            yield Field(f"{name}___{suffix}", of_choice, field.proposal, field.evidence)
