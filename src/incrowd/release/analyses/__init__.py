"""Analyses of users before and after a release: their settings, fits and comparison."""
