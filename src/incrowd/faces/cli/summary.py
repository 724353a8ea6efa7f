"""The first screen of a result: the verdict, its meaning, and a few figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from incrowd.faces.cli.tables import number, search_text
from incrowd.release.accounts.statements import no_limit
from incrowd_verify.cli import show_verdict

if TYPE_CHECKING:
    from incrowd.measures.privacy import EquivalenceClass, ModelResult
    from incrowd.release.jobs.assess import Assessment
    from incrowd.release.jobs.release import Release
    from incrowd_verify.gate.verdict import Verdict

_CONDITIONS = 6
"""Conditions that are told one by one."""
_COLUMNS = 8
"""Columns of which a class's cells are told."""


def show_release_summary(out: Console, release: Release) -> None:
    """Print the verdict on a release: the limits and the values reached, the success of attackers, the
    losses.
    """
    before, after = release.before, release.privacy
    asked = _asked(after.results.asked)
    show_verdict(out, release.verdict)
    _show(out, asked, release.sentences(conditions=False))
    _show_weakest(out, asked)
    if before.people is None or after.people is None:
        smallest = (
            f"smallest {before.smallest:,} and {after.smallest:,}; unique {before.unique:,} and "
            f"{after.unique:,}"
        )
    else:
        smallest = (
            f"people in the smallest {before.people.smallest:,} and {after.people.smallest:,}, people alone "
            f"in a class {before.people.alone:,} and {after.people.alone:,}"
        )
    # One line of a terminal for most tables.
    out.print(f"Classes: {before.classes:,} before, {after.classes:,} after; {smallest}.")
    if release.lattice is not None:
        # Rounds have levels of their own: those of the search are what the release would be without.
        decided = release.recoding.decisions()
        rounds = f"{decided['rounds']:,} rounds of levels; without them " if "rounds" in decided else ""
        out.print(rounds + search_text(release.lattice))


def last_line(verdict: Verdict, place: str, words: str) -> str:
    """Return the last line of a command: the place of a release, and that points are open if some are.

    Parameters
    ----------
    place
        The file, with its rows.
    words
        What holds, where the verdict does.
    """
    return f"written: {place}, {words}" if verdict.holds else f"written although {verdict.brief}: {place}"


def show_assessment_summary(out: Console, assessment: Assessment) -> None:
    """Print the verdict on a table as it stands, how easily people are found in it, and its weakest class."""
    asked = _asked(assessment.results.asked)
    if assessment.verdict is None:
        out.print(Text(no_limit("table"), "bold"))
        for point in assessment.points:
            out.print(Text(f"  {point.sentence()}"))
    else:
        show_verdict(out, assessment.verdict)
    _show(out, asked, assessment.sentences(conditions=False))
    _show_weakest(out, asked or assessment.privacy)


def _show(out: Console, asked: Sequence[ModelResult], sentences: Sequence[str]) -> None:
    """Print the limits that are met in one sentence, since the verdict names the others; then sentences."""
    if met := [each for each in asked if each.holds]:
        out.print(_conditions(met))
    for sentence in sentences:
        out.print(sentence)


def _asked(measured: Iterable[ModelResult]) -> list[ModelResult]:
    return [each for each in measured if each.limit is not None]


def _conditions(asked: Sequence[ModelResult]) -> str:
    """Compare the limit and the value reached in one sentence."""
    conditions = []
    for each in asked[:_CONDITIONS]:
        of = f" of {each.attribute}" if each.attribute else ""
        of += f" against {each.attacker}" if each.attacker else ""
        reached = number(each.value)
        conditions.append(f"{each.model}{of} {each.quantity}={reached} ({each.sign} {number(each.limit)})")
    more = f" and {len(asked) - _CONDITIONS} more" if len(asked) > _CONDITIONS else ""
    return "Reached: " + ", ".join(conditions) + more + "."


def _show_weakest(out: Console, measured: Sequence[ModelResult]) -> None:
    """Describe the class that decides the first condition."""
    for each in measured:
        if each.weakest is not None:
            alike = f" ({each.ties - 1:,} more are as weak)" if each.ties > 1 else ""
            out.print(f"The weakest class for {each.model}{alike}: {_in_words(each.weakest)}.")
            return


def _in_words(weakest: EquivalenceClass) -> str:
    cells = list(weakest.cells.items())
    described = ", ".join(f"{name} {'missing' if cell is None else cell}" for name, cell in cells[:_COLUMNS])
    more = f" and {len(cells) - _COLUMNS} more" if len(cells) > _COLUMNS else ""
    records = f"{weakest.records:,} record{'' if weakest.records == 1 else 's'}"
    if weakest.people is not None:
        records += f" of {'1 person' if weakest.people == 1 else f'{weakest.people:,} people'}"
    return f"{records} with {described}{more}"
