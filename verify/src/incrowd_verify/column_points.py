"""Released columns by themselves, in SQL: their texts, outlying values, what tells generalized ones, and ids.

Ids of people who have several rows are told by rules of this file, which are fewer than those of a draft.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from incrowd_verify.checks import NARROW, Checks
from incrowd_verify.classes import count_rows
from incrowd_verify.gate import wording
from incrowd_verify.gate.columns import are_numbers, texts_of, ungeneralized
from incrowd_verify.gate.points import Point
from incrowd_verify.lazy import NDArray, np, pl
from incrowd_verify.persons import raw_wanted
from incrowd_verify.policy import SUPPRESSED, Column, Nulls, Policy
from incrowd_verify.source import Table, literal
from incrowd_verify.spellings import Spelling
from incrowd_verify.tables import Tables
from incrowd_verify.values import as_text, cell, written

_ROWS, _FIRST = 20_000, 1_000
"""Raw rows, spread evenly, that are compared, and those of them that rule out most pairs of columns."""
_PARTS = ("%Y", "%m", "%d", "%Y-%m", "%m-%d", "%u", "%A", "%B", "%V", "%j")
"""Parts of a day that a column of its own may have."""


def plain_columns(policy: Policy, released: Sequence[str]) -> list[str]:
    """Return the released columns that no model looks at and that nothing was done to."""
    columns = {column.name: column for column in policy.columns}
    as_it_is = {name: its.role == "insensitive" and not its.treatment for name, its in columns.items()}
    return [name for name in released if as_it_is.get(name, policy.unlisted == "keep")]


class _Values(NamedTuple):
    """A raw column: its text in SQL, its number of values without and with the missing one, and if days."""

    text: str
    known: int
    different: int
    of_days: bool


def derived_columns(con: Checks, policy: Policy, released: Table, raw: Table) -> Iterator[Point]:
    """Return a point for each column that is released as it is and tells a generalized one."""
    quasi = [column.name for column in policy.named("quasi")]
    plain = [name for name in plain_columns(policy, released.names) if raw.has(name)]
    for start in range(0, len(plain), NARROW):
        yield from _derived(con, raw, quasi, plain[start : start + NARROW])


def _derived(con: Checks, raw: Table, quasi: Sequence[str], plain: Sequence[str]) -> Iterator[Point]:
    names = [*quasi, *plain]
    texts = ", ".join(f"{written(con, raw, name)} AS v{n}" for n, name in enumerate(names))
    # Multiples of the golden ratio choose rows that are spread evenly, and in no rhythm that rows may have.
    share = min(_ROWS / max(count_rows(con, raw), 1), 1.0)
    chosen = f"t.rowid * 2654435761 % 4294967296 < {int(share * 2**32)}"
    con.execute(f"CREATE OR REPLACE TABLE some_rows AS SELECT {texts} FROM {raw.name} AS t WHERE {chosen}")
    values = {name: _values(con, f"v{n}") for n, name in enumerate(names)}
    keys = [values[name] for name in quasi]
    others = {name: its for name, its in values.items() if its not in keys}
    follows = {one.text: _told_by(con, one, list(others.values())) for one in keys}
    for other, its in others.items():
        tells = _told_by(con, its, keys)
        for name, one in zip(quasi, keys, strict=True):
            from_quasi = its.text in follows[one.text] or _is_part(con, its, one)
            if from_quasi or one.text in tells or _is_part(con, one, its):
                yield wording.derived(other, name, follows=from_quasi)
                break


def _values(con: Checks, text: str) -> _Values:
    day = f"try_strptime(substr({text}, 1, 10), '%Y-%m-%d')"
    counted = f"count(DISTINCT {text}), count({text}) < count(*), count({text}) = count({day})"
    known, lacking, of_days = con.row(f"SELECT {counted} FROM some_rows")
    return _Values(text, known, known + lacking, of_days)


def _told_by(con: Checks, one: _Values, others: Sequence[_Values]) -> set[str]:
    """Return the columns of which each value of one has one value; a nearly unique one tells nothing."""
    (rows,) = con.row("SELECT count(*) FROM some_rows")
    able = [other for other in others if 1 < other.different <= one.different]
    if not able or 2 * one.different > rows:
        return set()
    filled = [f"coalesce('v' || {other.text}, 'm')" for other in able]
    alike = ", ".join(f"min({text}) = max({text}) AS a{n}" for n, text in enumerate(filled))
    all_alike = ", ".join(f"bool_and(a{n})" for n in range(len(able)))
    holds = con.row(f"SELECT {all_alike} FROM (SELECT {alike} FROM some_rows GROUP BY {one.text})")
    return {other.text for other, true in zip(able, holds, strict=True) if true}


def _is_part(con: Checks, part: _Values, whole: _Values) -> bool:
    """Say whether a column is the beginning or the end of another one in every row, or a part of its day."""
    if not 1 < part.known < whole.known:
        return False
    ways = [f"{side}({whole.text}, {part.text})" for side in ("starts_with", "ends_with")]
    if whole.of_days:
        day = f"strptime(substr({whole.text}, 1, 10), '%Y-%m-%d')"
        ways += [f"ltrim({part.text}, '0') = ltrim(strftime({day}, '{form}'), '0')" for form in _PARTS]
    # Rows where one is missing say nothing; the first rows rule out most.
    for few in (_FIRST, _ROWS):
        asked = ", ".join(f"bool_and({way})" for way in ways)
        holds = con.row(f"SELECT {asked} FROM some_rows WHERE rowid < {few}")
        ways = [way for way, true in zip(ways, holds, strict=True) if true is not False]
        if not ways:
            return False
    return True in holds


_LEAST_RECORDS = 20
_LEAST_VALUES, _LEAST_ROUNDED = 15, 3
_NUMBER = r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?|[+-]?([nN][aA][nN]|[iI][nN][fF])"
_MOMENT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?"
_DAYS = "CAST(date_diff('day', DATE '1970-01-01', CAST({} AS DATE)) AS DOUBLE)"


def outlying_value(
    con: Checks, released: Table, name: str, column: Column | None, null_values: Nulls
) -> Point | None:
    """Return the point of a released column, or None where no value is so far from the others.

    `column`: what the policy says of it; None where it does not name it.
    """
    shown = cell(con.narrow(released, name), name, null_values)
    spelling = None if column is None or released.kind_of(name) != "text" else column.spelling
    rows, given = _counted(con, con.narrow(released, name), shown, spelling)
    value, dates = _value(con, released, name, rows, given)
    if value is None:
        return None
    # Equal numbers are one, however they are written.
    known, values, *ends = con.row(
        f"WITH number AS (SELECT x + 0 AS x, sum(n) AS n FROM (SELECT {value} AS x, n FROM {rows}) "
        "WHERE isfinite(x) GROUP BY x + 0), "
        "edge AS (SELECT min(x) AS low, max(x) AS high FROM number) "
        "SELECT coalesce(sum(n), 0), count(*), min(x), max(x), min(x) FILTER (x > low), "
        "max(x) FILTER (x < high), sum(n) FILTER (x = low), sum(n) FILTER (x = high) FROM number, edge",
        given,
    )
    treatment = None if column is None else column.treatment
    rounded = treatment is not None and treatment.name == "round"
    if known <= _LEAST_RECORDS or values <= (_LEAST_ROUNDED if rounded else _LEAST_VALUES):
        return None
    low, high, above, below, lowest, highest = ends
    for largest, alone, gap, others in (
        (True, highest == 1, high - below, below - low),
        (False, lowest == 1, above - low, high - above),
    ):
        if alone and gap > others:
            share = 1 / count_rows(con, released)
            return wording.outlying_value(
                name, share, int(known), largest=largest, dates=dates, rounded=rounded
            )
    return None


def _counted(
    con: Checks, table: Table, shown: str, spelling: Spelling | None
) -> tuple[str, list[Any] | None]:
    """Write SQL of the known cells v and their records n, with its parameters.

    Cells in a spelling of their own are written plainly, if all are.
    """
    rows = f"(SELECT {shown} AS v, count(*) AS n FROM {table.name} GROUP BY ALL HAVING v IS NOT NULL)"
    texts = [] if spelling is None else con.execute(f"SELECT v, n FROM {rows}").fetchall()
    if spelling is None or None in (plain := [spelling.plain(text) for text, _ in texts]):
        return rows, None
    return "(SELECT unnest(?::VARCHAR[]) AS v, unnest(?::BIGINT[]) AS n)", [plain, [n for _, n in texts]]


def _value(
    con: Checks, table: Table, name: str, rows: str, given: list[Any] | None
) -> tuple[str | None, bool]:
    """Write SQL of the number of a cell v, or of its day, or None where a column has neither."""
    declared, kind = table.type_of(name), table.kind_of(name)
    if kind in ("number", "float"):
        return "CAST(v AS DOUBLE)", False
    if kind == "date":
        return _DAYS.format("timezone('UTC', v)" if declared == "TIMESTAMP WITH TIME ZONE" else "v"), True
    if declared not in ("VARCHAR", "NULL") and not declared.startswith("ENUM"):
        return None, False
    numbers, moments = con.row(
        f"SELECT bool_and(regexp_full_match(v, {literal(_NUMBER)})), "
        f"bool_and(regexp_full_match(v, {literal(_MOMENT)})) FROM {rows}",
        given,
    )
    if numbers:
        return "TRY_CAST(v AS DOUBLE)", False
    return (_DAYS.format("TRY_CAST(left(v, 10) AS DATE)"), True) if moments else (None, False)


@dataclass(frozen=True)
class TextColumn:
    """The distinct texts of one column.

    `counts`: int64[texts]: how many records have each.
    """

    texts: pl.Series
    counts: NDArray[np.int64]
    records: int

    @cached_property
    def signs(self) -> Mapping[str, int]:
        """How many records have texts with each sign of people, by the sign's name; none with 0."""
        from incrowd_verify.texts import signs_in

        return {sign: int(self.counts[mask.to_numpy()].sum()) for sign, mask in signs_in(self.texts).items()}

    @cached_property
    def is_free(self) -> bool:
        """Whether the texts are sentences that people wrote."""
        from incrowd_verify.texts import is_free_text

        return is_free_text(self.texts, self.records)


