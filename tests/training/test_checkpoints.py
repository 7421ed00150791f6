"""Checkpoints: what is saved is loaded, one is always there, unfit ones are refused."""

from __future__ import annotations

import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
from torch import nn  # noqa: E402

from linker import persistence  # noqa: E402
from linker.errors import LinkerError  # noqa: E402
from linker.training import checkpoints as module  # noqa: E402
from linker.training.checkpoints import (  # noqa: E402
    Checkpoints,
    Progress,
    catching_sigterm,
    load_optimizer_state,
)

PROGRESS = Progress(
    2,
    3,
    [{"epoch": 1, "loss": 0.1 + 0.2}, {"epoch": 2, "loss": 1e-17}],
    0.1 + 0.7,
    1,
    {"loss": (1 / 3, 2.0)},
    16,
)
TENSORS = {"weights": {"a.b": torch.tensor([[0.1, -2.0]]), "n": torch.tensor(3)}, "optimizer": {}}


def make(folder: Path, **fingerprint: object) -> Checkpoints:
    return Checkpoints(folder / "run", fingerprint or {"corpus": "x", "training.height": 1})


def refusal(checkpoints: Checkpoints) -> str:
    with pytest.raises(LinkerError) as caught:
        checkpoints.load()
    return str(caught.value)


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    checkpoints = make(tmp_path)
    other = replace(PROGRESS, sums={"loss": (2 / 3, 1.0)})
    checkpoints.save([PROGRESS, other], TENSORS)
    processes, tensors = checkpoints.load()
    assert [tuple(p.sums.pop("loss")) for p in processes] == [(1 / 3, 2.0), (2 / 3, 1.0)]
    assert processes == [replace(PROGRESS, sums={})] * 2  # floats to the last bit
    assert tensors.keys() == TENSORS.keys()
    assert tensors["weights"]["a.b"].equal(TENSORS["weights"]["a.b"])
    assert tensors["weights"]["n"].equal(torch.tensor(3))
    assert tensors["optimizer"] == {}
    names = {file.name for file in (tmp_path / "run" / "00002-00000003").iterdir()}
    assert names == {"config.json", "manifest.json", "weights.safetensors", "optimizer.safetensors"}


def test_the_newest_is_loaded_and_the_others_removed(tmp_path: Path) -> None:
    checkpoints, run = make(tmp_path), tmp_path / "run"
    run.mkdir()
    (run / "training.jsonl").write_text("not ours")
    (run / ".00002-00000001.abc_1234.tmp").mkdir()  # what `kill -9` leaves of a save
    checkpoints.save([replace(PROGRESS, epoch=10, step=0)], TENSORS)
    shutil.copytree(run / "00010-00000000", tmp_path / "kept")
    checkpoints.save([replace(PROGRESS, epoch=9, step=4)], TENSORS)  # of a new run
    assert {path.name for path in run.iterdir()} == {"00009-00000004", "training.jsonl"}
    shutil.move(tmp_path / "kept", run / "00010-00000000")  # as after a kill before the removal
    assert checkpoints.load()[0][0].epoch == 10


def test_a_failed_save_leaves_the_former(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints = make(tmp_path)
    checkpoints.save([PROGRESS], TENSORS)

    def full(*_: object) -> None:
        raise module.SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(module, "save_file", full)
    message = r"00003-00000000: cannot be written: .*No space left on device"
    with pytest.raises(LinkerError, match=message):
        checkpoints.save([replace(PROGRESS, epoch=3, step=0)], TENSORS)
    assert checkpoints.load()[0][0].epoch == 2
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["00002-00000003"]


def test_another_fingerprint_is_named(tmp_path: Path) -> None:
    old = make(tmp_path, corpus="x", old=[1], same={"a": (1, 2)}, long="y" * 100)
    old.save([PROGRESS], TENSORS)
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
    checkpoints.save([PROGRESS], TENSORS)
    path = tmp_path / "run" / "00002-00000003" / file
    path.write_bytes(path.read_bytes()[:-3])
    text = refusal(checkpoints)
    assert str(path) in text
    assert "remove the folder to train from the start" in text


@pytest.mark.parametrize(
    ("config", "content"),
    [
        ({"fingerprint": {}, "processes": [{"epoch": 1, "code": "x"}]}, b""),
        ({"fingerprint": 3, "processes": []}, b""),
        ({"fingerprint": {}, "processes": []}, b"\x80\x04pickle"),
    ],
)
def test_forged_ones_are_refused(tmp_path: Path, config: dict[str, object], content: bytes) -> None:
    """Its checksums are right, its content is not."""
    path = tmp_path / "run" / "00002-00000003"
    with persistence.saving(path, "checkpoint", config, lambda *_: None) as folder:
        if content:
            (folder / "weights.safetensors").write_bytes(content)
    text = refusal(make(tmp_path))
    assert text.startswith(f"{path}: is damaged, or a checkpoint of another release (")
    assert text.endswith("or remove the folder to train from the start")


def test_moments_go_where_the_parameters_are() -> None:
    # as on a GPU, where fused steps read the number of steps, too
    far = nn.Parameter(torch.ones(2, device="meta"))
    optimizer = torch.optim.Adam([far], fused=True)
    load_optimizer_state(
        optimizer, {far: "w"}, {"w.step": torch.tensor(3.0), "w.exp_avg": torch.ones(2)}
    )
    assert {kind: tensor.device.type for kind, tensor in optimizer.state[far].items()} == {
        "step": "meta",
        "exp_avg": "meta",
    }


def test_sigterm_is_remembered_and_the_former_handler_comes_back() -> None:
    former = signal.getsignal(signal.SIGTERM)
    with catching_sigterm(listen=True) as signals:
        assert signals == []
        os.kill(os.getpid(), signal.SIGTERM)
        assert signals == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGTERM) is former

    def handler(listen: bool) -> object:
        with catching_sigterm(listen=listen):  # in another thread signal.signal would raise
            return signal.getsignal(signal.SIGTERM)

    assert handler(False) is former
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(handler, True).result() is former
