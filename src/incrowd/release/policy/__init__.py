"""The policy of a release: the object, its file, and the conditions on it."""
