"""A count table of a policy: columns, quantity, and protection."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple, get_args

from incrowd.core.errors import ParameterError, did_you_mean, named, those_are
from incrowd.core.parameters import Parameter, check_fields

Count = Literal["people", "records"]
Zeros = Literal["show", "hide"]
Protection = Literal["suppress", "round", "cell-key"]
Way = Literal["controlled", "random", "small", "midpoint"]
Cost = Literal["cells", "people", "values"]
CELL_SETTINGS = ("hidden", "never_secondary", "waived")
"""The settings that name cells."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,59}")
_RULE = re.compile(r"([0-9]{1,3})-([1-9][0-9]{0,2})")

_SETTINGS: dict[str, Any] = {
    "count": Parameter(str, "whether people or records are counted", choices=get_args(Count)).field("people"),
    "threshold": Parameter(int, "a cell of fewer people is small", low=2).field(5),
    "p_percent": Parameter(
        float,
        "how near the second largest person may come to the largest, in percent",
        above=0,
        optional=True,
    ).field(None),
    "zeros": Parameter(str, "whether empty cells are shown or hidden", choices=get_args(Zeros)).field("show"),
    "protect": Parameter(str, "what becomes of a table with small cells", choices=get_args(Protection)).field(
        "suppress"
    ),
    "cost": Parameter(str, "what suppression keeps small", choices=get_args(Cost)).field("people"),
    "width": Parameter(
        int, "how wide the interval of a suppressed count is; the threshold by default", low=1, optional=True
    ).field(None),
    "base": Parameter(
        int, "what values are rounded to; the threshold by default", low=2, optional=True
    ).field(None),
    "rounding": Parameter(
        str,
        "how counts are rounded: so that sums hold, at random, the small ones alone, or to midpoints",
        choices=get_args(Way),
    ).field("controlled"),
    "deviation": Parameter(int, "the most that a cell key changes a count", low=1).field(5),
    "variance": Parameter(float, "the variance of the change by a cell key", above=0).field(3.0),
}


class SumRule(NamedTuple):
    """A rule for sums: a sum X of parts x1 >= x2 ... is safe if ``weights @ x <= share * X``.

    Example: p % of 20 is ``X - x1 - x2 >= .2 x1``, so the weights are 1.2 and 1, and the share is 1.

    Attributes
    ----------
    words
        What is true of an unsafe cell, after "its" or "those whose".
    """

    weights: tuple[float, ...]
    share: float
    words: str


