"""Values, keys, classes and cells, in memory, in files and in databases."""
