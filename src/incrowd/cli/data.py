"""Commands that work on a table: assess, anonymize, compare, and what else there is to ask of one."""

from __future__ import annotations

import json as json_module
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from incrowd.algorithms import Algorithm
    from incrowd.comparison import Comparison
    from incrowd.policy import Policy

__all__ = [
    "anatomize",
    "anonymize",
    "apply",
    "assess",
    "attack",
    "compare",
    "init",
    "lattice",
    "p29",
    "randomize",
    "risk",
    "utility",
]

_PAGE_NAMES = 12
_PAGE_K = (4, 8, 16, 32, 64, 128, 256)
_PAGE_L = (1, 2, 3, 4, 5, 6, 7, 8)
"""What --one-page varies unless it is told."""


def assess(
    data: options.FileOrAddress,
    table: options.Table = None,
    policy: options.PolicyFile = None,
    qi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    hierarchies: options.Hierarchies = None,
    k: options.K = None,
    l: options.L = None,  # noqa: E741
    t: options.T = None,
    model: options.Models = None,
    population: options.People = None,
    null_value: options.NullValues = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    names: options.Names = None,
    stream: options.Stream = False,
    memory: options.Memory = None,
    by_class: Annotated[
        bool,
        typer.Option(
            "--by-class", help="Also show every class with what each model measures of it: --json has all."
        ),
    ] = False,
    report: options.Report = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Measure how private a table is as it stands.

    With limits (-k, -l, -t, --model, --policy) the exit status is 1 when one is not met.
    """
    from incrowd.assessment import assess as measure
    from incrowd.cli.render import console, progress, show_assessment, show_classes

    models = options.models_of(k, l, t, model)
    options.refuse_beside_policy(
        policy, qi=qi, sensitive=sensitive, hierarchies=hierarchies, null_value=null_value or None
    )
    outputs = options.outputs_of(data, population, hierarchies, policy=policy, force=force)
    page = options.added_report(outputs, report)
    with progress() as shown, outputs:
        shown.stage("read")
        rows, _, columns = options.opened(
            data,
            options.csv_format(delimiter, encoding, names),
            stream=stream,
            memory=memory,
            shown=shown,
            table=table,
        )
        loaded = _policy_or_columns(policy, columns, qi, sensitive, hierarchies, null_value)
        loaded = options.override(loaded, models, None, None, None)
        shown.stage("assess")
        assessment = measure(rows, loaded.schema, loaded.models, population=population, progress=shown)
        if page is not None:
            shown.stage("report")
            assessment.report(page, loaded.schema)
    if json:
        document = {"file": str(data), **assessment.to_dict()}
        if by_class:
            document["by_class"] = assessment.by_class().to_dict()
        typer.echo(json_module.dumps(document, ensure_ascii=False, indent=1))
    else:
        show_assessment(console(), assessment)
        if by_class:
            show_classes(console(), assessment.by_class())
    if not assessment.holds:
        raise typer.Exit(1)


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

    from incrowd.cli.render import console, progress, show_release
    from incrowd.errors import ParameterError
    from incrowd.policy import Policy
    from incrowd.release import anonymize as release_of

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
        loaded = _read_policy(policy)
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


def lattice(
    data: options.FileOrAddress,
    table: options.Table = None,
    policy: options.PolicyFile = None,
    qi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    hierarchies: options.Hierarchies = None,
    k: options.K = None,
    l: options.L = None,  # noqa: E741
    t: options.T = None,
    model: options.Models = None,
    population: options.People = None,
    algorithm: options.AlgorithmName = None,
    levels: options.Levels = None,
    max_suppression: options.Suppression = None,
    null_value: options.NullValues = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    names: options.Names = None,
    stream: options.Stream = False,
    memory: options.Memory = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Also write every node looked at: .parquet or .json."),
    ] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Search the lattice of full-domain recodings and show the trade-off; nothing is released.

    Take a node with `anonymize --levels`. Columns without a role do no harm here.
    """
    from incrowd.cli.render import console, progress, show_lattice
    from incrowd.release import explore

    models = options.models_of(k, l, t, model)
    outputs = options.outputs_of(data, population, hierarchies, policy=policy, force=force)
    target = options.added(outputs, output)
    options.refuse_beside_policy(
        policy, qi=qi, sensitive=sensitive, hierarchies=hierarchies, null_value=null_value or None
    )
    with progress() as shown:
        shown.stage("read")
        rows, csv_format, columns = options.opened(
            data,
            options.csv_format(delimiter, encoding, names),
            stream=stream,
            memory=memory,
            shown=shown,
            table=table,
        )
        loaded = _policy_or_columns(policy, columns, qi, sensitive, hierarchies, null_value)
        loaded = options.override(loaded, models, algorithm, max_suppression, None)
        loaded = loaded.with_levels(options.levels_of(levels) or {})
        space = explore(rows, loaded, population=population, csv_format=csv_format, progress=shown)
    if target is not None:
        with outputs:
            space.save(target)
    if json:
        typer.echo(json_module.dumps(space.to_dict(), ensure_ascii=False, indent=1))
        return
    show_lattice(console(), space)
    if output is not None:
        typer.echo(f"written: {output} ({len(space.nodes):,} nodes)")


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

    from incrowd.anatomy import anatomize as parted
    from incrowd.anatomy import outputs_of
    from incrowd.cli.render import console, progress, show_anatomy
    from incrowd.io.files import read_table
    from incrowd.policy import Policy

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
        loaded = _read_policy(policy)
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


def compare(
    data: options.Data,
    algorithms: Annotated[
        str,
        typer.Option(
            "--algorithms",
            metavar="A,B,...",
            help="Algorithms with their parameters, e.g. mondrian,clustering,optimal:metric=ncp; or all.",
        ),
    ],
    policy: options.PolicyFile = None,
    qi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    hierarchies: options.Hierarchies = None,
    k: Annotated[str | None, typer.Option("-k", metavar="K,...", help="Limits of k-anonymity.")] = None,
    l: Annotated[  # noqa: E741
        str | None, typer.Option("-l", metavar="L,...", help="Limits of distinct l-diversity.")
    ] = None,
    t: Annotated[str | None, typer.Option("-t", metavar="T,...", help="Limits of t-closeness.")] = None,
    model: options.Models = None,
    population: options.People = None,
    max_suppression: options.Suppression = None,
    seeds: Annotated[
        str, typer.Option("--seeds", metavar="S,...", help="Seeds for algorithms that choose at random.")
    ] = "0",
    null_value: options.NullValues = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    names: options.Names = None,
    json: options.Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV, a line per run.")] = False,
    shuffle: Annotated[
        bool,
        typer.Option(
            "--shuffle", help="Run what depends on the order of rows on rows shuffled by each seed."
        ),
    ] = False,
    one_page: Annotated[
        Path | None,
        typer.Option(
            "--one-page", metavar="PDF", help="Write plots and tables of time, LM and MD to one page."
        ),
    ] = None,
    at_k: Annotated[
        int, typer.Option("--at-k", min=1, help="With --one-page: the k at which l is varied.")
    ] = 16,
    report: options.Report = None,
    force: options.Force = False,
) -> None:
    """Run algorithms over lists of limits and seeds, and show time and loss; nothing is released.

    With --one-page, k and l are not crossed: the page has every algorithm against k, and the full-domain ones
    (or all, where there is none) against l from 1 to 8, or as -l says, at the k of --at-k; rows are shuffled.

    The exit status is 1 when a run gives no release; the others are shown all the same.
    """
    from incrowd.algorithms import FullDomainAlgorithm
    from incrowd.cli.render import console, progress, show_comparison
    from incrowd.comparison import compare as grid
    from incrowd.errors import ParameterError
    from incrowd.io.files import read_table

    if json and csv:
        raise ParameterError("--json and --csv: say one of them")
    chosen = options.algorithms_of(algorithms)
    limits = {
        "k": options.numbers_of(k, "-k"),
        "l": options.numbers_of(l, "-l"),
        "t": options.numbers_of(t, "-t", float),
        "seeds": options.numbers_of(seeds, "--seeds"),
    }
    models = options.models_of(None, None, None, model)
    options.refuse_beside_policy(
        policy, qi=qi, sensitive=sensitive, hierarchies=hierarchies, null_value=null_value or None
    )
    if one_page is not None:
        if limits["t"]:
            raise ParameterError("--one-page shows k and l; leave -t out, or name t-closeness with --model")
        shuffle = True
    outputs = options.outputs_of(data, population, hierarchies, policy=policy, force=force)
    sheet = options.added(outputs, one_page)
    page = options.added_report(outputs, report)
    with progress() as shown, outputs:
        shown.stage("read")
        table, csv_format = read_table(data, options.csv_format(delimiter, encoding, names))
        loaded = _policy_or_columns(policy, table.columns, qi, sensitive, hierarchies, null_value)

        def run(chosen: Sequence[Algorithm], **limits: Any) -> Comparison:
            return grid(
                table, loaded, chosen, models=models, max_suppression=max_suppression, population=population,
                csv_format=csv_format, shuffle=shuffle, progress=shown, **limits,
            )  # fmt: skip

        varied_l: Comparison | None = None
        if sheet is None:
            comparison = run(chosen, **limits)
        else:
            comparison = run(chosen, k=limits["k"] or _PAGE_K, seeds=limits["seeds"])
            lattice_ = [algorithm for algorithm in chosen if isinstance(algorithm, FullDomainAlgorithm)]
            most = _most_l(loaded, table)
            if most:
                values = limits["l"] or [each for each in _PAGE_L if each <= most]
                varied_l = run(lattice_ or chosen, k=[at_k], l=values, seeds=limits["seeds"])
            shown.stage("page")
            quasi = [attribute.name for attribute in loaded.schema.quasi]
            comparison.one_page(
                sheet,
                against_l=varied_l,
                at_k=at_k,
                about=f"{data.name}; quasi-identifiers: {', '.join(quasi[:_PAGE_NAMES])}"
                + (f" and {len(quasi) - _PAGE_NAMES} more" if len(quasi) > _PAGE_NAMES else ""),
            )
        if page is not None:
            comparison.report(page)
    if json:
        document = comparison.to_dict() | ({"against_l": varied_l.to_dict()} if varied_l else {})
        typer.echo(json_module.dumps(document, ensure_ascii=False, indent=1))
    elif csv:
        typer.echo(comparison.to_csv(), nl=False)
    else:
        show_comparison(console(), comparison)
        if varied_l:
            show_comparison(console(), varied_l)
    if one_page is not None:
        typer.echo(f"written: {one_page}", err=json or csv)
    if not comparison.complete or not (varied_l is None or varied_l.complete):
        raise typer.Exit(1)


def risk(
    data: options.Data,
    policy: options.PolicyFile = None,
    qi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    hierarchies: options.Hierarchies = None,
    population: options.People = None,
    size: Annotated[
        int | None,
        typer.Option("--population-size", min=1, help="How many people the table is a sample of."),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option("--weights", help="Column of sampling weights: how many people each row stands for."),
    ] = None,
    max_size: Annotated[
        int, typer.Option("--max-size", min=1, help="Columns of the largest sets that are looked at.")
    ] = 3,
    distinction: Annotated[
        float, typer.Option("--distinction", help="From which share of distinct records a set identifies.")
    ] = 0.9,
    null_value: options.NullValues = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    names: options.Names = None,
    json: options.Json = False,
) -> None:
    """Measure re-identification risk: risk models, special uniques, and which columns identify.

    With --population-size also how many people are unique in the population, estimated; with --weights the
    individual risk of the rows of a survey.
    """
    from incrowd.assessment import assess as measure
    from incrowd.cli.render import console, progress, show_risk
    from incrowd.io.files import read_table
    from incrowd.risk import individual_risk, population_uniqueness, quasi_identifiers, suda2

    options.refuse_beside_policy(
        policy, qi=qi, sensitive=sensitive, hierarchies=hierarchies, null_value=null_value or None
    )
    with progress() as shown:
        shown.stage("read")
        table, _ = read_table(data, options.csv_format(delimiter, encoding, names))
        loaded = _policy_or_columns(policy, table.columns, qi, sensitive, hierarchies, null_value)
        columns = [attribute.name for attribute in loaded.schema.quasi]
        largest = min(max_size, len(columns))
        shown.stage("risk models")
        risks = measure(table, loaded.schema, population=population).risk
        shown.stage("special uniques")
        share = 0.01 if size is None else min(len(table) / size, 1.0)
        special = suda2(table, columns, max_size=largest, fraction=share)
        shown.stage("quasi-identifiers")
        sets = quasi_identifiers(table, columns, max_size=largest, distinction=distinction)
        unique = None if size is None else population_uniqueness(table, columns, population=size)
        rows = None if weights is None else individual_risk(table, columns, weights)
        individual = (
            None
            if rows is None
            else {"mean": float(rows.mean()), "max": float(rows.max()), "expected": float(rows.sum())}
        )
    if json:
        document = {
            "format": "incrowd risk",
            "version": 1,
            "risks": risks,
            "special_uniques": special.to_dict(),
            "quasi_identifiers": [entry.to_dict() for entry in sets],
            **({} if unique is None else {"population_uniqueness": unique.to_dict()}),
            **({} if individual is None else {"individual_risk": individual}),
        }
        typer.echo(json_module.dumps(document, ensure_ascii=False, indent=1))
    else:
        show_risk(console(), len(table), risks, special, sets, unique, individual)


def attack(
    raw: options.Data,
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="The released or synthetic file.")],
    control: Annotated[
        Path | None,
        typer.Option("--control", help="Raw records of people whom the release does not hold."),
    ] = None,
    policy: options.PolicyFile = None,
    qi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    hierarchies: options.Hierarchies = None,
    secret: Annotated[
        str | None, typer.Option("--secret", help="The sensitive attribute that is inferred.")
    ] = None,
    attacks: Annotated[int, typer.Option("--attacks", min=10, help="Guesses of each kind.")] = 500,
    columns: Annotated[int, typer.Option("--columns", min=1, help="Columns of a predicate.")] = 3,
    neighbours: Annotated[
        int, typer.Option("--neighbours", min=1, help="Records that linkability looks at on either side.")
    ] = 1,
    aligned: Annotated[
        bool,
        typer.Option("--aligned", help="Row N of both files is one person: check links, too."),
    ] = False,
    known: Annotated[
        str | None,
        typer.Option("--known", metavar="A,B,...", help="Columns that an external table has, for links."),
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
    null_value: options.NullValues = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    names: options.Names = None,
    json: options.Json = False,
) -> None:
    """Try to single out, link and infer with a release, and count how often it works.

    With --control the risk is what the release gives away beyond what is true of everybody. With --also it is
    told what several releases give away together; --kinds minimality, with --policy, tells what the algorithm
    gives away. By default all that the files allow is tried, but minimality.
    """
    from incrowd.attacks import attack as attacked
    from incrowd.cli.render import console, progress, show_attacks
    from incrowd.io.files import read_table

    options.refuse_beside_policy(
        policy, qi=qi, sensitive=sensitive, hierarchies=hierarchies, null_value=null_value or None
    )
    with progress() as shown:
        shown.stage("read")
        before, csv_format = read_table(raw, options.csv_format(delimiter, encoding, names))
        after, _ = read_table(release, csv_format)
        others = None if control is None else read_table(control, csv_format)[0]
        loaded = _policy_or_columns(policy, before.columns, qi, sensitive, hierarchies, null_value)
        found = attacked(
            before,
            after,
            loaded if loaded.models else loaded.schema,
            also=[read_table(path, csv_format)[0] for path in also or ()],
            kinds=options.listed(kinds) or None,
            control=others,
            secret=secret,
            attacks=attacks,
            columns=columns,
            neighbours=neighbours,
            aligned=aligned,
            known=options.listed(known) or None,
            seed=seed or 0,
            progress=shown,
        )
    if json:
        document = {"format": "incrowd attack", "version": 1, "attacks": [entry.to_dict() for entry in found]}
        typer.echo(json_module.dumps(document, ensure_ascii=False, indent=1))
    else:
        show_attacks(console(), found)


