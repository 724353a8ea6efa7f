"""Texts computed for a batch are kept for the next batch, and equal texts computed anew."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest
from hypothesis import given as tried
from hypothesis import strategies as st

import incrowd as ic
from incrowd.core.treatments import Batch, Distinct, _text_cache
from incrowd.core.treatments._text_cache import Kept, Words
from incrowd.core.treatments.keys import Secret
from treatment_tables import KEY

BATCHES = st.lists(st.lists(st.text(max_size=3), unique=True), max_size=6)


def lengths(texts: pl.Series) -> np.ndarray:
    return texts.str.len_bytes().cast(pl.Int64).to_numpy()


@tried(BATCHES, st.sampled_from([0, 1, 5, 1000]))
def test_numbers_are_those_of_computing_anew_however_few_are_kept(batches, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_text_cache, "KEPT", most)
        cache = Kept()
        for batch in batches:
            texts = pl.Series(batch, dtype=pl.String)
            assert cache.of(texts, lengths).tolist() == lengths(texts).tolist()


def test_nothing_is_computed_twice():
    cache, asked = Kept(), []

    def made(texts: pl.Series) -> np.ndarray:
        asked.extend(texts)
        return lengths(texts)

    for start in range(0, 1_000, 10):
        cache.of(pl.Series([f"person {n}" for n in range(start, start + 50)]), made)
    assert sorted(asked) == sorted(f"person {n}" for n in range(1_040))


@tried(BATCHES, st.sampled_from([0, 1, 5, 1000]))
def test_two_that_share_words_have_numbers_of_their_own(batches, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_text_cache, "KEPT", most)
        words = Words()
        one, other = Kept(words), Kept(words)
        for batch in batches:
            texts = pl.Series(batch, dtype=pl.String)
            assert one.of(texts, lengths).tolist() == lengths(texts).tolist()
            assert other.of(texts, lambda new: -lengths(new)).tolist() == (-lengths(texts)).tolist()


def test_threads_get_their_own_numbers():
    people = [f"{n} " + "x" * (n % 97) for n in range(5_000)]
    rng = np.random.default_rng(1)
    batches = [pl.Series(rng.choice(people, 700, replace=False).tolist()) for _ in range(60)]
    cache = Kept()
    with ThreadPoolExecutor(4) as pool:
        result = list(pool.map(lambda batch: cache.of(batch, lengths), batches))
    assert all(np.array_equal(one, lengths(batch)) for one, batch in zip(result, batches, strict=True))


@pytest.mark.parametrize(
    "treatment", [ic.Pseudonym(key="env:X"), ic.ShiftDates(30, key="env:X", by="who")], ids=lambda t: t.name
)
def test_a_person_of_many_batches_is_digested_once(treatment, monkeypatch):
    people = pl.Series([None, *(f"person {n}" for n in range(300))])
    days = pl.Series(range(301), dtype=pl.Int64)
    shifts = treatment.name == "shift-dates"
    digests, asked = Secret.digests, []

    def counted(self: Secret, texts: pl.Series) -> np.ndarray:
        asked.extend(texts)
        return digests(self, texts)

    monkeypatch.setattr(Secret, "digests", counted)

    def rows(start: int, stop: int, secret: Secret) -> Batch:
        who = people[start:stop]
        return Batch(days[start:stop] if shifts else who, {"who": who} if shifts else {}, {}, secret)

    secret = Secret(KEY.encode())
    treatment.learn(Distinct("who", people.drop_nulls(), np.ones(300, np.int64)), secret)
    result = [treatment.treat(rows(start, start + 60, secret)) for start in range(0, 261, 20)]
    assert len(asked) == len(set(asked)) == 300
    whole = treatment.treat(rows(0, 301, Secret(KEY.encode())))
    for start, batch in zip(range(0, 261, 20), result, strict=True):
        assert batch.to_list() == whole[start : start + 60].to_list()


def test_a_value_that_was_not_counted_gets_its_token_too():
    """A table may have changed meanwhile, and another check finds changes."""
    secret, treatment = Secret(KEY.encode()), ic.Pseudonym(key="env:X")
    counted = pl.Series([f"person {n}" for n in range(9)])
    treatment.learn(Distinct("who", counted, np.ones(9, np.int64)), secret)
    batch = pl.Series(["person 3", None, "somebody else"])
    expected = treatment.treat(Batch(batch, {}, {}, Secret(KEY.encode())))
    assert treatment.treat(Batch(batch, {}, {}, secret)).to_list() == expected.to_list()
    assert expected.null_count() == 1
