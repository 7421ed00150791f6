"""The quick share of the attacks; `python benchmarks/attacks.py` is the long run."""

from __future__ import annotations

import sys

import pytest

from .core import apart
from .kinds import KINDS

SEED = 0

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="limits and signals are those of Linux"
)


@pytest.mark.parametrize("kind", [name for name in KINDS if KINDS[name].quick])
def test_attacks(kind: str) -> None:
    if KINDS[kind].needs:
        pytest.importorskip(KINDS[kind].needs, reason="the extra is not installed")
    tally = apart(kind, SEED, 0, KINDS[kind].quick, seconds=120)
    again = f'python benchmarks/attacks.py --only "{kind}" --seed {SEED} --case '
    assert not tally.failures, "\n".join(
        f"{again}{case}\n    {failure}" for case, failure in tally.failures[:5]
    )
    assert tally.tried == KINDS[kind].quick
