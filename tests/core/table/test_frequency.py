"""FrequencyTable: every combination of values once, with a weight and sensitive values."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.core.kernels import jit
from incrowd.core.table.domain import Dictionary, Domain
from incrowd.core.table.frequency import FrequencyTable, smallest_codes
from incrowd.engines import engine_for

SCHEMA = ic.Schema(quasi=["a", "b"], sensitive=["s", "n"])


@st.composite
def frames(draw):
    """Small tables with missing values and rows that were suppressed before."""
    row = st.tuples(
        st.sampled_from(["x", "y", None]),
        st.sampled_from(["1", "2", "10", None]),
        st.sampled_from(["flu", "cold", "None", None]),
        st.sampled_from([5, 7, None]),
    )
    gone = st.tuples(st.just("*"), st.just("*"), st.sampled_from(["flu", "gout"]), st.sampled_from([5, 9]))
    rows = draw(st.lists(row, min_size=1, max_size=20)) + draw(st.lists(gone, max_size=4))
    rows = draw(st.permutations(rows))
    return pl.DataFrame(
        rows, schema={"a": pl.String, "b": pl.String, "s": pl.String, "n": pl.Int64}, orient="row"
    )


def keys_of(frame: pl.DataFrame) -> list[tuple[str | None, str | None] | None]:
    """Each row's key, None for a suppressed row."""
    return [None if key == ("*", "*") else key for key in frame.select("a", "b").rows()]


@given(frames())
def test_keys_and_weights_are_those_of_a_counter(frame):
    frequency = engine_for(frame).count(SCHEMA).frequency
    keys = keys_of(frame)
    expected = Counter(key for key in keys if key is not None)
    result = {(record["a"], record["b"]): record["records"] for record in frequency.to_records()}
    assert result == expected
    assert frequency.keys == len(expected) == len(result)
    assert frequency.suppressed == keys.count(None)
    assert (frequency.records, frequency.rows) == (expected.total(), frame.height)
    assert frequency.weights.min() > 0
    assert repr(frequency) == f"FrequencyTable({frequency.records} records, {frequency.keys} keys of a, b)"


@given(frames())
def test_every_row_knows_its_key(frame):
    frequency = engine_for(frame).count(SCHEMA).frequency
    records = frequency.to_records()
    named = [
        None if number < 0 else (records[number]["a"], records[number]["b"])
        for number in frequency.row_keys.tolist()
    ]
    assert named == keys_of(frame)
    # Keys are numbered in order of first appearance.
    seen = [number for number in dict.fromkeys(frequency.row_keys.tolist()) if number >= 0]
    assert seen == sorted(seen)


@given(frames())
def test_sensitive_values_are_counted_per_key_and_in_the_whole(frame):
    frequency = engine_for(frame).count(SCHEMA).frequency
    keys = keys_of(frame)
    for counted, column in zip(frequency.sensitive, ("s", "n"), strict=True):
        texts = [None if value is None else str(value) for value in frame[column].to_list()]
        values = counted.domain.values
        # Suppressed rows are in the whole table's distribution, not in any key.
        assert {v: n for v, n in zip(values, counted.totals.tolist(), strict=True) if n} == Counter(texts)
        assert counted.present == len(set(texts))
        for number, record in enumerate(frequency.to_records()):
            start, stop = counted.keys.indptr[number : number + 2]
            codes = counted.keys.codes[start:stop].tolist()
            result = {
                values[c]: n for c, n in zip(codes, counted.keys.counts[start:stop].tolist(), strict=True)
            }
            key = (record["a"], record["b"])
            assert result == Counter(text for text, k in zip(texts, keys, strict=True) if k == key)
            assert codes == sorted(codes)


@given(frames())
def test_values_of_suppressed_rows_only_shape_no_quasi_identifier(frame):
    frequency = engine_for(frame).count(SCHEMA).frequency
    for domain, codes in zip(frequency.domains, frequency.codes, strict=True):
        assert "*" not in domain.values
        assert codes.max() < domain.size
        assert set(codes.tolist()) == set(range(domain.size))


def test_a_star_in_some_columns_is_a_value_like_others():
    frame = pl.DataFrame({"a": ["*", "*", "x"], "b": ["*", "1", "*"]})
    frequency = engine_for(frame).count(ic.Schema(quasi=["a", "b"])).frequency
    assert frequency.suppressed == 1
    assert frequency.to_records() == [
        {"a": "*", "b": "1", "records": 1},
        {"a": "x", "b": "*", "records": 1},
    ]


def test_only_suppressed_rows():
    frame = pl.DataFrame({"a": ["*"] * 3, "b": ["*"] * 3, "s": ["x", "y", "y"], "n": [1, 2, 3]})
    frequency = engine_for(frame).count(SCHEMA).frequency
    assert (frequency.keys, frequency.records, frequency.suppressed) == (0, 0, 3)
    assert frequency.attribute("s").totals.tolist() == [1, 2]
    with pytest.raises(ic.TableError, match="every record of the table is suppressed"):
        ic.anonymize(frame, SCHEMA, [ic.TCloseness(1.0)], max_suppression=1.0, suppressed="keep")


