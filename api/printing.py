"""A page for each candidate to print: marks, feedback, nothing of the key."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from api.routes.mine import MyResult


def feedback_page(result: MyResult, name: str | None, language: str = "en") -> str:
    """HTML of one candidate's result that needs nothing else; ``name`` only where a person revealed it."""
    from api.web.render import render  # the pages import the routes that print

    return render(language, "feedback_print.html", result=result, name=name, lang=language)
