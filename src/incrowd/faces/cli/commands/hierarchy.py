"""Commands about hierarchy files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.faces.cli.flattening import Commands
from incrowd.faces.cli.logs import LOG
from incrowd.faces.cli.options import Force

hierarchy = Commands(help="Check, draw and convert hierarchy files.", no_args_is_help=True)

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="DGH text (.txt, depth by tabs), ARX (.csv, leaf first), nested JSON or YAML (.json, .yaml), "
        "a code list of ARGUS (.hrc), a hierarchy of Amnesia (.txt).",
    ),
]


@hierarchy.command()
def check(files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Hierarchy files.")]) -> None:
    """Say whether files are well-formed hierarchies, and their size; exit status 2 when one is not."""
    from incrowd.core.errors import HierarchyError
    from incrowd.core.hierarchy import Hierarchy
    from incrowd_gate.rules.labels import outside_intervals

    wrong = 0
    for file in files:
        try:
            tree = Hierarchy.read(file)
        except HierarchyError as error:
            wrong += 1
            LOG.write("error", "error", str(error), error=type(error).__name__)
            continue
        if outside := outside_intervals(tree.labels, tree.parents.tolist()):
            wrong += 1
            inner, outer = outside[0]
            more = f" ({len(outside) - 1:,} more do)" if len(outside) > 1 else ""
            text = (
                f"{file}: {inner!r} stands under {outer!r}, but lies outside{more}; move it, or rename a "
                "label that is no interval"
            )
            LOG.write("error", "error", text, error="HierarchyError")
            continue
        shallow = int((tree.depths[tree.leaves] < tree.height).sum())
        balance = "balanced" if not shallow else f"unbalanced ({shallow} leaves end early)"
        LOG.say(
            f"{file}: ok, {tree.n_leaves} leaves, {tree.height + 1} levels, {balance}, "
            f"root {tree.labels[0]!r}"
        )
    if wrong:
        raise typer.Exit(2)


@hierarchy.command()
def show(
    file: File,
    lines: Annotated[int, typer.Option("--lines", min=1, help="Draw at most so many nodes.")] = 200,
) -> None:
    """Draw a hierarchy."""
    from incrowd.core.errors import visible
    from incrowd.core.hierarchy import Hierarchy

    typer.echo(visible(Hierarchy.read(file).draw(lines)))


@hierarchy.command()
def convert(
    file: File,
    target: Annotated[
        Path, typer.Argument(metavar="TARGET", help="The new file; its suffix says which format.")
    ],
    force: Force = False,
) -> None:
    """Write a hierarchy in another format."""
    from incrowd.core.hierarchy import Hierarchy
    from incrowd.core.io.targets import Outputs

    outputs = Outputs(file, force=force)
    path = outputs.add(target)
    tree = Hierarchy.read(file)
    with outputs:
        tree.write(path)
    LOG.say(f"written: {target}, {tree.n_leaves} leaves")
