"""Results as tables and bars on a terminal."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from incrowd.core.kernels.compiling import on_compiling
from incrowd.core.presentation.documents import figure
from incrowd.core.progress import Cancellable, Progress, Silent, running
from incrowd.faces.cli.interruption import JOBS
from incrowd.faces.cli.logs import LOG, LoggedProgress
from incrowd.measures.privacy import MODELS
from incrowd_verify.cli import Screen

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from incrowd.measures.privacy import EquivalenceClass, ModelResult
    from incrowd.measures.utility import MetricResult
    from incrowd.release.accounts.people import PeopleFigures
    from incrowd.release.jobs.assess import Assessment
    from incrowd.release.jobs.release import Release
    from incrowd.search.lattice import SolutionSpace


_USUAL = ("k-anonymity", "l-diversity", "t-closeness")
"""Models of which a release's table shows everything; of others, what was asked."""


def console() -> Console:
    """Return a console on standard output."""
    return Screen(quiet=LOG.quiet)


def number(value: float | None) -> str:
    """Write a figure with at most six significant digits, and whole numbers whole."""
    if value is None:
        return "-"
    return figure(value, 6)


def percent(value: float) -> str:
    """Write a share in percent."""
    return f"{value:.2%}"


def quantity_text(measured: ModelResult) -> str:
    """Name the quantity that a model measures."""
    usual = {field.name: field.default for field in fields(MODELS.get(measured.model))}
    words = []
    for name, value in measured.settings.items():
        if not isinstance(value, str) and value == usual[name]:
            continue
        words.append(value if isinstance(value, str) else name if value is True else f"{name}={value:g}")
    against = "" if measured.attacker is None else f" against {measured.attacker}"
    return measured.model + (f" ({', '.join(words)})" if words else "") + against


def limit_text(measured: ModelResult) -> str:
    """Write the limit of a model."""
    if measured.limit is None:
        return ""
    return f"{measured.sign} {number(measured.limit)}"


def verdict(holds: bool | None) -> Text:
    """Say whether a limit is met; nothing where none was asked."""
    if holds is None:
        return Text("")
    return Text("holds") if holds else Text("FAILS", "bold red")


