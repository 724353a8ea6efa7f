"""Count tables: cells, the unsafe cells, protection, and the audit of the result."""
