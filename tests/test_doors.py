"""Every function that writes or returns rows of a release passes the judge, or a page says why not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from package_sources import PACKAGE, parsed

PLACING = {
    "frame_in_order", "in_random_order", "into", "reordered", "replace_folder", "stream_batches", "stream_table",
    "to_csv", "with_types", "without_traces", "write_checked", "write_csv", "write_file", "write_parquet",
    "write_table", "writer", "writerows",
}  # fmt: skip
"""What places rows in a table or a file; a function above the engines that calls one is a door, or is listed."""

JUDGED = {
    "release.jobs.make.anonymize.release_of": "release.jobs.make.anonymize.anonymize",
    "release.jobs.later.apply._release": "release.jobs.later.apply._release",
    "release.jobs.make.distributed.release.in_blocks": "release.jobs.make.anonymize.anonymize",
    "release.jobs.make.anatomize.anatomize": "release.jobs.make.anatomize.anatomize",
    "release.jobs.make.sets.release._with_cells": "release.jobs.make.anonymize.anonymize",
    "release.jobs.make.anatomize._tables": "release.jobs.make.anatomize.anatomize",
    "release.jobs.make.randomize.randomize": "release.jobs.make.randomize.randomize",
    "release.jobs.compare.ensure_privacy.ensure_privacy": "release.jobs.compare.ensure_privacy.ensure_privacy",
    "release.jobs.later.next_release.next_release": "release.jobs.later.next_release.next_release",
    "release.linked.release.anonymize_linked": "release.linked.release.anonymize_linked",
    "release.linked.release._points": "release.linked.release.anonymize_linked",
}
"""Where rows are placed, and the verb that lets them through the gate."""
WRITING = {
    "release.jobs.make.leaving_rows.LeavingRows._write_rows", "release.jobs.make.release.Release.into",
    "release.jobs.make.distributed.release.DistributedRelease._write", "release.jobs.make.anatomize.Anatomy.write_to",
    "faces.cli.commands.p29.p29", "faces.cli.commands.randomize.randomize",
}  # fmt: skip
"""What writes rows that were judged when they were made; the first three judge the written rows again."""
ASKED = {
    "faces.studio.linked.LinkedTables.anonymize",
    "faces.studio.work.Work.anonymize",
    "faces.studio.work.Work.trial",
    "faces.studio.work.Work.trial_tables",
}
"""What the studio shows with its points; it writes what holds, see tests/faces/studio."""
OPEN = {
    "attacks.minimality._World._anonymized": "attack",
    "faces.cli.commands.demo.demo": "demo",
    "sklearn.Anonymizer.fit": "incrowd.sklearn",
    "release.jobs.compare.compare.run_of": "compare",
    "release.jobs.compare.draft_trial.try_draft": "init",
    "release.jobs.compare.suggest.suggest.attempt": "suggest",
    "release.jobs.compare.tune.tune": "tune",
    "compat.comp430._anonymize": "incrowd.compat.comp430",
    "compat.comp430._by_engine": "incrowd.compat.comp430",
    "compat.p29.ensure_privacy": "incrowd.compat.p29",
    "compat.petworks._anonymization._anonymize": "incrowd.compat.petworks",
    "compat.petworks.output": "incrowd.compat.petworks",
}
"""Doors without a gate, by their name in the table of docs/how-to/verdict.md."""
NO_ROWS = {
    "faces.cli.commands.apply.apply": "numbers of rows, and why each is held or suppressed",
    "faces.cli.commands.compare._show_comparisons": "figures",
    "faces.cli.option_groups.LedgerOptions.record": "an entry of a ledger",
    "faces.studio.tables.copied": "a private copy of the raw table",
    "faces.studio.window_table.WindowTable.sample": "a made-up table",
    "release.accounts.row_map.write_row_map": "numbers of rows, for the folder `internal`",
    "release.jobs.compare.compare.Comparison.to_csv": "figures",
    "release.jobs.later.ledger.__init__.Ledger.add": "digests",
    "release.jobs.later.ledger.__init__._digest_of": "a digest",
    "release.jobs.later.ledger.rows._sum": "a digest",
    "release.linked.databases.copy_tables": "a private copy of the raw tables",
    "release.linked.release.LinkedRelease.save": "numbers of rows left out, for the folder `internal`",
    "release.jobs.later.series_groups.SeriesRelease.write_counterfeits": "counts of counterfeit records",
    "release.jobs.make.release.Release.save": "numbers of rows and reasons, for the folder `internal`",
    "release.jobs.make.tabulate.TableRelease.save": "count tables, which `tabulate` audits and judges",
    "search.lattice.space.SolutionSpace.save": "nodes of a lattice",
}
"""What places something else than rows of a release."""


def doors() -> dict[str, set[str]]:
    """Find the functions that place rows, or make a release with open points and no refusal."""
    result: dict[str, set[str]] = {}

    def look(node: ast.AST, name: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = f"{name}.{child.name}" if isinstance(child, ast.FunctionDef | ast.ClassDef) else name
            if isinstance(child, ast.Call):
                callee = (
                    child.func.attr
                    if isinstance(child.func, ast.Attribute)
                    else getattr(child.func, "id", "")
                )
                lets_pass = any(
                    word.arg == "unanswered" and getattr(word.value, "value", None) == "write"
                    for word in child.keywords
                )
                if callee in PLACING or lets_pass:
                    result.setdefault(name, set()).add(callee)
            look(child, inner)

    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", ".")
        if module.partition(".")[0] not in ("core", "engines"):
            look(
                parsed(path),
                module.removesuffix(".__init__") if module.startswith(("compat", "sklearn")) else module,
            )
    return result


def test_every_door_is_on_a_list():
    assert doors().keys() == {*JUDGED, *WRITING, *ASKED, *OPEN, *NO_ROWS}


@pytest.mark.parametrize("verb", sorted({*JUDGED.values()}))
def test_a_judged_verb_asks_for_points_and_admits(verb):
    module, _, name = verb.rpartition(".")
    tree = parsed(PACKAGE / f"{module.replace('.', '/')}.py")
    body = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name)
    callees = {
        node.func.attr
        for node in ast.walk(body)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert "admit" in callees


def test_the_page_says_why_a_door_has_no_gate():
    page = (Path(__file__).parents[1] / "docs" / "how-to" / "verdict.md").read_text(encoding="utf-8")
    rows = page.partition("| door without a gate |")[2].partition("\n\n")[0]
    names = {line.split("|")[1].strip().strip("`") for line in rows.splitlines()[2:]}
    # These two return tables without a call that places rows: figures of nodes, and one row a class.
    assert names == {*OPEN.values(), "explore", "incrowd.compat.notebook"}
