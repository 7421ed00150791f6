"""The training loop of all phases: steps, epochs, the best weights, resuming after a kill.

A checkpoint is a saved folder of safetensors and JSON, which each epoch replaces.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save_file
from torch import Tensor, nn

from linker.errors import LinkerError
from linker.io import persistence
from linker.records import Activity
from linker.training.plan import Record, RunSettings

_KIND, _SUFFIX = "checkpoint", ".safetensors"
_FIELDS = ("history", "best", "waited")  # of the state of a phase, which its checkpoint has in JSON

Losses = Mapping[str, tuple[Any, float]]
"""Means over the lists or pairs of a batch, and how many these are; `loss` is minimised."""

Tensors = dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class Batch:
    """The names to encode in one step, and the loss of their vectors."""

    names: Sequence[str]  # may repeat
    loss: Callable[[Tensor], Losses]  # of float32 vectors (len(names), dim)


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a training: what is trained, on which batches, for how long, to what end."""

    name: str  # of its records and checkpoints, one of `PHASES`
    module: nn.Module  # has `embed(names)`, and all that is trained
    parameter_groups: Sequence[dict[str, Any]]  # with a learning rate and a weight decay each
    batches: Callable[[int], Sequence[Batch]]  # makes those of an epoch (from 1)
    validate: Callable[[int], Mapping[str, float]]  # measures the weights after an epoch
    epochs: int  # at most
    steps: int  # of each epoch
    optimizer: Literal["adamw", "adam"] = "adamw"
    # share of all steps in which the learning rate rises; then it falls linearly; 0: constant
    warmup: float = 0.0
    clip: float = 0.0  # largest norm of the gradient; 0: no clipping
    # which number of an epoch's record decides whose weights are kept; empty: the last epoch's are
    best_by: str = ""
    minimize: bool = False  # whether the best epoch has the lowest number, instead of the highest
    patience: int = 0  # epochs without a better one before training stops; 0: never stops
    seed: int = 0

    def rate_factor(self, step: int) -> float:
        """What the learning rates of a step (from 0, over all epochs) are multiplied by."""
        total = self.epochs * self.steps
        if not self.warmup:
            return 1.0
        rising = max(1, round(self.warmup * total))
        return (step + 1) / rising if step < rising else (total - step) / (total - rising)


def run(phase: Phase, settings: RunSettings, fingerprint: Mapping[str, object]) -> list[Record]:
    """Train the module of a phase; at the end it has the best weights.

    Args:
        phase: what is trained. Its batches depend on the epoch and the weights alone.
        settings: where a checkpoint is written after each epoch, and who is told of steps and
            epochs.
        fingerprint: of all that the weights depend on, beside the numbers of the phase.

    Returns:
        The record of each epoch: `phase`, `epoch` (from 1), averages over its steps, and what the
        validation gives.

    Raises:
        LinkerError: the loss or the gradient is not finite, the memory is too small, or the
            checkpoint is of another training.
    """
    state = _State(phase, settings, fingerprint)
    for record in state.history:
        settings.on_event(record)
    while len(state.history) < phase.epochs and not 0 < phase.patience <= state.waited:
        settings.on_event(state.train_epoch())
    if state.best_weights:
        phase.module.load_state_dict(state.best_weights)
    phase.module.eval()
    return state.history


