"""What is wrong with the input, where, and what to do: exit code 1, one sentence, no traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from . import conftest
from .conftest import rows, typed

Run = Callable[..., Any]
HEADER = conftest.HEADER.encode()

ASTHMA = b"Asthma\tMESH:D001249\t\t\t\t\t\twheezing disease\t\n"


def row(name: str, identifier: str, parents: str = "", synonyms: str = "") -> bytes:
    return f"{name}\t{identifier}\t\t\t{parents}\t\t\t{synonyms}\t\n".encode()


def test_a_dictionary_that_is_damaged_is_named_with_its_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.tsv").write_bytes(HEADER + ASTHMA + row("Cough", "MESH:D003371", "MESH:D012818"))
    message = "linker: d.tsv, line 3: a parent is not there: 'MESH:D012818'; expected the id of a"
    for command in ("train --dict", "dictionary stats"):
        result = run(*typed(command), "d.tsv")
        assert (result.code, result.out, result.err[: len(message)]) == (1, "", message)
    assert not Path("linker-model").exists()


def test_bad_mentions_leave_the_old_output(link: Run, tmp_path: Path) -> None:
    path, out = tmp_path / "m.txt", tmp_path / "out.tsv"
    path.write_text("1|t|Asthma in children\n1|a|None.\n1\t0\t5\tAsthma\tDisease\tD001249\n")
    out.write_text("old\n")
    result = link(path, "-o", out)
    assert result.code == 1
    assert f"linker: {path}, line 3: the text of document 1 at 0-5 is 'Asthm', not" in result.err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m.txt", "out.tsv"]
    assert out.read_text() == "old\n"


def test_bad_records_can_be_skipped_reported_and_counted(run: Run, tmp_path: Path) -> None:
    bad = row("Cough", "D003371", "D999999") + row("", "D000001") + row("Asthma", "D001249")
    (tmp_path / "d.tsv").write_bytes(HEADER + ASTHMA + bad + b"short\n")
    given = ("--dict", tmp_path / "d.tsv", "--on-error", "skip", "-o", tmp_path / "model")
    result = run("train", *given)
    assert result.code == 0
    skipped = [
        line.removeprefix(f"linker: skipped: {tmp_path / 'd.tsv'}, ")
        for line in result.err.splitlines()
        if "skipped: " in line
    ]
    assert [line.partition(";")[0] for line in skipped] == [
        "line 4: the concept name is empty: 'MESH:D000001'",
        "line 5: the concept id occurs a second time: 'MESH:D001249'",
        "line 6: 1 columns: 'short'",
        "line 3: a parent is not there: 'MESH:D999999'",
    ]
    assert "4 bad records were skipped" in result.err
    assert "2 concepts" in result.err


def test_bad_mentions_can_be_skipped(link: Run, tmp_path: Path) -> None:
    (tmp_path / "m.txt").write_bytes(b"asthma\n\nbreast cancer\n" + b"x" * 2000 + b"\n")
    result = link(tmp_path / "m.txt", "--on-error", "skip", "-k", "1")
    assert result.code == 0
    assert [row["mention"] for row in rows(result.out)] == ["asthma", "", "breast cancer"]
    assert "m.txt, line 4: the mention has 2,000 characters" in result.err
    assert result.err.endswith("1 bad record was skipped\n")
