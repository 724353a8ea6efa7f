"""PRAM's effect on categories, against slow readings of the definitions and against many draws."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import incrowd as ic
from crossed import quick

JOBS = ["a"] * 60 + ["b"] * 30 + ["c"] * 10 + [None] * 5
RAW = pl.DataFrame({"age": 1, "job": JOBS, "site": [("n", "s", None)[n % 3] for n in range(105)]})
MATRICES = {
    "invariant": ic.Pram(0.6),
    "uniform": ic.Pram(0.6, matrix="uniform"),
    "given": ic.Pram(1, matrix="given", moves="a>b:0.2; b>a:0.1; c>a:0.5"),
}


def schema_of(treatment: ic.Pram) -> ic.Schema:
    return ic.Schema(["age"], insensitive=["job", "site"], treatments={"job": treatment})


def probability(pram: ic.Pram, one: str, other: str, frequencies: Counter) -> Fraction:
    """The probability that a value becomes another, as on the page on treatments."""
    if pram.matrix == "given":
        moves = {("a", "b"): Fraction(1, 5), ("b", "a"): Fraction(1, 10), ("c", "a"): Fraction(1, 2)}
        rest = 1 - sum(chance for (source, _), chance in moves.items() if source == one)
        return rest if one == other else moves.get((one, other), Fraction(0))
    stay = Fraction(3, 5)
    drawn = (
        Fraction(frequencies[other], frequencies.total())
        if pram.matrix == "invariant"
        else Fraction(1, len(frequencies))
    )
    return stay * (one == other) + (1 - stay) * drawn


def solved(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Solve a system of equations exactly (Gauss and Jordan)."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for place in range(len(rows)):
        pivot = next(row for row in range(place, len(rows)) if rows[row][place])
        rows[place], rows[pivot] = rows[pivot], rows[place]
        rows[place] = [value / rows[place][place] for value in rows[place]]
        for other in range(len(rows)):
            if other != place:
                times = rows[other][place]
                rows[other] = [x - times * y for x, y in zip(rows[other], rows[place], strict=True)]
    return [row[-1] for row in rows]


@pytest.mark.parametrize("within", [None, "site"])
@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.random_order
def test_matrix_counts_estimates_and_errors_are_those_of_their_definitions(kind, within):
    pram = ic.Pram(**{**MATRICES[kind].settings(), "within": within})
    release = ic.anonymize(RAW, schema_of(pram), "k-anonymity:2")
    changes = ic.transitions(RAW, release)
    order = release.row_map()["row"].to_list()
    pairs = [
        (RAW.row(place - 1)[1], after, RAW.row(place - 1)[2] if within else None)
        for place, after in zip(order, release.table["job"], strict=True)
    ]
    groups = {None} if within is None else {"n", "s", None}
    assert {each.group for each in changes} == groups
    assert len(changes) == len(groups)
    for each in changes:
        here = [pair[:2] for pair in pairs if pair[2] == each.group and pair[0] is not None]
        before = Counter(pair[0] for pair in here)
        values = sorted(before)
        assert list(each.values) == values
        assert each.counted.tolist() == [[here.count((one, other)) for other in values] for one in values]
        matrix = [[probability(pram, one, other, before) for other in values] for one in values]
        assert np.allclose(each.matrix, np.array(matrix, float), rtol=0, atol=1e-12)
        released = [Fraction(sum(pair[1] == value for pair in here)) for value in values]
        undo = (lambda right: right) if kind == "invariant" else (
            lambda right, m=matrix: solved([list(column) for column in zip(*m, strict=True)], right)
        )  # fmt: skip
        assert np.allclose(each.estimated, [float(x) for x in undo(released)], rtol=0, atol=1e-9)
        # Each record alone: it adds a column of what was undone, with the probability of its value.
        columns = [
            undo([Fraction(one == place) for one in range(len(values))]) for place in range(len(values))
        ]
        for place, error in enumerate(each.errors):
            variance = Fraction(0)
            for one, row in zip(values, matrix, strict=True):
                mean = sum(chance * columns[to][place] for to, chance in enumerate(row))
                square = sum(chance * columns[to][place] ** 2 for to, chance in enumerate(row))
                variance += before[one] * (square - mean**2)
            assert error == pytest.approx(math.sqrt(variance), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", quick(MATRICES, next(iter(MATRICES))))
def test_estimates_spread_around_the_frequencies_before_as_their_errors_say(kind):
    raw = RAW.drop_nulls("job")
    times, before = 120, Counter(raw["job"])
    changes = [
        ic.transitions(raw, ic.anonymize(raw, schema_of(MATRICES[kind]), "k-anonymity:2"))[0]
        for _ in range(times)
    ]
    estimates = np.array([each.estimated for each in changes])
    errors = np.array(changes[0].errors)
    assert (errors > 1).all()
    # Six standard errors of a mean: once in 500 million.
    assert (abs(estimates.mean(axis=0) - [before[value] for value in "abc"]) < 6 * errors / times**0.5).all()
    assert np.allclose(estimates.std(axis=0), errors, rtol=0.4)


def test_what_is_not_undone_is_not_estimated():
    schema = schema_of(ic.Pram(0, matrix="uniform"))
    [change] = ic.transitions(RAW, ic.anonymize(RAW, schema, "k-anonymity:2"))
    assert change.estimated is None
    assert change.errors is None
    assert change.to_dict()["standard_errors"] is None
    assert np.allclose(change.matrix, 1 / 3)


@pytest.mark.parametrize(
    ("released", "columns", "said"),
    [
        (
            RAW.with_columns(job="planted" + pl.col("job")),
            None,
            "'job': 100 records changed as its matrix excludes",
        ),
        (RAW.reverse(), None, "10 records changed as its matrix excludes; take the policy and the row map"),
        (RAW.with_columns(job=pl.col("job").replace("c", "b")), None, "10 records changed as its matrix"),
        (RAW, ["site"], "'site' has no treatment pram"),
        (RAW.head(3), None, "105 rows and the released one 3"),
        (RAW.drop("job"), None, "in the released table the table has no column 'job'"),
    ],
)
def test_what_was_not_made_by_the_matrix_is_refused(released, columns, said):
    with pytest.raises(ic.InputError, match=said) as error:
        ic.transitions(RAW, released, columns, schema=schema_of(MATRICES["given"]))
    assert "planted" not in str(error.value)


def test_a_column_of_too_many_values_is_refused():
    raw = pl.DataFrame({"age": 1, "job": [f"j{n}" for n in range(1001)], "site": "n"})
    with pytest.raises(ic.ParameterError, match="'job' has 1,001 values"):
        ic.transitions(raw, raw, schema=schema_of(MATRICES["invariant"]))
