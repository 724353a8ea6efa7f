"""Made-up tables of people, to try things on: nobody in them exists."""

from __future__ import annotations

from incrowd.samples.hospital import diagnosis_hierarchy, diagnosis_titles, hospital

__all__ = ["diagnosis_hierarchy", "diagnosis_titles", "hospital"]
