"""Clients for locust, which link one name after another; see load.py.

NAMES is a file of names, one a line, and FIRST a number from which names are made new.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from pathlib import Path

from locust import FastHttpUser, task


def _new_names() -> Iterator[str]:
    """Names that were not asked for before, so that no cache has them."""
    names = Path(os.environ["NAMES"]).read_text(encoding="utf-8").splitlines()
    first = int(os.environ["FIRST"])
    sample = random.Random(first)
    for number in itertools.count(first):
        yield f"{sample.choice(names)} type {number}"


_NAMES = _new_names()  # of all clients


class Client(FastHttpUser):
    """Asks again as soon as it is answered."""

    @task
    def link(self) -> None:
        """Link a name, and see that the answer is to it."""
        name = next(_NAMES)
        body = {"mentions": [name]}
        with self.client.post("/link", json=body, catch_response=True) as answer:
            if answer.status_code == 200 and answer.json()["predictions"][0]["mention"] != name:
                answer.failure("an answer to another request")
