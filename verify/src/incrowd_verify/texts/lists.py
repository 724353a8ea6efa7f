"""Columns whose cells are lists, such as ``asthma;diabetes``."""

from __future__ import annotations

from incrowd_verify.lazy import pl
from incrowd_verify.texts.sign import holding, share, spaced

SEPARATORS = (";", "|", "\n", ",", "/")
"""What may stand between the parts of a list, the surest first."""

_LOOKED = 20_000
_LEAST = 3
_SHARE = 0.2
_REPEATS = 0.5
_PLACES = 0.3
_NUMBERS = 0.9
_LETTERS = 0.9
_LONGEST = 40
_WORDS = 3.0
_GENERALIZED = r"^\s*(?:\{.*\}|[\[(].*[\])])\s*$"
_NUMBER = r"^\s*[-+]?(?:[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+,[0-9]+)\s*$"


def separator_of(texts: pl.Series) -> str | None:
    """Find the separator of the parts, if the cells of a column are lists.

    At least one cell in five has several parts, the parts are short, they are far fewer than the cells
    use, and many occur at several places of a list. Surnames before first names, towns before countries
    and dates do not: their parts keep their places. Sets and ranges of a release are no lists.

    Parameters
    ----------
    texts
        The distinct texts of the column.

    Returns
    -------
    One of `SEPARATORS`, or None.

    Examples
    --------
    >>> separator_of(pl.Series(["tv|radio", "tv", "radio|web", "tv|radio|web", "web"]))
    '|'
    >>> separator_of(pl.Series(["Müller, Anna", "Koch, Ben", "Wolf, Anna"]))
    """
    usual = texts.cast(pl.String).drop_nulls()
    usual = usual.filter(holding(usual, r"\S"))
    usual = usual.filter(~holding(usual, _GENERALIZED))
    looked = usual.gather(spaced(pl.int_range(len(usual), eager=True), _LOOKED))
    return next((separator for separator in SEPARATORS if _separates(separator, looked)), None)


def _separates(separator: str, cells: pl.Series) -> bool:
    several = cells.str.contains(separator, literal=True)
    if several.sum() < max(_LEAST, _SHARE * len(cells)):
        return False
    joined = cells.filter(several)
    if separator == "," and share(holding(joined, _NUMBER)) > _NUMBERS:
        return False
    parts = _parts(cells, separator)
    of_several = parts.filter(pl.col("of") > 1)
    if of_several["cell"].n_unique() < max(_LEAST, _SHARE * len(cells)):
        return False
    texts = of_several["part"]
    if separator == "/" and share(holding(texts, r"\pL")) < _LETTERS:
        return False
    if (texts.str.len_chars() > _LONGEST).any() or share(texts.str.count_matches(r"\S+")) > _WORDS:
        return False
    return texts.n_unique() <= _REPEATS * len(texts) and _change_places(parts)


def _parts(cells: pl.Series, separator: str) -> pl.DataFrame:
    """Return the cell, the place and the text of each part, and how many parts its cell has."""
    return (
        pl.DataFrame({"cell": pl.int_range(len(cells), eager=True), "part": cells.str.split(separator)})
        .explode("part", empty_as_null=False)
        .with_columns(pl.col("part").str.strip_chars())
        .filter(pl.col("part") != "")
        .with_columns(place=pl.int_range(pl.len()).over("cell"), of=pl.len().over("cell"))
    )


def _change_places(parts: pl.DataFrame) -> bool:
    places = parts.group_by("part").agg(pl.len(), pl.col("place").n_unique())
    again = places.filter(pl.col("len") > 1)["place"]
    return share(again > 1) >= _PLACES
