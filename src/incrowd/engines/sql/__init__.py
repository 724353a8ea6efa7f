"""Tables of databases and relations of DuckDB."""
