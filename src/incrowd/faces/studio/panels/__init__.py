"""The panels beside the table, each in a file."""
