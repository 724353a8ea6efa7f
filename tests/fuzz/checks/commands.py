"""Calls of the command line that release the table of a case, with inputs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import incrowd as ic
from fuzz.checks.made import Made, people_of, rid_of
from fuzz.checks.series import series_policy

COMMANDS = ("anonymize", "a folder", "apply", "next")


def draw_call(
    draw: random.Random, made: Made, work: Path, *, recorded: bool = False
) -> tuple[str, list[str]]:
    """Draw a command with options, and write the input files.

    Parameters
    ----------
    work
        An empty folder.
    recorded
        Whether a ledger takes the release, in every case.

    Returns
    -------
    command
        One of `COMMANDS`.
    call
        Its words.
    """
    # A ledger takes tables in memory.
    command = draw.choice([name for name in COMMANDS if not recorded or name != "a folder"])
    table, policy = made.place.seen, made.policy
    if command == "next" and (
        len(policy.schema.sensitive) != 1 or policy.schema.treated or policy.schema.person
    ):
        command = "anonymize"
    (work / "parts").mkdir()
    middle = table.height // 2
    for number, part in enumerate((table[:middle], table[middle:])):
        part.write_parquet(work / "parts" / f"{number}.parquet")
    table.write_parquet(work / "people.parquet")
    if command == "next":
        policy = series_policy(policy, draw.randint(2, 3))
    # A policy that is saved has its hierarchies beside it.
    (work / "asked").mkdir()
    policy.write(work / "asked" / "policy.toml")
    ic.Ledger.init(work / "book")
    folder = command == "a folder"
    data, ending = "parts" if folder else "people.parquet", draw.choice([".csv", ".parquet"])
    out = "out" if folder and draw.random() < 0.5 else f"out{ending}"
    call = [
        "anonymize" if folder else command,
        data,
        "--policy",
        "asked/policy.toml",
        "-o",
        out,
        "--unanswered",
        "write",
    ]
    if recorded or command == "next" or (not folder and draw.random() < 0.7):
        call += ["--ledger", "book", "--recipient", "A"]
        rid = rid_of(made.case)
        if command == "next" or (
            draw.random() < (0.9 if recorded else 0.5) and "," not in rid and rid == rid.strip()
        ):
            call += ["--ledger-keys", rid]
    if command == "apply":
        made.release.recoding.save(work / "kept")
        call.insert(1, "kept")
    people = people_of(made.case, made.place)
    if people is not None and "anonymize" in call:
        people.write_parquet(work / "population.parquet")
        call += ["--population", "population.parquet"]
    more = {
        "next": [["--save-policy", "p.toml"]],
        "apply": [["--hold", "held.parquet"], ["--rows", "numbers.csv"]],
    }.get(command, [["--row-map", "rows.parquet"], ["--save-policy", "p.toml"], ["--recoding", "rec"]])
    chosen: list[Sequence[str]] = [option for option in more if draw.random() < 0.4]
    chosen += [["--counterfeits", "counts.csv"]] if command == "next" else []
    chosen += [["--force"]] if draw.random() < 0.4 else []
    return command, call + [word for option in chosen for word in option]
