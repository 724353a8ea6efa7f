"""Checks that stand before everything that leaves."""
