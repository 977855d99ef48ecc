"""Every text of the pages is translated, the compiled catalogues are those of the texts, and every page is sound."""

from __future__ import annotations

import ast
import gettext
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment
from jinja2.ext import extract_from_ast
from playwright.sync_api import expect

import api.web
import grader

FOLDER = Path(api.web.__file__).parent
LIBRARY = Path(grader.__file__).parent
PAGES = ["/", "/sign-in", "/set-password", "/practice", "/practice/autograd", "/viva", "/checks", "/checks/autograd"]
STAFF = ["/teach", "/teach/new", "/rubrics", "/rubrics/new", "/rubrics/zero-grad", "/admin"]


def _constants(path: Path, *names: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in names and isinstance(node.args[0].value, str):
                yield node.args[0].value


def _page_messages() -> set[str]:
    env = Environment(extensions=["jinja2.ext.i18n"])
    found: set[str] = set()
    for path in (FOLDER / "templates").glob("*.html"):
        for _, _, message in env.extract_translations(path.read_text("utf-8")):  # type: ignore[attr-defined]
            found.add(message if isinstance(message, str) else message[0])
    for path in FOLDER.rglob("*.py"):
        found.update(_constants(path, "t", "mark"))
    return found


def _report_messages() -> set[str]:
    tree = Environment().parse((LIBRARY / "templates" / "report.html").read_text("utf-8"))
    found = {one if isinstance(one, str) else str(one[0]) for _, _, one in extract_from_ast(tree, ("say",))}
    assert len(found) > 30
    return found


def _entries(path: Path) -> dict[str, str]:
    """Message to translation of a catalogue in its text form."""
    found = {}
    for block in path.read_text("utf-8").split("\n\n"):
        texts = re.findall(r'^(msgid|msgstr) ((?:".*"\n?)+)', block, re.MULTILINE)
        read = {kind: "".join(ast.literal_eval(line) for line in text.strip().split("\n")) for kind, text in texts}
        if read.get("msgid"):
            found[read["msgid"]] = read["msgstr"]
    return found


@pytest.mark.parametrize("language", ["de", "hi"])
def test_every_text_of_the_pages_is_translated(language: str) -> None:
    folder = FOLDER / "locale"
    compiled = gettext.translation("pages", folder, languages=[language])
    texts = _entries(folder / language / "LC_MESSAGES" / "pages.po")
    assert _page_messages() == set(texts)
    for message, translated in texts.items():
        assert compiled.gettext(message) == translated, "compile the catalogue again"
        assert translated
        assert sorted(re.findall(r"%\(\w+\)s", message)) == sorted(re.findall(r"%\(\w+\)s", translated))


@pytest.mark.parametrize("language", ["de", "hi"])
def test_every_text_of_the_feedback_is_translated(language: str) -> None:
    folder = LIBRARY / "locale"
    compiled = gettext.translation("grader", folder, languages=[language])
    texts = _entries(folder / language / "LC_MESSAGES" / "grader.po")
    for name in ("feedback.py", "judging.py", "calibration_study.py", "calibration_words.py", "charts.py", "report.py"):
        missing = [one for one in _constants(LIBRARY / name, "_") if one not in texts]
        assert not missing
    assert _report_messages() <= set(texts)
    for message, translated in texts.items():
        assert compiled.gettext(message) == translated, "compile the catalogue again"
        assert sorted(re.findall(r"\{\w+\}", message)) == sorted(re.findall(r"\{\w+\}", translated))


def test_switching_the_language_changes_pages_and_feedback(visitor: Any) -> None:
    page = visitor.go("/practice/autograd")
    page.click("button[name=language][value=de]")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    page.fill("#response", "Autograd records operations in a graph.")
    page.click("text=Meine Antwort prüfen")
    expect(page.locator("#result")).to_contain_text("Was fehlt")
    expect(page.locator("#result")).to_contain_text("Nennen Sie dann das Warum")
    page.click("button[name=language][value=hi]")
    expect(page.locator("h1")).to_contain_text("How does autograd compute gradients in PyTorch")
    expect(page.locator("text=मेरा उत्तर जाँचें")).to_be_visible()


@pytest.mark.parametrize(
    ("width", "scheme", "language"), [(360, "dark", "hi"), (360, "light", "de"), (1440, "dark", "en")]
)
def test_every_page_fits_and_is_sound(visitor_as: Any, width: int, scheme: str, language: str) -> None:
    visitor = visitor_as(width, scheme, language)
    for path in PAGES:
        visitor.go(path)
        visitor.check()
        assert visitor.page.locator("html").get_attribute("lang") == language
    visitor.sign_in("admin")
    for path in STAFF:
        visitor.go(path)
        visitor.check()
