"""Runs one of the systems of peer_systems.py, in this process; peers.py calls it.

python benchmarks/speed/peer_runs.py build SYSTEM INPUTS FOLDER      makes its index
python benchmarks/speed/peer_runs.py link SYSTEM INPUTS FOLDER       links mentions
python benchmarks/speed/peer_runs.py once SYSTEM INPUTS FOLDER       links one mention
python benchmarks/speed/peer_runs.py installed PACKAGE,PACKAGE - -   how large packages are

Prints JSON as its last line. INPUTS is a JSON file with `names` ([name, id] pairs) and `mentions`.
It needs the standard library and what the system needs, no more.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # some package of scispaCy is called benchmarks

from peer_systems import SYSTEMS, System

ROUNDS = 3
SLOW = 60  # seconds of a round after which there is no other
FIRST = "ataxia telangiectasia syndrome"


def build(system: System, data: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Make an index; what that costs."""
    start = time.perf_counter()
    system.build(data["names"], folder)
    return {"seconds": round(time.perf_counter() - start, 2), "peak_mb": round(peak())}


def link(system: System, data: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Link mentions as they come, and the distinct ones; a system newly opened each time."""
    mentions, figures = data["mentions"], dict[str, Any]()
    tasks = {"distinct": list(dict.fromkeys(mentions)), "as they come": mentions}
    for name, asked in tasks.items():
        rates: list[float] = []
        while len(rates) < ROUNDS:
            start = time.perf_counter()
            answer = system.open(data["names"], folder)
            answer([FIRST])
            opened = time.perf_counter()
            answers = answer(asked)
            seconds = time.perf_counter() - opened
            rates.append(round(len(asked) / seconds, 2))
            figures.setdefault("open_seconds", round(opened - start, 3))
            del answer
            if seconds > SLOW:
                break
        figures[name] = {"mentions": len(asked), "mentions_per_second": rates}
        if statistics.median(rates) * SLOW < len(asked):
            figures["as they come"] = figures[name]  # so slow that repeats are not measured
            answers = [dict(zip(asked, answers, strict=True))[mention] for mention in mentions]
            break
    return figures | {"peak_mb": round(peak()), "answers": answers}


def once(system: System, data: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Open a system and link one mention."""
    return {"answer": system.open(data["names"], folder)([FIRST])}


def installed(packages: Sequence[str]) -> dict[str, Any]:
    """The megabytes of packages with all that they require, and the versions of the packages."""
    from importlib.metadata import PackageNotFoundError, distribution

    from packaging.requirements import Requirement

    waiting, seen, size = list(packages), set[str](), 0
    while waiting:
        name = waiting.pop()
        requirement = Requirement(name)
        extra = {"extra": next(iter(requirement.extras), "")}
        try:
            package = distribution(requirement.name)
        except PackageNotFoundError:
            continue
        needed = [Requirement(line) for line in package.requires or ()]
        needed = [one for one in needed if not one.marker or one.marker.evaluate(extra)]
        key = package.metadata["Name"].lower()
        waiting += [str(one).partition(";")[0] for one in needed if one.name.lower() not in seen]
        if key not in seen:
            paths = [Path(str(package.locate_file(file))) for file in package.files or ()]
            size += sum(path.stat().st_size for path in paths if path.is_file())
        seen.add(key)
    versions = {name: distribution(Requirement(name).name).version for name in packages}
    return {"installed_mb": round(size / 1e6), "versions": versions, "packages": len(seen)}


def peak() -> float:
    """The most memory that this process has held, in MB."""
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def main() -> None:
    """Do what the command line says, and print what it gives in JSON as the last line."""
    task, name, inputs, folder = sys.argv[1:]
    if task == "installed":
        print(json.dumps(installed(name.split(","))))
        return
    data = json.loads(Path(inputs).read_text(encoding="utf-8"))
    tasks = {"build": build, "link": link, "once": once}
    print(json.dumps(tasks[task](SYSTEMS[name], data, Path(folder))))


if __name__ == "__main__":
    main()
