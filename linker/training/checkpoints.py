"""Checkpoints of a training run, and SIGTERM, which asks it to write one and stop.

A checkpoint is a folder of safetensors and JSON that is complete as soon as it has its name.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save_file
from torch import Tensor
from torch.optim import Optimizer

from linker import persistence
from linker.errors import LinkerError, shorten
from linker.files import replacing

_KIND, _SUFFIX = "checkpoint", ".safetensors"
_NAME = r"\d{5,}-\d{8,}"  # finished epochs, and steps of the running one

Tensors = Mapping[str, Tensor]


@dataclass(slots=True)
class Progress:
    """The state of one process of a run. Checkpoints hold the fields by their names."""

    epoch: int = 0  # finished epochs
    step: int = 0  # finished steps of the running epoch
    history: list[dict[str, float]] = field(default_factory=list)  # a record of each epoch
    best: float | None = None  # the number that the best epoch was chosen by, negated if minimized
    waited: int = 0  # epochs since the best one
    # the weighted sum and the weight of each number over the steps of the running epoch
    sums: dict[str, tuple[float, float]] = field(default_factory=dict)
    at_once: int = 0  # names that are encoded at once since memory was short; 0: all


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoints of a run, which `--resume` reads.

    Each is a folder named by epoch and step. The one before is removed only after a new one is
    complete, so that there always is one.
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

    def save(self, processes: Sequence[Progress], tensors: Mapping[str, Tensors]) -> None:
        """Write a checkpoint and remove all others.

        Args:
            processes: the progress of each process; epoch and step are the same in all.
            tensors: contiguous tensors on the CPU, in groups by name; a file for each group.
        """
        path = self.folder / f"{processes[0].epoch:05}-{processes[0].step:08}"
        state = {
            "fingerprint": self.fingerprint,
            "processes": [asdict(progress) for progress in processes],
        }
        with persistence.saving(path, _KIND, state, _read) as folder:
            for group, values in tensors.items():
                try:
                    save_file(dict(values), folder / (group + _SUFFIX))
                except SafetensorError as error:  # a full disk, among others
                    raise OSError(str(error)) from None
        self.clear(keep=path)

    def load(self) -> tuple[list[Progress], dict[str, dict[str, Tensor]]]:
        """Read the newest checkpoint.

        Returns:
            The progress of each process, and the groups of tensors, on the CPU.

        Raises:
            LinkerError: there is none, it is damaged, or it has another fingerprint.
        """
        if not self._saved():
            raise LinkerError(f"{self.folder}: there is no checkpoint here; train from the start")
        try:
            fingerprint, processes, tensors = persistence.load(max(self._saved()), _KIND, _read)
        except LinkerError as error:
            raise LinkerError(f"{error}; or remove the folder to train from the start") from None
        old, new = _as_json(fingerprint), _as_json(self.fingerprint)
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
        return processes, tensors

    def clear(self, keep: Path | None = None) -> None:
        """Remove the checkpoints, all but `keep`, and the leftovers of killed runs."""
        for path in self._saved():
            if path != keep:
                shutil.rmtree(path)
        replacing.clean(self.folder, _NAME)

    def _saved(self) -> list[Path]:
        return [path for path in self.folder.glob("*") if re.fullmatch(_NAME, path.name)]


def _as_json(values: Mapping[str, object]) -> dict[str, str]:
    return {name: json.dumps(value, ensure_ascii=False) for name, value in values.items()}


def _read(
    folder: Path, config: Mapping[str, Any]
) -> tuple[dict[str, object], list[Progress], dict[str, dict[str, Tensor]]]:
    """The fingerprint of a checkpoint, the progress of each process, and the groups of tensors."""
    tensors = {file.stem: load(file.read_bytes()) for file in folder.glob("*" + _SUFFIX)}
    processes = [Progress(**progress) for progress in config["processes"]]
    return dict(config["fingerprint"]), processes, tensors


def copy_to_cpu(tensors: Tensors) -> dict[str, Tensor]:
    """Copy tensors to the CPU, contiguous, so that further training does not change them."""
    return {
        name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()
    }


def optimizer_state(optimizer: Optimizer, name_of: Mapping[Tensor, str]) -> dict[str, Tensor]:
    """Copy the state of an optimizer to the CPU, such as Adam's moments.

    Args:
        optimizer: has it.
        name_of: the name of each parameter.

    Returns:
        Tensors by `parameter.kind`, such as `encoder.weight.exp_avg`.
    """
    state = {
        f"{name_of[parameter]}.{kind}": tensor
        for parameter, tensors in optimizer.state.items()
        for kind, tensor in tensors.items()
    }
    return copy_to_cpu(state)


def load_optimizer_state(
    optimizer: Optimizer, name_of: Mapping[Tensor, str], state: Tensors
) -> None:
    """Load into an optimizer the state that `optimizer_state` copied.

    Args:
        optimizer: has no state yet.
        name_of: the name of each parameter.
        state: tensors by `parameter.kind`.
    """
    parameters = {name: parameter for parameter, name in name_of.items()}
    for key, tensor in state.items():
        name, _, kind = key.rpartition(".")
        parameter = parameters[name]
        # a fused optimizer wants the number of steps on the parameter's device, too
        optimizer.state[parameter][kind] = tensor.to(parameter.device)


class Interrupted(LinkerError):
    """SIGTERM stopped the training after a checkpoint was written."""


@contextlib.contextmanager
def catching_sigterm(*, listen: bool) -> Iterator[list[int]]:
    """Catch SIGTERM in place of ending the process; yield the list of the signals that came.

    Python delivers signals to the main thread; in another thread nothing is caught.

    Args:
        listen: whether to catch it.
    """
    signals: list[int] = []
    if not (listen and threading.current_thread() is threading.main_thread()):
        yield signals
        return
    previous = signal.signal(signal.SIGTERM, lambda number, _: signals.append(number))
    try:
        yield signals
    finally:
        signal.signal(signal.SIGTERM, previous or signal.SIG_DFL)
