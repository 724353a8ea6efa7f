"""Values, keys, classes and cells, and their forms in files and databases."""
