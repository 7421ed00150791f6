"""linker link with --workers, and of many files."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linker.jobs import machines

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def _two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "cores", lambda: 2)


@pytest.fixture
def names(tmp_path: Path) -> Path:
    path = tmp_path / "m.txt"
    path.write_text("".join(f"cancer {i}\nbreast and ovarian cancer\n\n" for i in range(20)))
    return path


def test_workers_write_what_one_process_writes(
    run: Run, trained: Path, names: Path, sample: Path
) -> None:
    documents = sample.with_name("sample_documents.pubtator.txt")
    for path, *options in (
        (names,),
        (names, "--format", "jsonl", "-k", "2"),
        (documents, "--format", "bioc", "--type", "Disease"),
    ):
        options = ["link", path, "--model", trained, "--batch-size", "7", *options]
        expected = run(*options)
        assert expected.code == 0
        assert run(*options, "--workers", "2") == expected


def children(pid: int) -> set[int]:
    """The processes that a process has spawned, without Python's tracker of resources."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            command = (path / "cmdline").read_text()
        except OSError:
            continue
        if parent == pid and "spawn_main" in command:
            found.add(int(path.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")
@pytest.mark.parametrize(
    ("number", "code", "message"),
    [
        (signal.SIGINT, 130, "linker: interrupted"),
        (signal.SIGTERM, 143, ""),
        (signal.SIGKILL, 1, "linker: a worker ended in the middle of its work"),
    ],
)
def test_signals_end_all_processes(
    trained: Path, tmp_path: Path, number: signal.Signals, code: int, message: str
) -> None:
    """Ctrl-C reaches all processes, SIGTERM the first one, and SIGKILL here a worker."""
    (tmp_path / "out.tsv").write_text("old\n")
    script = "import os, linker.jobs.machines as w; w.cores = lambda: 2\nfrom linker.cli import main; main()"
    arguments = ["link", "-", "--model", str(trained), "-o", "out.tsv", "--workers", "2"]
    with subprocess.Popen(
        [sys.executable, "-c", script, *arguments, "--batch-size", "1"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        assert child.stdin is not None
        assert child.stderr is not None
        child.stdin.write(b"gout\nasthma\ncancer\n")
        child.stdin.flush()
        deadline = time.monotonic() + 30
        while len(pids := children(child.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        if number == signal.SIGINT:
            os.killpg(child.pid, number)
        else:
            os.kill(child.pid if number == signal.SIGTERM else min(pids), number)
        if number == signal.SIGKILL:
            child.stdin.close()
        written = child.stderr.read().decode()
    assert child.returncode == code
    assert written.strip().partition(":")[0] == message.partition(":")[0], written
    assert message in written
    assert len(written.strip().splitlines()) <= 1
    assert (tmp_path / "out.tsv").read_text() == "old\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.tsv"]
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    (folder := tmp_path / "in").mkdir()
    (folder / "a.txt").write_text("gout\nasthma\n")
    (folder / "b.jsonl").write_text('{"mention": "leukaemia"}\n')
    return folder


def test_a_folder_and_a_pattern(run: Run, trained: Path, inputs: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    options = ("--model", trained, "--format", "jsonl", "-o", output)
    first = f"{output}: 2 parts, 2 done, 0 skipped because present; 3 records done, 0 bad records skipped\n"
    assert run("link", inputs, *options, "--workers", "2") == (0, "", first)
    again = f"{output}: 1 part, 0 done, 1 skipped because present; 0 records done, 0 bad records skipped\n"
    assert run("link", inputs / "*.txt", *options) == (0, "", again)
    written = b"".join(sorted(path.read_bytes() for path in output.glob("part-*")))
    plain = [run("link", path, *options[:4]).out for path in inputs.iterdir()]
    assert written == "".join(sorted(plain)).encode()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_damaged_file_of_a_folder_is_passed_over(
    run: Run, trained: Path, inputs: Path, tmp_path: Path, workers: str
) -> None:
    damaged, output = inputs / "a.gz", tmp_path / "out"
    damaged.write_bytes(gzip.compress(b"gout\n" * 1000)[:-20])
    table = inputs / "t.csv"
    table.write_text("code,diagnosis\n1,gout\n2,asthma\n")  # of which a column must be named
    options = ("link", inputs, "--model", trained, "-o", output, "--workers", workers)
    assert run(*options).code == 1  # without --on-error skip it stops
    result = run(*options, "--on-error", "skip")
    assert (result.code, result.out) == (1, "")
    *_, summary, last = result.err.splitlines()
    assert summary.startswith(
        f"{output}: 4 parts, 2 done, 0 skipped because present, 2 passed over"
    )
    assert str(damaged) in last
    assert str(table) in last
    assert len(list(output.glob("part-*"))) == 2
    assert not list(output.glob(".*"))  # no half output
    damaged.write_bytes(gzip.compress(b"gout\n"))
    table.unlink()
    result = run(*options, "--on-error", "skip")
    assert (result.code, len(list(output.glob("part-*")))) == (0, 3)


def test_parquet_in_and_out(link: Run, tmp_path: Path) -> None:
    pa: Any = pytest.importorskip("pyarrow")
    pq: Any = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "m.parquet"
    pq.write_table(pa.table({"label": ["gout", None], "text": ["asthma", "gout"]}), path)
    rows = link(path, "-k", "1", "--input-format", "parquet").out
    assert [row.split("\t")[0] for row in rows.splitlines()[1:]] == ["asthma", "gout"]
    options = ("--column", "label", "--on-error", "skip", "--format", "parquet")
    result = link(path, "-k", "1", *options, "-o", tmp_path / "out")
    assert "1 part, 1 done, 0 skipped because present; 2 records done, 0 bad record" in result.err
    (part,) = (tmp_path / "out").glob("part-*.parquet")
    written = pq.read_table(part).select(["number", "mention", "concept_id"]).to_pylist()
    assert [tuple(row.values()) for row in written] == [
        (1, "gout", "MESH:D006073"),
        (2, "", None),  # a null keeps its row
    ]
