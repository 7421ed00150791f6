"""Jobs over many files: each part that is read becomes one part that is written.

A part that is written is named by the content of what it was made of: the part that was read, the
model and the options. It is written aside and renamed, so that one that is there is complete. A
job that was ended in the middle continues where it was, and repeats nothing.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linker.errors import LinkerError, OnError, shown, stop
from linker.io import files, replacing
from linker.jobs.machines import Machines, plain_errors
from linker.version import VERSION

INDEX = "index.jsonl"
_DIGITS = 24  # hexadecimal, of the checksum in the name of a part
_REPORTED = 20  # bad records of a part that are reported; all are counted


@dataclass(frozen=True, slots=True)
class JobFile:
    """A file of a job, and the file that is made of it."""

    path: str
    sha256: str  # of the file that is read, when the job began
    output: str  # path

    def check(self) -> None:
        """Check that the file that was read is the one that the job began with.

        Raises:
            LinkerError: it has changed.
        """
        if files.sha256(self.path) != self.sha256:
            raise LinkerError(f"{self.path}: changed while the job ran; run it again")


Make = Callable[[], Callable[[JobFile, OnError], int]]
"""Loads what is needed, and makes a function that reads a file, writes its output, and says how
many records it had."""


@dataclass(frozen=True, slots=True)
class Work:
    """What is done with each file of a job."""

    make: Make  # sent to the processes that do the work
    suffix: str  # the end of the names of the files that are written
    options: Mapping[str, Any]  # what a written file depends on beside the one that is read


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a file."""

    output: str
    records: int  # mentions or names
    skipped: int  # bad records
    reports: Sequence[str]  # what was wrong with the first ones


@dataclass(slots=True)
class Summary:
    """The figures of a job."""

    parts: int  # that were read or are to be read
    present: int  # whose output was there before
    done: int = 0  # others have the content of one of these
    records: int = 0  # mentions or names of the parts that were done
    skipped: int = 0  # bad records of them
    reports: Sequence[str] = field(default=(), repr=False)  # of the part that was done last

    def add(self, result: Done) -> None:
        """Count a part that was done."""
        self.done += 1
        self.records += result.records
        self.skipped += result.skipped
        self.reports = result.reports


@dataclass(frozen=True, slots=True)
class Job:
    """A job over the files of a folder or of a pattern."""

    source: (
        str  # a folder, of whose files those with `.` or `_` in front are no parts; or a pattern
    )
    output: str  # the folder to write to
    work: Work
    skips: bool = False  # whether bad records are skipped

    def run(self, machines: Machines, report: Callable[[Summary], None]) -> Summary:
        """Make the parts that are not there yet, and write the index.

        Args:
            machines: where.
            report: is called with the figures before the first part and after each one.

        Raises:
            LinkerError: a part is bad or has changed; those that were done before are kept.
        """
        parts, output = self._parts(self._paths()), Path(self.output)
        absent = [part for part in parts if not Path(part.output).exists()]
        todo, done = dict[str, JobFile](), dict[str, Done]()
        for part in absent:
            todo.setdefault(part.output, part)
        summary = Summary(len(parts), len(parts) - len(absent))
        report(summary)
        make = functools.partial(_counting, self.work.make, self.skips)
        with machines.run(make, todo.values()) as results:
            output.mkdir(parents=True, exist_ok=True)
            try:
                for result in results:
                    done[result.output] = result
                    summary.add(result)
                    report(summary)
            finally:
                replacing.clean(output, "part-.*")  # what killed processes left
                self._write_index(parts, done)
        if lost := sum(1 for path in done if not Path(path).exists()):
            raise LinkerError(
                f"{output}: lacks {lost:,} parts, which other machines wrote to a folder of their "
                "own; name a folder that all machines share with -o"
            )
        return summary

    def _paths(self) -> list[str]:
        """The files to read, absolute, in the order of their names.

        Raises:
            LinkerError: there are none, or the output is one of them or among them.
        """
        source, output = Path(self.source), Path(self.output).resolve()
        if source.is_dir():
            names = [path for path in source.iterdir() if not path.name.startswith((".", "_"))]
        else:
            found = [source] if source.exists() else glob.glob(self.source, recursive=True)
            names = [Path(name) for name in found]
        paths = sorted(str(path.absolute()) for path in names if path.is_file())
        if not paths:
            raise LinkerError(f"{source}: there are no such files; name a folder or a pattern")
        if (output.exists() and not output.is_dir()) or output.is_relative_to(source.resolve()):
            raise LinkerError(f"{self.output}: is a file or in the input; name a folder with -o")
        if any(Path(path).resolve().is_relative_to(output) for path in paths):
            raise LinkerError(f"{self.output}: has files of the input; name another with -o")
        return paths

    def _parts(self, paths: Sequence[str]) -> list[JobFile]:
        """What is made of files, whose names are those of their contents."""
        options = json.dumps([VERSION, self.work.options], sort_keys=True)

        def part(path: str) -> JobFile:
            try:
                checksum = files.sha256(path)
            except OSError as error:
                raise LinkerError(f"{path}: cannot be read: {error.strerror}") from None
            key = hashlib.sha256(f"{checksum} {options}".encode()).hexdigest()[:_DIGITS]
            output = Path(self.output).absolute() / f"part-{key}{self.work.suffix}"
            return JobFile(path, checksum, str(output))

        with ThreadPoolExecutor() as pool:
            return [*pool.map(part, paths)]

    def _write_index(self, parts: Sequence[JobFile], done: Mapping[str, Done]) -> None:
        """Write which part was made of which; counts of earlier jobs are taken from their index."""
        path, before = Path(self.output) / INDEX, dict[str, Any]()
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):  # it may be damaged
            entries = map(json.loads, path.read_text("utf-8").splitlines())
            before |= {entry["output"]: entry for entry in entries}
        with files.write_aside(path) as file:
            for part in parts:
                output, result = Path(part.output), done.get(part.output)
                if not output.exists():
                    continue
                known = before.get(output.name, {})
                entry = {
                    "input": shown(part.path),
                    "sha256": part.sha256,
                    "output": output.name,
                    "records": result.records if result else known.get("records"),
                    "skipped": result.skipped if result else known.get("skipped"),
                }
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")


def _counting(make: Make, skips: bool) -> Callable[[JobFile], Done]:
    """The function that `make` makes, with what became of a file and of its bad records."""
    do = make()

    def call(file: JobFile) -> Done:
        reports: list[str] = []
        with plain_errors():
            count = do(file, (lambda error: reports.append(str(error))) if skips else stop)
        return Done(file.output, count, len(reports), reports[:_REPORTED])

    return call
