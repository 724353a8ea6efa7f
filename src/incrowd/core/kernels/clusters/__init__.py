"""Kernels of clusterings and of local recoding."""
