"""Published interfaces that people already use, each a thin layer over the same engine."""
