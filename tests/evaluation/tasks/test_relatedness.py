"""Relatedness: files of judged pairs, and the correlation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from linker.errors import LinkerError, Skip
from linker.evaluation.tasks.relatedness import Pair, correlation, read

VECTORS = {"a": (1, 0), "b": (2, 2), "c": (0, 3), "d": (-1, 0), "none": (0, 0)}


def encode(names: Sequence[str]) -> np.ndarray:
    return np.array([VECTORS[name] for name in names], np.float32)


def test_spearman_by_hand() -> None:
    pairs = [Pair("a", "b", 9), Pair("a", "c", 3), Pair("a", "d", 5), Pair("none", "a", 1)]
    # cosines .71, 0, -1, 0: ranks 4, 2.5, 1, 2.5; scores: ranks 4, 2, 3, 1; both have mean 2.5
    x, y = np.array([4, 2.5, 1, 2.5]) - 2.5, np.array([4, 2, 3, 1]) - 2.5
    assert correlation(encode, pairs) == pytest.approx((x @ y) / math.sqrt((x @ x) * (y @ y)))


def test_without_differences_there_is_no_correlation() -> None:
    assert math.isnan(correlation(encode, [Pair("none", "a", 1), Pair("none", "b", 2)]))


def test_reading(tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_text(
        'term1\tterm2\tscore\nfever\ta "high" fever\t3.5\ncold\tflu\t-1\n'
    )
    assert read(tmp_path / "p.tsv") == [
        Pair("fever", 'a "high" fever', 3.5),
        Pair("cold", "flu", -1),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "fever\tcold",
        "fever\tcold\t",
        "fever\tcold\thigh",
        "fever\tcold\tnan",
        "\tcold\t3",
        "fever\x00\tcold\t3",
    ],
)
def test_a_missing_score_is_named_and_may_be_skipped(tmp_path: Path, line: str) -> None:
    path = tmp_path / "p.tsv"
    path.write_text(f"term1\tterm2\tscore\na\tb\t1\n{line}\n")
    with pytest.raises(
        LinkerError, match=r"p.tsv, line 3: (the line is no judged pair|the file is binary)"
    ):
        read(path)
    skip = Skip()
    assert (read(path, skip), skip.count) == ([Pair("a", "b", 1)], 1)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "the columns are not there"),
        ("a\tb\n", "line 1"),
        ("term1\tterm2\tscore\n", "no pairs"),
    ],
)
def test_no_pairs(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / "p.tsv").write_text(content)
    with pytest.raises(LinkerError, match=problem):
        read(tmp_path / "p.tsv")
