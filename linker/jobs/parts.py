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

from linker.errors import InputError, LinkerError, OnError, of_file, shown, stop
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
            InputError: it has changed, or cannot be read any more.
        """
        with files.reading(self.path):
            checksum = files.sha256(self.path)
        if checksum != self.sha256:
            raise InputError(self.path, "changed while the job ran", remedy="run it again")


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
    records: int = 0  # mentions or names
    skipped: int = 0  # bad records
    reports: Sequence[InputError] = ()  # what was wrong with the first ones
    failure: InputError | None = None  # why nothing was written, where bad files are passed over


@dataclass(slots=True)
class Summary:
    """The figures of a job."""

    parts: int  # that were read or are to be read
    present: int  # whose output was there before
    done: int = 0  # others have the content of one of these
    records: int = 0  # mentions or names of the parts that were done
    skipped: int = 0  # bad records of them
    bad_files: list[InputError] = field(default_factory=list, repr=False)  # nothing is made of them
    # what is new since the last report: bad records and files
    reports: Sequence[InputError] = field(default=(), repr=False)

    def add(self, result: Done) -> None:
        """Count a part that was done."""
        self.done += 1
        self.records += result.records
        self.skipped += result.skipped
        self.reports = result.reports

    def pass_over(self, errors: Sequence[InputError]) -> None:
        """Count files of which nothing is made."""
        self.bad_files += errors
        self.reports = errors


@dataclass(frozen=True, slots=True)
class Job:
    """A job over the files of a folder or of a pattern."""

    source: (
        str  # a folder, of whose files those with `.` or `_` in front are no parts; or a pattern
    )
    output: str  # the folder to write to
    work: Work
    skips: bool = False  # whether bad records are skipped, and files that cannot be used

    def run(self, machines: Machines, report: Callable[[Summary], None]) -> Summary:
        """Make the parts that are not there yet, and write the index.

        Args:
            machines: where.
            report: is called with the figures before the first part and after each one.

        Raises:
            LinkerError: a part is bad or has changed, and is not passed over; those that were done
                before are kept.
        """
        paths = self._paths()
        output = Path(self.output)
        parts, unreadable = self._parts(paths)
        absent = [part for part in parts if not Path(part.output).exists()]
        todo, done = dict[str, JobFile](), dict[str, Done]()
        equal: dict[str, list[JobFile]] = {}  # to a part of the same content that is to be done
        for part in absent:
            if todo.setdefault(part.output, part) is not part:
                equal.setdefault(part.output, []).append(part)
        summary = Summary(len(paths), len(parts) - len(absent))
        summary.pass_over(unreadable)
        report(summary)
        make = functools.partial(_counting, self.work.make, self.skips)
        with machines.run(make, todo.values()) as results:
            output.mkdir(parents=True, exist_ok=True)
            try:
                for result in results:
                    if result.failure:
                        others = equal.get(result.output, [])
                        summary.pass_over([result.failure, *map(_as_bad, others)])
                    else:
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

    def _parts(self, paths: Sequence[str]) -> tuple[list[JobFile], list[InputError]]:
        """What is made of files, whose names are those of their contents.

        Returns:
            The parts, and the files that cannot be read, where these are passed over.
        """
        options = json.dumps([VERSION, self.work.options], sort_keys=True)

        def part(path: str) -> JobFile | InputError:
            try:
                with files.reading(path):
                    checksum = files.sha256(path)
            except InputError as error:
                if not self.skips:
                    raise
                return error
            key = hashlib.sha256(f"{checksum} {options}".encode()).hexdigest()[:_DIGITS]
            output = Path(self.output).absolute() / f"part-{key}{self.work.suffix}"
            return JobFile(path, checksum, str(output))

        with ThreadPoolExecutor() as pool:
            results = [*pool.map(part, paths)]
        parts = [result for result in results if isinstance(result, JobFile)]
        unreadable = [result for result in results if isinstance(result, InputError)]
        for error in unreadable:
            error.is_of_file = True
        return parts, unreadable

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


def _as_bad(part: JobFile) -> InputError:
    """The error of a file that has the content of a bad one."""
    error = InputError(part.path, "has the content of another file that was passed over")
    error.is_of_file = True
    return error


def _counting(make: Make, skips: bool) -> Callable[[JobFile], Done]:
    """The function that `make` makes, with what became of a file and of its bad records."""
    do = make()

    def call(file: JobFile) -> Done:
        bad_records: list[InputError] = []
        bad_files: list[InputError] = []
        count = 0
        with plain_errors(), of_file(bad_files.append if skips else stop):
            count = do(file, bad_records.append if skips else stop)
        if bad_files:
            return Done(file.output, failure=bad_files[0])
        return Done(file.output, count, len(bad_records), bad_records[:_REPORTED])

    return call
