"""Results as tables and bars on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from incrowd.privacy import MODELS
from incrowd.progress import Progress, Silent

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from incrowd.anatomy import Anatomy
    from incrowd.assessment import Assessment, ClassFigures
    from incrowd.attacks import Attack
    from incrowd.comparison import Compared, Comparison
    from incrowd.distributions import Fidelity
    from incrowd.evaluation import Evaluation
    from incrowd.lattice import SolutionSpace
    from incrowd.learning import Learned
    from incrowd.privacy import Crowd, Measured, P29Score
    from incrowd.processing import Processed
    from incrowd.randomization import Randomized
    from incrowd.release import Release
    from incrowd.risk import Identifying, Suda, Uniqueness
    from incrowd.utility import Lost

__all__ = [
    "console",
    "number",
    "progress",
    "show_anatomy",
    "show_assessment",
    "show_attacks",
    "show_classes",
    "show_comparison",
    "show_evaluation",
    "show_fidelity",
    "show_lattice",
    "show_p29",
    "show_processing",
    "show_randomized",
    "show_release",
    "show_risk",
    "show_rows",
    "verdict",
]


_USUAL = ("k-anonymity", "l-diversity", "t-closeness")
"""Models of which a release's table shows everything; of others, what was asked."""


def console() -> Console:
    """Return a console on standard output."""
    # Piped output is for other programs: fold and cut nothing. Names of columns may look like markup.
    return Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else 1000)


def number(value: float | None) -> str:
    """Write a figure with at most six significant digits, and whole numbers whole."""
    if value is None:
        return "-"
    if value == float("inf"):
        return "infinite"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def _percent(value: float) -> str:
    return f"{value:.2%}"


def _what(measured: Measured) -> str:
    usual = {field.name: field.default for field in fields(MODELS.get(measured.model))}
    words = []
    for name, value in measured.settings.items():
        if not isinstance(value, str) and value == usual[name]:
            continue
        words.append(value if isinstance(value, str) else name if value is True else f"{name}={value:g}")
    return measured.model + (f" ({', '.join(words)})" if words else "")


def _asked(measured: Measured) -> str:
    if measured.limit is None:
        return ""
    return f"{measured.sign} {number(measured.limit)}"


def verdict(holds: bool | None) -> Text:
    """Say whether a limit is met; nothing where none was asked."""
    if holds is None:
        return Text("")
    return Text("holds", "green") if holds else Text("FAILS", "bold red")


def _privacy_table(assessment: Assessment, numbers: Mapping[tuple[str | None, ...], str]) -> Table:
    table = Table(title="Privacy", title_justify="left", box=None, pad_edge=False)
    for name in ("model", "attribute", "measure"):
        table.add_column(name)
    table.add_column("reached", justify="right")
    asked = any(measured.limit is not None for measured in assessment.privacy)
    if asked:
        table.add_column("asked", justify="right")
        table.add_column("")
    table.add_column("weakest class")
    for measured in assessment.privacy:
        row: list[Any] = [
            _what(measured),
            measured.attribute or "",
            measured.quantity,
            number(measured.value),
        ]
        if asked:
            row += [_asked(measured), verdict(measured.holds)]
        weakest = ""
        if measured.weakest is not None:
            weakest = numbers[_key(measured.weakest)]
            weakest += f" and {measured.ties - 1:,} more" if measured.ties > 1 else ""
        table.add_row(*row, weakest)
    return table


def _key(crowd: Crowd) -> tuple[str | None, ...]:
    return tuple(crowd.cells.values())


