"""Points of columns that are released unchanged and tell the values of a hidden column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from incrowd_gate import wording
from incrowd_gate.lazy import NDArray, np, pl
from incrowd_gate.points import Point
from incrowd_gate.rules.columns import Release, Table, UnansweredError

_ROWS = 100_000
_FIRST = 1_000
_COMPARED = 8
"""Pairs of rows by which most pairs of columns are told apart."""
_PARTS = ("%Y", "%m", "%d", "%Y-%m", "%m-%d", "%u", "%A", "%B", "%V", "%j")
"""Parts of a date that a column of its own may have."""
_DAY = re.compile(r"\s*[+-]?\d+-\d")
"""Texts that may be dates."""
_GLANCE = 30
"""Rows that most pairs of columns are told apart by, when one is sought in the other."""
_TIMES = 2
"""How often the values of a telling column occur on average, at least: what is unique tells all others."""


def points_of_dependencies(release: Release) -> Iterator[Point]:
    """Look at columns that are released unchanged, and that no model looks at, beside the hidden columns."""
    if release.raw is None:
        return
    plain = plain_columns(release, release.raw)
    if not plain or not release.hidden:
        return
    try:
        rows = release.raw.sample([*release.hidden, *plain])
    except UnansweredError as reason:
        yield wording.unanswered("derived-column", None, str(reason))
        return
    yield from derived_columns(rows, release.hidden, plain)


def plain_columns(release: Table, raw: Table) -> list[str]:
    """Return the columns of a raw table that are released as they are, and that no model looks at."""
    given = {column.name for column in raw.columns}
    return [
        column.name
        for column in release.columns
        if column.name in given
        and (column.role is None or (column.role == "insensitive" and not column.treatment))
    ]


def derived_columns(rows: pl.DataFrame, hidden: Sequence[str], plain: Sequence[str]) -> Iterator[Point]:
    """Return the points of plain columns that tell hidden ones, by some raw rows that may lack columns."""
    plain, hidden = ([name for name in names if name in rows.columns] for names in (plain, hidden))
    follows = set(determined_pairs(rows, hidden, plain))
    for other in plain:
        for one in hidden:
            from_hidden = (one, other) in follows or part_of(rows[other], rows[one])
            if from_hidden or (other, one) in follows or part_of(rows[one], rows[other]):
                yield wording.derived(other, one, follows=from_hidden)
                break


def determined_pairs(
    table: pl.DataFrame, names: Sequence[str], others: Sequence[str] | None = None
) -> list[tuple[str, str]]:
    """Return the pairs of columns of which the first determines the second.

    A column determines another if each of its values goes with one value of the other. If one of two such
    columns is treated or generalized and the other one leaves as it is, the other one may
    tell what was hidden. Of a large table the first 100,000 rows are looked at. Columns that are nearly
    unique tell every other one, and are left out; so are columns of one value.

    Parameters
    ----------
    names, others
        Columns. Pairs are of two of `names`, or of one of each, in both directions. Time grows with the
        number of pairs, of which a few rows of each column are compared.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"zip": ["1", "1", "2", "2", "3", "3"], "town": ["A", "A", "A", "A", "B", "B"]})
    >>> determined_pairs(table, ["zip", "town"])
    [('zip', 'town')]
    >>> determined_pairs(table, ["town"], ["zip"])
    [('zip', 'town')]
    """
    rows = table.head(_ROWS)
    every = list(dict.fromkeys([*names, *(others or ())]))
    codes = _codes_of_all(rows, every)
    sizes = np.array([int(each.max(initial=-1)) + 1 for each in codes], np.int64)
    # A column for each row, so that two rows are compared over all columns at once.
    head = np.array([each[:_FIRST] for each in codes], np.int64).T
    is_first = np.arange(len(every)) < len(set(names))
    is_other = is_first if others is None else ~is_first
    pairs = []
    for place, one in enumerate(every):
        if not 1 < sizes[place] * _TIMES <= rows.height:
            continue
        near = (sizes > 1) & (sizes <= sizes[place]) & (is_other if is_first[place] else is_first)
        near[place] = False
        places = np.flatnonzero(near)
        # Most pairs are seen not to be one by the first rows that are alike.
        for above, below in _alike(codes[place][:_FIRST]):
            # Only the columns that are left are gathered: all of them would be many rows of a wide table.
            places = places[(head[above[:, None], places] == head[below[:, None], places]).all(axis=0)]
        pairs += [(one, every[other]) for other in places if _determines(codes[place], codes[other])]
    return pairs


def _alike(codes: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return pairs of rows with the same value, some first and then all others."""
    order = np.argsort(codes, kind="stable")
    same = np.flatnonzero(codes[order[1:]] == codes[order[:-1]])
    for part in (same[:_COMPARED], same[_COMPARED:]):
        yield order[part], order[part + 1]