def counts_of(con: Checks, released: Table, *names: str) -> tuple[int, int]:
    """Return how many combinations of values only one record has, and how many there are."""
    cells = ", ".join(as_text(released, name) for name in names)
    # A reader tells not-a-number from a missing value, though both count as missing for models.
    floats = [f"c{released.place(name)}" for name in names if released.kind_of(name) == "float"]
    cells += "".join(f", coalesce(isnan({each}), false)" for each in floats)
    groups = f"SELECT count(*) AS n FROM {released.name} GROUP BY {cells}"
    single, different = con.row(f"SELECT count(*) FILTER (n = 1), count(*) FROM ({groups})")
    return int(single), int(different)


@dataclass(frozen=True)
class Texts:
    """The texts of the columns of a release; each column is fetched once.

    `quasi`: the quasi-identifiers, of which generalized cells are left out.
    """

    con: Checks
    released: Table
    quasi: frozenset[str] = frozenset()
    _columns: dict[str, TextColumn | None] = field(default_factory=dict, repr=False)
    _counts: dict[str, tuple[int, int]] = field(default_factory=dict, repr=False)

    def of(self, name: str) -> TextColumn | None:
        """Return the texts of a column, or None where its values are no texts."""
        if name not in self._columns:
            self._columns[name] = self._fetched(name)
        return self._columns[name]

    def counts(self, name: str) -> tuple[int, int]:
        """Return how many values of a column only one record has, and how many different ones there are."""
        if name not in self._counts:
            self.of(name)
        if name not in self._counts:
            self._counts[name] = counts_of(self.con, self.con.narrow(self.released, name), name)
        return self._counts[name]

    def are_numbers(self, name: str) -> bool:
        """Say whether all known values of a column are numbers, or texts of plain numbers."""
        if self.released.kind_of(name) in ("number", "float"):
            return True
        declared = self.released.type_of(name)
        return declared == "VARCHAR" and are_numbers(self._values(name)[0])

    def _fetched(self, name: str) -> TextColumn | None:
        declared = self.released.type_of(name)
        if self.released.kind_of(name) in ("float", "date") or declared in ("BOOLEAN", "TIME"):
            return None
        if declared.startswith(("DECIMAL", "INTERVAL")):
            return None
        values, counts = self._values(name)
        texts = texts_of(values, counts)
        if texts is None:
            return None
        return TextColumn(*(ungeneralized(*texts) if name in self.quasi else texts), int(counts.sum()))

    def _values(self, name: str) -> tuple[pl.Series, NDArray[Any]]:
        table = self.con.narrow(self.released, name)
        shown = as_text(table, name)
        rows = self.con.execute(
            f"SELECT {shown} AS v, count(*) FROM {table.name} GROUP BY v ORDER BY v"
        ).fetchall()
        self._counts[name] = sum(records == 1 for _, records in rows), len(rows)
        values = pl.Series([value for value, _ in rows], dtype=pl.String)
        return values, np.array([records for _, records in rows], np.int64)