def _crowds(title: str, quasi: Sequence[str], crowds: Mapping[str, Crowd]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("")
    table.add_column("records", justify="right")
    for name in quasi:
        table.add_column(Text(name), overflow="fold")
    for number_, crowd in crowds.items():
        cells = (Text("(missing)" if cell is None else cell) for cell in crowd.cells.values())
        table.add_row(number_, f"{crowd.records:,}", *cells)
    return table


def show_assessment(out: Console, assessment: Assessment) -> None:
    """Print everything that was measured."""
    out.print(f"{assessment.records:,} records, quasi-identifiers: {', '.join(assessment.quasi)}")
    if assessment.suppressed:
        out.print(
            f"{assessment.suppressed:,} records are suppressed ({_percent(assessment.suppressed_share)}) "
            "and in no class"
        )
    out.print(
        f"{assessment.classes:,} equivalence classes of {assessment.smallest:,} to {assessment.largest:,} "
        f"records, {assessment.mean_size:.2f} on average; {assessment.unique:,} records are unique"
    )
    out.print()
    sizes = Table(title="Class sizes", title_justify="left", box=None, pad_edge=False)
    sizes.add_column("size", justify="right")
    sizes.add_column("classes", justify="right")
    sizes.add_column("records", justify="right")
    sizes.add_column("share of records")
    for bin_ in assessment.distribution:
        label = f"{bin_.least:,}" if bin_.least == bin_.most else f"{bin_.least:,}-{bin_.most:,}"
        share = bin_.records / max(assessment.records, 1)
        bar = "█" * max(round(share * 40), 1)
        sizes.add_row(label, f"{bin_.classes:,}", f"{bin_.records:,}", f"{bar} {share:.1%}")
    out.print(sizes)
    out.print()
    weakest: dict[tuple[str | None, ...], Crowd] = {}
    for measured in assessment.privacy:
        if measured.weakest is not None:
            weakest.setdefault(_key(measured.weakest), measured.weakest)
    numbers = {cells: f"#{place}" for place, cells in enumerate(weakest, 1)}
    out.print(_privacy_table(assessment, numbers))
    out.print()
    for measured in assessment.privacy:
        where = f", {measured.attribute}" if measured.attribute else ""
        for reason in measured.reasons:
            out.print(f"{measured.model}{where}: {reason}")
        if measured.failing and measured.failing[0]:
            classes, records = measured.failing
            out.print(f"{measured.model}{where}: {classes:,} classes of {records:,} records fail")
    if weakest:
        out.print()
        described = {numbers[cells]: crowd for cells, crowd in weakest.items()}
        out.print(_crowds("Weakest classes", assessment.quasi, described))
        out.print()
    out.print(_risk_table(assessment.risk))


_CLASSES = 100
"""Classes that a table on the screen has."""


def show_classes(out: Console, figures: ClassFigures) -> None:
    """Print the classes with their cells, sizes and distances, the first of many."""
    many = len(figures)
    named = {
        f"v{place}": (measure, values)
        for place, (measure, values) in enumerate(zip(figures.measures, figures.values, strict=True), 1)
    }
    legend = Table("value", "is", title="Classes", title_justify="left", box=None, pad_edge=False)
    for short, (measure, _) in named.items():
        legend.add_row(short, Text(str(measure)))
    table = Table(box=None, pad_edge=False)
    for name in figures.cells:
        table.add_column(Text(name), overflow="fold")
    for name in ("records", *named):
        table.add_column(name, justify="right")
    for row in range(min(many, _CLASSES)):
        cells = (column[row] for column in figures.cells.values())
        table.add_row(
            *(Text("(missing)" if cell is None else cell) for cell in cells),
            f"{figures.records[row]:,}",
            *(number(values[row].item()) for _, values in named.values()),
        )
    out.print()
    out.print(legend)
    out.print()
    out.print(table)
    if many > _CLASSES:
        out.print(f"{many - _CLASSES:,} more classes: --json has all")


def _risk_table(risks: Mapping[str, Mapping[str, float]]) -> Table:
    """Make a row per risk model, a column per figure that any of them has."""
    table = Table(title="Risk", title_justify="left", box=None, pad_edge=False)
    table.add_column("model")
    names = list(dict.fromkeys(name for figures in risks.values() for name in figures))
    for name in names:
        table.add_column(name.replace("_", " "), justify="right")
    for model, figures in risks.items():
        table.add_row(model, *(number(figures[name]) if name in figures else "" for name in names))
    return table


def _loss_table(utility: Mapping[str, Lost], names: Sequence[str]) -> Table:
    table = Table(title="Lost", title_justify="left", box=None, pad_edge=False)
    table.add_column("metric")
    for name in ("value", "0 to 1", *names):
        table.add_column(Text(name), justify="right")
    for lost in utility.values():
        each = lost.per_attribute or {}
        figures = [lost.value, lost.normalized, *(each.get(name) for name in names)]
        table.add_row(lost.metric, *("" if figure is None else number(figure) for figure in figures))
    return table


def show_evaluation(out: Console, evaluation: Evaluation) -> None:
    """Print what a release lost, and how its cells were read."""
    out.print(
        f"{evaluation.records:,} records in {evaluation.classes:,} equivalence classes, "
        f"{evaluation.suppressed:,} suppressed"
    )
    for name, records in evaluation.summarized.items():
        if records:
            out.print(
                f"column {name!r}: the cells of {records:,} records do not cover all values of their class; "
                "they count as summaries of it"
            )
    out.print()
    out.print(_loss_table(evaluation.utility, [domain.name for domain in evaluation.recoding.domains]))


def show_fidelity(out: Console, kept: Fidelity, learned: Sequence[Learned]) -> None:
    """Print how distributions, associations and counts fared, and what a model learned."""
    out.print()
    table = Table(title="Distributions, before and after", title_justify="left", box=None, pad_edge=False)
    table.add_column("column")
    for name in ("total variation", "hellinger", "wasserstein"):
        table.add_column(name, justify="right")
    for marginal in kept.marginals:
        far = (marginal.total_variation, marginal.hellinger, marginal.wasserstein)
        table.add_row(Text(marginal.column), *map(number, far))
    out.print(table)
    out.print()
    table = Table(title="Associations, before -> after", title_justify="left", box=None, pad_edge=False)
    table.add_column("columns")
    for name in ("cramer's v", "mutual information", "correlation"):
        table.add_column(name, justify="right")
    for pair in kept.associations:
        figures = (pair.cramers_v, pair.mutual_information, pair.correlation)
        told = ("" if both is None else f"{both[0]:.3f} -> {both[1]:.3f}" for both in figures)
        table.add_row(Text(", ".join(pair.columns)), *told)
    out.print(table)
    asked = kept.queries
    out.print()
    out.print(
        f"{asked.queries} random counts over {asked.columns} columns, {asked.selectivity:g} of the "
        f"combinations each: relative error {number(asked.mean)} on average, median {number(asked.median)}"
    )
    for entry in learned:
        share = "" if entry.kept is None else f"; {_percent(entry.kept)} of the gain is kept"
        out.print(
            f"learning {entry.target!r}, {entry.score}: {entry.raw:.4f} from raw records, "
            f"{entry.released:.4f} from the release, {entry.baseline:.4f} without learning{share}"
        )


def show_release(out: Console, release: Release) -> None:
    """Print before and after side by side, what was lost and how long it took."""
    before, after = release.before, release.privacy
    table = Table(title="Before and after", title_justify="left", box=None, pad_edge=False)
    for name in ("", "before", "after", "asked", ""):
        table.add_column(name, justify="left" if not name else "right")
    rows: list[tuple[str, float, float]] = [
        ("equivalence classes", before.classes, after.classes),
        ("smallest class", before.smallest, after.smallest),
        ("unique records", before.unique, after.unique),
        ("suppressed records", before.suppressed, after.suppressed),
        ("prosecutor risk, largest", before.risk["prosecutor"]["max"], after.risk["prosecutor"]["max"]),
        ("prosecutor risk, mean", before.risk["prosecutor"]["mean"], after.risk["prosecutor"]["mean"]),
    ]
    for name, was, is_ in rows:
        limit = _percent(release.policy.max_suppression) if name.startswith("suppressed") else ""
        table.add_row(name, number(was), number(is_), f"<= {limit}" if limit else "", "")
    left_out = 0
    for was_measured, measured in zip(before.privacy, after.privacy, strict=True):
        if measured.limit is None and measured.model not in _USUAL:
            left_out += 1
            continue
        name = _what(measured) + (f", {measured.attribute}" if measured.attribute else "")
        if measured.quantity != MODELS.get(measured.model).limit_name:
            name += f", {measured.quantity}"
        table.add_row(
            name,
            number(was_measured.value),
            number(measured.value),
            _asked(measured),
            verdict(measured.holds),
        )
    out.print(table)
    out.print(f"{left_out} figures of other models: --json, or incrowd assess on the release")
    out.print()
    out.print(_loss_table(release.utility, [domain.name for domain in release.recoding.domains]))
    out.print()
    if release.lattice is not None:
        space = release.lattice
        chosen = ", ".join(
            f"{name}={level}" for name, level in zip(space.names, space.best.levels, strict=True)
        ) if space.best is not None else ""  # fmt: skip
        out.print(
            f"levels: {chosen}; {len(space.nodes):,} of {space.size:,} nodes looked at, "
            + ("proved optimal" if space.proved else "not proved optimal")
            + f" for {space.metric}"
        )
    stages = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in release.seconds.items())
    out.print(f"{sum(release.seconds.values()):.2f} s: {stages}")


