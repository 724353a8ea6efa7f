"""The class NCP of the Python library k-anonymization, by its names and signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from incrowd.errors import ParameterError, TableError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NCP"]


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
        original column), any other text nothing.

        Parameters
        ----------
        org_data, anon_data
            The tables before and after; the second may lack suppressed records.
        hierarchies
            Of the categories, by position or name of the column: an `incrowd.Hierarchy`, or an object of
            the library with ``tree``, or with ``leaves`` and ``get_leaves_under_node``.
        qids_idx
            Positions of the quasi-identifiers.
        is_categorical
            One flag per quasi-identifier.

        Raises
        ------
        InputError
            When the arguments do not fit each other, or a category is in no hierarchy.
        """
        _check(org_data, qids_idx, is_categorical)
        if len(anon_data) > len(org_data):
            raise TableError(f"anon_data has {len(anon_data)} records and org_data {len(org_data)}")
        penalties = 0.0
        for place, categorical in zip(qids_idx, is_categorical, strict=True):
            column = anon_data.iloc[:, place]
            met = column.value_counts(dropna=False)
            if categorical:
                tree = _hierarchy(hierarchies, place, org_data.columns[place])
                each = [1.0 if value == "*" else tree(value) for value in met.index]
            else:
                extent = _extent(org_data.iloc[:, place])
                each = [_number_penalty(value, extent, place) for value in met.index]
            penalties += sum(
                penalty * int(records) for penalty, records in zip(each, met.to_numpy(), strict=True)
            )
        return _normalized(penalties, org_data, len(anon_data), qids_idx)

    @staticmethod
    def calculate_for_local_recoding_mean_mode(
        org_data: pd.DataFrame,
        groups: Sequence[Sequence[Sequence[Any]]],
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
            Lists of records of original values, each a tuple with a value for every column.
        qids_idx, is_categorical
            As in `calculate_for_generalization`.
        """
        _check(org_data, qids_idx, is_categorical)
        rows, group = _rows(groups, org_data)
        penalties = 0.0
        for place, categorical in zip(qids_idx, is_categorical, strict=True):
            if categorical:
                counts = rows.groupby([group, rows[place]], sort=False, dropna=False, observed=True).size()
                penalties += len(rows) - int(counts.groupby(level=0).max().sum())
            else:
                penalties += _ranges(rows, group, place, org_data)
        return _normalized(penalties, org_data, len(rows), qids_idx)

    @staticmethod
    def calculate_for_local_recoding_summarization(
        org_data: pd.DataFrame,
        groups: Sequence[Sequence[Sequence[Any]]],
        qids_idx: Sequence[int],
        is_categorical: Sequence[bool],
    ) -> float:
        """Measure groups that are released as ranges and sets.

        A number costs the range of its group over that of the column; a category the number of distinct
        values in its group over that in the column, as the library's code has it. (Its text says 1 over the
        number in the group, by which a larger set costs less: `NCPSummarization("inverse")` of the API.)

        Parameters are those of `calculate_for_local_recoding_mean_mode`.
        """
        _check(org_data, qids_idx, is_categorical)
        rows, group = _rows(groups, org_data)
        penalties = 0.0
        for place, categorical in zip(qids_idx, is_categorical, strict=True):
            if categorical:
                found = rows[place].groupby(group).nunique(dropna=False)
                whole = org_data.iloc[:, place].nunique(dropna=False)
                penalties += float((found * group.value_counts()).sum()) / whole
            else:
                penalties += _ranges(rows, group, place, org_data)
        return _normalized(penalties, org_data, len(rows), qids_idx)


def _check(org_data: pd.DataFrame, qids_idx: Sequence[int], is_categorical: Sequence[bool]) -> None:
    if len(qids_idx) != len(is_categorical) or not len(qids_idx):
        raise ParameterError("give one is_categorical flag for each of the quasi-identifiers, at least one")
    if not len(org_data):
        raise TableError("org_data has no records")
    for place in qids_idx:
        if not 0 <= place < org_data.shape[1]:
            raise ParameterError(f"qids_idx: {place} is no position of the {org_data.shape[1]} columns")


def _normalized(penalties: float, org_data: pd.DataFrame, kept: int, qids_idx: Sequence[int]) -> float:
    width = len(qids_idx)
    return (penalties + (len(org_data) - kept) * width) / (width * len(org_data))


def _rows(groups: Sequence[Sequence[Sequence[Any]]], org_data: pd.DataFrame) -> tuple[Any, Any]:
    """Put the groups' records into one frame by position of the column, and say which group each is in."""
    import numpy as np
    import pandas as pd

    records = [tuple(record) for group in groups for record in group]
    if len(records) > len(org_data):
        raise TableError(f"the groups have {len(records)} records and org_data {len(org_data)}")
    if any(len(record) != org_data.shape[1] for record in records):
        raise TableError(f"every record of a group needs {org_data.shape[1]} values, one for each column")
    frame = pd.DataFrame(records, columns=range(org_data.shape[1]))
    sizes = [len(group) for group in groups]
    return frame, pd.Series(np.repeat(np.arange(len(sizes)), sizes), name="group")


