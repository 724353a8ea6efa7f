"""The verbs: what users call, from a table to a result."""
