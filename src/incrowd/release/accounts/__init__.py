"""Statements about a table or a release: figures, findings and sentences."""