def titled(title: str | Text, texts: Sequence[str], numbers: Sequence[str]) -> Table:
    """Make a table without lines: columns of texts, and then columns of numbers."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in texts:
        table.add_column(Text(name))
    for name in numbers:
        table.add_column(Text(name), justify="right")
    return table


def _privacy_table(assessment: Assessment, numbers: Mapping[tuple[str | None, ...], str]) -> Table:
    table = titled("Privacy", ("model", "attribute", "measure"), ("reached",))
    asked = any(measured.limit is not None for measured in assessment.results.asked)
    if asked:
        table.add_column("asked", justify="right")
        table.add_column("")
    table.add_column("weakest class")
    for measured in assessment.privacy:
        row: list[Any] = [
            quantity_text(measured),
            measured.attribute or "",
            measured.quantity,
            number(measured.value),
        ]
        if asked:
            row += [limit_text(measured), verdict(measured.holds)]
        weakest = ""
        if measured.weakest is not None:
            weakest = numbers[_key(measured.weakest)]
            weakest += f" and {measured.ties - 1:,} more" if measured.ties > 1 else ""
        table.add_row(*row, weakest)
    return table


def _key(each: EquivalenceClass) -> tuple[str | None, ...]:
    return tuple(each.cells.values())


def _class_table(title: str, quasi: Sequence[str], classes: Mapping[str, EquivalenceClass]) -> Table:
    by_people = any(each.people is not None for each in classes.values())
    table = titled(title, ("",), ("records", "people") if by_people else ("records",))
    for name in quasi:
        table.add_column(Text(name), overflow="fold")
    for number_, each in classes.items():
        cells = (Text("(missing)" if cell is None else cell) for cell in each.cells.values())
        people = [f"{each.people:,}"] if by_people else []
        table.add_row(number_, f"{each.records:,}", *people, *cells)
    return table


def show_assessment(out: Console, assessment: Assessment) -> None:
    """Print everything that was measured."""
    from incrowd.release.accounts.people import of_people

    people = assessment.people
    out.print(
        f"{assessment.records:,} records{of_people(people)}, quasi-identifiers: {', '.join(assessment.quasi)}"
    )
    if assessment.suppressed:
        out.print(
            f"{assessment.suppressed:,} records are suppressed ({percent(assessment.suppressed_share)}) "
            "and in no class"
        )
    out.print(
        f"{assessment.classes:,} equivalence classes of {assessment.smallest:,} to {assessment.largest:,} "
        f"records, {assessment.mean_size:.2f} on average; {assessment.unique:,} records are unique"
    )
    if people is not None:
        _show_people(out, people)
    out.print()
    out.print(_size_table(assessment))
    out.print()
    weakest: dict[tuple[str | None, ...], EquivalenceClass] = {}
    for measured in assessment.privacy:
        if measured.weakest is not None:
            weakest.setdefault(_key(measured.weakest), measured.weakest)
    numbers = {cells: f"#{place}" for place, cells in enumerate(weakest, 1)}
    out.print(_privacy_table(assessment, numbers))
    out.print()
    _show_reasons(out, assessment)
    if weakest:
        out.print()
        described = {numbers[cells]: each for cells, each in weakest.items()}
        out.print(_class_table("Weakest classes", assessment.quasi, described))
        out.print()
    out.print(risk_table(assessment.risk))
    if assessment.estimates is not None:
        out.print(Text(str(assessment.estimates)))


def _size_table(assessment: Assessment) -> Table:
    """Make the table of class sizes, in people where they are counted."""
    people = assessment.people
    what = "records" if people is None else "people"
    sizes = titled(f"Class sizes in {what}", (), ("size", "classes", what))
    sizes.add_column(f"share of {what}")
    distribution = assessment.distribution if people is None else people.distribution
    everybody = assessment.records if people is None else sum(bin_.records for bin_ in distribution)
    for bin_ in distribution:
        label = f"{bin_.least:,}" if bin_.least == bin_.most else f"{bin_.least:,}-{bin_.most:,}"
        share = bin_.records / max(everybody, 1)
        bar = "█" * max(round(share * 40), 1)
        sizes.add_row(label, f"{bin_.classes:,}", f"{bin_.records:,}", f"{bar} {share:.1%}")
    return sizes


def _show_reasons(out: Console, assessment: Assessment) -> None:
    """Print the further remarks of each model, and how many classes fail it."""
    for measured in assessment.privacy:
        where = f", {measured.attribute}" if measured.attribute else ""
        for reason in measured.reasons:
            out.print(f"{measured.model}{where}: {reason}")
        if measured.failing and measured.failing[0]:
            classes, records = measured.failing
            whom = "" if measured.failing_people is None else f" and {measured.failing_people:,} people"
            out.print(f"{measured.model}{where}: {classes:,} classes of {records:,} records{whom} fail")


def _show_people(out: Console, people: PeopleFigures) -> None:
    out.print(
        f"by {', '.join(people.columns)}: {people.smallest:,} to {people.largest:,} people in a class, "
        f"{people.mean_size:.2f} on average; {people.alone:,} people are alone in a class"
    )
    if people.histories is not None:
        out.print(
            f"rows of a person can be joined: at least {people.histories.fewest:,} people share a whole "
            f"history; {people.histories.alone:,} people share theirs with nobody"
        )
    if people.unnamed:
        out.print(f"{people.unnamed:,} rows do not say whose they are; each counts as a person")


def risk_table(risks: Mapping[str, Mapping[str, float]]) -> Table:
    """Make a row per risk model, a column per figure that any of them has."""
    names = list(dict.fromkeys(name for figures in risks.values() for name in figures))
    table = titled("Risk", ("model",), [name.replace("_", " ") for name in names])
    for model, figures in risks.items():
        table.add_row(model, *(number(figures[name]) if name in figures else "" for name in names))
    return table


def loss_table(utility: Mapping[str, MetricResult], names: Sequence[str]) -> Table:
    """Put the values of metrics into a table."""
    by_weight = any(lost.weighted is not None for lost in utility.values())
    table = titled("Lost", ("metric",), ("value", "0 to 1", *(("weighted",) if by_weight else ()), *names))
    for lost in utility.values():
        each = lost.per_attribute or {}
        weighted = (lost.weighted,) if by_weight else ()
        figures = [lost.value, lost.normalized, *weighted, *(each.get(name) for name in names)]
        table.add_row(lost.metric, *("" if figure is None else number(figure) for figure in figures))
    return table


def show_release(out: Console, release: Release) -> None:
    """Print before and after side by side, the losses and the times."""
    before, after = release.before, release.privacy
    table = titled("Before and after", ("",), ("before", "after", "asked"))
    table.add_column("")
    rows: list[tuple[str, float, float]] = [
        ("equivalence classes", before.classes, after.classes),
        ("smallest class", before.smallest, after.smallest),
        ("unique records", before.unique, after.unique),
        ("suppressed records", before.suppressed, release.suppression.records),
        ("records left out", 0, release.left_out),
        *_people_rows(before.people, after.people),
        ("prosecutor risk, largest", before.risk["prosecutor"]["max"], after.risk["prosecutor"]["max"]),
        ("prosecutor risk, mean", before.risk["prosecutor"]["mean"], after.risk["prosecutor"]["mean"]),
    ]
    for name, was, is_ in rows:
        limit = percent(release.policy.max_suppression) if name.startswith("suppressed") else ""
        table.add_row(name, number(was), number(is_), f"<= {limit}" if limit else "", "")
    left_out = 0
    for was_measured, measured in zip(before.privacy, after.privacy, strict=True):
        if measured.limit is None and measured.model not in _USUAL:
            left_out += 1
            continue
        name = quantity_text(measured) + (f", {measured.attribute}" if measured.attribute else "")
        if measured.quantity != MODELS.get(measured.model).limit_name:
            name += f", {measured.quantity}"
        table.add_row(
            name,
            number(was_measured.value),
            number(measured.value),
            limit_text(measured),
            verdict(measured.holds),
        )
    out.print(table)
    out.print(f"{left_out} figures of other models: --json, or incrowd assess on the release")
    if after.estimates is not None:
        out.print(Text(str(after.estimates)))
    out.print()
    out.print(loss_table(release.utility, [domain.name for domain in release.recoding.domains]))
    out.print()
    stages = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in release.seconds.items())
    out.print(f"{math.fsum(release.seconds.values()):.2f} s: {stages}")


def _people_rows(before: PeopleFigures | None, after: PeopleFigures | None) -> list[tuple[str, float, float]]:
    if before is None or after is None:
        return []
    return [
        ("people", before.people, after.people),
        ("smallest class in people", before.smallest, after.smallest),
        ("people alone in a class", before.alone, after.alone),
        ("people without a row left", before.suppressed, after.suppressed),
        *(
            []
            if before.histories is None or after.histories is None
            else [("people alone with their history", before.histories.alone, after.histories.alone)]
        ),
    ]


def _gap_text(space: SolutionSpace) -> str:
    """Say how much better a node could be that was not looked at, where that is known."""
    if not space.gap or not space.bound > 0:
        return ""
    return f" (no node is more than {space.gap:.2%} better)"


def search_text(space: SolutionSpace) -> str:
    """Say which node of the lattice was chosen, of how many that were looked at."""
    best = () if space.best is None else space.best.levels
    chosen = ", ".join(f"{name}={level}" for name, level in zip(space.names, best, strict=False))
    proved = "proved optimal" if space.proved else f"not proved optimal{_gap_text(space)}"
    looked = f"{len(space.nodes):,} of {space.size:,} nodes looked at"
    return f"levels: {chosen}; {looked}, {proved} for {space.metric}"


class _Bar:
    """Shows stages on a terminal."""

    def __init__(self, rich: RichProgress) -> None:
        self._rich = rich
        self._task = rich.add_task("", total=None)

    def stage(self, name: str) -> None:
        self._rich.reset(self._task, description=name, total=None)

    def advance(self, done: int, total: int) -> None:
        self._rich.update(self._task, completed=done, total=total)


class _Job(Cancellable):
    """The progress of a command's job: it is shown somehow, and a signal cancels it."""

    def __init__(self, shown: Progress) -> None:
        super().__init__()
        self._shown = shown

    def stage(self, name: str) -> None:
        self.check()
        self._shown.stage(name)

    def advance(self, done: int, total: int) -> None:
        self.check()
        self._shown.advance(done, total)


