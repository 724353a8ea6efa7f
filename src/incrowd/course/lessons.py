"""Lessons: notebooks whose cells are tagged with a role, such as ``exercise`` and ``answer``.

A folder may have lessons of a teacher's own beside those of the course, as `own_lessons` finds them.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterator, Sequence
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NamedTuple

from incrowd.core.errors import ParameterError, did_you_mean
from incrowd.course.tables import COLUMNS

HIDDEN = ".answers"
"""The folder beside notebooks without answers that has the answers to a teacher's own exercises."""

_FOR_TEACHERS = {"teacher", "answer", "mistakes"}
_CHECK = re.compile(r"""^check\(["']([\w-]+)["'], (\w+)\)""", re.MULTILINE)
_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_OF_NOTEBOOKS = re.compile(r"^[%!].*$", re.MULTILINE)
"""Lines for the notebook itself, such as ``%matplotlib inline``, which are no Python."""
_TABLE = re.compile(r"""\btable\(["']([\w-]+)["']\)""")


class Cell(NamedTuple):
    """A cell: role, text, and whether the text is Python."""

    role: str
    text: str
    is_code: bool

    @classmethod
    def of_notebook(cls, stored: dict[str, Any]) -> Cell:
        """Return a stored cell of a notebook, with the first tag as the role."""
        role = "".join(stored["metadata"].get("tags", [])[:1])
        return cls(role, "".join(stored["source"]), stored["cell_type"] == "code")

    @property
    def code(self) -> str:
        """The Python that the cell runs: the code shown in an answer, and none for an exercise."""
        if self.role == "answer":
            return "".join(_PYTHON.findall(self.text))
        return _OF_NOTEBOOKS.sub("", self.text) if self.is_code and self.role != "exercise" else ""


