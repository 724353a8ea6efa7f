"""The verdict on a release: points and rules, words, texts, rule profiles, and errors.

Two implementations judge a release, `incrowd` and `incrowd_verify`, and both import this package. So a point
is defined once and has one text. What each of them reads and counts, it reads and counts by its own code.
"""

__version__ = "0.2.0"
