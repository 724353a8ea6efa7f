"""The chained file: every change is found, a kill leaves a whole file, and writers take turns."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import stat

import pytest

from incrowd.core.errors import TableError
from incrowd.core.io.chain import Chain

RECORDS = [{"n": n, "text": f"é\n{n}"} for n in range(3)]


def add(chain, record):
    with chain.adding() as (_, append):
        append(record)


@pytest.fixture
def chain(tmp_path):
    result = Chain.create(tmp_path / "chain.jsonl")
    for record in RECORDS:
        add(result, record)
    return result


def lines(chain):
    return chain.path.read_bytes().splitlines(keepends=True)


def test_records_come_back_and_files_are_private(chain):
    assert chain.read().records == RECORDS
    assert len(lines(chain)) == 4
    for path in chain.path.parent.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_two_chains_of_the_same_records_differ(chain, tmp_path):
    other = Chain.create(tmp_path / "other.jsonl")
    assert lines(other)[0] != lines(chain)[0]


@pytest.mark.few(1)
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_every_flipped_bit_is_found_and_the_line_is_named(chain, number):
    whole = lines(chain)
    for place in range(len(whole[number - 1])):
        for bit in (0, 4, 7):
            changed = bytearray(whole[number - 1])
            changed[place] ^= 1 << bit
            chain.path.write_bytes(b"".join([*whole[: number - 1], bytes(changed), *whole[number:]]))
            with pytest.raises(TableError, match=f"line {number} ") as error:
                chain.read()
            assert "back from a copy" in str(error.value)


def test_every_flipped_bit_of_the_head_is_found(chain):
    head = chain.path.with_suffix(".head")
    whole = head.read_bytes()
    for place, bit in itertools.product(range(len(whole)), range(8)):
        changed = bytearray(whole)
        changed[place] ^= 1 << bit
        head.write_bytes(bytes(changed))
        # One line more than the head says counts, and only with the digest of the line before it.
        with pytest.raises(TableError):
            chain.read()


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_lost_line_is_found(chain, number):
    whole = lines(chain)
    chain.path.write_bytes(b"".join(whole[: number - 1] + whole[number:]))
    with pytest.raises(TableError, match=f"line {number} "):
        chain.read()


@pytest.mark.parametrize(("one", "other"), [*itertools.combinations([1, 2, 3, 4], 2)])
def test_lines_that_changed_places_are_found(chain, one, other):
    whole = lines(chain)
    whole[one - 1], whole[other - 1] = whole[other - 1], whole[one - 1]
    chain.path.write_bytes(b"".join(whole))
    with pytest.raises(TableError, match=f"line {one} "):
        chain.read()


def test_a_line_twice_and_a_line_of_another_chain_are_found(chain, tmp_path):
    whole = lines(chain)
    chain.path.write_bytes(b"".join([*whole, whole[-1]]))
    with pytest.raises(TableError, match="line 5 does not follow"):
        chain.read()
    other = Chain.create(tmp_path / "other.jsonl")
    for record in RECORDS:
        add(other, record)
    chain.path.write_bytes(b"".join([*whole[:2], *lines(other)[2:]]))
    with pytest.raises(TableError, match="line 3 does not follow"):
        chain.read()


def test_every_cut_is_found(chain):
    whole = chain.path.read_bytes()
    for size in range(len(whole)):
        chain.path.write_bytes(whole[:size])
        with pytest.raises(TableError, match=r"line \d is lost"):
            chain.read()


def test_a_line_without_an_end_was_never_finished(chain):
    with chain.path.open("ab") as file:
        file.write(b'{"digest":"torn')
    assert chain.read().records == RECORDS
    add(chain, {"n": 3})
    assert [each["n"] for each in chain.read().records] == [0, 1, 2, 3]
    assert b"torn" not in chain.path.read_bytes()


def _fails(chain):
    with chain.adding() as (_, append):
        append({"n": 3})
        raise ZeroDivisionError


def test_a_block_that_fails_adds_nothing(chain):
    before = chain.path.read_bytes(), chain.path.with_suffix(".head").read_bytes()
    with pytest.raises(ZeroDivisionError):
        _fails(chain)
    assert (chain.path.read_bytes(), chain.path.with_suffix(".head").read_bytes()) == before


def test_what_the_system_refuses_is_an_error_that_names_the_file(chain, tmp_path):
    with pytest.raises(TableError, match=r"none\.jsonl"):
        Chain(tmp_path / "none.jsonl").read()
    chain.path.with_suffix(".head").unlink()
    with pytest.raises(TableError, match=r"chain\.head: cannot be read .*put it back from a copy"):
        chain.read()


def test_a_disk_that_is_full_before_the_head_is_written_leaves_the_chain_as_it_was(chain, monkeypatch):
    """A full disk leaves no line behind, because the writer was told of a failure."""
    before = chain.path.read_bytes(), chain.read()
    real = os.fsync

    def full(number):
        if os.readlink(f"/proc/self/fd/{number}").endswith(".new"):
            raise OSError(28, "No space left on device")
        real(number)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TableError, match=r"chain\.new: cannot be read or written \(No space"):
        add(chain, {"n": 9})
    monkeypatch.undo()
    assert (chain.path.read_bytes(), chain.read()) == before


def test_a_new_head_is_written_through_no_link(chain, tmp_path):
    (tmp_path / "witness").write_text("witness")
    chain.path.with_suffix(".new").symlink_to(tmp_path / "witness")
    add(chain, {"n": 9})
    assert (tmp_path / "witness").read_text() == "witness"
    assert chain.read().records[-1] == {"n": 9}
    assert not chain.path.with_suffix(".head").is_symlink()
    os.mkfifo(chain.path.with_suffix(".new"))
    add(chain, {"n": 10})
    assert chain.read().records[-1] == {"n": 10}


STEPS = ("fsync", "replace", "truncate")


def _dies(path, number, *, fails):
    """Add a line, and die before a numbered call of the system or half through the call."""
    count = itertools.count(1)

    def counted(real):
        def call(*arguments):
            if next(count) == number:
                os._exit(9)
            return real(*arguments)

        return call

    for name in STEPS:
        setattr(os, name, counted(getattr(os, name)))
    with Chain(path).adding() as (_, append):
        append({"n": 3})
        if fails:
            raise SystemExit(5)


@pytest.mark.few(2)
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6, 7])
def test_a_kill_at_any_write_leaves_a_chain_that_goes_on(chain, number, fails):
    process = multiprocessing.get_context("fork").Process(
        target=_dies, args=(chain.path, number), kwargs={"fails": fails}
    )
    process.start()
    process.join(60)
    values = [each["n"] for each in chain.read().records]
    assert values in ([0, 1, 2], [0, 1, 2, 3])
    if process.exitcode == 0:
        assert values == [0, 1, 2, 3]
    if process.exitcode == 5:
        assert values == [0, 1, 2]
    add(chain, {"n": 9})
    assert [each["n"] for each in chain.read().records] == [*values, 9]


def _writes(path, name, times):
    for number in range(times):
        with Chain(path).adding() as (result, append):
            append({"who": name, "number": number, "before": len(result.records)})


def test_writers_take_turns(tmp_path):
    chain = Chain.create(tmp_path / "chain.jsonl")
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_writes, args=(chain.path, name, 15)) for name in "abc"]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    records = chain.read().records
    assert [each["before"] for each in records] == list(range(45))
    for name in "abc":
        assert [each["number"] for each in records if each["who"] == name] == list(range(15))
    assert chain.path.with_suffix(".lock").exists()
