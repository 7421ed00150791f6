"""Scores of texts that are read together, with a tiny BERT of random weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
from safetensors.torch import save_file  # noqa: E402

from linker.encoders.cross import CrossEncoder  # noqa: E402
from linker.encoders.transformer import TransformerOptions  # noqa: E402
from linker.encoders.transformer_training import TrainableTransformer  # noqa: E402
from linker.errors import LinkerError  # noqa: E402

TEXTS = [
    "breast cancer [SEP] cancer of the breast | breast disease",
    "fever",
    "",
    "a b c [SEP] d",
    "fever",
]


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def names(tiny_bert: Path) -> TrainableTransformer:
    return TrainableTransformer.pretrained(TransformerOptions(model=str(tiny_bert)))


@pytest.fixture
def encoder(names: TrainableTransformer) -> CrossEncoder:
    """With a head of its own."""
    cross = CrossEncoder.of(names, 48).eval()
    with torch.no_grad():
        cross.head.weight.copy_(torch.linspace(-1, 1, 32)[None])
        cross.head.bias.fill_(0.5)
    return cross


def test_untrained_scores_are_zero(names: TrainableTransformer) -> None:
    fresh = CrossEncoder.of(names, 48)
    assert fresh.dim == 1
    assert fresh.encode(TEXTS).tolist() == [[0.0]] * len(TEXTS)


def test_slow_twin(encoder: CrossEncoder) -> None:
    """The mean of the tokens' vectors, unlike those of names not of unit length, times the weights of the head."""
    for text, score in zip(TEXTS, encoder.encode(TEXTS)[:, 0], strict=True):
        with torch.no_grad():
            hidden = encoder.model(
                **encoder.tokenizer(text, return_tensors="pt")
            ).last_hidden_state[0]
        expected = (
            sum(
                w * float(v)
                for w, v in zip(torch.linspace(-1, 1, 32).tolist(), hidden.mean(0), strict=True)
            )
            + 0.5
        )
        assert score == pytest.approx(expected, abs=1e-5)


def test_alone_or_in_a_batch(encoder: CrossEncoder) -> None:
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(encoder.encode(TEXTS), alone, atol=1e-5)


def test_joined_texts_are_kept_apart(encoder: CrossEncoder) -> None:
    assert encoder.join("fever", "", "cancer of the breast") == "fever [SEP] cancer of the breast"
    (ids,) = encoder.tokenize([encoder.join("fever", "breast")])
    assert encoder.tokenizer.convert_ids_to_tokens(list(ids)) == [
        "[CLS]",
        "fever",
        "[SEP]",
        "breast",
        "[SEP]",
    ]
    assert len(encoder.tokenize(["a " * 99])[0]) == 48


def test_training_leaves_the_encoder_of_names_alone(
    names: TrainableTransformer, encoder: CrossEncoder
) -> None:
    before = names.encode(["fever"]).tolist()
    encoder.embed(["fever"]).sum().backward()
    with torch.no_grad():
        for parameter in encoder.parameters():
            if parameter.grad is not None:
                parameter -= 0.1 * parameter.grad
    assert names.encode(["fever"]).tolist() == before
    assert CrossEncoder.of(names, 48).model is not names.model


def test_saving_and_loading(encoder: CrossEncoder, tmp_path: Path) -> None:
    encoder.save(tmp_path)
    loaded = CrossEncoder.load(tmp_path)
    assert loaded.options == encoder.options
    assert loaded.encode(TEXTS).tolist() == encoder.encode(TEXTS).tolist()


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        (None, "does not fit the transformer"),
        ({"weight": (1, 31), "bias": (1,)}, "does not fit the transformer"),
        ({"weight": (1, 32)}, "does not fit the transformer"),
    ],
)
def test_a_damaged_head(
    encoder: CrossEncoder, tmp_path: Path, tensors: dict[str, tuple[int, ...]] | None, message: str
) -> None:
    encoder.save(tmp_path)
    (tmp_path / "head.safetensors").unlink()
    if tensors:
        save_file(
            {name: torch.zeros(shape) for name, shape in tensors.items()},
            tmp_path / "head.safetensors",
        )
    with pytest.raises(LinkerError, match=message):
        CrossEncoder.load(tmp_path)


def test_a_head_that_is_no_number(encoder: CrossEncoder, tmp_path: Path) -> None:
    encoder.save(tmp_path)
    save_file(
        {"weight": torch.full((1, 32), float("nan")), "bias": torch.zeros(1)},
        tmp_path / "head.safetensors",
    )
    with pytest.raises(
        LinkerError, match=r"head\.safetensors: its weights are not finite; train again"
    ):
        CrossEncoder.load(tmp_path)
