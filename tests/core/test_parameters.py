"""Parameters declared once: allowed values, and errors for other values."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Barrier, Thread
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.core.parameters import Configured, Measured, Parameter, Registry, parameter


@dataclass(frozen=True)
class Mill(Configured):
    """An entry with a parameter of every sort."""

    size: int = parameter("how large", kind=int, low=1)
    share: float = parameter("which share", kind=float, default=0.5, low=0, high=1)
    grain: str = parameter("which grain", kind=str, default="rye", choices=("rye", "oats"))
    fine: bool = parameter("whether ground fine", kind=bool, default=False)
    owner: str | None = parameter("whose it is", kind=str, default=None, optional=True)

    name: ClassVar[str] = "mill"


@dataclass(frozen=True)
class Pond(Configured):
    """An entry without parameters."""

    name: ClassVar[str] = "pond"


WORKS: Registry[Configured] = Registry("works", Mill, Pond)


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (Parameter(int, "m"), "a whole number"),
        (Parameter(int, "m", low=1), "a whole number of at least 1"),
        (Parameter(float, "m", high=0.5), "a number of at most 0.5"),
        (Parameter(float, "m", 0, 1), "a number between 0 and 1"),
        (Parameter(str, "m"), "a text"),
        (Parameter(str, "m", choices=("a", "b")), "one of a, b"),
        (Parameter(bool, "m"), "true or false"),
    ],
)
def test_what_is_allowed_in_words(declared, words):
    assert declared.describe() == words


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({}, "mill: size is missing; give a whole number of at least 1"),
        ({"size": 0}, "mill: size must be a whole number of at least 1, got 0"),
        ({"size": 2.0}, "mill: size must be a whole number of at least 1, got 2.0"),
        ({"size": True}, "mill: size must be a whole number of at least 1, got True"),
        ({"size": None}, "mill: size must be a whole number of at least 1, got None"),
        ({"size": 1, "share": 1.01}, "mill: share must be a number between 0 and 1, got 1.01"),
        ({"size": 1, "share": -0.01}, "mill: share must be a number between 0 and 1, got -0.01"),
        ({"size": 1, "share": float("nan")}, "mill: share must be a number between 0 and 1, got nan"),
        ({"size": 1, "share": float("inf")}, "mill: share must be a number between 0 and 1, got inf"),
        ({"size": 1, "share": "0.5"}, "mill: share must be a number between 0 and 1, got '0.5'"),
        ({"size": 1, "grain": "Rye"}, "mill: grain must be one of rye, oats, got 'Rye'; did you mean 'rye'?"),
        ({"size": 1, "fine": 1}, "mill: fine must be true or false, got 1"),
        ({"size": 1, "fine": "true"}, "mill: fine must be true or false, got 'true'"),
        ({"size": 1, "owner": 3}, "mill: owner must be a text, got 3"),
        (
            {"size": 1, "sise": 2},
            "mill: unknown parameter 'sise'; it has size, share, grain, fine, owner; did you mean 'size'?",
        ),
    ],
)
def test_what_is_wrong_is_named(settings, problem):
    with pytest.raises(ic.ParameterError) as caught:
        Mill.from_settings(settings)
    assert str(caught.value) == problem
    assert isinstance(caught.value, ValueError)


def test_limits_are_allowed_and_whole_numbers_stay_whole():
    for share in (0, 1, 0.0, 1.0):
        assert Mill(1, share).share == share
    result = Mill(1, 1)
    assert isinstance(result.share, int)
    assert str(result) == "mill(size=1, share=1, grain=rye)"
    assert str(Pond()) == "pond"


def test_an_entry_is_frozen():
    with pytest.raises(AttributeError):
        Mill(1).size = 2  # type: ignore[misc]


@st.composite
def mills(draw):
    return Mill(
        draw(st.integers(1, 2**70)),
        draw(st.floats(0, 1) | st.integers(0, 1)),
        draw(st.sampled_from(["rye", "oats"])),
        draw(st.booleans()),
        draw(st.none() | st.text()),
    )


@given(mills())
def test_settings_come_back(mill):
    settings = mill.settings()
    assert ("owner" in settings) == (mill.owner is not None)
    assert Mill.from_settings(settings) == mill


@given(mills())
def test_the_command_lines_form_comes_back(mill):
    settings = mill.settings() | {"owner": "Ada"}
    text = ",".join(f"{name}={value}" for name, value in settings.items())
    assert WORKS.parse(f"mill:{text}") == Mill.from_settings(settings)


@given(st.text(), st.booleans())
def test_any_text_comes_back_in_quotes(owner, last):
    quoted = 'owner="' + owner.replace('"', '""') + '"'
    parts = ["3", "fine=true", quoted] if last else ["3", quoted, "fine=true"]
    assert WORKS.parse(f"mill:{','.join(parts)}") == Mill(3, fine=True, owner=owner)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("mill:3", Mill(3)),
        ('mill: "3" , owner="a, ""b""" ', Mill(3, owner='a, "b"')),
        ('mill:3,owner=5" pipe', Mill(3, owner='5" pipe')),
        (" mill : 3 ", Mill(3)),
        ("mill:3,share=0.25", Mill(3, 0.25)),
        ("mill:size=3, fine = True", Mill(3, fine=True)),
        ("mill:3,fine=FALSE,grain=oats", Mill(3, grain="oats")),
        ("mill:3,share=1e-1", Mill(3, 0.1)),
        ("pond", Pond()),
        ("pond:", Pond()),
    ],
)
def test_reading_a_command_line(text, made):
    assert WORKS.parse(text) == made


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("mill", "size is missing"),
        ("mill:x", "size must be a whole number of at least 1, got 'x'"),
        ("mill:1.5", "size must be a whole number of at least 1, got '1.5'"),
        ("mill:3,4", "write parameters as name=value"),
        ('mill:3,owner="a', "begins with a quote ends with one"),
        ('mill:3,owner="a"b,fine=true', "begins with a quote ends with one"),
        ("mill:=3", "unknown parameter ''"),
        ("mill:3,share=nan", "share must be a number between 0 and 1, got nan"),
        ("mill:3,share=", "share must be a number between 0 and 1, got ''"),
        ("mill:3,fine=yes", "fine must be true or false, got 'yes'"),
        ("mill:3,weight=2", "unknown parameter 'weight'"),
        ("pond:3", "write parameters as name=value"),
        ("pond:deep=3", "unknown parameter 'deep'; it has none"),
    ],
)
def test_a_wrong_command_line_is_said(text, problem):
    with pytest.raises(ic.ParameterError, match=problem.replace("(", r"\(")):
        WORKS.parse(text)


