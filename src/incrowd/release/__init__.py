"""Releases: policies, the verdict, and the verbs that users call."""
