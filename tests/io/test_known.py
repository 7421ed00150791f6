"""Dictionaries that have a name."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from linker import Dictionary, LinkerError
from linker.io import dictionaries as known

DO = "format-version: 1.2\ndata-version: {}\n\n[Term]\nid: DOID:1\nname: gout\n"


@pytest.fixture
def site(web: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A server that has DO and one of its releases; MEDIC, which it has not, has no releases."""
    monkeypatch.setattr(known, "KNOWN", dict(known.KNOWN))
    for name in ("medic", "doid"):
        at = {"address": f"{web.address}/{name}", "releases": f"{web.address}/{{}}/{name}"}
        at |= {"releases": ""} if name == "medic" else {}
        known.KNOWN[name] = replace(known.KNOWN[name], **at)
    web.pages["/doid"] = DO.format("2024-02-29").encode()
    web.pages["/2024-01-31/doid"] = DO.format("2024-01-31").encode()
    return web


def test_a_name_is_fetched_at_its_first_use_and_a_file_of_that_name_wins(
    site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        (source,) = Dictionary.read("doid").sources
        assert (source.file, source.release) == ("doid.obo", "2024-02-29")
    assert len(site.seen) == 1
    assert caplog.messages == [
        f"doid: the Disease Ontology; terms: CC0 1.0 (https://creativecommons.org/publicdomain/zero/1.0/); fetching it (75 bytes) from {site.address}/doid"
    ]
    Path("doid").write_text("id,name\nX:1,gout\n")
    assert Dictionary.read("doid").ids[0] == "X:1"
    assert known.located(Path("hpo")) == Path("hpo")  # a Path is no name


def test_a_file_that_changed_in_the_cache_is_refused(site: Any) -> None:
    path = Path(str(known.located("doid")))
    path.write_text(DO.format("2030-01-01"))
    with pytest.raises(LinkerError):
        Dictionary.read("doid")
    known.get("doid")
    assert Dictionary.read("doid").sources[0].release == "2024-02-29"


def test_a_release_has_its_own_place_and_is_not_asked_for_again(site: Any) -> None:
    path, [(before, now)] = known.get("doid", "v2024-01-31")
    assert (before, now.release) == (None, "2024-01-31")
    assert path.endswith("doid/2024-01-31/doid.obo")
    assert known.get("doid", "2024-01-31") == (path, [(now, now)])
    assert Dictionary.read("doid").sources[0].release == "2024-02-29"
    assert [answer[0] for answer in site.seen] == ["/2024-01-31/doid", "/doid"]


@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("medik", ""),
        ("snomed", ""),
        ("medic", "2024-01-31"),
        ("icd10", "2025"),
        ("doid", "../hpo"),
        ("doid", "2024-12-24"),
    ],
)
def test_what_cannot_be_got(site: Any, name: str, release: str) -> None:
    with pytest.raises(LinkerError):
        known.get(name, release)


HTML, GZIP = "text/html", "application/gzip"
YEAR = date.today().year


class Server:
    """A server whose pages have a status, a kind and a body, or lead to another page."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[int, str, bytes]] = {}
        self.seen: list[str] = []


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[tuple[str, Server]]:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("LINKER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(known, "KNOWN", dict(known.KNOWN))
    pages = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            pages.seen.append(f"{self.command} {self.path}")
            status, kind, body = pages.pages.get(self.path, (404, HTML, b"none"))
            self.send_response(status)
            if status == 302:
                self.send_header("Location", body.decode())
                body = b""
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}", pages
        running.shutdown()


def test_mesh_is_two_files_of_the_latest_year(server: tuple[str, Server], tmp_path: Path) -> None:
    address, site = server
    entry = known.KNOWN["mesh"]
    beside = {"supp.gz": f"{address}/supp{{year}}.gz"}
    known.KNOWN["mesh"] = replace(entry, address=f"{address}/desc{{year}}.gz", beside=beside)
    descriptors = "<DescriptorRecordSet><DescriptorRecord><DescriptorUI>{}</DescriptorUI><DescriptorName><String>gout</String></DescriptorName><TreeNumberList><TreeNumber>C05</TreeNumber></TreeNumberList></DescriptorRecord></DescriptorRecordSet>"
    record = b"<SupplementalRecordSet><SupplementalRecord SCRClass='3'><SupplementalRecordUI>C2</SupplementalRecordUI><SupplementalRecordName><String>rare gout</String></SupplementalRecordName><HeadingMappedToList><HeadingMappedTo><DescriptorReferredTo><DescriptorUI>*D1</DescriptorUI></DescriptorReferredTo></HeadingMappedTo></HeadingMappedToList></SupplementalRecord></SupplementalRecordSet>"
    for year, supplement in ((YEAR - 1, b""), (YEAR, record)):
        site.pages[f"/desc{year}.gz"] = (200, GZIP, descriptors.format("D1").encode())
        site.pages[f"/supp{year}.gz"] = (200, GZIP, supplement)
    assert [*Dictionary.read("mesh").ids] == ["MESH:C2", "MESH:D1"]
    assert [s for s in site.seen if s.startswith("GET")] == [
        f"GET /desc{YEAR}.gz",
        f"GET /supp{YEAR}.gz",
    ]
    site.seen.clear()
    path = known.located("mesh")
    assert [p.name for p in sorted(Path(str(path)).glob("*.gz"))] == ["desc.gz", "supp.gz"]
    assert site.seen == []
    name = f"https://x.org/nlmdescriptorrecordset_{YEAR + 1}0101.dtd"
    next_year = f'<!DOCTYPE DescriptorRecordSet SYSTEM "{name}">{descriptors.format("D1")}'
    site.pages[f"/desc{YEAR + 1}.gz"] = (200, GZIP, next_year.encode())

    def fetched() -> list[str]:
        return [now.address.removeprefix(address) for _, now in known.get("mesh")[1]]

    assert fetched() == [f"/desc{YEAR}.gz", f"/supp{YEAR}.gz"]  # those of next year lack one
    Path(str(path), "supp.gz").unlink()
    site.pages.clear()
    with pytest.raises(LinkerError):
        known.located("mesh")
