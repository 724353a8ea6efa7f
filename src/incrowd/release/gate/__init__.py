"""The gate before a release: its points, the one verdict, and the answers that a policy gives."""
