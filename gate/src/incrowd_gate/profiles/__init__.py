"""Rule profiles: dated lists of clauses, each of which is checked, attested or not met.

A profile is one TOML file of this room and one line of `PROFILES`, or a file of a user's own. `verify` judges
its clauses from the release alone; see `incrowd_verify.clause_checks`.
"""

from __future__ import annotations

import math
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

from incrowd_gate.errors import ParameterError, PolicyError, did_you_mean, named, quoted, refuse_pipe
from incrowd_gate.lazy import pl
from incrowd_gate.parameters import COUNT, PART, SHARE, Parameter

__all__ = ["PROFILES", "Attestation", "Choice", "Clause", "Profile", "profile_lines", "read_profile"]

PROFILES = (
    "hipaa-safe-harbor", "hipaa-expert", "ema-0070", "ehds-66", "wp216", "ico-anonymisation", "iso-27559",
    "nist-800-188", "cms-cell-size", "statistical-office",
)  # fmt: skip
"""The built-in profiles; each is the file of its name in this folder."""
_OF_PROFILE = ("name", "version", "title", "source", "notes", "inputs", "clauses")
_OF_CLAUSE = ("id", "text", "source", "check", "question")
_OF_CHOICE = ("name", "inputs", "columns", "cleared", "attested")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_FIRST = date(1996, 8, 21)
"""The day of HIPAA, the oldest of the rules: nobody attested anything before."""
_FILLERS = ("\u115f", "\u1160", "\u3164", "\uffa0")
"""Letters of Hangul that show nothing."""
_PLACEHOLDERS = (
    "todo", "tbd", "tba", "fixme", "xxx", "na", "nn", "none", "null", "unknown", "name", "answer",
)  # fmt: skip
"""What stands where an answer is still to come, in small letters alone."""


@dataclass(frozen=True)
class Clause:
    """A demand of a profile.

    Attributes
    ----------
    id
        Its short name in the profile, as a policy attests it.
    text, source
        What it demands, in a sentence, and the paragraph that says so.
    check
        The named check that judges it; None where a person has to.
    settings
        Settings of the check.
    question
        What a named person answers, where no check can; None where a check can.
    """

    id: str
    text: str
    source: str
    check: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    question: str | None = None


@dataclass(frozen=True)
class Profile:
    """A dated list of clauses.

    Attributes
    ----------
    name, version
        Its name, and the month or day of its text: ``hipaa-safe-harbor`` and ``2026-01``.
    title, source
        What it is in a few words, and where the rules stand.
    inputs
        What a policy may or must give for its checks, each with its meaning.
    clauses
        Its demands, in their order.
    notes
        Paragraphs for readers: for whom it is, and how its clauses are read. May be empty.

    Examples
    --------
    >>> read_profile("cms-cell-size@2026-01").clauses[0].id
    'classes'
    """

    name: str
    version: str
    title: str
    source: str
    inputs: Mapping[str, str]
    clauses: tuple[Clause, ...]
    notes: str = ""

    @property
    def full_name(self) -> str:
        """Name and version in policy notation."""
        return f"{self.name}@{self.version}"

    def clause(self, id_: str) -> Clause:
        """Return a clause by id."""
        clauses = {each.id: each for each in self.clauses}
        if id_ not in clauses:
            near = did_you_mean(id_, clauses)
            raise PolicyError(f"{self.full_name} has no clause {id_!r}; there are {named(clauses, 30)}{near}")
        return clauses[id_]


