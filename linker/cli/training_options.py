"""The options of `linker train`, in groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from linker.cli import common, settings
from linker.cli.groups import group
from linker.errors import LinkerError, OnError

if TYPE_CHECKING:
    from linker.dictionary import Dictionary
    from linker.options import LinkerOptions
    from linker.types import Document, Mention


@dataclass(frozen=True)
class Annotations:
    """Annotated mentions to train on and to validate with."""

    mentions: tuple[str, ...]
    mentions_format: str | None
    mention_type: str | None
    dev: str | None
    refit: bool
    no_extend: bool

    def training(self, on_error: OnError, dictionary: Dictionary) -> list[Document | Mention]:
        """Read the mentions to train on, whose ids are of the dictionary."""
        return [item for path in self.mentions for item in self._read(path, on_error, dictionary)]

    def development(self, on_error: OnError, dictionary: Dictionary) -> list[Document | Mention]:
        """Read the mentions to validate on, of which the dictionary must know some."""
        from linker.training.supervision import check_known

        items = self._read(self.dev, on_error, dictionary) if self.dev else []
        check_known(dictionary, items, self.dev or "")
        return items

    def _read(
        self, path: str, on_error: OnError, dictionary: Dictionary
    ) -> list[Document | Mention]:
        return read_annotated(path, self.mentions_format, self.mention_type, on_error, dictionary)


def read_annotated(
    path: str,
    form: str | None,
    mention_type: str | None,
    on_error: OnError,
    dictionary: Dictionary,
) -> list[Document | Mention]:
    """Read a file, which must hold annotated mentions.

    Args:
        path: of the file.
        form: its format; None: it is recognised.
        mention_type: keep mentions of this type; None: all.
        on_error: what to do with a bad record.
        dictionary: which the ids are of.
    """
    from linker.readers import mentions as readers

    items = list(
        readers.read(path, form, type=mention_type, on_error=on_error, identify=dictionary.identify)
    )
    if all(mention.gold is None for mention, _ in readers.flatten(items)):
        raise LinkerError(
            f"{path}: holds no annotated mentions; "
            "give a file with gold ids, e.g. mention<TAB>id lines"
        )
    return items


@dataclass(frozen=True)
class EncoderChoice:
    """Which encoder, and what it starts from."""

    encoder: str | None
    model_name: str | None
    words: str | None
    texts: tuple[str, ...]


@dataclass(frozen=True)
class OptionFlags:
    """The options of training: preset, flags, file, and --set, each over those before it."""

    preset: str
    loss: str | None
    hypernym_norm: bool | None
    top_k: int | None
    dense_ratio: float | None
    max_hypernyms: int | None
    epochs: int | None
    batch_size: int | None
    learning_rate: float | None
    seed: int | None
    device: str | None
    precision: str | None
    config: str | None
    changes: tuple[str, ...]

    @property
    def flags(self) -> dict[str, Any]:
        """The flags that each set one option of training; None where one is not given."""
        return {name: getattr(self, name) for name in settings.FLAGS}

    def read(self, encoder: str, model_name: str | None) -> LinkerOptions:
        """Read the options of an encoder."""
        flags = settings.flagged(self.flags, model_name, encoder)
        return settings.read(self.preset, self.config, flags, self.changes, encoder)

    @property
    def given(self) -> list[str]:
        """The flags that were given, as they are typed."""
        pairs = self.flags.items()
        return [settings.typed(name, value) for name, value in pairs if value is not None]


annotation_options = group(
    "annotations",
    Annotations,
    click.option(
        "--mentions",
        multiple=True,
        metavar="PATH",
        help="Annotated mentions: they become names, and train a dense encoder.",
    ),
    common.mentions_format_option,
    click.option(
        "--type", "mention_type", metavar="T", help="Keep mentions of this type, e.g. Disease."
    ),
    click.option(
        "--dev",
        metavar="PATH",
        help="Annotated mentions to report accuracy on (protocol strict), "
        "and to choose the best epoch by.",
    ),
    click.option(
        "--refit",
        is_flag=True,
        help="After the report, train again on the mentions of --mentions and --dev.",
    ),
    click.option(
        "--no-extend", is_flag=True, help="Do not add the mentions to the dictionary's names."
    ),
)
encoder_options = group(
    "encoder",
    EncoderChoice,
    click.option(
        "--encoder",
        metavar="NAME",
        help="One of `linker encoders`. [default: static, or tfidf where that is clearly better]",
    ),
    click.option(
        "--model-name",
        metavar="PATH_OR_HUB_ID",
        help="The transformer to start from; implies --encoder transformer unless static is named.",
    ),
    click.option(
        "--words",
        metavar="DIR_OR_FILE",
        help="Word vectors, for encoders that are made of words. [default: trained on the names]",
    ),
    click.option(
        "--text",
        "texts",
        multiple=True,
        metavar="PATH",
        help="Text to train word vectors on beside the names; may be given again.",
    ),
)
training_options = group(
    "options",
    OptionFlags,
    click.option(
        "--preset",
        default="default",
        show_default=True,
        metavar="NAME",
        help="default, or paper- and one of: biosyn, bcnh, dan, dan-higher, fewshot, bne, "
        "bne-words.",
    ),
    click.option(
        "--loss",
        type=click.Choice(["listwise", "marginal"]),
        help="Loss of the candidate lists. [training.loss]",
    ),
    click.option(
        "--hypernym-norm/--no-hypernym-norm",
        default=None,
        help="Add the norm loss. [training.hypernym_norm]",
    ),
    click.option(
        "--top-k", type=int, metavar="N", help="Names in a training list. [training.top_k]"
    ),
    click.option(
        "--dense-ratio",
        type=float,
        metavar="X",
        help="Share of them that are dense candidates. [training.dense_ratio]",
    ),
    click.option(
        "--max-hypernyms",
        type=int,
        metavar="N",
        help="Hypernym names for the norm loss of a mention. [training.max_hypernyms]",
    ),
    click.option(
        "--epochs",
        type=int,
        metavar="N",
        help="Passes over the mentions, at most. [training.epochs]",
    ),
    click.option(
        "--batch-size",
        type=int,
        metavar="N",
        help="Mentions of a training step. [training.batch_size]",
    ),
    click.option(
        "--learning-rate",
        type=float,
        metavar="X",
        help="Of the encoder, at its highest. [training.learning_rate]",
    ),
    click.option(
        "--seed", type=int, metavar="N", help="Same seed, same machine, same model. [training.seed]"
    ),
    click.option(
        "--device",
        type=click.Choice(["auto", "cpu", "cuda"]),
        help="Where a dense encoder is trained. [training.device]",
    ),
    click.option(
        "--precision",
        type=click.Choice(["auto", "fp32", "bf16"]),
        help="What it computes in. [training.precision]",
    ),
    click.option("--config", metavar="FILE.toml", help="Options as tables of a TOML file."),
    click.option(
        "--set",
        "changes",
        multiple=True,
        metavar="GROUP.FIELD=VALUE",
        help="One option, e.g. sparse.ngram_max=3.",
    ),
)
