"""The named checks of clauses, one function each; `CHECKS` lists them."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from incrowd.profiles import Clause
from incrowd.verification.checks import Checks
from incrowd.verification.classes import written
from incrowd.verification.derived import plain_columns
from incrowd.verification.policy import SUPPRESSED, Policy
from incrowd.verification.source import Table, literal
from incrowd.verification.texts import Texts

_FINER = (
    r"\b(1[89]|20)\d\d[-/.](0?[1-9]|1[0-2])\b",
    r"\b(1[89]|20)\d\d-?(Q[1-4]|W\d\d)\b",
    r"(^|[^\d.])\d{1,2}[-/.]\d{1,2}[-/.](\d\d|\d{4})($|[^\d.]|[.]($|\D))",
    r"(?i)\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[. ]+\d{1,4}\b",
    r"\d(年|月)\d{1,2}(月|日)",
)
"""Texts that have a month, a quarter, a week or a day."""
_WHOLE_YEARS = r"(\d{4})-01-01(\D+)(\d{4})-(12-31|01-01)"
"""A range of dates that begins and ends with a year."""
_NUMBERS = r"\d+(?:\.\d+)?"
_PARTS = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class LackingError(Exception):
    """A check lacks an input; the message says which, and where to give it."""


@dataclass
class Subject:
    """The release as the check of one clause sees it.

    Attributes
    ----------
    cleared
        Columns of the release that the policy says are not what the clause is about.
    said
        What the check found, in words; it sets this.
    unread
        Columns that the check could not see through, as those of sentences; it sets this.
    """

    con: Checks
    policy: Policy
    texts: Texts
    clause: Clause
    said: str = ""
    unread: list[str] = field(default_factory=list)
    cleared: list[str] = field(init=False)

    def __post_init__(self) -> None:
        chosen = self.policy.profile
        cleared = [] if chosen is None else chosen.columns(self.clause, cleared=True)
        self.cleared = [name for name in cleared if name in self.released.names]

    @property
    def released(self) -> Table:
        """The released table."""
        return self.texts.released

    def setting(self, name: str, default: Any = None) -> Any:
        """Return a setting of the clause."""
        return self.clause.settings.get(name, default)

    def input(self, name: str, why: str) -> Any:
        """Return an input of the policy.

        Raises
        ------
        LackingError
        """
        found = None if self.policy.profile is None else self.policy.profile.input(name)
        if found is None:
            raise LackingError(f"{why}: give {name} in [profile.inputs]")
        return found

    def file(self, name: str, why: str) -> Path:
        """Return the path of an input that is a file; `LackingError` where there is none."""
        given = self.input(name, why)
        assert self.policy.profile is not None
        return self.policy.profile.folder / str(given)

    @property
    def columns(self) -> list[str]:
        """The released columns that the clause may be about."""
        return [name for name in self.released.names if name not in self.cleared]

    def called(self, setting: str = "columns") -> list[str]:
        """Return the columns that the policy names, or that are called as the clause lists."""
        known = self.setting(setting, [])
        own = [] if self.policy.profile is None else self.policy.profile.columns(self.clause)
        return [name for name in self.columns if name in own or is_called(name, known)]

    def text(self, name: str) -> str:
        """Write the SQL of a column's cells as texts, for rows called t."""
        return written(self.con, self.released, name, self.policy.null_values)

    @property
    def rows(self) -> str:
        """The SQL of the released rows, called t."""
        return f"{self.released.name} AS t"

    def shown(self, name: str) -> str:
        """Write the SQL of a column's cells that are there and not suppressed, as a table of texts v."""
        return f"(SELECT v FROM (SELECT {self.text(name)} AS v FROM {self.rows}) WHERE v <> '{SUPPRESSED}')"


Counts = Iterator[tuple[str, str]]


def is_called(name: str, known: Iterable[str]) -> bool:
    """Return whether the name of a column has one of some words, or some of its parts together are one.

    Examples
    --------
    >>> is_called("patientZIP_code", ["zipcode"]), is_called("zipper", ["zip"])
    (True, False)
    """
    parts = [each.casefold() for each in _PARTS.findall(_CAMEL.sub(" ", name))]
    joined = {"".join(parts[at:to]) for at in range(len(parts)) for to in range(at + 1, len(parts) + 1)}
    return any(
        word.casefold() in joined or (not word.isascii() and word.casefold() in name.casefold())
        for word in known
    )