class Lesson:
    """A notebook with exercises, such as ``3-by-hand.ipynb``."""

    def __init__(self, path: Traversable) -> None:
        self.path = path
        self.file = path.name
        stem = self.file.removesuffix(".ipynb")
        number, _, name = stem.partition("-")
        self.number, self.name = (number, name) if number.isdecimal() and name else ("", stem)
        self._run = self._solutions()
        self._solved: dict[str, tuple[dict[str, Any], str]] = {}

    @cached_property
    def document(self) -> dict[str, Any]:
        """The stored notebook.

        Raises
        ------
        ParameterError
            When the file is none.
        """
        try:
            document: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
            list(map(Cell.of_notebook, document["cells"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ParameterError(f"{self.path}: the file is no notebook (.ipynb)") from None
        return document

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells in order."""
        return list(map(Cell.of_notebook, self.document["cells"]))

    @property
    def title(self) -> str:
        """The heading, or the name where a lesson has none."""
        lines = [line for cell in self.cells if not cell.is_code for line in cell.text.splitlines()]
        return next((line.removeprefix("# ") for line in lines if line.startswith("# ")), self.name)

    @property
    def minutes(self) -> int:
        """How long a class needs; 0 where the notebook does not say."""
        minutes = self.document.get("metadata", {}).get("minutes")
        return minutes if isinstance(minutes, int) else 0

    @cached_property
    def exercises(self) -> dict[str, str]:
        """The name of the answer in the code, by exercise."""
        return dict(_CHECK.findall("\n".join(cell.text for cell in self.cells if cell.role == "exercise")))

    @property
    def tables(self) -> set[str]:
        """The names of the tables that the lesson reads."""
        return {name for cell in self.cells for name in _TABLE.findall(cell.text)}

    def answers(self, exercise: str) -> bool:
        """Return whether the notebook has an answer to an exercise."""
        names = [name for name, cell in self._named_cells() if cell.role == "answer" and cell.code]
        return exercise in names

    def written(self, *, answers: bool = True) -> str:
        """Return the notebook as a file, with or without answers and notes for teachers."""
        pairs = zip(self.document["cells"], self.cells, strict=True)
        cells = [stored for stored, cell in pairs if answers or cell.role not in _FOR_TEACHERS]
        return json.dumps(self.document | {"cells": cells}, indent=1, ensure_ascii=False) + "\n"

    def extends(self, other: Lesson) -> bool:
        """Return whether all that another lesson runs and judges by stands here unchanged, in this order."""
        mine = iter([(cell.role, cell.code or cell.text) for cell in self.cells])
        parts = [cell for cell in other.cells if cell.code or cell.role == "mistakes"]
        return all((cell.role, cell.code or cell.text) in mine for cell in parts)

    def solved(self, exercise: str) -> tuple[dict[str, Any], str]:
        """Return the names of the lesson after an exercise, and the usual mistakes.

        Raises
        ------
        ParameterError
            When the answer of the lesson breaks, or does not make what the exercise checks.
        """
        try:
            while exercise not in self._solved:
                name, scope, mistakes = next(self._run)
                self._solved[name] = scope, mistakes
        except BaseException:
            # A run that was broken off cannot go on.
            self._run = self._solutions()
            raise
        return self._solved[exercise]

    def _named_cells(self) -> Iterator[tuple[str, Cell]]:
        """Yield each cell with the name of the exercise above."""
        name = ""
        for cell in self.cells:
            if cell.role == "exercise":
                name = "".join(exercise for exercise, _ in _CHECK.findall(cell.text)) or name
            yield name, cell

    def _solutions(self) -> Iterator[tuple[str, dict[str, Any], str]]:
        """Run the lesson with the answers, stopping at each exercise.

        A cell that breaks is passed over: whoever works in a notebook tries things. An answer may need it.
        """
        scope: dict[str, Any] = {}
        broken = ""
        mistakes = {name: cell.text for name, cell in self._named_cells() if cell.role == "mistakes"}
        for number, (name, cell) in enumerate(self._named_cells(), 1):
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(cell.code, self.file, "exec"), scope)
            except Exception as error:
                word = f"cell {number} raises {type(error).__name__}: {error}"
                if cell.role == "answer":
                    raise ParameterError(f"{self.file}: the answer in {word}{broken}") from error
                broken = broken or f"; before it, {word}"
            if cell.role == "answer" and name:
                if self.exercises[name] not in scope:
                    raise ParameterError(
                        f"{self.file}: the answer in cell {number} makes no {self.exercises[name]!r}, which "
                        f"check({name!r}, ...) looks at{broken}"
                    )
                yield name, dict(scope), mistakes.get(name, "")


@cache
def lessons() -> tuple[Lesson, ...]:
    """Return all lessons of the course in order."""
    stored = (files("incrowd.course") / "notebooks").iterdir()
    paths = sorted((path for path in stored if path.name.endswith(".ipynb")), key=lambda path: path.name)
    return tuple(map(Lesson, paths))


def own_lessons(folder: Path, *, strict: bool = False) -> list[Lesson]:
    """Return the lessons of a folder in order: notebooks with exercises, but no mere copies of the course's.

    Parameters
    ----------
    strict
        Whether a file that is no notebook is refused. Otherwise it is passed over.

    Raises
    ------
    ParameterError
        When it is refused.
    """
    own = []
    tables = sorted(Path().glob("*.csv"))
    for path in sorted(folder.glob("*.ipynb")):
        states = ((each, each.stat()) for each in (path, *tables))
        lesson = _lesson_at(
            path.resolve(), tuple((str(each), state.st_mtime_ns, state.st_size) for each, state in states)
        )
        with contextlib.nullcontext() if strict else contextlib.suppress(ParameterError):
            alike = [each for each in lessons() if each.exercises.keys() == lesson.exercises.keys()]
            if lesson.exercises and not any(map(lesson.extends, alike)):
                own.append(lesson)
    return own


def lessons_beside(folder: Path | None) -> list[Lesson]:
    """Return the lessons of the course and of a folder, with the folder's in place of equal files.

    Raises
    ------
    ParameterError
        When the folder has no lesson, or a file that is no notebook.
    """
    own = [] if folder is None else own_lessons(folder, strict=True)
    if folder is not None and not own:
        raise ParameterError(
            f"{folder}: no notebook there has an exercise of its own, a cell with the tag 'exercise' that "
            'ends with check("name", answer)'
        )
    by_file = {each.file: each for each in (*lessons(), *own)}
    return [by_file[file] for file in sorted(by_file)]


def copies(chosen: Sequence[Lesson], folder: Path | None, *, answers: bool) -> dict[str, bytes]:
    """Return the files of a copy by name: lessons, and a folder's answers and tables.

    Raises
    ------
    ParameterError
        When a lesson of the folder reads a table that is not there.
    """
    written = {each.file: each.written(answers=answers).encode() for each in chosen}
    for each in chosen:
        # A lesson of the course needs no more: the package has its answers and its tables.
        if folder is None or each in lessons():
            continue
        if not answers:
            written[f"{HIDDEN}/{each.file}"] = each.written().encode()
        for name in sorted(each.tables - set(COLUMNS)):
            path = folder / f"{name}.csv"
            if not path.is_file():
                raise ParameterError(f"{each.file} reads table {name!r}, and there is no {path}")
            written[path.name] = path.read_bytes()
    return written


@lru_cache(maxsize=64)
def _lesson_at(path: Path, _states: tuple[tuple[str, int, int], ...]) -> Lesson:
    """Return the lesson of a file, whose answers are kept until the file or a table changes."""
    return Lesson(path)


def lesson(name: str, among: Sequence[Lesson] = ()) -> Lesson:
    """Return a lesson by name, number or file, from a list (by default the course's).

    Raises
    ------
    ParameterError
        When there is none.
    """
    among = among or lessons()
    for entry in among:
        if name in (entry.name, entry.number, entry.file):
            return entry
    names = [entry.name for entry in among]
    raise ParameterError(
        f"the course has no lesson {name!r}{did_you_mean(name, names) or '; there are ' + ', '.join(names)}"
    )
