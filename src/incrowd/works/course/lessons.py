"""Lessons: notebooks whose cells are tagged with a role, such as ``exercise`` and ``answer``."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterator
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, NamedTuple

from incrowd.core.errors import ParameterError, did_you_mean

_FOR_TEACHERS = {"teacher", "answer", "mistakes"}
_CHECK = re.compile(r'^check\("([\w-]+)", (\w+)\)', re.MULTILINE)
_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Cell(NamedTuple):
    """A cell: role, text, and whether the text is Python."""

    role: str
    text: str
    is_code: bool

    @classmethod
    def of(cls, stored: dict[str, Any]) -> Cell:
        """Return a stored cell of a notebook, whose role is the first tag."""
        role = "".join(stored["metadata"].get("tags", [])[:1])
        return cls(role, "".join(stored["source"]), stored["cell_type"] == "code")

    @property
    def code(self) -> str:
        """The Python that the cell runs: the code shown in an answer, and none for an exercise."""
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
        """The stored notebook."""
        path = files("incrowd.works.course") / "notebooks" / self.file
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return document

    @property
    def cells(self) -> list[Cell]:
        """The cells in order."""
        return list(map(Cell.of, self.document["cells"]))

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
        return dict(_CHECK.findall("\n".join(cell.text for cell in self.cells if cell.role == "exercise")))

    def written(self, *, answers: bool = True) -> str:
        """Return the notebook as a file, with or without answers and notes for teachers."""
        pairs = zip(self.document["cells"], self.cells, strict=True)
        cells = [stored for stored, cell in pairs if answers or cell.role not in _FOR_TEACHERS]
        return json.dumps(self.document | {"cells": cells}, indent=1, ensure_ascii=False) + "\n"

    def solved(self, exercise: str) -> tuple[dict[str, Any], str]:
        """Return the names of the lesson after an exercise, and the usual mistakes."""
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
        """Run the lesson with the answers, stopping at each exercise."""
        scope: dict[str, Any] = {}
        name = ""
        for cell in self.cells:
            name = "".join(exercise for exercise, _ in _CHECK.findall(cell.text)) or name
            if cell.role == "mistakes":
                yield name, dict(scope), cell.text
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(cell.code, self.file, "exec"), scope)


@cache
def lessons() -> tuple[Lesson, ...]:
    """Return all lessons in order."""
    names = (file.name for file in (files("incrowd.works.course") / "notebooks").iterdir())
    return tuple(Lesson(name) for name in sorted(names) if name.endswith(".ipynb"))


def lesson(name: str) -> Lesson:
    """Return a lesson by name, number or file.

    Raises
    ------
    ParameterError
        When there is none.
    """
    for entry in lessons():
        if name in (entry.name, entry.number, entry.file):
            return entry
    names = [entry.name for entry in lessons()]
    raise ParameterError(
        f"the course has no lesson {name!r}{did_you_mean(name, names) or '; there are ' + ', '.join(names)}"
    )
