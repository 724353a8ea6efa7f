"""Plain documents, and how they are shown in notebooks."""
