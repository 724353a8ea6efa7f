"""Published interfaces that people already use, each a thin face over the same engine."""