_FIRST_ROWS = 50_000
"""First rows by which a column is judged."""
_OWN, _REPEATED, _FEW = 0.9, 0.02, 20
"""Distinct values per row of an id of one row each, and the least of one that repeats; fewest ids."""
_MOST_SHARE = 0.5
_CODES = 0.97
_PEOPLE = re.compile(
    "(patient|participant|proband|customer|client|kunde|employee|mitarbeiter|student|schueler|respondent"
    "|individual|paciente|paziente|persona|versichert|borrower|applicant|voter|resident|inmate).*"
    "|subject|subjects|subjid|usubjid|pid|person|member|mitglied|user|users"
)
_IDS = re.compile(
    "id|ids|ident|identifier|key|rownames|row|rowid|index|nr|no|num|nbr|number|nummer|numero|code|lfdnr"
)
_STRONG = ("id", "ids", "ident", "identifier", "key", "rownames", "rowid")
_THINGS = re.compile(
    "(job|order|product|produkt|artikel|hospital|clinic|klinik|abteilung|department|visit|school|schule)s?"
    "|ad|ads|posting|vacancy|item|items|article|store|shop|branch|site|station|region|city|town|county|state"
    "|country|class|course|kurs|ward|place|location|encounter|admission|stay|event|session|transaction"
    "|invoice|flight|trip|ticket|team|movie|film|episode|device|building"
)
_BIRTH = re.compile("birth|born|dob|birthyear|yob|geburt|geburtsdatum|geburtsjahr|naissance|nacimiento")
_SEX = re.compile("sex|gender|geschlecht|sexe|sexo|sesso|male|female")
_ORIGIN = re.compile("race|ethnicity|ethnic|origin|nationality|herkunft")


