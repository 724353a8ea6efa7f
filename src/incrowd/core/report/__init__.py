"""Charts and pages. They need the extra `report`, which is imported where it is first used."""
