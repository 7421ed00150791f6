"""Tables of sub-words out of a transformer with random weights: what it makes of words, and sums that come near."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from linker.encoders import transformer as pretrained  # noqa: E402
from linker.encoders.static import WordPieces  # noqa: E402
from linker.errors import LinkerError  # noqa: E402

_SPEC = importlib.util.spec_from_file_location(
    "make_wordpieces", Path(__file__).parents[2] / "scripts" / "make_wordpieces.py"
)
making: Any = importlib.util.module_from_spec(_SPEC)  # type: ignore[arg-type]
_SPEC.loader.exec_module(making)  # type: ignore[union-attr]
_composed, is_kept, make_table = making._composed, making.is_kept, making.make_table
vectors_of_words = making.vectors_of_words

TEXTS = ["Breast cancer", "neuropathy, anemia", "fever of type 2", "癌", "hepatitis"]


def test_which_sub_words_are_kept() -> None:
    assert all(map(is_kept, [*"a0β", "##a", "##β", "cancer", "##emia", "2a"]))
    assert not any(map(is_kept, ["é", "##é", "a-b", "[CLS]", "##", "", "癌", "A", "aβ"]))


pytestmark = pytest.mark.usefixtures("one_thread")


def test_a_word_is_the_mean_of_its_tokens(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone it is the same as in a batch of longer ones."""
    monkeypatch.setattr(making, "_AT_ONCE", 2)
    model, tokenizer = pretrained.load(tiny_bert, "tiny")
    words = ["cancer", "neuropathy", "a", "fever", "leukemia"]
    ids = tokenizer(words, add_special_tokens=False)["input_ids"]
    vectors = vectors_of_words(model, tokenizer, ids)
    assert vectors.shape == (5, 32)
    with torch.inference_mode():
        for word, vector in zip(words, vectors, strict=True):
            hidden = model(**tokenizer(word, return_tensors="pt").to(model.device))
            expected = hidden.last_hidden_state[0].mean(0).cpu().numpy()
            np.testing.assert_allclose(vector, expected, atol=1e-5)


def test_sub_words_are_composed_by_least_squares() -> None:
    """The stacked system [C; √r] X = [T; √r P] has the same solution; sub-words of no word keep P."""
    rng = np.random.default_rng(0)
    pieces = ["a", "b", "c", "##a", "##b", "zz"]
    table = WordPieces.of(pieces, rng.normal(size=(6, 3)).astype(np.float32))
    words = ["".join(rng.choice(list("ab"), rng.integers(1, 6))) for _ in range(12)] + ["c", "ca"]
    targets = rng.normal(size=(len(words), 3)).astype(np.float32)
    prior = rng.normal(size=(6, 3)).astype(np.float32)
    counts = np.zeros((len(words), 6))
    for i, word in enumerate(words):
        for row in table.cut(word):
            counts[i, row] += 1
    root = np.sqrt(making._RIDGE)
    stacked = np.concatenate([counts, root * np.eye(6)])
    expected, *_ = np.linalg.lstsq(stacked, np.concatenate([targets, root * prior]), rcond=None)
    vectors = _composed(table, words, targets, prior)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    np.testing.assert_array_equal(vectors[5], prior[5])


def test_a_table_of_a_transformer(tiny_bert: Path) -> None:
    label, table = make_table(str(tiny_bert), TEXTS)
    assert label == "tiny-bert"
    assert table.dim == 32  # no more than there are
    assert set(table.pieces) == {
        *"abcdefghijklmnopqrstuvwxyz0123456789",
        *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz0123456789"),
        *("cancer", "syndrome", "disease", "breast", "type", "fever"),
        *("##itis", "##oma", "##emia", "##pathy"),
    }
    for texts, is_same in ((TEXTS, True), (TEXTS[::-1], True), (TEXTS[:1], False)):
        other = make_table(str(tiny_bert), texts)[1]
        assert np.array_equal(other.vectors, table.vectors) == is_same


def test_a_vocabulary_without_word_pieces(tiny_bert: Path, tmp_path: Path) -> None:
    folder = tmp_path / "words"
    shutil.copytree(tiny_bert, folder)
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghij"]
    transformers.BertTokenizer(
        vocab={name: row for row, name in enumerate(names)}, model_max_length=64
    ).save_pretrained(folder)
    with pytest.raises(LinkerError):
        make_table(str(folder), TEXTS)
