"""The lessons: notebooks whose cells have a role as their tag, such as ``exercise`` and ``answer``."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterator
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, NamedTuple

from incrowd.errors import ParameterError, did_you_mean

_FOR_TEACHERS = {"teacher", "answer", "mistakes"}
_CHECK = re.compile(r'^check\("([\w-]+)", (\w+)\)', re.MULTILINE)
_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Cell(NamedTuple):
    """A cell: its role, its text, and the Python that it runs once the exercise is solved."""

    role: str
    text: str
    is_code: bool

    @classmethod
    def of(cls, stored: dict[str, Any]) -> Cell:
        """Return a cell as a notebook stores it; its role is its first tag."""
        role = "".join(stored["metadata"].get("tags", [])[:1])
        return cls(role, "".join(stored["source"]), stored["cell_type"] == "code")

    @property
    def code(self) -> str:
        """The code of the cell; of an answer the code that it shows, and of an exercise none."""
        if self.role == "answer":
            return "".join(_PYTHON.findall(self.text))
        return self.text if self.is_code and self.role != "exercise" else ""


class Lesson:
    """A notebook of the package, such as ``3-by-hand.ipynb``."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.number, _, self.name = file.removesuffix(".ipynb").partition("-")
        self._run = self._solutions()
        self._solved: dict[str, tuple[dict[str, Any], str]] = {}

    @cached_property
    def document(self) -> dict[str, Any]:
        """The notebook as it is stored."""
        path = files("incrowd.course") / "notebooks" / self.file
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found

    @property
    def cells(self) -> list[Cell]:
        """The cells in their order."""
        return [Cell.of(each) for each in self.document["cells"]]

    @property
    def title(self) -> str:
        """The heading."""
        return self.cells[0].text.splitlines()[0].removeprefix("# ")

    @property
    def minutes(self) -> int:
        """How long a class needs."""
        return int(self.document["metadata"]["minutes"])

    @property
    def exercises(self) -> dict[str, str]:
        """The name of the answer in the code, by exercise."""
        return dict(_CHECK.findall("\n".join(each.text for each in self.cells if each.role == "exercise")))

    def written(self, *, answers: bool = True) -> str:
        """Return the notebook as a file, with or without answers and notes for teachers."""
        left = [
            each
            for each, cell in zip(self.document["cells"], self.cells, strict=True)
            if answers or cell.role not in _FOR_TEACHERS
        ]
        return json.dumps(self.document | {"cells": left}, indent=1, ensure_ascii=False) + "\n"

    def solved(self, exercise: str) -> tuple[dict[str, Any], str]:
        """Return the names of the lesson once an exercise is solved, and its usual mistakes."""
        try:
            while exercise not in self._solved:
                name, scope, mistakes = next(self._run)
                self._solved[name] = scope, mistakes
        except BaseException:
            # A run that was broken off cannot go on.
            self._run = self._solutions()
            raise
        return self._solved[exercise]

    def _solutions(self) -> Iterator[tuple[str, dict[str, Any], str]]:
        """Run the lesson with its answers; stop at each exercise that is solved."""
        scope: dict[str, Any] = {}
        name = ""
        for cell in self.cells:
            name = "".join(each for each, _ in _CHECK.findall(cell.text)) or name
            if cell.role == "mistakes":
                yield name, dict(scope), cell.text
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(cell.code, self.file, "exec"), scope)


@cache
def lessons() -> tuple[Lesson, ...]:
    """Return the lessons in their order."""
    names = (each.name for each in (files("incrowd.course") / "notebooks").iterdir())
    return tuple(Lesson(name) for name in sorted(names) if name.endswith(".ipynb"))


def lesson(name: str) -> Lesson:
    """Return a lesson by its name or its number.

    Raises
    ------
    ParameterError
        When there is none.
    """
    every = lessons()
    for each in every:
        if name in (each.name, each.number, each.file):
            return each
    names = [each.name for each in every]
    raise ParameterError(
        f"the course has no lesson {name!r}{did_you_mean(name, names) or '; there are ' + ', '.join(names)}"
    )
