"""`incrowd next`: re-release a changed table, m-invariant with the releases in a ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.core.errors import ParameterError
from incrowd.faces.cli import option_groups, options, outputs
from incrowd.faces.cli.logs import LOG
from incrowd.faces.cli.parsing import names_of


def next_(
    data: options.Data,
    source: option_groups.CsvOptions,
    book: option_groups.LedgerOptions,
    gate: option_groups.GateOptions,
    policy: Annotated[Path, typer.Option("--policy", help="The policy file, with m in [ledger].")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The released file.")],
    counterfeits: Annotated[
        Path, typer.Option(metavar="CSV", help="Write how many records of each group are counterfeit.")
    ],
    earlier_release: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="An earlier release, for values that DATA lacks; repeatable."),
    ] = None,
    max_counterfeits: Annotated[
        float, typer.Option(metavar="SHARE", help="Largest share of counterfeit records.")
    ] = 0.1,
    leave_out_changed: Annotated[
        bool, typer.Option("--leave-out-changed", help="Leave people out whose sensitive value changed.")
    ] = False,
    save_policy: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the policy that verify checks the release by."),
    ] = None,
    escape_formulas: options.Escape = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Release a table that changed since the last release.

    Each person has the same sensitive values around, m or more, in every release of the ledger.

    Counterfeit records stand where a value lacks. Publish their counts, too.

    Exit status 1: nothing is released.
    """
    from incrowd.faces.cli.summary import last_line
    from incrowd.faces.cli.tables import progress
    from incrowd.release.jobs.later.ledger import Ledger
    from incrowd.release.jobs.later.next_release import next_release
    from incrowd.release.jobs.make.account import published_policy
    from incrowd.release.policy.policy import Policy

    if book.ledger is None:
        raise ParameterError("name the --ledger of the earlier releases; incrowd ledger init makes one")
    earlier = earlier_release or []
    files = outputs.outputs_of(data, *earlier, book.ledger, policy=policy, force=force)
    release_target = outputs.add_release(files, output, data, stream=False)
    counts_target, policy_target = files.add(counterfeits), outputs.add_output(files, save_policy)
    rules = gate.applied_to(Policy.read(policy))
    with progress() as job, files:
        job.stage("read")
        table, csv_format = source.read(data)
        job.stage("search")
        release = next_release(
            table,
            rules,
            Ledger.open(book.ledger),
            keys=names_of(book.ledger_keys),
            earlier=[source.read_beside(path, csv_format) for path in earlier],
            max_counterfeits=max_counterfeits,
            leave_out_changed=leave_out_changed,
            csv_format=csv_format,
            unanswered=gate.choice,
        )
        job.stage("write")
        release.write(release_target, escape_formulas=escape_formulas)
        release.write_counterfeits(counts_target)
        if policy_target is not None:
            published_policy(release.policy, release.frequency).write(policy_target, private=False)
        book.record(files, release, table, input=data, policy=policy, release=release_target)
    if json:
        outputs.print_json(release.to_dict())
        return
    for sentence in release.sentences():
        LOG.say(sentence)
    LOG.say(last_line(release.verdict, f"{output} and {counterfeits}", "every model holds"))
