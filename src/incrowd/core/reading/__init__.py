"""Reading of texts: spellings of numbers and dates, null values, exact numbers."""
