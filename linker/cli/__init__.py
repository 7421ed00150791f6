"""The command line: parse, call one public function, print.

Each command is a module of its name, which is imported with all that it needs when it is called,
so that --help is quick.
"""

from __future__ import annotations

import io
import os
import signal
import sys

TYPE_CHECKING = False  # as in linker
if TYPE_CHECKING:
    from typing import Any, NoReturn

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
    # a shell that runs this in the background ignores the signal
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interruptible:
        signal.signal(signal.SIGINT, _leave)
    # as an exception, so that half-written files are removed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    _open_closed_streams()
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from linker.cli import commands

    commands.prepare()
    try:
        if interruptible:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = commands.run()
    finally:
        if interruptible:
            # the work is done; Python would show a traceback of its last steps
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)


def _leave(*_: Any) -> NoReturn:
    """End at once: no work has begun, and an exception would be a traceback out of some import."""
    os.write(2, b"linker: interrupted\n")
    os._exit(130)


def _open_closed_streams() -> None:
    """Put /dev/null where standard input, output or errors are closed.

    Otherwise the next file that is opened would get their number. Messages are lost then; reading
    and writing data fails as it does on a closed stream.
    """
    for name, access in (("stdin", os.O_WRONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            mode = "rb" if name == "stdin" else "wb"
            null = os.open(os.devnull, access)
            raw = open(null, mode, buffering=0)  # noqa: SIM115 - open until the end
            # written through, so that Python has nothing left that it would try to write at the end
            setattr(sys, name, io.TextIOWrapper(raw, write_through=True))