def _most_l(policy: Policy, table: pl.DataFrame) -> int:
    """Return the largest l that every sensitive attribute has values for; 0 where there is none."""
    return min((table[attribute.name].n_unique() for attribute in policy.schema.sensitive), default=0)


def utility(
    raw: options.Data,
    release: Annotated[
        Path, typer.Argument(metavar="RELEASE", help="The released file: the same rows in the same order.")
    ],
    policy: options.PolicyFile = None,
    qi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    hierarchies: options.Hierarchies = None,
    target: Annotated[
        str | None,
        typer.Option("--target", help="Also learn to predict this column, from both tables."),
    ] = None,
    seed: options.Seed = None,
    null_value: options.NullValues = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    names: options.Names = None,
    json: options.Json = False,
) -> None:
    """Measure what a release lost of the raw table, whoever made it.

    Metrics, distributions, associations and the error of random counting queries. Cells may be values, labels
    of the hierarchies, ranges, sets, means, or *.
    """
    from incrowd.cli.render import console, progress, show_evaluation, show_fidelity
    from incrowd.distributions import fidelity
    from incrowd.evaluation import evaluate
    from incrowd.io.files import read_table
    from incrowd.learning import learn

    options.refuse_beside_policy(
        policy, qi=qi, sensitive=sensitive, hierarchies=hierarchies, null_value=null_value or None
    )
    with progress() as shown:
        shown.stage("read")
        before, csv_format = read_table(raw, options.csv_format(delimiter, encoding, names))
        after, _ = read_table(release, csv_format)
        loaded = _policy_or_columns(policy, before.columns, qi, sensitive, hierarchies, null_value)
        shown.stage("measure")
        evaluation = evaluate(before, after, loaded.schema)
        kept = fidelity(
            evaluation.frequency,
            evaluation.recoding,
            columns=min(2, len(loaded.schema.quasi)),
            seed=seed or 0,
        )
        learned = []
        if target is not None:
            shown.stage("learn")
            learned = learn(evaluation, before, target, seed=seed or 0)
    if json:
        document = evaluation.to_dict() | {"statistics": kept.to_dict()}
        if learned:
            document["learning"] = [entry.to_dict() for entry in learned]
        typer.echo(json_module.dumps(document, ensure_ascii=False, indent=1))
        return
    out = console()
    show_evaluation(out, evaluation)
    show_fidelity(out, kept, learned)