def _absent(subject: Subject) -> Counts:
    """Count the cells of columns that are called so, and the texts that look so."""
    called = subject.called()
    for name in called:
        yield f"cells of {name}, which is called so", f"SELECT count(*) FROM {subject.shown(name)}"
    others = [name for name in subject.columns if name not in called]
    pattern, share = subject.setting("texts"), subject.setting("share", 0.0)
    for name in others if pattern is not None else ():
        matches = f"count(*) FILTER (regexp_matches(v, {literal(pattern)}))"
        yield (
            f"cells of {name} that look so",
            f"SELECT CASE WHEN {matches} > {share!r}::DOUBLE * count(*) THEN {matches} ELSE 0 END "
            f"FROM {subject.shown(name)}",
        )
    if subject.setting("in_texts", True):
        yield from _inside_texts(subject, others)


def _inside_texts(subject: Subject, names: Sequence[str]) -> Counts:
    """Count the texts in which such a thing was recognized, and note the columns of which nobody can tell.

    Those hold sentences, or texts that name or reach people in another way.
    """
    if subject.con.is_script:
        subject.con.note(f"{subject.clause.id}: what stands inside longer texts is not looked for here.")
        return
    from incrowd.gate.texts import SIGNS

    wanted = subject.setting("signs", ())
    phrases = {sign.name: sign.text for sign in SIGNS if sign.name in wanted}
    for name in names:
        column = subject.texts.of(name)
        if column is None:
            continue
        found = {phrases[sign]: number for sign, number in column.signs.items() if sign in phrases}
        for what, number in found.items():
            yield f"cells of {name} that look like {what}", f"SELECT {number}"
        if not found and (column.signs or column.is_free):
            subject.unread.append(name)


def _years(subject: Subject) -> Counts:
    """Count the cells that have a month or a day."""
    for name in subject.columns:
        plain = f"regexp_replace(v, {literal(_WHOLE_YEARS)}, '\\1\\2\\3', 'g')"
        finer = " OR ".join(f"regexp_matches({plain}, {literal(each)})" for each in _FINER)
        yield (
            f"cells of {name} finer than a year",
            f"SELECT count(*) FROM {subject.shown(name)} WHERE {finer}",
        )


def _oldest(subject: Subject) -> Counts:
    """Count the records whose age, or year of birth, is not in one group with all above an age."""
    oldest = subject.setting("oldest")
    births = subject.called("births")
    numbers = f"regexp_extract_all(v, '{_NUMBERS}')::DOUBLE[]"
    for name in subject.called():
        if name not in births:
            yield _one_group(subject, name, f"list_max({numbers}) > {oldest}", f"ages above {oldest}")
    if births:
        last = int(subject.input("year", "years of birth tell ages")) - oldest - 1
        years = "regexp_extract_all(v, '\\b\\d{4}\\b')::BIGINT[]"
        for name in births:
            yield _one_group(subject, name, f"list_min({years}) <= {last}", f"years up to {last}")


def _one_group(subject: Subject, name: str, condition: str, words: str) -> tuple[str, str]:
    """Count the records that a condition is about, unless they share one cell that is more than one value."""
    alone = "bool_or(regexp_full_match(v, '\\d+(\\.0*)?|\\d{4}-\\d\\d(-\\d\\d)?'))"
    return (
        f"records of {name} that are not in one group of {words}",
        f"SELECT CASE WHEN count(*) > 1 OR {alone} THEN sum(n) ELSE 0 END FROM (SELECT v, count(*) AS n "
        f"FROM {subject.shown(name)} WHERE {condition} GROUP BY v)",
    )


