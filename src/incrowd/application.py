"""apply_recoding(): yesterday's decisions for the next batch of rows."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InfeasibleError, ParameterError
from incrowd.recoding import SUPPRESSED, FullDomain, Recoding, SingleDimensional
from incrowd.schema import Attribute, Schema

if TYPE_CHECKING:
    import polars as pl

    from incrowd.assessment import Assessment
    from incrowd.classes import EquivalenceClasses
    from incrowd.domain import Domain
    from incrowd.frequency import FrequencyTable
    from incrowd.io.files import CsvFormat
    from incrowd.policy import Policy

__all__ = ["Applied", "apply_recoding"]

_CELLS = 8_000_000


@dataclass(frozen=True)
class Applied:
    """A batch of rows, recoded by decisions that were made before.

    Attributes
    ----------
    table
        The rows, of the kind that came in and in their order; columns as the schema releases them.
    records
        Rows of the batch.
    outside
        Rows that no cell of the recoding covers, as those with a value that it does not know; suppressed.
    too_small
        Rows whose class does not satisfy the models; suppressed.
    suppressed
        All suppressed rows, with those that came in as ``*`` or that the recoding suppressed.
    privacy
        The batch, or where a release was named the batch and that together, measured.
    """

    table: Any = field(repr=False)
    records: int
    outside: int
    too_small: int
    suppressed: int
    privacy: Assessment

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: no value of the tables is in it."""
        return {
            "format": "incrowd batch",
            "version": 1,
            "records": self.records,
            "outside": self.outside,
            "too_small": self.too_small,
            "suppressed": self.suppressed,
            "privacy": self.privacy.to_dict(cells=False),
        }


