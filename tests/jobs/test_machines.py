"""Processes that share work: order, errors, and that none stays behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from linker.errors import LinkerError
from linker.jobs import machines
from linker.jobs.machines import Machines

# what a process of its own calls must be importable there: `power()` makes a function of one argument
power = partial(partial, pow, 2)
number = partial(partial, int)
leave = partial(partial, os._exit)
setting = partial(partial, os.getenv)


def test_results_come_in_the_order_of_the_tasks() -> None:
    with Machines(2).run(power, range(20)) as results:
        assert list(results) == [2**i for i in range(20)]


def test_one_worker_is_this_process() -> None:
    with Machines(1).run(lambda: lambda task: (task, os.getpid()), "ab") as results:
        assert list(results) == [("a", os.getpid()), ("b", os.getpid())]


def test_tasks_are_read_as_they_are_needed() -> None:
    read = []

    def tasks() -> Iterator[int]:
        for i in range(100):
            read.append(i)
            yield i

    with Machines(2).run(power, tasks()) as results:
        assert [next(results), next(results)] == [1, 2]
        assert len(read) == 5  # two for each process, and one more to take the place of the first
    assert len(read) == 5
    assert not multiprocessing.active_children()


def test_failures() -> None:
    with (
        pytest.raises(ValueError, match="invalid literal"),
        Machines(2).run(number, "1x") as results,
    ):
        list(results)
    assert not multiprocessing.active_children()
    with (
        pytest.raises(LinkerError, match="a worker ended in the middle of its work"),
        Machines(2).run(leave, [3]) as results,
    ):
        list(results)


def test_a_failure_to_read_waits_for_what_was_read_before() -> None:
    def tasks() -> Iterator[int]:
        yield from range(3)
        raise LinkerError("line 4")

    with Machines(2).run(power, tasks()) as results:
        assert [next(results) for _ in range(3)] == [1, 2, 4]
        with pytest.raises(LinkerError, match="line 4"):
            next(results)


def test_each_has_its_share_of_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "cores", lambda: 7)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with Machines(2).run(setting, ["OMP_NUM_THREADS"]) as results:
        assert list(results) == ["3"]
    assert "OMP_NUM_THREADS" not in os.environ
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    with Machines(2).run(setting, ["OMP_NUM_THREADS"]) as results:
        assert list(results) == ["1"]


AFTER_LINKING = """
import multiprocessing, sys
from functools import partial
from linker import Linker
from linker.jobs.linking import LinkSettings
from linker.jobs.machines import Machines
from linker.records import Mention
if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[2])
    settings = LinkSettings(sys.argv[1])
    list(Linker.load(sys.argv[1]).link(["gout"]))
    with Machines(2).run(partial(settings.of_chunks, False), [[Mention("gout")]] * 3) as results:
        print(sum(written.mentions for written in results))
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_that_has_linked_may_start_workers(
    model: Path, tmp_path: Path, method: str
) -> None:
    script = tmp_path / "script.py"
    script.write_text(AFTER_LINKING)
    command = [sys.executable, str(script), str(model), method]
    assert subprocess.run(command, capture_output=True, check=True, timeout=60).stdout == b"3\n"


SLEEPING = """
import os, time
from functools import partial
from linker.jobs.machines import Machines
if __name__ == "__main__":
    with Machines(2).run(partial(partial, os.getpid), []) as results:
        list(results)
    with Machines(2).run(partial(partial, time.sleep), [0, 60, 60]) as results:
        next(results)
        import multiprocessing
        print(*(child.pid for child in multiprocessing.active_children()), flush=True)
        next(results)
"""


def is_there(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")
def test_workers_end_with_a_process_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SLEEPING)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        pids = list(map(int, child.stdout.readline().split()))
        assert len(pids) == 2
        child.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while any(map(is_there, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_there, pids))
