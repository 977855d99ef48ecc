"""Templates and what they may use: translations, numbers, times, addresses of static files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from api.web.i18n import LANGUAGES, catalogue, mark
from grader.feedback import component_name
from grader.i18n import translator
from grader.screen import HARD_LIMIT

FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"
_DEVANAGARI = re.compile("[\u0900-\u097f]")
#: Lines of a calculation that are no components.
LINES = {
    "rounding": mark("rounding"),
    "teacher": mark("mark of a person"),
    "error_deduction": mark("false statements"),
    "cap": mark("limit"),
    "honest_credit": mark("credit for an honest answer"),
    "calibration": mark("calibration"),
}


@lru_cache(maxsize=1)
def static_version() -> str:
    """Changes whenever a static file does, so that browsers may keep them for long."""
    digest = hashlib.sha256()
    for path in sorted(STATIC.rglob("*")):
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _static(name: str) -> str:
    return f"/static/{name}?v={static_version()}"


def _number(language: str) -> Callable[[float | None], str]:
    def show(value: float | None) -> str:
        if value is None:
            return "–"
        text = f"{round(value, 2):g}"
        return text.replace(".", ",") if language == "de" else text

    return show


def _signed(language: str) -> Callable[[float], str]:
    show = _number(language)

    def signed(value: float) -> str:
        return ("+" if value > 0 else "−" if value < 0 else "±") + show(abs(value))

    return signed


def _when(value: str | None) -> str:
    """``2026-11-30T12:00:00.000Z`` as ``2026-11-30 12:00``."""
    return value[:16].replace("T", " ") if value else ""


def tongue(text: str, language: str) -> str:
    """The language of a text for those who read it aloud: Hindi where it is in Devanagari, else the one given.

    >>> tongue("त्वरित जाँच", "en"), tongue("Quick check", "en")
    ('hi', 'en')
    """
    return "hi" if _DEVANAGARI.search(text) else language


def _line(language: str) -> Callable[[str], str]:
    def show(label: str) -> str:
        kind = label.partition(":")[0]
        if kind in LINES:
            return catalogue(language).gettext(LINES[kind])
        return component_name(label, translator(language))

    return show


@lru_cache(maxsize=4)
def environment(language: str) -> Environment:
    """The templates in one language; everything that is shown is escaped."""
    env = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        extensions=["jinja2.ext.i18n"],
    )
    env.install_gettext_translations(catalogue(language), newstyle=True)  # type: ignore[attr-defined]
    translate = translator(language)
    env.globals.update(static=_static, languages=LANGUAGES, longest=HARD_LIMIT)
    env.filters.update(
        number=_number(language),
        signed=_signed(language),
        when=_when,
        tongue=tongue,
        upper_first=lambda text: text[:1].upper() + text[1:],
        part=lambda name: component_name(name, translate),
        line=_line(language),
        translated=catalogue(language).gettext,
        percent=lambda share: f"{100 * share:.0f} %",
    )
    return env


def render(language: str, template: str, **data: Any) -> str:
    """A template as HTML."""
    return environment(language).get_template(template).render(**data)
