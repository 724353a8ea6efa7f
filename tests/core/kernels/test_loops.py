"""`loops.json` lists the kernels that jobs of each algorithm call, so that a bar tells how many there are.

After a change, ``python tests/core/kernels/test_loops.py`` writes the list anew.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import incrowd as ic
from incrowd.core.kernels import jit, signatures
from incrowd.search import ALGORITHMS

LISTED = Path(signatures.__file__).with_name("loops.json")
NUMBERS = {"microaggregation": ["age"]}
TARGETS = {
    "top-down-specialization": "target=admission_type",
    "bottom-up-generalization": "target=admission_type",
}


def calls_of(algorithm: str) -> list[str]:
    """Run two jobs on a small table as on a large one, and return the kernels called from Python."""
    called = set()
    run = jit.Kernel.__call__

    def listen(kernel, *arguments):
        if kernel.kept:
            called.add(f"{kernel.__module__.removeprefix('incrowd.core.kernels.')}:{kernel.__name__}")
        return run(kernel, *arguments)

    table = ic.samples.hospital(300, seed=1)
    spec = ":".join(filter(None, (algorithm, TARGETS.get(algorithm))))
    quasi = {"age": ic.Hierarchy.intervals(5, 20), "zip": ic.Hierarchy.prefix(), "sex": ic.Hierarchy.flat()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit, "so_few", lambda rows: False)
        patch.setattr(jit, "_is_loaded", lambda: True)
        patch.setattr(jit.Kernel, "__call__", listen)
        for models, sensitive in (
            ([ic.KAnonymity(3)], []),
            ([ic.KAnonymity(3), ic.LDiversity(2)], ["diagnosis"]),
        ):
            if algorithm in NUMBERS and sensitive:
                continue
            schema = ic.Schema(
                quasi=NUMBERS.get(algorithm, quasi), sensitive=sensitive,
                insensitive=["admission_type"] if algorithm in TARGETS else [], unlisted="drop",
            )  # fmt: skip
            ic.anonymize(
                table, schema, models, algorithm=spec, unanswered="write", set_limit=300, max_suppression=1.0
            )
    return sorted(called)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS.names())
def test_the_list_has_the_kernels_that_an_algorithm_calls(algorithm):
    assert signatures.loops_of(algorithm) == calls_of(algorithm)


def test_every_algorithm_and_every_listed_kernel_is_known():
    assert json.loads(LISTED.read_text()).keys() == set(ALGORITHMS.names())
    listed = signatures.listed()
    assert all(set(signatures.loops_of(name)) <= listed.keys() for name in ALGORITHMS.names())
    assert signatures.loops_of("unknown") == []


if __name__ == "__main__":
    lines = (f"{json.dumps(name)}: {json.dumps(calls_of(name))}" for name in sorted(ALGORITHMS.names()))
    LISTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
