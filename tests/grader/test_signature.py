"""A mark's signature names everything it depends on besides the response."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError

import pytest

from grader import Item
from grader import signature as module
from grader.signature import package_version, signature

PARTS = {"encoder": "hash@1", "prior": "2@ab", "words": "0123abcd"}


def test_fields_and_their_order(tides: Item) -> None:
    line = signature(tides, **PARTS)
    fields = dict(field.split(":", 1) for field in line.split("|"))
    assert list(fields) == ["grader", "item", "rubric", "enc", "prior", "idf", "judge", "cal", "scale"]
    assert fields["item"] == "tides@1"
    assert fields["rubric"] == tides.content_hash[:8]
    assert fields["scale"] == "0-5/0.5"
    assert fields["cal"] == "none"
    assert "\n" not in line


def test_a_changed_rubric_changes_it(tides: Item, make_item: Callable[..., Item]) -> None:
    assert signature(tides, **PARTS) == signature(make_item(), **PARTS)
    assert signature(tides, **PARTS) != signature(make_item(prompt="What are tides?"), **PARTS)
    assert signature(tides, **PARTS) != signature(tides, **PARTS, calibration="abc")


def test_without_an_installation_the_version_is_0(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(module, "version", missing)
    package_version.cache_clear()
    assert package_version() == "0"
    package_version.cache_clear()
