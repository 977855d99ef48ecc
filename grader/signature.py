"""The line that makes a mark reproducible."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version

from grader.rubric import Item


@cache
def package_version() -> str:
    """Version of the installed package, ``0`` when it is not installed."""
    try:
        return version("viva-grader")
    except PackageNotFoundError:
        return "0"


def signature(
    item: Item, *, encoder: str, prior: str, words: str, judge: str = "none", calibration: str = "none"
) -> str:
    """Everything a mark depends on besides the response, in one line.

    >>> from grader.rubric import Item
    >>> item = Item.from_reference("Why?", "Because.", max_score=5)
    >>> signature(item, encoder="hash@1", prior="1@0", words="0")
    'grader:...|item:ad-hoc@1|rubric:...|enc:hash@1|prior:1@0|idf:0|judge:none|cal:none|scale:0-5/0.5'
    """
    fields = {
        "grader": package_version(),
        "item": f"{item.id}@{item.version}",
        "rubric": item.content_hash[:8],
        "enc": encoder,
        "prior": prior,
        "idf": words,
        "judge": judge,
        "cal": calibration,
        "scale": f"0-{item.scale.max:g}/{item.scale.step:g}",
    }
    return "|".join(f"{name}:{value}" for name, value in fields.items())
