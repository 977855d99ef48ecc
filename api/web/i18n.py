"""Languages of the pages: gettext catalogues in ``api/web/locale``, English where there is none."""

from __future__ import annotations

import gettext
from functools import lru_cache
from pathlib import Path

FOLDER = Path(__file__).parent / "locale"
#: Code to the language's own name.
LANGUAGES = {"en": "English", "de": "Deutsch", "hi": "हिन्दी"}


@lru_cache(maxsize=8)
def catalogue(language: str) -> gettext.NullTranslations:
    """The translations into a language."""
    return gettext.translation("pages", FOLDER, languages=[language], fallback=True)


def choose(cookie: str | None, accepted: str | None) -> str:
    """The language of a page: the one that was picked, else the browser's first that there is.

    >>> choose(None, "fr-CH, de;q=0.9, en;q=0.5")
    'de'
    >>> choose("hi", "de")
    'hi'
    """
    if cookie in LANGUAGES:
        return cookie
    wanted: list[tuple[float, str]] = []
    for part in (accepted or "").split(",")[:20]:
        name, _, quality = part.partition(";q=")
        try:
            weight = float(quality or 1)
        except ValueError:
            continue
        wanted.append((-weight, name.strip()[:2].lower()))
    return next((name for _, name in sorted(wanted, key=lambda one: one[0]) if name in LANGUAGES), "en")


def mark(message: str) -> str:
    """``message`` itself; tells the extractor that it is translated where it is used."""
    return message
