"""transitions(): the changes of categories by PRAM, and estimates of the frequencies before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from incrowd.core.errors import ParameterError, SchemaError, named, setting
from incrowd.core.lazy import NDArray, np, pl
from incrowd.core.markup import InNotebooks
from incrowd.core.treatments.pram import Pram
from incrowd.release.jobs.compare.perturbation import Comparison, rows_before
from incrowd.release.jobs.measure.row_pairs import read_columns

if TYPE_CHECKING:
    from incrowd.core.table.schema import Schema

_MOST = 1_000
_SURE = 1e-12


@dataclass(frozen=True, eq=False)
class Transitions(InNotebooks):
    """The changes of the values of a column by PRAM, in all rows or in a group of `within`.

    Attributes
    ----------
    column
        The column.
    within, group
        The column in whose groups values were drawn, and the group; None where there are none.
    values
        The values, in order. Everything below has one entry for each.
    matrix
        float64[values, values]: the matrix that was used, as the probability that a value (row) becomes
        another (column).
    counted
        int64[values, values]: in how many records it did.
    estimated
        The frequencies before, as the release tells them without bias (`Pram.estimate`); None where the
        matrix cannot be undone.
    errors
        Standard errors of these estimates; None as there.
    """

    _shown = ("column", "within", "records")

    column: str
    within: str | None
    group: str | None = field(repr=False)
    values: tuple[str, ...] = field(repr=False)
    matrix: NDArray[np.float64] = field(repr=False)
    counted: NDArray[np.int64] = field(repr=False)
    estimated: tuple[float, ...] | None = field(repr=False)
    errors: tuple[float, ...] | None = field(repr=False)

    @property
    def records(self) -> int:
        """Records with a value."""
        return int(self.counted.sum())

    @property
    def before(self) -> NDArray[np.int64]:
        """Records that had each value."""
        return np.asarray(self.counted.sum(axis=1), np.int64)

    @property
    def after(self) -> NDArray[np.int64]:
        """Records that have each value in the release."""
        return np.asarray(self.counted.sum(axis=0), np.int64)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, with the values of the column."""
        return {
            "column": self.column,
            "within": self.within,
            "group": self.group,
            "records": self.records,
            "values": list(self.values),
            "matrix": self.matrix.tolist(),
            "counted": self.counted.tolist(),
            "before": self.before.tolist(),
            "after": self.after.tolist(),
            "estimated": None if self.estimated is None else list(self.estimated),
            "standard_errors": None if self.errors is None else list(self.errors),
        }


def transitions(
    table: Any,
    released: Any,
    columns: Sequence[str] | None = None,
    *,
    row_map: Any = None,
    by: str | None = None,
    schema: Schema | None = None,
    null_values: Sequence[str] = (),
) -> list[Transitions]:
    """Count the changes by PRAM in columns, row by row, beside the matrix of the treatment.

    The matrix is made of the frequencies of the raw table. So it is for a table that was anonymized, not for
    a batch that `apply` treated: its matrix is that of the first table.

    Let T be the number of records with each value in the raw table, P the matrix and L what was counted in
    the release. The expected value of L is P'T. So the inverse of P' times L estimates T without bias; for an
    invariant matrix P'T = T, so L itself does. L has the covariances diag(P'T) - P' diag(T) P, and from them
    follow the standard errors. They are those of the draw, given the raw table.

    Parameters
    ----------
    table
        The raw table: a frame or a file.
    released
        A `Release` of it, whose row map tells which row is which, or a table whose row N is row N of the raw
        one.
    columns
        Columns with PRAM; by default all that have it in the schema.
    row_map, by
        Which raw row each released row is, where `released` is a table; see `incrowd.perturbation`.
    schema
        What became of the columns; only needed where `released` is no `Release`.
    null_values
        Further texts that mean missing.

    Returns
    -------
    One for each column and group.

    Raises
    ------
    InputError
        When a column has no PRAM, or a record changed as its matrix excludes.

    Examples
    --------
    >>> import incrowd as ic
    >>> import polars as pl
    >>> raw = pl.DataFrame({"job": ["a", "a", "b"]})
    >>> schema = ic.Schema([], insensitive=["job"], treatments={"job": "pram:0.9,matrix=uniform"})
    >>> [result] = ic.transitions(raw, raw, schema=schema)
    >>> result.matrix.round(2).tolist(), result.counted.tolist()
    ([[0.95, 0.05], [0.05, 0.95]], [[2, 0], [0, 1]])

    References
    ----------
    Gouweleeuw, Kooiman, Willenborg and de Wolf, Post randomisation for statistical disclosure control: theory
    and implementation, Journal of Official Statistics 14(4), 1998 (the estimate and its variance).
    """
    comparison = Comparison.of_tables(table, released, row_map, by, schema, "transitions")
    treated = _pram_columns(comparison.schema, columns)
    if not treated:
        return []
    needed = list(dict.fromkeys(each for name, pram in treated.items() for each in (name, *pram.columns)))
    schema, job, names = comparison.schema, "transitions", list(treated)
    raw = read_columns(table, needed, "the raw table", schema, job, null_values)
    after = read_columns(comparison.released, names, "the released table", schema, job, null_values)
    places = rows_before(len(raw[0]), len(after[0]), comparison.row_map, "transitions")
    before = {name: series.gather(places) for name, series in zip(needed, raw, strict=True)}
    results: list[Transitions] = []
    for (name, pram), released_column in zip(treated.items(), after, strict=True):
        rows = {"before": before[name], "after": released_column}
        if pram.within is not None:
            rows["group"] = before[pram.within]
        results += _transitions_of_groups(name, pram, rows)
    return results


