"""Requests that schemathesis makes of the OpenAPI."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable

schemathesis = pytest.importorskip("schemathesis", reason="the extra test is not installed")

from linker.desk.service import schemas  # noqa: E402
from linker.io import formats  # noqa: E402

MODES = (schemathesis.GenerationMode.NEGATIVE, schemathesis.GenerationMode.POSITIVE)


@pytest.mark.parametrize("mode", MODES)
def test_no_request_is_too_odd(client: Any, mode: Any) -> None:
    schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    for operation in (result.ok() for result in schema.get_all_operations()):
        if operation.path == "/reload":
            continue

        @seed(1)
        @settings(
            max_examples=5,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            record = case.as_transport_kwargs(base_url="http://testserver")
            record.pop("cookies", None)
            if isinstance(record.get("data"), bytes | str):
                record["content"] = record.pop("data")
            answer = client.request(**record)
            assert answer.status_code < 500, answer.text
            described = case.operation.definition.raw["responses"]
            assert str(answer.status_code) in {*described, "405"}, (case.path, answer.text)
            path = answer.request.url.path
            if answer.status_code >= 400 and not path.startswith("/reconcile"):
                keys = {"resourceType", "issue"} if "/fhir/" in path else {"error", "where"}
                assert set(answer.json()) >= keys

        try:
            ask()
        except Unsatisfiable:  # nothing breaks a route without parameters
            assert not operation.body


def test_the_formats_of_requests_are_those_that_are_written() -> None:
    for_programs = [name for name in formats.PREDICTIONS if name != "text"]  # is for a terminal
    assert get_args(schemas.Format) == ("json", *for_programs)
