"""Domain: the distinct values of a column in a fixed order, with numbers and hierarchy."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from incrowd.core.errors import HierarchyError, SchemaError, null_values_setting, read_as_labels
from incrowd.core.hierarchy import Builder, Hierarchy
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.reading.cells import Span
from incrowd.core.reading.exact import DAY, EPOCH, Line, days_of, moment_of, number_of
from incrowd.core.reading.missing import null_values_of
from incrowd.core.reading.spellings import read_spelled, refuse_unclear_points, with_comma, without_comma
from incrowd.core.reading.texts import column_of, picked
from incrowd.core.table.attribute import ValueKind, WithCommas, WithPoints
from incrowd.core.table.parts import Parts, refuse_sets
from incrowd.core.table.schema import Attribute
from incrowd.core.table.settings import Grid, grid_of

NUMBER_PATTERN = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$"
"""Texts that count as numbers: no leading zeros (zip codes), no signs or exponents to guess about."""

MOST_COMBINATIONS = 2.0**1000
"""Limit on counted combinations of values, since hundreds of columns have more than any double."""

_LARGE = 400
"""Binary exponent of numbers up to which sums, differences and squares of many fit a double."""

_DEEP, _CELLS = 100, 20_000_000
"""Levels of a deep hierarchy, and the largest product of values and levels that is searched."""
_WHOLE = re.compile(r"-?[0-9]+(?:\.0+)?")

_LOOKED_AT = 100
"""Texts that are looked at before all are."""

MISSING = "\0missing"
"""Label of the leaf for the missing value inside a hierarchy, never shown."""


@dataclass(frozen=True)
class Dictionary:
    """The distinct values of a column in the order of an engine, without missing.

    Attributes
    ----------
    texts
        The values as text, distinct.
    has_missing
        Whether the column has a missing value.
    kind
        ``number`` or ``date`` where the column's type says so, ``category`` where it says that it is
        neither, None for text, whose values decide.
    numbers
        float64[texts]: the numeric value of each text, where the column's type has one.
    in_order
        Whether the values are known to ascend: by their numbers where the column's type has them, else by
        their texts.
    """

    texts: Sequence[str]
    has_missing: bool = False
    kind: ValueKind | None = None
    numbers: NDArray[np.float64] | None = None
    in_order: bool = False

    def __repr__(self) -> str:
        return f"Dictionary({len(self.texts):,} values)"


@dataclass(frozen=True, eq=False)
class Domain:
    """The distinct values of a column, ranked.

    Numbers and dates are ranked by value, categories by text, the values of a hierarchy in its leaf
    order; the missing value, where there is one, has the last rank. An interval of ranks is what a
    generalized cell stands for.

    Attributes
    ----------
    name
        The column.
    kind
        ``number``, ``date`` or ``category``.
    texts
        The text of each rank, without that of the missing value.
    hierarchy
        The tree over the ranks, where the column has one; the missing value is a leaf under its root.
    numbers
        float64[size]: the value of each rank (a date's is its day number), NaN for a category or the
        missing value.
    missing
        Rank of the missing value, -1 where none is missing.
    typed
        Whether the values came as numbers or dates, so that nobody has to recognize them in texts.
    grid
        Where the ends of ranges of numbers or dates are rounded to; None where they are exact.
    recipe
        What made the hierarchy, where a recipe did; it says where values go that the column has not got.
    commas
        Whether released cells have decimal commas; in all texts here, the sign is a point.
    separator
        The text between the parts of a value, where values are lists.
    """

    name: str
    kind: ValueKind
    texts: Sequence[str]
    hierarchy: Hierarchy | None
    numbers: NDArray[np.float64]
    missing: int
    typed: bool = False
    grid: Grid | None = None
    recipe: Builder | None = None
    commas: bool = False
    separator: str | None = None

    def __repr__(self) -> str:
        return f"Domain({self.name!r}, {self.size:,} values)"

    @property
    def size(self) -> int:
        """Number of ranks."""
        return len(self.texts) + (self.missing >= 0)

    @cached_property
    def values(self) -> tuple[str | None, ...]:
        """The text of each rank, None for the missing value."""
        return tuple(self.texts) if self.missing < 0 else (*self.texts, None)

    @cached_property
    def parts(self) -> Parts | None:
        """The parts of each value, or None where values are no lists."""
        return None if self.separator is None else Parts.of_values(self.values, self.separator)

    @cached_property
    def same_number(self) -> NDArray[np.int32] | None:
        """The first rank of the same number as each rank, int32[size], or None without repeated numbers.

        Under a hierarchy 1 and 1.0 are two leaves, but they are one number.
        """
        if self.hierarchy is None or self.kind == "category":
            return None
        # Leaves that do not occur may have no number.
        ranks = np.flatnonzero(~np.isnan(self.numbers))
        texts = [self.values[rank] or "" for rank in ranks.tolist()]
        _, places = rank_values(texts, self.numbers[ranks], self.kind)
        first = np.full(len(ranks), self.size, np.int64)
        np.minimum.at(first, places, ranks)
        same = np.arange(self.size, dtype=np.int32)
        same[ranks] = first[places]
        return None if (same == np.arange(self.size)).all() else same

    @cached_property
    def whole(self) -> bool:
        """Whether every value is an integer, even if written ``20.0``."""
        return self.kind == "number" and all(text is None or _WHOLE.fullmatch(text) for text in self.values)

    @classmethod
    def build(
        cls, attribute: Attribute, dictionary: Dictionary, null_values: tuple[str, ...] = ()
    ) -> tuple[Domain, NDArray[np.int64]]:
        """Rank the distinct values of a column.

        Parameters
        ----------
        attribute, dictionary
        null_values
            Texts that mean missing. `dictionary` is without these as they stand; these are looked for among
            what a declared spelling says.

        Returns
        -------
        domain
        ranks
            int64[texts + 1]: the rank of each text of `dictionary`; the last entry is that of the missing
            value (-1 where none is missing).

        Raises
        ------
        HierarchyError
            When a value is not in the column's hierarchy.
        SchemaError
            When the column was declared a number or a date and has a value that is none.
        """
        refuse_sets([attribute])
        attribute, dictionary, places, commas = _plainly(attribute, dictionary, null_values)
        kind, numbers = _kind(attribute, dictionary)
        hierarchy = followed(attribute, kind)
        if attribute.output in ("range", "mean") and hierarchy is not None:
            kind, numbers = "category", None
        count = len(dictionary.texts)
        ranks = np.full(count + 1, -1, np.int64)
        values: Sequence[str]
        recipe = hierarchy if isinstance(hierarchy, Builder) and dictionary.texts else None
        if hierarchy is None:
            tree = None
            values, ranks[:count] = _rank(dictionary, numbers, kind)
        elif isinstance(hierarchy, Builder) and not dictionary.texts:
            # Every value is missing, so there is nothing to make a tree of; the missing leaf joins below.
            values, tree = [], Hierarchy(["*"], [-1])
        else:
            tree = _tree(attribute.name, hierarchy, dictionary.texts)
            values = list(tree.values)
            ranks[:count] = _leaf_ranks(attribute.name, tree, dictionary.texts)
        by_rank = np.full(len(values), np.nan)
        if numbers is not None:
            by_rank[ranks[:count]] = numbers
        missing = -1
        if dictionary.has_missing:
            missing = len(values)
            ranks[count] = missing
            tree = tree.with_leaf(MISSING) if tree is not None else None
            by_rank = np.append(by_rank, np.nan)
        typed = dictionary.kind is not None
        grid = None
        by_number = tree is None and kind != "category" and attribute.output not in ("set", "suppress")
        if attribute.rounded and by_number and dictionary.texts:
            grid = grid_of(attribute.grid, kind, values[: len(dictionary.texts)], attribute.name)
        separator = attribute.parts
        return (
            cls(attribute.name, kind, values, tree, by_rank, missing, typed, grid, recipe, commas, separator),
            ranks[places],
        )

    def written(self, cells: Sequence[str | None]) -> list[str | None]:
        """Return cells in the release's spelling."""
        return [with_comma(cell) for cell in cells] if self.commas else list(cells)

    @property
    def height(self) -> int:
        """Height of the hierarchy, or 1 without a hierarchy."""
        return 1 if self.hierarchy is None else self.hierarchy.height

    @cached_property
    def tree(self) -> Hierarchy:
        """The hierarchy, or ``value -> *`` for a column without a hierarchy."""
        if self.hierarchy is not None:
            return self.hierarchy
        # A value "*" would be its own root, and "missing" the missing one; a mark keeps leaves apart, the
        # domain's texts are shown.
        return Hierarchy.from_paths([MISSING if text is None else "\0=" + text, "*"] for text in self.values)

    @cached_property
    def partly_grouped(self) -> bool:
        """Whether some values of a category are in groups and others are children of the root."""
        if self.hierarchy is None or self.kind != "category":
            return False
        below = self.hierarchy.parents == 0
        if self.missing >= 0:
            below[self.hierarchy.leaves[self.missing]] = False
        grouped = self.hierarchy.heights[below] > 0
        return bool(grouped.any() and not grouped.all())

    @cached_property
    def line(self) -> Line[Any]:
        """The ranks of numbers or dates at exact positions, empty for a category."""
        if self.kind == "category":
            return Line(())
        return Line(map(moment_of if self.kind == "date" else number_of, self.values))

    @cached_property
    def positions(self) -> NDArray[np.float64]:
        """Distinct positions of the ranks of numbers or dates: float64[size].

        These are `places` where they differ. Where some are one double, as 2^53 and 2^53 + 1 are, it is
        the exact distance from the first, and what falls together even so is set apart.
        """
        ranks = np.flatnonzero(~np.isnan(self.numbers))
        places = self.places[ranks]
        if not self.ordered or ((places[1:] > places[:-1]).all() and np.isfinite(places).all()):
            return self.places
        measure = days_of if self.kind == "date" else number_of
        exact = [Fraction(measure(self.values[rank]) or 0) for rank in ranks.tolist()]
        unit = max(exact[-1] - exact[0], Fraction(1)) // 10**300 + 1
        positions, last = np.full(self.size, np.nan), -np.inf
        for rank, position in zip(ranks.tolist(), exact, strict=True):
            last = max(float((position - exact[0]) / unit), float(np.nextafter(last, np.inf)))
            positions[rank] = last
        return positions

    @property
    def ordered(self) -> bool:
        """Whether the ranks follow the order of numbers or dates."""
        return self.kind != "category" and self.hierarchy is None

    @cached_property
    def exponent(self) -> int:
        """Power of two by which `places` are smaller than `numbers`, 0 except for enormous numbers."""
        beyond = [int(number_of(self.values[rank]) or 0).bit_length() for rank in self._beyond]
        return max(beyond) if beyond else exponent_of(self.numbers)

    @property
    def _beyond(self) -> list[int]:
        """The ranks of numbers beyond every double."""
        return list(np.flatnonzero(np.isinf(self.numbers)).tolist())

    @cached_property
    def places(self) -> NDArray[np.float64]:
        """`numbers` for computing ratios, scaled so that enormous numbers do not overflow."""
        if not self.exponent:
            return self.numbers
        places = np.ldexp(self.numbers, -self.exponent)
        for rank in self._beyond:
            places[rank] = float(Fraction(number_of(self.values[rank]) or 0) / 2**self.exponent)
        return places

    def span(self, lo: NDArray[np.integer], hi: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the loss of intervals of ranks in [0, 1]: 0 for a single value, 1 for all.

        - With a hierarchy: (leaves under the lowest common ancestor - 1) / (all leaves - 1), the loss metric
          LM of Iyengar (KDD 2002).
        - For numbers and dates: (largest - smallest) / (range of the column). An interval that joins the
          missing value to others counts 1.
        - For a category without hierarchy: (ranks in the interval - 1) / (all - 1).
        """
        lo = np.asarray(lo, np.int64)
        hi = np.asarray(hi, np.int64)
        if self.hierarchy is not None:
            nodes = self.ancestors(lo, hi)
            leaves = self.hierarchy.hi[nodes] - self.hierarchy.lo[nodes]
            return np.asarray((leaves - 1) / max(self.size - 1, 1))
        if not self.ordered:
            return np.asarray((hi - lo) / max(self.size - 1, 1))
        positions = self.positions if self.missing < 0 else self.positions[:-1]
        extent = float(positions[-1] - positions[0]) if len(positions) else 0.0
        width = np.zeros(len(lo))
        plain = hi != self.missing
        if extent > 0:
            width[plain] = (self.positions[hi[plain]] - self.positions[lo[plain]]) / extent
        width[~plain & (lo != hi)] = 1.0
        return width

    @cached_property
    def _extent(self) -> tuple[float, float]:
        """The smallest and the largest of `places`."""
        places = self.places[~np.isnan(self.places)]
        return (float(places[0]), float(places[-1])) if len(places) else (0.0, 0.0)

    def covered(self, span: Span) -> tuple[int, int, float] | None:
        """Return the first and last rank in a range and the loss of the range, or None for an empty range.

        The range is as wide as it is written, at most as the column. An end that it has not got is the
        column's. Where doubles fall together, it is as wide as what lies within it.
        """
        low, high, above, below = span.of_whole_numbers() if self.whole else span
        ranks = self.line.between(low, high, above=above, below=below)
        if not len(ranks):
            return None
        if self.positions is not self.places:
            loss = float(self.span(ranks[:1], ranks[-1:])[0])
        else:
            least, most = self._extent
            width = self._place(high, most) - self._place(low, least)
            loss = min(width / (most - least), 1.0) if most > least else 0.0
        return int(ranks[0]), int(ranks[-1]), loss

    def _place(self, end: Any, absent: float) -> float:
        """Return the position of an exact end among `places`."""
        if self.kind == "date":
            return dt.date.fromisoformat(end[:10]).toordinal() - EPOCH if end[:1].isdigit() else absent
        if end.is_infinite():
            return absent
        return float(Fraction(end) / 2**self.exponent) if self.exponent else float(end)

    def ancestors(self, lo: NDArray[np.integer], hi: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return the lowest common ancestor (node) of each interval ``lo .. hi`` of ranks, ends included."""
        tree = self.tree
        nodes = tree.leaves[np.asarray(lo)].astype(np.int32)
        upper = np.asarray(hi)
        while True:
            short = tree.hi[nodes] <= upper
            if not short.any():
                return nodes
            nodes[short] = tree.parents[nodes[short]]


def combinations_of(domains: Iterable[Domain]) -> float:
    """Return the number of combinations of values of columns, at most `MOST_COMBINATIONS`."""
    return float(min(math.prod(domain.size for domain in domains), int(MOST_COMBINATIONS)))


def exponent_of(numbers: NDArray[np.float64]) -> int:
    """Return the power of two to divide numbers by so that nothing overflows, mostly 0."""
    largest = np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0)
    needed = int(np.frexp(largest)[1])
    return needed if needed > _LARGE else 0


def followed(attribute: Attribute, kind: str) -> Hierarchy | Builder | None:
    """Return the hierarchy that the cells of a column follow, if any.

    Ranges and means follow numbers, so the cuts must, too. Whether a column with a hierarchy holds numbers is
    what its policy says, not whether its texts happen to look like some.
    """
    hierarchy = attribute.hierarchy
    declared = attribute.kind in ("number", "date")
    by_number = declared or (isinstance(hierarchy, Builder) and hierarchy.ordered and kind != "category")
    return None if attribute.output in ("range", "mean") and by_number else hierarchy


def _plainly(
    attribute: Attribute, dictionary: Dictionary, null_values: tuple[str, ...]
) -> tuple[Attribute, Dictionary, NDArray[np.int64], bool]:
    """Read texts by the settings of the column: missing values, spelling, and decimal commas.

    Returns attribute and dictionary of the plain values, the place of each text among these, with the missing
    value last: int64[texts + 1], and whether released cells have decimal commas.
    """
    places, commas = np.arange(len(dictionary.texts) + 1), isinstance(attribute, WithCommas)
    if attribute.missing:
        dictionary, places = _present(dictionary, attribute.missing)
        attribute, null_values = replace(attribute, missing=()), attribute.nulls(null_values)
    if attribute.spelling and (dictionary.kind is None or (attribute.format and dictionary.kind == "number")):
        # Several texts may mean the same.
        values, numbers, at = read_spelled(dictionary.texts, attribute.spelling, attribute.name)
        # The spelling declares the kind.
        kind: Literal["number", "date"] = "date" if attribute.format else "number"
        spelled = Dictionary(values, dictionary.has_missing, kind, numbers)
        dictionary, present = _present(spelled, null_values)
        places = present[np.append(at, len(values))][places]
        commas, declared = attribute.commas, kind if attribute.kind == "auto" else attribute.kind
        attribute = replace(attribute.unspelled(), kind=declared)
    if isinstance(attribute, WithCommas):
        plain = [without_comma(text) for text in dictionary.texts]
        if plain != list(dictionary.texts):
            code_of = {text: number for number, text in enumerate(dict.fromkeys(plain))}
            dictionary = replace(dictionary, texts=list(code_of), in_order=False)
            places = np.array([*(code_of[text] for text in plain), len(code_of)])[places]
    return attribute, dictionary, places, commas


def _present(dictionary: Dictionary, nulls: tuple[str, ...]) -> tuple[Dictionary, NDArray[np.int64]]:
    """Leave out texts that mean missing, and return the place of each text, the last one for the missing."""
    mean = null_values_of(nulls).mean
    present = np.array([not mean(text) for text in dictionary.texts], np.bool_)
    remaining = replace(
        dictionary,
        texts=picked(dictionary.texts, np.flatnonzero(present)),
        has_missing=dictionary.has_missing or not present.all(),
        numbers=None if dictionary.numbers is None else dictionary.numbers[present],
    )
    position = np.where(present, np.cumsum(present) - 1, len(remaining.texts))
    return remaining, np.append(position, len(remaining.texts))


def _kind(attribute: Attribute, dictionary: Dictionary) -> tuple[ValueKind, NDArray[np.float64] | None]:
    """Choose the kind of the values, and read numbers or dates."""
    declared = attribute.kind
    if (
        attribute.parts is not None
        or declared == "category"
        or (declared == "auto" and dictionary.kind == "category")
    ):
        return "category", None
    if dictionary.kind in ("number", "date") and declared in ("auto", dictionary.kind):
        return dictionary.kind, dictionary.numbers
    texts = column_of(dictionary.texts)
    # One text that looks otherwise settles it, and the others need not be looked at.
    if declared == "number" or (declared == "auto" and _all_like(texts, NUMBER_PATTERN)):
        wrong = len(texts) - int(texts.str.contains(NUMBER_PATTERN).sum() or 0)
        if not wrong and len(texts):
            if not (attribute.names_values or isinstance(attribute, WithPoints)):
                refuse_unclear_points(texts, attribute.name)
            return "number", texts.cast(pl.Float64).to_numpy()
        if declared == "number" and wrong:
            raise SchemaError(_not_all(attribute.name, wrong, len(texts), "plain numbers"))
    if declared == "date" or (declared == "auto" and _all_like(texts, f"^{DAY}$")):
        dates = texts.str.to_date("%Y-%m-%d", strict=False)
        wrong = int((dates.is_null() | ~texts.str.contains(f"^{DAY}$")).sum())
        if not wrong and len(texts):
            return "date", dates.cast(pl.Int32).cast(pl.Float64).to_numpy()
        if declared == "date" and wrong:
            raise SchemaError(_not_all(attribute.name, wrong, len(texts), "dates written YYYY-MM-DD"))
    if declared == "auto" or declared == "set":  # noqa: PLR1714 - a type checker follows this
        return "category", None
    return declared, np.empty(0)


def _all_like(texts: pl.Series, pattern: str) -> bool:
    """Say whether the first texts match a pattern."""
    # For so few, to ask Polars takes ten times as long.
    return all(map(re.compile(pattern).fullmatch, texts.head(_LOOKED_AT).to_list()))


def _not_all(column: str, wrong: int, total: int, form: str) -> str:
    return (
        f"column {column!r}: {wrong} of {total} distinct values are no {form}; name those that mean missing "
        f"with {null_values_setting()}, or declare the column a category"
    )


def _tree(column: str, hierarchy: Hierarchy | Builder, texts: Sequence[str]) -> Hierarchy:
    """Return a column's tree, built from the values if a recipe is given."""
    if not isinstance(hierarchy, Builder):
        return _not_too_deep(column, hierarchy)
    if "" in texts:
        raise HierarchyError(
            f"column {column!r}: the empty text has no place in a hierarchy; name it as missing with "
            + null_values_setting("''")
        )
    return _not_too_deep(column, hierarchy.build(list(texts), column))


def _not_too_deep(column: str, tree: Hierarchy) -> Hierarchy:
    """Return a tree, or raise if the tree has too many values and levels to search."""
    if tree.height > _DEEP and tree.n_leaves * tree.height > _CELLS:
        raise HierarchyError(
            f"column {column!r}: its hierarchy has {tree.n_leaves:,} values on {tree.height + 1:,} levels, "
            f"which are too many to search; keep at most {max(_CELLS // tree.n_leaves, _DEEP):,} levels"
        )
    return tree


def _leaf_ranks(column: str, tree: Hierarchy, texts: Sequence[str]) -> list[int]:
    """Return the rank of each text among the leaves of a tree, or raise for a missing leaf."""
    ranks = tree.ranks
    unknown = [text for text in texts if text not in ranks]
    if unknown:
        raise HierarchyError(
            f"column {column!r}: {len(unknown)} of {len(texts)} distinct values are not leaves of its "
            "hierarchy; add them to it, or name those that mean missing with "
            + null_values_setting()
            + read_as_labels(tree.values, unknown)
            + _as_whole(ranks, unknown)
        )
    return [ranks[text] for text in texts]


def _as_whole(leaves: Mapping[str, int], unknown: Sequence[str]) -> str:
    """Say how ``20.0`` is read as the leaf ``20``, as pandas writes whole numbers beside missing values."""
    is_whole = all(_WHOLE.fullmatch(text) and text.partition(".")[0] in leaves for text in unknown)
    return '; write decimal = "." for the column, by which 20.0 is the leaf 20' if is_whole else ""


def _rank(
    dictionary: Dictionary, numbers: NDArray[np.float64] | None, kind: str
) -> tuple[Sequence[str], NDArray[np.int64]]:
    """Rank values by `rank_values`, or directly if in order already."""
    # Numbers that were read in texts, and texts of numbers, have another order.
    if dictionary.in_order and numbers is dictionary.numbers:
        return dictionary.texts, np.arange(len(dictionary.texts))
    return rank_values(dictionary.texts, numbers, kind)


def rank_values(
    texts: Sequence[str], numbers: NDArray[np.float64] | None, kind: str
) -> tuple[Sequence[str], NDArray[np.int64]]:
    """Sort distinct values by number, or without numbers by text.

    Parameters
    ----------
    texts
        The values; none is missing.
    numbers
        float64[texts]: their numbers or days, None for categories.
    kind
        ``number``, ``date`` or ``category``.

    Returns
    -------
    values
        The text of each rank, the shortest where several texts write one number (``1`` and ``1.0``).
    ranks
        int64[texts]
    """
    count = len(texts)
    ranks = np.empty(count, np.int64)
    if numbers is None:
        unsorted = list(texts)
        order = sorted(range(count), key=unsorted.__getitem__)
        ranks[order] = np.arange(count)
        return [unsorted[i] for i in order], ranks
    by_value = np.argsort(numbers, kind="stable")
    sorted_numbers = numbers[by_value]
    if kind == "date" or count < 2 or not (sorted_numbers[1:] == sorted_numbers[:-1]).any():
        ranks[by_value] = np.arange(count)
        return picked(texts, by_value), ranks
    texts = list(texts)
    # Doubles cannot tell all big integers and long decimals apart: settle equal ones exactly.
    exact: dict[int, Decimal] = {}
    tied = np.zeros(count, np.bool_)
    same = sorted_numbers[1:] == sorted_numbers[:-1]
    tied[1:] |= same
    tied[:-1] |= same
    for i in by_value[tied]:
        exact[int(i)] = Decimal(texts[i])
    order = sorted(
        (int(i) for i in by_value),
        key=lambda i: (numbers[i], exact.get(i, Decimal(0)), len(texts[i]), texts[i]),
    )
    values: list[str] = []
    previous: tuple[float, Decimal | None] | None = None
    for i in order:
        value = (float(numbers[i]), exact.get(i))
        if previous is None or value != previous:
            values.append(texts[i])
        previous = value
        ranks[i] = len(values) - 1
    return values, ranks
