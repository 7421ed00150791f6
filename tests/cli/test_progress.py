"""What a training says while it runs, with a clock of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click
import pytest

from linker.cli import progress
from linker.cli.progress import TrainingReporter
from linker.records import Activity


class Clock:
    """Seconds that pass when the test says so."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress.time, "monotonic", clock)
    return clock


@pytest.fixture
def command() -> Iterator[click.Context]:
    """A command is running, as for what is said."""
    with click.Context(click.Command("train")) as context:
        yield context


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str], command: click.Context) -> Callable[[], list[str]]:
    """The lines that were said since the last call."""
    return lambda: capsys.readouterr().err.splitlines()


def test_an_epoch_is_said_once(clock: Clock, said: Callable[[], list[str]]) -> None:
    reporter = TrainingReporter()
    for _ in range(2):  # the epochs of an alignment come again with the refit
        reporter({"phase": "rank", "epoch": 1, "loss": 0.43121, "dev_acc1": 0.8793})
    assert said() == ["rank, epoch 1: loss 0.4312, dev acc1 0.8793"]


def test_what_has_no_steps_tells_each_minute_how_far_it_is(
    clock: Clock, said: Callable[[], list[str]]
) -> None:
    reporter = TrainingReporter()
    reporter.on_activity(Activity("training word vectors", at="epoch 1 of 5"))
    clock.now += 59
    reporter.on_activity(Activity("training word vectors", 0.3, "epoch 2 of 5"))
    assert said() == []
    clock.now += 11
    reporter.on_activity(Activity("training word vectors", 0.4, "epoch 2 of 5"))
    clock.now += 1
    reporter.on_activity(Activity("training word vectors", 0.4, "epoch 2 of 5"))
    assert said() == ["training word vectors: 40% epoch 2 of 5"]
    clock.now += 60
    reporter.on_activity(Activity("reading a.txt", None, "5,000 lines"))
    assert said() == ["reading a.txt: 5,000 lines"]


def test_quiet_and_terminals(
    clock: Clock,
    said: Callable[[], list[str]],
    command: click.Context,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reporter, step = TrainingReporter(), Activity("rank", 0.5, "epoch 1 of 1, loss 0.5")
    command.meta["linker.quiet"] = True
    clock.now += 60
    reporter.on_activity(step)
    reporter({"phase": "rank", "epoch": 1, "loss": 0.5})
    assert said() == []
    command.meta["linker.quiet"] = False
    monkeypatch.setattr("linker.cli.common.has_bars", lambda: True)
    clock.now += 60
    reporter.on_activity(step)
    assert "rank: " in said()[-1]  # the bar says it
    reporter({"phase": "rank", "epoch": 2, "loss": 0.5})
    assert said()[-1].endswith("rank, epoch 2: loss 0.5000")
