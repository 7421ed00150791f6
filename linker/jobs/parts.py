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
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linker import files
from linker.errors import InputError, LinkerError, OnError, shown, stop
from linker.files import replacing
from linker.jobs.machines import Machines, plain_errors
from linker.readers import mentions
from linker.readers.mentions import NoMentions
from linker.types import Document, Mention
from linker.version import VERSION

INDEX = "index.jsonl"
_DIGITS = 24  # hexadecimal, of the checksum in the name of a part
_TOLD = 20  # bad records of a part that are reported; all are counted


@dataclass(frozen=True, slots=True)
class JobFile:
    """A file of a job, and the file that is made of it."""

    path: str
    sha256: str  # of the file that is read, when the job began
    output: str  # path

    def read(
        self, format: str, column: str | None, on_error: OnError
    ) -> Iterator[Document | Mention]:
        """The documents or mentions of the file; one of many files may well have none.

        Args:
            format, column, on_error: as for `linker.readers.mentions.read`.
        """
        with contextlib.suppress(NoMentions):
            yield from mentions.read(self.path, format, on_error=on_error, column=column)

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
    count: int  # mentions or names
    skipped: int  # bad records
    told: Sequence[str]  # what was wrong with the first ones


def _counting(make: Make, skips: bool) -> Callable[[JobFile], Done]:
    """The function that `make` makes, with what became of a file and of its bad records."""
    do = make()

    def call(file: JobFile) -> Done:
        skipped, told = 0, list[str]()

        def skip(error: InputError) -> None:
            nonlocal skipped
            skipped += 1
            if skipped <= _TOLD:
                told.append(str(error))

        with plain_errors():
            count = do(file, skip if skips else stop)
        return Done(file.output, count, skipped, told)

    return call


@dataclass(frozen=True, slots=True)
class Job:
    """A job over the files of a folder or of a pattern.

    Args:
        source: a folder, whose files are read unless their names begin with `.` or `_`, or a
            pattern such as `data/*.jsonl`, or a file.
        output: the folder to write to.
        work: what is done with each part.
        skips: whether bad records are skipped.
    """

    source: str
    output: str
    work: Work
    skips: bool = False

    def run(self, machines: Machines, report: Callable[[Summary], None]) -> Summary:
        """Make the parts that are not there yet, and write the index.

        Args:
            machines: where.
            report: is called with the figures before the first part and after each one.

        Raises:
            LinkerError: a part is bad or has changed; those that were done before are kept.
        """
        paths = self.paths()
        self._check_output(paths)
        parts = self._parts(paths)
        absent = [part for part in parts if not Path(part.output).exists()]
        todo: dict[str, JobFile] = {}
        for part in absent:
            todo.setdefault(part.output, part)
        summary = Summary(len(parts), len(parts) - len(absent), len(absent) - len(todo))
        report(summary)
        done: dict[str, Done] = {}
        make = functools.partial(_counting, self.work.make, self.skips)
        with machines.run(make, todo.values()) as results:
            Path(self.output).mkdir(parents=True, exist_ok=True)
            try:
                for result in results:
                    done[result.output] = result
                    summary.add(result)
                    report(summary)
            finally:
                replacing.clean(Path(self.output), "part-.*")  # what killed processes left
                self._write_index(parts, done)
        self._check_shared(done)
        summary.appeared = len(set(self.paths()) - set(paths))
        summary.foreign = self._foreign(parts)
        return summary

    def paths(self) -> list[str]:
        """The files to read, absolute, in the order of their names.

        Raises:
            LinkerError: there are none.
        """
        folder = Path(self.source)
        if folder.is_dir():
            names = [p for p in folder.iterdir() if not p.name.startswith((".", "_"))]
        elif folder.exists():
            names = [folder]
        else:
            names = [Path(name) for name in glob.glob(self.source, recursive=True)]
        paths = sorted(str(path.absolute()) for path in names if path.is_file())
        if not paths:
            what = "holds no files" if folder.is_dir() else "no file has such a name"
            raise LinkerError(f"{self.source}: {what}; name a folder, a file or a pattern of files")
        return paths

    def _check_output(self, paths: Sequence[str]) -> None:
        output = Path(self.output).resolve()
        if output.exists() and not output.is_dir():
            raise LinkerError(f"{self.output}: is a file; name a folder with -o")
        source = Path(self.source).resolve()
        if output.is_relative_to(source) or any(
            Path(path).resolve().is_relative_to(output) for path in paths
        ):
            raise LinkerError(
                f"{self.output}: is a folder of the input, whose parts its files would be; "
                "name another with -o"
            )

    def _parts(self, paths: Sequence[str]) -> list[JobFile]:
        options = json.dumps([VERSION, self.work.options], sort_keys=True)
        folder = Path(self.output).absolute()
        parts = []
        with ThreadPoolExecutor() as pool:
            for path, checksum in zip(paths, pool.map(_sha256, paths), strict=True):
                key = hashlib.sha256(f"{checksum} {options}".encode()).hexdigest()[:_DIGITS]
                output = folder / f"part-{key}{self.work.suffix}"
                parts.append(JobFile(path, checksum, str(output)))
        return parts

    def _write_index(self, parts: Sequence[JobFile], done: Mapping[str, Done]) -> None:
        """Write which part was made of which; counts of earlier jobs are taken from their index."""
        path = Path(self.output) / INDEX
        before = {entry["output"]: entry for entry in _entries(path)}
        there = set(os.listdir(self.output))
        with files.write_aside(path) as file:
            for part in parts:
                if (name := Path(part.output).name) not in there:
                    continue
                entry: dict[str, Any] = {
                    "input": shown(part.path),
                    "sha256": part.sha256,
                    "output": name,
                }
                counts = {key: before.get(name, {}).get(key) for key in ("records", "skipped")}
                if result := done.get(part.output):
                    counts = {"records": result.count, "skipped": result.skipped}
                file.write(json.dumps(entry | counts, ensure_ascii=False) + "\n")

    def _check_shared(self, done: Mapping[str, Done]) -> None:
        """Check that what other machines wrote is here.

        Raises:
            LinkerError: it is not.
        """
        if absent := {Path(output).name for output in done} - set(os.listdir(self.output)):
            raise LinkerError(
                f"{self.output}: lacks {len(absent):,} parts, which other machines wrote to a "
                "folder of their own; name a folder that all machines share with -o"
            )

    def _foreign(self, parts: Sequence[JobFile]) -> int:
        """The parts of other jobs in the folder that is written to."""
        names = {Path(part.output).name for part in parts}
        return sum(1 for path in Path(self.output).glob("part-*") if path.name not in names)


@dataclass(slots=True)
class Summary:
    """The figures of a job."""

    parts: int  # that were read or are to be read
    present: int  # whose output was there before
    equal: int  # whose output is that of another part with the same content
    done: int = 0
    records: int = 0  # mentions or names of the parts that were done
    skipped: int = 0  # bad records of them
    appeared: int = 0  # files that were not there when the job began
    foreign: int = 0  # parts in the folder that this job did not ask for
    told: Sequence[str] = field(default=(), repr=False)  # of the part that was done last

    def add(self, result: Done) -> None:
        """Count a part that was done."""
        self.done += 1
        self.records += result.count
        self.skipped += result.skipped
        self.told = result.told


def _sha256(path: str) -> str:
    try:
        return files.sha256(path)
    except OSError as error:
        raise LinkerError(f"{path}: cannot be read: {error.strerror}") from None


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    """The entries of the index of an earlier job; those that are damaged are passed over."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and "output" in entry:
            yield entry
