"""A fuzzer of our own: random tables, policies and places, and an oracle in plain Python."""
