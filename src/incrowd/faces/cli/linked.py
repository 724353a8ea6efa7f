"""Linked tables on the command line: `anonymize`, `assess`, `attack`, `verify` of folders or databases."""

from __future__ import annotations

from dataclasses import MISSING, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from incrowd.core.errors import ParameterError, TableError
from incrowd.faces.cli import outputs

if TYPE_CHECKING:
    from incrowd.attacks import Attack

_KEPT = ("policy", "output", "into", "force", "ledger", "recipient", "ledger_new_people")
"""Options of groups that linked tables have, too."""


def linked_content(policy: Path) -> dict[str, Any] | None:
    """Return the content of a policy file that names linked tables, else None."""
    from incrowd.release.linked.policy import is_linked
    from incrowd.release.policy.policy_file import read_toml

    content = read_toml(policy)
    return content if is_linked(content) else None


def is_linked_release(path: Any, policy: Path | None, table: str | None) -> bool:
    """Say whether a folder or a database has released linked tables, as `incrowd_verify.linked.is_linked`."""
    import incrowd.release.verification  # noqa: F401 - it tells the verifier of databases behind servers
    from incrowd.faces.cli.parsing import data_name
    from incrowd_verify.linked import is_linked

    return is_linked(data_name(path), policy, table)


def are_tables(data: Any, table: str | None, standard: str | None = None) -> bool:
    """Say whether data is a folder of tables, or a database of which no table is named.

    Raises
    ------
    ParameterError
        When a standard is named for one file or table.
    """
    is_folder = isinstance(data, Path) and data.is_dir()
    if standard is not None and (table is not None or (isinstance(data, Path) and not is_folder)):
        raise ParameterError(f"--{standard} is for a folder of tables; give the folder, not one file")
    if not is_folder:
        return not isinstance(data, Path) and table is None
    from incrowd.release.linked.folders import has_linked_tables

    return standard is not None or has_linked_tables(data)


def refuse_linked(policy: Path) -> None:
    """Refuse a policy of linked tables where one table is asked for.

    Raises
    ------
    ParameterError
    """
    if linked_content(policy) is not None:
        raise ParameterError(
            f"{policy} is about linked tables, which anonymize, assess, attack and verify know; give a "
            "policy of one table here"
        )


def refuse_given(*groups: Any, **single: Any) -> None:
    """Refuse options that are for one table, as the policy of linked tables says such things.

    Raises
    ------
    ParameterError
    """
    options = [name for name, value in single.items() if value]
    for group in groups:
        for option in fields(group):
            default = option.default if option.default is not MISSING else None
            if option.name not in _KEPT and getattr(group, option.name) != default:
                options.append(option.name)
    if options:
        raise ParameterError(
            f"--{options[0].replace('_', '-')} is for one table; for linked tables write it into the policy, "
            "or leave it out"
        )


def anonymize_folder(
    tables: Any,
    policy: Path,
    content: dict[str, Any],
    places: Any,
    gate: Any,
    *,
    json: bool,
) -> None:
    """Release the tables of a folder or a database together, and print the verdict.

    They go to the folder ``-o``, or to the database ``-o``, by default that which is read, if ``--into``
    names a schema.
    """
    from dataclasses import replace

    from incrowd.engines.dialects.addresses import Address
    from incrowd.faces.cli.summary import last_line
    from incrowd.faces.cli.tables import console, progress
    from incrowd.release.linked import LinkedPolicy, anonymize_linked
    from incrowd.release.linked.databases import require_free
    from incrowd_verify.cli import show_verdict

    output = places.output if places.into is None else places.output or tables
    if output is None:
        raise ParameterError("say where the tables go: to a folder or a database with -o, or --into a schema")
    if places.into is not None and not isinstance(output, Address):
        raise ParameterError("--into is for databases: name one with -o, or a folder with -o alone")
    files = outputs.outputs_of(tables, places.ledger, policy=policy, force=places.force)
    with progress() as job, files:
        linked = LinkedPolicy.from_dict(content, policy.parent, str(policy))
        linked = replace(linked, terms=gate.applied_to(linked.terms))
        if isinstance(output, Address):
            require_free(output, places.into, linked.order, force=places.force)
        else:
            target = files.add(output, folder=True)
        release = anonymize_linked(tables, linked, progress=job, unanswered=gate.choice)
        job.stage("write")
        into = None
        if isinstance(output, Address):
            into = partial(release.into, output, places.into, force=places.force, progress=job)
        else:
            release.save(target)
        places.record(files, release, None, into=into, policy=policy)
    if json:
        outputs.print_json(release.to_dict())
        return
    out = console()
    show_verdict(out, release.verdict)
    for sentence in release.sentences():
        out.print(sentence)
    rows = ", ".join(f"{name} {count:,}" for name, count in release.view.records.items())
    where = output if places.into is None else f"{output}, schema {places.into}"
    out.print(last_line(release.verdict, f"{where} ({rows} rows)", "every model holds"))