def _pram_columns(schema: Schema | None, columns: Sequence[str] | None) -> dict[str, Pram]:
    """Return the columns with PRAM."""
    treatments = {
        each.name: each.treatment
        for each in (() if schema is None else schema.treated)
        if isinstance(each.treatment, Pram)
    }
    names = list(treatments) if columns is None else list(columns)
    if wrong := [name for name in names if name not in treatments]:
        raise ParameterError(
            f"transitions: {named(wrong)} has no treatment pram in the "
            + setting("schema (schema=...)", "policy (--policy)")
        )
    return {name: treatments[name] for name in names}


def _transitions_of_groups(name: str, pram: Pram, rows: dict[str, pl.Series]) -> list[Transitions]:
    frame = pl.DataFrame(rows)
    if lost := int((frame["before"].is_null() != frame["after"].is_null()).sum()):
        raise _excluded_error(name, lost)
    frame = frame.drop_nulls("before")
    if pram.within is None:
        return [_transitions(name, pram, None, frame)]
    parts = frame.sort("group", maintain_order=True).partition_by("group", maintain_order=True)
    return [_transitions(name, pram, part["group"][0], part) for part in parts]


def _transitions(name: str, pram: Pram, group: str | None, frame: pl.DataFrame) -> Transitions:
    values: list[str] = frame["before"].unique().sort().to_list()
    if pram.matrix == "given":
        values = sorted({*values, *frame["after"].unique()})
    if len(values) > _MOST:
        raise ParameterError(
            f"transitions: column {name!r} has {len(values):,} values, and a matrix of {_MOST:,} is the "
            "largest that is made"
        )
    place = {value: number for number, value in enumerate(values)}
    outside = int((~frame["after"].is_in(values)).sum())
    if outside:
        raise _excluded_error(name, outside)
    counted = np.zeros((len(values), len(values)), np.int64)
    pairs = [
        frame[side].replace_strict(place, return_dtype=pl.Int64()).to_numpy() for side in ("before", "after")
    ]
    np.add.at(counted, (pairs[0], pairs[1]), 1)
    before = counted.sum(axis=1)
    matrix = pram.transition(values, before)
    excluded = int(counted[matrix <= _SURE].sum())
    if excluded:
        raise _excluded_error(name, excluded)
    estimated, errors = _estimate(pram, values, matrix, counted)
    return Transitions(name, pram.within, group, tuple(values), matrix, counted, estimated, errors)


def _excluded_error(name: str, records: int) -> SchemaError:
    return SchemaError(
        f"transitions: column {name!r}: {records:,} records changed as its matrix excludes; take the policy "
        "and the row map of this release ("
        + setting("schema, row_map", "--policy, --row-map")
        + "), and the raw table that it was made of"
    )


def _estimate(
    pram: Pram, values: list[str], matrix: NDArray[np.float64], counted: NDArray[np.int64]
) -> tuple[tuple[float, ...] | None, tuple[float, ...] | None]:
    """Estimate the frequencies before with standard errors, or return None for a singular matrix."""
    before, after = counted.sum(axis=1), counted.sum(axis=0)
    try:
        frequencies = pram.estimate(dict(zip(values, after.tolist(), strict=True)))
    except ParameterError:
        return None, None
    inverse = np.eye(len(values)) if pram.matrix == "invariant" else np.linalg.inv(matrix.T)
    spread = np.diag(matrix.T @ before) - matrix.T @ np.diag(before) @ matrix
    variances = np.diag(inverse @ spread @ inverse.T)
    # Where nothing is drawn the variance is 0, but for rounding.
    errors = np.sqrt(np.maximum(variances, 0.0))
    return tuple(frequencies[value] for value in values), tuple(errors.tolist())
