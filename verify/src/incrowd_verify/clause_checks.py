"""The clauses of the profile that a policy chose: each is checked on the release, attested, or not met.

A check is a function of one list (`CHECKS`). It returns counts in SQL that must be 0, so that `verify` runs
them and a script holds them. A check that lacks something says so, and its clause is not met.
"""

from __future__ import annotations

import csv
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from incrowd_gate.errors import setting, visible
from incrowd_gate.profiles import Clause
from incrowd_verify.checks import Checks
from incrowd_verify.periods import DAYS_ARE_CALLED, finer_than_years, in_one_group
from incrowd_verify.policy import SUPPRESSED, Policy
from incrowd_verify.release_points import ReleasedRows
from incrowd_verify.result import ClauseResult
from incrowd_verify.source import Table, literal, number
from incrowd_verify.values import written

_PARTS = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MOST_BYTES = 64 * 2**20
"""Most that a file of an input may have."""
_Z = 1.959963984540054
_LIKE_ZIP = r"\d{5}(?:[- ]?\d{4})?"
_SURE_ZIP = r"0\d{4}|\d{5}[- ]\d{4}|\d{3}[*xX]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d|[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}"
"""Texts that look like postal codes: all of a column, and one alone."""
_BESIDE_NUMBER = r"^[<>≤≥=~≈ ]+|[$€£¥%]|(?i)(?: ?(?:usd|eur|gbp|chf|kg|cm|mg|k|years?))$"
_GROUPED = r"[-+]?\d{1,3}(?:[, ']\d{3})+(?:\.\d+)?"
"""What stands beside a number, and a number in groups of three digits."""


class LackingError(Exception):
    """A check lacks an input; the message says which input, and where to give the input."""


@dataclass
class Subject:
    """The view that the check of a clause has of the release.

    - `cleared`: columns of the release that the policy says are not what the clause is about.
    - `said`: what the check found, in words; it sets this.
    - `unread`: columns that the check could not see through, as those of sentences.
    - `least`: the class size that the check found missing, where it asks for one; it sets this.
    """

    con: Checks
    policy: Policy
    rows: ReleasedRows
    clause: Clause
    said: str = ""
    unread: list[str] = field(default_factory=list)
    least: int | None = None
    cleared: list[str] = field(init=False)

    def __post_init__(self) -> None:
        chosen = self.policy.profile
        cleared = [] if chosen is None else chosen.columns(self.clause, cleared=True)
        self.cleared = [name for name in cleared if name in self.released.names]

    @property
    def released(self) -> Table:
        """The released table."""
        return self.rows.table

    def setting(self, name: str, default: Any = None) -> Any:
        """Return a setting of the clause."""
        return self.clause.settings.get(name, default)

    def input(self, name: str, why: str) -> Any:
        """Return an input of the policy."""
        value = None if self.policy.profile is None else self.policy.profile.input(name)
        if value is None:
            raise LackingError(f"{why}: give {name} in {setting('[profile.inputs]', '[profile.inputs]')}")
        return value

    def file(self, name: str, why: str) -> Path:
        """Return the path of an input that is a file; `LackingError` where there is none."""
        given = self.input(name, why)
        assert self.policy.profile is not None
        place = self.policy.profile.folder / str(given)
        # A pipe would be waited for, and a device has no end.
        if not place.is_file() or place.stat().st_size > _MOST_BYTES:
            raise LackingError(f"{place.name} is no file, or one of more than {_MOST_BYTES >> 20} MiB")
        return place

    @property
    def columns(self) -> list[str]:
        """The released columns that the clause may be about."""
        return [name for name in self.released.names if name not in self.cleared]

    def is_treated(self, name: str, treatment: str, first: Any) -> bool:
        """Say whether a column was treated so; of a quasi-identifier the cells may tell otherwise."""
        treatments = (
            each.treatment for each in self.policy.columns if each.name == name and each.role != "quasi"
        )
        return any(each and (each.name, each.first) == (treatment, first) for each in treatments)

    def called(self, setting: str = "columns") -> list[str]:
        """Return the columns with names as in a list, and the columns that the policy names for a clause."""
        known = self.setting(setting, [])
        chosen = self.policy.profile if setting == "columns" else None
        own = [] if chosen is None else chosen.columns(self.clause)
        return [name for name in self.columns if name in own or is_called(name, known)]

    def text(self, name: str) -> str:
        """Write the SQL of a column's cells as texts, for rows called t."""
        return written(self.con, self.released, name, self.policy.null_values)

    @property
    def source(self) -> str:
        """The SQL of the released rows, called t."""
        return f"{self.released.name} AS t"

    def shown(self, name: str) -> str:
        """Write the SQL of a column's cells that are there and not suppressed, as a table of texts v."""
        cells = f"SELECT {self.text(name)} AS v FROM {self.source}"
        return f"(SELECT v FROM ({cells}) WHERE v <> {literal(SUPPRESSED)})"


