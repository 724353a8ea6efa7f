"""The result of a verification, as plain data."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from incrowd_gate import wording
from incrowd_gate.errors import visible
from incrowd_gate.points import KINDS, Point, in_order
from incrowd_gate.verdict import Verdict
from incrowd_verify.limits import Finding


@dataclass(frozen=True)
class PeopleFound:
    """The people of a release, where the policy names columns of persons.

    Attributes
    ----------
    people
        People of the raw table.
    unnamed
        Records that do not say whose they are; each is a person of its own.
    suppressed
        People of whom every record is suppressed.
    smallest
        People of the smallest class; 0 if there is no class.
    """

    people: int
    unnamed: int
    suppressed: int
    smallest: int


@dataclass(frozen=True)
class ClauseResult:
    """The judgement of a clause of a profile.

    Attributes
    ----------
    id, text, source
        The clause: its short name, its demand, and the paragraph that makes it.
    state
        ``checked`` (and met), ``attested`` (by a named person) or ``not met``.
    detail
        The figures, who attests it, or why it is not met.
    unanswered
        Whether a clause that is not met only lacks an answer or an input.
    columns, least
        As `wording.clause` takes them; documents have them with the points of the verdict.
    """

    id: str
    text: str
    source: str
    state: str
    detail: str
    unanswered: bool = False
    columns: tuple[str, ...] = ()
    least: int | None = None

    @property
    def point(self) -> Point:
        """The point of a clause that is not met."""
        told = self.id, self.text, self.detail, self.columns, self.least
        return wording.clause(*told, unanswered=self.unanswered)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        names = ("id", "text", "source", "state", "detail", "unanswered")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Verification:
    """The result of `verify` for a release.

    Attributes
    ----------
    file
        The file, folder or database, as it was named; of a database without user and password.
    records, suppressed, classes
        Counts. Suppressed records have ``*`` in every quasi-identifier and are in no class.
    max_suppression
        The policy's limit on the share of suppressed records.
    findings
        One for each limit of a model and attribute.
    problems
        Whatever else is wrong, in words.
    unchecked
        What could not be checked with what was given, in words.
    notes
        What no limit forbids and the owner of the data should know, in words.
    smallest
        Records of the smallest class; 0 if there is no class.
    people
        The people, where the policy names columns that say whose row it is and they could be counted.
    wildcards
        What a ``*`` or a missing cell matched: ``value`` (itself), ``matches-any`` or ``conservative``.
    earlier, together
        The same of an earlier release, and the limits on both as one table; None where none was named.
    published_as_one
        Whether limits are checked only on both as one table.
    points
        Dangers and losses that somebody has to answer for, with the answers of the policy, as far as the file
        and the raw table, where it was given, show them. `verdict` has them, and whatever fails.
    left_out
        Raw records that are not in the release, and of which nobody says which they are: neither a row map
        nor an account was given.
    profile, clauses
        The rule profile of the policy, and the judgement of each of its clauses. One that is not met is an
        error.
    """

    file: str
    records: int
    suppressed: int
    max_suppression: float
    classes: int
    findings: tuple[Finding, ...]
    problems: tuple[str, ...]
    unchecked: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    smallest: int = 0
    people: PeopleFound | None = None
    wildcards: str = "value"
    earlier: Verification | None = None
    together: Verification | None = None
    published_as_one: bool = False
    points: tuple[Point, ...] = ()
    left_out: int = 0
    profile: str | None = None
    clauses: tuple[ClauseResult, ...] = ()

    @property
    def unmet(self) -> tuple[ClauseResult, ...]:
        """The clauses that are not met."""
        return tuple(each for each in self.clauses if each.state == "not met")

    @property
    def suppressed_share(self) -> float:
        """Suppressed records over all records, 0 to 1."""
        return self.suppressed / self.records

    @property
    def verdict(self) -> Verdict:
        """The verdict on the release and on others beside, in the words of every face."""
        own = [*self._limits(), *map(wording.conformity, self.problems), *self.points]
        own += [each.point for each in self.unmet]
        others = (point for each in self._others for point in each.verdict.points)
        remark = wording.left_out(self.left_out) if self.left_out else ""
        return Verdict(tuple(in_order([*own, *others])), remark=remark)

    def _limits(self) -> Iterator[Point]:
        """Return a point for each limit that is not met, or that could not be checked."""
        for each in self.findings:
            whose = (each.model, each.attribute, each.attacker, each.quantity)
            if each.holds is False:
                yield wording.limit(*whose, each.reached, each.asked)
            elif each.holds is None:
                yield wording.not_checked(*whose, each.asked)

    @property
    def ok(self) -> bool:
        """Whether the verdict is that the release holds."""
        return self.verdict.holds

    @property
    def keeps_limits(self) -> bool:
        """Whether every limit and clause is met, and the file suits the policy, whatever points are open."""
        left = (*self.verdict.broken, *self.verdict.open)
        met = all(KINDS[point.name].accepted or point.name == "nothing-left" for point in left)
        return met and all(finding.holds for finding in self.findings)

    @property
    def is_unchecked(self) -> bool:
        """Whether nothing is broken, and a limit or a kind of point could not be checked: exit status 2."""
        verdict = self.verdict
        return not verdict.broken and any(point.name == "not-checked" for point in verdict.open)

    @property
    def _others(self) -> list[Verification]:
        return [each for each in (self.earlier, self.together) if each is not None]

    def _repr_html_(self) -> str:
        rows = [
            (each.title, each.attribute or "", each.reached, each.asked, _WORDS[each.holds])
            for each in self.findings
        ]
        texts = (
            ["" if cell is None else f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row]
            for row in rows
        )
        cells = ("".join(f"<td>{html.escape(text)}</td>" for text in row) for row in texts)
        clauses = (f"{each.id}: {each.state}; {each.detail}" for each in self.clauses)
        lines = (f"<li>{html.escape(text)}</li>" for text in (*clauses, *self.notes, *self.unchecked))
        return visible(
            f"{self.verdict._repr_html_()}<p>{self.records:,} records in {self.classes:,} classes, "
            f"{self.suppressed:,} suppressed</p><table><thead><tr><th>model</th><th>attribute</th>"
            "<th>reached</th><th>asked</th><th></th></tr></thead><tbody>"
            f"{''.join(f'<tr>{row}</tr>' for row in cells)}</tbody></table>"
            f"<ul>{''.join(lines)}</ul>{''.join(each._repr_html_() for each in self._others)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain types, ready for JSON, which has no infinity."""
        return {
            "format": "incrowd verification",
            "version": 1,
            "file": self.file,
            "ok": self.ok,
            "verdict": self.verdict.to_dict(),
            "records": self.records,
            "suppressed": self.suppressed,
            "suppressed_share": self.suppressed_share,
            "max_suppression": self.max_suppression,
            "classes": self.classes,
            "wildcards": self.wildcards,
            "smallest": self.smallest,
            **({} if self.people is None else {"people": asdict(self.people)}),
            "findings": [_finding_to_dict(finding) for finding in self.findings],
            "problems": list(self.problems),
            "unchecked": list(self.unchecked),
            **({} if self.earlier is None else {"earlier": self.earlier.to_dict()}),
            **({} if self.together is None else {"together": self.together.to_dict()}),
            **({"published_as_one": True} if self.published_as_one else {}),
            **({"profile": self.profile} if self.profile else {}),
            **({"clauses": [each.to_dict() for each in self.clauses]} if self.clauses else {}),
        }


_WORDS = {True: "holds", False: "FAILS", None: "not checked"}


def _finding_to_dict(finding: Finding) -> dict[str, Any]:
    plain = asdict(finding)
    knows = plain.pop("knows")
    if plain.pop("attacker") is not None:
        plain["attacker"] = {"name": finding.attacker, "knows": list(knows)}
    if finding.reached is not None and math.isinf(finding.reached):
        plain["reached"] = "infinity"
    return plain
