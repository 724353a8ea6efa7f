"""Entries that this package adds to the lists of incrowd, each in a file of its own."""
