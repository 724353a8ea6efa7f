"""A lesson of a teacher's own, with the table of a class, as files."""

from __future__ import annotations

import json
from pathlib import Path

CLASS = "age,zip,way\n15,0801,tram\n15,0801,tram\n16,0801,bus\n16,0802,bus\n16,0802,\n"
BEGIN = 'from incrowd.course import check, table\n\n%matplotlib inline\nours = table("our-class")'
ANSWER = '```python\nk = ours.groupby(["age", "zip"]).size().min()\n```'
MISTAKES = "- `len(ours)`: that is how many rows there are"


def notebook(*cells, **metadata):
    """Return a notebook as text, where cells are pairs of a tag and a text, and code has no text tag."""
    stored = [
        {
            "cell_type": "code" if tag in ("", "exercise") else "markdown",
            "metadata": {"tags": [tag] * bool(tag)},
            "source": text.splitlines(keepends=True),
        }
        for tag, text in cells
    ]
    return json.dumps({"cells": stored, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4})


def own(*more):
    exercise = ("exercise", "k = ...\n\ncheck('our-k', k)")
    return notebook(("", BEGIN), *more, exercise, ("answer", ANSWER), ("mistakes", MISTAKES))


def write_lesson(folder: Path) -> Path:
    """Write lesson and table into a new folder."""
    folder.mkdir()
    (folder / "9-our-class.ipynb").write_text(own())
    (folder / "our-class.csv").write_text(CLASS)
    return folder
