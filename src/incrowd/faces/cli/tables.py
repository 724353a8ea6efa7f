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

from incrowd.core.documents import figure
from incrowd.core.progress import Cancellable, Progress, Silent, on_compiling, running
from incrowd.faces.cli.interruption import JOBS
from incrowd.faces.cli.logs import LOG, LoggedProgress
from incrowd.measures.privacy import MODELS
from incrowd_verify.cli import Screen

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from incrowd.measures.privacy import EquivalenceClass, ModelResult
    from incrowd.measures.utility import MetricResult
    from incrowd.release.accounts.people import PeopleFigures
    from incrowd.release.jobs.make.release import Release
    from incrowd.release.jobs.measure.assess import Assessment
    from incrowd.search.lattice import SolutionSpace


_USUAL = ("k-anonymity", "l-diversity", "t-closeness")
"""Models shown even without a limit in the table of a release."""


def console() -> Console:
    """Return a console on standard output."""
    return Screen(quiet=LOG.quiet)


def number(value: float | None) -> str:
    """Format a figure with six significant digits at most."""
    if value is None:
        return "-"
    return figure(value, 6)


def percent(value: float) -> str:
    """Format a share in percent."""
    return f"{value:.2%}"


def quantity_text(result: ModelResult) -> str:
    """Format a model's name with non-default settings and the attacker."""
    usual = {field.name: field.default for field in fields(MODELS.get(result.model))}
    words = []
    for name, value in result.settings.items():
        if not isinstance(value, str) and value == usual[name]:
            continue
        words.append(value if isinstance(value, str) else name if value is True else f"{name}={value:g}")
    against = "" if result.attacker is None else f" against {result.attacker}"
    return result.model + (f" ({', '.join(words)})" if words else "") + against


def limit_text(result: ModelResult) -> str:
    """Format the limit of a model, or return "" without a limit."""
    if result.limit is None:
        return ""
    return f"{result.sign} {number(result.limit)}"


def verdict(holds: bool | None) -> Text:
    """Format whether a limit holds, as an empty text for None."""
    if holds is None:
        return Text("")
    return Text("holds") if holds else Text("FAILS", "bold red")


