"""Drafts of policies: guesses of the roles of columns, from names and values."""
