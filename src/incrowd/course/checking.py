"""The check of an answer: the lesson itself has the right one, and the usual mistakes with a word of help."""

from __future__ import annotations

import contextlib
import copy
import math
import re
import sys
from collections.abc import Mapping
from numbers import Real
from typing import Any

from incrowd.course import probes
from incrowd.course.lessons import lessons
from incrowd.errors import IncrowdError, ParameterError, did_you_mean
from incrowd.lazy import pd

_MISTAKE = re.compile(r"^- (unless )?`(.+?)`: (.+)$", re.MULTILINE)
_BLANK = "not answered yet: "
_TRIED = re.compile(r"^Tried on (.+)$", re.MULTILINE)


class NotYetError(IncrowdError, AssertionError):
    """An answer is not right yet; the message names the mistake, or leads to the hint."""

    @property
    def line(self) -> str:
        """The line that a notebook shows: a traceback would show no code of the student."""
        return str(self).capitalize() if str(self).startswith(_BLANK) else f"Not yet: {self}"


def check(name: str, answer: Any) -> None:
    """Print "Right." if an answer is right.

    In a notebook a wrong answer prints its line, and the cells below run on.

    Parameters
    ----------
    name
        The exercise, such as ``k-of-a-table``.
    answer
        A figure, a table, a function or whatever else the exercise asks for.

    Raises
    ------
    NotYetError
        When it is wrong, outside of a notebook.
    ParameterError
        When there is no such exercise.
    """
    if word := _judged(name, answer)[0]:
        error = NotYetError(word)
        if not _is_notebook():
            raise error
        sys.stdout.write(f"{error.line}\n")
    else:
        sys.stdout.write("Right.\n")


def fallback(name: str, answer: Any) -> Any:
    """Return an answer if it is right, and one of the course in its place, so that the lesson can go on.

    For example, ``step = fallback("step", step)`` stands above cells that call ``step``.

    Parameters
    ----------
    name, answer
        As for `check`.

    Raises
    ------
    ParameterError
        When there is no such exercise.
    """
    word, right = _judged(name, answer)
    if not word:
        return answer
    sys.stdout.write(f"Until {name} is right, the lesson goes on with an answer of its own.\n")
    return right


def _is_notebook() -> bool:
    module = sys.modules.get("IPython")
    return module is not None and module.get_ipython() is not None


def _judged(name: str, answer: Any) -> tuple[str, Any]:
    """Return a word of help for a wrong answer, and none for a right one; and a right answer."""
    found = {exercise: each for each in lessons() for exercise in each.exercises}
    if name not in found:
        raise ParameterError(f"the course has no exercise {name!r}{did_you_mean(name, found)}")
    scope, text = found[name].solved(name)
    right = scope[found[name].exercises[name]]
    return _help(answer, right, scope, text), right


def _help(answer: Any, right: Any, scope: dict[str, Any], text: str) -> str:
    """Return a word of help for a wrong answer, and none for a right one."""
    mistakes: list[tuple[str, str, str]] = _MISTAKE.findall(text)
    if answer is ... or answer is None:
        return f"{_BLANK}put your answer in the place of the dots"
    if _kind(right) != _kind(answer):
        return f"the answer is a {_kind(right)}, not a {_kind(answer)}"
    cases = [code for line in _TRIED.findall(text) for code in re.findall(r"`(.+?)`", line)]
    arguments = [eval(f"({code},)", scope) for code in cases]
    given: Any = [] if callable(answer) else answer
    for code, each in zip(cases, arguments, strict=True):
        try:
            given.append(_result(answer, [each])[0])
        except Exception as error:
            return f"your function raises {type(error).__name__} for {code}: {error}"
    if cases and all(each is None for each in given):
        return f"{_BLANK}your function returns nothing"
    if any(unless for unless, _, _ in mistakes):
        names = scope | {"answer": answer, "probes": probes}
        return next((word for _, code, word in mistakes if not _holds(code, names)), "")
    if _alike(given, due := _result(right, arguments)):
        return ""
    for _, code, word in mistakes:
        if _alike(given, _result(eval(code, scope), arguments)):
            return word
    for code, one, other in zip(cases, given if cases else (), due if cases else (), strict=True):
        if not _alike(one, other):
            return f"your function returns {'nothing' if one is None else 'something else'} for {code}"
    return "that is not it; the hint says how to begin"


def _holds(code: str, names: dict[str, Any]) -> bool:
    """Say whether a condition holds; an answer of an odd form, with which it cannot be computed, fails it."""
    with contextlib.suppress(Exception):
        return bool(eval(code, names))
    return False


def _kind(value: Any) -> str:
    if isinstance(value, Real):
        return "number"
    name = "function" if callable(value) else type(value).__name__
    return {"str": "text", "dict": "dictionary", "DataFrame": "table"}.get(name, name)


def _result(answer: Any, arguments: list[tuple[Any, ...]]) -> Any:
    """Return an answer; of a function, its results for all cases."""
    # A function may change the tables that it gets.
    return [answer(*copy.deepcopy(each)) for each in arguments] if callable(answer) else answer


def _alike(one: Any, other: Any) -> bool:
    """Compare answers: figures may be rounded to two digits, and tables have the same rows."""
    if isinstance(one, Real) and isinstance(other, Real):
        return math.isclose(one, other, abs_tol=0.0051)
    if isinstance(one, pd.DataFrame) and isinstance(other, pd.DataFrame):
        return _records(one) == _records(other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    with contextlib.suppress(ValueError):
        return type(one) is type(other) and bool(one == other)
    return False


def _records(rows: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the rows of a table in one order, with the names of its columns first."""
    columns = sorted(map(str, rows.columns))
    cells = rows.set_axis([str(each) for each in rows.columns], axis=1)[columns].astype(str)
    return [tuple(columns), *sorted(cells.itertuples(index=False, name=None))]
