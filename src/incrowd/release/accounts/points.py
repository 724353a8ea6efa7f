"""The points of a release: dangers and losses beyond the models that need an answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from incrowd.core.errors import TableError
from incrowd.core.hierarchy import Hierarchy
from incrowd.core.kernels.grouping.grouping import group_columns
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.recoding import BLANKED_ABOVE, Local, blanked_shares
from incrowd.core.table.matching import are_wildcards
from incrowd.measures.privacy.base import SensitiveModel
from incrowd.measures.privacy.k_anonymity import KAnonymity
from incrowd.release.accounts.clearance import columns_that_leave, points_of_columns
from incrowd.release.accounts.nesting import outside_of
from incrowd.release.drafting.functional_dependencies import determined_pairs, part_of
from incrowd.release.drafting.repeats import repeated_ids
from incrowd_verify.gate import wording
from incrowd_verify.gate.columns import points_of_texts, texts_of
from incrowd_verify.gate.points import Point, answered

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.engines import Engine
    from incrowd.measures.privacy import PrivacyModel
    from incrowd.release.policy.policy import Policy

_MANY = 0.2
"""Share of suppressed records from which there is a point: a fifth."""
_ROWS = 20_000
"""Rows, spread evenly, of which columns are compared with each other."""


class Evidence(NamedTuple):
    """The input of the points of a release.

    Attributes
    ----------
    raw, released
        The engines of the raw and of the released rows.
    frequency, recoding
        The keys and their cells.
    records
        Number of released records.
    suppressed
        Share of suppressed records, including those left out.
    exposed, failing
        Number of released suppressed records that fail models as a class, and the names of these models.
    """

    raw: Engine
    released: Engine
    policy: Policy
    frequency: FrequencyTable
    recoding: Recoding
    records: int
    suppressed: float
    exposed: int = 0
    failing: tuple[str, ...] = ()


def points_of(evidence: Evidence) -> tuple[Point, ...]:
    """Return all points in the order of kinds, with the policy's reasons for accepted points."""
    points = [point for check in _CHECKS for point in check(evidence)]
    return answered(points, evidence.policy.accepted)


def _column_points(evidence: Evidence) -> Iterator[Point]:
    rows = evidence.records
    yield from points_of_columns(evidence.released, evidence.policy.schema, rows)
    weights = np.where(evidence.recoding.suppressed, 0, evidence.frequency.weights)
    for domain, cells in zip(evidence.recoding.domains, evidence.recoding.cells, strict=True):
        labels = pl.Series(cells.labels, dtype=pl.String)
        records = np.bincount(cells.codes, weights, len(labels)).astype(np.int64)
        used = pl.Series(records > 0)
        texts = texts_of(labels.filter(used), records[used.to_numpy()])
        if texts is not None:
            yield from points_of_texts(domain.name, *texts, rows, quasi=True, compared=False)


def unprotected(models: Iterable[PrivacyModel], sensitive: Sequence[str]) -> list[str]:
    """Return the sensitive attributes that no model protects, attackers' models included."""
    parts = [part for model in models for part in getattr(model, "models", (model,))]
    attributes = {getattr(part, "attribute", None) for part in parts if isinstance(part, SensitiveModel)}
    return [] if None in attributes else [name for name in sensitive if name not in attributes]


def _unprotected_points(evidence: Evidence) -> Iterator[Point]:
    attributes = {each.name: j for j, each in enumerate(evidence.frequency.sensitive)}
    names = unprotected(evidence.policy.models, list(attributes))
    if not names:
        return
    classes = evidence.recoding.classes(evidence.frequency)
    for name in names:
        sizes = classes.sizes
        alike = int(sizes[classes.most_frequent(attributes[name]) == sizes].sum())
        share = alike / max(int(np.sum(sizes)), 1)
        lists = evidence.frequency.sensitive[attributes[name]].domain.parts is not None
        yield wording.unprotected(name, share, lists=lists)


def _derived_points(evidence: Evidence) -> Iterator[Point]:
    schema = evidence.policy.schema
    quasi = [attribute.name for attribute in schema.quasi]
    # Columns that are released unchanged, and that no model looks at.
    others = [
        name
        for name in columns_that_leave(evidence.released, schema)
        if name not in schema or (schema[name].role == "insensitive" and schema[name].treatment is None)
    ]
    if not others:
        return
    rows = evidence.raw.some_rows([*quasi, *others], _ROWS / max(evidence.frequency.rows, 1))
    if rows is None:
        return
    follows = set(determined_pairs(rows, quasi, others))
    for other in others:
        for one in quasi:
            from_quasi = (one, other) in follows or part_of(rows[other], rows[one])
            if from_quasi or (other, one) in follows or part_of(rows[one], rows[other]):
                yield wording.derived(other, one, follows=from_quasi)
                break


def _repeated_id_points(evidence: Evidence) -> Iterator[Point]:
    schema = evidence.policy.schema
    for name, ids in repeated_ids(evidence.raw, schema).items():
        yield wording.repeated_id(name, ids, _people_of_classes(evidence, name))


