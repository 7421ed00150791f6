"""The Hugging Face hub, asked quietly; what it answers wrong is told in one sentence."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

from huggingface_hub import utils
from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

from linker.errors import LinkerError, shorten

_utils: Any = utils  # not annotated for type checkers


@contextlib.contextmanager
def asking(name: str, start: str, instead: str) -> Iterator[None]:
    """Turn what goes wrong while files of the hub are fetched into a `LinkerError`.

    Args:
        name: the id of the repository.
        start: of the message.
        instead: what to do with a folder DIR that was fetched elsewhere.
    """
    try:
        with quiet():
            yield
    except LinkerError:
        raise
    except (LocalEntryNotFoundError, ConnectionError) as error:
        raise LinkerError(
            f"{start} the Hugging Face hub cannot be reached ({reason(error)}); "
            f"where there is a network, run hf download {name} --local-dir DIR, and {instead}"
        ) from error
    except HFValidationError as error:
        raise LinkerError(
            f"{start} an id on the Hugging Face hub looks like NAME or OWNER/NAME"
        ) from error
    except Exception as error:  # the hub and its client raise many kinds
        raise LinkerError(
            f"{start} the Hugging Face hub does not give it ({reason(error)}); "
            "is it spelt right? For a private one, run hf auth login"
        ) from error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep progress bars and reports of the hub off the terminal; errors are still raised."""
    before = _utils.logging.get_verbosity(), not _utils.are_progress_bars_disabled()
    _set_chatter(logging.ERROR, False)
    try:
        yield
    finally:
        _set_chatter(*before)


def _set_chatter(level: int, has_bars: bool) -> None:
    """Set the level of the hub's log, and whether bars are shown."""
    _utils.logging.set_verbosity(level)
    (_utils.enable_progress_bars if has_bars else _utils.disable_progress_bars)()


def reason(error: BaseException) -> str:
    """The first line of what the first cause of an error says."""
    while error.__cause__ is not None:
        error = error.__cause__
    return shorten(next(iter(str(error).strip().splitlines()), type(error).__name__), 200)
