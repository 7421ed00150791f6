"""The one loop of all trainings. It yields what happens; the caller makes the batches, validates and shows progress."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Protocol, cast

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
    Sigterm,
    copied,
    moments,
    put_moments,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Loss:
    """What a batch costs."""

    value: Tensor  # scalar, to be minimised
    weight: float = 1.0  # how many things it is the mean of (lists, pairs): averages over steps and processes are weighted by it
    numbers: Mapping[str, tuple[float, float]] = field(
        default_factory=dict
    )  # further means to report, each with its weight


@dataclass(frozen=True, slots=True)
class Batch:
    """The names of one step, and what their vectors cost."""

    names: Sequence[str]  # may repeat; empty where a process has no share of the last batch
    loss: Callable[
        [Tensor], Loss
    ]  # takes float32 (len(names), dim); is called again where memory was short


@dataclass(frozen=True, slots=True)
class Plan:
    """How a run goes."""

    epochs: int  # the most
    steps: int  # of each epoch
    optimizer: Literal["adamw", "adam"] = "adamw"
    warmup: float = 0.0  # share of the steps with a rising learning rate; it falls linearly afterwards; 0: constant
    clip: float = 0.0  # largest norm of the gradient; 0: no clipping
    best_by: str | None = (
        None  # the number of an epoch whose best weights are kept; None: the last weights
    )
    minimize: bool = False  # whether the best epoch has the lowest number, instead of the highest
    patience: int = 0  # epochs without a better one before training stops; 0 never stops
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """A step was made."""

    epoch: int  # both count from 1
    step: int
    steps: int  # of the epoch
    loss: float


@dataclass(frozen=True, slots=True)
class Epoch:
    """An epoch was finished."""

    record: Mapping[
        str, float
    ]  # its number, averages over its steps, and what the validation found


def run(
    module: nn.Module,
    groups: Sequence[dict[str, Any]],
    make_batches: Callable[[int], Sequence[Batch]],
    plan: Plan,
    accelerator: Accelerator,
    *,
    after_epoch: Callable[[int], Mapping[str, float]] | None = None,
    checkpoints: Checkpoints | None = None,
) -> Iterator[Step | Epoch]:
    """Train a module and yield each step and each epoch; at the end it holds the best weights.

    In several processes each makes batches of its own share of the data, and gradients are averaged as if one process had all.
    Epochs that a checkpoint holds are yielded again. SIGTERM, where there are checkpoints, ends a run behind its current step.

    Args:
        module: has `embed(names) -> (len(names), dim)` and all that is trained.
        groups: parameters of the module, with their own `lr` and `weight_decay`.
        make_batches: called at the start of each epoch (from 1); depends on nothing but the epoch and the weights.
        plan: numbers of epochs and steps, optimizer, schedule, what is the best.
        accelerator: device, precision and processes.
        after_epoch: validation; in several processes the first one's numbers count.
        checkpoints: where to write one at the start, after each epoch and on SIGTERM.

    Raises:
        LinkerError: the loss or the gradient is not finite; one name is too much for the memory; the checkpoint does not fit.
        Interrupted: SIGTERM came.
    """
    loop = _Loop(module, groups, plan, accelerator, checkpoints)
    loop.begin()
    for record in loop.progress.history:
        yield Epoch(record)
    with loop.sigterm:
        while not loop.finished:
            batches = loop.batches(make_batches)
            module.train()
            for batch in batches[loop.progress.step :]:
                loss = loop.step(batch)
                yield Step(loop.progress.epoch + 1, loop.progress.step, plan.steps, loss)
                loop.stop_if_asked()
            module.eval()
            yield Epoch(loop.end_epoch(after_epoch(loop.progress.epoch + 1) if after_epoch else {}))
            loop.stop_if_asked()
    module.load_state_dict(loop.best or loop.start)
    module.eval()


class _Embedder(Protocol):
    def embed(self, names: Sequence[str]) -> Tensor: ...


class _Loop:
    """What the parts of a run share: `start` and `best` are weights, at the start of the epoch and of the best epoch so far."""

    def __init__(
        self,
        module: nn.Module,
        groups: Sequence[dict[str, Any]],
        plan: Plan,
        accelerator: Accelerator,
        checkpoints: Checkpoints | None,
    ) -> None:
        self.module, self.plan, self.accelerator = module.to(accelerator.device), plan, accelerator
        make = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}[plan.optimizer]
        self.optimizer = make(
            [dict(group) for group in groups], fused=True
        )  # on CPUs four times faster than the default
        self.rates = [group["lr"] for group in self.optimizer.param_groups]
        self.parameters: list[nn.Parameter] = [
            p for group in self.optimizer.param_groups for p in group["params"]
        ]
        self.names: dict[Tensor, str] = {
            parameter: name for name, parameter in module.named_parameters()
        }
        if not self.names.keys() >= set(self.parameters):
            raise ValueError("the groups hold parameters that are not the module's")
        made_by = {**asdict(plan), "processes": accelerator.num_processes}
        self.checkpoints = checkpoints and replace(
            checkpoints, fingerprint={**checkpoints.fingerprint, **made_by}
        )
        self.sigterm = Sigterm(listen=checkpoints is not None)
        self.progress, self.best = Progress(), cast(dict[str, Tensor] | None, None)

    def begin(self) -> None:
        if self.checkpoints and self.checkpoints.resume:
            self.restore(self.checkpoints)
        broadcast([*self.module.state_dict().values()])
        if not (self.checkpoints and self.checkpoints.resume):
            self.start = copied(self.module.state_dict())
            if self.checkpoints and self.accelerator.is_main_process:
                self.checkpoints.clear()
            self.save()

    def restore(self, checkpoints: Checkpoints) -> None:
        processes, tensors = checkpoints.load()
        try:
            self.progress = processes[self.accelerator.process_index]
            self.module.load_state_dict(tensors["weights"])
            self.start, self.best = tensors.get("start", tensors["weights"]), tensors.get("best")
            put_moments(self.optimizer, self.names, tensors["optimizer"])
        except (LookupError, RuntimeError) as error:
            raise LinkerError(
                f"{checkpoints.folder}: the checkpoint does not fit what is trained; remove the folder"
            ) from error

    def save(self) -> None:
        if self.checkpoints is None:
            return
        processes = gather_object([self.progress])
        if self.accelerator.is_main_process:
            tensors = {"weights": self.start, "optimizer": moments(self.optimizer, self.names)}
            if (
                self.progress.step
            ):  # the batches of the running epoch were made with the weights at its start
                tensors |= {"weights": copied(self.module.state_dict()), "start": self.start}
            if self.best:
                tensors["best"] = self.best
            self.checkpoints.save(processes, tensors)
        self.accelerator.wait_for_everyone()

    @property
    def finished(self) -> bool:
        return (
            self.progress.epoch >= self.plan.epochs
            or 0 < self.plan.patience <= self.progress.waited
        )

    def batches(self, make: Callable[[int], Sequence[Batch]]) -> Sequence[Batch]:
        """Make the batches of an epoch, with the weights at its start."""
        self.module.eval()
        now = copied(self.module.state_dict()) if self.progress.step else self.start
        self.module.load_state_dict(self.start)
        batches = make(self.progress.epoch + 1)
        self.module.load_state_dict(now)
        if len(batches) != self.plan.steps:
            raise ValueError(
                f"epoch {self.progress.epoch + 1} has {len(batches)} batches; the schedule was made for {self.plan.steps}"
            )
        return batches

    def step(self, batch: Batch) -> float:
        """Make a step and return its loss, averaged over the processes."""
        loss, progress = self.backward(batch), self.progress
        value = float(loss.value.detach())
        mean = self.average(value, loss.weight)
        norm = float(nn.utils.clip_grad_norm_(self.parameters, self.plan.clip or math.inf))
        if not (math.isfinite(mean) and math.isfinite(norm)):
            where = f"epoch {progress.epoch + 1}, step {progress.step + 1}: the loss is {mean:g} and the norm of its gradient {norm:g}"
            kept = (
                f"; the last good checkpoint is kept in {self.checkpoints.folder}"
                if self.checkpoints
                else ""
            )
            again = (
                " (for another one, remove that folder and go on with --resume)"
                if self.checkpoints
                else ""
            )
            raise LinkerError(f"{where}; training stopped{kept}; try a lower learning rate{again}")
        factor = _factor(self.plan, progress.epoch * self.plan.steps + progress.step)
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = rate * factor
        self.optimizer.step()
        progress.step += 1
        for name, (number, weight) in {"loss": (value, loss.weight), **loss.numbers}.items():
            total, weights = progress.sums.get(name, (0.0, 0.0))
            progress.sums[name] = (float(total + number * weight), float(weights + weight))
        return mean

    def backward(self, batch: Batch) -> Loss:
        """Put the gradient of a batch into the parameters, in smaller parts where memory is short."""
        while True:
            self.module.zero_grad()
            try:
                return self.gradients(batch)
            except torch.OutOfMemoryError:
                before = min(self.progress.at_once or math.inf, len(set(batch.names)))
            torch.cuda.empty_cache()  # only here: the error held the tensors of the failed try
            if before < 2:
                raise LinkerError(
                    "out of memory with one name at a time; take a smaller batch_size, a smaller encoder or device=cpu"
                )
            self.progress.at_once = math.ceil(before / 2)
            text = "out of memory: %d names are encoded at once instead of %d, the batch stays as large"
            logger.warning(text, self.progress.at_once, before)

    def gradients(self, batch: Batch) -> Loss:
        """Encode at most `at_once` names at a time; the gradient is that of the whole batch (gradient caching, Gao et al. 2021, sec. 3.2).

        The loss of all vectors, without their graphs, gives the gradient of each vector; then each part is encoded again, with the
        same dropout, and its vectors take their gradient to the parameters.
        """
        if not batch.names:
            return Loss(torch.zeros(()), weight=0.0)
        names = {name: row for row, name in enumerate(dict.fromkeys(batch.names))}
        rows = torch.tensor([names[name] for name in batch.names], device=self.accelerator.device)
        size = self.progress.at_once or len(names)
        parts = [[*names][i : i + size] for i in range(0, len(names), size)]
        if len(parts) == 1:
            vectors = self.embed(parts[0], 0)
        else:
            vectors = torch.cat(
                [self.embed(part, i).detach() for i, part in enumerate(parts)]
            ).requires_grad_()
        loss = batch.loss(
            nn.functional.embedding(rows, vectors)
        )  # unlike vectors[rows], its gradient adds in a fixed order
        if loss.value.requires_grad:
            torch.autograd.backward(loss.value)
        if len(parts) > 1 and vectors.grad is not None:
            for i, gradient in enumerate(torch.split(vectors.grad, size)):
                torch.autograd.backward(self.embed(parts[i], i), gradient)
        return loss

    def embed(self, names: Sequence[str], part: int) -> Tensor:
        """Encode names to float32 (len(names), dim); dropout depends on seed, step, process and part alone."""
        place = (
            self.plan.seed,
            self.progress.epoch,
            self.progress.step,
            self.accelerator.process_index,
            part,
        )
        torch.manual_seed(int(np.random.SeedSequence(place).generate_state(1, np.uint64)[0]))
        with self.accelerator.autocast():
            return cast(_Embedder, self.module).embed(names).float()

    def average(self, loss: float, weight: float) -> float:
        """Average the gradients and the loss over the processes, each with its weight."""
        if self.accelerator.num_processes == 1:
            return loss
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.parameters]
        flat = torch.cat([weight * gradient.flatten() for gradient in gradients])
        tail = flat.new_tensor(
            [*(float(p.grad is not None) for p in self.parameters), weight * loss, weight]
        )
        sums = self.accelerator.reduce(torch.cat([flat, tail]), "sum")
        *used, loss, weight = sums[len(flat) :].tolist()
        weight = weight or 1.0  # in a step where nothing counts
        shared = torch.split(sums[: len(flat)] / weight, [p.numel() for p in self.parameters])
        for parameter, gradient, by in zip(self.parameters, shared, used, strict=True):
            parameter.grad = gradient.view_as(parameter) if by else None
        return float(loss / weight)

    def end_epoch(self, metrics: Mapping[str, float]) -> Mapping[str, float]:
        """Close an epoch: its record, its weights if they are the best, its checkpoint."""
        progress, plan = self.progress, self.plan
        metrics = broadcast_object_list([{name: float(value) for name, value in metrics.items()}])[
            0
        ]
        progress.epoch += 1
        record = {"epoch": progress.epoch, **_averages(gather_object([progress.sums])), **metrics}
        progress.step, progress.sums = 0, {}
        progress.history.append(record)
        self.start = copied(self.module.state_dict())
        if plan.best_by:
            progress.waited += 1
            merit = -record[plan.best_by] if plan.minimize else record[plan.best_by]
            if progress.best is None or merit > progress.best:
                progress.best, progress.waited, self.best = merit, 0, self.start
        self.save()
        return record

    def stop_if_asked(self) -> None:
        """Stop all processes behind the same step, if one of them was asked to."""
        if self.checkpoints is None:
            return
        asked = torch.tensor(float(self.sigterm.came), device=self.accelerator.device)
        if not self.accelerator.reduce(asked, "sum"):
            return
        epoch, step = self.progress.epoch, self.plan.steps
        if self.progress.step:  # otherwise the epoch has just been saved
            epoch, step = epoch + 1, self.progress.step
            self.save()
        raise Interrupted(
            f"training stopped by SIGTERM at epoch {epoch}, step {step}; go on with --resume"
        )


def _averages(processes: Sequence[Mapping[str, tuple[float, float]]]) -> dict[str, float]:
    """The weighted mean of each number over all processes; none where nothing counted."""
    names = dict.fromkeys(name for sums in processes for name in sums)
    totals = {
        name: [
            sum(column) for column in zip(*(s[name] for s in processes if name in s), strict=True)
        ]
        for name in names
    }
    return {name: total / weight for name, (total, weight) in totals.items() if weight}


def _factor(plan: Plan, step: int) -> float:
    """What the learning rates of a step (from 0) are multiplied by."""
    total = plan.epochs * plan.steps
    if not plan.warmup:
        return 1.0
    rising = max(1, round(plan.warmup * total))
    return (step + 1) / rising if step < rising else (total - step) / (total - rising)
