"""Texts that look like numbers: the covered people, by the measures, the verifier and the script."""

from __future__ import annotations

import re
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from emitted_sql import verdict
from examples import examples
from incrowd.release.verification import checks_as_sql, verify
from policy_texts import entry, policy_text

PLAIN = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
TEXTS = ["1", "1.0", "01", "2", "2.00", "-0", "0", "x", "[1-2]", "{1, 2}", "{1, x}"]
SPECS = {
    "auto": ("", None),
    "category": ("kind = 'category'", "category"),
    "flat": ("hierarchy = { flat = true }", ic.Hierarchy.flat()),
    "prefix": ("hierarchy = { prefix = true }", ic.Hierarchy.prefix()),
    "intervals": ("hierarchy = { intervals = [5] }", ic.Hierarchy.intervals(5)),
}


def covered(cell: str, people: list[str], spec: str) -> int:
    """Count by hand: letters decide, but in a column of numbers alone."""
    numbers = spec == "auto" and all(PLAIN.fullmatch(text) for text in people)
    return sum(
        text == cell or (numbers and Fraction(text) == Fraction(cell)) or cell == "*" for text in people
    )


@pytest.mark.slow
@examples(60)
@given(
    people=st.lists(st.sampled_from(TEXTS), min_size=1, max_size=8)
    | st.lists(st.sampled_from(["1", "1.0", "2", "2.00", "0", "-0"]), min_size=1, max_size=8),
    spec=st.sampled_from(list(SPECS)),
    data=st.data(),
)
def test_all_readers_say_whom_a_cell_covers(people, spec, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("letters")
    if spec == "intervals":
        people = [text for text in people if PLAIN.fullmatch(text)] or ["1"]
    chosen = data.draw(st.sets(st.sampled_from(range(len(people))), min_size=1, max_size=4))
    cells = [people[number] for number in sorted(chosen)]
    expected = min(covered(cell, people, spec) for cell in cells)
    written, given_as = SPECS[spec]
    pl.DataFrame({"q": cells}).write_parquet(folder / "t.parquet")
    pl.DataFrame({"q": people}).write_parquet(folder / "p.parquet")
    schema = ic.Schema(quasi={"q": given_as})
    assessment = ic.assess(folder / "t.parquet", schema, [ic.KMap(1)], population=folder / "p.parquet")
    assert assessment.privacy[0].value == expected
    assert assessment.risk["journalist"]["max"] == 1 / expected
    for k in (expected, expected + 1):
        if k > len(people):
            continue
        model = f'model = "k-map"\nk = {k}'
        (folder / "p.toml").write_text(policy_text([entry("q", "quasi", written)], [model]))
        tables = folder / "t.parquet", folder / "p.toml"
        result = verify(*tables, population=folder / "p.parquet")
        assert (result.findings[0].reached, result.keeps_limits) == (expected, k == expected)
        script = checks_as_sql(*tables, population=folder / "p.parquet")
        assert verdict(script) is (k == expected)


@pytest.mark.parametrize("cell", ["1.0", "[1-2]"])
def test_a_cell_that_only_looks_like_the_raw_value_is_not_true_of_it(tmp_path, cell):
    """In a column of categories 1.0 and [1-2] are separate values."""
    (tmp_path / "p.toml").write_text(
        policy_text([entry("q", "quasi")], ['model = "k-anonymity"\nk = 1'], "keep_order = true")
    )
    pl.DataFrame({"q": ["1", cell, "x"]}).write_parquet(tmp_path / "raw.parquet")
    pl.DataFrame({"q": [cell, cell, "x"]}).write_parquet(tmp_path / "t.parquet")
    assert not verify(
        tmp_path / "t.parquet", tmp_path / "p.toml", against=tmp_path / "raw.parquet"
    ).keeps_limits
    assert verify(
        tmp_path / "raw.parquet", tmp_path / "p.toml", against=tmp_path / "raw.parquet"
    ).keeps_limits


def test_a_set_is_true_of_its_values_also_where_a_value_is_written_the_same(tmp_path):
    raw = pl.DataFrame({"q": ["1", "x", "{1, x}", "{1, x}"]})
    raw.write_parquet(tmp_path / "raw.parquet")
    release = ic.anonymize(
        raw, ic.Schema(quasi={"q": "category"}), [ic.KAnonymity(2)], keep_order=True, unanswered="write"
    )
    assert release.table["q"].to_list() == ["{1, x}"] * 4
    release.write(tmp_path / "t.parquet")
    release.policy.write(tmp_path / "p.toml")
    assert verify(tmp_path / "t.parquet", tmp_path / "p.toml", against=tmp_path / "raw.parquet").keeps_limits
