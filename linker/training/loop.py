"""The training loop of all phases: steps, epochs, the best weights, little memory, resuming.

`run` yields a report of each step and of each epoch. What is trained, the batches and the
validation are the `Phase`'s.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, cast

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import broadcast, broadcast_object_list, gather_object
from torch import Tensor, nn

from linker.errors import LinkerError
from linker.training.checkpoints import (
    Checkpoints,
    Interrupted,
    Progress,
    catching_sigterm,
    copy_to_cpu,
    load_optimizer_state,
    optimizer_state,
)
from linker.training.settings import Record

logger = logging.getLogger(__name__)


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


def run(
    phase: Phase, accelerator: Accelerator, checkpoints: Checkpoints | None = None
) -> Iterator[Step | Record]:
    """Train the module of a phase; at the end it has the best weights.

    In several processes each makes batches of its own share of the data, and gradients are
    averaged as if one process had all. With checkpoints, a SIGTERM ends the run after its
    current step.

    Args:
        phase: what is trained; its module has `embed(names)`, which gives (len(names), dim). Its
            batches depend on the epoch and the weights alone. In several processes, the metrics
            of the first one's validation count.
        accelerator: device, precision and processes.
        checkpoints: where to write a checkpoint at the start, after each epoch and on SIGTERM.

    Yields:
        Each step, and the record of each epoch: `epoch` (from 1), averages over its steps, and
        what the validation gives; first the epochs of the checkpoint that is resumed.

    Raises:
        LinkerError: the loss or the gradient is not finite; one name is too much for the memory;
            or the checkpoint is of another training.
        Interrupted: SIGTERM came.
    """
    loop = _Loop(phase, accelerator, checkpoints)
    loop.begin()
    yield from loop.progress.history
    with catching_sigterm(listen=checkpoints is not None) as loop.signals:
        while not loop.is_finished:
            batches = loop.make_batches()
            loop.module.train()
            for batch in batches[loop.progress.step :]:
                loss = loop.step(batch)
                yield Step(loop.progress.epoch + 1, loop.progress.step, phase.schedule.steps, loss)
                loop.stop_on_sigterm()
            loop.module.eval()
            yield loop.end_epoch()
            loop.stop_on_sigterm()
    loop.module.load_state_dict(loop.best_weights or loop.epoch_weights)
    loop.module.eval()


class _Loop:
    """The state of a run, and its parts in the order in which `run` calls them.

    Attributes:
        progress: finished epochs and steps, and their records; a checkpoint holds it.
        epoch_weights: the weights at the start of the running epoch.
        best_weights: the weights after the best epoch so far; None before there is one.
        name_of: the name of each parameter of the module.
        parameters: those that are trained.
    """

    def __init__(
        self, phase: Phase, accelerator: Accelerator, checkpoints: Checkpoints | None
    ) -> None:
        self.phase, self.schedule, self.accelerator = phase, phase.schedule, accelerator
        self.module = phase.module.to(accelerator.device)
        self.name_of: dict[Tensor, str] = {p: name for name, p in self.module.named_parameters()}
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
        self.signals: list[int] = []  # that ask it to stop
        self.progress = Progress()
        self.best_weights: dict[str, Tensor] | None = None

    def begin(self) -> None:
        """Resume the newest checkpoint, or write the first one."""
        resumes = self.checkpoints is not None and self.checkpoints.can_resume
        if self.checkpoints and resumes:
            self.restore(self.checkpoints)
        broadcast([*self.module.state_dict().values()])
        if not resumes:
            self.epoch_weights = copy_to_cpu(self.module.state_dict())
            if self.checkpoints and self.accelerator.is_main_process:
                self.checkpoints.clear()
            self.save()

    def restore(self, checkpoints: Checkpoints) -> None:
        """Go back to where the newest checkpoint was written."""
        processes, tensors = checkpoints.load()
        try:
            self.progress = processes[self.accelerator.process_index]
            self.module.load_state_dict(tensors["weights"])
            self.epoch_weights = tensors.get("start", tensors["weights"])
            self.best_weights = tensors.get("best")
            load_optimizer_state(self.optimizer, self.name_of, tensors["optimizer"])
        except (LookupError, RuntimeError) as error:
            raise LinkerError(
                f"{checkpoints.folder}: the checkpoint does not fit what is trained; "
                "remove the folder"
            ) from error

    def save(self) -> None:
        """Write a checkpoint."""
        if self.checkpoints is None:
            return
        processes = gather_object([self.progress])
        if self.accelerator.is_main_process:
            state = optimizer_state(self.optimizer, self.name_of)
            tensors = {"weights": self.epoch_weights, "optimizer": state}
            if self.progress.step:
                # the running epoch's batches are made again with the weights at its start
                tensors["start"] = self.epoch_weights
                tensors["weights"] = copy_to_cpu(self.module.state_dict())
            if self.best_weights:
                tensors["best"] = self.best_weights
            self.checkpoints.save(processes, tensors)
        self.accelerator.wait_for_everyone()

    @property
    def is_finished(self) -> bool:
        """Whether all epochs are done, or there was no better one for long enough."""
        is_impatient = 0 < self.schedule.patience <= self.progress.waited
        return self.progress.epoch >= self.schedule.epochs or is_impatient

    def make_batches(self) -> Sequence[Batch]:
        """Make the batches of the running epoch, with the weights at its start."""
        self.module.eval()
        is_resumed = self.progress.step > 0
        weights = copy_to_cpu(self.module.state_dict()) if is_resumed else self.epoch_weights
        self.module.load_state_dict(self.epoch_weights)
        epoch = self.progress.epoch + 1
        batches = self.phase.batches(epoch)
        self.module.load_state_dict(weights)
        return batches

    def step(self, batch: Batch) -> float:
        """Make an optimizer step, and give its loss, averaged over the processes."""
        loss, progress = self.compute_gradient(batch), self.progress
        value = float(loss.value.detach())
        mean = self.average_over_processes(value, loss.weight)
        norm = float(nn.utils.clip_grad_norm_(self.parameters, self.schedule.clip or math.inf))
        self.check_finite(mean, norm)
        # not LambdaLR, which is longer: to resume, it needs `initial_lr` and the step before
        factor = _rate_factor(self.schedule, progress.epoch * self.schedule.steps + progress.step)
        for group, rate in zip(self.optimizer.param_groups, self.peak_rates, strict=True):
            group["lr"] = rate * factor
        self.optimizer.step()
        progress.step += 1
        for name, (number, weight) in {"loss": (value, loss.weight), **loss.numbers}.items():
            total, weights = progress.sums.get(name, (0.0, 0.0))
            progress.sums[name] = (float(total + number * weight), float(weights + weight))
        return mean

    def compute_gradient(self, batch: Batch) -> Loss:
        """Backpropagate the loss of a batch, with fewer names at once where memory is short."""
        while True:
            self.module.zero_grad()
            try:
                return self.backpropagate(batch)
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

    def backpropagate(self, batch: Batch) -> Loss:
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
            vectors = self.embed(parts[0], 0)
        else:
            detached = [self.embed(part, i).detach() for i, part in enumerate(parts)]
            vectors = torch.cat(detached).requires_grad_()
        # unlike that of vectors[rows], the gradient of embedding() adds in a fixed order
        loss = batch.loss(nn.functional.embedding(rows, vectors))
        if loss.value.requires_grad:
            torch.autograd.backward(loss.value)
        if len(parts) > 1 and vectors.grad is not None:
            for i, gradient in enumerate(torch.split(vectors.grad, size)):
                torch.autograd.backward(self.embed(parts[i], i), gradient)
        return loss

    def embed(self, names: Sequence[str], part: int) -> Tensor:
        """Encode names to float32 (len(names), dim); step, process and part seed the dropout."""
        progress, process = self.progress, self.accelerator.process_index
        entropy = (self.schedule.seed, progress.epoch, progress.step, process, part)
        torch.manual_seed(int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0]))
        with self.accelerator.autocast():
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

    def check_finite(self, loss: float, norm: float) -> None:
        """Raise `LinkerError` where the loss, or the norm of its gradient, is not finite."""
        if math.isfinite(loss) and math.isfinite(norm):
            return
        kept = again = ""
        if self.checkpoints:
            kept = f"; the last good checkpoint is kept in {self.checkpoints.folder}"
            again = " (for another one, remove that folder and go on with --resume)"
        raise LinkerError(
            f"epoch {self.progress.epoch + 1}, step {self.progress.step + 1}: the loss is {loss:g} "
            f"and the norm of its gradient {norm:g}; training stopped{kept}; "
            f"try a lower learning rate{again}"
        )

    def end_epoch(self) -> Mapping[str, float]:
        """Validate, keep the weights if they are the best, write a checkpoint; give the record."""
        progress, schedule = self.progress, self.schedule
        metrics = self.phase.validate(progress.epoch + 1)
        metrics = {name: float(value) for name, value in metrics.items()}
        metrics = broadcast_object_list([metrics])[0]
        progress.epoch += 1
        record = {"epoch": progress.epoch, **_averages(gather_object([progress.sums])), **metrics}
        progress.step, progress.sums = 0, {}
        progress.history.append(record)
        self.epoch_weights = copy_to_cpu(self.module.state_dict())
        if schedule.best_by:
            progress.waited += 1
            merit = -record[schedule.best_by] if schedule.minimize else record[schedule.best_by]
            if progress.best is None or merit > progress.best:
                progress.best, progress.waited, self.best_weights = merit, 0, self.epoch_weights
        self.save()
        return record

    def stop_on_sigterm(self) -> None:
        """Raise `Interrupted` in all processes after the same step, if one of them got SIGTERM."""
        if self.checkpoints is None:
            return
        came = torch.tensor(float(bool(self.signals)), device=self.accelerator.device)
        if not self.accelerator.reduce(came, "sum"):
            return
        epoch, step = self.progress.epoch, self.schedule.steps
        if self.progress.step:  # otherwise the epoch has just been saved
            epoch, step = epoch + 1, self.progress.step
            self.save()
        raise Interrupted(
            f"training stopped by SIGTERM at epoch {epoch}, step {step}; go on with --resume"
        )


def _averages(processes: Sequence[Mapping[str, tuple[float, float]]]) -> dict[str, float]:
    """Compute the mean of each number from the weighted sum and the weight in each process."""
    totals: dict[str, tuple[float, float]] = {}
    for sums in processes:
        for name, (number, weight) in sums.items():
            total, weights = totals.get(name, (0, 0))
            totals[name] = total + number, weights + weight
    return {name: total / weight for name, (total, weight) in totals.items() if weight}


def _rate_factor(schedule: Schedule, step: int) -> float:
    """Compute what the learning rates of a step (from 0, over all epochs) are multiplied by."""
    total = schedule.epochs * schedule.steps
    if not schedule.warmup:
        return 1.0
    rising = max(1, round(schedule.warmup * total))
    return (step + 1) / rising if step < rising else (total - step) / (total - rising)