class Count(NamedTuple):
    """A count that has to be 0.

    - `words`, `sql`: what is counted, in words and in SQL.
    - `column`: the column that it is counted of; None where it is counted of records or classes.
    - `doubtful`: whether nobody can say, where there are such; the clause is broken otherwise.
    """

    words: str
    sql: str
    column: str | None = None
    doubtful: bool = False


Counts = Iterator[Count]


def is_called(name: str, known: Iterable[str]) -> bool:
    """Return whether the name of a column has a word of a list, or parts that together make such a word.

    Of a word that begins with ``*`` the end of a part is enough. Accents and signs that nobody sees do not
    matter, nor do numbers at the end.

    Examples
    --------
    >>> is_called("patientZIP_code", ["zipcode"]), is_called("zipper", ["zip"])
    (True, False)
    >>> is_called("Téléphone2", ["telephone"]), is_called("patientname", ["*name"])
    (True, True)
    """
    plain = _letters(_CAMEL.sub(" ", name))
    parts = _PARTS.findall(plain)
    joined = {"".join(parts[at:to]) for at in range(len(parts)) for to in range(at + 1, len(parts) + 1)}
    return any(
        any(part.endswith(_letters(word[1:])) for part in parts)
        if word.startswith("*")
        else _letters(word) in joined or (not _letters(word).isascii() and _letters(word) in plain)
        for word in known
    )


def _letters(text: str) -> str:
    """Write a text in small letters without accents and without signs that nobody sees."""
    signs = unicodedata.normalize("NFKD", text)
    return "".join(each for each in signs if unicodedata.category(each) not in ("Mn", "Cf", "Co")).casefold()