def _zip3(subject: Subject) -> Counts:
    """Count the ZIP codes of more than three digits, and those of three where too few people live."""
    names = subject.called()
    prefix = "regexp_extract(v, '^(\\d{3})[*xX]*$', 1)"
    for name in names:
        yield (
            f"cells of {name} that show more than three digits",
            f"SELECT count(*) FROM {subject.shown(name)} WHERE NOT regexp_full_match(v, '\\d{{0,3}}[*xX]*')",
        )
    used = [
        text
        for name in names
        for (text,) in subject.con.execute(
            f"SELECT DISTINCT {prefix} AS p FROM {subject.shown(name)} WHERE p NOT IN ('', '000')"
        ).fetchall()
    ]
    if not used:
        return
    place = subject.file(
        "populous", "three digits are shown, and a dated table has to say how many live there"
    )
    large = _populous(place, subject.setting("least"))
    listed = ", ".join(map(literal, sorted(large))) or "NULL"
    for name in names:
        yield (
            f"cells of {name} whose three digits are of too few people by {place.name}",
            f"SELECT count(*) FROM {subject.shown(name)} WHERE {prefix} NOT IN ('', '000', {listed})",
        )


def _populous(place: Path, least: int) -> set[str]:
    """Read the three digits where more people live than a number."""
    try:
        with place.open(encoding="utf-8-sig", newline="") as file:
            rows = [(row["zip3"], int(row["population"])) for row in csv.DictReader(file)]
    except (OSError, ValueError, KeyError, TypeError, csv.Error):
        raise LackingError(
            f"{place.name} is no CSV with the columns zip3 and population (whole numbers)"
        ) from None
    return {digits.zfill(3) for digits, people in rows if people > least}


def _unique(subject: Subject) -> Counts:
    """Count the records that have a value of their own, in columns where many have."""
    share = subject.setting("share")
    for name in plain_columns(subject.policy, subject.columns):
        yield (
            f"records with a value of {name} that no other has",
            f"SELECT CASE WHEN alone >= {share!r}::DOUBLE * records THEN alone ELSE 0 END FROM (SELECT "
            "coalesce(sum(n) FILTER (n = 1), 0) AS alone, sum(n) AS records FROM (SELECT count(*) AS n "
            f"FROM {subject.shown(name)} GROUP BY v))",
        )


def _risk(subject: Subject) -> Counts:
    """Count the classes that are too small for a threshold of the risk."""
    least = subject.setting("least")
    if least is None:
        risk = Fraction(str(subject.setting("risk") or subject.input("risk", "no threshold is stated")))
        if not 0 < risk <= 1:
            raise LackingError("risk in [profile.inputs] must be above 0 and at most 1")
        least = math.ceil(1 / risk)
    yield from _at_least(subject, least)


def _context(subject: Subject) -> Counts:
    """Count the classes that are smaller than the context needs."""
    assert subject.policy.context is not None
    yield from _at_least(subject, subject.policy.context.needed)
    subject.said = f"{subject.said}; {subject.policy.context.arithmetic()}"


def _at_least(subject: Subject, least: int) -> Counts:
    (smallest,) = subject.con.row("SELECT coalesce(min(size), 0)::BIGINT FROM classes")
    subject.said = f"the smallest class has {smallest:,}, at least {least:,} needed"
    yield f"classes of fewer than {least:,}", f"SELECT count(*) FROM classes WHERE size < {least}"


def _counts(subject: Subject) -> Counts:
    """Count the values that too few records have, among all or within a class."""
    least = subject.setting("least")
    if not subject.setting("within_classes"):
        for name in subject.columns:
            yield (
                f"values of {name} that fewer than {least} records have",
                f"SELECT count(*) FROM (SELECT 1 FROM {subject.shown(name)} GROUP BY v HAVING count(*) < "
                f"{least})",
            )
        return
    for name, grouped in _sensitive(subject):
        yield (
            f"values of {name} that fewer than {least} records of a class have",
            f"SELECT count(*) FROM ({grouped}) WHERE n < {least}",
        )


def _shares(subject: Subject) -> Counts:
    """Count the classes in which one sensitive value has too large a share."""
    share = subject.setting("share")
    for name, grouped in _sensitive(subject):
        yield (
            f"classes where more than {share:.0%} share a value of {name}",
            f"SELECT count(*) FROM (SELECT 1 FROM ({grouped}) GROUP BY ALL_OF HAVING max(n) > "
            f"{share!r}::DOUBLE * sum(n))".replace("ALL_OF", ", ".join(_keys(subject))),
        )


