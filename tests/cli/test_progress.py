"""The bar of long work: one activity after another, on a terminal alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from linker.cli import common
from linker.cli.progress import InputBar, Progress
from linker.io import files
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


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "has_bars", lambda: True)


@pytest.mark.usefixtures("terminal")
def test_how_many_there_are_is_reckoned_by_the_bytes_that_were_read(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("x" * 99 + "\n", "utf-8")
    path.write_text(path.read_text("utf-8") * 50, "utf-8")
    watched = files.watched(path)
    totals = []
    with InputBar("rows", watched, "out.tsv") as bar:
        for _ in bar.read(files.read_lines(watched)):
            bar.done()
            totals.append(bar.total)
    assert totals == [50] * 50


@pytest.mark.usefixtures("terminal")
def test_of_a_pipe_nothing_is_known_but_the_count(capsys: pytest.CaptureFixture[str]) -> None:
    with InputBar("mentions", "-", "out.tsv") as bar:
        for _ in bar.read(range(3)):
            bar.done(7)
        assert bar.total is None
    assert "21 mentions [" in capsys.readouterr().err


@pytest.mark.usefixtures("terminal")
def test_of_a_folder_the_number_is_known_before(capsys: pytest.CaptureFixture[str]) -> None:
    with InputBar("documents", "folder", "out.tsv", 4) as bar:
        for _ in bar.read(range(2)):
            bar.done(1)
    assert "2/4 [" in capsys.readouterr().err


def test_reading_is_shown_by_the_block(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shares = list[float]()
    monkeypatch.setattr(Progress, "show", lambda _, activity: shares.append(activity.share))
    path = tmp_path / "d.tsv"
    path.write_bytes(b"a line\n" * 40_000)
    with Progress() as progress:
        for _ in files.read_lines(progress.watched(str(path))):
            pass
    assert shares[0] == 0
    assert shares[-1] == 1
    assert len(shares) > 3
    assert shares == sorted(shares)
    assert progress.watched("-") == "-"
