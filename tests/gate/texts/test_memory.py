"""What was said of a short column is said again without another look."""

from __future__ import annotations

import polars as pl
import pytest

from incrowd_gate.texts.memory import SHORT, remember


@pytest.mark.parametrize(("rows", "looks"), [(SHORT, 1), (SHORT + 1, 2)])
def test_the_same_texts_of_a_short_column_are_looked_at_once(rows, looks):
    seen = []
    count = remember(lambda texts, more: seen.append(more) or len(texts) + more)
    texts = pl.Series(map(str, range(rows)))
    assert [count(texts, 1), count(texts.clone(), 1)] == [rows + 1] * 2
    assert len(seen) == looks


@pytest.mark.parametrize(
    ("texts", "more"), [(["a"], 2), (["b"], 1), (["a", None], 1), ([None, "a"], 1), ([], 1)]
)
def test_other_texts_and_other_arguments_are_looked_at(texts, more):
    count = remember(lambda texts, more: (texts.to_list(), more))
    count(pl.Series(["a"]), 1)
    assert count(pl.Series(texts, dtype=pl.String), more) == (texts, more)


def test_an_answer_of_none_is_kept_and_not_the_texts():
    seen = []
    look = remember(lambda texts: seen.append(1))
    assert look(pl.Series(["Ada Lovelace"])) is look(pl.Series(["Ada Lovelace"])) is None
    assert seen == [1]
    assert "Ada" not in repr([cell.cell_contents for cell in look.__closure__])
