"""A running service with pages, and a browser that notes what should not happen."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from api.app import create_app
from api.auth import create_key
from api.deps import Services
from api.settings import Settings
from api.setup import create_organisation
from api.worker import Worker
from grader.bank import default_rubrics, load_item
from grader.grading import Grader

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
#: Milliseconds that a busy machine may take for anything; a page that is ready sooner is not waited for.
PATIENCE = 40_000
AXE = Path(__file__).parents[2] / "data" / "web" / "axe.min.js"
ITEMS = (
    "pytorch/view-vs-reshape",
    "pytorch/autograd",
    "pytorch/zero-grad",
    "pytorch/no-softmax-before-ce",
    "statistics/p-value",
)


@dataclass
class Site:
    """A service on a loopback port."""

    url: str
    svc: Services
    org_id: str
    keys: dict[str, str]
    candidate_id: str

    def key(self, role: Any, candidate_id: str | None = None) -> tuple[str, str | None]:
        """A new key and its candidate."""
        with self.svc.db.write() as session:
            row, text = create_key(
                session, self.svc.secrets, org_id=self.org_id, role=role, label=role, candidate_id=candidate_id
            )
            return text, row.candidate_id


def _serve(settings: Settings, scorer: Grader) -> tuple[Site, uvicorn.Server, threading.Thread]:
    app = create_app(settings, scorer)
    svc: Services = app.state.services
    bank = [load_item(default_rubrics() / f"{name}.yaml") for name in ITEMS]
    org_id, admin = create_organisation(svc.db, svc.secrets, "School", bank)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_config=None, ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    site = Site(f"http://127.0.0.1:{port}", svc, org_id, {"admin": admin}, "")
    site.keys["teacher"] = site.key("teacher")[0]
    site.keys["candidate"], found = site.key("candidate")
    site.candidate_id = found or ""
    return site, server, thread


@pytest.fixture(scope="session")
def site(empty_database: Path, scorer: Grader, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A service with items of two packs and a worker, on a fresh SQLite file."""
    path = tmp_path_factory.mktemp("site") / "test.db"
    shutil.copy(empty_database, path)
    settings = Settings(
        database_url=f"sqlite:///{path}",
        pepper="p" * 32,  # type: ignore[arg-type]
        rate_limit="1000000/minute",
        poll_seconds=0.05,
        chunk_size=2,
    )
    made, server, thread = _serve(settings, scorer)
    stop = threading.Event()

    def work() -> None:
        worker = Worker(settings, made.svc.db, scorer, "test:1:1")
        while not stop.is_set():
            if not worker.step():
                stop.wait(0.05)

    hand = threading.Thread(target=work, daemon=True)
    hand.start()
    yield made
    stop.set()
    server.should_exit = True
    hand.join(10)
    thread.join(10)


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    """A browser of this machine; nothing is downloaded."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield opened
        opened.close()


@dataclass
class Visitor:
    """A person with a browser window; notes console errors, foreign requests and large pages."""

    site: Site
    context: BrowserContext
    page: Page
    complaints: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def watch(self) -> None:
        """Begin to take notes."""
        host = urlsplit(self.site.url).netloc
        self.page.on("console", lambda line: self._note(line.type in ("error", "warning"), f"console: {line.text}"))
        self.page.on("pageerror", lambda error: self._note(True, f"script: {error}"))
        self.page.on("request", lambda one: self._note(urlsplit(one.url).netloc != host, f"request: {one.url}"))
        self.page.on("response", lambda one: self.sizes.append(int(one.headers.get("content-length", 0))))

    def received(self) -> int:
        """Bytes that pages, their parts and their files had since this was asked last."""
        found, self.sizes = self.sizes, []
        return sum(found)

    def _note(self, wrong: bool, text: str) -> None:
        if wrong and not any(one in text for one in self.expected):
            self.complaints.append(text)

    def go(self, path: str) -> Page:
        """Open a page of the service."""
        self.page.goto(self.site.url + path)
        return self.page

    def sign_in(self, role: str) -> Visitor:
        """Sign in with the key of a role."""
        self.go("/sign-in")
        self.page.fill("[name=key]", self.site.keys[role])
        self.page.click("form:has([name=key]) button")
        self.page.wait_for_url(lambda url: "/sign-in" not in url)
        return self

    def check(self, where: str = "") -> None:
        """No serious finding of axe, nothing wider than the window."""
        self.page.evaluate(AXE.read_text("utf-8"))
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        serious = [
            f"{one['id']}: {one['nodes'][0]['html'][:160]} {one['nodes'][0]['failureSummary'][:200]}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        assert not serious, f"{where or self.page.url}: {serious}"
        wide = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{where or self.page.url} is {wide} pixels too wide"


@pytest.fixture
def visitor_as(site: Site, chrome: Browser) -> Iterator[Callable[..., Visitor]]:
    """Makes windows of a width, a colour scheme and a language; nothing may have gone wrong in them at the end."""
    opened: list[Visitor] = []

    def make(width: int = 1440, scheme: Any = "light", language: str = "en-GB") -> Visitor:
        context = chrome.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, locale=language, accept_downloads=True
        )
        made = Visitor(site, context, context.new_page())
        made.page.set_default_timeout(PATIENCE)
        made.watch()
        opened.append(made)
        return made

    yield make
    for one in opened:
        one.context.close()
    complaints = [text for one in opened for text in one.complaints]
    assert not complaints, complaints


@pytest.fixture
def visitor(visitor_as: Callable[..., Visitor]) -> Visitor:
    """A fresh window at 1440 pixels."""
    return visitor_as()
