"""Kernels that count people who have several rows."""