def _absent(subject: Subject) -> Counts:
    """Count the cells of columns that are called so, and the texts that look so."""
    called = subject.called()
    for name in called:
        sql = f"SELECT count(*) FROM {subject.shown(name)}"
        yield Count(f"cells of {name}, which is called so", sql, name)
    others = [name for name in subject.columns if name not in called]
    patterns = [literal(each) for each in map(subject.setting, ("texts", "doubtful")) if each is not None]
    share = number(subject.setting("share", 0.0))
    for name in others if patterns else ():
        seen = "regexp_replace(regexp_replace(v, '\\p{Cf}', '', 'g'), '^\\s+|\\s+$', '', 'g')"
        looks = [f"regexp_matches({seen}, {pattern})" for pattern in patterns]
        if subject.setting("texts") is not None:
            matches = f"count(*) FILTER ({looks[0]})"
            yield Count(
                f"cells of {name} that look so",
                f"SELECT CASE WHEN {matches} > {share} * count(*) THEN {matches} ELSE 0 END "
                f"FROM {subject.shown(name)}",
                name,
            )
        yield Count(
            f"cells of {name} that may be such",
            f"SELECT count(*) FROM {subject.shown(name)} WHERE {' OR '.join(looks)} "
            "OR regexp_matches(regexp_replace(v, '[0-9]', '', 'g'), '\\p{Nd}')",
            name,
            True,
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
    from incrowd_gate.texts import SIGNS

    wanted = subject.setting("signs", ())
    phrases = {sign.name: sign.text for sign in SIGNS if sign.name in wanted}
    for name in names:
        texts = subject.rows.texts(name)
        if texts is None:
            continue
        signs = {phrases[sign]: mask for sign, mask in texts.signs.items() if sign in phrases}
        for what, mask in signs.items():
            records = int(texts.counts[mask].sum())
            yield Count(f"cells of {name} that look like {what}", f"SELECT {records:d}", name)
        if not signs and (texts.signs or texts.is_free(subject.rows.records)):
            subject.unread.append(name)


def _years(subject: Subject) -> Counts:
    """Count the cells that have a month or a day, and the cells that nobody can judge."""
    own = subject.called()
    # The first day of a year stands for the year, where every date of the column is one.
    names = [name for name in subject.columns if not subject.is_treated(name, "truncate-dates", "year")]
    columns = [(subject.shown(name), name in own or is_called(name, DAYS_ARE_CALLED)) for name in names]
    if not columns:
        return
    subject.con.execute(f"CREATE OR REPLACE TABLE periods AS {finer_than_years(columns)}")
    for place, name in enumerate(names):
        told = f"FROM periods WHERE place = {place:d}"
        yield Count(f"cells of {name} finer than a year", f"SELECT coalesce(sum(finer), 0) {told}", name)
        yield Count(
            f"cells of {name} that may be so", f"SELECT coalesce(sum(doubtful), 0) {told}", name, True
        )


def _oldest(subject: Subject) -> Counts:
    """Count the records with an age, or a year of birth, outside the single group of all above an age."""
    oldest = subject.setting("oldest")
    births = subject.called("births")
    year = subject.input("year", "years of birth tell ages") if births else None
    for name in dict.fromkeys([*subject.called(), *births]):
        words = f"years up to {year - oldest - 1}" if name in births else f"ages above {oldest}"
        cells = subject.shown(name)
        if subject.is_treated(name, "top", oldest + 1):
            # The limit stands for every age beyond, so its cells are the one group.
            cells = f"(SELECT v FROM {cells} WHERE TRY_CAST(v AS DOUBLE) IS DISTINCT FROM {int(oldest) + 1})"
        judged = in_one_group(cells, oldest, year if name in births else None)
        what = f"records of {name} that are not in one group of {words}"
        yield Count(what, f"SELECT old FROM ({judged})", name)
        yield Count(f"records of {name} that may be such", f"SELECT doubtful FROM ({judged})", name, True)


def _zip3(subject: Subject) -> Counts:
    """Count the ZIP codes of more than three digits, and codes of three where too few people live."""
    names = subject.called()
    # Numbers lose their zeros in front.
    prefix = "lpad(regexp_extract(v, '^(\\d{3}|\\d{1,2}$)[*xX]*$', 1), 3, '0')"
    for name in names:
        yield Count(
            f"cells of {name} that show more than three digits",
            f"SELECT count(*) FROM {subject.shown(name)} WHERE NOT regexp_full_match(v, '\\d{{0,3}}[*xX]*')",
            name,
        )
    for name in subject.columns:
        if name not in names:
            cells = f"SELECT v, regexp_full_match(v, {literal(_LIKE_ZIP)}) AS so FROM {subject.shown(name)}"
            yield Count(
                f"cells of {name} that may be such",
                f"SELECT count(*) FILTER (sure OR (so AND all_so)) FROM (SELECT *, bool_and(so) FILTER "
                f"(regexp_matches(v, '\\d')) OVER () AS all_so, regexp_full_match(v, {literal(_SURE_ZIP)}) "
                f"AS sure FROM ({cells}))",
                name,
                True,
            )
    used = [
        text
        for name in names
        for (text,) in subject.con.execute(
            f"SELECT DISTINCT {prefix} AS p FROM {subject.shown(name)} WHERE p <> '000'"
        ).fetchall()
    ]
    if not used:
        return
    place = subject.file(
        "populous", "three digits are shown, and a dated table has to say how many live there"
    )
    large = _populous(place, subject.setting("least"))
    listed = ", ".join(map(literal, ["000", *sorted(large)]))
    for name in names:
        yield Count(
            f"cells of {name} whose three digits are of too few people by {place.name}",
            f"SELECT count(*) FROM {subject.shown(name)} WHERE {prefix} NOT IN ({listed})",
            name,
        )


def _populous(place: Path, least: int) -> set[str]:
    """Read the three digits where more people live than a number."""
    try:
        with place.open(encoding="utf-8-sig", newline="") as file:
            rows = [(row["zip3"].zfill(3), int(row["population"])) for row in csv.DictReader(file)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, csv.Error):
        raise LackingError(
            f"{place.name} is no CSV with the columns zip3 and population (whole numbers)"
        ) from None
    if len(dict(rows)) < len(rows):
        raise LackingError(f"{place.name} has three digits twice; sum the people by them")
    return {digits for digits, people in rows if people > least}


def _unique(subject: Subject) -> Counts:
    """Count the records with a unique value, in columns where many records have a unique value.

    Whether a column that models look at, or that was treated, is a code of a person, nobody can say.
    """
    share = number(subject.setting("share"))
    plain = [
        column.name
        for column in subject.rows.columns
        if not column.treatment
        and (column.role == "insensitive" or (column.role is None and subject.policy.unlisted == "keep"))
    ]
    quasi = [column.name for column in subject.policy.named("quasi")]
    for name in subject.columns:
        if name not in quasi:
            yield Count(
                f"records with a value of {name} that no other has",
                f"SELECT CASE WHEN alone >= {share} * records THEN alone ELSE 0 END FROM (SELECT "
                "coalesce(sum(n) FILTER (n = 1), 0) AS alone, sum(n) AS records FROM (SELECT count(*) AS n "
                f"FROM {subject.shown(name)} GROUP BY v))",
                name,
                name not in plain,
            )


def _risk(subject: Subject) -> Counts:
    """Count the classes that are too small for a threshold of the risk."""
    least = subject.setting("least")
    if least is None:
        risk = Fraction(str(subject.setting("risk") or subject.input("risk", "no threshold is stated")))
        least = math.ceil(1 / risk)
    yield from _at_least(subject, least)


def _context(subject: Subject) -> Counts:
    """Count the classes that are smaller than the context needs."""
    if subject.policy.context is None:
        raise LackingError("the policy does not answer for the context: add the table [context]")
    yield from _at_least(subject, subject.policy.context.needed)
    subject.said = f"{subject.said}; {subject.policy.context.arithmetic()}"


def _at_least(subject: Subject, least: int) -> Counts:
    """Count the classes that are too small, with the suppressed records as a class, too."""
    by_person = "SELECT count(*) FROM duckdb_columns() WHERE table_name = 'record' AND column_name = 'person'"
    size = "count(DISTINCT person)" if subject.con.row(by_person)[0] else "count(*)"
    sizes = (
        f"(SELECT size FROM classes UNION ALL SELECT {size} FROM record WHERE suppressed HAVING count(*) > 0)"
    )
    (smallest,) = subject.con.row(f"SELECT coalesce(min(size), 0)::BIGINT FROM {sizes}")
    subject.least, subject.said = least, f"the smallest class has {smallest:,}, at least {least:,} needed"
    yield Count(
        f"classes of fewer than {least:,}", f"SELECT count(*) FROM {sizes} WHERE size < {number(least)}"
    )


def _counts(subject: Subject) -> Counts:
    """Count the values that too few records have, among all or within a class, the missing value included."""
    least = subject.setting("least")
    if not subject.setting("within_classes"):
        for name in subject.columns:
            yield Count(
                f"values of {name} that fewer than {least} records have",
                f"SELECT count(*) FROM (SELECT {subject.text(name)} AS v, count(*) AS n "
                f"FROM {subject.source} GROUP BY v) WHERE n < {number(least)}",
                name,
            )
        return
    for name, grouped in _sensitive(subject):
        yield Count(
            f"values of {name} that fewer than {least} records of a class have",
            f"SELECT count(*) FROM ({grouped}) WHERE n < {number(least)}",
            name,
        )


def _shares(subject: Subject) -> Counts:
    """Count the classes in which a sensitive value has too large a share."""
    share = subject.setting("share")
    for name, grouped in _sensitive(subject):
        yield Count(
            f"classes where more than {share:.0%} share a value of {name}",
            f"SELECT count(*) FROM (SELECT 1 FROM ({grouped}) GROUP BY {', '.join(_keys(subject))} "
            f"HAVING max(n) > {number(share)} * sum(n))",
            name,
        )


def _keys(subject: Subject) -> list[str]:
    return [f"q{place}" for place, _ in enumerate(subject.policy.named("quasi"))]


def _sensitive(subject: Subject) -> Iterator[tuple[str, str]]:
    """Yield each sensitive column, with the SQL of the values in each class and the records of each value.

    Suppressed records look alike, so they are a class here.
    """
    keys = _keys(subject)
    cells = [
        f"{subject.text(column.name)} AS {key}"
        for key, column in zip(keys, subject.policy.named("quasi"), strict=True)
    ]
    names = [each.name for each in subject.policy.named("sensitive") if each.name in subject.columns]
    if not names:
        subject.said = "the policy names no sensitive column"
    for name in names:
        rows = f"SELECT {', '.join(cells)}, {subject.text(name)} AS v FROM {subject.source}"
        yield (
            name,
            f"SELECT {', '.join(keys)}, v, count(*) AS n FROM ({rows}) GROUP BY {', '.join(keys)}, v",
        )


def _fraction(subject: Subject) -> Counts:
    """Compare the share of the population that is in the sample with the largest allowed."""
    largest = subject.setting("largest")
    given = subject.input("fraction", "the file does not say how large the population is")
    subject.said = f"the policy says that {given} of the population are in it, at most {largest} allowed"
    yield Count("sampling fraction too large", f"SELECT ({number(given)} > {number(largest)})::BIGINT")


def _ends(subject: Subject) -> Counts:
    """Count the records with the largest value of a number, where such records are too few.

    Cells that are no numbers do not hide the others: a column of which some are is judged by these. Where
    these are few, or others have digits that nobody reads as a number, nobody can say.
    """
    least = number(subject.setting("least"))
    quasi = [column.name for column in subject.policy.named("quasi")]
    for name in subject.columns:
        if name not in quasi:
            plain = f"regexp_replace(trim(v), {literal(_BESIDE_NUMBER)}, '', 'g')"
            grouped = f"regexp_full_match({plain}, {literal(_GROUPED)})"
            bare = f"CASE WHEN {grouped} THEN regexp_replace({plain}, '[, '']', '', 'g') ELSE {plain} END"
            numbers = f"SELECT v, TRY_CAST({bare} AS DOUBLE) AS x FROM {subject.shown(name)}"
            judged = (
                "SELECT count(x) AS known, count(*) AS cells, count(*) FILTER (x = most) AS alone, "
                f"count(*) FILTER (x IS NULL AND regexp_matches(v, '\\p{{N}}')) AS unread "
                f"FROM (SELECT *, max(x) OVER () AS most FROM ({numbers}))"
            )
            yield Count(
                f"records that alone have the largest {name}",
                f"SELECT CASE WHEN 2 * known >= cells AND alone < {least} THEN alone ELSE 0 END "
                f"FROM ({judged})",
                name,
            )
            yield Count(
                f"cells of {name} that may be numbers",
                f"SELECT CASE WHEN 2 * known >= cells THEN unread WHEN known > 0 AND alone < {least} "
                f"THEN alone ELSE 0 END FROM ({judged})",
                name,
                True,
            )


def _attack(subject: Subject) -> Counts:
    """Compare the success of the tried attacks, at the upper end of the interval, with a share."""
    place = subject.file("attacks", "an attack has to be run beside the raw table")
    largest = subject.input("rate", "no largest share is stated")
    try:
        entries = json.loads(place.read_text(encoding="utf-8"))["attacks"]
        attempts = {each["name"]: _tried(each) for each in entries}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise LackingError(f"{place.name} is no JSON that incrowd attack printed") from None
    wanted: Sequence[str] = subject.setting("attacks")
    if len(attempts) < len(entries):
        raise LackingError(f"{place.name} has an attack twice")
    if lacking := [name for name in wanted if name not in attempts]:
        raise LackingError(f"{place.name} lacks the attack {', '.join(lacking)}")
    said = [
        f"{name}: {value:.1%} of {guesses:,} ({low:.1%} to {high:.1%}), at most {largest:.1%} allowed"
        for name in wanted
        for value, low, high, guesses in [attempts[name]]
    ]
    subject.said = "; ".join(said)
    worst = max(attempts[name][2] for name in wanted)
    yield Count(subject.said, f"SELECT ({number(worst)} > {number(largest)})::BIGINT")


def _tried(entry: Mapping[str, Any]) -> tuple[float, float, float, int]:
    """Read how often an attack succeeded, with the ends of the interval and the number of guesses.

    Raises `ValueError, KeyError, TypeError`: it is no such entry: a figure is no share, or surer than so many
    guesses can be.
    """
    guesses = entry["attacks"]
    if type(guesses) is not int or guesses < 1 or not isinstance(entry["name"], str):
        raise ValueError("no guesses")
    rates = [entry["main"], entry["main"] if entry["risk"] is None else entry["risk"]]
    for rate in rates:
        ends = [rate[name] for name in ("low", "value", "high")]
        if not all(type(end) in (int, float) for end in ends) or not 0 <= ends[0] <= ends[1] <= ends[2] <= 1:
            raise ValueError("no shares")
    # Wilson's interval of no success ends there.
    if rates[0]["high"] < _Z**2 / (guesses + _Z**2) - 1e-9:
        raise ValueError("too sure")
    return rates[1]["value"], rates[1]["low"], rates[1]["high"], guesses


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
"""Every check that a clause may name; `incrowd_gate.profiles.CHECKS` has their settings."""

_CONTEXT = Clause(
    "context",
    "The probability of an attempt, times that of its success, is at most the threshold.",
    "ISO/IEC 27559:2022, clauses 6 to 8",
    "context",
)


def judge_clauses(con: Checks, policy: Policy, rows: ReleasedRows) -> Iterator[ClauseResult]:
    """Judge each clause of the policy's profile, and the context of the policy, if any."""
    clauses = [] if policy.profile is None else list(policy.profile.profile.clauses)
    if policy.context is not None:
        clauses = [each for each in clauses if each.id != _CONTEXT.id or each.check is None] + [_CONTEXT]
    for clause in clauses:
        blank = ClauseResult(clause.id, clause.text, clause.source, "not met", "")
        if clause.check is not None:
            yield _checked(con, Subject(con, policy, rows, clause), clause, blank)
            continue
        said = None if policy.profile is None else policy.profile.attested.get(clause.id)
        if said is None:
            con.never(f"{clause.id}: somebody had attested it")
            yield replace(blank, detail=f"nobody attests it: {clause.question}", unanswered=True)
            continue
        con.note(f"Attested, not checked: {clause.id}, by {visible(said.by)} on {said.on}.")
        yield replace(blank, state="attested", detail=f"{said.by}, {said.on}: {said.says}")


def _checked(con: Checks, subject: Subject, clause: Clause, blank: ClauseResult) -> ClauseResult:
    try:
        counts = list(CHECKS[clause.check or ""](subject))
    except LackingError as lacking:
        con.never(f"{clause.id}: it could be checked")
        return replace(blank, detail=f"cannot be checked: {lacking}", unanswered=True)
    broken = dict[str, str | None]()
    for each in counts:
        con.check(f"{clause.id}: {each.words}", each.sql)
        if con.is_script or (each.doubtful and each.column in subject.unread):
            continue
        rows = int(con.row(f"SELECT ({each.sql})")[0])
        if rows and each.doubtful and each.column is not None:
            subject.unread.append(each.column)
        elif rows:
            broken[f"{each.words}: {rows:,}"] = each.column
    cleared = f"not of this kind by the policy: {', '.join(subject.cleared)}" if subject.cleared else ""
    # What nobody recognizes may be anything: somebody has to look.
    unread = f"not checked: {', '.join(subject.unread)}" if subject.unread else ""
    detail = "; ".join(filter(None, [*broken, unread, subject.said, cleared]))
    state = "not met" if broken or unread else "checked"
    columns = tuple(dict.fromkeys(filter(None, [*broken.values(), *subject.unread])))
    lacks_answer = bool(unread) and not broken
    return replace(
        blank, state=state, detail=detail, unanswered=lacks_answer, columns=columns, least=subject.least
    )
