"""Releases: their policies, their verdict, and the verbs that users call."""