def titled(title: str | Text, texts: Sequence[str], numbers: Sequence[str]) -> Table:
    """Create a borderless table with text columns followed by number columns."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in texts:
        table.add_column(Text(name))
    for name in numbers:
        table.add_column(Text(name), justify="right")
    return table


def _privacy_table(assessment: Assessment, numbers: Mapping[tuple[str | None, ...], str]) -> Table:
    table = titled("Privacy", ("model", "attribute", "measure"), ("reached",))
    has_limits = any(result.limit is not None for result in assessment.results.asked)
    if has_limits:
        table.add_column("asked", justify="right")
        table.add_column("")
    table.add_column("weakest class")
    for result in assessment.privacy:
        row: list[Any] = [
            quantity_text(result),
            result.attribute or "",
            result.quantity,
            number(result.value),
        ]
        if has_limits:
            row += [limit_text(result), verdict(result.holds)]
        weakest = ""
        if result.weakest is not None:
            weakest = numbers[_key(result.weakest)]
            weakest += f" and {result.ties - 1:,} more" if result.ties > 1 else ""
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
    """Print all figures of an assessment."""
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
    for result in assessment.privacy:
        if result.weakest is not None:
            weakest.setdefault(_key(result.weakest), result.weakest)
    numbers = {cells: f"#{place}" for place, cells in enumerate(weakest, 1)}
    out.print(_privacy_table(assessment, numbers))
    out.print()
    _show_reasons(out, assessment)
    if weakest:
        out.print()
        by_number = {numbers[cells]: each for cells, each in weakest.items()}
        out.print(_class_table("Weakest classes", assessment.quasi, by_number))
        out.print()
    out.print(risk_table(assessment.risk))
    if assessment.estimates is not None:
        out.print(Text(str(assessment.estimates)))


def _size_table(assessment: Assessment) -> Table:
    """Build the table of class sizes, in people if people are counted, else in records."""
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
    """Print remarks and the number of failing classes, by model."""
    for result in assessment.privacy:
        where = f", {result.attribute}" if result.attribute else ""
        for reason in result.reasons:
            out.print(f"{result.model}{where}: {reason}")
        if result.failing and result.failing[0]:
            classes, records = result.failing
            whom = "" if result.failing_people is None else f" and {result.failing_people:,} people"
            out.print(f"{result.model}{where}: {classes:,} classes of {records:,} records{whom} fail")


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
    """Build a table with a row per risk model and a column per figure."""
    names = list(dict.fromkeys(name for figures in risks.values() for name in figures))
    table = titled("Risk", ("model",), [name.replace("_", " ") for name in names])
    for model, figures in risks.items():
        table.add_row(model, *(number(figures[name]) if name in figures else "" for name in names))
    return table


def loss_table(utility: Mapping[str, MetricResult], names: Sequence[str]) -> Table:
    """Build the table of metric values."""
    by_weight = any(loss.weighted is not None for loss in utility.values())
    table = titled("Lost", ("metric",), ("value", "0 to 1", *(("weighted",) if by_weight else ()), *names))
    for loss in utility.values():
        each = loss.per_attribute or {}
        weighted = (loss.weighted,) if by_weight else ()
        figures = [loss.value, loss.normalized, *weighted, *(each.get(name) for name in names)]
        table.add_row(loss.metric, *("" if figure is None else number(figure) for figure in figures))
    return table


def show_release(out: Console, release: Release) -> None:
    """Print figures before and after, losses and times."""
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
    ]
    if "prosecutor" in after.risk:
        for name, key in (("largest", "max"), ("mean", "mean")):
            was, is_ = (risk["prosecutor"][key] for risk in (before.risk, after.risk))
            rows.append((f"prosecutor risk, {name}", was, is_))
    for name, was, is_ in rows:
        limit = percent(release.policy.max_suppression) if name.startswith("suppressed") else ""
        table.add_row(name, number(was), number(is_), f"<= {limit}" if limit else "", "")
    left_out = 0
    for result_before, result in zip(before.privacy, after.privacy, strict=True):
        if result.limit is None and result.model not in _USUAL:
            left_out += 1
            continue
        name = quantity_text(result) + (f", {result.attribute}" if result.attribute else "")
        if result.quantity != MODELS.get(result.model).limit_name:
            name += f", {result.quantity}"
        table.add_row(
            name,
            number(result_before.value),
            number(result.value),
            limit_text(result),
            verdict(result.holds),
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
    """Format the optimality gap as a remark, or return "" without a positive gap."""
    if not space.gap or not space.bound > 0:
        return ""
    return f" (no node is more than {space.gap:.2%} better)"


def search_text(space: SolutionSpace) -> str:
    """Describe the chosen node, the share of nodes visited and whether optimality is proved."""
    best = () if space.best is None else space.best.levels
    levels = ", ".join(f"{name}={level}" for name, level in zip(space.names, best, strict=False))
    proved = "proved optimal" if space.proved else f"not proved optimal{_gap_text(space)}"
    share = f"{len(space.nodes):,} of {space.size:,} nodes looked at"
    return f"levels: {levels}; {share}, {proved} for {space.metric}"


class _Bar:
    """Progress bar of the current stage on a terminal."""

    def __init__(self, rich: RichProgress, algorithm: str) -> None:
        self._rich, self._algorithm, self._begun = rich, algorithm, 0
        self._task = rich.add_task("", total=None)
        self._loops = rich.add_task("", total=None, visible=False)

    def stage(self, name: str) -> None:
        self._rich.reset(self._task, description=name, total=None)
        self._rich.update(self._loops, visible=False)

    def advance(self, done: int, total: int) -> None:
        self._rich.update(self._task, completed=done, total=total)
        self._rich.update(self._loops, visible=False)

    def compile(self, loop: str) -> None:
        """Show a loop that is compiled, and how many of how many, since a first run waits for seconds."""
        from incrowd.core.kernels.signatures import loops_of

        self._begun += 1
        total = max(len(loops_of(self._algorithm)), self._begun)
        text = f"compiling, once: loop {self._begun} of about {total} ({loop})"
        self._rich.reset(self._loops, completed=self._begun - 1, total=total, description=text, visible=True)
        self._rich.refresh()


class _Job(Cancellable):
    """Progress of a command, forwarded to a display and cancelled by signals."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._display = progress

    def stage(self, name: str) -> None:
        self.check()
        self._display.stage(name)

    def advance(self, done: int, total: int) -> None:
        self.check()
        self._display.advance(done, total)


@contextmanager
def progress(algorithm: str = "") -> Iterator[Progress]:
    """Yield a command's progress: a bar on a terminal, log records, or silent.

    Ctrl-C cancels the job. The bar tells how many loops an algorithm has compiled.
    """
    with _display(algorithm) as display:
        job = _Job(display)
        JOBS.append(job)
        try:
            with running(job):
                yield job
        finally:
            JOBS.remove(job)


@contextmanager
def _display(algorithm: str) -> Iterator[Progress]:
    if LOG.takes("info"):
        records = LoggedProgress(LOG)
        yield records
        records.finish()
        return
    if LOG.quiet or LOG.form != "text" or not sys.stderr.isatty():
        yield Silent()
        return
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    columns = (SpinnerColumn(), TextColumn("{task.description:<12}"), BarColumn(), TimeElapsedColumn())
    with RichProgress(*columns, console=Console(stderr=True), transient=True) as rich:
        bar = _Bar(rich, algorithm)
        on_compiling.append(bar.compile)
        try:
            yield bar
        finally:
            on_compiling.remove(bar.compile)
