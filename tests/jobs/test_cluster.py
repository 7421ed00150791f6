"""Jobs on a Ray cluster, here of this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from linker.errors import LinkerError
from linker.jobs import machines as places
from linker.jobs.linking import LinkSettings, link_files
from linker.jobs.machines import Machines
from linker.jobs.parts import Job

pytestmark = pytest.mark.filterwarnings("ignore")  # what Ray warns of


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """Ray with two cores, which jobs of this process share."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    module = pytest.importorskip("ray")
    before = signal.getsignal(signal.SIGTERM)
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    module.init("local", num_cpus=2, object_store_memory=100_000_000, **quiet)
    yield module
    module.shutdown()
    signal.signal(signal.SIGTERM, before)


def results(make: Callable[[], Any], tasks: Any, **settings: Any) -> list[Any]:
    with Machines(engine="ray", **settings).run(make, tasks) as of_tasks:
        return list(of_tasks)


def test_parts_are_those_of_one_process(
    ray: Any, model: Path, inputs: Path, tmp_path: Path
) -> None:
    work = link_files(LinkSettings(str(model), "jsonl"))
    for name, machines in (("here", Machines(1)), ("there", Machines(2, "ray"))):
        summary = Job(str(inputs), str(tmp_path / name), work).run(machines, lambda _: None)
        assert (summary.done, summary.records) == (2, 7)
    here, there = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("here", "there")
    )
    assert here == there
    (inputs / "b.txt").write_text("x" * 1001 + "\n")
    with pytest.raises(LinkerError, match=r"b\.txt, line 1: the mention has 1,001 characters"):
        Job(str(inputs), str(tmp_path / "there"), work).run(machines, lambda _: None)


def test_a_lost_worker_is_replaced_and_its_task_done_again(ray: Any, tmp_path: Path) -> None:
    def make() -> Callable[[int], int]:
        def do(task: int) -> int:
            mark = tmp_path / str(task)
            if task == 3 and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return task * task

        return do

    assert sorted(results(make, range(6), workers=2)) == [0, 1, 4, 9, 16, 25]
    assert (tmp_path / "3").exists()


def test_a_task_that_loses_every_worker_ends_the_job(
    ray: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "_TRIES", 1)

    def make() -> Callable[[int], None]:
        return lambda _: os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(LinkerError, match="has lost a worker 1 times"):
        results(make, [1], workers=1)


def test_failures_to_load(ray: Any) -> None:
    def make() -> Callable[[int], int]:
        raise LinkerError("there is no model")

    with pytest.raises(LinkerError, match="there is no model"):
        results(make, [1])
    with pytest.raises(LinkerError, match="no machine with a core and a GPU"):
        results(make, [1], gpus=0.5)
    assert results(make, []) == []


NOBODY = """
import os
from linker.jobs.machines import Machines
os.environ["RAY_ADDRESS"] = {address!r}
with Machines(engine="ray").run(int, [1]) as results:
    next(results)
"""


@pytest.mark.parametrize("kind", ["closed", "wrong"])
def test_an_address_that_nobody_answers(kind: str) -> None:
    pytest.importorskip("ray")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}" if kind != "wrong" else "here"
        if kind == "closed":
            server.close()
        command = [sys.executable, "-c", NOBODY.format(address=address)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    message = done.stderr.splitlines()[-1]
    assert f"LinkerError: the Ray cluster at {address} does not answer" in message


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(LinkerError, match=r"--engine ray needs ray, which is not .*\[ray\]"):
        results(int, [1])
