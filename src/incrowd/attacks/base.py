"""Results of attacks: success rates with confidence intervals, and the resulting risk."""

from __future__ import annotations

import html
import math
from dataclasses import asdict, dataclass, field
from typing import Any

from incrowd.core.markup import cards, table

_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Rate:
    """A success rate with a 95 % confidence interval; see `wilson`."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Attack:
    """Success rates of a kind of attack, with an interval, a baseline and a control.

    Attributes
    ----------
    name
        One of `KINDS`.
    attacks
        How many guesses were made.
    main, baseline
        Success with the release, and of guessing without it.
    control
        Success against people of whom the release knows nothing; None where none were given.
    risk
        (main - control) / (1 - control): what the release tells of its own people beyond what it tells of
        people in general. None without control.
    figures
        What else was counted, by name; each attack says what it has.
    columns
        Share of the right guesses that rest on each column, by its name, 0..1, the largest first. A guess
        rests on a column if it is wrong without it. Only singling out has them.
    remarks
        Sentences on what makes it succeed, and the changes that remove that.
    """

    name: str
    attacks: int
    main: Rate
    baseline: Rate
    control: Rate | None
    risk: Rate | None
    figures: dict[str, float] = field(default_factory=dict)
    columns: dict[str, float] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        from incrowd.release.report.charts import attacks, svg_if_drawn

        found = self.to_dict()
        words = {"main": "right with the release", "baseline": "right without it",
                 "control": "right of others", "risk": "risk"}  # fmt: skip
        rows: list[tuple[object, ...]] = [
            (word, each["value"], each["low"], each["high"])
            for name, word in words.items()
            if (each := found[name]) is not None
        ]
        rows += [(name, value, None, None) for name, value in self.figures.items()]
        rows += [(f"rests on {name}", share, None, None) for name, share in self.columns.items()]
        figures = (
            ("Right guesses", f"{self.main.value:.1%}", "with the release"),
            ("Without it", f"{self.baseline.value:.1%}", "by guessing"),
            ("Guesses", f"{self.attacks:,}", self.name.replace("-", " ")),
        )
        return (
            cards(figures)
            + (svg_if_drawn(attacks([found])) if self.attacks else "")
            + table(repr(self), ("figure", "value", "from", "to"), rows)
            + "".join(f"<p>{html.escape(remark)}</p>" for remark in self.remarks)
        )

    def __repr__(self) -> str:
        rates = f"{self.main.value:.3f} right, {self.baseline.value:.3f} without it"
        return f"Attack({self.name}: {self.attacks:,} guesses, {rates})"

    @classmethod
    def of_nothing(cls, name: str, *reasons: str) -> Attack:
        """Return the result of an attack that made no guess, with the reasons."""
        remarks = tuple(f"not measured: {reason}" for reason in reasons)
        return cls(name, 0, wilson(0, 0), wilson(0, 0), None, None, remarks=remarks)

    @property
    def stronger_than_guessing(self) -> bool:
        """Whether the release helped, without which the figures say little about the risk."""
        return self.main.value > self.baseline.value

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without any value of the tables."""
        return asdict(self) | {"stronger_than_guessing": self.stronger_than_guessing}


def wilson(successes: int, attacks: int) -> Rate:
    """Estimate a success rate by Wilson's score: centre and ends of the 95 % confidence interval.

    Of no attacks nothing is known: 0, and any rate from 0 to 1 is possible.

    References
    ----------
    Wilson, Probable inference, the law of succession, and statistical inference, JASA 22(158), 1927; used
    so by Giomi et al., A unified framework for quantifying privacy risk in synthetic data, PoPETs 2023,
    section 4.1.
    """
    if not attacks:
        return Rate(0.0, 0.0, 1.0)
    square = _Z**2
    centre = (successes + square / 2) / (attacks + square)
    half = _Z / (attacks + square) * math.sqrt(successes * (attacks - successes) / attacks + square / 4)
    return Rate(centre, max(centre - half, 0.0), min(centre + half, 1.0))


def risk_of(main: Rate, control: Rate) -> Rate:
    """Return the excess of a rate over a control, with errors added in squares."""
    scale = max(1 - control.value, 1e-12)
    value = (main.value - control.value) / scale
    of_control = (control.high - control.value) * (1 - main.value) / scale
    error = math.hypot(main.high - main.value, of_control) / scale
    return Rate(*(min(max(end, 0.0), 1.0) for end in (value, value - error, value + error)))
