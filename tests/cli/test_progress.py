"""What a training says while it runs, with a clock of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import click
import pytest

from linker.cli.progress import TrainingReporter
from linker.types import Activity


class Clock:
    """Seconds that pass when the test says so."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def command() -> Iterator[click.Context]:
    """A command is running, as for what is said."""
    with click.Context(click.Command("train")) as context:
        yield context


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str], command: click.Context) -> Callable[[], list[str]]:
    """The lines that were said since the last call."""
    return lambda: capsys.readouterr().err.splitlines()


def step(epoch: int, number: int, steps: int = 100) -> Any:
    return SimpleNamespace(epoch=epoch, step=number, steps=steps, loss=0.5)


def run(
    progress: TrainingReporter, clock: Clock, epoch: int, first: int = 1, seconds: float = 1.0
) -> None:
    """The steps of an epoch of 100, each as long."""
    for number in range(first, 101):
        clock.now += seconds
        progress(step(epoch, number))


def test_an_epoch_tells_how_long_the_phase_took_and_still_takes_at_most(
    clock: Clock, said: Callable[[], list[str]]
) -> None:
    progress = TrainingReporter(clock)
    progress.on_activity(Activity("rank", epochs=3))
    clock.now += 30  # until the first step
    run(progress, clock, 1, seconds=0.1)
    clock.now += 20  # until the epoch is judged
    progress({"phase": "rank", "epoch": 1, "loss": 0.43121, "dev_acc1": 0.8793})
    assert said() == [
        "rank, epoch 1 of 3: loss 0.4312, development Acc@1 0.8793, 1:00 so far, at most 2:00 left"
    ]
    run(progress, clock, 2, seconds=0.1)
    run(progress, clock, 3, seconds=0.1)
    progress({"phase": "rank", "epoch": 3, "loss": 0.4})
    assert said() == ["rank, epoch 3 of 3: loss 0.4000, 1:20 so far"]


def test_a_long_epoch_tells_each_minute_where_it_is(
    clock: Clock, said: Callable[[], list[str]]
) -> None:
    progress = TrainingReporter(clock)
    progress.on_activity(Activity("align", epochs=2))
    run(progress, clock, 1, seconds=30)
    lines = said()
    assert len(lines) == 50
    start, end = ("align, epoch 1 of 2, step " + step for step in ("2 of 100", "100 of 100"))
    assert lines[0] == f"{start}: loss 0.5000, 1:00 so far, at most 1:39:00 left"
    assert lines[-1] == f"{end}: loss 0.5000, 50:00 so far, at most 50:00 left"


def test_what_was_done_before_is_not_counted(clock: Clock, said: Callable[[], list[str]]) -> None:
    """A resumed training tells its earlier epochs again, and goes on within one."""
    progress = TrainingReporter(clock)
    progress.on_activity(Activity("rank", epochs=2))
    progress({"phase": "rank", "epoch": 1, "loss": 0.5})
    assert said() == ["rank, epoch 1 of 2: loss 0.5000"]
    clock.now += 50
    progress(step(2, 51))
    clock.now += 10
    progress(step(2, 52))
    # two steps took a minute
    left = "1:00 so far, at most 24:00 left"
    assert said() == [f"rank, epoch 2 of 2, step 52 of 100: loss 0.5000, {left}"]


def test_an_epoch_that_comes_again_is_said_once(
    clock: Clock, said: Callable[[], list[str]]
) -> None:
    progress = TrainingReporter(clock)
    for _ in range(2):
        progress.on_activity(Activity("align", epochs=1))
        progress({"phase": "align", "epoch": 1, "loss": 0.5})
    assert said() == ["align, epoch 1 of 1: loss 0.5000"]


def test_what_has_no_steps_tells_each_minute_how_far_it_is(
    clock: Clock, said: Callable[[], list[str]]
) -> None:
    progress = TrainingReporter(clock)
    progress.on_activity(Activity("training word vectors", at="epoch 1 of 5"))
    clock.now += 59
    progress.on_activity(Activity("training word vectors", 0.3, "epoch 2 of 5"))
    assert said() == []
    clock.now += 11
    progress.on_activity(Activity("training word vectors", 0.4, "epoch 2 of 5"))
    clock.now += 1
    progress.on_activity(Activity("training word vectors", 0.4, "epoch 2 of 5"))
    assert said() == ["training word vectors, epoch 2 of 5, 1:10 so far, about 1:45 left"]


def test_what_has_no_known_end(clock: Clock, said: Callable[[], list[str]]) -> None:
    progress = TrainingReporter(clock)
    progress.on_activity(Activity("reading a.txt"))
    clock.now += 3723
    progress.on_activity(Activity("reading a.txt", None, "5,000 lines"))
    assert said() == ["reading a.txt, 5,000 lines, 1:02:03 so far"]


def test_quiet_and_terminals(
    clock: Clock,
    said: Callable[[], list[str]],
    command: click.Context,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    progress = TrainingReporter(clock)
    progress.on_activity(Activity("rank", epochs=1))
    command.meta["linker.quiet"] = True
    run(progress, clock, 1, seconds=60)
    progress({"phase": "rank", "epoch": 1, "loss": 0.5})
    assert said() == []
    command.meta["linker.quiet"] = False
    monkeypatch.setattr("linker.cli.common.has_bars", lambda: True)
    run(progress, clock, 2, seconds=60)
    assert not [line for line in said() if "so far" in line]  # the bar says it
    progress({"phase": "rank", "epoch": 2, "loss": 0.5})
    assert said()[-1].startswith("rank, epoch 2 of 1: loss 0.5000, ")
