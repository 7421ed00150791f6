"""The training loop of all phases: steps, epochs, the best weights, little memory, resuming.

`run` yields a report of each step and of each epoch. What is trained, the batches and the
validation are the `Phase`'s. A checkpoint is a folder of safetensors and JSON that is complete as
soon as it has its name; accelerate's own would be pickles.
"""

from __future__ import annotations

import json
import logging
import math
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import broadcast, broadcast_object_list, gather_object
from safetensors import SafetensorError
from safetensors.torch import load, save_file
from torch import Tensor, nn

from linker import persistence
from linker.errors import LinkerError, shorten
from linker.files import replacing
from linker.training.plan import Record

logger = logging.getLogger(__name__)

_KIND, _SUFFIX = "checkpoint", ".safetensors"
_NAME = r"\d{5,}"  # finished epochs

Tensors = Mapping[str, Tensor]


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss of a batch, and further numbers to report."""

    value: Tensor  # scalar, to be minimized
    # how many lists or pairs the value is the mean of; steps and processes are averaged by it
    weight: float = 1.0
    # further means, each with its weight
    numbers: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Batch:
    """The names to encode in one step, and the loss of their vectors."""

    names: Sequence[str]  # may repeat; empty where a process has no share of the last batch
    # of float32 vectors (len(names), dim); called again where memory was short
    loss: Callable[[Tensor], Loss]


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long and by which rules a phase is trained."""

    epochs: int  # at most
    steps: int  # of each epoch
    optimizer: Literal["adamw", "adam"] = "adamw"
    # share of all steps in which the learning rate rises; then it falls linearly; 0: constant
    warmup: float = 0.0
    clip: float = 0.0  # largest norm of the gradient; 0: no clipping
    # which number of an epoch's record decides whose weights are kept; None: the last epoch's are
    best_by: str | None = None
    minimize: bool = False  # whether the best epoch has the lowest number, instead of the highest
    patience: int = 0  # epochs without a better one before training stops; 0: never stops
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a training: what is trained, on which batches, for how long, to what end."""

    name: str  # of its records and checkpoints, one of `PHASES`
    module: nn.Module  # has `embed(names)`, and all that is trained
    parameter_groups: Sequence[dict[str, Any]]  # with a learning rate and a weight decay each
    batches: Callable[[int], Sequence[Batch]]  # makes those of an epoch (from 1)
    schedule: Schedule  # epochs, steps, optimizer, what the best epoch is
    validate: Callable[[int], Mapping[str, float]]  # measures the weights after an epoch
    fingerprint: Mapping[str, object]  # of all that its checkpoints depend on


@dataclass(frozen=True, slots=True)
class Step:
    """The report of an optimizer step."""

    epoch: int  # from 1
    step: int  # of the epoch, from 1
    steps: int  # of the epoch
    loss: float  # averaged over the processes


@dataclass(slots=True)
class Progress:
    """The state of a run between two epochs. Checkpoints hold the fields by their names."""

    history: list[dict[str, float]] = field(default_factory=list)  # a record of each epoch
    best: float | None = None  # the number that the best epoch was chosen by, negated if minimized
    waited: int = 0  # epochs since the best one
    at_once: int = 0  # names that are encoded at once since memory was short; 0: all

    @property
    def epoch(self) -> int:
        """How many epochs are finished."""
        return len(self.history)


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoints of a run, which `--resume` reads.

    Each is a folder named by its epoch. The one before is removed only after a new one is complete,
    so that there always is one.
    """

    folder: Path  # holds them
    # of all that the weights depend on: options, checksums of the data; JSON values by their
    # names; a run adds its schedule
    fingerprint: Mapping[str, object]
    resume: bool = False  # whether a run starts from the newest checkpoint, where there is one

    @property
    def can_resume(self) -> bool:
        """Whether a run starts from a checkpoint."""
        return self.resume and bool(self._saved())

    def save(self, progress: Progress, tensors: Mapping[str, Tensors]) -> None:
        """Write a checkpoint and remove all others.

        Args:
            progress: of the run.
            tensors: contiguous tensors on the CPU, in groups by name; a file for each group.
        """
        path = self.folder / f"{progress.epoch:05}"
        state = {"fingerprint": self.fingerprint, "progress": asdict(progress)}
        with persistence.saving(path, _KIND, state, _read) as folder:
            for group, values in tensors.items():
                try:
                    save_file(dict(values), folder / (group + _SUFFIX))
                except SafetensorError as error:  # a full disk, among others
                    raise OSError(str(error)) from None
        self.clear(keep=path)

    def load(self) -> tuple[Progress, dict[str, dict[str, Tensor]]]:
        """Read the newest checkpoint: the progress, and the groups of tensors, on the CPU.

        Raises:
            LinkerError: it is damaged, or it has another fingerprint.
        """
        try:
            fingerprint, progress, tensors = persistence.load(max(self._saved()), _KIND, _read)
        except LinkerError as error:
            raise LinkerError(f"{error}; or remove the folder to train from the start") from None
        old, new = (
            {name: json.dumps(value, ensure_ascii=False) for name, value in values.items()}
            for values in (fingerprint, self.fingerprint)
        )
        changes = [
            f"{name} (then {shorten(old.get(name, 'absent'))}, "
            f"now {shorten(new.get(name, 'absent'))})"
            for name in sorted({*old, *new})
            if old.get(name) != new.get(name)
        ]
        if changes:
            raise LinkerError(
                f"{self.folder}: the checkpoint is of another training: {', '.join(changes)}; "
                "remove the folder, or take what it had"
            )
        return progress, tensors

    def clear(self, keep: Path | None = None) -> None:
        """Remove the checkpoints, all but `keep`, and the leftovers of killed runs."""
        for path in self._saved():
            if path != keep:
                shutil.rmtree(path)
        replacing.clean(self.folder, _NAME)

    def _saved(self) -> list[Path]:
        return [path for path in self.folder.glob("*") if re.fullmatch(_NAME, path.name)]


