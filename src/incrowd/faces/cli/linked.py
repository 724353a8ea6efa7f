"""Linked tables on the command line: `anonymize`, `assess` and `verify` of a folder of tables."""

from __future__ import annotations

from dataclasses import MISSING, fields
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard

import typer

from incrowd.core.errors import ParameterError
from incrowd.faces.cli import outputs


def linked_content(policy: Path) -> dict[str, Any] | None:
    """Return the content of a policy file that names linked tables, else None."""
    from incrowd.release.linked.policy import is_linked
    from incrowd.release.policy.policy_file import read_toml

    content = read_toml(policy)
    return content if is_linked(content) else None


def is_linked_release(path: Any, policy: Path | None) -> TypeGuard[Path]:
    """Say whether a path is a folder of released linked tables, by the policy or the one in the folder."""
    from incrowd_verify.linked import is_linked

    return isinstance(path, Path) and is_linked(path, policy)


def is_folder_of_tables(path: Any, standard: str | None = None) -> TypeGuard[Path]:
    """Say whether a path is a folder of tables, or raise `ParameterError` where a standard needs one."""
    if standard is not None and not (isinstance(path, Path) and path.is_dir()):
        raise ParameterError(f"--{standard} is for a folder of tables; give the folder, not one file")
    if not isinstance(path, Path) or not path.is_dir():
        return False
    from incrowd.release.linked.folders import has_linked_tables

    return standard is not None or has_linked_tables(path)


def refuse_linked(policy: Path) -> None:
    """Refuse a policy of linked tables where one table is asked for.

    Raises
    ------
    ParameterError
    """
    if linked_content(policy) is not None:
        raise ParameterError(
            f"{policy} is about linked tables, which anonymize, assess and verify know; give a policy of one "
            "table here"
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
            if option.name not in ("policy", "output", "force") and getattr(group, option.name) != default:
                options.append(option.name)
    if options:
        raise ParameterError(
            f"--{options[0].replace('_', '-')} is for one table; for linked tables write it into the policy, "
            "or leave it out"
        )


def anonymize_folder(
    folder: Any,
    policy: Path,
    content: dict[str, Any],
    output: Path | None,
    gate: Any,
    *,
    force: bool,
    json: bool,
) -> None:
    """Release the tables of a folder together by the content of a policy, and print the verdict."""
    from dataclasses import replace

    from incrowd.faces.cli.summary import last_line
    from incrowd.faces.cli.tables import console, progress
    from incrowd.release.linked import LinkedPolicy, anonymize_linked
    from incrowd_verify.cli import show_verdict

    if output is None:
        raise ParameterError("say where the tables go: to a folder with -o")
    files = outputs.outputs_of(folder, policy=policy, force=force)
    with progress() as job, files:
        target = files.add(output, folder=True)
        linked = LinkedPolicy.from_dict(content, policy.parent, str(policy))
        linked = replace(linked, terms=gate.applied_to(linked.terms))
        release = anonymize_linked(folder, linked, progress=job, unanswered=gate.choice)
        job.stage("write")
        release.save(target)
    if json:
        outputs.print_json(release.to_dict())
        return
    out = console()
    show_verdict(out, release.verdict)
    for sentence in release.sentences():
        out.print(sentence)
    rows = ", ".join(f"{name} {count:,}" for name, count in release.view.records.items())
    out.print(last_line(release.verdict, f"{output} ({rows} rows)", "every model holds"))


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


def verify_folder(
    folder: Path, policy: Path | None, against: Any, emit_sql: Path | None, *, force: bool, json: bool
) -> None:
    """Print the second reading of a folder's tables, and leave with status 1 unless its verdict holds."""
    from incrowd.core.io.targets import writing
    from incrowd.faces.cli.tables import console
    from incrowd_verify.cli import show_linked
    from incrowd_verify.linked import linked_checks_as_sql, verify_linked

    files = outputs.outputs_of(folder, against, force=force)
    script = outputs.add_output(files, emit_sql)
    text = "" if script is None else linked_checks_as_sql(folder, policy)
    result = verify_linked(folder, policy, against=against)
    if script is not None:
        with files, writing(script) as path:
            path.write_text(text, encoding="utf-8", newline="\n")
    if status := show_linked(console(), result, emit_sql, as_json=json):
        raise typer.Exit(status)


def draft_folder(folder: Path, output: Path | None, *, standard: str | None = None, force: bool) -> None:
    """Write the draft of a linked policy with its hierarchies, and draw the joins of the tables."""
    from incrowd.core.io.targets import writing
    from incrowd.faces.cli.completing import program
    from incrowd.faces.cli.logs import LOG
    from incrowd.release.linked.folders import draft_of

    files = outputs.outputs_of(folder, force=force)
    target = outputs.add_output(files, output)
    draft = draft_of(folder, standard)
    lines = [*draft.notes, *draft.drawing()]
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
    steps = [f"1. {todo} in {policy}.", f"2. {program()} anonymize {folder} --policy {policy} -o FOLDER"]
    for line in (*lines, *steps):
        LOG.say(line, err=target is None)
