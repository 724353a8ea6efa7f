"""The check of an answer: the lesson itself has the right one, and the usual mistakes with a word of help."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from numbers import Real
from typing import Any

from incrowd.course.lessons import lessons
from incrowd.errors import IncrowdError, ParameterError, did_you_mean
from incrowd.lazy import pd

_MISTAKE = re.compile(r"^- (unless )?`(.+?)`: (.+)$", re.MULTILINE)
_TRIED = re.compile(r"^Tried on (.+)$", re.MULTILINE)


class NotYetError(IncrowdError, AssertionError):
    """An answer is not right yet; the message names the mistake, or leads to the hint."""

    def _render_traceback_(self) -> list[str]:
        """Return the one line that a notebook shows: a traceback would show no code of the student."""
        return [f"Not yet: {self}"]


def check(name: str, answer: Any) -> None:
    """Print "Right." if an answer is right.

    Parameters
    ----------
    name
        The exercise, such as ``k-of-a-table``.
    answer
        A figure, a table, a function or whatever else the exercise asks for.

    Raises
    ------
    NotYetError
        When it is wrong.
    ParameterError
        When there is no such exercise.
    """
    found = {exercise: each for each in lessons() for exercise in each.exercises}
    if name not in found:
        raise ParameterError(f"the course has no exercise {name!r}{did_you_mean(name, found)}")
    if answer is ...:
        raise NotYetError("put your answer in the place of the dots")
    scope, text = found[name].solved(name)
    if help_text := _help(answer, scope[found[name].exercises[name]], scope, text):
        raise NotYetError(help_text)
    sys.stdout.write("Right.\n")


def _help(answer: Any, right: Any, scope: dict[str, Any], text: str) -> str:
    """Return a word of help for a wrong answer, and none for a right one."""
    mistakes: list[tuple[str, str, str]] = _MISTAKE.findall(text)
    if _kind(right) != _kind(answer):
        return f"the answer is a {_kind(right)}, not a {_kind(answer)}"
    if any(unless for unless, _, _ in mistakes):
        return next((word for _, code, word in mistakes if not eval(code, scope | {"answer": answer})), "")
    cases = [code for line in _TRIED.findall(text) for code in re.findall(r"`(.+?)`", line)]
    arguments = [eval(f"({code},)", scope) for code in cases]
    given = _result(answer, arguments)
    if _alike(given, due := _result(right, arguments)):
        return ""
    for _, code, word in mistakes:
        if _alike(given, _result(eval(code, scope), arguments)):
            return word
    for code, one, other in zip(cases, given if cases else (), due if cases else (), strict=True):
        if not _alike(one, other):
            return f"your function returns {'nothing' if one is None else 'something else'} for {code}"
    return "that is not it; the hint says how to begin"


def _kind(value: Any) -> str:
    if isinstance(value, Real):
        return "number"
    name = "function" if callable(value) else type(value).__name__
    return {"str": "text", "dict": "dictionary", "DataFrame": "table"}.get(name, name)


def _result(answer: Any, arguments: list[tuple[Any, ...]]) -> Any:
    """Return an answer; of a function, its results for all cases."""
    return [answer(*each) for each in arguments] if callable(answer) else answer


def _alike(one: Any, other: Any) -> bool:
    """Compare answers: figures may be rounded to two digits, and tables have the same rows."""
    if isinstance(one, Real) and isinstance(other, Real):
        return math.isclose(one, other, abs_tol=0.0051)
    if isinstance(one, pd.DataFrame) and isinstance(other, pd.DataFrame):
        return sorted(one.index) == sorted(other.index)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    return type(one) is type(other) and bool(one == other)
