"""The code speaks the words of the field: names and summaries that only we would know are refused."""

from __future__ import annotations

import ast
import re
from functools import cache

from package_sources import nodes, place, sources

PRIVATE = {
    "blanked", "both", "carried", "chance", "determined", "doubts", "few", "handing", "met", "parted", "passing",
    "seen", "stories", "told",
}  # fmt: skip
"""Words that no module is called by."""

UNCLEAR = {"asked", "carried", "parted", "told"}
"""Words that no public function or class has in its name, beside those of `USED`."""

USED = {"told", "parted", "asked", "is_told"}
"""Names that are part of an interface, as a method of privacy models."""

MOST = 10
"""Summaries with "what", most of which are texts of the command line."""


def words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+", name)}


@cache
def definitions(path):
    kinds = ast.FunctionDef | ast.ClassDef | ast.Module
    return [node for node in nodes(path) if isinstance(node, kinds)]


def test_names_are_words_of_the_field():
    private = []
    for path in sources():
        named = [node.name for node in definitions(path) if not isinstance(node, ast.Module)]
        public = [name for name in named if not name.startswith("_") and name not in USED]
        wrong = [path.stem] if words(path.stem) & PRIVATE else []
        wrong += [name for name in public if words(name) & UNCLEAR]
        private += [f"{place(path)}: {name}" for name in wrong]
    assert private == []


def test_summaries_say_what_a_thing_is_or_does():
    summaries = [
        (ast.get_docstring(node) or "").split("\n\n")[0] for path in sources() for node in definitions(path)
    ]
    assert len(summaries) > 4_000
    assert len([each for each in summaries if re.search(r"\bwhat\b", each, re.IGNORECASE)]) <= MOST


def test_literals_of_docstrings_begin_and_end_without_a_blank():
    """Else the page of the reference shows a broken link in place of the literal."""
    texts = {place(path): re.findall(r"``(.+?)``", path.read_text(encoding="utf-8")) for path in sources()}
    assert sum(map(len, texts.values())) > 500
    assert {path: [one for one in problems if one != one.strip()] for path, problems in texts.items()} == {
        path: [] for path in texts
    }
