"""Documents generated from the code: pages, the policy file's schema, the public names."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

from incrowd.core.parameters import Registry
from incrowd.core.treatments import TREATMENTS, Treatment
from incrowd.measures.privacy import MODELS, PrivacyModel
from incrowd.measures.risk import RISKS
from incrowd.measures.utility import METRICS, Metric
from incrowd.release.jobs.make.reasons import Reason
from incrowd.search import ALGORITHMS
from incrowd_gate.profiles import PROFILES, Clause, read_profile

_REFERENCE = """\
This page lists everything that is built in, with its parameters and its source. Look here for the
names that a policy, `--model`, `--algorithm` and `--treat` take. [What each model
stops](explanation/models.md) explains the models, [How the algorithms decide](algorithms.md) the
algorithms, [What the figures mean](definitions.md) the metrics and the risks, and
[Treatments](treatments.md) the treatments. The page is made from the code by `make docs`, and a
test keeps it true."""

_REASONS = """\
Each [suppressed record](definitions.md#suppressed-records) has one reason: of several, the first in
this table. `release.json` counts the records by reason, as `suppression.reasons`. It is `null` where
they are not counted: on Spark, block by block. `internal/suppressed.csv` has the number of each raw
row with its reason, where the rows are in memory. `Release.save` writes this file, and so does the
studio; `incrowd anonymize -o` writes none. `Release.suppressed_rows` has the same, and the option
`--rows` of `incrowd apply` has it for the rows of a batch."""

_COMMANDS = """\
This page has the help of every command, as `--help-all` prints it. `--help` tells of the options that
most people need, and names the others. [Tasks](how-to/tasks.md) has
examples for each task. The page is made from the code by `make docs`, and a test keeps it true."""

_PROFILES = """\
This page lists the rule profiles that are built in, with their inputs and clauses. Look here for
what the rules demand. [Check a release by a rule profile](../how-to/profiles.md) shows how a policy
names a profile, and [The checks](../how-to/profiles.md#the-checks) what each check looks at. A
clause without a check is attested: a named person answers its question. Sources are in italics. The
page is made from the code by `make docs`, and a test keeps it true."""


def markdown() -> str:
    """Describe every registered entry with parameters and source, as Markdown."""
    lines = ["# Models, algorithms, metrics and treatments", "", *_wrap(_REFERENCE)]
    lists: tuple[tuple[str, Registry[Any]], ...] = (
        ("Privacy models", MODELS),
        ("Algorithms", ALGORITHMS),
        ("Metrics", METRICS),
        ("Risk models", RISKS),
        ("Treatments", TREATMENTS),
    )
    for title, registry in lists:
        lines += ["", f"## {title}"]
        for entry in registry:
            lines += ["", f"### {entry.name}", "", *_wrap(f"{_capitalize(entry.summary)}.")]
            lines += ["", *_wrap(f"Source: {entry.paper}.{_class_reference(entry)}")]
            if issubclass(entry, PrivacyModel):
                generalization, suppression = entry.monotone_words()
                lines += ["", f"- Monotone under generalization: {generalization}."]
                lines += [f"- Monotone under suppression: {suppression}."]
            if issubclass(entry, Metric):
                lines += ["", *_wrap(f"Scale: {entry.scale}.")]
            if issubclass(entry, Treatment) and entry.no_promise:
                lines += ["", *_wrap(entry.no_promise)]
            if entry.parameters():
                lines += ["", "| parameter | meaning | allowed |", "| --- | --- | --- |"]
                lines += [
                    f"| `{name}` | {declared.meaning} | {declared.describe()} |"
                    for name, declared in entry.parameters().items()
                ]
    lines += ["", "## Reasons of suppression", "", *_wrap(_REASONS)]
    lines += ["", "| reason | meaning |", "| --- | --- |"]
    lines += [f"| `{reason.name.lower()}` | {reason.sentence} |" for reason in Reason]
    return "\n".join(lines) + "\n"


def _class_reference(entry: type) -> str:
    import incrowd

    return f" In Python: `ic.{entry.__name__}`." if hasattr(incrowd, entry.__name__) else ""


def _capitalize(sentence: str) -> str:
    word = sentence.split(maxsplit=1)[0].rstrip(":,")
    # Names such as k-anonymity keep their small letter.
    return sentence[0].upper() + sentence[1:] if word.isalpha() else sentence


def _wrap(paragraph: str) -> list[str]:
    # The lines of a list item are below its text.
    below = "  " if paragraph.startswith("- ") else ""
    return textwrap.wrap(
        paragraph, 100, break_long_words=False, break_on_hyphens=False, subsequent_indent=below
    )


def rule_profiles() -> str:
    """Describe every built-in rule profile with its notes, inputs and clauses, as Markdown."""
    lines = ["# Rule profiles", "", *_wrap(_PROFILES)]
    for profile in map(read_profile, PROFILES):
        lines += ["", f"## {profile.name}", "", *_wrap(f"{profile.title}. *{profile.source}*")]
        for paragraph in profile.notes.strip().split("\n\n"):
            lines += ["", *_wrap(paragraph)]
        lines += ["", f'In the policy: `name = "{profile.full_name}"`.']
        if profile.inputs:
            lines += ["", "Inputs:", ""]
            for name, meaning in profile.inputs.items():
                lines += _wrap(f"- `{name}`: {meaning}.")
        lines += ["", "Clauses:", ""]
        for clause in profile.clauses:
            lines += _wrap(f"- `{clause.id}`: {clause.text} {_judgement(clause)} *{clause.source}*")
    return "\n".join(lines) + "\n"


def _judgement(clause: Clause) -> str:
    """Name the question of a clause, or its check with those settings that are no words or patterns."""
    if clause.check is None:
        return f"Attested: {clause.question}"
    settings = [
        f"{name} {', '.join(value) if isinstance(value, list) else str(value).lower()}"
        for name, value in clause.settings.items()
        if name in ("attacks", "signs") or not isinstance(value, list | str)
    ]
    return f"Check `{clause.check}`{': ' * bool(settings)}{'; '.join(settings)}."


def counted(page: str) -> str:
    """Update the counts of entries in a page, such as ``21 metrics``."""
    numbers = {"relatives": len(MODELS) - 3, "treatments": len(TREATMENTS), "metrics": len(METRICS)}
    return re.sub(rf"\d+ ({'|'.join(numbers)})\b", lambda match: f"{numbers[match[1]]} {match[1]}", page)


def command_line() -> str:
    """Return the help of every command, as Markdown."""
    import typer

    from incrowd.faces.cli import app
    from incrowd.faces.cli.flattening import with_all_options

    lines = ["# Command line", "", *_wrap(_COMMANDS)]

    def add(command: Any, name: str) -> None:
        context = command.context_class(command, info_name=name, terminal_width=88, max_content_width=88)
        with_all_options(context)
        lines.extend(["", f"## {name}", "", "```text", command.get_help(context), "```"])
        for subcommand in getattr(command, "commands", {}).values():
            add(subcommand, f"{name} {subcommand.name}")

    add(typer.main.get_command(app), "incrowd")
    return "\n".join(lines) + "\n"


def public_names() -> str:
    """Return ``__init__.pyi`` with a line for every registered privacy model, algorithm and treatment."""
    import incrowd

    text = Path(incrowd.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    lines = text.splitlines()
    imports = [line for line in lines if line.startswith("from ")]
    entries = {
        f"from .{place} import {entry.__name__} as {entry.__name__}"
        for place, registry in (
            ("search", ALGORITHMS),
            ("measures.privacy", MODELS),
            ("core.treatments", TREATMENTS),
        )
        for entry in registry
    }
    first = lines.index(imports[0])
    rest = lines[first + len(imports) :]
    return "\n".join([*lines[:first], *sorted({*imports, *entries}, key=_order), *rest]) + "\n"


def policy_file_schema() -> str:
    """Return the JSON schema of a policy file, as text."""
    from incrowd.release.policy.policy_schema import policy_schema

    return json.dumps(policy_schema(), indent=2) + "\n"


def _order(line: str) -> tuple[str, int, str]:
    """Sort key of an import: module, then constants, classes and functions."""
    _, module, _, name, *_ = line.split()
    kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return module, kind, name.lower()


if __name__ == "__main__":
    import sys

    pages = {
        "cli": command_line,
        "names": public_names,
        "policy-schema": policy_file_schema,
        "profiles": rule_profiles,
    }
    pages["counted"] = lambda: counted(sys.stdin.read())
    sys.stdout.write(pages.get("".join(sys.argv[1:]), markdown)())