def assess_folder(folder: Any, policy: Path, content: dict[str, Any], *, json: bool) -> None:
    """Print the joined view of a folder's tables, and leave with status 1 if a limit is broken."""
    from incrowd.faces.cli.tables import console
    from incrowd.release.linked import LinkedPolicy, assess_linked
    from incrowd_verify.cli import show_verdict

    view = assess_linked(folder, LinkedPolicy.from_dict(content, policy.parent, str(policy)))
    if json:
        outputs.print_json({**view.to_dict(), "verdict": view.verdict.to_dict()})
    else:
        show_verdict(console(), view.verdict)
        for sentence in view.sentences():
            console().print(sentence)
    if not view.verdict.holds:
        raise typer.Exit(1)


def attack_folders(
    raw: Any, released: Any, policy: Path, content: dict[str, Any], known: str | None, **settings: int
) -> list[Attack]:
    """Attack raw tables and released ones, as an attacker who knows `known` rows of each table, 2 by default.

    Raises
    ------
    ParameterError
        When a folder is not named, or `known` is no number.
    """
    from dataclasses import replace

    from incrowd.attacks.linked import joining
    from incrowd.release.linked import LinkedPolicy

    if raw is None or released is None:
        raise ParameterError("name DATA and RELEASE: the folders of the raw and of the released tables")
    if known is not None and not (known.isascii() and known.isdigit()):
        raise ParameterError("--known is a number of rows for linked tables; say --known 2")
    rules = LinkedPolicy.from_dict(content, policy.parent, str(policy))
    before, after = (joining(tables, rules, facts=int(known or 2), **settings) for tables in (raw, released))
    return [replace(before, name=f"{before.name} raw tables"), after]


def verify_folder(
    released: Any, policy: Path | None, sources: Any, emit_sql: Path | None, *, force: bool, json: bool
) -> None:
    """Print the second reading of a folder's or a database's tables; exit with 1 unless the verdict holds."""
    from incrowd.core.io.targets import writing
    from incrowd.faces.cli.parsing import data_name
    from incrowd.faces.cli.tables import console
    from incrowd_verify.cli import show_linked
    from incrowd_verify.linked import DOCUMENTS, linked_checks_as_sql, verify_linked

    data, against = data_name(released), sources.against
    files = outputs.outputs_of(released, against, force=force)
    script = outputs.add_output(files, emit_sql)
    text = "" if script is None else linked_checks_as_sql(data, policy)
    raw = {"against": against and data_name(against), "against_table": sources.against_table}
    try:
        result = verify_linked(data, policy, table=sources.table, **raw)
    except TableError as error:
        hint = f"; where a schema has it, say --table SCHEMA.{DOCUMENTS}"
        raise TableError(f"{error}{hint if DOCUMENTS in str(error) else ''}") from None
    if script is not None:
        with files, writing(script) as path:
            path.write_text(text, encoding="utf-8", newline="\n")
    if status := show_linked(console(), result, emit_sql, as_json=json):
        raise typer.Exit(status)


def draft_tables(data: Any, output: Path | None, *, standard: str | None = None, force: bool) -> None:
    """Draft the policy of a folder, or of a database whose tables are copied into a private folder."""
    if isinstance(data, Path):
        _draft_folder(data, data, [], output, standard=standard, force=force)
        return
    from incrowd.core.io.scratch import PrivateFolder
    from incrowd.release.linked.databases import copy_tables

    with PrivateFolder() as scratch:
        (folder := scratch / str(data).rpartition("/")[2]).mkdir()
        copied, others = copy_tables(data, folder)
        if len(copied) < 2:
            raise ParameterError("name a table of the database with --table")
        notes = [f"left out, as its name has other characters: {name}" for name in others]
        try:
            _draft_folder(data, folder, notes, output, standard=standard, force=force)
        except TableError as error:
            raise TableError(str(error).replace(str(folder), str(data))) from None


def _draft_folder(
    data: Any, folder: Path, notes: list[str], output: Path | None, *, standard: str | None, force: bool
) -> None:
    """Write the draft of a linked policy with its hierarchies, and draw the joins of the tables."""
    from incrowd.core.io.targets import writing
    from incrowd.faces.cli.completing import program
    from incrowd.faces.cli.logs import LOG
    from incrowd.release.linked.folders import draft_of

    files = outputs.outputs_of(data, force=force)
    target = outputs.add_output(files, output)
    draft = draft_of(folder, standard)
    lines = [*draft.notes, *notes, *draft.drawing()]
    lines += [f"left out, as nothing joins it: {name}" for name in draft.left_out]
    if target is None or output is None:
        typer.echo(draft.text, nl=False)
        if draft.hierarchies:
            lines.append(
                f"not written: {', '.join(draft.hierarchies)}; -o FILE writes them beside the policy"
            )
    else:
        new = partial(files.add, private=True, parents=True)
        trees = [(new(output.parent / name), tree) for name, tree in draft.hierarchies.items()]
        with files, writing(target) as place:
            place.write_text(draft.text, encoding="utf-8", newline="\n")
            for file, tree in trees:
                with writing(file) as tree_place:
                    tree.write(tree_place)
    policy = output or "policy.toml"
    todo = 'Answer every "?", and check joins and known,' if draft.questions else "Check joins and known"
    steps = [f"1. {todo} in {policy}.", f"2. {program()} anonymize {data} --policy {policy} -o FOLDER"]
    for line in (*lines, *steps):
        LOG.say(line, err=target is None)
