"""A second, independent implementation of the privacy models: it checks a released file with SQL in DuckDB.

Nothing here is shared with the code that makes a release, but the error classes: the policy, the hierarchies
and the file are read anew, and the figures are computed with other formulas, so that the same slip would have
to be made twice to go unnoticed. It checks k-anonymity, distinct l-diversity and t-closeness (ordered,
hierarchical, equal), the share of suppressed records, and that no identifying column was released. What it
cannot check it refuses.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from incrowd.errors import SchemaError, TableError
from incrowd.verification.measures import Attribute, count_records, group, smallest_class
from incrowd.verification.policy import Demand, Policy, read_policy
from incrowd.verification.source import Source, connect, open_source, reworded

__all__ = ["Finding", "Verification", "verify"]

_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Finding:
    """One model on one attribute: what was asked and what the file reaches.

    Attributes
    ----------
    model
        Name of the model.
    attribute
        The sensitive column; None where a model asks for a size or a risk.
    asked
        The limit: k (records), l (values), t, alpha or risk (0 to 1), beta.
    reached
        What the worst class has; for average-risk, classes over records. None if there is no class.
    holds
        Whether the limit is met; meeting it exactly counts.
    distance
        For t-closeness the distance that was taken (ordered, hierarchical or equal), else None.
    """

    model: str
    attribute: str | None
    asked: float
    reached: float | None
    holds: bool
    distance: str | None = None


@dataclass(frozen=True)
class Verification:
    """What was found in a released file.

    Attributes
    ----------
    file
        The file, as it was named.
    records, suppressed, classes
        Counts. Suppressed records have ``*`` in every quasi-identifier and are in no class.
    max_suppression
        The policy's limit on the share of suppressed records.
    findings
        One for each model and attribute.
    problems
        Whatever else is wrong, in words.
    """

    file: str
    records: int
    suppressed: int
    max_suppression: float
    classes: int
    findings: tuple[Finding, ...]
    problems: tuple[str, ...]

    @property
    def suppressed_share(self) -> float:
        """Suppressed records over all records, 0 to 1."""
        return self.suppressed / self.records

    @property
    def ok(self) -> bool:
        """Whether every model holds and nothing else is wrong."""
        return not self.problems and all(finding.holds for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain types, ready for JSON."""
        return {
            "file": self.file,
            "ok": self.ok,
            "records": self.records,
            "suppressed": self.suppressed,
            "suppressed_share": self.suppressed_share,
            "max_suppression": self.max_suppression,
            "classes": self.classes,
            "findings": [asdict(finding) for finding in self.findings],
            "problems": list(self.problems),
        }


def verify(
    path: str | PathLike[str],
    policy_path: str | PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    escaped: bool = False,
) -> Verification:
    """Check a released file against its policy.

    Parameters
    ----------
    path
        The released file: CSV (also gzipped) or Parquet.
    policy_path
        The policy, a TOML file. Hierarchy files are looked for relative to it.
    delimiter
        One character between the fields of a CSV file; None to find out.
    encoding
        Of a CSV file; None for UTF-8 (or UTF-16 with a byte order mark).
    escaped
        Whether a CSV file has ``'`` in front of texts that a spreadsheet would run as formulas.

    Returns
    -------
    Verification
        The figures, and whether each limit is met (with equality; sums within 1e-12).

    Raises
    ------
    PolicyError
        The policy cannot be read, or asks for something that verify cannot check.
    SchemaError
        A quasi-identifier or a sensitive column is not in the file.
    HierarchyError
        A hierarchy is no tree, or lacks a value of its column.
    TableError
        The file cannot be read, or holds no records.
    ParameterError
        An unknown encoding or a delimiter that is no single character.

    Notes
    -----
    Definitions: k-anonymity, Samarati and Sweeney 1998; distinct l-diversity, Machanavajjhala et al. 2006;
    t-closeness, Li, Li and Venkatasubramanian 2007. Suppressed records are in no class, but their sensitive
    values are part of the whole table's distribution. Missing is a value of its own. Numbers are compared by
    value; the values of a column with a hierarchy are its leaves.
    """
    policy = read_policy(_file(policy_path))
    released = _file(path)
    quasi = [column.name for column in policy.named("quasi")]
    asked_about = {demand.attribute for demand in policy.demands}
    sensitive = [column for column in policy.named("sensitive") if column.name in asked_about]
    needed = quasi + [column.name for column in policy.named("sensitive")]

    with tempfile.TemporaryDirectory(prefix="incrowd-verify-") as scratch, reworded(released):
        con = connect(Path(scratch))
        try:
            source = open_source(con, released, needed, delimiter, encoding, Path(scratch), escaped=escaped)
            lacking = [name for name in needed if name not in source.names]
            if lacking:
                named = ", ".join(map(repr, lacking))
                raise SchemaError(
                    f"{released}: the policy's column(s) {named} are not in the file; check the header's "
                    "spelling and the delimiter"
                )
            group(con, source, quasi, [column.name for column in sensitive], policy.null_values)
            records, suppressed, classes = count_records(con)
            if records == 0:
                raise TableError(f"{released}: the file holds no records")
            attributes = {
                column.name: Attribute(con, place, column, source.types[source.names.index(column.name)])
                for place, column in enumerate(sensitive)
            }
            k = smallest_class(con)
            findings = tuple(
                _find(demand, k, classes, records - suppressed, attributes) for demand in policy.demands
            )
        finally:
            con.close()
    return Verification(
        file=str(path),
        records=records,
        suppressed=suppressed,
        max_suppression=policy.max_suppression,
        classes=classes,
        findings=findings,
        problems=tuple(_problems(policy, source, records, suppressed, classes)),
    )


