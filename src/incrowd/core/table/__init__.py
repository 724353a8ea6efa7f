"""Descriptions of a table: its schema, its values, its keys and their classes."""