@dataclass(frozen=True)
class Attestation:
    """The answer of a named person to the question of a clause, or to a check that cannot know better.

    Attributes
    ----------
    clause
        The id of the clause.
    by, on
        Who says so, and when.
    says
        The answer, which reports repeat.
    """

    clause: str
    by: str
    on: date
    says: str

    @classmethod
    def of_entry(cls, settings: Any) -> Attestation:
        """Read an entry of ``[[profile.attested]]``."""
        if not isinstance(settings, dict) or set(settings) != {"clause", "by", "on", "says"}:
            raise PolicyError("profile.attested: each needs a clause, by, on and says, and nothing else")
        texts = [settings[name] for name in ("clause", "by", "says")]
        day = settings["on"]
        if isinstance(day, str):
            try:
                day = date.fromisoformat(day)
            except ValueError:
                raise PolicyError("profile.attested: on must be a day, as 2026-01-31") from None
        if not all(isinstance(text, str) and text.strip() for text in texts) or type(day) is not date:
            raise PolicyError("profile.attested: clause, by and says are texts, on is a day: 2026-01-31")
        for name in ("by", "says"):
            if not _says_something(settings[name]):
                raise PolicyError(
                    f"profile.attested: {name} of {settings['clause']!r} says nothing; write words"
                )
        # The day begins earlier elsewhere.
        if not _FIRST <= day <= date.today() + timedelta(days=1):
            raise PolicyError(
                f"profile.attested: on of {settings['clause']!r} must be a day from {_FIRST} to today"
            )
        return cls(settings["clause"], settings["by"], day, settings["says"])


@dataclass(frozen=True)
class Choice:
    """The profile of a policy with inputs and attestations: ``[profile]``.

    Attributes
    ----------
    profile
        The profile.
    settings
        The table as the policy has it.
    folder
        Where files are that it names.
    attested
        What named persons answered, by the id of the clause.
    """

    profile: Profile
    settings: Mapping[str, Any]
    folder: Path
    attested: Mapping[str, Attestation]

    @classmethod
    def of_settings(cls, settings: Any, folder: Path) -> Choice:
        """Read the table ``[profile]`` of a policy."""
        if not isinstance(settings, dict) or not isinstance(settings.get("name"), str):
            raise PolicyError('profile: name it, as name = "hipaa-safe-harbor@2026-01"')
        refuse_unknown(settings, _OF_CHOICE, "profile")
        profile = read_profile(settings["name"], folder)
        for name, shape in (("inputs", dict), ("columns", dict), ("cleared", dict), ("attested", list)):
            if not isinstance(settings.get(name, shape()), shape):
                raise PolicyError(
                    f"profile.{name} must be a {'table' if shape is dict else 'list of tables'}"
                )
        inputs = settings.get("inputs", {})
        refuse_unknown(inputs, profile.inputs, "profile.inputs")
        for name, value in inputs.items():
            INPUTS[name].refuse_wrong(value, "profile.inputs", name)
        for table in ("columns", "cleared"):
            for id_, names in settings.get(table, {}).items():
                profile.clause(id_)
                if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
                    raise PolicyError(f"profile.{table}: {id_} must be a list of names of columns")
        attested = {each.clause: each for each in map(Attestation.of_entry, settings.get("attested", []))}
        for id_ in attested:
            if profile.clause(id_).question is None:
                raise PolicyError(
                    f"profile.attested: the clause {id_!r} is checked, so nobody can attest it; "
                    "name a column that only seems to break it in [profile.cleared]"
                )
        return cls(profile, settings, folder, attested)

    def attesting(self, said: Iterable[Attestation]) -> Choice:
        """Return the choice with further attestations.

        Raises `PolicyError`: a clause is not one that somebody can attest.
        """
        entries = [*self.settings.get("attested", ()), *(asdict(each) for each in said)]
        return Choice.of_settings({**self.settings, "attested": entries}, self.folder)

    def published(self) -> Choice:
        """Return the choice for publication, with file names in place of paths."""
        inputs = self.settings.get("inputs", {})
        file_names = {key: _file_name(value) for key, value in inputs.items()}
        settings = {**self.settings, "name": _file_name(self.settings["name"])}
        return replace(self, settings=settings | ({"inputs": file_names} if inputs else {}))

    def input(self, name: str) -> Any:
        """Return an input of the policy, or None."""
        return self.settings.get("inputs", {}).get(name)

    def columns(self, clause: Clause, *, cleared: bool = False) -> list[str]:
        """Return the columns of a clause in the policy's tables, or the cleared columns."""
        table = self.settings.get("cleared" if cleared else "columns", {})
        return list(table.get(clause.id, ()))


