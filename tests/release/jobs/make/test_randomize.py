"""randomize(): distributions of the noise, the bound by epsilon, and refusals."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.release.jobs.make.randomize import mechanisms_from_toml

ROWS = 20_000


@pytest.mark.slow
def test_laplace_noise_of_floats():
    table = pl.DataFrame({"x": np.full(ROWS, 0.25), "other": ["a"] * ROWS})
    release = ic.randomize(table, {"x": ic.Laplace(2.0, 0.0, 1.5)})
    noise = release.table["x"].to_numpy() - 0.25
    scale = 1.5 / 2
    # Mean absolute value and variance of a Laplace distribution; five standard errors.
    assert np.abs(noise).mean() == pytest.approx(scale, abs=5 * scale / math.sqrt(ROWS))
    assert noise.mean() == pytest.approx(0, abs=5 * scale * math.sqrt(2 / ROWS))
    assert release.table["other"].equals(table["other"])
    assert release.epsilons == {"x": 2.0}
    assert release.clipped == {"x": 0}


def test_laplace_noise_of_whole_numbers_is_whole():
    table = pl.DataFrame({"days": ["3"] * (ROWS - 1) + ["99"]})
    release = ic.randomize(table, {"days": ic.Laplace(1.0, 1, 14)})
    assert release.table["days"].dtype == pl.Int64
    assert release.clipped == {"days": 1}
    noise = release.table["days"].to_numpy()[:-1] - 3
    decay = math.exp(-1 / 13)
    # Discrete Laplace: P(0) = (1 - decay) / (1 + decay).
    expected = (1 - decay) / (1 + decay)
    assert (noise == 0).mean() == pytest.approx(expected, abs=5 * math.sqrt(expected / ROWS))
    assert np.abs(noise).mean() == pytest.approx(2 * decay / (1 - decay**2), rel=0.06)


@pytest.mark.parametrize("epsilon", [0.1, 2.0, 5.0])
def test_randomized_response(epsilon):
    """Kept with e^eps / (e^eps + m - 1), and each of the others as likely."""
    categories = ["No", "Up", "Down", None]
    table = pl.DataFrame({"c": ["Up"] * ROWS + [None] * ROWS})
    values = ic.randomize(table, {"c": ic.RandomizedResponse(epsilon, categories)}).table["c"].to_list()
    kept = math.exp(epsilon) / (math.exp(epsilon) + 3)
    for part, own in ((values[:ROWS], "Up"), (values[ROWS:], None)):
        counts = Counter(part)
        assert set(counts) <= set(categories)
        for value in categories:
            share = kept if value == own else (1 - kept) / 3
            assert counts[value] / ROWS == pytest.approx(share, abs=5 * math.sqrt(share / ROWS) + 1e-3)


@given(st.floats(1e-6, 40), st.integers(2, 1000))
def test_epsilon_is_not_exceeded(epsilon, size):
    mechanism = ic.RandomizedResponse(epsilon, [str(i) for i in range(size)])
    share = mechanism.kept / 2**64
    # Near 1 the difference of two logarithms would lose its digits.
    more = Fraction(mechanism.kept * (size - 1), 2**64 - mechanism.kept) - 1
    loss = math.log1p(more) if more < 1 else math.log(more + 1)
    assert loss <= epsilon * (1 + 1e-12)
    assert share == pytest.approx(1 / (1 + (size - 1) * math.exp(-epsilon)), rel=1e-9)


def test_every_kind_of_frame_comes_back():
    table = pl.DataFrame({"c": ["a", "b"], "x": [1.0, 2.0], "y": ["u", "v"]})
    mechanisms = {"c": ic.RandomizedResponse(1, ["a", "b"]), "x": ic.Laplace(1, 0, 5)}
    for frame in (table, table.to_pandas(), table.to_arrow()):
        release = ic.randomize(frame, mechanisms, budget=2)
        assert type(release.table) is type(frame)
        again = pl.DataFrame(release.table)
        assert again.columns == table.columns
        assert again["y"].to_list() == ["u", "v"]
        assert release.epsilon == 2
    document = json.loads(json.dumps(release.to_dict()))
    assert document["epsilons"] == {"c": 1.0, "x": 1.0}


def test_no_two_runs_are_alike():
    """A seed would let a holder of the seed take the noise off."""
    table = pl.DataFrame({"x": np.zeros(50), "c": ["a"] * 50})
    mechanisms = {"x": ic.Laplace(1, 0, 1.5), "c": ic.RandomizedResponse(0.1, ["a", "b", "c"])}
    one, other = (ic.randomize(table, mechanisms).table for _ in range(2))
    assert not one["x"].equals(other["x"])
    assert not one["c"].equals(other["c"])


@pytest.mark.parametrize(
    ("mechanisms", "settings", "words"),
    [
        ({}, {}, "a mechanism for one column"),
        ({"x": ic.Laplace(1, 0, 1)}, {"budget": 0.5}, "ask for epsilon 1 together and the budget is 0.5"),
        ({"z": ic.Laplace(1, 0, 1)}, {}, "no column 'z'"),
        ({"gap": ic.Laplace(1, 0, 1)}, {}, "column 'gap': 1 cells are missing or no numbers"),
        ({"c": ic.Laplace(1, 0, 1)}, {}, "column 'c': 2 cells are missing or no numbers"),
        ({"c": ic.RandomizedResponse(1, ["a", "d"])}, {}, "column 'c': 1 cells have a value that is not"),
        ({"gap": ic.RandomizedResponse(1, ["1.0", "2.0"])}, {}, "column 'gap': 1 cells"),
    ],
)
def test_what_is_refused(mechanisms, settings, words):
    table = pl.DataFrame({"x": [0.5, 0.6], "c": ["a", "b"], "gap": [1.0, None]})
    with pytest.raises(ic.InputError, match=words) as caught:
        ic.randomize(table, mechanisms, **settings)
    assert "b" not in str(caught.value).split("'")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ic.Laplace(0, 0, 1),
        lambda: ic.Laplace(math.inf, 0, 1),
        lambda: ic.Laplace(True, 0, 1),
        lambda: ic.Laplace(1, 1, 1),
        lambda: ic.Laplace(1, "0", 1),
        lambda: ic.RandomizedResponse(-1, ["a", "b"]),
        lambda: ic.RandomizedResponse(1, ["a"]),
        lambda: ic.RandomizedResponse(1, ["a", "a"]),
        lambda: ic.RandomizedResponse(1, "ab"),
    ],
)
def test_wrong_mechanisms(wrong):
    with pytest.raises(ic.ParameterError):
        wrong()


def test_without_opendp(monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    monkeypatch.setitem(sys.modules, "opendp", None)
    with pytest.raises(ic.MissingExtraError, match=r"pip install '\.\[dp\]'"):
        ic.randomize(pl.DataFrame({"x": [0.5]}), {"x": ic.Laplace(1, 0, 1)})
    ic.randomize(pl.DataFrame({"c": ["a"]}), {"c": ic.RandomizedResponse(1, ["a", "b"])})


def test_a_file_of_mechanisms(tmp_path):
    path = tmp_path / "dp.toml"
    path.write_text(
        "budget = 5\n[columns.days]\nmechanism = 'laplace'\nepsilon = 2.0\nlow = 1\nhigh = 14\n"
        "[columns.change]\nmechanism = 'randomized-response'\nepsilon = 2\ncategories = ['Ch', 'No']\nmissing = true\n"
    )
    assert mechanisms_from_toml(path) == (
        {"days": ic.Laplace(2.0, 1, 14), "change": ic.RandomizedResponse(2, ["Ch", "No", None])},
        5,
    )
    for text, words in (
        ("x", "not readable as TOML"),
        ("", "write .columns.NAME."),
        ("colums.a = 1", "write .columns.NAME."),
        ("budget = 0\n[columns.a]\nmechanism='laplace'", "budget must be"),
        ("[columns.a]\nmechanism='gauss'", "column 'a': mechanism must be one of"),
        ("[columns.a]\nmechanism='laplace'\nepsilon=1", "laplace takes epsilon, high, low"),
        (
            "[columns.a]\nmechanism='laplace'\nepsilon=1\nlow=2\nhigh=1",
            "column 'a': laplace: low must be below high",
        ),
        ("[columns.a]\nmechanism='randomized-response'\nepsilon=1\ncategories='ab'", "a list of texts"),
    ):
        path.write_text(text)
        with pytest.raises(ic.ParameterError, match=words):
            mechanisms_from_toml(path)
    with pytest.raises(ic.ParameterError, match="cannot be read"):
        mechanisms_from_toml(tmp_path / "none.toml")


@pytest.mark.parametrize("mechanism", ["krr:1", 3, None, ic.Pram(0.8)])
def test_what_is_no_mechanism_is_refused_in_words(mechanism):
    with pytest.raises(ic.ParameterError, match=r"randomize: 'ill' needs a mechanism, Laplace"):
        ic.randomize(pl.DataFrame({"ill": ["flu", "cold"]}), {"ill": mechanism})