def apply_recoding(
    recoding: Recoding | str | os.PathLike[str],
    table: Any,
    policy: Policy,
    *,
    beside: Any = None,
    csv_format: CsvFormat | None = None,
) -> Applied:
    """Recode new rows as an earlier table was, check the result, and suppress what does not fit.

    A full-domain recoding takes every value to its column's level; of a local one a row gets the cells of the
    class that covers it, of several the one that loses least. Rows that nothing covers are suppressed, and
    then every row of a class that does not satisfy the policy's models, until all do.

    Parameters
    ----------
    recoding
        A recoding, or the folder where it was saved.
    table
        The new rows: a pandas, Polars or PyArrow table, or the path of a CSV or Parquet file.
    policy
        The roles of the columns and the models; its algorithm is not looked at.
    beside
        The earlier release, if both will be out together: then classes are those of both, and only new rows
        are suppressed.
    csv_format
        How a CSV is written, where it is not plain.

    Raises
    ------
    InputError
        When the tables or the recoding do not fit the policy.
    InfeasibleError
        When the models do not hold whatever of the new rows is suppressed, or more rows than the policy
        allows would have to be.
    """
    import narwhals as nw

    from incrowd.assessment import assess_classes
    from incrowd.engines import engine_for, loaded
    from incrowd.io.frames import column_like, plain, without_traces
    from incrowd.release import judge

    if not isinstance(recoding, Recoding):
        recoding = Recoding.load(recoding)
    table = loaded(table, csv_format)
    engine = engine_for(table)
    schema = policy.schema
    columns = schema.released(engine.columns)
    names = [attribute.name for attribute in schema.quasi]
    if [domain.name for domain in recoding.domains] != names:
        raise ParameterError(
            f"the recoding is one of {', '.join(domain.name for domain in recoding.domains)}, and the "
            "policy's "
            f"quasi-identifiers are {', '.join(names)}"
        )
    if isinstance(recoding, SingleDimensional):
        raise ParameterError(f"recodings by {recoding.algorithm} cannot be applied to other rows yet")
    plainly = Schema.of(
        [Attribute(domain.name, "quasi", domain.kind) for domain in recoding.domains],
        null_values=schema.null_values,
    )
    frequency = engine.count(plainly)
    rows = frequency.row_keys
    if rows is None:
        raise ParameterError("a batch has to be in memory; give a frame or one file")
    labels, covered = (_levels if isinstance(recoding, FullDomain) else _covered)(recoding, frequency)
    # The last place is that of rows that came in suppressed.
    texts = [np.append(np.array(column, object), SUPPRESSED)[rows] for column in labels]
    kept = np.append(covered, False)[rows]
    outside = int((~np.append(covered, True)[rows]).sum())
    kept &= ~np.logical_and.reduce([text == SUPPRESSED for text in texts])
    before = None if beside is None else loaded(beside)
    frame = nw.from_native(table, eager_only=True)
    measured = [*names, *(attribute.name for attribute in schema.sensitive)]

    def recoded() -> dict[str, Any]:
        made = {}
        for name, text in zip(names, texts, strict=True):
            cells = np.where(kept, text, SUPPRESSED)
            distinct = list(dict.fromkeys(cells.tolist()))
            place = {label: number for number, label in enumerate(distinct)}
            codes = np.array([place[cell] for cell in cells.tolist()], np.int64)
            made[name] = column_like(frame, name, codes, distinct)
        return made

    too_small = 0
    while True:
        cells = recoded()
        batch = without_traces(frame, {name: cells.get(name, plain(frame[name])) for name in columns})
        both = _polars(batch, measured)
        if before is not None:
            both = _both(_polars(before, measured), both)
        failing, classes = _failing(both, policy)
        failing = failing[len(failing) - len(rows) :] & kept
        if not failing.any():
            break
        too_small += int(failing.sum())
        kept &= ~failing
    suppressed = int((~kept).sum())
    if suppressed > policy.max_suppression * len(rows) + 1e-9:
        raise InfeasibleError(
            f"apply: {suppressed} of {len(rows)} rows would be suppressed ({outside} are covered by no cell, "
            f"{too_small} in classes that fail), where {policy.max_suppression:.2%} may be; raise "
            "max_suppression, "
            "name the earlier release beside, or anonymize both together"
        )
    if suppressed == len(rows):
        raise InfeasibleError(
            f"apply: every row would be suppressed ({outside} are covered by no cell, {too_small} in "
            "classes that "
            "fail); name the earlier release beside, or anonymize both together"
        )
    assessment = assess_classes(classes, policy.models)
    judge(assessment, replace(policy, max_suppression=1.0))
    return Applied(batch, len(rows), outside, too_small, suppressed, assessment)


def _polars(table: Any, names: list[str]) -> pl.DataFrame:
    import narwhals as nw

    frame: pl.DataFrame = nw.from_native(table, eager_only=True).select(names).to_polars()
    return frame


def _both(before: pl.DataFrame, batch: pl.DataFrame) -> pl.DataFrame:
    """Put an earlier release above the batch; a file may have read its columns as other types."""
    import polars as pl

    if before.schema != batch.schema:
        before, batch = (frame.select(pl.all().cast(pl.String)) for frame in (before, batch))
    return pl.concat([before, batch])


def _failing(table: pl.DataFrame, policy: Policy) -> tuple[NDArray[np.bool_], EquivalenceClasses]:
    """Say which rows are in a class that does not satisfy the models."""
    from incrowd.engines import read_classes

    joint = any(model.is_joint for model in policy.models)
    classes = read_classes(table, policy.schema, joint=joint)
    rows = classes.frequency.row_keys
    assert rows is not None
    good = np.ones(len(classes), np.bool_)
    for model in policy.models:
        if model.needs_population:
            raise ParameterError(f"apply: {model.name} needs a population, which a batch has not got")
        good &= model.holds(classes)
    bad = ~np.append(good, True)
    return bad[rows], classes


Labels = list[list[str | None]]