def _file(path: str | PathLike[str]) -> Path:
    """Return a path, and refuse an address without naming it: it may have a password."""
    if re.match(r"(?i)\s*[a-z][a-z0-9+.:-]+:/|.*://|.*:/\S*@|.*\bpassword\s*=", str(path)):
        raise TableError("an address is no file; verify takes the path of a file")
    return Path(path)


def _at_most(reached: float | None, limit: float) -> bool:
    return reached is not None and reached <= limit + _TOLERANCE * max(1.0, limit)


def _find(
    demand: Demand, k: int | None, classes: int, kept: int, attributes: dict[str, Attribute]
) -> Finding:
    if demand.attribute is None:
        if demand.model in ("maximum-risk", "average-risk"):
            risk = None if k is None else 1 / k if demand.model == "maximum-risk" else classes / kept
            return Finding(demand.model, None, demand.limit, risk, _at_most(risk, demand.limit))
        return Finding(demand.model, None, demand.limit, k, k is not None and k >= demand.limit)
    attribute = attributes[demand.attribute]
    if demand.model in ("alpha-k-anonymity", "beta-likeness"):
        alpha = demand.model == "alpha-k-anonymity"
        reached = attribute.largest_share() if alpha else attribute.largest_gain()
        holds = _at_most(reached, demand.limit)
        return Finding(demand.model, demand.attribute, demand.limit, reached, holds)
    if demand.kind == "entropy":
        least = attribute.least_entropy()
        holds = least is not None and least >= demand.limit - _TOLERANCE * max(1.0, demand.limit)
        return Finding(demand.model, demand.attribute, demand.limit, least, holds)
    if demand.model == "l-diversity":
        distinct = attribute.distinct()
        holds = distinct is not None and distinct >= demand.limit
        return Finding(demand.model, demand.attribute, demand.limit, distinct, holds)
    distance = attribute.distance_named(demand.distance)
    farthest = attribute.farthest(distance)
    holds = farthest is not None and farthest <= demand.limit + _TOLERANCE
    return Finding(demand.model, demand.attribute, demand.limit, farthest, holds, distance)


def _problems(policy: Policy, source: Source, records: int, suppressed: int, classes: int) -> list[str]:
    problems = [
        f"the identifying column {column.name!r} is in the file"
        for column in policy.named("identifying")
        if column.name in source.names
    ]
    if suppressed / records > policy.max_suppression + _TOLERANCE:
        problems.append(
            f"{suppressed} of {records} records are suppressed, more than the share of "
            f"{policy.max_suppression}"
        )
    if classes == 0:
        problems.append("every record is suppressed, so there is no class and no model is reached")
    return problems