def _read(
    folder: Path, config: Mapping[str, Any]
) -> tuple[dict[str, object], Progress, dict[str, dict[str, Tensor]]]:
    """The fingerprint of a checkpoint, the progress, and the groups of tensors."""
    tensors = {file.stem: load(file.read_bytes()) for file in folder.glob("*" + _SUFFIX)}
    return dict(config["fingerprint"]), Progress(**config["progress"]), tensors


def _copied(tensors: Tensors) -> dict[str, Tensor]:
    """Copies on the CPU, contiguous, so that further training does not change them."""
    return {
        name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()
    }


def run(
    phase: Phase, accelerator: Accelerator, checkpoints: Checkpoints | None = None
) -> Iterator[Step | Record]:
    """Train the module of a phase; at the end it has the best weights.

    In several processes each makes batches of its own share of the data, and gradients are
    averaged as if one process had all.

    Args:
        phase: what is trained; its module has `embed(names)`, which gives (len(names), dim). Its
            batches depend on the epoch and the weights alone. In several processes, the metrics
            of the first one's validation count.
        accelerator: device, precision and processes.
        checkpoints: where to write a checkpoint at the start and after each epoch.

    Yields:
        Each step, and the record of each epoch: `epoch` (from 1), averages over its steps, and
        what the validation gives; first the epochs of the checkpoint that is resumed.

    Raises:
        LinkerError: the loss or the gradient is not finite; one name is too much for the memory;
            or the checkpoint is of another training.
    """
    loop, schedule = _Loop(phase, accelerator, checkpoints), phase.schedule
    yield from loop.progress.history
    while loop.progress.epoch < schedule.epochs and not (
        0 < schedule.patience <= loop.progress.waited
    ):
        loop.module.eval()
        batches, sums = phase.batches(loop.progress.epoch + 1), _Sums()
        loop.module.train()
        for step, batch in enumerate(batches):
            loss = loop.step(step, batch, sums)
            yield Step(loop.progress.epoch + 1, step + 1, schedule.steps, loss)
        loop.module.eval()
        yield loop.end_epoch(sums)
    if loop.best_weights:
        loop.module.load_state_dict(loop.best_weights)
    loop.module.eval()


class _Sums(dict[str, tuple[float, float]]):
    """The weighted sum and the weight of each number over the steps of an epoch."""

    def count(self, numbers: Mapping[str, tuple[float, float]]) -> None:
        """Add weighted sums, each with its weight."""
        for name, (number, weight) in numbers.items():
            total, weights = self.get(name, (0.0, 0.0))
            self[name] = total + number, weights + weight


