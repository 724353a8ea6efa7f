"""Drafts of policies: guesses of the roles of columns, from their names and values."""
