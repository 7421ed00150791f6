"""A reconciliation service over a small dictionary, and the protocol's own schemas."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from linker import Dictionary, Linker
from linker.training.pipeline import train

pytest.importorskip("fastapi")
jsonschema = pytest.importorskip("jsonschema")
referencing = pytest.importorskip("referencing")

from fastapi.testclient import TestClient  # noqa: E402

from linker.desk.service.app import create  # noqa: E402
from linker.desk.service.settings import Settings  # noqa: E402
from linker.desk.service.state import Service  # noqa: E402

ROOT = Path(__file__).resolve().parents[4]
SPECS = (
    Path(os.environ.get("LINKER_SPECS", ROOT.parent / "shared" / "specs")) / "reconciliation/0.2"
)

TERMS = [
    "TOY:0; name: disease",
    "TOY:1; name: cancer; is_a: TOY:0",
    "TOY:2; name: nervous system disease; is_a: TOY:0",
    'TOY:11; name: breast cancer; def: "A cancer of the mammary gland <b>with</b> markup." []; synonym: "breast carcinoma" EXACT []; synonym: "mammary cancer" EXACT []; alt_id: TOY:111; xref: MESH:D001943; subset: common; is_a: TOY:1',
    'TOY:12; name: brain cancer; def: "A cancer inside the skull." []; xref: MESH:D001932; subset: rare; is_a: TOY:1; is_a: TOY:2',
    'TOY:21; name: migraine; synonym: "MA" EXACT []; xref: MESH:D008881; subset: common; is_a: TOY:2',
    'TOY:22; name: muscular atrophy; def: "Muscles that waste away." []; synonym: "MA" EXACT []; is_a: TOY:2',
]


@contextlib.contextmanager
def client_of(linker: Linker) -> Iterator[TestClient]:
    """A client of a service of this linker alone."""
    service = Service(Settings("toy"), linker)
    with TestClient(create(service)) as client:
        client.service = service  # type: ignore[attr-defined]
        yield client


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory, ontology: Callable[..., str]) -> Linker:
    """A linker without confidence over two branches."""
    path = tmp_path_factory.mktemp("toy") / "toy.obo"
    path.write_text(ontology(*TERMS), encoding="utf-8")
    return train(Dictionary.read(path), encoder="tfidf").with_ranker(None)


@pytest.fixture(scope="session")
def sampled(sample_linker: Linker) -> Linker:
    """A linker of the bundled sample dictionary."""
    return sample_linker


@pytest.fixture(scope="session")
def client(toy: Linker) -> Iterator[TestClient]:
    """A client of the small dictionary."""
    with client_of(toy) as client:
        yield client


@pytest.fixture(scope="session")
def sampled_client(sampled: Linker) -> Iterator[TestClient]:
    """A client of the bundled sample dictionary."""
    with client_of(sampled) as client:
        yield client


@pytest.fixture(scope="session")
def valid() -> Callable[[str, Any], None]:
    """Checks an answer by a schema of the protocol."""
    if not SPECS.is_dir():
        pytest.skip(f"the protocol's schemas are not at {SPECS}; set LINKER_SPECS")
    registry = referencing.Registry()
    for path in sorted((SPECS / "schemas").glob("*.json")):
        content = json.loads(path.read_text("utf-8"))
        resource = referencing.Resource.from_contents(
            content, default_specification=referencing.jsonschema.DRAFT7
        )
        # they refer to each other by their ids, and by the names of their files
        registry = registry.with_resources([(content["$id"], resource), (path.name, resource)])

    def check(schema: str, content: Any) -> None:
        entry = json.loads((SPECS / "schemas" / f"{schema}.json").read_text("utf-8"))
        draft = jsonschema.Draft7Validator(entry, registry=registry)
        problems = [error.message for error in draft.iter_errors(content)]
        assert not problems, f"{schema}: {problems[:3]}"

    return check


def answers(client: TestClient, queries: dict[str, Any]) -> dict[str, Any]:
    """Send a batch as OpenRefine does, and take its results."""
    response = client.post("/reconcile", data={"queries": json.dumps(queries)})
    assert response.status_code == 200, response.text
    content: dict[str, Any] = response.json()
    return content