def test_sensitive_attributes_by_name():
    frequency = (
        engine_for(pl.DataFrame({"a": ["x"], "b": ["y"], "s": ["z"], "n": [1]})).count(SCHEMA).frequency
    )
    assert frequency.attribute("n").name == "n"
    with pytest.raises(ic.SchemaError, match="'b' is not a sensitive attribute; those are 's', 'n'"):
        frequency.attribute("b")
    none = engine_for(pl.DataFrame({"a": ["x"]})).count(ic.Schema(quasi=["a"])).frequency
    with pytest.raises(ic.SchemaError, match="those are none"):
        none.attribute("a")


@pytest.mark.parametrize(
    ("size", "dtype"),
    [
        (1, np.uint8), (256, np.uint8), (257, np.uint16), (2**16, np.uint16), (2**16 + 1, np.uint32), (2**32, np.uint32),
    ],
)  # fmt: skip
def test_codes_are_the_smallest_that_fit(size, dtype):
    codes = smallest_codes(np.array([0, size - 1], np.int64), size)
    assert codes.dtype == dtype
    assert codes.tolist() == [0, size - 1]


def test_more_values_than_codes():
    with pytest.raises(ic.TableError, match="more than incrowd can count"):
        smallest_codes(np.array([0]), 2**32 + 1)


def test_threads_change_nothing(monkeypatch):
    rng = np.random.default_rng(11)
    rows = 4000

    def ranked(name: str, size: int) -> tuple[Domain, np.ndarray]:
        texts = [str(value) for value in range(size)]
        domain, _ = Domain.build(ic.Attribute(name, "quasi"), Dictionary(texts))
        return domain, rng.integers(0, size, rows)

    quasi = [ranked("a", 300), ranked("b", 3)]
    sensitive = [ranked("s", 20)]
    suppressed = rng.random(rows) < 0.1
    monkeypatch.setattr(jit, "PARALLEL_FROM", 1)
    result = []
    for threads in ("1", "2"):
        monkeypatch.setenv("INCROWD_THREADS", threads)
        result.append(FrequencyTable.from_rows(quasi, sensitive, suppressed))
    one, two = result
    assert one.row_keys.tobytes() == two.row_keys.tobytes()
    assert one.weights.tobytes() == two.weights.tobytes()
    assert all(a.tobytes() == b.tobytes() for a, b in zip(one.codes, two.codes, strict=True))
    assert all(
        a.tobytes() == b.tobytes() for a, b in zip(one.sensitive[0].keys, two.sensitive[0].keys, strict=True)
    )
    assert one.suppressed == int(suppressed.sum())


@given(rows=st.integers(1, 30), seed=st.integers(0, 10**6))
def test_by_record_has_a_key_for_every_row(rows, seed):
    rng = np.random.default_rng(seed)
    table = pl.DataFrame(
        {
            "q": rng.choice(["a", "b", "*"], rows),
            "s": rng.choice(["x", "y"], rows),
            "u": rng.choice(["v", "w"], rows),
            "p": rng.choice(["0", "1"], rows),
        }
    )
    schema = ic.Schema(quasi=["q"], sensitive=["s", "u"], insensitive=["p"])
    frequency = engine_for(table).count(schema, joint=True, target="p").frequency
    each = frequency.by_record()
    live = [row for row in range(rows) if table["q"][row] != "*"]
    assert each.keys == each.records == len(live)
    assert each.suppressed == frequency.suppressed == rows - len(live)
    assert [int(key) for key in each.row_keys if key >= 0] == list(range(len(live)))
    assert [record["q"] for record in each.to_records()] == [table["q"][row] for row in live]
    for one, other in zip(
        (*frequency.sensitive, frequency.target), (*each.sensitive, each.target), strict=True
    ):
        assert one.totals.tolist() == other.totals.tolist()
        values = [other.domain.values[code] for code in other.keys.codes]
        assert values == [table[other.name][row] for row in live]
    pairs = [(each.joint.codes[0][c], each.joint.codes[1][c]) for c in each.joint.keys.codes]
    assert [(each.sensitive[0].domain.values[s], each.sensitive[1].domain.values[u]) for s, u in pairs] == [
        (table["s"][row], table["u"][row]) for row in live
    ]


def test_only_keeps_what_its_keys_hold():
    table = pl.DataFrame({"q": ["a", "b", "a", "c"], "s": ["x", "y", "y", "x"], "p": [0, 1, 1, 0]})
    schema = ic.Schema(quasi=["q"], sensitive=["s"], unlisted="drop")
    frequency = engine_for(table).count(schema, joint=True, target="p").frequency
    part = frequency.only(np.array([True, False, True]))
    assert part.to_records() == [{"q": "a", "records": 2}, {"q": "c", "records": 1}]
    counts = part.sensitive[0]
    assert counts.keys.indptr.tolist() == [0, 2, 3]
    assert [counts.domain.values[code] for code in counts.keys.codes] == ["x", "y", "x"]
    assert counts.totals.tolist() == frequency.sensitive[0].totals.tolist()
    assert part.target.keys.counts.tolist() == [1, 1, 1]
    assert part.joint.keys.indptr.tolist() == [0, 2, 3]
    assert part.rows == 3
    with pytest.raises(ic.TableError, match="not in memory"):
        part.by_record()
