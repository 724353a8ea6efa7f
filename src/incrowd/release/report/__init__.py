"""Charts and pages, which need the extra `report`, imported on first use."""
