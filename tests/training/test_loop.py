"""The training loop, on a toy encoder: a bag of characters whose batches depend on its weights.

Run as a script it is the process that the tests kill, or one of two that train together.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
accelerate = pytest.importorskip("accelerate")
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from linker import persistence  # noqa: E402
from linker.errors import LinkerError  # noqa: E402
from linker.training import loop as module  # noqa: E402
from linker.training.loop import (  # noqa: E402
    Batch,
    Checkpoints,
    Loss,
    Phase,
    Progress,
    Schedule,
    Step,
    run,
)
from linker.training.plan import Record  # noqa: E402

NAMES = [a + b + c for a in "abc" for b in "xyz" for c in "kq"] + ["aa", "bb", "cc"]  # 21
SIZE, STEPS = 4, 6  # the last batch holds one name
PLAN = Schedule(epochs=4, steps=STEPS, warmup=0.25, clip=1.0, best_by="dev_acc1", seed=3)


class Toy(nn.Module):
    """Encodes names; while training it has no memory for more than `room` of them."""

    def __init__(self, dropout: float = 0.0, room: int | None = None) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.characters = nn.EmbeddingBag(128, 8)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(8, 6)
        self.sparse_weight = nn.Parameter(torch.zeros(()))
        self.room, self.calls = room, list[tuple[list[str], Tensor, Tensor]]()

    def embed(self, names: Sequence[str]) -> Tensor:
        if self.training and self.room is not None and len(names) > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory (a toy's)")
        state = torch.get_rng_state()
        starts = np.cumsum([0, *map(len, names[:-1])])
        vectors = self.out(
            self.dropout(
                self.characters(torch.tensor([*map(ord, "".join(names))]), torch.tensor(starts))
            )
        )
        self.calls.append((list(names), state, vectors))
        return vectors

    def groups(self) -> list[dict[str, Any]]:
        encoder = [p for p in self.parameters() if p is not self.sparse_weight]
        return [
            {"params": encoder, "lr": 0.02, "weight_decay": 0.01},
            {"params": [self.sparse_weight], "lr": 0.1, "weight_decay": 0.0},
        ]

    def loss(self, vectors: Tensor) -> Loss:
        """Each query before its synonym and three neighbours; the sparse score is made up."""
        lists = vectors.view(-1, 5, 6)
        scores = (lists[:, :1] * lists[:, 1:]).sum(-1) + self.sparse_weight * torch.tensor(
            [0.5, 0.1, 0.7, 0.2]
        )
        value = functional.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.long))
        right = float((scores.argmax(-1) == 0).float().mean())
        return Loss(value, len(scores), {"train_acc1": (right, len(scores))})

    def batches(self, epoch: int, rank: int = 0, processes: int = 1) -> list[Batch]:
        """Lists of the nearest names by the current weights, in an order of the epoch.

        A process takes its share of each batch.
        """
        assert not self.training
        with torch.no_grad():
            vectors = self.embed(NAMES)
        near = (vectors @ vectors.T).fill_diagonal_(-math.inf).topk(3).indices.tolist()
        lists = [
            [NAMES[i], NAMES[i][::-1], *(NAMES[j] for j in near[i])]
            for i in np.random.default_rng(epoch).permutation(len(NAMES))
        ]
        shares = [lists[i : i + SIZE][rank::processes] for i in range(0, len(lists), SIZE)]
        return [Batch([name for names in share for name in names], self.loss) for share in shares]

    def validate(self, _: int) -> dict[str, float]:
        assert not self.training
        return {
            "dev_acc1": math.sin(20 * float(self.sparse_weight.detach()) + 1),
            "sparse_weight": float(self.sparse_weight.detach()),
        }


def weights(module: nn.Module) -> dict[str, list[Any]]:
    return {name: tensor.tolist() for name, tensor in module.state_dict().items()}


def phase(
    toy: Toy,
    batches: Callable[[int], Sequence[Batch]],
    plan: Schedule,
    validate: Callable[[int], Mapping[str, float]] = lambda _: {},
) -> Phase:
    return Phase("align", toy, toy.groups(), batches, plan, validate, {})


def run_alone(phase: Phase, checkpoints: Checkpoints | None = None) -> list[Step | Record]:
    return list(run(phase, accelerate.Accelerator(cpu=True), checkpoints))


def train(
    toy: Toy, plan: Schedule = PLAN, checkpoints: Checkpoints | None = None
) -> Iterator[Step | Record]:
    accelerator = accelerate.Accelerator(cpu=True)
    rank, processes = accelerator.process_index, accelerator.num_processes
    batches = partial(toy.batches, rank=rank, processes=processes)
    yield from run(phase(toy, batches, plan, toy.validate), accelerator, checkpoints)


def outcome(toy: Toy, records: Sequence[Step | Record]) -> dict[str, Any]:
    return {
        "history": [dict(r) for r in records if not isinstance(r, Step)],
        "weights": weights(toy),
    }


def trained(
    plan: Schedule = PLAN, checkpoints: Checkpoints | None = None, dropout: float = 0.2
) -> dict[str, Any]:
    toy = Toy(dropout)
    return outcome(toy, list(train(toy, plan, checkpoints)))


def one_step(toy: Toy, batch: Batch, **plan: Any) -> list[Step | Record]:
    return run_alone(phase(toy, lambda _: [batch], Schedule(epochs=1, steps=1, **plan)))


pytestmark = pytest.mark.usefixtures("one_thread", "no_accelerator_state")


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    """What a run that was left alone ends with."""
    return trained()


# one process


RATES = [1 / 3, 2 / 3, 1, 1, 8 / 9, 7 / 9, 6 / 9, 5 / 9, 4 / 9, 3 / 9, 2 / 9, 1 / 9]


@pytest.mark.parametrize(
    ("optimizer", "warmup", "rates"), [("adamw", 0.25, RATES), ("adam", 0, [1] * 12)]
)
def test_steps_by_a_loop_written_out(optimizer: str, warmup: float, rates: list[float]) -> None:
    toy, plain = Toy(), Toy()
    plan = replace(PLAN, epochs=2, optimizer=optimizer, clip=0.5, best_by=None, warmup=warmup)
    losses = [record.loss for record in train(toy, plan) if isinstance(record, Step)]
    tool = (torch.optim.AdamW if optimizer == "adamw" else torch.optim.Adam)(plain.groups())
    factors = iter(rates)
    for epoch in (1, 2):
        for batch in plain.eval().batches(epoch):
            factor = next(factors)
            tool.param_groups[0]["lr"], tool.param_groups[1]["lr"] = 0.02 * factor, 0.1 * factor
            tool.zero_grad()
            loss = batch.loss(plain.embed(batch.names)).value
            loss.backward()
            nn.utils.clip_grad_norm_(plain.parameters(), 0.5)
            tool.step()
            assert losses.pop(0) == pytest.approx(loss.item(), abs=1e-6)
    assert not losses
    for weight, expected in zip(toy.parameters(), plain.parameters(), strict=True):
        assert weight.tolist() == pytest.approx(np.array(expected.tolist()), abs=1e-5)


def test_records_are_steps_then_the_epoch_with_weighted_averages() -> None:
    toy = Toy()

    def batch(value: float, weight: float, numbers: dict[str, tuple[float, float]]) -> Batch:
        return Batch(["ab"], lambda vectors: Loss(0 * vectors.sum() + value, weight, numbers))

    batches = [
        batch(1.0, 1, {"gold_share": (0.5, 2), "never": (9.0, 0)}),
        batch(3.0, 3, {"gold_share": (1.0, 6)}),
    ]
    plan = Schedule(epochs=1, steps=2)
    records = run_alone(phase(toy, lambda _: batches, plan, lambda epoch: {"dev_acc1": epoch}))
    gold = (0.5 * 2 + 1.0 * 6) / (2 + 6)
    assert records == [
        Step(1, 1, 2, 1.0),
        Step(1, 2, 2, 3.0),
        {"epoch": 1, "loss": (1 * 1 + 3 * 3) / (1 + 3), "gold_share": gold, "dev_acc1": 1.0},
    ]


def test_the_best_weights_are_kept_and_patience_ends_the_run() -> None:
    marks, seen = iter([0.5, 0.7, 0.7, 0.6, 0.9]), []
    toy = Toy()

    def validate(epoch: int) -> dict[str, float]:
        seen.append(weights(toy))
        return {"dev_acc1": next(marks)}

    plan = replace(PLAN, epochs=5, patience=2)
    records = run_alone(phase(toy, toy.batches, plan, validate))
    assert [r["dev_acc1"] for r in records if not isinstance(r, Step)] == [0.5, 0.7, 0.7, 0.6]
    assert weights(toy) == seen[1]
    assert seen[3] != seen[1]
    assert not toy.training


@pytest.mark.parametrize(
    ("bad", "said"),
    [("loss", "the loss is nan"), ("gradient", "the loss is 0 and the norm of its gradient ")],
)
def test_what_is_not_finite_stops_the_run_and_keeps_the_checkpoint(
    tmp_path: Path, bad: str, said: str
) -> None:
    toy, before = Toy(), list[Any]()

    def spoilt(vectors: Tensor) -> Loss:
        before.append(weights(toy))
        return Loss(
            vectors.sum() * math.nan if bad == "loss" else (vectors - vectors.detach()).sum().sqrt()
        )  # whose slope at 0 is not finite

    def batches(epoch: int) -> list[Batch]:
        batches = toy.batches(epoch)
        if epoch > 1:
            batches[2] = Batch(batches[2].names, spoilt)
        return batches

    checkpoints = Checkpoints(tmp_path / "run", {})
    with pytest.raises(LinkerError) as caught:
        run_alone(phase(toy, batches, replace(PLAN, best_by=None)), checkpoints)
    assert str(caught.value).startswith(f"epoch 2, step 3: {said}")
    assert (
        f"the last good checkpoint is kept in {tmp_path / 'run'}; try a lower learning rate"
        in str(caught.value)
    )
    assert weights(toy) == before[0]
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["00001"]


def test_a_batch_without_names_or_without_a_gradient_changes_nothing() -> None:
    for batch in (Batch([], Toy().loss), Batch(["ab"], lambda _: Loss(torch.tensor(1.0)))):
        toy = Toy()
        one_step(toy, batch)
        assert weights(toy) == weights(Toy())


# memory that is too small


def gradients(toy: Toy) -> dict[str, Any]:
    return {
        name: np.array(p.grad.tolist()) for name, p in toy.named_parameters() if p.grad is not None
    }


def test_little_memory_gives_the_gradient_of_all(caplog: pytest.LogCaptureFixture) -> None:
    """Both passes of a part drop the same."""
    tight, plain = Toy(dropout=0.4, room=4), Toy(dropout=0.4)
    batch = Toy().eval().batches(1)[0]
    with caplog.at_level(logging.WARNING):
        one_step(tight, Batch(batch.names, tight.loss))
    n = len(set(batch.names))
    assert len(caplog.messages) == math.ceil(math.log2(n / 4))
    assert caplog.messages[0].startswith(f"out of memory: {math.ceil(n / 2)} names are encoded at ")
    half = len(tight.calls) // 2
    assert half > 2
    for (names, state, vectors), (again, state_again, vectors_again) in zip(
        tight.calls[:half], tight.calls[half:], strict=True
    ):
        assert names == again
        assert torch.equal(state, state_again)
        assert torch.equal(vectors, vectors_again)
    states = [state for _, state, _ in tight.calls[:half]]
    # each part drops something else
    assert len({tuple(state.tolist()) for state in states}) == half

    vectors, rows = list[Tensor](), dict[str, Tensor]()
    for names, state, _ in tight.calls[:half]:  # the slow way: all graphs at once
        torch.set_rng_state(state)
        vectors = plain.embed(names)
        rows |= dict(zip(names, vectors, strict=True))
    plain.loss(torch.stack([rows[name] for name in batch.names])).value.backward()
    for name, gradient in gradients(plain).items():
        assert gradients(tight)[name] == pytest.approx(gradient, abs=1e-6)


def test_no_room_for_a_single_name_is_an_error() -> None:
    message = "out of memory with one name at a time; take a smaller batch_size"
    with pytest.raises(LinkerError, match=message):
        list(train(Toy(room=0)))


# checkpoints


def test_little_memory_is_remembered_by_the_checkpoint(tmp_path: Path) -> None:
    checkpoints, plan = Checkpoints(tmp_path / "run", {}), replace(PLAN, best_by=None)
    left_alone = Toy(0.2, room=6)
    list(train(left_alone, plan))
    for record in (running := train(Toy(0.2, room=6), plan, checkpoints)):
        if not isinstance(record, Step):
            break
    running.close()
    resumed = Toy(0.2, room=6)
    list(train(resumed, plan, replace(checkpoints, resume=True)))
    assert weights(resumed) == weights(left_alone)


def test_another_plan_is_not_resumed(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "run", {"corpus": "x"})
    trained(replace(PLAN, epochs=1), checkpoints)
    with pytest.raises(
        LinkerError,
        match=r"of another training: epochs \(then 1, now 4\), seed \(then 3, now 5\); "
        "remove the folder",
    ):
        trained(replace(PLAN, seed=5), replace(checkpoints, resume=True))


PROGRESS = Progress(
    [{"epoch": 1, "loss": 0.1 + 0.2}, {"epoch": 2, "loss": 1e-17}], 0.1 + 0.7, 1, 16
)


def after(epochs: int) -> Progress:
    return Progress([{"epoch": epoch} for epoch in range(epochs)])


TENSORS = {"weights": {"a.b": torch.tensor([[0.1, -2.0]]), "n": torch.tensor(3)}, "optimizer": {}}


def make(folder: Path, **fingerprint: object) -> Checkpoints:
    return Checkpoints(folder / "run", fingerprint or {"corpus": "x", "training.height": 1})


def refusal(checkpoints: Checkpoints) -> str:
    with pytest.raises(LinkerError) as caught:
        checkpoints.load()
    return str(caught.value)


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    checkpoints = make(tmp_path)
    checkpoints.save(PROGRESS, TENSORS)
    progress, tensors = checkpoints.load()
    assert progress == PROGRESS  # floats to the last bit
    assert tensors.keys() == TENSORS.keys()
    assert tensors["weights"]["a.b"].equal(TENSORS["weights"]["a.b"])
    assert tensors["weights"]["n"].equal(torch.tensor(3))
    assert tensors["optimizer"] == {}
    names = {file.name for file in (tmp_path / "run" / "00002").iterdir()}
    assert names == {"config.json", "manifest.json", "weights.safetensors", "optimizer.safetensors"}


def test_the_newest_is_loaded_and_the_others_removed(tmp_path: Path) -> None:
    checkpoints, run = make(tmp_path), tmp_path / "run"
    run.mkdir()
    (run / "training.jsonl").write_text("not ours")
    (run / ".00002.abc_1234.tmp").mkdir()  # what `kill -9` leaves of a save
    checkpoints.save(after(10), TENSORS)
    shutil.copytree(run / "00010", tmp_path / "kept")
    checkpoints.save(after(9), TENSORS)  # of a new run
    assert {path.name for path in run.iterdir()} == {"00009", "training.jsonl"}
    shutil.move(tmp_path / "kept", run / "00010")  # as after a kill before the removal
    assert checkpoints.load()[0].epoch == 10


def test_a_failed_save_leaves_the_former(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints = make(tmp_path)
    checkpoints.save(PROGRESS, TENSORS)

    def full(*_: object) -> None:
        raise module.SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(module, "save_file", full)
    message = r"00003: cannot be written: .*No space left on device"
    with pytest.raises(LinkerError, match=message):
        checkpoints.save(after(3), TENSORS)
    assert checkpoints.load()[0].epoch == 2
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["00002"]


def test_another_fingerprint_is_named(tmp_path: Path) -> None:
    old = make(tmp_path, corpus="x", old=[1], same={"a": (1, 2)}, long="y" * 100)
    old.save(PROGRESS, TENSORS)
    text = refusal(make(tmp_path, corpus="z", new=2.5, same={"a": [1, 2]}, long="y" * 101))
    assert "the checkpoint is of another training: " in text
    assert 'corpus (then "x", now "z"), long (then "yyy' in text
    assert text.endswith(
        "new (then absent, now 2.5), old (then [1], now absent); "
        "remove the folder, or take what it had"
    )
    assert "same" not in text
    assert "y" * 90 not in text


@pytest.mark.parametrize("file", ["config.json", "weights.safetensors"])
def test_a_damaged_checkpoint_is_refused_by_name(tmp_path: Path, file: str) -> None:
    checkpoints = make(tmp_path)
    checkpoints.save(PROGRESS, TENSORS)
    path = tmp_path / "run" / "00002" / file
    path.write_bytes(path.read_bytes()[:-3])
    text = refusal(checkpoints)
    assert str(path) in text
    assert "remove the folder to train from the start" in text


@pytest.mark.parametrize(
    ("config", "content"),
    [
        ({"fingerprint": {}, "progress": {"epoch": 1, "code": "x"}}, b""),
        ({"fingerprint": 3, "progress": {}}, b""),
        ({"fingerprint": {}, "progress": {}}, b"\x80\x04pickle"),
    ],
)
def test_forged_ones_are_refused(tmp_path: Path, config: dict[str, object], content: bytes) -> None:
    """Its checksums are right, its content is not."""
    path = tmp_path / "run" / "00002"
    with persistence.saving(path, "checkpoint", config, lambda *_: None) as folder:
        if content:
            (folder / "weights.safetensors").write_bytes(content)
    text = refusal(make(tmp_path))
    assert text.startswith(f"{path}: is damaged, or a checkpoint of another release (")
    assert text.endswith("or remove the folder to train from the start")


# processes of their own


def script(*arguments: object, **environment: str) -> subprocess.Popen[str]:
    root = Path(__file__).parents[2]
    inherited = {
        key: value
        for key, value in os.environ.items()
        if key not in ("WORLD_SIZE", "RANK", "LOCAL_RANK")
    }
    environment = {**inherited, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1", **environment}
    command = [sys.executable, __file__, *map(str, arguments)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def answer(process: subprocess.Popen[str]) -> Any:
    try:
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


LONG = replace(PLAN, epochs=20)  # more than the killed runs get through


@pytest.mark.skipif(
    not hasattr(os, "fork"), reason="forks the runs that it kills, so that torch is imported once"
)
def test_killed_at_any_moment_and_resumed_gives_the_same_model(tmp_path: Path) -> None:
    """Five times `kill -9`, in steps, validation and while checkpoints are written."""
    told = answer(script("killed", tmp_path))
    assert told["signals"] == [signal.SIGKILL] * 5
    assert told["final"] == told["whole"]
    assert len(told["final"]["history"]) == LONG.epochs
    # the one checkpoint; nothing that the killed left
    assert len(list((tmp_path / "run").iterdir())) == 1


def killed(folder: Path) -> None:
    """Kill runs, and tell how they ended and what the last one ended with."""
    draw = np.random.default_rng(0)
    checkpoints = Checkpoints(folder / "run", {"corpus": "x"})
    alone, signals = (
        trained(LONG),
        [],
    )  # trained first: what torch imports late is then shared by all children
    for i in range(5):
        child = fork(LONG, replace(checkpoints, resume=i > 0), int(draw.integers(1, 2 * STEPS)))
        time.sleep(draw.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        signals.append(os.WTERMSIG(os.waitpid(child, 0)[1]))
    print(
        json.dumps(
            {
                "signals": signals,
                "final": trained(LONG, replace(checkpoints, resume=True)),
                "whole": alone,
            }
        )
    )


def fork(plan: Schedule, checkpoints: Checkpoints, steps: int) -> int:
    """Train in a child process, and return its id once it has made some steps."""
    read, write = os.pipe()
    if child := os.fork():
        os.close(write)
        with os.fdopen(read, "rb", 0) as pipe:
            for _ in range(steps):
                pipe.read(1)
        return child
    try:
        for record in train(Toy(0.2), plan, checkpoints):
            if isinstance(record, Step):
                with contextlib.suppress(BrokenPipeError):
                    os.write(write, b".")
    finally:
        os._exit(0)


def test_two_processes_train_as_one_with_the_whole_batch(tmp_path: Path) -> None:
    """Two processes on the CPU (gloo), which both stop in the second epoch, and go on.

    Their shares differ in size; in the last batch of an epoch one of them is empty.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = {
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": "lo",
        "ACCELERATE_USE_CPU": "true",
    }
    first, second = [
        script("together", tmp_path, **common, RANK=str(rank), LOCAL_RANK=str(rank))
        for rank in range(2)
    ]
    told, other = answer(first), answer(second)
    assert told == other
    assert told["left alone"] == told["resumed"]
    alone = trained(dropout=0.0)
    for record, expected in zip(told["left alone"]["history"], alone["history"], strict=True):
        assert record == pytest.approx(expected, abs=1e-5)
    for name, values in alone["weights"].items():
        assert told["left alone"]["weights"][name] == pytest.approx(np.array(values), abs=1e-5)


def together(folder: Path) -> None:
    """Train as one of several processes, whose weights differ at first."""

    def toy() -> Toy:
        module = Toy()
        with torch.no_grad():
            module.out.bias += accelerate.PartialState(cpu=True).process_index
        return module

    module = toy()
    left_alone = outcome(module, list(train(module)))
    checkpoints = Checkpoints(folder / "run", {})
    for record in train(toy(), PLAN, checkpoints):
        if isinstance(record, Step) and (record.epoch, record.step) == (2, 3):
            break
    module = toy()
    resumed = outcome(module, list(train(module, PLAN, replace(checkpoints, resume=True))))
    print(json.dumps({"left alone": left_alone, "resumed": resumed}))
    accelerate.Accelerator().end_training()


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"killed": killed, "together": together}[sys.argv[1]](Path(sys.argv[2]))
