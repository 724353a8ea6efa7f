"""Kernels of the search of a lattice."""
