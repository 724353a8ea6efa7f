"""The check of an answer against the lesson's answer and the usual mistakes.

For example, ``[24 - 31]`` and ``24-31`` are one range, and a list is as good as a tuple.
"""

from __future__ import annotations

import contextlib
import copy
import math
import re
import sys
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any

from incrowd.core.errors import IncrowdError, ParameterError, did_you_mean
from incrowd.core.lazy import np, pd
from incrowd.course import probes
from incrowd.course.lessons import HIDDEN, Lesson, lessons, own_lessons
from incrowd.course.tables import blank_names

_MISTAKE = re.compile(r"^- (unless )?`(.+?)`: (.+)$", re.MULTILINE)
_BLANK = "not answered yet: "
_TRIED = re.compile(r"^Tried on (.+)$", re.MULTILINE)
_RANGE = re.compile(r"\[?\s*(-?[\d.]+)\s*[-\u2013]\s*(-?[\d.]+)\s*\]?")


class NotYetError(IncrowdError, AssertionError):
    """An answer that is not right yet, with a message about the mistake or the hint."""

    @property
    def line(self) -> str:
        """The line that a notebook shows: a traceback would show no code of the student."""
        return str(self).capitalize() if str(self).startswith(_BLANK) else f"Not yet: {self}"


def check(name: str, answer: Any) -> None:
    """Print "Right." if an answer is right.

    In a notebook a wrong answer prints its line, and the cells below run on. Exercises of a teacher's own
    are those of notebooks in the current folder.

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
        When there is no such exercise, or the lesson's own answer breaks.
    """
    if word := _judge(name, answer)[0]:
        error = NotYetError(word)
        if not _is_notebook():
            raise error
        sys.stdout.write(f"{error.line}\n")
    else:
        sys.stdout.write("Right.\n")


def fallback(name: str, answer: Any) -> Any:
    """Return a right answer unchanged, or the course's answer in place of a wrong one.

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
    word, right = _judge(name, answer)
    if not word:
        return answer
    sys.stdout.write(f"Until {name} is right, the lesson goes on with an answer of its own.\n")
    return right


def _is_notebook() -> bool:
    module = sys.modules.get("IPython")
    return module is not None and module.get_ipython() is not None


def _judge(name: str, answer: Any) -> tuple[str, Any]:
    """Return a hint for a wrong answer (empty for a right answer), and a right answer."""
    lesson = _lesson_with(name)
    scope, text = lesson.solved(name)
    right = scope[lesson.exercises[name]]
    return _hint(answer, right, scope, text), right


def _lesson_with(name: str) -> Lesson:
    """Return the lesson that has an exercise with its answer, where one of the current folder comes first."""
    own = [*own_lessons(Path()), *own_lessons(Path(HIDDEN))]
    among = [*own, *lessons()]
    for each in among:
        if name in each.exercises and each.answers(name):
            return each
    if of := next((each for each in own if name in each.exercises), None):
        raise ParameterError(
            f"{of.file}: exercise {name!r} has no answer, there or in {HIDDEN}; write it into a cell with "
            "the tag 'answer', as a block of Python"
        )
    known = [exercise for each in among for exercise in each.exercises]
    raise ParameterError(f"the course has no exercise {name!r}{did_you_mean(name, known)}")


def _hint(answer: Any, right: Any, scope: dict[str, Any], text: str) -> str:
    """Return a hint for a wrong answer, empty for a right answer."""
    mistakes: list[tuple[str, str, str]] = _MISTAKE.findall(text)
    answer = _in_form(answer, right)
    if word := _wrong_form(answer, right):
        return word
    cases = [code for line in _TRIED.findall(text) for code in re.findall(r"`(.+?)`", line)]
    arguments = [eval(f"({code},)", scope) for code in cases]
    results: Any = [] if callable(answer) else answer
    for code, values in zip(cases, arguments, strict=True):
        try:
            results.append(_result(answer, [values])[0])
        except Exception as error:
            return f"your function raises {type(error).__name__} for {code}: {error}"
    if cases and all(result is None for result in results):
        return f"{_BLANK}your function returns nothing"
    if any(unless for unless, _, _ in mistakes):
        names = scope | {"answer": answer, "probes": probes}
        return next((word for _, code, word in mistakes if not _holds(code, names)), "")
    if _alike(results, due := _result(right, arguments)):
        return ""
    for _, code, word in mistakes:
        if _alike(results, _result(eval(code, scope), arguments)):
            return word
    for code, one, other in zip(cases, results if cases else (), due if cases else (), strict=True):
        if not _alike(one, other):
            return f"your function returns {'nothing' if one is None else 'something else'} for {code}"
    return "that is not it; the hint says how to begin"


def _in_form(answer: Any, right: Any) -> Any:
    """Return an answer in the form of the right answer, where a list or a series is as good."""
    if isinstance(answer, pd.Series) and isinstance(right, dict | list | tuple):
        answer = answer.to_dict() if isinstance(right, dict) else answer.tolist()
    return tuple(answer) if isinstance(right, tuple) and isinstance(answer, list | np.ndarray) else answer


def _wrong_form(answer: Any, right: Any) -> str:
    """Return a hint for an answer that is missing, or of another kind than the right answer."""
    if answer is ... or answer is None:
        return f"{_BLANK}put your answer in the place of the dots"
    if _kind(right) != _kind(answer):
        return f"the answer is a {_kind(right)}, not a {_kind(answer)}"
    word = blank_names(answer.columns) if isinstance(answer, pd.DataFrame) else ""
    return word and f"{word}; read the file with skipinitialspace=True"


def _holds(code: str, names: dict[str, Any]) -> bool:
    """Return whether a condition holds, which an answer of another form fails."""
    with contextlib.suppress(Exception):
        return bool(eval(code, names))
    return False


def _kind(value: Any) -> str:
    if isinstance(value, Real):
        return "number"
    if isinstance(value, list | tuple | np.ndarray):
        return "list"
    name = "function" if callable(value) else type(value).__name__
    return {"str": "text", "dict": "dictionary", "DataFrame": "table"}.get(name, name)


def _result(answer: Any, arguments: list[tuple[Any, ...]]) -> Any:
    """Return an answer, or the results of a function for all cases."""
    # A function may change the tables that it gets.
    return [answer(*copy.deepcopy(values)) for values in arguments] if callable(answer) else answer


def _alike(one: Any, other: Any) -> bool:
    """Return whether two answers agree, up to rounding to two digits and the order of rows."""
    if isinstance(one, Real) and isinstance(other, Real):
        return math.isclose(one, other, abs_tol=0.0051)
    if isinstance(one, pd.DataFrame) and isinstance(other, pd.DataFrame):
        return _records(one) == _records(other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if _kind(one) == _kind(other) == "list":
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, str) and isinstance(other, str):
        return _plain_range(one) == _plain_range(other)
    with contextlib.suppress(ValueError):
        return type(one) is type(other) and bool(one == other)
    return False


def _records(rows: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the sorted rows of a table after the names of the columns."""
    columns = sorted(map(str, rows.columns))
    cells = rows.set_axis(list(map(str, rows.columns)), axis=1)[columns].astype(str).map(_plain_range)
    return [tuple(columns), *sorted(cells.itertuples(index=False, name=None))]


def _plain_range(text: str) -> str:
    """Return a text; a range in any notation, ``[24-31]`` or ``24 - 31``, becomes ``24-31``."""
    return _RANGE.sub(r"\1-\2", text) if _RANGE.fullmatch(text) else text
