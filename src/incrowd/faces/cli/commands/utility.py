"""`incrowd utility`: measure the information loss of a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.core.errors import require_extra
from incrowd.faces.cli import option_groups, options, outputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from incrowd.release.jobs.compare.fidelity import Fidelity
    from incrowd.release.jobs.measure.evaluate import Evaluation
    from incrowd.release.jobs.measure.learn import LearningResult


def utility(
    raw: options.Data,
    release: Annotated[
        Path, typer.Argument(metavar="RELEASE", help="The released file, of the same records.")
    ],
    source: option_groups.CsvOptions,
    columns: option_groups.MeasuredColumns,
    row_map: options.RowMap = None,
    suppressed_as: options.SuppressedAs = None,
    by: options.ByKey = None,
    aligned: options.Aligned = False,
    target: Annotated[
        str | None,
        typer.Option("--target", help="Also learn to predict this column, from both tables."),
    ] = None,
    seed: options.Seed = None,
    json: options.Json = False,
) -> None:
    """Measure what a release lost, whoever made it.

    Metrics, distributions, associations and the error of random counting queries. Cells may be values, labels
    of the hierarchies, ranges, sets, means, or *.
    """
    from incrowd.faces.cli.tables import console, progress
    from incrowd.release.jobs.compare.fidelity import fidelity
    from incrowd.release.jobs.measure.evaluate import evaluate
    from incrowd.release.jobs.measure.learn import learn

    if target is not None:
        require_extra(["sklearn", "threadpoolctl"], "ml", "--target")
    with progress() as job:
        job.stage("read")
        before, csv_format = source.read(raw)
        after = source.read_beside(release, csv_format)
        policy = columns.policy_for(before.columns, lenient=True)
        schema = policy.schema
        job.stage("measure")
        evaluation = evaluate(
            before,
            after,
            schema,
            row_map=row_map,
            by=by,
            aligned=aligned,
            suppressed_as=suppressed_as or (),
            analyses=policy.analyses,
        )
        statistics = None
        if not evaluation.unread:
            statistics = fidelity(evaluation, columns=min(2, len(schema.quasi)), seed=seed or 0)
        learned = []
        if target is not None and not evaluation.unread:
            job.stage("learn")
            learned = learn(evaluation, before, target, seed=seed or 0)
    if json:
        document = evaluation.to_dict() | {"statistics": None if statistics is None else statistics.to_dict()}
        if learned:
            document["learning"] = [entry.to_dict() for entry in learned]
        outputs.print_json(document)
        return
    out = console()
    show_evaluation(out, evaluation)
    if statistics is not None:
        show_fidelity(out, statistics, learned)


def show_evaluation(out: Console, evaluation: Evaluation) -> None:
    """Print losses of a release and remarks on unreadable cells."""
    from incrowd.faces.cli.tables import loss_table, number

    missing = f" (not in the release: {evaluation.missing:,})" if evaluation.missing else ""
    out.print(
        f"{evaluation.records:,} records in {evaluation.classes:,} equivalence classes, "
        f"{evaluation.suppressed:,} suppressed{missing}"
    )
    if evaluation.paired_by == "cells":
        out.print("the rows are in another order; each is in the only class whose cells are true of it")
    if evaluation.people is not None:
        out.print(
            f"they stand for {number(evaluation.people['before'])} people, an estimate by the sampling "
            f"weights; {number(evaluation.people['suppressed'])} of them are suppressed"
        )
    for name, records in evaluation.summarized.items():
        if records and name not in evaluation.unread:
            out.print(
                f"column {name!r}: the cells of {records:,} records do not cover all values of their class; "
                "they count as summaries of it"
            )
    for name, cells in evaluation.unread.items():
        out.print(cells.text(name))
    for sentence in () if evaluation.analyses is None else evaluation.analyses.sentences():
        out.print(sentence)
    if evaluation.unread:
        out.print("So losses of cells, distributions, associations, counts and learning are not measured.")
    out.print()
    out.print(loss_table(evaluation.utility, [domain.name for domain in evaluation.recoding.domains]))


def show_fidelity(out: Console, result: Fidelity, learned: Sequence[LearningResult]) -> None:
    """Print changes in distributions, associations, counts and model accuracy."""
    from rich.text import Text

    from incrowd.faces.cli.tables import number, percent, titled

    out.print()
    for title, marginals in (
        ("Distributions, before and after", result.marginals),
        ("The same by sampling weights, an estimate", result.weighted),
    ):
        table = titled(title, ("column",), ("total variation", "hellinger", "wasserstein"))
        for marginal in marginals:
            far = (marginal.total_variation, marginal.hellinger, marginal.wasserstein)
            table.add_row(Text(marginal.column), *map(number, far))
        if marginals:
            out.print(table)
            out.print()
    figures = ("cramer's v", "mutual information", "correlation")
    table = titled("Associations, before -> after", ("columns",), figures)
    for pair in result.associations:
        pairs = (pair.cramers_v, pair.mutual_information, pair.correlation)
        cells = ("" if both is None else f"{both[0]:.3f} -> {both[1]:.3f}" for both in pairs)
        table.add_row(Text(", ".join(pair.columns)), *cells)
    out.print(table)
    counts = result.queries
    out.print()
    out.print(
        f"{counts.queries} random counts over {counts.columns} columns, {counts.selectivity:g} of the "
        f"combinations each: relative error {number(counts.mean)} on average, median {number(counts.median)}"
    )
    for entry in learned:
        share = "" if entry.kept is None else f"; {percent(entry.kept)} of the gain is kept"
        out.print(
            f"learning {entry.target!r}, {entry.score}: {entry.raw:.4f} from raw records, "
            f"{entry.released:.4f} from the release, {entry.baseline:.4f} without learning{share}"
        )
