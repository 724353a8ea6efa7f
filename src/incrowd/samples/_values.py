"""Names, regions and diagnoses of the hospital sample; names stand from the most to the least common."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import NamedTuple

__all__ = [
    "FIRST_NAMES",
    "LAST_NAMES",
    "REGIONS",
    "Block",
    "Chapter",
    "Diagnosis",
    "Region",
    "chapters",
    "diagnoses",
]

_WOMEN = """
Mary Patricia Jennifer Linda Elizabeth Barbara Susan Jessica Sarah Karen Emily Maria Nancy Margaret
Lisa Sandra Ashley Kimberly Donna Michelle Carol Amanda Melissa Deborah Stephanie Rebecca Laura Helen
Sharon Cynthia Anna Kathleen Amy Angela Ruth Brenda Pamela Nicole Olivia Emma Sophia Isabella Mia
Charlotte Amelia Grace Chloe Victoria Hannah Abigail Samantha Rachel Carolyn Janet Virginia Catherine
Heather Diane Julie Joyce Evelyn Joan Kelly Christina Martha Frances Alice Judith Doris Julia Gloria
Teresa Rosa Carmen Ana Lucia Sofia Elena Fatima Aisha Leila Priya Mei Yuki Ingrid Astrid Beatriz
Camila Valentina Daniela Gabriela Andrea Irene Clara Eva Nora Rose Edith Esther Miriam Naomi Ines
Zoe Ivy Hazel Violet Luna Stella Lucy Ella Lily Nadia Olga Svetlana Chiara Giulia Amina Zainab Ngozi
"""

_MEN = """
James Robert John Michael David William Richard Joseph Thomas Charles Christopher Daniel Matthew
Anthony Mark Donald Steven Paul Andrew Joshua Kenneth Kevin Brian George Timothy Ronald Edward Jason
Jeffrey Ryan Jacob Gary Nicholas Eric Jonathan Stephen Larry Justin Scott Brandon Benjamin Samuel
Gregory Frank Alexander Raymond Patrick Jack Dennis Jerry Tyler Aaron Jose Adam Nathan Henry Douglas
Zachary Peter Kyle Noah Ethan Jeremy Walter Christian Keith Roger Terry Austin Sean Gerald Carl Harold
Dylan Arthur Lawrence Jordan Jesse Bryan Billy Bruce Gabriel Joe Logan Alan Juan Albert Willie Elijah
Wayne Randy Vincent Mason Roy Ralph Bobby Russell Philip Eugene Luis Carlos Miguel Antonio Diego
Mateo Omar Ahmed Ali Hassan Ibrahim Wei Hiroshi Arjun Ravi Sanjay Lars Erik Hans Marco Luca Ivan
Dmitri Pavel Kwame Chidi Emeka Oscar Leo Hugo Felix Max Theo Simon Martin Victor
"""

_FAMILIES = """
Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez Gonzalez Wilson
Anderson Thomas Taylor Moore Jackson Martin Lee Perez Thompson White Harris Sanchez Clark Ramirez Lewis
Robinson Walker Young Allen King Wright Scott Torres Nguyen Hill Flores Green Adams Nelson Baker Hall
Rivera Campbell Mitchell Carter Roberts Gomez Phillips Evans Turner Diaz Parker Cruz Edwards Collins Reyes
Stewart Morris Morales Murphy Cook Rogers Gutierrez Ortiz Morgan Cooper Peterson Bailey Reed Kelly Howard
Ramos Kim Cox Ward Richardson Watson Brooks Chavez Wood James Bennett Gray Mendoza Ruiz Hughes Price
Alvarez Castillo Sanders Patel Myers Long Ross Foster Jimenez Powell Jenkins Perry Russell Sullivan Bell
Coleman Butler Henderson Barnes Fisher Vasquez Simmons Graham Murray Ford Castro Marshall Owens Harrison
Fernandez McDonald Woods Washington Kennedy Wells Vargas Chen Freeman Webb Tucker Guzman Burns Crawford
Olson Simpson Porter Hunter Gordon Mendez Silva Shaw Snyder Mason Dixon Munoz Hunt Hicks Holmes Palmer
Wagner Black Robertson Boyd Stone Salazar Fox Warren Mills Meyer Rice Schmidt Daniels Ferguson Nichols
Stephens Soto Weaver Ryan Gardner Payne Grant Dunn Kelley Spencer Hawkins Arnold Pierce Hansen Peters
Santos Hart Bradley Knight Elliott Cunningham Duncan Armstrong Hudson Carroll Lane Riley Andrews Alvarado
Ray Delgado Berry Perkins Hoffman Johnston Matthews Pena Richards Contreras Willis Carpenter Lawrence
Sandoval Guerrero George Chapman Rios Estrada Ortega Watkins Greene Nunez Wheeler Valdez Harper Burke
Larson Santiago Maldonado Morrison Franklin Carlson Austin Dominguez Carr Lawson Jacobs Singh Lynch Vega
Bishop Montgomery Oliver Jensen Harvey Williamson Gilbert Dean Sims Espinoza Howell Wong Hanson Hale
Khan Cohen Park Wang Ali Tran Yamamoto Novak Kowalski Ivanov Rossi Okafor Mensah Haddad Larsen Fischer
O'Brien O'Connor Dubois Moreau Costa Ferreira Petrov Kaplan Levy Ahmed Hussein Sato Tanaka Huang Zhang
"""

FIRST_NAMES: dict[str, tuple[str, ...]] = {"F": tuple(_WOMEN.split()), "M": tuple(_MEN.split())}

LAST_NAMES: tuple[str, ...] = tuple(_FAMILIES.split())


class Region(NamedTuple):
    """A region around a few hospitals.

    Attributes
    ----------
    name
        For the reader only; it is no column.
    share
        Share of the patients.
    prices
        What a treatment costs here, relative to the average.
    areas
        First three digits of the postal codes, the most populous first, and how many codes each has
        (at most 100).
    """

    name: str
    share: float
    prices: float
    areas: tuple[tuple[str, int], ...]


REGIONS: tuple[Region, ...] = (
    Region("bay", 0.31, 1.14, (("021", 86), ("018", 64), ("024", 48), ("019", 60), ("020", 52), ("017", 66))),
    Region("valley", 0.12, 0.93, (("010", 72), ("011", 28), ("013", 58), ("012", 44))),
    Region("harbour", 0.19, 1.06, (("071", 32), ("070", 90), ("073", 22), ("076", 58), ("078", 46))),
    Region("south", 0.14, 0.86, (("303", 70), ("300", 82), ("301", 60))),
    Region("lakes", 0.16, 0.98, (("606", 76), ("600", 74), ("604", 68))),
    Region("coast", 0.08, 1.28, (("941", 42), ("945", 78), ("949", 40))),
)


class Diagnosis(NamedTuple):
    """A diagnosis code.

    Attributes
    ----------
    code, title
        Three characters, and what they mean.
    weight
        How often the code occurs, about per ten thousand discharges.
    ages, season, admission
        Names of profiles in ``_profiles``: `AGES`, `SEASONS`, `ADMISSIONS`.
    stay
        Median length of stay in days, for a person of 40 admitted as urgent.
    cost
        What the treatment costs on top of the days, in currency units.
    women
        Share of women, 0 to 1; at 0 or 1 the code occurs in that sex only.
    """

    code: str
    title: str
    weight: float
    ages: str
    stay: float
    cost: float
    women: float = 0.5
    season: str = "flat"
    admission: str = "acute"


class Block(NamedTuple):
    """A range of related codes."""

    label: str
    title: str
    diagnoses: tuple[Diagnosis, ...]


class Chapter(NamedTuple):
    """A range of blocks: an organ system or a kind of cause."""

    label: str
    title: str
    blocks: tuple[Block, ...]


@cache
def chapters() -> tuple[Chapter, ...]:
    """Read all chapters, with their blocks and diagnoses, in order."""
    text = files("incrowd.samples").joinpath("diagnoses.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    return tuple(
        Chapter(label, title, tuple(_blocks(list(members))))
        for (label, title), members in groupby(rows, lambda row: (row["chapter"], row["chapter title"]))
    )


def _blocks(rows: list[dict[str, str]]) -> list[Block]:
    return [
        Block(label, title, tuple(map(_diagnosis, members)))
        for (label, title), members in groupby(rows, lambda row: (row["block"], row["block title"]))
    ]


def _diagnosis(row: dict[str, str]) -> Diagnosis:
    numbers = ("weight", "stay", "cost", "women")
    fields = {name: float(row[name]) if name in numbers else row[name] for name in Diagnosis._fields}
    return Diagnosis(**fields)  # type: ignore[arg-type]


@cache
def diagnoses() -> tuple[Diagnosis, ...]:
    """Return the diagnoses of all chapters, in order."""
    return tuple(entry for chapter in chapters() for block in chapter.blocks for entry in block.diagnoses)
