"""The training loop, on a toy encoder: a bag of characters whose batches depend on its weights."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from linker.errors import LinkerError  # noqa: E402
from linker.io import persistence  # noqa: E402
from linker.training import loop as module  # noqa: E402
from linker.training.loop import Batch, Losses, Phase, run  # noqa: E402
from linker.training.plan import Record, RunSettings  # noqa: E402

NAMES = [a + b + c for a in "abc" for b in "xyz" for c in "kq"] + ["aa", "bb", "cc"]  # 21
SIZE, STEPS = 4, 6  # the last batch holds one name


class Toy(nn.Module):
    """Encodes names."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.characters = nn.EmbeddingBag(128, 8)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(8, 6)
        self.sparse_weight = nn.Parameter(torch.zeros(()))

    def embed(self, names: Sequence[str]) -> Tensor:
        starts = torch.tensor(np.cumsum([0, *map(len, names[:-1])]))
        bags = self.characters(torch.tensor([*map(ord, "".join(names))]), starts)
        vectors: Tensor = self.out(self.dropout(bags))
        return vectors

    def groups(self) -> list[dict[str, Any]]:
        encoder = [p for p in self.parameters() if p is not self.sparse_weight]
        return [
            {"params": encoder, "lr": 0.02, "weight_decay": 0.01},
            {"params": [self.sparse_weight], "lr": 0.1, "weight_decay": 0.0},
        ]

    def loss(self, vectors: Tensor) -> Losses:
        """Each query before its synonym and three neighbours; the sparse score is made up."""
        lists = vectors.view(-1, 5, 6)
        sparse = torch.tensor([0.5, 0.1, 0.7, 0.2])
        scores = (lists[:, :1] * lists[:, 1:]).sum(-1) + self.sparse_weight * sparse
        value = functional.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.long))
        right = float((scores.argmax(-1) == 0).float().mean())
        return {"loss": (value, len(scores)), "train_acc1": (right, len(scores))}

    def batches(self, epoch: int) -> list[Batch]:
        """Lists of the nearest names by the current weights, in an order of the epoch."""
        assert not self.training
        with torch.no_grad():
            vectors = self.embed(NAMES)
        near = (vectors @ vectors.T).fill_diagonal_(-math.inf).topk(3).indices.tolist()
        lists = [
            [NAMES[i], NAMES[i][::-1], *(NAMES[j] for j in near[i])]
            for i in np.random.default_rng(epoch).permutation(len(NAMES))
        ]
        return [
            Batch([name for names in lists[i : i + SIZE] for name in names], self.loss)
            for i in range(0, len(lists), SIZE)
        ]

    def validate(self, _: int) -> dict[str, float]:
        assert not self.training
        weight = float(self.sparse_weight.detach())
        return {"dev_acc1": math.sin(20 * weight + 1), "sparse_weight": weight}


def phase(toy: Toy, **changes: Any) -> Phase:
    base = Phase(
        "align",
        toy,
        toy.groups(),
        toy.batches,
        toy.validate,
        epochs=4,
        steps=STEPS,
        warmup=0.25,
        clip=1.0,
        best_by="dev_acc1",
        seed=3,
    )
    return replace(base, **changes)


def weights(module: nn.Module) -> dict[str, list[Any]]:
    return {name: tensor.tolist() for name, tensor in module.state_dict().items()}


def trained(
    settings: RunSettings | None = None, fingerprint: Mapping[str, object] = {}, **changes: Any
) -> dict[str, Any]:
    """What a run ends with."""
    toy = Toy(0.2)
    history = run(phase(toy, **changes), settings or RunSettings(), fingerprint)
    return {"history": [dict(record) for record in history], "weights": weights(toy)}


pytestmark = pytest.mark.usefixtures("one_thread")

RATES = [1 / 3, 2 / 3, 1, 1, 8 / 9, 7 / 9, 6 / 9, 5 / 9, 4 / 9, 3 / 9, 2 / 9, 1 / 9]


