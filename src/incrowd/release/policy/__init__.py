"""The policy of a release: the object, the file, and the conditions."""