def init(
    data: options.Data,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The policy file; standard output by default.")
    ] = None,
    null_value: options.NullValues = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    names: options.Names = None,
    force: options.Force = False,
) -> None:
    """Draft a policy: guessed roles and hierarchies of the columns, and why. Read it before you use it."""
    from incrowd.guess import draft_policy
    from incrowd.io.files import read_table
    from incrowd.io.targets import writing

    outputs = options.outputs_of(data, force=force)
    target = options.added(outputs, output)
    table, _ = read_table(data, options.csv_format(delimiter, encoding, names))
    text = draft_policy(table, data.name, tuple(null_value or ()))
    if target is None:
        typer.echo(text, nl=False)
    else:
        with outputs, writing(target) as place:
            place.write_text(text, encoding="utf-8")
        typer.echo(f"written: {output}; check every role before you use it")


def _policy_or_columns(
    path: Path | None,
    columns: list[str],
    qi: str | None,
    sensitive: str | None,
    hierarchies: Path | None,
    null_value: list[str] | None,
) -> Policy:
    """Read the policy, or make one of the options about columns where nothing is released."""
    from incrowd.policy import Policy

    if path is not None:
        return _read_policy(path)
    return Policy(
        options.schema_of(columns, qi, sensitive, None, None, None, hierarchies, null_value, lenient=True)
    )


