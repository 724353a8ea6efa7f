"""One module per database: how its SQL is written, its types are read and its errors are told."""
