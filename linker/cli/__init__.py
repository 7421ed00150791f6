"""The command line: parse, call one public function, print. What is heavy is imported where it is used, so that --help is quick."""

from __future__ import annotations

import io
import os
import signal
import sys

TYPE_CHECKING = False  # as in linker
if TYPE_CHECKING:
    from typing import Any, NoReturn


def main() -> NoReturn:
    """Run the command line; the exit codes are those of FACES: 0 done, 1 failed, 2 wrong command line, 130 interrupted."""
    interruptible = (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )  # not where a shell runs it in the background
    if interruptible:
        signal.signal(signal.SIGINT, _leave)
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(143)
    )  # as an exception, so that half-written files are removed
    _occupy()
    from linker.cli import commands

    commands.prepare()
    try:
        if interruptible:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = commands.run()
    finally:
        if interruptible:
            signal.signal(
                signal.SIGINT, signal.SIG_IGN
            )  # the work is done: Python would show a traceback out of its last steps
    sys.exit(code)


def _leave(*_: Any) -> NoReturn:
    """End at once: nothing is begun yet, and an exception would come out of some import as a traceback."""
    os.write(2, b"linker: interrupted\n")
    os._exit(130)


def _occupy() -> None:
    """Put /dev/null where standard input, output or errors are closed, so that no file that is opened later gets their number.

    Messages go nowhere then; reading and writing data fails as it does on what is closed.
    """
    for name, access in (("stdin", os.O_WRONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            raw = open(os.open(os.devnull, access), "rb" if name == "stdin" else "wb", buffering=0)  # noqa: SIM115 - until the end
            setattr(
                sys, name, io.TextIOWrapper(raw, write_through=True)
            )  # nothing is left that Python would try to write at the end
