"""Works of others: published interfaces, files of other tools, a course and made-up tables."""
