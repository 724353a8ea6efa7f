"""Points of people: keys of people with several rows, so that a class has fewer people than rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from incrowd_gate import wording
from incrowd_gate.lazy import NDArray, np, pl
from incrowd_gate.points import Point
from incrowd_gate.rules.columns import Column, Release, Table, UnansweredError, Values, as_texts
from incrowd_gate.rules.identity import may_name, personal_word
from incrowd_gate.words.meanings import (
    find_word,
    is_of_several_people,
    marks_of_people,
    named_after,
    names_a_person,
    names_homes,
    special_category,
    subject_of,
    tokens,
)

_FEW = 20
"""Keys that are told from a category."""
_OWN, _SHARED, _REPEATED, _MOST = 0.9, 0.3, 0.02, 0.5
"""Distinct values per row: of a key of a row, of codes with few rows each, and limits of a repeated key."""
_OF_MANY = 0.1
"""Distinct values per row below which a key may be of somebody who has to do with many people."""
_STRONG = ("id", "ids", "ident", "identifier", "key", "rownames", "rowid")
"""Words that name an id whatever the values are."""
_WIDTH = 3
"""Digits from which whole numbers are ids by a weak word, such as ``emp_no``."""

_WHOLE = r"^[+-]?(0|[1-9][0-9]*)(\.0+)?$"
_CODE = r"^[A-Za-z0-9_./:#-]{2,40}$"
_NO_CODE = (
    r"^([+-]?[0-9]*[.,][0-9]+"  # a decimal
    r"|[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}([T ].*)?"  # a day
    r"|[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?"  # a clock time
    r"|[0-9]{2,3} ?/ ?[0-9]{2,3}"  # a blood pressure
    r"|[^0-9]*)$"
)
_REACHING = (
    r"^([^@\s]+@[^@\s]+\.[A-Za-z]{2,}"  # a mail address
    r"|[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{2,4}){3,8}"  # a bank account
    r"|\+[0-9]{1,3}[ ()/.0-9-]{6,16}[0-9])$"  # a telephone number
)
_NEARLY_ALL, _TWO_LENGTHS, _LONG = 0.97, 0.9, 6


def points_of_people(release: Release) -> Iterator[Point]:
    """Look for keys of people, and count the people of each class by key.

    The raw table is looked at, its columns that do not leave included; without it the columns that leave.
    Of several keys with one value each per other, as an id and a mail address, there is one point. Rows are
    people where a key that its name calls one of people has each value once.
    """
    table = release if release.raw is None else release.raw
    candidates = {
        column.name: column
        for column in table.columns
        if (
            column.role in ("identifying", "insensitive", "sensitive", None)
            or (column.role == "quasi" and release.raw is not None and _says_key(column.name))
        )
        and not (release.raw is None and column.treatment)
        and not column.is_person
    }
    if not candidates:
        return
    quasi = [column.name for column in release.columns if column.role == "quasi"]
    marks = [] if release.raw is None else marks_of_people(quasi)
    try:
        rows = table.sample([*candidates])
    except UnansweredError as reason:
        yield wording.unanswered("repeated-id", None, str(reason))
        return
    keys: dict[str, _Ids] = {}
    for name in rows.columns:
        column = candidates[name]
        if not _may_be_ids(column, rows[name]):
            continue
        try:
            if rows[name].n_unique() == rows.height and table.lone_rows([name]) == table.records:
                if names_a_person(name):
                    return  # rows are people
                continue  # of very many values, none comes again
            ids = _Ids.of_column(column, table.values(name))
            if _names_people(column, ids, table, marks):
                keys[name] = ids
        except UnansweredError as reason:
            yield wording.unanswered("repeated-id", name, str(reason))
    for name in _finest(keys, table):
        people = release.people(name)
        if people is None or people.small:
            home = candidates[name].role == "quasi" and names_homes(name)
            yield wording.repeated_id(name, keys[name].repeated, people, "household" if home else "person")


def _finest(keys: dict[str, _Ids], table: Table) -> list[str]:
    """Return the keys that no other key tells: of a mail address and a family that follows, the address.

    What follows from the declared person is no other person either.
    """
    declared = [column.name for column in table.columns if column.is_person]
    finest: list[str] = []
    for name in sorted(keys, key=lambda each: -len(keys[each].values)):
        others = [*([declared] if declared else []), *([other] for other in finest)]
        if not any(_follows(name, other, table) for other in others):
            finest.append(name)
    return [name for name in keys if name in finest]


def _follows(name: str, others: list[str], table: Table) -> bool:
    """Say whether each combination of some columns goes with a single value of a column, nulls aside."""
    try:
        rows, _ = table.combinations([*others, name])
    except UnansweredError:
        return False
    rows.columns = [f"v{place}" for place in range(rows.width)]
    known = rows.drop_nulls()
    return known.height > 0 and known.drop(f"v{len(others)}").n_unique() == known.height


@dataclass(frozen=True)
class _Ids:
    """The known values of a column as ids, and how many rows have each: int64[values]."""

    values: pl.Series
    counts: NDArray[np.int64]

    @classmethod
    def of_column(cls, column: Column, values: Values) -> _Ids:
        """Leave the missing values out."""
        known = ~column.missing(values.values)
        return cls(values.values.filter(known), values.counts[known.to_numpy()])

    @property
    def repeated(self) -> int:
        """Ids that several rows have."""
        return int((self.counts > 1).sum())

    @property
    def share(self) -> float:
        """Distinct ids per row with an id."""
        return len(self.values) / max(int(self.counts.sum()), 1)

    @cached_property
    def texts(self) -> pl.Series | None:
        """The ids as texts; None for ids that are neither texts nor whole numbers."""
        return as_texts(self.values)

    @cached_property
    def whole(self) -> bool:
        """Whether all are whole numbers."""
        if self.values.dtype.is_numeric() or self.texts is None:
            return self.texts is not None
        return bool(self.texts.str.contains(_WHOLE).all())

    @cached_property
    def codes(self) -> bool:
        """Whether the ids have the form of codes: digits, no blanks, two lengths at most or long codes."""
        return not self.whole and self.texts is not None and _are_codes(self.texts)

    @cached_property
    def reaching(self) -> bool:
        """Whether nearly all are mail addresses, bank accounts or telephone numbers."""
        if self.texts is None or self.values.dtype.is_numeric():
            return False
        return float(self.texts.str.contains(_REACHING).sum()) > _OWN * len(self.texts)

    def are_called(self, name: str) -> bool:
        """Say whether the ids are full names or numbers of people by the name of the column.

        Many share a surname, so a name that tells a person has two words.
        """
        word = personal_word(name)
        if word is None or self.texts is None or not may_name(self.texts):
            return False
        has_letters = self.texts.str.contains(r"^[\pL\pM '’.,-]+$")
        if float(has_letters.sum()) <= _OWN * len(self.texts):
            return True
        return float(self.texts.str.contains(r"\S\s+\S").sum()) > _OWN * len(self.texts)

    @cached_property
    def is_wide(self) -> bool:
        """Whether the ids are whole numbers, nearly all with as many digits, three or more."""
        if not self.whole or self.texts is None:
            return False
        lengths = self.texts.str.replace(r"\.0+$", "").str.len_chars().value_counts(sort=True)
        length, number = lengths.row(0)
        return int(length) >= _WIDTH and int(number) > _NEARLY_ALL * len(self.texts)


def _are_codes(texts: pl.Series) -> bool:
    lengths = texts.str.len_chars()
    usual = lengths.value_counts(sort=True)["count"].head(2).sum()
    regular = usual > _TWO_LENGTHS * len(texts) or float(lengths.sum()) > _LONG * len(texts)
    if not regular:
        return False
    fits = texts.str.contains(_CODE) & ~texts.str.contains(_NO_CODE)
    return float(fits.sum()) > _NEARLY_ALL * len(texts)


def _may_be_ids(column: Column, rows: pl.Series) -> bool:
    """Say whether a column may have keys by a few rows, which rule most columns out."""
    distinct = rows.alias("").drop_nulls().unique()
    if len(distinct) < _FEW / 2 or distinct.dtype.is_integer():
        return len(distinct) >= _FEW / 2
    texts = as_texts(distinct)
    if texts is None:
        return False
    if column.role == "identifying" and personal_word(column.name):
        return True
    fits = texts.str.contains(_WHOLE) | (texts.str.contains(_CODE) & ~texts.str.contains(_NO_CODE))
    return float((fits | texts.str.contains(_REACHING)).sum()) > _OWN * len(texts)


def _says_key(name: str) -> bool:
    """Say whether a name calls a column the key of people or of households."""
    words = tokens(name)
    is_id = find_word("ids", words[-1] if words else "") is not None
    return names_homes(name) or (is_id and names_a_person(name))


def _names_people(column: Column, ids: _Ids, table: Table, marks: list[str]) -> bool:
    """Say whether a column looks like the key of people with several rows.

    The name, the form, or facts that never change of a person tell it. The form is looked at last, as it
    takes longest.
    """
    name, words = column.name, tokens(column.name)
    if not ids.repeated or len(ids.values) < _FEW or named_after(name):
        return False
    if column.role == "quasi":
        return ids.share >= _REPEATED and (ids.codes or ids.whole)
    if ids.share <= _OWN and (ids.reaching or (column.role == "identifying" and ids.are_called(name))):
        return True
    ends, person = bool(words) and find_word("ids", words[-1]) is not None, names_a_person(name)
    if not person and (subject_of(name) or special_category(name) or find_word("sensitive", name)):
        return False  # a birth year, a code of a diagnosis
    if is_of_several_people(name) and ids.whole:
        return False  # a count
    if ids.share > _OWN:
        return ids.codes or (ends and ids.whole)
    if person:
        return ids.codes or ids.whole
    if ids.share < _REPEATED:
        return False
    if ids.share < _OF_MANY and any(_differs(column, table, mark) for mark in marks):
        return False  # a doctor with many patients
    if ends and (ids.codes or (ids.whole and (words[-1] in _STRONG or ids.is_wide))):
        return True
    # What its owner calls identifying names people, if it has the form of codes.
    if ids.codes and (ids.share > _SHARED or column.role == "identifying"):
        return True
    may_be = ids.share <= _MOST and bool(marks) and (ids.whole or ids.codes)
    return may_be and any(_never_changes(column, table, mark) for mark in marks)


def _never_changes(column: Column, table: Table, mark: str) -> bool:
    """Say whether each id has a single value of a fact that never changes of a person, as a birth year.

    Several ids share a value: else the column is another way to write the fact.
    """
    pairs, of_id = _facts(column, table, mark)
    return bool(
        of_id.height >= _FEW
        and (of_id["fact"] == 1).all()
        and 1 < pairs["fact"].n_unique() < pairs["id"].n_unique()
    )


def _differs(column: Column, table: Table, mark: str) -> bool:
    """Say whether most ids have several values of such a fact, as ids of doctors have of patients."""
    _, of_id = _facts(column, table, mark)
    return of_id.height >= _FEW and float((of_id["fact"] == 1).sum()) < _MOST * of_id.height


def _facts(column: Column, table: Table, mark: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the known pairs of an id and a fact, and how many facts each id of several rows has."""
    of_mark = next(each for each in table.columns if each.name == mark)
    rows, counts = table.combinations([column.name, mark])
    ids, facts = (rows[:, place].alias(name) for place, name in enumerate(("id", "fact")))
    known = ~(column.missing(ids) | of_mark.missing(facts))
    pairs = pl.DataFrame([ids, facts.cast(pl.String, strict=False), pl.Series("n", counts)]).filter(known)
    of_id = pairs.group_by("id").agg(pl.col("fact").n_unique(), pl.col("n").sum()).filter(pl.col("n") > 1)
    return pairs, of_id
