"""A release for the rules: columns, distinct values, and a few counts.

A release is seen through `Rows`. There are two readings of it: `incrowd.release.accounts.points` asks the
engine that has the rows, and `incrowd_verify.release_points` asks DuckDB about the written file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

from incrowd_gate.lazy import NDArray, np, pl
from incrowd_gate.ranges import bounds_of

_NUMBER = r"^[+-]?(\d+(\.\d+)?([eE][+-]?\d+)?|(?i:nan|inf))$"
_DECIMAL = r"[.eE]|(?i)nan|inf"
_MOMENT = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?$"


class UnansweredError(Exception):
    """The rows cannot answer a question; the message says why, as the end of a sentence."""


def _is_null(values: pl.Series) -> pl.Series:
    # A method as the default would load Polars with this file.
    return values.is_null()


@dataclass(frozen=True)
class Column:
    """A column with the role and treatment by the policy.

    - `role`: None where the policy does not list it.
    - `treatment`: the name of its treatment; empty where it has none.
    - `is_list`: whether its cells are lists of declared parts.
    - `missing`: leaves out the values that mean missing, and those that are null.
    - `read`: writes a text plainly, or returns None where it is not spelled as declared; None where no
      spelling is declared.
    - `is_person`: whether it says whose row it is.
    """

    name: str
    role: str | None = None
    treatment: str = ""
    is_list: bool = False
    missing: Callable[[pl.Series], pl.Series] = _is_null
    read: Callable[[str], str | None] | None = None
    is_person: bool = False


@dataclass(frozen=True)
class Values:
    """The distinct values of a column, and how many records have each: int64[values].

    - `are_labels`: whether they are texts of cells, so that sets, ranges and masks are among them.
    - `between`: the text between two items of a value, where the column holds sets.
    """

    values: pl.Series
    counts: NDArray[np.int64]
    are_labels: bool = False
    between: str | None = None

    @property
    def is_readable(self) -> bool:
        """Whether the values are texts, numbers, dates or truth values."""
        kind = self.values.dtype
        return not kind.is_nested() and kind not in (pl.Binary, pl.Object, pl.Time)

    @property
    def alone(self) -> int:
        """Records with a value that no other record has."""
        return int((self.counts == 1).sum())

    def only(self, mask: pl.Series) -> Values:
        """Return some of the values."""
        return replace(self, values=self.values.filter(mask), counts=self.counts[mask.to_numpy()])

    @cached_property
    def texts(self) -> Values | None:
        """The texts in order, or None if the values are none.

        Numbers with decimals and moments are left out, also where a file of texts holds them: they neither
        name nor reach a person. All read them in one order, so that all look at the same ones of very many.
        """
        kind = self.values.dtype
        if kind.is_float() or kind.is_decimal() or kind.is_temporal() or kind in (pl.Boolean, pl.Null):
            return None
        known = self.only(self.values.is_not_null()) if self.values.has_nulls() else self
        texts = known.values.cast(pl.String)
        holds = pl.first().str.contains
        are_plain = (holds(_NUMBER).all() & holds(_DECIMAL).any()) | holds(_MOMENT).all()
        if len(texts) and texts.to_frame().select(are_plain).item():
            return None
        order = texts.arg_sort()
        return replace(self, values=texts.gather(order), counts=known.counts[order.to_numpy()])

    @cached_property
    def parts(self) -> pl.DataFrame:
        """The texts that stand in texts: columns ``cell``, a position, and ``part``; see `parts_of`."""
        cells = self.values.to_frame("part").with_row_index("cell")
        if self.between is not None:
            cells = cells.with_columns(pl.col("part").str.split(self.between)).explode("part")
        return parts_of(cells) if self.are_labels else cells

    @cached_property
    def distinct(self) -> pl.Series:
        """The distinct texts of `parts` in order."""
        return self.parts["part"].unique().sort()

    @cached_property
    def signs(self) -> dict[str, NDArray[np.bool_]]:
        """Which texts hold each sign of people, by the name of the sign: bool[values]."""
        from incrowd_gate.texts import signs_in

        masks = {}
        for sign, mask in signs_in(self.distinct).items():
            masks[sign] = np.zeros(len(self.values), np.bool_)
            held = pl.col("part").is_in(self.distinct.filter(mask).implode())
            masks[sign][self.parts.filter(held)["cell"]] = True
        return masks

    def is_free(self, records: int) -> bool:
        """Say whether the texts are sentences that people wrote; `records` are all of the table."""
        from incrowd_gate.texts import is_free_text

        return is_free_text(self.distinct, records)


_MAY_BE_RANGE = r"^[\[\]()<>≤≥]| or (less|more|earlier|later)$"
_SET = r"^\{.*\}$"
_ODD = rf"{_SET}|{_MAY_BE_RANGE}|\*"
_BETWEEN = ", |; "


def parts_of(cells: pl.DataFrame) -> pl.DataFrame:
    """Take cells apart into the texts inside: columns ``cell``, a position, and ``part``.

    A set is its members. A range of numbers or dates has no text. What a mask hides is part of a word, so
    that the rest of a number is no number::

        {ben@example.org, mia@example.org}  ->  ben@example.org, mia@example.org
        [20-29]                             ->
        +49 151 23***                       ->  +49 151 23xxx
    """
    odd = cells["part"].str.contains(_ODD)
    if not odd.any():
        return cells
    taken, part = cells.filter(odd), pl.col("part")
    sets = taken["part"].str.contains(_SET)
    if sets.any():
        inside = part.str.strip_prefix("{").str.strip_suffix("}").str.replace_all(_BETWEEN, "\0")
        members = pl.when(sets).then(inside.str.split("\0")).otherwise(pl.concat_list(part))
        taken = taken.with_columns(members).explode("part", empty_as_null=False)
    distinct = taken["part"].filter(taken["part"].str.contains(_MAY_BE_RANGE)).unique()
    ranges = [text for text in distinct if bounds_of(text, "number") or bounds_of(text, "date")]
    hidden = part.str.replace_all(r"\*+@|@\*+", " ").str.replace_all("*", "x", literal=True)
    return pl.concat([cells.filter(~odd), taken.filter(~part.is_in([*ranges, "*"])).with_columns(hidden)])


def are_numbers(values: pl.Series) -> bool:
    """Say whether all known values are numbers, or texts of plain numbers."""
    if values.dtype.is_numeric():
        return True
    return values.dtype == pl.String and bool(values.str.contains(_NUMBER).all())


def as_texts(values: pl.Series) -> pl.Series | None:
    """Return texts, categories and whole numbers as texts; None for other values."""
    # A series looks itself up by its name, which may be a pattern of names.
    kind, values = values.dtype, values.alias("")
    if kind.is_float():
        whole = values.fill_nan(None).round() == values
        return values.fill_nan(None).cast(pl.Int64, strict=False).cast(pl.String) if whole.all() else None
    if kind.is_integer() or kind in (pl.String, pl.Categorical, pl.Enum):
        return values.cast(pl.String)
    return None


class People(NamedTuple):
    """The classes of a release by the people of a column.

    - `least`: the class size that is asked for.
    - `small`: classes with fewer people.
    - `classes`: all classes.
    - `fewest`: the fewest people of a class.
    """

    least: int
    small: int
    classes: int
    fewest: int


class Losses(NamedTuple):
    """The losses of a release, as shares of the records.

    - `blanked`: by quasi-identifier the share of cells that stand for every value, suppressed records aside.
    - `suppressed`: share of suppressed records, those that were left out included.
    - `tells_nothing`: whether every cell of every quasi-identifier stands for every value.
    - `exposed`, `failing`: suppressed records that leave and fail models as a class, and the models.
    - `few`, `few_share`, `least`: raw records that fit fewer than `least` released ones, in number and share.
    """

    blanked: Mapping[str, float]
    suppressed: float
    tells_nothing: bool
    exposed: int = 0
    exposed_share: float = 0.0
    failing: Sequence[str] = ()
    few: int = 0
    few_share: float = 0.0
    least: int = 2


class Table(Protocol):
    """A table with columns that the rules look at.

    Each member raises `UnansweredError` where the rows do not tell.
    """

    @property
    def columns(self) -> Sequence[Column]:
        """The columns in order: of a release the columns that leave, of a raw table all."""

    @property
    def records(self) -> int:
        """All records."""

    def values(self, name: str) -> Values:
        """Return the distinct values of a column."""

    def combinations(self, names: Sequence[str]) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """Return the combinations of values of some columns, and how many records have each."""

    def lone_rows(self, names: Sequence[str]) -> int:
        """Count the records that are unique in some columns."""

    def sample(self, names: Sequence[str]) -> pl.DataFrame:
        """Return some columns of rows that are spread evenly, 20,000 or so; none that cannot be read."""


class Release(Table, Protocol):
    """A release, as far as known."""

    @property
    def raw(self) -> Table | None:
        """The raw table; None if nobody gave a raw table."""

    @property
    def hidden(self) -> Sequence[str]:
        """The columns with values that were generalized or changed at random."""

    @property
    def is_local(self) -> bool:
        """Whether the algorithm recodes locally."""

    def labels(self, name: str) -> Values:
        """Return the texts of the cells of a quasi-identifier."""

    def trees(self) -> Iterator[tuple[str, Sequence[str | None], Sequence[int]]]:
        """Return the hierarchies that are written down: column, labels, and the parent of each node."""

    def unprotected(self) -> Iterator[tuple[str, float]]:
        """Return each unprotected sensitive column, and the share of records in classes of a single value."""

    def losses(self) -> Losses:
        """Return the shares of blanked cells and of suppressed records."""

    def people(self, name: str) -> People | None:
        """Count the people of each class by a column that names people; None where nothing tells."""

    def has_level(self, name: str) -> bool:
        """Say whether the lowest level that a quasi-identifier may have is above 0."""
