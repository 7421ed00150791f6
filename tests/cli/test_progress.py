"""The bar of long work: one activity after another, on a terminal alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from linker.cli import common
from linker.cli.progress import Progress
from linker.records import Activity


@pytest.fixture
def shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[bool], list[str]]:
    """What a bar writes, state by state, with a terminal or without."""

    def show(is_terminal: bool) -> list[str]:
        monkeypatch.setattr(common, "has_bars", lambda: is_terminal)
        monkeypatch.setattr("linker.cli.progress._PAUSE", 0)
        progress = Progress()
        for activity in (
            Activity("reading", None),
            Activity("encoding names", 0.0),
            Activity("encoding names", 0.25, "1 of 4"),
            Activity("encoding names", 0.75, "3 of 4"),
            Activity("saving", 1.0),
        ):
            progress.show(activity)
        progress.close()
        progress.close()  # again
        return capsys.readouterr().err.split("\r")

    return show


def test_states_of_a_terminal(shown: Callable[[bool], list[str]]) -> None:
    states = [state.strip() for state in shown(True)]
    begun = [state.partition(":")[0] for state in states if state]
    assert list(dict.fromkeys(begun)) == ["reading", "encoding names", "saving"]
    assert any(" 25%" in state and state.endswith("1 of 4") for state in states)
    assert any(" 75%" in state and state.endswith("3 of 4") for state in states)
    assert states[-1] == ""  # nothing is left


def test_nothing_elsewhere(shown: Callable[[bool], list[str]]) -> None:
    assert shown(False) == [""]
