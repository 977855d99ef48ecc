"""Takes pictures of the main pages with made-up answers; needs chromium and the ``dev`` extra."""

from __future__ import annotations

import csv
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

from api.app import create_app
from api.db import upgrade
from api.logs import configure
from api.settings import Settings
from api.setup import create_organisation
from api.worker import Worker
from grader import load_bank

OUT = Path(__file__).resolve().parent.parent / "docs" / "screenshots"
LIMIT = 200_000
FIRST = "Autograd records the operations on tensors. You call backward() on each parameter to obtain its gradient."
BETTER = (
    "Autograd records every operation on tensors that require grad as a graph, and backward() goes from the loss back "
    "to the leaves and multiplies the local derivatives by the chain rule. This way one sweep gives the gradients of "
    "all parameters at once. With y = x ** 2 and x = 3, y.backward() puts 6 into x.grad."
)
ANSWERS = (
    "view() returns a tensor with another shape on the same storage and fails if the strides do not fit. reshape() "
    "returns a view if it can and copies otherwise. After transpose(), view() raises a RuntimeError.",
    "reshape copies when it must, view never copies.",
    "Both change the shape. view is faster because it does not copy the data.",
    "They are the same function with two names.",
    "view always copies the data, and reshape never does.",
    "I don't know, but I would print data_ptr() before and after the call and compare.",
    "view needs contiguous memory, since it only changes the strides. reshape works always but may copy.",
    "view shares the storage, so changing the view changes the original. reshape gives a copy if needed, "
    "for example after a transpose.",
    "strides, contiguous, storage, copy",
    "",
)

AUTHORED = Path(__file__).resolve().parent.parent / "eval" / "data" / "authored_answers.csv"


@contextmanager
def service(folder: Path) -> Iterator[tuple[str, str]]:
    """Address and administrator's key of a running service with a worker."""
    settings = Settings(database_url=f"sqlite:///{folder / 'demo.db'}", rate_limit="100000/minute", poll_seconds=0.1)
    upgrade(settings.database_url)
    app = create_app(settings)
    svc = app.state.services
    key = create_organisation(svc.db, svc.secrets, "School", load_bank().values())[1]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_config=None, ws="none", timeout_graceful_shutdown=1))
    stop = threading.Event()

    def work() -> None:
        worker = Worker(settings, svc.db, svc.scorer.get(), "demo:1:1")
        while not stop.is_set():
            if not worker.step():
                stop.wait(0.1)

    threads = [threading.Thread(target=server.run, daemon=True), threading.Thread(target=work, daemon=True)]
    for one in threads:
        one.start()
    while not server.started:
        time.sleep(0.1)
    yield f"http://127.0.0.1:{port}", key
    stop.set()
    server.should_exit = True
    for one in threads:
        one.join(10)


def practise(page: Page) -> None:
    """Answer a question twice."""
    page.goto("/practice/autograd")
    for text in (FIRST, BETTER):
        page.fill("#response", text)
        page.click("#answer button:not([name])")
        page.wait_for_selector("#result-head" if text is FIRST else ".delta.big", timeout=60_000)


def sign_in(page: Page, key: str) -> None:
    """Sign in with a key."""
    page.goto("/sign-in")
    page.fill("[name=key]", key)
    page.click("form:has([name=key]) button")
    page.wait_for_url("**/teach")


def make_exam(page: Page, folder: Path) -> str:
    """An exam with graded answers; returns its address."""
    page.goto("/teach/new")
    page.fill("[name=title]", "PyTorch basics, class 10b")
    page.check("[name=item][value=view-vs-reshape]")
    page.fill("[name=pass_percent]", "50")
    page.fill("[name=boundaries]", "A 85\nB 65\nC 50")
    page.click("main form button")
    page.wait_for_url("**/teach/exams/*")
    home = page.url
    rows = [f'{n:03},"{text.replace(chr(34), chr(39))}"' for n, text in enumerate(ANSWERS * 4)]
    path = folder / "answers.csv"
    path.write_text("\n".join(["candidate,view-vs-reshape", *rows]), "utf-8")
    page.goto(home + "/uploads")
    page.set_input_files("[name=file]", path)
    page.click("form[enctype] button")
    page.wait_for_url("**/uploads/*")
    return home


def finish_exam(page: Page, home: str) -> None:
    """Store the answers of the uploaded table and grade them."""
    page.click("form:has([name=questions]) button")
    page.wait_for_selector(".notice.good")
    page.click("form[action$=grade] button")
    page.wait_for_selector("a.button[href$=marking]", timeout=120_000)
    page.goto(home)


def calibrate(page: Page, folder: Path) -> None:
    """Upload answers that their author marked, fit, and open the calibration."""
    with AUTHORED.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["question_id"] == "view-vs-reshape"]
    path = folder / "labels.csv"
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["response", "human_score"])
        writer.writerows([row["answer"], row["score"]] for row in rows)
    page.goto("/rubrics/view-vs-reshape/calibration")
    page.set_input_files("[name=file]", path)
    page.click("form[enctype] button")
    page.click("form.stack button")
    page.click("form[action$=fit] button")
    page.click("tbody a.mono", timeout=120_000)
    page.wait_for_selector("iframe.report")
    page.frame_locator("iframe.report").locator("svg").first.wait_for()


def shoot(page: Page, name: str) -> None:
    """Store a picture of the window."""
    page.evaluate("document.fonts.ready")
    page.evaluate("window.scrollTo(0, 0); document.activeElement.blur()")
    path = OUT / f"{name}.png"
    page.screenshot(path=path)
    size = path.stat().st_size
    print(f"{path.name}: {size:,} bytes{'' if size < LIMIT else ' (too large)'}")


def tour(open_page: Callable[..., Page], key: str, folder: Path) -> None:
    """Visit the main pages."""
    for name, width, scheme in (
        ("practice", 1440, "light"),
        ("practice-dark", 1440, "dark"),
        ("practice-phone", 360, "light"),
    ):
        page = open_page(width, scheme)
        practise(page)
        shoot(page, name)
    page = open_page(1440, "light")
    sign_in(page, key)
    home = make_exam(page, folder)
    shoot(page, "upload")
    finish_exam(page, home)
    shoot(page, "exam")
    page.goto(home + "/statistics")
    shoot(page, "statistics")
    page.goto(home + "/marking/view-vs-reshape?which=all")
    page.click("main p.actions a.button")
    shoot(page, "marking")
    page.goto("/rubrics/autograd")
    page.wait_for_selector("#findings .chip")
    shoot(page, "rubric")
    calibrate(page, folder)
    shoot(page, "calibration")


def main() -> None:
    """Write all pictures."""
    configure("error")
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("no chromium on this machine")
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, service(Path(name)) as (url, key), sync_playwright() as play:
        browser: Browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])

        def open_page(width: int, scheme: str) -> Page:
            height = 780 if width < 600 else 980
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme=scheme,  # type: ignore[arg-type]
                base_url=url,
                locale="en-GB",
            )
            return context.new_page()

        tour(open_page, key, Path(name))
        browser.close()


if __name__ == "__main__":
    main()