class _State:
    """A phase between two epochs; a checkpoint holds it."""

    def __init__(
        self, phase: Phase, settings: RunSettings, fingerprint: Mapping[str, object]
    ) -> None:
        self.phase, self.module, self.settings = phase, phase.module, settings
        folder = settings.folder(phase.name)
        self.folder = folder and folder / _KIND
        numbers = {f.name: getattr(phase, f.name) for f in dataclasses.fields(phase)[5:]}
        self.fingerprint = json.loads(json.dumps({**fingerprint, **numbers}))
        self.names: dict[Tensor, str] = {p: name for name, p in self.module.named_parameters()}
        kind = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}[phase.optimizer]
        groups = [dict(group) for group in phase.parameter_groups]
        self.optimizer = kind(groups, fused=True)  # on CPUs four times faster than unfused
        self.peak_rates = [group["lr"] for group in self.optimizer.param_groups]
        self.history: list[Record] = []
        self.best: float | None = None  # the number that the best epoch was chosen by
        self.waited = 0  # epochs since the best one
        self.best_weights: Tensors | None = None
        if self.folder and settings.resume and self.folder.parent.is_dir():
            self.restore(self.folder)

    def restore(self, folder: Path) -> None:
        """Go back to where the checkpoint was written, where there is one."""
        try:
            old, fields, tensors = persistence.load(folder, _KIND, _read)
        except LinkerError as error:
            if not folder.exists():
                return
            raise LinkerError(f"{error}; or remove the folder to train from the start") from None
        new = self.fingerprint
        if changes := [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]:
            raise LinkerError(
                f"{folder.parent}: the checkpoint is of another training, with another "
                f"{', '.join(changes)}; remove the folder, or take what it had"
            )
        self.history, self.best, self.waited = fields
        self.module.load_state_dict(tensors["weights"])
        self.best_weights = tensors.get("best")
        parameters = {name: parameter for parameter, name in self.names.items()}
        for key, tensor in tensors["optimizer"].items():
            name, _, kind = key.rpartition(".")
            # a fused optimizer wants the number of steps on the parameter's device, too
            value = tensor.to(parameters[name].device)
            self.optimizer.state[parameters[name]][kind] = value

    def save(self, weights: Tensors) -> None:
        """Write a checkpoint with the weights of the moment, in place of the one before."""
        if not self.folder:
            return
        moments = {  # such as `encoder.weight.exp_avg`
            f"{self.names[parameter]}.{kind}": tensor
            for parameter, kinds in self.optimizer.state.items()
            for kind, tensor in kinds.items()
        }
        groups = {"weights": weights, "optimizer": _copied(moments)}
        if self.best_weights:
            groups["best"] = self.best_weights
        state = {name: getattr(self, name) for name in ("fingerprint", *_FIELDS)}
        with persistence.saving(self.folder, _KIND, state, _read) as folder:
            for name, values in groups.items():
                try:
                    save_file(values, folder / (name + _SUFFIX))
                except SafetensorError as error:  # a full disk, among others
                    raise OSError(str(error)) from None

    def train_epoch(self) -> Record:
        """Make the steps of an epoch, validate, keep the best weights, and write a checkpoint."""
        phase, epoch = self.phase, len(self.history) + 1
        self.module.eval()
        batches = phase.batches(epoch)
        self.module.train()
        sums: dict[str, tuple[float, float]] = {}
        for step, batch in enumerate(batches):
            numbers = self.step(step, batch)
            for name, (number, weight) in numbers.items():
                total, weights = sums.get(name, (0.0, 0.0))
                sums[name] = total + number * weight, weights + weight
            share = (step + 1 + (epoch - 1) * phase.steps) / (phase.epochs * phase.steps)
            at = f"epoch {epoch} of {phase.epochs}, loss {numbers['loss'][0]:.4f}"
            self.settings.on_activity(Activity(phase.name, share, at))
        self.module.eval()
        means = {name: total / weight for name, (total, weight) in sums.items() if weight}
        measured = {name: float(value) for name, value in phase.validate(epoch).items()}
        record: Record = {"phase": phase.name, "epoch": epoch, **means, **measured}
        self.history.append(record)
        copies = _copied(self.module.state_dict())
        if phase.best_by:
            self.waited += 1
            merit = record[phase.best_by] * (-1 if phase.minimize else 1)
            if self.best is None or merit > self.best:
                self.best, self.waited, self.best_weights = merit, 0, copies
        self.save(copies)
        return record

    def step(self, step: int, batch: Batch) -> dict[str, tuple[float, float]]:
        """Make an optimizer step, and give its numbers with their weights."""
        phase, epoch = self.phase, len(self.history)
        self.module.zero_grad()
        try:
            losses = self.losses(step, batch)
            loss, weight = losses["loss"]
            if loss.requires_grad:
                torch.autograd.backward(loss)
        except torch.OutOfMemoryError:
            raise LinkerError(
                "out of memory; take a smaller batch_size, a smaller encoder or device=cpu"
            ) from None
        value = float(loss.detach())
        trained = [p for group in self.optimizer.param_groups for p in group["params"]]
        norm = float(nn.utils.clip_grad_norm_(trained, phase.clip or math.inf))
        if not (math.isfinite(value) and math.isfinite(norm)):
            kept = f"; the last good checkpoint is kept in {self.folder}" if self.folder else ""
            raise LinkerError(
                f"epoch {epoch + 1}, step {step + 1}: the loss is {value:g} and the norm of "
                f"its gradient {norm:g}; training stopped{kept}; try a lower learning rate"
            )
        # not LambdaLR, which is longer: to resume, it needs `initial_lr` and the step before
        factor = phase.rate_factor(epoch * phase.steps + step)
        for group, rate in zip(self.optimizer.param_groups, self.peak_rates, strict=True):
            group["lr"] = rate * factor
        self.optimizer.step()
        return {**losses, "loss": (value, weight)}

    def losses(self, step: int, batch: Batch) -> Losses:
        """Encode each distinct name of a batch once, and give its losses.

        The step seeds the dropout, so that a resumed training has the same.
        """
        rows = {name: row for row, name in enumerate(dict.fromkeys(batch.names))}
        entropy = (self.phase.seed, len(self.history), step, 0, 0)
        torch.manual_seed(int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0]))
        vectors: Tensor = cast(Any, self.module).embed([*rows]).float()
        places = torch.tensor([rows[name] for name in batch.names], device=vectors.device)
        # unlike that of vectors[places], the gradient of embedding() adds in a fixed order
        return batch.loss(nn.functional.embedding(places, vectors))


def _read(
    folder: Path, config: Mapping[str, Any]
) -> tuple[dict[str, object], list[Any], dict[str, Tensors]]:
    """What a checkpoint holds: its fingerprint, `_FIELDS`, and the groups of tensors."""
    tensors = {file.stem: load(file.read_bytes()) for file in folder.glob("*" + _SUFFIX)}
    return dict(config["fingerprint"]), [config[name] for name in _FIELDS], tensors


def _copied(tensors: Mapping[str, Tensor]) -> Tensors:
    """Copies on the CPU, contiguous, so that further training does not change them."""
    return {
        name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()
    }
