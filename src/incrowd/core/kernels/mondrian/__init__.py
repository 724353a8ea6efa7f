"""Kernels of Mondrian."""