def profile_lines(profile: Profile) -> list[str]:
    """Return the table ``[profile]`` of a policy as lines of TOML, with questions as comments."""
    lines = ["", "[profile]", f'name = "{profile.full_name}"']
    if profile.inputs:
        lines += [
            "",
            "# [profile.inputs]",
            *(f"# {name} =    # {text}" for name, text in profile.inputs.items()),
        ]
    for clause in profile.clauses:
        if clause.question is not None:
            lines += ["", f"# {clause.question}", "# [[profile.attested]]", f'# clause = "{clause.id}"']
            lines += ['# by = ""', "# on = 2026-01-31", '# says = ""']
    return lines


def read_profile(name: str, folder: Path = Path()) -> Profile:
    """Read a built-in profile by name and version, or a file by path.

    Parameters
    ----------
    name
        As ``hipaa-safe-harbor@2026-01``; or a path that ends in ``.toml``, relative to `folder`.

    Raises
    ------
    PolicyError
        There is no such profile, it is of another version, or its file cannot be read.

    Examples
    --------
    >>> read_profile("ema-0070@2026-01").title
    'Publication of clinical data: a risk of at most 0.09'
    """
    if name.endswith(".toml"):
        refuse_pipe(folder / name, PolicyError)
        try:
            text = (folder / name).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise PolicyError(f"profile: {name} cannot be read ({type(error).__name__})") from None
        return _profile(text, name)
    plain, _, version = name.partition("@")
    if plain not in PROFILES:
        near = did_you_mean(plain, PROFILES)
        raise PolicyError(f"profile: there is no {plain!r}; there are {', '.join(PROFILES)}{near}")
    text = Path(__file__).with_name(f"{plain}.toml").read_text(encoding="utf-8")
    profile = _profile(text, plain)
    if version and version != profile.version:
        raise PolicyError(
            f"profile: {plain} is of {profile.version} here, not of {version}: compare the texts"
        )
    return profile


def _profile(text: str, place: str) -> Profile:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"profile {place}: not readable as TOML ({error})") from None
    refuse_unknown(data, _OF_PROFILE, f"profile {place}")
    texts = {key: data.get(key) for key in ("name", "version", "title", "source")}
    clauses = data.get("clauses")
    if not all(isinstance(each, str) and each for each in texts.values()) or not isinstance(clauses, list):
        raise PolicyError(f"profile {place}: needs the texts name, version, title, source, and [[clauses]]")
    if not _NAME.fullmatch(str(texts["name"])):
        raise PolicyError(f"profile {place}: its name is of small letters, digits and hyphens")
    notes = data.get("notes", "")
    if not isinstance(notes, str):
        raise PolicyError(f"profile {place}: notes must be a text, got {quoted(notes)}")
    inputs = data.get("inputs", {})
    if not isinstance(inputs, dict) or not all(isinstance(each, str) for each in inputs.values()):
        raise PolicyError(f"profile {place}: [inputs] must be a table of texts")
    refuse_unknown(inputs, INPUTS, f"profile {place}: inputs")
    clauses_read = tuple(_clause(each, place) for each in clauses)
    if len({each.id for each in clauses_read}) < len(clauses_read):
        raise PolicyError(f"profile {place}: two clauses have one id")
    return Profile(**texts, inputs=inputs, clauses=clauses_read, notes=notes)  # type: ignore[arg-type]


