"""The time after a release: new rows, the next release, series, and the ledger of all."""
