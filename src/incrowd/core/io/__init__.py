"""Reading and writing files and frames."""
