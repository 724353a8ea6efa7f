"""The pages of the docs that are made from the code: the registries, and the command line."""

from __future__ import annotations

import textwrap
from typing import Any

from incrowd.algorithms import ALGORITHMS
from incrowd.parameters import Registry
from incrowd.privacy import MODELS, PrivacyModel
from incrowd.risk import RISKS
from incrowd.utility import METRICS, Metric

__all__ = ["command_line", "markdown"]


def markdown() -> str:
    """Return every registered entry with its parameters and its source, as Markdown."""
    lines = [
        "# Reference",
        "",
        "Made from the code by `make docs`; a test keeps it true.",
    ]
    lists: tuple[tuple[str, Registry[Any]], ...] = (
        ("Privacy models", MODELS),
        ("Algorithms", ALGORITHMS),
        ("Metrics", METRICS),
        ("Risk models", RISKS),
    )
    for title, registry in lists:
        lines += ["", f"## {title}"]
        for entry in registry:
            lines += ["", f"### {entry.name}", "", *_wrapped(f"{_capital(entry.summary)}.")]
            lines += ["", *_wrapped(f"Source: {entry.paper}.")]
            if issubclass(entry, PrivacyModel):
                generalization, suppression = entry.monotone_words()
                lines += ["", f"- Monotone under generalization: {generalization}."]
                lines += [f"- Monotone under suppression: {suppression}."]
            if issubclass(entry, Metric):
                lines += ["", *_wrapped(f"Scale: {entry.scale}.")]
            if entry.parameters():
                lines += ["", "| parameter | meaning | allowed |", "| --- | --- | --- |"]
                lines += [
                    f"| `{name}` | {declared.meaning} | {declared.describe()} |"
                    for name, declared in entry.parameters().items()
                ]
    return "\n".join(lines) + "\n"


def _capital(sentence: str) -> str:
    word = sentence.split(maxsplit=1)[0].rstrip(":,")
    # Names such as k-anonymity keep their small letter.
    return sentence[0].upper() + sentence[1:] if word.isalpha() else sentence


def _wrapped(paragraph: str) -> list[str]:
    return textwrap.wrap(paragraph, 100, break_long_words=False, break_on_hyphens=False)


def command_line() -> str:
    """Return the help of every command, as Markdown."""
    import typer

    from incrowd.cli import app

    lines = ["# Command line", "", "Made from the code by `make docs`; a test keeps it true."]

    def add(command: Any, name: str) -> None:
        context = command.context_class(command, info_name=name, terminal_width=88, max_content_width=88)
        lines.extend(["", f"## {name}", "", "```text", command.get_help(context), "```"])
        for each in getattr(command, "commands", {}).values():
            add(each, f"{name} {each.name}")

    add(typer.main.get_command(app), "incrowd")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    import sys

    sys.stdout.write(command_line() if sys.argv[1:] == ["cli"] else markdown())
