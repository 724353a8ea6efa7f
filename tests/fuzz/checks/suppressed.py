"""Knowledge about people with suppressed records: a person who fits no class must be suppressed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import incrowd as ic
from fuzz import oracle
from fuzz.checks.made import Finding, Made, Outcome, anonymized, crash, is_summarized, pointed, rid_of, whose
from fuzz.oracle import STAR
from fuzz.sources import Services, fetched


def judged(made: Made, services: Services, outcome: Outcome) -> Iterator[Finding]:
    """Release again, and let somebody with all quasi-identifiers look for each person.

    The rows that fit a person, or the suppressed ones where none does, are of as many people, and have as many
    values, as the models ask for.
    """
    case = made.case
    unclear = made.perturbed or any(is_summarized(made, column) for column in made.quasi.values())
    if not made.classes.suppressed or unclear or case.get("wildcards", "value") != "value":
        return
    try:
        release = anonymized(case, replace(made.policy, suppressed="judged"), made.place)
    except ic.InfeasibleError:
        return
    except Exception as error:
        yield crash("judged", error)
        return
    out = fetched(release.texts, services.folder)
    number = {name: row for row, name in enumerate(made.place.seen.get_column(rid_of(case)).to_list())}
    origin = [number[name] for name in out.get_column(rid_of(case)).to_list()]
    if len(set(origin)) < len(origin) or len(number) - len(origin) != release.left_out:
        yield Finding("judged", f"{len(origin)} of {len(number)} rows, and {release.left_out} are left out")
        return
    cells = list(zip(*(pointed(case, name, out.get_column(name)) for name in made.quasi), strict=True))
    gone = [row for row, shown in enumerate(cells) if set(shown) == {STAR}]
    people = whose(case, made.place.seen) or list(range(len(number)))
    least = max((model["k"] for model in case["models"] if model["model"] == "k-anonymity"), default=1)
    diverse = [
        (made.sensitive[name], model["l"])
        for model in case["models"]
        if model["model"] == "l-diversity"
        and model.get("kind", "distinct") == "distinct"
        and not model.get("joint")
        for name in ([model["attribute"]] if model.get("attribute") else made.sensitive)
    ]
    for person in (row for row, live in enumerate(made.live) if live):
        fitting = [
            row
            for row, shown in enumerate(cells)
            if row not in gone
            and all(
                oracle.covers(column, column.keys[person], cell)
                for column, cell in zip(made.quasi.values(), shown, strict=True)
            )
        ]
        fitting = fitting or gone
        if fitting and len({people[origin[row]] for row in fitting}) < least:
            yield Finding("judged", f"row {person} is one of fewer than {least}")
            return
        for column, asked in diverse:
            if fitting and len({column.keys[origin[row]] for row in fitting}) < asked:
                yield Finding(
                    "judged", f"row {person} has one of fewer than {asked} values of {column.spec.name!r}"
                )
                return
