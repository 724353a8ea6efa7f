"""Texts for presidio, with a stand-in for the library and the model."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest

import incrowd as ic
from incrowd_gate.texts import name
from treatment_tables import given


class Reader:
    """A recognizer of names in English, and of a longer name around each."""

    def analyze(self, text: str, language: str) -> list[SimpleNamespace]:
        finds = []
        for wanted, kind in (("Ann", "PERSON"), ("Ann Lee", "PERSON"), ("Leeds", "LOCATION")):
            start = text.find(wanted)
            if start >= 0:
                finds.append(SimpleNamespace(start=start, end=start + len(wanted), entity_type=kind))
        return finds


@pytest.fixture
def reader(monkeypatch):
    monkeypatch.setattr(name, "models", lambda: {"en": "a model"})
    monkeypatch.setattr(name, "analyzer", lambda installed: Reader())
    monkeypatch.setattr(name, "find_spec", lambda library: object())


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("Mrs Ann Lee called", "Mrs [PERSON] called"),
        ("Ann of Leeds", "[PERSON] of [LOCATION]"),
        ("fine", "fine"),
        (None, None),
    ],
)
def test_finds_become_their_kind_and_the_longest_counts(reader, text, redacted):
    assert given(ic.Presidio(), [text, "Ann"]) == [redacted, "[PERSON]"]


def test_without_the_library_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(name, "models", dict)
    with pytest.raises(ic.MissingExtraError, match=r"pip install .*names"):
        given(ic.Presidio(), ["Ann"])


@pytest.mark.parametrize("streams", [False, True])
def test_rows_that_stream_say_it_in_the_same_words(monkeypatch, streams):
    """Polars makes the error anew, of the message alone, and would add the plan of the query."""
    monkeypatch.setattr(name, "models", dict)
    table = pl.DataFrame({"age": [1, 2] * 10, "note": ["Mrs Smith called"] * 20})
    schema = ic.Schema(quasi=["age"], insensitive=["note"], treatments={"note": "presidio"})
    with pytest.raises(ic.MissingExtraError) as error:
        ic.anonymize(table.lazy() if streams else table, schema, "k-anonymity:2")
    assert str(error.value).startswith(
        "redacting texts needs presidio-analyzer and a model of spaCy: pip install"
    )
    assert "\n" not in str(error.value)
