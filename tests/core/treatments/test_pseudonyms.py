"""Keyed pseudonyms: the standard's vectors, the forms of tokens, and keys that nobody sees."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import pickle
import traceback

import polars as pl
import pytest
from hypothesis import given as tried
from hypothesis import strategies as st

import incrowd as ic
from incrowd.core.treatments.keys import Secret, read_key
from incrowd.core.treatments.pseudonym import tokens
from treatment_tables import KEY, given

# RFC 4231, sections 4.2 to 4.8, HMAC-SHA-256; case 5 is cut to 128 bits.
VECTORS = [
    (b"\x0b" * 20, b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
    (b"Jefe", b"what do ya want for nothing?",
     "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
    (b"\xaa" * 20, b"\xdd" * 50, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
    (bytes(range(1, 26)), b"\xcd" * 50,
     "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
    (b"\x0c" * 20, b"Test With Truncation", "a3b6167473100ee06e0c796c2955552b"),
    (b"\xaa" * 131, b"Test Using Larger Than Block-Size Key - Hash Key First",
     "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"),
    (b"\xaa" * 131, b"This is a test using a larger than block-size key and a larger than block-size data."
     b" The key needs to be hashed before being used by the HMAC algorithm.",
     "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "message", "digest"), VECTORS)
def test_vectors_of_rfc_4231(key, message, digest):
    assert Secret(key).digest(message).hex().startswith(digest)


@pytest.mark.parametrize(("key", "message", "digest"), [each for each in VECTORS if each[1].isascii()])
def test_vectors_of_rfc_4231_among_many_texts(key, message, digest):
    texts = pl.Series(["0", "1"])
    result = Secret(key).digests(pl.concat([texts, pl.Series(["", message.decode(), "é" * 40])]))
    assert result[-2].tobytes().hex().startswith(digest)
    others = [hmac.digest(key, text.encode(), "sha256") for text in ("0", "", "é" * 40)]
    assert [result[place].tobytes() for place in (0, -3, -1)] == others


@tried(st.lists(st.text(max_size=20), min_size=1, unique=True))
def test_a_token_is_the_beginning_of_the_digest(texts):
    digests = [hmac.new(KEY.encode(), text.encode(), hashlib.sha256).digest() for text in texts]
    series, secret = pl.Series(texts), Secret(KEY.encode())
    assert tokens(series, secret, "hex", 20).to_list() == [each.hex()[:20] for each in digests]
    assert tokens(series, secret, "base32", 20).to_list() == [
        base64.b32encode(each).decode()[:20] for each in digests
    ]
    assert tokens(series, secret, "digits", 20).to_list() == [
        str(int(each.hex(), 16) % 10**20).zfill(20) for each in digests
    ]
    for form in ("hex", "base32", "digits"):
        values = given(ic.Pseudonym(key="env:X", length=20, form=form), [*texts, None, *texts], KEY)
        assert values == [*values[: len(texts)], None, *values[: len(texts)]]


def test_two_values_of_one_token_are_refused():
    many = [str(n) for n in range(20_000)]
    # Of 10^6 tokens, about 200 pairs of 20,000 values share one.
    with pytest.raises(ic.ParameterError, match="'c': two values have the same pseudonym of 6 characters"):
        given(ic.Pseudonym(key="env:X", length=6, form="digits"), many, KEY)
    assert len(set(given(ic.Pseudonym(key="env:X", length=16, form="digits"), many, KEY))) == len(many)


@pytest.mark.parametrize(("form", "length"), [("hex", 65), ("base32", 53), ("digits", 78)])
def test_a_token_is_no_longer_than_a_digest(form, length):
    with pytest.raises(ic.ParameterError, match="length must be"):
        ic.Pseudonym(key="env:X", length=length, form=form)


# --- keys ------------------------------------------------------------------------------------------


def test_a_key_comes_from_the_environment_or_a_file(monkeypatch, tmp_path):
    monkeypatch.setenv("CLINIC_KEY", KEY)
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    file.chmod(0o600)
    digest = Secret(KEY.encode()).digest(b"a")
    assert read_key("env:CLINIC_KEY", "c").digest(b"a") == digest
    assert read_key(f"file:{file}", "c").digest(b"a") == digest


def test_a_key_is_asked_for_where_somebody_is_there(monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("getpass.getpass", lambda _: KEY)
    assert read_key("prompt", "c").digest(b"a") == Secret(KEY.encode()).digest(b"a")
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(ic.ParameterError, match="nobody is there to be asked"):
        read_key("prompt", "c")


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("", "is not set"),
        ("Q7x-", "too short"),
        (KEY[:31], "too short"),
        ("a" * 64, "too regular"),
        ("ab" * 32, "too regular"),
        ("password" * 4, "too regular"),
    ],
)
def test_weak_keys_are_refused_and_not_repeated(key, said, monkeypatch):
    monkeypatch.setenv("CLINIC_KEY", key)
    with pytest.raises(ic.ParameterError, match=said) as error:
        read_key("env:CLINIC_KEY", "c")
    assert not key or key not in str(error.value)


def test_a_key_file_that_others_may_read_is_refused(tmp_path):
    file = tmp_path / "key"
    file.write_text(KEY)
    for mode in (0o640, 0o604, 0o660):
        file.chmod(mode)
        with pytest.raises(ic.ParameterError, match=rf"others may read .*mode {mode:o}"):
            read_key(f"file:{file}", "c")
    with pytest.raises(ic.ParameterError, match="cannot be read"):
        read_key(f"file:{tmp_path / 'none'}", "c")
    with pytest.raises(ic.ParameterError, match=r"is no regular file|cannot be read"):
        read_key(f"file:{tmp_path}", "c")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_a_device_holds_no_key():
    with pytest.raises(ic.ParameterError, match="no regular file"):
        read_key("file:/dev/null", "c")


@pytest.mark.parametrize("source", [KEY, "", "env:", "file:", "vault:x"])
def test_a_policy_says_where_a_key_is_and_never_what_it_is(source):
    with pytest.raises(ic.ParameterError, match="say where the key is") as error:
        ic.Pseudonym(key=source)
    assert KEY not in str(error.value)


def test_nothing_shows_a_key(monkeypatch):
    monkeypatch.setenv("CLINIC_KEY", KEY)
    secret = read_key("env:CLINIC_KEY", "c")
    assert KEY not in repr(secret) + str(secret) + repr([secret]) + f"{secret!r}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    try:
        given(
            ic.Pseudonym(key="env:CLINIC_KEY", length=6, form="digits"), [str(n) for n in range(20_000)], KEY
        )
    except ic.ParameterError as error:
        report = traceback.TracebackException.from_exception(error, capture_locals=True)
        inside = [line for line in report.format() if "secret" in line]
        assert inside
        assert not any(KEY in line for line in inside if "given(" not in line and "key =" not in line)


def test_purposes_have_keys_of_their_own():
    secret = Secret(KEY.encode())
    assert secret.for_purpose("a").digest(b"x") != secret.for_purpose("b").digest(b"x") != secret.digest(b"x")