def _untrue_label_points(evidence: Evidence) -> Iterator[Point]:
    for attribute in evidence.policy.schema.quasi:
        if isinstance(attribute.hierarchy, Hierarchy) and (outside := outside_of(attribute.hierarchy)):
            yield wording.untrue_label(attribute.name, len(outside))


def _people_of_classes(evidence: Evidence, name: str) -> tuple[int, int, int, int] | None:
    """Count the people of each class, if a column names people.

    Returns
    -------
    The class size that is asked for, the classes with fewer people, all classes, and the fewest people of a
    class. None where the rows are not in memory, or no class is left.
    """
    keys = evidence.frequency.row_keys
    classes = evidence.recoding.classes(evidence.frequency)
    if keys is None or not len(classes):
        return None
    try:
        ids, _ = evidence.raw.numbered([name])
    except TableError:
        return None
    of_key = np.full(evidence.frequency.keys + 1, -1, np.int64)
    of_key[classes.members] = np.repeat(np.arange(len(classes)), np.diff(classes.indptr))
    of_row = of_key[keys]
    rows = of_row >= 0
    width = int(ids.max()) + 1
    people = np.bincount(np.unique(of_row[rows] * width + ids[rows]) // width, minlength=len(classes))
    limits = [int(model.limit) for model in evidence.policy.models if isinstance(model, KAnonymity)]
    k = max(limits, default=int(classes.sizes.min()))
    return k, int((people < k).sum()), len(classes), int(people.min())


def _blanked_points(evidence: Evidence) -> Iterator[Point]:
    policy = evidence.policy
    for name, share in blanked_shares(evidence.frequency, evidence.recoding).items():
        if share > BLANKED_ABOVE:
            column = policy.schema[name]
            yield wording.blanked(
                name,
                share,
                local=not policy.algorithm.full_domain,
                has_level=bool((column.levels or (0,))[0]),
            )


def _suppression_points(evidence: Evidence) -> Iterator[Point]:
    if evidence.suppressed > _MANY:
        yield wording.much_suppressed(evidence.suppressed)
    if evidence.exposed:
        share = evidence.exposed / max(evidence.records, 1)
        yield wording.suppressed_records(evidence.exposed, share, evidence.failing)
    is_released = ~evidence.recoding.suppressed & (evidence.frequency.weights > 0)
    columns = zip(evidence.recoding.domains, evidence.recoding.cells, strict=True)
    # A column of one value had nothing to lose.
    starred = [bool(cells.starred[is_released].all()) for domain, cells in columns if domain.size > 1]
    if starred and all(starred):
        yield wording.nothing_left()


def _few_match_points(evidence: Evidence) -> Iterator[Point]:
    policy, frequency, recoding = evidence.policy, evidence.frequency, evidence.recoding
    if policy.wildcards != "matches-any" or not isinstance(recoding, Local) or not _is_starred(recoding):
        return
    least = max((model.k for model in policy.models if isinstance(model, KAnonymity)), default=2)
    fits = records_that_fit(frequency, recoding)
    records = int(frequency.weights[(fits > 0) & (fits < least)].sum())
    if records:
        yield wording.few_matches(records, records / max(frequency.rows, 1), least)


def _is_starred(recoding: Local) -> bool:
    """Say whether every cell is a single value or `*`."""
    return all(
        bool((are_wildcards(cells.labels) | (cells.lo == cells.hi))[cells.codes].all())
        for cells in recoding.cells
    )


def records_that_fit(frequency: FrequencyTable, recoding: Recoding) -> NDArray[np.int64]:
    """Return the number of released records that fit the values of each key: int64[keys].

    A cell fits a value if it is the value, or if it is `*` or missing. Suppressed records fit nobody. Keys
    are grouped by the columns that a record shows, once for each set of such columns::

        keys (30, 1), (30, 2), (30, 3) with cells 30,* / 30,2 / 30,3: they fit 1, 2 and 2 records
    """
    hidden = [are_wildcards(cells.labels)[cells.codes] for cells in recoding.cells]
    pattern = np.zeros(frequency.keys, np.int64)
    for column, of_key in enumerate(hidden):
        pattern |= of_key.astype(np.int64) << column
    fits = np.zeros(frequency.keys, np.int64)
    is_released = ~recoding.suppressed
    for each in np.unique(pattern[is_released]).tolist():
        visible = [column for column in range(len(hidden)) if not each >> column & 1]
        sizes = [max(frequency.domains[column].size, 1) for column in visible]
        ids, first = group_columns([frequency.codes[column] for column in visible], sizes, frequency.keys)
        of = is_released & (pattern == each)
        fits += np.bincount(ids[of], frequency.weights[of], len(first)).astype(np.int64)[ids]
    return fits


_CHECKS = (
    _column_points, _unprotected_points, _derived_points, _untrue_label_points, _repeated_id_points,
    _blanked_points, _suppression_points, _few_match_points,
)  # fmt: skip
