"""The steps of the page, one a file, in the order in which they are gone through."""
