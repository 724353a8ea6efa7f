"""The main job on a made-up table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli.options import Force

__all__ = ["demo"]

_SHOWN = 5


def demo(
    rows: Annotated[int, typer.Option("--rows", min=20, help="Rows of the table.")] = 50_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the generator.")] = 0,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for the release.")
    ] = Path("incrowd-demo"),
    force: Force = False,
) -> None:
    """Try the main job on a made-up hospital table.

    The table is assessed, anonymized, checked and written.
    """
    from incrowd.cli.tables import console, progress, show_assessment, show_release, show_rows
    from incrowd.errors import MissingExtraError
    from incrowd.io.targets import Outputs, writing
    from incrowd.jobs.anonymize import anonymize
    from incrowd.samples import hospital, hospital_policy
    from incrowd.verification import verify

    outputs = Outputs(force=force)
    target = outputs.add(output, folder=True, parents=True)
    out = console()
    with progress() as shown, outputs, writing(target) as folder:
        shown.stage("generate")
        table = hospital(rows, seed)
        policy = hospital_policy()
        release = anonymize(table, policy, progress=shown)
        shown.stage("write")
        release.save(folder)
        shown.stage("report")
        page = folder / "report.html"
        try:
            release.report(page)
        except MissingExtraError:
            page = folder / "report.json"
            release.report(page)
        shown.stage("verify")
        verification = verify(folder / "release.csv", folder / "policy.toml")
    # The other identifying columns would only take room; none of them is in the release.
    shown_columns = ["name", *release.table.columns]
    head = table.select(shown_columns).head(_SHOWN)
    show_rows(out, f"The table ({rows:,} made-up discharges)", shown_columns, head.rows())
    out.print()
    show_assessment(out, release.before)
    out.print()
    models = ", ".join(str(model) for model in policy.models)
    out.print(f"Asked for: {models}; at most {policy.max_suppression:.0%} suppressed")
    out.print()
    show_rows(out, "The release", release.table.columns, release.table.head(_SHOWN).rows())
    out.print()
    show_release(out, release)
    out.print()
    verdict = "agrees" if verification.ok else "DISAGREES"
    out.print(f"A second, independent implementation (SQL) read {output / 'release.csv'} and {verdict}.")
    out.print(
        f"written: {output}/release.csv, policy.toml, release.json, {page.name}; internal/ holds the "
        "recoding and is not for publication",
    )
    if page.suffix == ".json":
        out.print("pip install 'incrowd[report]' turns the report into a page with charts")
    if not verification.ok:
        raise typer.Exit(1)