def _read_policy(path: Path) -> Policy:
    from incrowd.policy import Policy

    return Policy.read(path)


def apply(
    recoding: Annotated[
        Path, typer.Argument(metavar="RECODING", help="The folder where a recoding was saved (--recoding).")
    ],
    data: options.Data,
    policy: Annotated[Path, typer.Option("--policy", help="The policy file of the earlier release.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The released file.")],
    beside: Annotated[
        Path | None,
        typer.Option("--beside", metavar="RELEASE", help="The earlier release; classes are those of both."),
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option("--rows", metavar="CSV", help="Also write which rows were suppressed and why."),
    ] = None,
    max_suppression: options.Suppression = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    names: options.Names = None,
    stream: options.Stream = False,
    memory: options.Memory = None,
    escape_formulas: options.Escape = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Recode the next batch of rows by yesterday's decisions, check it, and suppress what does not fit.

    Nothing is written when more rows than the policy allows would have to be suppressed.
    """
    from dataclasses import replace

    from incrowd.application import apply_recoding
    from incrowd.cli.render import progress
    from incrowd.engines import loaded as loaded_table
    from incrowd.io.files import CsvFormat, escaping, write_file

    outputs = options.outputs_of(data, beside, policy=policy, recoding=recoding, force=force)
    released = options.released_file(outputs, output, data, stream=stream)
    numbers = options.added(outputs, rows)
    loaded = _read_policy(policy)
    if max_suppression is not None:
        loaded = replace(loaded, max_suppression=max_suppression)
    with progress() as shown, outputs:
        shown.stage("read")
        table, csv_format, _ = options.opened(
            data, options.csv_format(delimiter, encoding, names), stream=stream, memory=memory, shown=shown
        )
        # It was written as this one will be.
        earlier = None if beside is None else loaded_table(beside, escaping(None, escape_formulas))
        shown.stage("apply")
        applied = apply_recoding(recoding, table, loaded, beside=earlier, csv_format=csv_format)
        shown.stage("write")
        if numbers is not None:
            write_file(applied.rows(), numbers, CsvFormat())
        applied.write(released, escape_formulas=escape_formulas)
    if json:
        typer.echo(json_module.dumps(applied.to_dict(), ensure_ascii=False, indent=1))
        return
    typer.echo(
        f"{applied.records:,} rows: {applied.outside:,} covered by no cell, {applied.too_small:,} in "
        f"classes that fail, {applied.suppressed:,} suppressed in all"
    )
    typer.echo(f"written: {output}, every model holds")


def p29(
    data: options.Data,
    policy: options.PolicyFile = None,
    qi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    identifying: options.Identifying = None,
    insensitive: options.Insensitive = None,
    others: options.Others = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Delete the classes that fail, and write what is left."),
    ] = None,
    t: Annotated[float, typer.Option("-t", help="Largest distance to the table that stays.")] = 0.5,
    k: Annotated[int, typer.Option("-k", help="Largest size of a class that is deleted.")] = 1,
    l: Annotated[  # noqa: E741
        float, typer.Option("-l", help="Largest normalized entropy that is deleted.")
    ] = 0.0,
    max_rounds: Annotated[
        int | None, typer.Option("--max-rounds", help="How often to look anew; 1 is the single pass.")
    ] = None,
    null_value: options.NullValues = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    names: options.Names = None,
    escape_formulas: options.Escape = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Score a table by P29, and with -o delete the classes that fail until none does.

    The exit status is 1 when the score is 0 or, with -o, when classes are left that fail; nothing is written
    then.
    """
    from incrowd.cli.render import console, progress, show_p29, show_processing
    from incrowd.engines import read_classes
    from incrowd.io.files import escaping, read_table, write_file
    from incrowd.privacy import P29
    from incrowd.processing import ensure_privacy

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
    target = options.added(outputs, output)
    with progress() as shown, outputs:
        shown.stage("read")
        table, csv_format = read_table(data, options.csv_format(delimiter, encoding, names))
        if policy is not None:
            schema = _read_policy(policy).schema
        else:
            schema = options.schema_of(
                table.columns, qi, sensitive, identifying, insensitive, others, None, null_value,
                lenient=output is None,
            )  # fmt: skip
        shown.stage("score")
        score = P29(0.0).of(read_classes(table, schema))
        left = None
        if target is not None:
            shown.stage("process")
            left = ensure_privacy(table, schema, t=t, k=k, l=l, max_rounds=max_rounds)
            if left.clean:
                shown.stage("write")
                write_file(left.table, target, escaping(csv_format, escape_formulas))
    if json:
        document = score.to_dict() if left is None else left.to_dict() | {"before": score.to_dict()}
        typer.echo(json_module.dumps(document, ensure_ascii=False, indent=1))
    else:
        show_p29(console(), score)
        if left is not None:
            show_processing(console(), left)
            if left.clean:
                typer.echo(f"written: {output}")
    if (left is None and not score.value) or (left is not None and not left.clean):
        raise typer.Exit(1)


def randomize(
    data: options.Data,
    spec: Annotated[
        Path, typer.Option("--spec", help="TOML file with a mechanism per column, and a budget.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="CSV or Parquet file to write.")],
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    names: options.Names = None,
    escape_formulas: options.Escape = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Randomize columns for local differential privacy: Laplace noise and randomized response.

    Columns that the file does not name are written as they are.
    """
    from incrowd.cli.render import console, progress, show_randomized
    from incrowd.io.files import escaping, read_table, write_file
    from incrowd.randomization import mechanisms_from_toml
    from incrowd.randomization import randomize as drawn

    mechanisms, budget = mechanisms_from_toml(spec)
    outputs = options.outputs_of(data, spec, force=force)
    target = outputs.add(output)
    with progress() as shown, outputs:
        shown.stage("read")
        table, csv_format = read_table(data, options.csv_format(delimiter, encoding, names))
        shown.stage("randomize")
        made = drawn(table, mechanisms, budget=budget)
        shown.stage("write")
        write_file(made.table, target, escaping(csv_format, escape_formulas))
    if json:
        typer.echo(json_module.dumps(made.to_dict(), ensure_ascii=False, indent=1))
        return
    show_randomized(console(), made, budget)
    typer.echo(f"written: {output}")