def _clause(data: Any, place: str) -> Clause:
    if not isinstance(data, dict) or not all(
        isinstance(data.get(key), str) for key in ("id", "text", "source")
    ):
        raise PolicyError(f"profile {place}: each clause needs the texts id, text and source")
    if ("check" in data) == ("question" in data):
        raise PolicyError(f"profile {place}: the clause {data['id']!r} needs either a check or a question")
    if not _NAME.fullmatch(data["id"]):
        raise PolicyError(f"profile {place}: the id of a clause is of small letters, digits and hyphens")
    settings = {key: value for key, value in data.items() if key not in _OF_CLAUSE}
    owner = f"profile {place}, clause {data['id']!r}"
    if "check" in data:
        refuse_wrong_settings(data["check"], settings, owner)
    else:
        refuse_unknown(settings, (), f"{owner}, a question")
        if not isinstance(data["question"], str) or not _says_something(data["question"]):
            raise PolicyError(f"{owner}: question must be a text, got {quoted(data['question'])}")
    return Clause(data["id"], data["text"], data["source"], data.get("check"), settings, data.get("question"))


def _file_name(value: Any) -> Any:
    """Return the last part of a path of any system, or another value unchanged."""
    return re.split(r"[\\/]", value)[-1] if isinstance(value, str) else value


def _says_something(text: str) -> bool:
    """Return whether a text has a visible letter and is not a placeholder."""
    letters = "".join(each for each in text if each.isalpha() and each not in _FILLERS)
    return bool(letters) and unicodedata.normalize("NFKC", letters).casefold() not in _PLACEHOLDERS


_MOST_WORDS = 1_000
"""Most words that a list may have."""


@dataclass(frozen=True)
class Setting:
    """A setting of a check, or an input.

    Its value is as `one` says, or a list of `many` such. A clause has to say it if it is `needed`.
    """

    one: Parameter
    needed: bool = False
    many: bool = False
    is_pattern: bool = False

    def refuse_wrong(self, value: object, owner: str, name: str) -> None:
        """Refuse a value.

        - `owner`, `name`: where it stands, for the message.
        - Raises `PolicyError`: it is of another type, or outside of its range.
        """
        if self.many and not (isinstance(value, list) and 0 < len(value) <= _MOST_WORDS):
            raise PolicyError(
                f"{owner}: {name} must be a list of 1 to {_MOST_WORDS:,} texts, got {quoted(value)}"
            )
        for each in value if self.many and isinstance(value, list) else [value]:
            try:
                self.one.check(each, owner, name)
            except ParameterError as error:
                raise PolicyError(str(error)) from None
            if isinstance(each, str) and not each.strip():
                raise PolicyError(f"{owner}: {name} must not be an empty text")
            if self.is_pattern and not _is_pattern(str(each)):
                raise PolicyError(f"{owner}: {name} must be a regular expression of RE2, got {quoted(each)}")


def _is_pattern(text: str) -> bool:
    try:
        pl.Series([""]).str.contains(text)
    except pl.exceptions.PolarsError:
        return False
    return True


SIGNS = (
    "mail", "telephone", "iban", "card", "national-number", "ip", "mac", "url", "plate", "address", "date",
    "title", "name",
)  # fmt: skip
"""The signs of people in texts that `incrowd_gate.texts` looks for."""
ATTACKS = (
    "singling-out-univariate", "singling-out-multivariate", "linkability", "inference", "membership",
    "linkage", "order", "composition-by-order", "composition", "minimality",
)  # fmt: skip
"""The attacks whose success a clause may limit."""
_WORDS = Setting(Parameter(str, "words by which columns are called"), many=True)
_LEAST = Setting(COUNT, needed=True)
_PATTERN = Setting(Parameter(str, "a regular expression"), is_pattern=True)