def _extent(column: Any) -> float:
    return float(column.max() - column.min())


def _ranges(rows: Any, group: Any, place: int, org_data: pd.DataFrame) -> float:
    """Sum the ranges of the groups over that of the column, for every record."""
    extent = _extent(org_data.iloc[:, place])
    if not extent:
        return 0.0
    held = rows[place].groupby(group)
    return float(((held.max() - held.min()) * held.size()).sum()) / extent


def _number_penalty(value: Any, extent: float, place: int) -> float:
    if value == "*":
        return 1.0
    if not isinstance(value, str) or "~" not in value:
        return 0.0
    try:
        low, high = map(float, value.split("~"))
    except ValueError:
        raise TableError(f"column {place}: a range is no low~high of two numbers") from None
    return (high - low) / extent if extent else 0.0


def _hierarchy(hierarchies: Mapping[Any, Any], place: int, name: Any) -> Any:
    """Return what gives the leaves under a value over all leaves."""
    from incrowd.hierarchy import Hierarchy

    found: Any = None
    for key in (place, name):
        try:
            found = hierarchies[key]
            break
        except (KeyError, IndexError, TypeError, AttributeError):
            continue
    if found is None:
        raise ParameterError(f"hierarchies: there is none for column {place}, {name!r}")
    if isinstance(found, Hierarchy):
        leaves = set(found.leaves.tolist())
        # Of nodes with one label the topmost is meant, which stands first.
        shares = {
            label: 0.0 if node in leaves else int(found.hi[node] - found.lo[node]) / found.n_leaves
            for node, label in reversed(list(enumerate(found.labels)))
        }
    elif isinstance(found, Mapping) and "tree" in found:
        shares = _of_levels(found["tree"])
    elif hasattr(found, "get_leaves_under_node"):
        whole = len(found.leaves)
        return lambda value: len(found.get_leaves_under_node(value)) / whole
    else:
        raise ParameterError(f"hierarchies: that of column {place} is neither a Hierarchy nor has a 'tree'")

    def share(value: Any) -> float:
        if value not in shares and str(value) not in shares:
            raise TableError(f"column {place}: a value is not in its hierarchy")
        return shares.get(value, shares.get(str(value), 0.0))

    return share


def _of_levels(levels: Sequence[Mapping[str, Any]]) -> dict[Any, float]:
    """Read the library's tree: per level lists of original values and what they become."""
    below: dict[Any, int] = {}
    leaves: dict[Any, None] = {}
    for number, level in enumerate(levels):
        here: dict[Any, int] = {}
        for group in level.get("values", ()):
            if not number:
                leaves.update(dict.fromkeys(group["original"]))
            here[group["generalized"]] = sum(
                1 if not number else below.get(value, 1) for value in group["original"]
            )
        below |= here
    shares = {label: number / len(leaves) for label, number in below.items()}
    return dict.fromkeys(leaves, 0.0) | shares
