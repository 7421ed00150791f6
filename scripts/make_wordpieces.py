"""Make the table of sub-words that comes with linker, linker/encoders/wordpieces_data.

python scripts/make_wordpieces.py doid.obo.gz hp.obo.gz mondo_exactmatch_doid.sssom.tsv.gz ...

It takes all-MiniLM-L6-v2 (the extra `minilm`) and the words of dictionaries and of labels in SSSOM
files. The table that is shipped was made of those named in its README.md, in five minutes on two
cores.

The vector that a transformer makes of a word alone is the target of a table. The sub-words of a
vocabulary get the vectors whose sums over the sub-words of each word come nearest to the targets,
by ridge regression. Sums of what the transformer makes of single sub-words are much worse: "##emia"
alone means nothing to it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import identity
from scipy.sparse.linalg import splu

from linker import Dictionary
from linker.dictionary.classes import Floats
from linker.encoders import transformer as transformers
from linker.encoders.static import CONTINUED, WordPieces, words
from linker.encoders.trainable import pick_device
from linker.errors import LinkerError
from linker.io import files, sssom

DIM = 256  # components that are kept, those with the largest variance
_ALPHABET = re.compile(r"[a-z0-9]+|[α-ω]")  # of the sub-words that are kept
_PRIOR = 0.5  # sub-words start from this share of the transformer's vector of them
_RIDGE = 3.0  # weight of the squared distance from there, in words
_AT_ONCE = 256  # words in a batch
TARGET = Path(__file__).resolve().parents[1] / "linker" / "encoders" / "wordpieces_data"


def main() -> None:
    """Make the table, and say how large it is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path, help="dictionaries and SSSOM files")
    parser.add_argument("--model", default="", help="another transformer: a folder or a hub id")
    parser.add_argument("--dim", type=int, default=DIM)
    parser.add_argument("-o", "--output", type=Path, default=TARGET)
    arguments = parser.parse_args()
    texts = [text for path in arguments.paths for text in names(path)]
    label, table = make_table(arguments.model, texts, arguments.dim)
    sources = {path.name: files.sha256(path) for path in arguments.paths}
    config = {"model": label or "all-MiniLM-L6-v2", "dim": table.dim, "words_of": sources}
    table.save(arguments.output, config)
    size = sum(path.stat().st_size for path in arguments.output.iterdir())
    print(f"{len(table.pieces):,} sub-words, {table.dim} components, {size:,} bytes")


def names(path: Path) -> Iterator[str]:
    """The names in a dictionary, or the labels in an SSSOM file."""
    if ".sssom." in path.name:
        for mapping in sssom.read(path):
            yield from (mapping.subject_label, mapping.object_label)
    else:
        yield from Dictionary.read(path).names


def is_kept(piece: str) -> bool:
    """Whether a sub-word has letters that the table knows: Latin ones, digits, one Greek letter."""
    return bool(_ALPHABET.fullmatch(piece.removeprefix(CONTINUED)))


def make_table(model: str, texts: Iterable[str], dim: int = DIM) -> tuple[str, WordPieces]:
    """Make a table of the sub-words of a transformer.

    Args:
        model: a folder or an id on the hub; empty: all-MiniLM-L6-v2 of its package.
        texts: names whose words are brought to sub-words, beside the words of the vocabulary.
        dim: components to keep, at most.

    Returns:
        The name of the model, which holds no path, and the table.

    Raises:
        LinkerError: there is no such model, or its vocabulary has no WordPieces.
    """
    folder, label = transformers.find(model)
    transformer, tokenizer = transformers.load(folder, label or model)
    vocabulary = {piece: row for piece, row in tokenizer.get_vocab().items() if is_kept(piece)}
    if not any(piece.startswith(CONTINUED) for piece in vocabulary):
        raise LinkerError(
            f"{label or model}: its vocabulary has no WordPieces (##...); "
            "static vectors are made of a transformer such as BERT; take another one"
        )
    pieces = sorted(vocabulary)
    encode = partial(vectors_of_words, transformer, tokenizer)
    own = encode([[vocabulary[piece]] for piece in pieces])
    table = WordPieces.of(pieces, own)
    distinct = {word for text in texts for word in words(text) if table.cut(word)}
    distinct |= {piece for piece in pieces if not piece.startswith(CONTINUED) and len(piece) > 1}
    targets_of = sorted(distinct, key=lambda word: (len(word), word))
    with transformers.naming(label or model, "does not encode text"):
        targets = encode(tokenizer(targets_of, add_special_tokens=False)["input_ids"])
    mean = targets.mean(axis=0)
    vectors = _composed(table, targets_of, targets - mean, _PRIOR * (own - mean))
    _, axes = np.linalg.eigh(vectors.T @ vectors)  # the largest component last
    return label, WordPieces.of(pieces, vectors @ axes[:, : -dim - 1 : -1])


def _composed(table: WordPieces, words: Sequence[str], targets: Floats, prior: Floats) -> Floats:
    """The vectors of sub-words whose sums come nearest to those of words.

    They minimize |C X - T|² + r |X - P|², C the counts of sub-words in words.

    Args:
        table: cuts words.
        words: (w,) that have sub-words.
        targets: T (w, dim).
        prior: P (pieces, dim), which sub-words of no word keep.
    """
    counts, used = table.counts(words)
    gram = (counts.T @ counts + _RIDGE * identity(len(used))).tocsc()
    missing = targets - counts @ prior[used]
    vectors = prior.copy()
    vectors[used] += splu(gram).solve((counts.T @ missing).astype(np.float64))
    return vectors


def vectors_of_words(transformer: Any, tokenizer: Any, ids: Sequence[Sequence[int]]) -> Floats:
    """The vectors that a transformer makes of words, each alone: the means of its tokens' vectors.

    Args:
        transformer: the model.
        tokenizer: its tokenizer.
        ids: of the tokens of each word.

    Returns:
        float32 (words, dim).
    """
    device = pick_device("auto")
    model = transformer.to(device).eval()
    first, last = tokenizer.cls_token_id, tokenizer.sep_token_id
    vectors = []
    with torch.inference_mode():
        for i in range(0, len(ids), _AT_ONCE):
            rows = [{"input_ids": [first, *word, last]} for word in ids[i : i + _AT_ONCE]]
            batch = tokenizer.pad(rows, return_tensors="pt").to(device)
            hidden = model(**batch).last_hidden_state
            mask = batch["attention_mask"][..., None].to(hidden.dtype)
            vectors.append(((hidden * mask).sum(1) / mask.sum(1)).cpu().numpy())
    return np.concatenate(vectors)


if __name__ == "__main__":
    main()