def show_lattice(out: Console, space: SolutionSpace) -> None:
    """Print how much of the lattice was looked at, what was chosen and what else there is to choose from."""
    anonymous = sum(node.anonymous for node in space.nodes)
    out.print(
        f"{space.size:,} nodes, {len(space.nodes):,} looked at, {anonymous:,} of them anonymous; "
        + ("the best is proved" if space.proved else "the best is not proved to be the best of all")
    )
    out.print()
    table = Table(
        title=f"Loss against risk: {space.metric}; the first is the choice",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    table.add_column("levels", no_wrap=True)
    for name in ("score", "suppressed", "classes", "smallest", "largest risk", "mean risk"):
        table.add_column(name, justify="right")
    best = [] if space.best is None else [space.best]
    for node in best + [node for node in space.front() if node not in best]:
        kept = max(space.records - node.suppressed, 1)
        figures = (node.score, node.suppressed, node.classes, node.smallest)
        risks = (1 / max(node.smallest, 1), node.classes / kept)
        levels = " ".join(map(str, node.levels))
        table.add_row(levels, *map(number, figures), *map(number, risks))
    out.print(table)
    out.print()
    out.print(f"levels are those of {', '.join(space.names)}")
    if space.best is not None:
        levels = ",".join(
            f"{name}={level}" for name, level in zip(space.names, space.best.levels, strict=True)
        )
        out.print(f"to take a node, e.g. the first: incrowd anonymize ... --levels {levels}")


def show_rows(out: Console, title: str, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a few rows of a table."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in names:
        table.add_column(Text(name), overflow="ellipsis", no_wrap=True)
    for row in rows:
        table.add_row(*(Text("" if value is None else str(value)) for value in row))
    out.print(table)


class _Bar:
    """Shows stages on a terminal."""

    def __init__(self, rich: RichProgress) -> None:
        self._rich = rich
        self._task = rich.add_task("", total=None)

    def stage(self, name: str) -> None:
        self._rich.reset(self._task, description=name, total=None)

    def advance(self, done: int, total: int) -> None:
        self._rich.update(self._task, completed=done, total=total)


@contextmanager
def progress() -> Iterator[Progress]:
    """Show progress on standard error while it is a terminal; show nothing when piped."""
    if not sys.stderr.isatty():
        yield Silent()
        return
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    columns = (SpinnerColumn(), TextColumn("{task.description:<12}"), BarColumn(), TimeElapsedColumn())
    with RichProgress(*columns, console=Console(stderr=True), transient=True) as rich:
        yield _Bar(rich)


def show_anatomy(out: Console, anatomy: Anatomy) -> None:
    """Print what the two tables hold and protect."""
    found = anatomy.privacy
    out.print(
        f"{found.records:,} records in {anatomy.groups:,} groups of {found.smallest:,} to {found.largest:,}, "
        f"each with {anatomy.l} different values or more"
    )
    out.print("the quasi-identifiers are released as they are; only sensitive values are hidden in groups")
    for measured in anatomy.privacy.privacy:
        if measured.holds is not None:
            reached = f"{measured.quantity} {number(measured.value)} {_asked(measured)}"
            out.print(f"  {_what(measured)} {reached} ", end="")
            out.print(verdict(measured.holds))


_COMPARED = {
    "LM": "loss",
    "MD": "distortion",
    "NCP": "ncp",
    "discernibility": "discernibility",
    "class size": "average-class-size",
}
"""Columns of a comparison, and the metric in each."""


def show_comparison(out: Console, comparison: Comparison) -> None:
    """Print a line per algorithm and setting; seeds are averaged."""
    rows = comparison.averaged()
    out.print(f"{comparison.records:,} records; LM and NCP are means per cell, MD counts levels in all cells")
    table = Table(box=None, pad_edge=False)
    table.add_column("algorithm", overflow="fold")
    limits = [name for name in ("k", "l", "t") if any(getattr(row, name) is not None for row in rows)]
    for name in [*limits, "seconds", *_COMPARED, "suppressed"]:
        table.add_column(name, justify="right")
    for row in rows:
        cells = [row.algorithm, *("" if (x := getattr(row, name)) is None else f"{x:g}" for name in limits)]
        if row.utility is None:
            table.add_row(*cells, Text("nothing released", "bold red"))
            continue
        cells.append(_spread(row, "seconds", f"{row.seconds:.3f}"))
        cells += [_spread(row, metric, number(row.utility[metric])) for metric in _COMPARED.values()]
        table.add_row(*cells, number(row.suppressed))
    out.print(table)
    problems = [run for run in comparison.runs if run.problem is not None]
    if problems:
        out.print("nothing was released by:")
    for run in problems:
        given = {"k": run.k, "l": run.l, "t": run.t, "seed": run.seed}
        named = " ".join(f"{name}={value:g}" for name, value in given.items() if value is not None)
        out.print(f"  {run.algorithm} {named}: {run.problem}")


def _spread(row: Compared, name: str, text: str) -> str:
    """Write the standard deviation beside a mean: two significant digits."""
    if not row.spread:
        return text
    deviation = row.spread[name]
    return f"{text} ±{deviation:,.0f}" if deviation >= 10 else f"{text} ±{deviation:.2g}"


_SETS = 10


def show_risk(
    out: Console,
    records: int,
    risks: Mapping[str, Mapping[str, float]],
    special: Suda,
    sets: Sequence[Identifying],
    unique: Uniqueness | None,
    individual: Mapping[str, float] | None,
) -> None:
    """Print risk models, special uniques, the columns that identify, and estimates for the population."""
    out.print(_risk_table(risks))
    out.print()
    told = special.to_dict()
    found = ", ".join(
        f"{count:,} of {size} columns" for size, count in enumerate(told["minimal_sample_uniques"], 1)
    )
    out.print(
        f"{told['rows_with_one']:,} of {records:,} records have minimal sample uniques: {found}; "
        f"largest score {number(told['largest_score'])}, DIS-SUDA {number(told['largest_dis_score'])}"
    )
    shares = sorted(told["contributions"].items(), key=lambda item: -item[1])
    out.print("share of the scores: " + ", ".join(f"{name} {_percent(share)}" for name, share in shares))
    out.print()
    table = Table(
        title="Columns that tell records apart (* the smallest sets that identify)",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    for name in ("", "columns", "distinction", "separation", "unique"):
        table.add_column(name, justify="left" if name in ("", "columns") else "right")
    first = [entry for entry in sets if entry.minimal]
    first += [entry for entry in sets if not entry.minimal][: max(_SETS - len(first), 0)]
    for entry in first:
        figures_ = (entry.distinction, entry.separation, entry.unique)
        table.add_row("*" if entry.minimal else "", Text(", ".join(entry.columns)), *map(number, figures_))
    out.print(table)
    if unique is not None:
        out.print()
        estimates = ", ".join(
            f"{name} {number(value)}"
            for name, value in (
                ("pitman", unique.pitman),
                ("zayatz", unique.zayatz),
                ("snb", unique.snb),
                ("poisson-gamma", unique.poisson_gamma),
            )
            if value is not None
        )
        out.print(
            f"unique in the population, estimated: {_percent(unique.dankar)} ({unique.chosen}; {estimates}); "
            f"in the table {_percent(unique.sample)}"
        )
    if individual is not None:
        out.print()
        out.print(
            f"individual risk by sampling weights: mean {number(individual['mean'])}, largest "
            f"{number(individual['max'])}, {number(individual['expected'])} records expected to be found"
        )


def show_attacks(out: Console, attacks: Sequence[Attack]) -> None:
    """Print a line per kind of attack, with 95 % confidence intervals."""
    table = Table(
        title="Attacks: success, with 95 % confidence", title_justify="left", box=None, pad_edge=False
    )
    table.add_column("attack")
    for name in ("guesses", "with the release", "without it", "on other people", "risk"):
        table.add_column(name, justify="right")
    for attack in attacks:
        rates = (attack.main, attack.baseline, attack.control, attack.risk)
        told = (
            "" if rate is None else f"{rate.value:.3f} ({rate.low:.3f} to {rate.high:.3f})" for rate in rates
        )
        table.add_row(attack.name, f"{attack.attacks:,}", *told)
    out.print(table)
    for attack in attacks:
        if attack.figures:
            told = (f"{name.replace('_', ' ')} {number(value)}" for name, value in attack.figures.items())
            out.print(f"{attack.name}: {', '.join(told)}")
    weak = [attack.name for attack in attacks if not attack.stronger_than_guessing]
    if weak:
        out.print(f"no better than guessing, so the figures say little: {', '.join(weak)}")


def show_p29(out: Console, score: P29Score) -> None:
    """Print the score and what it is made of; classes that make it zero by their cells, ten at most."""
    out.print(f"P29 score: {number(score.value)}")
    out.print(
        f"smallest class {score.k_min:,}, least normalized entropy {number(score.l_min)}, largest distance "
        f"{number(score.t_max)}"
    )
    table = Table(title="Means over classes", title_justify="left", box=None, pad_edge=False)
    for name in ("attribute", "normalized entropy", "scaled distance"):
        table.add_column(name, justify="left" if name == "attribute" else "right")
    for name, entropy in score.entropies.items():
        table.add_row(Text(name), number(entropy), number(score.distances[name]))
    table.add_row("all", number(score.entropy), number(score.distance))
    out.print(table)
    for reason in score.reasons:
        out.print(reason)
    for entry in score.offending[:10]:
        cells = ", ".join(
            f"{name}={'(missing)' if value is None else value}" for name, value in entry.cells.items()
        )
        out.print(Text(f"  {cells}: {entry.records:,} records; {'; '.join(entry.reasons)}"))
    if len(score.offending) > 10:
        out.print(f"  and {len(score.offending) - 10:,} more classes")


def show_processing(out: Console, left: Processed) -> None:
    """Print what each round deleted and what is left."""
    for place, each in enumerate(left.rounds, 1):
        out.print(
            f"round {place}: {each.classes:,} classes with {each.records:,} records deleted "
            f"({each.too_small:,} too small, {each.too_uniform:,} too uniform, {each.too_far:,} too far from "
            "the table)"
        )
    out.print(
        f"{left.records - left.deleted:,} of {left.records:,} records in {left.classes:,} classes are left, "
        f"P29 score {number(left.score.value)}"
    )
    if not left.clean:
        out.print("classes are left that fail; allow more rounds (--max-rounds)")


def show_randomized(out: Console, made: Randomized, budget: float | None) -> None:
    """Print the privacy loss per column and of a record."""
    table = Table(title="Local differential privacy", title_justify="left", box=None, pad_edge=False)
    table.add_column("column")
    table.add_column("epsilon", justify="right")
    for name, epsilon in made.epsilons.items():
        table.add_row(Text(name), number(epsilon))
    table.add_row("a whole record", number(made.epsilon))
    out.print(table)
    if budget is not None:
        out.print(f"budget {number(budget)}, {number(budget - made.epsilon)} left")
