"""Claims of a pack, each with a check that runs it: shared by the tests of what the bank says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from grader import Bank

Check = Callable[[], None]


class Claims:
    """What items say, quoted, and how it is checked."""

    def __init__(self, items: Bank) -> None:
        """Collects claims of ``items``."""
        self.items = items
        self.found: list[tuple[str, str, Check]] = []

    def __call__(self, item: str, *quotes: str) -> Callable[[Check], Check]:
        """Registers a check for what ``item`` says in each of ``quotes``; it is run once if it holds."""

        def register(check: Check) -> Check:
            once = check if hasattr(check, "cache_info") else cache(check)
            self.found.extend((item, quote, once) for quote in quotes)
            return once

        return register

    def parameters(self) -> dict[str, Any]:
        """Arguments for ``pytest.mark.parametrize``: item, quote and check of each claim."""
        ids = [f"{item}-{quote[:40]}" for item, quote, _ in self.found]
        return {"argnames": ("item", "quote", "check"), "argvalues": self.found, "ids": ids}

    def holds(self, item: str, quote: str, check: Check) -> None:
        """Fails if the item does not say so, or if it is not so."""
        said = any(quote in text for text in _texts(self.items[item].model_dump()))
        assert said, f"'{quote}' is not in {item}"
        check()


def _texts(value: Any) -> Iterator[str]:
    """Every text of an item, white space made plain."""
    if isinstance(value, str):
        yield " ".join(value.split())
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)
