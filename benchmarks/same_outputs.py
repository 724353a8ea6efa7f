"""Says whether two versions write the same: every file byte for byte, every exit status, all that is printed.

Write what a version makes, then what another makes, and compare:

    python benchmarks/same_outputs.py write before/
    git switch other-branch
    python benchmarks/same_outputs.py write after/
    python benchmarks/same_outputs.py compare before/ after/

Times are left out, and so are PDF files, which hold the time of day. Released rows stay in their order here:
a random order differs from run to run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

STYLES = {"mondrian": ["range", "set", "ancestor", "mean", "suppress"]}
"""Output styles to try; `auto` of all other algorithms."""
FULL_DOMAIN = "optimal bottom-up samarati incognito datafly ola flash"
LOCAL = (
    "mondrian clustering k-member oka mdav random top-down-specialization:target=ward "
    "bottom-up-generalization:target=ward cell-suppression"
)
MODELS = """
l-diversity:l=2,kind=entropy
l-diversity:l=2,kind=recursive,c=3
t-closeness:t=0.5
normalized-entropy:h=0.3
alpha-k-anonymity:alpha=0.6,k=3
subset-k-anonymity:k=3,of=2
lkc-privacy:L=2,K=3,C=0.8
beta-likeness:beta=4
delta-disclosure:delta=3,absent=skip
maximum-risk:risk=0.34
average-risk:risk=0.1
records-at-risk:share=0.2,threshold=0.2
p29:score=0.3
"""
QI = "--qi age,zip,sex,admitted --sensitive diagnosis"
POLICY = "--policy policy.toml"
OTHERS = f"""
help: --help
init: init people.csv -o draft.toml
microaggregation: anonymize people.csv -o micro.csv --qi age --unlisted drop -k 4 --algorithm microaggregation
file: anonymize people.parquet -o released.parquet {POLICY} --recoding recoding --report report.html
report: anonymize people.csv -o again.csv {POLICY} --report report.json --internal
stream: anonymize folder -o stream {POLICY} --stream
database: anonymize duckdb:///people.db --table people --into safe {POLICY}
from database: assess duckdb:///people.db --table safe {POLICY} --json
full domain: anonymize people.csv -o levels.csv {POLICY} --levels age=2,zip=4,sex=1,admitted=2 --recoding full
apply: apply recoding later.csv {POLICY} -o later-safe.csv --max-suppression 1 --rows rows.csv
assess: assess people.csv {POLICY} --by-class --report assessed.html
assess json: assess people.parquet {POLICY} --json
utility: utility people.csv mondrian-range.csv {QI} --json
utility and learning: utility people.csv again.csv {POLICY} --target ward
risk: risk few.csv {QI} --population-size 5000
risk json: risk few.csv {QI} --json
attack: attack people.csv mondrian-range.csv {QI} --attacks 50 --aligned --also mondrian-set.csv
attack json: attack people.csv again.csv {POLICY} --kinds minimality --secret diagnosis --json
lattice: lattice people.csv {POLICY} -o lattice.json
compare: compare few.csv --algorithms mondrian,clustering {QI} -k 2,5 --json
anatomize: anatomize people.csv -o parts {QI} --unlisted drop -l 2
p29: p29 people.csv {QI} --unlisted drop -o p29.csv -k 1 -t 0.9 -l 0.9
randomize: randomize people.csv --spec noise.toml -o noisy.csv
verify: verify mondrian-range.csv --policy mondrian-range/policy.toml --against people.csv
verify json: verify released.parquet {POLICY} --json
verify fails: verify people.csv {POLICY}
hierarchy: hierarchy check trees/age.csv
infeasible: anonymize few.csv -o no.csv {QI} --unlisted drop -l 9
too large: anonymize few.csv -o no.csv {QI} --unlisted drop -k 201
no file: assess nowhere.csv --qi age
no column: assess people.csv --qi nothing
exists: anonymize people.csv -o levels.csv {POLICY}
"""
TABLE_POLICY = """
version = 1
max_suppression = 0.1
null_values = ["?"]
unlisted = "drop"
[columns]
id = { role = "identifying" }
age = { role = "quasi", hierarchy = { intervals = [5, 20] } }
zip = { role = "quasi", hierarchy = { prefix = true } }
sex = { role = "quasi" }
admitted = { role = "quasi", hierarchy = { dates = ["month", "year"] } }
diagnosis = { role = "sensitive" }
ward = { role = "insensitive" }
[[models]]
model = "k-anonymity"
k = 4
[[models]]
model = "l-diversity"
l = 2
"""


def inputs() -> None:
    """Make the tables, hierarchies and policies that the calls read."""
    import duckdb
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(7)
    rows = 600
    zips = [f"{a:05d}" for a in rng.choice([2138, 2139, 2140, 10001, 10002, 94110, 94117], rows)]
    missing = rng.random(rows) < 0.03
    table = pl.DataFrame({
        "id": [f"P{n:05d}" for n in range(rows)],
        "age": rng.integers(0, 95, rows),
        "zip": [None if gone else text for text, gone in zip(zips, missing, strict=True)],
        "sex": rng.choice(["f", "m", "x"], rows, p=[0.5, 0.45, 0.05]),
        "admitted": pl.Series(np.datetime64("2020-01-01") + rng.integers(0, 700, rows)).cast(pl.Date),
        "ward": rng.choice(["north", "south", "west"], rows),
        "diagnosis": rng.choice(["flu", "cold", "gout", "HIV", "?"], rows, p=[0.4, 0.3, 0.2, 0.05, 0.05]),
    })  # fmt: skip
    table.write_csv("people.csv")
    table.write_parquet("people.parquet")
    table.head(200).write_csv("few.csv")
    table.tail(100).write_csv("later.csv")
    Path("folder").mkdir()
    for number in range(3):
        table[number * 200 : number * 200 + 200].write_parquet(f"folder/{number}.parquet")
    with duckdb.connect("people.db") as connection:
        connection.execute("CREATE TABLE people AS SELECT * FROM read_csv('people.csv', all_varchar = true)")
    Path("trees").mkdir()
    ages = [f"{age};[{age // 10}0-{age // 10}9];{'young' if age < 50 else 'old'};*\n" for age in range(95)]
    Path("trees/age.csv").write_text("".join(ages))
    Path("trees/zip.csv").write_text(
        "".join(f"{text};{text[:4]}*;{text[:3]}**;*\n" for text in sorted(set(zips)))
    )
    Path("policy.toml").write_text(TABLE_POLICY)
    Path("noise.toml").write_text('[columns]\nsex = { mechanism = "nonsense" }\n')


def calls() -> dict[str, str]:
    """List every call by its name; they run in this order in one folder."""
    made = {f"list {what}": f"list {what} --json" for what in ("models", "algorithms", "metrics", "risks")}
    for algorithm in f"{FULL_DOMAIN} {LOCAL}".split():
        bare = algorithm.partition(":")[0]
        table = "few.csv" if bare in ("oka", "k-member") else "people.csv"
        for style in STYLES.get(bare, ["auto"]):
            name = f"{bare}-{style}"
            made[name] = (
                f"anonymize {table} -o {name}.csv {QI} --insensitive ward --unlisted drop -k 3 --json "
                f"--hierarchies trees --algorithm {algorithm} --style {style} --max-suppression 0.1 "
                f"--save-policy {name}/policy.toml"
            )
    for number, model in enumerate(MODELS.split()):
        made[model] = (
            f"anonymize people.csv -o model-{number}.csv {QI} --unlisted drop -k 2 --model {model} "
            "--max-suppression 0.3 --null-value ?"
        )
    return made | dict(line.split(": ", 1) for line in OTHERS.strip().splitlines())


def write(folder: Path) -> None:
    """Run every call in a new folder, and write down what each says beside what it writes."""
    folder.mkdir(parents=True)
    subprocess.run([sys.executable, Path(__file__).resolve(), "inputs"], cwd=folder, check=True)
    said = {}
    for name, call in calls().items():
        if "--save-policy" in call:
            (folder / name).mkdir()
        command = [sys.executable, Path(__file__).resolve(), "call", *shlex.split(call)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        said[name] = [done.returncode, _timeless(done.stdout), _timeless(done.stderr)]
        print(f"{done.returncode} {name}", flush=True)
    (folder / "said.json").write_text(json.dumps(said, indent=1))


def call_in_order(arguments: list[str]) -> None:
    """Run the command line, in which every row gets the number of its place and not a random one."""
    import numpy as np

    from incrowd.core.io.shuffle import RandomOrder
    from incrowd.faces.cli import main as command_line

    RandomOrder.numbers = lambda _, start, stop: np.arange(start, stop, dtype=np.uint64)  # type: ignore[method-assign]
    sys.argv = ["incrowd", *arguments]
    command_line()


def _timeless(text: str) -> str:
    text = re.sub(r'"seconds": (\{[^}]*\}|[0-9.e-]+)', '"seconds": 0', text)
    text = re.sub(r"[0-9.]+ s: [a-z]+ [0-9.]+(, [a-z ]+ [0-9.]+)*", "# s", text)
    return re.sub(r"[0-9]+(\.[0-9]+)? ?(ms|s|seconds|MiB)\b", "# s", text)


def _digest(path: Path) -> str:
    data = path.read_bytes()
    if path.suffix in (".json", ".html"):
        data = _timeless(data.decode()).encode()
    return hashlib.sha256(data).hexdigest()


def _files(folder: Path) -> dict[str, str]:
    found = (path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".pdf", ".db"))
    return {path.relative_to(folder).as_posix(): _digest(path) for path in found if path.name != "said.json"}


def _said(folder: Path) -> dict[str, str]:
    said = json.loads((folder / "said.json").read_text())
    words = ("status", "output", "errors")
    return {
        f"{word} of {name}": each
        for name, three in said.items()
        for word, each in zip(words, three, strict=True)
    }


def compare(before: Path, after: Path) -> int:
    """Print what differs; 1 if anything does."""
    one, other = ({**_files(folder), **_said(folder)} for folder in (before, after))
    wrong = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    print("\n".join(wrong) or f"{len(_files(before))} files and {len(_said(before)) // 3} calls: the same")
    return int(bool(wrong))


def main() -> int:
    """Read the arguments."""
    if sys.argv[1:2] == ["call"]:
        call_in_order(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("inputs", help="make the tables that the calls read, here")
    commands.add_parser("write", help="run all calls in a new folder").add_argument("folder", type=Path)
    two = commands.add_parser("compare", help="say what two folders differ in")
    two.add_argument("before", type=Path)
    two.add_argument("after", type=Path)
    options = parser.parse_args()
    if options.command == "compare":
        return compare(options.before, options.after)
    inputs() if options.command == "inputs" else write(options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