def part_of(part: pl.Series, whole: pl.Series) -> bool:
    """Say whether a column is part of another in every row: of a date, or the start or end of a text.

    Examples
    --------
    >>> import polars as pl
    >>> born = pl.Series(["1980-05-17", "1991-12-03", "1985-05-02"])
    >>> part_of(pl.Series([5, 12, 5]), born), part_of(pl.Series([1, 2, 1]), born)
    (True, False)
    """
    # Of hundreds of columns nearly all pairs are seen to differ here, in a hundredth of the time.
    if _differ_at_once(part.head(_GLANCE), whole.head(_GLANCE)):
        return False
    rows = pl.DataFrame({"part": _texts(part), "whole": _texts(whole)}).drop_nulls()
    if rows["part"].n_unique() < 2 or rows["whole"].n_unique() <= rows["part"].n_unique():
        return False
    text, part_text = pl.col("whole"), pl.col("part")
    ends = (text.str.starts_with(part_text), text.str.ends_with(part_text))
    if any(rows.select(test.all()).item() for test in ends):
        return True
    return _are_parts_of_days(rows["part"], rows["whole"])


def _differ_at_once(part: pl.Series, whole: pl.Series) -> bool:
    """Say whether a few rows show that the part is no part of the texts, nor of the dates."""
    pairs = zip(_texts(part).to_list(), _texts(whole).to_list(), strict=True)
    texts = [(one, other) for one, other in pairs if one is not None and other is not None]
    if all(other.startswith(one) for one, other in texts) or all(other.endswith(one) for one, other in texts):
        return False
    if not any(_DAY.match(other) for _, other in texts):
        return True
    parts, wholes = (pl.Series(each, dtype=pl.String) for each in zip(*texts, strict=True))
    return not _are_parts_of_days(parts, wholes)


def _are_parts_of_days(parts: pl.Series, texts: pl.Series) -> bool:
    """Say whether all texts are dates, and each part the same part of the date, such as the month."""
    days = texts.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    if days.null_count():
        return False
    plain = parts.str.strip_chars_start("0")
    return any(bool((plain == days.dt.strftime(form).str.strip_chars_start("0")).all()) for form in _PARTS)


def _texts(series: pl.Series) -> pl.Series:
    try:
        return series.cast(pl.String)
    except pl.exceptions.PolarsError:
        return pl.Series([None] * len(series), dtype=pl.String)


def _codes_of_all(table: pl.DataFrame, names: Sequence[str]) -> list[NDArray[np.int64]]:
    """Encode the values of each column as numbers, in a single query if possible."""
    # Polars takes a minute to select ten thousand series.
    frame = pl.DataFrame([table[name].alias(f"{place}") for place, name in enumerate(names)])
    try:
        ranks = frame.select(pl.all().cast(pl.String, strict=False).fill_null("\0").rank("dense"))
    except pl.exceptions.PolarsError:
        return [codes_of(table[name]) for name in names]
    return [np.asarray(rank.to_numpy(), np.int64) - 1 for rank in ranks]


def codes_of(series: pl.Series) -> NDArray[np.int64]:
    """Encode the values of a column as numbers from 0 without gaps, with missing as a value."""
    try:
        frame = pl.DataFrame({"value": series.cast(pl.String, strict=False)})
        ranks = frame.select(pl.col("value").fill_null("\0").rank("dense")).to_series()
        return np.asarray(ranks.to_numpy(), np.int64) - 1
    except pl.exceptions.PolarsError:
        return np.zeros(len(series), np.int64)


def _determines(one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    """Say whether each value of a column goes with a single value of another."""
    of_value = np.full(int(one.max(initial=-1)) + 1, -1, np.int64)
    of_value[one] = other
    return bool((of_value[one] == other).all())