class _IdValues(NamedTuple):
    """The values of a column in its first rows, missing ones aside."""

    known: int
    distinct: int
    whole: bool
    codes: bool

    @property
    def share(self) -> float:
        """Distinct values per known one."""
        return self.distinct / max(self.known, 1)


def repeated_ids(con: Checks, policy: Policy, tables: Tables, raw: Table | None) -> Iterator[Point]:
    """Return a point for each column that looks like the id of people who have several rows.

    `raw`: the raw records in their own order; without them the released columns are looked at.
    """
    if policy.person:
        return
    table = tables.released if raw is None else raw
    columns = {column.name: column for column in policy.columns}
    marks = _marks_of_people([column.name for column in policy.named("quasi")])
    for name in table.names:
        column = columns.get(name)
        if column is None and policy.unlisted != "keep":
            continue
        if column is not None and column.role not in ("identifying", "insensitive", "sensitive"):
            continue
        if raw is None and column is not None and column.treatment is not None:
            continue
        if _names_people(con, table, name, marks if raw is not None else [], policy):
            part = con.narrow(table, name)
            shown = as_text(part, name, policy.null_values)
            (ids,) = con.row(
                f"SELECT count(*) FROM (SELECT 1 FROM {part.name} WHERE {shown} IS NOT NULL "
                f"GROUP BY {shown} HAVING count(*) > 1)"
            )
            if ids:
                yield wording.repeated_id(name, int(ids), _people_of_classes(con, policy, tables, raw, name))


def _people_of_classes(
    con: Checks, policy: Policy, tables: Tables, raw: Table | None, name: str
) -> tuple[int, int, int, int] | None:
    """Count the people of each class, if a column names people, or None where nothing tells their rows."""
    table = tables.released if raw is None else tables.raw
    if table is None or (raw is not None and not tables.same_order(policy)):
        con.remarks.unchecked.append(
            f"how many people the classes have by {name}: "
            + raw_wanted("it is not known which raw record each record is")
        )
        return None
    released = tables.released
    quasi = [cell(released, column.name, policy.null_values, "r") for column in policy.named("quasi")]
    kept = " OR ".join(f"CAST({each} AS VARCHAR) IS DISTINCT FROM '{SUPPRESSED}'" for each in quasi)
    person = f"coalesce('v' || CAST({cell(table, name, alias='w')} AS VARCHAR), 'm')"
    sizes = (
        f"SELECT count(*) AS records, count(DISTINCT {person}) AS people FROM {released.name} AS r "
        f"JOIN {table.name} AS w ON r.rowid = w.rowid WHERE {kept} GROUP BY {', '.join(quasi)}"
    )
    asked = [int(each.limit) for each in policy.demands if each.model == "k-anonymity"]
    least, classes, smallest = con.row(f"SELECT min(people), count(*), min(records) FROM ({sizes})")
    if not classes:
        return None
    k = max(asked, default=int(smallest))
    (small,) = con.row(f"SELECT count(*) FROM ({sizes}) WHERE people < {k}")
    return k, int(small), int(classes), int(least)


