"""The command line: parse, call one public function, print.

Each command is a module of its name, which is imported with all that it needs when it is called,
so that --help is quick.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # as in linker
if TYPE_CHECKING:
    from typing import NoReturn

_ENVIRONMENT = {
    # oneDNN, which torch computes with on a CPU, keeps a compiled kernel for each size of a batch,
    # 1,024 of them if not told otherwise; batches of names have so many sizes that this takes 1 GB.
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64",
    # Threads that wait for one another sleep. By default they spin: beside other work the one that
    # is waited for then loses its core to those that wait (docs/scale.md). OpenMP,
    # which torch computes with, reads the first, numpy's OpenBLAS the second (2^4 ticks).
    "OMP_WAIT_POLICY": "PASSIVE",
    "OPENBLAS_THREAD_TIMEOUT": "4",
}
"""Settings of libraries that read them from the environment at their first use."""


def main() -> NoReturn:
    """Run the command line.

    The exit codes are 0 done, 1 failed, 2 wrong command line, 130 interrupted.
    """
    # as an exception, so that half-written files are removed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from linker.cli import commands

    commands.prepare()
    sys.exit(commands.run())
