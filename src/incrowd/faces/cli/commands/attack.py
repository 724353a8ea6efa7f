"""`incrowd attack`: run attacks on a release and count successes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.core.documents import envelope
from incrowd.core.errors import ParameterError
from incrowd.faces.cli import option_groups, options, outputs
from incrowd.faces.cli.linked import attack_folders, linked_content, refuse_given
from incrowd.faces.cli.parsing import names_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from incrowd.attacks import Attack, Rate


def attack(
    source: option_groups.CsvOptions,
    roles: option_groups.MeasuredColumns,
    raw: Annotated[
        Path | None, typer.Argument(metavar="DATA", help="The raw table, or a folder of linked tables.")
    ] = None,
    release: Annotated[
        Path | None, typer.Argument(metavar="RELEASE", help="The released file or folder.")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Attack all releases of a ledger; without DATA.")
    ] = None,
    tables: Annotated[
        list[Path] | None,
        typer.Option("--tables", metavar="DIR", help="Subtract folders of count tables; again for more."),
    ] = None,
    control: Annotated[
        Path | None,
        typer.Option("--control", help="Raw records of people whom the release does not hold."),
    ] = None,
    secret: Annotated[
        str | None, typer.Option("--secret", help="The sensitive attribute that is inferred.")
    ] = None,
    attacks: Annotated[int, typer.Option("--attacks", min=10, help="Guesses of each kind.")] = 500,
    columns: Annotated[int, typer.Option("--columns", min=1, help="Columns of a predicate.")] = 3,
    neighbours: Annotated[
        int, typer.Option("--neighbours", min=1, help="Records that linkability takes on either side.")
    ] = 1,
    aligned: options.Aligned = False,
    row_map: options.RowMap = None,
    suppressed_as: options.SuppressedAs = None,
    by: options.ByKey = None,
    known: Annotated[
        str | None,
        typer.Option(
            "--known", metavar="A,B,...", help="What is known: columns; of linked tables, rows (2)."
        ),
    ] = None,
    also: Annotated[
        list[Path] | None,
        typer.Option("--also", metavar="FILE", help="Another release of the same table; again for more."),
    ] = None,
    kinds: Annotated[
        str | None,
        typer.Option("--kinds", metavar="A,B,...", help="The attacks to try, as composition,minimality."),
    ] = None,
    seed: options.Seed = None,
    json: options.Json = False,
) -> None:
    """Try to single out, link and infer, and count the successes.

    With --control the risk is what the release gives away beyond what is true of everybody. With --also it is
    told what several releases give away together; --kinds minimality, with --policy, tells what the algorithm
    gives away. By default all that the files allow is tried, but minimality.
    """
    from incrowd.attacks import attack as attack_release
    from incrowd.faces.cli.tables import console, progress

    content = None if roles.policy is None else linked_content(roles.policy)
    if content is None and [release, ledger, tables or None].count(None) != 2:
        raise ParameterError("name DATA and RELEASE, or --ledger alone, or --tables, and DATA to know more")
    with progress() as job:
        if roles.policy is not None and content is not None:
            refuse_given(
                source, roles, tables=tables, control=control, secret=secret, columns=columns != 3,
                neighbours=neighbours != 1, aligned=aligned, row_map=row_map, suppressed_as=suppressed_as,
                by=by, also=also, kinds=kinds, ledger=ledger,
            )  # fmt: skip
            results = attack_folders(
                raw, release, roles.policy, content, known, attacks=attacks, seed=seed or 0
            )
        elif ledger is not None:
            from incrowd.attacks.ledger import composition_of_ledger
            from incrowd.release.jobs.later.ledger import Ledger

            results = [composition_of_ledger(Ledger.open(ledger))]
        elif tables:
            from incrowd.attacks.tables import differencing

            before = None if raw is None else source.read(raw)[0]
            known_columns = None if before is None else roles.policy_for(before.columns, lenient=True)
            results = [differencing(tables, before, known_columns)]
        elif raw is not None and release is not None:
            job.stage("read")
            before, csv_format = source.read(raw)
            after = source.read_beside(release, csv_format)
            others = None if control is None else source.read_beside(control, csv_format)
            policy = roles.policy_for(before.columns, lenient=True)
            results = attack_release(
                before,
                after,
                policy if policy.models else policy.schema,
                also=[source.read_beside(path, csv_format) for path in also or ()],
                kinds=names_of(kinds) or None,
                control=others,
                secret=secret,
                attacks=attacks,
                columns=columns,
                neighbours=neighbours,
                aligned=aligned,
                row_map=row_map,
                suppressed_as=suppressed_as or (),
                by=by,
                known=names_of(known) or None,
                seed=seed or 0,
                progress=job,
            )
    if json:
        outputs.print_json(envelope("attack") | {"attacks": [entry.to_dict() for entry in results]})
    else:
        show_attacks(console(), results)


def show_attacks(out: Console, attacks: Sequence[Attack]) -> None:
    """Print a line per kind of attack, with 95 % confidence intervals."""
    from rich.text import Text

    from incrowd.faces.cli.tables import number, titled

    def rate_text(rate: Rate, guesses: int) -> str:
        return f"{rate.value:.3f} ({rate.low:.3f} to {rate.high:.3f})" if guesses else "not measured"

    successes = ("guesses", "with the release", "without it", "on other people", "risk")
    table = titled("Attacks: success, with 95 % confidence", ("attack",), successes)
    for attack in attacks:
        rates = (attack.main, attack.baseline, attack.control, attack.risk)
        figures = ("" if rate is None else rate_text(rate, attack.attacks) for rate in rates)
        table.add_row(attack.name, f"{attack.attacks:,}", *figures)
    out.print(table)
    for attack in attacks:
        if attack.figures:
            figures = (f"{name.replace('_', ' ')} {number(value)}" for name, value in attack.figures.items())
            out.print(f"{attack.name}: {', '.join(figures)}")
    names: dict[str, list[str]] = {}
    for attack in attacks:
        for remark in attack.remarks:
            names.setdefault(remark, []).append(attack.name)
    for remark, kinds in names.items():
        out.print(Text(f"{', '.join(kinds)}: {remark}"))
    weak = [attack.name for attack in attacks if attack.attacks and not attack.stronger_than_guessing]
    if weak:
        out.print(f"no better than guessing, so the figures say little: {', '.join(weak)}")
