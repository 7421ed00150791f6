"""What a training is to do and how it runs, decided and checked before any work; needs no torch."""

from __future__ import annotations

import dataclasses
import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linker.encoders import registry
from linker.encoders.base import SparseEncoder
from linker.errors import LinkerError, UsageError, needing, shown
from linker.linking.options import LinkerOptions, for_encoder, preset, preset_encoder, reads
from linker.records import Activity
from linker.text.spelling import normal_form, normalized

if TYPE_CHECKING:
    from linker.encoders.words import WordVectors

logger = logging.getLogger(__name__)

Record = Mapping[str, Any]
"""One line of `training.jsonl`: the phase, the epoch, and what was measured."""

PHASES = ("align", "ground", "rank", "refit")
"""The phases of a training, as records and folders of checkpoints name them.

`refit` is the list-wise phase on the development mentions too.
"""


def _ignore(_: object) -> None: ...


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Where a training keeps its checkpoints, and the functions it reports to."""

    # folder that holds one for each phase; what it held goes unless `resume`; None: none are kept
    checkpoints: Path | None = None
    resume: bool = False  # continue from the checkpoints, where there are any
    development: str = ""  # fingerprint of the development mentions, which `run` makes
    refit: bool = False  # whether this is the training after the report, on all mentions
    on_event: Callable[[Record], None] = _ignore  # called with each epoch's record
    on_activity: Callable[[Activity], None] = _ignore  # called with what begins, and its progress
    on_trained: Callable[[Any], None] = _ignore  # called with the `Linker` before a refit
    say: Callable[[str], None] = logger.info  # called with a sentence for each decision

    def folder(self, phase: str) -> Path | None:
        """The folder for the checkpoints of a phase; None: none are kept."""
        return self.checkpoints and self.checkpoints / phase


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


def check_folder(folder: Path, resume: bool) -> None:
    """Refuse to train over an interrupted training, and over a folder or file of others.

    Args:
        folder: it is to hold a folder of checkpoints for each phase.
        resume: whether to go on from the checkpoints.
    """
    names = {path.name for path in folder.glob("*")}
    if (folder.exists() and not folder.is_dir()) or names - {*PHASES}:
        raise LinkerError(
            f"{folder}: checkpoints are written there, and it holds what linker did not write; "
            "move it, or name another folder with -o"
        )
    if names and not resume:
        raise LinkerError(
            f"{folder}: holds an interrupted training; go on with --resume, "
            "or remove the folder to train from the start"
        )


def remove_checkpoints(folder: Path) -> None:
    """Remove the checkpoints of all phases; what else is in the folder stays."""
    for name in PHASES:
        shutil.rmtree(folder / name, ignore_errors=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


@dataclass(frozen=True)
class TrainingPlan:
    """What a training is to do; `make` makes one."""

    encoder: str  # its name in the registry, or "FIRST,SECOND"
    options: LinkerOptions
    corrections: Mapping[str, str] = field(default_factory=dict)  # misspelt -> right, normalised
    words: WordVectors | None = None  # where None, they are trained where they are needed
    refit: bool = False  # whether to train again on the development mentions too
    device: str = ""  # where a dense encoder is trained

    @cached_property
    def encoder_class(self) -> Any:
        """The class of the encoder that is trained, the first of two."""
        return registry.load(self.first)

    @property
    def first(self) -> str:
        """The encoder that is trained and finds candidates."""
        return registry.both(self.encoder)[0]

    @property
    def second(self) -> str:
        """The encoder that describes candidates, too; it is not trained; empty: there is none."""
        return registry.both(self.encoder)[1]

    @property
    def is_sparse(self) -> bool:
        """Whether characters alone score names."""
        return issubclass(self.encoder_class, SparseEncoder)

    @property
    def is_trained(self) -> bool:
        """Whether gradients train the encoder, by torch; others are made in one go."""
        kind = self.encoder_class
        return bool(
            getattr(kind, "has_weights", False) or self.first == getattr(kind, "trained_as", "")
        )

    @property
    def normalize(self) -> Callable[[str], str]:
        """Gives the normal form of a name."""
        return partial(
            normal_form,
            options=self.options.normalize,
            corrections=self.corrections,
            language=self.options.text.language,
        )

    def reads(self, group: str) -> bool:
        """Whether this training makes anything of a group of options."""
        if group == "training" and not self.is_trained:
            return False
        if self.second and registry.options_group(group) == registry.options_group(self.second):
            return True
        return reads(group, self.first, self.options)


def make(
    encoder: str | None = None,
    *,
    preset_name: str = "default",
    options: Callable[[str], LinkerOptions] | None = None,
    changes: Sequence[str] = (),
    has_words: bool = False,
    corrections: Mapping[str, str] | None = None,
) -> TrainingPlan:
    """Decide what a training does, and refuse what does not fit together.

    Args:
        encoder: a name of the registry, or two as "FIRST,SECOND"; None: that of the preset, or the
            best one.
        preset_name: of the preset.
        options: gives those of an encoder; None: of the preset.
        changes: options, as typed behind --set: "dan.hidden=100".
        has_words: whether word vectors are given, now or later.
        corrections: misspelt words or phrases, and what they become.

    Raises:
        UsageError: what is asked for excludes each other, or there is no such encoder.
        LinkerError: a package is missing, there is no such device, or the pretrained encoder cannot
            be loaded.
    """
    try:
        encoder = encoder or preset_encoder(preset_name) or ("dan" if has_words else registry.BEST)
    except LinkerError as error:
        raise UsageError(f"--preset {preset_name}: {error}") from None
    first, second = registry.both(encoder)
    if not registry.place(first) or ("," in encoder and not registry.place(second)):
        listed = ", ".join(sorted(registry.encoders()))
        raise UsageError(f"--encoder {encoder}: there is no such encoder; choose one of: {listed}")
    chosen = (options or partial(preset, preset_name))(encoder)
    chosen = for_encoder(chosen, registry.load(first))
    spelling = normalized(corrections or {}, chosen.normalize, chosen.text.language)
    plan = TrainingPlan(encoder, chosen, spelling)
    if has_words and not plan.reads("words"):
        raise UsageError(f"--words: the encoder {encoder} makes nothing of word vectors")
    if plan.reads("words") and not has_words and chosen.words.tokens != "words":
        tokens = chosen.words.tokens
        raise UsageError(
            f"words.tokens={tokens} finds names in texts, and there are none; train vectors on "
            f"texts (linker words train TEXT --dict FILE --set words.tokens={tokens} -o DIR), and "
            "give them with --words DIR"
        )
    for change in changes:  # a TOML file may serve several encoders
        option = change.partition("=")[0].strip()
        group = option.partition(".")[0]
        is_made = has_words and group == "words"  # given vectors are not trained
        if option != "training.seed" and (is_made or not plan.reads(group)):  # the ranker's, too
            raise UsageError(f"{change}: the encoder {encoder} makes nothing of it; leave it out")
    if preset_name != "default":
        _check_trains(plan, preset_name)
    if plan.is_trained:
        with needing("training", "dense"):
            from linker.encoders.trainable import pick_device

        if chosen.training.hypernym_norm and getattr(chosen.encoder, "normalize", False):
            raise UsageError(
                "the norm loss (training.hypernym_norm) needs vectors of any length, and those of "
                f"{first} have the length 1; take {_without_norm_loss(plan)}"
            )
        plan = dataclasses.replace(plan, device=pick_device(chosen.training.device).type)
    if not plan.is_sparse:
        plan.encoder_class.check(chosen.encoder)
    if second:
        _check_second(plan)
    return plan


def _check_trains(plan: TrainingPlan, preset_name: str) -> None:
    """Look after a preset of a training by gradients where the encoder has none.

    Raises:
        UsageError: there is an encoder of the same kind that is trained.
    """
    if plan.is_trained:
        return
    start = f"--preset {preset_name}: the encoder {plan.first} is not trained"
    if trained := getattr(plan.encoder_class, "trained_as", ""):
        raise UsageError(f"{start} on lists, as the preset wants; take --encoder {trained}")
    logger.warning("%s; of the preset only what reads and scores names is taken", start)


def _without_norm_loss(plan: TrainingPlan) -> str:
    """What to set where the norm loss does not fit the vectors of an encoder."""
    without = "--set training.hypernym_norm=false"
    if "normalize" in {option.name for option in dataclasses.fields(plan.options.encoder)}:
        group = registry.options_group(plan.first)
        return f"--set {group}.normalize=false, or {without}"
    return f"{without}, or another encoder"


def _check_second(plan: TrainingPlan) -> None:
    """Refuse a second encoder that says nothing without training, or nothing else than the first.

    Raises:
        UsageError: it is such a one, or the first one has no vectors.
        LinkerError: it cannot be made.
    """
    kind, start = registry.load(plan.second), f"--encoder {plan.encoder}: "
    if plan.is_sparse:
        raise UsageError(f"{start}the first of two has vectors; take static,{plan.second}")
    if issubclass(kind, SparseEncoder) or kind.is_grounded or kind.trained_as == plan.second:
        raise UsageError(f"{start}the second of two is not trained; take transformer or static")
    if registry.options_group(plan.first) == registry.options_group(plan.second):
        raise UsageError(f"{start}both are of one kind; leave the second one out")
    kind.check(plan.options.second)