def _keys(subject: Subject) -> list[str]:
    return [f"q{place}" for place, _ in enumerate(subject.policy.named("quasi"))]


def _sensitive(subject: Subject) -> Iterator[tuple[str, str]]:
    """Yield each sensitive column, with the SQL of its values in each class and their records."""
    keys = _keys(subject)
    cells = [
        f"{subject.text(column.name)} AS {key}"
        for key, column in zip(keys, subject.policy.named("quasi"), strict=True)
    ]
    kept = " OR ".join(f"{key} IS DISTINCT FROM '{SUPPRESSED}'" for key in keys)
    for column in subject.policy.named("sensitive"):
        if column.name not in subject.columns:
            continue
        rows = f"SELECT {', '.join(cells)}, {subject.text(column.name)} AS v FROM {subject.rows}"
        yield (
            column.name,
            f"SELECT {', '.join(keys)}, v, count(*) AS n FROM ({rows}) WHERE {kept} "
            f"GROUP BY {', '.join(keys)}, v",
        )


def _fraction(subject: Subject) -> Counts:
    """Compare the share of the population that is in the sample with the largest allowed."""
    largest = subject.setting("largest")
    given = subject.input("fraction", "the file does not say how large the population is")
    subject.said = f"the policy says that {given} of the population are in it, at most {largest} allowed"
    yield "sampling fraction too large", f"SELECT ({float(given)!r} > {largest!r})::BIGINT"


def _ends(subject: Subject) -> Counts:
    """Count the records that have the largest value of a number, where they are too few."""
    least = subject.setting("least")
    quasi = [column.name for column in subject.policy.named("quasi")]
    for name in subject.columns:
        if name not in quasi:
            numbers = f"SELECT v, TRY_CAST(v AS DOUBLE) AS x FROM {subject.shown(name)}"
            yield (
                f"records that alone have the largest {name}",
                f"SELECT CASE WHEN numeric AND kinds > 2 AND alone < {least} THEN alone ELSE 0 END FROM "
                "(SELECT count(x) = count(*) AS numeric, count(DISTINCT x) AS kinds, "
                "count(*) FILTER (x = most) AS alone "
                f"FROM (SELECT *, max(x) OVER () AS most FROM ({numbers})))",
            )


def _attack(subject: Subject) -> Counts:
    """Compare the success of attacks that were tried, at the upper end of its interval, with a share."""
    place = subject.file("attacks", "an attack has to be run beside the raw table")
    largest = subject.input("rate", "no largest share is stated")
    try:
        entries = json.loads(place.read_text(encoding="utf-8"))["attacks"]
        rates = {each["name"]: (each["risk"] or each["main"], int(each["attacks"])) for each in entries}
        found = {
            name: (float(of["value"]), float(of["low"]), float(of["high"]), n)
            for name, (of, n) in rates.items()
        }
    except (OSError, ValueError, KeyError, TypeError):
        raise LackingError(f"{place.name} is no JSON that incrowd attack printed") from None
    wanted: Sequence[str] = subject.setting("attacks")
    if not (tried := [name for name in wanted if name in found]):
        raise LackingError(f"{place.name} has none of these attacks: {', '.join(wanted)}")
    said = [
        f"{name}: {value:.1%} of {number:,} ({low:.1%} to {high:.1%}), at most {float(largest):.1%} allowed"
        for name in tried
        for value, low, high, number in [found[name]]
    ]
    subject.said = "; ".join(said)
    worst = max(found[name][2] for name in tried)
    yield subject.said, f"SELECT ({worst!r} > {float(largest)!r})::BIGINT"


CHECKS: dict[str, Callable[[Subject], Counts]] = {
    "absent": _absent,
    "years": _years,
    "oldest": _oldest,
    "zip3": _zip3,
    "unique": _unique,
    "risk": _risk,
    "context": _context,
    "counts": _counts,
    "shares": _shares,
    "fraction": _fraction,
    "ends": _ends,
    "attack": _attack,
}
"""Every check that a clause may name."""