def test_registries_list_what_they_know():
    assert list(WORKS) == [Mill, Pond]
    assert WORKS.names() == ["mill", "pond"]
    assert len(WORKS) == 2
    assert "mill" in WORKS
    assert "lake" not in WORKS
    assert WORKS.get("pond") is Pond
    with pytest.raises(ic.PolicyError, match=r"^no 'lake' among the works: mill, pond$"):
        WORKS.parse("lake:2")


@dataclass(frozen=True)
class Longest(Configured):
    name: ClassVar[str] = "longest"


@dataclass(frozen=True)
class Shortest(Configured):
    name: ClassVar[str] = "shortest"


class Lengths(Measured[Configured, list[str], int]):
    """Lengths of texts, with a note of each that was measured."""

    noted: ClassVar[list[str]] = []

    def _measure(self, entry: Configured, source: list[str]) -> int:
        self.noted.append(entry.name)
        return {"longest": max, "shortest": min}[entry.name](map(len, source))


@pytest.fixture
def lengths() -> Iterator[Lengths]:
    Lengths.noted.clear()
    yield Lengths([Longest(), Shortest()], ["secret", "raw"])
    Lengths.noted.clear()


def test_each_is_measured_once_and_when_it_is_read(lengths):
    assert list(lengths) == ["longest", "shortest"]
    assert len(lengths) == 2
    assert "shortest" in lengths
    assert lengths.get("widest") is None
    assert "widest" not in lengths
    assert Lengths.noted == []
    assert [lengths["shortest"], lengths["shortest"]] == [3, 3]
    assert Lengths.noted == ["shortest"]
    assert dict(lengths) == {"longest": 6, "shortest": 3}
    assert Lengths.noted == ["shortest", "longest"]


def test_the_source_is_let_go_when_all_is_measured(lengths):
    source = vars(lengths)["_source"]
    assert lengths["longest"] == 6
    assert vars(lengths)["_source"] is source
    assert lengths["shortest"] == 3
    assert vars(lengths)["_source"] is None
    assert dict(lengths) == {"longest": 6, "shortest": 3}


def test_a_pickle_has_all_results_and_no_source(lengths):
    content = pickle.dumps(lengths)
    assert b"secret" not in content
    assert dict(pickle.loads(content)) == {"longest": 6, "shortest": 3}


def test_threads_that_read_the_same_last_result_both_get_it(monkeypatch, lengths):
    """Each thread has the source before a question about results, so every thread gets the result."""
    assert lengths["longest"] == 6
    both, result = Barrier(2, timeout=60), []
    measure = Lengths._measure

    def slow(self, entry, source):
        both.wait()
        return measure(self, entry, source)

    monkeypatch.setattr(Lengths, "_measure", slow)
    threads = [Thread(target=lambda: result.append(lengths["shortest"])) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert result == [3, 3]
