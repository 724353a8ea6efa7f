"""The verbs that users call, from a table to a result."""
