"""The tools for assistants, called by the client of the official SDK."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linker import Linker
from linker.linking.decided import Decided
from linker.records import Decision

mcp = pytest.importorskip("mcp")
anyio = pytest.importorskip("anyio")
httpx = pytest.importorskip("httpx")

from starlette.testclient import TestClient  # noqa: E402

from linker.integrations.mcp import application, server  # noqa: E402

FAP = "Familial adenomatous polyposis (FAP) leads to colorectal cancer. FAP is rare."


@pytest.fixture(scope="module")
def linker(sample_linker: Linker) -> Linker:
    return sample_linker


@pytest.fixture(scope="module")
def folder(linker: Linker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mcp") / "model"
    linker.save(path)
    return path


def asked(target: Any, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """The structured answer to each call, or the text of its error."""

    async def ask() -> list[Any]:
        async with mcp.Client(target) as client:
            results = [await client.call_tool(*call) for call in calls]
        return [r.content[0].text if r.is_error else r.structured_content for r in results]

    answers: list[Any] = anyio.run(ask)
    return answers


def test_mentions_are_linked_to_ids_of_the_dictionary(linker: Linker) -> None:
    mentions = ["Louis-Bar syndrome", "hepatitis B/C", "A-T"]
    (answer,) = asked(server(linker), ("link_mentions", {"mentions": mentions, "k": 1}))
    louis, hepatitis, unsure = answer["result"]  # a short form without a text is never sure
    assert [part["id"] for part in louis + hepatitis] == [
        *("MESH:D001260", "MESH:D006509", "MESH:D006526")
    ]
    assert louis[0]["name"] == "Ataxia Telangiectasia"
    assert 0.5 < louis[0]["confidence"] <= 1
    assert [(part["id"], part["name"], part["confidence"]) for part in unsure] == [(None,) * 3]
    assert [choice["id"] for choice in unsure[0]["alternatives"]] == ["MESH:D001260"]
    assert [part["broader"] for part in louis + unsure] == [None, None]


def test_what_is_denied_says_so(linker: Linker, deny: Callable[..., None]) -> None:
    deny("no gout")
    (answer,) = asked(server(linker), ("link_mentions", {"mentions": ["no gout", "gout"]}))
    assert [(p["id"], p["assertion"]) for parts in answer["result"] for p in parts] == [
        ("MESH:D006073", "absent"), ("MESH:D006073", "present"),
    ]  # fmt: skip


def test_what_is_no_name_fails_no_list(linker: Linker) -> None:
    names = ["gout", "", " ", "x" * 1_001, "asthma"]
    pairs = [{"id": identifier, "label": name} for name in names for identifier in ("D006073", "X")]
    linked, checked = asked(
        server(linker), ("link_mentions", {"mentions": names}), ("check_labels", {"pairs": pairs})
    )
    ids = [[part["id"] for part in parts] for parts in linked["result"]]
    assert ids == [["MESH:D006073"], [], [], [], ["MESH:D001249"]]
    verdicts = [row["verdict"] for row in checked["result"]]
    assert verdicts == ["right", "unknown", *["", "unknown"] * 3, "mismatched", "unknown"]


def test_a_text_is_annotated_with_its_short_forms(linker: Linker) -> None:
    (answer,) = asked(server(linker), ("annotate_text", {"text": FAP}))
    found = [(FAP[m["start"] : m["end"]], m["id"]) for m in answer["result"]]
    assert found[0] == ("Familial adenomatous polyposis", "MESH:D011125")
    assert ("colorectal cancer", "MESH:D015179") in found
    assert [id for text, id in found if text == "FAP"] == ["MESH:D011125"] * 2


def test_concepts_are_looked_up(linker: Linker) -> None:
    concept, hits = asked(
        server(linker),
        ("get_concept", {"id": "D001260"}),
        ("search_concepts", {"query": "louis", "limit": 1}),
    )
    assert (concept["id"], concept["name"]) == ("MESH:D001260", "Ataxia Telangiectasia")
    assert [hit["id"] for hit in hits["result"]] == ["MESH:D001260"]


def test_labels_are_checked(linker: Linker) -> None:
    pairs = [
        {"id": "MESH:D001943", "label": "breast cancer"},
        {"id": "MESH:D001943", "label": "Louis-Bar syndrome"},
        {"id": "MESH:D999999", "label": "breast cancer"},
    ]
    (answer,) = asked(server(linker), ("check_labels", {"pairs": pairs}))
    assert [row["verdict"] for row in answer["result"]] == ["right", "mismatched", "unknown"]
    assert answer["result"][1]["better_id"] == "MESH:D001260"


def test_decisions_of_people_win(linker: Linker) -> None:
    decided = Decided([Decision("Louis-Bar syndrome", "MESH:D001943", reviewer="ann")], linker)
    call = ("link_mentions", {"mentions": ["Louis-Bar syndrome"]})
    (answer,) = asked(server(linker, decided), call)
    assert [(p["id"], p["state"]) for p in answer["result"][0]] == [("MESH:D001943", "accepted")]


def test_refusals_say_what_to_do(linker: Linker) -> None:
    answers = asked(
        server(linker),
        ("get_concept", {"id": "MESH:D999999"}),
        ("link_mentions", {"mentions": []}),
        ("link_mentions", {"mentions": ["x"], "threshold": 2}),
        ("annotate_text", {}),
    )
    assert "no id 'MESH:D999999'; find the concept with search_concepts" in answers[0]
    for answer, problem in zip(
        answers[1:], ("at least 1 item", "less than", "required"), strict=True
    ):
        assert problem in answer


def over_stdio(folder: Path) -> Any:
    arguments = ["-m", "linker.cli", "mcp", "--model", str(folder)]
    return mcp.stdio_client(mcp.StdioServerParameters(command=sys.executable, args=arguments))


CALL = ("link_mentions", {"mentions": ["Louis-Bar syndrome"], "k": 1})


def test_the_command_serves_on_standard_input_and_output(folder: Path) -> None:
    (answer,) = asked(over_stdio(folder), CALL)
    assert answer["result"][0][0]["id"] == "MESH:D001260"


def test_the_command_serves_over_http(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as place:
        port = place.getsockname()[1]
    command = [sys.executable, "-m", "linker.cli", "mcp", "--model", str(folder)]
    command += ["--host", "0.0.0.0", "--port", str(port)]
    evil = {"Host": f"evil.example:{port}"}
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for(lambda: socket.create_connection(("127.0.0.1", port)).close())
            (answer,) = asked(f"http://127.0.0.1:{port}/mcp", CALL)
            refused = httpx.post(f"http://127.0.0.1:{port}/mcp", json={}, headers=evil)
        finally:
            process.terminate()
    assert answer["result"][0][0]["id"] == "MESH:D001260"
    assert (refused.status_code, "--cors" in refused.json()["error"]) == (403, True)


def test_what_the_server_warns_of_is_json_where_this_is_asked_for(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as place:
        port = place.getsockname()[1]
    command = [sys.executable, "-m", "linker.cli", "mcp", "--model", str(folder)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--log-format", "json"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_for(lambda: socket.create_connection(("127.0.0.1", port)).close())
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(b"no request\r\n\r\n")
                assert b" 400 " in connection.recv(1000)
        finally:
            process.terminate()
        _, errors = process.communicate()
    records = [json.loads(line) for line in errors.splitlines()]
    assert "uvicorn.error" in [record["logger"] for record in records]


OURS = frozenset(("localhost", "here"))


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("localhost:8080", None, 200),
        ("192.0.2.7:8080", None, 200),
        ("[::1]", "http://[::1]", 200),
        ("here", "https://here", 200),
        ("a.example", "https://a.example", 200),
        ("localhost", "https://a.example", 200),
        ("evil.example", None, 403),
        ("evil.example", "http://evil.example", 403),
        ("127.0.0.1.evil.example", None, 403),
        ("localhost", "https://evil.example", 403),
        ("localhost", "null", 403),
        ("[::1", None, 403),
    ],
)
def test_pages_of_other_sites_cannot_use_the_tools(
    linker: Linker, host: str, origin: str | None, status: int
) -> None:
    headers = {"Host": host, "Accept": "application/json, text/event-stream"}
    if origin:
        headers["Origin"] = origin
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    with TestClient(application(server(linker), OURS, ("https://a.example",))) as client:
        answer = client.post("/mcp", json=asked, headers=headers)
    assert answer.status_code == status
    assert ("link_mentions" in answer.text) == (status == 200)


def wait_for(ready: Callable[[], None], seconds: float = 60) -> None:
    """Wait until a call raises no OSError."""
    end = time.monotonic() + seconds
    while True:
        try:
            return ready()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def test_a_port_that_is_taken_and_a_host_for_all_are_told() -> None:
    with socket.create_server(("0.0.0.0", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "linker.cli", "mcp", "--model", "none"]
        command += ["--host", "0.0.0.0", "--port", port]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"port {port} of 0.0.0.0 cannot be listened on" in done.stderr
    assert "is reached from other computers, whose users may ask without a key" in done.stderr
