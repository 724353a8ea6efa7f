"""Projects of ARX (`.deid`): roles, hierarchies, models and limits as a policy.

A project is a zip of small XML files, hierarchies as CSV, and the data. The models stand there as texts, such
as ``5-anonymity``. Nothing is guessed: what is not understood is listed, and never passed over.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from incrowd.core.errors import HierarchyError, InputError, TableError, quoted
from incrowd.core.hierarchy import Hierarchy
from incrowd.core.io.addresses import file_path, require_regular
from incrowd.core.table.schema import Attribute, Role, Schema
from incrowd.importers.imported import Imported
from incrowd.measures.privacy import (
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    KAnonymity,
    KMap,
    LDiversity,
    PrivacyModel,
    TCloseness,
)
from incrowd.release.policy.policy import Policy
from incrowd.search import Optimal

if TYPE_CHECKING:
    import os

__all__ = ["read_project"]

_XML, _CSV = 1 << 24, 1 << 30
"""Bytes that are read of a part, unpacked."""
_ROLES: dict[str, Role] = {
    "IDENTIFYING_ATTRIBUTE": "identifying",
    "QUASI_IDENTIFYING_ATTRIBUTE": "quasi",
    "SENSITIVE_ATTRIBUTE": "sensitive",
    "INSENSITIVE_ATTRIBUTE": "insensitive",
}


def read_project(path: str | os.PathLike[str]) -> Imported:
    """Read a project of ARX.

    Raises
    ------
    TableError
        When the file is no project, is damaged, or has parts that are too large.
    InputError
        When what it asks for contradicts itself.

    Examples
    --------
    >>> read_project("study.deid").policy  # doctest: +SKIP
    Policy(9 columns; k-anonymity; optimal)
    """
    file = file_path(path)
    try:
        require_regular(file)
        with zipfile.ZipFile(file) as opened:
            return _Reader(opened, str(file)).project()
    except OSError as error:
        raise TableError(f"{file}: cannot be read ({error.strerror or 'damaged'})") from None
    except zipfile.BadZipFile:
        raise TableError(f"{file}: is no project of ARX, which is a zip (.deid)") from None


class _Reader:
    """A reader of an opened project's parts."""

    def __init__(self, opened: zipfile.ZipFile, source: str) -> None:
        self._zip = opened
        self._source = source
        self._names = set(opened.namelist())
        self._unread: list[str] = []

    def project(self) -> Imported:
        """Read everything."""
        if "input/definition.xml" not in self._names:
            raise TableError(f"{self._source}: is no project of ARX: it has no input/definition.xml")
        about = self._xml("project.xml") if "project.xml" in self._names else None
        delimiter = _text_of_child(about, "separator") or ";"
        if len(delimiter) > 1:
            raise TableError(f"{self._source}: the separator of its files is not one character")
        config = self._xml("input/config.xml") if "input/config.xml" in self._names else None
        attributes = list(self._attributes(delimiter))
        models = list(self._models(config))
        data = self._bytes("data/input.csv", _CSV) if "data/input.csv" in self._names else None
        attributes = self._with_weights(attributes, config)
        share = float(_text_of_child(config, "relativeMaxOutliers") or 0)
        metric = _text_of_child(config, "metric")
        if metric and not metric.startswith("Loss"):
            self._unread.append(f"quality model {quoted(metric)}: the loss LM takes its place")
        most = min(max(share, 0.0), 1.0)
        # ARX releases suppressed records, of which nothing is promised.
        policy = Policy(
            Schema.of_attributes(attributes),
            tuple(models),
            Optimal("loss"),
            most,
            ends="exact",
            suppressed="keep",
        )
        return Imported(policy, data, delimiter, tuple(self._unread))

    def _bytes(self, name: str, most: int) -> bytes:
        with self._zip.open(name) as part:
            data = part.read(most + 1)
        if len(data) > most:
            raise TableError(f"{self._source}: {quoted(name)} has more than {most >> 20} MiB unpacked")
        return data

    def _xml(self, name: str) -> ElementTree.Element:
        data = self._bytes(name, _XML)
        if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
            raise TableError(f"{self._source}: {quoted(name)} declares entities, which no project does")
        try:
            return ElementTree.fromstring(data)
        except ElementTree.ParseError as error:
            raise TableError(
                f"{self._source}: {quoted(name)} is no readable XML, line {error.position[0]}"
            ) from None

    # --- columns ------------------------------------------------------------------------------------

    def _attributes(self, delimiter: str) -> Iterator[Attribute]:
        for element in self._xml("input/definition.xml").iter("assigment"):
            name, kind = _text_of_child(element, "name"), _text_of_child(element, "type")
            role = _ROLES.get(kind)
            if not name or role is None:
                raise TableError(
                    f"{self._source}: column {quoted(name)} has the type {quoted(kind)}, unknown here"
                )
            if (element.findtext("response") or "").lower() == "true":
                self._unread.append(f"column {name!r}: a response variable; see learn")
            hierarchy, levels = None, None
            if role in ("quasi", "sensitive"):
                hierarchy = self._hierarchy(name, _text_of_child(element, "ref"), delimiter)
            if role == "quasi":
                levels = _levels(_text_of_child(element, "min"), _text_of_child(element, "max"))
            yield Attribute(name, role, hierarchy=hierarchy, levels=levels)

    def _hierarchy(self, column: str, ref: str, delimiter: str) -> Hierarchy | None:
        part = f"input/{ref}"
        if not ref or part not in self._names:
            return None
        text = self._bytes(part, _CSV).decode("utf-8-sig", "replace")
        try:
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
            if all(len(row) == 1 for row in rows):
                return None  # values without anything above them
            return Hierarchy.from_paths(rows, f"{self._source}: hierarchy of {column!r}")
        except (HierarchyError, csv.Error) as error:
            self._unread.append(f"column {column!r}: its hierarchy is no tree ({error})")
            return None

    @staticmethod
    def _with_weights(attributes: list[Attribute], config: ElementTree.Element | None) -> list[Attribute]:
        """Return the attributes with the weights of columns, unless all are equal."""
        entries = () if config is None else config.iter("attributeWeight")
        weights = {
            _text_of_child(entry, "attribute"): float(_text_of_child(entry, "weight") or 1)
            for entry in entries
        }
        quasi = {entry.name: weights.get(entry.name, 0.5) for entry in attributes if entry.role == "quasi"}
        if len(set(quasi.values())) < 2:
            return attributes
        return [
            replace(entry, weight=quasi[entry.name]) if entry.role == "quasi" else entry
            for entry in attributes
        ]

    # --- models -------------------------------------------------------------------------------------

    def _models(self, config: ElementTree.Element | None) -> Iterator[PrivacyModel]:
        for criterion in () if config is None else config.iter("criterion"):
            text = (criterion.text or "").strip()
            try:
                model = _model(text)
            except InputError as error:
                self._unread.append(f"privacy model {quoted(text)}: {error}")
                continue
            if model is not None:
                yield model
            elif text == "Inclusion":
                self._unread.append("the selection of records (research subset): all records count here")
            else:
                self._unread.append(f"privacy model {quoted(text)}: has no counterpart here")


