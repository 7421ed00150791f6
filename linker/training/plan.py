"""What a training is to do and how it runs, decided and checked before any work; needs no torch."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linker import registry
from linker.encoders.base import SparseEncoder
from linker.encoders.tfidf import TfidfEncoder
from linker.errors import LinkerError, UsageError, needing, shown
from linker.options import LinkerOptions, for_encoder, preset, preset_encoder, reads
from linker.text.spelling import normal_form, normalized
from linker.types import Activity

if TYPE_CHECKING:
    from linker.encoders.words import WordVectors

logger = logging.getLogger(__name__)

Record = Mapping[str, Any]
"""One line of `training.jsonl`: the phase, the epoch, and what was measured."""


PHASES = ("align", "ground", "rank", "refit")
"""The phases of a training, as records and folders of checkpoints name them.

`refit` is the list-wise phase on the development mentions too.
"""


_UNTRAINED = (
    "{}: only an encoder with weights is trained, not {}; "
    "choose --encoder transformer, dan or static-tuned, or do without"
)


def _ignore(_: object) -> None: ...


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Where a training keeps its checkpoints, and the functions it reports to."""

    # folder that holds one for each phase; what it held goes unless `resume`; None: none are kept
    checkpoints: Path | None = None
    resume: bool = False  # continue from the checkpoints, where there are any
    # folder of the phases on the dictionary's names, where trainings share them; None: the above
    shared: Path | None = None
    development: str = ""  # fingerprint of the development mentions, which checkpoints depend on
    refit: bool = False  # whether this is the training after the report, on all mentions
    on_event: Callable[[Any], None] = _ignore  # called with each `loop.Step` and epoch's `Record`
    on_activity: Callable[[Activity], None] = _ignore  # called with what begins, and its progress
    on_trained: Callable[[Any], None] = _ignore  # called with the `Linker` before a refit
    say: Callable[[str], None] = logger.info  # called with a sentence for each decision

    def folder(self, phase: str) -> Path | None:
        """The folder for the checkpoints of a phase; None: none are kept."""
        on_names = phase in ("align", "ground")
        parent = self.shared if on_names and self.shared else self.checkpoints
        return parent and parent / phase


def flat(options: object, *groups: str) -> dict[str, object]:
    """List the options of some groups, those that there are, as `group.field`.

    Texts, which may be paths, are written as JSON can hold them.
    """
    records = {name: record for name in groups if (record := getattr(options, name, None))}
    return {
        f"{getattr(record, 'group', name)}.{field}": shown(value)
        if isinstance(value, str)
        else value
        for name, record in records.items()
        for field, value in dataclasses.asdict(record).items()
    }


def check_folder(folder: Path, resume: bool) -> str:
    """Refuse to train over checkpoints of an interrupted training, and over a folder of others.

    Args:
        folder: it is to hold a folder of checkpoints for each phase.
        resume: whether to go on from the checkpoints.

    Returns:
        What to tell a user who resumes; empty otherwise.

    Raises:
        LinkerError: there are checkpoints, and they are not resumed; or the folder holds something
            else.
    """
    if folder.exists() and not folder.is_dir():
        raise LinkerError(
            f"{folder}: is a file, and checkpoints are written there; "
            "move it, or name another folder with -o"
        )
    names = {path.name for path in folder.glob("*")}
    if foreign := names - {*PHASES}:
        raise LinkerError(
            f"{folder}: holds {min(foreign)}, which linker did not write there; "
            "move it, or name another folder with -o"
        )
    if names and not resume:
        raise LinkerError(
            f"{folder}: holds an interrupted training; go on with --resume, "
            "or remove the folder to train from the start"
        )
    if not resume:
        return ""
    if names:
        return f"resume: from the checkpoints in {folder}"
    return f"resume: no checkpoints in {folder}, training from the start"


