"""Names of persons, found by presidio-analyzer with a model of spaCy."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

from incrowd_gate.errors import INSTALL
from incrowd_gate.lazy import pl
from incrowd_gate.texts.sign import Sign, at, holding, spaced

MODELS = {
    "en": tuple(f"en_core_web_{size}" for size in ("trf", "lg", "md", "sm")),
    **{
        language: tuple(f"{language}_core_news_{size}" for size in ("lg", "md", "sm"))
        for language in ("de", "fr", "es", "it", "nl", "pt", "pl")
    },
}
"""The models that are used where they are installed, by language, the best first."""

READ = 5_000
"""Texts that a model reads; of more, this many evenly spaced ones."""

_SCORE = 0.8


def _is_ready() -> bool:
    """Say whether presidio-analyzer and a model of spaCy are installed; nothing is downloaded."""
    return _is_installed(find_spec, "presidio_analyzer") and bool(models())


def _name(likely: pl.Series, texts: int) -> pl.Series:
    """Find a person by the installed language models in a text of three words or more; `READ` are read."""
    rows = spaced(holding(likely, r"\p{Lu}|\p{Lo}").arg_true(), READ)
    if not len(rows):
        return at(rows, likely)
    reader = analyzer(tuple(models().items()))
    named = [
        any(
            reader.analyze(text=text, language=language, entities=["PERSON"], score_threshold=_SCORE)
            for language in models()
        )
        for text in likely.gather(rows)
    ]
    return at(rows.filter(pl.Series(named, dtype=pl.Boolean)), likely)


def models() -> dict[str, str]:
    """Return the best installed model of each language."""
    best = {
        language: next((model for model in models if _is_installed(find_spec, model)), None)
        for language, models in MODELS.items()
    }
    return {language: model for language, model in best.items() if model is not None}


@cache
def _is_installed(find: Callable[[str], Any], module: str) -> bool:
    """Look for a module once: every column asks."""
    return find(module) is not None


@cache
def analyzer(installed: tuple[tuple[str, str], ...]) -> Any:
    """Return the analyzer of presidio for the installed models from `models`."""
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import NlpEngineProvider

    settings = {
        "nlp_engine_name": "spacy",
        "models": [{"lang_code": language, "model_name": model} for language, model in installed],
    }
    engine = NlpEngineProvider(nlp_configuration=settings).create_engine()
    return AnalyzerEngine(nlp_engine=engine, supported_languages=[language for language, _ in installed])


NAME = Sign(
    "name",
    "names of persons",
    r"^\S+(?:\s+\S+){2,}$",
    _name,
    f"{INSTALL.format(extra='names')}, then python -m spacy download {MODELS['en'][1]}",
    _is_ready,
)
