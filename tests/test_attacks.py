"""A short share of the attacks; `python benchmarks/attacks/run.py` is the long run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.attacks.run import KINDS, apart

SEED = 0

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="limits and signals are those of Linux"
)


@pytest.mark.parametrize("kind", [name for name in KINDS if KINDS[name].quick])
def test_attacks(kind: str) -> None:
    if KINDS[kind].needs:
        pytest.importorskip(KINDS[kind].needs, reason="the extra is not installed")
    rows = apart(kind, SEED, 0, KINDS[kind].quick, seconds=120)
    again = f'python benchmarks/attacks/run.py --only "{kind}" --seed {SEED} --case '
    failures = [f"{again}{case}\n    {failure}" for case, _, failure in rows if failure]
    assert not failures, "\n".join(failures[:5])
    assert len(rows) == KINDS[kind].quick
