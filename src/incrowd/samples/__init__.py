"""Made-up tables of people, to try things on, in which nobody exists."""

from __future__ import annotations

from incrowd.samples.encounters import encounters
from incrowd.samples.hospital import diagnosis_hierarchy, diagnosis_titles, hospital
from incrowd.samples.omop import omop
from incrowd.samples.policies import hospital_policy

__all__ = ["diagnosis_hierarchy", "diagnosis_titles", "encounters", "hospital", "hospital_policy", "omop"]
