"""How a training shows what it does: a line for each epoch, and on a terminal a bar."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from linker.cli import common

_LABELS = {
    "loss": "loss",
    "gold_share": "lists with gold",
    "synonym_loss": "synonyms",
    "prototype_loss": "prototypes",
    "context_loss": "to names' own vectors",
    "concept_loss": "to their classes' vectors",
    "between_loss": "to half way between",
    "dev_map": "mAP of held-out names",
    "dev_loss": "loss on other names",
    "right_first": "lists with gold first",
    "list_loss": "list loss",
    "norm_loss": "norm loss",
    "sparse_weight": "λ",
    "dev_acc1": "development Acc@1",
    "dev_acc5": "Acc@5",
    "candidate_recall": "candidate recall@20",
}


@contextlib.contextmanager
def shown(checkpoints: Path) -> Iterator[_Progress]:
    """Show the progress of a training; where it is interrupted, say how to go on."""
    progress = _Progress()
    try:
        yield progress
    except KeyboardInterrupt:
        progress.close()
        if checkpoints.is_dir():
            common.say(f"{checkpoints} holds the training up to its last checkpoint; go on with --resume")
        raise
    finally:
        progress.close()


class _Progress:
    """Says how each epoch came out, once; on a terminal also how far it is."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._said: set[tuple[str, int]] = set()

    def __call__(self, event: Any) -> None:
        if not isinstance(event, Mapping):
            self._step(event)
            return
        self.close()
        epoch = event["phase"], event["epoch"]
        if epoch not in self._said:  # that of an alignment comes again with the refit
            self._said.add(epoch)
            numbers = (f"{_LABELS.get(name, name)} {value:.4f}" for name, value in event.items() if name not in ("phase", "epoch"))
            common.say(f"{epoch[0]}, epoch {epoch[1]}: {', '.join(numbers)}")

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _step(self, step: Any) -> None:
        if self._bar is None:
            from tqdm import tqdm

            self._bar = tqdm(
                desc=f"epoch {step.epoch}",
                total=step.steps,
                initial=step.step - 1,
                unit=" steps",
                leave=False,
                disable=not common.has_bars(),
            )
        self._bar.update()
