"""Releases and count tables: made, judged and described."""
