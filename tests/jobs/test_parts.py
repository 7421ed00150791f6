"""Jobs over many files: what is read, what is made, and what is left alone the next time."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linker.errors import InputError, LinkerError, OnError
from linker.io import files
from linker.jobs.machines import Machines
from linker.jobs.parts import Job, JobFile, Summary, Work


def upper(model: str = "m1", during: Callable[[], object] = lambda: None) -> Work:
    """Writes a file in capitals, line by line; a line with a digit is bad.

    Args:
        model: the name of what the work depends on.
        during: called while a file is written.
    """

    def do(file: JobFile, on_error: OnError) -> int:
        count = 0
        with files.write_aside(file.output) as text:
            for number, line in files.read_lines(file.path):
                if any(map(str.isdigit, line)):
                    on_error(InputError(file.path, "a digit", line=number))
                    continue
                text.write(line.upper() + "\n")
                count += 1
            during()
            file.check()
        return count

    return Work(lambda: do, ".up", {"model": model})


def run(source: object, output: Path, work: Work | None = None, **settings: Any) -> Summary:
    job = Job(str(source), str(output), work or upper(), **settings)
    return job.run(Machines(1), lambda _: None)


def index(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (output / "index.jsonl").read_text().splitlines()]


def made(output: Path) -> set[str]:
    return {path.name for path in output.iterdir() if path.name != "index.jsonl"}


def test_each_content_is_done_once(inputs: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    summary = run(inputs, output)
    assert (summary.parts, summary.done, summary.present) == (3, 2, 0)
    assert (summary.records, summary.skipped) == (7, 0)
    a, b, c = index(output)
    assert [Path(entry["input"]).name for entry in (a, b, c)] == ["a.txt", "b.txt", "c.txt"]
    assert a["output"] == c["output"] != b["output"]
    assert {a["output"], b["output"]} == made(output)
    assert (output / b["output"]).read_text() == "LEUKAEMIA\nDIABETES\n"
    assert (b["sha256"], b["records"], b["skipped"]) == (files.sha256(inputs / "b.txt"), 2, 0)


def test_what_is_there_is_not_done_again(inputs: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    run(inputs, output)
    before = index(output)
    again = run(inputs, output, upper(during=lambda: pytest.fail("it was done again")))
    assert (again.parts, again.done, again.present, again.records) == (3, 0, 3, 0)
    assert index(output) == before
    os.remove(output / before[1]["output"])  # as after a job that was killed before the second part
    again = run(inputs, output)
    assert (again.done, again.present) == (1, 2)
    assert index(output) == before


def test_another_model_or_another_content_is_another_part(inputs: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    run(inputs, output)
    first = made(output)
    summary = run(inputs, output, upper("m2"))
    assert summary.done == 2
    assert len(made(output) - first) == 2
    (inputs / "b.txt").write_text("gout\n")
    summary = run(inputs, output, upper("m2"))
    assert (summary.done, summary.present) == (1, 2)


def test_patterns_and_single_files(inputs: Path, tmp_path: Path) -> None:
    assert run(inputs / "[ab].txt", tmp_path / "one").parts == 2
    assert run(inputs / "b.txt", tmp_path / "two").parts == 1
    nested = tmp_path / "in" / "deep"
    nested.mkdir()
    (nested / "d.txt").write_text("x\n")
    assert run(inputs, tmp_path / "three").parts == 3  # the files of the folder, not those below
    assert run(inputs / "**" / "*.txt", tmp_path / "four").parts == 4


def test_bad_records(inputs: Path, tmp_path: Path) -> None:
    (inputs / "b.txt").write_text("one\n2\nthree\n4\n")
    output = tmp_path / "out"
    with pytest.raises(LinkerError, match=r"b\.txt, line 2: a digit"):
        run(inputs, output)
    assert [Path(entry["input"]).name for entry in index(output)] == ["a.txt", "c.txt"]
    told: list[InputError] = []
    job = Job(str(inputs), str(output), upper(), skips=True)
    summary = job.run(Machines(1), lambda summary: told.extend(summary.reports))
    assert (summary.done, summary.present, summary.records, summary.skipped) == (1, 2, 2, 2)
    assert [error.line for error in told] == [2, 4]
    assert index(output)[1]["skipped"] == 2


def test_a_damaged_file_is_passed_over_and_taken_up_again(inputs: Path, tmp_path: Path) -> None:
    output, damaged = tmp_path / "out", inputs / "0.txt.gz"
    whole = gzip.compress(b"gout\n" * 10_000)
    damaged.write_bytes(whole[:-20])  # it breaks after lines that can be read
    (inputs / "1.txt.gz").write_bytes(whole[:-20])
    told: list[InputError] = []
    job = Job(str(inputs), str(output), upper(), skips=True)
    summary = job.run(Machines(1), lambda summary: told.extend(summary.reports))
    assert (summary.parts, summary.done, summary.present) == (5, 2, 0)
    assert [error.path for error in summary.bad_files] == [str(damaged), str(inputs / "1.txt.gz")]
    assert told == summary.bad_files
    assert len(made(output)) == 2  # no half output
    assert [Path(entry["input"]).name for entry in index(output)] == ["a.txt", "b.txt", "c.txt"]
    assert run(inputs, output, skips=True).bad_files  # again each time, until it is mended
    damaged.write_bytes(whole)
    (inputs / "1.txt.gz").unlink()
    summary = run(inputs, output, skips=True)
    assert (summary.done, summary.present, summary.bad_files) == (1, 3, [])
    assert (summary.records, len(made(output))) == (10_000, 3)


def test_a_file_that_cannot_be_opened_is_passed_over(
    inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checksum = files.sha256

    def sha256(path: str) -> str:
        if path.endswith("a.txt"):
            raise PermissionError(13, "Permission denied", path)
        return checksum(path)

    monkeypatch.setattr(files, "sha256", sha256)
    with pytest.raises(InputError):
        run(inputs, tmp_path / "out")
    summary = run(inputs, tmp_path / "out", skips=True)
    assert (summary.parts, summary.done) == (3, 2)
    assert [error.path for error in summary.bad_files] == [str(inputs / "a.txt")]


def test_a_part_that_changes_while_the_job_runs(inputs: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    work = upper(during=lambda: (inputs / "a.txt").write_text("other\n"))
    with pytest.raises(LinkerError, match=r"a\.txt: changed while the job ran; run it again"):
        run(inputs, output, work)
    assert made(output) == set()


def test_inputs_and_outputs_that_are_refused(inputs: Path, tmp_path: Path) -> None:
    (empty := tmp_path / "empty").mkdir()
    for source, output in (
        (empty, "out"),
        (inputs / "*.xml", "out"),
        (inputs, "in"),
        (inputs, "in/out"),
        (inputs / "*.txt", "in"),
        (inputs, "in/a.txt"),
    ):
        with pytest.raises(LinkerError):
            run(source, tmp_path / output)
    assert not (tmp_path / "out").exists()


def test_what_a_killed_job_left_half_written_is_removed(inputs: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    run(inputs, output)
    (output / f".{next(iter(made(output)))}.abcd1234.tmp").write_text("half")
    run(inputs, output)
    assert len(made(output)) == 2
