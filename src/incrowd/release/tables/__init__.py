"""Count tables: their cells, the unsafe ones among them, protection, and the audit of the result."""
