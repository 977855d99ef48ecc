"""Every operation of the OpenAPI description is fuzzed: no 5xx, no undocumented status, answers fit their schema."""

from __future__ import annotations

import os

import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from api.app import create_app
from api.settings import Settings

EXAMPLES = int(os.environ.get("GRADER_FUZZ_EXAMPLES", "2"))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
_APP = create_app(Settings(database_url="sqlite:///not-opened.db", pepper="p" * 32))
OPERATIONS = [(method.upper(), path) for path, methods in _APP.openapi()["paths"].items() for method in methods]


@schemathesis.serializer("application/x-ndjson")
def lines(_, value):
    """Lines are sent as they were generated."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory, empty_database, scorer, build_service):
    service = build_service(tmp_path_factory.mktemp("fuzz"), rate_limit="100000000/minute")
    exam = service.graded()
    service.call("POST", f"/exams/{exam['id']}/roster", {"candidates": [{"external_id": "x"}]})
    return service, schemathesis.openapi.from_asgi("/openapi.json", service.client.app)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_operation(fuzzed, method, path):
    service, schema = fuzzed

    @seed(1)
    @settings(
        max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=False
    )
    @given(case=schema[path][method].as_strategy())
    def check(case):
        for who in ("admin", "candidate"):
            case.call_and_validate(checks=CHECKS, headers=getattr(service, who))

    check()


def test_examples_are_valid(fuzzed):
    """Bodies shown in the description are accepted by the models."""
    service, _ = fuzzed
    schemas = service.client.app.openapi()["components"]["schemas"]
    shown = [name for name, schema in schemas.items() if schema.get("examples")]
    assert len(shown) >= 15
    assert not [path for path in service.client.app.openapi()["paths"] if path == "/metrics"]
