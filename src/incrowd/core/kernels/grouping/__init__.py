"""Kernels that number, group and count rows."""
