"""`incrowd p29`: the P29 score of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.core.errors import ParameterError
from incrowd.faces.cli import option_groups, options, outputs
from incrowd.faces.cli.logs import LOG

if TYPE_CHECKING:
    from rich.console import Console

    from incrowd.measures.privacy import P29Score
    from incrowd.release.jobs.compare.ensure_privacy import ProcessedTable


def p29(
    data: options.Data,
    source: option_groups.CsvOptions,
    columns: option_groups.UnrecodedColumns,
    gate: option_groups.GateOptions,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Delete the classes that fail, and write what is left."),
    ] = None,
    t: Annotated[
        float | None, typer.Option("-t", help="With -o: largest distance that stays; 0.5 by default.")
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", help="With -o: largest class that is deleted; 1 by default.")
    ] = None,
    l: Annotated[  # noqa: E741
        float | None,
        typer.Option("-l", help="With -o: largest normalized entropy that is deleted; 0 by default."),
    ] = None,
    max_rounds: Annotated[
        int | None,
        typer.Option("--max-rounds", help="With -o: rounds at most; 1 is the single pass."),
    ] = None,
    w_k: Annotated[float, typer.Option("--w-k", help="Weight of the smallest class.")] = 0.5,
    w_l: Annotated[float, typer.Option("--w-l", help="Weight of the normalized entropy.")] = 0.25,
    w_t: Annotated[float, typer.Option("--w-t", help="Weight of the distance to the whole table.")] = 0.25,
    keep_order: options.KeepOrder = False,
    escape_formulas: options.Escape = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Score a table by P29; with -o delete the classes that fail.

    They are deleted until none fails. `incrowd assess DATA --by-class` shows every class with its normalized
    entropy and its distance.

    The exit status is 1 when the score is 0 or, with -o, when classes are left that fail; nothing is written
    then.
    """
    from incrowd.core.io.files import escaping, write_file
    from incrowd.engines import read_classes
    from incrowd.faces.cli.tables import console, progress
    from incrowd.measures.privacy import P29
    from incrowd.release.jobs.compare.ensure_privacy import ensure_privacy

    settings = {"t": t, "k": k, "l": l, "max_rounds": max_rounds, "keep_order": keep_order or None}
    limits: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    answers = {"accept": gate.accept or None, "unanswered": None if gate.choice == "refuse" else gate.choice}
    of_output = [*limits, *(name for name, value in answers.items() if value is not None)]
    if output is None and of_output:
        name = of_output[0].replace("_", "-")
        option = f"--{name}" if len(name) > 1 else f"-{name}"
        raise ParameterError(f"{option} is for -o, which deletes classes; add -o FILE, or leave it out")
    model = P29(0.0, w_k, w_l, w_t)
    files = outputs.outputs_of(data, policy=columns.policy, force=force)
    target = None if output is None else outputs.add_release(files, output, data, stream=False)
    with progress() as job, files:
        job.stage("read")
        table, csv_format = source.read(data)
        schema = columns.policy_for(table.columns, lenient=output is None).schema
        job.stage("score")
        score = model.of(read_classes(table, schema))
        result = None
        if target is not None:
            job.stage("process")
            result = ensure_privacy(
                table,
                schema,
                **limits,
                score=model,
                force=force,
                accepted=gate.answers(),
                unanswered=gate.choice,
            )
            if result.clean:
                job.stage("write")
                write_file(result.table, target, escaping(csv_format, escape_formulas))
    if json:
        document = score.to_dict() if result is None else result.to_dict() | {"before": score.to_dict()}
        outputs.print_json(document)
    else:
        show_p29(console(), score)
        if result is not None:
            show_processing(console(), result)
            if result.clean:
                LOG.say(f"written: {output}")
    if (result is None and not score.value) or (result is not None and not result.clean):
        raise typer.Exit(1)


def show_p29(out: Console, score: P29Score) -> None:
    """Print the score, its components and up to ten classes that make the score zero."""
    from rich.text import Text

    from incrowd.faces.cli.tables import number, titled

    out.print(f"P29 score: {number(score.value)}")
    out.print(
        f"smallest class {score.k_min:,}, least normalized entropy {number(score.l_min)}, largest distance "
        f"{number(score.t_max)}"
    )
    table = titled("Means over classes", ("attribute",), ("normalized entropy", "scaled distance"))
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


def show_processing(out: Console, result: ProcessedTable) -> None:
    """Print the deletions by round and the remaining records."""
    from incrowd.faces.cli.tables import number

    for place, each in enumerate(result.rounds, 1):
        out.print(
            f"round {place}: {each.classes:,} classes with {each.records:,} records deleted "
            f"({each.too_small:,} too small, {each.too_uniform:,} too uniform, {each.too_far:,} too far from "
            "the table)"
        )
    out.print(
        f"{result.records - result.deleted:,} of {result.records:,} records in {result.classes:,} classes "
        f"are left, P29 score {number(result.score.value)}"
    )
    if not result.clean:
        out.print("classes are left that fail; allow more rounds (--max-rounds)")
