"""Columns that determine others, and ids of people with several rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from incrowd.core.errors import IncrowdError
from incrowd.core.io.columns import column_named, nameless
from incrowd.core.lazy import NDArray, np, pl

if TYPE_CHECKING:
    from incrowd.core.table.schema import Schema
    from incrowd.engines import Engine


_ROWS = 100_000
_FIRST = 1_000
_IDS = 20
"""Ids with several rows that it takes to believe that they are of people."""
_LOOKED = 12
_COMPARED = 8
"""Pairs of rows by which most pairs of columns are told apart."""
_CHANCE = 50.0
"""Pairs of rows that would be alike by chance, from which it tells something that none are."""
_PARTS = ("%Y", "%m", "%d", "%Y-%m", "%m-%d", "%u", "%A", "%B", "%V", "%j")
"""Parts of a date that a column of its own may have."""
_DAY = re.compile(r"\s*[+-]?\d+-\d")
"""Texts that may be dates."""
_GLANCE = 30
"""Rows that most pairs of columns are told apart by, when one is sought in the other."""
_TIMES = 2
"""How often the values of a telling column occur on average, at least: what is unique tells all others."""


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
    codes = _codes_of(rows, every)
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


def columns_of_ids(
    table: pl.DataFrame, ids: str, others: Sequence[str], null_values: Sequence[str] = ()
) -> list[str]:
    """Return the columns with a constant value for each id, missing values aside.

    An id that repeats and always has the same birth year or sex is one of a person.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"id": [*range(30)] * 2, "sex": [*"mfmfmf"] * 10, "wave": [*range(60)]})
    >>> columns_of_ids(table, "id", ["sex", "wave"])
    ['sex']
    """
    columns = []
    for name in others:
        first = table.head(_ROWS)
        pairs = first.select(id=column_named(ids), value=column_named(name).cast(pl.String, strict=False))
        pairs = pairs.drop_nulls().filter(~pl.col("value").is_in(list(null_values)))
        several = (
            pairs.group_by("id").agg(pl.col("value").n_unique(), rows=pl.len()).filter(pl.col("rows") > 1)
        )
        if several.height >= _IDS and (several["value"] == 1).all() and pairs["value"].n_unique() > 1:
            columns.append(name)
    return columns


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
    of_period = {name: _codes(rows[name]) for name in periods[:_LOOKED]}
    periods_by_id: dict[str, list[str]] = {}
    for name in ids if of_period else ():
        codes = _codes(rows[name])
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
    """Say whether a few rows show that the part is none: of their texts, and of their dates."""
    pairs = zip(_texts(part).to_list(), _texts(whole).to_list(), strict=True)
    texts = [(one, other) for one, other in pairs if one is not None and other is not None]
    if all(other.startswith(one) for one, other in texts) or all(other.endswith(one) for one, other in texts):
        return False
    if not any(_DAY.match(other) for _, other in texts):
        return True
    parts, wholes = (pl.Series(each, dtype=pl.String) for each in zip(*texts, strict=True))
    return not _are_parts_of_days(parts, wholes)


def _are_parts_of_days(parts: pl.Series, texts: pl.Series) -> bool:
    """Say whether all texts are dates, and each part the same part of its date, such as its month."""
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


def _codes_of(table: pl.DataFrame, names: Sequence[str]) -> list[NDArray[np.int64]]:
    """Encode the values of each column as numbers, in a single query if possible."""
    # Polars takes a minute to select ten thousand series.
    frame = pl.DataFrame([table[name].alias(f"{place}") for place, name in enumerate(names)])
    try:
        ranks = frame.select(pl.all().cast(pl.String, strict=False).fill_null("\0").rank("dense"))
    except pl.exceptions.PolarsError:
        return [_codes(table[name]) for name in names]
    return [np.asarray(rank.to_numpy(), np.int64) - 1 for rank in ranks]


def _codes(series: pl.Series) -> NDArray[np.int64]:
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


_FEWEST = 20
"""Ids that are told from a category."""
_LOOKED_AT = 50_000
"""Rows that are looked at. Of a million rows of 300,000 people they have thousands of second rows."""


def repeated_ids(engine: Engine, schema: Schema) -> dict[str, int]:
    """Return the columns that look like ids of people with several rows each.

    Columns that do not leave are looked at, too.

    Parameters
    ----------
    engine
        The table. Rows in memory and in files are looked at, those of a database and of Spark are not.

    Returns
    -------
    By column how many ids occur more than once.
    """
    if schema.person:
        return {}
    ids = {}
    for name in engine.columns:
        role = schema[name].role if name in schema else "insensitive" if schema.unlisted == "keep" else None
        looked_at = role in ("identifying", "insensitive", "sensitive")
        for values in _heads(engine, [name] if looked_at else []):
            # Most columns have few values, or none twice: neither is an id that repeats.
            odd = values.dtype.is_nested() or values.dtype in (pl.Binary, pl.Object)
            too_few = odd or values.n_unique() < _FEWEST
            repeats = 0 if too_few else _repeats(engine, name, schema)
            if repeats and _names_people(engine, schema, values):
                ids[name] = repeats
    return ids


def _names_people(engine: Engine, schema: Schema, values: pl.Series) -> bool:
    """Say whether a column looks like an id of people."""
    # Few tables have a column that repeats, so few need the words of all languages.
    from incrowd.release.drafting.profile import profile_of
    from incrowd.release.drafting.roles import guess_role, is_id, may_name_people
    from incrowd.release.drafting.words import marks_of_people

    column = profile_of(values, values.name, schema.null_values)
    guess = guess_role(column)
    if guess.repeated or is_id(column):
        return True
    marks = _heads(engine, marks_of_people(attribute.name for attribute in schema.quasi))
    rows = pl.DataFrame([values, *marks])
    names = [mark.name for mark in marks]
    return may_name_people(guess, column) and bool(
        columns_of_ids(rows, column.name, names, schema.null_values)
    )


def _repeats(engine: Engine, name: str, schema: Schema) -> int:
    """Count the values that several rows have, missing values aside."""
    try:
        values, counts = engine.values_of([name])
    except (IncrowdError, pl.exceptions.PolarsError):
        # A column that does not leave may be damaged: nothing else reads it.
        return 0
    several = nameless(values.to_series()).filter(pl.Series(counts > 1)).drop_nulls()
    return int((~several.cast(pl.String, strict=False).is_in(list(schema.null_values))).sum())


def _heads(engine: Engine, names: Iterable[str]) -> list[pl.Series]:
    """Return the first values of the columns with values at hand."""
    heads = ((name, engine.head(name, _LOOKED_AT)) for name in names)
    return [values.alias(name) for name, values in heads if values is not None]
