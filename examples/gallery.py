"""Write one of every report and chart into a folder, to look at them: ``make gallery``."""

from __future__ import annotations

import sys
from pathlib import Path

import incrowd as ic
from incrowd.release.report import charts
from incrowd.samples import diagnosis_hierarchy, hospital


def main(folder: Path) -> None:
    """Make everything from a made-up hospital table."""
    folder.mkdir(parents=True, exist_ok=True)
    table = hospital(5_000, 1)
    identifying = ["name", "patient_id", "birth_date"]
    local = ic.Schema(
        quasi={"age": None, "sex": None, "zip": ic.Hierarchy.prefix()},
        sensitive={"diagnosis": diagnosis_hierarchy()},
        identifying=identifying,
        unlisted="drop",
    )
    levels = ic.Schema(
        quasi={"age": ic.Hierarchy.intervals(5, 10, 20, 40), "sex": None, "zip": ic.Hierarchy.prefix()},
        sensitive={"diagnosis": diagnosis_hierarchy()},
        identifying=identifying,
        unlisted="drop",
    )
    models = [ic.KAnonymity(5), ic.LDiversity(3), ic.TCloseness(0.7)]
    releases = {
        "mondrian": ic.anonymize(table, local, models),
        "optimal": ic.anonymize(table, levels, models, ic.Optimal(), max_suppression=0.05),
    }
    for name, release in releases.items():
        release.write(folder / f"{name}.csv", force=True)
        about = {
            "file": folder / f"{name}.csv",
            "recipient": "Institute for Public Health, by contract",
            "purpose": "a study of stays in hospital",
            "attacks": ic.attack(
                table, release.table, local, attacks=200, kinds=["linkability", "inference"]
            ),
        }
        for suffix in ("html", "pdf", "json"):
            release.report(folder / f"{name}.{suffix}", force=True, **about)
    releases["mondrian"].report(folder / "mondrian-internal.html", internal=True, force=True)
    assessment = ic.assess(table, local, models)
    for suffix in ("html", "pdf"):
        assessment.report(folder / f"assessment.{suffix}", local, force=True)
    algorithms = [ic.Random(), ic.Mondrian(), ic.Clustering(), ic.KMember()]
    repeated = {"seeds": [1, 2, 3], "repeat": True, "max_suppression": 1.0}
    compared = ic.compare(table, local, algorithms, k=[2, 4, 8, 16, 32], shuffle=True, **repeated)
    varied = ic.compare(table, local, [ic.Mondrian()], k=[8], l=[1, 2, 3, 4, 5], **repeated, known=compared)
    for suffix in ("html", "pdf"):
        compared.report(folder / f"comparison.{suffix}", force=True)
    compared.one_page(
        folder / "one-page.pdf", against_l=varied, at_k=8, about="5,000 made-up patients", force=True
    )
    plane = ic.Schema(
        quasi={"admission_date": "date", "age": "number"}, sensitive=["diagnosis"], unlisted="drop"
    )
    cuts = ic.anonymize(table, plane, [ic.KAnonymity(60), ic.LDiversity(3)])
    for suffix in ("svg", "png"):
        charts.save(charts.boundaries(cuts, "admission_date", "age"), folder / f"boundaries.{suffix}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "gallery"))
