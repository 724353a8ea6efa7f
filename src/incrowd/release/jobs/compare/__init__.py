"""Algorithms, policies and releases: compared with each other and with the raw table, suggested, drafted."""
