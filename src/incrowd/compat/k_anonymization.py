"""The classes NCP and GroupAnonymizationBuiltIn of the Python library k-anonymization."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from incrowd.compat._arguments import check_frame, check_items, check_whole_number
from incrowd.core.errors import HierarchyError, ParameterError, TableError
from incrowd.core.lazy import NDArray, np, pd
from incrowd.core.reading.cells import read_span

__all__ = ["NCP", "GroupAnonymizationBuiltIn"]


class NCP:
    """Normalized certainty penalty: penalties of all cells over records times quasi-identifiers, in [0, 1].

    Records of the original data that are in no group, or were left out of the anonymized data, count a full
    penalty of 1 in each quasi-identifier. A column of numbers with one value loses nothing.

    Notes
    -----
    The metrics `ncp`, `ncp-mean-mode` and `ncp-summarization` of the API follow Xu et al., Utility-based
    anonymization using local recoding, KDD 2006, where a single value costs nothing.
    """

    @staticmethod
    def calculate_for_generalization(
        org_data: pd.DataFrame,
        anon_data: pd.DataFrame,
        hierarchies: Mapping[Any, Any],
        qids_idx: Sequence[int],
        is_categorical: Sequence[bool],
    ) -> float:
        """Measure a generalization.

        ``*`` costs 1. A category costs the leaves under it over all leaves, a value that is a leaf nothing.
        A number that is still one costs nothing, a text ``low~high`` (high - low) / (max - min of the
        original column), any other text nothing. A missing cell is refused, and so is a range in another
        form, such as ``[20-29]``.

        Parameters
        ----------
        org_data, anon_data
            The tables before and after; the second may lack suppressed records.
        hierarchies
            Of the categories, by position or else by name of the column: an `incrowd.Hierarchy`, or an object
            of the library with ``tree``, or with ``leaves`` and ``get_leaves_under_node``.
        qids_idx
            Positions of the quasi-identifiers.
        is_categorical
            One flag per quasi-identifier.

        Raises
        ------
        InputError
            When an argument is of a wrong type or empty, the arguments do not fit each other, a column of
            numbers has a value that is none, or a category is in no hierarchy. It names the argument.
        """
        quasi = _quasi(org_data, qids_idx, is_categorical)
        _check_anonymized(anon_data, org_data)
        penalties = 0.0
        for place, categorical in quasi:
            codes, values = _codes_and_values(anon_data.iloc[:, place], f"anon_data: column {place}")
            if anon_data.iloc[:, place].isna().any():
                raise TableError(
                    f"anon_data: column {place} has missing cells; write * where one is suppressed"
                )
            if categorical:
                tree = _hierarchy(hierarchies, place, org_data.columns[place])
                costs = [1.0 if value == "*" else tree(value) for value in values]
            else:
                extent = _extent(_numbers(org_data.iloc[:, place], f"org_data: column {place}"))
                costs = [_number_penalty(value, extent, place) for value in values]
            penalties += float(np.bincount(codes, minlength=len(values)) @ costs)
        return _normalized(penalties, org_data, len(anon_data), len(quasi))

    @staticmethod
    def calculate_for_local_recoding_mean_mode(
        org_data: pd.DataFrame,
        groups: Sequence[Sequence[Sequence[Any]] | pd.DataFrame],
        qids_idx: Sequence[int],
        is_categorical: Sequence[bool],
    ) -> float:
        """Measure groups that are released as means and most frequent values.

        A number costs the range of its group over that of the column; a category 1 where it is not the
        group's most frequent value (of equally frequent ones, one is it).

        Parameters
        ----------
        org_data
            The table before.
        groups
            Lists of records of original values, each a tuple with a value for every column. A group may be a
            DataFrame instead, with the columns in the order of `org_data`.
        qids_idx, is_categorical
            As in `calculate_for_generalization`.
        """
        quasi = _quasi(org_data, qids_idx, is_categorical)
        rows = _rows_of_groups(groups, org_data)
        penalties = 0.0
        for place, categorical in quasi:
            if categorical:
                penalties += len(rows.group) - int(_value_counts(rows, place).most.sum())
            else:
                penalties += _ranges(rows, place, org_data)
        return _normalized(penalties, org_data, len(rows.group), len(quasi))

    @staticmethod
    def calculate_for_local_recoding_summarization(
        org_data: pd.DataFrame,
        groups: Sequence[Sequence[Sequence[Any]] | pd.DataFrame],
        qids_idx: Sequence[int],
        is_categorical: Sequence[bool],
    ) -> float:
        """Measure groups that are released as ranges and sets.

        A number costs the range of its group over the range of the column. A category costs the number of
        distinct values in its group over the number in the column, as in the library's code. The library's
        text says 1 over the number in the group; a larger set would then cost less. The text's formula is
        `NCPSummarization("inverse")` of the API.

        Parameters are those of `calculate_for_local_recoding_mean_mode`.
        """
        quasi = _quasi(org_data, qids_idx, is_categorical)
        rows = _rows_of_groups(groups, org_data)
        penalties = 0.0
        for place, categorical in quasi:
            if categorical:
                _, distinct = _codes_and_values(org_data.iloc[:, place], f"org_data: column {place}")
                counts = _value_counts(rows, place)
                penalties += int(counts.distinct @ counts.records) / len(distinct)
            else:
                penalties += _ranges(rows, place, org_data)
        return _normalized(penalties, org_data, len(rows.group), len(quasi))


class GroupAnonymizationBuiltIn:
    """Three ways to make the records of a group alike.

    Each takes ``group``, a list of records or a DataFrame of them, and ``props``, an object or a dict with
    ``qids_idx`` and ``is_categorical`` as in `NCP`, or for `GENERALIZATION` with ``qids_idx`` and
    ``hierarchies``. Each returns the records in their order, as tuples; other columns stay. An `InputError`
    names what is wrong.
    """

    @staticmethod
    def SUMMARIZATION(group: Sequence[Sequence[Any]] | pd.DataFrame, props: Any) -> list[tuple[Any, ...]]:  # noqa: N802
        """Write numbers as ``low ~ high``, and categories as sorted values ``a & b``."""

        def range_of(_: int, values: Sequence[Any]) -> str:
            low, high = min(values), max(values)
            return f"{low}" if low == high else f"{low} ~ {high}"

        return _alike(group, props, lambda _, values: " & ".join(sorted(set(map(str, values)))), range_of)

    @staticmethod
    def MEAN_MODE(group: Sequence[Sequence[Any]] | pd.DataFrame, props: Any) -> list[tuple[Any, ...]]:  # noqa: N802
        """Write numbers as the mean, and categories as the (first) most frequent value."""
        return _alike(
            group,
            props,
            lambda _, values: max(values, key=values.count),
            lambda _, values: sum(values) / len(values),
        )

    @staticmethod
    def GENERALIZATION(group: Sequence[Sequence[Any]] | pd.DataFrame, props: Any) -> list[tuple[Any, ...]]:  # noqa: N802
        """Write values as the lowest common hierarchy node."""
        hierarchies = _property(props, "hierarchies")
        return _alike(group, props, lambda place, values: _above(hierarchies, place, values))


def _alike(
    group: Any,
    props: Any,
    of_categories: Callable[[int, Any], Any],
    of_numbers: Callable[[int, Any], Any] | None = None,
) -> list[tuple[Any, ...]]:
    """Return the records of a group with equal quasi-identifiers, all categories if there are no flags."""
    rows = _records(group, "group", "a list of records, or a DataFrame of them")
    if any(len(row) != len(rows[0]) for row in rows):
        raise TableError(f"group: every record needs {len(rows[0])} values, one for each column")
    places = check_items(_property(props, "qids_idx"), "qids_idx", "a list of positions of columns")
    flags = [True] * len(places)
    if of_numbers is not None:
        flags = check_items(_property(props, "is_categorical"), "is_categorical", "a list of true or false")
    if len(flags) != len(places):
        raise ParameterError("give one is_categorical flag for each of the quasi-identifiers (qids_idx)")
    if not rows:
        return []
    columns = list(zip(*rows, strict=True))
    for place, flag in zip(places, flags, strict=True):
        _check_place(place, len(columns))
        if not flag:
            _numbers(pd.Series(columns[place]), f"group: column {place}")
        of = of_categories if flag or of_numbers is None else of_numbers
        columns[place] = (of(place, columns[place]),) * len(rows)
    return list(zip(*columns, strict=True))


def _records(group: Any, argument: str, wanted: str) -> list[tuple[Any, ...]]:
    """Return the records of a group, given as a list or a frame."""
    if isinstance(group, pd.DataFrame):
        return list(group.itertuples(index=False, name=None))
    return [tuple(check_items(record, argument, wanted)) for record in check_items(group, argument, wanted)]


def _property(props: Any, name: str) -> Any:
    value = props.get(name) if isinstance(props, Mapping) else getattr(props, name, None)
    if value is None:
        raise ParameterError(f"props: give an object or a dict with {name!r}")
    return value


def _above(hierarchies: Any, place: int, values: Sequence[Any]) -> Any:
    """Return the lowest node above values, by a hierarchy of incrowd or of the library."""
    hierarchy = _hierarchy_of(hierarchies, place, place)
    if hasattr(hierarchy, "get_lowest_common_ancestor"):
        return hierarchy.get_lowest_common_ancestor(list(values))
    if not hasattr(hierarchy, "lca"):
        raise ParameterError(
            f"hierarchies: that of column {place} is neither a Hierarchy nor has get_lowest_common_ancestor"
        )
    ranks = [hierarchy.ranks.get(str(value), -1) for value in values]
    if min(ranks) < 0:
        raise TableError(f"group: column {place}: a value is not in its hierarchy")
    return hierarchy.labels[hierarchy.lca(min(ranks), max(ranks))]


# --- arguments ----------------------------------------------------------------------------------------


def _quasi(org_data: Any, qids_idx: Any, is_categorical: Any) -> list[tuple[int, bool]]:
    """Return position and flag of every quasi-identifier."""
    check_frame(org_data, "org_data")
    places = check_items(qids_idx, "qids_idx", "a list of positions of columns")
    flags = check_items(is_categorical, "is_categorical", "a list of true or false")
    if len(places) != len(flags) or not places:
        raise ParameterError(
            "give one is_categorical flag for each of the quasi-identifiers (qids_idx), at least one"
        )
    for place in places:
        _check_place(place, org_data.shape[1])
    if len(set(places)) < len(places):
        raise ParameterError("qids_idx: a position is named twice")
    if not all(isinstance(flag, int | np.bool_) and flag in (0, 1) for flag in flags):
        raise ParameterError("is_categorical: every flag is True or False")
    return [(place, bool(flag)) for place, flag in zip(places, flags, strict=True)]


def _check_place(place: Any, columns: int) -> None:
    if check_whole_number(place, "qids_idx", least=0) >= columns:
        raise ParameterError(f"qids_idx: {place} is no position of the {columns} columns")


def _check_anonymized(anon_data: Any, org_data: pd.DataFrame) -> None:
    check_frame(anon_data, "anon_data", empty=True)
    if anon_data.shape[1] != org_data.shape[1]:
        raise TableError(f"anon_data has {anon_data.shape[1]} columns and org_data {org_data.shape[1]}")
    if len(anon_data) > len(org_data):
        raise TableError(f"anon_data has {len(anon_data)} records and org_data {len(org_data)}")


def _numbers(cells: pd.Series[Any], where: str) -> pd.Series[Any]:
    """Return a column as numbers."""
    wrong = TableError(
        f"{where} is not categorical and has values that are no finite numbers; fill them in, or flag the "
        "column as categorical (is_categorical)"
    )
    if cells.isna().any():
        raise wrong
    try:
        numbers = pd.to_numeric(cells)
        finite = np.isfinite(numbers.to_numpy(dtype=float)).all()
    except (TypeError, ValueError, OverflowError):
        raise wrong from None
    if not finite:
        raise wrong
    return numbers


def _codes_and_values(cells: pd.Series[Any], where: str) -> tuple[NDArray[np.int64], Sequence[Any]]:
    """Return a code for every record, and the value of each code, where missing is a value."""
    try:
        codes, distinct = pd.factorize(cells, use_na_sentinel=False)
    except TypeError:
        raise TableError(f"{where} has cells that are lists or the like; turn them into texts") from None
    return codes, list(distinct)


# --- groups and penalties -----------------------------------------------------------------------------


class _Rows(NamedTuple):
    """Records of groups by position of the column, and the group number of each record."""

    cells: pd.DataFrame
    group: NDArray[np.int64]


class _Groups(NamedTuple):
    """Records, distinct values, and records of the most frequent value of each non-empty group."""

    records: NDArray[np.int64]
    distinct: NDArray[np.int64]
    most: NDArray[np.int64]


def _rows_of_groups(groups: Any, org_data: pd.DataFrame) -> _Rows:
    wanted = "a list of groups, each a list of records or a DataFrame of them"
    members = [_records(group, "groups", wanted) for group in check_items(groups, "groups", wanted)]
    records = [record for group in members for record in group]
    if len(records) > len(org_data):
        raise TableError(f"the groups have {len(records)} records and org_data {len(org_data)}")
    if any(len(record) != org_data.shape[1] for record in records):
        raise TableError(
            f"groups: every record of a group needs {org_data.shape[1]} values, one for each column"
        )
    sizes = [len(group) for group in members if group]
    frame = pd.DataFrame(records, columns=range(org_data.shape[1]))
    return _Rows(frame, np.repeat(np.arange(len(sizes)), sizes))


def _value_counts(rows: _Rows, place: int) -> _Groups:
    """Count the values of a column in each group, by numbers of groups and values alone.

    Positions are not given to pandas as the level of an index: it takes one for the level's *name* first.
    """
    codes, distinct = _codes_and_values(rows.cells.iloc[:, place], f"groups: column {place}")
    wide = max(len(distinct), 1)
    cells, counts = np.unique(rows.group * wide + codes, return_counts=True)
    first = np.flatnonzero(np.diff(cells // wide, prepend=-1))
    most = np.maximum.reduceat(counts, first) if len(first) else counts
    return _Groups(np.bincount(rows.group), np.bincount(cells // wide), most)


def _extent(numbers: pd.Series[Any]) -> float:
    return float(numbers.max() - numbers.min())


def _ranges(rows: _Rows, place: int, org_data: pd.DataFrame) -> float:
    """Sum the ranges of the groups over that of the column, for every record."""
    extent = _extent(_numbers(org_data.iloc[:, place], f"org_data: column {place}"))
    groups = _numbers(rows.cells.iloc[:, place], f"groups: column {place}").groupby(rows.group)
    if not extent:
        return 0.0
    return float(((groups.max() - groups.min()) * groups.size()).sum()) / extent


def _number_penalty(value: Any, extent: float, place: int) -> float:
    if value == "*":
        return 1.0
    if not isinstance(value, str):
        return 0.0
    if "~" not in value:
        if read_span(value, "number") is not None:
            raise TableError(
                f"anon_data: column {place}: a range is not written as low~high, and would count as no loss; "
                "write it so, or measure the release by ic.evaluate(raw, released, schema)"
            )
        return 0.0
    try:
        low, high = map(float, value.split("~"))
    except ValueError:
        low, high = 0.0, math.nan
    if not 0 <= high - low < math.inf:
        raise TableError(f"anon_data: column {place}: a range is no low~high of two numbers")
    return (high - low) / extent if extent else 0.0


def _normalized(penalties: float, org_data: pd.DataFrame, kept: int, width: int) -> float:
    return (penalties + (len(org_data) - kept) * width) / (width * len(org_data))


def _hierarchy_of(hierarchies: Any, place: int, name: Any) -> Any:
    for key in (place, name):
        try:
            if (hierarchy := hierarchies[key]) is not None:
                return hierarchy
        except (KeyError, IndexError, TypeError, AttributeError):
            continue
    raise ParameterError(f"hierarchies: there is none for column {place}, {name!r}")


def _hierarchy(hierarchies: Mapping[Any, Any], place: int, name: Any) -> Any:
    """Return a function for the leaves under a value over all leaves."""
    from incrowd.core.hierarchy import Hierarchy

    hierarchy = _hierarchy_of(hierarchies, place, name)
    if isinstance(hierarchy, Hierarchy):
        leaves = set(hierarchy.leaves.tolist())
        # Of nodes with one label the topmost is meant, which stands first.
        shares = {
            label: 0.0
            if node in leaves
            else int(hierarchy.hi[node] - hierarchy.lo[node]) / hierarchy.n_leaves
            for node, label in reversed(list(enumerate(hierarchy.labels)))
        }
    elif isinstance(hierarchy, Mapping) and "tree" in hierarchy:
        try:
            shares = _of_levels(hierarchy["tree"])
        except (AttributeError, KeyError, TypeError, ZeroDivisionError):
            raise HierarchyError(
                f"hierarchies: the 'tree' of column {place} is no list of levels, each with 'values' "
                "that have 'generalized' and 'original'"
            ) from None
    elif hasattr(hierarchy, "get_leaves_under_node") and len(getattr(hierarchy, "leaves", ())):
        number = len(hierarchy.leaves)
        return lambda value: len(hierarchy.get_leaves_under_node(value)) / number
    else:
        raise ParameterError(f"hierarchies: that of column {place} is neither a Hierarchy nor has a 'tree'")

    def share(value: Any) -> float:
        if value not in shares and str(value) not in shares:
            raise TableError(f"column {place}: a value is not in its hierarchy")
        return shares.get(value, shares.get(str(value), 0.0))

    return share


def _of_levels(levels: Sequence[Mapping[str, Any]]) -> dict[Any, float]:
    """Read the library's tree: the generalized value of each original value, by level."""
    below: dict[Any, int] = {}
    leaves: dict[Any, None] = {}
    for number, level in enumerate(levels):
        generalized: dict[Any, int] = {}
        for group in level.get("values", ()):
            if not number:
                leaves.update(dict.fromkeys(group["original"]))
            generalized[group["generalized"]] = sum(
                1 if not number else below.get(value, 1) for value in group["original"]
            )
        below |= generalized
    shares = {label: number / len(leaves) for label, number in below.items()}
    return dict.fromkeys(leaves, 0.0) | shares
