"""The points of a release: dangers and losses beyond the models that need an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import accumulate, chain, combinations, repeat
from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.core.errors import IncrowdError, TableError
from incrowd.core.hierarchy import Hierarchy
from incrowd.core.io.columns import nameless
from incrowd.core.kernels.grouping.grouping import group_columns
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.reading.cells import Span, read_span
from incrowd.core.reading.exact import moment_of
from incrowd.core.reading.missing import null_values_of
from incrowd.core.reading.spellings import Spelling
from incrowd.core.recoding import BLANKED_ABOVE, Local, blanked_shares
from incrowd.core.table.matching import are_wildcards
from incrowd.core.treatments.round import Round
from incrowd.measures.privacy.base import SensitiveModel
from incrowd.measures.privacy.k_anonymity import KAnonymity
from incrowd.release.drafting.functional_dependencies import determined_pairs, part_of, repeated_ids
from incrowd_verify.gate import wording
from incrowd_verify.gate.columns import are_numbers, points_of_texts, texts_of
from incrowd_verify.gate.points import Point, answered

if TYPE_CHECKING:
    from incrowd.core.recoding import Recoding
    from incrowd.core.table.frequency import FrequencyTable
    from incrowd.core.table.schema import Schema
    from incrowd.engines import Engine
    from incrowd.measures.privacy import PrivacyModel
    from incrowd.release.policy.policy import Policy


_TELLING = 0.2
"""Share of the records with values of their own from which there is a point: a fifth."""
_PAIRED = 12
"""Columns with the most values that are looked at in pairs."""
_PAIRED_ROWS = 20_000
"""Rows, spread evenly, by which most pairs are seen to be harmless."""


def columns_that_leave(engine: Engine, schema: Schema) -> list[str]:
    """Return the released columns in order, quasi-identifiers included."""
    after = schema.after_treatment()
    return [
        name
        for name in engine.columns
        if (after[name].leaves if name in after else schema.unlisted == "keep")
    ]


def points_of_columns(engine: Engine, schema: Schema, rows: int) -> Iterator[Point]:
    """Return the points of all released columns.

    Parameters
    ----------
    engine
        The rows that leave, with their treatments. Cells of quasi-identifiers may be raw or released.
    schema
        The roles of the columns.
    rows
        All records.
    """
    quasi = {attribute.name for attribute in schema.quasi}
    compared = {attribute.name for attribute in schema.sensitive if attribute.parts is None}
    sizes = {}
    for name in columns_that_leave(engine, schema):
        if name in quasi:
            continue
        try:
            values, counts = engine.values_of([name])
        except (IncrowdError, pl.exceptions.PolarsError):
            share = _lone_share(engine, [name], rows)
            if share >= _TELLING:
                yield wording.unique_column(name, share, numbers=False)
            yield wording.unread_column(name, "its values cannot be listed where the rows are")
            continue
        column = nameless(values.to_series())
        share = int((counts == 1).sum()) / max(rows, 1)
        if share >= _TELLING:
            yield wording.unique_column(name, share, numbers=are_numbers(column))
        else:
            sizes[name] = len(column)
        if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
            yield wording.unread_column(name, "its values are neither texts, numbers nor dates")
            continue
        if (point := outlying_value(name, column, counts, rows, schema)) is not None:
            yield point
        if (texts := texts_of(column, counts)) is not None:
            records = int(counts.sum())
            yield from points_of_texts(name, *texts, records, quasi=False, compared=name in compared)
    yield from _unique_pairs(engine, sizes, rows)


def _unique_pairs(engine: Engine, sizes: Mapping[str, int], rows: int) -> Iterator[Point]:
    """Return points of pairs of columns that single out many records together.

    Parameters
    ----------
    sizes
        How many values each column has.
    """
    largest = set(sorted(sizes, key=lambda name: -sizes[name])[:_PAIRED])
    several = [
        pair
        for pair in combinations([name for name in sizes if name in largest], 2)
        if sizes[pair[0]] * sizes[pair[1]] >= _TELLING * rows
    ]
    if not several:
        return
    # Who is alone among all is alone among some. Half of the limit is room for rows that are not like others.
    sample = engine.some_rows(sorted({*chain.from_iterable(several)}), _PAIRED_ROWS / max(rows, 1))
    pairs = {}
    for pair in several:
        if sample is None or _unique_share([sample[name] for name in pair]) >= _TELLING / 2:
            share = _lone_share(engine, pair, rows)
            if share >= _TELLING:
                pairs[pair] = share
    yield from wording.unique_together(pairs)


def _lone_share(engine: Engine, names: Sequence[str], rows: int) -> float:
    """Return the share of records with unique values in some columns, or 0 if unknown."""
    try:
        return (engine.lone_rows(names) or 0) / max(rows, 1)
    except IncrowdError:
        return 0.0


def _unique_share(columns: Sequence[pl.Series]) -> float:
    """Return the share of rows with a unique combination of values."""
    rows = pl.DataFrame([column.alias(f"c{place}") for place, column in enumerate(columns)])
    sizes = rows.group_by(pl.all()).len("rows")
    return sizes.filter(pl.col("rows") == 1).height / max(rows.height, 1)


def rounding_base(
    column: pl.Series, others: Sequence[pl.Series] = (), bases: Iterable[float] | None = None
) -> float | None:
    """Return the smallest rounding base at which numbers no longer single out records.

    Parameters
    ----------
    column
        The column as it came.
    others
        Columns that single out records together with it; none if it does so alone.
    bases
        The bases that are tried, ascending; powers of ten from 10 if None.

    Returns
    -------
    None where the column has other values than numbers, or where no rounding helps that leaves two values.

    Examples
    --------
    >>> rounding_base(pl.Series(range(1000)))
    10
    >>> rounding_base(pl.Series(["a", "b"])) is None
    True
    """
    if not are_numbers(column):
        return None
    numbers = column.cast(pl.Float64, strict=False)
    for base in accumulate(repeat(10), mul) if bases is None else bases:
        rounded = (numbers / base).round()
        if rounded.n_unique() < 2:
            return None
        if all(
            _unique_share([rounded, *other]) < _TELLING for other in ([[each] for each in others] or [[]])
        ):
            return base
    return None


_RECORDS = 20
"""Records among which somebody stands apart: of fewer normal numbers one does so by chance too often."""
_VALUES, _MULTIPLES = 15, 3
"""Different values that the others have, so that they are quantities and no codes; after a rounding fewer."""
_EXACT_NUMBER = r"^([+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?|[+-]?(?i:nan|inf))$"
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?$"


def outlying_value(
    name: str, values: pl.Series, counts: NDArray[np.int64], rows: int, schema: Schema
) -> Point | None:
    """Return the point of a column with a single distant record, or None.

    The largest or the smallest value is of one record, and is farther from the next value than all others are
    from each other. That is Dixon's ratio r10 above 1/2. What means missing is no value.

    Parameters
    ----------
    values, counts
        The distinct values, and how many records have each.
    rows
        All records.

    References
    ----------
    Dixon, Analysis of extreme values, Annals of Mathematical Statistics 21(4), 1950.
    """
    values = null_values_of(schema.nulls(name)).without(values)
    has_value = values.is_not_null()
    spelling = schema[name].spelling if name in schema else Spelling()
    numbers, dates = _numbers_in(values.filter(has_value), spelling)
    if numbers is None:
        return None
    finite = np.isfinite(numbers)
    numbers, counts = numbers[finite], counts[has_value.to_numpy()][finite]
    rounded = name in schema and isinstance(schema[name].treatment, Round)
    for sign, largest in ((1, True), (-1, False)):
        if _stands_apart(sign * numbers, counts, _MULTIPLES if rounded else _VALUES):
            of, share = int(counts.sum()), 1 / max(rows, 1)
            return wording.outlying_value(name, share, of, largest=largest, dates=dates, rounded=rounded)
    return None


def _stands_apart(numbers: NDArray[np.float64], counts: NDArray[np.int64], values: int) -> bool:
    """Say whether the largest number is unique and far from the other numbers."""
    if len(numbers) <= values:
        return False
    beyond = numbers == numbers.max()
    others = numbers[~beyond]
    if counts[beyond].sum() != 1 or counts.sum() <= _RECORDS or not len(others):
        return False
    high, low = others.max(), others.min()
    return bool(numbers.max() - high > high - low) and len(np.unique(others)) >= values


def _numbers_in(values: pl.Series, spelling: Spelling) -> tuple[NDArray[np.float64] | None, bool]:
    """Read numbers, or dates as days, in plain texts and in declared spellings, too.

    Returns
    -------
    The numbers, None where the column has other values; and whether they are days.
    """
    kind = values.dtype
    if kind == pl.Date or isinstance(kind, pl.Datetime):
        return _days(values), True
    if kind.is_numeric():
        return values.cast(pl.Float64).to_numpy(), False
    if kind not in (pl.String, pl.Categorical, pl.Enum) or not len(values):
        return None, False
    texts = values.cast(pl.String)
    if spelling:
        plain = pl.Series([spelling.read(text) for text in texts], dtype=pl.String)
        texts = texts if plain.has_nulls() else plain
    if texts.str.contains(_EXACT_NUMBER).all():
        return texts.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy(), False
    if texts.str.contains(_MOMENT).all():
        return _days(texts.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)), True
    return None, False


def _days(values: pl.Series) -> NDArray[np.float64]:
    if isinstance(values.dtype, pl.Datetime):
        values = values.dt.convert_time_zone("UTC") if values.dtype.time_zone else values
        values = values.dt.date()
    return values.cast(pl.Int32).cast(pl.Float64).fill_null(np.nan).to_numpy()


_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?")


def outside_of(tree: Hierarchy) -> list[tuple[str, str]]:
    """Return each value or interval outside the interval above, with that interval.

    Labels are intervals if all values below them are numbers, or all are dates, or intervals of them; below
    the root there may be others. Labels without brackets are intervals only if some value lies within one:
    50100 may be in a group ``501-502`` of codes.

    Examples
    --------
    >>> from incrowd import Hierarchy
    >>> tree = Hierarchy.from_paths([("31", "[30, 40[", "*"), ("50", "[30, 40[", "*")])
    >>> outside_of(tree)
    [('50', '[30, 40[')]
    """
    return _outside_intervals(tree, "number") or _outside_intervals(tree, "date")


def _place_of(text: str, kind: str) -> Any:
    if kind == "date":
        return moment_of(text)
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def _outside_intervals(tree: Hierarchy, kind: str) -> list[tuple[str, str]]:
    labels, parents = tree.labels, tree.parents.tolist()
    leaves = set(tree.leaves.tolist())

    def spans_of(nodes: Iterable[int]) -> dict[int, Span]:
        candidates = ((node, labels[node]) for node in nodes if re.search("[0-9]", labels[node]))
        return {node: span for node, label in candidates if (span := read_span(label, kind))}

    # Few nodes are above others, and mostly none of these is an interval.
    spans = spans_of(set(parents[1:]))
    if not spans:
        return []
    places = {leaf: place for leaf in leaves if (place := _place_of(labels[leaf], kind)) is not None}
    if not places:
        return []
    spans |= spans_of(leaves - places.keys())
    if kind == "number" and all(place == place.to_integral_value() for place in places.values()):
        spans = {node: span.of_whole_numbers() for node, span in spans.items()}
    # Parents come before their children.
    nearest = [-1] * len(labels)
    for node, parent in enumerate(parents[1:], 1):
        nearest[node] = parent if parent in spans else nearest[parent]
    if any(nearest[leaf] > 0 and leaf not in places and leaf not in spans for leaf in leaves):
        return []
    at = {leaf: Span(place, place) for leaf, place in places.items()} | spans
    lies = {node: at[node].within(spans[nearest[node]]) for node in sorted(at) if nearest[node] >= 0}
    bracketed = {node for node in spans if labels[node][0] in "[(]"}
    if not any(lies[leaf] for leaf in places if nearest[leaf] >= 0 and nearest[leaf] not in bracketed):
        lies = {node: within for node, within in lies.items() if nearest[node] in bracketed}
    return [(labels[node], labels[nearest[node]]) for node, within in lies.items() if not within]


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