@contextmanager
def progress() -> Iterator[Progress]:
    """Show progress on standard error while it is a terminal; show nothing when piped, and log if asked.

    Ctrl-C cancels what is done meanwhile.
    """
    with _shown() as shown:
        job = _Job(shown)
        JOBS.append(job)
        try:
            with running(job):
                yield job
        finally:
            JOBS.remove(job)


@contextmanager
def _shown() -> Iterator[Progress]:
    if LOG.takes("info"):
        logged = LoggedProgress(LOG)
        yield logged
        logged.finish()
        return
    if LOG.quiet or LOG.form != "text" or not sys.stderr.isatty():
        yield Silent()
        return
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    columns = (SpinnerColumn(), TextColumn("{task.description:<12}"), BarColumn(), TimeElapsedColumn())
    out = Console(stderr=True)
    with RichProgress(*columns, console=out, transient=True) as rich, _saying_when_compiling(out):
        yield _Bar(rich)


@contextmanager
def _saying_when_compiling(out: Console) -> Iterator[None]:
    """Say it once when loops are compiled, since the first job takes seconds longer than all others."""

    def tell() -> None:
        if tell in on_compiling:
            on_compiling.remove(tell)
            out.print("incrowd: compiling loops; later runs find them compiled")

    on_compiling.append(tell)
    try:
        yield
    finally:
        if tell in on_compiling:
            on_compiling.remove(tell)
