"""Sub-words with vectors: how words are cut and names summed, what is written and read, and the table that is shipped."""

from __future__ import annotations

import shutil
import string
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker.encoders import static
from linker.encoders.static import WordPieces, words
from linker.errors import LinkerError

PIECES = ["a", "an", "anem", "ca", "##a", "##cer", "##emia", "##i", "##n", "can", "β", "##ia"]
SHIPPED = Path(str(resources.files("linker.encoders"))) / "wordpieces_data"


@pytest.fixture
def table() -> WordPieces:
    """Few sub-words with random vectors of three components."""
    return WordPieces.of(PIECES, random(len(PIECES), 3))


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(4).normal(size=shape).astype(np.float32)


# --------------------------------------------------------------------------------------------------------------- words


# ------------------------------------------------------------------------------------------------------------- the cut


@settings(max_examples=300)
@given(
    pieces=st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=12),
    ends=st.lists(st.text("abc", min_size=1, max_size=3), max_size=8),
    word=st.text("abcd", min_size=1, max_size=12),
)
def test_words_are_cut_as_by_tokenizers(pieces: list[str], ends: list[str], word: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = sorted({*pieces, *(f"##{end}" for end in ends)})
    ids = {piece: row for row, piece in enumerate(vocabulary)}
    model = tokenizers.models.WordPiece({**ids, "[UNK]": len(ids)}, unk_token="[UNK]")
    expected = [token.value for token in model.tokenize(word)]
    table = WordPieces.of(vocabulary, np.ones((len(vocabulary), 1), np.float32))
    assert ([vocabulary[row] for row in table.cut(word)] or ["[UNK]"]) == expected


# --------------------------------------------------------------------------------------------------------------- sums

NAMES = ["anemia cancer", "cancer, cancer", "β xyz", "xyz", "", "—", "anemia canβ", "CANCER"]


def test_a_vector_is_the_sum_over_the_sub_words_of_all_words(table: WordPieces) -> None:
    expected = np.zeros((len(NAMES), 3))
    for i, name in enumerate(NAMES):
        for word in words(name):
            for row in table.cut(word):
                expected[i] += table.vectors[row].astype(float) * float(table.scales[row])
    sums = table.sums(NAMES)
    assert sums.dtype == np.float32
    np.testing.assert_allclose(sums, expected, rtol=1e-5, atol=1e-6)
    assert sums[[0, 1, 2, 7]].any(axis=1).all()
    assert not sums[[3, 4, 5]].any()
    np.testing.assert_allclose(sums[1], 2 * sums[7], rtol=1e-6)


# ------------------------------------------------------------------------------------------------------------ rounding


# --------------------------------------------------------------------------------------------------- written and read


def test_what_is_saved_is_read_exactly_and_memory_mapped(table: WordPieces, tmp_path: Path) -> None:
    table.save(tmp_path / "t", {"model": "none"})
    loaded = WordPieces.read(tmp_path / "t")
    assert list(loaded.pieces) == PIECES
    np.testing.assert_array_equal(loaded.vectors, table.vectors)
    np.testing.assert_array_equal(loaded.scales, table.scales)
    assert is_mapped(loaded.vectors)


def is_mapped(values: np.ndarray) -> bool:
    """Whether an array, or the one that it is a view of, is memory-mapped."""
    while isinstance(values, np.ndarray) and not isinstance(values, np.memmap):
        values = values.base
    return isinstance(values, np.memmap)


# --------------------------------------------------------------------------------------------------------- the shipped


def test_the_shipped_table() -> None:
    table = WordPieces.shipped()
    assert is_mapped(table.vectors)
    assert len(set(table.pieces)) == len(table.pieces)
    assert table.floats().any(axis=1).all()
    letters = string.ascii_lowercase + string.digits
    assert {*letters, *(f"##{letter}" for letter in letters)} <= {*table.pieces}
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) <= 8_000_000
    assert (SHIPPED / "README.md").is_file()


def test_a_shipped_table_that_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "wordpieces_data"
    shutil.copytree(SHIPPED, folder)
    monkeypatch.setattr(static.resources, "files", lambda _: tmp_path)
    data = (folder / "vectors.npy").read_bytes()
    (folder / "vectors.npy").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(LinkerError):
        WordPieces.shipped()
