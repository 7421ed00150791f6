"""Semantic relatedness: the rank correlation (Spearman's) of cosines with human judgements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from linker import files
from linker.errors import InputError, LinkerError, OnError, stop


@dataclass(frozen=True, slots=True)
class Pair:
    """Two terms, and how related people find them (a higher score: more)."""

    first: str
    second: str
    score: float


def read(path: files.Pathlike, on_error: OnError = stop) -> list[Pair]:
    """Read `term1<TAB>term2<TAB>score` lines under such a header.

    Args:
        path: the file.
        on_error: what to do with a bad line; returns to skip it.

    Raises:
        LinkerError: the file has no such columns, or no pair; or what `on_error` raises for a line
            whose score is missing or no number.
    """
    lines = list(files.read_lines(path, on_error=on_error))
    columns = ["term1", "term2", "score"]
    header = lines[0][1].split("\t") if lines else []
    if not set(columns) <= set(header):
        value = "\t".join(header)
        raise InputError(
            path,
            "the columns are not there",
            line=1,
            value=value,
            expected="a header with term1, term2 and score",
        )
    pairs = []
    for number, line in lines[1:]:
        values = dict(zip(header, line.split("\t"), strict=False))
        try:
            score = float(values.get("score", ""))
        except ValueError:
            score = float("nan")
        if not np.isfinite(score) or not values.get("term1") or not values.get("term2"):
            on_error(
                InputError(
                    path,
                    "the line is no judged pair",
                    line=number,
                    value=line,
                    expected="two terms and a number",
                )
            )
            continue
        pairs.append(Pair(values["term1"], values["term2"], score))
    if not pairs:
        raise LinkerError(f"{path}: holds no pairs")
    return pairs


def correlation(
    encode: Callable[[Sequence[str]], NDArray[np.float32]], pairs: Sequence[Pair]
) -> float:
    """Spearman's rank correlation of cosines with judgements; NaN if all cosines are the same.

    A term that the encoder knows nothing of has the zero vector, and the cosine 0 to any other.

    Args:
        encode: makes vectors of names, (names, dim).
        pairs: the judgements.
    """
    left, right = encode([pair.first for pair in pairs]), encode([pair.second for pair in pairs])
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    cosines = (left * right).sum(1) / np.where(lengths, lengths, 1)
    if len(set(cosines.tolist())) < 2:
        return float("nan")
    return float(stats.spearmanr(cosines, [pair.score for pair in pairs]).statistic)