def _text_of_child(element: ElementTree.Element | None, name: str) -> str:
    return "" if element is None else (element.findtext(name) or "").strip()


def _levels(least: str, largest: str) -> tuple[int, int | None] | None:
    low = int(least) if least.isdecimal() else 0
    high = int(largest) if largest.isdecimal() else None
    return None if low == 0 and high is None else (low, high)


_NUMBER = r"\(?([0-9.]+(?:[eE]-?[0-9]+)?)\)?"
_OF = r" for attribute '(.*)'"
_MODELS: tuple[tuple[str, Callable[..., Any]], ...] = (
    (r"([0-9]+)-anonymity", lambda k: KAnonymity(int(k))),
    (r"([0-9]+)-map", lambda k: KMap(int(k))),
    (rf"\({_NUMBER}, ?{_NUMBER}\)-presence", lambda low, high: DeltaPresence(float(high), float(low))),
    (rf"distinct-([0-9]+)-diversity{_OF}", lambda least, s: LDiversity(int(least), attribute=s)),
    (
        rf"shannon-entropy-{_NUMBER}-diversity{_OF}",
        lambda least, s: LDiversity(float(least), "entropy", attribute=s),
    ),
    (
        rf"grassberger-entropy-{_NUMBER}-diversity{_OF}",
        lambda least, s: LDiversity(float(least), "grassberger-arx", attribute=s),
    ),
    (
        rf"recursive-\({_NUMBER}, ?([0-9]+)\)-diversity{_OF}",
        lambda c, least, s: LDiversity(int(least), "recursive", c=float(c), attribute=s),
    ),
    (
        rf"{_NUMBER}-closeness with equal ground-distance{_OF}",
        lambda t, s: TCloseness(float(t), "equal", attribute=s),
    ),
    (
        rf"{_NUMBER}-closeness with hierarchical ground-distance{_OF}",
        lambda t, s: TCloseness(float(t), "hierarchical", attribute=s),
    ),
    (
        rf"{_NUMBER}-closeness with ordered distance{_OF}",
        lambda t, s: TCloseness(float(t), "ordered", attribute=s),
    ),
    (rf"basic-{_NUMBER}-likeness{_OF}", lambda b, s: BetaLikeness(float(b), "basic", attribute=s)),
    (rf"enhanced-{_NUMBER}-likeness{_OF}", lambda b, s: BetaLikeness(float(b), "enhanced", attribute=s)),
    (rf"{_NUMBER}-disclosure privacy{_OF}", lambda d, s: DeltaDisclosure(float(d), attribute=s)),
    (rf"{_NUMBER}-avg-reidentification-risk", lambda risk: AverageRisk(float(risk))),
)
"""The texts of ARX for its models, and ours."""


def _model(text: str) -> PrivacyModel | None:
    for pattern, make in _MODELS:
        if match := re.fullmatch(pattern, text, re.DOTALL):
            model: PrivacyModel = make(*match.groups())
            return model
    return None
