"""The panels beside the table, one a file."""
