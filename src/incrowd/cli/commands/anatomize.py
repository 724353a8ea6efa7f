"""`incrowd anatomize`: two tables that part the sensitive attribute from the others."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli import options

if TYPE_CHECKING:
    from rich.console import Console

    from incrowd.jobs.anatomize import Anatomy

__all__ = ["anatomize"]


def anatomize(
    data: options.Data,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for quasi.csv and sensitive.csv; made if need be.")
    ],
    policy: options.PolicyFile = None,
    qi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    identifying: options.Identifying = None,
    insensitive: options.Insensitive = None,
    others: options.Others = None,
    l: options.L = None,  # noqa: E741
    model: options.Models = None,
    seed: options.Seed = None,
    null_value: options.NullValues = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    names: options.Names = None,
    escape_formulas: options.Escape = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Part the sensitive attribute from the others: two tables, joined by groups of l different values.

    The quasi-identifiers leave as they are, so whoever is in the table can be found in it.
    """
    from dataclasses import replace

    from incrowd.cli.tables import console, progress
    from incrowd.io.files import read_table
    from incrowd.jobs.anatomize import anatomize as parted
    from incrowd.jobs.anatomize import outputs_of
    from incrowd.jobs.policy import Policy

    models = options.models_of(None, l, None, model)
    loaded = None
    options.refuse_beside_policy(
        policy,
        qi=qi,
        sensitive=sensitive,
        identifying=identifying,
        insensitive=insensitive,
        others=others,
        null_value=null_value or None,
    )
    outputs = options.outputs_of(data, policy=policy, force=force)
    targets = outputs_of(outputs, output)
    if policy is not None:
        loaded = options.read_policy(policy)
    with progress() as shown, outputs:
        shown.stage("read")
        table, csv_format = read_table(data, options.csv_format(delimiter, encoding, names))
        if loaded is None:
            loaded = Policy(
                options.schema_of(
                    table.columns, qi, sensitive, identifying, insensitive, others, None, null_value
                )
            )
        loaded = loaded.with_models(models)
        loaded = replace(loaded, seed=loaded.seed if seed is None else seed)
        shown.stage("anatomize")
        anatomy = parted(table, loaded, csv_format=csv_format)
        shown.stage("write")
        anatomy.write_to(targets, escape_formulas=escape_formulas)
    if json:
        typer.echo(json_module.dumps(anatomy.to_dict(), ensure_ascii=False, indent=1))
        return
    show_anatomy(console(), anatomy)
    typer.echo(f"written: {output}/quasi.csv and {output}/sensitive.csv, every model holds")


def show_anatomy(out: Console, anatomy: Anatomy) -> None:
    """Print what the two tables hold and protect."""
    from incrowd.cli.tables import limit_text, number, quantity_text, verdict

    found = anatomy.privacy
    out.print(
        f"{found.records:,} records in {anatomy.groups:,} groups of {found.smallest:,} to {found.largest:,}, "
        f"each with {anatomy.l} different values or more"
    )
    out.print("the quasi-identifiers are released as they are; only sensitive values are hidden in groups")
    for measured in anatomy.privacy.privacy:
        if measured.holds is not None:
            reached = f"{measured.quantity} {number(measured.value)} {limit_text(measured)}"
            out.print(f"  {quantity_text(measured)} {reached} ", end="")
            out.print(verdict(measured.holds))
