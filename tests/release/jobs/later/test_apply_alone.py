"""The file of a row is known: each released file satisfies the models alone, and with the earlier file."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import incrowd as ic
from batch_tables import AGES, JANUARY, POLICY, classes, holds
from examples import examples

FEBRUARY = pl.DataFrame({"age": [22], "ill": ["e"]})


@pytest.fixture(scope="module")
def release():
    return ic.anonymize(JANUARY, POLICY)


def test_a_file_of_one_person_is_not_released(release):
    for earlier in (None, release.table):
        with pytest.raises(ic.InfeasibleError, match=r"every row would be suppressed \(0 .* 1 in classes"):
            ic.apply_recoding(release.recoding, FEBRUARY, POLICY, previous_release=earlier)
    merged = ic.apply_recoding(
        release.recoding, FEBRUARY, POLICY, previous_release=release.table, published_as_one=True
    )
    assert merged.table["age"].to_list() == ["22"]
    assert merged.published_as_one
    assert merged.to_dict()["published_as_one"]
    assert merged.privacy == merged.together
    assert "as one table, not of it alone" in repr(merged)
    with pytest.raises(ic.ParameterError, match=r"name that release \(previous_release=\)"):
        ic.apply_recoding(release.recoding, FEBRUARY, POLICY, published_as_one=True)


def test_what_is_written_is_judged_alone_too(release, tmp_path, monkeypatch):
    """The rows are read again for the check, and not taken from memory."""
    batch = JANUARY.head(10)
    applied = ic.apply_recoding(release.recoding, batch, POLICY, previous_release=release.table)
    monkeypatch.setattr(
        "incrowd.core.io.files.write_table", lambda frame, path, *_: frame.head(4).write_csv(path)
    )
    with pytest.raises(ic.InfeasibleError, match="nothing was released"):
        applied.write(tmp_path / "batch.csv")
    assert not list(tmp_path.iterdir())


def test_the_pair_is_judged_as_well():
    """Two files that are each close to a distribution may be far from the joint distribution."""
    schema = ic.Schema(quasi=["q"], sensitive=["ill"])
    policy = ic.Policy(schema, (ic.TCloseness(0.2, distance="equal"),), ic.Optimal(), 1.0)
    first = pl.DataFrame({"q": ["x"] * 8 + ["y"] * 8, "ill": [*"aaaaaaab"] * 2})
    batch = pl.DataFrame({"q": ["x"] * 8, "ill": [*"bbbbbbba"]})
    release = ic.anonymize(first, policy)
    assert set(release.table["q"]) == {"x", "y"}
    alone = ic.apply_recoding(release.recoding, batch, policy)
    assert alone.suppressed == 0
    with pytest.raises(ic.InfeasibleError, match=r"\(in the batch and the earlier release together\)"):
        ic.apply_recoding(release.recoding, batch, policy, previous_release=release.table)


tables = st.lists(st.tuples(st.integers(20, 31), st.sampled_from("abc")), min_size=1, max_size=40)


@examples(40)
@example([(20, "a"), (20, "b"), (21, "a")], [(20, "a"), (20, "b"), (21, "a"), (21, "b")], 1, False, False)
@given(tables, tables, st.integers(1, 4), st.booleans(), st.booleans())
def test_each_file_and_the_pair_hold(first, batch, k, as_one, beside):
    as_one = as_one and beside
    policy = replace(POLICY, models=(ic.KAnonymity(k), ic.LDiversity(2)), keep_order=True)
    table, more = (pl.DataFrame(rows, schema=["age", "ill"], orient="row") for rows in (first, batch))
    try:
        release = ic.anonymize(table, policy, force=True)
    except (ic.InfeasibleError, ic.ParameterError):
        return
    settings = {"previous_release": release.table, "published_as_one": as_one} if beside else {}
    try:
        applied = ic.apply_recoding(release.recoding, more, policy, force=True, **settings)
    except ic.InfeasibleError:
        return
    if beside:
        assert holds(release.table, applied.table, k=k)
    assert as_one or holds(applied.table, k=k)
    # No row goes without need: with the rows of its class, the file alone or the pair fails.
    raw = release.recoding.levels
    counts = classes(applied.table)
    gone = [row for row, cell in enumerate(applied.table["age"]) if cell == "*"]
    assert len(gone) == applied.suppressed
    if raw == (0,) and not beside:
        groups = defaultdict(list)
        for age, ill in batch:
            groups[str(age),].append(ill)
        # What the recoding suppressed stays suppressed.
        lost = {
            (str(age),) for (age, _), cell in zip(first, release.table["age"], strict=True) if cell == "*"
        }
        for cells, values in groups.items():
            fits = len(values) >= k and len(set(values)) >= 2 and cells not in lost
            assert (cells in counts) == fits


def test_people_count_in_the_file_alone(tmp_path):
    """Four rows of the same person are no class of four, beside any people of January."""
    schema = ic.Schema(quasi={"age": AGES}, sensitive=["ill"], person="who", unlisted="drop")
    policy = ic.Policy(schema, (ic.KAnonymity(3),), ic.Optimal(), 1.0, suppressed="keep")
    first = pl.DataFrame({"age": [22] * 6, "ill": [*"abcabc"], "who": [*"ABCDEF"]})
    batch = pl.DataFrame({"age": [22] * 4 + [21] * 3, "ill": [*"abca", *"abc"], "who": [*"GGGG", *"HIJ"]})
    whole = pl.concat([first, batch.tail(3)])
    release = ic.anonymize(whole, replace(policy, keep_order=True), force=True)
    earlier = {
        "previous_release": release.table, "previous_table": whole, "previous_row_map": release.row_map(),
    }  # fmt: skip
    applied = ic.apply_recoding(
        release.recoding, batch, replace(policy, keep_order=True), force=True, **earlier
    )
    assert applied.table["age"].to_list() == ["*"] * 4 + ["21"] * 3
    assert (applied.privacy.people.people, applied.together.people.people) == (4, 10)
    both = ic.apply_recoding(
        release.recoding,
        batch,
        replace(policy, keep_order=True),
        force=True,
        published_as_one=True,
        **earlier,
    )
    assert both.suppressed == 0
    both.write(tmp_path / "both.csv")


def test_an_attacker_is_judged_in_the_file_alone(release):
    policy = replace(POLICY, models=(ic.Attacker("neighbour", ["age"], ic.KAnonymity(5)),))
    batch = pl.DataFrame({"age": [22] * 4 + [23] * 5, "ill": [*"abcd", *"abcda"]})
    applied = ic.apply_recoding(
        release.recoding, batch, replace(policy, keep_order=True), previous_release=release.table, force=True
    )
    assert applied.table["age"].to_list() == ["*"] * 4 + ["23"] * 5