CHECKS: Mapping[str, Mapping[str, Setting]] = {
    "absent": {
        "columns": _WORDS,
        "signs": Setting(Parameter(str, "signs of people in texts", choices=SIGNS), many=True),
        "texts": _PATTERN,
        "doubtful": _PATTERN,
        "share": Setting(SHARE),
        "in_texts": Setting(Parameter(bool, "whether longer texts are looked at")),
    },
    "years": {"columns": _WORDS},
    "oldest": {
        "columns": _WORDS,
        "births": _WORDS,
        "oldest": Setting(Parameter(int, "the last age that is told", low=0, high=150), needed=True),
    },
    "zip3": {"columns": _WORDS, "least": _LEAST},
    "unique": {"share": Setting(PART, needed=True)},
    "risk": {"least": Setting(COUNT), "risk": Setting(PART)},
    "context": {},
    "counts": {"least": _LEAST, "within_classes": Setting(Parameter(bool, "whether classes are looked at"))},
    "shares": {"share": Setting(PART, needed=True)},
    "fraction": {"largest": Setting(PART, needed=True)},
    "ends": {"least": _LEAST},
    "attack": {"attacks": Setting(Parameter(str, "attacks", choices=ATTACKS), needed=True, many=True)},
}
"""The settings of each check; `incrowd_verify.clause_checks` has the checks."""

INPUTS: Mapping[str, Setting] = {
    "year": Setting(Parameter(int, "a year", low=1900, high=2200)),
    "populous": Setting(Parameter(str, "the path of a file")),
    "risk": Setting(Parameter(float, "the largest risk", above=0, high=0.5)),
    "fraction": Setting(PART),
    "attacks": Setting(Parameter(str, "the path of a file")),
    "rate": Setting(Parameter(float, "the largest rate of success", low=0, high=0.99)),
}
"""The inputs that checks read."""


def refuse_wrong_settings(check: object, settings: Mapping[str, Any], owner: str) -> None:
    """Refuse an unknown check, and settings that are unknown, missing or wrong.

    `owner`: the profile and the clause, for the message.
    """
    if not isinstance(check, str) or check not in CHECKS:
        near = did_you_mean(check, CHECKS) if isinstance(check, str) else ""
        raise PolicyError(f"{owner}: there is no check {quoted(check)}; there are {', '.join(CHECKS)}{near}")
    declared = CHECKS[check]
    refuse_unknown(settings, declared, f"{owner}, check {check!r}")
    for name, each in declared.items():
        if name in settings:
            each.refuse_wrong(settings[name], owner, name)
        elif each.needed:
            raise PolicyError(f"{owner}: {name} is missing; give {each.one.describe()}")


