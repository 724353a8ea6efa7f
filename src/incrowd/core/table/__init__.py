"""Descriptions of a table: schema, values, keys and classes."""
