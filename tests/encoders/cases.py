"""What every dense encoder must do. The test of a new one is a class of two lines in `test_cases.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from safetensors import SafetensorError  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

from linker.dictionary import Dictionary  # noqa: E402
from linker.encoders import registry  # noqa: E402
from linker.encoders.base import Encoder, EncoderContext  # noqa: E402
from linker.encoders.trainable import GroundedEncoder, TrainableEncoder, in_training  # noqa: E402
from linker.encoders.words import WordVectors  # noqa: E402
from linker.errors import LinkerError  # noqa: E402
from linker.linking.options import changed, preset  # noqa: E402
from linker.text.normalize import normalize  # noqa: E402

NAMES = [
    "breast cancer",
    "",
    "xyz",
    "the the the heart",
    "skin",
    "a " * 300,
    "ß" * 5000,
    "heart 😀",
]
LINES = [
    "D1||breast cancer|breast tumor|tumor of the breast",
    "D2||skin cancer|skin tumor",
    "D3||heart attack|pain of the heart",
]


class EncoderCase:
    """An encoder as it is created, trained, saved and loaded."""

    name: ClassVar[str]  # in the registry
    small: ClassVar[dict[str, Any]] = {}  # options that make it small

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        (tmp_path / "d.txt").write_text("\n".join(LINES) + "\n")
        vocabulary = {word for line in LINES for word in line[4:].replace("|", " ").split()}
        vectors = np.random.default_rng(0).normal(size=(len(vocabulary), 3)).astype(np.float32)
        self.words: WordVectors | None = WordVectors(sorted(vocabulary), vectors)

    def make(self, seed: int = 0) -> Any:
        """A new encoder with the defaults of its name, made small; what gradients train if any do."""
        table = Dictionary.read(self.folder / "d.txt", format="biosyn").table(normalize)
        options = changed(preset("default", self.name), {"encoder": self.small}, self.name)
        context = EncoderContext(options.encoder, table, self.words, seed)
        encoder = registry.load(self.name).create(context)
        is_trained = encoder.has_weights or encoder.trained_as == self.name
        return in_training(encoder) if is_trained else encoder

    def test_alone_or_in_a_batch(self) -> None:
        encoder = self.make()
        assert isinstance(encoder, Encoder)
        is_trainable = isinstance(encoder, TrainableEncoder)
        together = (encoder.eval() if is_trainable else encoder).encode(NAMES * 3)
        if is_trainable:
            embedded = encoder.embed(NAMES * 3).detach().numpy()
            np.testing.assert_allclose(embedded, together, atol=1e-5)
        assert together.dtype == np.float32
        assert together.shape == (3 * len(NAMES), encoder.dim)
        assert np.isfinite(together).all()
        alone = np.concatenate([encoder.encode([text]) for text in NAMES * 3])
        np.testing.assert_allclose(together, alone, atol=1e-5)

    def test_every_weight_is_trained(self) -> None:
        encoder = self.make()
        if not isinstance(encoder, TrainableEncoder):
            return
        encoder.embed(NAMES).square().sum().add(encoder.embed(NAMES)[:, 0].sum()).backward()
        assert all(
            parameter.grad is not None and torch.isfinite(parameter.grad).all()
            for name, parameter in encoder.named_parameters()
            if "pooler" not in name
        )

    def test_saving_and_loading(self) -> None:
        encoder = self.make()
        if isinstance(encoder, TrainableEncoder):
            encoder.eval()
        (self.folder / "e").mkdir()
        encoder.save(self.folder / "e")
        loaded = registry.load(self.name).load(self.folder / "e")
        np.testing.assert_allclose(loaded.encode(NAMES), encoder.encode(NAMES), atol=1e-6)
        assert loaded.options == encoder.options
        files = [path for path in (self.folder / "e").rglob("*") if path.is_file()]
        assert {path.suffix for path in files} <= {".npy", ".json", ".safetensors", ".txt"}


class GroundedCase(EncoderCase):
    """An encoder that the grounding phase trains."""

    def test_the_length_of_a_vector(self) -> None:
        """Names without a known word have a vector of zeros, unless the encoder reads letters."""
        lengths = np.linalg.norm(self.make().eval().encode(["xyz", "heart", "xyz heart"]), axis=1)
        np.testing.assert_allclose(lengths, [self.name == "bne", 1, 1], atol=1e-5)

    def test_the_seed_decides(self) -> None:
        one, same, other = (self.make(seed).eval().encode(["skin"]) for seed in (0, 0, 1))
        np.testing.assert_array_equal(one, same)
        assert not np.array_equal(one, other)

    @pytest.mark.parametrize("change", ["weights", "nan"])
    def test_a_folder_that_was_changed(self, change: str) -> None:
        folder = self.folder / "e"
        encoder = self.make()
        assert isinstance(encoder, GroundedEncoder)
        encoder.save(folder)
        weights = folder / "weights.safetensors"
        if change == "weights":
            weights.write_bytes(b"no")
        else:
            broken = {key: tensor * float("nan") for key, tensor in load_file(weights).items()}
            save_file(broken, weights)
        # `persistence.load` says of any of them that the model is damaged
        with pytest.raises((LinkerError, SafetensorError, OSError, TypeError, LookupError)):
            registry.load(self.name).load(folder)