def _places(known: Domain, new: Domain) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each new value the ranks on either side of it, -1 where it is outside.

    A known value is on both sides of itself; a number between two known ones is covered by what covers both.
    """
    rank = {value: place for place, value in enumerate(known.values)}
    low = np.array([rank.get(value, -1) for value in new.values], np.int64)
    high = low.copy()
    if known.hierarchy is None and known.ordered and new.ordered:
        numbers = known.numbers[~np.isnan(known.numbers)]
        unknown = np.flatnonzero((low < 0) & ~np.isnan(new.numbers))
        after = np.searchsorted(numbers, new.numbers[unknown])
        between = (after > 0) & (after < len(numbers))
        low[unknown[between]] = after[between] - 1
        high[unknown[between]] = after[between]
    return low, high


def _levels(recoding: Recoding, frequency: FrequencyTable) -> tuple[Labels, NDArray[np.bool_]]:
    """Take every value to its column's level; a key that was suppressed stays so."""
    assert isinstance(recoding, FullDomain)
    labels: Labels = []
    covered = np.ones(frequency.keys, np.bool_)
    known = []
    for domain, new, codes, level in zip(
        recoding.domains, frequency.domains, frequency.codes, recoding.levels, strict=True
    ):
        low, _ = _places(domain, new)
        if domain.hierarchy is None:
            texts = [SUPPRESSED if level else value for value in new.values]
            reached = np.ones(new.size, np.bool_)
        else:
            nodes = domain.hierarchy.climb(level)
            reached = low >= 0
            texts = [domain.hierarchy.labels[nodes[place]] if place >= 0 else None for place in low.tolist()]
        labels.append([texts[code] for code in codes.tolist()])
        covered &= reached[codes]
        known.append(low[codes])
    gone = {tuple(key) for key in np.column_stack(recoding.keys)[recoding.suppressed].tolist()}
    if gone:
        again = np.array([tuple(key) in gone for key in np.column_stack(known).tolist()])
        for column in labels:
            for key in np.flatnonzero(again).tolist():
                column[key] = SUPPRESSED
    return labels, covered


def _covered(recoding: Recoding, frequency: FrequencyTable) -> tuple[Labels, NDArray[np.bool_]]:
    """Give every key the cells of the class that covers it and loses least."""
    live = np.flatnonzero(~recoding.suppressed)
    entries = np.column_stack([cells.codes[live].astype(np.int64) for cells in recoding.cells])
    entries = np.unique(entries, axis=0)
    width = len(recoding.cells)
    lo, hi, loss = np.zeros((3, len(entries), width))
    for j, cells in enumerate(recoding.cells):
        lo[:, j], hi[:, j], loss[:, j] = (part[entries[:, j]] for part in (cells.lo, cells.hi, cells.loss))
    order = np.argsort(loss.sum(axis=1), kind="stable")
    entries, lo, hi = entries[order], lo[order], hi[order]
    sides = [
        tuple(side[codes] for side in _places(domain, new))
        for domain, new, codes in zip(recoding.domains, frequency.domains, frequency.codes, strict=True)
    ]
    chosen = np.full(frequency.keys, -1)
    block = max(_CELLS // max(len(entries), 1), 1)
    for start in range(0, frequency.keys, block):
        here = slice(start, start + block)
        inside = np.ones((len(chosen[here]), len(entries)), np.bool_)
        for j, (low, high) in enumerate(sides):
            a, b = low[here, None], high[here, None]
            inside &= (a >= 0) & (lo[None, :, j] <= a) & (b <= hi[None, :, j])
        found = inside.any(axis=1) if len(entries) else np.zeros(len(inside), np.bool_)
        chosen[here] = np.where(found, inside.argmax(axis=1) if len(entries) else -1, -1)
    covered = chosen >= 0
    labels: Labels = []
    for j, cells in enumerate(recoding.cells):
        column: list[str | None] = [SUPPRESSED] * frequency.keys
        for key in np.flatnonzero(covered).tolist():
            column[key] = cells.labels[entries[chosen[key], j]]
        labels.append(column)
    return labels, covered
