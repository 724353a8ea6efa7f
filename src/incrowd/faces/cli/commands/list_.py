"""`incrowd list`: list models, algorithms, metrics, risks, treatments and more."""

from __future__ import annotations

from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import Annotated, Any

import typer

from incrowd.core.errors import ParameterError
from incrowd.core.parameters import Configured, Registry
from incrowd.core.treatments import TREATMENTS, Treatment
from incrowd.faces.cli import options, outputs
from incrowd.faces.cli.completing import names
from incrowd.faces.cli.logs import LOG
from incrowd.measures.privacy import MODELS, PrivacyModel
from incrowd.measures.risk import RISKS
from incrowd.measures.utility import METRICS, Metric
from incrowd.search import ALGORITHMS

_LISTS: dict[str, Registry[Any]] = {
    "models": MODELS,
    "algorithms": ALGORITHMS,
    "metrics": METRICS,
    "risks": RISKS,
    "treatments": TREATMENTS,
}


_INTERFACES = "interfaces"
_PROFILES = "profiles"
_WHAT = (*_LISTS, _INTERFACES, _PROFILES)
_WIDEST = 100
"""Most characters per line."""


def list_(
    what: Annotated[
        str, typer.Argument(metavar="|".join(_WHAT), help="What to list.", autocompletion=names([*_WHAT]))
    ],
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="With --example: the folder for its files.")
    ] = Path(),
    example: Annotated[
        str | None,
        typer.Option(
            "--example",
            metavar="INTERFACE",
            help="With interfaces: write the files that the example of an interface's page reads.",
        ),
    ] = None,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """List models, algorithms and more, with parameters and sources.

    `interfaces` lists the functions of other works, `profiles` the rules that a release can be checked by.
    """
    if what not in _WHAT:
        raise typer.BadParameter(f"{what!r} is none of {', '.join(_WHAT)}")
    if example is not None:
        if what != _INTERFACES or json:
            raise ParameterError(f"--example goes with {_INTERFACES}, and without --json")
        _write_example(example, folder, force=force)
        return
    if folder != Path() or force:
        raise ParameterError("a folder and --force are for --example; name the interface by it")
    others = {_INTERFACES: _interfaces, _PROFILES: _profiles}
    entries = others[what]() if what in others else [_entry(entry) for entry in _LISTS[what]]
    if json:
        outputs.print_json(entries)
        return
    width = min(get_terminal_size().columns, _WIDEST)
    LOG.say("\n\n".join(_block(entry, width) for entry in entries))


def _write_example(name: str, folder: Path, *, force: bool) -> None:
    """Write the example files of an interface's documentation page."""
    from incrowd.compat._examples import example
    from incrowd.core.io.targets import Outputs, writing

    files = example(name)
    with Outputs(force=force) as outputs:
        for target, text in [
            (outputs.add(folder / file, parents=True), text) for file, text in files.items()
        ]:
            with writing(target) as path:
                path.write_text(text, encoding="utf-8", newline="\n")
    LOG.say("\n".join(f"written: {folder / file}" for file in files))


def _interfaces() -> list[dict[str, Any]]:
    """Describe the modules of `incrowd.compat`."""
    from incrowd import compat

    return [
        {
            "name": f"incrowd.compat.{name}",
            "summary": ((module := getattr(compat, name)).__doc__ or "").partition("\n")[0],
            "names": ", ".join(module.__all__),
            "page": f"docs/compat/{name.replace('_', '-')}.md",
        }
        for name in dir(compat)
    ]


def _profiles() -> list[dict[str, Any]]:
    """Describe the built-in rule profiles."""
    from incrowd_gate.profiles import PROFILES, read_profile

    return [
        {
            "name": profile.full_name,
            "summary": profile.title,
            "clauses": ", ".join(each.id for each in profile.clauses),
            "inputs": ", ".join(profile.inputs) or "none",
            "paper": profile.source,
        }
        for profile in map(read_profile, PROFILES)
    ]


def _block(entry: dict[str, Any], width: int) -> str:
    """Format an entry's name and details, wrapped to `width`."""
    parameters = [f"{name}: {meaning}" for name, meaning in entry.get("parameters", {}).items()]
    monotone = [f"monotone under {under}: {words}" for under, words in entry.get("monotone", {}).items()]
    scale = [f"scale: {entry['scale']}"] if "scale" in entry else []
    lines = [entry["summary"], *parameters, entry.get("no_promise", ""), *scale]
    lines += ["; ".join(monotone), f"source: {entry['paper']}" if "paper" in entry else ""]
    lines += [f"{key}: {entry[key]}" for key in ("names", "page", "clauses", "inputs") if key in entry]
    wrapped = (
        fill(line, width, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False)
        for line in lines
        if line
    )
    return "\n".join([entry["name"], *wrapped])


def _entry(entry: type[Configured]) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "name": entry.name,
        "summary": entry.summary,
        "parameters": {
            name: f"{declared.meaning}; {declared.describe()}"
            for name, declared in entry.parameters().items()
        },
        "paper": entry.paper,
    }
    if issubclass(entry, Metric):
        fields["scale"] = entry.scale
    if issubclass(entry, PrivacyModel):
        generalization, suppression = entry.monotone_words()
        fields["monotone"] = {"generalization": generalization, "suppression": suppression}
    if issubclass(entry, Treatment):
        fields["no_promise"] = entry.no_promise
    return fields
