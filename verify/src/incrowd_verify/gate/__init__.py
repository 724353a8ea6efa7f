"""The gate before a release: points, the verdict, and a policy's answers."""
