"""Count tables: their cells, what is unsafe, what protects it, and the audit of what anybody can compute."""
