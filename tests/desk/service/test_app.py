"""The routes of the service: answers, errors, limits, keys and headers."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
import shutil
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linker import Linker
from linker.desk.service import state
from linker.desk.service.app import create
from linker.desk.service.settings import Key, Limits, Settings
from linker.desk.service.state import Service
from linker.errors import check_wanted
from linker.linking.requests import Request

from .conftest import Start

TEXT = "Sisters with ataxia telangiectasia (A-T) had breast cancer."
MARKED = {"id": "7", "text": TEXT, "mentions": [{"text": "A-T", "spans": [[36, 39]]}]}


def predictions(linker: Linker, *items: Any, **options: Any) -> list[Any]:
    """What the service is to answer, by the linker itself."""
    linked = linker.answers([Request(item, **options) for item in items])
    return [p.to_dict() for _, of_item in linked for p in of_item]


def test_mentions_are_linked_as_the_linker_does_it(client: Any, linker: Linker) -> None:
    body = {"mentions": ["breast cancer", {"text": "A-T", "document_id": "9"}], "k": 2}
    answer = client.post("/link", json=body)
    assert answer.status_code == 200
    first, second = answer.json()["predictions"]
    assert first == predictions(linker, "breast cancer", k=2)[0]
    assert (second["mention"], second["document_id"]) == ("A-T", "9")
    assert second["parts"][0]["candidates"][0]["concept_id"] == "MESH:D001260"


def test_short_forms_of_a_document_are_expanded(client: Any) -> None:
    (prediction,) = client.post("/link", json={"documents": [MARKED]}).json()["predictions"]
    assert prediction["spans"] == [[36, 39]]
    assert prediction["parts"][0]["expanded"] == "ataxia telangiectasia"


def test_options_restrict_the_answers(client: Any, linker: Linker) -> None:
    options = {"k": 100, "threshold": 0, "under": ["MESH:D009369"]}
    answer = client.post("/link", json={"mentions": ["ataxia"], **options}).json()
    (part,) = answer["predictions"][0]["parts"]
    hierarchy, rows = linker.dictionary.hierarchy, linker.dictionary.rows
    (top,) = rows("MESH:D009369")
    for candidate in part["candidates"]:
        (row,) = rows(candidate["concept_id"])
        assert row == top or top in hierarchy.ancestors([row])[0]
    unknown = client.post("/link", json={"mentions": ["ataxia"], "under": ["MESH:D9"]})
    assert unknown.status_code == 422
    assert "MESH:D9" in unknown.json()["error"]


def test_mentions_are_found(client: Any) -> None:
    answer = client.post("/annotate", json={"documents": [{"id": "7", "text": TEXT}]}).json()
    assert [(p["mention"], p["spans"]) for p in answer["predictions"]] == [
        ("ataxia telangiectasia", [[13, 34]]), ("A-T", [[36, 39]]), ("breast cancer", [[45, 58]]),
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["tsv", "jsonl", "pubtator", "bioc", "sssom"])
@pytest.mark.parametrize("path", ["/link", "/annotate"])
def test_answers_are_files_of_every_format(client: Any, path: str, form: str) -> None:
    answer = client.post(f"{path}?format={form}", json={"documents": [MARKED]})
    assert answer.status_code == 200
    assert "MESH:D001260" in answer.text
    assert not answer.headers["content-type"].startswith("application/json")


def test_an_explanation_is_that_of_the_command(client: Any) -> None:
    body = {"mention": "A-T", "concept": "MESH:D001943", "document": MARKED, "k": 2}
    answer = client.post("/explain", json=body).json()
    assert answer["schema"] == 1
    assert answer["mention"] == "A-T"
    assert answer["question"]["id"] == "MESH:D001943"


def test_concepts_by_ids_of_any_spelling(client: Any) -> None:
    concept = client.get("/concepts/mesh:D001943").json()
    assert (concept["id"], concept["name"]) == ("MESH:D001943", "Breast Neoplasms")
    assert (concept["asked"], concept["status"]) == ("mesh:D001943", "current")
    assert client.get("/concepts/MESH:D999999").status_code == 404


def test_search_finds_ids_and_names(client: Any) -> None:
    def found(text: str, limit: int = 100) -> list[Any]:
        return client.get("/search", params={"q": text, "limit": limit}).json()["concepts"]

    assert [c["id"] for c in found("D001943")] == ["MESH:D001943"]
    assert found("breast cancer")[0] | {"name": ""} == {
        "id": "MESH:D001943", "name": "", "matched_name": "breast cancer", "score": 1.0,
    }  # fmt: skip
    assert len(found("a", 3)) == 3
    assert found("zzzzzz") == []


BAD: dict[str, tuple[int, str, Any]] = {  # status, path, body
    "no JSON": (422, "/link", b"{"),
    "a name of half a character": (422, "/link", b'{"\\ud800": 1, "mentions": ["x"]}'),
    "deep JSON": (400, "/link", b"[" * 100_000),
    "a number of 5,000 digits": (400, "/link", b'{"k": ' + b"9" * 5_000 + b"}"),
    "not UTF-8": (400, "/link", b'{"mentions": ["\xff"]}'),
    "a lone surrogate": (422, "/link", b'{"mentions": ["\\ud800"]}'),
    "a lone surrogate in an id": (
        422, "/link?format=jsonl", b'{"mentions": [{"text": "x", "document_id": "\\ud800"}]}',
    ),
    "a lone surrogate in a type": (
        422, "/link?format=pubtator",
        b'{"documents": [{"id": "1", "text": "A-T", '
        b'"mentions": [{"text": "A-T", "spans": [[0, 3]], "type": "\\ud800"}]}]}',
    ),
    "no number": (422, "/link", b'{"mentions": ["x"], "min_score": NaN}'),
    "a blank mention": (422, "/link", {"mentions": [" \n"]}),
    "PubTator of loose mentions": (422, "/link?format=pubtator", {"mentions": ["x"]}),
    "a long mention": (413, "/link", {"mentions": ["x" * 1_001]}),
    "a span behind the text": (
        422, "/link",
        {"documents": [{"id": "1", "text": "A-T", "mentions": [{"text": "A", "spans": [[2, 9]]}]}]},
    ),
    "a passage far away": (
        413, "/link", {"documents": [{"id": "1", "passages": [{"text": "x", "offset": 2**31}]}]},
    ),
    "text and passages": (422, "/annotate", {"documents": [{"id": "1", "text": "", "passages": []}]}),
    "an unknown concept": (422, "/explain", {"mention": "A-T", "concept": "MESH:D999"}),
    "a compressed file": (422, "/projects", b"\x1f\x8b\x08"),
    "an empty file": (422, "/projects", b""),
    "a byte that is no letter": (422, "/projects", b"A-T \x81"),
    "an encoding that is not there": (422, "/projects?encoding=x", b"A-T"),
    "a column of JSON lines": (422, "/projects?column=a", b'{"mention": "A-T"}'),
    "rejecting no concept": (
        422, "/decisions", {"decisions": [{"mention": "x", "accepted": False}]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_words(client: Any, case: str) -> None:
    status, path, body = BAD[case]
    content = body if isinstance(body, bytes) else json.dumps(body)
    answer = client.post(path, content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error", "where"}
    assert answer.json()["error"]


WRONG = [  # what is sent to /link, and the field that is wrong
    ([], "body"),
    ({}, "body"),
    ({"mentions": [], "documents": []}, "body"),
    ({"mentions": ["A-T", 5]}, "mentions.1"),
    ({"mentions": ["A-T", ""]}, "mentions.1.text"),
    ({"mentions": ["A-T", {}]}, "mentions.1.text"),
    ({"mentions": [{"text": 1}]}, "mentions.0.text"),
    ({"mentions": [{"text": "A-T", "top": 1}]}, "mentions.0.top"),
    (
        {"documents": [{"id": "1", "text": "A-T", "mentions": [{"spans": []}]}]},
        "documents.0.mentions.0.text",
    ),
    ({"mentions": ["A-T"], "types": ["a", "x" * 201]}, "types.1"),
    ({"mentions": ["A-T"], "k": "ten"}, "k"),
    ({"mentions": ["A-T"], "k": 0}, "k"),
]


@pytest.mark.parametrize(("body", "where"), WRONG)
def test_mistakes_name_the_field(client: Any, body: Any, where: str) -> None:
    answer = client.post("/link", json=body)
    assert (answer.status_code, answer.json()["where"]) == (422, where)
    assert answer.json()["error"].startswith(f"{where}: ")


def test_mistakes_in_a_url_name_the_parameter(client: Any) -> None:
    for query, where in (("q=a&limit=0", "limit"), ("limit=3", "q")):
        assert client.get(f"/search?{query}").json()["where"] == where


GOOD: dict[str, Any] = {
    "scripts": ["<script>alert(1)</script> cancer"],
    "other alphabets": ["乳腺癌", "рак молочной железы", "سرطان", "𝔣𝔢𝔳𝔢𝔯", "e\u0301bola"],
    "signs": ["\u0000", "|", "\\", "%00", "'; DROP TABLE decisions; --", "\u202ecancer"],
    "nothing at all": [],
}


@pytest.mark.parametrize("case", GOOD)
def test_odd_mentions_are_answered(client: Any, case: str) -> None:
    answer = client.post("/link", json={"mentions": GOOD[case]})
    assert answer.status_code == 200
    assert [p["mention"] for p in answer.json()["predictions"]] == GOOD[case]


def test_a_model_without_a_ranker_has_no_confidence(linker: Linker, tmp_path: Path) -> None:
    from fastapi.testclient import TestClient

    settings = Settings(model="sample", decisions=str(tmp_path / "decisions.sqlite"))
    with TestClient(create(Service(settings, linker.with_ranker(None)))) as client:
        assert client.get("/model").json()["has_confidence"] is False
        body = {"mentions": ["FAP", "breast cancer"], "k": 1}
        predictions = client.post("/link", json=body).json()["predictions"]
        parts = [part for prediction in predictions for part in prediction["parts"]]
        assert [part["candidates"][0].get("confidence") for part in parts] == [None, None]
        refused = client.post("/link", json=body | {"threshold": 0.5})
        assert refused.status_code == 422
        assert "gives no confidence" in refused.json()["error"]


def test_limits_of_numbers(start: Start) -> None:
    client = start({"mentions": 2, "text": 10})
    assert client.get("/model").json()["limits"]["mentions"] == 2
    assert client.post("/link", json={"mentions": ["a", "b"]}).status_code == 200
    many = client.post("/link", json={"mentions": ["a"] * 3})
    assert many.status_code == 413
    assert many.json() == {"error": "3 mentions; the service takes at most 2", "where": "mentions"}
    short = {"id": "1", "text": "A-T"}
    assert client.post("/annotate", json={"documents": [short]}).status_code == 200
    assert client.post("/annotate", json={"documents": [short] * 3}).status_code == 413
    long = {"id": "1", "text": "A-T " * 3}
    assert client.post("/annotate", json={"documents": [long]}).status_code == 413
    assert client.post("/link", json={"mentions": ["A-T"], "k": 20}).status_code == 200
    candidates = client.post("/link", json={"mentions": ["A-T"], "k": 21})
    assert candidates.status_code == 413


def test_a_body_is_limited_with_and_without_its_length(start: Start) -> None:
    client = start({"body": 1_000})
    sent = []

    def chunks() -> Iterator[bytes]:
        for _ in range(1_000):
            sent.append(1)
            yield b"x" * 100

    for content in (b"x" * 1_001, chunks()):
        answer = client.post("/link", content=content)
        assert answer.status_code == 413
        assert answer.json()["error"].endswith("at most 1,000 bytes at once")
    assert client.post("/link", content=b"x" * 1_000).status_code == 422


def test_what_is_written_is_answered_so_however_long_it_takes(start: Start) -> None:
    client = start({"seconds": 0.2})
    add = client.service.store.add

    def slow(*args: Any) -> Any:
        time.sleep(0.5)
        return add(*args)

    client.service.store.add = slow
    said = {"mention": "a", "concept_id": None, "reviewer": "Ada"}
    assert client.post("/decisions", json={"decisions": [said]}).status_code == 201
    assert len(client.service.store.list()) == 1


def test_a_full_queue_and_a_slow_answer_ask_for_patience(start: Start) -> None:
    client = start({"waiting": 200, "seconds": 2.0})  # in which a busy machine explains, too
    batcher, tasks = client.service._batcher, []
    go, begun = threading.Event(), threading.Event()

    def block(items: list[Any]) -> list[Any]:
        begun.set()
        assert go.wait(20)
        return items

    async def ask() -> None:
        tasks.append(asyncio.ensure_future(batcher.call(block, [None], [100])))

    async def done() -> None:
        await asyncio.gather(*tasks)

    client.portal.call(ask)
    assert begun.wait(10)
    slow = client.post("/link", json={"mentions": ["A-T"]})
    assert slow.status_code == 503
    assert int(slow.headers["retry-after"]) >= 1
    assert client.post("/explain", json={"mention": "A-T"}).status_code == 200  # beside it
    client.portal.call(ask)
    full = client.post("/link", json={"mentions": ["x" * 150]})
    assert full.status_code == 429
    assert int(full.headers["retry-after"]) >= 1
    client.portal.call(ask)
    ready = client.get("/ready")
    assert (ready.status_code, ready.headers["retry-after"]) == (503, "1")
    assert client.get("/health").status_code == 200
    go.set()
    client.portal.call(done)
    assert client.get("/ready").status_code == 200
    assert client.post("/link", json={"mentions": ["x" * 150]}).status_code == 200


def test_an_api_key_is_asked_for(start: Start, tmp_path: Path) -> None:
    key = "0123456789abcdef"
    client = start(keys=(Key(b"another-key-of-16"), Key(key.encode())))
    refused = client.get("/model")
    assert refused.status_code == 401
    assert refused.json()["error"]
    for headers in ({"Authorization": f"Bearer {key}"}, {"X-API-Key": key}):
        assert client.get("/model", headers=headers).status_code == 200
    wrong = [{"X-API-Key": key[:-1]}, {"Authorization": key}, {"Authorization": f"Basic {key}"}]
    for headers in wrong:
        assert client.get("/model", headers=headers).status_code == 401
    for path in ("/", "/docs", "/openapi.json", "/health", "/ready", "/static/page.js"):
        assert client.get(path).status_code == 200
    origin = {"Origin": "https://b.example"}
    reconcile = client.get("/reconcile", headers=origin)  # pages of other sites are told why
    assert reconcile.status_code == 401
    assert reconcile.headers["access-control-allow-origin"] == "*"
    asking = origin | {"Access-Control-Request-Method": "POST"}
    assert client.options("/reconcile", headers=asking).is_success  # browsers send no key with it
    for path in ("/metrics", "/reload", "/static", "/static/../model"):
        assert client.get(path).status_code == 401, path


def test_headers_keep_pages_in(client: Any) -> None:
    page = client.get("/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe-inline" not in policy
    for answer in (page, client.get("/model"), client.get("/nothing"), client.post("/link")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "default-src" in answer.headers["content-security-policy"]
        assert "server" not in answer.headers


def test_other_sites_are_let_in_only_where_told(start: Start) -> None:
    origin = {"Origin": "https://a.example"}
    ask = origin | {"Access-Control-Request-Method": "POST"}
    closed = start()
    assert "access-control-allow-origin" not in closed.get("/model", headers=origin).headers
    open_one = start(origins=("https://a.example",), keys=(Key(b"0123456789abcdef"),))
    assert open_one.options("/link", headers=ask).status_code == 200
    other = open_one.get("/health", headers={"Origin": "https://b.example"})
    assert "access-control-allow-origin" not in other.headers
    same = open_one.get("/health", headers=origin).headers
    assert same["access-control-allow-origin"] == "https://a.example"


def test_pages_of_other_sites_change_nothing(start: Start) -> None:
    client = start(origins=("https://a.example",))
    evil = client.post("/reload", headers={"Origin": "https://b.example"})
    assert evil.status_code == 403
    assert "start linker serve with --cors" in evil.json()["error"]
    body = {"mentions": ["A-T"]}
    for origin in ("https://a.example", str(client.base_url).rstrip("/")):
        assert client.post("/link", json=body, headers={"Origin": origin}).status_code == 200
    query = {"queries": json.dumps({"q": {"query": "A-T"}})}
    asked = client.post("/reconcile", data=query, headers={"Origin": "https://b.example"})
    assert asked.status_code == 200  # it changes nothing, and the protocol is for every page


def test_names_of_other_sites_are_not_ours(start: Start) -> None:
    client = start(names=frozenset(("localhost",)), origins=("https://a.example",))
    body = {"mentions": ["A-T"]}
    for host in ("evil.example", "evil.example:8080", "127.0.0.1.evil.example", ""):
        headers = {"Host": host, "Origin": f"http://{host}"}
        assert client.post("/link", json=body, headers=headers).status_code == 403, host
        assert client.get("/decisions", headers={"Host": host}).status_code == 403, host
    for host in ("localhost", "127.0.0.1:8080", "[::1]:80", "a.example"):
        assert client.post("/link", json=body, headers={"Host": host}).status_code == 200, host
    keyed = start(names=frozenset(("localhost",)), keys=(Key(b"0123456789abcdef"),))
    headers = {"Host": "proxy.example", "X-API-Key": "0123456789abcdef"}
    assert keyed.post("/link", json=body, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "host", ["[abc", "[::1", "a:b:c", "a:99999999", "[::1].evil.example", "a@localhost"]
)
def test_a_malformed_host_is_refused(start: Start, host: str) -> None:
    for client in (start(), start(names=frozenset(("localhost",)))):
        for path in ("/health", "/reconcile"):
            refused = client.get(path, headers={"Host": host})
            assert refused.status_code == 400, path
            assert refused.json()["error"].startswith("the header Host is malformed")


def test_two_lengths_of_a_body_are_refused(client: Any) -> None:
    lengths = {"Content-Length": "5", "Transfer-Encoding": "chunked"}
    refused = client.post("/link", content=iter([b"fever"]), headers=lengths)
    assert (refused.status_code, refused.headers["connection"]) == (400, "close")


def test_head_is_get_without_its_body(client: Any) -> None:
    for path in ("/", "/health", "/model", "/decisions", "/search?q=a", "/reconcile"):
        whole, head = client.get(path), client.head(path)
        assert (head.status_code, head.content) == (200, b""), path
        assert head.headers["content-length"] == whole.headers["content-length"]
    assert client.head("/link").status_code == 405
    figures = client.get("/metrics").text
    assert 'seconds_count{method="HEAD",route="/search",status="200"} 1.0' in figures


def test_drift_is_told_of_the_latest_texts(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def drift() -> float:
        return float(re.search(r"(?m)^linker_drift (\S+)", client.get("/metrics").text)[1])

    client.post("/link", json={"mentions": [f"BRCA{number}" for number in range(19)]})
    assert math.isnan(drift())  # too few
    client.post("/link", json={"mentions": ["BRCA19", "BRCA19"]})
    assert 0.5 < drift() < 1
    monkeypatch.setattr(state, "_LATEST", 20)
    before = [*client.service.model.tally.distinct.items()]
    client.post("/link", json={"mentions": ["gout", "lymphoma"]})  # in the place of the oldest two
    after = [*client.service.model.tally.distinct.items()]
    assert after[:18] == before[2:]
    assert [unlike for _, unlike in after[18:]] == [0, 0]
    assert 0 < drift() < 1


def test_figures_and_logs_hold_no_text_of_users(
    client: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = "secretname"
    client.post("/link", json={"mentions": [secret]})
    client.get(f"/search?q={secret}")
    client.get(f"/concepts/{secret}")
    client.post(f"/{secret}")
    client.request(secret.upper(), "/link")

    def fail(*_: Any) -> None:
        raise RuntimeError(secret)

    monkeypatch.setattr(client.service, "answer", fail)
    bug = client.post("/link", json={"mentions": [secret]})
    assert bug.status_code == 500
    figures = client.get("/metrics").text
    assert 'seconds_count{method="POST",route="/link",status="200"} 1.0' in figures
    logged = [r.getMessage() for r in caplog.records if r.name.startswith("linker")]
    assert any("RuntimeError in" in text for text in logged)
    assert any(text.startswith("POST /link 200") for text in logged)
    for text in (figures, *logged, bug.text):
        assert secret not in text.lower()


def test_a_model_is_swapped_and_a_damaged_one_is_not(
    start: Start, model: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "served"
    shutil.copytree(model, folder)
    client = start(model=str(folder))
    assert client.post("/reload").json() == {"status": "reloaded"}
    client.get("/reconcile")
    before = weakref.ref(client.service.linker)
    assert client.post("/reload").json() == {"status": "reloaded"}
    assert before() is None  # two models are not held
    now = client.service.linker
    (folder / "config.json").write_text("{}")
    refused = client.post("/reload")
    assert refused.status_code == 409
    assert refused.json()["error"].startswith("the old model stays: ")
    assert client.service.linker is now
    assert client.post("/link", json={"mentions": ["A-T"]}).status_code == 200


@pytest.mark.parametrize("ending", ["timeout", "departure"])
def test_work_that_nobody_waits_for_ends(
    linker: Linker, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    seconds = 0.3 if ending == "timeout" else 60.0
    service = Service(Settings("sample", limits=Limits(seconds=seconds)), linker)
    app, begun, ended = create(service), threading.Semaphore(0), threading.Semaphore(0)

    def endless(*_: Any) -> Any:
        begun.release()
        try:
            while True:
                check_wanted()
                time.sleep(0.001)
        finally:
            ended.release()

    monkeypatch.setattr(service.model.annotator, "found", endless)
    body = json.dumps({"documents": [{"id": "1", "text": TEXT}]}).encode()

    async def annotate() -> int:
        received, statuses = [{"type": "http.request", "body": body}], [0]

        async def receive() -> Any:
            if received:
                return received.pop()
            while ending == "timeout" or not begun.acquire(blocking=False):
                await asyncio.sleep(0.001)
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            statuses.append(message.get("status", statuses[-1]))

        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/annotate", "headers": headers}
        await app(scope | {"query_string": b"", "http_version": "1.1"}, receive, send)
        return statuses[-1]

    async def test() -> None:
        asked = [asyncio.create_task(annotate()) for _ in range(2)]
        assert await service.run(len, "others have threads") == 19
        assert await asyncio.gather(*asked) == [503 if ending == "timeout" else 0] * 2
        assert all([await asyncio.to_thread(ended.acquire, True, 20) for _ in range(2)])
        await service.close()

    asyncio.run(asyncio.wait_for(test(), 40))


def test_the_description_has_examples_that_work(client: Any) -> None:
    description = client.get("/openapi.json").json()
    for path in ("/link", "/annotate", "/explain", "/decisions"):
        (content,) = description["paths"][path]["post"]["requestBody"]["content"].values()
        for example in content["examples"].values():
            assert client.post(path, json=example["value"]).is_success


def test_a_form_is_no_file(client: Any) -> None:
    refused = client.post("/projects", files={"file": ("t.csv", b"n,disease\n1,gout\n")})
    assert (refused.status_code, refused.json()["where"]) == (415, "body")
