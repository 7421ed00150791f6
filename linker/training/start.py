"""What a training needs before its first phase: a device, and no old checkpoints."""

from __future__ import annotations

import dataclasses

from accelerate import Accelerator

from linker.encoders.trainable import TrainableEncoder, pick_device, resolve_precision
from linker.errors import LinkerError
from linker.options import LinkerOptions
from linker.training.checkpoints import Checkpoints
from linker.training.settings import PhaseName, RunSettings


def place(encoder: TrainableEncoder, options: LinkerOptions) -> tuple[Accelerator, LinkerOptions]:
    """Put an encoder on the device to train on; the options name the precision that it computes in.

    Raises:
        LinkerError: this process has trained on another kind of device before.
    """
    device = pick_device(options.training.device)
    precision = encoder.precision = resolve_precision(device, options.training.precision)
    accelerator = Accelerator(cpu=device.type == "cpu")
    if accelerator.device.type != device.type:  # accelerate decides it once for a process
        raise LinkerError(
            f"this process has trained on the {accelerator.device.type} before; "
            "train on another device in a new one"
        )
    encoder.to(accelerator.device)
    if options.training.precision != precision:
        training = dataclasses.replace(options.training, precision=precision)
        options = dataclasses.replace(options, training=training)
    return accelerator, options


def clear_checkpoints(settings: RunSettings) -> None:
    """Remove those of an earlier training, which a later --resume must not find."""
    if settings.checkpoints is not None:  # what several trainings share stays
        for phase in PhaseName:
            Checkpoints(settings.checkpoints / phase.value, {}).clear()
