"""Checkpoints of a training: safetensors and JSON in a folder of their own, put in place whole, the newest kept; and SIGTERM."""

from __future__ import annotations

import json
import re
import shutil
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType

from safetensors import SafetensorError
from safetensors.torch import load, save_file
from torch import Tensor
from torch.optim import Optimizer

from linker import persistence
from linker.errors import LinkerError, shorten

_KIND, _SUFFIX = "checkpoint", ".safetensors"
_NAME = re.compile(r"\d{5,}-\d{8,}")
_LEFT = re.compile(rf"\.{_NAME.pattern}\.\w+\.(tmp|old)")  # what a killed `save` leaves

Tensors = Mapping[str, Tensor]


@dataclass(slots=True)
class Progress:
    """Where a run stands, as one of its processes knows it."""

    epoch: int = 0  # finished epochs
    step: int = 0  # steps of the running epoch that are done
    history: list[dict[str, float]] = field(
        default_factory=list
    )  # a record for each finished epoch
    best: float | None = None  # what the best epoch reached
    waited: int = 0  # epochs since the best
    sums: dict[str, tuple[float, float]] = field(
        default_factory=dict
    )  # of the running epoch: weighted sum and weight of each number
    at_once: int = 0  # names that are encoded at once since memory was short; 0: all


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Where a run keeps what `--resume` needs.

    Each checkpoint is a new folder, named by epoch and step, and the one before is removed afterwards: at no moment is there none.
    """

    folder: Path
    fingerprint: Mapping[
        str, object
    ]  # what is trained on what: options, checksums; flat, values as JSON knows them; a run adds its plan
    resume: bool = False  # go on from the newest checkpoint

    @property
    def exists(self) -> bool:
        """Whether there is a checkpoint to go on from."""
        return any(_NAME.fullmatch(path.name) for path in self._own())

    def save(self, processes: Sequence[Progress], tensors: Mapping[str, Tensors]) -> None:
        """Write a checkpoint and remove all others.

        Args:
            processes: where each process stands; epoch and step are the same.
            tensors: groups of contiguous tensors on the CPU, each written to a file of its own.
        """
        path = self.folder / f"{processes[0].epoch:05}-{processes[0].step:08}"
        state = {
            "fingerprint": self.fingerprint,
            "processes": [asdict(progress) for progress in processes],
        }
        with persistence.saving(path, _KIND, state) as folder:
            for group, values in tensors.items():
                _write(folder / (group + _SUFFIX), values)
        self.clear(keep=path)

    def load(self) -> tuple[list[Progress], dict[str, dict[str, Tensor]]]:
        """Read the newest checkpoint: where each process stood, and its groups of tensors on the CPU.

        Raises:
            LinkerError: there is none, it is damaged, or it was made with another fingerprint.
        """
        found = sorted(path for path in self._own() if _NAME.fullmatch(path.name))
        if not found:
            raise LinkerError(f"{self.folder}: there is no checkpoint here; train from the start")
        try:
            config, tensors = persistence.load(
                found[-1], _KIND, lambda path, config: (config, _read(path))
            )
        except LinkerError as error:
            raise LinkerError(f"{error}; or remove the folder to train from the start") from None
        try:
            self._compare(config["fingerprint"])
            return [Progress(**progress) for progress in config["processes"]], tensors
        except (LookupError, TypeError, AttributeError) as error:
            raise LinkerError(
                f"{found[-1]}: the checkpoint cannot be read ({error}); remove the folder to train from the start"
            ) from None

    def clear(self, keep: Path | None = None) -> None:
        """Remove all checkpoints, and what killed runs left of them, but one."""
        for path in self._own():
            if path != keep:
                shutil.rmtree(path)

    def _own(self) -> Iterator[Path]:
        if not self.folder.is_dir():
            return iter(())
        return (
            path
            for path in list(self.folder.iterdir())
            if _NAME.fullmatch(path.name) or _LEFT.fullmatch(path.name)
        )

    def _compare(self, old: Mapping[str, object]) -> None:
        """Refuse a checkpoint that was made of something else, and name what differs."""
        new = json.loads(json.dumps(self.fingerprint))
        absent = object()
        differ = [
            name for name in sorted({*old, *new}) if old.get(name, absent) != new.get(name, absent)
        ]
        if differ:
            what = ", ".join(
                f"{name} (then {_shown(old, name)}, now {_shown(new, name)})" for name in differ
            )
            raise LinkerError(
                f"{self.folder}: the checkpoint is of another training: {what}; remove the folder, or take what it had"
            )


def _shown(values: Mapping[str, object], name: str) -> str:
    return shorten(json.dumps(values[name], ensure_ascii=False)) if name in values else "absent"


def _write(path: Path, tensors: Tensors) -> None:
    try:
        save_file(dict(tensors), path)
    except SafetensorError as error:  # a full disk, among others
        raise OSError(str(error)) from None


def _read(folder: Path) -> dict[str, dict[str, Tensor]]:
    try:
        return {file.stem: load(file.read_bytes()) for file in folder.glob("*" + _SUFFIX)}
    except SafetensorError as error:
        raise LinkerError(
            f"{folder}: the checkpoint cannot be read ({error}); train again"
        ) from None


def copied(tensors: Tensors) -> dict[str, Tensor]:
    """Copy tensors to the CPU, where training leaves them as they are."""
    return {
        name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()
    }


def moments(optimizer: Optimizer, names: Mapping[Tensor, str]) -> dict[str, Tensor]:
    """Copy what an optimizer knows of each parameter, as `parameter.kind`."""
    return copied(
        {
            f"{names[p]}.{kind}": tensor
            for p, kinds in optimizer.state.items()
            for kind, tensor in kinds.items()
        }
    )


def put_moments(optimizer: Optimizer, names: Mapping[Tensor, str], tensors: Tensors) -> None:
    """Give an optimizer what `moments` copied."""
    parameters = {name: parameter for parameter, name in names.items()}
    for key, tensor in tensors.items():
        name, _, kind = key.rpartition(".")
        optimizer.state[parameters[name]][kind] = tensor.to(
            parameters[name].device
        )  # the number of steps too, since the steps are fused


class Interrupted(LinkerError):
    """Training was asked to stop, and its checkpoint is written."""


class Sigterm:
    """Remembers a SIGTERM for the time of a `with`, in the main thread, the only one that gets it."""

    def __init__(self, *, listen: bool) -> None:
        self.came = False
        self._listen = listen and threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Sigterm:
        if self._listen:
            self._former = signal.signal(signal.SIGTERM, self._remember)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._listen:
            signal.signal(signal.SIGTERM, self._former or signal.SIG_DFL)

    def _remember(self, *_: object) -> None:
        self.came = True
