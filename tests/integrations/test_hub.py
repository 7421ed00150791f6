"""Models on the Hugging Face hub: the real client, and a server on loopback that speaks the hub's API."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

import pytest
from click.testing import CliRunner

from linker import Dictionary, Linker, LinkerError
from linker.cli import cli
from linker.integrations import load
from linker.training.pipeline import train

huggingface_hub = pytest.importorskip("huggingface_hub")
constants = pytest.importorskip("huggingface_hub.constants")
push_to_hub = pytest.importorskip("linker.integrations.hub").push_to_hub

# of the client's own uploads by LFS
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

NAME, TOKEN = "ann/sample", "hf_of_ann"
MENTIONS = ["Louis-Bar syndrome", "hepatitis B/C", "oesophageal cancers", "no such thing"]
Tree = dict[str, bytes]


class Hub(BaseHTTPRequestHandler):
    """One repository, in memory: what is asked by GET and HEAD, and what a push sends."""

    protocol_version = "HTTP/1.1"
    commits: dict[str, Tree]
    branches: dict[str, str]
    large: Tree  # by SHA-256
    is_private: bool | None  # None: there is no repository
    requests: list[str]

    def do_GET(self) -> None:
        self.requests.append(f"{self.command} {self.path}")
        path = unquote(self.path.partition("?")[0])
        may = self.is_private is False or self.headers["Authorization"] == f"Bearer {TOKEN}"
        match = re.fullmatch(f"(?:/api/models)?/{NAME}/(revision|tree|resolve)/([^/]+)/?(.*)", path)
        if self.is_private is None or not may or not match:
            return self.answer(401 if not may else 404, code="RepoNotFound")
        what, revision, file = match.groups()
        commit = self.branches.get(revision, revision)
        if commit not in self.commits:
            return self.answer(404, code="RevisionNotFound")
        tree = self.commits[commit]
        if what == "revision":
            return self.answer(body={"id": NAME, "sha": commit, "tags": [], "siblings": []})
        if what == "tree":
            keys = ("type", "path", "size", "oid")
            rows = (("file", path, len(data), oid(data)) for path, data in sorted(tree.items()))
            return self.answer(body=[dict(zip(keys, row, strict=True)) for row in rows])
        if file not in tree:
            return self.answer(404, code="EntryNotFound")
        return self.answer(body=tree[file], commit=commit)

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        self.requests.append(f"{self.command} {self.path}")
        body = self.rfile.read(int(self.headers["Content-Length"]))
        what = self.path.removeprefix(f"/api/models/{NAME}").partition("?")[0].split("/")
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return self.answer(401)
        if self.path == "/api/validate-yaml":
            assert json.loads(body)["content"].startswith("---\nlibrary_name: linker\n")
            return self.answer(body={"errors": [], "warnings": []})
        if self.path == "/api/repos/create":
            if type(self).is_private is not None:
                return self.answer(409, body={"url": f"{constants.ENDPOINT}/{NAME}"})
            asked = json.loads(body)  # the second is what clients before 2.0 say
            type(self).is_private = asked.get("visibility") == "private" or bool(
                asked.get("private")
            )
            self.add({".gitattributes": b"*.npy filter=lfs\n"}, "main")
            return self.answer(body={"url": f"{constants.ENDPOINT}/{NAME}"})
        if what[1] == "preupload":
            files = [
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if file["path"].endswith(".npy") else "regular",
                    "shouldIgnore": False,
                }
                for file in json.loads(body)["files"]
            ]
            return self.answer(body={"files": files})
        if what[1] == "commit":
            return self.commit(what[2], body.splitlines())
        href = f"{constants.ENDPOINT}/lfs/"  # /ann/sample.git/info/lfs/objects/batch
        objects = [
            {**item, "actions": {"upload": {"href": href + item["oid"]}}}
            for item in json.loads(body)["objects"]
        ]
        return self.answer(body={"transfer": "basic", "objects": objects})

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        assert hashlib.sha256(data).hexdigest() == self.path.removeprefix("/lfs/")
        self.large[self.path.removeprefix("/lfs/")] = data
        self.answer(body={})

    def commit(self, branch: str, lines: list[bytes]) -> None:
        tree = dict(self.commits[self.branches[branch]])
        for line in map(json.loads, lines):
            value = line["value"]
            if line["key"] == "file":
                tree[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                tree[value["path"]] = self.large[value["oid"]]
            elif line["key"] == "deletedFile":
                del tree[value["path"]]
        new = self.add(tree, branch)
        url = f"{constants.ENDPOINT}/{NAME}/commit/{new}"
        self.answer(body={"commitUrl": url, "commitOid": new})

    @classmethod
    def add(cls, tree: Tree, branch: str = "main") -> str:
        """Make a commit of files."""
        commit = hashlib.sha1(f"{branch}{len(cls.commits)}".encode()).hexdigest()
        cls.commits[commit], cls.branches[branch] = tree, commit
        return commit

    def answer(
        self,
        status: int = 200,
        body: Any = b"",
        *,
        code: str = "",
        commit: str = "",
    ) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        if code:
            self.send_header("X-Error-Code", code)
        if commit:
            self.send_header("X-Repo-Commit", commit)
            self.send_header("ETag", f'"{oid(data)}"')
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


def oid(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    """A hub without a repository, and an empty cache."""
    state: dict[str, Any] = {"commits": {}, "branches": {}, "large": {}, "requests": []}
    served = type("Served", (Hub,), state | {"is_private": None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), served)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.removeprefix(constants.ENDPOINT)
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)  # which the server does not speak
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    yield served
    huggingface_hub.close_session()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def static(sample: Path) -> Linker:
    return train(Dictionary.read(sample))


@pytest.fixture(scope="module")
def saved(static: Linker, tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """The files of a model folder."""
    folder = tmp_path_factory.mktemp("saved") / "model"
    static.save(folder)
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def answers(linker: Linker) -> list[Any]:
    return list(linker.link(MENTIONS))


def refused(name: str | Path, **options: Any) -> str:
    with pytest.raises(LinkerError) as caught:
        load(name, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_there_and_back(
    hub: type[Hub],
    static: Linker,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    commit = push_to_hub(static, NAME, token=TOKEN, private=True)
    assert hub.is_private
    assert hub.branches == {"main": commit}
    loaded = load(NAME, token=TOKEN)
    assert answers(loaded) == answers(static)
    card = hub.commits[commit]["README.md"].decode()
    assert f'load("{NAME}")' in card
    assert f"linker link MENTIONS --model hf:{NAME}`" in card
    # people may edit the card there, and it is not fetched
    edited = hub.add({**hub.commits[commit], "README.md": b"ours"})
    with caplog.at_level(logging.INFO, "linker"):
        assert answers(load(NAME, token=TOKEN)) == answers(static)
    assert f"{NAME}: commit {edited} of the Hugging Face hub, in " in caplog.text
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    asked = len(hub.requests)
    assert answers(load(NAME)) == answers(static)
    assert answers(load(NAME, revision=commit)) == answers(static)
    assert len(hub.requests) == asked


def test_another_model_takes_its_place_in_one_commit(
    hub: type[Hub], static: Linker, sample: Path
) -> None:
    first = push_to_hub(static, NAME, token=TOKEN)
    tfidf = train(Dictionary.read(sample), encoder="tfidf")
    second = push_to_hub(tfidf, NAME, token=TOKEN)
    assert hub.branches == {"main": second}
    assert "dense/vectors.npy" in hub.commits[first]
    assert "dense/vectors.npy" not in hub.commits[second]
    assert ".gitattributes" in hub.commits[second]
    assert load(NAME).encoder == "tfidf"
    assert load(NAME, revision=first).encoder == "static"
    assert sum("/commit/" in request for request in hub.requests) == 2


def test_what_is_something_else_is_not_replaced(hub: type[Hub], static: Linker) -> None:
    hub.is_private = False
    hub.add({"README.md": b"", "model.safetensors": b"theirs"})
    with pytest.raises(LinkerError, match=r"holds model.safetensors, which is no model of linker"):
        push_to_hub(static, NAME, token=TOKEN)
    with pytest.raises(LinkerError, match=r"401 Unauthorized.*a token that may write there"):
        push_to_hub(static, NAME)
    assert len(hub.commits) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pytorch_model.bin": b"\x80\x04"}, "pytorch_model.bin"),
        ({"manifest.json": b'{"sha256": {"dense/w.pkl": ""}}'}, "dense/w.pkl"),
        ({"manifest.json": b'{"sha256": {"run.py": ""}}'}, "run.py"),
        ({"manifest.json": b"{}"}, "manifest.json"),
        ({"manifest.json": b'{"sha256": {"../a.json": "", "config.json": ""}}'}, "at commit"),
        ({"seen.json": b"{}\n"}, "seen.json"),
    ],
)  # fmt: skip
def test_repositories_that_are_refused(
    hub: type[Hub], saved: Tree, change: Tree, message: str
) -> None:
    hub.is_private = False
    hub.add(saved | change)
    problem = refused(NAME)
    assert problem.startswith(f"{NAME}")
    assert message in problem
    cached = [path.name for path in Path(constants.HF_HUB_CACHE).rglob("*")]
    assert not {"pytorch_model.bin", "w.pkl", "run.py"} & {*cached}


def test_what_is_not_there(hub: type[Hub], saved: Tree, tmp_path: Path) -> None:
    hub.is_private = True
    hub.add(saved)
    assert "hf auth login" in refused(NAME)
    assert refused(NAME, revision="v2", token=TOKEN).startswith(f"{NAME}: ")
    for name, options in (("sample", {}), (tmp_path / "none", {}), (tmp_path, {"revision": "v2"})):
        assert refused(name, **options).startswith(str(name))


def test_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert f"hf download {NAME} --local-dir DIR" in refused(NAME, cache_dir=tmp_path)


def test_a_folder_needs_no_package(saved: Tree, tmp_path: Path) -> None:
    for name, data in saved.items():
        (tmp_path / "ann" / "sample" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "ann" / "sample" / name).write_bytes(data)
    code = "import sys; import linker; linker.load('ann/sample'); sys.exit('huggingface_hub' in sys.modules)"
    assert not subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode


def test_commands(
    hub: type[Hub], saved: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.is_private = False
    first = hub.add(saved)
    hub.add({"README.md": b"no more"})
    monkeypatch.chdir(tmp_path)
    (tmp_path / NAME).mkdir(parents=True)  # which --model ann/sample would mean
    (tmp_path / "mentions.txt").write_text("PKU\n")

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(cli, [*arguments, "--model", f"hf:{NAME}@{first}"])

    linked = run("link", "mentions.txt", "-k", "1")
    assert "MESH:D010661" in linked.stdout
    assert linked.stderr.startswith(
        f"{NAME}: commit {first} of the Hugging Face hub, in {tmp_path}"
    )
    monkeypatch.setattr(
        "linker.desk.service.serving.serve", lambda service, *_: print(service.settings)
    )
    served = run("serve", "--port", "0")
    assert f"decisions are kept in {tmp_path}/ann--sample.decisions.sqlite\n" in served.stderr
    assert f"snapshots/{first}'" in served.stdout  # which a reload loads again
