"""Drawing the history of a training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

History = Sequence[Mapping[str, Any]]
"""A record of each epoch: numbers by their names, and its `phase` where there are several."""

_PANELS: Mapping[str, Mapping[str, str]] = {  # by title: the label of each key of a record
    "loss, mean of the epoch": {
        "loss": "loss",
        "list_loss": "lists",
        "norm_loss": "hypernym norm",
        "dev_loss": "other names",
    },
    "accuracy, recall, lists with gold": {
        "dev_acc1": "Acc@1",
        "dev_acc5": "Acc@5",
        "candidate_recall": "candidate recall",
        "gold_share": "training lists with gold",
        "dev_map": "mAP of held-out names",
    },
    "λ, weight of the sparse score": {"sparse_weight": "λ"},
}


def plot(history: History, path: Path) -> None:
    """Draw losses, accuracies and λ over the epochs into a PNG file.

    Each phase has its own lines.

    Args:
        history: records in the order of the epochs, with any of `loss`, `list_loss`, `norm_loss`,
            `dev_acc1`, `dev_acc5`, `candidate_recall`, `gold_share`, `dev_map`,
            `dev_loss`, `sparse_weight`. A panel without a value is left out.
        path: the file.
    """
    from matplotlib.figure import Figure

    measured = {key for record in history for key in record}
    panels = [title for title, labels in _PANELS.items() if not measured.isdisjoint(labels)]
    panels = panels or ["no epochs"]
    figure = Figure(figsize=(5 * len(panels), 3.6), layout="constrained")
    all_axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, title in zip(all_axes, panels, strict=True):
        _draw(axes, title, _PANELS.get(title, {}), history)
    figure.savefig(path, format="png", dpi=120)


def _draw(axes: Axes, title: str, labels: Mapping[str, str], history: History) -> None:
    """Draw a panel: a line for each key and phase."""
    from matplotlib.ticker import MaxNLocator

    for key, label in labels.items():
        lines: dict[str, list[tuple[int, float]]] = {}
        for number, record in enumerate(history, 1):
            if key in record:
                lines.setdefault(record.get("phase", ""), []).append((number, record[key]))
        for phase, points in lines.items():
            name = f"{label} ({phase})" if len(lines) > 1 else label
            axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=name)
    axes.set_title(title, fontsize="medium")
    axes.set_xlabel("epoch")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlim(0.5, max(len(history), 1) + 0.5)
    axes.grid(alpha=0.3)
    if axes.lines:
        axes.legend(fontsize="small")