@pytest.mark.parametrize(
    ("optimizer", "warmup", "rates"), [("adamw", 0.25, RATES), ("adam", 0, [1] * 12)]
)
def test_steps_by_a_loop_written_out(optimizer: str, warmup: float, rates: list[float]) -> None:
    toy, plain = Toy(), Toy()
    changes = {"epochs": 2, "optimizer": optimizer, "clip": 0.5, "best_by": "", "warmup": warmup}
    history = run(phase(toy, **changes), RunSettings(), {})
    tool = (torch.optim.AdamW if optimizer == "adamw" else torch.optim.Adam)(plain.groups())
    factors = iter(rates)
    for epoch in (1, 2):
        total = 0.0
        for batch in plain.eval().batches(epoch):
            factor = next(factors)
            tool.param_groups[0]["lr"], tool.param_groups[1]["lr"] = 0.02 * factor, 0.1 * factor
            tool.zero_grad()
            loss, count = batch.loss(plain.embed(batch.names))["loss"]
            loss.backward()
            nn.utils.clip_grad_norm_(plain.parameters(), 0.5)
            tool.step()
            total += float(loss.detach()) * count
        assert history[epoch - 1]["loss"] == pytest.approx(total / len(NAMES), abs=1e-6)
    for weight, expected in zip(toy.parameters(), plain.parameters(), strict=True):
        assert weight.tolist() == pytest.approx(np.array(expected.tolist()), abs=1e-5)


def test_the_best_weights_are_kept_and_patience_ends_the_run() -> None:
    marks, seen, toy = iter([0.5, 0.7, 0.7, 0.6, 0.9]), list[Any](), Toy()

    def validate(epoch: int) -> dict[str, float]:
        seen.append(weights(toy))
        return {"dev_acc1": next(marks)}

    history = run(phase(toy, epochs=5, patience=2, validate=validate), RunSettings(), {})
    assert [record["dev_acc1"] for record in history] == [0.5, 0.7, 0.7, 0.6]
    assert weights(toy) == seen[1] != seen[3]
    assert not toy.training


@pytest.mark.parametrize("bad", ["loss", "gradient"])
def test_what_is_not_finite_stops_the_run_and_keeps_the_checkpoint(
    tmp_path: Path, bad: str
) -> None:
    toy, before = Toy(), list[Any]()

    def spoilt(vectors: Tensor) -> Losses:
        before.append(weights(toy))
        flat = (vectors - vectors.detach()).sum().sqrt()  # whose slope at 0 is not finite
        return {"loss": (vectors.sum() * math.nan if bad == "loss" else flat, 1.0)}

    def batches(epoch: int) -> list[Batch]:
        made = toy.batches(epoch)
        return made if epoch == 1 else [*made[:2], Batch(made[2].names, spoilt)]

    with pytest.raises(LinkerError, match="epoch 2, step 3"):
        run(phase(toy, batches=batches, best_by=""), RunSettings(tmp_path), {})
    assert weights(toy) == before[0]
    assert epochs_of(tmp_path) == 1


# checkpoints


def epochs_of(folder: Path) -> int:
    """The finished epochs of the checkpoint."""
    config = json.loads((folder / "align" / "checkpoint" / "config.json").read_text())
    return len(config["history"])


def test_a_run_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    whole = trained(epochs=4, warmup=0.0)
    settings = RunSettings(tmp_path, resume=True)  # of none

    def stop(record: Record) -> None:
        if record["epoch"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(replace(settings, on_event=stop), {"corpus": "x"}, warmup=0.0)
    assert epochs_of(tmp_path) == 2
    events = list[Record]()
    again = trained(replace(settings, on_event=events.append), {"corpus": "x"}, warmup=0.0)
    assert again == whole
    assert [record["epoch"] for record in events] == [1, 2, 3, 4]
    with pytest.raises(LinkerError, match="with another corpus, epochs, seed;"):
        trained(settings, {"corpus": "y"}, warmup=0.0, epochs=5, seed=5)


def test_a_failed_save_leaves_the_former(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained(RunSettings(tmp_path), epochs=1)

    def full(*_: object) -> None:
        raise module.SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(module, "save_file", full)
    with pytest.raises(LinkerError, match="No space left"):
        trained(RunSettings(tmp_path), epochs=2)
    assert epochs_of(tmp_path) == 1
    assert [path.name for path in (tmp_path / "align").iterdir()] == ["checkpoint"]


@pytest.mark.parametrize(
    ("config", "content"),
    [
        ({"fingerprint": {}}, b""),
        ({"fingerprint": 3, "history": [], "best": None, "waited": 0}, b""),
        ({"fingerprint": {}, "history": [], "best": None, "waited": 0}, b"\x80\x04pickle"),
    ],
)
def test_forged_ones_are_refused(tmp_path: Path, config: dict[str, object], content: bytes) -> None:
    """Its checksums are right, its content is not."""
    path = tmp_path / "align" / "checkpoint"
    with persistence.saving(path, "checkpoint", config, lambda *_: None) as folder:
        if content:
            (folder / "weights.safetensors").write_bytes(content)
    with pytest.raises(LinkerError, match="is damaged"):
        trained(RunSettings(tmp_path, resume=True))
