"""A real browser for the tests of the pages, which watches what a page says and asks for."""

from __future__ import annotations

import contextlib
import json
import shutil
import threading
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
needs_browser = pytest.mark.skipif(
    BROWSER is None, reason=f"no browser is there: none of {', '.join(BROWSERS)}"
)
SWITCHES = ["no-sandbox", "disable-gpu", "disable-quic", "no-first-run"]
SWITCHES += ["disable-background-networking", "disable-component-update", "disable-sync"]

LONGEST_WAIT = 60_000
"""Milliseconds that a page has for a step: where a machine does much else, a load took over 10 seconds."""

SOON = (
    "const wait = setTimeout; setTimeout = (f, ms) => wait(f, ms >= 2000 && ms < 5000 ? 300 : ms);"
)
"""What a page looks for every few seconds, it looks for sooner."""


@contextlib.contextmanager
def serving(app: Any) -> Iterator[str]:
    """Serve an application; gives its address."""
    uvicorn = pytest.importorskip("uvicorn", reason="the extra serve is not installed")
    config = uvicorn.Config(app, port=0, log_level="error", ws="none", lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    server.should_exit = True
    thread.join()


@contextlib.contextmanager
def opened(context: Any, address: str, path: str = "") -> Iterator[Any]:
    """A page, opened anew; nothing breaks its policy, fails, or asks another host."""
    page = context.new_page()
    page.set_default_timeout(LONGEST_WAIT)
    said: list[Any] = []
    urls: list[str] = []
    page.on("console", lambda message: said.append(message))
    page.on("pageerror", lambda error: urls.append(str(error)))
    page.on("request", lambda request: urls.append(request.url))
    page.add_init_script("sessionStorage.length || localStorage.clear(); sessionStorage.test = 1;")
    page.add_init_script(SOON)
    # a page that intercepts nothing yet may let pass what is sent just after a test begins to
    page.route("**/nowhere", lambda route: route.abort())
    page.goto(address + path)
    yield page
    page.close()
    # a request that is refused on purpose is logged as "Failed to load resource"
    logged = [message.text for message in said if message.type in ("error", "warning")]
    assert [text for text in logged if "Failed to load" not in text] == []
    assert [url for url in urls if not url.startswith((address, "blob:"))] == []


def drop(page: Any, name: str, content: str) -> None:
    """Drop a file on the page."""
    page.evaluate(
        """([name, content]) => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([content], name));
            for (const kind of ["dragover", "drop"])
                document.body.dispatchEvent(
                    new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }));
        }""",
        [name, content],
    )


def agree(page: Any) -> None:
    """Take files as they are read, once the page has shown that."""
    page.click("#reading .main")


@contextlib.contextmanager
def held_back(page: Any, pattern: str) -> Iterator[list[Any]]:
    """What the page asks for gets to the service only at the end of this; gives what it asked."""
    held: list[Any] = []
    page.route(pattern, lambda route: held.append(route))
    yield held
    for _ in range(250):  # until the page has asked
        if not held:
            page.wait_for_timeout(20)
    for route in held:
        route.continue_()
    page.unroute(pattern)


def problems(page: Any) -> str:
    """What axe-core finds wrong."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    results = axe.run(page)
    return "" if results.violations_count == 0 else results.generate_report()


def is_too_wide(page: Any) -> bool:
    return page.evaluate("document.documentElement.scrollWidth > innerWidth")


def asked(url: str, body: Any = None, method: str | None = None) -> Any:
    """What a service answers; a body that is no bytes is sent as JSON."""
    content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, content, method=method)
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def wait_until_linked(project: str) -> None:
    """Wait until all of a project is linked; asking all the time would hold that up.

    Args:
        project: its address.
    """
    while asked(project)["linked"] < 1:
        time.sleep(0.02)
