"""The rule profile of a policy: inputs and questions, and the judgement of clauses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from nicegui import ui

from incrowd.core.errors import PolicyError
from incrowd.faces.studio.fields import choice_field, text_field
from incrowd.faces.studio.parts import note, words
from incrowd.faces.studio.tables import path_of
from incrowd_gate.profiles import PROFILES, Attestation, read_profile


def rules_form(page: Any) -> None:
    """Let a profile be chosen, and ask for inputs and the attestations of people."""
    document = page.work.choices.document
    titles = {"": "(none)", **{(each := read_profile(name)).full_name: each.title for name in PROFILES}}
    current = document.get("profile", {}).get("name", "")

    def choose(event: Any) -> None:
        document.pop("profile", None)
        if event.value:
            document["profile"] = {"name": event.value}
        page.changed()
        place.clear()
        with place:
            _asked(page)

    titles.setdefault(current, current)
    choice_field(titles, "Rule profile", "profile", current, on_change=choose).classes("w-full")
    note("Each clause is judged on the release: checked, attested by somebody, or not met.")
    place = ui.column().classes("w-full")
    with place:
        _asked(page)


def _asked(page: Any) -> None:
    """Show a field for each input of the profile, and two for each question."""
    settings = page.work.choices.document.get("profile")
    if settings is None:
        return
    profile = read_profile(settings["name"], page.work.choices.folder)
    with ui.element("div").classes("fields"):
        for name, meaning in profile.inputs.items():
            value = settings.get("inputs", {}).get(name, "")

            def write(event: Any, name: str = name) -> None:
                inputs = settings.setdefault("inputs", {})
                inputs[name] = _input((event.value or "").strip())
                if inputs[name] == "":
                    del inputs[name]
                page.changed()

            text_field(name, f"input-{name}", str(value), meaning, on_change=write)
    for clause in profile.clauses:
        if clause.question is not None:
            _question(page, settings, clause.id, clause.question)


def _input(text: str) -> Any:
    """Read an input: a number, or the whole path of a file."""
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        return str(path_of(text).absolute()) if text else ""


def _question(page: Any, settings: dict[str, Any], clause: str, question: str) -> None:
    """Ask for the attestation of a clause, and store the answer in the profile."""
    entries = settings.setdefault("attested", [])
    said: dict[str, Any] = next((each for each in entries if each["clause"] == clause), {})

    def write() -> None:
        entries[:] = [each for each in entries if each["clause"] != clause]
        if (answer := attestation()) is not None:
            entries.append(answer)
        page.changed()

    with ui.column().classes("box"):
        attestation = attestation_fields(clause, question, said, write)


def attestation_fields(
    clause: str,
    question: str,
    said: Mapping[str, Any] | None = None,
    changed: Callable[[], None] | None = None,
) -> Callable[[], dict[str, str] | None]:
    """Ask for the attesting person of a clause, the day, and the words.

    Returns
    -------
    A function that reads the answer as ``[[profile.attested]]`` has it; None while it is not complete.
    """
    said = said or {}
    words("div", question, "name")
    with ui.element("div").classes("fields"):
        by = text_field("Your name", f"by-{clause}", said.get("by", ""), on_change=changed)
        # A browser would show the day in the form of its own language.
        day = str(said.get("on", date.today()))
        on = text_field("Day", f"on-{clause}", day, "as 2026-01-31", on_change=changed)
    says = text_field("Your answer", f"says-{clause}", said.get("says", ""), on_change=changed)
    says.classes("w-full")

    def answer() -> dict[str, str] | None:
        texts = {"by": by.value, "on": on.value, "says": says.value}
        answer = {"clause": clause, **{name: (text or "").strip() for name, text in texts.items()}}
        try:
            Attestation.of_entry(answer)
        except PolicyError:
            return None
        return answer

    return answer
