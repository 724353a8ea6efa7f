"""Nobody is named, and a single row per person is as no person column."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import incrowd as ic
from fuzz.checks.made import Finding, Made, Outcome, anonymized, in_rid_order, policy_of, rid_of, skeleton
from fuzz.crowds import PLANTED
from fuzz.draw import OF_PEOPLE
from fuzz.sources import Services, fetched


def nobody(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """No id of a person stands in the saved files, unless another column or the policy has the same text."""
    ids = _told_by_nobody_else(made)
    if not ids:
        return
    folder = services.fresh()
    made.policy.write(folder / "policy.toml")
    (folder / "account.json").write_text(json.dumps(made.release.to_dict(), ensure_ascii=False))
    for name in ("report.json", "report.html"):
        made.release.report(folder / name)
    made.release.recoding.save(folder / "recoding")
    if made.place.ordered:
        made.release.write_row_map(folder / "rows.csv")
    try:
        made.release.write(folder / ("release.parquet" if made.case["source"] == "spark" else "release.csv"))
    except ic.IncrowdError as error:
        if "does not hold the rows" in str(error):
            yield Finding("write people", str(error))
        outcome.skipped.append("nobody: " + skeleton(str(error)))
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            said = _said(path)
            for each in ids:
                if each in said:
                    yield Finding("nobody", f"{path.relative_to(folder)} says {each!r}")
                    return


def _said(path: Path) -> str:
    data = path.read_bytes()
    return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin-1")


def _told_by_nobody_else(made: Made) -> list[str]:
    """Ids that stand nowhere by accident, and that no other column and no setting has."""
    case = made.case
    others = [cell for column in case["columns"] if column["role"] != "person" for cell in column["cells"]]
    text = "\n".join(cell for cell in others if cell) + repr([case["null_values"], case["models"]])
    return sorted(
        {
            cell
            for column in case["columns"] if column["role"] == "person"
            for cell in column["cells"]
            if cell is not None and cell.startswith(PLANTED) and cell not in text
        }
    )  # fmt: skip


def one_row_each(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """Without people of two rows, the release is that of a table without the person column."""
    case = made.case
    whose = made.classes.whose
    if not whose or len(set(whose)) < len(whose) or "budget" in case["algorithm"]:
        return
    if case["source"] == "spark" or any(model["model"] in OF_PEOPLE for model in case["models"]):
        return
    plain = case | {
        "columns": [
            column | {"role": "identifying"} if column["role"] == "person" else column
            for column in case["columns"]
        ]
    }
    try:
        other = anonymized(plain, policy_of(plain), made.place)
    except ic.IncrowdError as error:
        yield Finding("one row each", f"is refused without the person column: {skeleton(str(error))}")
        return
    rid = rid_of(case)
    table = in_rid_order(fetched(other.texts, services.folder), rid)
    if not table.equals(in_rid_order(made.out, rid)):
        yield Finding("one row each", "makes another release than without the person column")
    outcome.met.append(("person", "one row each"))
