"""Classes that are split further by the values of all sensitive attributes but one."""

from __future__ import annotations

from dataclasses import replace

from incrowd.errors import ParameterError
from incrowd.lazy import NDArray, np
from incrowd.table.frequency import FrequencyTable, People
from incrowd.table.people import ListedPeople
from incrowd.table.sensitive import JointCounts

Where = tuple[NDArray[np.int64], NDArray[np.int64]]


def split_by_others(
    frequency: FrequencyTable, where: Where, attribute: int
) -> tuple[FrequencyTable, NDArray[np.int32], NDArray[np.int64]]:
    """Make a key of each combination of sensitive values in each class, and parts of these.

    Parameters
    ----------
    where
        The keys of each class: int64[classes + 1] and int64[...].
    attribute
        Position of the sensitive attribute by which the classes are not split.

    Returns
    -------
    table
        It has the one attribute, at position 0.
    part_of
        int32[keys of the table]: the part that each is in.
    first
        int64[classes]: the first part of each class; the parts of a class stand together.

    Raises
    ------
    ParameterError
        When the combinations of sensitive values were not counted.
    """
    from incrowd.kernels.grouping.grouping import group_columns

    joint, classes = frequency.joint, len(where[0]) - 1
    if joint is None:
        raise ParameterError("the sensitive attributes' combinations were not counted; count with joint=True")
    others = [j for j in range(len(frequency.sensitive)) if j != attribute]
    sizes = [frequency.sensitive[j].domain.size for j in others]
    context, contexts = group_columns([joint.codes[j] for j in others], sizes, len(joint.codes[0]))
    table, class_of, combination = _by_combination(frequency, joint, where, attribute)
    part_of, start = group_columns([class_of, context[combination]], [classes, len(contexts)], len(class_of))
    return table, part_of, np.searchsorted(class_of[start], np.arange(classes))


def _by_combination(
    frequency: FrequencyTable, joint: JointCounts, where: Where, attribute: int
) -> tuple[FrequencyTable, NDArray[np.int64], NDArray[np.int32]]:
    """Make a key of each combination of sensitive values in each class: table, class, combination."""
    from incrowd.kernels.grouping.counting import Counts, class_counts
    from incrowd.kernels.people.people import add_distinct, first_entries

    listed, classes = frequency.people.listed, np.arange(len(where[0]) - 1, dtype=np.int64)
    counted, many = frequency.sensitive[attribute], len(joint.codes[0])
    alike = counts = class_counts(*where, joint.keys, many)
    combinations = None if listed is None else listed.listed_combinations
    if listed is not None and combinations is not None:
        counts = add_distinct(*where, joint.keys, listed.combinations_of_keys, combinations, many)
    class_of = np.repeat(classes, np.diff(counts.indptr))
    values = joint.codes[attribute]

    def table(weights: NDArray[np.int64], entries: ListedPeople | None) -> FrequencyTable:
        there = weights > 0
        each = np.concatenate(([0], np.cumsum(there))).astype(np.int64)
        single = Counts(each, values[counts.codes[there]], weights[there])
        of_value = replace(counted, keys=single, rows=None)
        return FrequencyTable((), (), weights, (of_value,), people=People(listed=entries))

    if listed is None or combinations is None:
        return table(counts.counts, None), class_of, counts.codes
    place = class_of * many + counts.codes
    owner = np.repeat(classes, np.diff(alike.indptr))
    weights = np.zeros(len(place), np.int64)
    weights[np.searchsorted(place, owner * many + alike.codes)] = alike.counts
    first, _ = first_entries(*where, listed.combinations_of_keys)
    combination = combinations[first]
    key = np.searchsorted(place, listed.classes_of_entries(*where)[first] * many + combination)
    entries = ListedPeople.of(
        len(place),
        key,
        listed.people_of_keys.items[first],
        [values[combination]],
        [counted.domain.size],
        None,
    )
    return table(weights, entries), class_of, counts.codes
