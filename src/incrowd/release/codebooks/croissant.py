"""Croissant: JSON-LD that describes a dataset, with files and the columns of record sets.

Source: MLCommons, Croissant Format Specification 1.0, sections "RecordSet", "Field" and "Data types".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from incrowd.core.errors import TableError
from incrowd.release.codebooks.base import Description, Field, Kind, Proposal

_CONFORMS = "http://mlcommons.org/croissant/1.0"
_SPACES = ("http://mlcommons.org/croissant/", "https://schema.org/", "http://schema.org/", "cr:", "sc:")
_IDENTIFYING = {
    "name", "givenName", "familyName", "additionalName", "alternateName", "email", "telephone", "faxNumber",
    "address", "streetAddress", "taxID", "vatID", "identifier", "image", "url", "Person", "PostalAddress",
    "ContactPoint", "ImageObject",
}  # fmt: skip
_QUASI = {
    "birthDate", "birthPlace", "deathDate", "deathPlace", "gender", "nationality", "postalCode",
    "addressLocality", "addressRegion", "addressCountry", "jobTitle", "latitude", "longitude", "Place",
    "GeoCoordinates",
}  # fmt: skip
"""Properties and types of schema.org that tell of a person, directly and together with others."""
_MEDIA = {".csv": "text/csv", ".parquet": "application/x-parquet", ".json": "application/json"}
_TERMS = (
    "citeAs", "column", "data", "dataType", "equivalentProperty", "examples", "extract", "field",
    "fileProperty", "fileObject", "fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key",
    "md5", "parentField", "path", "recordSet", "references", "regex", "repeated", "replace",
    "samplingRate", "separator", "source", "subField", "transform",
)  # fmt: skip


class Croissant(Kind):
    """A description in Croissant."""

    name = "a description in Croissant"
    suffix = ".json"

    def recognizes(self, text: str) -> bool:
        """Say whether the text is a JSON object, of which `fields` refuses all but a dataset."""
        return text.lstrip().startswith("{")

    def fields(self, text: str, file: str) -> Iterator[Field]:
        """Yield a field for each column of the record sets."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            raise TableError(f"{file}: is no JSON that can be read") from None
        if "Dataset" not in _names(_get(data, "@type")):
            raise TableError(f"{file}: is no dataset in Croissant (its @type is not sc:Dataset)")
        for records in _list(_get(data, "recordSet")):
            keys = {_last(each) for each in map(_id, _list(_get(records, "key")))}
            # Values that are written into the description itself are no columns of a table.
            for field in _list(_get(records, "field")) if _get(records, "data") is None else ():
                yield _field(field, keys, file)

    def text(self, description: Description) -> str:
        """Return a description of a single file with a single record set."""
        media = _MEDIA.get(PurePath(description.file).suffix.lower(), "application/octet-stream")
        context: dict[str, Any] = {"@language": "en", "@vocab": "https://schema.org/"}
        context |= {"cr": "http://mlcommons.org/croissant/", "sc": "https://schema.org/"}
        context |= {"rai": "http://mlcommons.org/croissant/RAI/", "dct": "http://purl.org/dc/terms/"}
        context |= {"conformsTo": "dct:conformsTo", **{name: f"cr:{name}" for name in _TERMS}}
        context["data"] = {"@id": "cr:data", "@type": "@json"}
        context["examples"] = {"@id": "cr:examples", "@type": "@json"}
        context["dataType"] = {"@id": "cr:dataType", "@type": "@vocab"}
        file: dict[str, Any] = {"@type": "cr:FileObject", "@id": "file", "name": description.file}
        file |= {"contentUrl": description.file, "encodingFormat": media, "sha256": description.digest}
        fields = [
            {
                "@type": "cr:Field",
                "@id": f"records/{number}",
                "name": column.name,
                "description": _sentence(column.words, column.values),
                "dataType": "sc:Float" if column.is_number else "sc:Text",
                **(_source(column.name) if description.file else {}),
            }
            for number, column in enumerate(description.columns, 1)
        ]
        records = {"@type": "cr:RecordSet", "@id": "records", "name": "records", "field": fields}
        document = {
            "@context": context,
            "@type": "sc:Dataset",
            "conformsTo": _CONFORMS,
            "name": PurePath(description.file).stem or "release",
            "description": f"{description.records} anonymized records. {description.sentence}",
            # A table of a database has no file that a catalogue could fetch.
            **({"distribution": [file]} if description.file else {}),
            "recordSet": [records],
        }
        return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


CROISSANT = Croissant()


def _field(data: Any, keys: set[str], file: str) -> Field:
    column = _get(_get(_get(data, "source"), "extract"), "column")
    name = column or _get(data, "name") or _last(_id(data))
    if not isinstance(name, str) or not name:
        raise TableError(f"{file}: has a field without a name")
    label = _get(data, "description")
    types = [*_names(_get(data, "equivalentProperty")), *_names(_get(data, "dataType"))]
    proposal: Proposal = ""
    evidence = ""
    if keys & {_last(_id(data)), str(_get(data, "name"))}:
        proposal, evidence = "identifying", "key of its record set"
    elif found := next((each for each in types if each in _IDENTIFYING), None):
        proposal, evidence = "identifying", f"it is {found} of schema.org"
    elif found := next((each for each in types if each in _QUASI), None):
        proposal, evidence = "quasi", f"it is {found} of schema.org"
    return Field(name, " ".join(label.split()) if isinstance(label, str) else "", proposal, evidence)


def _source(column: str) -> dict[str, Any]:
    return {"source": {"fileObject": {"@id": "file"}, "extract": {"column": column}}}


def _get(data: Any, name: str) -> Any:
    """Return a property of an object, whatever the prefix of the property's name."""
    if not isinstance(data, Mapping):
        return None
    names = (name, *(f"{space}{name}" for space in _SPACES))
    return next((data[each] for each in names if each in data), None)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _id(value: Any) -> str:
    found = _get(value, "@id") if isinstance(value, Mapping) else value
    return found if isinstance(found, str) else ""


def _names(value: Any) -> list[str]:
    """Return types or properties without the prefixes of names."""
    return [_last(_id(each)).rpartition(":")[2] for each in _list(value)]


def _last(text: str) -> str:
    return text.rpartition("/")[2]


def _sentence(words: str, values: tuple[str, ...]) -> str:
    return f"{words}. Values: {', '.join(values)}." if values else f"{words}."
