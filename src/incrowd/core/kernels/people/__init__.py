"""Kernels that count people with several rows."""
