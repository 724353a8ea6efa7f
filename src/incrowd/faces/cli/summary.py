"""The first screen of a result: verdict, meaning, and a few figures."""

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
    from incrowd.release.jobs.make.release import Release
    from incrowd.release.jobs.measure.assess import Assessment
    from incrowd_gate.verdict import Verdict

_CONDITIONS = 6
"""Conditions printed one by one."""
_COLUMNS = 8
"""Most cells printed of a class."""


def show_release_summary(out: Console, release: Release) -> None:
    """Print a release's verdict, limits with the values reached, attackers' success and loss."""
    before, after = release.before, release.privacy
    limits = _with_limit(after.results.asked)
    show_verdict(out, release.verdict)
    _show_limits(out, limits, release.sentences(conditions=False))
    _show_weakest(out, limits)
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
        # Rounds choose levels per round; the lattice's levels are those without rounds.
        decided = release.recoding.decisions()
        rounds = f"{decided['rounds']:,} rounds of levels; without them " if "rounds" in decided else ""
        out.print(rounds + search_text(release.lattice))


def last_line(verdict: Verdict, place: str, words: str) -> str:
    """Return the last line of a command: the release's path, and whether points are open.

    Parameters
    ----------
    place
        The file, with its rows.
    words
        The statement to print if the verdict holds.
    """
    return f"written: {place}, {words}" if verdict.holds else f"written although {verdict.brief}: {place}"


def show_assessment_summary(out: Console, assessment: Assessment) -> None:
    """Print an assessment's verdict, risk sentences and weakest class."""
    limits = _with_limit(assessment.results.asked)
    if assessment.verdict is None:
        out.print(Text(no_limit("table"), "bold"))
        for point in assessment.points:
            out.print(Text(f"  {point.sentence()}"))
    else:
        show_verdict(out, assessment.verdict)
    _show_limits(out, limits, assessment.sentences(conditions=False))
    _show_weakest(out, limits or assessment.privacy)


def _show_limits(out: Console, limits: Sequence[ModelResult], sentences: Sequence[str]) -> None:
    """Print the satisfied limits, which the verdict omits, and then `sentences`."""
    if met := [each for each in limits if each.holds]:
        out.print(_conditions(met))
    for sentence in sentences:
        out.print(sentence)


def _with_limit(results: Iterable[ModelResult]) -> list[ModelResult]:
    return [each for each in results if each.limit is not None]


def _conditions(results: Sequence[ModelResult]) -> str:
    """Format values reached and limits as a sentence."""
    conditions = []
    for result in results[:_CONDITIONS]:
        of = f" of {result.attribute}" if result.attribute else ""
        of += f" against {result.attacker}" if result.attacker else ""
        reached = number(result.value)
        conditions.append(
            f"{result.model}{of} {result.quantity}={reached} ({result.sign} {number(result.limit)})"
        )
    more = f" and {len(results) - _CONDITIONS} more" if len(results) > _CONDITIONS else ""
    return "Reached: " + ", ".join(conditions) + more + "."


def _show_weakest(out: Console, results: Sequence[ModelResult]) -> None:
    """Print the weakest class of the first result that has a weakest class."""
    for result in results:
        if result.weakest is not None:
            alike = f" ({result.ties - 1:,} more are as weak)" if result.ties > 1 else ""
            out.print(f"The weakest class for {result.model}{alike}: {_class_text(result.weakest)}.")
            return


def _class_text(weakest: EquivalenceClass) -> str:
    cells = list(weakest.cells.items())
    text = ", ".join(f"{name} {'missing' if cell is None else cell}" for name, cell in cells[:_COLUMNS])
    more = f" and {len(cells) - _COLUMNS} more" if len(cells) > _COLUMNS else ""
    records = f"{weakest.records:,} record{'' if weakest.records == 1 else 's'}"
    if weakest.people is not None:
        records += f" of {'1 person' if weakest.people == 1 else f'{weakest.people:,} people'}"
    return f"{records} with {text}{more}"