@dataclass(frozen=True)
class CountTable:
    """A table ``[[tables]]`` of a policy.

    Attributes
    ----------
    name
        The table's name, from which that of its file is made.
    rows, columns
        Columns of the data whose codes make the rows and the columns of the table. ``"age:2"`` leaves out
        the two finest levels of the hierarchy of age.
    count
        Whether people or records are counted. Without a column that names a person each record is one.
    sum
        A number that is summed in place of counting; None to count.
    threshold
        A cell of fewer people is small, and is not published as it is.
    dominance
        ``[n, share]``: a sum is unsafe if its n largest people have more than this share of it, 0..1. Without
        it and `p_percent` a sum has the threshold alone, of people whose part is above 0.
    p_percent
        A sum is unsafe if its second largest person can tell the largest part to within this percentage.
    zeros
        Whether empty cells are shown, or hidden as small ones.
    protect
        What becomes of a table with small cells: they are suppressed with others that would tell them,
        everything is rounded, or noise by a cell key is added.
    cost
        What suppression keeps as small as it can: the number of cells, their people, or their values.
    width
        How wide the interval of a suppressed count must be; None for the threshold.
    base
        What values are rounded to; None for the threshold.
    rounding
        How counts are rounded. ``controlled`` keeps all sums. ``random`` rounds each cell by its key: it
        stays the same on average, and cells of the same people go the same way in every table. ``small``
        turns the finest counts below the base into 0 or the base, and totals are sums of what is shown.
        ``midpoint`` rounds each cell by itself to the middle of its interval: with base 6, 1 to 6 are 3, 7 to
        12 are 9, and 0 stays.
    deviation, variance
        The most that a cell key changes a count, and the variance of the change.
    hidden
        Cells that are hidden whatever their value, by their codes: ``{"area": "north", "sex": "f"}``. A
        column that is left out is its total.
    never_secondary
        Cells that are not hidden for the sake of others.
    waived
        Cells that are shown although they are unsafe, each with the reason: ``"why": "its people agreed"``.
    key_table
        The changes of counts in place of these: ``file:PATH`` of a table of an office (`KeyTable`), or a
        rule. ``10-5`` turns counts below 10 into 0 and rounds others to multiples of 5. A rule needs no key.
    key
        Where the keys of people come from, for noise and random rounding: a secret in ``env:NAME`` or
        ``file:PATH``, or the record keys of an office in ``column:NAME``, whole numbers of at least 0.

    Raises
    ------
    ParameterError
        When a setting is outside its range.

    Examples
    --------
    >>> CountTable("ages", rows=["age:1"], columns=["sex"]).dimensions
    [('age', 1), ('sex', 0)]
    """

    name: str
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    count: Count = _SETTINGS["count"]
    sum: str | None = None
    threshold: int = _SETTINGS["threshold"]
    dominance: tuple[int, float] | None = None
    p_percent: float | None = _SETTINGS["p_percent"]
    zeros: Zeros = _SETTINGS["zeros"]
    protect: Protection = _SETTINGS["protect"]
    cost: Cost = _SETTINGS["cost"]
    width: int | None = _SETTINGS["width"]
    base: int | None = _SETTINGS["base"]
    rounding: Way = _SETTINGS["rounding"]
    deviation: int = _SETTINGS["deviation"]
    variance: float = _SETTINGS["variance"]
    key_table: str | None = None
    key: str | None = None
    hidden: tuple[Mapping[str, str], ...] = field(default=(), hash=False)
    never_secondary: tuple[Mapping[str, str], ...] = field(default=(), hash=False)
    waived: tuple[Mapping[str, str], ...] = field(default=(), hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ParameterError(
                "tables: a name has letters, digits, spaces, . _ and -, begins with a letter or digit, and "
                "has at most 60 characters, since the file is named after it"
            )
        check_fields(self, f"table {self.name}")
        self._check_texts()
        if not self.rows and not self.columns:
            raise ParameterError(f"table {self.name}: name at least one column in rows or columns")
        names = [column for column, _ in self.dimensions]
        if len(set(names)) < len(names):
            raise ParameterError(f"table {self.name}: a column stands twice in rows and columns")
        self._check_cells()
        if self.dominance is not None:
            object.__setattr__(self, "dominance", self._dominance(self.dominance))
        if self.sum is None and (self.dominance or self.p_percent):
            raise ParameterError(
                f"table {self.name}: dominance and p_percent are for sums: name the number, as sum = 'cost'"
            )
        if self.rounding != "controlled" and self.protect != "round":
            raise ParameterError(f"table {self.name}: rounding = {self.rounding!r} is for protect = 'round'")
        if self.rounding == "small" and self.multiple < self.threshold:
            raise ParameterError(
                f"table {self.name}: counts from base = {self.multiple} on are shown as they are, and those "
                f"below threshold = {self.threshold} are small: raise the base to it"
            )
        if self.rounding == "midpoint" and self.multiple < self.threshold:
            raise ParameterError(
                f"table {self.name}: intervals of base = {self.multiple} counts tell that a count is below "
                f"threshold = {self.threshold}: raise the base to it"
            )
        self._check_key_table()
        if self.keyed and self.key is None:
            raise ParameterError(
                f"table {self.name}: a cell key needs a secret; make one with openssl rand -hex 32, and say "
                "where it is: key = 'env:NAME' or 'file:PATH'"
            )
        if self.sum is not None and self.protect != "suppress":
            raise ParameterError(f"table {self.name}: a sum is protected by protect = 'suppress'")

    def _check_texts(self) -> None:
        for side in ("rows", "columns"):
            texts = getattr(self, side)
            texts = (texts,) if isinstance(texts, str) else texts
            if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
                raise ParameterError(f"table {self.name}: {side} names columns, as {side} = ['age', 'sex']")
            object.__setattr__(self, side, tuple(texts))
        for setting in ("sum", "key", "key_table"):
            if not isinstance(getattr(self, setting), str | None):
                raise ParameterError(f"table {self.name}: {setting} is one text")

    def _check_cells(self) -> None:
        columns = [column for column, _ in self.dimensions]
        for setting in CELL_SETTINGS:
            where, entries = f"table {self.name}: {setting}", getattr(self, setting)
            if not isinstance(entries, list | tuple) or not all(map(_is_cell, entries)):
                raise ParameterError(
                    f"{where} names cells by their codes, as {setting} = [{{ {columns[0]} = 'code' }}]; a "
                    "column that is left out is its total"
                )
            object.__setattr__(self, setting, tuple(dict(each) for each in entries))
            if entries and self.protect != "suppress":
                raise ParameterError(f"{where} is for protect = 'suppress'")
            known = [*columns, *(["why"] if setting == "waived" else [])]
            for name in (name for each in entries for name in each if name not in known):
                raise ParameterError(f"{where}: {name!r} is no column of it; {those_are(known, name)}")
        if not all(each.get("why", "").strip() for each in self.waived):
            raise ParameterError(f"table {self.name}: waived: say why each cell may be shown: why = '...'")

    def _check_key_table(self) -> None:
        if self.key_table is None:
            return
        where = f"table {self.name}: key_table"
        if self.protect != "cell-key":
            raise ParameterError(f"{where} is for protect = 'cell-key'")
        if self.rule is None and not str(self.key_table).startswith("file:"):
            raise ParameterError(f"{where} is file:PATH, or a rule as '10-5' (a threshold and a base)")
        defaults = {each.name: each.default for each in fields(self)}
        if (self.deviation, self.variance) != (defaults["deviation"], defaults["variance"]):
            raise ParameterError(f"{where} says how counts change: leave out deviation and variance")

    def _dominance(self, rule: Any) -> tuple[int, float]:
        try:
            number, share = rule
            Parameter(int, "", low=1).check(number, f"table {self.name}", "dominance")
            Parameter(float, "", above=0, high=1).check(share, f"table {self.name}", "dominance")
        except (TypeError, ValueError):
            raise ParameterError(
                f"table {self.name}: dominance is a number of people and a share, as [2, 0.9]"
            ) from None
        return number, float(share)

    @property
    def sum_rules(self) -> list[SumRule]:
        """The rules that ask how a sum is shared among its people."""
        rules = []
        if self.dominance is not None:
            number, share = self.dominance
            words = f"{number} largest people have more than {share:.0%} of it"
            rules.append(SumRule((1.0,) * number, share, words))
        if self.p_percent is not None:
            words = f"second largest person could tell the largest to within {self.p_percent:g}%"
            rules.append(SumRule((1 + self.p_percent / 100, 1.0), 1.0, words))
        return rules

    def without_sum(self) -> CountTable:
        """Return the layout with counts in the cells, which no rule for sums asks."""
        return replace(self, sum=None, dominance=None, p_percent=None)

    @property
    def rank(self) -> int:
        """How many of the largest parts of each sum the rules ask for; 0 where people are counted."""
        return 0 if self.sum is None else max([2, *(len(rule.weights) for rule in self.sum_rules)])

    @property
    def unit(self) -> tuple[str, str | None]:
        """The quantity in the cells; tables of the same quantity are protected together."""
        return ("sum", self.sum) if self.sum is not None else (self.count, None)

    @property
    def dimensions(self) -> list[tuple[str, int]]:
        """The columns of rows and columns, each with how many of the finest levels are left out."""
        pairs = []
        for text in (*self.rows, *self.columns):
            column, sign, level = text.rpartition(":")
            pairs.append((column, int(level)) if sign and level.isdigit() else (text, 0))
        return pairs

    def sides_with(self, column: str, fewer: int | None) -> dict[str, list[str]]:
        """Return rows and columns without so many of the finest levels of a column; None for all of them."""
        level = dict(self.dimensions)[column]
        lifted = [] if fewer is None else [f"{column}:{level + fewer}"]
        own = column, f"{column}:{level}"
        return {
            side: [new for text in getattr(self, side) for new in (lifted if text in own else [text])]
            for side in ("rows", "columns")
        }

    @property
    def open_width(self) -> int:
        """The width that the interval of a suppressed count must have."""
        return self.threshold if self.width is None else self.width

    @property
    def rule(self) -> tuple[int, int] | None:
        """Threshold and base of a `key_table` given as a rule, else None."""
        given = _RULE.fullmatch(str(self.key_table))
        return (int(given[1]), int(given[2])) if given else None

    @property
    def keyed(self) -> bool:
        """Whether the published count of a cell depends on the keys of the cell's people."""
        return (self.protect == "cell-key" and self.rule is None) or self.rounding == "random"

    @property
    def has_parts(self) -> bool:
        """Whether cells are suppressed in which people have parts: of a sum, or records."""
        return self.protect == "suppress" and (self.sum is not None or self.count == "records")

    @property
    def multiple(self) -> int:
        """The number of which rounded values are multiples."""
        return self.threshold if self.base is None else self.base

    def settings(self) -> dict[str, Any]:
        """Return the settings other than the defaults, in the notation of a policy file."""
        return {
            each.name: list(value) if isinstance(value, tuple) else value
            for each in fields(self)
            if (value := getattr(self, each.name)) != each.default
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> CountTable:
        """Read a table ``[[tables]]``.

        Raises
        ------
        ParameterError
        """
        known = [each.name for each in fields(cls)]
        for name in settings:
            if name not in known:
                raise ParameterError(
                    f"tables: there is no setting {name!r}; there are {named(known, 20)}"
                    f"{did_you_mean(name, known)}"
                )
        if "name" not in settings:
            raise ParameterError('tables: name the table, e.g. name = "age-by-region"')
        return cls(**settings)


def _is_cell(entry: Any) -> bool:
    return isinstance(entry, Mapping) and all(isinstance(text, str) for text in entry.values())


def name_of(text: str) -> str:
    """Return a text as a valid name of a table; empty if no sign of the text is valid.

    >>> name_of("Région/by sex ")
    'R-gion-by sex'
    """
    return re.sub(r"[^A-Za-z0-9 _.-]+", "-", text)[:60].strip(" -_.")


def check_tables(tables: tuple[CountTable, ...]) -> None:
    """Check that no two tables have the same name, and that tables with common cells are protected alike.

    Raises
    ------
    ParameterError
    """
    names = [table.name.casefold() for table in tables]
    if len(set(names)) < len(names):
        raise ParameterError("tables: two tables have one name, and each has a file of its own")
    for unit in {table.unit for table in tables}:
        require_one_way([table for table in tables if table.unit == unit])


def require_one_way(tables: Sequence[CountTable]) -> None:
    """Check that tables of the same quantity are protected alike.

    Raises
    ------
    ParameterError
    """
    for table in tables[1:]:
        other = tables[0]
        if other.protect != table.protect:
            raise ParameterError(
                f"tables {other.name} and {table.name} have cells in common, such as the total, and what one "
                "hides the other would tell: protect both alike"
            )
