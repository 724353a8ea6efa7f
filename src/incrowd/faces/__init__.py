"""The faces of the program: command line, studio, scikit-learn, and frames of pandas and Polars."""
