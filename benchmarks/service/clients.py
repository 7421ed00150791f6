"""Clients for locust, which link one name after another; see load.py.

NAMES is a file of names, one a line, and FIRST a number from which names are made new.
"""

from __future__ import annotations

import itertools
import os
import random
from pathlib import Path

from locust import FastHttpUser, task

_NAMES = Path(os.environ["NAMES"]).read_text(encoding="utf-8").splitlines()
_NUMBERS = itertools.count(int(os.environ["FIRST"]))
_SAMPLE = random.Random(int(os.environ["FIRST"]))


class Client(FastHttpUser):
    """Asks again as soon as it is answered."""

    @task
    def link(self) -> None:
        """Link a name that was not asked for before, so that no cache has it."""
        name = f"{_SAMPLE.choice(_NAMES)} type {next(_NUMBERS)}"
        body = {"mentions": [name]}
        with self.client.post("/link", json=body, catch_response=True) as answer:
            if answer.status_code == 200 and answer.json()["predictions"][0]["mention"] != name:
                answer.failure("an answer to another request")
