"""The list of kernels that are compiled before any use."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numba import types

from incrowd.core.kernels import lines, signatures


def test_the_list_has_every_kernel_and_no_other():
    assert list(json.loads(signatures._LIST.read_text())) == sorted(
        name for name, _ in signatures.kept_kernels()
    )


def test_every_listed_signature_is_read_and_written_alike():
    written = json.loads(signatures._LIST.read_text())
    for name in signatures.listed():
        for kinds in signatures.signatures_of(name):
            assert [signatures._description(each) for each in kinds] in written[name]


def test_a_signature_names_each_kind_of_argument():
    counts = signatures.kernel_named("grouping.counting:Counts")
    one = types.Array(types.int64, 1, "C")
    written = ["bool", "float64 2F", "uint8 1C read-only", ["grouping.counting:Counts", *["int64 1C"] * 3],
               ["tuple", "int64", "int64 1C"]]  # fmt: skip
    kinds = [
        types.boolean,
        types.Array(types.float64, 2, "F"),
        types.Array(types.uint8, 1, "C", readonly=True),
        types.BaseTuple.from_types((one, one, one), counts),
        types.Tuple((types.int64, one)),
    ]
    assert [signatures._type(each) for each in written] == kinds
    assert [signatures._description(each) for each in kinds] == written


def test_the_list_grows_by_what_is_kept(tmp_path, monkeypatch):
    """An empty list gets the signature of a kernel that has run, and keeps earlier entries."""
    lines._scan(np.frombuffer(b"a,b\n1,2\n", np.uint8), np.uint8(44), 9)
    before = tmp_path / "signatures.json"
    before.write_text('{"gone:kernel": [["int64"]], "trees:_shape": [["int64"]]}')
    monkeypatch.setattr(signatures, "_LIST", before)
    document = json.loads(signatures.list_of_kept())
    assert ["uint8 1C read-only", "uint8", "int64"] in document["lines:_scan"]
    assert ["int64"] in document["trees:_shape"]
    assert "gone:kernel" not in document


@pytest.mark.parametrize("name", ["trees:none", "nothing:at_all"])
def test_a_kernel_that_is_gone_is_an_error(name):
    with pytest.raises((AttributeError, ImportError)):
        signatures.kernel_named(name)