def refuse_unknown(data: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """Refuse unknown names."""
    listed = list(known)
    for name in data:
        if name not in listed:
            alternatives = f"there are {named(listed, 30)}" if listed else "it has none"
            raise PolicyError(
                f"{where}: there is no {quoted(name)}; {alternatives}{did_you_mean(name, listed)}"
            )


LEVELS = ("low", "medium", "high")
RECIPIENTS = ("public", "known")
_OF_CONTEXT = ("recipient", "controls", "motives", "acquaintances", "prevalence", "breaches", "threshold")
_ATTEMPTS = {"high": ("0.05", "0.1", "0.2"), "medium": ("0.2", "0.3", "0.4"), "low": ("0.4", "0.5", "0.6")}
"""Probability of a deliberate attempt, by the controls of the recipient, from low to high motives.

El Emam and Arbuckle, Anonymizing Health Data (2013), chapter 2; Information and Privacy Commissioner of
Ontario, De-identification Guidelines for Structured Data (2016), step 5.
"""
_ACQUAINTANCES = 150
"""How many people one person knows: Dunbar's number, which both sources use."""


@dataclass(frozen=True)
class Context:
    """The answers about the context of a release, and the required class size.

    The largest risk in the context is the probability of an attempt times that of its success, which is one
    over the class size. The class size is the smallest that keeps it at or below the threshold. Nobody has to
    attempt a public release in a certain way, so its probability is 1.

    Attributes
    ----------
    recipient
        ``public``, or ``known``: somebody who signed a contract.
    controls
        The mitigating controls of the recipient: ``low``, ``medium`` or ``high``.
    motives
        The recipient's motives and capacity: ``low``, ``medium`` or ``high``.
    acquaintances, prevalence
        How many people somebody knows, and the share of the population that the table is about, 0..1: the
        probability that a member of the recipient's staff knows somebody in it.
    breaches
        The probability that data of such a recipient get out in a year, 0..1.
    threshold
        The largest risk in the context, above 0 and at most 1.
    settings
        The table as the policy has it.

    Examples
    --------
    >>> answers = {"recipient": "known", "controls": "medium", "motives": "low", "breaches": 0.27}
    >>> context = Context.of_settings(answers | {"threshold": 0.05})
    >>> float(context.attempt), context.needed
    (0.27, 6)
    """

    recipient: str
    controls: str
    motives: str
    acquaintances: int
    prevalence: Fraction
    breaches: Fraction
    threshold: Fraction
    settings: Mapping[str, Any]

    @classmethod
    def of_settings(cls, settings: Any) -> Context:
        """Read the table ``[context]`` of a policy."""
        if not isinstance(settings, dict):
            raise PolicyError("context must be a table")
        for name in settings:
            if name not in _OF_CONTEXT:
                near = did_you_mean(name, _OF_CONTEXT)
                raise PolicyError(f"context: there is no {name!r}; there are {', '.join(_OF_CONTEXT)}{near}")
        recipient = _one_of(settings, "recipient", RECIPIENTS)
        is_known = recipient == "known"
        acquaintances = settings.get("acquaintances", _ACQUAINTANCES)
        if type(acquaintances) is not int or acquaintances < 0:
            raise PolicyError("context: acquaintances must be a whole number from 0")
        threshold = _context_share(settings, "threshold")
        if not threshold:
            raise PolicyError("context: threshold must be above 0")
        return cls(
            recipient,
            _one_of(settings, "controls", LEVELS) if is_known else "low",
            _one_of(settings, "motives", LEVELS) if is_known else "high",
            acquaintances,
            _context_share(settings, "prevalence", Fraction(0)),
            _context_share(settings, "breaches", None if is_known else Fraction(0)),
            threshold,
            settings,
        )

    @property
    def attempts(self) -> Mapping[str, Fraction]:
        """The probability of each kind of attempt, 0..1."""
        if self.recipient == "public":
            return {"a public release, where an attempt is certain": Fraction(1)}
        table = _ATTEMPTS[self.controls][LEVELS.index(self.motives)]
        return {
            f"deliberate ({self.controls} controls, {self.motives} motives and capacity)": Fraction(table),
            f"by acquaintance (1 - (1 - {float(self.prevalence):g})^{self.acquaintances})": (
                1 - (1 - self.prevalence) ** self.acquaintances
            ),
            "by a breach": self.breaches,
        }

    @property
    def attempt(self) -> Fraction:
        """The largest probability of an attempt."""
        return max(self.attempts.values())

    @property
    def needed(self) -> int:
        """The class size that the context needs."""
        return max(math.ceil(self.attempt / self.threshold), 1)

    def arithmetic(self) -> str:
        """Return the derivation of the class size in a sentence."""
        kinds = "; ".join(f"{name}: {float(share):.4g}" for name, share in self.attempts.items())
        return (
            f"probability of an attempt: {kinds}; the largest is {float(self.attempt):.4g}. "
            f"{float(self.attempt):.4g} / {self.needed} = {float(self.attempt / self.needed):.4g}, at most "
            f"the threshold {float(self.threshold):g}: a class needs {self.needed} records"
        )


def _one_of(settings: Mapping[str, Any], name: str, choices: tuple[str, ...]) -> str:
    value = settings.get(name)
    if value not in choices:
        raise PolicyError(f"context: {name} must be one of {', '.join(choices)}")
    return str(value)


def _context_share(settings: Mapping[str, Any], name: str, default: Fraction | None = None) -> Fraction:
    value = settings.get(name, default)
    if value is None:
        raise PolicyError(f"context: say {name}, a number from 0 to 1")
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction) or not 0 <= value <= 1:
        raise PolicyError(f"context: {name} must be a number from 0 to 1")
    return Fraction(str(value))
