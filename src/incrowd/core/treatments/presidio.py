"""Redaction of names, numbers and places that a language model finds in texts."""

from __future__ import annotations

from typing import ClassVar

from incrowd.core.errors import MissingExtraError
from incrowd.core.lazy import pl
from incrowd.core.treatments.base import NOTHING_LEFT, Batch, Treatment


class Presidio(Treatment):
    """Replace names of people, places, numbers and the like inside texts by a label, such as ``[PERSON]``.

    The analyzer of presidio finds them, in every language whose model of spaCy is installed. It overlooks
    some, so a column of sentences stays a point of the verdict until somebody has read what is left.

    Examples
    --------
    >>> import incrowd as ic
    >>> ic.Presidio().promise
    'has names, numbers and places replaced that presidio finds'

    References
    ----------
    Microsoft, Presidio: data protection and de-identification, https://github.com/microsoft/presidio.
    """

    name: ClassVar[str] = "presidio"
    summary: ClassVar[str] = (
        "replaces names, numbers and places inside texts that presidio finds by their kind"
    )
    paper: ClassVar[str] = "Presidio"
    unlinked: ClassVar[str] = NOTHING_LEFT
    no_promise: ClassVar[str] = "It overlooks some: read what is left."

    @property
    def promise(self) -> str:
        """Say that presidio's findings are replaced."""
        return "has names, numbers and places replaced that presidio finds"

    def treat(self, batch: Batch) -> pl.Series:
        """Replace the findings in each row.

        Raises
        ------
        MissingExtraError
            When presidio-analyzer, or a model of spaCy, is not installed.
        """
        from incrowd_gate.texts.name import NAME, analyzer, models

        if not NAME.available():
            raise MissingExtraError("presidio-analyzer and a model of spaCy", "names", "redacting texts")
        reader, languages = analyzer(tuple(models().items())), list(models())
        texts = batch.values.unique().drop_nulls().to_list()
        redacted = [_redact(text, reader, languages) for text in texts]
        return batch.values.replace_strict(texts, redacted, default=None, return_dtype=pl.String)


def _redact(text: str, reader: object, languages: list[str]) -> str:
    """Replace the findings of all languages, where the longer of two overlapping findings counts.

    For example, in "Mrs Ann Lee called", ``Ann`` and ``Ann Lee`` are found: the text becomes
    "Mrs [PERSON] called".
    """
    finds = [find for language in languages for find in reader.analyze(text=text, language=language)]  # type: ignore[attr-defined]
    end, parts = len(text), []
    for find in sorted(finds, key=lambda find: (find.end, find.end - find.start), reverse=True):
        if find.end <= end:
            parts += [text[find.end : end], f"[{find.entity_type}]"]
            end = find.start
    return text[:end] + "".join(reversed(parts))
