"""Made-up resources of FHIR: patients, encounters, conditions and requests of medication."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

Resource = dict[str, Any]


def resources(people: int = 40, seed: int = 0) -> list[Resource]:
    """Return resources as R4 has them, with names and telephone numbers that no table may hold."""
    rng = random.Random(seed)
    made: list[Resource] = []
    for person in range(people):
        made.append(
            {
                "resourceType": "Patient",
                "id": f"pat-{person}",
                "name": [{"family": "Secretname", "given": ["Ann"]}],
                "telecom": [{"system": "phone", "value": "+49 30 5557788"}],
                "gender": rng.choice(("female", "male")),
                "birthDate": f"{rng.choice((1950, 1951, 1980))}-04-01",
                "address": [{"line": ["Secret street 1"], "postalCode": "10115"}],
            }
        )
        for _ in range(rng.choice((1, 1, 2))):
            visit = f"enc-{len(made)}"
            day = f"2023-{rng.randrange(1, 13):02}-05"
            subject = {"reference": f"Patient/pat-{person}", "display": "Ann Secretname"}
            made.append(
                {
                    "resourceType": "Encounter",
                    "id": visit,
                    "subject": subject,
                    "class": {"code": rng.choice(("AMB", "IMP"))},
                    "period": {"start": f"{day}T08:00:00+01:00"},
                }
            )
            made.append(
                {
                    "resourceType": "Condition",
                    "id": f"con-{len(made)}",
                    "subject": subject,
                    "encounter": {"reference": f"Encounter/{visit}"},
                    "code": {"coding": [{"system": "http://snomed.info/sct", "code": "38341003"}]},
                    "onsetDateTime": day,
                    "note": [{"text": "Ann Secretname came with her sister."}],
                }
            )
    made += [
        {
            "resourceType": "MedicationRequest",
            "id": f"med-{person}",
            "subject": {"reference": f"https://example.org/fhir/Patient/pat-{person}/_history/2"},
            "medicationCodeableConcept": {"coding": [{"code": "314076"}], "text": "lisinopril"},
            "authoredOn": "2023",
        }
        for person in range(0, people, 2)
    ]
    made.append({"resourceType": "Practitioner", "id": "doc-1", "name": [{"family": "Secretname"}]})
    return made


def ndjson(folder: Path, each: list[Resource], packed: bool = False) -> Path:
    """Write a file of lines for each type of resource, as a bulk export does."""
    folder.mkdir(exist_ok=True)
    for kind in dict.fromkeys(one["resourceType"] for one in each):
        text = "".join(json.dumps(one) + "\n" for one in each if one["resourceType"] == kind).encode()
        path = folder / f"{kind}.ndjson{'.gz' * packed}"
        path.write_bytes(gzip.compress(text) if packed else text)
    return folder


def bundle(folder: Path, each: list[Resource]) -> Path:
    """Write one bundle, in which resources name each other by addresses."""
    folder.mkdir(exist_ok=True)
    text = json.dumps(
        {
            "resourceType": "Bundle",
            "type": "transaction",
            "entry": [{"fullUrl": f"urn:uuid:0-{one['id']}", "resource": one} for one in each],
        }
    )
    for one in each:
        text = text.replace(f'"{one["resourceType"]}/{one["id"]}"', f'"urn:uuid:0-{one["id"]}"')
    (folder / "bundle.json").write_text(text)
    return folder
