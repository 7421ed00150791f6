"""The history of a training as a picture: a panel for what is there."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from linker.errors import LinkerError
from linker.linking.plot import plot
from linker.version import install_hint

HISTORY = [
    {"epoch": 1, "loss": 2.5, "dev_acc1": 0.81, "dev_acc5": 0.9, "sparse_weight": 0.1},
    {"epoch": 2, "loss": 1.5, "dev_acc1": 0.86, "candidate_recall": 0.95, "gold_share": 0.9},
]


@pytest.mark.parametrize(
    ("history", "panels"),
    [(HISTORY, 3), (HISTORY[1:], 2), ([{"epoch": 1, "loss": 1.0}], 1), ([], 1)],
)
def test_a_panel_for_each_kind_of_number_that_is_there(
    tmp_path: Path, history: list[dict[str, float]], panels: int
) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "training.png"
    plot(history, path)
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert int.from_bytes(content[16:20], "big") == panels * 5 * 120  # the width in pixels


def drawn(history: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The points of each line of a plot, by its label."""
    figures = pytest.importorskip("matplotlib.figure")
    kept: list[Any] = []
    monkeypatch.setattr(figures.Figure, "savefig", lambda self, *_, **__: kept.append(self))
    plot(history, Path("training.png"))
    lines = [line for axes in kept[0].axes for line in axes.lines]
    return {line.get_label(): line.get_xydata().tolist() for line in lines}


def test_lines_hold_the_values_of_epochs_that_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(HISTORY, monkeypatch) == {
        "loss": [[1, 2.5], [2, 1.5]],
        "Acc@1": [[1, 0.81], [2, 0.86]],
        "Acc@5": [[1, 0.9]],
        "candidate recall": [[2, 0.95]],
        "training lists with gold": [[2, 0.9]],
        "λ": [[1, 0.1]],
    }


def test_phases_follow_each_other_with_lines_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    align = {"phase": "align", "epoch": 1, "loss": 0.5}
    lines = drawn([align] + [{"phase": "rank", **record} for record in HISTORY], monkeypatch)
    assert lines["loss (align)"] == [[1, 0.5]]
    assert lines["loss (rank)"] == [[2, 2.5], [3, 1.5]]
    assert lines["Acc@1"] == [[2, 0.81], [3, 0.86]]


def test_without_matplotlib_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    message = "needs matplotlib, which is not installed: " + re.escape(install_hint("dense"))
    with pytest.raises(LinkerError, match=message):
        plot(HISTORY, tmp_path / "training.png")
