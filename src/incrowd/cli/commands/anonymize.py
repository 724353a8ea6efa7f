"""`incrowd anonymize`: a table that satisfies privacy models."""

from __future__ import annotations

import json as json_module
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli import options

if TYPE_CHECKING:
    pass

__all__ = ["anonymize"]


def anonymize(
    data: options.FileOrAddress,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="The released file: .csv, .csv.gz or .parquet; with many files also a folder for as many.",
        ),
    ] = None,
    table: options.Table = None,
    into: Annotated[
        str | None,
        typer.Option("--into", metavar="TABLE", help="The released table, new in the same database."),
    ] = None,
    policy: options.PolicyFile = None,
    qi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    identifying: options.Identifying = None,
    insensitive: options.Insensitive = None,
    others: options.Others = None,
    hierarchies: options.Hierarchies = None,
    k: options.K = None,
    l: options.L = None,  # noqa: E741
    t: options.T = None,
    model: options.Models = None,
    population: options.People = None,
    algorithm: options.AlgorithmName = None,
    levels: options.Levels = None,
    max_suppression: options.Suppression = None,
    style: Annotated[
        str | None,
        typer.Option(
            "--style", metavar="STYLE", help="Cells as auto, range, ancestor, set, mean or suppress."
        ),
    ] = None,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Put the rows in a random order; else row N stays row N.")
    ] = False,
    seed: options.Seed = None,
    null_value: options.NullValues = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    names: options.Names = None,
    recoding: Annotated[
        Path | None,
        typer.Option("--recoding", metavar="DIR", help="Also save the recoding there; it knows raw values."),
    ] = None,
    save_policy: Annotated[
        Path | None,
        typer.Option(
            "--save-policy",
            metavar="FILE",
            help="Also write the policy as TOML, for apply; with hierarchies it knows raw values.",
        ),
    ] = None,
    stream: options.Stream = False,
    memory: options.Memory = None,
    report: options.Report = None,
    internal: Annotated[
        bool, typer.Option("--internal", help="Let the report name values of the raw table; not to publish.")
    ] = False,
    escape_formulas: options.Escape = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Write a table that satisfies privacy models, and say what it cost.

    Nothing is written when a model cannot be satisfied.
    """
    from dataclasses import replace

    from incrowd.cli.tables import console, progress, show_release
    from incrowd.errors import ParameterError
    from incrowd.jobs.anonymize import anonymize as release_of
    from incrowd.jobs.policy import Policy

    began = time.perf_counter()
    models = options.models_of(k, l, t, model)
    if (output is None) == (into is None):
        raise ParameterError(
            "say where the release goes: to a file with -o, or --into a table of the database"
        )
    if into is not None and isinstance(data, Path):
        raise ParameterError("--into is for databases; name a file with -o")
    outputs = options.outputs_of(data, population, hierarchies, policy=policy, force=force)
    released = None if output is None else options.released_file(outputs, output, data, stream=stream)
    page = options.added_report(outputs, report)
    policy_file = options.added(outputs, save_policy)
    recoding_folder = options.added(outputs, recoding, folder=True, private=True)
    loaded = None
    options.refuse_beside_policy(
        policy,
        qi=qi,
        sensitive=sensitive,
        identifying=identifying,
        insensitive=insensitive,
        others=others,
        hierarchies=hierarchies,
        null_value=null_value or None,
    )
    if policy is not None:
        loaded = options.read_policy(policy)
    with progress() as shown, outputs:
        shown.stage("read")
        rows, csv_format, columns = options.opened(
            data,
            options.csv_format(delimiter, encoding, names),
            stream=stream,
            memory=memory,
            shown=shown,
            table=table,
        )
        if into is not None:
            rows.place_for(into, force=force)
        if loaded is None:
            schema = options.schema_of(
                columns, qi, sensitive, identifying, insensitive, others, hierarchies, null_value
            )
            loaded = Policy(schema)
        loaded = options.override(loaded, models, algorithm, max_suppression, style)
        loaded = replace(
            loaded, shuffle=loaded.shuffle or shuffle, seed=loaded.seed if seed is None else seed
        )
        release = release_of(
            rows,
            loaded,
            levels=options.levels_of(levels),
            population=population,
            csv_format=csv_format,
            progress=shown,
        )
        shown.stage("write")
        if policy_file is not None:
            loaded.write(policy_file)
        if recoding_folder is not None:
            release.recoding.save(recoding_folder)
        if page is not None:
            shown.stage("report")
            release.report(page, internal=internal)
            shown.stage("write")
        if released is not None:
            release.write(released, escape_formulas=escape_formulas)
        if into is not None:
            release.into(into, force=force)
    if save_policy is not None:
        typer.echo(
            f"{save_policy} is for you alone: it and the hierarchies beside it know values that the release "
            "hides",
            err=True,
        )
    if json:
        typer.echo(json_module.dumps(release.to_dict(), ensure_ascii=False, indent=1))
        return
    out = console()
    show_release(out, release)
    out.print()
    seconds = time.perf_counter() - began
    out.print(
        f"written: {output or into} ({release.privacy.records:,} rows), every model holds; "
        f"{seconds:.2f} s with reading and writing",
    )
