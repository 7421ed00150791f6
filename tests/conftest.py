"""Fixtures shared by all tests."""

from __future__ import annotations

import gc
import logging
import os
import signal
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import settings

from linker import Dictionary, Linker
from linker.training.pipeline import train

settings.register_profile("unhurried", deadline=None)  # a busy machine is no failure
settings.load_profile("unhurried")
ROOT = Path(__file__).resolve().parent.parent
# a shell's background job ignores it, and so would the commands that it starts
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Let the collector of garbage pass over what was imported, which took a fifth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


@pytest.fixture(scope="session", autouse=True)
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The user's cache folder, which tests and the commands that they run write to; not the real one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder := tmp_path_factory.mktemp("cache")))
        yield folder


@pytest.fixture(scope="session")
def uncollected() -> Iterator[None]:
    """A service that starts looks for no garbage, which takes longer than most tests of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("linker.desk.service.state.gc", Mock())
        yield


@pytest.fixture(autouse=True)
def log_levels() -> Iterator[None]:
    """What a command with -v or -q logs is not left to later tests of the process."""
    loggers = [logging.getLogger(name) for name in (None, "linker")]
    levels = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


@pytest.fixture
def standard_input() -> Iterator[Callable[[str], None]]:
    """Gives a text to what this process reads from standard input; without it, a command needs a process."""
    kept = os.dup(0)
    with tempfile.TemporaryFile(buffering=0) as file:

        def give(text: str) -> None:
            file.truncate(0)
            file.seek(0)
            file.write(text.encode())
            file.seek(0)
            os.dup2(file.fileno(), 0)

        yield give
        os.dup2(kept, 0)
    os.close(kept)


@pytest.fixture
def deny(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets the linker say of mentions of some texts that their text denies them, or another one."""
    from linker.linking.engine import Engine

    link, said = Engine.link, dict[str, Any]()

    def asserted(self: Engine, answers: Any) -> None:
        link(self, answers)
        for answer in answers:
            prediction = answer.prediction
            assertion = said.get(prediction.mention.text, "present")
            parts = tuple(replace(part, assertion=assertion) for part in prediction.parts)
            answer.prediction = replace(prediction, parts=parts)

    def these(*texts: str, assertion: str = "absent") -> None:
        said.update(dict.fromkeys(texts, assertion))

    monkeypatch.setattr(Engine, "link", asserted)
    return these


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real files; tests that use it are marked `data`."""
    folder = Path(os.environ.get("LINKER_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the real files are not at {folder}; set LINKER_DATA")
    return folder


@pytest.fixture(scope="session")
def sample() -> Path:
    """The bundled sample dictionary, in the tab-separated format of MEDIC."""
    return ROOT / "dictionaries" / "sample_medic.tsv"


@pytest.fixture(scope="session")
def sample_linker(sample: Path) -> Linker:
    """A linker of the sample dictionary by n-grams of characters; not to be changed."""
    return train(Dictionary.read(sample), encoder="tfidf")


@pytest.fixture(scope="session")
def sample_model(sample_linker: Linker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of that model; not to be changed."""
    folder = tmp_path_factory.mktemp("sample") / "model"
    sample_linker.save(folder)
    return folder


@pytest.fixture(scope="session")
def ontology() -> Callable[..., str]:
    """Makes the text of an OBO file of terms such as "X:1; name: gout; alt_id: X:11"."""

    def make(*terms: str) -> str:
        stanzas = ("\n[Term]\nid: " + term.replace("; ", "\n") + "\n" for term in terms)
        return "format-version: 1.2\n" + "".join(stanzas)

    return make


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Threads of torch cost more than they give where a matrix is so small."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a BERT of random weights: 2 layers, 32 components, words in letters and a few longer pieces; not to be changed."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = [chr(c) for c in range(33, 127) if not chr(c).isupper()]
    longer = ["cancer", "syndrome", "disease", "breast", "type", "fever"]
    ends = ["##itis", "##oma", "##emia", "##pathy"]
    tokens = [*special, *letters, *(f"##{c}" for c in letters if c.isalnum()), *longer, *ends]
    vocabulary = {token: row for row, token in enumerate(tokens)}
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    sizes |= {"intermediate_size": 64, "max_position_embeddings": 64}
    folder = tmp_path_factory.mktemp("bert") / "tiny-bert"
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = transformers.BertModel(
            transformers.BertConfig(vocab_size=len(vocabulary), initializer_range=0.2, **sizes)
        )
    transformers.utils.logging.disable_progress_bar()
    model.save_pretrained(folder)
    transformers.utils.logging.enable_progress_bar()
    transformers.BertTokenizer(vocab=vocabulary, model_max_length=64).save_pretrained(folder)
    return folder


class Web:
    """A server on loopback: pages by path, which it does not send to a client that has them."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.pages: dict[str, bytes] = {}
        self.kind = "application/octet-stream"
        self.breaks_after: int | None = None  # bytes of a body, where the connection ends
        self.pause = 0  # seconds before each answer
        self.status = 200  # of a page that is there
        self.says: dict[str, str | None] = {}  # headers in place of the right ones; None: not sent
        self.seen: list[tuple[str, int, int]] = []  # path, status and bytes of each answer

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        time.sleep(self.pause)
        body = self.pages.get(handler.path, b"")
        status, tag = self.status if body else 404, f'"{zlib.crc32(body):x}"'
        if body and handler.headers["If-None-Match"] == tag:
            status, body = 304, b""
        sent = body[: self.breaks_after]
        self.seen.append((handler.path, status, len(sent)))
        handler.send_response(status)
        headers = {"ETag": tag, "Content-Type": self.kind, "Content-Length": str(len(body))}
        for name, value in (headers | self.says).items():
            if value is not None:
                handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(sent)


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Web]:
    """A server on loopback, and an empty cache for what is fetched."""
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("LINKER_CACHE", str(tmp_path / "cache"))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.answer(self)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site = Web(f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield site
        server.shutdown()