def _names_people(con: Checks, table: Table, name: str, marks: list[str], policy: Policy) -> bool:
    """Say whether a column looks like an id: by its name, or by rows that agree on fixed columns."""
    ids = _id_values(con, con.narrow(table, name), name, policy)
    words = _words(name)
    last = words[-1] if words else ""
    of_thing = _THINGS.fullmatch(next((word for word in reversed(words) if not _IDS.fullmatch(word)), ""))
    if of_thing or not (ids.codes or ids.whole):
        return False
    ends = bool(_IDS.fullmatch(last))
    parts = words if ends else [last]
    joined = [first + second for first, second in pairwise(parts)]
    person = any(map(_PEOPLE.fullmatch, [*parts, *joined]))
    if ids.whole and last.endswith("s") and _PEOPLE.fullmatch(last) and _PEOPLE.fullmatch(last[:-1]):
        return False  # of several people: a count
    if ids.share > _OWN:
        return ids.codes or (ends and ids.whole)
    if (person or ends) and (person or last in _STRONG or ids.codes):
        return ids.distinct >= (_FEW if person else max(_FEW, _REPEATED * ids.known))
    if not (ids.distinct >= _FEW and _REPEATED <= ids.share <= _MOST_SHARE):
        return False
    return any(_never_changes(con, table, name, mark, policy) for mark in marks if mark in table.names)


def _id_values(con: Checks, table: Table, name: str, policy: Policy) -> _IdValues:
    shown = "v IS NOT NULL AND regexp_full_match(v, '{}')"
    codes = "[A-Za-z_.#/-]*[0-9][A-Za-z0-9_.#/-]*"
    # Neither a day nor a decimal is a code, although it has the characters of one.
    days = "[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}([T ].*)?"
    is_code = f"{shown.format(codes)} AND NOT regexp_full_match(v, '{days}')"
    known, distinct, whole, decimals, coded, lengths = con.row(
        f"SELECT count(v), count(DISTINCT v), count(*) FILTER ({shown.format('[+-]?[0-9]+([.]0)?')}), "
        f"count(*) FILTER ({shown.format('[+-]?[0-9]+[.][0-9]+')}), "
        f"count(*) FILTER ({is_code}), count(DISTINCT length(v)) "
        f"FROM (SELECT {as_text(table, name, policy.null_values)} AS v FROM {table.name} LIMIT {_FIRST_ROWS})"
    )
    is_whole = bool(known) and whole == known
    are_codes = whole + decimals < known and coded > _CODES * known and lengths <= 2
    return _IdValues(int(known), int(distinct), is_whole, are_codes)


def _never_changes(con: Checks, table: Table, name: str, mark: str, policy: Policy) -> bool:
    """Say whether all rows of each id have one value of a column that never changes of a person."""
    person, value = as_text(table, name, policy.null_values), as_text(table, mark, policy.null_values)
    rows = f"SELECT {person} AS p, {value} AS v FROM {table.name} LIMIT {_FIRST_ROWS}"
    several, alike, differ = con.row(
        "SELECT count(*) FILTER (n > 1), bool_and(first = last) FILTER (n > 1), min(first) < max(last) FROM "
        f"(SELECT count(*) AS n, min(v) AS first, max(v) AS last FROM ({rows}) "
        "WHERE p IS NOT NULL AND v IS NOT NULL GROUP BY p)"
    )
    return bool(several >= _FEW and alike and differ)


def _marks_of_people(names: list[str]) -> list[str]:
    """Return the columns that never change of a person: birth and sex, or else the origin."""
    birth, sex, origin = (
        [name for name in names if any(map(words.fullmatch, _words(name)))]
        for words in (_BIRTH, _SEX, _ORIGIN)
    )
    return birth + sex or origin


def _words(name: str) -> list[str]:
    """Return the words of a name in small letters, without accents."""
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", plain)]