def remove_folder(folder: Path) -> None:
    """Remove the checkpoints of a finished training; what else is in the folder stays."""
    for name in PHASES:
        shutil.rmtree(folder / name, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


@dataclass(frozen=True)
class TrainingPlan:
    """What a training is to do; `make` makes one."""

    encoder: str  # its name in the registry
    options: LinkerOptions
    corrections: Mapping[str, str] = field(default_factory=dict)  # misspelt -> right, normalised
    extend: bool = True  # whether the mentions become names
    words: WordVectors | None = None  # where None, they are trained where they are needed
    refit: bool = False  # whether to train again on the development mentions too
    reason: str = ""  # why this encoder, where none was asked for
    device: str = ""  # where a dense encoder is trained

    @cached_property
    def encoder_class(self) -> Any:
        """The class of the encoder."""
        return registry.load(self.encoder)

    @property
    def is_sparse(self) -> bool:
        """Whether characters alone score names."""
        return issubclass(self.encoder_class, SparseEncoder)

    @property
    def is_trained(self) -> bool:
        """Whether gradients train the encoder, by torch; others are made in one go."""
        kind = self.encoder_class
        return bool(
            getattr(kind, "has_weights", False) or self.encoder == getattr(kind, "trained_as", "")
        )

    @property
    def needs_words(self) -> bool:
        """Whether the encoder is made of word vectors."""
        return reads("words", self.encoder, self.options)

    def sparse_encoder(self) -> SparseEncoder:
        """Make the encoder of characters, which is not fitted yet."""
        kind = self.encoder_class if self.is_sparse else TfidfEncoder
        encoder: SparseEncoder = kind(self.options.sparse)
        return encoder

    @property
    def normalize(self) -> Callable[[str], str]:
        """Gives the normal form of a name."""
        return partial(
            normal_form,
            options=self.options.normalize,
            corrections=self.corrections,
            language=self.options.text.language,
        )


def make(
    encoder: str | None = None,
    *,
    model_name: str | None = None,
    preset_name: str = "default",
    options: Callable[[str], LinkerOptions] | None = None,
    changes: Sequence[str] = (),
    has_mentions: bool = False,
    has_dev: bool = False,
    refit: bool = False,
    resume: bool = False,
    words: WordVectors | None = None,
    has_words: bool = False,
    extend: bool = True,
    corrections: Mapping[str, str] | None = None,
) -> TrainingPlan:
    """Decide what a training does, and refuse what does not fit together.

    None, False and empty mean that nothing was said.

    Args:
        encoder: a name of the registry.
        model_name: of the transformer to start from.
        preset_name: of the preset.
        options: gives those of an encoder; None: of the preset.
        changes: options, as typed behind --set: "dan.hidden=100".
        has_mentions, has_dev: whether there are annotated mentions, and others for development.
        refit: whether to train again on the development mentions too.
        resume: whether to go on from checkpoints.
        words: word vectors, where they are there already.
        has_words: whether word vectors will be given.
        extend: whether the mentions become names.
        corrections: misspelt words or phrases, and what they become.

    Raises:
        UsageError: what is asked for excludes each other, or there is no such encoder.
        LinkerError: a package is missing, there is no such device, or the pretrained encoder cannot
            be loaded.
    """
    if refit and not (has_dev and has_mentions):
        missing = "--mentions" if has_dev else "--dev"
        raise UsageError(
            "--refit trains again on the mentions of --mentions and --dev; "
            f"name some with {missing}"
        )
    has_words = has_words or words is not None
    encoder, reason = _choose(encoder, model_name, preset_name, has_words)
    chosen = (options or partial(preset, preset_name))(encoder)
    chosen = for_encoder(chosen, registry.load(encoder))
    spelling = normalized(corrections or {}, chosen.normalize, chosen.text.language)
    plan = TrainingPlan(encoder, chosen, spelling, extend, words, refit, reason)
    if has_words:
        _check_words(plan, changes)
    for change in changes:  # a TOML file may serve several encoders
        group = _group(change)
        if change.partition("=")[0].strip() == "training.seed":  # of the ranker, too
            continue
        if not reads(group, encoder, chosen):
            raise UsageError(
                f"{change}: the encoder {encoder} makes nothing of the options {group}; "
                "leave it out"
            )
        if group == "training" and not plan.is_trained:
            raise UsageError(_UNTRAINED.format(change, encoder))
    if plan.is_trained:
        return dataclasses.replace(plan, device=_check_trained(plan))
    if resume:
        raise UsageError(_UNTRAINED.format("--resume", encoder))
    if not plan.is_sparse:
        plan.encoder_class.check(chosen.encoder)
    return plan


def _choose(
    encoder: str | None, model_name: str | None, preset_name: str, has_words: bool
) -> tuple[str, str]:
    """The encoder, and why where it was not asked for."""
    names = registry.encoders()
    if encoder is not None and encoder not in names:
        listed = ", ".join(sorted(names))
        raise UsageError(f"--encoder {encoder}: there is no such encoder; choose one of: {listed}")
    if model_name is not None:
        if encoder not in (None, "transformer"):
            raise UsageError(
                f"--model-name is for --encoder transformer, not {encoder}; leave one of them out"
            )
        encoder = "transformer"
    of_preset = preset_name.removeprefix("paper-")
    if encoder is not None:
        if of_preset in names and of_preset not in ("default", encoder):
            raise UsageError(
                f"--preset {preset_name} is for --encoder {of_preset}, not {encoder}; "
                "leave one of them out"
            )
        return encoder, ""
    if preset_name == "default":
        if has_words:
            return "dan", "it is made of word vectors"
        return registry.BEST, "needs no download and no torch"
    try:
        encoder = preset_encoder(preset_name)
    except LinkerError as error:
        raise UsageError(f"--preset {preset_name}: {error}") from None
    return encoder, f"of the preset {preset_name}"


def _group(change: str) -> str:
    """The group of an option as it is typed behind --set."""
    return change.partition(".")[0].strip()


def _check_words(plan: TrainingPlan, changes: Sequence[str]) -> None:
    """Refuse word vectors where nothing is made of them, and options of training given ones."""
    changed = [change for change in changes if _group(change) == "words"]
    if changed:
        raise UsageError(
            f"--set {changed[0]} is for the training of word vectors, "
            "and --words names trained ones; leave one of them out"
        )
    if not plan.needs_words:
        what = plan.encoder
        if hasattr(plan.options.encoder, "base"):
            what += " on another encoder, which brings its own"
        raise UsageError(
            f"--words is for encoders that are made of words (dan and its kind), not {what}; "
            "leave it out"
        )


def _check_trained(plan: TrainingPlan) -> str:
    """Find out what would only fail after hours; give back the kind of device to train on."""
    options, own = plan.options, plan.options.encoder
    if options.training.hypernym_norm and getattr(own, "normalize", False):
        remedy = "take another encoder"
        if "normalize" in getattr(own, "__dataclass_fields__", {}):
            remedy = f"add --set {registry.options_group(plan.encoder)}.normalize=false"
        raise UsageError(
            "the norm loss (training.hypernym_norm) needs vectors of any length; " + remedy
        )
    with needing("training", "dense"):
        importlib.import_module("accelerate")
        from linker.encoders.trainable import pick_device

    device = pick_device(options.training.device)
    plan.encoder_class.check(own)
    return str(device.type)
