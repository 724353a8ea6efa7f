"""A box that explains the terms of a panel, with examples of the table in hand."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from nicegui import background_tasks, ui

from incrowd.core.io.columns import columns_named
from incrowd.faces.studio.parts import cut, emptied, marked, note, words
from incrowd.measures.privacy import MODELS
from incrowd_gate.wording import percent

if TYPE_CHECKING:
    from incrowd.faces.studio.work import Work

_ROWS = 100_000
"""Most rows of a table in which the class of the first row is counted."""
_CLASS = "The rows that have the same released cells in all quasi-identifiers."
TERMS = (
    ("Table", "Attacker", "Somebody who knows some columns of some people, and wants to know more.",
     "Somebody may know of row 1: {quasi}."),
    ("Column", "Identifying attribute", "A column that names a person by itself.", "Row 1: {identifying}."),
    ("Column", "Quasi-identifier", "A column that others may know about a person.", "Row 1: {quasi}."),
    ("Column", "Sensitive attribute", "A column that others must not learn about a person.",
     "Row 1: {sensitive}."),
    ("Column", "Generalization hierarchy",
     "A tree that says how the values of a column become coarser, level by level.", "{column}: {path}."),
    ("Limits", "Equivalence class", _CLASS, "Row 1: {quasi}. Raw records that look like this: {alike:,}."),
    ("Limits", "k-anonymity", "", "Before recoding, the class of row 1 has k = {alike:,}."),
    ("Limits", "l-diversity", "", "Before recoding, that class has l = {different:,} for {attribute}."),
    ("Limits", "t-closeness", "",
     "Before recoding, {attribute} is {value} in {whole} of the table, and in {part} of that class."),
    ("Limits", "Suppression", "The quasi-identifiers of a record become *.", "Row 1 would lose {quasi}."),
    ("Tables", "Primary suppression",
     "Cells of a count table that are left out because they are small, or because few people make most of a "
     "sum.", ""),
    ("Explore", "Recoding", "What becomes of each raw value.", "{column} may become coarser: {path}."),
    ("Explore", "Loss", "How much of its column a released cell covers.",
     "{column}: {path}. The loss grows from 0 to 1."),
    ("Verdict", "Equivalence class", _CLASS, "There are {classes:,}. The smallest has {smallest:,} records."),
    ("Verdict", "Risk", "How likely an attacker finds the right row: 1 divided by the size of its class.",
     "The risk of row 1 was {risk} before recoding."),
    ("Verdict", "Verdict", "Whether a release may be used: it holds, is open, or is broken.",
     "The verdict of this release: {verdict}."),
    ("Hand over", "Account", "It says how the release was made, and what was measured.", ""),
)  # fmt: skip
"""Panels, terms, meanings as in the glossary or else of the model, and examples that `facts` fill."""


def facts(work: Work, *, paths: bool = True) -> dict[str, Any]:
    """Return the facts that examples name: facts of the table, and of `paths` if requested."""
    if work.choices is None:
        return {}
    rows, having = work.rows(0, _ROWS), work.choices.having
    first = {name: "missing" if cell is None else cell for name, cell in rows.row(0, named=True).items()}
    found: dict[str, Any] = {}
    for role in ("identifying", "quasi", "sensitive"):
        if names := having(role):
            found[role] = cut(", ".join(f"{name} {first[name]}" for name in names))
    if (quasi := having("quasi")) and len(rows) == work.height:
        keys = columns_named(quasi)
        alike = rows.join(rows[:1].select(keys), on=keys, how="semi", nulls_equal=True)
        found |= {"alike": len(alike), "risk": percent(1 / len(alike))}
        for name in having("sensitive")[:1]:
            found |= {"attribute": name, "value": cut(str(first[name])), "different": alike[name].n_unique()}
            for share, part in (("whole", rows), ("part", alike)):
                found[share] = percent(int(part[name].eq_missing(rows[name][:1]).sum()) / len(part))
    for name in quasi if paths else ():
        if len(path := work.examples([name]).get(name, ())) > 2:
            found |= {"column": name, "path": " → ".join(map(cut, path))}
            break
    if work.release is not None:
        after = work.release.privacy
        found |= {"classes": after.classes, "smallest": after.smallest}
        found["verdict"] = work.release.verdict.brief
    return found


def explain(page: Any, name: str) -> Callable[[], Any]:
    """Explain the terms of a panel. Return a function that looks for the examples anew."""
    box = marked(ui.element("section").classes("box charts bg-sky-50 dark:bg-slate-800"), "teaching")
    box.props["aria-label"] = "Terms of this panel"
    terms = [each[1:] for each in TERMS if each[0] == name]
    paths = any("{path}" in example for *_, example in terms)

    async def fill() -> None:
        values = await page.doing(lambda _: None, None, facts, page.work, paths=paths) or {}
        if not box.is_deleted:
            with emptied(box):
                for term, meaning, example in terms:
                    with ui.element("div"), suppress(KeyError):
                        words("div", term, "name")
                        words("p", meaning or f"{MODELS.get(term).summary.capitalize()}.")
                        note(example.format(**values))

    background_tasks.create(fill())
    return lambda: background_tasks.create(fill())
