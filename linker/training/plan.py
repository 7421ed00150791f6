"""What a training is to do, decided and checked before any work; this needs no torch for tfidf."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from linker import registry
from linker.encoders.base import SparseEncoder
from linker.encoders.tfidf import TfidfEncoder
from linker.errors import LinkerError, UsageError, needing
from linker.options import LinkerOptions, for_encoder, preset, preset_encoder, reads
from linker.text.spelling import normal_form, normalized

if TYPE_CHECKING:
    from linker.encoders.words import WordVectors


_UNTRAINED = (
    "{}: only an encoder with weights is trained, not {}; "
    "choose --encoder transformer, dan or static-tuned, or do without"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRequest:
    """What a user asks of a training. None, False and empty mean that nothing was said."""

    encoder: str | None = None  # a name of the registry
    model_name: str | None = None  # of the transformer to start from
    preset: str = "default"
    options: Callable[[str], LinkerOptions] | None = None  # of an encoder; None: of the preset
    changes: Sequence[str] = ()  # options, as typed behind --set: "dan.hidden=100"
    has_mentions: bool = False
    has_dev: bool = False
    refit: bool = False
    resume: bool = False
    has_words: bool = False  # whether word vectors are given
    extend: bool = True
    corrections: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TrainingPlan:
    """What a training is to do. `make` makes one of a request."""

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


def make(request: TrainingRequest, words: WordVectors | None = None) -> TrainingPlan:
    """Decide what a training does, and refuse what does not fit together.

    Args:
        request: what is asked for.
        words: word vectors, where they are there already.

    Raises:
        UsageError: parts of the request exclude each other, or there is no such encoder.
        LinkerError: a package is missing, there is no such device, or the pretrained encoder cannot
            be loaded.
    """
    if request.refit and not (request.has_dev and request.has_mentions):
        missing = "--mentions" if request.has_dev else "--dev"
        raise UsageError(
            "--refit trains again on the mentions of --mentions and --dev; "
            f"name some with {missing}"
        )
    encoder, reason = _choose(request)
    options = (request.options or partial(preset, request.preset))(encoder)
    options = for_encoder(options, registry.load(encoder))
    plan = TrainingPlan(
        encoder,
        options,
        normalized(request.corrections, options.normalize, options.text.language),
        request.extend,
        words=words,
        refit=request.refit,
        reason=reason,
    )
    _check_words(request, plan)
    _check_changes(request, plan)
    if plan.is_trained:
        return dataclasses.replace(plan, device=_check_trained(plan))
    _check_untrained(request, plan)
    return plan


def _choose(request: TrainingRequest) -> tuple[str, str]:
    """The encoder, and why where it was not asked for."""
    encoder, names = request.encoder, registry.encoders()
    if encoder is not None and encoder not in names:
        listed = ", ".join(sorted(names))
        raise UsageError(f"--encoder {encoder}: there is no such encoder; choose one of: {listed}")
    if request.model_name is not None:
        if encoder not in (None, "transformer", "static", "static-tuned"):
            raise UsageError(
                f"--model-name is for --encoder transformer or static, not {encoder}; "
                "leave one of them out"
            )
        encoder = encoder or "transformer"
    of_preset = request.preset.removeprefix("paper-")
    if encoder is not None:
        if of_preset in names and of_preset not in ("default", encoder):
            raise UsageError(
                f"--preset {request.preset} is for --encoder {of_preset}, not {encoder}; "
                "leave one of them out"
            )
        return encoder, ""
    if request.preset == "default":
        if request.has_words:
            return "dan", "it is made of word vectors"
        return registry.BEST, "needs no download and no torch"
    try:
        encoder = preset_encoder(request.preset)
    except LinkerError as error:
        raise UsageError(f"--preset {request.preset}: {error}") from None
    return encoder, f"of the preset {request.preset}"


def _group(change: str) -> str:
    """The group of an option as it is typed behind --set."""
    return change.partition(".")[0].strip()


def _check_words(request: TrainingRequest, plan: TrainingPlan) -> None:
    """Refuse word vectors where nothing is made of them, and options of training given ones."""
    changed = [change for change in request.changes if _group(change) == "words"]
    if request.has_words and changed:
        raise UsageError(
            f"--set {changed[0]} is for the training of word vectors, "
            "and --words names trained ones; leave one of them out"
        )
    if request.has_words and not plan.needs_words:
        what = plan.encoder
        if hasattr(plan.options.encoder, "base"):
            what += " on another encoder, which brings its own"
        raise UsageError(
            f"--words is for encoders that are made of words (dan and its kind), not {what}; "
            "leave it out"
        )


def _check_changes(request: TrainingRequest, plan: TrainingPlan) -> None:
    """Refuse options that nothing would read. A TOML file may serve several encoders."""
    for change in request.changes:
        group = _group(change)
        if change.partition("=")[0].strip() == "training.seed":  # of the ranker, too
            continue
        if not reads(group, plan.encoder, plan.options):
            raise UsageError(
                f"{change}: the encoder {plan.encoder} makes nothing of the options {group}; "
                "leave it out"
            )
        if group == "training" and not plan.is_trained:
            raise UsageError(_UNTRAINED.format(change, plan.encoder))


def _check_untrained(request: TrainingRequest, plan: TrainingPlan) -> None:
    """Refuse what only an encoder with weights has, and find out whether this one can be made."""
    if request.resume:
        raise UsageError(_UNTRAINED.format("--resume", plan.encoder))
    if not plan.is_sparse:
        plan.encoder_class.check(plan.options.encoder)


def _check_trained(plan: TrainingPlan) -> str:
    """Find out what would only fail after hours; give back the kind of device to train on."""
    options = plan.options
    if options.training.hypernym_norm and getattr(options.encoder, "normalize", False):
        group = registry.options_group(plan.encoder)
        raise UsageError(
            "the norm loss (training.hypernym_norm) needs vectors of any length; "
            f"add --set {group}.normalize=false"
        )
    with needing("training", "dense"):
        importlib.import_module("accelerate")
        from linker.encoders.trainable import pick_device

    device = pick_device(options.training.device)
    plan.encoder_class.check(options.encoder)
    return str(device.type)
