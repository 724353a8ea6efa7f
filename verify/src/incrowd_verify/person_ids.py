"""Columns that look like ids of people who have several rows, where the policy names no person.

Names and values are judged by rules of this file, which are fewer than those of a draft.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from incrowd_verify.checks import Checks
from incrowd_verify.gate import wording
from incrowd_verify.gate.points import Point
from incrowd_verify.inputs import Tables
from incrowd_verify.persons import raw_wanted
from incrowd_verify.policy import SUPPRESSED, Policy
from incrowd_verify.source import Table
from incrowd_verify.values import cell

_ROWS = 50_000
"""First rows by which a column is judged."""
_OWN, _REPEATED, _FEW = 0.9, 0.02, 20
"""Distinct values per row of an id of one row each, and the least of one that repeats; fewest ids."""
_HALF = 0.5
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


class _Values(NamedTuple):
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

    Parameters
    ----------
    raw
        The raw records in their own order; without them the released columns are looked at.
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
            shown = _text(part, name, policy)
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
    ids = _values(con, con.narrow(table, name), name, policy)
    words = _words(name)
    last = words[-1] if words else ""
    of_thing = _THINGS.fullmatch(next((word for word in reversed(words) if not _IDS.fullmatch(word)), ""))
    if of_thing or not (ids.codes or ids.whole):
        return False
    ends = bool(_IDS.fullmatch(last))
    person = _says(_PEOPLE, words if ends else [last])
    if ids.whole and last.endswith("s") and _PEOPLE.fullmatch(last) and _PEOPLE.fullmatch(last[:-1]):
        return False  # of several people: a count
    if ids.share > _OWN:
        return ids.codes or (ends and ids.whole)
    if (person or ends) and (person or last in _STRONG or ids.codes):
        return ids.distinct >= (_FEW if person else max(_FEW, _REPEATED * ids.known))
    if not (ids.distinct >= _FEW and _REPEATED <= ids.share <= _HALF):
        return False
    return any(_never_changes(con, table, name, mark, policy) for mark in marks if mark in table.names)


def _values(con: Checks, table: Table, name: str, policy: Policy) -> _Values:
    shown = "v IS NOT NULL AND regexp_full_match(v, '{}')"
    codes = "[A-Za-z_.#/-]*[0-9][A-Za-z0-9_.#/-]*"
    # Neither a day nor a decimal is a code, although it has the characters of one.
    days = "[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}([T ].*)?"
    is_code = f"{shown.format(codes)} AND NOT regexp_full_match(v, '{days}')"
    known, distinct, whole, decimals, coded, lengths = con.row(
        f"SELECT count(v), count(DISTINCT v), count(*) FILTER ({shown.format('[+-]?[0-9]+([.]0)?')}), "
        f"count(*) FILTER ({shown.format('[+-]?[0-9]+[.][0-9]+')}), "
        f"count(*) FILTER ({is_code}), count(DISTINCT length(v)) "
        f"FROM (SELECT {_text(table, name, policy)} AS v FROM {table.name} LIMIT {_ROWS})"
    )
    is_whole = bool(known) and whole == known
    are_codes = whole + decimals < known and coded > _CODES * known and lengths <= 2
    return _Values(int(known), int(distinct), is_whole, are_codes)


def _never_changes(con: Checks, table: Table, name: str, mark: str, policy: Policy) -> bool:
    """Say whether all rows of each id have one value of a column that never changes of a person."""
    person, value = _text(table, name, policy), _text(table, mark, policy)
    rows = f"SELECT {person} AS p, {value} AS v FROM {table.name} LIMIT {_ROWS}"
    several, alike, differ = con.row(
        "SELECT count(*) FILTER (n > 1), bool_and(first = last) FILTER (n > 1), min(first) < max(last) FROM "
        f"(SELECT count(*) AS n, min(v) AS first, max(v) AS last FROM ({rows}) "
        "WHERE p IS NOT NULL AND v IS NOT NULL GROUP BY p)"
    )
    return bool(several >= _FEW and alike and differ)


def _text(table: Table, name: str, policy: Policy) -> str:
    return f"CAST({cell(table, name, policy.null_values)} AS VARCHAR)"


def _marks_of_people(names: list[str]) -> list[str]:
    """Return the columns that never change of a person: birth and sex, or else the origin."""
    birth, sex, origin = (
        [name for name in names if any(map(words.fullmatch, _words(name)))]
        for words in (_BIRTH, _SEX, _ORIGIN)
    )
    return birth + sex or origin


def _says(words: re.Pattern[str], parts: list[str]) -> bool:
    joined = [first + second for first, second in pairwise(parts)]
    return any(map(words.fullmatch, [*parts, *joined]))


def _words(name: str) -> list[str]:
    """Return the words of a name in small letters, without accents."""
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", plain)]
