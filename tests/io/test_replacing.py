"""Replacing files and folders: in one step or not at all, and nothing of killed runs stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from linker.io import files, replacing

posix = pytest.mark.skipif(os.name != "posix", reason="wants locks and signals")


def fill(folder: Path, text: str) -> None:
    with files.write_folder(folder) as aside:
        (aside / "part").write_text(text)


def run(program: str, *args: object) -> int:
    """The return code of a program in a process of its own."""
    command = [sys.executable, "-c", program, *map(str, args)]
    return subprocess.run(command, check=False, timeout=60).returncode


DIE = "os.kill(os.getpid(), signal.SIGKILL)"
KILLED = f"""
import os, signal, sys
from linker.io import files
from linker.io import replacing
replace, calls = os.replace, []
def counted(source, target):
    calls.append(target)
    if len(calls) == {{call}}:
        {DIE}
    replace(source, target)
os.replace = counted
with files.write_folder(sys.argv[1]) as folder:
    (folder / "part").write_text("new")
"""


@posix
@pytest.mark.parametrize(("call", "text"), [(1, "old"), (2, "old"), (3, "new")])
def test_a_kill_before_each_rename_leaves_a_folder_to_read(
    tmp_path: Path, call: int, text: str
) -> None:
    fill(tmp_path / "model", "old")
    assert run(KILLED.format(call=call), tmp_path / "model") == -signal.SIGKILL
    assert (tmp_path / "model").exists() == (call != 2)
    replacing.restore(tmp_path / "model")
    assert (tmp_path / "model" / "part").read_text() == text
    assert len(list(tmp_path.iterdir())) == 2  # a reader removes nothing
    fill(tmp_path / "model", "newer")
    assert (tmp_path / "model" / "part").read_text() == "newer"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@posix
@pytest.mark.parametrize("target", ["model", "out.tsv"])
def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path: Path, target: str) -> None:
    write = {"model": "files.write_folder", "out.tsv": "files.write_aside"}[target]
    program = (
        f"import os, signal, sys\nfrom linker.io import files\nwith {write}(sys.argv[1]): {DIE}"
    )
    others = [f".{target}.notes.tmp", f".{target}x.abcdefgh.tmp"]  # of a user, and another target
    for name in others:
        (tmp_path / name).write_text("mine")
    assert run(program, tmp_path / target) == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 3
    if target == "model":
        fill(tmp_path / target, "text")
    else:
        with files.write_aside(tmp_path / target) as file:
            file.write("text")
    assert {path.name for path in tmp_path.iterdir()} == {*others, target}


@posix
@pytest.mark.parametrize("folder", [True, False])
def test_what_a_running_writer_writes_stays(tmp_path: Path, folder: bool) -> None:
    with replacing.aside(tmp_path / "target", folder=folder) as new:
        program = (
            "import sys; from pathlib import Path; from linker.io import replacing; "
            "replacing.clean(Path(sys.argv[1]), '.*')"
        )
        assert run(program, tmp_path) == 0
        replacing.clean(tmp_path, ".*")
        assert new.exists()


@posix
def test_a_pipe_or_link_with_the_name_of_something_left_is_no_trap(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis").write_text("years of work")
    (tmp_path / ".model.aaaaaaaa.tmp").symlink_to(tmp_path / "mine")
    os.mkfifo(tmp_path / ".model.bbbbbbbb.tmp")
    fill(tmp_path / "model", "text")
    assert (tmp_path / "mine" / "thesis").read_text() == "years of work"
    assert (tmp_path / "model" / "part").read_text() == "text"
