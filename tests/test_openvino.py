"""The tests of OpenVINO, which changes how its process handles signals, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = ("encoders/test_bert_openvino.py", "evaluation/test_quantization.py")


def test_they_pass() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("openvino")
    files = [str(Path(__file__).parent / name) for name in TESTS]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", *files],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[1],
        env=os.environ | {"OPENVINO_TESTS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
