"""The service whose page is tested; its next answers can be replaced by failures."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from linker import Linker
from linker.desk.service.app import create
from linker.desk.service.settings import Settings
from linker.desk.service.state import Service
from linker.records import Decision

_LEFT_OUT = ("model", "release")


class Fake:
    def __init__(self, linker: Linker, decisions: Path) -> None:
        self._service = Service(Settings("sample", str(decisions)), linker)
        self._app = create(self._service)
        self.fail: list[Response] = []  # what the next requests are answered with
        self.asked: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app: Any = self._app
        if scope["type"] == "http" and scope["path"] != "/" and "/static/" not in scope["path"]:
            self.asked.append(scope["path"])
            app = self.fail.pop(0) if self.fail else app
        await app(scope, receive, send)

    @property
    def decisions(self) -> list[dict[str, Any]]:
        assert self._service.store
        records = [dataclasses.asdict(d) for d in self._service.store.list()]
        return [
            {k: v for k, v in record.items() if k not in _LEFT_OUT}
            | {"concept_id": record["concept_id"] or None}
            for record in records
        ]

    @decisions.setter
    def decisions(self, records: list[dict[str, Any]]) -> None:
        assert self._service.store
        self._service.store.withdraw(
            [past.decision.id or 0 for past in self._service.store.history()]
        )
        self._service.store.add(
            Decision(**record | {"concept_id": record["concept_id"] or ""}) for record in records
        )
