"""Columns that identify a row's person, who may have several rows, or a row's household.

The column by which most others are constant is the one of people: birth and sex of a patient stay as they
are, and those of the patients of a doctor differ. A home has people of different ages, and one address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from incrowd.core.errors import named
from incrowd.core.io.columns import column_named
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.table.schema import OPEN_ROLE
from incrowd.release.drafting.profile import Profile, is_of_periods
from incrowd.release.drafting.roles import Guess, may_repeat
from incrowd_gate.rules.dependencies import codes_of
from incrowd_gate.words.meanings import marks_of_people, names_a_person, names_ids, subject_of

_ROWS = 100_000
_FIRST = 1_000
_IDS = 20
"""Ids with several rows that it takes to believe that they are of people."""
_LOOKED = 12
_CHANCE = 50.0
"""Pairs of rows that would be alike by chance, from which it tells something that none are."""
_CONSTANT, _DIFFERENT = 0.98, 0.5
"""Shares of ids with one value: from which a column is constant, and below which it differs."""
_FACTS = 40
"""Columns that are compared with each id."""
_HOME, _LARGEST_HOME = 12.0, 40
"""People of a usual household at most on average, and in the largest one."""
_ALIKE = 0.5
"""Distinct values per row up to which a column may be constant for a person."""


def with_people(
    table: pl.DataFrame, guesses: Sequence[Guess], profiles: Sequence[Profile], null_values: Sequence[str]
) -> tuple[Guess, ...]:
    """Give the columns of people and of homes the roles person and household, or ask among several.

    Examples
    --------
    >>> import polars as pl
    >>> from incrowd.release.drafting.profile import profile_of
    >>> from incrowd.release.drafting.roles import guess_role
    >>> table = pl.DataFrame({"visitor_id": [1000 + row // 2 for row in range(80)], "sex": [*"ffmm"] * 20})
    >>> profiles = [profile_of(table[name], name, ()) for name in table.columns]
    >>> with_people(table, [guess_role(each) for each in profiles], profiles, ())[0].role
    'person'
    """
    of_name = dict(zip((guess.name for guess in guesses), profiles, strict=True))
    marks = marks_of_people(guess.name for guess in guesses if guess.role == "quasi")
    facts = [guess.name for guess in guesses if _may_be_constant(guess, of_name[guess.name])][:_FACTS]
    likely = [guess for guess in guesses if may_repeat(guess, of_name[guess.name])]
    rows = table.head(_ROWS)
    ids = {
        guess.name: _Id(guess, of_name[guess.name], constants(rows, guess.name, facts, null_values))
        for guess in likely
    }
    periods = [name for name, column in of_name.items() if is_of_periods(table[name], column)]
    panels = ids_of_panels(table, [name for name, each in ids.items() if not each.by_word], periods)
    ids = {name: each.seen(marks, panels.get(name, [])) for name, each in ids.items()}
    home = _home_of(table, ids)
    people = {
        name: each
        for name, each in ids.items()
        if each.may_be_person and name != home and each.guess.role != "household"
    }
    rows_are_people = any(
        names_a_person(guess.name) and of_name[guess.name].share == 1 and guess.role == "identifying"
        for guess in guesses
    )
    chosen, why = _person_of(rows, people, rows_are_people=rows_are_people)
    return tuple(_with_role(guess, ids, chosen, why, home) for guess in guesses)


@dataclass(frozen=True)
class _Id:
    """A column that may identify the person or household of a row.

    - `one`: the share of its repeated values with one value of another column.
    - `fixed`: facts of people that are constant; `once`: periods that a value has once each.
    """

    guess: Guess
    column: Profile
    one: Mapping[str, float]
    fixed: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()

    def seen(self, marks: Sequence[str], once: Sequence[str]) -> _Id:
        """Return the column with the facts for and against a person."""
        fixed = tuple(mark for mark in marks if self.one.get(mark, 0.0) >= _CONSTANT)
        differs = tuple(mark for mark in marks if self.one.get(mark, 1.0) < _DIFFERENT)
        return replace(self, fixed=fixed, once=tuple(once), differs=differs)

    @property
    def by_word(self) -> bool:
        """Whether a mail address or a name, which is no id of several rows by itself."""
        return self.guess.role == "identifying" and not self.guess.repeated

    @property
    def constant(self) -> tuple[str, ...]:
        """The columns that are constant for each value."""
        return tuple(name for name, share in self.one.items() if share >= _CONSTANT)

    @property
    def may_be_person(self) -> bool:
        """Whether nothing speaks against a person, and something for a person."""
        if self.differs:
            return self.guess.named
        return bool(self.fixed or self.once) or self.guess.repeated

    @property
    def evidence(self) -> str:
        """The reason, in words, why the column is of people."""
        if self.fixed:
            return f"each value has one {named(self.fixed)}"
        if self.once:
            return f"no value has one {named(self.once)} twice"
        return self.guess.reason.partition(", and it repeats")[0]


def _may_be_constant(guess: Guess, column: Profile) -> bool:
    """Say whether a column may be a fact of a person: no id, and neither constant nor unique."""
    is_fact = guess.role in ("quasi", "sensitive", "insensitive", OPEN_ROLE) and not guess.repeated
    return is_fact and column.distinct > 1 and column.share <= _ALIKE


def _person_of(
    rows: pl.DataFrame, people: Mapping[str, _Id], *, rows_are_people: bool
) -> tuple[list[str], str]:
    """Return the column of people and the reason for the choice, or several that tie.

    Names, mail addresses and ids with one value each per other are one person. A stay has one sex, too, so
    of several ids the one that all others tell is the person's; else that with most constant columns.
    """
    known = [name for name, each in people.items() if each.fixed or each.once]
    named_ids = [name for name, each in people.items() if each.guess.named and not each.differs]
    if rows_are_people and not known:
        return [], ""
    chosen = known or named_ids or [name for name, each in people.items() if each.guess.repeated]
    # A fact that no two people share, such as the days of an observation, tells their sex as an id does.
    chosen = [name for name in chosen if names_ids(name)] or chosen
    if len(chosen) < 2:
        return chosen, ""
    tells = {(one, other): _tells(rows, one, other) for one in chosen for other in chosen if one != other}
    alone: list[str] = []
    for name in chosen:
        same = [other for other in alone if tells[name, other] and tells[other, name]]
        if not same:
            alone.append(name)
    coarsest = [one for one in alone if all(tells[other, one] for other in alone if other != one)]
    if known and len(coarsest) == 1 and len(alone) > 1:
        others = [name for name in chosen if name != coarsest[0]]
        return coarsest, f"every {named(others, 2)} has one"
    if len(alone) == 1:
        return alone, ""
    most = max(len(people[name].constant) for name in alone)
    best = [name for name in alone if len(people[name].constant) == most]
    if len(best) > 1 or not most:
        return alone if not most else best, ""
    rest = [name for name in alone if name not in best]
    constant = named(people[best[0]].constant, 4)
    return best, f"more columns are constant for it ({constant}) than for {named(rest, 2)}"


def _tells(rows: pl.DataFrame, one: str, other: str) -> bool:
    """Say whether each value of a column always has the same value of another, missing values aside."""
    pairs = rows.select(one=column_named(one), other=column_named(other)).drop_nulls()
    return pairs.n_unique() == pairs["one"].n_unique()


def _home_of(table: pl.DataFrame, ids: Mapping[str, _Id]) -> str:
    """Return the column of households by name, or of small groups of people with the same place; or ""."""
    homes = [name for name, each in ids.items() if each.guess.role == "household"]
    for name, each in ids.items():
        counts = _rows_of_values(table, name)
        small = len(counts) >= _IDS and counts.mean() <= _HOME and counts.max() <= _LARGEST_HOME
        places = [other for other in each.constant if subject_of(other) == "place"]
        differing = [other for other, share in each.one.items() if share < _DIFFERENT]
        ages = [other for other in differing if subject_of(other) in ("age", "birth")]
        if small and places and ages and not each.fixed and not each.guess.named:
            homes.append(name)
    return homes[0] if homes else ""


def _rows_of_values(table: pl.DataFrame, name: str) -> NDArray[np.int64]:
    """Return how many rows each value of a column has, missing values aside."""
    values = table.select(value=column_named(name)).to_series().drop_nulls()
    return values.value_counts()["count"].to_numpy()


def _with_role(guess: Guess, ids: Mapping[str, _Id], chosen: Sequence[str], why: str, home: str) -> Guess:
    """Give a column of people or households the role person, household or identifying."""
    each = ids.get(guess.name)
    if each is None:
        return guess
    counted = each.column.counted
    if guess.name == home:
        # Where nobody says whose row it is, a class has to have people of several homes.
        alone = not chosen
        reason = f"who lives together: {guess.reason}" + ("; homes are counted, not rows" if alone else "")
        return replace(
            guess, role="household", reason=reason, repeated=False, key_of=("person",) if alone else (),
            hierarchy=None, recipe="", treatment=None, alike="",
        )  # fmt: skip
    if guess.name not in chosen:
        if guess.role == "household":  # of two columns of homes the second
            return replace(guess, role="identifying")
        if each.by_word or not (guess.repeated or each.fixed or each.once):
            return guess
        if not each.differs:
            return replace(guess, role="identifying", repeated=True, alike="")
        reason = f"an id of something else than people: rows of one value differ in {named(each.differs)}"
        return replace(
            guess, role="identifying", reason=f"{reason}; {counted}", repeated=False, named=False, alike=""
        )
    if len(chosen) > 1:
        question = "an id that repeats: whose row it is (person), or of something else (identifying)"
        return replace(guess, role=OPEN_ROLE, reason=f"{question}; {counted}", repeated=True, alike="")
    rows = f"{each.column.known / each.column.distinct:.3g} rows a person"
    reason = f"whose row it is: {each.evidence}{f', and {why}' if why else ''}; {rows}; {counted}"
    return replace(
        guess, role="person", reason=f"{reason}; people are counted, not rows", repeated=True, named=True,
        hierarchy=None, recipe="", treatment=None, alike="",
    )  # fmt: skip


def constants(
    rows: pl.DataFrame, ids: str, others: Sequence[str], null_values: Sequence[str] = ()
) -> dict[str, float]:
    """Return the share of the repeated ids with a single value, by column, missing values aside.

    Columns of which too few ids have several values are left out.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"id": [*range(30)] * 2, "sex": [*"mfmfmf"] * 10, "wave": [*range(60)]})
    >>> constants(table, "id", ["sex", "wave"])
    {'sex': 1.0, 'wave': 0.0}
    """
    shares = {}
    for name in others:
        if name == ids:
            continue
        pairs = rows.select(id=column_named(ids), value=column_named(name).cast(pl.String, strict=False))
        pairs = pairs.drop_nulls().filter(~pl.col("value").is_in(list(null_values)))
        of_id = pairs.group_by("id").agg(pl.col("value").n_unique(), rows=pl.len()).filter(pl.col("rows") > 1)
        if of_id.height >= _IDS and pairs["value"].n_unique() > 1:
            shares[name] = float((of_id["value"] == 1).mean())  # type: ignore[arg-type]
    return shares


def ids_of_panels(table: pl.DataFrame, ids: Sequence[str], periods: Sequence[str]) -> dict[str, list[str]]:
    """Return the ids that never repeat a period although chance would repeat many, with the periods.

    An id that repeats and has one row in each year, wave or visit is one of a panel. The first twelve
    periods are looked at.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"nr": [*range(40)] * 5, "year": [year for year in range(5) for _ in range(40)]})
    >>> ids_of_panels(table, ["nr"], ["year"])
    {'nr': ['year']}
    """
    rows = table.head(_ROWS)
    of_period = {name: codes_of(rows[name]) for name in periods[:_LOOKED]}
    periods_by_id: dict[str, list[str]] = {}
    for name in ids if of_period else ():
        codes = codes_of(rows[name])
        periods_of_id = [
            period for period, each in of_period.items() if period != name and _are_once(codes, each)
        ]
        if periods_of_id:
            periods_by_id[name] = periods_of_id
    return periods_by_id


def _are_once(one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    """Say whether no two rows have the same values, although by chance many would."""
    pairs = one * (int(other.max(initial=0)) + 1) + other
    # Most pairs are seen to come twice by the first rows.
    if any(len(np.unique(part)) < len(part) for part in (pairs[:_FIRST], pairs)):
        return False
    squares = [float((np.bincount(each).astype(np.float64) ** 2).sum()) for each in (one, other)]
    return squares[0] * squares[1] / max(len(pairs), 1) ** 2 / 2 >= _CHANCE
