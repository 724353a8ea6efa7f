"""What is known of a table: its schema, its values, its keys and their classes."""
