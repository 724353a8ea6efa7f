"""An address in place of a file gives an error without a password, for any command and option."""

from __future__ import annotations

import inspect
import typing
from pathlib import Path

import pytest
import typer

import incrowd as ic
from incrowd.core.io.addresses import looks_like_address, without_secrets
from incrowd.faces.cli import app

PASSWORD = "S3CRET"
ADDRESS = f"postgresql://me:{PASSWORD}@host/db"
TABLE = "age,zip,disease\n" + "".join(f"{20 + i},0213{i % 10},flu{i % 3}\n" for i in range(12))
POLICY = '[columns.age]\nrole = "quasi"\n[[models]]\nmodel = "k-anonymity"\nk = 2\n'
FILES = {
    "people.csv": TABLE,
    "policy.toml": 'version = 1\nunlisted = "drop"\n' + POLICY,
    "tree.txt": "*\n\ta\n",
}
# What a command needs besides, so that it comes to the option that is tried; by the name of the parameter.
GOOD = {
    "data": "people.csv", "raw": "people.csv", "release": "people.csv", "released": "people.csv",
    "policy": "policy.toml", "output": "out.csv", "spec": "policy.toml", "recoding": "recoding",
    "file": "tree.txt", "files": "tree.txt", "target": "new.json", "algorithms": "mondrian",
    "what": "models", "algorithm": "optimal", "source": "tree.txt",
    "counterfeits": "counts.csv",
}  # fmt: skip


def commands(group: typer.Typer, above: tuple[str, ...] = ()):
    for info in group.registered_commands:
        name = info.name or info.callback.__name__
        yield (*above, name), info.callback
    for inner in group.registered_groups:
        yield from commands(inner.typer_instance, (*above, inner.name))


def parameters(callback):
    hints = typing.get_type_hints(callback, include_extras=True)
    for name, parameter in inspect.signature(callback).parameters.items():
        hint, info = typing.get_args(hints[name])[:2]
        yield name, hint, info, parameter.default


def is_path(hint, info) -> bool:
    return Path in (hint, *typing.get_args(hint)) or getattr(info, "parser", None) is not None


def flag(name: str, info) -> str:
    declared = [text for text in info.param_decls or () if text.startswith("--")]
    return declared[0] if declared else "--" + name.replace("_", "-")


CASES = [
    (words, name, callback)
    for words, callback in commands(app)
    for name, hint, info, _ in parameters(callback)
    if is_path(hint, info)
]


def call(words, wanted, callback, address) -> list[str]:
    arguments, options = [], []
    for name, _, info, default in parameters(callback):
        needed = default is inspect.Parameter.empty
        if name != wanted and not needed:
            continue
        value = address if name == wanted else GOOD[name]
        if isinstance(info, typer.models.ArgumentInfo):
            arguments.append(value)
        else:
            options += [flag(name, info), value]
    if words == ("anonymize",) and wanted != "output":
        options += ["-o", "out.csv"]
    return [*words, *arguments, *options]


def test_the_table_of_cases_has_every_place_of_the_issue():
    result = {(" ".join(words), name) for words, name, _ in CASES}
    assert len(result) > 60
    for pair in [
        ("verify", "released"), ("verify", "policy"), ("anonymize", "save_policy"), ("anonymize", "report"),
        ("anonymize", "recoding"), ("anonymize", "hierarchies"), ("anonymize", "population"),
        ("randomize", "spec"), ("apply", "rows"), ("hierarchy show", "file"), ("hierarchy check", "files"),
        ("hierarchy convert", "target"), ("init", "output"), ("lattice", "output"), ("anatomize", "output"),
        ("demo", "output"), ("attack", "control"), ("compare", "one_page"),
    ]:  # fmt: skip
        assert pair in result


@pytest.mark.few(74)
@pytest.mark.parametrize(
    ("words", "name", "callback"), CASES, ids=[f"{' '.join(case[0])} {case[1]}" for case in CASES]
)
def test_no_command_repeats_a_password(run, tmp_path, monkeypatch, words, name, callback):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "1")
    for file, text in FILES.items():
        (tmp_path / file).write_text(text)
    before = sorted(tmp_path.rglob("*"))
    # These may be databases: this one is of a kind that is none.
    address = ADDRESS.replace("postgresql", "oracle") if name in BASES else ADDRESS
    result = run(*call(words, name, callback, address))
    assert result.status == 2, result.out + result.err
    assert PASSWORD not in result.out + result.err
    assert "address" in result.err
    assert len(result.err.splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before


BASES = ("data", "released", "against")

SPELLINGS = [
    f"postgres://me:{PASSWORD}@host/db", f"PostgreSQL://me:{PASSWORD}@host/db", f"mysql://me:{PASSWORD}@host",
    f"https://me:{PASSWORD}@host/x.csv", f"postgresql:/me:{PASSWORD}@host/db", f"sqlite://me:{PASSWORD}@h/x.db",
    f"jdbc:postgresql://me:{PASSWORD}@host/db", f" postgresql://me:{PASSWORD}@host/db",
    f"postgresql+psycopg://me:{PASSWORD}@host/db", f"host=h user=me password={PASSWORD}",
    f"postgresql://host/db?user=me&password={PASSWORD}", f"folder/mysql://me:{PASSWORD}@host/db",
]  # fmt: skip


@pytest.mark.few(4)
@pytest.mark.parametrize("address", SPELLINGS)
def test_every_spelling_of_an_address_is_known(run, tmp_path, monkeypatch, address):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.toml").write_text(FILES["policy.toml"])
    assert looks_like_address(address)
    assert looks_like_address(Path(address))
    assert PASSWORD not in without_secrets(f"{address}: cannot be read, {address!r}")
    result = run("verify", address, "--policy", "policy.toml")
    assert (result.status, PASSWORD in result.out + result.err) == (2, False)
    for python in (
        lambda: ic.verify(address, "policy.toml"),
        lambda: ic.verify("people.csv", Path(address)),
        lambda: ic.assess(address, ic.Schema(["age"])),
        lambda: ic.Policy.read(address),
        lambda: ic.Hierarchy.read(address),
        lambda: ic.Schema({"age": address + ".csv"}),
    ):
        with pytest.raises(ic.InputError, match=r"an address is no file|write sqlite:///") as caught:
            python()
        assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize(
    "call", [("assess", "people.csv"), ("nothing",), ("list",), (), ("assess", "people.csv", "-k")], ids=str
)
def test_addresses_in_the_wrong_place_are_not_repeated(run, tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(TABLE)
    result = run(*call, ADDRESS)
    assert (result.status, PASSWORD in result.out + result.err) == (2, False)


@pytest.mark.parametrize(
    "path", ["a.csv", "a/b.csv", "/tmp/x", "C:/x.csv", r"C:\x.csv", "a b: c.csv", "./x:/y"]
)
def test_paths_are_no_addresses(path):
    assert not looks_like_address(path)


@pytest.mark.parametrize("made", ["write", "save", "report"])
def test_release_is_not_written_to_an_address(tmp_path, monkeypatch, made):
    monkeypatch.chdir(tmp_path)
    rows = {"age": list(range(8)), "zip": ["1"] * 8}
    import polars as pl

    release = ic.anonymize(pl.DataFrame(rows), ic.Schema(["age", "zip"]), [ic.KAnonymity(2)])
    with pytest.raises(ic.InputError, match=r"an address is no file|write sqlite:///") as caught:
        getattr(release, made)(ADDRESS)
    assert PASSWORD not in str(caught.value)
    assert not list(tmp_path.iterdir())
