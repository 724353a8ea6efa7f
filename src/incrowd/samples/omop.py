"""A made-up extract in the OMOP Common Data Model: people, visits, conditions and concepts."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from incrowd.core.lazy import pl

if TYPE_CHECKING:
    import polars

_CONDITIONS = (201826, 320128, 255573, 313217, 4329847)
"""Concepts of diabetes, hypertension, lung disease, fibrillation and infarction, the frequent ones first."""
_ABOVE = (
    (201826, 436670), (320128, 134057), (255573, 320136), (313217, 134057), (4329847, 134057),
    (436670, 4274025), (134057, 4274025), (320136, 4274025),
)  # fmt: skip
"""Each concept and the one above: diseases of metabolism, of heart and vessels, of the lungs; disease."""


def omop(people: int = 1000, *, seed: int = 0) -> dict[str, polars.DataFrame]:
    """Return the tables ``person``, ``visit_occurrence`` and ``condition_occurrence`` of made-up people.

    Besides there are ``concept`` and ``concept_ancestor``, as in the public vocabulary.

    Parameters
    ----------
    people
        Number of people.
    seed
        Seed of the random numbers.

    Examples
    --------
    >>> tables = omop(100)
    >>> list(tables)
    ['person', 'visit_occurrence', 'condition_occurrence', 'concept', 'concept_ancestor']
    """
    rng = random.Random(seed)
    persons: list[tuple[object, ...]] = []
    visits: list[tuple[object, ...]] = []
    conditions: list[tuple[object, ...]] = []
    for person in range(1, people + 1):
        born = rng.randrange(1935, 2006)
        sex = rng.choice((8507, 8532))
        persons.append((person, sex, born, rng.randrange(1, 13), f"MRN-{rng.randrange(10**6):06}"))
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
            day = f"{rng.choice((2022, 2023))}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
            visits.append((len(visits) + 1, person, rng.choice((9201, 9202, 9202)), day))
            for concept in rng.sample(_CONDITIONS, rng.choice((1, 1, 2)), counts=(8, 6, 3, 2, 1)):
                conditions.append((len(conditions) + 1, person, concept, day, visits[-1][0]))
    names = ("person_id", "gender_concept_id", "year_of_birth", "month_of_birth", "person_source_value")
    of_visit = ("visit_occurrence_id", "person_id", "visit_concept_id", "visit_start_date")
    of_condition = (
        "condition_occurrence_id", "person_id", "condition_concept_id", "condition_start_date",
        "visit_occurrence_id",
    )  # fmt: skip
    return {
        "person": pl.DataFrame(persons, schema=names, orient="row"),
        "visit_occurrence": pl.DataFrame(visits, schema=of_visit, orient="row"),
        "condition_occurrence": pl.DataFrame(conditions, schema=of_condition, orient="row"),
        **_vocabulary(),
    }


def _vocabulary() -> dict[str, polars.DataFrame]:
    """Return the concepts of conditions, and each with all those above it."""
    above = dict(_ABOVE)
    steps = []
    for concept in (*above, 4274025):
        at, far = concept, 0
        while True:
            steps.append((at, concept, far, far))
            if at not in above:
                break
            at, far = above[at], far + 1
    names = (
        "ancestor_concept_id", "descendant_concept_id",
        "min_levels_of_separation", "max_levels_of_separation",
    )  # fmt: skip
    concepts = {"concept_id": [*above, 4274025], "vocabulary_id": ["SNOMED"] * (len(above) + 1)}
    return {
        "concept": pl.DataFrame(concepts),
        "concept_ancestor": pl.DataFrame(steps, schema=names, orient="row"),
    }