class _Loop:
    """The state of a run.

    Attributes:
        progress: finished epochs and their records; a checkpoint holds it.
        best_weights: the weights after the best epoch so far; None before there is one.
        names: the name of each parameter of the module.
        parameters: those that are trained.
    """

    def __init__(
        self, phase: Phase, accelerator: Accelerator, checkpoints: Checkpoints | None
    ) -> None:
        self.phase, self.schedule, self.accelerator = phase, phase.schedule, accelerator
        self.module = phase.module.to(accelerator.device)
        self.names: dict[Tensor, str] = {p: name for name, p in self.module.named_parameters()}
        groups = [dict(group) for group in phase.parameter_groups]
        optimizer = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}[self.schedule.optimizer]
        self.optimizer = optimizer(groups, fused=True)  # on CPUs four times faster than unfused
        self.peak_rates = [group["lr"] for group in self.optimizer.param_groups]
        self.parameters: list[nn.Parameter] = [
            p for group in self.optimizer.param_groups for p in group["params"]
        ]
        setup = {**asdict(self.schedule), "processes": accelerator.num_processes}
        self.checkpoints = checkpoints and replace(
            checkpoints, fingerprint={**checkpoints.fingerprint, **setup}
        )
        self.progress = Progress()
        self.best_weights: dict[str, Tensor] | None = None
        resumes = self.checkpoints is not None and self.checkpoints.can_resume
        if self.checkpoints and resumes:
            self.restore(self.checkpoints)
        broadcast([*self.module.state_dict().values()])
        if not resumes:
            if self.checkpoints and accelerator.is_main_process:
                self.checkpoints.clear()
            self.save(_copied(self.module.state_dict()))

    def restore(self, checkpoints: Checkpoints) -> None:
        """Go back to where the newest checkpoint was written."""
        self.progress, tensors = checkpoints.load()
        self.module.load_state_dict(tensors["weights"])
        self.best_weights = tensors.get("best")
        parameters = {name: parameter for parameter, name in self.names.items()}
        for key, tensor in tensors["optimizer"].items():
            name, _, kind = key.rpartition(".")
            # a fused optimizer wants the number of steps on the parameter's device, too
            state = tensor.to(parameters[name].device)
            self.optimizer.state[parameters[name]][kind] = state

    def save(self, weights: dict[str, Tensor]) -> None:
        """Write a checkpoint with the weights of the moment."""
        if self.checkpoints and self.accelerator.is_main_process:
            state = {  # such as `encoder.weight.exp_avg`
                f"{self.names[parameter]}.{kind}": tensor
                for parameter, kinds in self.optimizer.state.items()
                for kind, tensor in kinds.items()
            }
            tensors = {"weights": weights, "optimizer": _copied(state)}
            if self.best_weights:
                tensors["best"] = self.best_weights
            self.checkpoints.save(self.progress, tensors)
        self.accelerator.wait_for_everyone()

    def step(self, step: int, batch: Batch, sums: _Sums) -> float:
        """Make an optimizer step, and give its loss, averaged over the processes."""
        loss, schedule = self.compute_gradient(step, batch), self.schedule
        value = float(loss.value.detach())
        mean = self.average_over_processes(value, loss.weight)
        norm = float(nn.utils.clip_grad_norm_(self.parameters, schedule.clip or math.inf))
        self.check_finite(step, mean, norm)
        # not LambdaLR, which is longer: to resume, it needs `initial_lr` and the step before
        factor = _rate_factor(schedule, self.progress.epoch * schedule.steps + step)
        for group, rate in zip(self.optimizer.param_groups, self.peak_rates, strict=True):
            group["lr"] = rate * factor
        self.optimizer.step()
        numbers = {"loss": (value, loss.weight), **loss.numbers}
        sums.count({name: (number * weight, weight) for name, (number, weight) in numbers.items()})
        return mean

    def compute_gradient(self, step: int, batch: Batch) -> Loss:
        """Backpropagate the loss of a batch, with fewer names at once where memory is short."""
        while True:
            self.module.zero_grad()
            try:
                return self.backpropagate(step, batch)
            except torch.OutOfMemoryError:
                before = min(self.progress.at_once or math.inf, len(set(batch.names)))
            torch.cuda.empty_cache()  # only here: the error held the tensors of the failed try
            if before < 2:
                raise LinkerError(
                    "out of memory with one name at a time; "
                    "take a smaller batch_size, a smaller encoder or device=cpu"
                )
            self.progress.at_once = math.ceil(before / 2)
            text = "out of memory: %d names are encoded at once instead of %d"
            logger.warning(text + ", the batch stays as large", self.progress.at_once, before)

    def backpropagate(self, step: int, batch: Batch) -> Loss:
        """Encode a batch, at most `at_once` names at a time, and backpropagate its loss.

        The gradient is that of the whole batch (gradient caching, Gao et al. 2021, section 3.2):
        the loss of all vectors, encoded without graphs, gives the gradient of each vector; then
        each part is encoded again, with the same dropout, and backpropagates its vectors' share.
        """
        if not batch.names:
            return Loss(torch.zeros(()), weight=0.0)
        row_of = {name: row for row, name in enumerate(dict.fromkeys(batch.names))}
        rows = torch.tensor([row_of[name] for name in batch.names], device=self.accelerator.device)
        distinct, size = [*row_of], self.progress.at_once or len(row_of)
        parts = [distinct[i : i + size] for i in range(0, len(distinct), size)]
        if len(parts) == 1:
            vectors = self.embed(parts[0], step, 0)
        else:
            detached = [self.embed(part, step, i).detach() for i, part in enumerate(parts)]
            vectors = torch.cat(detached).requires_grad_()
        # unlike that of vectors[rows], the gradient of embedding() adds in a fixed order
        loss = batch.loss(nn.functional.embedding(rows, vectors))
        if loss.value.requires_grad:
            torch.autograd.backward(loss.value)
        if len(parts) > 1 and vectors.grad is not None:
            for i, gradient in enumerate(torch.split(vectors.grad, size)):
                torch.autograd.backward(self.embed(parts[i], step, i), gradient)
        return loss

    def embed(self, names: Sequence[str], step: int, part: int) -> Tensor:
        """Encode names to float32 (len(names), dim); step, process and part seed the dropout."""
        process = self.accelerator.process_index
        entropy = (self.schedule.seed, self.progress.epoch, step, process, part)
        torch.manual_seed(int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0]))
        vectors: Tensor = cast(Any, self.module).embed(names)
        return vectors.float()

    def average_over_processes(self, loss: float, weight: float) -> float:
        """Average the gradients and the loss over the processes, each with its weight."""
        if self.accelerator.num_processes == 1:
            return loss
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.parameters]
        flat = torch.cat([weight * gradient.flatten() for gradient in gradients])
        has_gradient = [float(p.grad is not None) for p in self.parameters]
        tail = flat.new_tensor([*has_gradient, weight * loss, weight])
        sums = self.accelerator.reduce(torch.cat([flat, tail]), "sum")
        *counts, loss, weight = sums[len(flat) :].tolist()
        weight = weight or 1.0  # in a step where no process has a weight
        means = torch.split(sums[: len(flat)] / weight, [p.numel() for p in self.parameters])
        for parameter, mean, count in zip(self.parameters, means, counts, strict=True):
            parameter.grad = mean.view_as(parameter) if count else None
        return float(loss / weight)

    def check_finite(self, step: int, loss: float, norm: float) -> None:
        """Raise `LinkerError` where the loss, or the norm of its gradient, is not finite."""
        if math.isfinite(loss) and math.isfinite(norm):
            return
        kept = again = ""
        if self.checkpoints:
            kept = f"; the last good checkpoint is kept in {self.checkpoints.folder}"
            again = " (for another one, remove that folder and go on with --resume)"
        raise LinkerError(
            f"epoch {self.progress.epoch + 1}, step {step + 1}: the loss is {loss:g} "
            f"and the norm of its gradient {norm:g}; training stopped{kept}; "
            f"try a lower learning rate{again}"
        )

    def end_epoch(self, sums: _Sums) -> Mapping[str, float]:
        """Validate, keep the weights if they are the best, write a checkpoint; give the record."""
        progress, schedule, total = self.progress, self.schedule, _Sums()
        metrics = self.phase.validate(progress.epoch + 1)
        metrics = {name: float(value) for name, value in metrics.items()}
        metrics = broadcast_object_list([metrics])[0]
        for of_process in gather_object([dict(sums)]):
            total.count(of_process)
        means = {name: number / weight for name, (number, weight) in total.items() if weight}
        record = {"epoch": progress.epoch + 1, **means, **metrics}
        progress.history.append(record)
        weights = _copied(self.module.state_dict())
        if schedule.best_by:
            progress.waited += 1
            merit = -record[schedule.best_by] if schedule.minimize else record[schedule.best_by]
            if progress.best is None or merit > progress.best:
                progress.best, progress.waited, self.best_weights = merit, 0, weights
        self.save(weights)
        return record


def _rate_factor(schedule: Schedule, step: int) -> float:
    """Compute what the learning rates of a step (from 0, over all epochs) are multiplied by."""
    total = schedule.epochs * schedule.steps
    if not schedule.warmup:
        return 1.0
    rising = max(1, round(schedule.warmup * total))
    return (step + 1) / rising if step < rising else (total - step) / (total - rising)
